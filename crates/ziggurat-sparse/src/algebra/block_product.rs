//! Product of blocks: C_IK = Σ_J A_IJ · B_JK, for matrices with several unknowns per node.
//!
//! The numeric phase of a product of block-full matrices (`node_pattern.rs`). The position of C_IK
//! in its row is looked up once per block instead of once per entry, and the small dense product
//! that follows vectorises well. Matrices stay in CSR: a block is a few runs of consecutive values.
//! `block_sums.rs` accumulates them.
//!
//! The terms of an entry of C are added in the same order as in the scalar product, and without
//! fused multiply-add, so both give the same bits, on every instruction set.
//!
//! Cost: m s n multiplications per product of an m x s block and an s x n block.

use std::ops::Range;

use super::accumulator::Places;
use super::block_shape::BlockShape;
use super::block_sums::{AnySums, FixedSums, SumBlocks};
use super::pattern::Pattern;
use crate::number::{Kind, Real};
use crate::simd::{Isa, Kernel, Simd};

/// The input and output of the numeric phase for some consecutive rows of C.
pub(super) struct BlockRows<'a, T> {
    /// The nodes, as rows of A.
    pub(super) rows: Range<usize>,
    /// Where each row ends, in blocks of C.
    pub(super) ends: &'a [u32],
    /// Blocks of the longest row.
    pub(super) longest: usize,
    pub(super) places: Places,
    /// The pattern of A by unknowns.
    pub(super) a: Pattern<'a>,
    pub(super) a_values: &'a [T],
    /// The pattern of B by nodes: by unknowns there would be s n times as many columns to read.
    pub(super) b_nodes: Pattern<'a>,
    /// The values of B, from its first row on.
    pub(super) b_values: &'a [T],
    /// The columns of these rows of C, in unknowns.
    pub(super) columns: &'a [u32],
    pub(super) values: &'a mut [T],
}

impl<'a, T: Real> BlockRows<'a, T> {
    /// Computes the values. The matrices must be block-full for this shape.
    pub(super) fn compute(self, shape: BlockShape) {
        // Generic code is compiled in every crate that calls it, and these kernels are large. So
        // they are compiled in this crate, for both types that implement `Real`.
        if T::KIND == Kind::F32 {
            compute_f32(self.cast(), shape);
        } else {
            compute_f64(self.cast(), shape);
        }
    }

    /// Converts the element type; `T` and `U` must be the same type.
    fn cast<U: Real>(self) -> BlockRows<'a, U> {
        let BlockRows { rows, ends, longest, places, a, a_values, b_nodes, b_values, columns, values } = self;
        let (a_values, b_values) = (bytemuck::cast_slice(a_values), bytemuck::cast_slice(b_values));
        let values = bytemuck::cast_slice_mut(values);
        BlockRows { rows, ends, longest, places, a, a_values, b_nodes, b_values, columns, values }
    }
}

fn compute_f64(rows: BlockRows<'_, f64>, shape: BlockShape) {
    compute(rows, shape);
}

fn compute_f32(rows: BlockRows<'_, f32>, shape: BlockShape) {
    compute(rows, shape);
}

/// Selects the kernel for the shape, and runs it with the best instruction set.
fn compute<T: Real>(rows: BlockRows<'_, T>, shape: BlockShape) {
    let longest = rows.longest;
    match (shape.rows, shape.inner, shape.cols) {
        // Elasticity in three dimensions: A·P and R·AP on the finest level, and both on coarser
        // levels.
        (3, 3, 6) => Simd::best().run(Work { sums: FixedSums::<T, 3, 3, 6>::new(longest), rows }),
        (6, 3, 6) => Simd::best().run(Work { sums: FixedSums::<T, 6, 3, 6>::new(longest), rows }),
        (6, 6, 6) => Simd::best().run(Work { sums: FixedSums::<T, 6, 6, 6>::new(longest), rows }),
        // Four unknowns per node on all levels, as velocities with a pressure.
        (4, 4, 4) => Simd::best().run(Work { sums: FixedSums::<T, 4, 4, 4>::new(longest), rows }),
        _ => Simd::best().run(Work { sums: AnySums::new(shape, longest), rows }),
    }
}

/// The kernel: rows to compute, and the accumulator for them.
struct Work<'a, T, S> {
    rows: BlockRows<'a, T>,
    sums: S,
}

impl<T: Real, S: SumBlocks<T>> Kernel for Work<'_, T, S> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let Work { mut sums, rows: work } = self;
        let BlockRows { rows, ends, longest, mut places, a, a_values, b_nodes, b_values, columns, values } =
            work;
        let BlockShape { rows: m, inner: s, cols: n } = sums.shape();
        // No row of B has more blocks than the row of C to which it is added.
        let mut found = vec![0; longest];
        let mut begin = 0;
        for (row, &end) in rows.zip(ends) {
            let end = end as usize;
            let len = (end - begin) * n;
            let values = &mut values[begin * m * n..end * m * n];
            let columns = &columns[begin * m * n..][..len];
            places.begin(columns.chunks_exact(n).map(|block| block[0] / n as u32));
            sums.begin(end - begin);
            let a_ptr = &a.row_ptr[row * m..=row * m + m];
            let a_values = &a_values[a_ptr[0]..a_ptr[m]];
            for (block, a_columns) in a.columns[a_ptr[0]..a_ptr[1]].chunks_exact(s).enumerate() {
                let inner = (a_columns[0] / s as u32) as usize;
                let b_columns = b_nodes.row(inner);
                let found = &mut found[..b_columns.len()];
                places.look_up(b_columns, found);
                let b_values = &b_values[b_nodes.row_ptr[inner] * s * n..][..b_columns.len() * s * n];
                sums.add(a_values, block, b_values, found);
            }
            sums.end(values);
            begin = end;
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::algebra::testing::{
        aggregation3d, blocks_of, of_extents, on_threads, poisson3d, range_within,
    };
    use crate::algebra::{TripleProductPlan, product, transpose, triple_product};
    use crate::matrix::{Csr, CsrRef, MatrixError};
    use crate::number::Real;
    use proptest::prelude::*;

    /// Values whose sums are not exact.
    fn uneven(entry: usize, row: usize, column: usize) -> f64 {
        ((entry * 31 + row * 7 + column) as f64).sin()
    }

    /// Patterns as in smoothed aggregation, with full blocks.
    fn system(nodes: &Csr<f64>, m: usize, n: usize) -> (Csr<f64>, Csr<f64>, Csr<f64>) {
        let aggregates = aggregation3d((nodes.rows() as f64).cbrt().round() as usize);
        let smoothed = product(nodes.view(), nodes.all_rows(), aggregates.view()).unwrap();
        let (a, p) = (blocks_of(nodes, m, m, uneven), blocks_of(&smoothed, m, n, uneven));
        (transpose(p.view(), p.all_rows()), a, p)
    }

    /// R A P by scalars or by blocks, computed twice.
    fn galerkin<T: Real>(
        r: CsrRef<'_, T>,
        a: CsrRef<'_, T>,
        p: CsrRef<'_, T>,
        blocks: Option<(usize, usize)>,
    ) -> Csr<T> {
        let (mut plan, mut c) = match blocks {
            None => TripleProductPlan::with_product(r, r.all_rows(), a, p),
            Some((m, n)) => TripleProductPlan::with_blocked_product(r, r.all_rows(), a, p, m, n),
        }
        .unwrap();
        assert_eq!(plan.is_blocked(), blocks.is_some_and(|blocks| blocks != (1, 1)));
        let once = c.clone();
        c.values_mut().fill(T::nan());
        plan.compute_into(r, a, p, &mut c).unwrap();
        assert_eq!(c, once);
        c
    }

    #[test]
    fn the_same_bits_as_by_scalars_on_any_number_of_threads() {
        let nodes = poisson3d(15);
        for (m, n) in [(3, 6), (6, 6), (2, 3), (3, 3), (4, 4), (2, 2), (5, 1), (1, 6)] {
            let (r, a, p) = system(&nodes, m, n);
            let by = |blocks| galerkin(r.view(), a.view(), p.view(), blocks);
            let expected = by(None);
            assert_eq!(on_threads(1, || by(Some((m, n)))), expected, "{m} x {n} on one thread");
            assert_eq!(on_threads(2, || by(Some((m, n)))), expected, "{m} x {n} on two threads");
        }
        let (r, a, p) = system(&nodes, 3, 6);
        let (r, a, p) =
            (r.view().stored_as::<f32>(), a.view().stored_as::<f32>(), p.view().stored_as::<f32>());
        let by = |blocks| galerkin(r.view(), a.view(), p.view(), blocks);
        assert_eq!(by(Some((3, 6))), by(None));
    }

    #[test]
    fn nodes_far_apart_go_by_hash() {
        // The columns span a wider range than there are terms: a window would be mostly empty.
        let scattered = |rows: usize, cols: usize, stride: usize| {
            let columns = (0..2 * rows).map(|k| (k * stride % cols) as u32).collect();
            let row_ptr = (0..=rows).map(|row| 2 * row).collect();
            Csr::from_unsorted(rows, cols, row_ptr, columns, vec![1.0; 2 * rows]).unwrap()
        };
        let (r, a, p) = (scattered(50, 300, 77), scattered(300, 300, 151), scattered(300, 100_000, 7919));
        for (m, n) in [(3, 6), (2, 5)] {
            let (r, a, p) =
                (blocks_of(&r, n, m, uneven), blocks_of(&a, m, m, uneven), blocks_of(&p, m, n, uneven));
            let by = |blocks| galerkin(r.view(), a.view(), p.view(), blocks);
            assert_eq!(by(Some((m, n))), by(None));
        }
    }

    #[test]
    fn other_patterns_are_refused() {
        let nodes = poisson3d(12);
        let (r, a, p) = system(&nodes, 3, 6);
        let (r, a, p) = (r.view(), a.view(), p.view());
        let (mut plan, mut c) = TripleProductPlan::with_blocked_product(r, r.all_rows(), a, p, 3, 6).unwrap();
        assert!(plan.is_blocked());
        // Also block-full, and of the same size.
        let turned = |m: CsrRef<'_, f64>| {
            let columns = m.columns().iter().map(|&column| m.cols() as u32 - 1 - column).collect();
            let (row_ptr, values) = (m.row_ptr().to_vec(), m.values().to_vec());
            Csr::from_unsorted(m.rows(), m.cols(), row_ptr, columns, values).unwrap()
        };
        let (r2, a2, p2, mut c2) = (turned(r), turned(a), turned(p), turned(c.view()));
        let error = |what| Err(MatrixError::OtherPattern { what });
        assert_eq!(plan.compute_into(r2.view(), a, p, &mut c), error("R"));
        assert_eq!(plan.compute_into(r, a2.view(), p, &mut c), error("A"));
        assert_eq!(plan.compute_into(r, a, p2.view(), &mut c), error("P"));
        let refused = Err(MatrixError::OtherPattern { what: "the matrix to hold the product" });
        assert_eq!(plan.compute_into(r, a, p, &mut c2), refused);
        // One entry moved, in the first row or in the last; row ends unchanged.
        for row in [0, c.rows() - 1] {
            let (mut row_ptr, mut columns, values) = c.clone().into_parts();
            let free = (0..c.cols() as u32).find(|column| c.get(row, *column as usize).is_none()).unwrap();
            columns[row_ptr[row]] = free;
            let mut other =
                Csr::from_unsorted(c.rows(), c.cols(), row_ptr.clone(), columns.clone(), values.clone())
                    .unwrap();
            assert_eq!(plan.compute_into(r, a, p, &mut other), refused);
            // Or the same number of columns, with one more in the row before.
            if row > 0 {
                columns[row_ptr[row]] =
                    (0..c.cols() as u32).find(|column| c.get(row - 1, *column as usize).is_none()).unwrap();
                row_ptr[row] += 1;
                let mut other = Csr::from_unsorted(c.rows(), c.cols(), row_ptr, columns, values).unwrap();
                assert_eq!((other.nnz(), plan.compute_into(r, a, p, &mut other)), (c.nnz(), refused.clone()));
            }
        }
        plan.compute_into(r, a, p, &mut c).unwrap();
        assert!(TripleProductPlan::with_blocked_product(p, p.all_rows(), a, p, 3, 6).is_err());
    }

    fn sizes() -> impl Strategy<Value = (usize, usize)> {
        (prop::sample::select(vec![1, 2, 3, 5]), prop::sample::select(vec![1, 3, 6]))
    }

    proptest! {
        /// Of any extents, with halo rows, empty rows and dense ones, for a range of nodes. Sums of
        /// integers are exact, and blocks that are not full are covered as well.
        #[test]
        fn agrees_with_the_product_by_scalars(
            ((m, n), r, a, p, rows, hole) in (sizes(), 0..5usize, 0..6usize, 0..6usize, 0..5usize).prop_flat_map(
                |(sizes, i, j, k, l)| (
                    Just(sizes), of_extents(i, j), of_extents(j, k), of_extents(k, l), range_within(i),
                    prop::option::of(any::<prop::sample::Index>()),
                )
            )
        ) {
            let value = |entry, row, column| (uneven(entry, row, column) * 9.0).round();
            let r = blocks_of(&r, n, m, value);
            let mut a = blocks_of(&a, m, m, value);
            let p = blocks_of(&p, m, n, value);
            let mut full = true;
            if let Some(hole) = hole.filter(|_| a.nnz() > 0) {
                let entry = hole.index(a.nnz());
                let (rows, cols) = (a.rows(), a.cols());
                let (mut row_ptr, mut columns, mut values) = a.into_parts();
                columns.remove(entry);
                values.remove(entry);
                row_ptr.iter_mut().filter(|begin| **begin > entry).for_each(|begin| *begin -= 1);
                a = Csr::try_new(rows, cols, row_ptr, columns, values).unwrap();
                full = m == 1;
            }
            let (r, a, p) = (r.view(), a.view(), p.view());
            let rows = rows.start * n..rows.end * n;
            let expected = triple_product(r, rows.clone(), a, p).unwrap();
            let (mut plan, mut c) =
                TripleProductPlan::with_blocked_product(r, rows.clone(), a, p, m, n).unwrap();
            prop_assert_eq!(plan.is_blocked(), full && (m, n) != (1, 1));
            prop_assert_eq!(&c, &expected);
            c.values_mut().fill(f64::NAN);
            plan.compute_into(r, a, p, &mut c).unwrap();
            prop_assert_eq!(&c, &expected);
            // Half a node is not a node.
            if n > 1 && !rows.is_empty() {
                let part = rows.start + 1..rows.end;
                let (plan, rest) =
                    TripleProductPlan::with_blocked_product(r, part.clone(), a, p, m, n).unwrap();
                prop_assert!(!plan.is_blocked());
                prop_assert!((0..part.len()).all(|k| rest.row(k) == expected.row(k + 1)));
            }
            for (m, n) in [(0, n), (m, 0), (usize::MAX, n), (m, usize::MAX)] {
                let found = TripleProductPlan::with_blocked_product(r, rows.clone(), a, p, m, n);
                prop_assert!(!found.unwrap().0.is_blocked());
            }
        }
    }
}

//! Triple product: C = R[rows, :] · A · P, the coarse matrix of multigrid, computed as R · (A · P).
//!
//! With R = Pᵀ this is the Galerkin product. The order matters little on a CPU, but on a GPU R(AP)
//! is several times faster than (RA)P (Isotton, *Chronos*, thesis, Padova: 0.75 against 4.32 s),
//! and the same order everywhere gives the same result.
//!
//! The first time, both products are computed in one pass each (`row_product.rs`): A·P stays in the
//! pieces it was computed in, with unsorted rows, and is dropped after use. The first repetition
//! for new values adds a symbolic phase. From then on, each repetition is a numeric phase
//! (`pieces.rs`), which takes half the time of a product in one pass; A·P is kept between numeric
//! phases. All variants give the same bits.
//!
//! For plain aggregation the first product does not store A·P (`fused_triple_product.rs`).
//!
//! For systems with several unknowns per node both phases work by blocks (`block_product.rs`), also
//! the first time.
//!
//! Cost: the two products. Memory: A·P, 12 bytes per entry in `f64`, during the product or between
//! numeric phases, and 4 bytes per entry of C for numeric phases.

use std::ops::Range;

use super::block_shape::BlockShape;
use super::fused_triple_product::FusedTripleProduct;
use super::node_pattern::NodePattern;
use super::pattern::Pattern;
use super::pieces::{Marked, Pieces};
use super::row_product::RowProduct;
use super::{check_extent, check_rows};
use crate::matrix::{Csr, CsrRef, MatrixError};
use crate::number::Real;

/// A plan for repeating C = R[rows, :] · A · P with new values of R, A and P:
/// [`compute_into`](Self::compute_into).
///
/// A·P is computed for *all* rows of `a`; the columns of `r` refer to those rows. In a distributed
/// matrix they must include the rows of A·P that R needs from other processes: append the halo rows
/// to `a` first.
///
/// C has an entry wherever the patterns give one, even if the values cancel. If A is symmetric and
/// R = Pᵀ, the pattern of C is symmetric, and its values are symmetric up to rounding.
///
/// ```
/// use ziggurat_sparse::{Csr, algebra::{TripleProductPlan, transpose}};
/// // -u'' on four points, aggregated in pairs.
/// let mut a = Csr::try_new(
///     4,
///     4,
///     vec![0, 2, 5, 8, 10],
///     vec![0, 1, 0, 1, 2, 1, 2, 3, 2, 3],
///     vec![2.0, -1.0, -1.0, 2.0, -1.0, -1.0, 2.0, -1.0, -1.0, 2.0],
/// )?;
/// let p = Csr::try_new(4, 2, (0..=4).collect(), vec![0, 0, 1, 1], vec![1.0; 4])?;
/// let r = transpose(p.view(), p.all_rows());
/// let (mut plan, mut c) =
///     TripleProductPlan::with_product(r.view(), r.all_rows(), a.view(), p.view())?;
/// assert_eq!(c.values(), [2.0, -1.0, -1.0, 2.0]);
///
/// a.values_mut().iter_mut().for_each(|value| *value *= 10.0); // the next time step
/// plan.compute_into(r.view(), a.view(), p.view(), &mut c)?;
/// assert_eq!(c.values(), [20.0, -10.0, -10.0, 20.0]);
/// # Ok::<(), ziggurat_sparse::MatrixError>(())
/// ```
#[derive(Clone, Debug)]
pub struct TripleProductPlan<T: 'static> {
    rows: Range<usize>,
    /// The marks of R, A, P and C.
    marks: [u64; 4],
    /// `None` before the first repetition, except in a product by blocks.
    symbolic: Option<Symbolic<T>>,
    in_blocks: bool,
}

/// The symbolic phase.
#[derive(Clone, Debug)]
struct Symbolic<T: 'static> {
    /// The pieces of A·P.
    fine: Pieces,
    /// A·P, with the values of the last numeric phase.
    ap: Csr<T>,
    /// The pieces of R·(A·P).
    coarse: Pieces,
}

impl<T: Real> TripleProductPlan<T> {
    /// Computes the product, and returns it with a plan to repeat it.
    ///
    /// # Errors
    /// If the extents of the matrices do not match, or the range of rows is out of bounds.
    pub fn with_product(
        r: CsrRef<'_, T>,
        rows: Range<usize>,
        a: CsrRef<'_, T>,
        p: CsrRef<'_, T>,
    ) -> Result<(Self, Csr<T>), MatrixError> {
        let c = triple_product(r, rows.clone(), a, p)?;
        let marks = [r, a, p, c.view()].map(|matrix| Pattern::from(matrix).mark());
        Ok((TripleProductPlan { rows, marks, symbolic: None, in_blocks: false }, c))
    }

    /// As [`with_product`](Self::with_product), for matrices with `fine_block` unknowns per node
    /// and `coarse_block` unknowns per coarse node. Works by blocks, which is several times faster,
    /// and gives the same bits.
    ///
    /// Every block must be full: R in `coarse_block` x `fine_block` blocks, A in `fine_block` x
    /// `fine_block` blocks, P in `fine_block` x `coarse_block` blocks. That is, the rows of a node
    /// have the same columns, and if they have one unknown of a node they have all of them. `rows`
    /// must begin and end at a node. If any of this does not hold, the product is computed as by
    /// [`with_product`](Self::with_product); [`is_blocked`](Self::is_blocked) returns which one it
    /// is.
    ///
    /// ```
    /// use ziggurat_sparse::{Csr, algebra::{TripleProductPlan, transpose, triple_product}};
    /// // Two nodes with two unknowns each form one coarse node with three.
    /// let numbers = |count| (0..count).map(f64::from).collect();
    /// let a = Csr::try_new(4, 4, vec![0, 4, 8, 12, 16], [0, 1, 2, 3].repeat(4), numbers(16))?;
    /// let p = Csr::try_new(4, 3, vec![0, 3, 6, 9, 12], [0, 1, 2].repeat(4), numbers(12))?;
    /// let r = transpose(p.view(), p.all_rows());
    /// let (plan, c) =
    ///     TripleProductPlan::with_blocked_product(r.view(), 0..3, a.view(), p.view(), 2, 3)?;
    /// assert!(plan.is_blocked());
    /// assert_eq!(triple_product(r.view(), r.all_rows(), a.view(), p.view())?, c);
    /// # Ok::<(), ziggurat_sparse::MatrixError>(())
    /// ```
    ///
    /// # Errors
    /// As [`with_product`](Self::with_product).
    pub fn with_blocked_product(
        r: CsrRef<'_, T>,
        rows: Range<usize>,
        a: CsrRef<'_, T>,
        p: CsrRef<'_, T>,
        fine_block: usize,
        coarse_block: usize,
    ) -> Result<(Self, Csr<T>), MatrixError> {
        check_fit(r, &rows, a, p)?;
        let found = Symbolic::find_blocks(r, rows.clone(), a, p, fine_block, coarse_block)?;
        let Some(mut symbolic) = found else {
            return Self::with_product(r, rows, a, p);
        };
        symbolic.compute_ap(a, p)?;
        let c = symbolic.coarse.compute(r, symbolic.ap.view()).map_err(|foreign| foreign.error("R"))?;
        let marks = [r, a, p, c.view()].map(|matrix| Pattern::from(matrix).mark());
        Ok((TripleProductPlan { rows, marks, symbolic: Some(symbolic), in_blocks: true }, c))
    }

    /// Whether the product works by blocks.
    pub fn is_blocked(&self) -> bool {
        self.in_blocks
    }

    /// Computes the product for new values, into the matrix that was returned with the plan.
    ///
    /// # Errors
    /// If the pattern of a matrix has changed. The values of `c` are then unchanged.
    pub fn compute_into(
        &mut self,
        r: CsrRef<'_, T>,
        a: CsrRef<'_, T>,
        p: CsrRef<'_, T>,
        c: &mut Csr<T>,
    ) -> Result<(), MatrixError> {
        let names = ["R", "A", "P", "the matrix to hold the product"];
        for ((matrix, what), mark) in [r, a, p, c.view()].into_iter().zip(names).zip(self.marks) {
            if Pattern::from(matrix).mark() != mark {
                return Err(MatrixError::OtherPattern { what });
            }
        }
        check_fit(r, &self.rows, a, p)?;
        let symbolic = match &mut self.symbolic {
            Some(symbolic) => symbolic,
            None => self.symbolic.insert(Symbolic::find(r, self.rows.clone(), a, p)?),
        };
        symbolic.compute_ap(a, p)?;
        symbolic.coarse.compute_into(r, symbolic.ap.view(), c).map_err(|foreign| foreign.error("R"))
    }
}

impl<T: Real> Symbolic<T> {
    /// The symbolic phase by scalars.
    fn find(
        r: CsrRef<'_, T>,
        rows: Range<usize>,
        a: CsrRef<'_, T>,
        p: CsrRef<'_, T>,
    ) -> Result<Self, MatrixError> {
        let mut fine = Pieces::find(a.into(), a.all_rows(), p.into(), p.cols(), Marked::No);
        let ap = fine.take_pattern().map_err(|foreign| foreign.error("A"))?;
        let coarse = Pieces::find(r.into(), rows, ap.view().into(), ap.cols(), Marked::No);
        Ok(Symbolic { fine, ap, coarse })
    }

    /// The numeric phase of A·P.
    fn compute_ap(&mut self, a: CsrRef<'_, T>, p: CsrRef<'_, T>) -> Result<(), MatrixError> {
        self.fine.compute_own(a, p, &mut self.ap).map_err(|foreign| foreign.error("A"))
    }

    /// The symbolic phase by blocks; `None` if the matrices are not block-full.
    fn find_blocks(
        r: CsrRef<'_, T>,
        rows: Range<usize>,
        a: CsrRef<'_, T>,
        p: CsrRef<'_, T>,
        fine_block: usize,
        coarse_block: usize,
    ) -> Result<Option<Self>, MatrixError> {
        let (m, n) = (fine_block, coarse_block);
        // P is the smallest, and the most likely not to be block-full.
        let nodes = || {
            let p_nodes = NodePattern::find(p.into(), p.all_rows(), p.cols(), m, n)?;
            let r_nodes = NodePattern::find(r.into(), rows.clone(), r.cols(), n, m)?;
            let a_nodes = NodePattern::find(a.into(), a.all_rows(), a.cols(), m, m)?;
            Some((r_nodes, a_nodes, p_nodes))
        };
        let Some((r_nodes, a_nodes, p_nodes)) = (m > 1 || n > 1).then(nodes).flatten() else {
            return Ok(None);
        };
        let cols = p.cols() / n;
        let shape = BlockShape { rows: m, inner: m, cols: n };
        let mut fine = Pieces::find_blocks(a.all_rows(), (&a_nodes).into(), p_nodes, cols, shape);
        let ap_nodes = fine.nodes();
        let ap = fine.take_pattern().map_err(|foreign| foreign.error("A"))?;
        let shape = BlockShape { rows: n, inner: m, cols: n };
        let coarse = Pieces::find_blocks(rows, (&r_nodes).into(), ap_nodes, cols, shape);
        Ok(Some(Symbolic { fine, ap, coarse }))
    }
}

/// C = R[rows, :] · A · P, computed once. As in [`TripleProductPlan`], A·P is computed for all rows
/// of `a`.
///
/// ```
/// use ziggurat_sparse::{Csr, algebra::{transpose, triple_product}};
/// let a = Csr::try_new(2, 2, vec![0, 2, 4], vec![0, 1, 0, 1], vec![2.0, -1.0, -1.0, 2.0])?;
/// let p = Csr::try_new(2, 1, vec![0, 1, 2], vec![0, 0], vec![1.0, 1.0])?;
/// let r = transpose(p.view(), p.all_rows());
/// let c = triple_product(r.view(), r.all_rows(), a.view(), p.view())?;
/// assert_eq!(c.row(0), (&[0][..], &[2.0][..]));
/// # Ok::<(), ziggurat_sparse::MatrixError>(())
/// ```
///
/// # Errors
/// If the extents of the matrices do not match, or the range of rows is out of bounds.
pub fn triple_product<T: Real>(
    r: CsrRef<'_, T>,
    rows: Range<usize>,
    a: CsrRef<'_, T>,
    p: CsrRef<'_, T>,
) -> Result<Csr<T>, MatrixError> {
    check_fit(r, &rows, a, p)?;
    let fused = FusedTripleProduct { r, a, p };
    if fused.pays() {
        return fused.matrix(rows);
    }
    let ap = RowProduct { a, b: &p, cols: p.cols() }.in_pieces();
    RowProduct { a: r, b: &ap, cols: p.cols() }.matrix(rows)
}

fn check_fit<T>(
    r: CsrRef<'_, T>,
    rows: &Range<usize>,
    a: CsrRef<'_, T>,
    p: CsrRef<'_, T>,
) -> Result<(), MatrixError> {
    check_rows(r, rows)?;
    check_extent("columns of R", a.rows(), r.cols())?;
    check_extent("rows of P", a.cols(), p.rows())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algebra::testing::{aggregation3d, of_extents, on_threads, poisson3d, range_within};
    use crate::algebra::{product, transpose};
    use proptest::prelude::*;

    /// (I - 2/3 D⁻¹ A) P: smoothed aggregation, whose sums are not exact.
    fn smoothed(a: &Csr<f64>, p: &Csr<f64>) -> Csr<f64> {
        let mut smoother = a.clone();
        for value in smoother.values_mut() {
            *value = if *value > 0.0 { 1.0 / 3.0 } else { 1.0 / 9.0 };
        }
        product(smoother.view(), a.all_rows(), p.view()).unwrap()
    }

    #[test]
    fn galerkin_of_a_symmetric_matrix_is_symmetric() {
        let a = poisson3d(20);
        let p = smoothed(&a, &aggregation3d(20));
        let r = transpose(p.view(), p.all_rows());
        let galerkin = || triple_product(r.view(), r.all_rows(), a.view(), p.view()).unwrap();
        let c = on_threads(1, galerkin);
        assert_eq!(on_threads(2, galerkin), c);

        let t = transpose(c.view(), c.all_rows());
        assert_eq!((t.row_ptr(), t.columns()), (c.row_ptr(), c.columns()));
        let largest = c.values().iter().fold(0.0, |most: f64, value| most.max(value.abs()));
        for (x, y) in c.values().iter().zip(t.values()) {
            assert!((x - y).abs() <= 1e-14 * largest, "{x} and {y}");
        }
        // Constants are in the range of P away from the boundary, so the rows of C sum to zero
        // there.
        let middle = (7 * 7 * 7) / 2;
        assert!(c.row(middle).1.iter().sum::<f64>().abs() < 1e-13 * largest);
    }

    #[test]
    fn a_plan_serves_new_values_and_refuses_new_patterns() {
        let (mut a, p) = (poisson3d(12), aggregation3d(12));
        let r = transpose(p.view(), p.all_rows());
        let (mut plan, mut c) =
            TripleProductPlan::with_product(r.view(), r.all_rows(), a.view(), p.view()).unwrap();
        assert_eq!(c, triple_product(r.view(), r.all_rows(), a.view(), p.view()).unwrap());
        for (k, value) in a.values_mut().iter_mut().enumerate() {
            *value += (k as f64).cos();
        }
        plan.compute_into(r.view(), a.view(), p.view(), &mut c).unwrap();
        assert_eq!(c, triple_product(r.view(), r.all_rows(), a.view(), p.view()).unwrap());

        let turned = |m: &Csr<f64>| {
            let (row_ptr, columns, values) = m.clone().into_parts();
            let columns = columns.iter().map(|&column| m.cols() as u32 - 1 - column).collect();
            Csr::from_unsorted(m.rows(), m.cols(), row_ptr, columns, values).unwrap()
        };
        let (r2, a2, p2, mut c2) = (turned(&r), turned(&a), turned(&p), turned(&c));
        let error = plan.compute_into(r.view(), a.view(), p.view(), &mut c2).unwrap_err();
        assert_eq!(error, MatrixError::OtherPattern { what: "the matrix to hold the product" });
        let mut refused = |r: &Csr<f64>, a: &Csr<f64>, p: &Csr<f64>| {
            plan.compute_into(r.view(), a.view(), p.view(), &mut c).unwrap_err()
        };
        for (error, what) in [
            (refused(&r2, &a, &p), "R"),
            (refused(&p, &a, &p), "R"),
            (refused(&r, &a2, &p), "A"),
            (refused(&r, &r, &p), "A"),
            (refused(&r, &a, &p2), "P"),
            (refused(&r, &a, &a), "P"),
        ] {
            assert_eq!(error, MatrixError::OtherPattern { what });
        }
        let error = TripleProductPlan::with_product(p.view(), p.all_rows(), a.view(), p.view()).unwrap_err();
        assert_eq!(error, MatrixError::Mismatch { what: "columns of R", expected: 1728, found: 64 });
        let error = triple_product(r.view(), r.all_rows(), a.view(), r.view()).unwrap_err();
        assert_eq!(error, MatrixError::Mismatch { what: "rows of P", expected: 1728, found: 64 });
    }

    proptest! {
        /// Sums of integers are exact, so the other order of multiplication gives the same values.
        /// A has halo rows: more rows than columns, or fewer.
        #[test]
        fn agrees_with_the_other_order(
            (r, a, p, rows) in (0..9usize, 0..9usize, 0..9usize, 0..9usize).prop_flat_map(|(l, m, n, o)| {
                (of_extents(l, m), of_extents(m, n), of_extents(n, o), range_within(l))
            })
        ) {
            let ra = product(r.view(), rows.clone(), a.view()).unwrap();
            let expected = product(ra.view(), ra.all_rows(), p.view()).unwrap();
            let once = triple_product(r.view(), rows.clone(), a.view(), p.view()).unwrap();
            prop_assert_eq!(&once, &expected);
            let (mut plan, mut c) =
                TripleProductPlan::with_product(r.view(), rows, a.view(), p.view()).unwrap();
            prop_assert_eq!(&c, &expected);
            c.values_mut().fill(f64::NAN);
            plan.compute_into(r.view(), a.view(), p.view(), &mut c).unwrap();
            prop_assert_eq!(c, expected);
        }
    }
}

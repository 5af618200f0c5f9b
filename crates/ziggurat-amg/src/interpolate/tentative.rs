//! Tentative interpolation: the near-kernel, restricted to each aggregate (Vaněk, Mandel & Brezina,
//! 1996).
//!
//! Let B_I be the rows of the near-kernel B that belong to aggregate I. With the thin QR
//! decomposition
//!
//! ```text
//! B_I = Q_I R_I        Q_Iᵀ Q_I = 1, R_I upper triangular, k × k
//! ```
//!
//! the block of P in the rows and columns of aggregate I is Q_I, and the block of the coarse
//! near-kernel is R_I. Then P Bc = B exactly, and Pᵀ P = 1. An aggregate of any size becomes a node
//! with k unknowns.
//!
//! **Too few rows.** An aggregate of one node with 3 unknowns cannot represent 6 rigid-body modes.
//! A column of B_I that depends linearly on the previous ones gives a column of zeros in Q_I and a
//! row of zeros in R_I; P Bc = B still holds. The corresponding unknown is *dead*: its row and
//! column of Pᵀ A P are zero, and the code that forms this product must set its diagonal entry to
//! one. Every node keeps k unknowns, so that the coarse matrix can be stored in blocks.
//!
//! The decomposition is modified Gram–Schmidt with a second pass (Kahan & Parlett: twice is
//! enough). Aggregates have a few dozen rows and usually at most six columns, so a blocked method
//! would not be faster.
//!
//! Cost: for the constant vector, one pass over the rows; otherwise 4 k² flops per row.

use std::ops::Range;

use ziggurat_sparse::{Csr, Dense, MatrixError, parallel};

use super::near_kernel::{DEPENDENT, NearKernel, dot, norm};
use crate::coarsen::Aggregates;

/// Number of nodes whose values one task copies.
const NODES: usize = 1024;

/// Number of aggregates that one task decomposes.
const AGGREGATES: usize = 128;

/// Tentative interpolation.
///
/// ```
/// use ziggurat_amg::{coarsen::Aggregates, interpolate::{NearKernel, tentative}};
/// let pairs = Aggregates::try_new(2, vec![0, 0, 1, 1])?;
/// let tentative = tentative(&pairs, &NearKernel::constants(4, 1)?)?;
/// let p = tentative.matrix(&pairs)?;
/// assert!(p.row(2).0 == [1] && (p.row(2).1[0] - 0.5_f64.sqrt()).abs() < 1e-15);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Tentative {
    /// Q, row by row: k values for every row, zeros for rows that are left out.
    values: Vec<f64>,
    coarse: NearKernel,
    block: usize,
    dead: Vec<u32>,
}

/// Builds tentative interpolation from aggregates of nodes and a near-kernel.
///
/// Both must cover whole aggregates: a process that owns an aggregate with members on other
/// processes must fetch their rows of the near-kernel beforehand.
///
/// # Errors
/// Returns an error if aggregates and near-kernel do not have the same nodes, or if the next level
/// would have too many rows.
pub fn tentative(aggregates: &Aggregates, kernel: &NearKernel) -> Result<Tentative, MatrixError> {
    if aggregates.rows() != kernel.nodes() {
        let what = "nodes of the near-kernel (one per node of the aggregates)";
        return Err(MatrixError::Mismatch { what, expected: aggregates.rows(), found: kernel.nodes() });
    }
    if kernel.is_constant() { constant(aggregates, kernel) } else { by_qr(aggregates, kernel) }
}

/// The case of one constant vector: for an aggregate of n rows, Q = ±1/√n, and R is √n times the
/// magnitude of the constant.
fn constant(aggregates: &Aggregates, kernel: &NearKernel) -> Result<Tentative, MatrixError> {
    let value = kernel.vectors().values().first().copied().unwrap_or(1.0);
    let sizes = aggregates.sizes();
    let roots = parallel::collect(sizes.len(), |aggregate| f64::from(sizes[aggregate]).sqrt());
    let inverse = parallel::collect(roots.len(), |aggregate| value.signum() / roots[aggregate]);
    let values = parallel::collect(aggregates.rows(), |row| match aggregates.of()[row] {
        Aggregates::NONE => 0.0,
        aggregate => inverse[aggregate as usize],
    });
    let coarse = parallel::collect(roots.len(), |aggregate| roots[aggregate] * value.abs());
    let coarse = NearKernel::coarse(Dense::try_new(coarse.len(), 1, coarse)?);
    Ok(Tentative { values, coarse, block: 1, dead: Vec::new() })
}

fn by_qr(aggregates: &Aggregates, kernel: &NearKernel) -> Result<Tentative, MatrixError> {
    let (block, k) = (kernel.block(), kernel.count());
    let (starts, members) = aggregates.members();
    let count = starts.len() - 1;
    let mut coarse = Dense::zeros(count * k, k)?;

    // Q in the order of the members, R aggregate by aggregate.
    let (mut q, mut r) = (vec![0.0; members.len() * block * k], vec![0.0; count * k * k]);
    let mut parts = Vec::with_capacity(count.div_ceil(AGGREGATES));
    let (mut q_left, mut r_left) = (&mut q[..], &mut r[..]);
    for first in (0..count).step_by(AGGREGATES) {
        let last = (first + AGGREGATES).min(count);
        let (q, r);
        (q, q_left) = q_left.split_at_mut((starts[last] - starts[first]) * block * k);
        (r, r_left) = r_left.split_at_mut((last - first) * k * k);
        parts.push((first..last, q, r));
    }
    parallel::consume(parts, &|_, (range, mut q, r)| {
        let mut columns = Vec::new();
        for (aggregate, r) in range.zip(r.chunks_exact_mut(k * k)) {
            let nodes = &members[starts[aggregate]..starts[aggregate + 1]];
            let rows = nodes.len() * block;
            columns.clear();
            for column in kernel.vectors().columns() {
                let rows_of = |&node: &u32| &column[node as usize * block..(node as usize + 1) * block];
                columns.extend(nodes.iter().flat_map(rows_of));
            }
            decompose(&mut columns, rows, k, r);
            let of_aggregate;
            (of_aggregate, q) = q.split_at_mut(rows * k);
            for (row, out) in of_aggregate.chunks_exact_mut(k).enumerate() {
                out.iter_mut().enumerate().for_each(|(c, out)| *out = columns[c * rows + row]);
            }
        }
    });

    let mut dead = Vec::new();
    for c in 0..k {
        let column = coarse.column_mut(c);
        for (aggregate, r) in r.chunks_exact(k * k).enumerate() {
            column[aggregate * k..(aggregate + 1) * k].copy_from_slice(&r[c * k..(c + 1) * k]);
        }
    }
    for (aggregate, r) in r.chunks_exact(k * k).enumerate() {
        dead.extend((0..k).filter(|c| r[c * k + c] == 0.0).map(|c| (aggregate * k + c) as u32));
    }
    let mut places = vec![usize::MAX; aggregates.rows()];
    members.iter().enumerate().for_each(|(place, &node)| places[node as usize] = place);
    let of_node = block * k;
    let mut values = vec![0.0; aggregates.rows() * of_node];
    parallel::over_chunks(&mut values, NODES * of_node, &|index, values| {
        for (values, &place) in values.chunks_exact_mut(of_node).zip(&places[index * NODES..]) {
            if place != usize::MAX {
                values.copy_from_slice(&q[place * of_node..(place + 1) * of_node]);
            }
        }
    });
    Ok(Tentative { values, coarse: NearKernel::coarse(coarse), block, dead })
}

/// Computes the thin QR decomposition of `columns`, which holds k columns of `rows` values each, in
/// place. `r` receives R, column by column. A linearly dependent column becomes zero, with zero on
/// the diagonal of R.
fn decompose(columns: &mut [f64], rows: usize, k: usize, r: &mut [f64]) {
    for c in 0..k {
        let (done, rest) = columns.split_at_mut(c * rows);
        let column = &mut rest[..rows];
        let r = &mut r[c * k..(c + 1) * k];
        let before = norm(column);
        for _ in 0..2 {
            for (basis, r) in done.chunks_exact(rows.max(1)).zip(r.iter_mut()) {
                let along = dot(basis, column);
                *r += along;
                column.iter_mut().zip(basis).for_each(|(value, basis)| *value -= along * basis);
            }
        }
        let after = norm(column);
        if after > DEPENDENT * before {
            r[c] = after;
            column.iter_mut().for_each(|value| *value /= after);
        } else {
            column.fill(0.0);
        }
    }
}

impl Tentative {
    /// Builds tentative interpolation from values that the owners of the aggregates have computed:
    /// `k` values for every row of every node of `aggregates`, and the near-kernel of all of these.
    /// Which unknowns are dead is not known.
    ///
    /// # Errors
    /// Returns an error if the number of values is wrong.
    pub(super) fn from_rows(
        aggregates: &Aggregates,
        block: usize,
        values: Vec<f64>,
        coarse: NearKernel,
    ) -> Result<Self, MatrixError> {
        let expected = aggregates.rows() * block * coarse.count();
        if values.len() != expected {
            let what = "values of tentative interpolation";
            return Err(MatrixError::Mismatch { what, expected, found: values.len() });
        }
        Ok(Tentative { values, coarse, block, dead: Vec::new() })
    }

    /// Q: `columns_per_row` values for every row, zeros for rows that are left out. The values of a
    /// row of node I belong to the columns of the aggregate of I.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Number of entries per row of P, which is the number of near-kernel vectors.
    pub fn columns_per_row(&self) -> usize {
        self.coarse.count()
    }

    /// Number of unknowns per node on the fine level.
    pub fn block(&self) -> usize {
        self.block
    }

    /// The near-kernel of the next level.
    pub fn coarse_kernel(&self) -> &NearKernel {
        &self.coarse
    }

    /// Consumes `self` and returns the near-kernel of the next level.
    pub fn into_coarse_kernel(self) -> NearKernel {
        self.coarse
    }

    /// The dead coarse unknowns, in increasing order: their columns of P are zero. Set their
    /// diagonal entries of the coarse matrix to 1.
    pub fn dead(&self) -> &[u32] {
        &self.dead
    }

    /// P as a matrix. The columns are the unknowns of the aggregates, k each. Rows that are left
    /// out are empty.
    ///
    /// # Errors
    /// Returns an error if these are not the aggregates it was built from.
    pub fn matrix(&self, aggregates: &Aggregates) -> Result<Csr<f64>, MatrixError> {
        self.rows_of_matrix(aggregates, 0..aggregates.rows() * self.block)
    }

    /// Same as [`matrix`](Self::matrix), for the rows `rows` only.
    pub(crate) fn rows_of_matrix(
        &self,
        aggregates: &Aggregates,
        rows: Range<usize>,
    ) -> Result<Csr<f64>, MatrixError> {
        self.check(aggregates)?;
        let (k, block) = (self.columns_per_row(), self.block);
        Csr::build(
            rows,
            self.coarse.rows(),
            || (),
            |(), row| if aggregates.get(row / block).is_some() { k } else { 0 },
            |(), row, columns, values| {
                let first = aggregates.of()[row / block].wrapping_mul(k as u32);
                (first..).zip(columns).for_each(|(number, column)| *column = number);
                values.copy_from_slice(&self.values[row * k..row * k + values.len()]);
            },
        )
    }

    /// Checks that the aggregates are those it was built from.
    pub(super) fn check(&self, aggregates: &Aggregates) -> Result<(), MatrixError> {
        let expected = self.values.len() / (self.block * self.columns_per_row());
        if aggregates.rows() != expected {
            let what = "nodes of the aggregates (one per node of tentative interpolation)";
            return Err(MatrixError::Mismatch { what, expected, found: aggregates.rows() });
        }
        let found = aggregates.count();
        if found != self.coarse.nodes() {
            let what = "aggregates of tentative interpolation";
            return Err(MatrixError::Mismatch { what, expected: self.coarse.nodes(), found });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coarsen::{mis2, node_matrix};
    use crate::halo::Whole;
    use crate::testing::{multiply, on_threads, problem, rigid_bodies, symmetric_graph};
    use proptest::prelude::*;
    use ziggurat_sparse::algebra::{product, transpose};

    /// Checks P Bc = B, and Pᵀ P = 1 except for dead unknowns.
    fn check_algebra(aggregates: &Aggregates, kernel: &NearKernel, tentative: &Tentative) {
        let p = tentative.matrix(aggregates).unwrap();
        let k = kernel.count();
        for (fine, coarse) in kernel.vectors().columns().zip(tentative.coarse_kernel().vectors().columns()) {
            let largest = fine.iter().fold(0.0f64, |largest, value| largest.max(value.abs()));
            for (row, (found, &expected)) in multiply(&p, coarse).into_iter().zip(fine).enumerate() {
                let expected = if aggregates.get(row / kernel.block()).is_some() { expected } else { 0.0 };
                assert!((found - expected).abs() <= 1e-13 * largest, "row {row}: {found}, not {expected}");
            }
        }
        let pt = transpose(p.view(), p.all_rows());
        let gram = product(pt.view(), pt.all_rows(), p.view()).unwrap();
        for row in 0..gram.rows() {
            let dead = tentative.dead().contains(&(row as u32));
            let (columns, values) = gram.row(row);
            for (&column, &value) in columns.iter().zip(values) {
                assert_eq!(column as usize / k, row / k, "aggregates overlap");
                let expected = if column as usize == row && !dead { 1.0 } else { 0.0 };
                assert!((value - expected).abs() < 1e-14, "{row} {column}: {value}");
            }
        }
    }

    #[test]
    fn constants_are_reproduced() {
        let a = problem("poisson3d:12");
        let aggregates = mis2(&symmetric_graph(&a), Some(a.view()), &Whole::new(a.rows())).unwrap();
        let kernel = NearKernel::constants(a.rows(), 1).unwrap();
        let fast = tentative(&aggregates, &kernel).unwrap();
        check_algebra(&aggregates, &kernel, &fast);
        // The general path agrees with the fast one, signs included.
        for value in [1.0, -3.0] {
            let column = Dense::try_new(a.rows(), 1, vec![value; a.rows()]).unwrap();
            let kernel = NearKernel::try_new(column, 1).unwrap();
            assert!(kernel.is_constant());
            let (fast, general) =
                (tentative(&aggregates, &kernel).unwrap(), by_qr(&aggregates, &kernel).unwrap());
            check_algebra(&aggregates, &kernel, &fast);
            let close = |x: &[f64], y: &[f64]| x.iter().zip(y).all(|(x, y)| (x - y).abs() <= 1e-14 * x.abs());
            assert!(close(fast.values(), general.values()));
            let vectors = |tentative: &Tentative| tentative.coarse_kernel().vectors().values().to_vec();
            assert!(close(&vectors(&fast), &vectors(&general)));
        }
    }

    #[test]
    fn rigid_body_modes_are_reproduced_on_two_levels() {
        let (a, kernel) = rigid_bodies(5);
        let nodes = node_matrix(a.view(), 3, 0..kernel.nodes()).unwrap();
        let aggregates =
            mis2(&symmetric_graph(&nodes), Some(nodes.view()), &Whole::new(nodes.rows())).unwrap();
        let fine = tentative(&aggregates, &kernel).unwrap();
        assert!(fine.dead().is_empty());
        check_algebra(&aggregates, &kernel, &fine);
        // The next level has six unknowns per node.
        let coarse = fine.into_coarse_kernel();
        assert_eq!((coarse.block(), coarse.count()), (6, 6));
        let pairs = (0..coarse.nodes() as u32).map(|node| node / 2).collect();
        let pairs = Aggregates::try_new(coarse.nodes().div_ceil(2), pairs).unwrap();
        check_algebra(&pairs, &coarse, &tentative(&pairs, &coarse).unwrap());
    }

    #[test]
    fn small_aggregates_have_dead_unknowns() {
        let (_, kernel) = rigid_bodies(2);
        // Node 0 alone: three unknowns for six modes. Nodes 1 and 2 form a bar: no rotation about
        // its axis. The other nodes form one aggregate.
        let of = (0..kernel.nodes()).map(|node| [0, 1, 1, 2][node.min(3)]).collect();
        let aggregates = Aggregates::try_new(3, of).unwrap();
        let tentative = tentative(&aggregates, &kernel).unwrap();
        let dead = tentative.dead().to_vec();
        assert_eq!(dead[..3], [3, 4, 5]);
        assert_eq!((dead.len(), dead[3] / 6), (4, 1));
        check_algebra(&aggregates, &kernel, &tentative);
    }

    #[test]
    fn rows_left_out_are_empty() {
        let aggregates = Aggregates::try_new(1, vec![0, Aggregates::NONE, 0]).unwrap();
        let kernel = NearKernel::constants(6, 2).unwrap();
        let tentative = tentative(&aggregates, &kernel).unwrap();
        let p = tentative.matrix(&aggregates).unwrap();
        assert_eq!((p.rows(), p.cols(), p.row_ptr()), (6, 2, &[0, 2, 4, 4, 4, 6, 8][..]));
        check_algebra(&aggregates, &kernel, &tentative);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let aggregates = Aggregates::try_new(1, vec![0, 0]).unwrap();
        assert!(tentative(&aggregates, &NearKernel::constants(3, 1).unwrap()).is_err());
        let fits = tentative(&aggregates, &NearKernel::constants(2, 1).unwrap()).unwrap();
        assert!(fits.matrix(&Aggregates::try_new(1, vec![0]).unwrap()).is_err());
        assert!(fits.matrix(&Aggregates::try_new(2, vec![0, 1]).unwrap()).is_err());
        let none = Aggregates::try_new(0, vec![]).unwrap();
        let p = tentative(&none, &NearKernel::constants(0, 3).unwrap()).unwrap().matrix(&none).unwrap();
        assert_eq!((p.rows(), p.cols()), (0, 0));
    }

    #[test]
    fn same_bits_on_any_number_of_threads() {
        let (_, kernel) = rigid_bodies(12);
        let of = (0..kernel.nodes() as u32).map(|node| node / 7).collect();
        let aggregates = Aggregates::try_new(kernel.nodes().div_ceil(7), of).unwrap();
        let run = || tentative(&aggregates, &kernel).unwrap();
        assert_eq!(on_threads(1, run), on_threads(2, run));
    }

    proptest! {
        #[test]
        fn any_near_kernel_is_reproduced(
            values in prop::collection::vec(-1.0..1.0f64, 60),
            of in prop::collection::vec(0..5u32, 15),
        ) {
            // 15 nodes of 2 unknowns, 2 vectors. Label 4 is left out; the others are numbered in
            // order of appearance.
            let mut labels: Vec<u32> = Vec::new();
            let number = |label: u32, labels: &mut Vec<u32>| {
                let at = labels.iter().position(|&other| other == label);
                at.unwrap_or_else(|| { labels.push(label); labels.len() - 1 }) as u32
            };
            let of: Vec<u32> = of.into_iter().map(|label| match label {
                4 => Aggregates::NONE,
                label => number(label, &mut labels),
            }).collect();
            let aggregates = Aggregates::try_new(labels.len(), of).unwrap();
            let kernel = NearKernel::try_new(Dense::try_new(30, 2, values).unwrap(), 2).unwrap();
            check_algebra(&aggregates, &kernel, &tentative(&aggregates, &kernel).unwrap());
        }
    }
}

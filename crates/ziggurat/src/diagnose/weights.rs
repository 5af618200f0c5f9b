//! The weights of a symmetric matrix's connections: whether they differ by orders of magnitude, and
//! their signs.
//!
//! In an M-matrix, a_ij ≤ 0 for j ≠ i, and |a_ij| is the weight of a connection. Where the weights
//! of one row differ by more than ten, and rows differ from each other as well, the matrix
//! describes a network (circuits, power grids) or a heterogeneous medium (reservoirs). Aggregates
//! then hold together what is weakly connected, and classical coarsening takes a third to a sixth
//! of the iterations. An anisotropic grid has the first property only.
//!
//! Where nearly all couplings are positive, as in mass matrices, D⁻¹A has its small eigenvalues at
//! vectors that oscillate. Jacobi leaves these to coarse levels, which cannot represent them.
//!
//! Cost: a sample of the rows. It is chosen by global ids, so the result does not depend on the
//! number of processes.

use ziggurat_amg::halo::Processes;
use ziggurat_sparse::CsrRef;
use ziggurat_sparse::hash::hash_id;

/// The number of rows that are examined.
const SAMPLE: u64 = 4096;

/// The ratio of a row's weights from which on they differ.
const DIFFERENT: f64 = 10.0;

/// The fraction of rows whose weights must differ, of those that have at least two. Leaves of a
/// network, two of five nodes in some power grids, have nothing to compare.
const ROWS: f64 = 0.15;

/// The ratio of a row's weights from which on they are not equal.
const UNEQUAL: f64 = 1.5;

/// The fraction of rows whose weights must not be equal, of those that have at least two. Where a
/// few coefficients jump, they are equal in most rows, and aggregates end at the jumps, as in
/// `jump3d`. In circuits and power grids they are unequal in most rows.
const UNEQUAL_ROWS: f64 = 0.52;

/// The least variance of the binary logarithm of diagonal entries.
const VARIANCE: f64 = 0.25;

/// The part of a row's couplings that must be positive.
const POSITIVE: f64 = 0.6;

/// The fraction of rows where they must be.
const POSITIVE_ROWS: f64 = 0.8;

/// Properties of the weights of a symmetric matrix.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Weights {
    /// It is an M-matrix, up to the sign of its rows, with weights that differ within rows and from
    /// row to row.
    pub(super) heterogeneous: bool,
    /// Most couplings of most rows have the sign of the diagonal.
    pub(super) positive: bool,
}

/// Own rows that are spread over a matrix of `rows` rows on all processes: of every so many rows,
/// one by a hash. A fixed stride would see only some of the columns of a grid.
pub(super) fn sample<H: Processes>(halo: &H, rows: u64) -> impl Iterator<Item = usize> {
    let (own, stride) = (halo.owned(), rows.div_ceil(SAMPLE).max(1));
    let first = if own.is_empty() { 0 } else { halo.global_id(own.start) };
    let ids = first..first + own.len() as u64;
    let chosen = move |part: u64| part * stride + hash_id(part) % stride;
    let parts = (first / stride..ids.end.div_ceil(stride)).map(chosen);
    parts.filter(move |id| ids.contains(id)).map(move |id| own.start + (id - first) as usize)
}

impl Weights {
    /// Examines a symmetric matrix with this number of rows over all processes. Collective.
    pub(super) fn of<H: Processes>(a: CsrRef<'_, f64>, halo: &H, rows: u64) -> Self {
        // Rows examined, without the property of an M-matrix, with at least two weights, with
        // unequal and with different ones, and with positive couplings; sums of the exponents of
        // diagonal entries and of their squares.
        let mut counts = [0u64; 8];
        for row in sample(halo, rows) {
            let (columns, values) = a.row(row);
            let diagonal = a.get_near(row, row, &mut 0).unwrap_or(0.0);
            let (mut least, mut most, mut all, mut positive) = (f64::INFINITY, 0.0_f64, 0.0, 0.0);
            let mut weights = 0;
            for (&column, &value) in columns.iter().zip(values) {
                if column as usize != row && value != 0.0 {
                    let size = value.abs();
                    weights += 1;
                    (least, most, all) = (least.min(size), most.max(size), all + size);
                    positive += (value * diagonal.signum()).max(0.0);
                }
            }
            if weights == 0 && diagonal == 0.0 {
                continue; // an empty row says nothing
            }
            // The exponent with its bias, which is not negative.
            let exponent = (diagonal.to_bits() >> 52) & 0x7ff;
            let conditions = [
                true,
                positive > 0.0 || diagonal == 0.0,
                weights > 1,
                most > UNEQUAL * least,
                most > DIFFERENT * least,
                positive > POSITIVE * all,
            ];
            let row = conditions.map(u64::from).into_iter().chain([exponent, exponent * exponent]);
            counts.iter_mut().zip(row).for_each(|(sum, one)| *sum += one);
        }
        halo.sum(&mut counts);
        let [examined, not_m, compared, unequal, different, positive, sum, squares] =
            counts.map(|count| count as f64);
        let variance = squares / examined - (sum / examined).powi(2);
        Weights {
            heterogeneous: not_m == 0.0
                && compared > 0.0
                && unequal >= UNEQUAL_ROWS * compared
                && different >= ROWS * compared
                && variance >= VARIANCE,
            positive: positive > 0.0 && positive >= POSITIVE_ROWS * examined,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ziggurat_amg::halo::Whole;
    use ziggurat_sparse::gallery::Problem;
    use ziggurat_sparse::hash::uniform_signed;
    use ziggurat_sparse::{Coo, Csr};

    fn weights(a: &Csr<f64>) -> Weights {
        Weights::of(a.view(), &Whole::new(a.rows()), a.rows() as u64)
    }

    #[test]
    fn only_networks_and_heterogeneous_media_are_heterogeneous() {
        for name in
            ["poisson3d:12", "anisotropic3d:12", "jump3d:24", "jump3d:50", "jump3d:100", "elasticity3d:5"]
        {
            let a = name.parse::<Problem>().unwrap().matrix().unwrap();
            assert_eq!(weights(&a), Weights::default(), "{name}");
        }
        // A network: the conductances of a grid's edges span four orders of magnitude. Also with a
        // leaf at every node, and with isolated nodes.
        let grid = "poisson2d:30".parse::<Problem>().unwrap().matrix().unwrap();
        let edges = |row: usize| grid.row(row).0.iter().map(move |&column| (row, column as usize));
        let edges: Vec<_> = grid.all_rows().flat_map(edges).filter(|(row, column)| column < row).collect();
        let leaves = grid.all_rows().map(|row| (row, grid.rows() + row));
        let leaves: Vec<_> = leaves.collect();
        for (nodes, isolated, leaves) in [
            (grid.rows(), 0, Vec::new()),
            (2 * grid.rows(), 0, leaves.clone()),
            (2 * grid.rows(), grid.rows(), leaves),
        ] {
            let mut network = Coo::new(nodes + isolated, nodes + isolated).unwrap();
            for &(one, other) in edges.iter().chain(&leaves) {
                let weight = 10f64.powf(2.0 * uniform_signed((one * nodes + other) as u64));
                for (i, j, value) in [(one, one, weight), (other, other, weight), (one, other, -weight)] {
                    network.push(i, j, value).unwrap();
                }
                network.push(other, one, -weight).unwrap();
            }
            assert_eq!(weights(&network.to_csr()), Weights { heterogeneous: true, positive: false });
        }
        // Nothing to compare.
        let pair = Csr::try_new(2, 2, vec![0, 2, 4], vec![0, 1, 0, 1], vec![1.0, -1.0, -1.0, 1.0]).unwrap();
        assert_eq!(weights(&pair), Weights::default());
    }

    #[test]
    fn a_mass_matrix_has_positive_couplings() {
        let mut a = "poisson2d:20".parse::<Problem>().unwrap().matrix().unwrap();
        a.values_mut().iter_mut().for_each(|value| *value = value.abs());
        assert_eq!(weights(&a), Weights { heterogeneous: false, positive: true });
        let none = Csr::identity(0).unwrap();
        assert_eq!(weights(&none), Weights::default());
    }
}

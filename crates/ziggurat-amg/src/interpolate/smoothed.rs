//! Smoothed aggregation: tentative interpolation, smoothed once (Vaněk, Mandel & Brezina,
//! *Algebraic multigrid by smoothed aggregation for second and fourth order elliptic problems*,
//! 1996).
//!
//! ```text
//! P = (1 - ω D⁻¹ A_F) P_tent        A_F: the filtered matrix (filtered.rs)
//! ```
//!
//! Tentative interpolation is discontinuous between aggregates; smoothing removes most of the
//! energy of these jumps. The choices for D are:
//!
//! - [`SmoothingScale::RowSums`], the default: dᵢ = max(|a_ii|, ½ Σ_j |a_ij|) of A_F, and ω =
//!   damping/2. Then ρ(D⁻¹A_F) ≤ 2 by Gershgorin, whatever diagonal the filtering leaves. No
//!   estimate is needed, and a row that is far from diagonally dominant damps only itself. For
//!   M-matrices with zero row sums D is the diagonal.
//! - [`SmoothingScale::SpectralRadius`]: D is the diagonal of A_F, and ω = damping/ρ, where ρ ≈
//!   ρ(D⁻¹A_F) is given by the caller ([`lanczos`](ziggurat_sparse::spectrum::lanczos()) estimates
//!   it). For elasticity this is the larger step.
//!
//! The damping that minimises the bound of Vaněk et al. is 4/3; hierarchies use it with the
//! spectral radius.
//!
//! P is built in one pass, row by row, without forming 1 - ω D⁻¹ A_F. Where the row sums of A_F are
//! zero, P Bc = B as for P_tent. Cost: one pass over the matrix and one over P; k flops per entry.

use std::ops::Range;

use thiserror::Error;
use ziggurat_sparse::algebra::SparseAccumulator;
use ziggurat_sparse::matrix::Entries;
use ziggurat_sparse::words::number;
use ziggurat_sparse::{Csr, CsrRef, MatrixError};

use super::filtered::{FilteredRow, check};
use super::tentative::Tentative;
use crate::coarsen::Aggregates;

/// The scaling D of the rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SmoothingScale {
    /// The larger of the magnitude of the diagonal entry and half the sum of the magnitudes of the
    /// row.
    RowSums,
    /// The diagonal entry, and this bound or estimate of ρ(D⁻¹A_F).
    SpectralRadius(f64),
}

/// How tentative interpolation is smoothed.
///
/// ```
/// use ziggurat_amg::interpolate::{SmoothingScale, ProlongationSmoothing};
/// let textbook = ProlongationSmoothing { damping: 4.0 / 3.0, scaling: SmoothingScale::SpectralRadius(2.0), ..ProlongationSmoothing::default() };
/// assert_ne!(ProlongationSmoothing::default(), textbook);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProlongationSmoothing {
    /// ω ρ(D⁻¹A): between 0, which does not change P, and 2. The textbook value is 4/3.
    pub damping: f64,
    /// The choice of D.
    pub scaling: SmoothingScale,
    /// Connections smaller than this fraction of the largest in the row are filtered out.
    pub filter: f64,
}

impl Default for ProlongationSmoothing {
    fn default() -> Self {
        ProlongationSmoothing { damping: 1.5, scaling: SmoothingScale::RowSums, filter: 0.1 }
    }
}

/// Why interpolation cannot be smoothed.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum SmoothingError {
    /// The damping is outside the range in which the step smooths.
    #[error("damping {} of smoothed aggregation is not between 0 and 2; 1.5 is usual", number(*found))]
    Damping {
        /// The given value.
        found: f64,
    },
    /// The filter threshold is not a fraction.
    #[error("filter {} of smoothed aggregation is not between 0 and 1; 0.1 is usual", number(*found))]
    Filter {
        /// The given value.
        found: f64,
    },
    /// The spectral radius is not a positive finite number.
    #[error(
        "spectral radius {} is not positive and finite; estimate that of D^-1 A, or use row sums",
        number(*found)
    )]
    SpectralRadius {
        /// The given value.
        found: f64,
    },
    /// Matrix, node matrix and aggregates do not match.
    #[error(transparent)]
    Matrix(#[from] MatrixError),
}

/// Builds the rows `rows` of smoothed interpolation.
///
/// `nodes` holds one number for every pair of nodes, as for
/// [`filtered_matrix`](super::filtered_matrix). `aggregates` and `tentative` cover every node that
/// the columns of `a` refer to; a process must fetch the entries of its halo beforehand.
///
/// ```
/// use ziggurat_amg::coarsen::mis2;
/// use ziggurat_amg::halo::Whole;
/// use ziggurat_amg::interpolate::{NearKernel, ProlongationSmoothing, smoothed, tentative};
/// use ziggurat_amg::strength::{Strength, strong_connections};
/// use ziggurat_sparse::gallery::Problem;
/// let a = "poisson3d:10".parse::<Problem>()?.matrix()?;
/// let halo = Whole::new(a.rows());
/// let strong = strong_connections(a.view(), a.all_rows(), &Strength::symmetric(), &[], &halo)?;
/// let aggregates = mis2(&strong, Some(a.view()), &halo)?;
/// let tentative = tentative(&aggregates, &NearKernel::constants(a.rows(), 1)?)?;
/// let p = smoothed(a.view(), a.all_rows(), a.view(), &aggregates, &tentative, &ProlongationSmoothing::default())?;
/// assert_eq!((p.rows(), p.cols()), (1000, aggregates.count()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Returns an error if a parameter is out of range, or if the arguments do not match.
pub fn smoothed(
    a: CsrRef<'_, f64>,
    rows: Range<usize>,
    nodes: CsrRef<'_, f64>,
    aggregates: &Aggregates,
    tentative: &Tentative,
    smoothing: &ProlongationSmoothing,
) -> Result<Csr<f64>, SmoothingError> {
    let &ProlongationSmoothing { damping, scaling, filter } = smoothing;
    if !(0.0..=2.0).contains(&damping) {
        return Err(SmoothingError::Damping { found: damping });
    }
    if !(0.0..=1.0).contains(&filter) {
        return Err(SmoothingError::Filter { found: filter });
    }
    if let SmoothingScale::SpectralRadius(found) = scaling
        && !(found > 0.0 && found.is_finite())
    {
        return Err(SmoothingError::SpectralRadius { found });
    }
    let (block, k) = (tentative.block(), tentative.columns_per_row());
    check(a, &rows, nodes, block)?;
    tentative.check(aggregates)?;
    if aggregates.rows() * block != a.cols() {
        let (expected, found) = (a.cols(), aggregates.rows() * block);
        let what = "unknowns of the aggregated nodes (one per matrix column)";
        return Err(MatrixError::Mismatch { what, expected, found }.into());
    }
    let step = Step { a, nodes, filter, aggregates, tentative, damping, scaling };
    let columns = tentative.coarse_kernel().rows();
    let row_ptr = a.row_ptr();
    let p = if block == 1 && k == 1 {
        let scratch = || (FilteredRow::new(1), SparseAccumulator::new(columns));
        Csr::collect(row_ptr, rows, columns, scratch, |(filtered, sums), row, entries| {
            step.scalar_row(filtered, sums, row, entries);
        })
    } else {
        let scratch = || Scratch::new(block);
        Csr::collect(row_ptr, rows, columns, scratch, |scratch: &mut Scratch, row, entries| {
            step.row(scratch, row, block, k, entries);
        })
    };
    Ok(p?)
}

/// The data shared by all rows.
struct Step<'a> {
    a: CsrRef<'a, f64>,
    nodes: CsrRef<'a, f64>,
    filter: f64,
    aggregates: &'a Aggregates,
    tentative: &'a Tentative,
    damping: f64,
    scaling: SmoothingScale,
}

/// Scratch space for one row.
struct Scratch {
    filtered: FilteredRow,
    /// The aggregates that occur in the row, each with its position in `sums`.
    met: Vec<(u32, u32)>,
    /// k sums for each of these aggregates.
    sums: Vec<f64>,
}

impl Scratch {
    fn new(block: usize) -> Self {
        Scratch { filtered: FilteredRow::new(block), met: Vec::new(), sums: Vec::new() }
    }
}

impl Step<'_> {
    /// Computes a row of P for nodes with one unknown and aggregates with one basis function.
    #[inline(always)]
    fn scalar_row(
        &self,
        filtered: &mut FilteredRow,
        sums: &mut SparseAccumulator<f64>,
        row: usize,
        entries: &mut Entries<f64>,
    ) {
        filtered.read_scalars(self.a, self.nodes, self.filter, row);
        let factor = self.factor(filtered, 0);
        let (aggregates, tentative) = (self.aggregates.of(), self.tentative.values());
        sums.begin();
        let mut add = |column: usize, coefficient: f64| {
            let aggregate = aggregates[column];
            if aggregate != Aggregates::NONE {
                sums.add(aggregate, coefficient * tentative[column]);
            }
        };
        add(row, 1.0 - factor * filtered.own[0]);
        for &(column, value) in &filtered.strong {
            add(column as usize, -factor * value);
        }
        sums.sort();
        sums.drain_into(entries);
    }

    /// Computes a row of P.
    #[inline(always)]
    fn row(&self, scratch: &mut Scratch, row: usize, block: usize, k: usize, entries: &mut Entries<f64>) {
        let node_of = |column: u32| column as usize / block;
        let Scratch { filtered, met, sums } = scratch;
        filtered.read(self.a, self.nodes, self.filter, row);
        met.clear();
        sums.clear();
        // The columns of a node are contiguous, so its aggregate is looked up once.
        let mut present = (usize::MAX, None);
        let mut add = |column: usize, node: usize, coefficient: f64| {
            if node != present.0 {
                present = (node, place_of(self.aggregates.of()[node], met, sums, k));
            }
            if let Some(place) = present.1 {
                let values = &self.tentative.values()[column * k..(column + 1) * k];
                add_scaled(&mut sums[place * k..(place + 1) * k], coefficient, values);
            }
        };
        let node = node_of(row as u32);
        let unknown = row - node * block;
        let factor = self.factor(filtered, unknown);
        for (other, value) in filtered.own.iter().enumerate() {
            let identity = if other == unknown { 1.0 } else { 0.0 };
            add(node * block + other, node, identity - factor * value);
        }
        for &(column, value) in &filtered.strong {
            add(column as usize, node_of(column), -factor * value);
        }
        met.sort_unstable();
        for &(aggregate, place) in met.iter() {
            let first = place as usize * k;
            for (column, &sum) in (aggregate * k as u32..).zip(&sums[first..first + k]) {
                entries.push(column, sum);
            }
        }
    }

    /// ω/d of a row.
    #[inline]
    fn factor(&self, row: &FilteredRow, unknown: usize) -> f64 {
        let filtered = row.own[unknown];
        match self.scaling {
            // A diagonal that filtering has reduced to zero, or whose sign it has changed, cannot
            // be divided by.
            SmoothingScale::SpectralRadius(radius) if filtered * row.diagonal > 0.0 => {
                self.damping / (radius * filtered)
            }
            _ => {
                let others = row.strong.iter().map(|(_, value)| value.abs());
                let sum = row.own.iter().map(|value| value.abs()).chain(others).sum::<f64>();
                let scale = filtered.abs().max(0.5 * sum).copysign(row.diagonal);
                if scale != 0.0 { self.damping / (2.0 * scale) } else { 0.0 }
            }
        }
    }
}

/// The position of the sums of an aggregate, in units of k. An aggregate without a position is
/// given one. `None` for rows that are left out of the aggregates.
fn place_of(aggregate: u32, met: &mut Vec<(u32, u32)>, sums: &mut Vec<f64>, k: usize) -> Option<usize> {
    if aggregate == Aggregates::NONE {
        return None;
    }
    if let Some(&(_, place)) = met.iter().find(|(other, _)| *other == aggregate) {
        return Some(place as usize);
    }
    met.push((aggregate, met.len() as u32));
    sums.resize(met.len() * k, 0.0);
    Some(met.len() - 1)
}

/// sums += coefficient · values
#[inline(always)]
pub(super) fn add_scaled(sums: &mut [f64], coefficient: f64, values: &[f64]) {
    // Rigid-body modes in three dimensions: a loop of known length is unrolled.
    if let (Ok(sums), Ok(values)) = (<&mut [f64; 6]>::try_from(&mut *sums), <&[f64; 6]>::try_from(values)) {
        for (sum, value) in sums.iter_mut().zip(values) {
            *sum += coefficient * value;
        }
        return;
    }
    for (sum, value) in sums.iter_mut().zip(values) {
        *sum += coefficient * value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interpolate::{NearKernel, filtered_matrix, tentative};
    use crate::testing::{Level, multiply, on_threads};
    use ziggurat_sparse::algebra::{add, product, scale_rows, transpose, triple_product};

    /// (1 - ω D⁻¹ A_F) P_tent by matrix products, for given ω/D.
    fn by_products(level: &Level, omega_over_d: &[f64]) -> Csr<f64> {
        let block = level.kernel.block();
        let mut s =
            filtered_matrix(level.a.view(), level.a.all_rows(), level.nodes.view(), block, 0.1).unwrap();
        scale_rows(&mut s, omega_over_d).unwrap();
        let identity = Csr::identity(s.rows()).unwrap();
        let s = add(1.0, identity.view(), -1.0, s.view(), s.all_rows()).unwrap();
        let p = level.tentative.matrix(&level.aggregates).unwrap();
        product(s.view(), s.all_rows(), p.view()).unwrap()
    }

    fn assert_close(found: &Csr<f64>, expected: &Csr<f64>) {
        assert_eq!((found.row_ptr(), found.columns()), (expected.row_ptr(), expected.columns()));
        for (found, expected) in found.values().iter().zip(expected.values()) {
            assert!((found - expected).abs() <= 1e-14, "{found}, not {expected}");
        }
    }

    #[test]
    fn one_pass_agrees_with_the_products() {
        for level in [Level::scalar("jump3d:12"), Level::scalar("poisson3d27:8"), Level::elasticity(4)] {
            let block = level.kernel.block();
            let filtered =
                filtered_matrix(level.a.view(), level.a.all_rows(), level.nodes.view(), block, 0.1).unwrap();
            let diagonal = filtered.view().diagonal(filtered.all_rows());
            assert!(diagonal.iter().all(|&value| value > 0.0));
            let scaling = SmoothingScale::SpectralRadius(2.5);
            let smoothing =
                ProlongationSmoothing { damping: 4.0 / 3.0, scaling, ..ProlongationSmoothing::default() };
            let factors: Vec<f64> = diagonal.iter().map(|value| 4.0 / 3.0 / 2.5 / value).collect();
            assert_close(&level.smoothed(smoothing), &by_products(&level, &factors));

            let sums = |row: usize| filtered.row(row).1.iter().map(|value| value.abs()).sum::<f64>();
            let factor = |row: usize| 0.75 / diagonal[row].max(0.5 * sums(row));
            let factors: Vec<f64> = filtered.all_rows().map(factor).collect();
            assert_close(&level.smoothed(ProlongationSmoothing::default()), &by_products(&level, &factors));
        }
    }

    #[test]
    fn without_damping_it_is_tentative() {
        let level = Level::elasticity(3);
        let none = level.smoothed(ProlongationSmoothing { damping: 0.0, ..ProlongationSmoothing::default() });
        // The result still has the pattern of smoothed interpolation.
        let tentative = level.tentative.matrix(&level.aggregates).unwrap();
        for row in 0..tentative.rows() {
            let (columns, values) = tentative.row(row);
            for (&column, &value) in columns.iter().zip(values) {
                assert_eq!(none.get(row, column as usize), Some(value));
            }
        }
    }

    #[test]
    fn the_near_kernel_is_reproduced_where_the_matrix_annihilates_it() {
        for level in [Level::scalar("poisson3d:12"), Level::scalar("jump3d:12"), Level::elasticity(5)] {
            let p = level.smoothed(ProlongationSmoothing::default());
            let mut inside = 0;
            for (fine, coarse) in
                level.kernel.vectors().columns().zip(level.tentative.coarse_kernel().vectors().columns())
            {
                let block = level.kernel.block();
                let filtered =
                    filtered_matrix(level.a.view(), level.a.all_rows(), level.nodes.view(), block, 0.1)
                        .unwrap();
                let (residual, found) = (multiply(&filtered, fine), multiply(&p, coarse));
                for row in 0..p.rows() {
                    if residual[row].abs() < 1e-12 * level.a.get(row, row).unwrap() {
                        inside += 1;
                        assert!((found[row] - fine[row]).abs() < 1e-11, "row {row}");
                    }
                }
            }
            assert!(inside > level.a.rows() / 4, "{inside} rows");
        }
    }

    #[test]
    fn smoothing_takes_energy_away() {
        // The trace of Pᵀ A P, relative to tentative interpolation.
        for (level, most) in [(Level::scalar("poisson3d:15"), 0.35), (Level::elasticity(6), 0.6)] {
            let energy = |p: &Csr<f64>| {
                let r = transpose(p.view(), p.all_rows());
                let coarse = triple_product(r.view(), r.all_rows(), level.a.view(), p.view()).unwrap();
                coarse.view().diagonal(coarse.all_rows()).iter().sum::<f64>()
            };
            let before = energy(&level.tentative.matrix(&level.aggregates).unwrap());
            let after = energy(&level.smoothed(ProlongationSmoothing::default()));
            assert!(after < most * before, "{after} of {before}");
        }
    }

    #[test]
    fn the_galerkin_product_is_symmetric() {
        for level in [Level::scalar("anisotropic3d:10"), Level::elasticity(4)] {
            let p = level.smoothed(ProlongationSmoothing::default());
            let r = transpose(p.view(), p.all_rows());
            let coarse = triple_product(r.view(), r.all_rows(), level.a.view(), p.view()).unwrap();
            let mirrored = transpose(coarse.view(), coarse.all_rows());
            assert_eq!((coarse.row_ptr(), coarse.columns()), (mirrored.row_ptr(), mirrored.columns()));
            let largest = coarse.values().iter().fold(0.0f64, |largest, value| largest.max(value.abs()));
            for (x, y) in coarse.values().iter().zip(mirrored.values()) {
                assert!((x - y).abs() <= 1e-14 * largest);
            }
        }
    }

    #[test]
    fn signs_and_empty_rows_do_no_harm() {
        // P is the same for -A as for A; a row of zeros leaves P unchanged.
        let level = Level::scalar("poisson2d:9");
        let p = level.smoothed(ProlongationSmoothing::default());
        let mut negative = level.a.clone();
        negative.values_mut().iter_mut().for_each(|value| *value = -*value);
        for scaling in [SmoothingScale::RowSums, SmoothingScale::SpectralRadius(2.0)] {
            let smoothing = ProlongationSmoothing { scaling, ..ProlongationSmoothing::default() };
            let of = |a: &Csr<f64>| {
                let aggregates = &level.aggregates;
                smoothed(a.view(), a.all_rows(), a.view(), aggregates, &level.tentative, &smoothing).unwrap()
            };
            assert_eq!(of(&negative), of(&level.a));
            let mut zero = level.a.clone();
            zero.values_mut().fill(0.0);
            let unchanged = of(&zero);
            let own = level.aggregates.of()[40] as usize;
            assert_eq!(unchanged.get(40, own), Some(level.tentative.values()[40]));
        }
        // Filtering leaves a negative diagonal, because weak connections dominate the row.
        let a = Csr::try_new(2, 2, vec![0, 2, 4], vec![0, 1, 0, 1], vec![1.0, -3.0, -3.0, 1.0]).unwrap();
        let nodes = Csr::identity(2).unwrap();
        let aggregates = Aggregates::try_new(2, vec![0, 1]).unwrap();
        let tentative = tentative(&aggregates, &NearKernel::constants(2, 1).unwrap()).unwrap();
        for scaling in [SmoothingScale::RowSums, SmoothingScale::SpectralRadius(2.0)] {
            let smoothing =
                ProlongationSmoothing { damping: 1.0, scaling, ..ProlongationSmoothing::default() };
            let p = smoothed(a.view(), 0..2, nodes.view(), &aggregates, &tentative, &smoothing).unwrap();
            assert_eq!(p.values(), [1.5, 1.5]); // bounded, whatever the diagonal
        }
        assert!(p.values().iter().all(|value| value.is_finite()));
    }

    #[test]
    fn a_range_of_rows_gives_these_rows() {
        let level = Level::elasticity(4);
        let whole = level.smoothed(ProlongationSmoothing::default());
        let part = |rows: Range<usize>| {
            let smoothing = ProlongationSmoothing::default();
            smoothed(
                level.a.view(),
                rows,
                level.nodes.view(),
                &level.aggregates,
                &level.tentative,
                &smoothing,
            )
        };
        let p = part(60..105).unwrap();
        assert!((0..45).all(|row| p.row(row) == whole.row(row + 60)));
        assert!(part(61..106).is_err());
    }

    #[test]
    fn nonsense_is_refused_by_name() {
        let level = Level::scalar("poisson2d:4");
        let with = |damping: f64, scaling: SmoothingScale| {
            let (a, smoothing) = (
                level.a.view(),
                ProlongationSmoothing { damping, scaling, ..ProlongationSmoothing::default() },
            );
            smoothed(a, a.all_rows(), a, &level.aggregates, &level.tentative, &smoothing)
        };
        let wrong = [
            (-0.1, SmoothingScale::RowSums),
            (2.5, SmoothingScale::RowSums),
            (f64::NAN, SmoothingScale::RowSums),
        ];
        assert!(wrong.iter().all(|&(damping, scaling)| {
            matches!(with(damping, scaling), Err(SmoothingError::Damping { .. }))
        }));
        for radius in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let error = with(1.0, SmoothingScale::SpectralRadius(radius)).unwrap_err();
            assert!(matches!(error, SmoothingError::SpectralRadius { .. }), "{radius}");
        }
        let other = Aggregates::try_new(1, vec![0; 16]).unwrap();
        let (a, smoothing) = (level.a.view(), ProlongationSmoothing::default());
        assert!(smoothed(a, a.all_rows(), a, &other, &level.tentative, &smoothing).is_err());
    }

    #[test]
    fn same_bits_on_any_number_of_threads() {
        for level in [Level::scalar("jump3d:30"), Level::elasticity(10)] {
            let run = || level.smoothed(ProlongationSmoothing::default());
            assert_eq!(on_threads(1, run), on_threads(2, run));
        }
    }
}

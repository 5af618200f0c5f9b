//! Scaling of a level into the range of a reduced precision, after setup.
//!
//! ```text
//! s_i = 2^k ≈ √(|a_ii| / G)    A' = S⁻¹ A S⁻¹    P' = S P S_c⁻¹    R' = S_c⁻¹ R S    d' = S² d
//! ```
//!
//! This is the setup-then-scale approach of Zong, Yu, Huang & Xue (*FP16 acceleration in structured
//! multigrid preconditioner*, ICPP 2024); their Q^1/2 is S here. They apply it to vectors on the
//! fly. Here a level works in the variables S x and S⁻¹ b throughout, and P' and R' contain the
//! change of variables between two levels. So a cycle pays for it only at the finest level, where
//! it reads and writes the caller's vectors. Factors are powers of two: scaling changes no bit of a
//! mantissa, and a scaled level stored in `f64` is the same operator.
//!
//! G is the largest power of four that keeps every entry within the range, so that the smallest
//! entries are represented as well as possible. The diagonal of a symmetric positive definite
//! matrix bounds its entries; a matrix without such a bound gets a smaller G. P' and R' have a
//! common power of two of their own, by which the product divides again.
//!
//! Scaling *before* setup is different and fails: it changes strength of connection and what counts
//! as smooth error.
//!
//! Cost: two passes over each matrix.

use std::borrow::Cow;
use std::ops::RangeInclusive;

use ziggurat_sparse::algebra::scaled;
use ziggurat_sparse::device::{Device, DeviceExt};
use ziggurat_sparse::matrix::ScaleFactors;
use ziggurat_sparse::parallel::{self, PIECE};
use ziggurat_sparse::{Csr, Kind, MatrixError};

use super::part::{OwnMatrix, Part, largest_of};
use super::source::LevelSource;
use crate::power_of_two;
use crate::smoother::SmootherData;

/// The diagonal matrix S of a level.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum LevelScaling {
    /// 1 / s_i, which is the same for all rows, on all processes that share the level.
    Constant {
        /// Own rows.
        rows: usize,
        /// 1 / s_i
        inverse: f64,
    },
    /// Lists of the own rows.
    ByRow {
        /// s_i
        factors: Vec<f64>,
        /// 1 / s_i
        inverses: Vec<f64>,
    },
}

impl LevelScaling {
    /// The scaling of every level, by its storage precision; `None` for levels that need none. The
    /// first `smoothed` levels have one; the coarsest is in double precision if it is solved. All
    /// levels below one in reduced precision are scaled, because their right-hand sides come from
    /// a vector in that precision.
    pub(crate) fn of_levels(
        levels: &[LevelSource<'_>],
        smoothed: usize,
        storage: &dyn Fn(usize) -> Kind,
    ) -> Vec<Option<LevelScaling>> {
        // Precisions with the range of single precision need scaling only for unusual units.
        let numbers = (0..smoothed).map(storage);
        let wide = numbers.clone().all(|storage| storage == Kind::F64);
        let far = numbers.clone().all(|storage| storage != Kind::F16);
        if wide || far && are_usual(levels) {
            return vec![None; levels.len()];
        }
        let mut narrow = Kind::F64;
        let of_level = |(index, source): (usize, &LevelSource<'_>)| {
            // The coarsest level is solved in double precision.
            if index < smoothed && storage(index) != Kind::F64 {
                narrow = storage(index);
            }
            LevelScaling::of(source.device, source.a, narrow)
        };
        levels.iter().enumerate().map(of_level).collect()
    }

    /// The scaling of a square matrix to be stored as `storage`; `None` if that has the range of
    /// double precision.
    pub(super) fn of(device: &dyn Device, part: Part<'_>, storage: Kind) -> Option<LevelScaling> {
        if storage == Kind::F64 {
            return None;
        }
        // √G for factors whose largest scaled entry is `largest`.
        let root = |largest: f64| power_of_two::at_most((most(storage) / largest).sqrt());
        let same = |size: f64| {
            let factor = power_of_two::nearest(size.sqrt());
            let both = Diagonal::Constant(factor.recip());
            let factor = factor / root(part.largest(device, device, scaled_by(both, both)));
            Some(LevelScaling::Constant { rows: part.own.rows(), inverse: factor.recip() })
        };
        // One process has all of a grid, so it needs neither a list nor the others to see this.
        if let OwnMatrix::Grid(a) = part.own
            && let Some(diagonal) = a.constant_diagonal().filter(|&diagonal| diagonal != 0.0)
        {
            return same(diagonal.abs());
        }
        let mut factors = part.own.diagonal_sizes();
        // An empty row is scaled as if it had the largest diagonal entry (`empty_rows.rs`).
        let largest = device.largest_of_all(largest_of(&factors));
        parallel::over_pieces(&mut factors, &|first, factors| {
            for (factor, row) in factors.iter_mut().zip(first..) {
                if *factor == 0.0 && part.largest_in_row(row) == 0.0 {
                    *factor = largest;
                }
            }
        });
        if let Some(size) = constant(device, &factors) {
            return same(size);
        }
        parallel::over_pieces(&mut factors, &|first, factors| {
            for (factor, row) in factors.iter_mut().zip(first..) {
                // A row without a diagonal entry uses its largest entry.
                let size = if *factor > 0.0 { *factor } else { part.largest_in_row(row) };
                *factor = power_of_two::nearest(size.sqrt());
            }
        });
        // Within the range of single precision, in which vectors are scaled on entry.
        let mean = power_of_two::mean(device, &factors);
        let mut inverses = parallel::zeros(factors.len());
        parallel::over_two(&mut factors, &mut inverses, [PIECE; 2], &|_, factors, inverses| {
            for (factor, inverse) in factors.iter_mut().zip(inverses) {
                *factor = factor.clamp(mean / SPREAD, mean * SPREAD);
                *inverse = factor.recip();
            }
        });
        let constant = constant(device, &inverses);
        let both = constant.map_or(Diagonal::List(&inverses), Diagonal::Constant);
        let root = root(part.largest(device, device, scaled_by(both, both)));
        if let Some(inverse) = constant {
            return Some(LevelScaling::Constant { rows: inverses.len(), inverse: inverse * root });
        }
        parallel::over_two(&mut factors, &mut inverses, [PIECE; 2], &|_, factors, inverses| {
            factors.iter_mut().for_each(|factor| *factor /= root);
            inverses.iter_mut().for_each(|inverse| *inverse *= root);
        });
        Some(LevelScaling::ByRow { factors, inverses })
    }

    /// s_i of the own rows.
    pub(super) fn factors(&self) -> Cow<'_, [f64]> {
        match self {
            &LevelScaling::Constant { rows, inverse } => vec![inverse.recip(); rows].into(),
            LevelScaling::ByRow { factors, .. } => factors.into(),
        }
    }

    /// S, as the level's processes see it.
    pub(super) fn diagonal(this: Option<&LevelScaling>) -> Diagonal<'_> {
        match this {
            None => Diagonal::Constant(1.0),
            Some(LevelScaling::Constant { inverse, .. }) => Diagonal::Constant(inverse.recip()),
            Some(LevelScaling::ByRow { factors, .. }) => Diagonal::List(factors),
        }
    }

    /// S⁻¹, as the processes of the finer level `device` see it. Some of them may have no rows of
    /// this level. Collective.
    pub(super) fn inverse_from<'a>(device: &dyn Device, this: Option<&'a LevelScaling>) -> Diagonal<'a> {
        let (own, inverses): (&[f64], &[f64]) = match this {
            None => return Diagonal::Constant(1.0),
            Some(LevelScaling::Constant { rows: 0, .. }) => (&[], &[]),
            Some(LevelScaling::Constant { inverse, .. }) => (std::slice::from_ref(inverse), &[]),
            Some(LevelScaling::ByRow { inverses, .. }) => (inverses, inverses),
        };
        constant(device, own).map_or(Diagonal::List(inverses), Diagonal::Constant)
    }

    /// S⁻¹, as the level's processes see it.
    pub(super) fn inverse(this: Option<&LevelScaling>) -> Diagonal<'_> {
        match this {
            None => Diagonal::Constant(1.0),
            Some(LevelScaling::Constant { inverse, .. }) => Diagonal::Constant(*inverse),
            Some(LevelScaling::ByRow { inverses, .. }) => Diagonal::List(inverses),
        }
    }

    /// The factors of the unscaled matrix: S⁻¹ A S⁻¹.
    pub(crate) fn of_matrix(this: Option<&LevelScaling>) -> ScaleFactors<'_> {
        let inverses = LevelScaling::inverse(this);
        scaled_by(inverses, inverses)
    }
}

/// The number that all elements equal, on all processes that share a device. Collective.
fn constant(device: &dyn Device, factors: &[f64]) -> Option<f64> {
    let largest = device.largest_of_all(factors.first().copied().unwrap_or(0.0));
    let differs = device.any(parallel::first_position(factors, |&factor| factor != largest).is_some());
    (largest > 0.0 && !differs).then_some(largest)
}

/// A diagonal matrix of scale factors. Where the diagonal of a level's matrix is constant, so is
/// its scaling, and a number takes less time than a list of equal ones. All processes that share
/// the factors have the same kind, because lists are exchanged.
#[derive(Clone, Copy)]
pub(super) enum Diagonal<'a> {
    Constant(f64),
    List(&'a [f64]),
}

impl<'a> Diagonal<'a> {
    /// The factors that differ, and the one that they share.
    fn split(self) -> (Option<&'a [f64]>, f64) {
        match self {
            Diagonal::Constant(factor) => (None, factor),
            Diagonal::List(factors) => (Some(factors), 1.0),
        }
    }
}

/// The factors of L A M.
pub(super) fn scaled_by<'a>(left: Diagonal<'a>, right: Diagonal<'a>) -> ScaleFactors<'a> {
    let ((left, one), (right, other)) = (left.split(), right.split());
    ScaleFactors { left, right, factor: one * other }
}

/// Whether all diagonals are far from the limits of single precision; then so are all numbers that
/// a cycle computes from them.
fn are_usual(levels: &[LevelSource<'_>]) -> bool {
    let is_unusual = |source: &LevelSource<'_>| {
        let sizes = source.a.own.diagonal_sizes();
        parallel::first_position(&sizes, |size| !USUAL.contains(size)).is_some()
    };
    let any = levels.iter().any(is_unusual);
    // A process may hold nothing of a coarse level, but all processes share the finest.
    !levels.first().map_or(any, |finest| finest.device.any(any))
}

/// S² d: the data of a pointwise smoother in scaled variables.
pub(crate) fn scaled_smoother<'a>(
    mut smoother: Cow<'a, SmootherData>,
    scaling: Option<&LevelScaling>,
) -> Cow<'a, SmootherData> {
    if let Some(scaling) = scaling {
        // Exact, because the factors are powers of two. Approximate inverses are scaled as they are
        // stored.
        if let SmootherData::Diagonal { diagonal, .. } | SmootherData::FineCoarse(diagonal) =
            smoother.to_mut()
        {
            match scaling {
                LevelScaling::Constant { inverse, .. } => {
                    let square = (inverse * inverse).recip();
                    parallel::over_pieces(diagonal, &|_, piece| piece.iter_mut().for_each(|d| *d *= square));
                }
                LevelScaling::ByRow { factors, .. } => {
                    parallel::over_pieces(diagonal, &|first, diagonal| {
                        diagonal.iter_mut().zip(&factors[first..]).for_each(|(d, s)| *d *= s * s);
                    });
                }
            }
        }
    }
    smoother
}

/// S⁻¹ A S⁻¹
pub(crate) fn scaled_matrix(a: &Csr<f64>, scaling: &LevelScaling) -> Result<Csr<f64>, MatrixError> {
    let inverses: Vec<f64> = scaling.factors().iter().map(|factor| factor.recip()).collect();
    scaled(a.view(), a.all_rows(), &inverses, &inverses)
}

/// The factors of a transfer in scaled variables, L T M, with a power of two that moves its largest
/// entry close to the limit of the range, and the number that a product must be multiplied by to
/// undo that power. The devices are the level's and the one whose vectors the columns belong to.
pub(super) fn lifted<'a>(
    [device, columns]: [&dyn Device; 2],
    t: Part<'_>,
    [left, right]: [Diagonal<'a>; 2],
    storage: Kind,
) -> (ScaleFactors<'a>, f64) {
    let factors = scaled_by(left, right);
    if let OwnMatrix::Transfer(_) = t.own {
        return (factors, 1.0); // weights are between zero and one, and stored without the factors
    }
    let largest = t.largest(device, columns, factors);
    let power = if largest > 0.0 { power_of_two::at_most(most(storage) / largest) } else { 1.0 };
    (ScaleFactors { factor: factors.factor * power, ..factors }, power.recip())
}

/// The largest allowed entry. Precisions with the range of `f32` need no more than the range around
/// one.
pub(super) fn most(storage: Kind) -> f64 {
    match storage {
        Kind::F16 => storage.facts().max,
        _ => 1.0,
    }
}

/// How far the factors of a level may be from their mean, as an exponent.
pub(super) const MOST_FROM_MEAN: i32 = 63;

/// The same as a factor.
const SPREAD: f64 = (1u64 << MOST_FROM_MEAN) as f64;

/// The diagonal entries with which a cycle stays far from the limits of single precision.
pub(super) const USUAL: RangeInclusive<f64> = 1.0 / (1u64 << 40) as f64..=(1u64 << 40) as f64;

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use ziggurat_sparse::device::Cpu;
    use ziggurat_sparse::f16;
    use ziggurat_sparse::gallery::Problem;

    fn matrix(name: &str, factor: f64) -> Csr<f64> {
        let mut a = name.parse::<Problem>().unwrap().matrix().unwrap();
        a.values_mut().iter_mut().for_each(|value| *value *= factor);
        a
    }

    fn of(a: &Csr<f64>, storage: Kind) -> Option<LevelScaling> {
        LevelScaling::of(&Cpu::new(), Part::from(&Arc::new(a.clone())), storage)
    }

    #[test]
    fn every_entry_fits_and_scaling_is_exact() {
        for name in ["poisson3d:8", "jump3d:20", "elasticity3d:5", "convection3d:8"] {
            for factor in [1.0, 1e8, 1e-8, 1e200, 1e-200] {
                let a = matrix(name, factor);
                let scaling = of(&a, Kind::F16).unwrap();
                let narrow = scaled_matrix(&a, &scaling).unwrap();
                let largest = narrow.values().iter().fold(0.0, |largest: f64, x| largest.max(x.abs()));
                assert!((16376.0..=65504.0).contains(&largest), "{name} times {factor}: {largest}");
                let back =
                    scaled(narrow.view(), a.all_rows(), &scaling.factors(), &scaling.factors()).unwrap();
                assert_eq!(back, a);
                // Stored in 16 bits, entries change only by rounding. Assembly errors of 10⁻¹² of
                // the largest entry may be lost.
                let stored = narrow.view().stored_as::<f16>();
                for (exact, stored) in narrow.values().iter().zip(stored.values()) {
                    let error = (stored.to_f64() - exact).abs();
                    assert!(error <= 5e-4 * exact.abs() + 1e-12 * largest, "{exact} became {stored}");
                }
            }
        }
    }

    #[test]
    fn rows_without_a_diagonal_are_scaled_by_their_largest_entry() {
        let a = Csr::try_new(2, 2, vec![0, 1, 3], vec![1, 0, 1], vec![1e12, 1e12, 1e-3]).unwrap();
        let scaling = of(&a, Kind::F16).unwrap();
        let narrow = scaled_matrix(&a, &scaling).unwrap();
        assert!(narrow.values().iter().all(|value| value.abs() <= 65504.0));
        assert_eq!(of(&a, Kind::F64), None);
        let zero = Csr::try_new(1, 1, vec![0, 1], vec![0], vec![0.0]).unwrap();
        assert!(of(&zero, Kind::F16).unwrap().factors()[0].is_finite());
    }

    #[test]
    fn transfers_use_the_full_range() {
        let p = Csr::try_new(2, 1, vec![0, 1, 2], vec![0, 0], vec![1.0, 1e-6]).unwrap();
        let (cpu, p) = (Cpu::new(), Arc::new(p));
        for left in [[4.0, 4.0], [4.0, 8.0]] {
            let diagonals = [
                constant(&cpu, &left).map_or(Diagonal::List(&left), Diagonal::Constant),
                Diagonal::Constant(0.25),
            ];
            let (factors, undo) = lifted([&cpu; 2], Part::from(&p), diagonals, Kind::F16);
            assert!((32752.0..=65504.0).contains(&factors.of(0, 0)));
            assert_eq!(factors.of(0, 0) * undo, 1.0);
            assert_eq!(factors.left.is_none(), left[0] == left[1]);
        }
        let none = Csr::try_new(1, 1, vec![0, 0], vec![], vec![]).unwrap();
        let ones = [Diagonal::Constant(1.0); 2];
        assert_eq!(lifted([&cpu; 2], Part::from(&Arc::new(none)), ones, Kind::F16).0.factor, 1.0);
    }
}

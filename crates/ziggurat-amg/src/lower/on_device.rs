//! Lowering of levels that a device has made, on that device.
//!
//! ```text
//! S = 2^e, e_i ≈ log₂ √(|a_ii| / G)    A' = S⁻¹ A S⁻¹    P' = S P S_c⁻¹    R' = S_c⁻¹ R S    d' = S² d
//! ```
//!
//! The rules are the same as in `scaling.rs` and `assembly.rs`; those compute with lists, a
//! [`SetupDevice`] with vectors. Only maxima and sizes return to the host, and the coarsest
//! level, which is solved there. Levels whose smoother is not pointwise, and tiles, are
//! lowered from copies on the host instead. Cost: two or three passes over each matrix.

use ziggurat_sparse::device::{
    Device, DeviceError, DeviceExt, Matrix, RowStep, SetupDevice, Sparse, SparseFactors, StoredSparse,
    Vector, root_exponent,
};
use ziggurat_sparse::{Kind, trace};

use super::coarse::coarse_solver;
use super::format::{Coarsest, Formats, Lowering};
use super::part::Part;
use super::precision::LevelPrecision;
use super::scaling::{LevelScaling, MOST_FROM_MEAN, USUAL, most};
use super::source::LevelSource;
use crate::SetupError;
use crate::hierarchy::device_matrix::on;
use crate::hierarchy::storage::SetupMatrix;
use crate::hierarchy::{Hierarchy, Level, WholeMatrix};
use crate::multigrid::entry::Entry;
use crate::multigrid::level::{CycleLevel, LevelSmoother, Transfer};
use crate::multigrid::{Cycling, FormatCandidates, Multigrid, StoredLevel};
use crate::power_of_two;
use crate::smoother::on_device::DeviceSteps;

/// The cycle of a hierarchy that this device has made; `None` if it has not, or if something in the
/// cycle is made on the host only.
pub(super) fn lowered(
    hierarchy: &Hierarchy,
    device: &dyn Device,
    cycling: &Cycling,
    precision: &dyn Fn(usize) -> LevelPrecision,
    lowering: Lowering<'_>,
) -> Result<Option<Multigrid>, SetupError> {
    let levels = hierarchy.levels();
    let finer = levels.len() - 1;
    let is_possible = finer > 0
        && lowering.formats == Formats::FewestBytes
        && lowering.coarsest != Coarsest::Smoothed
        && (0..finer).all(|index| cycling.on_level(index).smoother.has_steps_on_device());
    let Some(setup) = device.setup().filter(|_| is_possible) else { return Ok(None) };
    let precision = |index: usize| precision(index).on(device);
    match OnDevice::new(setup, levels, cycling, lowering) {
        Some(on_device) => on_device.lowered(&precision),
        None => Ok(None),
    }
}

/// A level as its device holds it, with restriction and prolongation to the next one.
struct Held<'a> {
    a: &'a Sparse,
    transfer: Option<[&'a Sparse; 2]>,
}

/// The levels of a hierarchy on the device that has made them, in the number type of setup.
struct OnDevice<'a> {
    device: &'a dyn SetupDevice,
    levels: &'a [Level<WholeMatrix>],
    held: Vec<Held<'a>>,
    cycling: &'a Cycling,
    lowering: Lowering<'a>,
}

/// The diagonal matrix S of a level.
enum Scaling {
    None,
    /// 1 / s_i, which is the same for all rows.
    Constant(f64),
    ByRow {
        factors: Vector,
        inverses: Vector,
        /// The exponent of the power of two close to the mean of the inverses.
        mean: i32,
    },
}

/// One side of L A M.
enum Side<'a> {
    Constant(f64),
    Vector(&'a Vector),
}

impl Scaling {
    fn diagonal(&self) -> Side<'_> {
        match self {
            Scaling::None => Side::Constant(1.0),
            Scaling::Constant(inverse) => Side::Constant(inverse.recip()),
            Scaling::ByRow { factors, .. } => Side::Vector(factors),
        }
    }

    fn inverse(&self) -> Side<'_> {
        match self {
            Scaling::None => Side::Constant(1.0),
            Scaling::Constant(inverse) => Side::Constant(*inverse),
            Scaling::ByRow { inverses, .. } => Side::Vector(inverses),
        }
    }
}

/// The factors of L A M.
fn scaled_by<'a>(left: Side<'a>, right: Side<'a>) -> SparseFactors<'a, Vector> {
    let mut factors = SparseFactors::ONE;
    for (side, vector) in [(left, &mut factors.left), (right, &mut factors.right)] {
        match side {
            Side::Constant(factor) => factors.factor *= factor,
            Side::Vector(one) => *vector = Some(one),
        }
    }
    factors
}

impl<'a> OnDevice<'a> {
    fn new(
        device: &'a dyn SetupDevice,
        levels: &'a [Level<WholeMatrix>],
        cycling: &'a Cycling,
        lowering: Lowering<'a>,
    ) -> Option<Self> {
        let held = levels.iter().map(|level| {
            let matrix = |matrix: &'a SetupMatrix| on(device, matrix.held_by_device()?);
            let transfer = match level.transfer() {
                Some(transfer) => Some([matrix(&transfer.r)?, matrix(&transfer.p)?]),
                None => None,
            };
            Some(Held { a: matrix(&level.a.a)?, transfer })
        });
        let held = held.collect::<Option<_>>()?;
        Some(OnDevice { device, levels, held, cycling, lowering })
    }

    fn lowered(&self, precision: &dyn Fn(usize) -> LevelPrecision) -> Result<Option<Multigrid>, SetupError> {
        let finer = self.levels.len() - 1;
        let last = &self.levels[finer];
        last.a.a.fetch()?;
        let coarsest = LevelSource {
            device: self.device,
            a: Part::from(last.matrix()),
            block: last.block(),
            host: None,
            radius: last.radius(),
            points: None,
            smoother: None,
            inverse: None,
            first_row: 0,
            transfer: None,
        };
        let (scalings, of_coarsest) = self.scalings(&coarsest, &|index| precision(index).stored())?;
        let mut levels = Vec::new();
        for index in 0..finer {
            self.lowering.check_for(0.0).map_err(SetupError::at(index, "lowering"))?;
            let _stage = trace::stage("lowering", Some(index), self.levels[index].rows() as u64);
            let own = precision(index);
            let next = if index + 1 == finer { Kind::F64 } else { precision(index + 1).working };
            let scalings = [&scalings[index], &scalings[index + 1]];
            // As on the host: single precision for anything narrower.
            let made = self.level(index, scalings, own.working, own.stored(), next);
            let Some(made) = made.map_err(SetupError::at(index, "lowering"))? else { return Ok(None) };
            levels.push(made);
        }
        let coarse = {
            let _stage = trace::stage("lowering", Some(finer), last.rows() as u64);
            coarse_solver(&coarsest, of_coarsest.as_ref(), self.lowering)
                .map_err(SetupError::at(finer, "direct solve"))?
        };
        let is_narrow = !matches!(scalings[0], Scaling::None) || precision(0).working != Kind::F64;
        Ok(Some(Multigrid {
            devices: vec![self.device.share(); self.levels.len()],
            levels,
            coarse,
            rows: self.levels[0].rows(),
            coarse_rows: last.rows(),
            cycling: self.cycling.clone(),
            entry: is_narrow.then(|| self.entry(&scalings[0])).transpose()?,
            order: None,
            negated: false,
        }))
    }

    /// The scaling of every level by its storage precision, as
    /// [`of_levels`](LevelScaling::of_levels) has it, and the scaling of the coarsest level on
    /// the host.
    fn scalings(
        &self,
        coarsest: &LevelSource<'_>,
        storage: &dyn Fn(usize) -> Kind,
    ) -> Result<(Vec<Scaling>, Option<LevelScaling>), SetupError> {
        let finer = self.levels.len() - 1;
        let wide = (0..finer).all(|index| storage(index) == Kind::F64);
        let far = (0..finer).all(|index| storage(index) != Kind::F16);
        let mut scalings: Vec<_> = self.levels.iter().map(|_| Scaling::None).collect();
        if !self.lowering.scaled || wide || far && self.are_usual()? {
            return Ok((scalings, None));
        }
        let mut narrow = Kind::F64;
        for (index, (scaling, held)) in scalings.iter_mut().zip(&self.held).enumerate().take(finer) {
            narrow = if storage(index) == Kind::F64 { narrow } else { storage(index) };
            if narrow != Kind::F64 {
                *scaling = self.scaling(held.a, narrow)?;
            }
        }
        let of_coarsest = LevelScaling::of(self.device, coarsest.a, narrow);
        scalings[finer] = match &of_coarsest {
            None => Scaling::None,
            Some(LevelScaling::Constant { inverse, .. }) => Scaling::Constant(*inverse),
            Some(LevelScaling::ByRow { factors, inverses }) => {
                let number = self.held[finer].a.kind();
                let [factors, inverses] = [factors, inverses].map(|list| self.device.upload_as(number, list));
                Scaling::ByRow { factors: factors?, inverses: inverses?, mean: 0 }
            }
        };
        Ok((scalings, of_coarsest))
    }

    /// The scaling of a level to be stored in `storage`.
    fn scaling(&self, a: &Sparse, storage: Kind) -> Result<Scaling, DeviceError> {
        let device = self.device;
        // √G as an exponent, for factors whose largest scaled entry is `largest`.
        let root = |largest: f64| power_of_two::at_most((most(storage) / largest).sqrt()).log2() as i32;
        let sizes = device.row_sizes(a)?;
        let exponents = device.root_exponents(&sizes)?;
        let first = root_exponent(device.norm_max(&sizes));
        let mut differences = device.zeros(a.kind(), a.rows())?;
        device.fill(first.into(), &mut differences);
        device.axpby(1.0, &exponents, -1.0, &mut differences);
        if device.norm_max(&differences) == 0.0 {
            let inverse = 2f64.powi(-first);
            let largest = device.largest_scaled(a, SparseFactors::ONE)? * inverse * inverse;
            return Ok(Scaling::Constant(inverse * 2f64.powi(root(largest))));
        }
        device.fill(1.0, &mut differences);
        let mean = (device.dot(&differences, &exponents) / a.rows() as f64) as i32;
        let within = (mean - MOST_FROM_MEAN, mean + MOST_FROM_MEAN);
        let inverses = device.powers_of_two(&exponents, within, true, 0)?;
        let both = SparseFactors { left: Some(&inverses), right: Some(&inverses), factor: 1.0 };
        let root = root(device.largest_scaled(a, both)?);
        Ok(Scaling::ByRow {
            factors: device.powers_of_two(&exponents, within, false, -root)?,
            inverses: device.powers_of_two(&exponents, within, true, root)?,
            mean: root - mean,
        })
    }

    /// Whether all diagonals are far from the limits of single precision.
    fn are_usual(&self) -> Result<bool, DeviceError> {
        for level in &self.held {
            let largest = self.device.norm_max(&self.device.row_sizes(level.a)?);
            let inverses = self.device.steps(level.a, RowStep::Jacobi)?;
            let smallest = inverses.map_or(0.0, |inverses| self.device.norm_max(&inverses).recip());
            if !(USUAL.contains(&largest) && USUAL.contains(&smallest)) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The change of variables at the finest level.
    fn entry(&self, scaling: &Scaling) -> Result<Entry, DeviceError> {
        let Scaling::ByRow { inverses, mean, .. } = scaling else {
            return Ok(Entry::constant(match scaling {
                Scaling::Constant(inverse) => *inverse,
                _ => 1.0,
            }));
        };
        let device = self.device;
        let mut relative = device.zeros(inverses.kind(), inverses.len())?;
        let mut narrow = device.zeros(Kind::F32, inverses.len())?;
        device.axpby(2f64.powi(-mean), inverses, 0.0, &mut relative);
        device.copy(&relative, &mut narrow);
        Ok(Entry::of_device(narrow, 2f64.powi(*mean)))
    }

    /// A level in its precisions; `None` if its smoother has no step in some row.
    fn level(
        &self,
        index: usize,
        [own, next]: [&Scaling; 2],
        working: Kind,
        storage: Kind,
        coarse_working: Kind,
    ) -> Result<Option<CycleLevel>, SetupError> {
        let (level, held) = (&self.levels[index], &self.held[index]);
        let smoother = self.cycling.on_level(index).smoother;
        let Some(steps) = smoother.steps_on_device(self.device, held.a, level.radius())? else {
            return Ok(None);
        };
        let relaxation = steps.relaxation.clone();
        let diagonal = self.scaled_steps(steps, own, working)?;
        let scaled = !matches!((own, next), (Scaling::None, Scaling::None));
        let transfer = match held.transfer {
            None => None,
            Some([r, p]) => {
                let (r, r_bytes) = self.transfer(r, next.inverse(), own.diagonal(), scaled, storage)?;
                let (p, p_bytes) = self.transfer(p, own.diagonal(), next.inverse(), scaled, storage)?;
                let coarse_rows = self.levels[index + 1].rows();
                Some(Transfer { r, p, r_bytes, p_bytes, coarse_rows, coarse_working })
            }
        };
        let transfer_bytes = transfer.as_ref().map_or(0, |transfer| transfer.r_bytes + transfer.p_bytes);
        let factors = scaled_by(own.inverse(), own.inverse());
        let StoredSparse { matrix, considered } =
            self.device.stored(held.a, factors, level.block(), storage)?;
        let candidates = considered.into_iter().map(|(format, bytes)| (format.into(), bytes)).collect();
        let format = FormatCandidates { candidates, why: Some("stored on the device") };
        Ok(Some(CycleLevel {
            rows: level.rows(),
            a: matrix,
            transfer,
            smoother: LevelSmoother::Diagonal { diagonal, relaxation },
            stored: StoredLevel { storage, working, format, transfer_bytes, smoother_bytes: 0 },
        }))
    }

    /// S² d, in the precision of a level.
    fn scaled_steps(
        &self,
        steps: DeviceSteps,
        scaling: &Scaling,
        working: Kind,
    ) -> Result<Vector, DeviceError> {
        let (device, DeviceSteps { mut steps, factor, .. }) = (self.device, steps);
        let mut scaled = device.zeros(steps.kind(), steps.len())?;
        let mut rounded = device.zeros(working, steps.len())?;
        match scaling.diagonal() {
            Side::Constant(s) => device.axpby(factor * s * s, &steps, 0.0, &mut scaled),
            Side::Vector(factors) => {
                device.diagonal(1.0, factors, &steps, 0.0, &mut scaled);
                device.diagonal(factor, factors, &scaled, 0.0, &mut steps);
                std::mem::swap(&mut scaled, &mut steps);
            }
        }
        device.copy(&scaled, &mut rounded);
        Ok(rounded)
    }

    /// L T M with a power of two that moves its largest entry close to the limit of the range, and
    /// the number that undoes it; and the bytes of the matrix.
    fn transfer(
        &self,
        t: &Sparse,
        left: Side<'_>,
        right: Side<'_>,
        scaled: bool,
        storage: Kind,
    ) -> Result<((f64, Matrix), usize), DeviceError> {
        let mut factors = scaled_by(left, right);
        let mut power = 1.0;
        if scaled {
            let largest = self.device.largest_scaled(t, factors)?;
            power = if largest > 0.0 { power_of_two::at_most(most(storage) / largest) } else { 1.0 };
            factors.factor *= power;
        }
        let StoredSparse { matrix, considered } = self.device.stored(t, factors, 1, storage)?;
        let bytes = considered.first().map_or(0, |&(_, bytes)| bytes);
        Ok(((power.recip(), matrix), bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::smoother::{ChebyshevBase, Smoother};
    use crate::testing::problem;
    use crate::{Coarsening, HierarchyConfig, MatrixProperties, SmoothedAggregation};
    use crate::{interpolate::NearKernel, interpolate::Symmetry};
    use ziggurat_sparse::device::Reference;
    use ziggurat_sparse::operator::LinearOperator;

    /// The result of one cycle of levels that are made and lowered on a device, of the same levels
    /// lowered from the host, and whether nothing but the coarsest level was copied.
    fn cycles(
        a: &ziggurat_sparse::Csr<f64>,
        smoother: Smoother,
        plain_levels: usize,
        precision: LevelPrecision,
    ) -> ([Vec<f64>; 2], bool) {
        let near_kernel = NearKernel::constants(a.rows(), 1).unwrap();
        let known = MatrixProperties { near_kernel, symmetry: Symmetry::Symmetric, grid: None };
        let method =
            SmoothedAggregation { plain_levels: Some(plain_levels), ..SmoothedAggregation::default() };
        let coarsening = Coarsening::SmoothedAggregation(method);
        let config = HierarchyConfig { coarsening, coarse_rows: 20, ..HierarchyConfig::default() };
        let there = Hierarchy::build_on(Reference.setup().unwrap(), a, &known, &config).unwrap();
        let here = Hierarchy::with_properties(a, known, &config).unwrap();
        let cycling = Cycling { smoother, ..Cycling::default() };
        let b: Vec<f64> = (0..a.rows() as u64).map(ziggurat_sparse::hash::uniform_signed).collect();
        let mut stayed = false;
        let results = [&there, &here].map(|hierarchy| {
            let cycle = hierarchy.lower(&Reference, &cycling, |_| precision, Lowering::default()).unwrap();
            let (b, mut x) = (Vector::from(b.clone()), Vector::from(vec![0.0; a.rows()]));
            let mut work = cycle.workspace(&Reference, Kind::F64).unwrap();
            cycle.apply(&Reference, &b, &mut x, &mut work);
            let middle = &hierarchy.levels()[1];
            assert!(hierarchy.levels().len() > 2);
            stayed |= format!("{:?}", middle.a.a).starts_with("OnDevice")
                && format!("{:?}", middle.a.a).contains("uninit");
            Reference.to_host::<f64>(x).unwrap()
        });
        (results, stayed)
    }

    #[test]
    fn a_cycle_is_that_of_levels_lowered_on_the_host() {
        let wide = LevelPrecision::default();
        let narrow = |storage| LevelPrecision { working: Kind::F32, storage };
        let jump = problem("jump3d:14");
        let mut far = problem("poisson3d:12");
        far.values_mut().iter_mut().for_each(|value| *value *= 1e200);
        let chebyshev = |base| Smoother::Chebyshev { degree: 2, base, ratio: 4.0 };
        for (a, smoother, plain, precision, digits) in [
            (&jump, Smoother::Jacobi { omega: None }, 0, wide, 1e-11),
            (&jump, Smoother::Jacobi { omega: None }, 0, narrow(Kind::F16), 2e-3),
            (&jump, Smoother::L1Jacobi, 1, narrow(Kind::Bf16), 2e-2),
            (&jump, Smoother::Spai0, 0, narrow(Kind::F32), 1e-5),
            (&jump, Smoother::Jacobi { omega: None }, 1, narrow(Kind::F16), 2e-3),
            (&far, chebyshev(ChebyshevBase::Jacobi), 0, narrow(Kind::F16), 2e-3),
            (&far, chebyshev(ChebyshevBase::L1Jacobi), 0, narrow(Kind::F32), 1e-5),
        ] {
            let ([there, here], stayed) = cycles(a, smoother, plain, precision);
            let largest = here.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
            assert!(largest > 0.0 && largest.is_finite());
            for (there, here) in there.iter().zip(&here) {
                let difference = (there - here).abs() / largest;
                assert!(difference <= digits, "{smoother:?} {precision:?}: {difference:e}");
            }
            assert!(stayed, "{smoother:?}: a copy on the host");
        }
    }

    /// Smoothers that devices do not make need copies on the host, and give the same cycle.
    #[test]
    fn other_smoothers_are_made_on_the_host() {
        let a = problem("poisson3d:12");
        let smoother = Smoother::Fsai { parameters: crate::smoother::FsaiParameters::default(), omega: None };
        let ([there, here], stayed) = cycles(&a, smoother, 0, LevelPrecision::default());
        assert!(!stayed);
        let differs = |(there, here): (&f64, &f64)| (there - here).abs() > 1e-10;
        assert!(!there.iter().zip(&here).any(differs));
    }
}

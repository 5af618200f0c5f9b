//! Lowering of levels that a device has made, on that device.
//!
//! ```text
//! S = 2^e, e_i ≈ log₂ √(|a_ii| / G)    A' = S⁻¹ A S⁻¹    P' = S P S_c⁻¹    R' = S_c⁻¹ R S    d' = S² d
//! ```
//!
//! The rules are the same as in `scaling.rs` and `assembly.rs`; those compute with lists, a
//! [`LoweringDevice`] with vectors. Only maxima and sizes return to the host, and the
//! coarsest level, which is solved there. Levels whose smoother is not pointwise, and tiles, are
//! lowered from copies on the host instead. Cost: two or three passes over each matrix.

use ziggurat_sparse::device::{
    Device, DeviceError, LoweringDevice, SparseFactors, StoredSparse, root_exponent,
};
use ziggurat_sparse::{Kind, Reads, Real, Store, bf16, f16, trace};

use super::coarse::coarse_solver;
use super::format::{Coarsest, Formats, Lowering};
use super::part::Part;
use super::precision::LevelPrecision;
use super::scaling::{LevelScaling, MOST_FROM_MEAN, USUAL, most};
use super::source::LevelSource;
use crate::SetupError;
use crate::hierarchy::device_matrix::on;
use crate::hierarchy::{Hierarchy, Level, WholeMatrix};
use crate::multigrid::entry::Entry;
use crate::multigrid::level::{CycleLevel, LevelOps, LevelSmoother, Transfer};
use crate::multigrid::vectors::Working;
use crate::multigrid::{Cycling, FormatCandidates, Multigrid, StoredLevel};
use crate::power_of_two;
use crate::smoother::on_device::DeviceSteps;

/// The cycle of a hierarchy that this device has made; `None` if it has not, or if something in the
/// cycle is made on the host only.
pub(super) fn lowered<D: Device>(
    hierarchy: &Hierarchy,
    device: &D,
    cycling: &Cycling,
    precision: &dyn Fn(usize) -> LevelPrecision,
    lowering: Lowering<'_>,
) -> Result<Option<Multigrid<D>>, SetupError> {
    let levels = hierarchy.levels();
    let finer = levels.len() - 1;
    let is_possible = finer > 0
        && lowering.formats == Formats::FewestBytes
        && lowering.coarsest != Coarsest::Smoothed
        && (0..finer).all(|index| cycling.on_level(index).smoother.has_steps_on_device());
    let Some(setup) = device.for_setup().filter(|_| is_possible) else { return Ok(None) };
    let precision = |index: usize| precision(index).on(device);
    match device.computes_in(Kind::F64) {
        true => match OnDevice::<D, f64>::new(device, setup, levels, cycling, lowering) {
            Some(on_device) => on_device.lowered(&precision),
            None => Ok(None),
        },
        false => match OnDevice::<D, f32>::new(device, setup, levels, cycling, lowering) {
            Some(on_device) => on_device.lowered(&precision),
            None => Ok(None),
        },
    }
}

/// A level as its device holds it, with restriction and prolongation to the next one.
struct Held<'a, B: LoweringDevice, T: Real> {
    a: &'a B::Sparse<T>,
    transfer: Option<[&'a B::Sparse<T>; 2]>,
}

/// The levels of a hierarchy on the device of setup, in the number type of setup.
struct OnDevice<'a, D: Device, T: Real> {
    device: &'a D,
    setup: &'a D::Setup,
    levels: &'a [Level<WholeMatrix>],
    held: Vec<Held<'a, D::Setup, T>>,
    cycling: &'a Cycling,
    lowering: Lowering<'a>,
}

/// A vector of the device of setup.
type SetupVector<D, T> = <<D as Device>::Setup as Device>::Vector<T>;

/// The diagonal matrix S of a level.
enum Scaling<V> {
    None,
    /// 1 / s_i, which is the same for all rows.
    Constant(f64),
    ByRow {
        factors: V,
        inverses: V,
        /// The exponent of the power of two close to the mean of the inverses.
        mean: i32,
    },
}

/// One side of L A M.
enum Side<'a, V> {
    Constant(f64),
    Vector(&'a V),
}

impl<V> Scaling<V> {
    fn diagonal(&self) -> Side<'_, V> {
        match self {
            Scaling::None => Side::Constant(1.0),
            Scaling::Constant(inverse) => Side::Constant(inverse.recip()),
            Scaling::ByRow { factors, .. } => Side::Vector(factors),
        }
    }

    fn inverse(&self) -> Side<'_, V> {
        match self {
            Scaling::None => Side::Constant(1.0),
            Scaling::Constant(inverse) => Side::Constant(*inverse),
            Scaling::ByRow { inverses, .. } => Side::Vector(inverses),
        }
    }
}

/// The factors of L A M.
fn scaled_by<'a, V>(left: Side<'a, V>, right: Side<'a, V>) -> SparseFactors<'a, V> {
    let mut factors = SparseFactors::ONE;
    for (side, vector) in [(left, &mut factors.left), (right, &mut factors.right)] {
        match side {
            Side::Constant(factor) => factors.factor *= factor,
            Side::Vector(one) => *vector = Some(one),
        }
    }
    factors
}

impl<'a, D: Device, T: Real + Reads<T>> OnDevice<'a, D, T> {
    fn new(
        device: &'a D,
        setup: &'a D::Setup,
        levels: &'a [Level<WholeMatrix>],
        cycling: &'a Cycling,
        lowering: Lowering<'a>,
    ) -> Option<Self> {
        let held = levels.iter().map(|level| {
            let matrix =
                |matrix: &'a crate::hierarchy::storage::SetupMatrix| on(setup, matrix.held_by_device()?);
            let transfer = match level.transfer() {
                Some(transfer) => Some([matrix(&transfer.r)?, matrix(&transfer.p)?]),
                None => None,
            };
            Some(Held { a: matrix(&level.a.a)?, transfer })
        });
        let held = held.collect::<Option<_>>()?;
        Some(OnDevice { device, setup, levels, held, cycling, lowering })
    }

    fn lowered(
        &self,
        precision: &dyn Fn(usize) -> LevelPrecision,
    ) -> Result<Option<Multigrid<D>>, SetupError> {
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
            let (own, stored) = (precision(index), precision(index).stored());
            let next = if index + 1 == finer { Kind::F64 } else { precision(index + 1).working };
            let scalings = [&scalings[index], &scalings[index + 1]];
            let made = match (own.working, stored) {
                (Kind::F64, Kind::F64) => self.level::<f64, f64>(index, scalings, next),
                (Kind::F64, Kind::F32) => self.level::<f64, f32>(index, scalings, next),
                (Kind::F64, Kind::F16) => self.level::<f64, f16>(index, scalings, next),
                (Kind::F64, Kind::Bf16) => self.level::<f64, bf16>(index, scalings, next),
                (_, Kind::F64 | Kind::F32) => self.level::<f32, f32>(index, scalings, next),
                (_, Kind::F16) => self.level::<f32, f16>(index, scalings, next),
                (_, Kind::Bf16) => self.level::<f32, bf16>(index, scalings, next),
            };
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
            devices: vec![self.device.clone(); self.levels.len()],
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
    #[allow(clippy::type_complexity)] // two results
    fn scalings(
        &self,
        coarsest: &LevelSource<'_, D>,
        storage: &dyn Fn(usize) -> Kind,
    ) -> Result<(Vec<Scaling<SetupVector<D, T>>>, Option<LevelScaling>), SetupError> {
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
                let [factors, inverses] = [factors, inverses].map(|list| {
                    self.setup.upload(&list.iter().map(|&factor| T::narrow(factor)).collect::<Vec<T>>())
                });
                Scaling::ByRow { factors: factors?, inverses: inverses?, mean: 0 }
            }
        };
        Ok((scalings, of_coarsest))
    }

    /// The scaling of a level to be stored in `storage`.
    fn scaling(&self, a: &Sparse<D, T>, storage: Kind) -> Result<Scaling<SetupVector<D, T>>, DeviceError> {
        let setup = self.setup;
        // √G as an exponent, for factors whose largest scaled entry is `largest`.
        let root = |largest: f64| power_of_two::at_most((most(storage) / largest).sqrt()).log2() as i32;
        let sizes = setup.row_sizes(a)?;
        let rows = setup.len(&sizes);
        let exponents = setup.root_exponents(&sizes)?;
        let first = root_exponent(setup.norm_max(&sizes));
        let mut differences = setup.zeros(rows)?;
        setup.fill(T::narrow(first.into()), &mut differences);
        setup.axpby(T::one(), &exponents, -T::one(), &mut differences);
        if setup.norm_max(&differences) == 0.0 {
            let inverse = 2f64.powi(-first);
            let largest = setup.largest_scaled(a, SparseFactors::ONE)? * inverse * inverse;
            return Ok(Scaling::Constant(inverse * 2f64.powi(root(largest))));
        }
        setup.fill(T::one(), &mut differences);
        let mean = (setup.dot(&differences, &exponents) / rows as f64) as i32;
        let within = (mean - MOST_FROM_MEAN, mean + MOST_FROM_MEAN);
        let inverses = setup.powers_of_two(&exponents, within, true, 0)?;
        let both = SparseFactors { left: Some(&inverses), right: Some(&inverses), factor: 1.0 };
        let root = root(setup.largest_scaled(a, both)?);
        Ok(Scaling::ByRow {
            factors: setup.powers_of_two(&exponents, within, false, -root)?,
            inverses: setup.powers_of_two(&exponents, within, true, root)?,
            mean: root - mean,
        })
    }

    /// Whether all diagonals are far from the limits of single precision.
    fn are_usual(&self) -> Result<bool, DeviceError> {
        for level in &self.held {
            let largest = self.setup.norm_max(&self.setup.row_sizes(level.a)?);
            let inverses = self.setup.steps(level.a, ziggurat_sparse::device::RowStep::Jacobi)?;
            let smallest = inverses.map_or(0.0, |inverses| self.setup.norm_max(&inverses).recip());
            if !(USUAL.contains(&largest) && USUAL.contains(&smallest)) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The change of variables at the finest level.
    fn entry(&self, scaling: &Scaling<SetupVector<D, T>>) -> Result<Entry<D>, DeviceError> {
        let Scaling::ByRow { inverses, mean, .. } = scaling else {
            return Ok(Entry::constant(match scaling {
                Scaling::Constant(inverse) => *inverse,
                _ => 1.0,
            }));
        };
        let setup = self.setup;
        let (mut relative, mut narrow) =
            (setup.zeros::<T>(setup.len(inverses))?, setup.zeros(setup.len(inverses))?);
        setup.axpby(T::narrow(2f64.powi(-mean)), inverses, T::zero(), &mut relative);
        setup.cast::<T, f32>(&relative, &mut narrow);
        Ok(Entry::of_device(self.device.vector_of_setup(narrow), 2f64.powi(*mean)))
    }

    /// A level in its precisions; `None` if its smoother has no step in some row.
    fn level<C: Working<D> + Reads<S>, S: Store>(
        &self,
        index: usize,
        [own, next]: [&Scaling<SetupVector<D, T>>; 2],
        coarse_working: Kind,
    ) -> Result<Option<Box<dyn LevelOps<D>>>, SetupError> {
        let (level, held) = (&self.levels[index], &self.held[index]);
        let smoother = self.cycling.on_level(index).smoother;
        let Some(steps) = smoother.steps_on_device(self.setup, held.a, level.radius())? else {
            return Ok(None);
        };
        let relaxation = steps.relaxation.clone();
        let diagonal = self.scaled_steps::<C>(steps, own)?;
        let scaled = !matches!((own, next), (Scaling::None, Scaling::None));
        let transfer = match held.transfer {
            None => None,
            Some([r, p]) => {
                let (r, r_bytes) = self.transfer::<S>(r, next.inverse(), own.diagonal(), scaled)?;
                let (p, p_bytes) = self.transfer::<S>(p, own.diagonal(), next.inverse(), scaled)?;
                let coarse_rows = self.levels[index + 1].rows();
                Some(Transfer { r, p, r_bytes, p_bytes, coarse_rows, coarse_working })
            }
        };
        let transfer_bytes = transfer.as_ref().map_or(0, |transfer| transfer.r_bytes + transfer.p_bytes);
        let StoredSparse { matrix, considered } =
            self.setup.stored::<T, S>(held.a, scaled_by(own.inverse(), own.inverse()), level.block())?;
        let candidates = considered.into_iter().map(|(format, bytes)| (format.into(), bytes)).collect();
        let format = FormatCandidates { candidates, why: Some("stored on the device") };
        Ok(Some(Box::new(CycleLevel::<D, C, S> {
            rows: level.rows(),
            a: self.device.matrix_of_setup(matrix),
            transfer,
            smoother: LevelSmoother::Diagonal { diagonal, relaxation },
            stored: StoredLevel {
                storage: S::KIND,
                working: C::KIND,
                format,
                transfer_bytes,
                smoother_bytes: 0,
            },
        })))
    }

    /// S² d, in the precision of a level.
    fn scaled_steps<C: Real>(
        &self,
        steps: DeviceSteps<SetupVector<D, T>>,
        scaling: &Scaling<SetupVector<D, T>>,
    ) -> Result<D::Vector<C>, DeviceError> {
        let (setup, DeviceSteps { mut steps, factor, .. }) = (self.setup, steps);
        let rows = setup.len(&steps);
        let (mut scaled, mut narrow) = (setup.zeros::<T>(rows)?, setup.zeros::<C>(rows)?);
        match scaling.diagonal() {
            Side::Constant(s) => setup.axpby(T::narrow(factor * s * s), &steps, T::zero(), &mut scaled),
            Side::Vector(factors) => {
                setup.diagonal(T::one(), factors, &steps, T::zero(), &mut scaled);
                setup.diagonal(T::narrow(factor), factors, &scaled, T::zero(), &mut steps);
                std::mem::swap(&mut scaled, &mut steps);
            }
        }
        setup.cast::<T, C>(&scaled, &mut narrow);
        Ok(self.device.vector_of_setup(narrow))
    }

    /// L T M with a power of two that moves its largest entry close to the limit of the range, and
    /// the number that undoes it; and the bytes of the matrix.
    #[allow(clippy::type_complexity)] // a number with its matrix
    fn transfer<S: Store>(
        &self,
        t: &Sparse<D, T>,
        left: Side<'_, SetupVector<D, T>>,
        right: Side<'_, SetupVector<D, T>>,
        scaled: bool,
    ) -> Result<((f64, D::Matrix<S>), usize), DeviceError> {
        let mut factors = scaled_by(left, right);
        let mut power = 1.0;
        if scaled {
            let largest = self.setup.largest_scaled(t, factors)?;
            power = if largest > 0.0 { power_of_two::at_most(most(S::KIND) / largest) } else { 1.0 };
            factors.factor *= power;
        }
        let StoredSparse { matrix, considered } = self.setup.stored::<T, S>(t, factors, 1)?;
        let bytes = considered.first().map_or(0, |&(_, bytes)| bytes);
        Ok(((power.recip(), self.device.matrix_of_setup(matrix)), bytes))
    }
}

/// A matrix of the device of setup.
type Sparse<D, T> = <<D as Device>::Setup as ziggurat_sparse::device::SetupDevice>::Sparse<T>;

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
        let there = Hierarchy::build_on(&Reference, a, &known, &config).unwrap();
        let here = Hierarchy::with_properties(a, known, &config).unwrap();
        let cycling = Cycling { smoother, ..Cycling::default() };
        let b: Vec<f64> = (0..a.rows() as u64).map(ziggurat_sparse::hash::uniform_signed).collect();
        let mut stayed = false;
        let results = [&there, &here].map(|hierarchy| {
            let cycle = hierarchy.lower(&Reference, &cycling, |_| precision, Lowering::default()).unwrap();
            let mut x = vec![0.0; a.rows()];
            let mut work = LinearOperator::<Reference, f64>::workspace(&cycle, &Reference).unwrap();
            cycle.apply(&Reference, &b, &mut x, &mut work);
            let middle = &hierarchy.levels()[1];
            assert!(hierarchy.levels().len() > 2);
            stayed |= format!("{:?}", middle.a.a).starts_with("OnDevice")
                && format!("{:?}", middle.a.a).contains("uninit");
            x
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

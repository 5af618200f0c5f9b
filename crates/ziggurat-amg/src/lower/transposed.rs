//! The transposed cycle, which preconditions Aᵀ as well as the cycle preconditions A.
//!
//! ```text
//! cycle = post ∘ (P coarse R) ∘ pre     ⇒     cycleᵀ = preᵀ ∘ (Rᵀ coarseᵀ Pᵀ) ∘ postᵀ
//! (p(D A) D)ᵀ = p(D Aᵀ) D
//! ```
//!
//! So it is the same cycle for Aᵀ, with Pᵀ and Rᵀ in each other's place, the numbers of pre- and
//! post-smoothing sweeps exchanged, and the *same* diagonals: ℓ1-Jacobi, SPAI-0 and blocked
//! Gauss–Seidel compute them from rows of A, not of Aᵀ. Approximate inverses and incomplete
//! factors are transposed, and damped for Aᵀ. The transpose of backward Gauss–Seidel for A is
//! forward Gauss–Seidel for Aᵀ. Cost: a transpose of every level's matrices.

use std::sync::Arc;

use ziggurat_sparse::Csr;
use ziggurat_sparse::algebra::transpose;
use ziggurat_sparse::device::Device;

use super::exact::ExactMatrix;
use super::format::{Coarsest, Formats, Lowering};
use super::part::Part;
use super::precision::LevelPrecision;
use super::source::LevelSource;
use crate::SetupError;
use crate::halo::Whole;
use crate::hierarchy::{Hierarchy, Level, WholeMatrix, in_given_order};
use crate::multigrid::{Cycling, Multigrid};
use crate::smoother::SmootherData;

impl Hierarchy {
    /// As [`Hierarchy::lower`], but transposed. For [cycles with a
    /// transpose](crate::Cycle::has_transpose).
    ///
    /// ```
    /// use ziggurat_amg::{Cycling, Hierarchy, HierarchyConfig, LevelPrecision, Lowering};
    /// use ziggurat_sparse::device::{Cpu, DeviceExt};
    /// use ziggurat_sparse::{Kind, gallery::Problem, operator::LinearOperator};
    /// let a = "convection3d:8".parse::<Problem>()?.matrix()?;
    /// let hierarchy = Hierarchy::build(a, &HierarchyConfig { coarse_rows: 50, ..HierarchyConfig::default() })?;
    /// let (cpu, cycling, f64) = (Cpu::new(), Cycling::default(), |_| LevelPrecision::default());
    /// let cycle = hierarchy.lower(&cpu, &cycling, f64, Lowering::default())?;
    /// let transposed = hierarchy.lower_transposed(&cpu, &cycling, f64, Lowering::default())?;
    /// let entry = |cycle: &ziggurat_amg::Multigrid, row: usize, column: usize| {
    ///     let mut unit = vec![0.0; 512];
    ///     unit[column] = 1.0;
    ///     let (unit, mut image) = (cpu.adopt(unit)?, cpu.adopt(vec![0.0; 512])?);
    ///     cycle.apply(&cpu, &unit, &mut image, &mut cycle.workspace(&cpu, Kind::F64)?);
    ///     Ok::<f64, Box<dyn std::error::Error>>(cpu.to_host(image)?[row])
    /// };
    /// assert!((entry(&cycle, 3, 77)? - entry(&transposed, 77, 3)?).abs() < 1e-14);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Hierarchy::lower`].
    pub fn lower_transposed(
        &self,
        device: &dyn Device,
        cycling: &Cycling,
        precision: impl Fn(usize) -> LevelPrecision,
        lowering: Lowering<'_>,
    ) -> Result<Multigrid, SetupError> {
        let (a, finest) = self.finest_transposed(lowering.formats)?;
        self.lower_transposed_with((&a, &finest), device, cycling, precision, lowering)
    }

    /// The transpose of the finest level's matrix, and as an outer iteration stores it. Every call
    /// makes it again.
    ///
    /// ```
    /// use ziggurat_amg::{Formats, Hierarchy, HierarchyConfig};
    /// use ziggurat_sparse::gallery::Problem;
    /// let a = "convection3d:8".parse::<Problem>()?.matrix()?;
    /// let hierarchy = Hierarchy::build(&a, &HierarchyConfig::default())?;
    /// let (transposed, _) = hierarchy.finest_transposed(Formats::FewestBytes)?;
    /// assert_eq!(transposed.get(1, 0), a.get(0, 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the matrix is on a device that fails.
    pub fn finest_transposed(&self, formats: Formats) -> Result<(Arc<Csr<f64>>, ExactMatrix), SetupError> {
        self.fetch()?;
        let finest = &self.levels()[0];
        let a = transposed(finest.matrix());
        let stored = ExactMatrix::of_part(Part::from(&a), finest.block(), formats);
        Ok((a, stored))
    }

    /// As [`Hierarchy::lower_transposed`], with the [transpose of the finest
    /// matrix](Self::finest_transposed), which is shared.
    ///
    /// ```
    /// use ziggurat_amg::{Cycling, Formats, Hierarchy, HierarchyConfig, LevelPrecision, Lowering};
    /// use ziggurat_sparse::{device::Cpu, gallery::Problem};
    /// let a = "convection3d:8".parse::<Problem>()?.matrix()?;
    /// let hierarchy = Hierarchy::build(a, &HierarchyConfig::default())?;
    /// let (a, stored) = hierarchy.finest_transposed(Formats::FewestBytes)?;
    /// let f64 = |_| LevelPrecision::default();
    /// let (cpu, cycling, lowering) = (Cpu::new(), Cycling::default(), Lowering::default());
    /// let cycle = hierarchy.lower_transposed_with((&a, &stored), &cpu, &cycling, f64, lowering)?;
    /// assert_eq!(cycle.stored().len(), hierarchy.levels().len());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Hierarchy::lower`].
    pub fn lower_transposed_with(
        &self,
        finest: (&Arc<Csr<f64>>, &ExactMatrix),
        device: &dyn Device,
        cycling: &Cycling,
        precision: impl Fn(usize) -> LevelPrecision,
        lowering: Lowering<'_>,
    ) -> Result<Multigrid, SetupError> {
        self.fetch()?;
        let exchanged = cycling.exchanged();
        let below = self.levels()[1..].iter().map(|level| transposed(level.matrix()));
        let matrices: Vec<_> = std::iter::once(finest.0.clone()).chain(below).collect();
        let transfers = self.levels().iter().map(|level| {
            let (r, p) = level.restriction().zip(level.prolongation())?;
            Some((transposed(p), transposed(r)))
        });
        let transfers: Vec<_> = transfers.collect();
        let is_smoothed = |level: &&Level<WholeMatrix>| {
            level.transfer().is_some() || lowering.coarsest == Coarsest::Smoothed
        };
        let smoothed = self.levels().iter().filter(is_smoothed).enumerate();
        let data = smoothed.map(|(index, level)| {
            let a = level.matrix();
            let smoother = cycling.on_level(index).smoother;
            lowering.check_for(0.0).map_err(SetupError::at(index, "smoother"))?;
            let data = smoother.data(a.view(), &Whole::new(a.rows()), level.radius());
            let data = data.and_then(|data| match data {
                SmootherData::Inverse(inverse) => Ok(SmootherData::Inverse(inverse.transposed())),
                SmootherData::Factors(factors) => Ok(SmootherData::Factors(factors.transposed()?)),
                diagonal => Ok(diagonal),
            });
            data.map_err(SetupError::at(index, "smoother"))
        });
        let data = data.collect::<Result<Vec<_>, _>>()?;
        let levels = self.levels().iter().zip(&matrices).enumerate();
        let sources: Vec<_> = levels
            .map(|(index, (level, a))| LevelSource {
                device,
                a: Part::from(a),
                block: level.block(),
                host: (index == 0).then_some(finest.1),
                radius: level.radius(),
                points: level.points(),
                smoother: data.get(index),
                inverse: None,
                first_row: 0,
                transfer: transfers[index].as_ref().map(|(r, p)| (r.into(), p.into())),
            })
            .collect();
        let precision: &dyn Fn(usize) -> LevelPrecision = &precision; // as in `lower_with`
        let lowered = Multigrid::new(&sources, &exchanged, precision, lowering);
        Ok(lowered.map_err(|error| in_given_order(error, self.order()))?.for_caller_of(self))
    }
}

fn transposed(a: &Csr<f64>) -> Arc<Csr<f64>> {
    Arc::new(transpose(a.view(), a.all_rows()))
}

#[cfg(test)]
mod tests {
    use ziggurat_sparse::Kind;
    use ziggurat_sparse::device::{Cpu, DeviceExt};
    use ziggurat_sparse::gallery::Problem;
    use ziggurat_sparse::hash::uniform_signed;
    use ziggurat_sparse::operator::LinearOperator;

    use super::*;
    use crate::smoother::{ChebyshevBase, FsaiParameters, IlutParameters, Smoother, SpaiParameters};
    use crate::{Air, Classical, Coarsening, Cycle, HierarchyConfig};

    /// |x · M y − Mᵀ x · y|, relative to the size of the terms.
    fn difference(cycling: &Cycling, precision: LevelPrecision) -> f64 {
        let a = "convection3d:10".parse::<Problem>().unwrap().matrix().unwrap();
        let coarsening = match cycling.smoother {
            Smoother::FcJacobi { .. } => Coarsening::Air(Air::default(), Classical::default()),
            _ => Coarsening::default(),
        };
        let config = HierarchyConfig { coarsening, coarse_rows: 20, ..HierarchyConfig::default() };
        let hierarchy = Hierarchy::build(a, &config).unwrap();
        assert!(hierarchy.levels().len() > 2);
        let cpu = Cpu::new();
        let cycle = hierarchy.lower(&cpu, cycling, |_| precision, Lowering::default()).unwrap();
        let transposed =
            hierarchy.lower_transposed(&cpu, cycling, |_| precision, Lowering::default()).unwrap();
        let apply = |cycle: &Multigrid, x: &[f64]| {
            let (x, mut y) = (cpu.upload(x).unwrap(), cpu.upload(x).unwrap());
            cycle.apply(&cpu, &x, &mut y, &mut cycle.workspace(&cpu, Kind::F64).unwrap());
            cpu.to_host::<f64>(y).unwrap()
        };
        let vector = |seed: u64| (0..1000).map(|i| uniform_signed(1000 * seed + i)).collect::<Vec<f64>>();
        let (x, y) = (vector(1), vector(2));
        let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
        let (one, other) = (dot(&x, &apply(&cycle, &y)), dot(&apply(&transposed, &x), &y));
        (one - other).abs() / one.abs().max(other.abs())
    }

    #[test]
    fn the_transpose_is_exact_for_every_smoother_and_linear_cycle() {
        let chebyshev = Smoother::Chebyshev { degree: 3, base: ChebyshevBase::Jacobi, ratio: 4.0 };
        let smoothers = [
            Smoother::default(),
            Smoother::L1Jacobi,
            Smoother::Spai0,
            chebyshev,
            Smoother::GaussSeidel { block: 64 },
            Smoother::FcJacobi { omega: Some(0.8) },
            Smoother::Fsai { parameters: FsaiParameters::default(), omega: Some(0.8) },
            Smoother::Spai { parameters: SpaiParameters { entries: 4 }, omega: None },
            Smoother::Ilu0 { block: 128, node_rows: 1, omega: Some(0.9) },
            Smoother::Ilu0 { block: 128, node_rows: 2, omega: Some(0.9) },
            Smoother::Ilut { block: 128, parameters: IlutParameters::default(), omega: Some(0.9) },
            Smoother::BlockJacobi { rows: 7, omega: Some(0.5) },
        ];
        for smoother in smoothers {
            for (cycle, pre_sweeps, post_sweeps) in [(Cycle::V, 1, 1), (Cycle::V, 2, 1), (Cycle::W, 1, 1)] {
                let cycling = Cycling { cycle, pre_sweeps, post_sweeps, smoother, ..Cycling::default() };
                let difference = difference(&cycling, LevelPrecision::default());
                assert!(difference < 1e-11, "{cycling:?}: {difference}");
            }
        }
    }

    #[test]
    fn the_transpose_in_reduced_precision_differs_only_by_rounding() {
        let narrow = LevelPrecision { working: Kind::F32, storage: Kind::F16 };
        let difference = difference(&Cycling::default(), narrow);
        assert!(difference < 1e-3, "{difference}");
    }
}

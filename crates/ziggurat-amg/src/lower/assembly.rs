//! Builds a [`Multigrid`] on a device from the levels of a hierarchy.

use ziggurat_sparse::device::Device;
use ziggurat_sparse::matrix::ScaleFactors;
use ziggurat_sparse::{Kind, MatrixError};

use super::coarse::coarse_solver;
use super::format::Lowering;
use super::level::{LevelParts, TransferParts, level};
use super::precision::LevelPrecision;
use super::scaling::{LevelScaling, lifted, scaled_smoother};
use super::source::LevelSource;
use crate::SetupError;
use crate::multigrid::entry::Entry;
use crate::multigrid::level::LevelOps;
use crate::multigrid::{Cycling, Multigrid};

impl<D: Device> Multigrid<D> {
    /// Moves a hierarchy, finest level first, to the devices of its levels. `precision` chooses the
    /// precision of each level; the coarsest level is solved in double precision. On a device
    /// [without it](Device::computes_in) the other levels are in single precision.
    ///
    /// Collective among processes. A coarsest level with remote columns is smoothed; to be solved
    /// directly, all of it must be on one process.
    ///
    /// # Errors
    /// If a level cannot be moved to its device, or the coarsest level cannot be factorised. Among
    /// processes this may be so on one of them only: they have to agree on the result.
    pub fn new(
        levels: &[LevelSource<'_, D>],
        cycling: &Cycling,
        precision: impl Fn(usize) -> LevelPrecision,
        lowering: Lowering,
    ) -> Result<Self, SetupError> {
        let Some((coarsest, finer)) = levels.split_last() else {
            let what = "levels of the hierarchy";
            return Err(MatrixError::Mismatch { what, expected: 1, found: 0 }.into());
        };
        for (index, source) in levels.iter().enumerate() {
            source.check().map_err(SetupError::at(index, "lowering"))?;
        }
        let precision = |index: usize| precision(index).on(levels[index].device);
        let scalings = match lowering.scaled {
            true => LevelScaling::of_levels(levels, |index| precision(index).stored()),
            false => vec![None; levels.len()],
        };
        let assembly = Assembly { levels, scalings: &scalings, cycling, lowering };
        // A process that fails here takes part in the messages of all levels before it returns.
        let lowered: Vec<_> = (0..finer.len()).map(|index| assembly.level(index, precision)).collect();
        let finest = scalings[0].as_ref().map(|scaling| &scaling.inverses[..]);
        let narrow = finest.is_some() || !finer.is_empty() && precision(0).working != Kind::F64;
        let entry = narrow.then(|| Entry::new(levels[0].device, finest)).transpose();
        let coarse = coarse_solver(coarsest, scalings[finer.len()].as_ref(), lowering.direct);
        Ok(Multigrid {
            devices: levels.iter().map(|source| source.device.clone()).collect(),
            levels: lowered.into_iter().collect::<Result<_, _>>()?,
            coarse: coarse.map_err(SetupError::at(finer.len(), "direct solve"))?,
            rows: levels[0].a.rows(),
            coarse_rows: coarsest.a.rows(),
            cycling: *cycling,
            entry: entry?,
        })
    }
}

/// The inputs of lowering that all levels share.
struct Assembly<'a, 'b, D: Device> {
    levels: &'a [LevelSource<'b, D>],
    scalings: &'a [Option<LevelScaling>],
    cycling: &'a Cycling,
    lowering: Lowering,
}

impl<D: Device> Assembly<'_, '_, D> {
    /// Moves a level other than the coarsest to its device, in scaled variables if it has a
    /// scaling.
    fn level(
        &self,
        index: usize,
        precision: impl Fn(usize) -> LevelPrecision,
    ) -> Result<Box<dyn LevelOps<D>>, SetupError> {
        let at = |stage| SetupError::at(index, stage);
        let source = &self.levels[index];
        let (own, next) = (self.scalings[index].as_ref(), self.scalings[index + 1].as_ref());
        let (working, storage) = (precision(index).working, precision(index).stored());
        let coarsest = index + 2 == self.levels.len();
        let coarse_working = if coarsest { Kind::F64 } else { precision(index + 1).working };
        let (device, coarse) = (source.device, self.levels[index + 1].device);
        let (here, there) = (LevelScaling::diagonal(own), LevelScaling::inverse_from(device, next));
        let transfer = source.transfer.map(|(r, p)| {
            let ((r_factors, r_undo), (p_factors, p_undo)) = match (own, next) {
                (None, None) => ((ScaleFactors::ONE, 1.0), (ScaleFactors::ONE, 1.0)),
                _ => (
                    lifted([device, device], r, [there, here], storage),
                    lifted([device, coarse], p, [here, there], storage),
                ),
            };
            TransferParts { r: (r_factors, r, r_undo), p: (p_factors, p, p_undo), coarse, coarse_working }
        });
        let smoother = source.smoother_data(&self.cycling.smoother).map_err(at("smoother"))?;
        let parts = LevelParts {
            a: source.a,
            factors: LevelScaling::of_matrix(own),
            block: source.block,
            host: source.host,
            formats: self.lowering.formats,
            transfer,
            smoother: &scaled_smoother(smoother, own),
        };
        level(device, &parts, working, storage).map_err(at("lowering"))
    }
}

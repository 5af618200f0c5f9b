//! Builds a [`Multigrid`] on a device from the levels of a hierarchy.

use std::sync::Arc;

use ziggurat_sparse::device::Device;
use ziggurat_sparse::matrix::ScaleFactors;
use ziggurat_sparse::{Csr, Kind, MatrixError, trace};

use super::coarse::coarse_solver;
use super::format::{Coarsest, Lowering};
use super::level::{LevelParts, SmootherParts, TransferParts, TriangularParts, level};
use super::part::{OwnMatrix, Part};
use super::precision::LevelPrecision;
use super::scaling::{Diagonal, LevelScaling, lifted, scaled_by, scaled_smoother};
use super::source::{InverseSource, LevelSource};
use crate::SetupError;
use crate::multigrid::coarse::CoarseSolver;
use crate::multigrid::entry::Entry;
use crate::multigrid::level::CycleLevel;
use crate::multigrid::{Cycling, Multigrid};
use crate::smoother::{IncompleteFactors, SmootherData};

impl Multigrid {
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
        levels: &[LevelSource<'_>],
        cycling: &Cycling,
        precision: impl Fn(usize) -> LevelPrecision,
        lowering: Lowering<'_>,
    ) -> Result<Self, SetupError> {
        let Some((last, rest)) = levels.split_last() else {
            let what = "levels of the hierarchy";
            return Err(MatrixError::Mismatch { what, expected: 1, found: 0 }.into());
        };
        let (finer, coarsest) = match lowering.coarsest {
            Coarsest::Smoothed => (levels, None),
            _ => (rest, Some(last)),
        };
        for (index, source) in levels.iter().enumerate() {
            source.check().map_err(SetupError::at(index, "lowering"))?;
        }
        let precision = |index: usize| precision(index).on(levels[index].device);
        let scalings = match lowering.scaled {
            true => LevelScaling::of_levels(levels, finer.len(), &|index| precision(index).stored()),
            false => vec![None; levels.len()],
        };
        let assembly = Assembly { levels, scalings: &scalings, cycling, lowering };
        // A process that fails here takes part in the messages of all levels before it returns.
        let lowered: Vec<_> = (0..finer.len()).map(|index| assembly.level(index, &precision)).collect();
        let finest = scalings[0].as_ref();
        let narrow = finest.is_some() || !finer.is_empty() && precision(0).working != Kind::F64;
        let entry = narrow.then(|| match LevelScaling::inverse(finest) {
            Diagonal::Constant(inverse) => Ok(Entry::constant(inverse)),
            Diagonal::List(inverses) => Entry::new(levels[0].device, inverses),
        });
        let coarse = match coarsest {
            Some(coarsest) => {
                let _stage = trace::stage("lowering", Some(finer.len()), coarsest.a.rows() as u64);
                lowering
                    .check_for(0.0)
                    .and_then(|()| coarse_solver(coarsest, scalings[finer.len()].as_ref(), lowering))
            }
            None => Ok(CoarseSolver::None),
        };
        Ok(Multigrid {
            devices: levels.iter().map(|source| source.device.share()).collect(),
            levels: lowered.into_iter().collect::<Result<_, _>>()?,
            coarse: coarse.map_err(SetupError::at(finer.len(), "direct solve"))?,
            rows: levels[0].a.rows(),
            coarse_rows: coarsest.map_or(0, |coarsest| coarsest.a.rows()),
            cycling: cycling.clone(),
            entry: entry.transpose()?,
            order: None,
            negated: false,
        })
    }
}

/// The inputs of lowering that all levels share.
struct Assembly<'a, 'b> {
    levels: &'a [LevelSource<'b>],
    scalings: &'a [Option<LevelScaling>],
    cycling: &'a Cycling,
    lowering: Lowering<'a>,
}

impl Assembly<'_, '_> {
    /// Moves a smoothed level to its device, in scaled variables if it has a scaling.
    fn level(
        &self,
        index: usize,
        precision: &dyn Fn(usize) -> LevelPrecision,
    ) -> Result<CycleLevel, SetupError> {
        let at = |stage| SetupError::at(index, stage);
        let source = &self.levels[index];
        self.lowering.check_for(0.0).map_err(at("lowering"))?;
        let _stage = trace::stage("lowering", Some(index), source.a.rows() as u64);
        let own = self.scalings[index].as_ref();
        let next = self.scalings.get(index + 1).and_then(Option::as_ref);
        let (working, storage) = (precision(index).working, precision(index).stored());
        let is_solved = self.lowering.coarsest != Coarsest::Smoothed && index + 2 == self.levels.len();
        let coarse_working = match self.levels.get(index + 1) {
            Some(_) if !is_solved => precision(index + 1).working,
            _ => Kind::F64,
        };
        let device = source.device;
        let coarse = self.levels.get(index + 1).map_or(device, |level| level.device);
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
        let (data, factors);
        let smoother = self.cycling.on_level(index).smoother;
        let smoother = match (source.inverse, source.a.own, LevelScaling::diagonal(own)) {
            (Some(inverse), ..) => inverse_parts(device, inverse, own, storage),
            (None, OwnMatrix::Grid(a), Diagonal::Constant(s))
                if source.smoother.is_none() && smoother.has_steps_on_grid() =>
            {
                SmootherParts::OnGrid { a, smoother, factor: s * s }
            }
            _ => {
                let made = source.smoother_data(&smoother).map_err(at("smoother"))?;
                data = scaled_smoother(made, own);
                match &*data {
                    SmootherData::Diagonal { diagonal, relaxation } => {
                        SmootherParts::Diagonal { diagonal, relaxation }
                    }
                    SmootherData::FineCoarse(diagonal) => SmootherParts::FineCoarse(diagonal),
                    SmootherData::Inverse(inverse) => {
                        factors = inverse.factors();
                        let (first, second) = (Part::from(&factors.0), factors.1.as_ref().map(Part::from));
                        let inverse = InverseSource { first, second, omega: inverse.omega };
                        inverse_parts(device, inverse, own, storage)
                    }
                    SmootherData::Factors(incomplete) => {
                        SmootherParts::Factors(triangular_parts(device, incomplete, own, storage))
                    }
                }
            }
        };
        let parts = LevelParts {
            a: source.a,
            factors: LevelScaling::of_matrix(own),
            block: source.block,
            host: source.host,
            formats: self.lowering.formats,
            transfer,
            smoother,
            points: source.points,
            first_row: source.first_row,
        };
        level(device, &parts, working, storage).map_err(at("lowering"))
    }
}

/// The factors of an approximate inverse in scaled variables: S M S, because A becomes S⁻¹ A S⁻¹.
fn inverse_parts<'a>(
    device: &dyn Device,
    inverse: InverseSource<'a>,
    own: Option<&'a LevelScaling>,
    storage: Kind,
) -> SmootherParts<'a> {
    let (scaling, one) = (LevelScaling::diagonal(own), Diagonal::Constant(1.0));
    let factor = |part: Part<'a>, sides: [Diagonal<'a>; 2]| {
        let (factors, undo) = match own {
            None => (ScaleFactors::ONE, 1.0),
            Some(_) => lifted([device, device], part, sides, storage),
        };
        (factors, part, undo)
    };
    let InverseSource { first, second, omega } = inverse;
    match second {
        None => SmootherParts::Inverse { first: factor(first, [scaling, scaling]), second: None, omega },
        Some(second) => SmootherParts::Inverse {
            first: factor(first, [one, scaling]),
            second: Some(factor(second, [scaling, one])),
            omega,
        },
    }
}

/// Incomplete factors in scaled variables: S⁻¹ L S and S⁻¹ U S⁻¹, because A becomes S⁻¹ A S⁻¹; and
/// S⁻¹ W S, S V S⁻¹ for the matrices before and after them.
fn triangular_parts<'a>(
    device: &dyn Device,
    factors: &'a IncompleteFactors,
    own: Option<&'a LevelScaling>,
    storage: Kind,
) -> TriangularParts<'a> {
    let (scaling, inverse) = (LevelScaling::diagonal(own), LevelScaling::inverse(own));
    let inverse_pivots = factors.pivots.iter().map(|pivot| pivot.recip());
    let of_lower = scaled_by(inverse, scaling);
    let inverse_pivots = match scaling {
        Diagonal::Constant(s) => inverse_pivots.map(|pivot| pivot * s * s).collect(),
        Diagonal::List(factors) => inverse_pivots.zip(factors).map(|(pivot, s)| pivot * s * s).collect(),
    };
    let beside = |matrix: &'a Option<Arc<Csr<f64>>>, sides: [Diagonal<'a>; 2]| {
        let part = Part::from(matrix.as_ref()?);
        let (factors, undo) = match own {
            None => (ScaleFactors::ONE, 1.0),
            Some(_) => lifted([device, device], part, sides, storage),
        };
        Some((factors, part, undo))
    };
    TriangularParts {
        lower: (of_lower, &factors.lower),
        upper: (LevelScaling::of_matrix(own), &factors.upper),
        inverse_pivots,
        block: factors.block,
        before: beside(&factors.before, [inverse, scaling]),
        after: beside(&factors.after, [scaling, inverse]),
        omega: factors.omega,
    }
}

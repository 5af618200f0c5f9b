//! Constrained pressure residual (CPR) for cell-wise systems of reservoir simulation.
//!
//! Each cell has a few unknowns: one pressure, and saturations or concentrations. The pressure is
//! nearly elliptic and couples all cells; the others are transported from cell to cell. So a
//! correction of the pressures by multigrid comes first, and incomplete factors treat the rest:
//!
//! ```text
//! W = diag(A[C₁,C₁]⁻¹, …)                       the cells decoupled
//! R = Pᵀ W,  A_p = R A P                        P: injection of the pressures
//! x ← P A_p⁻¹ R b;   x ← x + M⁻¹ (b − A x)      M: block ILU(0)
//! ```
//!
//! That is a cycle over two levels without pre-smoothing, whose restriction is not the transpose of
//! the prolongation; classical coarsening continues with A_p. J. R. Wallis, *Incomplete Gaussian
//! elimination as a preconditioning for generalized conjugate gradient acceleration*, SPE 12265,
//! 1983; the weights W come from the alternate-block factorisation (R. E. Bank et al., 1989).
//!
//! Cost: the inverses of the cells' blocks, and classical setup for one unknown per cell.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use ziggurat_sparse::algebra::TripleProductPlan;
use ziggurat_sparse::{Csr, CsrRef, MatrixError};

use super::build::build;
use super::cells::{MAX_UNKNOWNS, pressure};
use super::classical::Classical;
use super::matrix::{Built, Level, Setup};
use super::stages::Stages;
use super::whole::{WholeMatrix, WholeTransfer};
use super::{Coarsening, HierarchyConfig};
use crate::halo::Whole;
use crate::interpolate::NearKernel;
use crate::smoother::inverse_of_nodes;
use crate::{OutOfRange, SetupError};

/// The cells of a reservoir system, whose unknowns are numbered cell by cell.
///
/// ```
/// use ziggurat_amg::Cpr;
/// let parameters = Cpr { unknowns: Some(3), pressure: Some(3) };
/// assert_eq!(parameters.check().unwrap_err().to_string(), "`pressure` is 3; it must be from 0 to 2");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Cpr {
    /// Unknowns per cell; without it, they are found in the matrix.
    pub unknowns: Option<usize>,
    /// Which of them is the pressure, counted from zero; without it, it is found in the matrix.
    pub pressure: Option<usize>,
}

impl Cpr {
    /// Checks that every parameter is in its range.
    ///
    /// # Errors
    /// The first that is not.
    pub fn check(&self) -> Result<(), OutOfRange> {
        let most = self.unknowns.unwrap_or(MAX_UNKNOWNS);
        OutOfRange::unless_in("unknowns", self.unknowns.unwrap_or(2), 2..=MAX_UNKNOWNS)?;
        OutOfRange::unless_in("pressure", self.pressure.unwrap_or(0), 0..=most - 1)
    }
}

/// The levels of a cell-wise system: the matrix, and the levels of its pressures.
pub(super) fn build_cpr(
    a: WholeMatrix,
    cpr: Cpr,
    classical: Classical,
    setup: &Setup<'_>,
) -> Result<Built<WholeMatrix>, SetupError> {
    let at = |stage| SetupError::at(0, stage);
    let rows = a.a.rows();
    let unknowns = cpr.unknowns.filter(|unknowns| *unknowns > 1 && rows.is_multiple_of(*unknowns));
    let Some(unknowns) = unknowns else { return Err(at("cells")(SetupError::NoCells)) };
    if rows / unknowns == 0 {
        return build(a, NearKernel::constants(rows, 1)?, setup, 0);
    }
    let mut stages = Stages::new(0, rows as u64, setup.cancel);
    let matrix = a.a.csr();
    let stage = stages.begin("cells");
    let w = inverse_of_nodes(matrix.view(), matrix.all_rows(), unknowns).map_err(at("cells"))?;
    let unknown = match cpr.pressure {
        Some(unknown) => unknown,
        None => pressure(matrix.view(), unknowns).ok_or(SetupError::NoCells).map_err(at("cells"))?,
    };
    let (r, p) = transfers(w.view(), unknowns, unknown).map_err(SetupError::from).map_err(at("cells"))?;
    stages.end(stage);
    stages.check("Galerkin product", &Whole::new(rows))?;
    let stage = stages.begin("Galerkin product");
    let product = TripleProductPlan::with_product(r.view(), r.all_rows(), matrix.view(), p.view());
    let (galerkin, pressures) = product.map_err(SetupError::from).map_err(at("Galerkin product"))?;
    stages.end(stage);
    let kernel = NearKernel::constants(pressures.rows(), 1)?;
    let config = HierarchyConfig { coarsening: Coarsening::Classical(classical), ..*setup.config };
    let below = WholeMatrix::new(Arc::new(pressures), 1);
    let below = build(below, kernel, &Setup { config: &config, ..*setup }, 1)?;
    let transfer = WholeTransfer { p: p.into(), r: r.into(), galerkin: Some(galerkin), dead: Vec::new() };
    let mut levels = vec![Level { stages: stages.into_seconds(), ..Level::with_transfer(a, transfer) }];
    levels.extend(below.levels);
    Ok(Built { levels, stop: below.stop })
}

/// R = Pᵀ W, the rows of W that belong to pressures, and P.
fn transfers(
    w: CsrRef<'_, f64>,
    unknowns: usize,
    pressure: usize,
) -> Result<(Csr<f64>, Csr<f64>), MatrixError> {
    let (rows, cells) = (w.rows(), w.rows() / unknowns);
    let (mut row_ptr, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for cell in 0..cells {
        let row = w.row(cell * unknowns + pressure);
        columns.extend_from_slice(row.0);
        values.extend_from_slice(row.1);
        row_ptr.push(columns.len());
    }
    let r = Csr::try_new(cells, rows, row_ptr, columns, values)?;
    let before = |row: usize| (row + unknowns - 1 - pressure) / unknowns;
    let row_ptr = (0..=rows).map(before).collect();
    let p = Csr::try_new(rows, cells, row_ptr, (0..cells as u32).collect(), vec![1.0; cells])?;
    Ok((r, p))
}

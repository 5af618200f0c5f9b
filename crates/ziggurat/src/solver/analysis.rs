//! Analysis of a matrix before setup: its kind, its sign and its fields.
//!
//! Setup expects a positive diagonal, so −A takes the place of a negative definite A. Unknowns that
//! are numbered field by field are coarsened by nodes, as if they were numbered node by node; their
//! order stays. Cost: the passes of [`MatrixKind`], and a copy of the matrix for another sign.

use std::sync::Arc;

use ziggurat_amg::interpolate::NearKernel;
use ziggurat_amg::{KnownGrid, SetupError, negative};
use ziggurat_sparse::Csr;

use super::SolveError;
use crate::diagnose::{MatrixKind, numbered_by_fields};

/// The kind of a matrix with blocks of size `block`. A given near-kernel knows the unknowns per
/// node.
fn kind_of(
    a: &Arc<Csr<f64>>,
    block: usize,
    near_kernel: Option<&NearKernel>,
) -> Result<(MatrixKind, Option<KnownGrid>), SolveError> {
    let constants = near_kernel.is_none_or(NearKernel::is_constant);
    let unknowns = near_kernel.map_or(block, NearKernel::unknowns_per_node);
    let (mut kind, grid) = MatrixKind::of_blocks(a, block, constants)?;
    kind.block = unknowns;
    Ok((kind, grid))
}

/// The matrix that is set up, and what is known of it.
pub(super) struct Analysed {
    /// A or −A.
    pub(super) a: Arc<Csr<f64>>,
    pub(super) kind: MatrixKind,
    /// Its grid and stencils, if it comes from a structured grid.
    pub(super) grid: Option<KnownGrid>,
}

/// Finds what is known of a matrix, and its sign.
pub(super) fn analyse(
    a: &Arc<Csr<f64>>,
    block: usize,
    near_kernel: Option<&NearKernel>,
) -> Result<Analysed, SolveError> {
    let (kind, grid) = kind_of(a, block, near_kernel)?;
    if !kind.is_negative() {
        return Ok(Analysed { a: a.clone(), kind, grid });
    }
    drop(grid);
    let a = negative(a);
    let (kind, grid) = kind_of(&a, block, near_kernel)?;
    Ok(Analysed { a, kind: MatrixKind { negated: true, ..kind }, grid })
}

/// The constants of every field of a symmetric matrix, if its unknowns are numbered field by field.
pub(super) fn of_fields(a: &Csr<f64>) -> Result<Option<NearKernel>, SolveError> {
    let by_fields = |fields| NearKernel::constants(a.rows(), fields)?.by_fields();
    match numbered_by_fields(a.view()) {
        1 => Ok(None),
        fields => Ok(Some(by_fields(fields).map_err(SetupError::from)?)),
    }
}

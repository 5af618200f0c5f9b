//! What a solver finds out about a matrix before setup: its kind, its sign and its fields.
//!
//! Setup expects a positive diagonal, so −A takes the place of a negative definite A. Unknowns that
//! are numbered field by field are coarsened by nodes, as if they were numbered node by node; their
//! order stays. Cost: that of [`MatrixKind`], and a copy of the matrix for another sign.

use std::sync::Arc;

use ziggurat_amg::interpolate::NearKernel;
use ziggurat_amg::{SetupError, negative};
use ziggurat_sparse::Csr;

use super::SolveError;
use crate::diagnose::{MatrixKind, numbered_by_fields};

/// The kind of a matrix with blocks of size `block`. A given near-kernel knows the unknowns per
/// node.
fn kind_of(
    a: &Arc<Csr<f64>>,
    block: usize,
    near_kernel: Option<&NearKernel>,
) -> Result<MatrixKind, SolveError> {
    let constants = near_kernel.is_none_or(NearKernel::is_constant);
    let unknowns = near_kernel.map_or(block, NearKernel::unknowns_per_node);
    let mut kind = MatrixKind::of_blocks(a, block, constants)?;
    kind.block = unknowns;
    Ok(kind)
}

/// The matrix that is set up, A or −A, and its kind.
pub(super) fn oriented(
    a: &Arc<Csr<f64>>,
    block: usize,
    near_kernel: Option<&NearKernel>,
) -> Result<(Arc<Csr<f64>>, MatrixKind), SolveError> {
    let kind = kind_of(a, block, near_kernel)?;
    if !kind.is_negative() {
        return Ok((a.clone(), kind));
    }
    let a = negative(a);
    let kind = kind_of(&a, block, near_kernel)?;
    Ok((a, MatrixKind { negated: true, ..kind }))
}

/// The constants of every field of a symmetric matrix, if its unknowns are numbered field by field.
pub(super) fn of_fields(a: &Csr<f64>) -> Result<Option<NearKernel>, SolveError> {
    let by_fields = |fields| NearKernel::constants(a.rows(), fields)?.by_fields();
    match numbered_by_fields(a.view()) {
        1 => Ok(None),
        fields => Ok(Some(by_fields(fields).map_err(SetupError::from)?)),
    }
}

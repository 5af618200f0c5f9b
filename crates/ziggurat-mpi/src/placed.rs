//! The matrix of a caller as it is set up: checked, in the sign and the distribution of the levels.
//!
//! Setup expects a positive diagonal, so −A takes the place of a negative definite A, and the
//! solution becomes −x. Ranks own whole grains inside, so rows near the bounds of ranks are moved.
//! Cost: a few passes over the matrix, and a copy of it for each of the two changes.

use std::sync::Arc;

use ziggurat::diagnose::MatrixKind;
use ziggurat_amg::interpolate::NearKernel;
use ziggurat_amg::negative;
use ziggurat_sparse::MatrixError;

use crate::error::{DistributedError, agree};
use crate::matrix::DistributedCsr;
use crate::partition::Partition;
use crate::setup::{self, moved, row_by_row};

/// −A, if that is set up in place of A, and the kind of the matrix that is. `constants` states that
/// nothing but constants is known of the near-kernel. Collective.
pub(crate) fn oriented(
    a: &DistributedCsr,
    constants: bool,
) -> Result<(Option<DistributedCsr>, MatrixKind), DistributedError> {
    let kind = MatrixKind::of(a)?;
    if !kind.is_negative() {
        return Ok((None, kind.with_grid(a, constants)));
    }
    let mut a = a.clone();
    a.local = negative(&a.local);
    let mut kind = MatrixKind::of(&a)?.with_grid(&a, constants);
    kind.negated = true;
    Ok((Some(a), kind))
}

/// Rejects a matrix or a near-kernel that is not finite or does not fit.
pub(crate) fn check(a: &DistributedCsr, kernel: Option<&NearKernel>) -> Result<(), DistributedError> {
    let finite = a.view().check_finite().map_err(|error| a.with_global_ids(error.into()));
    finite?;
    let mismatch = |what, expected, found| Err(MatrixError::Mismatch { what, expected, found }.into());
    match kernel {
        Some(kernel) if kernel.rows() != a.own.len() => mismatch(
            "values of each near-kernel vector, one per row of this rank",
            a.own.len(),
            kernel.rows(),
        ),
        Some(kernel) if kernel.block() != a.block() => {
            mismatch("unknowns per node of the near-kernel", a.block(), kernel.block())
        }
        _ => Ok(()),
    }
}

/// The matrix with its rows distributed as `inside`.
pub(crate) fn placed(
    a: &DistributedCsr,
    inside: &Arc<Partition>,
) -> Result<DistributedCsr, DistributedError> {
    let comm = a.comm();
    if !comm.any(a.rows.own() != inside.own()) {
        return Ok(a.clone());
    }
    a.redistributed(inside)
}

/// The near-kernel of those rows; constants if none is given.
pub(crate) fn placed_kernel(
    a: &DistributedCsr,
    inside: &Partition,
    kernel: Option<&NearKernel>,
) -> Result<NearKernel, DistributedError> {
    let comm = &**a.comm();
    let Some(kernel) = kernel else { return agree(comm, NearKernel::constants(inside.len(), a.block())) };
    let count = kernel.count();
    // A constant must have the same value on every rank.
    let value = kernel.vectors().values().first().copied();
    let (least, most) = (
        comm.most(value.map_or(f64::NEG_INFINITY, |value| -value)),
        comm.most(value.unwrap_or(f64::NEG_INFINITY)),
    );
    let constant = !comm.any(!kernel.is_constant()) && -least == most;
    let values = moved(comm, &a.rows, inside, count, &row_by_row(kernel));
    agree(comm, setup::near_kernel(&values, kernel.block(), count, inside.len(), constant))
}

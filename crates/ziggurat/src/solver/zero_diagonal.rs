//! Matrices with zeros on the diagonal, which smoothers divide by. A factorisation exchanges rows,
//! so sparse factors take the place of multigrid if the caller has left the method open. Otherwise
//! the error says whether they would help, which only an attempt shows.

use ziggurat_amg::SetupError;
use ziggurat_sparse::MatrixError;

use super::SolveError;
use crate::config::Method;
use crate::events;

/// Whether setup has failed because a diagonal entry is zero.
pub(super) fn has_zero_diagonal(error: &SetupError) -> bool {
    matches!(error.cause(), SetupError::Matrix(MatrixError::ZeroDiagonal { .. }))
}

/// The solver that sparse factors make if they may `replace` multigrid. If not, or if there are
/// none, the error with what helps.
pub(super) fn factorised_instead<S>(
    error: SetupError,
    replace: bool,
    factorise: impl FnOnce() -> Result<S, SolveError>,
) -> Result<S, SolveError> {
    if replace {
        events::set_up_failed(&error, Method::Direct);
    }
    let advice = match factorise() {
        Ok(solver) if replace => return Ok(solver),
        Ok(_) => {
            "smoothers divide by it; choose the method `direct`, sparse factors that exchange rows".into()
        }
        Err(second) if second.stop_reason().is_some() => return Err(second),
        Err(SolveError::Setup(factors)) => {
            format!("smoothers divide by it, and sparse factors do not help: {}", factors.cause())
        }
        Err(_) => return Err(error.into()),
    };
    Err(SetupError::ZeroDiagonal { source: Box::new(error), advice }.into())
}

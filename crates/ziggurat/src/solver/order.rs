//! Vectors of the caller in the order and sign of the levels, and back. Cost: a pass over the
//! vector, if the orders or signs differ.

use std::borrow::Cow;
use std::sync::Arc;

use ziggurat_sparse::graph::Permutation;
use ziggurat_sparse::{MatrixError, parallel};

/// A vector of the caller in the order of the levels. One of another length is left as it is; the
/// iteration refuses it.
pub(super) fn in_order<'a>(order: Option<&Arc<Permutation>>, given: &'a [f64]) -> Cow<'a, [f64]> {
    let Some(order) = order else { return given.into() };
    let mut ordered = vec![0.0; given.len()];
    match order.apply(given, &mut ordered) {
        Ok(()) => ordered.into(),
        Err(_) => given.into(),
    }
}

/// −x if the matrix is negated, else x.
pub(super) fn in_sign(negated: bool, mut x: Cow<'_, [f64]>) -> Cow<'_, [f64]> {
    if negated {
        parallel::over_pieces(x.to_mut(), &|_, x: &mut [f64]| x.iter_mut().for_each(|x| *x = -*x));
    }
    x
}

/// A vector of the levels in the order of the caller.
pub(super) fn in_given_order(
    order: Option<&Arc<Permutation>>,
    ordered: Vec<f64>,
) -> Result<Vec<f64>, MatrixError> {
    let Some(order) = order else { return Ok(ordered) };
    let mut given = vec![0.0; ordered.len()];
    order.undo(&ordered, &mut given)?;
    Ok(given)
}

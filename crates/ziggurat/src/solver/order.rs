//! Vectors of the caller in the order of the levels, and back. Cost: a pass over the vector, if the
//! orders differ.

use std::borrow::Cow;
use std::sync::Arc;

use ziggurat_sparse::MatrixError;
use ziggurat_sparse::graph::Permutation;

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

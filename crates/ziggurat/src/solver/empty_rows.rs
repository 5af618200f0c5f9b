//! Right-hand sides in empty rows, such as the rows of the isolated nodes of a graph.
//!
//! The equation of an empty row is 0 = b_i, so the system has a solution only if b is zero there.
//! Otherwise b has a component that no product reaches:
//!
//! ```text
//! q = E Eᵀ b / ‖E Eᵀ b‖,    qᵀA = 0,    E: the unit vectors of empty rows
//! ```
//!
//! However many rows are empty, that is one vector. The Krylov methods project it out with the rest
//! of the null space, and report that the system is inconsistent unless the caller accepts the
//! projection. x keeps the values of the guess in these rows. Cost per solve: nothing without empty
//! rows, a pass over b with them, and copies of the null space's vectors if b is not zero there.

use ziggurat_sparse::Kind;
use ziggurat_sparse::device::{DeviceError, DeviceExt, Vector, Vectors};

use super::iteration::on_all_processes;
use super::{Iteration, SolveError};

impl Iteration {
    /// The vectors to be projected out, where b is not zero in empty rows; `None` where it is, and
    /// the vectors of the null space suffice. Collective.
    pub(super) fn kernel_with_empty_rows(&self, b: &Vector) -> Result<Option<Vec<Vector>>, SolveError> {
        let Some(empty_rows) = &self.kernel.empty_rows else { return Ok(None) };
        let (device, length) = (&*self.device, b.len());
        let mut part = on_all_processes(device, device.zeros(Kind::F64, length))?;
        device.diagonal(1.0, empty_rows, b, 0.0, &mut part);
        let largest = device.norm_max(&part);
        // A b that is not finite is reported by the Krylov method.
        if !(largest > 0.0 && largest.is_finite()) {
            return Ok(None);
        }
        // In two steps, because squares of small numbers underflow.
        let scale = |factor, part: &mut _| device.combine(&[], Vectors::NONE, factor, part);
        scale(largest.recip(), &mut part);
        scale(device.norm(&part).recip(), &mut part);
        let copies = self.kernel.vectors.iter().map(|vector| {
            let mut copy = device.zeros(Kind::F64, length)?;
            device.copy(vector, &mut copy);
            Ok(copy)
        });
        let copies: Result<Vec<_>, DeviceError> = copies.collect();
        let mut vectors = on_all_processes(device, copies)?;
        vectors.push(part);
        Ok(Some(vectors))
    }
}

//! The near-null space of a distributed matrix from vectors of the caller.

use ziggurat_amg::interpolate::{NearKernel, NearKernelError};
use ziggurat_sparse::{Dense, MatrixError};

use crate::comm::Comm;
use crate::error::{DistributedError, agree, check_same, together};
use crate::input::check_independent;

/// This rank's rows of vectors that the matrix maps to nearly zero, after validating them over all
/// ranks. `block` is the number of unknowns per node. All ranks call it.
///
/// ```
/// use ziggurat_mpi::{Alone, near_kernel};
/// let kernel = near_kernel(&Alone, &[vec![1.0; 4], vec![0.0, 1.0, 2.0, 3.0]], 2)?;
/// assert_eq!((kernel.rows(), kernel.count()), (4, 2));
/// assert!(near_kernel(&Alone, &[vec![1.0; 4], vec![2.0; 4]], 2).is_err()); // dependent
/// # Ok::<(), ziggurat_mpi::DistributedError>(())
/// ```
///
/// # Errors
/// If there are no vectors or another number of them than on other ranks, if their lengths differ,
/// if a value is not finite, or if a vector is zero or depends linearly on others.
pub fn near_kernel(
    comm: &dyn Comm,
    vectors: &[Vec<f64>],
    block: usize,
) -> Result<NearKernel, DistributedError> {
    together(comm, || {
        check_same(comm, "number of near-kernel vectors", &vectors.len().to_string())?;
        let vectors = agree(comm, checked(vectors))?;
        check_independent(comm, &vectors)?;
        let first = vectors.values().first();
        let is_constant = block == 1 && vectors.cols() == 1;
        let is_constant = is_constant && vectors.values().iter().all(|value| Some(value) == first);
        // Whether ranks have the same constant is compared by setup.
        agree(comm, NearKernel::part(vectors, block, is_constant))
    })
}

/// The vectors as a matrix, if they are finite and of one length.
fn checked(vectors: &[Vec<f64>]) -> Result<Dense<f64>, NearKernelError> {
    let Some(first) = vectors.first() else { return Err(NearKernelError::NoVectors) };
    for (vector, values) in vectors.iter().enumerate() {
        if values.len() != first.len() {
            let (what, expected, found) = ("values of a near-kernel vector", first.len(), values.len());
            return Err(MatrixError::Mismatch { what, expected, found }.into());
        }
        if let Some(row) = values.iter().position(|value| !value.is_finite()) {
            return Err(NearKernelError::NotFinite { vector, row, value: values[row] });
        }
    }
    Ok(Dense::try_new(first.len(), vectors.len(), vectors.concat())?)
}

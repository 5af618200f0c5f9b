//! Allocation of vectors in host memory.

use super::error::DeviceError;
use crate::number::Store;
use crate::parallel;

/// A vector of zeros in host memory. An excessive request is an error and not an abort.
pub(super) fn zeros<T: Store>(len: usize) -> Result<Vec<T>, DeviceError> {
    parallel::try_zeros(len).map_err(|_| out_of_memory::<T>(len))
}

/// A copy in host memory.
pub(super) fn copied<T: Store>(from: &[T]) -> Result<Vec<T>, DeviceError> {
    parallel::try_copied(from).map_err(|_| out_of_memory::<T>(from.len()))
}

fn out_of_memory<T>(len: usize) -> DeviceError {
    DeviceError::OutOfMemory { bytes: len.saturating_mul(size_of::<T>()) }
}

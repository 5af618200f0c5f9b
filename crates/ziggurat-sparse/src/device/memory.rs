//! Allocation of vectors in host memory.

use super::error::DeviceError;
use crate::number::Store;

/// Reserves memory before filling it, so that an excessive request is an error and not an abort.
pub(super) fn allocate<T>(len: usize, fill: impl FnOnce(&mut Vec<T>)) -> Result<Vec<T>, DeviceError> {
    let mut vector = Vec::new();
    let reserved = vector.try_reserve_exact(len);
    reserved.map_err(|_| DeviceError::OutOfMemory { bytes: len.saturating_mul(size_of::<T>()) })?;
    fill(&mut vector);
    Ok(vector)
}

/// A vector of zeros in host memory.
pub(super) fn zeros<T: Store>(len: usize) -> Result<Vec<T>, DeviceError> {
    allocate(len, |vector| vector.resize(len, T::default()))
}

//! Vectors in host memory.

use super::error::DeviceError;
use crate::number::Store;

/// Reserves before it fills, so that too large a request is an error instead of an abort.
pub(super) fn allocate<T>(len: usize, fill: impl FnOnce(&mut Vec<T>)) -> Result<Vec<T>, DeviceError> {
    let mut vector = Vec::new();
    let reserved = vector.try_reserve_exact(len);
    reserved.map_err(|_| DeviceError::OutOfMemory { bytes: len.saturating_mul(size_of::<T>()) })?;
    fill(&mut vector);
    Ok(vector)
}

/// Zeros in host memory.
pub(super) fn zeros<T: Store>(len: usize) -> Result<Vec<T>, DeviceError> {
    allocate(len, |vector| vector.resize(len, T::default()))
}

//! Allocation of vectors in host memory.

use super::error::DeviceError;
use super::vector::Vector;
use crate::number::{Kind, Store};
use crate::{parallel, with_storage};

/// A vector of zeros in host memory. An excessive request is an error and not an abort.
pub(super) fn zeros<T: Store>(len: usize) -> Result<Vec<T>, DeviceError> {
    parallel::try_zeros(len).map_err(|_| out_of_memory::<T>(len))
}

/// A copy in host memory.
pub(super) fn copied<T: Store>(from: &[T]) -> Result<Vec<T>, DeviceError> {
    parallel::try_copied(from).map_err(|_| out_of_memory::<T>(from.len()))
}

/// Numbers in host memory, each rounded to a number type.
pub(super) fn rounded(number: Kind, wide: &[f64]) -> Vector {
    with_storage!(number, |T| parallel::collect(wide.len(), |at| <T as Store>::narrow(wide[at])).into())
}

fn out_of_memory<T>(len: usize) -> DeviceError {
    DeviceError::OutOfMemory { bytes: len.saturating_mul(size_of::<T>()) }
}

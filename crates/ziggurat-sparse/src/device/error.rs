//! Device errors.

use thiserror::Error;

use super::host_matrix::MatrixFormat;
use crate::number::Kind;

/// Why an operation on a device failed.
///
/// ```
/// use ziggurat_sparse::{Kind, device::{Cpu, Device, DeviceError}};
/// let error = Cpu::new().zeros(Kind::F64, usize::MAX / 16).unwrap_err();
/// assert!(matches!(error, DeviceError::OutOfMemory { .. }));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// Not enough memory.
    #[error("the device cannot allocate {bytes} more bytes; use a smaller problem or a lower precision")]
    OutOfMemory {
        /// Bytes requested.
        bytes: usize,
    },
    /// The device does not compute in this number type.
    #[error("the device {device} cannot compute in {number}; {instead}")]
    Lacks {
        /// The name of the device.
        device: String,
        /// The number type that is not supported.
        number: Kind,
        /// A suggested alternative.
        instead: &'static str,
    },
    /// A count exceeds the device's index type.
    #[error(
        "{found} {what} exceed the limit of the device ({most}); distribute the problem over more processes"
    )]
    TooLarge {
        /// The items counted.
        what: &'static str,
        /// The count.
        found: usize,
        /// The largest supported count.
        most: usize,
    },
    /// The device has no kernels for a format.
    #[error("the device {device} does not support the format {format}; use csr, which every device supports")]
    UnknownFormat {
        /// The name of the device.
        device: String,
        /// The format's name.
        format: MatrixFormat,
    },
    /// Queued work failed; the failing kernel is unknown.
    #[error(
        "work queued on the device {device} failed: {reason}; results since the last `finish` are invalid; \
         set up again or use another device"
    )]
    Lost {
        /// The name of the device.
        device: String,
        /// The driver's message.
        reason: String,
    },
}

//! Errors of devices.

use thiserror::Error;

use crate::number::Kind;

/// Why a device could not do what was asked.
///
/// ```
/// use ziggurat_sparse::device::{Cpu, Device, DeviceError};
/// let error = Cpu::new().zeros::<f64>(usize::MAX / 16).unwrap_err();
/// assert!(matches!(error, DeviceError::OutOfMemory { .. }));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// The memory asked for is not there.
    #[error("the device has no room for {bytes} bytes more; use a smaller problem or a narrower precision")]
    OutOfMemory {
        /// Bytes asked for.
        bytes: usize,
    },
    /// The device has no arithmetic in this number.
    #[error("the device {device} cannot compute in {number}; {instead}")]
    Lacks {
        /// What it is called.
        device: String,
        /// The number it lacks.
        number: Kind,
        /// What to do instead.
        instead: &'static str,
    },
    /// The device counts in fewer bits.
    #[error("{found} {what} are more than the device can count ({most}); split the problem among processes")]
    TooLarge {
        /// What there are too many of.
        what: &'static str,
        /// How many there are.
        found: usize,
        /// How many there may be.
        most: usize,
    },
    /// The device has no kernels for a format.
    #[error("the device {device} does not know the format {format}; use csr, which every device knows")]
    UnknownFormat {
        /// What it is called.
        device: String,
        /// The format's name.
        format: &'static str,
    },
    /// Queued work failed, and nothing says which.
    #[error(
        "work queued on the device {device} failed: {reason}; results since its last `finish` are not to be trusted, \
         set up again or use another device"
    )]
    Lost {
        /// What it is called.
        device: String,
        /// What its driver says.
        reason: String,
    },
}

//! Errors of opening a device.

use thiserror::Error;
use ziggurat_sparse::UnknownName;
use ziggurat_sparse::words::counted;

/// Why a GPU could not be opened.
///
/// ```
/// use ziggurat_gpu::{Gpu, GpuError};
/// let error = Gpu::named("vulcan").unwrap_err();
/// assert!(matches!(error, GpuError::Unknown(_)));
/// assert!(error.to_string().contains("did you mean `vulkan`?"), "{error}");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum GpuError {
    /// The runtime's name is unknown.
    #[error(transparent)]
    Unknown(#[from] UnknownName),
    /// The runtime is not compiled in.
    #[error("{runtime} support is not compiled in; enable the feature `{runtime}` of ziggurat-gpu")]
    NotCompiled {
        /// The runtime's name, which is also the name of the feature.
        runtime: &'static str,
    },
    /// The runtime's driver is missing, or finds no device.
    #[error("no {runtime} device: {reason}")]
    NoDriver {
        /// The runtime's name.
        runtime: &'static str,
        /// The missing part, with a suggestion.
        reason: String,
    },
    /// The index is beyond the runtime's last device.
    #[error(
        "there is no {runtime}:{index}; {runtime} has {}, and the first is {runtime}:0",
        counted(*found, "device")
    )]
    NoSuchDevice {
        /// The runtime's name.
        runtime: &'static str,
        /// The requested index.
        index: usize,
        /// The number of devices.
        found: usize,
    },
    /// No runtime has a device.
    #[error(
        "no GPU found:{reasons}\n  use the CPU, or install a driver (software Vulkan: mesa-vulkan-drivers)"
    )]
    None {
        /// One line per runtime.
        reasons: String,
    },
    /// The driver failed to open the device.
    #[error("{device} could not be opened: {reason}")]
    Refused {
        /// The device's name.
        device: String,
        /// The driver's message.
        reason: String,
    },
}

//! Why there is no device.

use thiserror::Error;
use ziggurat_sparse::UnknownName;

/// Why a GPU could not be had.
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
    /// There is no such runtime.
    #[error(transparent)]
    Unknown(#[from] UnknownName),
    /// This build does not have the runtime.
    #[error("this build has no {runtime}; build with the feature `{runtime}` of ziggurat-gpu")]
    NotCompiled {
        /// The runtime's name, which is that of the feature.
        runtime: &'static str,
    },
    /// The runtime's driver is missing, or finds no device.
    #[error("no {runtime} device: {reason}")]
    NoDriver {
        /// The runtime's name.
        runtime: &'static str,
        /// What is missing, and what to try.
        reason: String,
    },
    /// The runtime has devices, but not so many.
    #[error("there is no {runtime}:{index}; {runtime} has {found} device(s), and the first is {runtime}:0")]
    NoSuchDevice {
        /// The runtime's name.
        runtime: &'static str,
        /// The device asked for.
        index: usize,
        /// How many there are.
        found: usize,
    },
    /// No runtime has a device.
    #[error(
        "no GPU was found:{reasons}\n  use the CPU, or install a driver (software Vulkan: mesa-vulkan-drivers)"
    )]
    None {
        /// A line for each runtime.
        reasons: String,
    },
    /// The driver refused to open the device.
    #[error("{device} could not be opened: {reason}")]
    Refused {
        /// The device's name.
        device: String,
        /// What the driver said.
        reason: String,
    },
}

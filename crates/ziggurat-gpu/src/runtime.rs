//! Runtimes, their devices, and the reasons why a runtime has none.
//!
//! Driver libraries are loaded on demand and never linked, so a program with every runtime compiled
//! in starts on a machine without drivers. CubeCL panics if a library is missing, so libraries are
//! checked first.

use std::panic::{AssertUnwindSafe, catch_unwind};

#[cfg(any(feature = "vulkan", feature = "metal", feature = "cuda", feature = "hip"))]
use cubecl::Runtime as _;
use cubecl::prelude::ComputeClient;
use ziggurat_sparse::UnknownName;

use crate::error::GpuError;

/// A client of one of the compiled-in runtimes.
#[derive(Clone)]
pub(crate) enum Client {
    #[cfg(any(feature = "vulkan", feature = "metal"))]
    Wgpu(ComputeClient<cubecl::wgpu::WgpuRuntime>),
    #[cfg(feature = "cuda")]
    Cuda(ComputeClient<cubecl::cuda::CudaRuntime>),
    #[cfg(feature = "hip")]
    Hip(ComputeClient<cubecl::hip::HipRuntime>),
    /// Keeps the enum non-empty if no runtime is compiled in.
    #[allow(dead_code)]
    Absent(std::convert::Infallible),
}

/// Evaluates the body with the client of any runtime; `$runtime` is the runtime's type in the body.
macro_rules! with_client {
    ($client:expr, |$c:ident: $runtime:ident| $body:expr) => {
        match $client {
            #[cfg(any(feature = "vulkan", feature = "metal"))]
            $crate::runtime::Client::Wgpu($c) => {
                #[allow(unused)]
                type $runtime = cubecl::wgpu::WgpuRuntime;
                $body
            }
            #[cfg(feature = "cuda")]
            $crate::runtime::Client::Cuda($c) => {
                #[allow(unused)]
                type $runtime = cubecl::cuda::CudaRuntime;
                $body
            }
            #[cfg(feature = "hip")]
            $crate::runtime::Client::Hip($c) => {
                #[allow(unused)]
                type $runtime = cubecl::hip::HipRuntime;
                $body
            }
            $crate::runtime::Client::Absent(never) => match *never {},
        }
    };
}
pub(crate) use with_client;

/// Vendor of a device, which determines tuning limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Vendor {
    Nvidia,
    Amd,
    Intel,
    Other,
}

/// An available device.
///
/// ```
/// for found in ziggurat_gpu::devices() {
///     println!("{}: {}", found.name, found.description); // vulkan:0: llvmpipe (LLVM 15.0.6, 256 bits)
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The name for [`Gpu::named`](crate::Gpu::named), such as `vulkan:0`.
    pub name: String,
    /// The driver's name for the device.
    pub description: String,
    /// Whether it is a software implementation instead of a GPU.
    pub software: bool,
    pub(crate) vendor: Vendor,
    /// CubeCL's identifier: the kind of device and an index within the kind.
    id: (u16, usize),
}

/// A runtime without devices, and the reason.
///
/// ```
/// // Every runtime either has a device or a reason.
/// let runtimes = ["vulkan", "cuda", "hip", "metal"];
/// let (found, missing) = (ziggurat_gpu::devices(), ziggurat_gpu::missing());
/// assert!(runtimes.iter().all(|&name| {
///     found.iter().any(|device| device.name.starts_with(name)) || missing.iter().any(|other| other.runtime == name)
/// }));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// The runtime's name.
    pub runtime: &'static str,
    /// The missing part, with a suggestion.
    pub reason: String,
}

/// A GPU runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Runtime {
    Cuda,
    Hip,
    Metal,
    Vulkan,
}

impl Runtime {
    /// All runtimes in the order of preference: vendor-specific ones first.
    pub(crate) const ALL: [Runtime; 4] = [Runtime::Cuda, Runtime::Hip, Runtime::Metal, Runtime::Vulkan];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Runtime::Cuda => "cuda",
            Runtime::Hip => "hip",
            Runtime::Metal => "metal",
            Runtime::Vulkan => "vulkan",
        }
    }

    /// Parses a name such as `vulkan:0` or `cuda` into a runtime and an index.
    pub(crate) fn parse(name: &str) -> Result<(Runtime, usize), GpuError> {
        let (runtime, index) = name.split_once(':').unwrap_or((name, "0"));
        let known = || Runtime::ALL.into_iter().map(Runtime::name).chain(["gpu"]);
        let runtime = Runtime::ALL
            .into_iter()
            .find(|known| known.name() == runtime)
            .ok_or_else(|| UnknownName::new("device", runtime, known()))?;
        let index = index.parse().map_err(|_| {
            let first = Runtime::ALL.into_iter().map(|runtime| format!("{}:0", runtime.name()));
            UnknownName::new("device", name, first)
        })?;
        Ok((runtime, index))
    }

    /// The devices of the runtime, or an error if there are none.
    pub(crate) fn devices(self) -> Result<Vec<Found>, GpuError> {
        let none = |reason: &str| GpuError::NoDriver { runtime: self.name(), reason: reason.to_owned() };
        let found: Vec<Found> = match self {
            #[cfg(feature = "vulkan")]
            Runtime::Vulkan => adapters(self, wgpu::Backend::Vulkan),
            #[cfg(feature = "metal")]
            Runtime::Metal => adapters(self, wgpu::Backend::Metal),
            #[cfg(feature = "cuda")]
            Runtime::Cuda => {
                if !library_is_there(&["libcuda.so.1", "libcuda.so", "nvcuda.dll"]) {
                    return Err(none("NVIDIA's driver (libcuda) is not installed"));
                }
                if !library_is_there(&[
                    "libnvrtc.so.12",
                    "libnvrtc.so.13",
                    "libnvrtc.so",
                    "nvrtc64_120_0.dll",
                ]) {
                    return Err(none("the CUDA toolkit's compiler library (libnvrtc) is not installed"));
                }
                if cubecl::cuda::install::cuda_path().is_none() {
                    return Err(none("the CUDA toolkit's headers were not found; set CUDA_PATH"));
                }
                numbered(self, cubecl::cuda::CudaRuntime::enumerate_all_devices(&()).len(), Vendor::Nvidia)
            }
            #[cfg(feature = "hip")]
            Runtime::Hip => {
                if !cubecl_hip_sys::is_available() {
                    return Err(none(
                        "the ROCm libraries (libamdhip64, libhiprtc) were not found; set ROCM_PATH",
                    ));
                }
                numbered(self, cubecl::hip::HipRuntime::enumerate_all_devices(&()).len(), Vendor::Amd)
            }
            #[allow(unreachable_patterns)]
            _ => return Err(GpuError::NotCompiled { runtime: self.name() }),
        };
        if found.is_empty() {
            let reason = match self {
                Runtime::Vulkan => {
                    "no Vulkan driver reports a device (software Vulkan: mesa-vulkan-drivers libvulkan1)"
                }
                Runtime::Metal => "this machine has no Metal device",
                Runtime::Cuda | Runtime::Hip => "the driver reports no device",
            };
            return Err(none(reason));
        }
        Ok(found)
    }

    /// Opens a device.
    pub(crate) fn open(self, found: &Found) -> Result<Client, GpuError> {
        let open = || -> Option<Client> {
            match self {
                #[cfg(any(feature = "vulkan", feature = "metal"))]
                Runtime::Vulkan | Runtime::Metal => {
                    let device = wgpu_device(found.id);
                    Some(Client::Wgpu(cubecl::wgpu::WgpuRuntime::client(&device)))
                }
                #[cfg(feature = "cuda")]
                Runtime::Cuda => {
                    let device = cubecl::cuda::CudaDevice { index: found.id.1 };
                    Some(Client::Cuda(cubecl::cuda::CudaRuntime::client(&device)))
                }
                #[cfg(feature = "hip")]
                Runtime::Hip => {
                    let device = cubecl::hip::AmdDevice { index: found.id.1 };
                    Some(Client::Hip(cubecl::hip::HipRuntime::client(&device)))
                }
                #[allow(unreachable_patterns)]
                _ => None,
            }
        };
        // CubeCL reports a driver failure only by panicking.
        let refused = |reason: String| GpuError::Refused { device: found.name.clone(), reason };
        match catch_unwind(AssertUnwindSafe(open)) {
            Ok(Some(client)) => Ok(client),
            Ok(None) => Err(GpuError::NotCompiled { runtime: self.name() }),
            Err(panic) => Err(refused(spoken(&*panic))),
        }
    }
}

/// The message of a panic.
fn spoken(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no reason was given").to_owned()
}

/// The devices of all runtimes in order of preference, software implementations last.
///
/// ```
/// let devices = ziggurat_gpu::devices();
/// assert!(devices.is_sorted_by_key(|device| device.software));
/// ```
pub fn devices() -> Vec<Found> {
    let mut found: Vec<Found> =
        Runtime::ALL.into_iter().filter_map(|runtime| runtime.devices().ok()).flatten().collect();
    found.sort_by_key(|device| device.software);
    found
}

/// The runtimes without devices.
///
/// ```
/// for missing in ziggurat_gpu::missing() {
///     println!("{}: {}", missing.runtime, missing.reason);
/// }
/// ```
pub fn missing() -> Vec<Missing> {
    let reason = |runtime: Runtime| {
        let reason = match runtime.devices().err()? {
            GpuError::NoDriver { reason, .. } => reason,
            other => other.to_string(),
        };
        Some(Missing { runtime: runtime.name(), reason })
    };
    Runtime::ALL.into_iter().filter_map(reason).collect()
}

/// Devices of a driver that reports only their number.
#[cfg(any(feature = "cuda", feature = "hip"))]
fn numbered(runtime: Runtime, count: usize, vendor: Vendor) -> Vec<Found> {
    let device = |index: usize| Found {
        name: format!("{}:{index}", runtime.name()),
        description: format!("{} device {index}", runtime.name().to_uppercase()),
        software: false,
        vendor,
        id: (0, index),
    };
    (0..count).map(device).collect()
}

#[cfg(any(feature = "vulkan", feature = "metal"))]
fn adapters(runtime: Runtime, backend: wgpu::Backend) -> Vec<Found> {
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor {
        backends: backend.into(),
        ..wgpu::InstanceDescriptor::new_without_display_handle()
    });
    let adapters = cubecl::future::block_on(instance.enumerate_adapters(backend.into()));
    let mut of_kind = [0usize; 5];
    let mut found = Vec::new();
    for adapter in adapters {
        let info = adapter.get_info();
        // CubeCL's numbering of device kinds.
        let kind: u16 = match info.device_type {
            wgpu::DeviceType::DiscreteGpu => 0,
            wgpu::DeviceType::IntegratedGpu => 1,
            wgpu::DeviceType::VirtualGpu => 2,
            wgpu::DeviceType::Cpu => 3,
            wgpu::DeviceType::Other => 4,
        };
        let index = of_kind[usize::from(kind)];
        of_kind[usize::from(kind)] += 1;
        // CubeCL can open only one device of each of the last two kinds.
        if kind >= 3 && index > 0 {
            continue;
        }
        found.push(Found {
            name: format!("{}:{}", runtime.name(), found.len()),
            description: info.name.clone(),
            software: info.device_type == wgpu::DeviceType::Cpu,
            vendor: match info.vendor {
                0x10DE => Vendor::Nvidia,
                0x1002 => Vendor::Amd,
                0x8086 => Vendor::Intel,
                _ => Vendor::Other,
            },
            id: (kind, index),
        });
    }
    found
}

#[cfg(any(feature = "vulkan", feature = "metal"))]
fn wgpu_device((kind, index): (u16, usize)) -> cubecl::wgpu::WgpuDevice {
    use cubecl::wgpu::WgpuDevice;
    match kind {
        0 => WgpuDevice::DiscreteGpu(index),
        1 => WgpuDevice::IntegratedGpu(index),
        2 => WgpuDevice::VirtualGpu(index),
        3 => WgpuDevice::Cpu,
        _ => WgpuDevice::DefaultDevice,
    }
}

/// Whether any of the libraries can be loaded.
#[cfg(feature = "cuda")]
#[allow(unsafe_code)]
fn library_is_there(names: &[&str]) -> bool {
    // SAFETY: CubeCL loads the same libraries next. Loading them runs their initialisers; none of
    // their functions is called here.
    names.iter().any(|name| unsafe { libloading::Library::new(name) }.is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_mean_a_runtime_and_an_index() {
        assert_eq!(Runtime::parse("vulkan"), Ok((Runtime::Vulkan, 0)));
        assert_eq!(Runtime::parse("cuda:3"), Ok((Runtime::Cuda, 3)));
        let error = Runtime::parse("cuba:1").unwrap_err().to_string();
        assert!(error.contains("did you mean `cuda`?"), "{error}");
        let error = Runtime::parse("hip:first").unwrap_err().to_string();
        assert!(error.contains("did you mean `hip:0`?"), "{error}");
    }
}

//! A GPU: its client, what it can do, and what has gone to and fro.
//!
//! **Memory.** CubeCL keeps freed arrays in pools and hands them out again, so the partials of a reduction, which live for one
//! launch, cost no allocation of the driver's in a cycle.
//!
//! **Failures.** Kernels are queued and return nothing. A launch that fails shows when something is read: the reading kernel then
//! returns NaN, which ends any iteration, and [`Device::finish`](ziggurat_sparse::device::Device::finish) says what happened.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use cubecl::bytes::Bytes;
use cubecl::server::{Handle, ServerError};
use ziggurat_sparse::Kind;
use ziggurat_sparse::device::{DeviceError, Traffic};

use crate::capabilities::Capabilities;
use crate::error::GpuError;
use crate::kernels::vector::{VECTOR_UNITS, fill_all};
use crate::launch::{Span, launch};
use crate::runtime::{Client, Found, Runtime, devices, missing, with_client};
#[cfg(feature = "sources")]
use crate::sources::Sources;

/// A GPU of any vendor, or a program that stands for one.
///
/// ```
/// use ziggurat_gpu::{Gpu, GpuError};
/// use ziggurat_sparse::device::Device;
/// match Gpu::best() {
///     Ok(gpu) => println!("{}", gpu.name()),
///     Err(error @ GpuError::None { .. }) => println!("{error}"), // and what to install
///     Err(error) => return Err(error),
/// }
/// # Ok::<(), GpuError>(())
/// ```
#[derive(Clone)]
pub struct Gpu {
    inner: Arc<Inner>,
}

struct Inner {
    client: Client,
    capabilities: Capabilities,
    found: Found,
    counters: Counters,
    /// Stands where a kernel has no use for an array.
    nothing: Handle,
    /// The first failure.
    lost: Mutex<Option<DeviceError>>,
    #[cfg(feature = "sources")]
    sources: Option<Sources>,
}

#[derive(Debug, Default)]
struct Counters {
    kernels: AtomicU64,
    uploads: AtomicU64,
    uploaded_bytes: AtomicU64,
    downloads: AtomicU64,
    downloaded_bytes: AtomicU64,
}

impl fmt::Debug for Gpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gpu")
            .field("found", &self.inner.found)
            .field("capabilities", self.capabilities())
            .finish_non_exhaustive()
    }
}

impl Gpu {
    /// The first device that is a GPU: of its vendor's runtime where that is compiled in and has a driver, else through Vulkan. A
    /// program that stands for a GPU is taken where there is no other.
    pub fn best() -> Result<Self, GpuError> {
        let Some(found) = devices().into_iter().next() else {
            let line = |missing: &crate::Missing| format!("\n  {}: {}", missing.runtime, missing.reason);
            return Err(GpuError::None { reasons: missing().iter().map(line).collect() });
        };
        let (runtime, _) = Runtime::parse(&found.name)?;
        Self::open(runtime, found)
    }

    /// The device of this name: `vulkan:0`, `cuda:1`, `hip` (the first), or `gpu` for the best.
    ///
    /// ```
    /// use ziggurat_gpu::{Gpu, GpuError};
    /// match Gpu::named("vulkan:0") {
    ///     Ok(_) | Err(GpuError::NoDriver { .. } | GpuError::NotCompiled { .. }) => {}
    ///     Err(error) => panic!("{error}"),
    /// }
    /// ```
    pub fn named(name: &str) -> Result<Self, GpuError> {
        if name == "gpu" {
            return Self::best();
        }
        let (runtime, index) = Runtime::parse(name)?;
        let mut found = runtime.devices()?;
        if index >= found.len() {
            return Err(GpuError::NoSuchDevice { runtime: runtime.name(), index, found: found.len() });
        }
        Self::open(runtime, found.swap_remove(index))
    }

    fn open(runtime: Runtime, found: Found) -> Result<Self, GpuError> {
        let client = runtime.open(&found)?;
        let capabilities = with_client!(&client, |client: R| Capabilities::of(client, found.vendor));
        let nothing = with_client!(&client, |client: R| client.empty(4));
        Ok(Gpu {
            inner: Arc::new(Inner {
                client,
                capabilities,
                found,
                counters: Counters::default(),
                nothing,
                lost: Mutex::new(None),
                #[cfg(feature = "sources")]
                sources: None,
            }),
        })
    }

    /// The same device under other assumptions about what it can do.
    fn assuming(self, capabilities: Capabilities) -> Self {
        let Inner { client, found, nothing, .. } = &*self.inner;
        Gpu {
            inner: Arc::new(Inner {
                client: client.clone(),
                capabilities,
                found: found.clone(),
                counters: Counters::default(),
                nothing: nothing.clone(),
                lost: Mutex::new(None),
                #[cfg(feature = "sources")]
                sources: self.inner.sources.as_ref().map(|_| Sources::default()),
            }),
        }
    }

    /// The same device as if it did not compute in a number: `F64` stays on the host then, `F16` is put together from its bits. To
    /// see what such a device would do. (`F32` is on every device, `Bf16` is always taken by its bits.)
    ///
    /// ```
    /// # let Ok(gpu) = ziggurat_gpu::Gpu::best() else { return };
    /// use ziggurat_sparse::{Kind, device::Device};
    /// assert!(!gpu.without(Kind::F64).computes_in(Kind::F64));
    /// ```
    #[must_use]
    pub fn without(self, number: Kind) -> Self {
        let mut capabilities = *self.capabilities();
        match number {
            Kind::F64 => capabilities.f64 = false,
            Kind::F16 => capabilities.f16 = false,
            Kind::F32 | Kind::Bf16 => {}
        }
        self.assuming(capabilities)
    }

    /// The same device with units of a row exchanging registers, or not. CubeCL does not say that software Vulkan can; it can.
    ///
    /// ```
    /// # let Ok(gpu) = ziggurat_gpu::Gpu::best() else { return };
    /// let by_memory = gpu.with_planes(false);
    /// ```
    #[must_use]
    pub fn with_planes(self, planes: bool) -> Self {
        let capabilities = Capabilities { planes, ..*self.capabilities() };
        self.assuming(capabilities)
    }

    /// The same device with other limits beyond which CSR matrices go by pieces instead of by rows: entries in all, and in a row. Those
    /// of devices are from the literature; where you can measure, do.
    ///
    /// ```
    /// # let Ok(gpu) = ziggurat_gpu::Gpu::best() else { return };
    /// let never = gpu.balancing_beyond(usize::MAX, usize::MAX);
    /// ```
    #[must_use]
    pub fn balancing_beyond(self, entries: usize, in_a_row: usize) -> Self {
        let capabilities = Capabilities { balanced_beyond: (entries, in_a_row), ..*self.capabilities() };
        self.assuming(capabilities)
    }

    /// The same device, keeping the CUDA and HIP sources of every kernel that it launches.
    #[cfg(feature = "sources")]
    #[must_use]
    pub fn keeping_sources(self) -> Self {
        let mut gpu = self.clone().assuming(*self.capabilities());
        if let Some(inner) = Arc::get_mut(&mut gpu.inner) {
            inner.sources = Some(Sources::default());
        }
        gpu
    }

    /// The sources kept so far, unless none are to be kept.
    #[cfg(feature = "sources")]
    pub fn sources(&self) -> Option<&Sources> {
        self.inner.sources.as_ref()
    }

    pub(crate) fn client(&self) -> &Client {
        &self.inner.client
    }

    pub(crate) fn capabilities(&self) -> &Capabilities {
        &self.inner.capabilities
    }

    pub(crate) fn found(&self) -> &Found {
        &self.inner.found
    }

    /// An array for an argument that is not read.
    pub(crate) fn nothing(&self) -> Span<'_> {
        Span { handle: &self.inner.nothing, len: 1 }
    }

    /// Whether vectors of a number, and all that is done with them, stay on the host.
    pub(crate) fn keeps_on_host(&self, number: Kind) -> bool {
        number == Kind::F64 && !self.capabilities().f64
    }

    // ---- memory

    /// Bytes that an array takes: a whole number of words, and never none.
    fn allocated(&self, bytes: usize) -> Result<usize, DeviceError> {
        let rounded = bytes.max(4).next_multiple_of(4);
        if rounded as u64 > self.capabilities().largest_array {
            return Err(DeviceError::OutOfMemory { bytes });
        }
        Ok(rounded)
    }

    /// An array of so many bytes, with anything in it.
    pub(crate) fn empty(&self, bytes: usize) -> Result<Handle, DeviceError> {
        let bytes = self.allocated(bytes)?;
        Ok(with_client!(self.client(), |client: R| client.empty(bytes)))
    }

    /// An array of zeros.
    pub(crate) fn zeroed(&self, bytes: usize) -> Result<Handle, DeviceError> {
        let handle = self.empty(bytes)?;
        let len = bytes.div_ceil(4);
        let words = Span { handle: &handle, len };
        let cubes = len.div_ceil(VECTOR_UNITS as usize);
        if len > 0 {
            launch!(
                self,
                fill_all::FillAll<u32>,
                cubes,
                VECTOR_UNITS,
                [words],
                [0u32, len as u32],
                |_target| []
            );
        }
        Ok(handle)
    }

    /// Copies bytes to the device.
    pub(crate) fn send(&self, bytes: &[u8]) -> Result<Handle, DeviceError> {
        let allocated = self.allocated(bytes.len())?;
        let counters = &self.inner.counters;
        counters.uploads.fetch_add(1, Ordering::Relaxed);
        counters.uploaded_bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        Ok(with_client!(self.client(), |client: R| if allocated == bytes.len() {
            client.create_from_slice(bytes)
        } else {
            let mut padded = bytes.to_vec();
            padded.resize(allocated, 0);
            client.create_from_slice(&padded)
        }))
    }

    /// Copies the first bytes of an array to the host.
    pub(crate) fn fetch(&self, handle: &Handle, into: &mut [u8]) -> Result<(), DeviceError> {
        let counters = &self.inner.counters;
        counters.downloads.fetch_add(1, Ordering::Relaxed);
        counters.downloaded_bytes.fetch_add(into.len() as u64, Ordering::Relaxed);
        let read: Result<Bytes, ServerError> =
            with_client!(self.client(), |client: R| client.read_one(handle.clone()));
        match read {
            Ok(bytes) if bytes.len() >= into.len() => {
                into.copy_from_slice(&bytes[..into.len()]);
                Ok(())
            }
            Ok(bytes) => Err(self.lose(format!("{} bytes arrived instead of {}", bytes.len(), into.len()))),
            Err(error) => Err(self.lose(format!("{error:?}"))),
        }
    }

    /// Waits for all queued work.
    pub(crate) fn wait(&self) -> Result<(), DeviceError> {
        let done: Result<(), ServerError> =
            with_client!(self.client(), |client: R| cubecl::future::block_on(client.sync()));
        if let Err(error) = done {
            return Err(self.lose(format!("{error:?}")));
        }
        let lost = self.inner.lost.lock().unwrap_or_else(PoisonError::into_inner);
        lost.clone().map_or(Ok(()), Err)
    }

    /// Notes a failure; the first one counts.
    pub(crate) fn lose(&self, reason: String) -> DeviceError {
        let mut lost = self.inner.lost.lock().unwrap_or_else(PoisonError::into_inner);
        let device = self.inner.found.name.clone();
        lost.get_or_insert(DeviceError::Lost { device, reason }).clone()
    }

    /// Notes a failure, if there is one.
    pub(crate) fn noted<T>(&self, result: Result<T, DeviceError>) -> Option<T> {
        if let Err(error) = &result {
            self.inner.lost.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error.clone());
        }
        result.ok()
    }

    pub(crate) fn count_kernel(&self) {
        self.inner.counters.kernels.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn counted(&self) -> Traffic {
        let counters = &self.inner.counters;
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Traffic {
            kernels: of(&counters.kernels),
            uploads: of(&counters.uploads),
            uploaded_bytes: of(&counters.uploaded_bytes),
            downloads: of(&counters.downloads),
            downloaded_bytes: of(&counters.downloaded_bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ziggurat_sparse::device::conformance::{matrix_kernels, vector_kernels};

    /// As for more cubes than a device has in one direction: grids of two.
    #[test]
    fn grids_have_two_directions() {
        let gpu = Gpu::best().unwrap();
        let capabilities = Capabilities { cubes: 7, ..*gpu.capabilities() };
        let gpu = gpu.assuming(capabilities);
        matrix_kernels::large_matrix::<_, f32, f32>(&gpu);
        vector_kernels::updates::<_, f64>(&gpu);
        vector_kernels::fused::<_, f32>(&gpu);
        vector_kernels::reductions::<_, f64>(&gpu);
    }

    /// More than the largest array is an error, not a crash.
    #[test]
    fn too_much_memory_is_refused() {
        let gpu = Gpu::best().unwrap();
        let bytes = gpu.capabilities().largest_array as usize + 1;
        assert_eq!(gpu.empty(bytes).unwrap_err(), DeviceError::OutOfMemory { bytes });
    }
}

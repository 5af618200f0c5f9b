//! A GPU: its client, its capabilities and its traffic counters.
//!
//! **Memory.** CubeCL pools freed arrays, so the partial results of a reduction, which live for one
//! launch, need no driver allocation in a cycle.
//!
//! **Failures.** Kernels are queued and return nothing. A failed launch surfaces at the next read:
//! the operation then returns NaN, which ends any iteration, and
//! [`Device::finish`](ziggurat_sparse::device::Device::finish) returns the error.

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
use crate::matrix_units::{MatrixUnitSet, MatrixUnits};
use crate::runtime::{Client, Found, Runtime, devices, missing, with_client};
#[cfg(feature = "sources")]
use crate::sources::Sources;

/// A GPU of any vendor, or a software implementation of one.
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
    /// Placeholder for unused array arguments of kernels.
    nothing: Handle,
    /// The first error.
    lost: Mutex<Option<DeviceError>>,
    #[cfg(feature = "sources")]
    sources: Option<Sources>,
}

#[derive(Debug, Default)]
struct Counters {
    kernels: AtomicU64,
    by_matrix_units: AtomicU64,
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
    /// Opens the preferred device: a GPU through its vendor's runtime if that is compiled in and
    /// has a driver, otherwise through Vulkan. A software implementation is used only if there is
    /// no GPU.
    pub fn best() -> Result<Self, GpuError> {
        let Some(found) = devices().into_iter().next() else {
            let line = |missing: &crate::Missing| format!("\n  {}: {}", missing.runtime, missing.reason);
            return Err(GpuError::None { reasons: missing().iter().map(line).collect() });
        };
        let (runtime, _) = Runtime::parse(&found.name)?;
        Self::open(runtime, found)
    }

    /// Opens a device by name: `vulkan:0`, `cuda:1`, `hip` (the first), or `gpu` for the preferred
    /// one.
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

    /// The same device with different capabilities.
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

    /// The same device without support for a number type, to test the behaviour of such devices.
    ///
    /// Without `F64`, `f64` data stays on the host; without `F16`, kernels decode the bits. Every
    /// device supports `F32`, and `Bf16` is always decoded from its bits, so these have no effect.
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

    /// The same device with register exchange within planes enabled or disabled. Software Vulkan
    /// supports it, although CubeCL does not report it.
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

    /// The same device with different limits for the load-balanced CSR kernel, which is used beyond
    /// either limit: entries in total and in one row. The default limits are from the literature;
    /// measure on your device if you can.
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

    /// The matrix units (tensor cores) of the device, such as "f16 8x8x8": the number type of the
    /// matrix, and the shape of a multiplication. Empty if it has none that suit sparse products.
    ///
    /// ```
    /// # let Ok(gpu) = ziggurat_gpu::Gpu::best() else { return };
    /// assert!(gpu.without_matrix_units().matrix_units().is_empty());
    /// ```
    pub fn matrix_units(&self) -> Vec<String> {
        let MatrixUnitSet { f16, bf16, f64, .. } = self.capabilities().matrix_units;
        let named = [("f16", f16), ("bf16", bf16), ("f64", f64)];
        let shape = |(name, units): (&str, Option<MatrixUnits>)| {
            units.map(|MatrixUnits { m, n, k, .. }| format!("{name} {m}x{n}x{k}"))
        };
        named.into_iter().filter_map(shape).collect()
    }

    /// The same device with another limit for the use of matrix units: the mean number of entries
    /// per tile of sixteen. The default, 10, is the limit of AmgT for 64-bit numbers; measure on
    /// your device if you can. A tile of 16-bit numbers is one memory transaction, however full it
    /// is.
    ///
    /// ```
    /// # let Ok(gpu) = ziggurat_gpu::Gpu::best() else { return };
    /// let wherever_possible = gpu.matrix_units_from(0);
    /// ```
    #[must_use]
    pub fn matrix_units_from(self, entries: u32) -> Self {
        let capabilities = Capabilities { dense_from: entries, ..*self.capabilities() };
        self.assuming(capabilities)
    }

    /// The same device without its matrix units, for comparisons.
    ///
    /// ```
    /// # let Ok(gpu) = ziggurat_gpu::Gpu::best() else { return };
    /// assert_eq!(gpu.without_matrix_units().matrix_units(), [""; 0]);
    /// ```
    #[must_use]
    pub fn without_matrix_units(self) -> Self {
        let matrix_units = MatrixUnitSet::default();
        let capabilities = Capabilities { matrix_units, ..*self.capabilities() };
        self.assuming(capabilities)
    }

    /// The same device, recording the CUDA and HIP sources of every kernel it launches.
    #[cfg(feature = "sources")]
    #[must_use]
    pub fn keeping_sources(self) -> Self {
        let mut gpu = self.clone().assuming(*self.capabilities());
        if let Some(inner) = Arc::get_mut(&mut gpu.inner) {
            inner.sources = Some(Sources::default());
        }
        gpu
    }

    /// The sources recorded so far; `None` if recording is disabled.
    #[cfg(feature = "sources")]
    pub fn sources(&self) -> Option<&Sources> {
        self.inner.sources.as_ref()
    }

    /// Whether the sources of kernels are recorded, also of those that the device cannot run.
    pub(crate) fn records_sources(&self) -> bool {
        #[cfg(feature = "sources")]
        return self.sources().is_some();
        #[cfg(not(feature = "sources"))]
        false
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

    /// A placeholder for an array argument that is not read.
    pub(crate) fn nothing(&self) -> Span<'_> {
        Span { handle: &self.inner.nothing, len: 1 }
    }

    /// Whether vectors of a number type, and all operations on them, stay on the host.
    pub(crate) fn keeps_on_host(&self, number: Kind) -> bool {
        number == Kind::F64 && !self.capabilities().f64
    }

    // ---- memory

    /// Allocation size of an array: a whole number of 32-bit words, and at least one.
    fn allocated(&self, bytes: usize) -> Result<usize, DeviceError> {
        let rounded = bytes.max(4).next_multiple_of(4);
        if rounded as u64 > self.capabilities().largest_array {
            return Err(DeviceError::OutOfMemory { bytes });
        }
        Ok(rounded)
    }

    /// Allocates an uninitialised array.
    pub(crate) fn empty(&self, bytes: usize) -> Result<Handle, DeviceError> {
        let bytes = self.allocated(bytes)?;
        Ok(with_client!(self.client(), |client: R| client.empty(bytes)))
    }

    /// Allocates an array of zeros.
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
            Ok(bytes) => Err(self.lose(format!("received {} bytes instead of {}", bytes.len(), into.len()))),
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

    /// Records an error and returns the first one recorded.
    pub(crate) fn lose(&self, reason: String) -> DeviceError {
        let mut lost = self.inner.lost.lock().unwrap_or_else(PoisonError::into_inner);
        let device = self.inner.found.name.clone();
        lost.get_or_insert(DeviceError::Lost { device, reason }).clone()
    }

    /// Records the error of a result, if any, and returns its value.
    pub(crate) fn noted<T>(&self, result: Result<T, DeviceError>) -> Option<T> {
        if let Err(error) = &result {
            self.inner.lost.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error.clone());
        }
        result.ok()
    }

    pub(crate) fn count_kernel(&self) {
        self.inner.counters.kernels.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn count_matrix_units(&self) {
        self.inner.counters.by_matrix_units.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn counted(&self) -> Traffic {
        let counters = &self.inner.counters;
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Traffic {
            kernels: of(&counters.kernels),
            by_matrix_units: of(&counters.by_matrix_units),
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
    use ziggurat_sparse::device::conformance::{matrix_kernels, setup_kernels, vector_kernels};

    /// More cubes than fit in one dimension of a grid use a second dimension.
    #[test]
    fn grids_use_two_dimensions() {
        let gpu = Gpu::best().unwrap();
        let capabilities = Capabilities { cubes: 7, ..*gpu.capabilities() };
        let gpu = gpu.assuming(capabilities);
        matrix_kernels::large_matrix::<_, f32, f32>(&gpu);
        vector_kernels::updates::<_, f64>(&gpu);
        vector_kernels::fused::<_, f32>(&gpu);
        vector_kernels::reductions::<_, f64>(&gpu);
        setup_kernels::large_product::<_, f32>(&gpu);
        setup_kernels::long_rows::<_, f64>(&gpu);
    }

    /// Allocating more than the largest array is an error, not a crash.
    #[test]
    fn oversized_allocations_are_rejected() {
        let gpu = Gpu::best().unwrap();
        let bytes = gpu.capabilities().largest_array as usize + 1;
        assert_eq!(gpu.empty(bytes).unwrap_err(), DeviceError::OutOfMemory { bytes });
    }
}

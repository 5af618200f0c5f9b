//! Numbers in a device's memory.

use cubecl::server::Handle;
use ziggurat_sparse::Store;

use crate::launch::Span;

/// A vector on a GPU; of numbers that the GPU does not compute in, on the host.
///
/// ```
/// # let Ok(gpu) = ziggurat_gpu::Gpu::best() else { return Ok(()) };
/// use ziggurat_sparse::device::Device;
/// let x: ziggurat_gpu::GpuVector<f32> = gpu.upload(&[3.0, 4.0])?;
/// assert_eq!(gpu.norm(&x), 5.0);
/// # Ok::<(), ziggurat_sparse::device::DeviceError>(())
/// ```
#[derive(Debug)]
pub struct GpuVector<T> {
    pub(crate) place: Place<T>,
    pub(crate) len: usize,
}

/// Where a vector's elements are.
#[derive(Debug)]
pub(crate) enum Place<T> {
    Device(Handle),
    Host(Vec<T>),
}

impl<T: Store> GpuVector<T> {
    /// The array, as kernels take it.
    #[allow(clippy::panic)] // the device decides by the number where a vector is, so both cannot be
    pub(crate) fn span(&self) -> Span<'_> {
        match &self.place {
            Place::Device(handle) => Span { handle, len: self.len },
            Place::Host(_) => panic!("a vector on the host was given to a kernel"),
        }
    }

    /// The elements, where the host has them.
    #[allow(clippy::panic)] // as above
    pub(crate) fn host(&self) -> &Vec<T> {
        match &self.place {
            Place::Host(elements) => elements,
            Place::Device(_) => panic!("a vector on the device was given to the host"),
        }
    }

    /// The same, to be changed.
    #[allow(clippy::panic)] // as above
    pub(crate) fn host_mut(&mut self) -> &mut Vec<T> {
        match &mut self.place {
            Place::Host(elements) => elements,
            Place::Device(_) => panic!("a vector on the device was given to the host"),
        }
    }
}

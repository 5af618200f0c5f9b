//! Vectors in device memory.

use cubecl::server::Handle;
use ziggurat_sparse::Store;

use crate::launch::Span;

/// A vector on a GPU, or on the host if the GPU does not support its number type.
///
/// ```
/// # let Ok(gpu) = ziggurat_gpu::Gpu::best() else { return Ok(()) };
/// use ziggurat_sparse::device::Kernels;
/// let x: ziggurat_gpu::GpuVector<f32> = gpu.upload(&[3.0, 4.0])?;
/// assert_eq!(gpu.norm(&x), 5.0);
/// # Ok::<(), ziggurat_sparse::device::DeviceError>(())
/// ```
#[derive(Debug)]
pub struct GpuVector<T> {
    pub(crate) place: Place<T>,
    pub(crate) len: usize,
}

/// The memory that holds a vector's elements.
#[derive(Debug)]
pub(crate) enum Place<T> {
    Device(Handle),
    Host(Vec<T>),
}

impl<T: Store> GpuVector<T> {
    /// The array as a kernel argument.
    #[allow(clippy::panic)] // the number type determines the place, so a mismatch is a bug
    pub(crate) fn span(&self) -> Span<'_> {
        match &self.place {
            Place::Device(handle) => Span { handle, len: self.len },
            Place::Host(_) => panic!("a host vector was passed to a kernel"),
        }
    }

    /// The elements of a host vector.
    #[allow(clippy::panic)] // as above
    pub(crate) fn host(&self) -> &Vec<T> {
        match &self.place {
            Place::Host(elements) => elements,
            Place::Device(_) => panic!("a device vector was passed to a host operation"),
        }
    }

    /// The elements of a host vector, mutably.
    #[allow(clippy::panic)] // as above
    pub(crate) fn host_mut(&mut self) -> &mut Vec<T> {
        match &mut self.place {
            Place::Host(elements) => elements,
            Place::Device(_) => panic!("a device vector was passed to a host operation"),
        }
    }
}

//! Matrices in device memory.

use ziggurat_sparse::device::{DeviceError, HostMatrix};
use ziggurat_sparse::{Kind, Store};

use crate::Gpu;
use crate::device_format::DeviceFormat;
use crate::formats::upload;
use crate::launch::countable;

/// A matrix on a GPU.
///
/// ```
/// # let Ok(gpu) = ziggurat_gpu::Gpu::best() else { return Ok(()) };
/// use ziggurat_sparse::{Csr, device::Kernels};
/// let a: ziggurat_gpu::GpuMatrix<f32> = gpu.upload_matrix(Csr::<f32>::identity(3)?.into())?;
/// assert_eq!(gpu.shape(&a), (3, 3));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct GpuMatrix<S: 'static> {
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    /// The device arrays; `None` if the matrix is used only on the host.
    pub(crate) arrays: Option<Box<dyn DeviceFormat>>,
    /// The host matrix for `f64` operations on devices without `f64`.
    pub(crate) host: Option<HostMatrix<S>>,
}

impl Gpu {
    /// Uploads a matrix in its device layout, and keeps the host matrix if `f64` operations run on
    /// the host.
    pub(crate) fn lay_out<S: Store>(&self, host: HostMatrix<S>) -> Result<GpuMatrix<S>, DeviceError> {
        let (rows, cols) = (host.rows(), host.cols());
        countable("rows of a matrix", rows)?;
        countable("columns of a matrix", cols)?;
        countable("stored values of a matrix", host.nnz())?;
        let arrays = if self.keeps_on_host(S::KIND) { None } else { Some(upload(self, &host)?) };
        let host = self.keeps_on_host(Kind::F64).then_some(host);
        Ok(GpuMatrix { rows, cols, arrays, host })
    }
}

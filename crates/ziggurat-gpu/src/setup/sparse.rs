//! Sparse matrices in compressed rows, in device memory.

use std::marker::PhantomData;

use bytemuck::cast_slice_mut;
use ziggurat_sparse::device::{DeviceError, SparseSize};
use ziggurat_sparse::{Csr, Real};

use crate::device_format::Buffer;
use crate::formats::CsrArrays;
use crate::launch::{Span, countable};
use crate::{Gpu, GpuMatrix};

/// The pattern of a matrix: row pointers and columns. Matrices with the same pattern share the
/// arrays.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    pub(crate) size: SparseSize,
    pub(super) row_ptr: Buffer,
    pub(super) columns: Buffer,
}

impl Pattern {
    /// Row pointers and columns as kernel arguments.
    pub(super) fn spans(&self) -> [Span<'_>; 2] {
        [self.row_ptr.span(), self.columns.span()]
    }
}

/// A sparse matrix in compressed rows on a GPU.
///
/// ```
/// # let Ok(gpu) = ziggurat_gpu::Gpu::best() else { return Ok(()) };
/// use ziggurat_sparse::{Csr, device::SetupKernels};
/// let a: ziggurat_gpu::GpuSparse<f32> = gpu.upload_sparse(&Csr::<f32>::identity(3)?)?;
/// let c = gpu.product_once(&a, &a)?;
/// assert_eq!(gpu.download_sparse(&c)?, Csr::identity(3)?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct GpuSparse<T> {
    pattern: Pattern,
    values: Buffer,
    number: PhantomData<T>,
}

impl<T: Real> GpuSparse<T> {
    /// Copies a matrix to the device.
    pub(super) fn upload(gpu: &Gpu, host: &Csr<T>) -> Result<Self, DeviceError> {
        check_number::<T>(gpu)?;
        let size = SparseSize { rows: host.rows(), cols: host.cols(), entries: host.nnz() };
        countable("rows of a matrix", size.rows)?;
        countable("columns of a matrix", size.cols)?;
        let row_ptr = gpu.row_ptr(host.row_ptr())?;
        let pattern = Pattern { size, row_ptr, columns: gpu.words(host.columns())? };
        Ok(GpuSparse { pattern, values: gpu.values(host.values())?, number: PhantomData })
    }

    /// A matrix with a pattern, whose values are to be computed.
    pub(super) fn uninitialised(gpu: &Gpu, pattern: Pattern) -> Result<Self, DeviceError> {
        check_number::<T>(gpu)?;
        let entries = pattern.size.entries;
        let values = Buffer::new(gpu.empty(entries * size_of::<T>())?, entries);
        Ok(GpuSparse { pattern, values, number: PhantomData })
    }

    /// A matrix with the same pattern and other values.
    pub(super) fn with_values(&self, values: Buffer) -> Self {
        GpuSparse { pattern: self.pattern.clone(), values, number: PhantomData }
    }

    /// The matrix with another number of columns, after they have been renumbered.
    pub(super) fn with_cols(mut self, cols: usize) -> Self {
        self.pattern.size.cols = cols;
        self
    }

    /// Copies a matrix to the host.
    pub(super) fn download(&self, gpu: &Gpu) -> Result<Csr<T>, DeviceError> {
        let SparseSize { rows, cols, entries } = self.size();
        let mut row_ptr = vec![0u32; rows + 1];
        let (mut columns, mut values) = (vec![0u32; entries], vec![T::zero(); entries]);
        gpu.fetch(self.pattern.row_ptr.handle(), cast_slice_mut(&mut row_ptr))?;
        if entries > 0 {
            gpu.fetch(self.pattern.columns.handle(), cast_slice_mut(&mut columns))?;
            gpu.fetch(self.values.handle(), cast_slice_mut(&mut values))?;
        }
        let row_ptr = row_ptr.into_iter().map(|k| k as usize).collect();
        // A failed kernel leaves arrays that are not a matrix.
        Csr::try_new(rows, cols, row_ptr, columns, values).map_err(|error| gpu.lose(error.to_string()))
    }

    /// The matrix as one that vectors are multiplied by. It shares the arrays.
    pub(super) fn matrix(&self, gpu: &Gpu) -> Result<GpuMatrix<T>, DeviceError> {
        let (SparseSize { rows, cols, entries }, Pattern { row_ptr, columns, .. }) =
            (self.size(), self.pattern.clone());
        let longest = gpu.longest(row_ptr.span())?;
        let arrays = CsrArrays::of_device(row_ptr, columns, self.values.clone(), entries, longest);
        // The device computes in this number type, so nothing is left to the host.
        Ok(GpuMatrix { rows, cols, arrays: Some(Box::new(arrays)), host: None })
    }

    pub(super) fn size(&self) -> SparseSize {
        self.pattern.size
    }

    pub(super) fn pattern(&self) -> &Pattern {
        &self.pattern
    }

    pub(super) fn values(&self) -> Span<'_> {
        self.values.span()
    }
}

/// Fails if the device does not compute in a number type.
fn check_number<T: Real>(gpu: &Gpu) -> Result<(), DeviceError> {
    if gpu.capabilities().computes_in(T::KIND) {
        return Ok(());
    }
    let (device, number) = (gpu.found().name.clone(), T::KIND);
    Err(DeviceError::Lacks { device, number, instead: "store the matrix in f32" })
}

//! The trait of a matrix format on a GPU, and the arrays that a format is made of.

use std::fmt;

use bytemuck::cast_slice;
use cubecl::server::Handle;
use ziggurat_sparse::device::DeviceError;
use ziggurat_sparse::{Kind, Store};

use crate::Gpu;
use crate::kernels::row_products::Operation;
use crate::launch::{Span, countable};

/// A matrix in device memory, in one format.
pub(crate) trait DeviceFormat: fmt::Debug + Send + Sync {
    /// Applies an operation to all rows. There is at least one row.
    fn rows(&self, gpu: &Gpu, call: &RowsCall<'_>);

    /// The arrays that Gauss–Seidel reads row by row; `None` if the format has other ones.
    fn by_rows(&self) -> Option<RowArrays<'_>> {
        None
    }
}

/// Compressed rows of blocks.
pub(crate) struct RowArrays<'a> {
    pub(crate) row_ptr: Span<'a>,
    pub(crate) columns: Span<'a>,
    pub(crate) values: Span<'a>,
    /// Block size: 1 for CSR.
    pub(crate) block: usize,
    /// Number of entries in the longest row.
    pub(crate) longest: usize,
}

/// The arguments of an operation on all rows.
pub(crate) struct RowsCall<'a> {
    pub(crate) rows: usize,
    /// The number type computed in.
    pub(crate) computed: Kind,
    /// The number type of the matrix.
    pub(crate) stored: Kind,
    pub(crate) operation: Operation,
    /// α and β, exact in the number type computed in.
    pub(crate) coefficients: (f64, f64),
    /// x, b, d and y. Unused ones are any of the others except y.
    pub(crate) vectors: [Span<'a>; 4],
}

/// An array and its number of elements.
#[derive(Clone, Debug)]
pub(crate) struct Buffer {
    handle: Handle,
    len: usize,
}

impl Buffer {
    /// The elements are in an array of at least this length.
    pub(crate) fn new(handle: Handle, len: usize) -> Self {
        Buffer { handle, len }
    }

    pub(crate) fn handle(&self) -> &Handle {
        &self.handle
    }

    pub(crate) fn span(&self) -> Span<'_> {
        Span { handle: &self.handle, len: self.len }
    }
}

impl Gpu {
    pub(crate) fn words(&self, words: &[u32]) -> Result<Buffer, DeviceError> {
        Ok(Buffer { handle: self.send(cast_slice(words))?, len: words.len() })
    }

    /// Uploads values; 16-bit values are packed two per word.
    pub(crate) fn values<S: Store>(&self, values: &[S]) -> Result<Buffer, DeviceError> {
        let handle = self.send(cast_slice(values))?;
        let len = if size_of::<S>() == 2 { values.len().div_ceil(2) } else { values.len() };
        Ok(Buffer { handle, len })
    }

    pub(crate) fn bytes(&self, bytes: &[u8]) -> Result<Buffer, DeviceError> {
        Ok(Buffer { handle: self.send(bytes)?, len: bytes.len().div_ceil(4) })
    }

    pub(crate) fn row_ptr(&self, row_ptr: &[usize]) -> Result<Buffer, DeviceError> {
        let narrow: Result<Vec<u32>, _> =
            row_ptr.iter().map(|&k| countable("entries of a matrix", k)).collect();
        self.words(&narrow?)
    }
}

/// Number of entries in the longest row.
pub(crate) fn longest(row_ptr: &[usize]) -> usize {
    row_ptr.windows(2).map(|ends| ends[1] - ends[0]).max().unwrap_or(0)
}

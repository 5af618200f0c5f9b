//! Matrices in device memory: the device layout of each host format.

use bytemuck::cast_slice;
use cubecl::server::Handle;
use ziggurat_sparse::device::{DeviceError, HostMatrix};
use ziggurat_sparse::{Bsr, Csr, DeltaSell, Kind, Store};

use crate::Gpu;
use crate::kernels::bsr::LARGEST_BLOCK;
use crate::kernels::csr_balanced::Pieces;
use crate::kernels::delta_sell::{CHUNK_WORDS, LANES};
use crate::launch::{Span, countable};

/// A matrix on a GPU.
///
/// ```
/// # let Ok(gpu) = ziggurat_gpu::Gpu::best() else { return Ok(()) };
/// use ziggurat_sparse::{Csr, device::Device};
/// let a: ziggurat_gpu::GpuMatrix<f32> = gpu.upload_matrix(Csr::<f32>::identity(3)?.into())?;
/// assert_eq!(gpu.shape(&a), (3, 3));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct GpuMatrix<S: 'static> {
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    /// The device arrays; `None` if the matrix is used only on the host.
    pub(crate) arrays: Option<Arrays>,
    /// The host matrix for `f64` operations on devices without `f64`.
    pub(crate) host: Option<HostMatrix<S>>,
}

/// An array and its number of elements.
#[derive(Debug)]
pub(crate) struct Buffer {
    handle: Handle,
    len: usize,
}

impl Buffer {
    pub(crate) fn span(&self) -> Span<'_> {
        Span { handle: &self.handle, len: self.len }
    }
}

/// The arrays of a format.
#[derive(Debug)]
pub(crate) enum Arrays {
    Csr(CsrArrays),
    Bsr(BsrArrays),
    DeltaSell(DeltaSellArrays),
}

#[derive(Debug)]
pub(crate) struct CsrArrays {
    pub(crate) row_ptr: Buffer,
    pub(crate) columns: Buffer,
    pub(crate) values: Buffer,
    pub(crate) entries: usize,
    /// Number of entries in the longest row.
    pub(crate) longest: usize,
    /// The partition into pieces, if the load-balanced kernel is used.
    pub(crate) pieces: Option<PieceArrays>,
}

#[derive(Debug)]
pub(crate) struct PieceArrays {
    pub(crate) first_rows: Buffer,
    pub(crate) split: Buffer,
    pub(crate) pieces: usize,
    pub(crate) split_rows: usize,
}

#[derive(Debug)]
pub(crate) struct BsrArrays {
    pub(crate) row_ptr: Buffer,
    pub(crate) columns: Buffer,
    pub(crate) values: Buffer,
    pub(crate) block: usize,
    pub(crate) blocks: usize,
    pub(crate) block_rows: usize,
    /// Number of blocks in the longest block row.
    pub(crate) longest: usize,
}

#[derive(Debug)]
pub(crate) struct DeltaSellArrays {
    pub(crate) chunks: Buffer,
    pub(crate) bases: Buffer,
    pub(crate) deltas: Buffer,
    pub(crate) values: Buffer,
    pub(crate) order: Buffer,
    pub(crate) sorted: bool,
    /// Number of lanes in all chunks, including those beyond the last row.
    pub(crate) places: usize,
    /// Number of slots in the longest chunk.
    pub(crate) longest: usize,
}

impl DeltaSellArrays {
    /// The arrays in the order of the kernel arguments.
    pub(crate) fn spans(&self) -> [Span<'_>; 5] {
        [&self.chunks, &self.bases, &self.deltas, &self.values, &self.order].map(Buffer::span)
    }
}

/// Number of entries in the longest row.
pub(crate) fn longest(row_ptr: &[usize]) -> usize {
    row_ptr.windows(2).map(|ends| ends[1] - ends[0]).max().unwrap_or(0)
}

impl Gpu {
    fn words(&self, words: &[u32]) -> Result<Buffer, DeviceError> {
        Ok(Buffer { handle: self.send(cast_slice(words))?, len: words.len() })
    }

    /// Uploads values; 16-bit values are packed two per word.
    fn values<S: Store>(&self, values: &[S]) -> Result<Buffer, DeviceError> {
        let handle = self.send(cast_slice(values))?;
        let len = if size_of::<S>() == 2 { values.len().div_ceil(2) } else { values.len() };
        Ok(Buffer { handle, len })
    }

    fn bytes(&self, bytes: &[u8]) -> Result<Buffer, DeviceError> {
        Ok(Buffer { handle: self.send(bytes)?, len: bytes.len().div_ceil(4) })
    }

    fn row_ptr(&self, row_ptr: &[usize]) -> Result<Buffer, DeviceError> {
        let narrow: Result<Vec<u32>, _> =
            row_ptr.iter().map(|&k| countable("entries of a matrix", k)).collect();
        self.words(&narrow?)
    }

    /// Uploads a matrix in its device layout, and keeps the host matrix if `f64` operations run on
    /// the host.
    pub(crate) fn lay_out<S: Store>(&self, host: HostMatrix<S>) -> Result<GpuMatrix<S>, DeviceError> {
        let (rows, cols) = (host.rows(), host.cols());
        countable("rows of a matrix", rows)?;
        countable("columns of a matrix", cols)?;
        countable("stored values of a matrix", host.nnz())?;
        let arrays = if self.keeps_on_host(S::KIND) {
            None
        } else {
            Some(match &host {
                HostMatrix::Csr(a) => Arrays::Csr(self.csr(a)?),
                HostMatrix::Bsr(a) if a.block_size() > LARGEST_BLOCK => {
                    Arrays::Csr(self.csr(&a.view().to_csr())?)
                }
                HostMatrix::Bsr(a) => Arrays::Bsr(self.bsr(a)?),
                HostMatrix::DeltaSell(a) => Arrays::DeltaSell(self.delta_sell(a)?),
                other => {
                    let (device, format) = (self.found().name.clone(), other.format());
                    return Err(DeviceError::UnknownFormat { device, format });
                }
            })
        };
        let host = self.keeps_on_host(Kind::F64).then_some(host);
        Ok(GpuMatrix { rows, cols, arrays, host })
    }

    fn csr<S: Store>(&self, a: &Csr<S>) -> Result<CsrArrays, DeviceError> {
        let longest = longest(a.row_ptr());
        let pieces = if self.capabilities().is_balanced(a.nnz(), longest) {
            let pieces = Pieces::of(a.row_ptr());
            Some(PieceArrays {
                first_rows: self.words(&pieces.first_rows)?,
                split: self.words(pieces.split.as_flattened())?,
                pieces: pieces.first_rows.len() - 1,
                split_rows: pieces.split.len(),
            })
        } else {
            None
        };
        Ok(CsrArrays {
            row_ptr: self.row_ptr(a.row_ptr())?,
            columns: self.words(a.columns())?,
            values: self.values(a.values())?,
            entries: a.nnz(),
            longest,
            pieces,
        })
    }

    fn bsr<S: Store>(&self, a: &Bsr<S>) -> Result<BsrArrays, DeviceError> {
        let a = a.view();
        Ok(BsrArrays {
            row_ptr: self.row_ptr(a.row_ptr())?,
            columns: self.words(a.columns())?,
            values: self.values(a.values())?,
            block: a.block_size(),
            blocks: a.blocks(),
            block_rows: a.block_rows(),
            longest: longest(a.row_ptr()),
        })
    }

    fn delta_sell<S: Store>(&self, a: &DeltaSell<S>) -> Result<DeltaSellArrays, DeviceError> {
        let parts = a.parts();
        countable("stored values of a matrix", parts.values.len())?;
        let (mut slot, mut word, mut longest_chunk) = (0, 0, 0);
        let mut chunks = Vec::with_capacity(parts.counts.len() * CHUNK_WORDS as usize);
        for &[consecutive, within_64, within_128, bytes, two_bytes, four_bytes] in parts.counts {
            let bytes: u32 = [within_64, within_128, bytes].into_iter().map(u32::from).sum();
            let [consecutive, two_bytes, four_bytes] = [consecutive, two_bytes, four_bytes].map(u32::from);
            chunks.extend([slot, word, consecutive, bytes, two_bytes, four_bytes]);
            let slots = consecutive + bytes + two_bytes + four_bytes;
            longest_chunk = longest_chunk.max(slots);
            slot += slots;
            word += LANES / 4 * (bytes + 2 * two_bytes + 4 * four_bytes);
        }
        Ok(DeltaSellArrays {
            chunks: self.words(&chunks)?,
            bases: self.words(parts.bases)?,
            deltas: self.bytes(parts.deltas)?,
            values: self.values(parts.values)?,
            order: self.bytes(parts.order)?,
            sorted: !parts.order.is_empty(),
            places: parts.counts.len() * LANES as usize,
            longest: longest_chunk as usize,
        })
    }
}

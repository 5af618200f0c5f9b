//! Delta-SELL: sliced rows whose columns are differences to a base that sixteen rows share.
//!
//! Sixteen rows make a *chunk*, stored slot by slot; a slot holds one entry of each of its rows (or a zero, where a row has
//! none), and their columns as differences to one 32-bit base:
//!
//! ```text
//! slot:  base   16 values   nothing | 16 × u8 | 16 × u16 | 16 × u32
//!                           |         ^ within 64 or 128 columns, x is loaded and picked from in registers
//!                           ^ the columns are base, base + 1, …, base + 15: x is read by one load
//! ```
//!
//! A CSR entry costs 4 bytes beside its value; here it costs ¼ and 0, 1, 2 or 4. A stencil in natural order needs no index at
//! all, so it runs like a stencil code, and nobody has to say so. Sliced ELLPACK is Monakov, Lokhmotov & Avetisyan's (2010), sorting
//! rows by length in windows is Kreutzer et al.'s (SELL-C-σ, 2014); the bases and differences are ours (design.md, section 7).
//!
//! Sixteen chunks make a *window*, the piece of work of a kernel. Where rows are of unlike length they are sorted within their
//! window, so that little is padded; a byte per row says where its result belongs. Within a chunk slots are grouped by the
//! width of their differences, so that a kernel does not branch on every slot.

mod draft;
mod encode;
mod rescale;

pub use encode::DeltaSellPlan;

use crate::number::Store;

/// Rows that share a slot.
pub(crate) const LANES: usize = 16;

/// Rows whose order may be changed.
pub(crate) const WINDOW: usize = 256;

/// Chunks in a window.
pub(crate) const CHUNKS: usize = WINDOW / LANES;

/// How the columns of a slot are stored; the discriminant is its place in a chunk's counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Width {
    /// base, base + 1, …
    Consecutive,
    /// Bytes below 64: a kernel may load the whole span into registers and pick from them.
    Within64,
    /// Bytes below 128.
    Within128,
    U8,
    U16,
    U32,
}

/// How many widths there are.
pub(crate) const WIDTHS: usize = 6;

impl Width {
    /// All of them, in the order in which a chunk has them.
    pub(crate) const ALL: [Width; WIDTHS] =
        [Width::Consecutive, Width::Within64, Width::Within128, Width::U8, Width::U16, Width::U32];

    /// Bytes of a slot's differences.
    pub(crate) const fn bytes(self) -> usize {
        match self {
            Width::Consecutive => 0,
            Width::Within64 | Width::Within128 | Width::U8 => LANES,
            Width::U16 => 2 * LANES,
            Width::U32 => 4 * LANES,
        }
    }

    /// The difference of a lane, from those of its slot.
    #[inline(always)]
    fn difference(self, deltas: &[u8], lane: usize) -> usize {
        match self {
            Width::Consecutive => lane,
            Width::Within64 | Width::Within128 | Width::U8 => usize::from(deltas[lane]),
            Width::U16 => usize::from(u16::from_le_bytes([deltas[2 * lane], deltas[2 * lane + 1]])),
            Width::U32 => {
                let [a, b, c, d] = [0, 1, 2, 3].map(|byte| deltas[4 * lane + byte]);
                u32::from_le_bytes([a, b, c, d]) as usize
            }
        }
    }

    /// Columns from the base on that exist and may be read together.
    pub(crate) const fn span(self) -> usize {
        match self {
            Width::Consecutive => LANES,
            Width::Within64 => 64,
            Width::Within128 => 128,
            Width::U8 | Width::U16 | Width::U32 => 1,
        }
    }
}

/// A sparse matrix in delta-SELL. It is made from a CSR matrix and read by kernels; there is no way to change it.
///
/// ```
/// use ziggurat_sparse::{DeltaSell, f16, gallery::Problem};
/// let a = "poisson3d:16".parse::<Problem>()?.matrix()?;
/// let narrow = DeltaSell::<f16>::from_csr(a.view()).ok_or("too long a row")?;
/// assert_eq!((narrow.rows(), narrow.nnz()), (4096, a.nnz()));
/// assert!(narrow.bytes() < a.bytes() / 4);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct DeltaSell<S> {
    rows: usize,
    cols: usize,
    nnz: usize,
    /// Per window, where its values begin; one more at the end.
    value_ptr: Vec<usize>,
    /// Per window, where its differences begin.
    delta_ptr: Vec<usize>,
    /// Per chunk, its slots of each [`Width`].
    counts: Vec<[u16; WIDTHS]>,
    /// Which row of its window each lane computes; empty where every lane computes its own.
    order: Vec<u8>,
    /// Per slot. For every lane, base + difference < cols; base + [`Width::span`] ≤ cols.
    bases: Vec<u32>,
    /// LANES per slot.
    values: Vec<S>,
    /// Little-endian, [`Width::bytes`] per slot.
    deltas: Vec<u8>,
}

/// The arrays of a [`DeltaSell`], for devices that keep them in memory of their own.
///
/// ```
/// use ziggurat_sparse::{DeltaSell, gallery::Problem};
/// let a = "poisson2d:40".parse::<Problem>()?.matrix()?;
/// let a = DeltaSell::<f32>::from_csr(a.view()).ok_or("too long a row")?;
/// let parts = a.parts();
/// assert_eq!(parts.values.len(), 16 * parts.bases.len());
/// assert_eq!(parts.counts.len() % 16, 0); // sixteen chunks are a window
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct DeltaSellParts<'a, S> {
    /// Per chunk of 16 rows, its slots of consecutive columns, of differences within 64, within 128, of 8, 16 and 32 bits. Windows
    /// of 256 rows are whole: their last chunks may be of no slots.
    pub counts: &'a [[u16; WIDTHS]],
    /// Which row of its window each lane computes; empty where every lane computes its own.
    pub order: &'a [u8],
    /// Per slot, the column that differences are added to.
    pub bases: &'a [u32],
    /// Sixteen per slot.
    pub values: &'a [S],
    /// Little-endian: per slot none (consecutive), 16, 32 or 64 bytes.
    pub deltas: &'a [u8],
}

impl<S: Store> DeltaSell<S> {
    /// Its arrays.
    pub fn parts(&self) -> DeltaSellParts<'_, S> {
        DeltaSellParts {
            counts: &self.counts,
            order: &self.order,
            bases: &self.bases,
            values: &self.values,
            deltas: &self.deltas,
        }
    }

    /// The same matrix with its values rounded to `S`; `None` for what the format does not hold: rows of more
    /// than 32,767 entries, extents beyond 2³¹.
    pub fn from_csr(a: crate::CsrRef<'_, f64>) -> Option<Self> {
        Some(DeltaSellPlan::new(a, size_of::<S>())?.fill(a))
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Number of entries, without the zeros that fill slots.
    pub fn nnz(&self) -> usize {
        self.nnz
    }

    /// Number of stored values, with the zeros that fill slots.
    pub fn stored(&self) -> usize {
        self.values.len()
    }

    /// Slots whose columns are consecutive, within 64, within 128, in 8, in 16 and in 32 bits.
    pub fn slots_by_width(&self) -> [usize; WIDTHS] {
        let mut sums = [0; WIDTHS];
        for counts in &self.counts {
            sums.iter_mut().zip(counts).for_each(|(sum, &count)| *sum += usize::from(count));
        }
        sums
    }

    /// Bytes the arrays take in memory.
    pub fn bytes(&self) -> usize {
        size_of_val(&self.values[..])
            + size_of_val(&self.bases[..])
            + self.deltas.len()
            + self.order.len()
            + size_of_val(&self.counts[..])
            + size_of_val(&self.value_ptr[..])
            + size_of_val(&self.delta_ptr[..])
    }

    pub(crate) fn value_ptr(&self) -> &[usize] {
        &self.value_ptr
    }

    pub(crate) fn values(&self) -> &[S] {
        &self.values
    }

    pub(crate) fn bases(&self) -> &[u32] {
        &self.bases
    }

    pub(crate) fn deltas(&self) -> &[u8] {
        &self.deltas
    }

    /// Where a window's differences begin.
    pub(crate) fn first_delta(&self, window: usize) -> usize {
        self.delta_ptr[window]
    }

    /// The counts of a window's chunks.
    pub(crate) fn chunk_counts(&self, window: usize) -> &[[u16; WIDTHS]] {
        &self.counts[window * CHUNKS..(window + 1) * CHUNKS]
    }

    /// Which row of the window each lane computes, where that is not its own.
    pub(crate) fn window_order(&self, window: usize) -> Option<&[u8]> {
        self.order.get(window * WINDOW..(window + 1) * WINDOW)
    }

    /// The columns and values of a row in the order in which they are stored, zeros that fill slots included. For oracles
    /// and for kernels that need a row by itself: it searches.
    pub(crate) fn row(&self, row: usize) -> impl Iterator<Item = (usize, S)> + '_ {
        let window = row / WINDOW;
        let place = match self.window_order(window) {
            None => row % WINDOW,
            Some(order) => {
                order.iter().position(|&place| usize::from(place) == row % WINDOW).unwrap_or_default()
            }
        };
        let (chunk, lane) = (place / LANES, place % LANES);
        let (mut slot, mut delta) = (self.value_ptr[window] / LANES, self.delta_ptr[window]);
        for counts in &self.chunk_counts(window)[..chunk] {
            for (width, &count) in Width::ALL.into_iter().zip(counts) {
                slot += usize::from(count);
                delta += usize::from(count) * width.bytes();
            }
        }
        let counts = self.chunk_counts(window)[chunk];
        let widths = Width::ALL.into_iter().zip(counts);
        let slots = widths.flat_map(|(width, count)| (0..count).map(move |_| width));
        slots.enumerate().map(move |(k, width)| {
            let deltas = &self.deltas[delta..delta + width.bytes()];
            delta += width.bytes();
            let column = self.bases[slot + k] as usize + width.difference(deltas, lane);
            (column, self.values[(slot + k) * LANES + lane])
        })
    }
}

#[cfg(test)]
mod tests;

//! Delta-SELL: sliced ELLPACK whose columns are differences to a base shared by sixteen rows.
//!
//! Sixteen rows form a *chunk*, stored slot by slot. A slot holds one entry of each of its rows
//! (zero if a row has none), with columns stored as differences to one 32-bit base:
//!
//! ```text
//! slot:  base   16 values   nothing | 16 × u8 | 16 × u16 | 16 × u32
//!                           |         ^ within 64 or 128 columns: x is loaded into registers and permuted there
//!                           ^ the columns are base, base + 1, …, base + 15: x is read by one load
//! ```
//!
//! A CSR entry takes 4 bytes in addition to its value; here it takes ¼ byte plus 0, 1, 2 or 4. A
//! stencil in natural order needs no indices at all, so kernels run like stencil code, without the
//! caller declaring a stencil. Sliced ELLPACK is due to Monakov, Lokhmotov & Avetisyan (2010),
//! sorting rows by length within windows to Kreutzer et al. (SELL-C-σ, 2014); bases and differences
//! are new here.
//!
//! Sixteen chunks form a *window*, the unit of work of a kernel. If row lengths vary, rows are
//! sorted by length within their window to reduce padding; one byte per row gives the position of
//! its result. Within a chunk, slots are grouped by the width of their differences, so that a
//! kernel does not branch on every slot.

mod draft;
mod encode;
mod rescale;

pub use encode::DeltaSellPlan;

use std::sync::Arc;

use super::format::{Format, FormatPlan, RowEntries};
use super::{Csr, ScaleFactors};
use crate::number::Store;

/// Rows that share a slot.
pub(crate) const LANES: usize = 16;

/// Rows within which the order may change.
pub(crate) const WINDOW: usize = 256;

/// Chunks per window.
pub(crate) const CHUNKS: usize = WINDOW / LANES;

/// How the columns of a slot are stored. The discriminant is the index into the counts of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Width {
    /// base, base + 1, …
    Consecutive,
    /// Bytes below 64: a kernel may load the whole span into registers and permute it there.
    Within64,
    /// Bytes below 128.
    Within128,
    U8,
    U16,
    U32,
}

/// Number of widths.
pub(crate) const WIDTHS: usize = 6;

impl Width {
    /// All widths, in storage order within a chunk.
    pub(crate) const ALL: [Width; WIDTHS] =
        [Width::Consecutive, Width::Within64, Width::Within128, Width::U8, Width::U16, Width::U32];

    /// Bytes used for the differences of a slot.
    pub(crate) const fn bytes(self) -> usize {
        match self {
            Width::Consecutive => 0,
            Width::Within64 | Width::Within128 | Width::U8 => LANES,
            Width::U16 => 2 * LANES,
            Width::U32 => 4 * LANES,
        }
    }

    /// The difference of one lane, decoded from the bytes of its slot.
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

    /// Number of columns from the base on that are guaranteed to exist and may be loaded together.
    pub(crate) const fn span(self) -> usize {
        match self {
            Width::Consecutive => LANES,
            Width::Within64 => 64,
            Width::Within128 => 128,
            Width::U8 | Width::U16 | Width::U32 => 1,
        }
    }
}

/// An immutable sparse matrix in delta-SELL format. It is converted from a CSR matrix and read by
/// kernels.
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
    /// Start of the values of each window; one more element at the end.
    value_ptr: Vec<usize>,
    /// Start of the differences of each window.
    delta_ptr: Vec<usize>,
    /// Number of slots of each [`Width`], per chunk.
    counts: Vec<[u16; WIDTHS]>,
    /// The row within its window that each lane computes; empty if rows are in natural order.
    order: Vec<u8>,
    /// One per slot. For every lane, base + difference < cols; base + [`Width::span`] ≤ cols.
    bases: Vec<u32>,
    /// `LANES` per slot.
    values: Vec<S>,
    /// Little-endian, [`Width::bytes`] per slot.
    deltas: Vec<u8>,
}

/// The arrays of a [`DeltaSell`], for devices that copy them to their own memory.
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
    /// For each chunk of 16 rows, the number of slots with consecutive columns, with differences
    /// within 64, within 128, and of 8, 16 and 32 bits. Windows of 256 rows are complete: their
    /// last chunks may have no slots.
    pub counts: &'a [[u16; WIDTHS]],
    /// The row within its window that each lane computes; empty if rows are in natural order.
    pub order: &'a [u8],
    /// The base column of each slot, to which differences are added.
    pub bases: &'a [u32],
    /// Sixteen per slot.
    pub values: &'a [S],
    /// Little-endian: per slot none (consecutive), 16, 32 or 64 bytes.
    pub deltas: &'a [u8],
}

impl<S: Store> DeltaSell<S> {
    /// The arrays of the matrix.
    pub fn parts(&self) -> DeltaSellParts<'_, S> {
        DeltaSellParts {
            counts: &self.counts,
            order: &self.order,
            bases: &self.bases,
            values: &self.values,
            deltas: &self.deltas,
        }
    }

    /// The same matrix with values rounded to `S`. `None` if the format cannot represent it: a row
    /// has more than 32,767 entries, or a dimension exceeds 2³¹.
    pub fn from_csr(a: crate::CsrRef<'_, f64>) -> Option<Self> {
        DeltaSellPlan::new(a, size_of::<S>())?.fill(a).ok()
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Number of entries, without padding.
    pub fn nnz(&self) -> usize {
        self.nnz
    }

    /// Number of stored values, including padding.
    pub fn stored(&self) -> usize {
        self.values.len()
    }

    /// Number of slots with consecutive columns, within 64, within 128, and with 8, 16 and 32 bits.
    pub fn slots_by_width(&self) -> [usize; WIDTHS] {
        let mut sums = [0; WIDTHS];
        for counts in &self.counts {
            sums.iter_mut().zip(counts).for_each(|(sum, &count)| *sum += usize::from(count));
        }
        sums
    }

    /// Memory used by the arrays, in bytes.
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

    /// Start of the differences of a window.
    pub(crate) fn first_delta(&self, window: usize) -> usize {
        self.delta_ptr[window]
    }

    /// The slot counts of the chunks of a window.
    pub(crate) fn chunk_counts(&self, window: usize) -> &[[u16; WIDTHS]] {
        &self.counts[window * CHUNKS..(window + 1) * CHUNKS]
    }

    /// The row within the window that each lane computes, or `None` if rows are in natural order.
    pub(crate) fn window_order(&self, window: usize) -> Option<&[u8]> {
        self.order.get(window * WINDOW..(window + 1) * WINDOW)
    }

    /// Columns and values of a row in storage order, including padding. It searches for the row, so
    /// it is meant for reference implementations and for kernels that need single rows.
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

impl<S: Store> Format<S> for DeltaSell<S> {
    type As<T: Store> = DeltaSell<T>;
    type View<'a> = &'a DeltaSell<S>;

    fn view(&self) -> &DeltaSell<S> {
        self
    }

    fn plan(a: &Arc<Csr<f64>>, _: usize) -> Option<FormatPlan<'_, Arc<Self>>> {
        let plan = DeltaSellPlan::new(a.view(), size_of::<S>())?;
        Some(FormatPlan::new(plan.bytes(), move |factors| {
            let made = if factors.is_one() {
                plan.fill(a.view())
            } else {
                plan.fill_scaled(a.view(), |row, column| factors.of(row, column))
            };
            #[expect(clippy::expect_used, reason = "the plan was made for this matrix, which cannot change")]
            Arc::new(made.expect("the layout of this matrix"))
        }))
    }

    fn scaled_as<T: Store>(&self, factors: ScaleFactors<'_>) -> Option<DeltaSell<T>> {
        Some(self.rescaled(factors))
    }
}

impl<S: Store> RowEntries for &DeltaSell<S> {
    type Value = S;

    /// Searches for the row, so it is slow.
    #[inline(always)]
    fn for_each_entry(self, row: usize, mut each: impl FnMut(usize, S)) {
        self.row(row).for_each(|(column, value)| each(column, value));
    }
}

#[cfg(test)]
mod tests;

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

impl<S: Store> DeltaSell<S> {
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
            let difference = match width {
                Width::Consecutive => lane,
                Width::Within64 | Width::Within128 | Width::U8 => usize::from(deltas[lane]),
                Width::U16 => usize::from(u16::from_le_bytes([deltas[2 * lane], deltas[2 * lane + 1]])),
                Width::U32 => {
                    let [a, b, c, d] = [0, 1, 2, 3].map(|byte| deltas[4 * lane + byte]);
                    u32::from_le_bytes([a, b, c, d]) as usize
                }
            };
            (self.bases[slot + k] as usize + difference, self.values[(slot + k) * LANES + lane])
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gallery::{Problem, shuffle};
    use crate::hash::hash_id;
    use crate::{Csr, f16};
    use std::num::NonZeroUsize;

    /// The entries of a row without the zeros that fill slots, by columns.
    fn entries<S: Store>(a: &DeltaSell<S>, row: usize) -> Vec<(usize, f64)> {
        let mut entries: Vec<_> =
            a.row(row).map(|(column, value)| (column, value.wide())).filter(|entry| entry.1 != 0.0).collect();
        entries.sort_by_key(|entry| entry.0);
        entries
    }

    /// Every row holds the entries of the CSR matrix, and the plan knew the bytes.
    fn check<S: Store>(a: &Csr<f64>) -> DeltaSell<S> {
        let plan = DeltaSellPlan::new(a.view(), size_of::<S>()).unwrap();
        let bytes = plan.bytes();
        let made = plan.fill::<S>(a.view());
        assert_eq!((made.rows(), made.cols(), made.nnz()), (a.rows(), a.cols(), a.nnz()));
        assert_eq!(made.bytes(), bytes);
        for row in 0..a.rows() {
            let (columns, values) = a.row(row);
            let stored = values.iter().map(|&value| S::narrow(value).wide());
            let expected = columns.iter().map(|&column| column as usize).zip(stored);
            // Zeros that are stored cannot be told from those that fill slots.
            let expected: Vec<_> = expected.filter(|entry| entry.1 != 0.0).collect();
            assert_eq!(entries(&made, row), expected, "row {row}");
        }
        made
    }

    fn problem(name: &str, window: usize) -> Csr<f64> {
        let a = name.parse::<Problem>().unwrap().matrix().unwrap();
        shuffle(a.view(), 1, NonZeroUsize::new(window).unwrap()).unwrap().0
    }

    /// Rows of up to `longest` entries with columns anywhere below `cols`.
    fn scattered(rows: usize, cols: usize, longest: u64) -> Csr<f64> {
        let (mut row_ptr, mut columns) = (vec![0], Vec::new());
        for row in 0..rows as u64 {
            let count = hash_id(row) % (longest + 1);
            let mut row: Vec<u32> =
                (0..count).map(|k| (hash_id(row << 20 | k) % cols as u64) as u32).collect();
            row.sort_unstable();
            row.dedup();
            columns.append(&mut row);
            row_ptr.push(columns.len());
        }
        let values = (1..=columns.len()).map(|k| k as f64).collect();
        Csr::try_new(rows, cols, row_ptr, columns, values).unwrap()
    }

    #[test]
    fn rows_are_those_of_the_csr_matrix() {
        for a in [
            problem("poisson3d:7", 1),
            problem("poisson3d27:16", 1),
            problem("poisson3d:20", 64),
            problem("elasticity3d:5", 1),
            scattered(1, 1, 1),
            scattered(300, 5, 9),
            scattered(1000, 100, 40),
            scattered(700, 200_000, 30),
            Csr::try_new(3, 0, vec![0; 4], vec![], vec![]).unwrap(),
            Csr::try_new(0, 3, vec![0], vec![], vec![]).unwrap(),
        ] {
            check::<f64>(&a);
            check::<f32>(&a);
        }
        check::<f16>(&problem("jump3d:20", 1));
    }

    #[test]
    fn a_stencil_needs_no_index() {
        let a = check::<f16>(&problem("poisson3d:32", 1));
        let [consecutive, others @ ..] = a.slots_by_width();
        // Chunks at the two ends reach beyond the matrix.
        assert!(consecutive > 1000 * others.iter().sum::<usize>().max(1), "{:?}", a.slots_by_width());
        assert!((a.bytes() as f64) < 2.6 * a.nnz() as f64, "{} bytes for {} entries", a.bytes(), a.nnz());
    }

    #[test]
    fn every_width_occurs() {
        let near = check::<f32>(&problem("poisson3d:32", 64)).slots_by_width();
        assert!(near[1] > 0 && near[2] > 0, "{near:?}");
        let far = check::<f32>(&scattered(700, 200_000, 30)).slots_by_width();
        assert!(far[5] > 0, "{far:?}");
        let middle = check::<f32>(&scattered(700, 3000, 30)).slots_by_width();
        assert!(middle[4] > 0, "{middle:?}");
        let bytes = check::<f32>(&scattered(700, 200, 3)).slots_by_width();
        assert!(bytes[3] > 0, "{bytes:?}");
    }

    #[test]
    fn uneven_rows_are_sorted_and_little_is_padded() {
        let a = check::<f32>(&scattered(5000, 3000, 30));
        assert!((a.stored() as f64) < 1.15 * a.nnz() as f64, "{} for {}", a.stored(), a.nnz());
    }

    #[test]
    fn what_it_does_not_hold_is_refused() {
        let columns: Vec<u32> = (0..40_000).collect();
        let dense = Csr::try_new(1, 40_000, vec![0, 40_000], columns, vec![1.0; 40_000]).unwrap();
        assert!(DeltaSell::<f32>::from_csr(dense.view()).is_none());
    }
}

//! Conversion from CSR to delta-SELL, in parallel over windows: a counting pass and a writing pass.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use super::draft::{Content, Drafts, Rows, Scale, Slot, Stencil};
use super::{CHUNKS, DeltaSell, LANES, WIDTHS, WINDOW, Width};
use crate::matrix::{CsrRef, MatrixError};
use crate::number::Store;
use crate::parallel::{all_pieces, counts_to_starts, join, over_chunks, over_two, zeros};
use crate::simd::{Isa, Kernel, Simd};

/// Rows are sorted by length if that reduces the stored values to at most this fraction.
const SORT_PAYS: f64 = 0.85;

/// The longest row: the slots of a chunk, up to 1.5 times as many, are counted in 16 bits.
const MAX_ROW: usize = 32_767;

/// Limit on rows and columns: their differences are compared in 32 bits.
const MAX_EXTENT: usize = 1 << 31;

/// Windows per task.
const TASK: usize = 4;

/// The layout of a matrix in delta-SELL format. It gives the memory use before the matrix is built.
///
/// ```
/// use ziggurat_sparse::matrix::{DeltaSell, DeltaSellPlan};
/// use ziggurat_sparse::gallery::Problem;
/// let a = "poisson3d27:12".parse::<Problem>()?.matrix()?;
/// let plan = DeltaSellPlan::new(a.view(), size_of::<f32>()).ok_or("too long a row")?;
/// let bytes = plan.bytes();
/// let made: DeltaSell<f32> = plan.fill(a.view())?;
/// assert_eq!(made.bytes(), bytes);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct DeltaSellPlan {
    rows: usize,
    cols: usize,
    value_bytes: usize,
    value_ptr: Vec<usize>,
    delta_ptr: Vec<usize>,
    counts: Vec<[u16; WIDTHS]>,
    order: Vec<u8>,
}

impl DeltaSellPlan {
    /// The layout for values of `value_bytes` bytes each; `None` if the format cannot represent the
    /// matrix.
    pub fn new(a: CsrRef<'_, f64>, value_bytes: usize) -> Option<Self> {
        /// Rows whose lengths a task compares.
        const SEARCHED: usize = 32 * 1024;
        /// Windows whose sizes a task adds.
        const SIZED: usize = 512;
        let windows = a.rows().div_ceil(WINDOW);
        let row_ptr = a.row_ptr();
        let short = |mut rows: Range<usize>| rows.all(|row| row_ptr[row + 1] - row_ptr[row] <= MAX_ROW);
        if a.rows().max(a.cols()) > MAX_EXTENT || !all_pieces(0..a.rows(), SEARCHED, &short) {
            return None;
        }
        let (order, simd) = (order(a, windows), Simd::best());
        let mut counts = vec![[0; WIDTHS]; windows * CHUNKS];
        let (mut value_ptr, mut delta_ptr) = (vec![0; windows + 1], vec![0; windows + 1]);
        over_chunks(&mut counts, CHUNKS * TASK, &|task, counts| {
            let drafts = &mut Drafts::default();
            for (window, counts) in (task * TASK..).zip(counts.chunks_mut(CHUNKS)) {
                simd.run(Count { a, order: &order, window, value_bytes, drafts, counts });
            }
        });
        let (of_values, of_deltas) = (&mut value_ptr[..windows], &mut delta_ptr[..windows]);
        over_two(of_values, of_deltas, [SIZED; 2], &|piece, of_values, of_deltas| {
            let counts = counts[piece * SIZED * CHUNKS..].chunks(CHUNKS);
            for ((values, deltas), counts) in of_values.iter_mut().zip(of_deltas).zip(counts) {
                for counts in counts {
                    for (width, &count) in Width::ALL.into_iter().zip(counts) {
                        *values += usize::from(count) * LANES;
                        *deltas += usize::from(count) * width.bytes();
                    }
                }
            }
        });
        counts_to_starts(&mut value_ptr);
        counts_to_starts(&mut delta_ptr);
        let (rows, cols) = (a.rows(), a.cols());
        Some(DeltaSellPlan { rows, cols, value_bytes, value_ptr, delta_ptr, counts, order })
    }

    fn stored(&self) -> usize {
        self.value_ptr.last().copied().unwrap_or(0)
    }

    fn delta_bytes(&self) -> usize {
        self.delta_ptr.last().copied().unwrap_or(0)
    }

    /// The value of [`DeltaSell::bytes`] for the resulting matrix.
    pub fn bytes(&self) -> usize {
        self.stored() * self.value_bytes
            + self.stored() / LANES * size_of::<u32>()
            + self.delta_bytes()
            + self.order.len()
            + self.counts.len() * size_of::<[u16; WIDTHS]>()
            + (self.value_ptr.len() + self.delta_ptr.len()) * size_of::<usize>()
    }

    /// Builds the matrix. `a` must be the one the plan was made for, or one with the same layout.
    ///
    /// ```
    /// use ziggurat_sparse::{Csr, DeltaSell, MatrixError, matrix::DeltaSellPlan};
    /// let (a, wider) = (Csr::identity(2)?, Csr::try_new(2, 3, vec![0, 1, 2], vec![0, 2], vec![1.0; 2])?);
    /// let plan = DeltaSellPlan::new(a.view(), size_of::<f64>()).ok_or("too long a row")?;
    /// let filled: Result<DeltaSell<f64>, _> = plan.fill(wider.view());
    /// assert!(matches!(filled, Err(MatrixError::OtherPattern { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`MatrixError::OtherPattern`] if `a` does not have the layout of this plan.
    pub fn fill<S: Store>(self, a: CsrRef<'_, f64>) -> Result<DeltaSell<S>, MatrixError> {
        self.fill_scaled(a, |_, _| 1.0)
    }

    /// Builds the matrix with every entry multiplied by `scale(row, column)` before it is rounded
    /// to `S`.
    ///
    /// ```
    /// use ziggurat_sparse::{Csr, DeltaSell, f16, matrix::DeltaSellPlan};
    /// let a = Csr::try_new(2, 2, vec![0, 1, 2], vec![0, 1], vec![1e-9, 1e9])?;
    /// let plan = DeltaSellPlan::new(a.view(), size_of::<f16>()).ok_or("too long a row")?;
    /// let narrow: DeltaSell<f16> = plan.fill_scaled(a.view(), |row, _| if row == 0 { 1e9 } else { 1e-9 })?;
    /// assert_eq!(narrow, DeltaSell::from_csr(Csr::identity(2)?.view()).ok_or("too long a row")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`MatrixError::OtherPattern`] if `a` does not have the layout of this plan.
    pub fn fill_scaled<S: Store>(
        self,
        a: CsrRef<'_, f64>,
        scale: impl Fn(usize, usize) -> f64 + Sync,
    ) -> Result<DeltaSell<S>, MatrixError> {
        let other = MatrixError::OtherPattern { what: "the matrix to convert" };
        if (a.rows(), a.cols()) != (self.rows, self.cols) {
            return Err(other);
        }
        let mut bases = vec![0; self.stored() / LANES];
        let mut values = zeros(self.stored());
        let mut deltas = zeros(self.delta_bytes());
        let windows = 0..self.value_ptr.len() - 1;
        let parts = Parts { bases: &mut bases, values: &mut values, deltas: &mut deltas };
        if !self.write(a, &scale, windows, parts) {
            return Err(other);
        }
        let DeltaSellPlan { rows, cols, value_ptr, delta_ptr, counts, order, .. } = self;
        let nnz = a.nnz();
        Ok(DeltaSell { rows, cols, nnz, value_ptr, delta_ptr, counts, order, bases, values, deltas })
    }

    /// Writes a range of windows, recursively in parallel. Returns whether they have the planned
    /// layout.
    fn write<S: Store>(
        &self,
        a: CsrRef<'_, f64>,
        scale: &impl Scale,
        windows: Range<usize>,
        parts: Parts<'_, S>,
    ) -> bool {
        if windows.len() <= TASK {
            let mut drafts = Drafts::default();
            let (mut rest, mut fits) = (parts, true);
            for window in windows {
                let part;
                (part, rest) = self.split(rest, window, window + 1);
                fits &= Simd::best().run(Write {
                    plan: self,
                    a,
                    scale,
                    window,
                    parts: part,
                    drafts: &mut drafts,
                });
            }
            return fits;
        }
        let middle = windows.start + windows.len() / 2;
        let (left, right) = self.split(parts, windows.start, middle);
        let (left, right) = join(
            || self.write(a, scale, windows.start..middle, left),
            || self.write(a, scale, middle..windows.end, right),
        );
        left && right
    }

    /// Splits off the part that belongs to the windows `first..middle`.
    fn split<'a, S>(&self, parts: Parts<'a, S>, first: usize, middle: usize) -> (Parts<'a, S>, Parts<'a, S>) {
        let Parts { bases, values, deltas } = parts;
        let cut = self.value_ptr[middle] - self.value_ptr[first];
        let (values, later_values) = values.split_at_mut(cut);
        let (bases, later_bases) = bases.split_at_mut(cut / LANES);
        let (deltas, later_deltas) = deltas.split_at_mut(self.delta_ptr[middle] - self.delta_ptr[first]);
        let later = Parts { bases: later_bases, values: later_values, deltas: later_deltas };
        (Parts { bases, values, deltas }, later)
    }
}

/// Counts the slots of the chunks of a window.
struct Count<'a> {
    a: CsrRef<'a, f64>,
    order: &'a [u8],
    window: usize,
    value_bytes: usize,
    drafts: &'a mut Drafts,
    counts: &'a mut [[u16; WIDTHS]],
}

impl Kernel for Count<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        for (chunk, counts) in self.counts.iter_mut().enumerate() {
            let mut count = |slot: Slot| counts[slot.width as usize] += 1;
            match stencil(self.a, self.order, self.window, chunk) {
                Some(stencil) => stencil.slots().for_each(&mut count),
                None => {
                    let rows = Rows::new(self.a, chunk_rows(self.a.rows(), self.order, self.window, chunk));
                    self.drafts.chunk(&rows, self.value_bytes).iter().copied().for_each(&mut count);
                }
            }
        }
    }
}

/// Writes a window. Returns whether every chunk has exactly the slots that the plan counted.
///
/// Kernels rely on this: with these counts, every stored slot is one that was written here, so its
/// columns are columns of `a`. A slot that was not written would have base 0, and a slot with
/// consecutive columns is read as sixteen elements of x, even if `a` has fewer columns.
struct Write<'a, S, F> {
    plan: &'a DeltaSellPlan,
    a: CsrRef<'a, f64>,
    scale: &'a F,
    window: usize,
    parts: Parts<'a, S>,
    drafts: &'a mut Drafts,
}

impl<S: Store, F: Scale> Kernel for Write<'_, S, F> {
    type Output = bool;

    #[inline(always)]
    fn run<I: Isa>(self) -> bool {
        let Write { plan, a, scale, window, parts, drafts } = self;
        let (mut slot, mut delta, mut fits) = (0, 0, true);
        for (chunk, counts) in plan.counts[window * CHUNKS..(window + 1) * CHUNKS].iter().enumerate() {
            // Position of the next slot of each width.
            let mut next = [(0, 0); WIDTHS];
            for (width, next) in Width::ALL.into_iter().zip(&mut next) {
                *next = (slot, delta);
                slot += usize::from(counts[width as usize]);
                delta += usize::from(counts[width as usize]) * width.bytes();
            }
            let mut missing = *counts;
            let mut put = |draft: Slot, content: &Content| {
                let missing = &mut missing[draft.width as usize];
                if *missing == 0 {
                    fits = false; // the place of another slot
                    return;
                }
                *missing -= 1;
                let (slot, delta) = &mut next[draft.width as usize];
                parts.bases[*slot] = draft.base;
                S::narrow_all(&content.values, &mut parts.values[*slot * LANES..][..LANES]);
                let deltas = &mut parts.deltas[*delta..*delta + draft.width.bytes()];
                match draft.width {
                    Width::Consecutive => {}
                    Width::U32 => write::<4>(deltas, &content.deltas),
                    Width::U16 => write::<2>(deltas, &content.deltas),
                    Width::Within64 | Width::Within128 | Width::U8 => write::<1>(deltas, &content.deltas),
                }
                *slot += 1;
                *delta += draft.width.bytes();
            };
            match stencil(a, &plan.order, window, chunk) {
                Some(stencil) => {
                    for (k, slot) in stencil.slots().enumerate() {
                        put(slot, &stencil.content(k, slot.base, scale));
                    }
                }
                None => {
                    let rows = Rows::new(a, chunk_rows(a.rows(), &plan.order, window, chunk));
                    drafts.chunk(&rows, plan.value_bytes);
                    drafts.filled(&rows, scale).for_each(|(slot, content)| put(slot, content));
                }
            }
            fits &= missing == [0; WIDTHS];
        }
        fits
    }
}

/// The rows of a chunk, if all sixteen have the same diagonals and are in natural order.
#[inline(always)]
fn stencil<'a>(a: CsrRef<'a, f64>, order: &[u8], window: usize, chunk: usize) -> Option<Stencil<'a>> {
    let first = window * WINDOW + chunk * LANES;
    let in_order = order.get(first..first + LANES).is_none_or(|order| {
        order.iter().enumerate().all(|(lane, &place)| usize::from(place) == chunk * LANES + lane)
    });
    if in_order { Stencil::new(a, first) } else { None }
}

/// Writes the lowest `N` bytes of each difference.
#[inline(always)]
fn write<const N: usize>(bytes: &mut [u8], differences: &[u32; LANES]) {
    for (bytes, difference) in bytes.chunks_exact_mut(N).zip(differences) {
        bytes.copy_from_slice(&difference.to_le_bytes()[..N]);
    }
}

/// The parts of the arrays that belong to a range of windows.
struct Parts<'a, S> {
    bases: &'a mut [u32],
    values: &'a mut [S],
    deltas: &'a mut [u8],
}

/// The rows of a chunk, in lane order.
fn chunk_rows(rows: usize, order: &[u8], window: usize, chunk: usize) -> impl Iterator<Item = usize> + '_ {
    let first = window * WINDOW;
    let places = chunk * LANES..(chunk + 1) * LANES;
    places
        .map(move |place| first + order.get(first + place).map_or(place, |&row| usize::from(row)))
        .take_while(move |&row| row < rows)
}

/// The row within its window that each lane computes: rows by decreasing length where sorting pays
/// off. Empty if it pays off in no window. Lanes beyond the last row are not moved.
fn order(a: CsrRef<'_, f64>, windows: usize) -> Vec<u8> {
    let mut order = vec![0; windows * WINDOW];
    let pays = AtomicBool::new(false);
    over_chunks(&mut order, WINDOW, &|window, order| {
        let first = window * WINDOW;
        if sort_window(&a.row_ptr()[first..=a.rows().min(first + WINDOW)], order) {
            pays.store(true, Relaxed);
        }
    });
    if pays.into_inner() { order } else { Vec::new() }
}

/// Writes the order of one window, given its row pointers. Returns whether sorting pays off.
fn sort_window(row_ptr: &[usize], order: &mut [u8]) -> bool {
    let rows = row_ptr.len() - 1;
    let length = |place: u8| row_ptr[usize::from(place) + 1] - row_ptr[usize::from(place)];
    let padded = |places: &[u8]| -> usize {
        places.chunks(LANES).map(|chunk| chunk.iter().map(|&place| length(place)).max().unwrap_or(0)).sum()
    };
    for (slot, place) in order.iter_mut().zip(0..=u8::MAX) {
        *slot = place;
    }
    let entries = row_ptr[rows] - row_ptr[0];
    let places = &mut order[..rows];
    let before = padded(places);
    if entries as f64 > SORT_PAYS * (LANES * before) as f64 {
        return false; // would not pay off even without any padding
    }
    places.sort_by_key(|&place| std::cmp::Reverse(length(place)));
    let pays = (padded(places) as f64) <= SORT_PAYS * before as f64;
    if !pays {
        places.sort_unstable();
    }
    pays
}

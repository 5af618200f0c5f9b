//! Diagonals without indices (DIA): the format of matrices from structured grids.
//!
//! ```text
//! (A x)_i = Σ_d a_d[i] x[i + offset_d]
//! bytes = s D n                                      s: bytes of a stored value, D: diagonals
//! ```
//!
//! A point of a grid in natural order is connected to points at fixed distances, so that all
//! entries lie on a few diagonals. None of them needs an index, every load of x is contiguous, and
//! values of 16 bits take a quarter of the memory of 64 bits, which formats with indices cannot
//! reach. This is the SG-DIA format of Zong, Yu, Huang & Xue (*FP16 acceleration in structured
//! multigrid preconditioner*, ICPP 2024) in structure-of-arrays order. Rows are cut into windows
//! of 64, and a window stores its diagonals one after the other: one stream of memory instead of
//! one per diagonal.
//!
//! A diagonal is stored for all rows of a section. Where a row has no entry on it, as at the
//! boundary of a grid, a zero is stored. A matrix with one unknown per point has one section; with
//! several, consecutive windows of the same unknowns form a section with diagonals of its own.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use super::format::{Format, FormatPlan, RowEntries};
use super::{Csr, CsrRef, ScaleFactors, count_rows};
use crate::number::Store;
use crate::parallel::{all_pieces, over_chunks, over_entries, zeros};

/// Rows per window.
pub(crate) const WINDOW: usize = 64;

/// The most diagonals; matrices with more do not come from a grid.
const MAX_DIAGONALS: usize = 64;

/// Windows per task.
const TASK: usize = 32;

/// A matrix stored by diagonals.
///
/// ```
/// use ziggurat_sparse::{Dia, f16, gallery::Problem};
/// let a = "poisson3d:16".parse::<Problem>()?.matrix()?;
/// let stored = Dia::<f16>::from_csr(a.view()).ok_or("not a few diagonals")?;
/// assert_eq!(stored.sections()[0].offsets(), [-256, -16, -1, 0, 1, 16, 256]);
/// assert_eq!(stored.bytes(), 7 * (2 * a.rows() + 8));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Dia<S> {
    rows: usize,
    cols: usize,
    /// At least one; their windows follow one another.
    sections: Vec<DiaSection>,
    /// Entry (i, i + offsets[d]) of a section is at first + ((i / WINDOW − windows.start) · D + d)
    /// · WINDOW + i mod WINDOW.
    values: Vec<S>,
}

/// Consecutive windows with the same diagonals.
///
/// ```
/// use ziggurat_sparse::{Csr, Dia};
/// let a = Dia::<f64>::from_csr(Csr::identity(100)?.view()).ok_or("not a few diagonals")?;
/// let [section] = a.sections() else { return Err("one unknown per point".into()) };
/// assert_eq!((section.windows(), section.offsets()), (0..2, &[0][..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiaSection {
    windows: Range<usize>,
    offsets: Vec<isize>,
    /// The place of the first value.
    first: usize,
}

impl DiaSection {
    /// The windows of 64 rows.
    pub fn windows(&self) -> Range<usize> {
        self.windows.clone()
    }

    /// Column minus row of each diagonal, increasing.
    pub fn offsets(&self) -> &[isize] {
        &self.offsets
    }

    /// Values per window.
    fn width(&self) -> usize {
        self.offsets.len() * WINDOW
    }

    /// The place of the first value of a window.
    pub(crate) fn place(&self, window: usize) -> usize {
        self.first + (window - self.windows.start) * self.width()
    }
}

/// Called with a section, a diagonal, the first row and the values to write.
type ValuesOfDiagonals<'a> = dyn Fn(usize, usize, usize, &mut [f64]) + Sync + 'a;

impl<S: Store> Dia<S> {
    /// Rows per window.
    pub const WINDOW: usize = WINDOW;

    /// The matrix by diagonals; `None` if its entries are not on a few well-filled ones.
    pub fn from_csr(a: CsrRef<'_, f64>) -> Option<Self> {
        let offsets = offsets_of(a)?;
        Some(Self::fill(a, offsets, ScaleFactors::ONE))
    }

    /// The matrix of given size with the diagonals `sections`, each with the number of its windows.
    /// The value on diagonal `d` of a section, in the rows from `first` on, is
    /// `values(section, d, first, buffer)`, written into the buffer, which contains zeros; entries
    /// outside the matrix are ignored.
    pub(crate) fn from_diagonals(
        rows: usize,
        cols: usize,
        sections: Vec<(usize, Vec<isize>)>,
        values: impl Fn(usize, usize, usize, &mut [f64]) + Sync,
    ) -> Self {
        let mut dia = Self::zeros(rows, cols, sections);
        dia.fill_diagonals(&values);
        dia
    }

    /// Writes the values for [`from_diagonals`](Self::from_diagonals).
    fn fill_diagonals(&mut self, values: &ValuesOfDiagonals<'_>) {
        let (rows, cols) = (self.rows, self.cols);
        let mut rest = &mut self.values[..];
        for (index, section) in self.sections.iter().enumerate() {
            let count = section.offsets.len();
            let Some(stored) = rest.split_off_mut(..section.windows.len() * section.width()) else { break };
            over_chunks(stored, section.width() * TASK, &|task, stored| {
                let mut buffer = [0.0; WINDOW];
                for (slot, stored) in stored.chunks_exact_mut(WINDOW).enumerate() {
                    let window = section.windows.start + task * TASK + slot / count;
                    let (first, d) = (window * WINDOW, slot % count);
                    let inside = inside(rows, cols, section.offsets[d], first);
                    buffer.fill(0.0);
                    if !inside.is_empty() {
                        let from = inside.start;
                        values(index, d, first + from, &mut buffer[inside]);
                    }
                    S::narrow_all(&buffer, stored);
                }
            });
        }
    }

    /// Zeros on the diagonals of sections, each with the number of its windows.
    fn zeros(rows: usize, cols: usize, sections: Vec<(usize, Vec<isize>)>) -> Self {
        let (mut end, mut len) = (0, 0);
        let sections = sections.into_iter().map(|(windows, offsets)| {
            let section = DiaSection { windows: end..end + windows, offsets, first: len };
            (end, len) = (end + windows, len + windows * section.width());
            section
        });
        let sections = sections.collect();
        debug_assert_eq!(end, rows.div_ceil(WINDOW), "windows of all sections");
        Dia { rows, cols, sections, values: zeros(len) }
    }

    /// Zeros on the same diagonals in all rows.
    fn one_section(rows: usize, cols: usize, offsets: Vec<isize>) -> Self {
        Self::zeros(rows, cols, vec![(rows.div_ceil(WINDOW), offsets)])
    }

    /// All entries of `a` are on the diagonals `offsets`.
    fn fill(a: CsrRef<'_, f64>, offsets: Vec<isize>, factors: ScaleFactors<'_>) -> Self {
        let mut dia = Self::one_section(a.rows(), a.cols(), offsets);
        let offsets = &dia.sections[0].offsets;
        over_chunks(&mut dia.values, offsets.len() * WINDOW * TASK, &|task, stored| {
            let mut buffer = vec![0.0; offsets.len() * WINDOW];
            for (k, stored) in stored.chunks_exact_mut(buffer.len()).enumerate() {
                let _all_are = gather(a, offsets, (task * TASK + k) * WINDOW, factors, &mut buffer);
                S::narrow_all(&buffer, stored);
            }
        });
        dia
    }

    /// The matrix on the diagonals `offsets`; `None` if an entry is elsewhere, or if `S` does not
    /// represent every value exactly.
    pub(crate) fn exact(a: CsrRef<'_, f64>, offsets: Vec<isize>) -> Option<Self> {
        let mut dia = Self::one_section(a.rows(), a.cols(), offsets);
        let offsets = &dia.sections[0].offsets;
        let fits = AtomicBool::new(true);
        over_chunks(&mut dia.values, offsets.len() * WINDOW * TASK, &|task, stored| {
            if !fits.load(Relaxed) {
                return; // another task found a value that does not fit
            }
            let mut buffer = vec![0.0; offsets.len() * WINDOW];
            let all_fit = stored.chunks_exact_mut(buffer.len()).enumerate().all(|(k, stored)| {
                let first = (task * TASK + k) * WINDOW;
                let all_are = gather(a, offsets, first, ScaleFactors::ONE, &mut buffer);
                S::narrow_all(&buffer, stored);
                // A fold without an early exit is vectorised.
                all_are && buffer.iter().zip(&*stored).fold(true, |all, (x, y)| all & (*x == y.wide()))
            });
            if !all_fit {
                fits.store(false, Relaxed);
            }
        });
        fits.into_inner().then_some(dia)
    }

    /// Copies the values of diagonal `d` of the first section in the rows from `first` on.
    #[inline(always)]
    pub(crate) fn copy_diagonal(&self, d: usize, first: usize, out: &mut [f64]) {
        let mut done = 0;
        while done < out.len() {
            let row = first + done;
            let values = &self.window(&self.sections[0], row / WINDOW, d)[row % WINDOW..];
            let out = &mut out[done..];
            out.iter_mut().zip(values).for_each(|(out, value)| *out = value.wide());
            done += values.len().min(out.len());
        }
    }

    /// The matrix times its factors, rounded to `T`.
    fn rescaled<T: Store>(&self, factors: ScaleFactors<'_>) -> Dia<T> {
        let sections = &self.sections;
        let same = sections.iter().map(|section| (section.windows.len(), section.offsets.clone())).collect();
        Dia::from_diagonals(self.rows, self.cols, same, |section, d, first, out| {
            let section = &sections[section];
            let values = &self.window(section, first / WINDOW, d)[first % WINDOW..][..out.len()];
            out.iter_mut().zip(values).for_each(|(out, value)| *out = value.wide());
            scale_diagonal(out, first, section.offsets[d], factors);
        })
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Number of stored values that belong to the matrix, zeros included.
    pub fn nnz(&self) -> usize {
        let of_section = |section: &DiaSection| {
            let rows = (section.windows.end * WINDOW).min(self.rows);
            let before = (section.windows.start * WINDOW).min(self.rows);
            let positions = |rows| positions(rows, self.cols, &section.offsets);
            positions(rows) - positions(before)
        };
        self.sections.iter().map(of_section).sum()
    }

    /// The rows by their diagonals: one section if all have the same, and always at least one.
    pub fn sections(&self) -> &[DiaSection] {
        &self.sections
    }

    /// Memory used by the arrays, in bytes.
    pub fn bytes(&self) -> usize {
        let offsets: usize = self.sections.iter().map(|section| size_of_val(&section.offsets[..])).sum();
        size_of_val(&self.values[..]) + offsets
    }

    /// All stored values, zeros that fill diagonals and windows included.
    pub fn values(&self) -> &[S] {
        &self.values
    }

    /// The values of a diagonal in the rows of a window. Those outside the matrix are zero.
    fn window(&self, section: &DiaSection, window: usize, d: usize) -> &[S] {
        &self.values[section.place(window) + d * WINDOW..][..WINDOW]
    }

    /// The section of a window.
    fn section_of(&self, window: usize) -> &DiaSection {
        &self.sections[self.sections.partition_point(|section| section.windows.end <= window)]
    }

    /// The place of the first of a window's [`values`](Self::values), which are stored diagonal by
    /// diagonal; the number of all values after the last window.
    pub fn place(&self, window: usize) -> usize {
        if window < self.rows.div_ceil(WINDOW) {
            self.section_of(window).place(window)
        } else {
            self.values.len()
        }
    }

    /// The values of a row, in the order of the diagonals, with their columns.
    fn row(&self, row: usize) -> impl Iterator<Item = (usize, S)> + '_ {
        let section = self.section_of(row / WINDOW);
        (section.offsets.iter().enumerate()).filter_map(move |(d, &offset)| {
            let column = row.checked_add_signed(offset).filter(|&column| column < self.cols)?;
            Some((column, self.window(section, row / WINDOW, d)[row % WINDOW]))
        })
    }

    /// The matrix in compressed rows, without the zeros that fill diagonals.
    ///
    /// ```
    /// use ziggurat_sparse::{Dia, gallery::Problem};
    /// let a = "poisson2d:20".parse::<Problem>()?.matrix()?;
    /// let stored = Dia::<f64>::from_csr(a.view()).ok_or("not a few diagonals")?;
    /// assert_eq!(stored.to_csr(), a);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn to_csr(&self) -> Csr<S> {
        let nonzero = |row: usize| self.row(row).filter(|entry| entry.1 != S::default());
        let row_ptr = count_rows(0..self.rows, || (), |(), row| nonzero(row).count());
        let nnz = row_ptr[self.rows];
        let (mut columns, mut values) = (zeros(nnz), zeros(nnz));
        over_entries(&row_ptr, 0..self.rows, &mut columns, &mut values, &|rows, columns, values| {
            for ((column, value), entry) in columns.iter_mut().zip(values).zip(rows.flat_map(nonzero)) {
                (*column, *value) = (entry.0 as u32, entry.1);
            }
        });
        Csr::from_valid_parts(self.rows, self.cols, row_ptr, columns, values)
    }
}

/// The values of the window from `first` on, diagonal by diagonal, times their factors. Returns
/// whether all its entries are on these diagonals.
fn gather(
    a: CsrRef<'_, f64>,
    offsets: &[isize],
    first: usize,
    factors: ScaleFactors<'_>,
    buffer: &mut [f64],
) -> bool {
    buffer.fill(0.0);
    for row in first..(first + WINDOW).min(a.rows()) {
        let (columns, values) = a.row(row);
        let mut d = 0;
        for (&column, &value) in columns.iter().zip(values) {
            let offset = column as isize - row as isize;
            while d < offsets.len() && offsets[d] < offset {
                d += 1;
            }
            if offsets.get(d) != Some(&offset) {
                return false;
            }
            let scaled = if factors.is_one() { value } else { value * factors.of(row, column as usize) };
            buffer[d * WINDOW + row - first] = scaled;
        }
    }
    true
}

/// Multiplies the values of a diagonal in the rows from `first` on by their factors.
pub(crate) fn scale_diagonal(
    values: &mut [f64],
    first: usize,
    offset: isize,
    ScaleFactors { left, right, factor }: ScaleFactors<'_>,
) {
    let len = values.len();
    if factor != 1.0 {
        values.iter_mut().for_each(|value| *value *= factor);
    }
    if let Some(left) = left {
        values.iter_mut().zip(&left[first..first + len]).for_each(|(value, left)| *value *= left);
    }
    if let Some(right) = right {
        let right = &right[first.wrapping_add_signed(offset)..][..len];
        values.iter_mut().zip(right).for_each(|(value, right)| *value *= right);
    }
}

/// The rows of the window from `first` on, counted from there, in which a diagonal has a column.
pub(crate) fn inside(rows: usize, cols: usize, offset: isize, first: usize) -> Range<usize> {
    let low = if offset < 0 { offset.unsigned_abs() } else { 0 };
    let high = cols.saturating_add_signed(-offset).min(rows);
    let (start, end) = (low.saturating_sub(first), high.saturating_sub(first).min(WINDOW));
    start.min(end)..end
}

/// The number of positions of the diagonals within the matrix.
pub(crate) fn positions(rows: usize, cols: usize, offsets: &[isize]) -> usize {
    let of = |&offset: &isize| {
        let low = if offset < 0 { offset.unsigned_abs() } else { 0 };
        cols.saturating_add_signed(-offset).min(rows).saturating_sub(low)
    };
    offsets.iter().map(of).sum()
}

/// The diagonals that hold all entries; `None` if they are too many or badly filled. Some rows are
/// examined first, so that other matrices are rejected at little cost.
pub(crate) fn offsets_of(a: CsrRef<'_, f64>) -> Option<Vec<isize>> {
    const SAMPLE: usize = 16;
    let n = a.rows();
    // Multiples of the golden ratio, so that not all places are at a face of a grid.
    let place = |k: usize| (n as f64 * (0.618_033_988_75 * k as f64).fract()) as usize;
    let mut offsets: Vec<isize> = Vec::new();
    for row in (0..SAMPLE).map(place).flat_map(|first| first..(first + SAMPLE).min(n)) {
        let (columns, _) = a.row(row);
        if columns.len() > MAX_DIAGONALS {
            return None;
        }
        offsets.extend(columns.iter().map(|&column| column as isize - row as isize));
        offsets.sort_unstable();
        offsets.dedup();
        if offsets.len() > MAX_DIAGONALS {
            return None;
        }
    }
    if 2 * positions(n, a.cols(), &offsets) > 3 * a.nnz() {
        return None;
    }
    let known = |row: usize| {
        let mut known = offsets.iter();
        let columns = a.row(row).0;
        columns.iter().all(|&column| known.any(|&offset| offset == column as isize - row as isize))
    };
    all_pieces(0..n, 4096, &|mut rows| rows.all(known)).then_some(offsets)
}

impl<S: Store> Format<S> for Dia<S> {
    type As<T: Store> = Dia<T>;
    type View<'a> = &'a Dia<S>;

    fn view(&self) -> &Dia<S> {
        self
    }

    fn plan(a: &Arc<Csr<f64>>, _: usize) -> Option<FormatPlan<'_, Arc<Self>>> {
        let offsets = offsets_of(a.view())?;
        let count = offsets.len();
        let bytes = a.rows().div_ceil(WINDOW) * WINDOW * count * size_of::<S>() + count * size_of::<isize>();
        Some(FormatPlan::new(bytes, move |factors| Arc::new(Dia::fill(a.view(), offsets, factors))))
    }

    fn scaled_as<T: Store>(&self, factors: ScaleFactors<'_>) -> Option<Dia<T>> {
        Some(self.rescaled(factors))
    }
}

impl<S: Store> RowEntries for &Dia<S> {
    type Value = S;

    #[inline(always)]
    fn for_each_entry(self, row: usize, mut each: impl FnMut(usize, S)) {
        self.row(row).for_each(|(column, value)| each(column, value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::f16;
    use crate::gallery::Problem;

    fn matrix(name: &str) -> Csr<f64> {
        name.parse::<Problem>().unwrap().matrix().unwrap()
    }

    #[test]
    fn grids_have_few_diagonals_and_other_matrices_are_refused() {
        for (name, diagonals) in [("poisson2d:30", 5), ("poisson3d27:9", 27), ("convection3d:8", 7)] {
            let a = matrix(name);
            let stored = Dia::<f64>::from_csr(a.view()).unwrap();
            assert_eq!((stored.sections()[0].offsets().len(), stored.to_csr()), (diagonals, a), "{name}");
        }
        let mut scattered = crate::Coo::new(900, 900).unwrap();
        let a = matrix("poisson2d:30");
        for row in a.all_rows() {
            a.row(row).0.iter().for_each(|&column| scattered.push(row, column as usize, 1.0).unwrap());
        }
        scattered.push(200, 700, 1.0).unwrap();
        assert!(Dia::<f64>::from_csr(scattered.to_csr().view()).is_none());
        // One diagonal with a single entry.
        let thin = Csr::try_new(3, 3, vec![0, 2, 3, 4], vec![0, 2, 1, 2], vec![1.0; 4]).unwrap();
        assert!(Dia::<f64>::from_csr(thin.view()).is_some());
    }

    #[test]
    fn sections_have_diagonals_of_their_own() {
        // Rows 0 to 127 are tridiagonal, the others are coupled with the row 128 before them.
        let sections = vec![(2, vec![-1, 0, 1]), (1, vec![-128, 0])];
        let of = |section: usize, d: usize| [&[-1.0, 2.0, -3.0][..], &[5.0, 4.0]][section][d];
        let a = Dia::<f16>::from_diagonals(150, 150, sections, |section, d, _, out| out.fill(of(section, d)));
        let rows = a.to_csr();
        assert_eq!((rows.row(127).0, rows.row(127).1[2].wide()), (&[126, 127, 128][..], -3.0));
        assert_eq!((rows.row(149).0, rows.row(149).1[0].wide()), (&[21, 149][..], 5.0));
        assert_eq!((a.nnz(), a.values().len()), (rows.nnz(), 64 * (2 * 3 + 2)));
        let scaled = a.rescaled::<f64>(ScaleFactors { left: None, right: None, factor: 2.0 }).to_csr();
        assert_eq!((scaled.row(0).1, scaled.row(130).1), (&[4.0, -6.0][..], &[10.0, 8.0][..]));
        let (cpu, x) = (crate::device::Cpu::new(), (0..150).map(f64::from).collect::<Vec<_>>());
        let mut y = vec![0.0; 150];
        crate::device::Kernels::spmv(&cpu, 1.0, &a.into(), &x, 0.0, &mut y);
        for (row, &y) in y.iter().enumerate() {
            let (columns, values) = rows.row(row);
            let sum: f64 = columns.iter().zip(values).map(|(&j, value)| value.wide() * x[j as usize]).sum();
            assert_eq!(y, sum, "row {row}");
        }
    }

    #[test]
    fn factors_are_those_of_rows_and_columns() {
        let a = matrix("jump3d:12");
        let left: Vec<f64> = (0..a.rows()).map(|row| 2f64.powi(row as i32 % 5)).collect();
        let right: Vec<f64> = (0..a.rows()).map(|row| 2f64.powi(-(row as i32 % 7))).collect();
        let factors = ScaleFactors { left: Some(&left), right: Some(&right), factor: 0.5 };
        let expected: Csr<f16> = factors.apply(a.view());
        let stored = Dia::<f64>::from_csr(a.view()).unwrap();
        assert_eq!(stored.rescaled::<f16>(factors).to_csr(), expected);
        let planned = Dia::<f16>::plan(&Arc::new(a), 1).unwrap().fill(factors);
        assert_eq!(planned.to_csr(), expected);
    }
}

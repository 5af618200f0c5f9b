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
//! A diagonal is stored for all rows. Where a row has no entry on it, as at the boundary of a
//! grid, a zero is stored.

use std::sync::Arc;

use rayon::prelude::*;

use super::format::{Format, FormatPlan, RowEntries};
use super::{Csr, CsrRef, ScaleFactors};
use crate::number::Store;

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
/// assert_eq!(stored.offsets(), [-256, -16, -1, 0, 1, 16, 256]);
/// assert_eq!(stored.bytes(), 7 * (2 * a.rows() + 8));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Dia<S> {
    rows: usize,
    cols: usize,
    /// Column minus row of each diagonal, increasing.
    offsets: Vec<isize>,
    /// Entry (i, i + offsets[d]) is at ((i / WINDOW) · D + d) · WINDOW + i mod WINDOW.
    values: Vec<S>,
}

impl<S: Store> Dia<S> {
    /// Rows per window.
    pub const WINDOW: usize = WINDOW;

    /// The matrix by diagonals; `None` if its entries are not on a few well-filled ones.
    pub fn from_csr(a: CsrRef<'_, f64>) -> Option<Self> {
        let offsets = offsets_of(a)?;
        Some(Self::fill(a, offsets, ScaleFactors::ONE))
    }

    /// The matrix of given size whose value on diagonal `d` in the rows from `first` on is
    /// `values(d, first, buffer)`, written into the buffer; entries outside the matrix are ignored.
    pub(crate) fn from_diagonals(
        rows: usize,
        cols: usize,
        offsets: Vec<isize>,
        values: impl Fn(usize, usize, &mut [f64]) + Sync,
    ) -> Self {
        let mut dia = Self::zeros(rows, cols, offsets);
        let (offsets, count) = (&dia.offsets, dia.offsets.len());
        dia.values.par_chunks_mut((count * WINDOW * TASK).max(1)).enumerate().for_each(|(task, stored)| {
            let mut buffer = [0.0; WINDOW];
            for (slot, stored) in stored.chunks_exact_mut(WINDOW).enumerate() {
                let (first, d) = ((task * TASK + slot / count) * WINDOW, slot % count);
                let inside = inside(rows, cols, offsets[d], first);
                buffer.fill(0.0);
                if !inside.is_empty() {
                    let from = inside.start;
                    values(d, first + from, &mut buffer[inside]);
                }
                S::narrow_all(&buffer, stored);
            }
        });
        dia
    }

    fn zeros(rows: usize, cols: usize, offsets: Vec<isize>) -> Self {
        let values = vec![S::default(); rows.div_ceil(WINDOW) * WINDOW * offsets.len()];
        Dia { rows, cols, offsets, values }
    }

    /// All entries of `a` are on the diagonals `offsets`.
    fn fill(a: CsrRef<'_, f64>, offsets: Vec<isize>, factors: ScaleFactors<'_>) -> Self {
        let mut dia = Self::zeros(a.rows(), a.cols(), offsets);
        let offsets = &dia.offsets;
        dia.values.par_chunks_mut((offsets.len() * WINDOW * TASK).max(1)).enumerate().for_each(
            |(task, stored)| {
                let mut buffer = vec![0.0; offsets.len() * WINDOW];
                for (k, stored) in stored.chunks_exact_mut(buffer.len()).enumerate() {
                    let _all_are = gather(a, offsets, (task * TASK + k) * WINDOW, factors, &mut buffer);
                    S::narrow_all(&buffer, stored);
                }
            },
        );
        dia
    }

    /// The matrix on the diagonals `offsets`; `None` if an entry is elsewhere, or if `S` does not
    /// represent every value exactly.
    pub(crate) fn exact(a: CsrRef<'_, f64>, offsets: Vec<isize>) -> Option<Self> {
        let mut dia = Self::zeros(a.rows(), a.cols(), offsets);
        let offsets = &dia.offsets;
        let tasks = dia.values.par_chunks_mut((offsets.len() * WINDOW * TASK).max(1)).enumerate();
        let fits = tasks.all(|(task, stored)| {
            let mut buffer = vec![0.0; offsets.len() * WINDOW];
            stored.chunks_exact_mut(buffer.len()).enumerate().all(|(k, stored)| {
                let first = (task * TASK + k) * WINDOW;
                let all_are = gather(a, offsets, first, ScaleFactors::ONE, &mut buffer);
                S::narrow_all(&buffer, stored);
                // A fold without an early exit is vectorised.
                all_are && buffer.iter().zip(&*stored).fold(true, |all, (x, y)| all & (*x == y.wide()))
            })
        });
        fits.then_some(dia)
    }

    /// Copies the values of diagonal `d` in the rows from `first` on.
    #[inline(always)]
    pub(crate) fn copy_diagonal(&self, d: usize, first: usize, out: &mut [f64]) {
        let mut done = 0;
        while done < out.len() {
            let row = first + done;
            let values = &self.window(row / WINDOW, d)[row % WINDOW..];
            let out = &mut out[done..];
            out.iter_mut().zip(values).for_each(|(out, value)| *out = value.wide());
            done += values.len().min(out.len());
        }
    }

    /// The matrix times its factors, rounded to `T`.
    fn rescaled<T: Store>(&self, factors: ScaleFactors<'_>) -> Dia<T> {
        Dia::from_diagonals(self.rows, self.cols, self.offsets.clone(), |d, first, out| {
            let values = &self.window(first / WINDOW, d)[first % WINDOW..][..out.len()];
            out.iter_mut().zip(values).for_each(|(out, value)| *out = value.wide());
            scale_diagonal(out, first, self.offsets[d], factors);
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
        positions(self.rows, self.cols, &self.offsets)
    }

    /// Column minus row of each diagonal, increasing.
    pub fn offsets(&self) -> &[isize] {
        &self.offsets
    }

    /// Memory used by the arrays, in bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(&self.values[..]) + size_of_val(&self.offsets[..])
    }

    /// All stored values, zeros that fill diagonals and windows included.
    pub fn values(&self) -> &[S] {
        &self.values
    }

    /// The values of a diagonal in the rows of a window. Those outside the matrix are zero.
    fn window(&self, window: usize, d: usize) -> &[S] {
        &self.values[(window * self.offsets.len() + d) * WINDOW..][..WINDOW]
    }

    /// The values of a row, in the order of the diagonals, with their columns.
    fn row(&self, row: usize) -> impl Iterator<Item = (usize, S)> + '_ {
        (self.offsets.iter().enumerate()).filter_map(move |(d, &offset)| {
            let column = row.checked_add_signed(offset).filter(|&column| column < self.cols)?;
            Some((column, self.window(row / WINDOW, d)[row % WINDOW]))
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
        let zero = S::default();
        let counts =
            (0..self.rows).into_par_iter().map(|row| self.row(row).filter(|entry| entry.1 != zero).count());
        let mut row_ptr: Vec<usize> = counts.chain(rayon::iter::once(0)).collect();
        let nnz = crate::parallel::counts_to_starts(&mut row_ptr);
        let (mut columns, mut values) = (vec![0; nnz], vec![zero; nnz]);
        let parts = (&mut columns[..], &mut values[..]);
        crate::parallel::over_entries(&row_ptr, 0..self.rows, parts.0, parts.1, &|rows, columns, values| {
            let entries = rows.flat_map(|row| self.row(row).filter(|entry| entry.1 != zero));
            for ((column, value), entry) in columns.iter_mut().zip(values).zip(entries) {
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
pub(crate) fn inside(rows: usize, cols: usize, offset: isize, first: usize) -> std::ops::Range<usize> {
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
    (0..n).into_par_iter().with_min_len(4096).all(known).then_some(offsets)
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
            assert_eq!((stored.offsets().len(), stored.to_csr()), (diagonals, a), "{name}");
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

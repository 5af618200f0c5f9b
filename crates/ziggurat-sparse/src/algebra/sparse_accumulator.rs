//! Sparse accumulator: one row of a sparse result, summed term by term (Gilbert, Moler & Schreiber,
//! *Sparse matrices in Matlab*, 1992).
//!
//! Terms arrive in any order and columns repeat. There are two ways to merge equal columns:
//!
//! - [`SparseAccumulator`]: for every column of the matrix a sum and the last row with that column,
//!   and the list of columns of the current row. It needs no search and has no unpredictable
//!   branches. Neighbouring rows touch neighbouring columns, so the part in use stays in the
//!   first-level cache.
//! - [`HashAccumulator`]: a hash table with a power of two slots, at least twice the columns of the
//!   row, and linear probing (Nagasaka, Matsuoka, Azad & Buluç, 2018). It fits the cache even if
//!   the columns are far apart.
//!
//! Both add terms in the order of arrival, so both give the same bits. Cost: one step per term.

use super::accumulator::{FREE, Table};
use crate::matrix::Entries;
use crate::number::Real;

/// Accumulates the rows of a product.
pub(super) trait SumRow<T>: Send {
    /// Begins a row to which `terms()` terms will be added.
    fn begin_row(&mut self, terms: impl FnOnce() -> usize);

    /// Adds `scale` times a sparse row.
    fn add_row(&mut self, scale: T, columns: &[u32], values: &[T]);

    /// Sorts the columns of the current row.
    fn sort_row(&mut self);

    /// Moves the columns and sums of the current row to `entries`, in the order of arrival unless
    /// they were sorted.
    fn drain_row(&mut self, entries: &mut Entries<T>);

    /// Makes room for `terms` more terms of [`add_one`](Self::add_one).
    fn reserve(&mut self, terms: usize);

    /// Adds one term, for which there is room.
    fn add_one(&mut self, column: u32, term: T);

    /// Adds `scale` times the current row to the current row of `other`, and clears it here.
    fn move_to(&mut self, scale: T, other: &mut Self);
}

/// A sum for every column of the matrix.
///
/// ```
/// use ziggurat_sparse::{Csr, algebra::SparseAccumulator};
/// // One row of ten columns.
/// let a = Csr::collect(&[0, 3], 0..1, 10, || SparseAccumulator::new(10), |row, _, entries| {
///     row.begin();
///     for (column, value) in [(7, 1.0), (2, 2.0), (7, 0.5)] {
///         row.add(column, value);
///     }
///     row.sort();
///     row.drain_into(entries);
/// })?;
/// assert_eq!(a.row(0), (&[2, 7][..], &[2.0, 1.5][..]));
/// # Ok::<(), ziggurat_sparse::MatrixError>(())
/// ```
#[derive(Debug)]
pub struct SparseAccumulator<T> {
    slots: Vec<Slot<T>>,
    row: u32,
    /// The columns of the current row; only the first `len` are used.
    columns: Vec<u32>,
    len: usize,
}

/// The state of a column.
#[derive(Clone, Copy, Debug)]
struct Slot<T> {
    /// Zero except in the current row.
    sum: T,
    /// The last row with this column.
    last_row: u32,
}

impl<T: Real> SparseAccumulator<T> {
    /// For rows of a matrix with `cols` columns.
    pub fn new(cols: usize) -> Self {
        let slots = vec![Slot { sum: T::zero(), last_row: 0 }; cols];
        SparseAccumulator { slots, row: 0, columns: vec![0; 64], len: 0 }
    }

    /// Begins a row. The previous one must have been drained.
    #[inline]
    pub fn begin(&mut self) {
        self.row += 1;
        self.len = 0;
    }

    /// Adds a term.
    ///
    /// # Panics
    /// If the column is out of bounds.
    #[inline]
    pub fn add(&mut self, column: u32, value: T) {
        self.add_row(value, &[column], &[T::one()]);
    }

    /// Sorts the columns of the current row.
    #[inline]
    pub fn sort(&mut self) {
        self.columns[..self.len].sort_unstable();
    }

    /// Moves the columns and sums of the current row to `entries`, in the order of arrival unless
    /// they were sorted.
    #[inline]
    pub fn drain_into(&mut self, entries: &mut Entries<T>) {
        let slots = &mut self.slots[..];
        let take = |column: u32| std::mem::replace(&mut slots[column as usize].sum, T::zero());
        entries.extend_by(&self.columns[..self.len], take);
        self.len = 0;
    }
}

impl<T: Real> SumRow<T> for SparseAccumulator<T> {
    #[inline]
    fn begin_row(&mut self, _terms: impl FnOnce() -> usize) {
        self.begin();
    }

    #[inline]
    fn add_row(&mut self, scale: T, columns: &[u32], values: &[T]) {
        self.reserve(columns.len());
        // Locals, so that they stay in registers.
        let (slots, found) = (&mut self.slots[..], &mut self.columns[..]);
        let (row, mut len) = (self.row, self.len);
        for (&column, &value) in columns.iter().zip(values) {
            // Whether a column is new is unpredictable, so it selects an increment and not a
            // branch: a known column is listed as well, and overwritten by the next.
            let slot = &mut slots[column as usize];
            found[len] = column;
            len += usize::from(slot.last_row != row);
            slot.last_row = row;
            slot.sum += scale * value;
        }
        self.len = len;
    }

    #[inline]
    fn sort_row(&mut self) {
        self.sort();
    }

    #[inline]
    fn drain_row(&mut self, entries: &mut Entries<T>) {
        self.drain_into(entries);
    }

    #[inline]
    fn reserve(&mut self, terms: usize) {
        if self.columns.len() <= self.len + terms {
            self.columns.resize(2 * (self.len + terms), 0);
        }
    }

    #[inline]
    fn add_one(&mut self, column: u32, term: T) {
        let slot = &mut self.slots[column as usize];
        self.columns[self.len] = column;
        self.len += usize::from(slot.last_row != self.row);
        slot.last_row = self.row;
        slot.sum += term;
    }

    #[inline]
    fn move_to(&mut self, scale: T, other: &mut Self) {
        other.reserve(self.len);
        for &column in &self.columns[..self.len] {
            let sum = std::mem::replace(&mut self.slots[column as usize].sum, T::zero());
            other.add_one(column, scale * sum);
        }
        self.len = 0;
    }
}

/// A hash table, resized for every row.
pub(super) struct HashAccumulator<T> {
    table: Table,
    sums: Vec<T>,
    columns: Vec<u32>,
    cols: usize,
}

impl<T: Real> HashAccumulator<T> {
    /// For rows of a matrix with `cols` columns.
    pub(super) fn new(cols: usize) -> Self {
        HashAccumulator { table: Table::new(0), sums: Vec::new(), columns: Vec::new(), cols }
    }
}

impl<T: Real> SumRow<T> for HashAccumulator<T> {
    #[inline]
    fn begin_row(&mut self, terms: impl FnOnce() -> usize) {
        self.table.make_room(terms().min(self.cols));
        self.sums.resize(self.table.keys.len(), T::zero());
        self.columns.clear();
    }

    #[inline]
    fn add_row(&mut self, scale: T, columns: &[u32], values: &[T]) {
        for (&column, &value) in columns.iter().zip(values) {
            let slot = self.table.slot(column);
            if self.table.keys[slot] == FREE {
                self.table.keys[slot] = column;
                self.sums[slot] = T::zero();
                self.columns.push(column);
            }
            self.sums[slot] += scale * value;
        }
    }

    #[inline]
    fn sort_row(&mut self) {
        self.columns.sort_unstable();
    }

    #[inline]
    fn drain_row(&mut self, entries: &mut Entries<T>) {
        entries.extend_by(&self.columns, |column| self.sums[self.table.slot(column)]);
    }

    #[inline]
    fn reserve(&mut self, _terms: usize) {}

    #[inline]
    fn add_one(&mut self, column: u32, term: T) {
        self.add_row(term, &[column], &[T::one()]);
    }

    #[inline]
    fn move_to(&mut self, scale: T, other: &mut Self) {
        for &column in &self.columns {
            other.add_one(column, scale * self.sums[self.table.slot(column)]);
        }
        self.columns.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The rows that `sums` computes from some terms.
    fn rows(mut sums: impl SumRow<f64>, rows: &[Vec<(u32, f64)>], sorted: bool) -> Vec<Vec<(u32, f64)>> {
        let mut found = Vec::new();
        for terms in rows {
            sums.begin_row(|| terms.len());
            terms.iter().for_each(|&(column, value)| sums.add_row(value, &[column], &[1.0]));
            if sorted {
                sums.sort_row();
            }
            let mut row = Entries::default();
            sums.drain_row(&mut row);
            found.push(row.iter().collect());
        }
        found
    }

    proptest! {
        #[test]
        fn both_give_the_same_bits(
            terms in prop::collection::vec(prop::collection::vec((0..50u32, -9.0..9.0f64), 0..80), 0..6)
        ) {
            for sorted in [false, true] {
                let found = rows(SparseAccumulator::new(50), &terms, sorted);
                prop_assert_eq!(&found, &rows(HashAccumulator::new(50), &terms, sorted));
                for (row, terms) in found.iter().zip(&terms) {
                    prop_assert!(!sorted || row.windows(2).all(|pair| pair[0].0 < pair[1].0));
                    for &(column, sum) in row {
                        let expected = terms.iter().filter(|(c, _)| *c == column).fold(0.0, |sum, (_, x)| sum + x);
                        prop_assert_eq!(sum, expected);
                    }
                }
            }
        }
    }
}

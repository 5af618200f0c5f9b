//! Coordinate (COO) format: a list of triplets (row, column, value) in any order, for assembly.
//!
//! Triplets at the same position are summed when the list is converted to [`Csr`], in insertion
//! order, so the sum is bitwise reproducible. Converting n triplets takes two passes of a stable
//! counting sort by row (first into ranges of rows that fit in cache, then within them) and a sort
//! of each row that needs it; a list ordered by row needs neither pass. In addition to the list and
//! the result, the conversion needs memory for one more list.

use super::counting_sort::{counting_sort, ordered, row_ptr_of_ordered};
use super::csr::check_extents;
use super::sort_rows::sort_rows;
use super::{Csr, MatrixError};
use crate::number::{Real, Store};
use crate::parallel::first_position;

/// A matrix under assembly: triplets in any order, duplicates allowed.
///
/// ```
/// use ziggurat_sparse::Coo;
/// let mut a = Coo::new(2, 2)?;
/// a.push(1, 1, 3.0)?;
/// a.push(0, 0, 1.0)?;
/// a.push(1, 1, 0.5)?; // same position again: the values are summed
/// let a = a.into_csr();
/// assert_eq!((a.nnz(), a.get(1, 1)), (2, Some(3.5)));
/// # Ok::<(), ziggurat_sparse::MatrixError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Coo<T> {
    rows: usize,
    cols: usize,
    entry_rows: Vec<u32>,
    entry_columns: Vec<u32>,
    values: Vec<T>,
}

impl<T: Store> Coo<T> {
    /// A matrix without entries.
    pub fn new(rows: usize, cols: usize) -> Result<Self, MatrixError> {
        Self::with_capacity(rows, cols, 0)
    }

    /// A matrix without entries, with capacity for `capacity` triplets.
    pub fn with_capacity(rows: usize, cols: usize, capacity: usize) -> Result<Self, MatrixError> {
        check_extents(rows, cols)?;
        Ok(Coo {
            rows,
            cols,
            entry_rows: Vec::with_capacity(capacity),
            entry_columns: Vec::with_capacity(capacity),
            values: Vec::with_capacity(capacity),
        })
    }

    /// Takes ownership of three arrays as triplets, after checking that all lie within the matrix.
    ///
    /// ```
    /// use ziggurat_sparse::{Coo, MatrixError};
    /// let a = Coo::try_from_triplets(2, 3, vec![1, 0], vec![2, 0], vec![5.0, 1.0])?;
    /// assert_eq!(a.to_csr().row(1), (&[2][..], &[5.0][..]));
    /// let error = Coo::try_from_triplets(2, 3, vec![1, 7], vec![2, 0], vec![5.0, 1.0]).unwrap_err();
    /// assert_eq!(error, MatrixError::RowOutOfRange { entry: 1, row: 7, rows: 2 });
    /// # Ok::<(), MatrixError>(())
    /// ```
    pub fn try_from_triplets(
        rows: usize,
        cols: usize,
        entry_rows: Vec<u32>,
        entry_columns: Vec<u32>,
        values: Vec<T>,
    ) -> Result<Self, MatrixError> {
        check_extents(rows, cols)?;
        for (what, found) in [
            ("row indices of triplets", entry_rows.len()),
            ("column indices of triplets", entry_columns.len()),
        ] {
            if found != values.len() {
                return Err(MatrixError::Mismatch { what, expected: values.len(), found });
            }
        }
        let bad_row = first_position(&entry_rows, |&row| row as usize >= rows);
        let bad_column = first_position(&entry_columns, |&column| column as usize >= cols);
        if let Some(entry) = bad_row.into_iter().chain(bad_column).min() {
            check_place(entry, entry_rows[entry] as usize, entry_columns[entry] as usize, rows, cols)?;
        }
        Ok(Coo { rows, cols, entry_rows, entry_columns, values })
    }

    /// For triplets that lie within the matrix by construction.
    pub(crate) fn from_valid_parts(
        rows: usize,
        cols: usize,
        entry_rows: Vec<u32>,
        entry_columns: Vec<u32>,
        values: Vec<T>,
    ) -> Self {
        debug_assert!(entry_rows.len() == values.len() && entry_columns.len() == values.len());
        Coo { rows, cols, entry_rows, entry_columns, values }
    }

    /// Adds `value` at (`row`, `column`).
    ///
    /// ```
    /// use ziggurat_sparse::Coo;
    /// let mut a = Coo::new(2, 2)?;
    /// let error = a.push(0, 9, 1.0).unwrap_err();
    /// assert_eq!(error.to_string(), "row 0, entry 0: column 9 is outside the matrix, which has 2 columns");
    /// # Ok::<(), ziggurat_sparse::MatrixError>(())
    /// ```
    pub fn push(&mut self, row: usize, column: usize, value: T) -> Result<(), MatrixError> {
        check_place(self.len(), row, column, self.rows, self.cols)?;
        self.entry_rows.push(row as u32);
        self.entry_columns.push(column as u32);
        self.values.push(value);
        Ok(())
    }

    /// Adds triplets (row, column, value) up to the first one outside the matrix; those before it
    /// are kept.
    ///
    /// ```
    /// use ziggurat_sparse::Coo;
    /// let mut a = Coo::new(4, 4)?;
    /// a.extend((0..4).map(|i| (i, i, 2.0)))?;
    /// assert_eq!(a.len(), 4);
    /// # Ok::<(), ziggurat_sparse::MatrixError>(())
    /// ```
    pub fn extend(
        &mut self,
        triplets: impl IntoIterator<Item = (usize, usize, T)>,
    ) -> Result<(), MatrixError> {
        triplets.into_iter().try_for_each(|(row, column, value)| self.push(row, column, value))
    }

    /// The matrix in CSR format, with sorted rows and duplicates summed in insertion order.
    ///
    /// ```
    /// use ziggurat_sparse::Coo;
    /// let a = Coo::try_from_triplets(1, 3, vec![0; 3], vec![2, 0, 2], vec![1e16, 5.0, -1e16])?;
    /// assert_eq!(a.to_csr().row(0), (&[0, 2][..], &[5.0, 0.0][..])); // a sum of zero is kept as an entry
    /// # Ok::<(), ziggurat_sparse::MatrixError>(())
    /// ```
    pub fn to_csr(&self) -> Csr<T>
    where
        T: Real,
    {
        if ordered(&self.entry_rows) {
            return self.clone().into_csr();
        }
        let (row_ptr, columns, values) =
            counting_sort(self.rows, &self.entry_rows, &self.entry_columns, &self.values);
        sort_rows(self.rows, self.cols, row_ptr, columns, values)
    }

    /// [`Coo::to_csr`] that consumes the triplets. If they are ordered by row, their arrays are
    /// reused.
    pub fn into_csr(self) -> Csr<T>
    where
        T: Real,
    {
        let Coo { rows, cols, entry_rows, entry_columns, values } = self;
        let (row_ptr, columns, values) = if ordered(&entry_rows) {
            (row_ptr_of_ordered(rows, &entry_rows), entry_columns, values)
        } else {
            counting_sort(rows, &entry_rows, &entry_columns, &values)
        };
        drop(entry_rows);
        sort_rows(rows, cols, row_ptr, columns, values)
    }
}

impl<T> Coo<T> {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Number of triplets, including duplicates.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether there are no triplets.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Rows, columns and values of the triplets, in insertion order.
    pub fn triplets(&self) -> (&[u32], &[u32], &[T]) {
        (&self.entry_rows, &self.entry_columns, &self.values)
    }

    /// Consumes the matrix and returns the rows, columns and values of the triplets.
    pub fn into_parts(self) -> (Vec<u32>, Vec<u32>, Vec<T>) {
        (self.entry_rows, self.entry_columns, self.values)
    }
}

/// Rejects triplet number `entry` if it lies outside the matrix.
fn check_place(entry: usize, row: usize, column: usize, rows: usize, cols: usize) -> Result<(), MatrixError> {
    if row >= rows {
        return Err(MatrixError::RowOutOfRange { entry, row, rows });
    }
    if column >= cols {
        return Err(MatrixError::ColumnOutOfRange { row, entry, column, columns: cols });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// The expected result of the conversion, computed by a simple reference.
    fn oracle(coo: &Coo<f64>) -> Vec<(usize, u32, u64)> {
        let mut places = BTreeMap::new();
        let (rows, columns, values) = coo.triplets();
        for ((&row, &column), &value) in rows.iter().zip(columns).zip(values) {
            places.entry((row as usize, column)).and_modify(|sum| *sum += value).or_insert(value);
        }
        places.into_iter().map(|((row, column), value)| (row, column, value.to_bits())).collect()
    }

    fn entries(a: &Csr<f64>) -> Vec<(usize, u32, u64)> {
        let row = |row| {
            let (columns, values) = a.row(row);
            columns.iter().zip(values).map(move |(&column, value)| (row, column, value.to_bits()))
        };
        a.all_rows().flat_map(row).collect()
    }

    /// Triplets whose sums depend on their order, in an order that is neither random nor sorted.
    fn scrambled(rows: usize, cols: usize, count: usize) -> Coo<f64> {
        let mut coo = Coo::with_capacity(rows, cols, count).unwrap();
        let mut state = 88_172_645_463_325_252_u64;
        coo.extend((0..count).map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            // Squaring favours low rows, which makes buckets uneven.
            let row = ((state >> 32) as f64 / 2f64.powi(32)).powi(2) * rows as f64;
            (row as usize, (state % 1_000_003) as usize % cols, 1.0 / (state % 97 + 1) as f64)
        }))
        .unwrap();
        coo
    }

    #[test]
    fn many_buckets_and_blocks_agree_with_the_oracle_on_any_number_of_threads() {
        for (rows, cols) in [(50_000, 300), (1, 100_000), (3, 2), (2_000_000, 7)] {
            let coo = scrambled(rows, cols, 200_000);
            let expected = oracle(&coo);
            for threads in [1, 2, 5] {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                let (borrowed, owned) = pool.install(|| (coo.to_csr(), coo.clone().into_csr()));
                assert_eq!(entries(&borrowed), expected, "{rows} x {cols}, {threads} threads");
                assert_eq!(owned, borrowed);
            }
        }
    }

    #[test]
    fn a_fault_names_the_triplet() {
        let mut coo = Coo::new(2, 3).unwrap();
        coo.push(1, 2, 1.0).unwrap();
        assert_eq!(coo.push(2, 0, 1.0), Err(MatrixError::RowOutOfRange { entry: 1, row: 2, rows: 2 }));
        let column = |entry| MatrixError::ColumnOutOfRange { row: 1, entry, column: 3, columns: 3 };
        assert_eq!(coo.push(1, 3, 1.0), Err(column(1)));
        assert_eq!(coo.len(), 1); // rejected triplets are not stored
        assert_eq!(coo.extend([(0, 0, 1.0), (1, 3, 1.0), (1, 1, 1.0)]), Err(column(2)));
        assert_eq!(coo.len(), 2);
        assert_eq!(Coo::try_from_triplets(2, 3, vec![0, 1], vec![2, 3], vec![1.0; 2]), Err(column(1)));
        assert_eq!(
            Coo::try_from_triplets(2, 3, vec![0, 1], vec![2], vec![1.0; 2]).unwrap_err().to_string(),
            "column indices of triplets: expected 2, found 1"
        );
        let large = u32::MAX as usize + 1;
        assert_eq!(Coo::<f64>::new(large, 1), Err(MatrixError::TooLarge { what: "rows", extent: large }));
    }

    #[test]
    fn ordered_triplets_keep_their_arrays() {
        let coo = Coo::try_from_triplets(3, 2, vec![0, 0, 2], vec![0, 1, 1], vec![1.0, 2.0, 3.0]).unwrap();
        let before = coo.values.as_ptr();
        let a = coo.into_csr();
        assert_eq!((a.row_ptr(), a.values().as_ptr()), (&[0, 2, 2, 3][..], before));
    }

    #[test]
    fn no_triplets_make_an_empty_matrix() {
        for (rows, cols) in [(0, 0), (0, 5), (5, 0)] {
            let a = Coo::<f64>::new(rows, cols).unwrap().into_csr();
            assert_eq!((a.rows(), a.cols(), a.nnz()), (rows, cols, 0));
        }
    }

    proptest! {
        #[test]
        fn duplicates_are_summed_in_order(
            rows in 1usize..30,
            cols in 1usize..6,
            raw in proptest::collection::vec((any::<u16>(), any::<u16>(), -1e3..1e3f64), 0..200),
        ) {
            let mut coo = Coo::new(rows, cols).unwrap();
            coo.extend(raw.iter().map(|&(r, c, v)| (r as usize % rows, c as usize % cols, v))).unwrap();
            prop_assert_eq!(entries(&coo.to_csr()), oracle(&coo));
            prop_assert_eq!(coo.to_csr(), coo.into_csr());
        }
    }
}

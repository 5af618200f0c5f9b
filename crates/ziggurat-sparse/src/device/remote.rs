//! The part of a matrix in columns that other processes own.
//!
//! ```text
//! A x = A_own x_own + A_remote x_halo
//! ```
//!
//! A process owns some rows of a matrix and the corresponding vector elements. Most entries of its
//! rows lie in columns that it owns. The others, in a few boundary rows, multiply elements received
//! from neighbours: the [halo](Halo). Bytes: as for CSR, and 4 per boundary row.

use std::sync::Arc;

use super::Memory;
use crate::matrix::{Csr, MatrixError};
use crate::number::Store;

/// How the elements of a halo are obtained: a type of the device that [exchanges them].
///
/// [exchanges them]: super::Processes::halo_values
pub type Halo = Arc<dyn Memory>;

/// The entries of a process's rows in columns that other processes own.
///
/// ```
/// use std::sync::Arc;
/// use ziggurat_sparse::{Csr, device::Remote};
/// // Of the three rows of a process, the last has an entry in the only halo column.
/// let matrix = Csr::try_new(1, 1, vec![0, 1], vec![0], vec![-1.0])?;
/// let remote = Remote { rows: vec![2], matrix, halo: Arc::new(()) };
/// assert_eq!(remote.row(2), (&[0][..], &[-1.0][..]));
/// assert_eq!(remote.row(1), (&[][..], &[][..]));
/// assert!(remote.check(3).is_ok() && remote.check(2).is_err());
/// # Ok::<(), ziggurat_sparse::MatrixError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Remote<S: 'static> {
    /// The rows of the process that have such entries, in increasing order.
    pub rows: Vec<u32>,
    /// One row for each of them, one column for each halo element.
    pub matrix: Csr<S>,
    /// How the halo elements are obtained.
    pub halo: Halo,
}

impl<S: Store> Remote<S> {
    /// Checks that this fits a matrix of `own_rows` rows.
    ///
    /// # Errors
    /// If `rows` and the matrix differ in their number of rows, or rows do not increase, or a row
    /// is out of range.
    pub fn check(&self, own_rows: usize) -> Result<(), MatrixError> {
        let mismatch = |what, expected, found| Err(MatrixError::Mismatch { what, expected, found });
        if self.rows.len() != self.matrix.rows() {
            return mismatch("rows with remote columns", self.rows.len(), self.matrix.rows());
        }
        if let Some(pair) = self.rows.windows(2).find(|pair| pair[0] >= pair[1]) {
            let after = pair[0] as usize + 1;
            return mismatch("row with remote columns (rows must increase)", after, pair[1] as usize);
        }
        match self.rows.last() {
            Some(&last) if last as usize >= own_rows => {
                mismatch("rows of a matrix with remote columns", last as usize + 1, own_rows)
            }
            _ => Ok(()),
        }
    }

    /// Halo columns and values of one of the process's rows, found by binary search.
    pub fn row(&self, own_row: usize) -> (&[u32], &[S]) {
        match self.rows.binary_search_by_key(&own_row, |&row| row as usize) {
            Ok(at) => self.matrix.row(at),
            Err(_) => (&[], &[]),
        }
    }

    /// Memory used by the arrays, in bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(&self.rows[..]) + self.matrix.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_belong_to_the_matrix_is_refused() {
        let remote = |rows: &[u32], found: usize| Remote {
            rows: rows.to_vec(),
            matrix: Csr::<f64>::try_new(found, 2, vec![0; found + 1], vec![], vec![]).unwrap(),
            halo: Arc::new(()),
        };
        assert_eq!(remote(&[], 0).check(0), Ok(()));
        assert_eq!(remote(&[0, 3], 2).check(4), Ok(()));
        for (wrong, own_rows) in [(remote(&[0, 3], 2), 3), (remote(&[0], 2), 4), (remote(&[1, 1], 2), 4)] {
            assert!(matches!(wrong.check(own_rows), Err(MatrixError::Mismatch { .. })), "{wrong:?}");
        }
        assert_eq!(remote(&[0, 3], 2).bytes(), 8 + 24);
    }
}

//! The part of a matrix whose columns other processes hold.
//!
//! ```text
//! A x = A_own x_own + A_remote x_halo
//! ```
//!
//! A process owns some rows of a matrix and the elements of vectors that belong to them. Most entries of its rows are in columns
//! of its own; the others, in a few rows at the border, multiply elements that neighbours send: the halo. What a halo
//! is, the device says ([`Device::Halo`](super::Device::Halo)). Bytes: as CSR, and 4 for each row at the border.

use crate::matrix::{Csr, MatrixError};
use crate::number::Store;

/// The halo of a device of one process: there is none.
///
/// ```
/// use ziggurat_sparse::device::{Cpu, Device, Nobody};
/// fn halo_of<D: Device<Halo = Nobody>>(_: &D) -> Option<Nobody> {
///     None // nothing else can be said
/// }
/// assert!(halo_of(&Cpu::new()).is_none());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nobody {}

/// The entries of a process's rows in columns that others hold.
///
/// ```
/// use ziggurat_sparse::{Csr, device::Remote};
/// // Of three rows of its own, the last has an entry in the only column of the halo.
/// let remote = Remote { rows: vec![2], matrix: Csr::try_new(1, 1, vec![0, 1], vec![0], vec![-1.0])?, halo: () };
/// assert_eq!(remote.row(2), (&[0][..], &[-1.0][..]));
/// assert_eq!(remote.row(1), (&[][..], &[][..]));
/// assert!(remote.check(3).is_ok() && remote.check(2).is_err());
/// # Ok::<(), ziggurat_sparse::MatrixError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Remote<S: 'static, H> {
    /// The process's rows that have such entries, increasing.
    pub rows: Vec<u32>,
    /// A row for each of them, a column for each element of the halo.
    pub matrix: Csr<S>,
    /// How the elements of the halo are reached.
    pub halo: H,
}

impl<S: Store, H> Remote<S, H> {
    /// Checks that this belongs to a matrix of so many rows.
    ///
    /// # Errors
    /// If there is not a row of the matrix for each row that is named, or those do not increase, or are not there.
    pub fn check(&self, own_rows: usize) -> Result<(), MatrixError> {
        let mismatch = |what, expected, found| Err(MatrixError::Mismatch { what, expected, found });
        if self.rows.len() != self.matrix.rows() {
            return mismatch("rows with remote columns", self.rows.len(), self.matrix.rows());
        }
        if let Some(pair) = self.rows.windows(2).find(|pair| pair[0] >= pair[1]) {
            let after = pair[0] as usize + 1;
            return mismatch("row with remote columns, which must increase", after, pair[1] as usize);
        }
        match self.rows.last() {
            Some(&last) if last as usize >= own_rows => {
                mismatch("rows of a matrix with remote columns", last as usize + 1, own_rows)
            }
            _ => Ok(()),
        }
    }

    /// Columns in the halo and values of one of the process's rows; binary search.
    pub fn row(&self, own_row: usize) -> (&[u32], &[S]) {
        match self.rows.binary_search_by_key(&own_row, |&row| row as usize) {
            Ok(at) => self.matrix.row(at),
            Err(_) => (&[], &[]),
        }
    }

    /// Bytes the arrays take in memory.
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
            halo: (),
        };
        assert_eq!(remote(&[], 0).check(0), Ok(()));
        assert_eq!(remote(&[0, 3], 2).check(4), Ok(()));
        for (wrong, own_rows) in [(remote(&[0, 3], 2), 3), (remote(&[0], 2), 4), (remote(&[1, 1], 2), 4)] {
            assert!(matches!(wrong.check(own_rows), Err(MatrixError::Mismatch { .. })), "{wrong:?}");
        }
        assert_eq!(remote(&[0, 3], 2).bytes(), 8 + 24);
    }
}

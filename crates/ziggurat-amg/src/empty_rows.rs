//! Empty rows: rows without a nonzero entry, such as the rows of isolated nodes of a graph.
//!
//! Their equations read 0 = b_i, so neither the unknown nor its diagonal entry matters to the
//! solution. Smoothers, factors and bounds on the spectrum divide by diagonal entries, so they are
//! computed from a copy of the matrix with a diagonal entry in every empty row: the largest one of
//! the matrix, which is in the range of its numbers. Coarsening needs no such entry, because it
//! leaves rows without connections out. Products and residuals always use the given
//! matrix.
//!
//! Cost: reading the first entry of every row; a copy of the matrix if there are empty rows.

use ziggurat_sparse::matrix::Entries;
use ziggurat_sparse::{Csr, CsrRef, MatrixError, parallel};

use crate::halo::Halo;

/// The owned rows without a nonzero entry, in increasing order and counted from the first owned
/// row.
///
/// ```
/// use ziggurat_amg::{empty_rows, halo::Whole};
/// use ziggurat_sparse::Csr;
/// let a = Csr::try_new(3, 3, vec![0, 1, 1, 2], vec![0, 2], vec![1.0, 0.0])?;
/// assert_eq!(empty_rows(a.view(), &Whole::new(3)), [1, 2]);
/// # Ok::<(), ziggurat_sparse::MatrixError>(())
/// ```
pub fn empty_rows<H: Halo>(a: CsrRef<'_, f64>, halo: &H) -> Vec<usize> {
    let own = halo.owned();
    parallel::filter(own.len(), |row| a.row(own.start + row).1.iter().all(|&value| value == 0.0))
}

/// A matrix whose owned rows all have an entry.
pub(crate) enum Filled<'a> {
    /// The given matrix, which has no empty rows.
    Given(CsrRef<'a, f64>),
    /// A copy with a diagonal entry in every empty row.
    Copy(Csr<f64>),
}

impl<'a> Filled<'a> {
    /// The matrix with a diagonal entry in every empty row. Collective.
    pub(crate) fn of<H: Halo>(a: CsrRef<'a, f64>, halo: &H) -> Result<Self, MatrixError> {
        let own = halo.owned();
        let empty = empty_rows(a, halo);
        if !halo.any(!empty.is_empty()) {
            return Ok(Filled::Given(a));
        }
        let sizes = a.diagonal(own.clone()).into_iter().map(f64::abs);
        let largest = halo.largest(sizes.fold(0.0, f64::max));
        let value = if largest > 0.0 && largest.is_finite() { largest } else { 1.0 };
        let copy = |(): &mut (), row: usize, entries: &mut Entries<f64>| {
            let is_empty = own.contains(&row) && empty.binary_search(&(row - own.start)).is_ok();
            if is_empty {
                entries.push(row as u32, value);
            } else {
                let (columns, values) = a.row(row);
                entries.extend(columns, values);
            }
        };
        Ok(Filled::Copy(Csr::collect(a.row_ptr(), a.all_rows(), a.cols(), || (), copy)?))
    }

    /// The matrix.
    pub(crate) fn view(&self) -> CsrRef<'_, f64> {
        match self {
            Filled::Given(a) => *a,
            Filled::Copy(a) => a.view(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::halo::Whole;

    #[test]
    fn only_empty_rows_get_an_entry() {
        // [ -4 1 0 0 ; 1 2 0 0 ; 0 (0 stored) 0 0 ; 0 0 0 0 ]
        let columns = vec![0, 1, 0, 1, 2];
        let a = Csr::try_new(4, 4, vec![0, 2, 4, 5, 5], columns, vec![-4.0, 1.0, 1.0, 2.0, 0.0]).unwrap();
        let filled = Filled::of(a.view(), &Whole::new(4)).unwrap();
        assert_eq!(filled.view().row(1), a.row(1));
        for row in [2, 3] {
            assert_eq!(filled.view().row(row), (&[row as u32][..], &[4.0][..]));
        }
        let zero = Csr::try_new(1, 1, vec![0, 0], vec![], vec![]).unwrap();
        assert_eq!(Filled::of(zero.view(), &Whole::new(1)).unwrap().view().row(0), (&[0][..], &[1.0][..]));
        let full = Csr::<f64>::identity(3).unwrap();
        assert!(matches!(Filled::of(full.view(), &Whole::new(3)).unwrap(), Filled::Given(_)));
    }
}

//! Conversions for matrices of the crate [`faer`](https://docs.rs/faer).
//!
//! | | from | to |
//! |---|---|---|
//! | `SparseRowMat<I, T>` | `TryFrom`, any index | `From` with `usize` indices, `TryFrom` with `u32` |
//! | `SparseColMat<I, T>` | `TryFrom`, any index | `From` with `usize` indices, `TryFrom` with `u32` |
//! | `SparseRowMatRef<'_, I, T>`, `SparseColMatRef<'_, I, T>` | `TryFrom`, any index | |
//!
//! for `T` = `f64` or `f32`, owned or borrowed. Unsorted rows are sorted, and duplicates are
//! summed. faer's 32-bit matrices also have 32-bit row pointers and reserve one bit of each index.
//!
//! ```
//! use faer::sparse::{SparseRowMat, Triplet};
//! use ziggurat_sparse::Csr;
//! let triplets = [Triplet::new(0_usize, 0_usize, 2.0), Triplet::new(1, 0, -1.0)];
//! let theirs = SparseRowMat::try_new_from_triplets(2, 2, &triplets).unwrap();
//! let ours = Csr::try_from(&theirs)?;
//! assert_eq!(ours.row(1), (&[0][..], &[-1.0][..]));
//! let back = SparseRowMat::<usize, f64>::from(&ours);
//! assert_eq!(back.get(0, 0), Some(&2.0));
//! # Ok::<(), ziggurat_sparse::MatrixError>(())
//! ```

use std::borrow::Cow;

use faer::Index;
use faer::sparse::{
    SparseColMat, SparseColMatRef, SparseRowMat, SparseRowMatRef, SymbolicSparseColMat, SymbolicSparseRowMat,
};

use super::csc::{flip, from_columns, narrow};
use crate::{Csr, MatrixError, Real};

/// Removes the gaps that faer allows in compressed arrays: before the first row, after each row,
/// after the last.
fn compact<I: Index, T: Copy>(
    ptr: &[I],
    lens: Option<&[I]>,
    indices: &[I],
    values: Cow<'_, [T]>,
) -> (Vec<usize>, Vec<u32>, Vec<T>) {
    let majors = ptr.len() - 1;
    if lens.is_none() && ptr[0].zx() == 0 && ptr[majors].zx() == indices.len() {
        let indices = indices.iter().map(|index| narrow(index.zx())).collect();
        return (ptr.iter().map(|start| start.zx()).collect(), indices, values.into_owned());
    }
    let (mut out_ptr, mut out_indices, mut out_values) = (vec![0], Vec::new(), Vec::new());
    for major in 0..majors {
        let begin = ptr[major].zx();
        let end = lens.map_or_else(|| ptr[major + 1].zx(), |lens| begin + lens[major].zx());
        out_indices.extend(indices[begin..end].iter().map(|index| narrow(index.zx())));
        out_values.extend_from_slice(&values[begin..end]);
        out_ptr.push(out_indices.len());
    }
    (out_ptr, out_indices, out_values)
}

impl<I: Index, T: Real> TryFrom<SparseRowMat<I, T>> for Csr<T> {
    type Error = MatrixError;

    fn try_from(a: SparseRowMat<I, T>) -> Result<Self, MatrixError> {
        let (symbolic, values) = a.into_parts();
        let (rows, cols, row_ptr, row_lens, columns) = symbolic.into_parts();
        let (row_ptr, columns, values) = compact(&row_ptr, row_lens.as_deref(), &columns, values.into());
        Csr::from_unsorted(rows, cols, row_ptr, columns, values)
    }
}

impl<I: Index, T: Real> TryFrom<SparseColMat<I, T>> for Csr<T> {
    type Error = MatrixError;

    fn try_from(a: SparseColMat<I, T>) -> Result<Self, MatrixError> {
        let (symbolic, values) = a.into_parts();
        let (rows, cols, column_ptr, column_lens, entry_rows) = symbolic.into_parts();
        let (column_ptr, entry_rows, values) =
            compact(&column_ptr, column_lens.as_deref(), &entry_rows, values.into());
        from_columns(rows, cols, column_ptr, entry_rows, values)
    }
}

impl<I: Index, T: Real> TryFrom<SparseRowMatRef<'_, I, T>> for Csr<T> {
    type Error = MatrixError;

    fn try_from(a: SparseRowMatRef<'_, I, T>) -> Result<Self, MatrixError> {
        let (rows, cols, row_ptr, row_lens, columns) = a.symbolic().parts();
        let (row_ptr, columns, values) = compact(row_ptr, row_lens, columns, a.val().into());
        Csr::from_unsorted(rows, cols, row_ptr, columns, values)
    }
}

impl<I: Index, T: Real> TryFrom<SparseColMatRef<'_, I, T>> for Csr<T> {
    type Error = MatrixError;

    fn try_from(a: SparseColMatRef<'_, I, T>) -> Result<Self, MatrixError> {
        let (rows, cols, column_ptr, column_lens, entry_rows) = a.symbolic().parts();
        let (column_ptr, entry_rows, values) = compact(column_ptr, column_lens, entry_rows, a.val().into());
        from_columns(rows, cols, column_ptr, entry_rows, values)
    }
}

impl<I: Index, T: Real> TryFrom<&SparseRowMat<I, T>> for Csr<T> {
    type Error = MatrixError;

    fn try_from(a: &SparseRowMat<I, T>) -> Result<Self, MatrixError> {
        a.as_ref().try_into()
    }
}

impl<I: Index, T: Real> TryFrom<&SparseColMat<I, T>> for Csr<T> {
    type Error = MatrixError;

    fn try_from(a: &SparseColMat<I, T>) -> Result<Self, MatrixError> {
        a.as_ref().try_into()
    }
}

fn widened(columns: &[u32]) -> Vec<usize> {
    columns.iter().map(|&column| column as usize).collect()
}

impl<T: Real> From<Csr<T>> for SparseRowMat<usize, T> {
    fn from(a: Csr<T>) -> Self {
        let (rows, cols) = (a.rows(), a.cols());
        let (row_ptr, columns, values) = a.into_parts();
        SparseRowMat::new(
            SymbolicSparseRowMat::new_checked(rows, cols, row_ptr, None, widened(&columns)),
            values,
        )
    }
}

impl<T: Real> From<Csr<T>> for SparseColMat<usize, T> {
    fn from(a: Csr<T>) -> Self {
        let (rows, cols) = (a.rows(), a.cols());
        let (column_ptr, entry_rows, values) = flip(a).into_parts();
        SparseColMat::new(
            SymbolicSparseColMat::new_checked(rows, cols, column_ptr, None, widened(&entry_rows)),
            values,
        )
    }
}

/// faer asserts that indices fit its signed type; here this is an error, since matrices are user
/// input.
fn check_width<T>(a: &Csr<T>) -> Result<(), MatrixError> {
    let most = i32::MAX as usize;
    for (what, extent) in [("rows", a.rows()), ("columns", a.cols()), ("entries", a.nnz())] {
        if extent > most {
            return Err(MatrixError::IndexWidth { what, extent, most });
        }
    }
    Ok(())
}

impl<T: Real> TryFrom<Csr<T>> for SparseRowMat<u32, T> {
    type Error = MatrixError;

    fn try_from(a: Csr<T>) -> Result<Self, MatrixError> {
        check_width(&a)?;
        let (rows, cols) = (a.rows(), a.cols());
        let (row_ptr, columns, values) = a.into_parts();
        let row_ptr = row_ptr.into_iter().map(|start| start as u32).collect();
        Ok(SparseRowMat::new(SymbolicSparseRowMat::new_checked(rows, cols, row_ptr, None, columns), values))
    }
}

impl<T: Real> TryFrom<Csr<T>> for SparseColMat<u32, T> {
    type Error = MatrixError;

    fn try_from(a: Csr<T>) -> Result<Self, MatrixError> {
        check_width(&a)?;
        let (rows, cols) = (a.rows(), a.cols());
        let (column_ptr, entry_rows, values) = flip(a).into_parts();
        let column_ptr = column_ptr.into_iter().map(|start| start as u32).collect();
        let symbolic = SymbolicSparseColMat::new_checked(rows, cols, column_ptr, None, entry_rows);
        Ok(SparseColMat::new(symbolic, values))
    }
}

impl<T: Real> From<&Csr<T>> for SparseRowMat<usize, T> {
    fn from(a: &Csr<T>) -> Self {
        a.clone().into()
    }
}

impl<T: Real> From<&Csr<T>> for SparseColMat<usize, T> {
    fn from(a: &Csr<T>) -> Self {
        a.clone().into()
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples::samples;
    use super::*;

    /// To faer: same entries by faer's own access. Back: the same matrix.
    fn round_trips<T: Real>() {
        for a in samples::<T>() {
            let rows = SparseRowMat::<usize, T>::from(a.clone());
            let columns = SparseColMat::<usize, T>::from(a.clone());
            let narrow_rows = SparseRowMat::<u32, T>::try_from(a.clone()).unwrap();
            let narrow_columns = SparseColMat::<u32, T>::try_from(a.clone()).unwrap();
            for row in a.all_rows() {
                for column in 0..a.cols() {
                    let expected = a.get(row, column);
                    assert_eq!(rows.get(row, column).copied(), expected);
                    assert_eq!(columns.get(row, column).copied(), expected);
                    assert_eq!(narrow_rows.get(row, column).copied(), expected);
                    assert_eq!(narrow_columns.get(row, column).copied(), expected);
                }
            }
            assert_eq!((columns.nrows(), columns.ncols()), (a.rows(), a.cols()));
            assert_eq!(Csr::try_from(&rows).as_ref(), Ok(&a));
            assert_eq!(Csr::try_from(&columns).as_ref(), Ok(&a));
            assert_eq!(Csr::try_from(narrow_rows.as_ref()).as_ref(), Ok(&a));
            assert_eq!(Csr::try_from(narrow_columns.as_ref()).as_ref(), Ok(&a));
            assert_eq!(SparseRowMat::<usize, T>::from(&a).symbolic().col_idx(), rows.symbolic().col_idx());
            assert_eq!(SparseColMat::<usize, T>::from(&a).symbolic().row_idx(), columns.symbolic().row_idx());
            assert_eq!(Csr::try_from(rows).as_ref(), Ok(&a));
            assert_eq!(Csr::try_from(columns).as_ref(), Ok(&a));
            assert_eq!(Csr::try_from(narrow_rows).as_ref(), Ok(&a));
            assert_eq!(Csr::try_from(narrow_columns).as_ref(), Ok(&a));
        }
    }

    #[test]
    fn both_ways() {
        round_trips::<f64>();
        round_trips::<f32>();
    }

    #[test]
    fn gaps_and_disorder_are_mended() {
        // Row 0 starts at slot 1 and uses 2 of 3 slots, out of order; row 1 has one entry; the
        // slots before and after are unused.
        let (row_ptr, lens) = (vec![1_u32, 4, 5], vec![2, 1]);
        let columns = vec![0, 2, 0, 1, 1, 2];
        let symbolic =
            SymbolicSparseRowMat::new_unsorted_checked(2, 3, row_ptr.clone(), Some(lens), columns.clone());
        let values = vec![9.0, 1.0, 2.0, 9.0, 3.0, 9.0];
        let a = Csr::try_from(SparseRowMat::new(symbolic, values.clone())).unwrap();
        assert_eq!((a.row(0), a.row(1)), ((&[0, 2][..], &[2.0, 1.0][..]), (&[1][..], &[3.0][..])));
        // Without lengths, the third slot of row 0 counts.
        let symbolic = SymbolicSparseRowMat::new_unsorted_checked(2, 3, row_ptr, None, columns);
        let a = Csr::try_from(SparseRowMat::new(symbolic, values)).unwrap();
        assert_eq!(a.row(0), (&[0, 1, 2][..], &[2.0, 9.0, 1.0][..]));
    }

    #[test]
    fn what_does_not_fit_is_an_error() {
        let wide = Csr::<f64>::try_new(0, u32::MAX as usize, vec![0], vec![], vec![]).unwrap();
        let error = SparseRowMat::<u32, f64>::try_from(wide).unwrap_err();
        assert!(matches!(error, MatrixError::IndexWidth { what: "columns", .. }), "{error}");
        let symbolic = SymbolicSparseRowMat::<usize>::new_checked(0, 1 << 32, vec![0], None, vec![]);
        let theirs = SparseRowMat::<usize, f64>::new(symbolic, vec![]);
        assert_eq!(Csr::try_from(theirs), Err(MatrixError::TooLarge { what: "columns", extent: 1 << 32 }));
        let symbolic = SymbolicSparseColMat::<usize>::new_checked(1 << 32, 0, vec![0], None, vec![]);
        let theirs = SparseColMat::<usize, f64>::new(symbolic, vec![]);
        assert_eq!(Csr::try_from(theirs), Err(MatrixError::TooLarge { what: "rows", extent: 1 << 32 }));
    }
}

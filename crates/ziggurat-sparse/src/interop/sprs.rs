//! Conversions for matrices of the crate [`sprs`](https://docs.rs/sprs).
//!
//! | | from | to |
//! |---|---|---|
//! | `CsMatI<T, I, Iptr>`, rows or columns | `TryFrom`, any index | |
//! | references to it, and to `CsMatViewI` | as above; the arrays are copied | |
//! | `CsMat<T>`, rows | as above | `From` |
//! | `CsMatI<T, u32, usize>`, rows | as above | `From`: the arrays are moved, not copied |
//!
//! for `T` = `f64` or `f32`; `From` also works on `&Csr<T>`. For compressed columns, convert with
//! sprs: `CsMat::from(a).into_csc()`.
//!
//! ```
//! use sprs::CsMat;
//! use ziggurat_sparse::Csr;
//! let theirs = CsMat::new((2, 2), vec![0, 1, 2], vec![1, 0], vec![3.0, 4.0]);
//! let ours = Csr::try_from(&theirs)?;
//! assert_eq!(ours.get(0, 1), Some(3.0));
//! assert_eq!(CsMat::from(ours), theirs);
//! # Ok::<(), ziggurat_sparse::MatrixError>(())
//! ```

use std::ops::Deref;

use sprs::{CsMatBase, CsMatI, SpIndex};

use super::csc::{from_columns, narrow};
use crate::{Csr, MatrixError, Real};

impl<I: SpIndex, Iptr: SpIndex, T: Real> TryFrom<CsMatI<T, I, Iptr>> for Csr<T> {
    type Error = MatrixError;

    fn try_from(a: CsMatI<T, I, Iptr>) -> Result<Self, MatrixError> {
        let (rows, cols, by_row) = (a.rows(), a.cols(), a.is_csr());
        // An owned matrix may be a slice of a larger one, whose pointers do not start at zero.
        let ptr = a.proper_indptr().iter().map(|start| start.index()).collect();
        let (_, indices, values) = a.into_raw_storage();
        let indices = indices.into_iter().map(|index| index.try_index().map_or(u32::MAX, narrow)).collect();
        if by_row {
            Csr::from_unsorted(rows, cols, ptr, indices, values)
        } else {
            from_columns(rows, cols, ptr, indices, values)
        }
    }
}

impl<T, I, Iptr, P, J, V> TryFrom<&CsMatBase<T, I, P, J, V, Iptr>> for Csr<T>
where
    T: Real,
    I: SpIndex,
    Iptr: SpIndex,
    P: Deref<Target = [Iptr]>,
    J: Deref<Target = [I]>,
    V: Deref<Target = [T]>,
{
    type Error = MatrixError;

    fn try_from(a: &CsMatBase<T, I, P, J, V, Iptr>) -> Result<Self, MatrixError> {
        let (rows, cols, values) = (a.rows(), a.cols(), a.data().to_vec());
        let ptr = a.proper_indptr().iter().map(|start| start.index()).collect();
        let indices = a.indices().iter().map(|index| index.try_index().map_or(u32::MAX, narrow)).collect();
        if a.is_csr() {
            Csr::from_unsorted(rows, cols, ptr, indices, values)
        } else {
            from_columns(rows, cols, ptr, indices, values)
        }
    }
}

impl<T: Real> From<Csr<T>> for CsMatI<T, usize> {
    fn from(a: Csr<T>) -> Self {
        let shape = (a.rows(), a.cols());
        let (row_ptr, columns, values) = a.into_parts();
        CsMatI::new(shape, row_ptr, columns.into_iter().map(|column| column as usize).collect(), values)
    }
}

impl<T: Real> From<Csr<T>> for CsMatI<T, u32, usize> {
    fn from(a: Csr<T>) -> Self {
        let shape = (a.rows(), a.cols());
        let (row_ptr, columns, values) = a.into_parts();
        CsMatI::new(shape, row_ptr, columns, values)
    }
}

impl<T: Real> From<&Csr<T>> for CsMatI<T, usize> {
    fn from(a: &Csr<T>) -> Self {
        a.clone().into()
    }
}

impl<T: Real> From<&Csr<T>> for CsMatI<T, u32, usize> {
    fn from(a: &Csr<T>) -> Self {
        a.clone().into()
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples::samples;
    use super::*;
    use sprs::CsMat;

    /// To sprs: same entries by its own access. Back, by row or by column: the same matrix.
    fn round_trips<T: Real>() {
        for a in samples::<T>() {
            let wide = CsMat::<T>::from(a.clone());
            let narrow = CsMatI::<T, u32, usize>::from(a.clone());
            let by_column = wide.to_csc();
            for row in a.all_rows() {
                for column in 0..a.cols() {
                    let expected = a.get(row, column);
                    assert_eq!(wide.get(row, column).copied(), expected);
                    assert_eq!(narrow.get(row, column).copied(), expected);
                }
            }
            assert_eq!(wide.shape(), (a.rows(), a.cols()));
            assert!(by_column.is_csc());
            assert_eq!(Csr::try_from(&by_column).as_ref(), Ok(&a));
            assert_eq!(Csr::try_from(&wide.view()).as_ref(), Ok(&a));
            assert_eq!(Csr::try_from(&narrow).as_ref(), Ok(&a));
            assert_eq!((CsMat::from(&a), CsMatI::<T, u32, usize>::from(&a)), (wide.clone(), narrow.clone()));
            assert_eq!(Csr::try_from(by_column).as_ref(), Ok(&a));
            assert_eq!(Csr::try_from(wide.to_other_types::<i32, T, i64>()).as_ref(), Ok(&a));
            assert_eq!(Csr::try_from(wide).as_ref(), Ok(&a));
            assert_eq!(Csr::try_from(narrow).as_ref(), Ok(&a));
        }
    }

    #[test]
    fn both_ways() {
        round_trips::<f64>();
        round_trips::<f32>();
    }

    #[test]
    fn rows_cut_from_a_matrix_are_a_matrix() {
        let a = samples::<f64>().swap_remove(0);
        let whole = CsMat::from(a.clone());
        let view = whole.slice_outer(1..3);
        assert_eq!(Csr::try_from(&view).unwrap().row(0), a.row(1));
        let lower = view.to_owned();
        let ours = Csr::try_from(lower).unwrap();
        assert_eq!((ours.rows(), ours.row(0), ours.row(1)), (2, a.row(1), a.row(2)));
    }

    #[test]
    fn arrays_move_when_the_types_agree() {
        let a = samples::<f64>().swap_remove(0);
        let (columns, values) = (a.columns().as_ptr(), a.values().as_ptr());
        let theirs = CsMatI::<f64, u32, usize>::from(a);
        assert_eq!((theirs.indices().as_ptr(), theirs.data().as_ptr()), (columns, values));
        assert_eq!(Csr::try_from(theirs).unwrap().values().as_ptr(), values);
    }

    #[test]
    fn what_does_not_fit_is_an_error() {
        let wide = CsMat::<f64>::new((1, 1 << 33), vec![0, 1], vec![1 << 32], vec![1.0]);
        assert!(Csr::try_from(&wide).is_err());
        assert_eq!(Csr::try_from(wide), Err(MatrixError::TooLarge { what: "columns", extent: 1 << 33 }));
        let tall = CsMat::<f64>::new_csc((1 << 33, 1), vec![0, 1], vec![1 << 32], vec![1.0]);
        assert_eq!(Csr::try_from(tall), Err(MatrixError::TooLarge { what: "rows", extent: 1 << 33 }));
    }
}

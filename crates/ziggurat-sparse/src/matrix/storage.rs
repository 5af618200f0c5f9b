//! The arrays of a matrix: its own, or somebody else's, kept alive for as long as the matrix reads them.
//!
//! A caller who has a large matrix in memory already, such as a Python program with its NumPy arrays, should not need room for a
//! second one. Reading costs the same either way: the place of a borrowed array is looked up once, when it is taken over.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use yoke::Yoke;

/// Whoever owns an array that a matrix borrows. It lives until the last matrix that reads it is gone.
type Lender<T> = Arc<dyn AsRef<[T]> + Send + Sync>;

/// An array that is read far more often than it is written.
#[derive(Clone)]
pub(super) enum Storage<T: 'static> {
    /// This matrix's own.
    Own(Vec<T>),
    /// Somebody else's.
    Lent(Yoke<&'static [T], Lender<T>>),
}

impl<T> Storage<T> {
    pub(super) fn lent(lender: impl AsRef<[T]> + Send + Sync + 'static) -> Self {
        let lender: Lender<T> = Arc::new(lender);
        Storage::Lent(Yoke::attach_to_cart(lender, |lender| lender.as_ref()))
    }

    /// The array to be changed: a borrowed one is copied first.
    pub(super) fn make_mut(&mut self) -> &mut [T]
    where
        T: Clone,
    {
        if let Storage::Lent(array) = self {
            *self = Storage::Own(array.get().to_vec());
        }
        match self {
            Storage::Own(array) => array,
            Storage::Lent(_) => &mut [], // just made an own one
        }
    }

    /// The array to be kept: a borrowed one is copied.
    pub(super) fn into_vec(self) -> Vec<T>
    where
        T: Clone,
    {
        match self {
            Storage::Own(array) => array,
            Storage::Lent(array) => array.get().to_vec(),
        }
    }
}

impl<T> Deref for Storage<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        match self {
            Storage::Own(array) => array,
            Storage::Lent(array) => array.get(),
        }
    }
}

impl<T> From<Vec<T>> for Storage<T> {
    fn from(array: Vec<T>) -> Self {
        Storage::Own(array)
    }
}

impl<T: PartialEq> PartialEq for Storage<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: fmt::Debug> fmt::Debug for Storage<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Csr, MatrixError};

    #[test]
    fn a_lent_array_is_read_where_it_lies_and_copied_before_it_changes() {
        let owner: Arc<[f64]> = [1.0, 2.0].into();
        let columns: Arc<[u32]> = [0, 1].into();
        let mut a = Csr::try_shared(2, 2, vec![0, 1, 2], columns.clone(), owner.clone()).unwrap();
        assert_eq!((a.values().as_ptr(), a.columns().as_ptr()), (owner.as_ptr(), columns.as_ptr()));
        let copy = a.clone();
        assert_eq!((copy.values().as_ptr(), &copy), (owner.as_ptr(), &a));
        a.values_mut()[0] = 5.0;
        assert_eq!(
            (a.values(), &owner[..], copy.values()),
            (&[5.0, 2.0][..], &[1.0, 2.0][..], &[1.0, 2.0][..])
        );
        assert_ne!(a, copy);
        assert_eq!(copy.into_parts(), (vec![0, 1, 2], vec![0, 1], vec![1.0, 2.0]));
    }

    #[test]
    fn the_lender_lives_as_long_as_the_matrix() {
        let owner: Arc<[f64]> = [1.0].into();
        let a = Csr::try_shared(1, 1, vec![0, 1], vec![0], owner.clone()).unwrap();
        let b = a.clone();
        drop(a);
        assert_eq!(Arc::strong_count(&owner), 2);
        drop(b);
        assert_eq!(Arc::strong_count(&owner), 1);
    }

    #[test]
    fn lent_arrays_are_checked() {
        let error = Csr::try_shared(1, 1, vec![0, 1], vec![1], vec![1.0]).unwrap_err();
        assert_eq!(error, MatrixError::ColumnOutOfRange { row: 0, entry: 0, column: 1, columns: 1 });
    }
}

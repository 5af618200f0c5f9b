//! The arrays of a matrix: owned by it, or shared with another owner that is kept alive.
//!
//! A caller that already has a large matrix in memory, such as a Python program with NumPy arrays,
//! need not hold a second copy. Access costs the same in both cases: the address of a shared array
//! is looked up once, at construction.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use yoke::Yoke;

/// The owner of a shared array. It is dropped with the last matrix that uses the array.
type Owner<T> = Arc<dyn AsRef<[T]> + Send + Sync>;

/// A copy-on-write array.
#[derive(Clone)]
pub(super) enum Storage<T: 'static> {
    /// Owned by this matrix.
    Owned(Vec<T>),
    /// Owned elsewhere.
    Shared(Yoke<&'static [T], Owner<T>>),
}

impl<T> Storage<T> {
    pub(super) fn shared(owner: impl AsRef<[T]> + Send + Sync + 'static) -> Self {
        let owner: Owner<T> = Arc::new(owner);
        Storage::Shared(Yoke::attach_to_cart(owner, |owner| owner.as_ref()))
    }

    /// Mutable access to the array; a shared one is copied first.
    pub(super) fn make_mut(&mut self) -> &mut [T]
    where
        T: Clone,
    {
        if let Storage::Shared(array) = self {
            *self = Storage::Owned(array.get().to_vec());
        }
        match self {
            Storage::Owned(array) => array,
            Storage::Shared(_) => &mut [], // unreachable: it was just copied
        }
    }

    /// The array as a vector; a shared one is copied.
    pub(super) fn into_vec(self) -> Vec<T>
    where
        T: Clone,
    {
        match self {
            Storage::Owned(array) => array,
            Storage::Shared(array) => array.get().to_vec(),
        }
    }
}

impl<T> Deref for Storage<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        match self {
            Storage::Owned(array) => array,
            Storage::Shared(array) => array.get(),
        }
    }
}

impl<T> From<Vec<T>> for Storage<T> {
    fn from(array: Vec<T>) -> Self {
        Storage::Owned(array)
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
    fn a_shared_array_is_copied_on_write() {
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
    fn the_owner_lives_as_long_as_the_matrix() {
        let owner: Arc<[f64]> = [1.0].into();
        let a = Csr::try_shared(1, 1, vec![0, 1], vec![0], owner.clone()).unwrap();
        let b = a.clone();
        drop(a);
        assert_eq!(Arc::strong_count(&owner), 2);
        drop(b);
        assert_eq!(Arc::strong_count(&owner), 1);
    }

    #[test]
    fn shared_arrays_are_validated() {
        let error = Csr::try_shared(1, 1, vec![0, 1], vec![1], vec![1.0]).unwrap_err();
        assert_eq!(error, MatrixError::ColumnOutOfRange { row: 0, entry: 0, column: 1, columns: 1 });
    }
}

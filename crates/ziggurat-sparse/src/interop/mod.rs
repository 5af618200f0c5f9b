//! Conversions from and to matrices of other crates by `From` and `TryFrom`, each behind the
//! feature of the same name.
//!
//! Each works on an owned matrix and on a borrowed one, which is copied. [`Csr`](crate::Csr) has
//! `usize` row pointers and 32-bit columns. Owned arrays are moved where the types agree and copied
//! where another crate uses wider column indices or compressed columns.
//! Indices that do not fit 32 bits are a [`MatrixError`](crate::MatrixError); they are never
//! truncated.

#[cfg(any(feature = "faer", feature = "nalgebra-sparse", feature = "sprs"))]
mod csc;
#[cfg(feature = "faer")]
pub mod faer;
#[cfg(feature = "nalgebra-sparse")]
pub mod nalgebra_sparse;
#[cfg(feature = "sprs")]
pub mod sprs;

#[cfg(test)]
#[cfg(any(feature = "faer", feature = "nalgebra-sparse", feature = "sprs"))]
mod samples {
    use crate::{Csr, Real};

    /// Square, wide, tall, with empty rows and columns, without rows, without columns, without
    /// either.
    pub(super) fn samples<T: Real>() -> Vec<Csr<T>> {
        let value = |k: u32| T::narrow(f64::from(k) + 0.5);
        let make = |rows, cols, row_ptr: &[usize], columns: &[u32]| {
            let values = (0..columns.len() as u32).map(value).collect();
            Csr::try_new(rows, cols, row_ptr.to_vec(), columns.to_vec(), values).unwrap()
        };
        vec![
            make(3, 3, &[0, 2, 3, 6], &[0, 2, 1, 0, 1, 2]),
            make(2, 5, &[0, 3, 4], &[1, 3, 4, 0]),
            make(5, 2, &[0, 0, 2, 2, 3, 3], &[0, 1, 1]),
            make(0, 4, &[0], &[]),
            make(4, 0, &[0; 5], &[]),
            make(0, 0, &[0], &[]),
        ]
    }
}

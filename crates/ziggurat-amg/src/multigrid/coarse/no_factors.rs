//! The substitute for sparse factors if they are not compiled in, without the feature `direct`:
//! errors that say so.

use ziggurat_sparse::CsrRef;

use crate::{Cancel, SetupError};

/// Factors that no matrix has.
#[derive(Debug)]
pub(crate) enum Factors {}

impl Factors {
    /// An error.
    pub(crate) fn new(a: CsrRef<'_, f64>) -> Result<Self, SetupError> {
        let reason =
            "sparse factors are not compiled in; enable the feature `direct` of the crate `ziggurat`";
        Err(SetupError::CoarseSolve { rows: a.rows(), reason: reason.to_owned() })
    }

    /// An error.
    pub(crate) fn equilibrated(a: CsrRef<'_, f64>, _: &Cancel) -> Result<Self, SetupError> {
        Self::new(a)
    }

    /// Never called, like the next one.
    pub(crate) fn is_regular(&self, _: usize) -> bool {
        match *self {}
    }

    pub(crate) fn solve_in_place(&self, _: &mut [f64]) {
        match *self {}
    }
}

/// The entries that sparse factors of a matrix will have: `None`, because they are not compiled in.
/// The feature `direct` predicts them.
///
/// ```
/// # #[cfg(not(feature = "direct"))] {
/// let a = ziggurat_sparse::Csr::identity(3)?;
/// assert_eq!(ziggurat_amg::factor_entries(a.view()), None);
/// # }
/// # Ok::<(), ziggurat_sparse::MatrixError>(())
/// ```
pub fn factor_entries(_: CsrRef<'_, f64>) -> Option<usize> {
    None
}

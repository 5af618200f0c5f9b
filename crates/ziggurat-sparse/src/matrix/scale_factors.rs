//! Scale factors that are applied to a matrix when it is stored: factor · diag(left) A diag(right).
//!
//! Every format multiplies an entry by the same number, [`ScaleFactors::of`], before it rounds it,
//! so the stored values do not depend on the format. Cost: one pass over the entries.

use super::{Csr, CsrRef};
use crate::number::Store;
use crate::parallel::over_values;
use crate::parallel::zeros;

/// The scaling of a stored matrix: factor · diag(left) A diag(right).
///
/// ```
/// use ziggurat_sparse::{Csr, f16, matrix::ScaleFactors};
/// let a = Csr::try_new(2, 2, vec![0, 1, 3], vec![1, 0, 1], vec![1e-6, 3.0, 5e6])?;
/// let factors = ScaleFactors { left: Some(&[1e6, 1.0]), right: Some(&[1.0, 1e-6]), factor: 2.0 };
/// let scaled: Csr<f16> = factors.apply(a.view());
/// assert_eq!(scaled.values(), [2e-6, 6.0, 10.0].map(f16::from_f64));
/// # Ok::<(), ziggurat_sparse::MatrixError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ScaleFactors<'a> {
    /// The factors of rows; `None` for ones.
    pub left: Option<&'a [f64]>,
    /// The factors of columns; `None` for ones.
    pub right: Option<&'a [f64]>,
    /// The factor of all entries.
    pub factor: f64,
}

impl ScaleFactors<'_> {
    /// No scaling.
    pub const ONE: ScaleFactors<'static> = ScaleFactors { left: None, right: None, factor: 1.0 };

    /// Whether nothing is scaled.
    pub fn is_one(&self) -> bool {
        self.left.is_none() && self.right.is_none() && self.factor == 1.0
    }

    /// The factor of one entry.
    #[inline]
    pub fn of(&self, row: usize, column: usize) -> f64 {
        self.left.map_or(1.0, |left| left[row]) * self.right.map_or(1.0, |right| right[column]) * self.factor
    }

    /// The scaled matrix, rounded to `S`.
    ///
    /// # Panics
    /// If there are fewer factors than rows or columns.
    pub fn apply<S: Store>(&self, a: CsrRef<'_, f64>) -> Csr<S> {
        let mut scaled = zeros(a.nnz());
        over_values(a.row_ptr(), a.all_rows(), &mut scaled, &|rows, scaled| {
            let mut scaled = scaled.iter_mut();
            for row in rows {
                let (columns, values) = a.row(row);
                for ((&column, value), scaled) in columns.iter().zip(values).zip(&mut scaled) {
                    *scaled = S::narrow(value * self.of(row, column as usize));
                }
            }
        });
        Csr::from_valid_parts(a.rows(), a.cols(), a.row_ptr().to_vec(), a.columns().to_vec(), scaled)
    }
}

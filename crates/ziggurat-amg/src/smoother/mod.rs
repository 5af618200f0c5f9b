//! Smoothers: cheap iterations that remove the error which a coarse level cannot see.
//!
//! A smoother is a choice ([`Smoother`]) until it meets a matrix; then it is data ([`SmootherData`]), computed in double
//! precision from the full-precision matrix, which lowering narrows and moves to a device. Every one is symmetric when
//! its post-smoothing is the adjoint of its pre-smoothing, which conjugate gradients needs: Jacobi and Chebyshev are
//! their own adjoints, Gauss–Seidel reverses its direction.

mod chebyshev;
mod gauss_seidel;
mod jacobi;
mod l1_jacobi;
mod spai0;

use std::ops::Range;

use ziggurat_sparse::{CsrRef, MatrixError};

use crate::SetupError;
use crate::spectral_radius::spectral_radius;

pub use chebyshev::ChebyshevBase;
pub use gauss_seidel::DEFAULT_BLOCK;

/// Which smoother.
///
/// ```
/// use ziggurat_amg::smoother::Smoother;
/// assert_eq!(Smoother::default(), Smoother::Jacobi { omega: None });
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Smoother {
    /// x ← x + ω D⁻¹(b − A x). Without `omega`, ω = 1.6 / ρ(D⁻¹A).
    Jacobi {
        /// The damping.
        omega: Option<f64>,
    },
    /// x ← x + D₁⁻¹(b − A x), D₁ = diag(Σ_j |a_ij|): converges for every symmetric positive definite matrix.
    L1Jacobi,
    /// x ← x + M(b − A x) with the diagonal M that minimises ‖I − M A‖_F.
    Spai0,
    /// The Chebyshev polynomial of D⁻¹A (or D₁⁻¹A) that is smallest on the upper part of the spectrum.
    Chebyshev {
        /// Its degree: passes over the matrix per sweep.
        degree: usize,
        /// Which diagonal it is built on.
        base: ChebyshevBase,
        /// λmax / λmin of the part that it damps.
        ratio: f64,
    },
    /// Gauss–Seidel within blocks of so many rows, Jacobi between blocks; forward before the coarse level, backward
    /// after.
    GaussSeidel {
        /// Rows per block.
        block: usize,
    },
}

impl Default for Smoother {
    fn default() -> Self {
        Smoother::Jacobi { omega: None }
    }
}

/// What a smoother needs at run time, in double precision.
#[derive(Clone, Debug, PartialEq)]
pub struct SmootherData {
    /// The diagonal that residuals are multiplied by.
    pub diagonal: Vec<f64>,
    /// What is done with it.
    pub kind: SmootherKind,
}

/// The two ways to use a diagonal.
#[derive(Clone, Debug, PartialEq)]
pub enum SmootherKind {
    /// One step per pair (ω_k, β_k): x_{k+1} = x_k + ω_k d∘(b − A x_k) + β_k (x_k − x_{k−1}).
    Recurrence(Vec<(f64, f64)>),
    /// Gauss–Seidel within blocks of so many rows.
    GaussSeidel {
        /// Rows per block.
        block: usize,
    },
}

impl Smoother {
    /// Computes the smoother's data for some rows of a square matrix: element k belongs to row `rows.start + k`. Costs one pass
    /// over the rows, or about ten where a bound of the spectrum is needed; `radius` is ρ(D⁻¹A), if it is known already.
    ///
    /// A process that owns a part of a matrix has its rows, whole, and maybe those of neighbours; the diagonal entry of row i
    /// is in column i. Blocks of Gauss–Seidel begin at the first of `rows`.
    ///
    /// ```
    /// use ziggurat_amg::smoother::Smoother;
    /// use ziggurat_sparse::gallery::Problem;
    /// let a = "poisson2d:8".parse::<Problem>()?.matrix()?;
    /// let data = Smoother::L1Jacobi.data(a.view(), a.all_rows(), None)?;
    /// assert_eq!(data.diagonal[27], 1.0 / 8.0); // 4 + 1 + 1 + 1 + 1
    /// assert_eq!(Smoother::L1Jacobi.data(a.view(), 27..28, None)?.diagonal, [1.0 / 8.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If a row has no usable diagonal entry; if there are no such rows; if the smoother needs ρ(D⁻¹A), which only the
    /// whole matrix tells, and a part comes without it.
    pub fn data(
        &self,
        a: CsrRef<'_, f64>,
        rows: Range<usize>,
        radius: Option<f64>,
    ) -> Result<SmootherData, SetupError> {
        let mismatch =
            |what, expected, found| SetupError::from(MatrixError::Mismatch { what, expected, found });
        if rows.end > a.rows() {
            return Err(mismatch("rows of the matrix that is to be smoothed", rows.end, a.rows()));
        }
        let one_step = |diagonal| SmootherData { diagonal, kind: SmootherKind::Recurrence(vec![(1.0, 0.0)]) };
        // Without rows there is nothing to damp, and nothing to estimate.
        let radius = || match radius {
            Some(radius) => Ok(radius),
            None if rows.is_empty() => Ok(1.0),
            None if rows == a.all_rows() && a.rows() == a.cols() => spectral_radius(a),
            None => {
                let what = "rows of the whole matrix (a part needs to be given ρ(D⁻¹A))";
                Err(mismatch(what, a.cols(), rows.len()))
            }
        };
        match *self {
            Smoother::Jacobi { omega } => Ok(one_step(jacobi::diagonal(a, rows.clone(), omega, radius)?)),
            Smoother::L1Jacobi => Ok(one_step(l1_jacobi::diagonal(a, rows)?)),
            Smoother::Spai0 => Ok(one_step(spai0::diagonal(a, rows)?)),
            Smoother::Chebyshev { degree, base, ratio } => {
                chebyshev::data(a, rows.clone(), degree, base, ratio, radius)
            }
            Smoother::GaussSeidel { block } => {
                let kind = SmootherKind::GaussSeidel { block };
                Ok(SmootherData { diagonal: gauss_seidel::diagonal(a, rows, block)?, kind })
            }
        }
    }
}

#[cfg(test)]
mod tests;

//! Smoothers: cheap iterations that reduce the error components that the coarse levels cannot
//! represent.
//!
//! [`Smoother`] selects a method. [`SmootherData`] is the method applied to a matrix: data computed
//! in double precision from the full-precision matrix, which lowering rounds to the level's
//! precision and moves to a device. A cycle is symmetric, as conjugate gradients requires, if
//! post-smoothing is the adjoint of pre-smoothing. Jacobi and Chebyshev are self-adjoint;
//! Gauss–Seidel reverses its direction.

mod chebyshev;
mod gauss_seidel;
mod jacobi;
mod l1_jacobi;
mod on_grid;
mod spai0;

use serde::{Deserialize, Serialize};
use ziggurat_sparse::{CsrRef, MatrixError, choice};

use crate::halo::Processes;
use crate::spectral_radius::spectral_radius;
use crate::{OutOfRange, SetupError};

pub use chebyshev::ChebyshevBase;
pub use gauss_seidel::DEFAULT_BLOCK;

/// The available smoothers.
///
/// ```
/// use ziggurat_amg::smoother::Smoother;
/// assert_eq!(Smoother::default(), Smoother::Jacobi { omega: None });
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Smoother {
    /// x ← x + ω D⁻¹(b − A x). Without `omega`, ω = 1.6 / ρ(D⁻¹A), or that of SPAI-0 on a level
    /// where ρ is not known and the rows are dominated by their diagonal.
    Jacobi {
        /// The damping factor ω.
        omega: Option<f64>,
    },
    /// x ← x + D₁⁻¹(b − A x), D₁ = diag(Σ_j |a_ij|). Converges for every symmetric positive
    /// definite matrix.
    L1Jacobi,
    /// x ← x + M(b − A x) with the diagonal M that minimises ‖I − M A‖_F.
    Spai0,
    /// The Chebyshev polynomial of D⁻¹A (or D₁⁻¹A) that is smallest on the upper part of the
    /// spectrum.
    Chebyshev {
        /// The degree: passes over the matrix per sweep.
        degree: usize,
        /// The diagonal it is built on.
        base: ChebyshevBase,
        /// λmax / λmin of the damped part of the spectrum.
        ratio: f64,
    },
    /// Gauss–Seidel within blocks of rows, Jacobi between blocks; forward in pre-smoothing,
    /// backward in post-smoothing.
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

choice! {
    /// Smoothers by name.
    ///
    /// ```
    /// use ziggurat_amg::smoother::SmootherKind;
    /// assert_eq!("gauss-seidel".parse(), Ok(SmootherKind::GaussSeidel));
    /// ```
    SmootherKind, "smoother":
    /// Chosen by the method and the matrix.
    Auto = "auto",
    /// Damped Jacobi.
    Jacobi = "jacobi",
    /// ℓ1-Jacobi: converges for every symmetric positive definite matrix.
    L1Jacobi = "l1-jacobi",
    /// The best diagonal approximation of the inverse.
    Spai0 = "spai0",
    /// A Chebyshev polynomial on the matrix's diagonal.
    Chebyshev = "chebyshev",
    /// A Chebyshev polynomial on the ℓ1 diagonal, without an estimate of the spectrum.
    L1Chebyshev = "l1-chebyshev",
    /// Gauss–Seidel within blocks of rows, Jacobi between them.
    GaussSeidel = "gauss-seidel",
}

/// The largest degree of a Chebyshev polynomial. Each is a pass over the matrix in every sweep, and
/// beyond a few dozen a coarse level removes the error at less cost.
const MAX_DEGREE: usize = 1000;

/// A smoother and its parameters, as a configuration gives them. Each smoother reads those it has.
///
/// ```
/// use ziggurat_amg::smoother::{Smoother, SmootherKind, SmootherParameters};
/// let parameters = SmootherParameters { kind: SmootherKind::Spai0, ..SmootherParameters::default() };
/// assert_eq!(parameters.smoother(), Smoother::Spai0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SmootherParameters {
    /// The smoother.
    pub kind: SmootherKind,
    /// Damping of Jacobi; without it, chosen by ρ(D⁻¹A) or by rows.
    pub omega: Option<f64>,
    /// Degree of the Chebyshev polynomial: passes over the matrix per sweep.
    pub degree: usize,
    /// λmax / λmin of the part of the spectrum that Chebyshev damps.
    pub ratio: f64,
    /// Rows per block of Gauss–Seidel.
    pub block: usize,
}

impl Default for SmootherParameters {
    fn default() -> Self {
        let kind = SmootherKind::default();
        SmootherParameters { kind, omega: None, degree: 2, ratio: 4.0, block: DEFAULT_BLOCK }
    }
}

impl SmootherParameters {
    /// Checks that every parameter is in its range.
    ///
    /// ```
    /// use ziggurat_amg::smoother::SmootherParameters;
    /// let error = SmootherParameters { degree: 0, ..SmootherParameters::default() }.check().unwrap_err();
    /// assert_eq!(error.to_string(), "`degree` is 0; it must be from 1 to 1000");
    /// ```
    ///
    /// # Errors
    /// The first that is not.
    pub fn check(&self) -> Result<(), OutOfRange> {
        let SmootherParameters { kind: _, omega, degree, ratio, block } = *self;
        if let Some(omega) = omega {
            OutOfRange::unless("omega", omega, omega.is_finite() && omega > 0.0, "finite and positive")?;
        }
        OutOfRange::unless_in("degree", degree, 1..=MAX_DEGREE)?;
        OutOfRange::unless("ratio", ratio, ratio.is_finite() && ratio > 1.0, "finite and above 1")?;
        OutOfRange::unless_in("block", block, 1..=u32::MAX as usize)
    }

    /// The smoother with its parameters; `auto` counts as Jacobi.
    pub fn smoother(&self) -> Smoother {
        let SmootherParameters { kind, omega, degree, ratio, block } = *self;
        let chebyshev = |base| Smoother::Chebyshev { degree, base, ratio };
        match kind {
            SmootherKind::Auto | SmootherKind::Jacobi => Smoother::Jacobi { omega },
            SmootherKind::L1Jacobi => Smoother::L1Jacobi,
            SmootherKind::Spai0 => Smoother::Spai0,
            SmootherKind::Chebyshev => chebyshev(ChebyshevBase::Jacobi),
            SmootherKind::L1Chebyshev => chebyshev(ChebyshevBase::L1Jacobi),
            SmootherKind::GaussSeidel => Smoother::GaussSeidel { block },
        }
    }
}

/// What a smoother needs at run time, in double precision.
#[derive(Clone, Debug, PartialEq)]
pub struct SmootherData {
    /// The diagonal that residuals are multiplied by.
    pub diagonal: Vec<f64>,
    /// What is done with it.
    pub relaxation: Relaxation,
}

/// The two ways to apply a diagonal.
#[derive(Clone, Debug, PartialEq)]
pub enum Relaxation {
    /// One step per pair (ω_k, β_k): x_{k+1} = x_k + ω_k d∘(b − A x_k) + β_k (x_k − x_{k−1}).
    Recurrence(Vec<(f64, f64)>),
    /// Gauss–Seidel within blocks of rows.
    GaussSeidel {
        /// Rows per block.
        block: usize,
    },
}

impl Smoother {
    /// Computes the smoother's data for the owned rows of a square matrix whose columns are the
    /// local rows of `halo`. It costs one pass over the rows, or about ten if the spectrum must be
    /// estimated. `radius` is ρ(D⁻¹A) if it is already known. Collective.
    ///
    /// ```
    /// use ziggurat_amg::{halo::Whole, smoother::Smoother};
    /// use ziggurat_sparse::gallery::Problem;
    /// let a = "poisson2d:8".parse::<Problem>()?.matrix()?;
    /// let data = Smoother::L1Jacobi.data(a.view(), &Whole::new(64), None)?;
    /// assert_eq!(data.diagonal[27], 1.0 / 8.0); // 4 + 1 + 1 + 1 + 1
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If a row has no usable diagonal entry, or the matrix does not have the owned rows.
    pub fn data<H: Processes>(
        &self,
        a: CsrRef<'_, f64>,
        halo: &H,
        radius: Option<f64>,
    ) -> Result<SmootherData, SetupError> {
        let rows = halo.owned();
        if rows.end > a.rows() {
            let what = "rows of the matrix to be smoothed";
            return Err(MatrixError::Mismatch { what, expected: rows.end, found: a.rows() }.into());
        }
        let one_step =
            |diagonal| SmootherData { diagonal, relaxation: Relaxation::Recurrence(vec![(1.0, 0.0)]) };
        if matches!(self, Smoother::Jacobi { omega: None }) && radius.is_none() {
            let proved = spai0::proved_diagonal(a, rows.clone());
            let everywhere = !halo.any(proved.is_none());
            if let Some(diagonal) = proved.filter(|_| everywhere) {
                return Ok(one_step(diagonal));
            }
        }
        // The estimate is collective, so it precedes everything that may fail on one process alone.
        let radius = match radius {
            None if self.needs_radius() => Some(spectral_radius(a, halo)?),
            radius => radius,
        };
        // The radius of an empty matrix is zero. Smoothers that do not need a radius do not read
        // it.
        let radius = radius.filter(|&radius| radius > 0.0).unwrap_or(1.0);
        match *self {
            Smoother::Jacobi { omega } => Ok(one_step(jacobi::diagonal(a, rows, omega, radius)?)),
            Smoother::L1Jacobi => Ok(one_step(l1_jacobi::diagonal(a, rows)?)),
            Smoother::Spai0 => Ok(one_step(spai0::diagonal(a, rows)?)),
            Smoother::Chebyshev { degree, base, ratio } => {
                chebyshev::data(a, rows, degree, base, ratio, radius)
            }
            Smoother::GaussSeidel { block } => {
                let relaxation = Relaxation::GaussSeidel { block };
                Ok(SmootherData { diagonal: gauss_seidel::diagonal(a, rows, block)?, relaxation })
            }
        }
    }

    /// Whether the step size depends on ρ(D⁻¹A).
    fn needs_radius(&self) -> bool {
        matches!(
            self,
            Smoother::Jacobi { omega: None } | Smoother::Chebyshev { base: ChebyshevBase::Jacobi, .. }
        )
    }
}

#[cfg(test)]
mod tests;

//! The result of a solve.

use serde::Serialize;
use ziggurat_krylov::KrylovReport;
use ziggurat_sparse::device::Traffic;

use super::{Promotion, SolveError};

/// A solution and the report of the iteration.
///
/// The report can be serialised, and so can the solution with its vector. Keys are the names of the
/// fields.
///
/// ```
/// let a = ziggurat_sparse::Csr::identity(3)?;
/// let solution = ziggurat::Solver::builder().build(&a)?.solve(&[1.0, 2.0, 3.0])?;
/// let report = serde_json::to_value(&solution.report)?;
/// assert_eq!(report["reason"], "converged");
/// assert_eq!(report["iterations"], solution.report.iterations);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Serialize)]
pub struct Solution<X = Vec<f64>> {
    /// The solution vector.
    pub x: X,
    /// Why the iteration stopped, the true residual and the convergence history.
    pub report: KrylovReport,
    /// Set if the precision of the levels was raised during the solve.
    pub promotion: Option<Promotion>,
    /// Transfers to and from a device with its own memory, including b and x. Concurrent solves on
    /// one device each count the transfers of all of them.
    pub traffic: Option<Traffic>,
}

impl<X> Solution<X> {
    /// The solution if the iteration has converged, else an error with its report. For callers who
    /// have no use for an approximation, and want `?`.
    ///
    /// ```
    /// use ziggurat::{SolveError, Solver};
    /// use ziggurat_sparse::gallery::Problem;
    /// let a = "poisson3d:12".parse::<Problem>()?.matrix()?;
    /// let b = vec![1.0; a.rows()];
    /// let x = Solver::builder().build(&a)?.solve(&b)?.into_result()?.x;
    /// assert_eq!(x.len(), a.rows());
    ///
    /// let too_few = Solver::builder().max_iterations(2).build(&a)?.solve(&b)?;
    /// let error = too_few.into_result().unwrap_err();
    /// assert!(error.to_string().starts_with("not converged: "), "{error}");
    /// assert!(matches!(error, SolveError::NotConverged(report) if report.iterations == 2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`SolveError::NotConverged`] unless the [reason](KrylovReport::reason) to stop is
    /// convergence.
    pub fn into_result(self) -> Result<Self, SolveError> {
        if self.report.reason.is_converged() {
            Ok(self)
        } else {
            Err(SolveError::NotConverged(Box::new(self.report)))
        }
    }
}

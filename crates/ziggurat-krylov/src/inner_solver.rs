//! A solver as an operator: the preconditioner of another one.
//!
//! ```text
//! z ← the iterate of a method for A z = r, from z = 0, when its stopping criteria are met
//! ```
//!
//! The criteria are usually loose, such as a residual reduced to a tenth, or five iterations. The
//! result then depends on r in a way that is not linear, so the outer method has to allow for that:
//! FGMRES, flexible CG, or Richardson's iteration, which makes this iterative refinement
//! ([`InPrecision`](ziggurat_sparse::operator::InPrecision) puts the inner solver into another
//! number type). Nested Krylov methods are due to Y. Saad (FGMRES, 1993) and to H. A. van der Vorst
//! & C. Vuik (GMRESR, 1994).
//!
//! An inner solve that stops for another reason than convergence is no error: the outer method
//! measures what its result is worth.
//!
//! **Cost.** The inner iterations, one more residual to verify the last of them, and the allocation
//! of a short history.

use ziggurat_sparse::Kind;
use ziggurat_sparse::device::{Device, DeviceError, Vector};
use ziggurat_sparse::operator::{LinearOperator, Workspace};

use crate::error::KrylovError;
use crate::method::Method;
use crate::problem::LinearProblem;
use crate::stop::Stopping;
use crate::system::System;
use crate::work::{Work, solve};

/// The approximate solution of a system as an operator, computed in the number type of the vectors
/// that it is applied to.
///
/// ```
/// use ziggurat_krylov::{InnerSolver, LinearProblem, Method, Stopping, System, Work, solve};
/// use ziggurat_sparse::gallery::Problem;
/// use ziggurat_sparse::device::{Cpu, Vector};
/// use ziggurat_sparse::operator::{Diagonal, MatrixOperator};
/// let device = Cpu::new();
/// let a = "poisson2d:20".parse::<Problem>()?.matrix()?;
/// let jacobi = Diagonal::new(a.view().diagonal(0..400).iter().map(|d| 1.0 / d).collect());
/// let a = MatrixOperator::new(&device, a)?;
///
/// // FGMRES, preconditioned by ten steps of conjugate gradients, preconditioned by Jacobi.
/// let inner = System::new(&a).preconditioner(&jacobi);
/// let inner = InnerSolver::new(Method::Cg, inner, Stopping::default().max_iterations(10))?;
/// let outer = System::new(&a).preconditioner(&inner);
/// let mut work = Work::new(Method::Fgmres { restart: 30 }, &device, &outer)?;
/// let (b, mut x) = (Vector::from(vec![1.0; 400]), Vector::from(vec![0.0; 400]));
/// let report = solve(LinearProblem::new(&device, &outer, &b), &mut x, &mut work)?;
/// assert!(report.reason.is_converged() && report.iterations < 20);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct InnerSolver<'a> {
    method: Method,
    system: System<'a>,
    stopping: Stopping,
}

impl<'a> InnerSolver<'a> {
    /// The operator r ↦ z for this method, system and these stopping criteria.
    ///
    /// # Errors
    /// If the matrix is not square, the preconditioner or a kernel vector has another size, or a
    /// criterion is out of range.
    pub fn new(method: Method, system: System<'a>, stopping: Stopping) -> Result<Self, KrylovError> {
        system.rows()?;
        stopping.validate()?;
        Ok(InnerSolver { method, system, stopping })
    }
}

impl LinearOperator for InnerSolver<'_> {
    fn shape(&self) -> (usize, usize) {
        self.system.matrix.shape()
    }

    fn workspace(&self, device: &dyn Device, number: Kind) -> Result<Workspace, DeviceError> {
        match Work::new(self.method, device, &self.system.in_number(number)) {
            Ok(work) => Ok(Workspace::new(work)),
            Err(KrylovError::Device(error)) => Err(error),
            // The rest was checked, so only the kernel vectors can have another number type.
            Err(error) => Err(DeviceError::Lost { device: device.name(), reason: error.to_string() }),
        }
    }

    fn apply(&self, device: &dyn Device, x: &Vector, y: &mut Vector, work: &mut Workspace) {
        device.fill(0.0, y);
        let system = self.system.in_number(x.kind());
        let problem = LinearProblem::new(device, &system, x).stopping(self.stopping);
        if solve(problem, y, work.get::<Work>()).is_err() {
            // The vectors do not fit the system. The outer method reports what is not a number.
            device.fill(f64::NAN, y);
        }
    }
}

#[cfg(test)]
mod tests {
    use ziggurat_sparse::Csr;
    use ziggurat_sparse::device::{Cpu, DeviceExt};
    use ziggurat_sparse::gallery::Problem;
    use ziggurat_sparse::operator::{Diagonal, InPrecision, MatrixOperator};

    use super::*;
    use crate::report::KrylovReport;

    fn matrix() -> Csr<f64> {
        "poisson2d:30".parse::<Problem>().unwrap().matrix().unwrap()
    }

    fn jacobi(a: &Csr<f64>) -> Diagonal {
        Diagonal::new(a.view().diagonal(a.all_rows()).iter().map(|d| 1.0 / d).collect())
    }

    fn solved(method: Method, m: &dyn LinearOperator, b: &Vector) -> (KrylovReport, Vector) {
        let (device, a) = (Cpu::new(), matrix());
        let a = MatrixOperator::new(&device, a).unwrap();
        let system = System::new(&a).preconditioner(m);
        let mut work = Work::new(method, &device, &system).unwrap();
        let mut x = Vector::from(vec![0.0; b.len()]);
        let problem = LinearProblem::new(&device, &system, b).stopping(Stopping::default().rtol(1e-12));
        (solve(problem, &mut x, &mut work).unwrap(), x)
    }

    /// Refinement in double precision around conjugate gradients in single precision, for
    /// right-hand sides of any size.
    #[test]
    fn refinement_in_another_precision_reaches_double_precision() {
        let (device, a) = (Cpu::new(), matrix());
        let m = jacobi(&a);
        let single = MatrixOperator::new(&device, a.view().stored_as::<f32>()).unwrap();
        let system = System::new(&single).preconditioner(&m);
        let stopping = Stopping::default().rtol(1e-3);
        let inner = InnerSolver::new(Method::Cg, system, stopping).unwrap();
        let inner = InPrecision::new(inner, Kind::F32);
        let on_device = device.upload_matrix(a).unwrap();
        for size in [1.0, 1e-100, 1e100] {
            let b = (0..900).map(|row| size * f64::from(row % 7 - 3)).collect::<Vec<_>>().into();
            let (report, x) = solved(Method::Richardson, &inner, &b);
            assert!(report.reason.is_converged() && report.iterations <= 6, "{report}");
            let mut r = Vector::from(vec![0.0; 900]);
            device.residual(&on_device, &x, &b, &mut r);
            let norm = |v: &Vector| {
                let v = v.elements::<f64>().unwrap();
                v.iter().map(|x| (x / size).powi(2)).sum::<f64>().sqrt()
            };
            assert!(norm(&r) <= 1.1e-12 * norm(&b));
        }
    }

    #[test]
    fn flexible_methods_converge_with_inner_iterations_of_different_length() {
        let (device, a) = (Cpu::new(), matrix());
        let m = jacobi(&a);
        let a = MatrixOperator::new(&device, a).unwrap();
        let b = Vector::from(vec![1.0; 900]);
        let mut iterations = Vec::new();
        for most in [1, 5, 25] {
            let system = System::new(&a).preconditioner(&m);
            let stopping = Stopping::default().rtol(0.1).max_iterations(most);
            let inner = InnerSolver::new(Method::Cg, system, stopping).unwrap();
            for outer in [Method::Fgmres { restart: 30 }, Method::FlexibleCg] {
                let (report, _) = solved(outer, &inner, &b);
                assert!(report.reason.is_converged(), "{outer}, {most}: {report}");
                iterations.push(report.iterations);
            }
        }
        assert!(iterations[0] > 2 * iterations[2] && iterations[2] > 2 * iterations[4], "{iterations:?}");
        assert!(iterations[1] > iterations[3] && iterations[3] > 2 * iterations[5], "{iterations:?}");
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let device = Cpu::new();
        let a = MatrixOperator::new(&device, matrix()).unwrap();
        let m = Diagonal::new(vec![1.0; 3]);
        let system = System::new(&a).preconditioner(&m);
        assert!(InnerSolver::new(Method::Cg, system, Stopping::default()).is_err());
        let wrong = Stopping::default().rtol(f64::NAN);
        assert!(InnerSolver::new(Method::Cg, System::new(&a), wrong).is_err());
    }
}

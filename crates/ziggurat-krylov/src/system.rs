//! The operators of a linear system: a matrix, a preconditioner, and the kernel of a singular
//! matrix.

use std::fmt;

use ziggurat_sparse::Kind;
use ziggurat_sparse::device::{Device, Vector};
use ziggurat_sparse::operator::{LinearOperator, Workspace};

use crate::error::KrylovError;

/// Kernel vectors projected out in one pass, with coefficients on the stack.
const KERNEL_CHUNK: usize = 8;

/// A matrix A, a preconditioner M ≈ A⁻¹, and a basis of the kernel of A if A is singular.
///
/// **Number type.** A method computes in `f64`, or in another [number type](System::in_number),
/// which all its vectors have. A and M may store their numbers in fewer bits.
///
/// **Singular matrices.** Provide an orthonormal basis of the kernel of A. A must be symmetric or
/// have the same kernel as its transpose, as in a Neumann problem. The kernel component is then
/// projected out of residuals and of the results of the preconditioner. A consistent system
/// converges, and x keeps the kernel component of the initial guess. If b has a kernel component
/// beyond the tolerance, the system has no solution; the method then returns the least-squares
/// solution and reports [`StopReason::Inconsistent`](crate::StopReason::Inconsistent), unless
/// [`Stopping::project_rhs`](crate::Stopping::project_rhs) accepts it.
///
/// ```
/// use ziggurat_krylov::System;
/// use ziggurat_sparse::device::{Cpu, Vector};
/// use ziggurat_sparse::{Csr, operator::MatrixOperator};
/// // Two free masses, connected by a spring.
/// let a = Csr::try_new(2, 2, vec![0, 2, 4], vec![0, 1, 0, 1], vec![1.0, -1.0, -1.0, 1.0])?;
/// let device = Cpu::new();
/// let a = MatrixOperator::new(&device, a)?;
/// let kernel = [Vector::from(vec![0.5_f64.sqrt(); 2])];
/// let system = System::new(&a).kernel(&kernel);
/// let mut b = Vector::from(vec![3.0, 1.0]);
/// let removed = system.project(&device, &mut b);
/// let b = b.elements::<f64>().unwrap();
/// assert!((removed - 8.0_f64.sqrt()).abs() < 1e-15);
/// assert!((b[0] - 1.0).abs() < 1e-15 && (b[1] + 1.0).abs() < 1e-15);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy)]
pub struct System<'a> {
    /// The number type of all vectors.
    pub number: Kind,
    /// A.
    pub matrix: &'a dyn LinearOperator,
    /// M; `None` is the identity.
    pub preconditioner: Option<&'a dyn LinearOperator>,
    /// An orthonormal basis of the kernel of A; empty if A is nonsingular.
    pub kernel: &'a [Vector],
}

impl<'a> System<'a> {
    /// A system in `f64` without preconditioner and without kernel.
    pub fn new(matrix: &'a dyn LinearOperator) -> Self {
        System { number: Kind::F64, matrix, preconditioner: None, kernel: &[] }
    }

    /// Sets the number type in which methods compute, `f64` or `f32`: the right-hand side, the
    /// solution, the kernel vectors and all vectors of a workspace have it.
    ///
    /// ```
    /// use ziggurat_krylov::{CgWork, LinearProblem, Stopping, System, cg};
    /// use ziggurat_sparse::device::{Cpu, Vector};
    /// use ziggurat_sparse::{Csr, Kind, operator::MatrixOperator};
    /// let device = Cpu::new();
    /// let a = MatrixOperator::new(&device, Csr::<f32>::identity(2)?)?;
    /// let system = System::new(&a).in_number(Kind::F32);
    /// let mut work = CgWork::new(&device, &system)?;
    /// let (b, mut x) = (Vector::from(vec![1.0_f32, 2.0]), Vector::from(vec![0.0_f32; 2]));
    /// let problem = LinearProblem::new(&device, &system, &b);
    /// let report = cg(problem.stopping(Stopping::default().rtol(1e-5)), &mut x, &mut work)?;
    /// assert!(report.reason.is_converged() && x.elements::<f32>() == b.elements());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn in_number(self, number: Kind) -> Self {
        System { number, ..self }
    }

    /// Sets the preconditioner.
    #[must_use]
    pub fn preconditioner(self, preconditioner: &'a dyn LinearOperator) -> Self {
        System { preconditioner: Some(preconditioner), ..self }
    }

    /// Sets an orthonormal basis of the kernel of the matrix.
    #[must_use]
    pub fn kernel(self, kernel: &'a [Vector]) -> Self {
        System { kernel, ..self }
    }

    /// v ← v − N (Nᵀ v), where the columns of N are the kernel vectors. Returns ‖Nᵀ v‖, the norm of
    /// what was removed.
    pub fn project(&self, device: &dyn Device, v: &mut Vector) -> f64 {
        let mut removed = 0.0;
        for kernel in self.kernel.chunks(KERNEL_CHUNK) {
            let mut coefficients = [0.0; KERNEL_CHUNK];
            let coefficients = &mut coefficients[..kernel.len()];
            device.dots(kernel.into(), v, coefficients);
            for coefficient in &mut *coefficients {
                removed += *coefficient * *coefficient;
                *coefficient = -*coefficient;
            }
            device.combine(coefficients, kernel.into(), 1.0, v);
        }
        removed.sqrt()
    }

    /// The number of rows, after a check that methods compute in the number type, and that all
    /// sizes and number types match.
    pub(crate) fn rows(&self) -> Result<usize, KrylovError> {
        if !self.number.reads(self.number) {
            return Err(KrylovError::NoArithmetic { number: self.number });
        }
        let (rows, cols) = self.matrix.shape();
        if rows != cols {
            return Err(KrylovError::NotSquare { rows, cols });
        }
        let n = rows;
        if let Some(preconditioner) = self.preconditioner
            && preconditioner.shape() != (n, n)
        {
            let (rows, cols) = preconditioner.shape();
            return Err(KrylovError::Preconditioner { rows, cols, n });
        }
        for vector in self.kernel {
            self.check("a kernel vector", vector, n)?;
        }
        Ok(n)
    }

    /// Checks the length and the number type of a vector.
    pub(crate) fn check(&self, what: &'static str, vector: &Vector, n: usize) -> Result<(), KrylovError> {
        if vector.len() != n {
            return Err(KrylovError::Length { what, found: vector.len(), expected: n });
        }
        if vector.kind() != self.number {
            return Err(KrylovError::Number { what, found: vector.kind(), expected: self.number });
        }
        Ok(())
    }
}

impl fmt::Debug for System<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("System")
            .field("number", &self.number)
            .field("matrix", &self.matrix.shape())
            .field("preconditioner", &self.preconditioner.map(LinearOperator::shape))
            .field("kernel", &self.kernel.len())
            .finish()
    }
}

/// The workspaces of A and M.
#[derive(Debug)]
pub(crate) struct OperatorWork {
    pub(crate) matrix: Workspace,
    pub(crate) preconditioner: Workspace,
}

impl OperatorWork {
    pub(crate) fn new(device: &dyn Device, system: &System<'_>) -> Result<Self, KrylovError> {
        let preconditioner = match system.preconditioner {
            Some(preconditioner) => preconditioner.workspace(device, system.number)?,
            None => Workspace::none(),
        };
        Ok(OperatorWork { matrix: system.matrix.workspace(device, system.number)?, preconditioner })
    }
}

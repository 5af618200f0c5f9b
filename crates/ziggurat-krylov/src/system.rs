//! The operators of a linear system: a matrix, a preconditioner, and the kernel of a singular
//! matrix.

use std::fmt;

use ziggurat_sparse::Real;
use ziggurat_sparse::device::Device;
use ziggurat_sparse::operator::{LinearOperator, Workspace};

use crate::error::KrylovError;

/// Kernel vectors projected out in one pass, with coefficients on the stack.
const KERNEL_CHUNK: usize = 8;

/// A matrix A, a preconditioner M ≈ A⁻¹, and a basis of the kernel of A if A is singular.
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
/// use ziggurat_sparse::{Csr, device::Cpu, operator::MatrixOperator};
/// // Two free masses, connected by a spring.
/// let a = Csr::try_new(2, 2, vec![0, 2, 4], vec![0, 1, 0, 1], vec![1.0, -1.0, -1.0, 1.0])?;
/// let device = Cpu::new();
/// let a = MatrixOperator::new(&device, a)?;
/// let kernel = [vec![0.5_f64.sqrt(); 2]];
/// let system = System::new(&a).kernel(&kernel);
/// let mut b = vec![3.0, 1.0];
/// let removed = system.project(&device, &mut b);
/// assert!((removed - 8.0_f64.sqrt()).abs() < 1e-15);
/// assert!((b[0] - 1.0_f64).abs() < 1e-15 && (b[1] + 1.0_f64).abs() < 1e-15);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct System<'a, D: Device, C: Real> {
    /// A.
    pub matrix: &'a dyn LinearOperator<D, C>,
    /// M; `None` is the identity.
    pub preconditioner: Option<&'a dyn LinearOperator<D, C>>,
    /// An orthonormal basis of the kernel of A; empty if A is nonsingular.
    pub kernel: &'a [D::Vector<C>],
}

impl<'a, D: Device, C: Real> System<'a, D, C> {
    /// A system without preconditioner and without kernel.
    pub fn new(matrix: &'a dyn LinearOperator<D, C>) -> Self {
        System { matrix, preconditioner: None, kernel: &[] }
    }

    /// Sets the preconditioner.
    #[must_use]
    pub fn preconditioner(self, preconditioner: &'a dyn LinearOperator<D, C>) -> Self {
        System { preconditioner: Some(preconditioner), ..self }
    }

    /// Sets an orthonormal basis of the kernel of the matrix.
    #[must_use]
    pub fn kernel(self, kernel: &'a [D::Vector<C>]) -> Self {
        System { kernel, ..self }
    }

    /// v ← v − N (Nᵀ v), where the columns of N are the kernel vectors. Returns ‖Nᵀ v‖, the norm of
    /// what was removed.
    pub fn project(&self, device: &D, v: &mut D::Vector<C>) -> f64 {
        let mut removed = 0.0;
        for kernel in self.kernel.chunks(KERNEL_CHUNK) {
            let (mut parts, mut coefficients) = ([0.0; KERNEL_CHUNK], [C::zero(); KERNEL_CHUNK]);
            let (parts, coefficients) = (&mut parts[..kernel.len()], &mut coefficients[..kernel.len()]);
            device.dots(kernel, v, parts);
            for (coefficient, part) in coefficients.iter_mut().zip(parts) {
                *coefficient = C::narrow(-*part);
                removed += *part * *part;
            }
            device.combine(coefficients, kernel, C::one(), v);
        }
        removed.sqrt()
    }

    /// The number of rows, after a check that A is square and M fits it.
    pub(crate) fn rows_of_operators(&self) -> Result<usize, KrylovError> {
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
        Ok(n)
    }

    /// The number of rows, after a check that all sizes match.
    pub(crate) fn rows(&self, device: &D) -> Result<usize, KrylovError> {
        let n = self.rows_of_operators()?;
        for vector in self.kernel {
            check_length("a kernel vector", device.len(vector), n)?;
        }
        Ok(n)
    }
}

impl<D: Device, C: Real> fmt::Debug for System<'_, D, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("System")
            .field("matrix", &self.matrix.shape())
            .field("preconditioner", &self.preconditioner.map(LinearOperator::shape))
            .field("kernel", &self.kernel.len())
            .finish()
    }
}

pub(crate) fn check_length(what: &'static str, found: usize, expected: usize) -> Result<(), KrylovError> {
    if found == expected { Ok(()) } else { Err(KrylovError::Length { what, found, expected }) }
}

/// The workspaces of A and M.
#[derive(Debug)]
pub(crate) struct OperatorWork {
    pub(crate) matrix: Workspace,
    pub(crate) preconditioner: Workspace,
}

impl OperatorWork {
    pub(crate) fn new<D: Device, C: Real>(
        device: &D,
        system: &System<'_, D, C>,
    ) -> Result<Self, KrylovError> {
        let preconditioner = match system.preconditioner {
            Some(preconditioner) => preconditioner.workspace(device)?,
            None => Workspace::none(),
        };
        Ok(OperatorWork { matrix: system.matrix.workspace(device)?, preconditioner })
    }
}

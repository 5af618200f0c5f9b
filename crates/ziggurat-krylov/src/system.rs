//! What is to be solved: a matrix, a preconditioner, and for a singular matrix its kernel.

use std::fmt;

use ziggurat_sparse::Real;
use ziggurat_sparse::device::Device;
use ziggurat_sparse::operator::{LinearOperator, Workspace};

use crate::error::KrylovError;

/// Kernel vectors projected out together; their coefficients fit on the stack.
const TOGETHER: usize = 8;

/// A matrix A, a preconditioner M ≈ A⁻¹, and the kernel of A if it has one.
///
/// **Singular matrices.** Give an orthonormal basis of the kernel of A, where A is symmetric (or its transpose has the same
/// kernel, as with a Neumann problem). The kernel is then projected out of the residual and of everything that the
/// preconditioner returns. A system that has a solution converges; x keeps the kernel's part of the initial guess. If b has
/// a part in the kernel there is no solution, the true residual never gets below that part, and the method says that it
/// stagnated: [project](System::project) b first if you want the least-squares solution.
///
/// ```
/// use ziggurat_krylov::System;
/// use ziggurat_sparse::{Csr, device::Cpu, operator::MatrixOperator};
/// // A spring between two masses: nothing holds them in place.
/// let a = Csr::try_new(2, 2, vec![0, 2, 4], vec![0, 1, 0, 1], vec![1.0, -1.0, -1.0, 1.0])?;
/// let device = Cpu::new();
/// let a = MatrixOperator::new(&device, a)?;
/// let kernel = [vec![0.5_f64.sqrt(); 2]];
/// let system = System::new(&a).kernel(&kernel);
/// let mut b = vec![3.0, 1.0];
/// system.project(&device, &mut b);
/// assert!((b[0] - 1.0_f64).abs() < 1e-15 && (b[1] + 1.0_f64).abs() < 1e-15);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct System<'a, D: Device, C: Real> {
    /// A.
    pub matrix: &'a dyn LinearOperator<D, C>,
    /// M; `None` is the identity.
    pub preconditioner: Option<&'a dyn LinearOperator<D, C>>,
    /// Orthonormal vectors that A maps to zero; usually none.
    pub kernel: &'a [D::Vector<C>],
}

impl<'a, D: Device, C: Real> System<'a, D, C> {
    /// A system without preconditioner or kernel.
    pub fn new(matrix: &'a dyn LinearOperator<D, C>) -> Self {
        System { matrix, preconditioner: None, kernel: &[] }
    }

    /// With this preconditioner.
    #[must_use]
    pub fn preconditioner(self, preconditioner: &'a dyn LinearOperator<D, C>) -> Self {
        System { preconditioner: Some(preconditioner), ..self }
    }

    /// With these orthonormal vectors as the kernel of the matrix.
    #[must_use]
    pub fn kernel(self, kernel: &'a [D::Vector<C>]) -> Self {
        System { kernel, ..self }
    }

    /// v ← v − N (Nᵀ v), where N has the kernel's vectors as columns.
    pub fn project(&self, device: &D, v: &mut D::Vector<C>) {
        for kernel in self.kernel.chunks(TOGETHER) {
            let (mut parts, mut coefficients) = ([0.0; TOGETHER], [C::zero(); TOGETHER]);
            let (parts, coefficients) = (&mut parts[..kernel.len()], &mut coefficients[..kernel.len()]);
            device.dots(kernel, v, parts);
            for (coefficient, part) in coefficients.iter_mut().zip(parts) {
                *coefficient = C::narrow(-*part);
            }
            device.combine(coefficients, kernel, C::one(), v);
        }
    }

    /// Rows of the matrix, if the matrix is square and all else fits it.
    pub(crate) fn rows(&self, device: &D) -> Result<usize, KrylovError> {
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

/// What A and M scribble on.
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

//! Linear operators: a matrix, a preconditioner, a solver, or user code.
//!
//! This is the only interface that Krylov methods use. An operator is shared (`&self`,
//! `Send + Sync`). Its scratch memory belongs to the caller, in a [`Workspace`] that is created
//! once, so that many threads can use one operator and iterations allocate nothing.
//!
//! Operators can be scaled, added and multiplied ([`Combination`], [`Composition`]), and applied in
//! another number type ([`InPrecision`]).

mod combination;
mod elementary;

use std::any::Any;
use std::fmt;

use crate::device::{Device, DeviceError, DeviceExt, HostMatrix, Matrix, Remote, Vector};
use crate::number::{Kind, Store};

pub use combination::{Combination, Composition};
pub use elementary::{Diagonal, Identity, InPrecision, MatrixFree};

/// Scratch memory of one operator, owned by the caller.
///
/// ```
/// use ziggurat_sparse::operator::Workspace;
/// let mut work = Workspace::new(vec![0.0_f64; 3]);
/// work.get::<Vec<f64>>()[1] = 5.0;
/// assert_eq!(work.get::<Vec<f64>>(), &[0.0, 5.0, 0.0]);
/// ```
pub struct Workspace(Box<dyn Any + Send>);

impl Workspace {
    /// Wraps an operator's scratch memory.
    pub fn new<W: Any + Send>(work: W) -> Self {
        Workspace(Box::new(work))
    }

    /// The workspace of an operator that needs no scratch memory.
    pub fn none() -> Self {
        Workspace::new(())
    }

    /// The wrapped scratch memory.
    ///
    /// # Panics
    /// If it was created with another type, that is, for another operator.
    #[allow(clippy::expect_used)] // an error of the calling program; see above
    pub fn get<W: Any>(&mut self) -> &mut W {
        self.0.downcast_mut().expect("the workspace belongs to another operator")
    }
}

impl fmt::Debug for Workspace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Workspace")
    }
}

/// A linear map on vectors that live on a device.
///
/// ```
/// use ziggurat_sparse::device::{Cpu, Device, Vector};
/// use ziggurat_sparse::operator::{LinearOperator, Workspace};
///
/// /// Twice the identity, without a matrix.
/// struct Twice(usize);
/// impl LinearOperator for Twice {
///     fn shape(&self) -> (usize, usize) {
///         (self.0, self.0)
///     }
///     fn apply(&self, device: &dyn Device, x: &Vector, y: &mut Vector, _: &mut Workspace) {
///         device.axpby(2.0, x, 0.0, y);
///     }
/// }
/// let (cpu, x) = (Cpu::new(), Vector::from(vec![1.0, 2.0]));
/// let mut y = Vector::from(vec![0.0; 2]);
/// Twice(2).apply(&cpu, &x, &mut y, &mut Workspace::none());
/// assert_eq!(y.elements(), Some(&[2.0, 4.0][..]));
/// ```
pub trait LinearOperator: Send + Sync {
    /// Rows and columns: lengths of y and x.
    fn shape(&self) -> (usize, usize);

    /// Creates the scratch memory that `apply` needs for vectors of a number type.
    fn workspace(&self, _device: &dyn Device, _number: Kind) -> Result<Workspace, DeviceError> {
        Ok(Workspace::none())
    }

    /// y ← Op x. The old y is not read.
    fn apply(&self, device: &dyn Device, x: &Vector, y: &mut Vector, work: &mut Workspace);

    /// r ← b − Op x. A matrix computes it in one pass.
    fn residual(&self, device: &dyn Device, x: &Vector, b: &Vector, r: &mut Vector, work: &mut Workspace) {
        self.apply(device, x, r, work);
        device.axpby(1.0, b, -1.0, r);
    }
}

impl<O: LinearOperator + ?Sized> LinearOperator for &O {
    fn shape(&self) -> (usize, usize) {
        (**self).shape()
    }

    fn workspace(&self, device: &dyn Device, number: Kind) -> Result<Workspace, DeviceError> {
        (**self).workspace(device, number)
    }

    fn apply(&self, device: &dyn Device, x: &Vector, y: &mut Vector, work: &mut Workspace) {
        (**self).apply(device, x, y, work);
    }

    fn residual(&self, device: &dyn Device, x: &Vector, b: &Vector, r: &mut Vector, work: &mut Workspace) {
        (**self).residual(device, x, b, r, work);
    }
}

/// A matrix on a device, as an operator for any arithmetic that reads its numbers.
///
/// ```
/// use ziggurat_sparse::Csr;
/// use ziggurat_sparse::device::{Cpu, Vector};
/// use ziggurat_sparse::operator::{LinearOperator, MatrixOperator, Workspace};
/// let cpu = Cpu::new();
/// // Stored in single precision, applied in double.
/// let a = MatrixOperator::new(&cpu, Csr::<f32>::identity(2).unwrap())?;
/// let [b, x, mut r] = [[3.0, 4.0], [1.0, 1.0], [0.0, 0.0]].map(|v| Vector::from(v.to_vec()));
/// a.residual(&cpu, &x, &b, &mut r, &mut Workspace::none());
/// assert_eq!(r.elements(), Some(&[2.0, 3.0][..]));
/// # Ok::<(), ziggurat_sparse::device::DeviceError>(())
/// ```
#[derive(Debug)]
pub struct MatrixOperator(Matrix);

impl MatrixOperator {
    /// Moves a matrix to the device, keeping its format and number type.
    pub fn new<S: Store>(device: &dyn Device, matrix: impl Into<HostMatrix<S>>) -> Result<Self, DeviceError> {
        Ok(MatrixOperator(device.upload_matrix(matrix)?))
    }

    /// Moves the part of a matrix that this process owns: `own` holds the columns that the process
    /// owns, `remote` the columns of other processes.
    ///
    /// ```
    /// use ziggurat_sparse::device::{Device, DeviceError, HostMatrix, Remote};
    /// use ziggurat_sparse::operator::MatrixOperator;
    ///
    /// /// The same code on every process.
    /// fn operator(
    ///     device: &dyn Device,
    ///     own: HostMatrix<f64>,
    ///     remote: Option<Remote<f64>>,
    /// ) -> Result<MatrixOperator, DeviceError> {
    ///     match remote {
    ///         Some(remote) => MatrixOperator::part(device, own, remote),
    ///         None => MatrixOperator::new(device, own),
    ///     }
    /// }
    /// let cpu = ziggurat_sparse::device::Cpu::new();
    /// assert!(operator(&cpu, ziggurat_sparse::Csr::identity(2).unwrap().into(), None).is_ok());
    /// ```
    pub fn part<S: Store>(
        device: &dyn Device,
        own: impl Into<HostMatrix<S>>,
        remote: Remote<S>,
    ) -> Result<Self, DeviceError> {
        Ok(MatrixOperator(device.upload_part(own.into(), remote)?))
    }

    /// A matrix that is on the device already.
    ///
    /// ```
    /// use ziggurat_sparse::device::{Cpu, DeviceExt};
    /// use ziggurat_sparse::operator::{LinearOperator, MatrixOperator};
    /// let matrix = Cpu::new().upload_matrix(ziggurat_sparse::Csr::<f64>::identity(2).unwrap())?;
    /// assert_eq!(MatrixOperator::on_device(matrix).shape(), (2, 2));
    /// # Ok::<(), ziggurat_sparse::device::DeviceError>(())
    /// ```
    pub fn on_device(matrix: Matrix) -> Self {
        MatrixOperator(matrix)
    }
}

impl LinearOperator for MatrixOperator {
    fn shape(&self) -> (usize, usize) {
        self.0.shape()
    }

    fn apply(&self, device: &dyn Device, x: &Vector, y: &mut Vector, _: &mut Workspace) {
        device.spmv(1.0, &self.0, x, 0.0, y);
    }

    fn residual(&self, device: &dyn Device, x: &Vector, b: &Vector, r: &mut Vector, _: &mut Workspace) {
        device.residual(&self.0, x, b, r);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "the workspace belongs to another operator")]
    fn a_foreign_workspace_is_a_fault_of_the_program() {
        Workspace::new(1_u8).get::<f64>();
    }
}

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

use crate::device::{Device, DeviceError, HostMatrix, Reads, Remote};
use crate::number::{Real, Store};

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

/// A linear map on vectors of `C` that live on a device `D`.
///
/// ```
/// use ziggurat_sparse::device::{Cpu, Device};
/// use ziggurat_sparse::operator::{LinearOperator, Workspace};
///
/// /// Twice the identity, without a matrix.
/// struct Twice(usize);
/// impl<D: Device> LinearOperator<D, f64> for Twice {
///     fn shape(&self) -> (usize, usize) {
///         (self.0, self.0)
///     }
///     fn apply(&self, device: &D, x: &D::Vector<f64>, y: &mut D::Vector<f64>, _: &mut Workspace) {
///         device.axpby(2.0, x, 0.0, y);
///     }
/// }
/// let (cpu, x) = (Cpu::new(), vec![1.0, 2.0]);
/// let mut y = vec![0.0; 2];
/// Twice(2).apply(&cpu, &x, &mut y, &mut Workspace::none());
/// assert_eq!(y, [2.0, 4.0]);
/// ```
pub trait LinearOperator<D: Device, C: Real>: Send + Sync {
    /// Rows and columns: lengths of y and x.
    fn shape(&self) -> (usize, usize);

    /// Creates the scratch memory that `apply` needs.
    fn workspace(&self, _device: &D) -> Result<Workspace, DeviceError> {
        Ok(Workspace::none())
    }

    /// y ← Op x. The old y is not read.
    fn apply(&self, device: &D, x: &D::Vector<C>, y: &mut D::Vector<C>, work: &mut Workspace);

    /// r ← b − Op x. A matrix computes it in one pass.
    fn residual(
        &self,
        device: &D,
        x: &D::Vector<C>,
        b: &D::Vector<C>,
        r: &mut D::Vector<C>,
        work: &mut Workspace,
    ) {
        self.apply(device, x, r, work);
        device.axpby(C::one(), b, -C::one(), r);
    }
}

impl<D: Device, C: Real, O: LinearOperator<D, C> + ?Sized> LinearOperator<D, C> for &O {
    fn shape(&self) -> (usize, usize) {
        (**self).shape()
    }

    fn workspace(&self, device: &D) -> Result<Workspace, DeviceError> {
        (**self).workspace(device)
    }

    fn apply(&self, device: &D, x: &D::Vector<C>, y: &mut D::Vector<C>, work: &mut Workspace) {
        (**self).apply(device, x, y, work);
    }

    fn residual(
        &self,
        device: &D,
        x: &D::Vector<C>,
        b: &D::Vector<C>,
        r: &mut D::Vector<C>,
        work: &mut Workspace,
    ) {
        (**self).residual(device, x, b, r, work);
    }
}

/// A matrix on a device, stored in `S`, as an operator for any arithmetic that reads `S`.
///
/// ```
/// use ziggurat_sparse::Csr;
/// use ziggurat_sparse::device::Cpu;
/// use ziggurat_sparse::operator::{LinearOperator, MatrixOperator, Workspace};
/// let cpu = Cpu::new();
/// // Stored in single precision, applied in double.
/// let a = MatrixOperator::<Cpu, f32>::new(&cpu, Csr::identity(2).unwrap())?;
/// let (b, x) = (vec![3.0_f64, 4.0], vec![1.0, 1.0]);
/// let mut r = vec![0.0; 2];
/// a.residual(&cpu, &x, &b, &mut r, &mut Workspace::none());
/// assert_eq!(r, [2.0, 3.0]);
/// # Ok::<(), ziggurat_sparse::device::DeviceError>(())
/// ```
#[derive(Debug)]
pub struct MatrixOperator<D: Device, S: Store> {
    matrix: D::Matrix<S>,
    shape: (usize, usize),
}

impl<D: Device, S: Store> MatrixOperator<D, S> {
    /// Moves a matrix to the device, keeping its format and number type.
    pub fn new(device: &D, matrix: impl Into<HostMatrix<S>>) -> Result<Self, DeviceError> {
        Ok(Self::on_device(device, device.upload_matrix(matrix.into())?))
    }

    /// Moves the part of a matrix that this process owns: `own` holds the columns that the process
    /// owns, `remote` the columns of other processes.
    ///
    /// ```
    /// use ziggurat_sparse::device::{Device, DeviceError, HostMatrix, Remote};
    /// use ziggurat_sparse::operator::MatrixOperator;
    ///
    /// /// The same code on every process.
    /// fn operator<D: Device>(
    ///     device: &D,
    ///     own: HostMatrix<f64>,
    ///     remote: Option<Remote<f64, D::Halo>>,
    /// ) -> Result<MatrixOperator<D, f64>, DeviceError> {
    ///     match remote {
    ///         Some(remote) => MatrixOperator::part(device, own, remote),
    ///         None => MatrixOperator::new(device, own),
    ///     }
    /// }
    /// let cpu = ziggurat_sparse::device::Cpu::new();
    /// assert!(operator(&cpu, ziggurat_sparse::Csr::identity(2).unwrap().into(), None).is_ok());
    /// ```
    pub fn part(
        device: &D,
        own: impl Into<HostMatrix<S>>,
        remote: Remote<S, D::Halo>,
    ) -> Result<Self, DeviceError> {
        Ok(Self::on_device(device, device.upload_part(own.into(), remote)?))
    }

    /// A matrix that is on the device already.
    ///
    /// ```
    /// use ziggurat_sparse::device::{Cpu, Device};
    /// use ziggurat_sparse::operator::{LinearOperator, MatrixOperator};
    /// let cpu = Cpu::new();
    /// let matrix = cpu.upload_matrix(ziggurat_sparse::Csr::<f64>::identity(2).unwrap().into())?;
    /// let operator = MatrixOperator::on_device(&cpu, matrix);
    /// assert_eq!(LinearOperator::<Cpu, f64>::shape(&operator), (2, 2));
    /// # Ok::<(), ziggurat_sparse::device::DeviceError>(())
    /// ```
    pub fn on_device(device: &D, matrix: D::Matrix<S>) -> Self {
        let shape = device.shape(&matrix);
        MatrixOperator { matrix, shape }
    }
}

impl<D: Device, C: Reads<S>, S: Store> LinearOperator<D, C> for MatrixOperator<D, S> {
    fn shape(&self) -> (usize, usize) {
        self.shape
    }

    fn apply(&self, device: &D, x: &D::Vector<C>, y: &mut D::Vector<C>, _: &mut Workspace) {
        device.spmv(C::one(), &self.matrix, x, C::zero(), y);
    }

    fn residual(
        &self,
        device: &D,
        x: &D::Vector<C>,
        b: &D::Vector<C>,
        r: &mut D::Vector<C>,
        _: &mut Workspace,
    ) {
        device.residual(&self.matrix, x, b, r);
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

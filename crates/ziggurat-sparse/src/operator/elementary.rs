//! Operators that are parts of others: the identity, diagonals, functions, and operators in another
//! number type.

use std::fmt;
use std::marker::PhantomData;

use super::{LinearOperator, Workspace};
use crate::device::{Device, DeviceError};
use crate::number::Real;

/// y ← x.
///
/// ```
/// use ziggurat_sparse::device::Cpu;
/// use ziggurat_sparse::operator::{Identity, LinearOperator, Workspace};
/// let (x, mut y) = (vec![1.0, 2.0], vec![0.0; 2]);
/// Identity::new(2).apply(&Cpu::new(), &x, &mut y, &mut Workspace::none());
/// assert_eq!(y, x);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity(usize);

impl Identity {
    /// The identity of vectors of this length.
    pub fn new(len: usize) -> Self {
        Identity(len)
    }
}

impl<D: Device, C: Real> LinearOperator<D, C> for Identity {
    fn shape(&self) -> (usize, usize) {
        (self.0, self.0)
    }

    fn apply(&self, device: &D, x: &D::Vector<C>, y: &mut D::Vector<C>, _: &mut Workspace) {
        device.copy(x, y);
    }
}

/// y ← d∘x, with the diagonal in the memory of the caller until a workspace is made on a device.
///
/// ```
/// use ziggurat_sparse::device::Cpu;
/// use ziggurat_sparse::operator::{Diagonal, LinearOperator};
/// let (cpu, d) = (Cpu::new(), Diagonal::new(vec![2.0, -1.0]));
/// let (x, mut y) = (vec![1.0, 2.0], vec![0.0; 2]);
/// d.apply(&cpu, &x, &mut y, &mut d.workspace(&cpu)?);
/// assert_eq!(y, [2.0, -2.0]);
/// # Ok::<(), ziggurat_sparse::device::DeviceError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Diagonal<C>(Vec<C>);

impl<C: Real> Diagonal<C> {
    /// The diagonal matrix with these entries.
    pub fn new(entries: Vec<C>) -> Self {
        Diagonal(entries)
    }
}

impl<D: Device, C: Real> LinearOperator<D, C> for Diagonal<C> {
    fn shape(&self) -> (usize, usize) {
        (self.0.len(), self.0.len())
    }

    fn workspace(&self, device: &D) -> Result<Workspace, DeviceError> {
        Ok(Workspace::new(device.upload(&self.0)?))
    }

    fn apply(&self, device: &D, x: &D::Vector<C>, y: &mut D::Vector<C>, work: &mut Workspace) {
        device.diagonal(C::one(), work.get::<D::Vector<C>>(), x, C::zero(), y);
    }
}

/// A function (device, x, y) as an operator without a matrix: it writes A x to y.
///
/// ```
/// use ziggurat_sparse::device::Cpu;
/// use ziggurat_sparse::operator::{LinearOperator, MatrixFree, Workspace};
/// // Differences of neighbours.
/// let a = MatrixFree::new((2, 3), |_: &Cpu, x: &Vec<f64>, y: &mut Vec<f64>| {
///     y.iter_mut().zip(x.windows(2)).for_each(|(y, x)| *y = x[1] - x[0]);
/// });
/// let (x, mut y) = (vec![1.0, 4.0, 9.0], vec![0.0; 2]);
/// a.apply(&Cpu::new(), &x, &mut y, &mut Workspace::none());
/// assert_eq!(y, [3.0, 5.0]);
/// ```
pub struct MatrixFree<F> {
    shape: (usize, usize),
    function: F,
}

impl<F> MatrixFree<F> {
    /// An operator with these numbers of rows and columns.
    pub fn new(shape: (usize, usize), function: F) -> Self {
        MatrixFree { shape, function }
    }
}

impl<F> fmt::Debug for MatrixFree<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MatrixFree, {:?}", self.shape)
    }
}

impl<D, C, F> LinearOperator<D, C> for MatrixFree<F>
where
    D: Device,
    C: Real,
    F: Fn(&D, &D::Vector<C>, &mut D::Vector<C>) + Send + Sync,
{
    fn shape(&self) -> (usize, usize) {
        self.shape
    }

    fn apply(&self, device: &D, x: &D::Vector<C>, y: &mut D::Vector<C>, _: &mut Workspace) {
        (self.function)(device, x, y);
    }
}

/// An operator on vectors of another number type `W`: y ← s Op(x / s), where s is a power of two
/// near max |x_i|, so that residuals of any size fit into `W`. The operator must be linear, or at
/// least not depend on the scale of x.
///
/// With a solver in single precision inside an iteration in double precision, this is iterative
/// refinement. Cost: two vectors of `W`, two conversions, and one reduction.
///
/// ```
/// use ziggurat_sparse::Csr;
/// use ziggurat_sparse::device::Cpu;
/// use ziggurat_sparse::operator::{InPrecision, LinearOperator, MatrixOperator};
/// let cpu = Cpu::new();
/// let single = MatrixOperator::<Cpu, f32>::new(&cpu, Csr::identity(2)?)?;
/// let m = InPrecision::<_, f32>::new(&single);
/// let (x, mut y) = (vec![3e-200_f64, 4e-200], vec![0.0; 2]);
/// let mut work = LinearOperator::<Cpu, f64>::workspace(&m, &cpu)?;
/// m.apply(&cpu, &x, &mut y, &mut work);
/// assert!((y[0] - 3e-200).abs() < 1e-206 && (y[1] - 4e-200).abs() < 1e-206);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct InPrecision<O, W> {
    operator: O,
    number: PhantomData<W>,
}

impl<O, W> InPrecision<O, W> {
    /// The operator, applied in `W`.
    pub fn new(operator: O) -> Self {
        InPrecision { operator, number: PhantomData }
    }
}

/// x and y in the other number type, and the operator's scratch memory.
struct Converted<V> {
    x: V,
    y: V,
    operator: Workspace,
}

impl<D: Device, C: Real, W: Real, O: LinearOperator<D, W>> LinearOperator<D, C> for InPrecision<O, W> {
    fn shape(&self) -> (usize, usize) {
        self.operator.shape()
    }

    fn workspace(&self, device: &D) -> Result<Workspace, DeviceError> {
        let (rows, cols) = self.operator.shape();
        let (x, y) = (device.zeros::<W>(cols)?, device.zeros::<W>(rows)?);
        Ok(Workspace::new(Converted { x, y, operator: self.operator.workspace(device)? }))
    }

    fn apply(&self, device: &D, x: &D::Vector<C>, y: &mut D::Vector<C>, work: &mut Workspace) {
        let Converted { x: x_in, y: y_in, operator } = work.get::<Converted<D::Vector<W>>>();
        let largest = device.norm_max(x);
        let usual = largest > 0.0 && largest.is_finite();
        let exponent = if usual { largest.log2().floor().clamp(-1000.0, 1000.0) } else { 0.0 };
        device.cast_scaled((-exponent).exp2(), None, x, x_in);
        self.operator.apply(device, x_in, y_in, operator);
        device.cast_scaled(exponent.exp2(), None, y_in, y);
    }
}

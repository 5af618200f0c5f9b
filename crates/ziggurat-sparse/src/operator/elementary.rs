//! Operators that are parts of others: the identity, diagonals, functions, and operators in another
//! number type.

use std::fmt;

use super::{LinearOperator, Workspace};
use crate::device::{Device, DeviceError, DeviceExt, Vector};
use crate::number::Kind;

/// y ← x.
///
/// ```
/// use ziggurat_sparse::device::{Cpu, Vector};
/// use ziggurat_sparse::operator::{Identity, LinearOperator, Workspace};
/// let [x, mut y] = [[1.0, 2.0], [0.0, 0.0]].map(|v| Vector::from(v.to_vec()));
/// Identity::new(2).apply(&Cpu::new(), &x, &mut y, &mut Workspace::none());
/// assert_eq!(y.elements::<f64>(), x.elements());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity(usize);

impl Identity {
    /// The identity of vectors of this length.
    pub fn new(len: usize) -> Self {
        Identity(len)
    }
}

impl LinearOperator for Identity {
    fn shape(&self) -> (usize, usize) {
        (self.0, self.0)
    }

    fn apply(&self, device: &dyn Device, x: &Vector, y: &mut Vector, _: &mut Workspace) {
        device.copy(x, y);
    }
}

/// y ← d∘x, with the diagonal in the memory of the caller until a workspace is made on a device.
///
/// ```
/// use ziggurat_sparse::Kind;
/// use ziggurat_sparse::device::{Cpu, Vector};
/// use ziggurat_sparse::operator::{Diagonal, LinearOperator};
/// let (cpu, d) = (Cpu::new(), Diagonal::new(vec![2.0, -1.0]));
/// let [x, mut y] = [[1.0, 2.0], [0.0, 0.0]].map(|v| Vector::from(v.to_vec()));
/// d.apply(&cpu, &x, &mut y, &mut d.workspace(&cpu, Kind::F64)?);
/// assert_eq!(y.elements(), Some(&[2.0, -2.0][..]));
/// # Ok::<(), ziggurat_sparse::device::DeviceError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Diagonal(Vec<f64>);

impl Diagonal {
    /// The diagonal matrix with these entries.
    pub fn new(entries: Vec<f64>) -> Self {
        Diagonal(entries)
    }
}

impl LinearOperator for Diagonal {
    fn shape(&self) -> (usize, usize) {
        (self.0.len(), self.0.len())
    }

    fn workspace(&self, device: &dyn Device, number: Kind) -> Result<Workspace, DeviceError> {
        Ok(Workspace::new(device.upload_as(number, &self.0)?))
    }

    fn apply(&self, device: &dyn Device, x: &Vector, y: &mut Vector, work: &mut Workspace) {
        device.diagonal(1.0, work.get::<Vector>(), x, 0.0, y);
    }
}

/// A function (device, x, y) as an operator without a matrix: it writes A x to y.
///
/// ```
/// use ziggurat_sparse::device::{Cpu, Device, Vector};
/// use ziggurat_sparse::operator::{LinearOperator, MatrixFree, Workspace};
/// // Differences of neighbours.
/// let a = MatrixFree::new((2, 3), |_: &dyn Device, x: &Vector, y: &mut Vector| {
///     let (Some(x), Some(y)) = (x.elements::<f64>(), y.elements_mut()) else { return };
///     y.iter_mut().zip(x.windows(2)).for_each(|(y, x)| *y = x[1] - x[0]);
/// });
/// let (x, mut y) = (Vector::from(vec![1.0, 4.0, 9.0]), Vector::from(vec![0.0; 2]));
/// a.apply(&Cpu::new(), &x, &mut y, &mut Workspace::none());
/// assert_eq!(y.elements(), Some(&[3.0, 5.0][..]));
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

impl<F: Fn(&dyn Device, &Vector, &mut Vector) + Send + Sync> LinearOperator for MatrixFree<F> {
    fn shape(&self) -> (usize, usize) {
        self.shape
    }

    fn apply(&self, device: &dyn Device, x: &Vector, y: &mut Vector, _: &mut Workspace) {
        (self.function)(device, x, y);
    }
}

/// An operator on vectors of another number type: y ← s Op(x / s), where s is a power of two near
/// max |x_i|, so that residuals of any size fit into that type. The operator must be linear, or at
/// least not depend on the scale of x.
///
/// With a solver in single precision inside an iteration in double precision, this is iterative
/// refinement. Cost: two vectors, two conversions, and one reduction.
///
/// ```
/// use ziggurat_sparse::device::{Cpu, DeviceExt, Vector};
/// use ziggurat_sparse::operator::{InPrecision, LinearOperator, MatrixOperator};
/// use ziggurat_sparse::{Csr, Kind};
/// let cpu = Cpu::new();
/// let single = MatrixOperator::new(&cpu, Csr::<f32>::identity(2)?)?;
/// let m = InPrecision::new(&single, Kind::F32);
/// let [x, mut y] = [[3e-200, 4e-200], [0.0, 0.0]].map(|v| Vector::from(v.to_vec()));
/// m.apply(&cpu, &x, &mut y, &mut m.workspace(&cpu, Kind::F64)?);
/// let y = cpu.to_host::<f64>(y)?;
/// assert!((y[0] - 3e-200).abs() < 1e-206 && (y[1] - 4e-200).abs() < 1e-206);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct InPrecision<O> {
    operator: O,
    number: Kind,
}

impl<O> InPrecision<O> {
    /// The operator, applied in this number type.
    pub fn new(operator: O, number: Kind) -> Self {
        InPrecision { operator, number }
    }
}

/// x and y in the other number type, and the operator's scratch memory.
struct Converted {
    x: Vector,
    y: Vector,
    operator: Workspace,
}

impl<O: LinearOperator> LinearOperator for InPrecision<O> {
    fn shape(&self) -> (usize, usize) {
        self.operator.shape()
    }

    fn workspace(&self, device: &dyn Device, _: Kind) -> Result<Workspace, DeviceError> {
        let (rows, cols) = self.operator.shape();
        let (x, y) = (device.zeros(self.number, cols)?, device.zeros(self.number, rows)?);
        let operator = self.operator.workspace(device, self.number)?;
        Ok(Workspace::new(Converted { x, y, operator }))
    }

    fn apply(&self, device: &dyn Device, x: &Vector, y: &mut Vector, work: &mut Workspace) {
        let Converted { x: x_in, y: y_in, operator } = work.get::<Converted>();
        let largest = device.norm_max(x);
        let usual = largest > 0.0 && largest.is_finite();
        let exponent = if usual { largest.log2().floor().clamp(-1000.0, 1000.0) } else { 0.0 };
        device.cast_scaled((-exponent).exp2(), None, x, x_in, None);
        self.operator.apply(device, x_in, y_in, operator);
        device.cast_scaled(exponent.exp2(), None, y_in, y, None);
    }
}

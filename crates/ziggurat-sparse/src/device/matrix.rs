//! A matrix in the memory of some device, with its number type and size known at run time.

use super::HostMatrix;
use super::vector::Memory;
use crate::number::{Kind, Store};

/// A matrix as a device stores it, for products with vectors.
///
/// ```
/// use ziggurat_sparse::{Csr, Kind, device::{Cpu, Device, DeviceExt}};
/// let a = Cpu::new().upload_matrix(Csr::<f64>::identity(3)?)?;
/// assert_eq!((a.kind(), a.shape()), (Kind::F64, (3, 3)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Matrix {
    kind: Kind,
    shape: (usize, usize),
    memory: Box<dyn Memory>,
}

impl Matrix {
    /// A matrix of numbers of type `S` in memory of some device.
    ///
    /// ```
    /// use ziggurat_sparse::{Csr, device::{HostMatrix, Matrix}};
    /// let a = HostMatrix::from(Csr::<f64>::identity(3)?);
    /// assert_eq!(Matrix::new::<f64>((3, 3), a).memory::<HostMatrix<f64>>().nnz(), 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new<S: Store>(shape: (usize, usize), memory: impl Memory) -> Self {
        Matrix { kind: S::KIND, shape, memory: Box::new(memory) }
    }

    /// The type of its numbers.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Rows and columns; among several processes, of the part that this one owns.
    pub fn shape(&self) -> (usize, usize) {
        self.shape
    }

    /// Its memory as the type that a device uses.
    ///
    /// # Panics
    /// If it belongs to another kind of device, or has other numbers: an error of the algorithm.
    #[track_caller]
    pub fn memory<M: Memory>(&self) -> &M {
        self.memory.typed(self.kind)
    }

    /// As [`memory`](Matrix::memory), by value.
    ///
    /// # Panics
    /// As [`memory`](Matrix::memory).
    #[track_caller]
    pub fn into_memory<M: Memory>(self) -> M {
        self.memory.into_typed(self.kind)
    }
}

impl<S: Store> From<HostMatrix<S>> for Matrix {
    /// A matrix in host memory.
    fn from(a: HostMatrix<S>) -> Self {
        Matrix::new::<S>((a.rows(), a.cols()), a)
    }
}

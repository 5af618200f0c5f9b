//! Methods that follow from those of a device: host arrays with their types, and reductions of one
//! vector.

use super::{
    Device, DeviceError, Halo, HostMatrix, HostSlice, HostSliceMut, Matrix, Remote, Vector, Vectors, memory,
};
use crate::number::{Kind, Store};

/// Methods of every [`Device`] that follow from its own.
///
/// ```
/// use ziggurat_sparse::device::{Cpu, DeviceExt};
/// let x = Cpu::new().upload(&[3.0, 4.0])?;
/// assert_eq!(Cpu::new().norm(&x), 5.0);
/// assert_eq!(Cpu::new().to_host::<f64>(x)?, [3.0, 4.0]);
/// # Ok::<(), ziggurat_sparse::device::DeviceError>(())
/// ```
pub trait DeviceExt: Device {
    /// Copies a host array to the device.
    fn upload<T: Store>(&self, host: &[T]) -> Result<Vector, DeviceError> {
        self.take(memory::copied(host)?.into())
    }

    /// Converts a host array to a vector. Consumes the array, so nothing is copied if vectors are
    /// in host memory.
    ///
    /// ```
    /// use ziggurat_sparse::device::{Cpu, DeviceExt};
    /// let x = Cpu::new().adopt(vec![3.0, 4.0])?;
    /// assert_eq!(Cpu::new().norm(&x), 5.0);
    /// # Ok::<(), ziggurat_sparse::device::DeviceError>(())
    /// ```
    fn adopt<T: Store>(&self, host: Vec<T>) -> Result<Vector, DeviceError> {
        self.take(host.into())
    }

    /// Copies an array to the device, each number rounded to a number type.
    ///
    /// ```
    /// use ziggurat_sparse::{Kind, device::{Cpu, DeviceExt}};
    /// let x = Cpu::new().upload_as(Kind::F32, &[0.1])?;
    /// assert_eq!(x.elements(), Some(&[0.1_f32][..]));
    /// # Ok::<(), ziggurat_sparse::device::DeviceError>(())
    /// ```
    fn upload_as(&self, number: Kind, host: &[f64]) -> Result<Vector, DeviceError> {
        self.take(memory::rounded(number, host))
    }

    /// Overwrites a vector with a host array of the same type and length.
    fn overwrite<T: Store>(&self, host: &[T], x: &mut Vector) -> Result<(), DeviceError> {
        self.write(HostSlice::of(host), x)
    }

    /// Copies a vector to a host array of the same type and length.
    fn copy_to<T: Store>(&self, x: &Vector, host: &mut [T]) -> Result<(), DeviceError> {
        self.download(x, HostSliceMut::of(host))
    }

    /// Converts a vector to a host array. Consumes the vector, so nothing is copied if it is in
    /// host memory.
    ///
    /// # Panics
    /// If its numbers are of another type.
    fn to_host<T: Store>(&self, x: Vector) -> Result<Vec<T>, DeviceError> {
        if x.elements::<T>().is_some() {
            return Ok(x.into_memory());
        }
        let mut host = memory::zeros(x.len())?;
        self.copy_to(&x, &mut host)?;
        Ok(host)
    }

    /// Moves a matrix to the device, keeping its format and number type.
    fn upload_matrix<S: Store>(&self, host: impl Into<HostMatrix<S>>) -> Result<Matrix, DeviceError> {
        self.take_matrix(host.into().into())
    }

    /// Moves the part of a matrix that this process owns: `own` holds the columns that the process
    /// owns, `remote` the columns of other processes.
    ///
    /// # Panics
    /// If no other processes share the vectors of this device.
    fn upload_part<S: Store>(&self, own: HostMatrix<S>, remote: Remote<S>) -> Result<Matrix, DeviceError> {
        match self.processes() {
            Some(processes) => processes.take_part(own.into(), Box::new(remote)),
            None => unimplemented!("{} is not shared by processes", self.name()),
        }
    }

    /// x·y, as [`dots`](Device::dots).
    fn dot(&self, x: &Vector, y: &Vector) -> f64 {
        let mut out = [0.0];
        self.dots(Vectors::Borrowed(&[x]), y, &mut out);
        out[0]
    }

    /// ‖x‖₂, in double precision.
    fn norm(&self, x: &Vector) -> f64 {
        self.dot(x, x).sqrt()
    }

    /// The values of the elements that `halo` names, received from other processes. `own` holds the
    /// elements of this process.
    ///
    /// # Panics
    /// If no other processes share the vectors of this device.
    fn halo_values(&self, halo: &Halo, own: &[f64]) -> Vec<f64> {
        match self.processes() {
            Some(processes) => processes.halo_values(halo, own),
            None => unimplemented!("{} is not shared by processes", self.name()),
        }
    }

    /// The maximum of `x` over all processes that share this device's vectors.
    fn largest_of_all(&self, x: f64) -> f64 {
        self.processes().map_or(x, |processes| processes.largest_of_all(x))
    }

    /// Sums each number over all processes that share this device's vectors.
    fn sum_of_all(&self, numbers: &mut [i64]) {
        if let Some(processes) = self.processes() {
            processes.sum_of_all(numbers);
        }
    }

    /// The number of vector elements on lower processes, where this process holds `own` elements:
    /// the global index of its first one. 0 on a device for a single process.
    ///
    /// ```
    /// use ziggurat_sparse::device::{Cpu, DeviceExt};
    /// assert_eq!(Cpu::new().elements_before(10), 0);
    /// ```
    fn elements_before(&self, own: usize) -> u64 {
        self.processes().map_or(0, |processes| processes.elements_before(own))
    }

    /// Whether the flag is set on any process that shares this device's vectors. Clocks and user
    /// requests differ between processes, so they must agree on decisions that depend on them.
    fn any(&self, flag: bool) -> bool {
        let mut votes = [i64::from(flag)];
        self.sum_of_all(&mut votes);
        votes[0] > 0
    }
}

impl<D: Device + ?Sized> DeviceExt for D {}

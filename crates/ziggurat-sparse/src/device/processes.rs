//! Processes that share vectors.

use std::any::Any;

use super::{DeviceError, Halo, Matrix};

/// The abilities of a device whose vectors are shared by several processes, beside the kernels of
/// [`Device`](super::Device). [`DeviceExt`](super::DeviceExt) has the same for every device: one
/// process is a special case.
///
/// ```
/// use ziggurat_sparse::device::{Cpu, Device, DeviceExt};
/// let cpu = Cpu::new();
/// assert!(cpu.processes().is_none() && cpu.largest_of_all(2.0) == 2.0);
/// ```
pub trait Processes {
    /// Moves the part of a matrix that this process owns: `own` holds the columns that the process
    /// owns; `remote` is a [`Remote<S>`](super::Remote) with the columns of other processes, in the
    /// number type of `own`. Both are in host memory.
    fn take_part(&self, own: Matrix, remote: Box<dyn Any>) -> Result<Matrix, DeviceError>;

    /// The values of the elements that `halo` names, received from other processes. `own` holds the
    /// elements of this process.
    fn halo_values(&self, halo: &Halo, own: &[f64]) -> Vec<f64>;

    /// The maximum of `x` over all processes.
    fn largest_of_all(&self, x: f64) -> f64;

    /// Sums each number over all processes.
    fn sum_of_all(&self, numbers: &mut [i64]);

    /// The number of vector elements on lower processes, where this process holds `own` elements:
    /// the global index of its first one.
    fn elements_before(&self, own: usize) -> u64;
}

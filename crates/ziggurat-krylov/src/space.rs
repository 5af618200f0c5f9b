//! The space that vectors live in: a device, and whoever else holds a part of each vector.
//!
//! A Krylov method needs more than one process for one thing only: to add up inner products. So that is all a space has to
//! say, [`Space::sum`]; whatever a method asks for follows from it and the device's kernels. [`Local`] is the space of one
//! process. Under MPI `sum` is one all-reduce, and the methods ask for many numbers at a time where they can.

use std::borrow::Borrow;

use ziggurat_sparse::Real;
use ziggurat_sparse::device::Device;

/// A vector of a space.
pub type VectorOf<S, C> = <<S as Space>::Device as Device>::Vector<C>;

/// Where vectors live, and how their inner products are formed.
///
/// All numbers that a method decides by go through [`sum`](Space::sum), so that every process takes the same turn.
///
/// ```
/// use ziggurat_krylov::Space;
/// use ziggurat_sparse::device::Cpu;
///
/// /// Two processes that happen to hold the same numbers.
/// struct Twins(Cpu);
/// impl Space for Twins {
///     type Device = Cpu;
///     fn device(&self) -> &Cpu {
///         &self.0
///     }
///     fn sum(&self, parts: &mut [f64]) {
///         parts.iter_mut().for_each(|part| *part *= 2.0);
///     }
/// }
/// assert_eq!(Twins(Cpu::new()).dot(&vec![1.0, 2.0], &vec![3.0, 4.0]), 22.0);
/// ```
pub trait Space: Send + Sync {
    /// Where this process's part of each vector lives.
    type Device: Device;

    /// The device.
    fn device(&self) -> &Self::Device;

    /// Adds up each number over all processes; every process gets the totals, the same bits each. One process: nothing.
    fn sum(&self, parts: &mut [f64]);

    /// Whether any process says yes. Clocks and users differ from process to process, so stopping needs agreement.
    fn any(&self, flag: bool) -> bool {
        let mut votes = [f64::from(u8::from(flag))];
        self.sum(&mut votes);
        votes[0] > 0.0
    }

    /// x·y
    fn dot<C: Real>(&self, x: &VectorOf<Self, C>, y: &VectorOf<Self, C>) -> f64 {
        let mut parts = [self.device().dot(x, y)];
        self.sum(&mut parts);
        parts[0]
    }

    /// ‖x‖₂
    fn norm<C: Real>(&self, x: &VectorOf<Self, C>) -> f64 {
        self.dot(x, x).sqrt()
    }

    /// out_k ← x_k·y for every k, summed over processes at once. `xs` are vectors or references to them.
    fn dots<C: Real, B>(&self, xs: &[B], y: &VectorOf<Self, C>, out: &mut [f64])
    where
        B: Borrow<VectorOf<Self, C>> + Sync,
    {
        self.device().dots(xs, y, out);
        self.sum(out);
    }

    /// y ← Σ_k c_k x_k + β y, in one pass; returns y·y of the new y.
    fn combine<C: Real, B>(&self, coefficients: &[C], xs: &[B], beta: C, y: &mut VectorOf<Self, C>) -> f64
    where
        B: Borrow<VectorOf<Self, C>> + Sync,
    {
        let mut parts = [self.device().combine(coefficients, xs, beta, y)];
        self.sum(&mut parts);
        parts[0]
    }
}

/// The space of one process: all of every vector is on this device.
///
/// ```
/// use ziggurat_krylov::{Local, Space};
/// use ziggurat_sparse::device::Cpu;
/// assert_eq!(Local(Cpu::new()).norm(&vec![3.0_f32, 4.0]), 5.0);
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Local<D>(pub D);

impl<D: Device> Space for Local<D> {
    type Device = D;

    fn device(&self) -> &D {
        &self.0
    }

    fn sum(&self, _: &mut [f64]) {}
}

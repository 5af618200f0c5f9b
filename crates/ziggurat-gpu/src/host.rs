//! Host fallbacks for devices without `f64`: `f64` vectors stay on the host, and `f32` vectors are
//! transferred as needed.

use ziggurat_sparse::device::{Cpu, Kernels};
use ziggurat_sparse::{Real, Store};

use crate::Gpu;
use crate::vector::{GpuVector, Place};

impl Gpu {
    /// Copies a vector to the host from either place. Returns zeros if the transfer fails.
    fn brought<T: Store>(&self, x: &GpuVector<T>) -> Vec<T> {
        let mut host = vec![T::default(); x.len];
        let _ = self.noted(self.download(x, &mut host));
        host
    }

    /// Computes y from x on the host, wherever the vectors are stored.
    pub(crate) fn through_host<X: Real, Y: Real, T>(
        &self,
        x: &GpuVector<X>,
        y: &mut GpuVector<Y>,
        compute: impl FnOnce(&Cpu, &Vec<X>, &mut Vec<Y>) -> T,
    ) -> T {
        let brought;
        let x = match &x.place {
            Place::Host(x) => x,
            Place::Device(_) => {
                brought = self.brought(x);
                &brought
            }
        };
        if let Place::Host(y) = &mut y.place {
            return compute(&Cpu::new(), x, y);
        }
        let mut made = vec![Y::zero(); y.len];
        let result = compute(&Cpu::new(), x, &mut made);
        let _ = self.noted(self.write(&made, y));
        result
    }

    /// y ← α d∘x; returns max |y_i|.
    pub(crate) fn scaled_on_host<X: Real, Y: Real>(
        &self,
        alpha: f64,
        d: Option<&GpuVector<f32>>,
        x: &GpuVector<X>,
        y: &mut GpuVector<Y>,
    ) -> f64 {
        let d = d.map(|d| self.brought(d));
        self.through_host(x, y, |cpu, x, y| cpu.cast_scaled_max(alpha, d.as_ref(), x, y))
    }

    /// out_k ← x_k·y, in double precision.
    pub(crate) fn dots_on_host<C: Real>(&self, xs: &[&GpuVector<C>], y: &GpuVector<C>, out: &mut [f64]) {
        let y = self.brought(y);
        for (x, out) in xs.iter().zip(out) {
            *out = Cpu::new().dot(&self.brought(x), &y);
        }
    }
}

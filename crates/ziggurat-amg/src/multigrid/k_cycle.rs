//! The K-cycle: at most two iterations of a Krylov method on each level, preconditioned by the
//! level's cycle (Notay & Vassilevski, *Recursive Krylov-based multigrid cycles*, 2008; for
//! nonsymmetric matrices Notay, *Aggregation-based algebraic multigrid for convection-diffusion
//! equations*, 2012).
//!
//! ```text
//! c = cycle(b),  v = A c,  ρ = t·v,  α = t·b,  r = b − (α/ρ) v
//! ‖r‖ ≤ ‖b‖/4:  x = (α/ρ) c
//! otherwise     d = cycle(r),  w = A d,  γ = s·v,  β = s·w,  δ = s·r,  ρ₂ = β − γ²/ρ
//!               x = (α/ρ − γ δ/(ρ ρ₂)) c + (δ/ρ₂) d
//! ```
//!
//! With t = c and s = d this is flexible conjugate gradients, which minimises the energy norm of
//! the error and requires a symmetric positive definite A. With t = v and s = w it is GCR, which
//! minimises the residual for any A.
//!
//! Cost: up to two visits and two products per level, so 2ˡ visits to level l.

use ziggurat_sparse::device::{DeviceExt, Vector};

use super::workspace::{AgainWork, Below};
use super::{Cycle, Multigrid};

/// One iteration suffices if it reduces the squared residual norm to this fraction.
const ENOUGH: f64 = 0.0625;

impl Multigrid {
    /// x ← the K-cycle for b on level `index`: `cycle` is K or its GCR form. Overwrites b.
    pub(super) fn krylov_visit(
        &self,
        index: usize,
        cycle: Cycle,
        b: &mut Vector,
        x: &mut Vector,
        work: &mut AgainWork,
        mut below: Below<'_>,
    ) {
        let device = &*self.devices[index];
        let AgainWork { direction: c, image: v, second_image: w } = work;
        self.visit(index, cycle, b, c, below.reborrow());
        self.multiply(index, c, v);
        let minimises_residual = cycle == Cycle::KGcr;
        let t = if minimises_residual { &*v } else { &*c };
        let (rho, alpha) = (device.dot(t, v), device.dot(t, b));
        let step = if rho > 0.0 { alpha / rho } else { 1.0 };
        let before = device.dot(b, b);
        device.axpby(-step, v, 1.0, b);
        let after = device.dot(b, b);
        if rho <= 0.0 || rho.is_nan() || after <= ENOUGH * before {
            device.axpby(step, c, 0.0, x);
            return;
        }
        // The second direction goes to x, which is not needed until the end.
        self.visit(index, cycle, b, x, below);
        self.multiply(index, x, w);
        let s = if minimises_residual { &*w } else { &*x };
        let (gamma, beta) = (device.dot(s, v), device.dot(s, w));
        let second = device.dot(s, b);
        let rho_2 = beta - gamma * gamma / rho;
        let (first, second) =
            if rho_2 > 0.0 { (step - gamma * second / (rho * rho_2), second / rho_2) } else { (step, 0.0) };
        device.axpby(first, c, second, x);
    }
}

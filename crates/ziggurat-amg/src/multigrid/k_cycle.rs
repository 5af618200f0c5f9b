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

use ziggurat_sparse::device::Device;

use super::vectors::{Work, axpby, dot};
use super::workspace::{AgainWork, Below};
use super::{Cycle, Multigrid};

/// One iteration suffices if it reduces the squared residual norm to this fraction.
const ENOUGH: f64 = 0.0625;

impl<D: Device> Multigrid<D> {
    /// x ← the K-cycle for b on level `index`: `cycle` is K or its GCR form. Overwrites b.
    pub(super) fn krylov_visit(
        &self,
        index: usize,
        cycle: Cycle,
        b: &mut Work<D>,
        x: &mut Work<D>,
        work: &mut AgainWork<D>,
        mut below: Below<'_, D>,
    ) {
        let device = &self.devices[index];
        let AgainWork { direction: c, image: v, second_image: w } = work;
        self.visit(index, cycle, b.view(), c.view_mut(), below.reborrow());
        self.multiply(index, c.view(), v.view_mut());
        let minimises_residual = cycle == Cycle::KGcr;
        let t = if minimises_residual { v.view() } else { c.view() };
        let (rho, alpha) = (dot(device, t, v.view()), dot(device, t, b.view()));
        let step = if rho > 0.0 { alpha / rho } else { 1.0 };
        let before = dot(device, b.view(), b.view());
        axpby(device, -step, v.view(), 1.0, b.view_mut());
        let after = dot(device, b.view(), b.view());
        if rho <= 0.0 || rho.is_nan() || after <= ENOUGH * before {
            axpby(device, step, c.view(), 0.0, x.view_mut());
            return;
        }
        // The second direction goes to x, which is not needed until the end.
        self.visit(index, cycle, b.view(), x.view_mut(), below);
        self.multiply(index, x.view(), w.view_mut());
        let s = if minimises_residual { w.view() } else { x.view() };
        let (gamma, beta) = (dot(device, s, v.view()), dot(device, s, w.view()));
        let second = dot(device, s, b.view());
        let rho_2 = beta - gamma * gamma / rho;
        let (first, second) =
            if rho_2 > 0.0 { (step - gamma * second / (rho * rho_2), second / rho_2) } else { (step, 0.0) };
        axpby(device, first, c.view(), second, x.view_mut());
    }
}

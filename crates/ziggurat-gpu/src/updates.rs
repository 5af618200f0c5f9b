//! Vector updates on the device.

use ziggurat_sparse::Real;

use crate::Gpu;
use crate::kernels::vector::{
    VECTOR_UNITS, axpby_all, axpbypcz_all, cast_all, diagonal_all, fill_all, step_and_turn_all,
};
use crate::launch::launch;
use crate::numbers::{Coefficient, with_real};
use crate::vector::GpuVector;

/// Number of cubes for one unit per element.
fn cubes(len: usize) -> usize {
    len.div_ceil(VECTOR_UNITS as usize)
}

impl Gpu {
    /// x ← value
    pub(crate) fn filled<C: Real>(&self, value: C, x: &mut GpuVector<C>) {
        let len = x.len as u32;
        if len > 0 {
            with_real!(C::KIND, |N| launch!(
                self,
                fill_all::FillAll<N>,
                cubes(x.len),
                VECTOR_UNITS,
                [x.span()],
                [N::of(value), len],
                |_target| []
            ));
        }
    }

    /// y ← x, possibly converted to another number type
    pub(crate) fn converted<X: Real, Y: Real>(&self, x: &GpuVector<X>, y: &mut GpuVector<Y>) {
        let len = x.len as u32;
        if len > 0 {
            with_real!(X::KIND, |N| with_real!(Y::KIND, |M| launch!(
                self,
                cast_all::CastAll<N, M>,
                cubes(x.len),
                VECTOR_UNITS,
                [x.span(), y.span()],
                [len],
                |_target| []
            )));
        }
    }

    /// y ← α x + β y
    pub(crate) fn added<C: Real>(&self, alpha: C, x: &GpuVector<C>, beta: C, y: &mut GpuVector<C>) {
        let (len, old) = (x.len as u32, !beta.is_zero());
        if len > 0 {
            with_real!(C::KIND, |N| launch!(
                self,
                axpby_all::AxpbyAll<N>,
                cubes(x.len),
                VECTOR_UNITS,
                [x.span(), y.span()],
                [N::of(alpha), N::of(beta), len],
                |_target| [old]
            ));
        }
    }

    /// z ← α x + β y + γ z
    pub(crate) fn added_three<C: Real>(
        &self,
        [alpha, beta, gamma]: [C; 3],
        x: &GpuVector<C>,
        y: &GpuVector<C>,
        z: &mut GpuVector<C>,
    ) {
        let (len, old) = (x.len as u32, !gamma.is_zero());
        if len > 0 {
            with_real!(C::KIND, |N| launch!(
                self,
                axpbypcz_all::AxpbypczAll<N>,
                cubes(x.len),
                VECTOR_UNITS,
                [x.span(), y.span(), z.span()],
                [N::of(alpha), N::of(beta), N::of(gamma), len],
                |_target| [old]
            ));
        }
    }

    /// y ← α d∘x + β y
    pub(crate) fn multiplied<C: Real>(
        &self,
        alpha: C,
        d: &GpuVector<C>,
        x: &GpuVector<C>,
        beta: C,
        y: &mut GpuVector<C>,
    ) {
        let (len, old) = (x.len as u32, !beta.is_zero());
        if len > 0 {
            with_real!(C::KIND, |N| launch!(
                self,
                diagonal_all::DiagonalAll<N>,
                cubes(x.len),
                VECTOR_UNITS,
                [d.span(), x.span(), y.span()],
                [N::of(alpha), N::of(beta), len],
                |_target| [old]
            ));
        }
    }

    /// x ← x + α p, then p ← z + β p
    pub(crate) fn stepped<C: Real>(
        &self,
        alpha: C,
        x: &mut GpuVector<C>,
        beta: C,
        z: &GpuVector<C>,
        p: &mut GpuVector<C>,
    ) {
        let len = p.len as u32;
        if len > 0 {
            with_real!(C::KIND, |N| launch!(
                self,
                step_and_turn_all::StepAndTurnAll<N>,
                cubes(p.len),
                VECTOR_UNITS,
                [z.span(), x.span(), p.span()],
                [N::of(alpha), N::of(beta), len],
                |_target| []
            ));
        }
    }
}

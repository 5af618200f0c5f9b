//! Reductions on the device and operations fused with them, which return scalars to the host.

use cubecl::server::Handle;
use ziggurat_sparse::{Kind, Real, Store};

use crate::Gpu;
use crate::kernels::reduce::{
    AT_ONCE, BLOCK, CastShape, CombineShape, Fold, cast_scaled_blocks, combine_blocks, fold_blocks,
    fold_partials,
};
use crate::kernels::vector::VECTOR_UNITS;
use crate::launch::{Span, launch};
use crate::numbers::{Coefficient, with_real};
use crate::vector::GpuVector;

/// Number of cubes in the first stage.
fn blocks(len: usize) -> usize {
    len.div_ceil(BLOCK as usize)
}

impl Gpu {
    /// out_k ← x_k·y (`Sum`), or max |x_k| (`Max`); NaN on failure.
    pub(crate) fn folded<C: Real>(
        &self,
        fold: Fold,
        xs: &[&GpuVector<C>],
        y: &GpuVector<C>,
        out: &mut [f64],
    ) {
        if y.len == 0 || xs.is_empty() {
            return out.fill(0.0);
        }
        if fold == Fold::Sum && !self.capabilities().f64 {
            return self.dots_on_host(xs, y, out);
        }
        out.fill(f64::NAN);
        let (len, blocks) = (y.len as u32, blocks(y.len));
        let Some(partials) = self.partials(blocks * xs.len()) else { return };
        // A device without `f64` computes maxima in `f32`, which is exact.
        with_real!(self.widest(), |A| {
            for (k, x) in xs.iter().enumerate() {
                let (x, y, all) = (x.span(), y.span(), span(&partials, blocks * xs.len()));
                with_real!(C::KIND, |N| launch!(
                    self,
                    fold_blocks::FoldBlocks<N, A>,
                    blocks,
                    VECTOR_UNITS,
                    [x, y, all],
                    [len, blocks as u32, (k * blocks) as u32],
                    |_target| [fold]
                ));
            }
        });
        self.results(fold, &partials, blocks, out);
    }

    /// y ← Σ_k c_k x_k + β y; returns y·y, or NaN on failure.
    pub(crate) fn combined<C: Real>(
        &self,
        coefficients: &[C],
        xs: &[&GpuVector<C>],
        beta: C,
        y: &mut GpuVector<C>,
    ) -> f64 {
        if y.len == 0 {
            return 0.0;
        }
        let (len, blocks) = (y.len as u32, blocks(y.len));
        let Some(partials) = self.partials(blocks) else { return f64::NAN };
        let groups = xs.len().div_ceil(AT_ONCE).max(1);
        // Without `f64` on the device, the sum is computed on the host.
        let on_device = self.capabilities().f64;
        for group in 0..groups {
            let range = group * AT_ONCE..xs.len().min((group + 1) * AT_ONCE);
            let (here, xs) = (&coefficients[range.clone()], &xs[range]);
            let c: [C; AT_ONCE] = std::array::from_fn(|k| here.get(k).copied().unwrap_or_else(C::zero));
            let x: [Span<'_>; AT_ONCE] =
                std::array::from_fn(|k| xs.get(k).map_or_else(|| self.nothing(), |x| x.span()));
            let beta = if group == 0 { beta } else { C::one() };
            let measured = on_device && group + 1 == groups;
            let shape = CombineShape { count: xs.len() as u32, old: !beta.is_zero(), measured };
            with_real!(self.widest(), |A| with_real!(C::KIND, |N| launch!(
                self,
                combine_blocks::CombineBlocks<N, A>,
                blocks,
                VECTOR_UNITS,
                [x[0], x[1], x[2], x[3], y.span(), span(&partials, blocks)],
                [N::of(c[0]), N::of(c[1]), N::of(c[2]), N::of(c[3]), N::of(beta), len, blocks as u32],
                |_target| [shape]
            )));
        }
        let mut out = [f64::NAN];
        if on_device {
            self.results(Fold::Sum, &partials, blocks, &mut out);
        } else {
            self.dots_on_host(&[&*y], y, &mut out);
        }
        out[0]
    }

    /// y ← α d∘x in double precision, rounded once. If `measured`, returns max |y_i|, or NaN on
    /// failure.
    pub(crate) fn scaled<X: Real, Y: Real>(
        &self,
        alpha: f64,
        d: Option<&GpuVector<f32>>,
        x: &GpuVector<X>,
        y: &mut GpuVector<Y>,
        measured: bool,
    ) -> f64 {
        if y.len == 0 {
            return 0.0;
        }
        let (len, blocks) = (y.len as u32, blocks(y.len));
        let Some(partials) = self.partials(blocks) else { return f64::NAN };
        let shape = CastShape { scaled: d.is_some(), measured };
        let d = d.map_or_else(|| self.nothing(), GpuVector::span);
        with_real!(X::KIND, |N| with_real!(Y::KIND, |M| launch!(
            self,
            cast_scaled_blocks::CastScaledBlocks<N, M, f64>,
            blocks,
            VECTOR_UNITS,
            [d, x.span(), y.span(), span(&partials, blocks)],
            [alpha, len, blocks as u32],
            |_target| [shape]
        )));
        let mut out = [0.0];
        if measured {
            self.results(Fold::Max, &partials, blocks, &mut out);
        }
        out[0]
    }

    /// The number type of reductions.
    fn widest(&self) -> Kind {
        if self.capabilities().f64 { Kind::F64 } else { Kind::F32 }
    }

    /// Allocates the partial results of a reduction.
    fn partials(&self, count: usize) -> Option<Handle> {
        self.noted(self.empty(count * self.widest().facts().bytes))
    }

    /// Runs the second stage and copies the results to the host; `out` is unchanged on failure.
    fn results(&self, fold: Fold, partials: &Handle, blocks: usize, out: &mut [f64]) {
        let bytes = self.widest().facts().bytes;
        let Some(results) = self.noted(self.empty(out.len() * bytes)) else { return };
        with_real!(self.widest(), |A| {
            launch!(
                self,
                fold_partials::FoldPartials<A>,
                out.len(),
                VECTOR_UNITS,
                [span(partials, blocks * out.len()), span(&results, out.len())],
                [blocks as u32, out.len() as u32],
                |_target| [fold]
            );
            let mut host: Vec<A> = vec![0.0; out.len()];
            if self.noted(self.fetch(&results, bytemuck::cast_slice_mut(&mut host))).is_some() {
                out.iter_mut().zip(host).for_each(|(out, result)| *out = Store::wide(result));
            }
        });
    }
}

fn span(handle: &Handle, len: usize) -> Span<'_> {
    Span { handle, len }
}

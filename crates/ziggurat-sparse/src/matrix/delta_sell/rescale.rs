//! Converts the values to another type, with scaling by row and column; the pattern is kept.
//!
//! A matrix that already exists in a wide type need not be encoded again for a narrow one: a_ij ←
//! scale(i, j) a_ij, slot by slot. The cost is one pass over the matrix and the memory of the
//! result.

use super::{DeltaSell, LANES, WINDOW, Width};
use crate::number::Store;
use crate::parallel::over_values;
use crate::simd::{Isa, Kernel, Simd};

impl<S: Store> DeltaSell<S> {
    /// The same pattern with every value multiplied by `scale(row, column)` and rounded to `T`.
    ///
    /// ```
    /// use ziggurat_sparse::{DeltaSell, f16, gallery::Problem};
    /// let mut a = "poisson3d:8".parse::<Problem>()?.matrix()?;
    /// let wide = DeltaSell::<f64>::from_csr(a.view()).ok_or("too long a row")?;
    /// let narrow: DeltaSell<f16> = wide.rescaled(|_, _| 1024.0);
    /// a.values_mut().iter_mut().for_each(|value| *value *= 1024.0);
    /// assert_eq!(narrow, DeltaSell::from_csr(a.view()).ok_or("too long a row")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn rescaled<T: Store>(&self, scale: impl Fn(usize, usize) -> f64 + Sync) -> DeltaSell<T> {
        let mut values = vec![T::default(); self.values.len()];
        let windows = 0..self.value_ptr.len() - 1;
        over_values(&self.value_ptr, windows, &mut values, &|windows, values| {
            let offset = self.value_ptr[windows.start];
            for window in windows {
                Simd::best().run(Rescale { a: self, window, scale: &scale, offset, values: &mut *values });
            }
        });
        DeltaSell {
            rows: self.rows,
            cols: self.cols,
            nnz: self.nnz,
            value_ptr: self.value_ptr.clone(),
            delta_ptr: self.delta_ptr.clone(),
            counts: self.counts.clone(),
            order: self.order.clone(),
            bases: self.bases.clone(),
            values,
            deltas: self.deltas.clone(),
        }
    }
}

/// Scales the values of a window. `values` starts with those at `offset`.
struct Rescale<'a, S, T, F> {
    a: &'a DeltaSell<S>,
    window: usize,
    scale: &'a F,
    offset: usize,
    values: &'a mut [T],
}

impl<S: Store, T: Store, F: Fn(usize, usize) -> f64> Kernel for Rescale<'_, S, T, F> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let Rescale { a, window, scale, offset, values } = self;
        let (first, order) = (window * WINDOW, a.window_order(window));
        let (mut slot, mut delta) = (a.value_ptr[window] / LANES, a.delta_ptr[window]);
        for (chunk, counts) in a.chunk_counts(window).iter().enumerate() {
            let mut rows = [0; LANES];
            for (lane, row) in rows.iter_mut().enumerate() {
                let place = chunk * LANES + lane;
                // A lane beyond the last row holds zeros, which scaling does not change.
                *row = (first + order.map_or(place, |order| usize::from(order[place]))).min(a.rows - 1);
            }
            for (width, &count) in Width::ALL.into_iter().zip(counts) {
                for _ in 0..count {
                    let mut wide = [0.0; LANES];
                    let from = &a.values[slot * LANES..][..LANES];
                    let deltas = &a.deltas[delta..delta + width.bytes()];
                    for (lane, wide) in wide.iter_mut().enumerate() {
                        let column = a.bases[slot] as usize + width.difference(deltas, lane);
                        *wide = from[lane].wide() * scale(rows[lane], column);
                    }
                    T::narrow_all(&wide, &mut values[slot * LANES - offset..][..LANES]);
                    slot += 1;
                    delta += width.bytes();
                }
            }
        }
    }
}

//! Converts the values to another type, with scaling by row and column; the pattern is kept.
//!
//! A matrix that already exists in a wide type need not be encoded again for a narrow one: a_ij ←
//! l_i a_ij r_j, slot by slot. Columns are decoded only if their factors differ, and not in slots
//! of consecutive columns. The cost is one pass over the matrix and the memory of the result.

use super::{DeltaSell, LANES, ScaleFactors, WINDOW, Width};
use crate::number::Store;
use crate::parallel::over_values;
use crate::parallel::zeros;
use crate::simd::{Isa, Kernel, Simd};

impl<S: Store> DeltaSell<S> {
    /// The same pattern with every value multiplied by its factors and rounded to `T`.
    ///
    /// ```
    /// use ziggurat_sparse::{DeltaSell, f16, gallery::Problem, matrix::ScaleFactors};
    /// let mut a = "poisson3d:8".parse::<Problem>()?.matrix()?;
    /// let wide = DeltaSell::<f64>::from_csr(a.view()).ok_or("too long a row")?;
    /// let narrow: DeltaSell<f16> = wide.rescaled(ScaleFactors { factor: 1024.0, ..ScaleFactors::ONE });
    /// a.values_mut().iter_mut().for_each(|value| *value *= 1024.0);
    /// assert_eq!(narrow, DeltaSell::from_csr(a.view()).ok_or("too long a row")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    /// If there are fewer factors than rows or columns.
    pub fn rescaled<T: Store>(&self, factors: ScaleFactors<'_>) -> DeltaSell<T> {
        let mut values = zeros(self.values.len());
        let windows = 0..self.value_ptr.len() - 1;
        over_values(&self.value_ptr, windows, &mut values, &|windows, values| {
            let offset = self.value_ptr[windows.start];
            for window in windows {
                Simd::best().run(Rescale { a: self, window, factors, offset, values: &mut *values });
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
struct Rescale<'a, S, T> {
    a: &'a DeltaSell<S>,
    window: usize,
    factors: ScaleFactors<'a>,
    offset: usize,
    values: &'a mut [T],
}

impl<S: Store, T: Store> Kernel for Rescale<'_, S, T> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let Rescale { a, window, factors: ScaleFactors { left, right, factor }, offset, values } = self;
        let (first, order) = (window * WINDOW, a.window_order(window));
        let (mut slot, mut delta) = (a.value_ptr[window] / LANES, a.delta_ptr[window]);
        for (chunk, counts) in a.chunk_counts(window).iter().enumerate() {
            let mut of_rows = [1.0; LANES];
            if let Some(left) = left {
                for (lane, of_row) in of_rows.iter_mut().enumerate() {
                    let place = chunk * LANES + lane;
                    let row = first + order.map_or(place, |order| usize::from(order[place]));
                    // A lane beyond the last row holds zeros, which scaling does not change.
                    *of_row = left[row.min(a.rows - 1)];
                }
            }
            for (width, &count) in Width::ALL.into_iter().zip(counts) {
                for _ in 0..count {
                    let mut scales = of_rows;
                    if let Some(right) = right {
                        let right = &right[a.bases[slot] as usize..];
                        let deltas = &a.deltas[delta..delta + width.bytes()];
                        if width == Width::Consecutive {
                            scales.iter_mut().zip(&right[..LANES]).for_each(|(scale, x)| *scale *= x);
                        } else {
                            for (lane, scale) in scales.iter_mut().enumerate() {
                                *scale *= right[width.difference(deltas, lane)];
                            }
                        }
                    }
                    let from = &a.values[slot * LANES..][..LANES];
                    let wide: [f64; LANES] =
                        std::array::from_fn(|lane| from[lane].wide() * (scales[lane] * factor));
                    T::narrow_all(&wide, &mut values[slot * LANES - offset..][..LANES]);
                    slot += 1;
                    delta += width.bytes();
                }
            }
        }
    }
}

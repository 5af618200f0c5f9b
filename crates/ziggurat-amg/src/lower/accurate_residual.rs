//! The residual in about twice the working precision.
//!
//! ```text
//! r_i = b_i − Σ_j a_ij x_j,   every product and every sum with its rounding error
//! ```
//!
//! The dot product `Dot2` of T. Ogita, S. Rump, S. Oishi, *Accurate sum and dot product*, SIAM J.
//! Sci. Comput. 26, 2005, with products split by Dekker's method. The result is as accurate as if
//! computed in twice the precision and then rounded. Cost: one pass over the matrix, with about 25
//! operations per entry; a product with two.

use rayon::prelude::*;
use ziggurat_sparse::CsrRef;
use ziggurat_sparse::device::Device;

use super::part::Part;

/// Rows per task.
const PIECE: usize = 1024;

impl<D: Device> Part<'_, D> {
    /// (b − A x) / `unit` for own rows, on the host. `unit` is a power of two that keeps b and x
    /// within range. Collective.
    ///
    /// ```
    /// use ziggurat_amg::Part;
    /// use ziggurat_sparse::{Csr, device::Cpu};
    /// let a = Csr::try_new(1, 2, vec![0, 2], vec![0, 1], vec![1.0, -1.0])?.into();
    /// // In double precision, 10¹⁶ + 1 is 10¹⁶.
    /// let r = Part::<Cpu>::from(&a).accurate_residual(&Cpu::new(), 1.0, &[1e16, 1e16 + 2.0], &[1.0]);
    /// assert_eq!(r, [3.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn accurate_residual(&self, device: &D, unit: f64, x: &[f64], b: &[f64]) -> Vec<f64> {
        let own = self.own.csr();
        let scaled: Vec<f64> = x.iter().map(|x| x / unit).collect();
        let mut sums: Vec<Sum> = b.iter().map(|b| Sum { sum: b / unit, error: 0.0 }).collect();
        sums.par_chunks_mut(PIECE).enumerate().for_each(|(piece, sums)| {
            for (k, sum) in sums.iter_mut().enumerate() {
                sum.subtract_row(own.view(), piece * PIECE + k, &scaled);
            }
        });
        if let Some(remote) = self.remote {
            let halo = device.halo_values(&remote.halo, &scaled);
            for (k, &row) in remote.rows.iter().enumerate() {
                sums[row as usize].subtract_row(remote.matrix.view(), k, &halo);
            }
        }
        sums.into_iter().map(|sum| sum.sum + sum.error).collect()
    }
}

/// A sum and its accumulated rounding error.
#[derive(Clone, Copy)]
struct Sum {
    sum: f64,
    error: f64,
}

impl Sum {
    fn subtract_row(&mut self, a: CsrRef<'_, f64>, row: usize, x: &[f64]) {
        let (columns, values) = a.row(row);
        for (&column, &value) in columns.iter().zip(values) {
            let x = -x[column as usize];
            let product = value * x;
            self.add(product);
            self.error += product_error(value, x, product);
        }
    }

    /// Knuth's sum of two numbers with its rounding error.
    fn add(&mut self, term: f64) {
        let sum = self.sum + term;
        let part = sum - self.sum;
        self.error += (self.sum - (sum - part)) + (term - part);
        self.sum = sum;
    }
}

/// x y − fl(x y), exactly, unless it underflows.
fn product_error(x: f64, y: f64, product: f64) -> f64 {
    let ((x_high, x_low), (y_high, y_low)) = (split(x), split(y));
    let error = ((x_high * y_high - product) + x_high * y_low + x_low * y_high) + x_low * y_low;
    // Splitting overflows near the largest number; the fused form does not, but may be slow.
    if error.is_finite() { error } else { x.mul_add(y, -product) }
}

/// Dekker's split into two halves of at most 26 bits.
fn split(x: f64) -> (f64, f64) {
    const FACTOR: f64 = (1u64 << 27) as f64 + 1.0;
    let scaled = FACTOR * x;
    let high = scaled - (scaled - x);
    (high, x - high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ziggurat_sparse::Csr;
    use ziggurat_sparse::device::Cpu;

    #[test]
    fn errors_of_products_are_exact() {
        let numbers = [1.0, 1.0 / 3.0, 1e16 + 2.0, -7.1e-5, 1e150, 1.7e308, 3e-200];
        for (x, y) in numbers.iter().flat_map(|&x| numbers.iter().map(move |&y| (x, y))) {
            let product: f64 = x * y;
            if product.is_finite() && product.abs() > 1e-250 {
                assert_eq!(product_error(x, y, product), x.mul_add(y, -product), "{x:e} {y:e}");
            }
        }
    }

    #[test]
    fn cancellation_and_units_do_not_matter() {
        // Rows whose products cancel in all but the last bits.
        let values = vec![1e8 + 1.0, -1e8, 1.0, 3.0, -3.0, 2f64.powi(-60)];
        let a = Csr::try_new(2, 3, vec![0, 3, 6], vec![0, 1, 2, 0, 1, 2], values).unwrap().into();
        let x = [1e8 - 1.0, 1e8, 1.0];
        for unit in [1.0, 2f64.powi(-900), 2f64.powi(900)] {
            let x: Vec<f64> = x.iter().map(|x| x * unit).collect();
            let r = Part::<Cpu>::from(&a).accurate_residual(&Cpu::new(), unit, &x, &[0.0, 3.0 * unit]);
            assert_eq!(r, [0.0, 6.0 - 2f64.powi(-60)], "{unit:e}");
        }
    }
}

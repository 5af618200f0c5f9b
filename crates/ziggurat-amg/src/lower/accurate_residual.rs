//! The residual to ten digits, however much its terms cancel.
//!
//! ```text
//! r_i = b_i − Σ_j a_ij x_j,   every product and every sum with its rounding error
//! ```
//!
//! The dot product `Dot2` of T. Ogita, S. Rump, S. Oishi, *Accurate sum and dot product*, SIAM J.
//! Sci. Comput. 26, 2005, with products split by Dekker's method, is as accurate as if computed in
//! twice the precision. If x is huge, the terms of a row may cancel in all of these digits. So
//! where the result is not far above the error bound of `Dot2`, the row is summed again without any
//! rounding error ([`ExactSum`]), and an element is zero only if it is exactly zero. Cost: one pass
//! over the matrix, with about 30 operations per entry, where a product has two; rows that are
//! summed exactly take several times as long.

use ziggurat_sparse::device::{Device, DeviceExt};
use ziggurat_sparse::{ExactSum, parallel};

use super::part::Part;

/// Rows per task.
const PIECE: usize = 1024;

/// The largest relative error of an element: 2⁻³⁶.
const ACCURACY: f64 = 1.0 / (1u64 << 36) as f64;

/// The rounding error of a product is a number if the product is larger.
const SMALL: f64 = 1e-280;

/// More than what is lost where a product underflows.
const LOST: f64 = 1e-321;

impl Part<'_> {
    /// (b − A x) / `unit` for own rows, on the host: each element to ten digits, and zero only
    /// where it is exactly zero; NaN where it overflows. Where it underflows, an upper bound.
    /// `unit` is a power of two that keeps b and x within range. Collective.
    ///
    /// ```
    /// use ziggurat_amg::Part;
    /// use ziggurat_sparse::{Csr, device::Cpu};
    /// let a = Csr::try_new(1, 2, vec![0, 2], vec![0, 1], vec![1.0, -1.0])?.into();
    /// // In double precision, 10¹⁶ + 1 is 10¹⁶.
    /// let r = Part::from(&a).accurate_residual(&Cpu::new(), 1.0, &[1e16, 1e16 + 2.0], &[1.0]);
    /// assert_eq!(r, [3.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn accurate_residual(&self, device: &dyn Device, unit: f64, x: &[f64], b: &[f64]) -> Vec<f64> {
        let own = self.own.csr();
        let in_units = |vector: &[f64]| vector.iter().map(|x| x / unit).collect::<Vec<f64>>();
        let (scaled, mut r) = (in_units(x), in_units(b));
        let halo = self.remote.map_or_else(Vec::new, |remote| device.halo_values(&remote.halo, &scaled));
        // Elements that become subnormal lose digits.
        let differs = |(scaled, given): (&f64, &f64)| scaled * unit != *given;
        let lossy = device.any(scaled.iter().zip(x).any(differs) || r.iter().zip(b).any(differs));
        parallel::over_chunks(&mut r, PIECE, &|piece, r| {
            for (r, row) in r.iter_mut().zip(piece * PIECE..) {
                let own = terms(own.row(row), &scaled);
                let remote = self.remote.map_or((&[][..], &[][..]), |remote| remote.row(row));
                let terms = own.chain(terms(remote, &halo));
                let (value, bound) = in_twice_the_precision(*r, terms.clone());
                // The comparison fails for NaN, too.
                let is_accurate = !lossy && bound.max(SMALL) <= ACCURACY * value.abs();
                *r = if is_accurate { value } else { exactly(*r, terms, lossy) };
            }
        });
        r
    }
}

/// The factors a_ij and −x_j of a row.
fn terms<'a>(
    (columns, values): (&'a [u32], &'a [f64]),
    x: &'a [f64],
) -> impl Iterator<Item = (f64, f64)> + Clone + 'a {
    columns.iter().zip(values).map(|(&column, &value)| (value, -x[column as usize]))
}

/// b + Σ a x, and a bound on its error relative to a result without underflow.
fn in_twice_the_precision(b: f64, terms: impl Iterator<Item = (f64, f64)>) -> (f64, f64) {
    let (mut sum, mut error, mut size, mut roundings) = (b, 0.0, b.abs(), f64::EPSILON);
    for (a, x) in terms {
        let product = a * x;
        // Knuth's sum of two numbers with its rounding error.
        let next = sum + product;
        let part = next - sum;
        error += (sum - (next - part)) + (product - part);
        error += product_error(a, x, product);
        sum = next;
        size += product.abs();
        roundings += f64::EPSILON;
    }
    // Ogita, Rump & Oishi: (n u)² Σ |a x|, where ε = 2 u leaves room for the errors of the bound.
    (sum + error, roundings * roundings * size)
}

/// b + Σ a x, rounded once. Where a product underflows, or x did, the result is moved away from
/// zero by what may have been lost.
fn exactly(b: f64, terms: impl Iterator<Item = (f64, f64)>, lossy: bool) -> f64 {
    let (mut sum, mut lost) = (ExactSum::default(), if lossy { LOST } else { 0.0 });
    sum.add(b);
    for (a, x) in terms {
        let product = a * x;
        sum.add(product);
        sum.add(product_error(a, x, product));
        if product.abs() < SMALL && a != 0.0 && x != 0.0 {
            lost += LOST;
        }
        if lossy && x.abs() < f64::MIN_POSITIVE {
            lost += a.abs() * LOST;
        }
    }
    let sum = sum.rounded();
    sum + lost.copysign(sum)
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
            let r = Part::from(&a).accurate_residual(&Cpu::new(), unit, &x, &[0.0, 3.0 * unit]);
            assert_eq!(r, [0.0, 6.0 - 2f64.powi(-60)], "{unit:e}");
        }
    }

    /// The residual of one row.
    fn residual(unit: f64, row: &[f64], x: &[f64], b: f64) -> f64 {
        let columns = (0..row.len() as u32).collect();
        let a = Csr::try_new(1, row.len(), vec![0, row.len()], columns, row.to_vec()).unwrap().into();
        Part::from(&a).accurate_residual(&Cpu::new(), unit, x, &[b])[0]
    }

    #[test]
    fn more_digits_may_cancel_than_twice_the_precision_has() {
        for large in [66, 113, 330, 1000].map(|exponent| 2f64.powi(exponent)) {
            assert_eq!(residual(1.0, &[1.0, 3.0, -4.0], &[large; 3], 1.0), 1.0, "{large:e}");
            // (1 + ε)(1 − ε) − 1 = −ε²
            let (above, below) = (1.0 + f64::EPSILON, 1.0 - f64::EPSILON);
            let r = residual(1.0, &[above, -1.0], &[below * large, large], 0.0);
            let expected = f64::EPSILON.powi(2) * large;
            assert!((r - expected).abs() <= 1e-10 * expected, "{large:e}: {r:e}");
        }
        assert!(residual(1.0, &[1e300, 1.0], &[1e300, 1.0], 1.0).is_nan());
    }

    #[test]
    fn only_zero_is_zero() {
        let tiny = f64::from_bits(1);
        assert_eq!(residual(1.0, &[2.0, 0.0], &[0.5, 1e300], 1.0), 0.0);
        assert_eq!(residual(1.0, &[tiny, 1.0], &[0.0, 1.0], 1.0), 0.0);
        // Products that underflow, and elements that do so in these units.
        assert_ne!(residual(1.0, &[1e-200], &[1e-200], 0.0), 0.0);
        assert_ne!(residual(1.0, &[1e-200, 1.0], &[1e-200, 1.0], 1.0), 0.0);
        assert_ne!(residual(2f64.powi(100), &[1e20, 1.0], &[tiny, 1.0], 1.0), 0.0);
        assert_ne!(residual(2f64.powi(1000), &[1.0], &[0.0], 1e-320), 0.0);
    }
}

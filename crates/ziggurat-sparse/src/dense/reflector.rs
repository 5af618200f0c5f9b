//! Householder's reflections, and inner products in a fixed order.
//!
//! ```text
//! (I − β u uᵀ) x = α e₁,    u = x − α e₁,    α = −sign(x₁) ‖x‖,    β = 2 / uᵀu
//! ```
//!
//! A. S. Householder, *Unitary triangularization of a nonsymmetric matrix*, 1958. The sign of α
//! avoids cancellation in u.

/// Sums that an inner product has, so that it can be computed in registers of any size.
const SUMS: usize = 16;

/// Squares of vectors that count as zero beside a matrix with elements of about one: their
/// reciprocals would be near the largest number.
const NEGLIGIBLE: f64 = 1e-290;

/// xᵀ y, as sixteen sums of every sixteenth product.
#[inline(always)]
pub(super) fn dot(x: &[f64], y: &[f64]) -> f64 {
    let mut sums = [0.0; SUMS];
    let (x_whole, x_rest) = x.as_chunks::<SUMS>();
    let (y_whole, y_rest) = y.as_chunks::<SUMS>();
    for (x, y) in x_whole.iter().zip(y_whole) {
        for k in 0..SUMS {
            sums[k] += x[k] * y[k];
        }
    }
    for (sum, (x, y)) in sums.iter_mut().zip(x_rest.iter().zip(y_rest)) {
        *sum += x * y;
    }
    let mut half = SUMS / 2;
    while half > 0 {
        for k in 0..half {
            sums[k] += sums[k + half];
        }
        half /= 2;
    }
    sums[0]
}

/// Replaces x by u, and returns β and α. If x is zero, β is zero.
#[inline(always)]
pub(super) fn reflector(x: &mut [f64]) -> (f64, f64) {
    let Some((&first, rest)) = x.split_first() else { return (0.0, 0.0) };
    let tail = dot(rest, rest);
    let square = first * first + tail;
    if square <= NEGLIGIBLE {
        x.fill(0.0);
        return (0.0, 0.0);
    }
    if tail == 0.0 {
        x[0] = 0.0;
        return (0.0, first);
    }
    let norm = square.sqrt();
    let alpha = if first > 0.0 { -norm } else { norm };
    x[0] = first - alpha;
    ((norm * (norm + first.abs())).recip(), alpha)
}

/// x ← (I − β u uᵀ) x
#[inline(always)]
pub(super) fn reflect(x: &mut [f64], u: &[f64], beta: f64) {
    let factor = beta * dot(u, x);
    for (x, u) in x.iter_mut().zip(u) {
        *x -= factor * u;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reflection_leaves_the_first_element() {
        for x in
            [vec![3.0, 4.0], vec![-1.0; 40], vec![0.0, 1e-100, 2.0], vec![1e-160, 0.0, 1e-161], vec![5.0]]
        {
            let mut u = x.clone();
            let (beta, alpha) = reflector(&mut u);
            let mut reflected = x.clone();
            reflect(&mut reflected, &u, beta);
            let norm = x.iter().fold(0.0, |norm: f64, x| norm.hypot(*x));
            let near = |value: f64, expected: f64| (value - expected).abs() <= 1e-14 * norm + 1e-145;
            assert!(near(reflected[0], alpha) && near(alpha.abs(), norm), "{x:?}");
            assert!(reflected[1..].iter().all(|&value| near(value, 0.0)), "{x:?}: {reflected:?}");
        }
        assert_eq!(reflector(&mut []), (0.0, 0.0));
    }

    #[test]
    fn inner_products_have_every_length() {
        for len in [0, 1, 15, 16, 17, 100] {
            let x: Vec<f64> = (0..len).map(f64::from).collect();
            assert_eq!(dot(&x, &x), (0..len).map(|k| f64::from(k * k)).sum::<f64>());
        }
    }
}

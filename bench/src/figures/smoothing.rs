//! The factor by which one sweep multiplies an error of a given wavelength, on a line of points.
//!
//! For the matrix (−1, 2, −1) and an error e^{iθk}, D⁻¹A multiplies by λ = 1 − cos θ, which is
//! between 0 and 2:
//!
//! ```text
//! damped Jacobi          |1 − ω λ|,  ω = 2/3
//! Gauss–Seidel           |e^{iθ} / (2 − e^{−iθ})| = 1 / √(5 − 4 cos θ)
//! Chebyshev, degree m    |T_m((μ − λ)/δ) / T_m(μ/δ)|,  for λ in μ ± δ = [2/ratio, 2]
//! ```

use std::error::Error;
use std::f64::consts::PI;

use super::drawing::{Anchor, Drawing, PALETTE};

/// λmax / λmin of the part that Chebyshev damps: the default of `smoother.ratio`.
const RATIO: f64 = 4.0;

fn jacobi(theta: f64) -> f64 {
    (1.0 - 2.0 / 3.0 * (1.0 - theta.cos())).abs()
}

fn gauss_seidel(theta: f64) -> f64 {
    1.0 / (5.0 - 4.0 * theta.cos()).sqrt()
}

/// Degree 2: T_2(x) = 2x² − 1.
fn chebyshev(theta: f64) -> f64 {
    let (low, high) = (2.0 / RATIO, 2.0);
    let (middle, radius) = (0.5 * (high + low), 0.5 * (high - low));
    let t2 = |x: f64| 2.0 * x * x - 1.0;
    (t2((middle - (1.0 - theta.cos())) / radius) / t2(middle / radius)).abs()
}

/// The factor of a sweep, by the frequency of the error.
type Factor = fn(f64) -> f64;

pub(crate) fn svg() -> Result<String, Box<dyn Error>> {
    let mut drawing = Drawing::new(680, 360);
    let place = |theta: f64, factor: f64| (60.0 + 420.0 * theta / PI, 300.0 - 260.0 * factor);
    let (left, right) = (place(PI / 2.0, 0.0).0, place(PI, 0.0).0);
    drawing.bar((left, 40.0), (right - left, 260.0), "#eee");
    for (factor, label) in [(0.0, "0"), (0.5, "0.5"), (1.0, "1")] {
        let (x, y) = place(0.0, factor);
        drawing.line((x, y), (right, y), "stroke=\"#bbb\"");
        drawing.text(x - 8.0, y + 5.0, Anchor::End, label);
    }
    let curves: [(&str, Factor); 3] =
        [("Jacobi, ω = 2/3", jacobi), ("Gauss–Seidel", gauss_seidel), ("Chebyshev, degree 2", chebyshev)];
    for (number, (name, factor)) in curves.into_iter().enumerate() {
        let colour = [PALETTE[4], PALETTE[2], PALETTE[5]][number];
        let points: Vec<_> =
            (0..=100).map(|k| PI * f64::from(k) / 100.0).map(|t| place(t, factor(t))).collect();
        drawing.curve(&points, colour);
        let (x, y) = (right + 16.0, points[100].1 + [-6.0, 14.0, 8.0][number]);
        drawing.add(&format!("<g fill=\"{colour}\">"));
        drawing.text(x, y, Anchor::Start, name);
        drawing.add("</g>");
    }
    drawing.text(0.25 * (3.0 * 60.0 + right), 325.0, Anchor::Middle, "long waves: coarse levels");
    drawing.text(0.5 * (left + right), 325.0, Anchor::Middle, "short waves: the smoother");
    drawing.text(60.0, 26.0, Anchor::Start, "error after one sweep / error before");
    drawing.text(0.5 * (60.0 + right), 348.0, Anchor::Middle, "frequency of the error, from 0 to π");
    Ok(drawing.svg())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_are_one_for_constants_and_small_for_short_waves() {
        for factor in [jacobi, gauss_seidel, chebyshev] {
            assert!((factor(0.0) - 1.0).abs() < 1e-12);
            assert!((0..=10).all(|k| factor(PI / 2.0 + 0.05 * PI * f64::from(k)) < 0.46));
        }
    }
}

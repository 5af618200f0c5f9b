//! Eigenvalues of a small symmetric tridiagonal matrix by bisection with Sturm counts, and the last
//! component of an eigenvector by a twisted factorisation.
//!
//! T - xI = LDLᵀ has as many negative pivots as T has eigenvalues below x (Sylvester's law of
//! inertia). The pivots are given by the recurrence
//!
//! ```text
//! q₁ = a₁ - x,        qᵢ = aᵢ - x - bᵢ₋₁² / qᵢ₋₁
//! ```
//!
//! Bisection down to rounding error takes about 55 counts of k divisions: microseconds for the 10
//! to 15 rows that Lanczos produces (Givens, 1954; Demmel, *Applied Numerical Linear Algebra*,
//! section 5.3.4). QL steps (`dense`) give all eigenvalues, of which two are needed here.

/// A symmetric tridiagonal matrix with at least one row.
pub(super) struct Tridiagonal {
    /// a₁ … aₖ.
    pub(super) diagonal: Vec<f64>,
    /// b₁ … bₖ₋₁.
    pub(super) off_diagonal: Vec<f64>,
}

impl Tridiagonal {
    /// Smaller pivots are replaced by this value, which keeps the count correct and the division
    /// finite.
    fn smallest_pivot(&self) -> f64 {
        f64::MIN_POSITIVE * self.off_diagonal.iter().fold(1.0, |largest: f64, b| largest.max(b * b))
    }

    /// The pivots of T - xI, from the first row down.
    fn pivots_down(&self, x: f64) -> Vec<f64> {
        let smallest = self.smallest_pivot();
        let mut previous = 1.0;
        let pivot = |(row, &a): (usize, &f64)| {
            let b = if row == 0 { 0.0 } else { self.off_diagonal[row - 1] };
            let q: f64 = a - x - b * b / previous;
            previous = if q.abs() < smallest { -smallest } else { q };
            previous
        };
        self.diagonal.iter().enumerate().map(pivot).collect()
    }

    /// The pivots of T - xI, from the last row up.
    fn pivots_up(&self, x: f64) -> Vec<f64> {
        let mirrored = |values: &[f64]| values.iter().rev().copied().collect();
        let mirror =
            Tridiagonal { diagonal: mirrored(&self.diagonal), off_diagonal: mirrored(&self.off_diagonal) };
        let mut pivots = mirror.pivots_down(x);
        pivots.reverse();
        pivots
    }

    /// The number of eigenvalues below x.
    fn count_below(&self, x: f64) -> usize {
        self.pivots_down(x).iter().filter(|&&pivot| pivot < 0.0).count()
    }

    /// Eigenvalue `index`, counted from the smallest.
    pub(super) fn eigenvalue(&self, index: usize) -> f64 {
        // All eigenvalues lie in Gershgorin's interval.
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for (row, a) in self.diagonal.iter().enumerate() {
            let left = if row == 0 { 0.0 } else { self.off_diagonal[row - 1].abs() };
            let radius = left + self.off_diagonal.get(row).map_or(0.0, |b| b.abs());
            (low, high) = (low.min(a - radius), high.max(a + radius));
        }
        let resolution = 0.5 * f64::EPSILON * low.abs().max(high.abs());
        while high - low > resolution {
            let middle = low + 0.5 * (high - low);
            if middle <= low || middle >= high {
                break; // adjacent floating-point numbers
            }
            if self.count_below(middle) <= index {
                low = middle;
            } else {
                high = middle;
            }
        }
        low + 0.5 * (high - low)
    }

    /// The magnitude of the last component of the unit eigenvector for `eigenvalue`.
    ///
    /// The computation starts at the row where the downward and upward pivots together are closest
    /// to singular and proceeds in both directions, in which the eigenvector decays. Starting at
    /// either end may lose all accuracy (Parlett & Dhillon, *Fernando's solution to Wilkinson's
    /// problem*, 1997).
    pub(super) fn last_component(&self, eigenvalue: f64) -> f64 {
        let (down, up) = (self.pivots_down(eigenvalue), self.pivots_up(eigenvalue));
        let (mut twist, mut smallest) = (0, f64::INFINITY);
        for (row, a) in self.diagonal.iter().enumerate() {
            let gamma = (down[row] + up[row] - (a - eigenvalue)).abs();
            if gamma < smallest {
                (twist, smallest) = (row, gamma);
            }
        }
        let (mut component, mut squares) = (1.0, 1.0);
        for (b, pivot) in self.off_diagonal[..twist].iter().zip(&down[..twist]).rev() {
            component *= -b / pivot;
            squares += component * component;
        }
        component = 1.0;
        for (b, pivot) in self.off_diagonal[twist..].iter().zip(&up[twist + 1..]) {
            component *= -b / pivot;
            squares += component * component;
        }
        (component * component / squares).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::f64::consts::PI;

    #[test]
    fn eigenvalues_of_the_second_difference() {
        let n = 15;
        let t = Tridiagonal { diagonal: vec![2.0; n], off_diagonal: vec![-1.0; n - 1] };
        for index in 0..n {
            let angle = PI * (index + 1) as f64 / (n + 1) as f64;
            let exact = 2.0 - 2.0 * angle.cos();
            assert!((t.eigenvalue(index) - exact).abs() < 1e-14, "{index}");
            // The eigenvector is sin(j angle), which gives its last component.
            let last = (2.0 / (n + 1) as f64).sqrt() * (n as f64 * angle).sin().abs();
            assert!((t.last_component(t.eigenvalue(index)) - last).abs() < 1e-12, "{index}");
        }
    }

    #[test]
    fn small_and_reduced_matrices() {
        let one = Tridiagonal { diagonal: vec![3.0], off_diagonal: vec![] };
        assert_eq!((one.eigenvalue(0), one.last_component(3.0)), (3.0, 1.0));
        let zero = Tridiagonal { diagonal: vec![0.0; 3], off_diagonal: vec![0.0; 2] };
        assert_eq!(zero.eigenvalue(1), 0.0);
        let reduced = Tridiagonal { diagonal: vec![5.0, 1.0], off_diagonal: vec![0.0] };
        assert!((reduced.eigenvalue(1) - 5.0).abs() < 1e-14);
        assert_eq!(reduced.last_component(5.0), 0.0);
    }

    proptest! {
        #[test]
        fn eigenvalues_add_up_and_eigenvectors_are_orthonormal(
            rows in prop::collection::vec((-10.0..10.0f64, -3.0..3.0f64), 1..16),
        ) {
            let (diagonal, mut off_diagonal): (Vec<f64>, Vec<f64>) = rows.into_iter().unzip();
            off_diagonal.pop();
            prop_assume!(off_diagonal.iter().all(|b| b.abs() > 1e-2)); // distinct eigenvalues
            let (trace, n) = (diagonal.iter().sum::<f64>(), diagonal.len());
            let squares = diagonal.iter().map(|a| a * a).sum::<f64>()
                + 2.0 * off_diagonal.iter().map(|b| b * b).sum::<f64>();
            let t = Tridiagonal { diagonal, off_diagonal };
            let eigenvalues: Vec<f64> = (0..n).map(|index| t.eigenvalue(index)).collect();
            prop_assert!(eigenvalues.windows(2).all(|w| w[0] <= w[1]));
            prop_assert!((eigenvalues.iter().sum::<f64>() - trace).abs() < 1e-12 * 100.0);
            prop_assert!((eigenvalues.iter().map(|x| x * x).sum::<f64>() - squares).abs() < 1e-10 * 100.0);
            // The last components are a row of an orthogonal matrix.
            let row: f64 = eigenvalues.iter().map(|&x| t.last_component(x).powi(2)).sum();
            prop_assert!((row - 1.0).abs() < 1e-6, "{row}");
        }
    }
}

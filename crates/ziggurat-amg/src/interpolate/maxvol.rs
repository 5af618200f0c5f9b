//! The rows of a tall matrix that span its row space best, and a vector in terms of them: maxvol
//! (S. A. Goreinov, I. V. Oseledets, D. V. Savostyanov, E. E. Tyrtyshnikov & N. L. Zamarashkin,
//! *How to find a good submatrix*, 2010), which BAMG uses (Isotton, thesis, 2.2.3).
//!
//! ```text
//! Φ = B Φ_s,   φ ≈ w Φ_s        s: as many rows as Φ has rank, |B| ≤ 1.05
//! ```
//!
//! Rows are first chosen one by one, each the largest after the directions of the previous ones
//! have been removed. Then rows are exchanged as long as that increases the volume |det Φ_s| by
//! more than a twentieth: an entry of B is the factor by which the volume changes if its row
//! replaces its column's. The target φ is carried along as one more row, so its weights w are a row
//! of B; they are the least-squares weights if Φ_s does not span it.
//!
//! Cost: about 3 m t² operations for m rows of t numbers, and 2 m t per exchange.

/// A row whose remainder is at most this fraction of the largest row is linearly dependent.
const DEPENDENT: f64 = 1e-8;

/// Rows are exchanged if the volume grows by more than this factor.
const GAIN: f64 = 1.05;

/// The best rows and the weights of a target, with the memory that finding them takes.
#[derive(Default)]
pub(super) struct Maxvol {
    /// The positions of the chosen rows.
    pub(super) chosen: Vec<usize>,
    /// The target is the sum of the chosen rows with these weights, up to
    /// [`residual`](Self::residual).
    pub(super) weights: Vec<f64>,
    /// ‖φ − w Φ_s‖ / ‖φ‖.
    pub(super) residual: f64,
    /// The remainders of the rows, the target last, row by row.
    rest: Vec<f64>,
    /// The rows in terms of the directions of the chosen ones, and then of the chosen rows: B.
    factors: Vec<f64>,
}

impl Maxvol {
    /// Forgets all rows.
    pub(super) fn clear(&mut self) {
        self.rest.clear();
    }

    /// Appends a row of Φ. All have the same number of elements, at least one.
    pub(super) fn push(&mut self, row: &[f64]) {
        self.rest.extend_from_slice(row);
    }

    /// Chooses rows and computes the weights of a target. The rows are consumed.
    pub(super) fn fit(&mut self, target: &[f64]) {
        let size = target.len();
        self.push(target);
        let rows = self.rest.len() / size - 1;
        self.chosen.clear();
        self.factors.clear();
        self.factors.resize((rows + 1) * size, 0.0);
        let norms = |rest: &[f64]| -> Vec<f64> { rest.chunks_exact(size).map(square).collect() };
        let mut squares = norms(&self.rest);
        let whole = squares[rows];
        let least = DEPENDENT * DEPENDENT * squares[..rows].iter().fold(0.0, |most: f64, x| most.max(*x));
        let mut direction = vec![0.0; size];
        while self.chosen.len() < size.min(rows) {
            let Some(largest) = position_of_largest(&squares[..rows]).filter(|&row| squares[row] > least)
            else {
                break;
            };
            let norm = squares[largest].sqrt();
            direction.copy_from_slice(&self.rest[largest * size..][..size]);
            direction.iter_mut().for_each(|x| *x /= norm);
            let step = self.chosen.len();
            for (row, rest) in self.rest.chunks_exact_mut(size).enumerate() {
                let along: f64 = rest.iter().zip(&direction).map(|(x, d)| x * d).sum();
                rest.iter_mut().zip(&direction).for_each(|(x, d)| *x -= along * d);
                self.factors[row * size + step] = along;
                squares[row] = square(rest);
            }
            squares[largest] = 0.0;
            self.chosen.push(largest);
        }
        self.residual = if whole > 0.0 { (squares[rows] / whole).sqrt() } else { 0.0 };
        self.solve(size);
        self.exchange(size, rows);
        self.weights.clear();
        self.weights.extend_from_slice(&self.factors[rows * size..][..self.chosen.len()]);
    }

    /// Makes B from the factors of the directions: the chosen rows are lower triangular in these.
    fn solve(&mut self, size: usize) {
        let rank = self.chosen.len();
        let triangle: Vec<f64> =
            self.chosen.iter().flat_map(|&row| self.factors[row * size..][..rank].iter().copied()).collect();
        for row in self.factors.chunks_exact_mut(size) {
            for k in (0..rank).rev() {
                let value = row[k] / triangle[k * rank + k];
                row[k] = value;
                row[..k].iter_mut().zip(&triangle[k * rank..]).for_each(|(x, l)| *x -= value * l);
            }
        }
    }

    /// Exchanges rows while the volume grows.
    fn exchange(&mut self, size: usize, rows: usize) {
        let rank = self.chosen.len();
        // Every exchange increases the volume, so there are few; the limit is for rounding errors.
        for _ in 0..4 * rank {
            let entries = (0..rows).flat_map(|row| (0..rank).map(move |k| (row, k)));
            let size_of = |&(row, k): &(usize, usize)| self.factors[row * size + k].abs();
            let largest = entries.max_by(|one, other| size_of(one).total_cmp(&size_of(other)));
            let Some((new, k)) = largest.filter(|entry| size_of(entry) > GAIN) else { return };
            let mut change = self.factors[new * size..][..rank].to_vec();
            let pivot = change[k];
            change[k] -= 1.0;
            for row in self.factors.chunks_exact_mut(size) {
                let share = row[k] / pivot;
                row.iter_mut().zip(&change).for_each(|(x, c)| *x -= share * c);
            }
            self.chosen[k] = new;
        }
    }
}

fn square(row: &[f64]) -> f64 {
    row.iter().map(|x| x * x).sum()
}

/// The first position of the largest number.
fn position_of_largest(numbers: &[f64]) -> Option<usize> {
    let largest = numbers.iter().fold(f64::NEG_INFINITY, |most, x| most.max(*x));
    numbers.iter().position(|&x| x == largest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn fit(rows: &[Vec<f64>], target: &[f64]) -> Maxvol {
        let mut maxvol = Maxvol::default();
        rows.iter().for_each(|row| maxvol.push(row));
        maxvol.fit(target);
        maxvol
    }

    fn combination(rows: &[Vec<f64>], found: &Maxvol) -> Vec<f64> {
        let mut sum = vec![0.0; rows[0].len()];
        for (&row, weight) in found.chosen.iter().zip(&found.weights) {
            sum.iter_mut().zip(&rows[row]).for_each(|(sum, x)| *sum += weight * x);
        }
        sum
    }

    proptest! {
        #[test]
        fn a_target_in_the_span_is_reproduced(
            rows in prop::collection::vec(prop::collection::vec(-1.0..1.0f64, 3), 3..12),
            target in prop::collection::vec(-1.0..1.0f64, 3),
        ) {
            let found = fit(&rows, &target);
            prop_assume!(found.chosen.len() == 3 && found.residual < 1e-12);
            // Badly conditioned rows are allowed as large an error as their weights are.
            let size = found.weights.iter().fold(1.0, |most: f64, w| most.max(w.abs()));
            for (sum, target) in combination(&rows, &found).iter().zip(&target) {
                prop_assert!((sum - target).abs() < 1e-11 * size);
            }
        }

        #[test]
        fn no_row_needs_large_weights(
            rows in prop::collection::vec(prop::collection::vec(-1.0..1.0f64, 3), 4..20),
            which in 0..4usize,
        ) {
            let found = fit(&rows, &rows[which]);
            prop_assert!(found.weights.iter().all(|w| w.abs() <= GAIN + 1e-9), "{:?}", found.weights);
        }
    }

    #[test]
    fn what_the_rows_do_not_span_is_left() {
        let rows = [vec![1.0, 0.0, 0.0], vec![0.0, 2.0, 0.0], vec![1.0, 1.0, 0.0]];
        let found = fit(&rows, &[3.0, 0.0, 4.0]);
        assert_eq!(found.chosen.len(), 2);
        assert!((found.residual - 0.8).abs() < 1e-14);
        assert_eq!(combination(&rows, &found), [3.0, 0.0, 0.0]);
    }

    #[test]
    fn no_rows_and_no_target() {
        let found = fit(&[], &[1.0, 1.0]);
        assert_eq!((found.chosen.len(), found.weights.len(), found.residual), (0, 0, 1.0));
        let found = fit(&[vec![0.0, 0.0], vec![1.0, 0.0]], &[0.0, 0.0]);
        assert_eq!((found.chosen, found.weights, found.residual), (vec![1], vec![0.0], 0.0));
    }
}

//! The Cholesky factor L of a small dense matrix that grows by a row at a time, and the solution of
//! a system with it.
//!
//! ```text
//! G = L Lᵀ        L f = r, extended with every row        Lᵀ x = f
//! ```
//!
//! Approximate inverses solve such a system for each row, and add the columns of its pattern one
//! after another. A column without a pivot of its own is left out. Cost: k² / 2 operations for row
//! k, and k² / 2 for a solution.

/// The share of a diagonal entry that must be left as its pivot.
const LEAST_PIVOT: f64 = 1e-14;

/// L, and the right-hand side in progress.
#[derive(Debug, Default)]
pub(super) struct Cholesky {
    /// Row by row: row k has k + 1 entries.
    factor: Vec<f64>,
    /// L⁻¹ r
    forward: Vec<f64>,
}

impl Cholesky {
    /// Removes all rows.
    pub(super) fn clear(&mut self) {
        self.factor.clear();
        self.forward.clear();
    }

    /// A further row of G, with the diagonal entry last, to be filled in and [added](Self::add).
    pub(super) fn next_row(&mut self) -> &mut [f64] {
        let begin = self.factor.len();
        self.factor.resize(begin + self.forward.len() + 1, 0.0);
        &mut self.factor[begin..]
    }

    /// Factorises the row that was filled in, with the element `right` of the right-hand side.
    /// Returns whether it has a pivot; otherwise the row is removed.
    pub(super) fn add(&mut self, right: f64) -> bool {
        let size = self.forward.len();
        let begin = self.factor.len() - size - 1;
        let (before, new) = self.factor.split_at_mut(begin);
        let mut from = 0;
        for k in 0..size {
            let row = &before[from..=from + k];
            from += k + 1;
            let sum: f64 = row[..k].iter().zip(&new[..k]).map(|(x, y)| x * y).sum();
            new[k] = (new[k] - sum) / row[k];
        }
        let pivot = new[size];
        let rest = pivot - new[..size].iter().map(|x| x * x).sum::<f64>();
        // A pivot that rounding has left nothing of, or that is negative.
        if rest.is_nan() || rest <= LEAST_PIVOT * pivot || rest.is_infinite() {
            self.factor.truncate(begin);
            return false;
        }
        new[size] = rest.sqrt();
        let sum: f64 = new[..size].iter().zip(&self.forward).map(|(x, y)| x * y).sum();
        let forward = (right - sum) / new[size];
        self.forward.push(forward);
        true
    }

    /// x = G⁻¹ r
    pub(super) fn solve(&self, x: &mut Vec<f64>) {
        x.clear();
        x.extend(&self.forward);
        let mut begin = self.factor.len();
        for k in (0..x.len()).rev() {
            begin -= k + 1;
            let row = &self.factor[begin..=begin + k];
            let value = x[k] / row[k];
            x[k] = value;
            x[..k].iter_mut().zip(row).for_each(|(x, factor)| *x -= factor * value);
        }
    }

    /// rᵀ G⁻¹ r = ‖f‖²
    pub(super) fn energy(&self) -> f64 {
        self.forward.iter().map(|x| x * x).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn systems_grow_and_dependent_rows_are_left_out() {
        let g = [[4.0, 2.0, 2.0, 1.0], [2.0, 3.0, 3.0, 0.0], [2.0, 3.0, 3.0, 0.0], [1.0, 0.0, 0.0, 2.0]];
        let (r, mut cholesky, mut x) = ([1.0, 2.0, 2.0, -1.0], Cholesky::default(), Vec::new());
        let mut kept: Vec<usize> = Vec::new();
        for row in 0..4 {
            let new = cholesky.next_row();
            let places = kept.iter().chain([&row]);
            new.iter_mut().zip(places).for_each(|(value, &column)| *value = g[row][column]);
            if cholesky.add(r[row]) {
                kept.push(row);
            }
        }
        assert_eq!(kept, [0, 1, 3]);
        cholesky.solve(&mut x);
        for &row in &kept {
            let sum: f64 = kept.iter().zip(&x).map(|(&column, x)| g[row][column] * x).sum();
            assert!((sum - r[row]).abs() < 1e-14);
        }
        let energy: f64 = kept.iter().zip(&x).map(|(&row, x)| r[row] * x).sum();
        assert!((cholesky.energy() - energy).abs() < 1e-14);
        cholesky.clear();
        cholesky.next_row()[0] = -1.0;
        assert!(!cholesky.add(1.0));
    }
}

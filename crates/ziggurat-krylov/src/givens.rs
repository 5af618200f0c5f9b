//! The least-squares problem of GMRES: min_y ‖β e₁ − H y‖ for a Hessenberg matrix H that gains one
//! column per step.
//!
//! Each new column is reduced by the Givens rotations so far and one more, so that H is stored as
//! the factor R of its QR factorisation and the residual norm is known without solving. Computed on
//! the host in double precision. Y. Saad, M. Schultz, GMRES, SIAM J. Sci. Stat. Comput. 7, 1986.
//!
//! Cost: O(k) for column k and O(k²) to solve. Memory for `capacity` columns is allocated once.

/// The QR factorisation of H, with a fixed capacity.
#[derive(Debug)]
pub(crate) struct Hessenberg {
    /// Columns of R, each at a multiple of `capacity`.
    triangle: Vec<f64>,
    /// (cosine, sine) of each rotation.
    rotations: Vec<(f64, f64)>,
    /// β e₁ with all rotations applied.
    rhs: Vec<f64>,
    /// The solution y.
    solution: Vec<f64>,
    capacity: usize,
}

impl Hessenberg {
    /// An empty factorisation for up to `capacity` columns.
    pub(crate) fn new(capacity: usize) -> Self {
        Hessenberg {
            triangle: vec![0.0; capacity * capacity],
            rotations: Vec::with_capacity(capacity),
            rhs: vec![0.0; capacity + 1],
            solution: vec![0.0; capacity],
            capacity,
        }
    }

    /// Removes all columns and sets the right-hand side to β e₁.
    pub(crate) fn start(&mut self, beta: f64) {
        self.rotations.clear();
        self.rhs[0] = beta;
    }

    /// The number of columns.
    pub(crate) fn columns(&self) -> usize {
        self.rotations.len()
    }

    /// Appends column k, whose k + 2 entries are `column`, and returns the new residual norm.
    /// Returns `None` and appends nothing if the column is linearly dependent on the others, up to
    /// `rounding` relative to its norm.
    pub(crate) fn push(&mut self, column: &[f64], rounding: f64) -> Option<f64> {
        let k = self.columns();
        debug_assert_eq!(column.len(), k + 2);
        let norm = column.iter().map(|h| h * h).sum::<f64>().sqrt();
        let stored = &mut self.triangle[k * self.capacity..][..=k];
        stored.copy_from_slice(&column[..=k]);
        for (row, &(c, s)) in self.rotations.iter().enumerate() {
            let (above, below) = (stored[row], stored[row + 1]);
            stored[row] = c * above + s * below;
            stored[row + 1] = c * below - s * above;
        }
        let diagonal = stored[k].hypot(column[k + 1]);
        if diagonal <= rounding * norm {
            return None;
        }
        let (c, s) = (stored[k] / diagonal, column[k + 1] / diagonal);
        stored[k] = diagonal;
        self.rotations.push((c, s));
        self.rhs[k + 1] = -s * self.rhs[k];
        self.rhs[k] *= c;
        Some(self.rhs[k + 1].abs())
    }

    /// The solution y, one number per column.
    pub(crate) fn solve(&mut self) -> &[f64] {
        let k = self.columns();
        let y = &mut self.solution[..k];
        y.copy_from_slice(&self.rhs[..k]);
        for column in (0..k).rev() {
            let entries = &self.triangle[column * self.capacity..][..=column];
            y[column] /= entries[column];
            let known = y[column];
            for (y, entry) in y.iter_mut().zip(&entries[..column]) {
                *y -= entry * known;
            }
        }
        y
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn solves_the_least_squares_problem_and_returns_its_residual() {
        // H is 4 x 3.
        let columns: [&[f64]; 3] = [&[2.0, 1.0], &[-1.0, 3.0, 0.5], &[0.25, 1.0, -2.0, 1.5]];
        let mut h = Hessenberg::new(5);
        for beta in [1.0, -7.0] {
            h.start(beta);
            let mut last = f64::INFINITY;
            for column in columns {
                let norm = h.push(column, 1e-15).unwrap();
                assert!(norm <= last);
                last = norm;
            }
            let y = h.solve().to_vec();
            let mut residual = [beta, 0.0, 0.0, 0.0];
            for (column, y) in columns.iter().zip(&y) {
                for (r, h) in residual.iter_mut().zip(*column) {
                    *r -= h * y;
                }
            }
            let norm = residual.iter().map(|r| r * r).sum::<f64>().sqrt();
            assert!((norm - last).abs() < 1e-14 * beta.abs());
            // Normal equations: the residual is orthogonal to every column.
            for column in columns {
                assert!(column.iter().zip(&residual).map(|(h, r)| h * r).sum::<f64>().abs() < 1e-13);
            }
        }
    }

    #[test]
    fn rejects_a_dependent_column() {
        let mut h = Hessenberg::new(2);
        h.start(1.0);
        assert_eq!(h.push(&[0.0, 0.0], 1e-15), None);
        assert_eq!(h.columns(), 0);
        assert!(h.solve().is_empty());
        h.push(&[1.0, 1.0], 1e-15).unwrap();
        assert_eq!(h.push(&[1.0, 1.0, 0.0], 1e-15), None); // the same direction as the first column
        assert_eq!(h.columns(), 1);
    }
}

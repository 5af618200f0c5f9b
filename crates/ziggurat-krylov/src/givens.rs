//! The small least-squares problem of GMRES: min_y ‖β e₁ − H y‖ for a Hessenberg matrix H that grows by a column a step.
//!
//! H is kept as the triangle R of its QR factorisation, by one Givens rotation per column; the norm of the residual comes
//! for nothing. On the host, in double precision. Y. Saad, M. Schultz, GMRES, SIAM J. Sci. Stat. Comput. 7, 1986.
//!
//! Cost: O(k) for column k, O(k²) to solve; room for m columns is made once.

/// The factorisation, with room for a fixed number of columns.
#[derive(Debug)]
pub(crate) struct Hessenberg {
    /// Columns of R, `most` numbers apart.
    triangle: Vec<f64>,
    /// (cosine, sine) of each rotation.
    rotations: Vec<(f64, f64)>,
    /// β e₁, rotated.
    rhs: Vec<f64>,
    /// The solution y.
    solution: Vec<f64>,
    most: usize,
}

impl Hessenberg {
    /// Room for `most` columns.
    pub(crate) fn new(most: usize) -> Self {
        Hessenberg {
            triangle: vec![0.0; most * most],
            rotations: Vec::with_capacity(most),
            rhs: vec![0.0; most + 1],
            solution: vec![0.0; most],
            most,
        }
    }

    /// Forgets all columns; the right-hand side is β e₁.
    pub(crate) fn start(&mut self, beta: f64) {
        self.rotations.clear();
        self.rhs[0] = beta;
    }

    /// Columns so far.
    pub(crate) fn columns(&self) -> usize {
        self.rotations.len()
    }

    /// Adds column k, whose k + 2 entries are `column`, the last one below the diagonal. Returns the norm of the residual
    /// with it, or `None`, and nothing is added, if the column brings nothing new up to `rounding` relative to its norm.
    pub(crate) fn push(&mut self, column: &[f64], rounding: f64) -> Option<f64> {
        let k = self.columns();
        debug_assert_eq!(column.len(), k + 2);
        let norm = column.iter().map(|h| h * h).sum::<f64>().sqrt();
        let stored = &mut self.triangle[k * self.most..][..=k];
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

    /// y, of as many numbers as there are columns.
    pub(crate) fn solve(&mut self) -> &[f64] {
        let k = self.columns();
        let y = &mut self.solution[..k];
        y.copy_from_slice(&self.rhs[..k]);
        for column in (0..k).rev() {
            let entries = &self.triangle[column * self.most..][..=column];
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
    fn solves_the_least_squares_problem_and_knows_its_residual() {
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
    fn refuses_a_column_that_brings_nothing() {
        let mut h = Hessenberg::new(2);
        h.start(1.0);
        assert_eq!(h.push(&[0.0, 0.0], 1e-15), None);
        assert_eq!(h.columns(), 0);
        assert!(h.solve().is_empty());
        h.push(&[1.0, 1.0], 1e-15).unwrap();
        assert_eq!(h.push(&[1.0, 1.0, 0.0], 1e-15), None); // the same direction again
        assert_eq!(h.columns(), 1);
    }
}

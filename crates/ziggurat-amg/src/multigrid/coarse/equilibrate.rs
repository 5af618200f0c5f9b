//! Equilibration of a matrix by powers of two.
//!
//! ```text
//! r_i ← r_i / √(max_j |r_i a_ij c_j|),    c_j ← c_j / √(max_i |r_i a_ij c_j|)
//! ```
//!
//! repeated until the largest entry of every row and column of R A C is within a factor of four of
//! one. For a symmetric matrix R = C. D. Ruiz, A scaling algorithm to equilibrate both rows and
//! columns norms in matrices, RAL-TR-2001-034. Rounding the factors to powers of two changes no
//! mantissa. Cost: a few passes over the matrix.

use ziggurat_sparse::CsrRef;

/// Passes at most; the maxima converge quadratically, so a few suffice.
const MAX_PASSES: usize = 12;

/// Entries of R A C that differ by less than this from its transpose count as equal. The
/// entries of a Galerkin product have the rounding errors of larger ones that cancel in its sums.
const SYMMETRIC: f64 = 1e-8;

/// The factors of a matrix, and whether R A C is symmetric up to rounding.
pub(super) struct Equilibrated {
    pub(super) rows: Vec<f64>,
    pub(super) columns: Vec<f64>,
    pub(super) symmetric: bool,
}

impl Equilibrated {
    /// Equilibrates a square matrix.
    pub(super) fn new(a: CsrRef<'_, f64>) -> Self {
        let both = factors(a, true).0;
        if is_symmetric(a, &both) {
            return Equilibrated { rows: both.clone(), columns: both, symmetric: true };
        }
        let (rows, columns) = factors(a, false);
        Equilibrated { rows, columns, symmetric: false }
    }
}

/// R and C, equal ones if `symmetric`.
fn factors(a: CsrRef<'_, f64>, symmetric: bool) -> (Vec<f64>, Vec<f64>) {
    let n = a.rows();
    let (mut rows, mut columns) = (vec![1.0; n], vec![1.0; n]);
    for _ in 0..MAX_PASSES {
        let (mut row_max, mut column_max) = (vec![0.0_f64; n], vec![0.0_f64; n]);
        for row in a.all_rows() {
            let (indices, values) = a.row(row);
            for (&column, &value) in indices.iter().zip(values) {
                let column = column as usize;
                let size = (rows[row] * value * columns[column]).abs();
                row_max[row] = row_max[row].max(size);
                column_max[column] = column_max[column].max(size);
            }
        }
        if symmetric {
            for (row, column) in row_max.iter_mut().zip(&mut column_max) {
                let larger = row.max(*column);
                (*row, *column) = (larger, larger);
            }
        }
        let mut settled = true;
        for (factor, largest) in rows.iter_mut().zip(row_max).chain(columns.iter_mut().zip(column_max)) {
            let step = root(largest);
            *factor = (*factor * step).clamp(2f64.powi(-500), 2f64.powi(500));
            settled &= step == 1.0;
        }
        if settled {
            break;
        }
    }
    (rows, columns)
}

/// The power of two nearest to 1/√x; 1 if x is zero or not finite.
fn root(x: f64) -> f64 {
    if x > 0.0 && x.is_finite() { (-0.5 * x.log2()).round().exp2() } else { 1.0 }
}

fn is_symmetric(a: CsrRef<'_, f64>, factors: &[f64]) -> bool {
    a.all_rows().all(|row| {
        let (indices, values) = a.row(row);
        indices.iter().zip(values).all(|(&column, &value)| {
            let column = column as usize;
            let difference = value - a.get(column, row).unwrap_or(0.0);
            (factors[row] * difference * factors[column]).abs() <= SYMMETRIC
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ziggurat_sparse::Csr;
    use ziggurat_sparse::gallery::Problem;

    #[test]
    fn the_largest_entry_of_every_row_is_near_one() {
        for name in ["poisson2d:7", "convection3d:4", "jump3d:4", "elasticity3d:2"] {
            let mut a: Csr<f64> = name.parse::<Problem>().unwrap().matrix().unwrap();
            let pointers = a.row_ptr().to_vec();
            for row in 0..a.rows() {
                let factor = 10f64.powi(row as i32 * 7 % 200 - 100);
                a.values_mut()[pointers[row]..pointers[row + 1]]
                    .iter_mut()
                    .for_each(|value| *value *= factor);
            }
            let Equilibrated { rows, columns, symmetric } = Equilibrated::new(a.view());
            assert!(!symmetric);
            for row in a.all_rows() {
                let (indices, values) = a.row(row);
                let sizes =
                    indices.iter().zip(values).map(|(&j, v)| (rows[row] * v * columns[j as usize]).abs());
                let largest = sizes.fold(0.0, f64::max);
                assert!((0.25..=4.0).contains(&largest), "{name}, row {row}: {largest}");
            }
        }
    }

    #[test]
    fn a_symmetric_matrix_keeps_its_symmetry() {
        let a = "jump3d:5".parse::<Problem>().unwrap().matrix().unwrap();
        let Equilibrated { rows, columns, symmetric } = Equilibrated::new(a.view());
        assert!(symmetric && rows == columns);
        assert!(rows.iter().all(|factor| factor.log2().fract() == 0.0));
        let zero = Csr::<f64>::try_new(2, 2, vec![0, 0, 0], vec![], vec![]).unwrap();
        assert_eq!(Equilibrated::new(zero.view()).rows, [1.0, 1.0]);
    }
}

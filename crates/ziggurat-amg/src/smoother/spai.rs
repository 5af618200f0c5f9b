//! Sparse approximate inverse: the M that minimises ‖(I − M A) D^(−½)‖_F over a pattern, with D the
//! absolute diagonal of A.
//!
//! Row i of M, with the pattern P, is a least-squares problem of its own:
//!
//! ```text
//! min ‖(e_iᵀ − m A[P,:]) D^(−½)‖₂        G m = A[P,i] / d_i        G = A[P,:] D⁻¹ A[P,:]ᵀ
//! ```
//!
//! M. J. Grote & T. Huckle, Parallel preconditioning with sparse approximate inverses, SIAM J. Sci.
//! Comput. 18, 1997; as smoothers: O. Bröker & M. J. Grote, Sparse approximate inverse smoothers
//! for geometric and algebraic multigrid, Appl. Numer. Math. 41, 2002. The weights make the result
//! independent of the units of the unknowns. P holds the largest entries of row i, judged by
//! |a_ij| / √d_j, so M has about the pattern of A (SPAI-1).
//!
//! It needs no symmetry, unlike FSAI, and is applied as one product, unlike the substitutions of
//! incomplete factors. M is not symmetric where A is. Rows are independent; a row whose
//! least-squares problem fails is taken from Jacobi.
//!
//! Cost: for k entries per row and r entries per row of A, n k² r / 2 operations; halo rows within
//! two connections.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use ziggurat_sparse::matrix::Entries;
use ziggurat_sparse::{Csr, CsrRef, MatrixError};

use super::cholesky::Cholesky;
use crate::{OutOfRange, SetupError};

/// How many connections beyond its own rows a process reads: rows of the pattern, and the diagonal
/// entries of their columns.
pub(super) const DEPTH: usize = 2;

/// The parameters of SPAI.
///
/// ```
/// use ziggurat_amg::smoother::SpaiParameters;
/// assert_eq!(SpaiParameters::default().entries, 10);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SpaiParameters {
    /// The most entries of a row of M.
    pub entries: usize,
}

impl Default for SpaiParameters {
    fn default() -> Self {
        SpaiParameters { entries: 10 }
    }
}

impl SpaiParameters {
    /// Checks that every parameter is in its range.
    ///
    /// ```
    /// use ziggurat_amg::smoother::SpaiParameters;
    /// let error = SpaiParameters { entries: 0 }.check().unwrap_err();
    /// assert_eq!(error.to_string(), "`entries` is 0; it must be from 1 to 128");
    /// ```
    ///
    /// # Errors
    /// The first that is not.
    pub fn check(&self) -> Result<(), OutOfRange> {
        OutOfRange::unless_in("entries", self.entries, 1..=128)
    }
}

/// The rows `rows` of M. Columns are numbered as in `a`.
///
/// # Errors
/// If a row has no usable diagonal entry.
pub(super) fn inverse(
    a: CsrRef<'_, f64>,
    rows: Range<usize>,
    parameters: SpaiParameters,
) -> Result<Csr<f64>, SetupError> {
    let diagonal = a.diagonal(a.all_rows());
    let unusable = |row: &usize| !(diagonal[*row].is_finite() && diagonal[*row] != 0.0);
    if let Some(row) = rows.clone().find(unusable) {
        return Err(MatrixError::ZeroDiagonal { row, value: diagonal[row] }.into());
    }
    let weight = |column: usize| diagonal.get(column).map_or(1.0, |d| d.abs().recip());
    let scratch = || Row { weighted: vec![0.0; a.rows().max(a.cols())], ..Row::default() };
    Ok(Csr::collect(a.row_ptr(), rows, a.cols(), scratch, |row: &mut Row, index, entries| {
        row.choose(a, index, parameters.entries, &weight);
        row.solve(a, index, &weight);
        row.write(index, diagonal[index], entries);
    })?)
}

/// A row of M while it is computed.
#[derive(Default)]
struct Row {
    /// The pattern with the sizes by which entries are judged; the row itself is the first.
    pattern: Vec<(f64, u32)>,
    /// The columns of the pattern that the system has.
    columns: Vec<u32>,
    /// A row of A D⁻¹, by columns; zero outside [`solve`](Self::solve).
    weighted: Vec<f64>,
    system: Cholesky,
    m: Vec<f64>,
}

impl Row {
    /// The largest entries of a row.
    fn choose(&mut self, a: CsrRef<'_, f64>, index: usize, entries: usize, weight: &impl Fn(usize) -> f64) {
        let (columns, values) = a.row(index);
        let others = columns.iter().zip(values).filter(|&(&column, _)| column as usize != index);
        self.pattern.clear();
        self.pattern.push((f64::INFINITY, index as u32));
        let size = |value: f64, column: u32| value.abs() * weight(column as usize).sqrt();
        self.pattern.extend(others.map(|(&column, &value)| (size(value, column), column)));
        self.pattern.retain(|entry| entry.0 > 0.0);
        // The largest first; among equals the first column.
        self.pattern.sort_unstable_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
        self.pattern.truncate(entries);
    }

    /// The least-squares problem of the pattern.
    fn solve(&mut self, a: CsrRef<'_, f64>, index: usize, weight: &impl Fn(usize) -> f64) {
        let Row { pattern, columns, weighted, system, m } = self;
        system.clear();
        columns.clear();
        for &(_, row) in &*pattern {
            let (places, values) = a.row(row as usize);
            for (&place, value) in places.iter().zip(values) {
                weighted[place as usize] = value * weight(place as usize);
            }
            let new = system.next_row();
            for (product, &other) in new.iter_mut().zip(columns.iter().chain([&row])) {
                let (places, values) = a.row(other as usize);
                *product =
                    places.iter().zip(values).map(|(&place, value)| value * weighted[place as usize]).sum();
            }
            if system.add(weighted[index]) {
                columns.push(row);
            }
            places.iter().for_each(|&place| weighted[place as usize] = 0.0);
        }
        system.solve(m);
    }

    fn write(&mut self, index: usize, diagonal: f64, entries: &mut Entries<f64>) {
        // Without the diagonal entry, nothing of the row's residual would be used.
        let usable = self.columns.first() == Some(&(index as u32));
        if !usable || self.m.iter().any(|value| !value.is_finite()) {
            entries.push(index as u32, diagonal.recip());
            return;
        }
        self.pattern.clear();
        self.pattern.extend(self.m.iter().copied().zip(self.columns.iter().copied()));
        self.pattern.sort_unstable_by_key(|entry| entry.1);
        self.pattern.iter().for_each(|&(value, column)| entries.push(column, value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ziggurat_sparse::algebra::product;
    use ziggurat_sparse::gallery::Problem;

    fn matrix(name: &str) -> Csr<f64> {
        name.parse::<Problem>().unwrap().matrix().unwrap()
    }

    fn of(a: &Csr<f64>, entries: usize) -> Csr<f64> {
        inverse(a.view(), a.all_rows(), SpaiParameters { entries }).unwrap()
    }

    #[test]
    fn residuals_are_orthogonal_to_the_rows_of_the_pattern() {
        for name in ["convection3d:6", "jump3d:6", "transport3d:6"] {
            let a = matrix(name);
            let m = of(&a, 5);
            let ma = product(m.view(), m.all_rows(), a.view()).unwrap();
            let d = a.view().diagonal(a.all_rows());
            for row in 0..a.rows() {
                assert!((1..=5).contains(&m.row(row).0.len()));
                for &other in m.row(row).0 {
                    let (columns, values) = a.row(other as usize);
                    let (mut sum, mut size) = (0.0, 0.0);
                    for (&column, value) in columns.iter().zip(values) {
                        let residual = f64::from(u8::from(column as usize == row))
                            - ma.get(row, column as usize).unwrap_or(0.0);
                        sum += residual * value / d[column as usize].abs();
                        size += (value / d[column as usize]).abs();
                    }
                    assert!(sum.abs() < 1e-12 * size, "{name}, row {row}: {sum:e}");
                }
            }
        }
    }

    #[test]
    fn a_full_pattern_gives_the_inverse() {
        let values = vec![4.0, 1.0, -2.0, 0.5, 3.0, 1.0, -1.0, 2.0, 5.0];
        let a = Csr::try_new(3, 3, vec![0, 3, 6, 9], [0, 1, 2].repeat(3), values).unwrap();
        let one = product(of(&a, 3).view(), 0..3, a.view()).unwrap();
        for (row, column) in (0..9).map(|k| (k / 3, k % 3)) {
            let expected = f64::from(u8::from(row == column));
            assert!((one.get(row, column).unwrap_or(0.0) - expected).abs() < 1e-14);
        }
    }

    #[test]
    fn units_of_the_unknowns_do_not_matter() {
        let a = matrix("convection3d:6");
        let power = |row: usize| 2f64.powi((row * 7 % 13) as i32 - 6);
        let scaled = |a: &Csr<f64>, by: &dyn Fn(usize) -> f64| {
            let mut scaled = a.clone();
            let places = (0..a.rows()).flat_map(|row| a.row(row).0.iter().map(move |&column| (row, column)));
            let factors: Vec<f64> = places.map(|(row, column)| by(row) * by(column as usize)).collect();
            scaled.values_mut().iter_mut().zip(factors).for_each(|(value, factor)| *value *= factor);
            scaled
        };
        // (S A S)⁻¹ = S⁻¹ A⁻¹ S⁻¹
        assert_eq!(of(&scaled(&a, &power), 7), scaled(&of(&a, 7), &|row| power(row).recip()));
    }

    #[test]
    fn without_a_solution_a_row_is_that_of_jacobi() {
        // The squares of the first row are infinite.
        let a = Csr::try_new(2, 2, vec![0, 2, 3], vec![0, 1, 1], vec![2.0, 1e300, 4.0]).unwrap();
        let m = of(&a, 4);
        assert_eq!((m.row(0), m.row(1).0), ((&[0][..], &[0.5][..]), &[1][..]));
        assert!((m.row(1).1[0] - 0.25).abs() < 1e-15);
        let far = Csr::try_new(2, 2, vec![0, 1, 2], vec![0, 1], vec![1e200, -1e-200]).unwrap();
        let m = of(&far, 4);
        assert!((m.values()[0] * 1e200 - 1.0).abs() < 1e-15 && (m.values()[1] * 1e-200 + 1.0).abs() < 1e-15);
        let zero = Csr::try_new(1, 1, vec![0, 1], vec![0], vec![0.0]).unwrap();
        assert!(inverse(zero.view(), 0..1, SpaiParameters::default()).is_err());
    }
}

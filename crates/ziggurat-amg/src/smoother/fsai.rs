//! Factorised sparse approximate inverse: M = GᵀG with a lower triangular G for which
//! diag(G A Gᵀ) = 1, for a symmetric positive definite A.
//!
//! Row i of G is g_i = (g̃_i, 1) / √ψ_i, where g̃_i minimises the Kaporin functional over a pattern
//! P of columns before i:
//!
//! ```text
//! ψ(g̃) = a_ii + 2 g̃·A[P,i] + g̃·A[P,P] g̃        A[P,P] g̃ = −A[P,i]        ψ_i = a_ii + g̃·A[P,i]
//! ```
//!
//! The static pattern is the lower triangle of A (Kolotilina & Yeremin, 1993). The adaptive
//! one (aFSAI; Janna & Ferronato, 2011; Algorithm 5 of the Chronos paper, Isotton et al., 2021)
//! starts empty. Each step adds the columns j that reduce ψ most, and the row is finished once
//! ψ ≤ ε a_ii:
//!
//! ```text
//! ½ ∂ψ/∂g̃_j = a_ij + Σ_{r∈P} g̃_r a_rj        the reduction along j alone is (½ ∂ψ/∂g̃_j)² / a_jj
//! ```
//!
//! (The paper takes the largest gradients; dividing by √a_jj makes the choice independent of the
//! units of the unknowns.) The Cholesky factor of A[P,P] grows by a row per column, so a step does
//! not start again. Rows are independent. A row of an indefinite matrix, where the factor does not
//! exist, keeps the columns found before.
//!
//! Cost: for k steps of s columns, about k² s / 2 passes over A and n (k s)³ / 6 operations; halo
//! rows within k connections.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use ziggurat_sparse::matrix::Entries;
use ziggurat_sparse::{Csr, CsrRef, MatrixError};

use super::cholesky::Cholesky;
use crate::{OutOfRange, SetupError};

/// The parameters of FSAI.
///
/// ```
/// use ziggurat_amg::smoother::FsaiParameters;
/// assert_eq!(FsaiParameters::default().columns_per_step, 2);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FsaiParameters {
    /// Maximum number of steps that add columns to a row; 0: the pattern of the lower triangle.
    pub steps: usize,
    /// Columns that each step adds.
    pub columns_per_step: usize,
    /// A row is finished once ψ is at most this fraction of its first value, a_ii.
    pub tolerance: f64,
}

impl Default for FsaiParameters {
    fn default() -> Self {
        FsaiParameters { steps: 4, columns_per_step: 2, tolerance: 1e-3 }
    }
}

/// The most entries of a row of G besides the diagonal one, so that a dense row of A does not cost
/// its third power.
const MAX_COLUMNS: usize = 128;

impl FsaiParameters {
    /// Checks that every parameter is in its range.
    ///
    /// ```
    /// use ziggurat_amg::smoother::FsaiParameters;
    /// let error = FsaiParameters { columns_per_step: 0, ..FsaiParameters::default() }.check().unwrap_err();
    /// assert_eq!(error.to_string(), "`columns_per_step` is 0; it must be from 1 to 128");
    /// ```
    ///
    /// # Errors
    /// The first that is not.
    pub fn check(&self) -> Result<(), OutOfRange> {
        let FsaiParameters { steps, columns_per_step, tolerance } = *self;
        OutOfRange::unless_in("steps", steps, 0..=MAX_COLUMNS)?;
        OutOfRange::unless_in("columns_per_step", columns_per_step, 1..=MAX_COLUMNS)?;
        let usable = (0.0..1.0).contains(&tolerance);
        OutOfRange::unless("tolerance", tolerance, usable, "at least 0 and below 1")
    }

    /// How many connections beyond its own rows a process reads.
    pub(super) fn depth(&self) -> usize {
        self.steps.max(1)
    }
}

/// The rows `rows` of G. Columns are numbered as in `a`.
///
/// # Errors
/// If a row has no usable diagonal entry.
pub(super) fn factor(
    a: CsrRef<'_, f64>,
    rows: Range<usize>,
    parameters: &FsaiParameters,
) -> Result<Csr<f64>, SetupError> {
    let diagonal = a.diagonal(a.all_rows());
    let unusable = |row: &usize| !(diagonal[*row].is_finite() && diagonal[*row] != 0.0);
    if let Some(row) = rows.clone().find(unusable) {
        return Err(MatrixError::ZeroDiagonal { row, value: diagonal[row] }.into());
    }
    let scratch = || Row::new(a.rows().max(a.cols()));
    Ok(Csr::collect(a.row_ptr(), rows, a.cols(), scratch, |row: &mut Row, index, entries| {
        row.begin(index, diagonal[index]);
        match parameters.steps {
            0 => row.add_lower_triangle(a),
            _ => row.add_by_gradient(a, &diagonal, parameters),
        }
        row.write(entries);
    })?)
}

/// A row of G while it is computed. Columns are in the order in which they were added.
struct Row {
    index: usize,
    diagonal: f64,
    columns: Vec<u32>,
    /// The system A[P,P] (−g̃) = A[P,i].
    system: Cholesky,
    /// g̃
    g: Vec<f64>,
    psi: f64,
    /// The place of each column of A in `columns`, plus one; zero for the others.
    place: Vec<u32>,
    /// Half of the gradient, by column; zero outside the current row.
    gradient: Vec<f64>,
    candidates: Vec<u32>,
    /// The candidates with the reduction of ψ that each of them promises.
    gains: Vec<(f64, u32)>,
}

impl Row {
    fn new(columns: usize) -> Row {
        Row {
            index: 0,
            diagonal: 1.0,
            columns: Vec::new(),
            system: Cholesky::default(),
            g: Vec::new(),
            psi: 1.0,
            place: vec![0; columns],
            gradient: vec![0.0; columns],
            candidates: Vec::new(),
            gains: Vec::new(),
        }
    }

    fn begin(&mut self, index: usize, diagonal: f64) {
        (self.index, self.diagonal, self.psi) = (index, diagonal, diagonal);
        self.system.clear();
        self.g.clear();
        self.columns.clear();
    }

    /// The static pattern. A longer row keeps its largest entries.
    fn add_lower_triangle(&mut self, a: CsrRef<'_, f64>) {
        let (columns, values) = a.row(self.index);
        let lower = columns.partition_point(|&column| (column as usize) < self.index);
        self.gains.clear();
        self.gains.extend(values[..lower].iter().zip(columns).map(|(value, &column)| (value.abs(), column)));
        if self.gains.len() > MAX_COLUMNS {
            self.gains.select_nth_unstable_by(MAX_COLUMNS - 1, by_gain);
            self.gains.truncate(MAX_COLUMNS);
            self.gains.sort_unstable_by_key(|gain| gain.1);
        }
        let chosen = std::mem::take(&mut self.gains);
        for &(_, column) in &chosen {
            self.add(a, column);
        }
        self.gains = chosen;
        self.solve();
    }

    /// The adaptive pattern.
    fn add_by_gradient(&mut self, a: CsrRef<'_, f64>, diagonal: &[f64], parameters: &FsaiParameters) {
        for _ in 0..parameters.steps {
            self.find_gains(a, diagonal);
            let count = parameters.columns_per_step.min(MAX_COLUMNS - self.columns.len());
            if self.gains.len() > count {
                if count == 0 {
                    return;
                }
                self.gains.select_nth_unstable_by(count - 1, by_gain);
                self.gains.truncate(count);
            }
            self.gains.sort_unstable_by(by_gain);
            let chosen = std::mem::take(&mut self.gains);
            let mut added = false;
            for &(_, column) in &chosen {
                added |= self.add(a, column);
            }
            self.gains = chosen;
            if !added {
                return;
            }
            self.solve();
            if self.psi <= parameters.tolerance * self.diagonal {
                return;
            }
        }
    }

    /// The columns before this row that are connected to it or to its pattern, with the reduction
    /// of ψ along each.
    fn find_gains(&mut self, a: CsrRef<'_, f64>, diagonal: &[f64]) {
        let Row { index, columns, g, place, gradient, candidates, gains, .. } = self;
        let mut add_row = |row: usize, factor: f64| {
            let (others, values) = a.row(row);
            for (&column, value) in others.iter().zip(values) {
                // A zero gradient may be listed twice; the second one is then zero, too.
                if (column as usize) < *index && place[column as usize] == 0 {
                    let sum = &mut gradient[column as usize];
                    if *sum == 0.0 {
                        candidates.push(column);
                    }
                    *sum += factor * value;
                }
            }
        };
        add_row(*index, 1.0);
        columns.iter().zip(&*g).for_each(|(&column, &factor)| add_row(column as usize, factor));
        gains.clear();
        for column in candidates.drain(..) {
            let half = std::mem::take(&mut gradient[column as usize]);
            let gain = half * half / diagonal[column as usize];
            // Rows of an indefinite matrix, and rows that are not known here, have no gain.
            if gain > 0.0 && gain.is_finite() {
                gains.push((gain, column));
            }
        }
    }

    /// Adds a column to the pattern: a row of the Cholesky factor. Returns whether it exists.
    fn add(&mut self, a: CsrRef<'_, f64>, column: u32) -> bool {
        let size = self.columns.len();
        let new = self.system.next_row();
        let (others, values) = a.row(column as usize);
        let mut right = 0.0;
        for (&other, &value) in others.iter().zip(values) {
            if other == column {
                new[size] = value;
            } else if other as usize == self.index {
                right = value;
            } else if let Some(place) = (self.place[other as usize] as usize).checked_sub(1) {
                new[place] = value;
            }
        }
        if !self.system.add(right) {
            return false;
        }
        self.columns.push(column);
        self.place[column as usize] = size as u32 + 1;
        true
    }

    /// g̃ and ψ = a_ii − ‖L⁻¹ A[P,i]‖² for the current pattern.
    fn solve(&mut self) {
        self.system.solve(&mut self.g);
        self.g.iter_mut().for_each(|g| *g = -*g);
        self.psi = self.diagonal - self.system.energy();
    }

    /// Writes the row and forgets its pattern.
    fn write(&mut self, entries: &mut Entries<f64>) {
        for &column in &self.columns {
            self.place[column as usize] = 0;
        }
        // A matrix that is not positive definite, or no longer so after rounding: this row is
        // taken from Jacobi.
        let unusable = self.psi.is_nan() || self.psi <= 1e-14 * self.diagonal;
        if unusable || self.g.iter().any(|value| !value.is_finite()) {
            entries.push(self.index as u32, self.diagonal.abs().sqrt().recip());
            return;
        }
        let scale = self.psi.sqrt().recip();
        self.gains.clear();
        self.gains.extend(self.g.iter().zip(&self.columns).map(|(value, &column)| (value * scale, column)));
        self.gains.sort_unstable_by_key(|entry| entry.1);
        self.gains.iter().for_each(|&(value, column)| entries.push(column, value));
        entries.push(self.index as u32, scale);
    }
}

/// The largest first; among equals the first column, so that the result does not depend on the
/// order.
fn by_gain(one: &(f64, u32), other: &(f64, u32)) -> std::cmp::Ordering {
    other.0.total_cmp(&one.0).then(one.1.cmp(&other.1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ziggurat_sparse::algebra::{product, transpose};
    use ziggurat_sparse::gallery::Problem;

    fn matrix(name: &str) -> Csr<f64> {
        name.parse::<Problem>().unwrap().matrix().unwrap()
    }

    /// G A Gᵀ
    fn preconditioned(a: &Csr<f64>, g: &Csr<f64>) -> Csr<f64> {
        let ga = product(g.view(), g.all_rows(), a.view()).unwrap();
        product(ga.view(), ga.all_rows(), transpose(g.view(), g.all_rows()).view()).unwrap()
    }

    #[test]
    fn the_diagonal_of_g_a_gt_is_one() {
        for name in ["poisson3d:7", "jump3d:8", "elasticity3d:4", "anisotropic3d:6"] {
            let a = matrix(name);
            for steps in [0, 1, 4, 20] {
                let parameters = FsaiParameters { steps, ..FsaiParameters::default() };
                let g = factor(a.view(), a.all_rows(), &parameters).unwrap();
                let b = preconditioned(&a, &g);
                for (row, value) in b.view().diagonal(b.all_rows()).into_iter().enumerate() {
                    assert!((value - 1.0).abs() < 1e-12, "{name}, {steps} steps, row {row}: {value}");
                }
                let lower = |row: usize| g.row(row).0.iter().all(|&column| column as usize <= row);
                assert!(g.all_rows().all(lower));
            }
        }
    }

    #[test]
    fn the_whole_lower_triangle_gives_the_inverse() {
        let a = matrix("poisson2d:4");
        let parameters = FsaiParameters { steps: 16, columns_per_step: 16, tolerance: 0.0 };
        let g = factor(a.view(), a.all_rows(), &parameters).unwrap();
        let b = preconditioned(&a, &g);
        for row in b.all_rows() {
            let (columns, values) = b.row(row);
            for (&column, value) in columns.iter().zip(values) {
                let expected = f64::from(u8::from(column as usize == row));
                assert!((value - expected).abs() < 1e-12, "({row}, {column}): {value}");
            }
        }
    }

    #[test]
    fn more_steps_reduce_the_kaporin_functional_and_a_tolerance_ends_them() {
        let a = matrix("jump3d:8");
        let entry = |steps, tolerance, row: usize| {
            let parameters = FsaiParameters { steps, columns_per_step: 2, tolerance };
            let g = factor(a.view(), a.all_rows(), &parameters).unwrap();
            (g.get(row, row).unwrap(), g.nnz())
        };
        // g_ii = ψ^(−1/2)
        let [one, two, four] = [1, 2, 4].map(|steps| entry(steps, 0.0, 300).0);
        assert!(one < two && two <= four, "{one} {two} {four}");
        assert!(entry(4, 0.96, 300).1 < entry(4, 0.0, 300).1);
    }

    #[test]
    fn matrices_that_are_not_positive_definite_give_an_error_or_a_usable_row() {
        let values = vec![1.0, 2.0, 2.0, 1.0];
        let indefinite = Csr::try_new(2, 2, vec![0, 2, 4], vec![0, 1, 0, 1], values).unwrap();
        let g = factor(indefinite.view(), 0..2, &FsaiParameters::default()).unwrap();
        assert_eq!((g.row(0), g.row(1)), ((&[0][..], &[1.0][..]), (&[1][..], &[1.0][..])));
        // Rounding may leave a coarse matrix with a negative entry.
        let negative = Csr::try_new(1, 1, vec![0, 1], vec![0], vec![-4.0]).unwrap();
        let g = factor(negative.view(), 0..1, &FsaiParameters::default()).unwrap();
        assert_eq!(g.row(0).1, [0.5]);
        let zero = Csr::try_new(1, 1, vec![0, 1], vec![0], vec![0.0]).unwrap();
        let error = factor(zero.view(), 0..1, &FsaiParameters::default()).unwrap_err();
        assert!(error.to_string().starts_with("row 0: the diagonal entry is 0"), "{error}");
    }

    #[test]
    fn units_of_the_unknowns_do_not_change_the_pattern() {
        let a = matrix("elasticity3d:4");
        let factors: Vec<f64> = a.all_rows().map(|row| 2f64.powi(3 * (row as i32 % 7))).collect();
        let scaled = ziggurat_sparse::algebra::scaled(a.view(), a.all_rows(), &factors, &factors).unwrap();
        let [one, other] =
            [&a, &scaled].map(|a| factor(a.view(), a.all_rows(), &FsaiParameters::default()).unwrap());
        assert_eq!(one.columns(), other.columns());
    }
}

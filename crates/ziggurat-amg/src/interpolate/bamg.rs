//! Least-squares interpolation of test vectors: BAMG (A. Brandt, J. Brannick, K. Kahl & I.
//! Livshits, *Bootstrap AMG*, 2011), in the adaptive form of Chronos (Isotton, thesis, 2.2.3,
//! algorithms 3 and 7).
//!
//! ```text
//! w_i = argmin ‖v_i − Σ_{j∈C_i} w_ij v_j‖        v_i: the values of all test vectors in row i
//! ```
//!
//! Rows are scaled by the square roots of their diagonal entries, so that units do not matter.
//!
//! C_i are coarse rows near i in the strong graph, as many as there are test vectors and those
//! that span their values best ([maxvol](super::maxvol)). The search starts at `min_distance`
//! connections and goes on to `max_distance` until the fit is good and the weights are small. A row
//! for which it never is becomes coarse itself. So P V_c = V holds for all rows but those that may
//! deviate by `tolerance`, whatever the signs and sizes of the matrix entries: interpolation does
//! not look at them.
//!
//! Cost: per fine row 3 m t² operations for t test vectors and m coarse rows nearby, for each
//! distance that is tried. Each thread has a marker of 4 bytes per local row.

use serde::{Deserialize, Serialize};
use ziggurat_sparse::matrix::Entries;
use ziggurat_sparse::{Csr, CsrRef, MatrixError};

use super::TestVectors;
use super::collapse::check;
use super::maxvol::Maxvol;
use crate::OutOfRange;
use crate::coarsen::{Point, Splitting};
use crate::halo::Halo;
use crate::strength::StrongGraph;

/// The most coarse rows that a fine row chooses from: the nearest ones.
const MOST: usize = 200;

/// When a fit counts as good.
///
/// ```
/// use ziggurat_amg::interpolate::LeastSquares;
/// let wrong = LeastSquares { min_distance: 4, ..LeastSquares::default() };
/// assert_eq!(wrong.check().unwrap_err().to_string(), "`min_distance` is 4; it must be from 1 to 3");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LeastSquares {
    /// Coarse rows are looked for at least this many connections away.
    pub min_distance: usize,
    /// Coarse rows are looked for at most this many connections away.
    pub max_distance: usize,
    /// A fit is good if its error is at most this fraction of the row's values.
    pub tolerance: f64,
    /// A fit is good if the norm of its weights, between scaled rows, is at most this value.
    pub max_weight: f64,
}

impl Default for LeastSquares {
    fn default() -> Self {
        LeastSquares { min_distance: 1, max_distance: 3, tolerance: 0.2, max_weight: 4.0 }
    }
}

/// The largest `max_distance`: processes fetch the rows of others up to one connection farther.
const FARTHEST: usize = 8;

impl LeastSquares {
    /// Checks that every parameter is in its range.
    ///
    /// # Errors
    /// The first that is not.
    pub fn check(&self) -> Result<(), OutOfRange> {
        OutOfRange::unless_in("max_distance", self.max_distance, 1..=FARTHEST)?;
        OutOfRange::unless_in("min_distance", self.min_distance, 1..=self.max_distance)?;
        OutOfRange::unless_in("tolerance", self.tolerance, 0.0..=1.0)?;
        let positive = self.max_weight > 0.0;
        OutOfRange::unless("max_weight", self.max_weight, positive, "positive")
    }
}

/// Builds interpolation to all rows of `a`, and the splitting with the rows that have become
/// coarse. Collective.
///
/// `strong` and `splitting` cover all of `a`, halo included, and so do `vectors`. The result is
/// right for rows whose neighbours up to `max_distance` connections away are present.
///
/// ```
/// use ziggurat_amg::{coarsen::pmis, halo::Whole, strength::{Strength, strong_connections}};
/// use ziggurat_amg::interpolate::{LeastSquares, NearKernel, TestVectors, bamg};
/// use ziggurat_sparse::gallery::Problem;
/// let a = "poisson2d:20".parse::<Problem>()?.matrix()?;
/// let whole = Whole::new(a.rows());
/// let strong = strong_connections(a.view(), a.all_rows(), &Strength::symmetric(), &[], &whole)?;
/// let vectors = TestVectors::start(a.view(), &NearKernel::constants(a.rows(), 1)?, 1, &whole);
/// let (kept, p) = bamg(a.view(), &strong, &pmis(&strong, &whole)?, &vectors, &LeastSquares::default(), &whole)?;
/// // Constants are interpolated by copying the value of a neighbour.
/// assert!(p.values().iter().all(|&weight| weight == 1.0) && p.cols() == kept.coarse_rows());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If `strong`, `splitting` or `vectors` does not match `a`.
pub fn bamg<H: Halo>(
    a: CsrRef<'_, f64>,
    strong: &StrongGraph,
    splitting: &Splitting,
    vectors: &TestVectors,
    how: &LeastSquares,
    halo: &H,
) -> Result<(Splitting, Csr<f64>), MatrixError> {
    check(a, &a.all_rows(), strong, splitting)?;
    let scratch = || Neighbourhood { marks: vec![0; a.cols()], ..Neighbourhood::default() };
    let collect = |near: &mut Neighbourhood, row: usize, entries: &mut Entries<f64>| {
        // Rows of the identity, for now in the column of the fine row.
        if splitting.coarse_index(row).is_some() || !near.fit(row, strong, splitting, vectors, how) {
            entries.push(row as u32, 1.0);
        } else {
            near.weights.iter().for_each(|&(column, weight)| entries.push(column, weight));
        }
    };
    let fine = Csr::collect(strong.row_ptr(), a.all_rows(), a.cols(), scratch, collect)?;
    let mut coarse: Vec<u8> = (0..a.cols()).map(|row| u8::from(is_identity(&fine, row))).collect();
    halo.exchange(&mut coarse);
    let point = |row: usize| if coarse[row] == 0 { Point::Fine } else { Point::Coarse };
    let kept = Splitting::new(a.cols(), point);
    let renumber = |_: &mut (), row: usize, entries: &mut Entries<f64>| {
        let (columns, weights) = fine.row(row);
        for (&column, &weight) in columns.iter().zip(weights) {
            // Rows of other processes whose neighbours are not all present may have decided
            // differently here; they are not used.
            if let Some(index) = kept.coarse_index(column as usize) {
                entries.push(index, weight);
            }
        }
    };
    let p = Csr::collect(fine.row_ptr(), a.all_rows(), kept.coarse_rows(), || (), renumber)?;
    Ok((kept, p))
}

/// Whether a row is coarse: its only entry is its own column.
fn is_identity(p: &Csr<f64>, row: usize) -> bool {
    row < p.rows() && p.row(row).0 == [row as u32]
}

/// The coarse rows near a fine one, and the weights of those it is interpolated from.
#[derive(Default)]
struct Neighbourhood {
    /// Columns, in increasing order, and weights.
    weights: Vec<(u32, f64)>,
    coarse: Vec<u32>,
    /// The rows at the present distance, after those that are nearer.
    reached: Vec<u32>,
    /// A row has been reached if its mark is the present one.
    marks: Vec<u32>,
    mark: u32,
    maxvol: Maxvol,
}

impl Neighbourhood {
    /// Computes the weights of a fine row. Returns false if no fit is good, so that it must become
    /// coarse. A row without strong connections has no weights: the smoother solves it.
    fn fit(
        &mut self,
        row: usize,
        strong: &StrongGraph,
        splitting: &Splitting,
        vectors: &TestVectors,
        how: &LeastSquares,
    ) -> bool {
        self.weights.clear();
        self.coarse.clear();
        self.reached.clear();
        self.mark += 1;
        self.reach(row as u32, splitting);
        let mut nearer = 0;
        for distance in 1..=how.max_distance {
            let (end, known) = (self.reached.len(), self.coarse.len());
            for place in nearer..end {
                let from = self.reached[place] as usize;
                if from < strong.rows() {
                    strong.row(from).iter().for_each(|&to| self.reach(to, splitting));
                }
            }
            if distance == 1 && self.reached.len() == end {
                return true;
            }
            nearer = end;
            if distance >= how.min_distance
                && (self.coarse.len() > known || distance == how.min_distance)
                && self.interpolates(vectors, row, how)
            {
                return true;
            }
        }
        false
    }

    fn reach(&mut self, row: u32, splitting: &Splitting) {
        if std::mem::replace(&mut self.marks[row as usize], self.mark) != self.mark {
            self.reached.push(row);
            if splitting.coarse_index(row as usize).is_some() && self.coarse.len() < MOST {
                self.coarse.push(row);
            }
        }
    }

    /// Whether the coarse rows reached so far fit the row well.
    fn interpolates(&mut self, vectors: &TestVectors, row: usize, how: &LeastSquares) -> bool {
        self.maxvol.clear();
        self.coarse.iter().for_each(|&coarse| self.maxvol.push(vectors.scaled_row(coarse as usize)));
        self.maxvol.fit(vectors.scaled_row(row));
        let Maxvol { chosen, weights, residual, .. } = &self.maxvol;
        let norm = weights.iter().map(|weight| weight * weight).sum::<f64>().sqrt();
        // Also false if one of them is not a number.
        if !(*residual <= how.tolerance && norm <= how.max_weight) {
            return false;
        }
        for (&place, weight) in chosen.iter().zip(weights).filter(|(_, weight)| **weight != 0.0) {
            let coarse = self.coarse[place];
            self.weights.push((coarse, weight * vectors.scale(coarse as usize) / vectors.scale(row)));
        }
        self.weights.sort_unstable_by_key(|(column, _)| *column);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coarsen::pmis;
    use crate::halo::Whole;
    use crate::interpolate::{NearKernel, srqcg};
    use crate::strength::{Strength, strong_connections};
    use ziggurat_sparse::gallery::{Problem, rigid_body_modes};

    /// Matrix, test vectors, and what BAMG makes of them.
    fn interpolated(
        problem: &str,
        count: usize,
        how: &LeastSquares,
    ) -> (Csr<f64>, TestVectors, Splitting, Csr<f64>) {
        let problem: Problem = problem.parse().unwrap();
        let a = problem.matrix().unwrap();
        let whole = Whole::new(a.rows());
        let kernel = match problem.coordinates() {
            Ok(coordinates) if problem.to_string().starts_with("elasticity") => {
                NearKernel::from_vectors(&rigid_body_modes(&coordinates), 3).unwrap()
            }
            _ => NearKernel::constants(a.rows(), 1).unwrap(),
        };
        let vectors =
            srqcg(a.view(), &whole, TestVectors::start(a.view(), &kernel, count, &whole), 5).unwrap();
        let strong = strong_connections(a.view(), a.all_rows(), &Strength::symmetric(), &[], &whole).unwrap();
        let splitting = pmis(&strong, &whole).unwrap();
        let (kept, p) = bamg(a.view(), &strong, &splitting, &vectors, how, &whole).unwrap();
        (a, vectors, kept, p)
    }

    #[test]
    fn coarse_values_give_the_test_vectors() {
        let how = LeastSquares { tolerance: 1e-12, max_weight: 1e3, ..LeastSquares::default() };
        for (problem, count) in [("poisson2d:16", 3), ("jump3d:8", 4), ("elasticity3d:5", 8)] {
            let (a, vectors, kept, p) = interpolated(problem, count, &how);
            let points = kept.coarse_points();
            assert!(points.len() < a.rows() * 4 / 5, "{problem}: {} of {}", points.len(), a.rows());
            for row in a.all_rows() {
                let (columns, weights) = p.row(row);
                for vector in 0..vectors.count() {
                    let value = |row: usize| vectors.scaled_row(row)[vector] / vectors.scale(row);
                    let coarse = |column: u32| value(points[column as usize] as usize);
                    let sum: f64 = columns.iter().zip(weights).map(|(&column, w)| w * coarse(column)).sum();
                    assert!((sum - value(row)).abs() < 1e-12, "{problem}, row {row}");
                }
            }
        }
    }

    #[test]
    fn rows_that_cannot_be_fitted_become_coarse() {
        let strict = LeastSquares { max_distance: 1, tolerance: 1e-12, ..LeastSquares::default() };
        let loose = LeastSquares { tolerance: 1.0, max_weight: f64::INFINITY, ..LeastSquares::default() };
        let [strict, loose] =
            [strict, loose].map(|how| interpolated("poisson2d:16", 5, &how).2.coarse_rows());
        assert!(strict > 2 * loose, "{strict}, {loose}");
    }

    #[test]
    fn a_row_without_connections_is_left_to_the_smoother() {
        let a = Csr::<f64>::identity(3).unwrap();
        let whole = Whole::new(3);
        let strong = strong_connections(a.view(), a.all_rows(), &Strength::symmetric(), &[], &whole).unwrap();
        let vectors = TestVectors::start(a.view(), &NearKernel::constants(3, 1).unwrap(), 1, &whole);
        let splitting = pmis(&strong, &whole).unwrap();
        let (kept, p) =
            bamg(a.view(), &strong, &splitting, &vectors, &LeastSquares::default(), &whole).unwrap();
        assert_eq!((kept.coarse_rows(), p.nnz()), (0, 0));
    }
}

//! The cells of a reservoir system, and which of their unknowns is the pressure.
//!
//! A matrix has cells of k unknowns if the rows of a cell connect it to the same cells: where J_i
//! are the cells that row i touches,
//!
//! ```text
//! Σ_C max_{i ∈ C} |J_i|  ≈  Σ_C |∪_{i ∈ C} J_i|
//! ```
//!
//! Consecutive points of a grid do not have that property, because each has neighbours of its own.
//! The pressure is the unknown that is coupled over all cells once the cells are decoupled: with
//! W = diag(A[C,C]⁻¹), the sum Σ |(W A)_ij| over the same unknown in other cells is about one for a
//! pressure, and small for unknowns that are transported.
//!
//! Cost: a sample of the cells, for each possible number of unknowns.

use ziggurat_sparse::CsrRef;

use crate::smoother::inverse_of_nodes;

/// The most unknowns per cell.
pub(super) const MAX_UNKNOWNS: usize = 8;

/// The number of cells that are examined.
const SAMPLE: usize = 1024;

/// The fraction of connections between cells that one row of the cell must have.
const SHARED: f64 = 0.99;

/// The least coupling of a pressure to other cells.
const ELLIPTIC: f64 = 0.5;

/// The most that another unknown is coupled to other cells, relative to the pressure.
const TRANSPORTED: f64 = 0.25;

/// The unknowns of a cell.
///
/// ```
/// use ziggurat_amg::cells;
/// use ziggurat_sparse::gallery::Problem;
/// let a = "convection3d:8".parse::<Problem>()?.matrix()?;
/// assert_eq!(cells(a.view()), None); // one unknown per point
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cells {
    /// Unknowns per cell, numbered cell by cell.
    pub unknowns: usize,
    /// The index of the pressure among them.
    pub pressure: usize,
}

/// The cells of a square matrix, if its unknowns are numbered cell by cell, with one pressure each.
pub fn cells(a: CsrRef<'_, f64>) -> Option<Cells> {
    (2..=MAX_UNKNOWNS).rev().find_map(|unknowns| {
        let fits = a.rows() == a.cols() && a.rows() > unknowns && a.rows().is_multiple_of(unknowns);
        if !fits || !has_cells(a, unknowns) {
            return None;
        }
        let couplings = couplings(a, unknowns)?;
        let pressure = largest(&couplings);
        let is_transported = |(unknown, coupling): (usize, &f64)| {
            unknown == pressure || *coupling <= TRANSPORTED * couplings[pressure]
        };
        let is_elliptic = couplings[pressure].is_finite() && couplings[pressure] >= ELLIPTIC;
        let found = is_elliptic && couplings.iter().enumerate().all(is_transported);
        found.then_some(Cells { unknowns, pressure })
    })
}

/// The unknown that is coupled most to other cells; `None` if cells cannot be decoupled.
pub(super) fn pressure(a: CsrRef<'_, f64>, unknowns: usize) -> Option<usize> {
    couplings(a, unknowns).map(|couplings| largest(&couplings))
}

fn largest(couplings: &[f64]) -> usize {
    (0..couplings.len()).max_by(|&one, &other| couplings[one].total_cmp(&couplings[other])).unwrap_or(0)
}

/// The first rows of the cells in the sample.
fn sample(a: CsrRef<'_, f64>, unknowns: usize) -> impl Iterator<Item = usize> {
    let cells = a.rows() / unknowns;
    (0..cells).step_by(cells.div_ceil(SAMPLE).max(1)).map(move |cell| cell * unknowns)
}

/// Whether one row of each cell has nearly all connections of the cell.
fn has_cells(a: CsrRef<'_, f64>, unknowns: usize) -> bool {
    let (mut of_rows, mut of_cells, mut all, mut own) = (0, 0, Vec::new(), Vec::new());
    for first in sample(a, unknowns) {
        all.clear();
        let mut most = 0;
        for row in first..first + unknowns {
            own.clear();
            let (columns, values) = a.row(row);
            let stored = columns.iter().zip(values).filter(|(_, value)| **value != 0.0);
            own.extend(stored.map(|(column, _)| *column as usize / unknowns));
            own.dedup();
            most = most.max(own.len());
            all.extend_from_slice(&own);
        }
        all.sort_unstable();
        all.dedup();
        of_rows += most;
        of_cells += all.len();
    }
    of_rows as f64 >= SHARED * of_cells as f64
}

/// For each unknown, the median over cells of Σ |(W A)_ij| over the same unknown in other cells.
fn couplings(a: CsrRef<'_, f64>, unknowns: usize) -> Option<Vec<f64>> {
    let mut found = vec![Vec::new(); unknowns];
    let mut sums = vec![(0, 0.0); 0];
    for first in sample(a, unknowns) {
        let cell = first..first + unknowns;
        let w = inverse_of_nodes(a, cell.clone(), unknowns).ok()?;
        for (unknown, found) in found.iter_mut().enumerate() {
            sums.clear();
            let (columns, weights) = w.row(unknown);
            for (&row, &weight) in columns.iter().zip(weights) {
                let (columns, values) = a.row(row as usize);
                let others = columns.iter().zip(values).filter(|(column, _)| {
                    **column as usize % unknowns == unknown && !cell.contains(&(**column as usize))
                });
                sums.extend(others.map(|(column, value)| (*column, weight * value)));
            }
            sums.sort_unstable_by_key(|(column, _)| *column);
            let by_column = sums.chunk_by(|one, other| one.0 == other.0);
            found.push(by_column.map(|terms| terms.iter().map(|term| term.1).sum::<f64>().abs()).sum());
        }
    }
    let median = |mut values: Vec<f64>| {
        values.sort_unstable_by(f64::total_cmp);
        values.get(values.len() / 2).copied()
    };
    found.into_iter().map(median).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ziggurat_sparse::gallery::Problem;
    use ziggurat_sparse::{Coo, Csr};

    /// A grid with a pressure and two saturations per cell, in units of their own. Saturations
    /// depend on pressures, and are transported along the first axis.
    pub(crate) fn reservoir(points: usize, pressure: usize) -> Csr<f64> {
        let grid = format!("poisson2d:{points}").parse::<Problem>().unwrap().matrix().unwrap();
        let mut coo = Coo::new(3 * grid.rows(), 3 * grid.rows()).unwrap();
        let others: Vec<usize> = (0..3).filter(|&unknown| unknown != pressure).collect();
        for cell in 0..grid.rows() {
            let (columns, values) = grid.row(cell);
            for (&other, &value) in columns.iter().zip(values) {
                let (row, column) = (3 * cell, 3 * other as usize);
                for equation in 0..3 {
                    let share = value * [0.2, 0.5, 0.3][equation] * 1e-6;
                    coo.push(row + equation, column + pressure, share).unwrap();
                }
                for (&equation, &unknown) in [0, 1].iter().zip(&others) {
                    if other as usize == cell {
                        coo.push(row + equation, column + unknown, 1.0).unwrap();
                        coo.push(row + 2, column + unknown, -0.8).unwrap();
                    } else if other as usize + 1 == cell {
                        coo.push(row + equation, column + unknown, -0.05).unwrap();
                    }
                }
            }
        }
        coo.to_csr()
    }

    #[test]
    fn cells_and_their_pressure_are_found() {
        for pressure in 0..3 {
            let a = reservoir(20, pressure);
            assert_eq!(cells(a.view()), Some(Cells { unknowns: 3, pressure }));
        }
    }

    #[test]
    fn other_systems_have_no_cells() {
        for name in ["poisson3d:12", "convection3d:12", "elasticity3d:6", "poisson2d:40", "poisson3d27:8"] {
            let a = name.parse::<Problem>().unwrap().matrix().unwrap();
            assert_eq!(cells(a.view()), None, "{name}");
        }
        // Inverses of subnormal numbers overflow.
        let mut tiny = reservoir(20, 1);
        tiny.values_mut().iter_mut().for_each(|value| *value *= 1e-320);
        assert_eq!(cells(tiny.view()), None);
        assert_eq!(cells(Csr::identity(12).unwrap().view()), None);
        assert_eq!(cells(Csr::identity(0).unwrap().view()), None);
    }
}

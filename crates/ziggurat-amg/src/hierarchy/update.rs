//! Value updates of a hierarchy with the same pattern.

use std::sync::Arc;

use ziggurat_sparse::algebra::TripleProductPlan;
use ziggurat_sparse::graph::Permutation;
use ziggurat_sparse::{Csr, MatrixError, parallel};

use super::Hierarchy;
use super::whole::{WholeTransfer, set_dead_diagonal};
use crate::SetupError;
use crate::halo::Whole;
use crate::spectral_radius::spectral_radius;

/// Number of rows per task.
const ROWS: usize = 4096;

impl Hierarchy {
    /// Replaces the values of the matrix; its pattern must be the same. P and R are kept, and the
    /// stored plans recompute the matrix of every level. This suits time stepping, where a matrix
    /// changes little from step to step.
    ///
    /// ```
    /// use ziggurat_amg::{Hierarchy, HierarchyConfig};
    /// use ziggurat_sparse::gallery::Problem;
    /// let mut a = "poisson2d:40".parse::<Problem>()?.matrix()?;
    /// let mut hierarchy = Hierarchy::build(a.clone(), &HierarchyConfig::default())?;
    /// let before = hierarchy.levels()[1].matrix().values()[0];
    /// a.values_mut().iter_mut().for_each(|value| *value *= 2.0);
    /// hierarchy.update_values(a)?;
    /// assert_eq!(hierarchy.levels()[1].matrix().values()[0], 2.0 * before);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the pattern differs; then [`Hierarchy::build`] is needed.
    pub fn update_values(&mut self, a: impl Into<Arc<Csr<f64>>>) -> Result<(), SetupError> {
        let a = a.into();
        self.fetch()?; // products with new values are computed on the host
        self.check_pattern(&a)?;
        a.view().check_finite()?;
        self.levels[0].a.a = self.as_finest(a)?;
        let on_grids = self.update_grids()?;
        for index in 1 + on_grids..self.levels.len() {
            let (finer, coarser) = self.levels.split_at_mut(index);
            let (fine, coarse) = (&mut finer[index - 1], &mut coarser[0]);
            if let Some(WholeTransfer { p, r, galerkin, dead }) = &mut fine.transfer {
                let (r, a, p) = (r.csr().view(), fine.a.a.csr().view(), p.csr().view());
                let at = |error: MatrixError| SetupError::at(index, "Galerkin product")(error.into());
                // The compressed rows of a grid's matrix are without zeros, so their pattern
                // depends on the values.
                let plan = galerkin.as_mut().filter(|_| on_grids == 0);
                match (plan, coarse.a.a.csr_mut()) {
                    // Copied only if a lowered hierarchy still shares the old values.
                    (Some(plan), Some(old)) => plan.compute_into(r, a, p, old).map_err(at)?,
                    _ => {
                        let (rows, blocks) = (r.all_rows(), (fine.a.block, coarse.a.block));
                        let (plan, product) =
                            TripleProductPlan::with_blocked_product(r, rows, a, p, blocks.0, blocks.1)
                                .map_err(at)?;
                        (*galerkin, coarse.a.a) = (Some(plan), product.into());
                    }
                }
                if let Some(coarse) = coarse.a.a.csr_mut() {
                    set_dead_diagonal(coarse, dead);
                }
            }
        }
        // Levels whose radius setup has estimated; the others do not need it.
        for (index, level) in self.levels.iter_mut().enumerate().filter(|(_, level)| level.radius.is_some()) {
            let a = level.a.a.csr().view();
            let radius = spectral_radius(a, &Whole::new(a.rows()));
            level.radius = Some(radius.map_err(SetupError::at(index, "spectral radius"))?);
        }
        Ok(())
    }

    /// Copies everything that only a device holds to the host.
    pub(crate) fn fetch(&self) -> Result<(), SetupError> {
        for level in &self.levels {
            level.a.a.fetch()?;
            for matrix in level.transfer.iter().flat_map(|transfer| [&transfer.p, &transfer.r]) {
                matrix.fetch()?;
            }
        }
        Ok(())
    }

    /// Rejects a matrix that differs from the finest in more than its values.
    ///
    /// ```
    /// use ziggurat_amg::{Hierarchy, HierarchyConfig};
    /// use ziggurat_sparse::{Csr, gallery::Problem};
    /// let a = "poisson2d:4".parse::<Problem>()?.matrix()?;
    /// let hierarchy = Hierarchy::build(&a, &HierarchyConfig::default())?;
    /// assert!(hierarchy.check_pattern(&a).is_ok() && hierarchy.check_pattern(&Csr::identity(16)?).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If its size or its pattern differs.
    pub fn check_pattern(&self, a: &Csr<f64>) -> Result<(), SetupError> {
        let unordered = self.levels[0].a.a.in_other_order();
        let old = unordered.unwrap_or_else(|| self.levels[0].matrix());
        if old.rows() != a.rows() || old.cols() != a.cols() {
            let what = "rows of the matrix whose values are to be replaced";
            return Err(MatrixError::Mismatch { what, expected: old.rows(), found: a.rows() }.into());
        }
        if let (Some(order), None) = (self.order(), unordered) {
            let row = parallel::first_in_pieces(a.all_rows(), ROWS, &|mut rows| {
                rows.find(|&row| !is_row(old, row, a.row(row).0, order))
            });
            let difference = row.and_then(|row| {
                let columns = old.row(order.old_to_new()[row] as usize).0;
                let mut columns: Vec<u32> =
                    columns.iter().map(|&column| order.new_to_old()[column as usize]).collect();
                columns.sort_unstable();
                first_difference(row, &columns, a.row(row).0)
            });
            return difference.map_or(Ok(()), |error| Err(error.into()));
        }
        if old.row_ptr() == a.row_ptr() && old.columns() == a.columns() {
            return Ok(());
        }
        let difference = (0..a.rows()).find_map(|row| first_difference(row, old.row(row).0, a.row(row).0));
        difference.map_or(Ok(()), |error| Err(error.into()))
    }
}

/// Whether a reordered matrix has exactly these columns in a row; row and columns are in the given
/// order.
fn is_row(reordered: &Csr<f64>, row: usize, columns: &[u32], order: &Permutation) -> bool {
    let new = order.old_to_new();
    let there = reordered.row(new[row] as usize).0;
    // Columns are distinct, so as many that are all there are the same ones.
    there.len() == columns.len()
        && columns.iter().all(|&column| there.binary_search(&new[column as usize]).is_ok())
}

/// The first place where two rows of columns differ.
fn first_difference(row: usize, old: &[u32], new: &[u32]) -> Option<MatrixError> {
    let place = old.iter().zip(new).position(|(old, new)| old != new).unwrap_or(old.len().min(new.len()));
    let (column, missing) = match (old.get(place), new.get(place)) {
        (Some(old), Some(new)) => (old.min(new), old < new),
        (Some(old), None) => (old, true),
        (None, Some(new)) => (new, false),
        (None, None) => return None,
    };
    Some(MatrixError::NewPattern { row, column: *column as usize, missing })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_the_first_column_that_one_of_two_rows_has() {
        let difference = |old: &[u32], new: &[u32]| match first_difference(7, old, new) {
            Some(MatrixError::NewPattern { row: 7, column, missing }) => Some((column, missing)),
            _ => None,
        };
        assert_eq!(difference(&[0, 2, 5], &[0, 2, 5]), None);
        assert_eq!(difference(&[0, 2, 5], &[0, 3, 5]), Some((2, true)));
        assert_eq!(difference(&[0, 3, 5], &[0, 2, 5]), Some((2, false)));
        assert_eq!(difference(&[0, 3], &[0, 3, 9]), Some((9, false)));
        assert_eq!(difference(&[0, 3, 9], &[0, 3]), Some((9, true)));
    }
}

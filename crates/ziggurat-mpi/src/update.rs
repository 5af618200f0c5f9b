//! New values for the matrix of a distributed solver, as in time stepping.
//!
//! An update keeps the same as in one process: coarsening, interpolation and restriction, the
//! distribution of the rows of every level and the messages of its halo. Galerkin products,
//! spectral radii, smoothers and the factors of the coarsest level are computed again. So the
//! levels have the bits of one process after an update, too. The symbolic phases of the products
//! are repeated, because rows of other ranks come as rows and not as plans. Interpolation on
//! structured grids follows the values, so their levels are all set up again.

use std::sync::Arc;

use ziggurat::Updated;
use ziggurat::config::Method;
use ziggurat_amg::{Level, LevelMatrix, spectral_radius};
use ziggurat_sparse::{MatrixError, trace};

use crate::error::{DistributedError, agree, together};
use crate::levels::Lowerable;
use crate::matrix::DistributedCsr;
use crate::placed::{check, oriented, placed};
use crate::rows::NamedRows;
use crate::setup::{Transfer, empty, set_dead_diagonal};
use crate::solver::{DistributedSolver, Lowered, resolved};
use crate::triple_product::triple_product;

impl DistributedSolver {
    /// Replaces the values of the matrix; pattern, unknowns per node and distribution must be the
    /// same. The policy is as in [`ziggurat::Solver::update_values`], and so is the result, bit for
    /// bit. Collective.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use ziggurat::{SolverConfig, Updated};
    /// use ziggurat_mpi::{Alone, Comm, DistributedCsr, DistributedSolver};
    /// let comm: Arc<dyn Comm> = Arc::new(Alone);
    /// let twice = |value: f64| DistributedCsr::from_rows(&comm, 1, &[0, 1, 2], &[0, 1], &[value; 2]);
    /// let mut solver = DistributedSolver::new(&twice(2.0)?, SolverConfig::default())?;
    /// assert_eq!(solver.update_values(&twice(4.0)?)?, Updated::Values);
    /// let x = solver.solve(&[1.0, 2.0])?.x;
    /// assert!((x[0] - 0.25).abs() < 1e-12 && (x[1] - 0.5).abs() < 1e-12);
    /// # Ok::<(), ziggurat_mpi::DistributedError>(())
    /// ```
    ///
    /// # Errors
    /// If the pattern differs or a value is not finite, on any rank. The solver then keeps its old
    /// matrix.
    pub fn update_values(&mut self, a: &DistributedCsr) -> Result<Updated, DistributedError> {
        let comm = self.comm.clone();
        together(&*comm, || {
            agree(&*comm, self.check_distribution(a))?;
            let a = placed(a, &self.inside)?;
            let old = agree(&*comm, self.levels[0].a.joined())?;
            agree(&*comm, check_pattern(&old, &a))?;
            self.update(a)
        })
    }

    /// As [`update_values`](Self::update_values), from the values of this rank's rows alone, in the
    /// order of increasing columns. Collective.
    ///
    /// # Errors
    /// As [`update_values`](Self::update_values), and if the number of values differs.
    pub fn update_entries(&mut self, values: &[f64]) -> Result<Updated, DistributedError> {
        let comm = self.comm.clone();
        together(&*comm, || {
            let (what, expected) = ("values, one per entry of this rank's rows", self.entries.given_len());
            agree(&*comm, same(what, expected, values.len()))?;
            let mut a = agree(&*comm, self.levels[0].a.joined())?;
            let entries = a.own_entries();
            Arc::make_mut(&mut a.local).values_mut()[entries].copy_from_slice(&self.entries.inwards(values));
            self.update(a)
        })
    }

    /// Updates the levels, given the matrix in the internal distribution. Collective.
    fn update(&mut self, a: DistributedCsr) -> Result<Updated, DistributedError> {
        let _update = trace::stage("update", None, a.global_rows());
        let comm = self.comm.clone();
        agree(&*comm, check(&a, None))?;
        let (negative, kind) = oriented(&a, self.near_kernel.is_none())?;
        let (asked, device) = (self.iteration.asked().clone(), &self.device);
        let same_kind =
            resolved(&asked, &kind, device) == *self.config() && kind.negated == self.kind.negated;
        let on_grid = self.config().method == Method::Structured;
        if on_grid || self.pace.asks_for_rebuild(self.config().update) || !same_kind {
            let rebuilt = Self::set_up_together(device.clone(), &a, self.near_kernel.as_ref(), asked)?;
            // Its caller still has the rows as they were given.
            *self = rebuilt.for_rows_of(self);
            return Ok(Updated::Rebuilt);
        }
        let levels = updated(&self.levels, negative.unwrap_or(a))?;
        // A raised precision stays raised.
        let config = self.iteration.config_in_use();
        let Lowered { levels, multigrid, matrix, kernel, reports } =
            Lowered::new(&comm, device, levels, &kind, &config)?;
        self.iteration.replace(matrix, multigrid, kernel);
        (self.levels, self.reports, self.kind) = (levels, reports, kind);
        self.forget_cycle();
        self.pace.values_changed();
        Ok(Updated::Values)
    }

    /// Refuses a matrix that is distributed otherwise.
    fn check_distribution(&self, a: &DistributedCsr) -> Result<(), MatrixError> {
        let old = &self.levels[0].a;
        same("ranks of the matrix whose values are to be replaced", self.comm.size(), a.comm().size())?;
        same("as the number of this rank", self.comm.rank(), a.comm().rank())?;
        let (expected, found) = (self.given.own(), a.own_rows());
        same("as the first row of this rank", expected.start as usize, found.start as usize)?;
        same("rows of this rank", self.given.len(), a.own.len())?;
        same("unknowns per node", old.around.block(), a.block())
    }
}

fn same(what: &'static str, expected: usize, found: usize) -> Result<(), MatrixError> {
    if expected == found { Ok(()) } else { Err(MatrixError::Mismatch { what, expected, found }) }
}

/// Refuses a matrix that differs from the old one in more than its values. Both have the same own
/// rows.
fn check_pattern(old: &DistributedCsr, new: &DistributedCsr) -> Result<(), MatrixError> {
    let is_same = old.local.row_ptr() == new.local.row_ptr()
        && old.local.columns() == new.local.columns()
        && old.around.others_rows() == new.around.others_rows();
    if is_same {
        return Ok(());
    }
    for id in old.own_rows() {
        let (mut before, mut after) = (old.global_row(id).0, new.global_row(id).0);
        loop {
            let (column, missing) = match (before.next(), after.next()) {
                (None, None) => break,
                (Some(old), Some(new)) if old == new => continue,
                (Some(old), Some(new)) => (old.min(new), old < new),
                (Some(old), None) => (old, true),
                (None, Some(new)) => (new, false),
            };
            return Err(MatrixError::NewPattern { row: id as usize, column: column as usize, missing });
        }
    }
    Ok(())
}

/// The levels with the matrix `a` of the first of them. Collective over its ranks.
fn updated(levels: &[Lowerable], a: DistributedCsr) -> Result<Vec<Level<DistributedCsr>>, DistributedError> {
    let (comm, level) = (a.comm().clone(), &levels[0]);
    // Only where setup has estimated it: the others do not need it.
    let radius = match level.radius {
        Some(_) => Some(spectral_radius(a.view(), &a.rows()).map_err(|error| a.with_global_ids(error))?),
        None => None,
    };
    let Some(transfer) = &level.transfer else { return Ok(vec![Level::last(a).with_radius(radius)]) };
    let joined = transfer.r.joined().and_then(|r| Ok((r, transfer.p.joined()?)));
    let (r, p) = agree(&*comm, joined)?;
    let product = triple_product(&r, &a, &p)?;
    let below = match p.cols.is_empty() {
        // The other ranks continue; this one has empty levels.
        true => (1..levels.len()).map(|at| empty(p.block(), at + 1 < levels.len())).collect(),
        false => coarse(&levels[1], product, &transfer.dead).and_then(|a| updated(&levels[1..], a)),
    };
    let below = agree(&*comm, below)?;
    let transfer = Transfer { r, p, dead: transfer.dead.clone() };
    let mut made =
        vec![Level::with_transfer(a, transfer).with_radius(radius).with_points(level.points.clone())];
    made.extend(below);
    Ok(made)
}

/// The matrix of a coarse level. Collective over its ranks.
fn coarse(level: &Lowerable, product: NamedRows, dead: &[u32]) -> Result<DistributedCsr, DistributedError> {
    let comm = level.a.around.comm().clone();
    let mut a = agree(&*comm, level.a.with_values(product))?;
    set_dead_diagonal(&mut a, dead);
    Ok(a)
}

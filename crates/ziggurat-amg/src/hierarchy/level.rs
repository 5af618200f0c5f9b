//! One level of a hierarchy.

use std::sync::Arc;

use ziggurat_sparse::Csr;

use super::matrix::LevelMatrix;
use super::whole::WholeMatrix;

/// One level: its matrix, and the transfer to the next one.
#[derive(Clone, Debug)]
pub struct Level<M: LevelMatrix = WholeMatrix> {
    pub(crate) a: M,
    /// ρ(D⁻¹A), if coarsening has estimated it; the smoother uses it, too.
    pub(crate) radius: Option<f64>,
    pub(crate) transfer: Option<M::Transfer>,
    pub(crate) stages: Vec<(&'static str, f64)>,
}

impl<M: LevelMatrix> Level<M> {
    /// A level without a next one.
    pub fn last(a: M) -> Self {
        Level { a, radius: None, transfer: None, stages: Vec::new() }
    }

    /// A level with a transfer to the next one that was formed elsewhere.
    pub fn with_transfer(a: M, transfer: M::Transfer) -> Self {
        Level { a, radius: None, transfer: Some(transfer), stages: Vec::new() }
    }

    /// The matrix, ρ(D⁻¹A) if it is known, and the transfer to the next level.
    pub fn into_parts(self) -> (M, Option<f64>, Option<M::Transfer>) {
        (self.a, self.radius, self.transfer)
    }

    /// The level's matrix in its distributed form.
    pub fn distributed_matrix(&self) -> &M {
        &self.a
    }

    /// The transfer to the next level; `None` on the coarsest.
    pub fn transfer(&self) -> Option<&M::Transfer> {
        self.transfer.as_ref()
    }

    /// Replaces the transfer to the next level.
    pub fn set_transfer(&mut self, transfer: M::Transfer) {
        self.transfer = Some(transfer);
    }

    /// Unknowns per node: the size of the blocks of the matrix.
    pub fn block(&self) -> usize {
        self.a.block()
    }

    /// ρ(D⁻¹A), if coarsening has estimated it.
    ///
    /// ```
    /// use ziggurat_amg::{Hierarchy, HierarchyConfig};
    /// use ziggurat_sparse::gallery::Problem;
    /// let a = "poisson2d:40".parse::<Problem>()?.matrix()?;
    /// let hierarchy = Hierarchy::build(a, &HierarchyConfig::default())?;
    /// assert!(hierarchy.levels()[0].radius().is_some_and(|radius| (1.9..2.1).contains(&radius)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn radius(&self) -> Option<f64> {
        self.radius
    }

    /// The stages of setting up the next level, with the seconds of each.
    pub fn stages(&self) -> &[(&'static str, f64)] {
        &self.stages
    }

    /// Seconds of all stages.
    pub fn seconds(&self) -> f64 {
        self.stages.iter().map(|(_, seconds)| seconds).sum()
    }
}

impl Level {
    /// The level's matrix.
    pub fn matrix(&self) -> &Arc<Csr<f64>> {
        &self.a.a
    }

    /// The prolongation from the next level; `None` on the coarsest.
    pub fn prolongation(&self) -> Option<&Arc<Csr<f64>>> {
        self.transfer.as_ref().map(|transfer| &transfer.p)
    }

    /// The restriction to the next level; `None` on the coarsest.
    pub fn restriction(&self) -> Option<&Arc<Csr<f64>>> {
        self.transfer.as_ref().map(|transfer| &transfer.r)
    }
}

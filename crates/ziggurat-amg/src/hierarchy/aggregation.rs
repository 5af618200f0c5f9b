//! One step from a level to the next by aggregation: a coarse unknown stands for a set of fine ones.
//!
//! Smoothed aggregation (Vaněk, Mandel & Brezina, 1996) cuts the near-kernel up by aggregates and smooths the pieces;
//! plain aggregation of pairs (Notay, 2010) leaves them as they are, which costs little per level and asks for a K-cycle.

use serde::{Deserialize, Serialize};
use ziggurat_sparse::{Csr, CsrRef};

use super::{Clock, Coarser};
use crate::SetupError;
use crate::coarsen::{Aggregates, MATCHING_ROUNDS, mis2, node_matrix, pairwise_passes};
use crate::halo::Whole;
use crate::interpolate::{NearKernel, Scaling, Smoothing, Tentative, smoothed, tentative};
use crate::spectral_radius::spectral_radius;
use crate::strength::{Filter, Strength, strong_connections};

/// Smoothed aggregation: MIS-2 aggregates, tentative interpolation of the near-kernel, smoothed once.
///
/// ```
/// use ziggurat_amg::SmoothedAggregation;
/// assert_eq!(SmoothedAggregation::default().damping, 4.0 / 3.0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SmoothedAggregation {
    /// Which connections aggregates grow along.
    pub strength: Strength,
    /// Interpolation is smoothed along connections of at least this part of each row's largest.
    pub filter: f64,
    /// How far tentative interpolation is smoothed: ω ρ(D⁻¹A), between 0 and 2; 4/3 is the textbook's.
    pub damping: f64,
}

impl Default for SmoothedAggregation {
    fn default() -> Self {
        let strength = Strength { filter: Filter::Threshold(0.015), ..Strength::symmetric() };
        SmoothedAggregation { strength, filter: 0.1, damping: 4.0 / 3.0 }
    }
}

impl SmoothedAggregation {
    /// How interpolation is smoothed, where ρ(D⁻¹A) is `radius`.
    ///
    /// ```
    /// use ziggurat_amg::SmoothedAggregation;
    /// assert_eq!(SmoothedAggregation::default().smoothing(2.0).filter, 0.1);
    /// ```
    pub fn smoothing(&self, radius: f64) -> Smoothing {
        Smoothing { damping: self.damping, scaling: Scaling::SpectralRadius(radius), filter: self.filter }
    }

    pub(super) fn coarser(
        &self,
        a: CsrRef<'_, f64>,
        kernel: &NearKernel,
        index: usize,
        clock: &mut Clock,
    ) -> Result<Coarser, SetupError> {
        let at = |stage| SetupError::at(index, stage);
        let nodes = nodes(a, kernel).map_err(at("matrix of nodes"))?;
        let nodes = nodes.as_ref().map_or(a, Csr::view);
        let halo = Whole::new(nodes.rows());
        let graph = strong_connections(nodes, nodes.all_rows(), &self.strength, &[], &halo)
            .map_err(|error| at("strength")(error.into()))?;
        clock.lap("strength");
        let aggregates =
            mis2(&graph, Some(nodes), &halo).map_err(|error| at("MIS-2 aggregation")(error.into()))?;
        clock.lap("coarsening");
        let tentative =
            tentative(&aggregates, kernel).map_err(|error| at("tentative interpolation")(error.into()))?;
        clock.lap("tentative interpolation");
        let radius = spectral_radius(a).map_err(at("spectral radius"))?;
        clock.lap("spectral radius");
        let p = smoothed(a, a.all_rows(), nodes, &aggregates, &tentative, &self.smoothing(radius))
            .map_err(|error| at("smoothed interpolation")(error.into()))?;
        clock.lap("interpolation");
        Ok(Coarser { radius: Some(radius), ..with_kernel(p, tentative) })
    }
}

/// Plain aggregation: pairs of pairs by graph matching, interpolation constant on each. Visit its levels by K-cycles.
///
/// ```
/// use ziggurat_amg::Pairwise;
/// assert_eq!(Pairwise::default().passes, 2);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Pairwise {
    /// Times that rows are paired before a level is made: 2^passes rows per coarse row, at most.
    pub passes: usize,
}

impl Default for Pairwise {
    fn default() -> Self {
        Pairwise { passes: 2 }
    }
}

impl Pairwise {
    pub(super) fn coarser(
        &self,
        a: CsrRef<'_, f64>,
        kernel: &NearKernel,
        index: usize,
        clock: &mut Clock,
    ) -> Result<Coarser, SetupError> {
        let at = |stage| SetupError::at(index, stage);
        let nodes = nodes(a, kernel).map_err(at("matrix of nodes"))?;
        let nodes = nodes.as_ref().map_or(a, Csr::view);
        let aggregates: Aggregates = pairwise_passes(nodes, self.passes, MATCHING_ROUNDS)
            .map_err(|error| at("pairwise aggregation")(error.into()))?;
        clock.lap("coarsening");
        let tentative =
            tentative(&aggregates, kernel).map_err(|error| at("tentative interpolation")(error.into()))?;
        let p = tentative.matrix(&aggregates).map_err(|error| at("tentative interpolation")(error.into()))?;
        clock.lap("interpolation");
        Ok(with_kernel(p, tentative))
    }
}

/// The matrix whose rows are nodes; `None` where the matrix itself is that.
fn nodes(a: CsrRef<'_, f64>, kernel: &NearKernel) -> Result<Option<Csr<f64>>, SetupError> {
    if kernel.block() == 1 {
        return Ok(None);
    }
    Ok(Some(node_matrix(a, kernel.block(), 0..kernel.nodes())?))
}

fn with_kernel(p: Csr<f64>, tentative: Tentative) -> Coarser {
    let dead = tentative.dead().to_vec();
    Coarser { p, dead, kernel: Some(tentative.into_coarse_kernel()), radius: None }
}

//! One step of smoothed or plain aggregation on a device.

use ziggurat_sparse::device::{DeviceError, FilteredStep, SetupDevice, Sparse, SymmetricStrength};

use super::{Interpolated, Kernel};
use crate::SetupError;
use crate::coarsen::MATCHING_ROUNDS;
use crate::halo::Whole;
use crate::hierarchy::{CoarseningStop, Pairwise, SmoothedAggregation, Stages};
use crate::spectral_radius::spectral_radius_on_device;
use crate::strength::Filter;

/// How aggregates and interpolation are made.
#[derive(Clone, Copy, Debug)]
pub(super) enum Aggregation {
    Smoothed(SmoothedAggregation),
    Plain(Pairwise),
}

impl Aggregation {
    /// Interpolation to a level from the next one, or why there is none. Nodes have `block` rows.
    pub(super) fn interpolation(
        self,
        device: &dyn SetupDevice,
        a: &Sparse,
        block: usize,
        kernel: &Kernel,
        stages: &mut Stages,
    ) -> Result<Result<Interpolated, CoarseningStop>, SetupError> {
        let (rows, count) = (a.rows(), kernel.count);
        let halo = Whole::new(rows);
        let smoothed = match self {
            Aggregation::Smoothed(method) if stages.level() >= method.plain_levels.unwrap_or(0) => {
                Some(method)
            }
            _ => None,
        };
        let nodes = match block {
            1 => None,
            _ => Some(stages.run("strength", &halo, || device.node_matrix(a, block))?),
        };
        let nodes = nodes.as_ref().unwrap_or(a);
        let aggregates = match self {
            Aggregation::Smoothed(method) => {
                let strength = strength(&method, smoothed.is_none() && block == 1);
                let strong = stages.run("strength", &halo, || device.strong_connections(nodes, &strength))?;
                stages.run("coarsening", &halo, || device.aggregates(&strong, nodes))?
            }
            Aggregation::Plain(method) => stages.run("coarsening", &halo, || pairs(device, nodes, method))?,
        };
        let coarse = aggregates.cols() * count;
        if let Some(stop) = CoarseningStop::after(rows as u64, coarse as u64) {
            return Ok(Err(stop));
        }
        let (tentative, vectors) = stages.run("tentative interpolation", &halo, || {
            device.tentative(&aggregates, &kernel.vectors, count)
        })?;
        drop(aggregates);
        let (p, radius) = match smoothed {
            None => (tentative, None),
            Some(SmoothedAggregation { filter, damping, .. }) => {
                let radius = stages.run("spectral radius", &halo, || spectral_radius_on_device(device, a))?;
                let p = stages.run("interpolation", &halo, || {
                    let step =
                        device.smoothing_matrix(a, nodes, &FilteredStep { filter, damping, radius })?;
                    device.product(&step, &tentative)
                })?;
                (p, Some(radius))
            }
        };
        Ok(Ok(Interpolated { p, kernel: Kernel { vectors, count }, radius }))
    }
}

/// Which connections are strong; `fewer` on scalar plain levels.
fn strength(method: &SmoothedAggregation, fewer: bool) -> SymmetricStrength {
    match method.strength_of(fewer).filter {
        Filter::Threshold(threshold) => SymmetricStrength { threshold, most: None, sampled: false },
        Filter::AverageConnections(most) => {
            SymmetricStrength { threshold: 0.0, most: Some(most), sampled: false }
        }
        Filter::Strongest { threshold, most } => {
            SymmetricStrength { threshold, most: Some(most), sampled: true }
        }
    }
}

/// Aggregates by several passes of pairing.
fn pairs(device: &dyn SetupDevice, nodes: &Sparse, method: Pairwise) -> Result<Sparse, DeviceError> {
    let mut aggregates = device.pairs(nodes, MATCHING_ROUNDS)?;
    let mut coarse: Option<Sparse> = None;
    let mut last: Option<Sparse> = None;
    for _ in 1..method.passes {
        let p = last.as_ref().unwrap_or(&aggregates);
        let matrix = device.triple_product(&device.transpose(p)?, coarse.as_ref().unwrap_or(nodes), p)?;
        let next = device.pairs(&matrix, MATCHING_ROUNDS)?;
        aggregates = device.product(&aggregates, &next)?;
        (coarse, last) = (Some(matrix), Some(next));
    }
    Ok(aggregates)
}

//! Smoothed and plain aggregation whose levels are made on a device: strong connections, aggregates
//! or pairs, interpolation and Galerkin products are its kernels ([`AggregationDevice`]).
//!
//! The matrix crosses the bus once on the way in, with one start vector per smoothed level for the
//! spectral radius. Sizes come back while a level is made. The level stays on the device, where
//! lowering takes it (`lower/on_device.rs`); a copy is made if something else asks for it. Levels
//! are those of the host: the same aggregates and patterns, and values up to rounding; on a device
//! without `f64`, up to the rounding of `f32`.
//! With several unknowns per node, the near-kernel crosses with the matrix, and aggregates are made
//! of nodes, whose matrix the device computes.

use std::sync::Arc;
use std::time::Instant;

use ziggurat_sparse::device::{AggregationDevice, DeviceError, FilteredStep, SetupDevice, SymmetricStrength};
use ziggurat_sparse::hash::uniform_signed;
use ziggurat_sparse::spectrum::{LanczosOperator, lanczos_with};
use ziggurat_sparse::{Csr, Kind, Reads, Real};

use super::build::{last, stop_before};
use super::device_matrix::DeviceMatrix;
use super::matrix::{Built, Level, Setup};
use super::stages::Stages;
use super::storage::SetupMatrix;
use super::{
    Coarsening, CoarseningStop, Hierarchy, HierarchyConfig, MatrixProperties, Pairwise, SmoothedAggregation,
    WholeMatrix, WholeTransfer,
};
use crate::SetupError;
use crate::coarsen::MATCHING_ROUNDS;
use crate::halo::Whole;
use crate::interpolate::Symmetry;
use crate::spectral_radius::LANCZOS_STEPS;
use crate::strength::{Filter, Measure};

impl Hierarchy {
    /// As [`Hierarchy::with_properties`], with the levels made on a device.
    ///
    /// ```
    /// use ziggurat_amg::interpolate::{NearKernel, Symmetry};
    /// use ziggurat_amg::{Hierarchy, HierarchyConfig, MatrixProperties};
    /// use ziggurat_sparse::device::Reference; // or a GPU
    /// use ziggurat_sparse::gallery::Problem;
    /// let a = "poisson2d:40".parse::<Problem>()?.matrix()?;
    /// let known = MatrixProperties { near_kernel: NearKernel::constants(a.rows(), 1)?, symmetry: Symmetry::Symmetric, grid: None };
    /// let on_device = Hierarchy::build_on(&Reference, &a, &known, &HierarchyConfig::default())?;
    /// let on_host = Hierarchy::build(&a, &HierarchyConfig::default())?;
    /// assert_eq!(on_device.levels()[1].matrix().columns(), on_host.levels()[1].matrix().columns());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Hierarchy::with_properties`], and [`SetupError::NotOnDevice`] if the configuration or
    /// the matrix needs what devices do not have: another coarsening than aggregation, nodes that
    /// differ in the number of unknowns, another order of the unknowns or, for smoothed
    /// aggregation, a matrix that is not symmetric.
    pub fn build_on<D: AggregationDevice>(
        device: &D,
        a: impl Into<Arc<Csr<f64>>>,
        properties: &MatrixProperties,
        config: &HierarchyConfig,
    ) -> Result<Self, SetupError> {
        let a = a.into();
        properties.check(&a)?;
        let method = supported(&a, properties, config)?;
        let setup = Setup { config, symmetry: properties.symmetry, row_multiple: 1, grid: None };
        let start = Instant::now();
        let on_device = OnDevice { device, method, setup: &setup };
        let (levels, stop) = match device.computes_in(Kind::F64) {
            true => on_device.build::<f64>(a, properties)?,
            false => on_device.build::<f32>(a, properties)?,
        };
        Ok(Hierarchy::from_built(Built { levels, stop }, start))
    }
}

/// The coarsening, if a device has it for this matrix.
fn supported(
    a: &Csr<f64>,
    properties: &MatrixProperties,
    config: &HierarchyConfig,
) -> Result<Aggregation, SetupError> {
    let refused = |reason| Err(SetupError::NotOnDevice { reason });
    let kernel = &properties.near_kernel;
    if kernel.node_of_rows().is_some() {
        return refused("the nodes of the matrix differ in the number of unknowns");
    }
    if config.reorder {
        return refused("the unknowns are renumbered first");
    }
    let method = match config.coarsening {
        Coarsening::SmoothedAggregation(method) => method,
        Coarsening::Pairwise(pairwise) => return Ok(Aggregation::Plain(pairwise)),
        _ => return refused("of all methods, devices have only aggregation (`sa` and `pairwise`)"),
    };
    if method.test_vectors.unwrap_or(0) > kernel.count() {
        return refused("devices do not look for near-null-space vectors (`sa.test_vectors`)");
    }
    if properties.symmetry != Symmetry::Symmetric {
        return refused("the matrix is not symmetric");
    }
    if a.view().diagonal(a.all_rows()).iter().any(|&value| value <= 0.0) {
        return refused("not all diagonal entries of the matrix are positive");
    }
    if method.energy_steps.unwrap_or(0) > 0 {
        return refused("devices do not minimise the energy of interpolation (`sa.energy_steps`)");
    }
    if method.strength.measure != Measure::Symmetric || method.strength.max_row_sum.is_some() {
        return refused("of all strength measures, devices have only the symmetric one");
    }
    Ok(Aggregation::Smoothed(method))
}

/// A method that devices have.
#[derive(Clone, Copy, Debug)]
enum Aggregation {
    Smoothed(SmoothedAggregation),
    Plain(Pairwise),
}

/// Where and how levels are made.
struct OnDevice<'a, D> {
    device: &'a D,
    method: Aggregation,
    setup: &'a Setup<'a>,
}

impl<D: AggregationDevice> OnDevice<'_, D> {
    /// All levels, computed in `T`.
    fn build<T: Real + Reads<T>>(
        &self,
        a: Arc<Csr<f64>>,
        properties: &MatrixProperties,
    ) -> Result<(Vec<Level<WholeMatrix>>, CoarseningStop), SetupError> {
        let device = self.device;
        let mut on_device = DeviceMatrix::new(device, device.upload_sparse(&a.view().stored_as::<T>())?);
        let vectors = &properties.near_kernel;
        let (block, count) = (vectors.block(), vectors.count());
        let vectors: Vec<&[f64]> = vectors.vectors().columns().collect();
        let rows = (0..a.rows()).flat_map(|row| vectors.iter().map(move |vector| T::narrow(vector[row])));
        let mut kernel = device.upload(&rows.collect::<Vec<T>>())?;
        let mut a = WholeMatrix { a: SetupMatrix::on_device(on_device.clone(), Some(a)), block };
        let mut levels = Vec::new();
        loop {
            let mut stages = Stages::new(levels.len(), a.a.rows() as u64);
            let made = match stop_before(&a, self.setup, levels.len()) {
                Some(stop) => Err(stop),
                None => self.coarser(&on_device.a, (a.block, &kernel, count), &mut stages)?,
            };
            let Made { p, r, coarse, kernel: next_kernel, dead, radius } = match made {
                Ok(made) => made,
                Err(stop) => {
                    levels.extend(last(a, stages, stop).levels);
                    return Ok((levels, stop));
                }
            };
            let [p, r] = [p, r].map(|matrix| SetupMatrix::on_device(DeviceMatrix::new(device, matrix), None));
            let level = Level::with_transfer(a, WholeTransfer { p, r, galerkin: None, dead });
            levels.push(Level { stages: stages.into_seconds(), ..level.with_radius(radius) });
            (on_device, kernel) = (DeviceMatrix::new(device, coarse), next_kernel);
            a = WholeMatrix { a: SetupMatrix::on_device(on_device.clone(), None), block: count };
        }
    }

    /// One step from a level to the next, or why there is no next one. Nodes have `block` rows, and
    /// the near-kernel has `count` vectors.
    fn coarser<T: Real + Reads<T>>(
        &self,
        a: &D::Sparse<T>,
        (block, kernel, count): (usize, &D::Vector<T>, usize),
        stages: &mut Stages,
    ) -> Result<Result<Made<D, T>, CoarseningStop>, SetupError> {
        let (device, rows) = (self.device, self.device.size(a).rows);
        let halo = Whole::new(rows);
        let smoothed = match self.method {
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
        let aggregates = match self.method {
            Aggregation::Smoothed(method) => {
                let strength = strength(&method, smoothed.is_none() && block == 1);
                let strong = stages.run("strength", &halo, || device.strong_connections(nodes, &strength))?;
                stages.run("coarsening", &halo, || device.aggregates(&strong, nodes))?
            }
            Aggregation::Plain(method) => stages.run("coarsening", &halo, || pairs(device, nodes, method))?,
        };
        let coarse = device.size(&aggregates).cols * count;
        if let Some(stop) = CoarseningStop::after(rows as u64, coarse as u64) {
            return Ok(Err(stop));
        }
        let (tentative, kernel) =
            stages.run("tentative interpolation", &halo, || device.tentative(&aggregates, kernel, count))?;
        drop(aggregates);
        let (p, radius) = match smoothed {
            None => (tentative, None),
            Some(SmoothedAggregation { filter, damping, .. }) => {
                let radius = stages.run("spectral radius", &halo, || spectral_radius(device, a))?;
                let p = stages.run("interpolation", &halo, || {
                    let step =
                        device.smoothing_matrix(a, nodes, &FilteredStep { filter, damping, radius })?;
                    device.product_once(&step, &tentative)
                })?;
                (p, Some(radius))
            }
        };
        let r = stages.run("transpose", &halo, || device.transpose(&p))?;
        let mut coarse = stages.run("Galerkin product", &halo, || device.triple_product(&r, a, &p))?;
        let dead = device.set_dead_diagonal(&mut coarse, &kernel, count)?;
        Ok(Ok(Made { p, r, coarse, kernel, dead, radius }))
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
fn pairs<D: AggregationDevice, T: Real>(
    device: &D,
    nodes: &D::Sparse<T>,
    method: Pairwise,
) -> Result<D::Sparse<T>, DeviceError> {
    let mut aggregates = device.pairs(nodes, MATCHING_ROUNDS)?;
    let mut coarse: Option<D::Sparse<T>> = None;
    let mut last: Option<D::Sparse<T>> = None;
    for _ in 1..method.passes {
        let p = last.as_ref().unwrap_or(&aggregates);
        let matrix = device.triple_product(&device.transpose(p)?, coarse.as_ref().unwrap_or(nodes), p)?;
        let next = device.pairs(&matrix, MATCHING_ROUNDS)?;
        aggregates = device.product_once(&aggregates, &next)?;
        (coarse, last) = (Some(matrix), Some(next));
    }
    Ok(aggregates)
}

/// A level made on the device.
struct Made<D: AggregationDevice, T: Real> {
    p: D::Sparse<T>,
    r: D::Sparse<T>,
    coarse: D::Sparse<T>,
    kernel: D::Vector<T>,
    /// The unknowns of the coarse level whose columns of P are zero.
    dead: Vec<u32>,
    radius: Option<f64>,
}

/// D^-½ A D^-½, which is similar to D⁻¹A, on a device.
struct Scaled<'a, D: SetupDevice, T: Real> {
    device: &'a D,
    a: D::Matrix<T>,
    scales: D::Vector<T>,
    scratch: [D::Vector<T>; 2],
}

impl<D: SetupDevice, T: Real + Reads<T>> LanczosOperator for Scaled<'_, D, T> {
    type Vector = D::Vector<T>;

    fn square(&mut self, x: &D::Vector<T>) -> f64 {
        self.device.dot(x, x)
    }

    fn apply(&mut self, x: &D::Vector<T>, y: &mut D::Vector<T>) -> f64 {
        let (zero, one, [scaled, product]) = (T::zero(), T::one(), &mut self.scratch);
        self.device.diagonal(one, &self.scales, x, zero, scaled);
        self.device.spmv(one, &self.a, scaled, zero, product);
        self.device.diagonal(one, &self.scales, product, zero, y);
        self.device.dot(y, x)
    }

    fn combine(
        &mut self,
        a: f64,
        y: &mut D::Vector<T>,
        b: f64,
        v: &D::Vector<T>,
        c: f64,
        u: &D::Vector<T>,
    ) -> f64 {
        self.device.axpbypcz(T::narrow(b), v, T::narrow(c), u, T::narrow(a), y);
        self.device.dot(y, y)
    }
}

/// An upper estimate of ρ(D⁻¹A), as that of the host: the smaller of two bounds. Its start vector
/// is that of the host in the scaled variables.
pub(crate) fn spectral_radius<D: AggregationDevice, T: Real + Reads<T>>(
    device: &D,
    a: &D::Sparse<T>,
) -> Result<f64, SetupError> {
    let rows = device.size(a).rows;
    let (scales, proved) = device.diagonal_scales(a)?;
    let start: Vec<T> = (0..rows as u64).map(|row| T::narrow(uniform_signed(row))).collect();
    let vectors = [device.upload(&start)?, device.zeros(rows)?, device.zeros(rows)?];
    let scratch = [device.zeros(rows)?, device.zeros(rows)?];
    let operator = Scaled { device, a: device.matrix(a)?, scales, scratch };
    Ok(lanczos_with(vectors, LANCZOS_STEPS, operator)?.upper.min(proved))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coarsen::Aggregates;
    use crate::interpolate::NearKernel;
    use crate::testing::{problem, rigid_bodies};
    use crate::{Classical, Level};
    use ziggurat_sparse::Dense;
    use ziggurat_sparse::device::Reference;

    fn scalar(a: &Csr<f64>) -> MatrixProperties {
        let near_kernel = NearKernel::constants(a.rows(), 1).unwrap();
        MatrixProperties { near_kernel, symmetry: Symmetry::Symmetric, grid: None }
    }

    fn aggregation(plain_levels: usize) -> HierarchyConfig {
        let method =
            SmoothedAggregation { plain_levels: Some(plain_levels), ..SmoothedAggregation::default() };
        let coarsening = Coarsening::SmoothedAggregation(method);
        HierarchyConfig { coarsening, coarse_rows: 20, ..HierarchyConfig::default() }
    }

    /// The same pattern, and values that differ by little compared with the largest of the row.
    fn assert_close(what: &str, found: &Csr<f64>, expected: &Csr<f64>) {
        assert_eq!((found.row_ptr(), found.columns()), (expected.row_ptr(), expected.columns()), "{what}");
        for row in expected.all_rows() {
            let largest = expected.row(row).1.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
            for (found, expected) in found.row(row).1.iter().zip(expected.row(row).1) {
                assert!((found - expected).abs() <= 1e-11 * largest, "{what}, row {row}: {found} {expected}");
            }
        }
    }

    fn pairs(passes: usize) -> HierarchyConfig {
        let coarsening = Coarsening::Pairwise(Pairwise { passes });
        HierarchyConfig { coarsening, coarse_rows: 20, ..HierarchyConfig::default() }
    }

    #[test]
    fn the_levels_are_those_of_the_host() {
        let names = ["poisson2d:30", "poisson3d:12", "poisson3d27:10", "jump3d:12", "anisotropic3d:12"];
        let scalars = names.map(|name| (name, problem(name), scalar(&problem(name))));
        let nodes = |block: usize, (a, near_kernel): (Csr<f64>, NearKernel)| {
            let properties = MatrixProperties { near_kernel, symmetry: Symmetry::Symmetric, grid: None };
            (["translations", "rigid bodies"][block], a, properties)
        };
        let body = problem("elasticity3d:6");
        let translations = NearKernel::constants(body.rows(), 3).unwrap();
        let all = scalars.into_iter().chain([nodes(0, (body, translations)), nodes(1, rigid_bodies(6))]);
        let configs = [aggregation(0), aggregation(1), pairs(1), pairs(3)];
        for ((name, a, known), config) in all.flat_map(|input| configs.map(|config| (input.clone(), config)))
        {
            let host = Hierarchy::with_properties(&a, known.clone(), &config).unwrap();
            let device = Hierarchy::build_on(&Reference, &a, &known, &config).unwrap();
            assert_eq!(device.stop(), host.stop(), "{name}");
            let rows = |levels: &[Level<WholeMatrix>]| levels.iter().map(Level::rows).collect::<Vec<_>>();
            assert_eq!(rows(device.levels()), rows(host.levels()), "{name}");
            for (found, expected) in device.levels().iter().zip(host.levels()) {
                assert_eq!(found.block(), expected.block(), "{name}");
                assert_close(name, found.matrix(), expected.matrix());
                let pairs = [
                    (found.prolongation(), expected.prolongation()),
                    (found.restriction(), expected.restriction()),
                ];
                for (found, expected) in pairs.into_iter().filter_map(|(x, y)| Some((x?, y?))) {
                    assert_close(name, found, expected);
                }
                let radii = [found, expected].map(Level::radius);
                assert_eq!(radii[0].is_some(), radii[1].is_some(), "{name}");
                let difference = radii[0].unwrap_or(1.0) / radii[1].unwrap_or(1.0) - 1.0;
                assert!(difference.abs() < 1e-10, "{name}: {radii:?}");
            }
        }
    }

    #[test]
    fn what_devices_do_not_have_is_refused() {
        let a = problem("poisson2d:20");
        let refused = |properties: MatrixProperties, config: &HierarchyConfig, a: &Csr<f64>| {
            Hierarchy::build_on(&Reference, a, &properties, config).unwrap_err().to_string()
        };
        let usual = aggregation(0);
        let classical = HierarchyConfig { coarsening: Coarsening::Classical(Classical::default()), ..usual };
        assert!(refused(scalar(&a), &classical, &a).contains("only aggregation"));
        let renumbered = HierarchyConfig { reorder: true, ..usual };
        assert!(refused(scalar(&a), &renumbered, &a).contains("renumbered first"));
        let general = MatrixProperties { symmetry: Symmetry::General, ..scalar(&a) };
        assert!(refused(general, &usual, &a).contains("not symmetric"));
        let nodes = Aggregates::try_new(2, (0..400).map(|row| u32::from(row > 9)).collect()).unwrap();
        let vectors = Dense::try_new(400, 1, vec![1.0; 400]).unwrap();
        let near_kernel = NearKernel::with_nodes(vectors, nodes).unwrap();
        let ragged = MatrixProperties { near_kernel, symmetry: Symmetry::Symmetric, grid: None };
        assert!(refused(ragged, &usual, &a).contains("differ in the number"));
        let method = SmoothedAggregation { test_vectors: Some(2), ..SmoothedAggregation::default() };
        let searched = HierarchyConfig { coarsening: Coarsening::SmoothedAggregation(method), ..usual };
        assert!(refused(scalar(&a), &searched, &a).contains("sa.test_vectors"));
        let mut negative = a.clone();
        negative.values_mut().iter_mut().for_each(|value| *value = -*value);
        assert!(refused(scalar(&a), &usual, &negative).contains("positive"));
        let averaged = crate::strength::Strength::classical();
        let method = SmoothedAggregation { strength: averaged, ..SmoothedAggregation::default() };
        let other = HierarchyConfig { coarsening: Coarsening::SmoothedAggregation(method), ..usual };
        assert!(refused(scalar(&a), &other, &a).contains("symmetric one"));
    }
}

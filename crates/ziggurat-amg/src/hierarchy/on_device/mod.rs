//! Hierarchies whose levels are made on a device: strong connections, aggregates, pairs or coarse
//! rows, interpolation and Galerkin products are its kernels (`aggregation.rs`, `classical.rs`).
//!
//! The matrix crosses the bus once on the way in, with one start vector per smoothed level for the
//! spectral radius. Sizes come back while a level is made. The level stays on the device, where
//! lowering takes it (`lower/on_device.rs`); a copy is made if something else asks for it. Levels
//! match the host's: the same coarse unknowns and patterns, and values up to rounding; on a
//! device without `f64`, up to the rounding of `f32`.
//! With several unknowns per node, the near-kernel crosses with the matrix, and aggregates are made
//! of nodes, whose matrix the device computes.

mod aggregation;
mod classical;

use std::sync::Arc;
use std::time::Instant;

use ziggurat_sparse::device::{Device, DeviceExt, SetupDevice, Sparse, Vector};
use ziggurat_sparse::{Csr, Kind};

use super::build::{Place, Step, build_at};
use super::device_matrix::{DeviceMatrix, on};
use super::matrix::Setup;
use super::storage::SetupMatrix;
use super::{
    Classical, Coarsening, CoarseningStop, Hierarchy, HierarchyConfig, MatrixProperties, Stages, WholeMatrix,
    WholeTransfer,
};
use crate::halo::Whole;
use crate::interpolate::{NearKernel, Symmetry};
use crate::strength::Measure;
use crate::{Cancel, SetupError};
use aggregation::Aggregation;

impl Hierarchy {
    /// As [`Hierarchy::with_properties`], with the levels made on a device.
    ///
    /// ```
    /// use ziggurat_amg::interpolate::{NearKernel, Symmetry};
    /// use ziggurat_amg::{Hierarchy, HierarchyConfig, MatrixProperties};
    /// use ziggurat_sparse::device::{Device, Reference}; // or a GPU
    /// use ziggurat_sparse::gallery::Problem;
    /// let a = "poisson2d:40".parse::<Problem>()?.matrix()?;
    /// let known = MatrixProperties { near_kernel: NearKernel::constants(a.rows(), 1)?, symmetry: Symmetry::Symmetric, grid: None };
    /// let device = Reference.setup().ok_or("no setup")?;
    /// let on_device = Hierarchy::build_on(device, &a, &known, &HierarchyConfig::default())?;
    /// let on_host = Hierarchy::build(&a, &HierarchyConfig::default())?;
    /// assert_eq!(on_device.levels()[1].matrix().columns(), on_host.levels()[1].matrix().columns());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Hierarchy::with_properties`], and [`SetupError::NotOnDevice`] if the configuration or
    /// the matrix needs what devices do not have: another coarsening than aggregation and the
    /// classical one, nodes that differ in the number of unknowns, another order of the unknowns
    /// or, for smoothed aggregation, a matrix that is not symmetric.
    pub fn build_on(
        device: &dyn SetupDevice,
        a: impl Into<Arc<Csr<f64>>>,
        properties: &MatrixProperties,
        config: &HierarchyConfig,
    ) -> Result<Self, SetupError> {
        Self::build_on_until(device, a, properties, config, &Cancel::NEVER)
    }

    /// As [`Hierarchy::build_on`], unless it is cancelled before.
    ///
    /// ```
    /// use ziggurat_amg::interpolate::{NearKernel, Symmetry};
    /// use ziggurat_amg::{Cancel, Hierarchy, HierarchyConfig, MatrixProperties};
    /// use ziggurat_sparse::device::{Device, Reference}; // or a GPU
    /// use ziggurat_sparse::gallery::Problem;
    /// let a = "poisson2d:40".parse::<Problem>()?.matrix()?;
    /// let known = MatrixProperties { near_kernel: NearKernel::constants(a.rows(), 1)?, symmetry: Symmetry::Symmetric, grid: None };
    /// let (config, no_time) = (HierarchyConfig::default(), Cancel::NEVER.within(0.0));
    /// let device = Reference.setup().ok_or("no setup")?;
    /// assert!(Hierarchy::build_on_until(device, &a, &known, &config, &no_time).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Hierarchy::build_on`], and if it is cancelled.
    pub fn build_on_until(
        device: &dyn SetupDevice,
        a: impl Into<Arc<Csr<f64>>>,
        properties: &MatrixProperties,
        config: &HierarchyConfig,
        cancel: &Cancel,
    ) -> Result<Self, SetupError> {
        let a = a.into();
        properties.check(&a)?;
        let method = supported(&a, properties, config)?;
        let setup = Setup { config, symmetry: properties.symmetry, row_multiple: 1, grid: None, cancel };
        let start = Instant::now();
        let number = if device.computes_in(Kind::F64) { Kind::F64 } else { Kind::F32 };
        let (rows, block) = (device.upload_sparse(number, &a)?, properties.near_kernel.block());
        let kernel = match method {
            Method::Aggregation(_) => Kernel::upload(device, number, &properties.near_kernel)?,
            Method::Classical(_) => Kernel::none(),
        };
        let a = WholeMatrix { a: SetupMatrix::on_device(DeviceMatrix::new(device, rows), Some(a)), block };
        let built = build_at(&OnDevice { device, method }, a, kernel, &setup, 0)?;
        Ok(Hierarchy::from_built(built, start))
    }
}

/// The coarsening, if a device has it for this matrix.
fn supported(
    a: &Csr<f64>,
    properties: &MatrixProperties,
    config: &HierarchyConfig,
) -> Result<Method, SetupError> {
    let refused = |reason| Err(SetupError::NotOnDevice { reason });
    let kernel = &properties.near_kernel;
    if config.reorder {
        return refused("the unknowns are renumbered first");
    }
    let diagonal = || a.view().diagonal(a.all_rows());
    if let Coarsening::Classical(method) = config.coarsening {
        return match method.on_devices() {
            Err(reason) => refused(reason),
            Ok(_) if diagonal().contains(&0.0) => refused("a diagonal entry of the matrix is zero"),
            Ok(_) => Ok(Method::Classical(method)),
        };
    }
    if kernel.node_of_rows().is_some() {
        return refused("the nodes of the matrix differ in the number of unknowns");
    }
    let method = match config.coarsening {
        Coarsening::SmoothedAggregation(method) => method,
        Coarsening::Pairwise(_) if diagonal().contains(&0.0) => {
            return refused("a diagonal entry of the matrix is zero");
        }
        Coarsening::Pairwise(pairwise) => return Ok(Method::Aggregation(Aggregation::Plain(pairwise))),
        _ => return refused("of all methods, devices have only `sa`, `pairwise` and `classical`"),
    };
    if method.test_vectors.unwrap_or(0) > kernel.count() {
        return refused("devices do not look for near-null-space vectors (`sa.test_vectors`)");
    }
    if properties.symmetry != Symmetry::Symmetric {
        return refused("the matrix is not symmetric");
    }
    if diagonal().iter().any(|&value| value <= 0.0) {
        return refused("not all diagonal entries of the matrix are positive");
    }
    if method.energy_steps.unwrap_or(0) > 0 {
        return refused("devices do not minimise the energy of interpolation (`sa.energy_steps`)");
    }
    if method.strength.measure != Measure::Symmetric || method.strength.max_row_sum.is_some() {
        return refused("of all strength measures, devices have only the symmetric one");
    }
    Ok(Method::Aggregation(Aggregation::Smoothed(method)))
}

/// A method that devices have.
#[derive(Clone, Copy, Debug)]
enum Method {
    Aggregation(Aggregation),
    Classical(Classical),
}

/// The near-kernel of a level: `count` vectors, row by row. Classical coarsening has none.
struct Kernel {
    vectors: Vector,
    count: usize,
}

impl Kernel {
    /// No vectors, which need no device.
    fn none() -> Self {
        Kernel { vectors: Vec::<f64>::new().into(), count: 0 }
    }

    fn upload(device: &dyn Device, number: Kind, kernel: &NearKernel) -> Result<Self, SetupError> {
        let columns: Vec<&[f64]> = kernel.vectors().columns().collect();
        let rows = 0..kernel.vectors().rows();
        let rows = rows.flat_map(|row| columns.iter().map(move |vector| vector[row]));
        let vectors = device.upload_as(number, &rows.collect::<Vec<f64>>())?;
        Ok(Kernel { vectors, count: kernel.count() })
    }
}

/// Interpolation to a level from the next one.
struct Interpolated {
    p: Sparse,
    /// The near-kernel of the next level.
    kernel: Kernel,
    radius: Option<f64>,
}

/// The device that makes levels, and how. It computes in double precision if it can.
struct OnDevice<'a> {
    device: &'a dyn SetupDevice,
    method: Method,
}

impl OnDevice<'_> {
    /// The rows of a matrix that this device has made, or of the finest.
    fn rows<'a>(&self, a: &'a WholeMatrix) -> Result<&'a Sparse, SetupError> {
        let held = a.a.held_by_device().and_then(|held| on(self.device, held));
        held.ok_or(SetupError::NotOnDevice { reason: "another device has made the matrix" })
    }
}

impl Place for OnDevice<'_> {
    type Matrix = WholeMatrix;
    type Kernel = Kernel;
    type Coarser = Interpolated;

    fn coarser(
        &self,
        a: &WholeMatrix,
        kernel: &Kernel,
        setup: &Setup<'_>,
        stages: &mut Stages,
    ) -> Result<Result<Interpolated, CoarseningStop>, SetupError> {
        let (device, rows) = (self.device, self.rows(a)?);
        match self.method {
            Method::Aggregation(method) => method.interpolation(device, rows, a.block, kernel, stages),
            Method::Classical(method) => method.interpolation_on(device, rows, setup.symmetry, stages),
        }
    }

    fn descend(
        &self,
        a: &WholeMatrix,
        coarser: Interpolated,
        _: &Setup<'_>,
        stages: &mut Stages,
    ) -> Result<Step<Self>, SetupError> {
        let (device, rows) = (self.device, self.rows(a)?);
        let (halo, Interpolated { p, kernel, radius }) = (Whole::new(rows.rows()), coarser);
        let r = stages.run("transpose", &halo, || device.transpose(&p))?;
        let mut coarse = stages.run("Galerkin product", &halo, || device.triple_product(&r, rows, &p))?;
        let dead = match kernel.count {
            0 => Vec::new(),
            count => device.set_dead_diagonal(&mut coarse, &kernel.vectors, count)?,
        };
        let held = |matrix| SetupMatrix::on_device(DeviceMatrix::new(device, matrix), None);
        let [p, r, coarse] = [p, r, coarse].map(held);
        // Classical coarsening does not keep nodes together.
        let next = WholeMatrix { a: coarse, block: kernel.count.max(1) };
        let transfer = WholeTransfer { p, r, galerkin: None, dead };
        Ok(Step { radius, points: None, transfer, next: Some(Ok((next, kernel))) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coarsen::{Aggregates, Paths};
    use crate::hierarchy::{Bamg, Level, Pairwise, SmoothedAggregation};
    use crate::interpolate::Interpolation;
    use crate::interpolate::LongRange;
    use crate::strength::Strength;
    use crate::testing::{problem, rigid_bodies};
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

    /// The hierarchies of the reference device and of the host.
    fn assert_same(name: &str, a: &Csr<f64>, known: &MatrixProperties, config: &HierarchyConfig) {
        let host = Hierarchy::with_properties(a, known.clone(), config).unwrap();
        let device = Hierarchy::build_on(Reference.setup().unwrap(), a, known, config).unwrap();
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

    fn pairs(passes: usize) -> HierarchyConfig {
        let coarsening = Coarsening::Pairwise(Pairwise { passes });
        HierarchyConfig { coarsening, coarse_rows: 20, ..HierarchyConfig::default() }
    }

    fn classical(aggressive_levels: usize, paths: Paths) -> HierarchyConfig {
        let method = Classical { aggressive_levels, paths, ..Classical::default() };
        HierarchyConfig {
            coarsening: Coarsening::Classical(method),
            coarse_rows: 20,
            ..HierarchyConfig::default()
        }
    }

    /// Connections in one direction only, and a row that is solved by the smoother.
    #[test]
    fn classical_levels_of_a_matrix_that_is_not_symmetric() {
        let mut a = problem("convection3d:9");
        let (begin, end) = (a.row_ptr()[40], a.row_ptr()[41]);
        let columns = a.columns()[begin..end].to_vec();
        for (value, column) in a.values_mut()[begin..end].iter_mut().zip(columns) {
            *value *= if column == 40 { 100.0 } else { 1.0 };
        }
        let known = MatrixProperties { symmetry: Symmetry::General, ..scalar(&a) };
        for config in [classical(0, Paths::One), classical(1, Paths::One)] {
            assert_same("convection3d:9", &a, &known, &config);
        }
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
        let configs = [
            aggregation(0),
            aggregation(1),
            pairs(1),
            pairs(3),
            classical(0, Paths::One),
            classical(2, Paths::Two),
        ];
        for ((name, a, known), config) in all.flat_map(|input| configs.map(|config| (input.clone(), config)))
        {
            assert_same(name, &a, &known, &config);
        }
    }

    #[test]
    fn what_devices_do_not_have_is_refused() {
        let a = problem("poisson2d:20");
        let refused = |properties: MatrixProperties, config: &HierarchyConfig, a: &Csr<f64>| {
            Hierarchy::build_on(Reference.setup().unwrap(), a, &properties, config).unwrap_err().to_string()
        };
        let usual = aggregation(0);
        let with = |change: fn(&mut Classical)| {
            let mut method = Classical::default();
            change(&mut method);
            HierarchyConfig { coarsening: Coarsening::Classical(method), ..usual }
        };
        let hybrid = with(|method| method.interpolation = Interpolation::Hybrid);
        assert!(refused(scalar(&a), &hybrid, &a).contains("`extended-i`"));
        let multipass = with(|method| method.long_range = LongRange::Multipass);
        assert!(refused(scalar(&a), &multipass, &a).contains("`multipass`"));
        let symmetric = with(|method| method.strength = Strength::symmetric());
        assert!(refused(scalar(&a), &symmetric, &a).contains("classical strength"));
        let beyond = with(|method| method.truncation.relative = 2.0);
        assert!(refused(scalar(&a), &beyond, &a).contains("out of range"));
        let bamg = HierarchyConfig { coarsening: Coarsening::Bamg(Bamg::default()), ..usual };
        assert!(refused(scalar(&a), &bamg, &a).contains("only `sa`, `pairwise` and `classical`"));
        let mut zero = a.clone();
        let place = zero.row_ptr()[7] + zero.row(7).0.binary_search(&7).unwrap();
        zero.values_mut()[place] = 0.0;
        assert!(refused(scalar(&a), &with(|_| {}), &zero).contains("is zero"));
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
        let averaged = Strength::classical();
        let method = SmoothedAggregation { strength: averaged, ..SmoothedAggregation::default() };
        let other = HierarchyConfig { coarsening: Coarsening::SmoothedAggregation(method), ..usual };
        assert!(refused(scalar(&a), &other, &a).contains("symmetric one"));
    }
}

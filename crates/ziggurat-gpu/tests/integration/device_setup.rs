//! Hierarchies whose levels are made on the device: those of the host, and solves with them.

use crate::{gpu, real_matrices};
use ziggurat::amg::interpolate::NearKernel;
use ziggurat::amg::{Hierarchy, Level, WholeMatrix};
use ziggurat::config::{Method, SetupPlace};
use ziggurat::{Solver, SolverBuilder};
use ziggurat_gpu::Gpu;
use ziggurat_sparse::device::Device;
use ziggurat_sparse::gallery::Problem;
use ziggurat_sparse::io::read_matrix;
use ziggurat_sparse::{Csr, Kind};

fn problem(name: &str) -> (Csr<f64>, Vec<f64>) {
    let problem: Problem = name.parse().unwrap();
    (problem.matrix().unwrap(), problem.rhs().unwrap())
}

fn on_device(gpu: Gpu) -> SolverBuilder<Gpu> {
    Solver::builder().device(gpu).with(|config| config.setup = SetupPlace::Device)
}

/// The same patterns, and values that differ by at most `digits` of the largest of the row.
fn assert_same(name: &str, found: &Hierarchy, expected: &Hierarchy, digits: f64) {
    let rows = |levels: &[Level<WholeMatrix>]| levels.iter().map(Level::rows).collect::<Vec<_>>();
    assert_eq!(rows(found.levels()), rows(expected.levels()), "{name}");
    for (level, (found, expected)) in found.levels().iter().zip(expected.levels()).enumerate() {
        let matrices = [
            (Some(found.matrix()), Some(expected.matrix())),
            (found.prolongation(), expected.prolongation()),
            (found.restriction(), expected.restriction()),
        ];
        for (found, expected) in
            matrices.into_iter().filter_map(|(found, expected)| Some((found?, expected?)))
        {
            assert_eq!(
                (found.row_ptr(), found.columns()),
                (expected.row_ptr(), expected.columns()),
                "{name}, level {level}"
            );
            for row in expected.all_rows() {
                let largest = expected.row(row).1.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
                for (found, expected) in found.row(row).1.iter().zip(expected.row(row).1) {
                    let difference = (found - expected).abs();
                    assert!(
                        difference <= digits * largest,
                        "{name}, level {level}, row {row}: {difference:e}"
                    );
                }
            }
        }
    }
}

/// The same iterations, give or take one, and convergence on the first device.
fn assert_same_solve(name: &str, solvers: [&Solver<Gpu>; 2], b: &[f64]) {
    let [there, here] = solvers.map(|solver| solver.solve(b).unwrap().report);
    assert!(there.reason.is_converged() && there.relative_residual <= 1e-8, "{name}: {}", there.reason);
    assert!(there.iterations.abs_diff(here.iterations) <= 1, "{name}");
}

#[test]
fn levels_and_iterations_are_those_of_the_host() {
    let gpu = gpu();
    for name in ["poisson3d:32", "jump3d:32", "poisson3d27:24", "anisotropic3d:24", "neumann3d:16"] {
        let (a, b) = problem(name);
        let there = on_device(gpu.clone()).build(&a).unwrap();
        let here = Solver::builder().device(gpu.clone()).method(Method::Sa).build(&a).unwrap();
        assert_eq!(there.config().method, Method::Sa, "{name}");
        assert_same(name, there.hierarchy(), here.hierarchy(), 1e-11);
        assert_same_solve(name, [&there, &here], &b);
    }
}

/// Nodes with three displacements: interpolation of translations, and of rigid-body modes.
#[test]
fn levels_of_nodes_are_those_of_the_host() {
    let (gpu, (a, b)) = (gpu(), problem("elasticity3d:10"));
    let coordinates = "elasticity3d:10".parse::<Problem>().unwrap().coordinates().unwrap();
    let modes = NearKernel::rigid_body_modes(&coordinates, 3).unwrap();
    for (name, modes) in [("translations", None), ("rigid bodies", Some(modes))] {
        let build = |builder: SolverBuilder<Gpu>| match modes.clone() {
            Some(modes) => builder.near_kernel(modes).build(&a).unwrap(),
            None => builder.build(&a).unwrap(),
        };
        let there = build(on_device(gpu.clone()));
        let here = Solver::builder().device(gpu.clone()).method(Method::Sa);
        let here = build(here.with(|config| config.sa.energy_steps = Some(0)));
        assert!(there.hierarchy().levels().len() > 1, "{name}");
        assert_same(name, there.hierarchy(), here.hierarchy(), 1e-11);
        assert_same_solve(name, [&there, &here], &b);
    }
}

/// Pairs of pairs, and a matrix that is not symmetric.
#[test]
fn pairs_are_those_of_the_host() {
    let gpu = gpu();
    for name in ["poisson3d:16", "elasticity3d:10", "convection3d:12"] {
        let (a, b) = problem(name);
        let there = on_device(gpu.clone()).method(Method::Pairwise).build(&a).unwrap();
        let here = Solver::builder().device(gpu.clone()).method(Method::Pairwise).build(&a).unwrap();
        assert!(there.hierarchy().levels().len() > 1, "{name}");
        assert_same(name, there.hierarchy(), here.hierarchy(), 1e-11);
        assert_same_solve(name, [&there, &here], &b);
    }
}

/// Meshes without any regularity: the same levels, too.
#[test]
fn levels_of_real_matrices_are_those_of_the_host() {
    let Some(folder) = real_matrices() else { return };
    let gpu = gpu();
    for name in ["bodyy5", "4elt_lap", "wathen100"] {
        let a = read_matrix(folder.join(format!("{name}.mtx.gz"))).unwrap();
        let there = on_device(gpu.clone()).build(&a).unwrap();
        // The host would look for test vectors where most couplings are positive (bodyy5).
        let here = Solver::builder().device(gpu.clone()).method(Method::Sa);
        let here = here.with(|config| config.sa.test_vectors = Some(0)).build(&a).unwrap();
        assert!(there.hierarchy().levels().len() > 2, "{name}");
        assert_same(name, there.hierarchy(), here.hierarchy(), 1e-11);
    }
}

/// A device without `f64` makes the levels in `f32`.
#[test]
fn without_double_precision() {
    let (a, b) = problem("poisson3d:16");
    let gpu = gpu().without(Kind::F64);
    let there = on_device(gpu.clone()).build(&a).unwrap();
    let here = Solver::builder().device(gpu).method(Method::Sa).build(&a).unwrap();
    assert_same("poisson3d:16", there.hierarchy(), here.hierarchy(), 1e-5);
    assert!(there.solve(&b).unwrap().report.reason.is_converged());
}

/// New values: interpolation is kept, and products are computed on the host.
#[test]
fn new_values_are_taken() {
    let (mut a, b) = problem("poisson3d:12");
    let mut solver = on_device(gpu()).build(&a).unwrap();
    a.values_mut().iter_mut().for_each(|value| *value *= 3.0);
    solver.update_values(&a).unwrap();
    assert!(solver.solve(&b).unwrap().report.reason.is_converged());
}

/// What crosses the bus: the matrix, one vector per level, sizes, and the levels that are made.
#[test]
fn only_levels_return_to_the_host() {
    let (a, _) = problem("poisson3d:20");
    let gpu = gpu();
    let before = gpu.traffic().unwrap();
    let known = ziggurat::amg::MatrixProperties {
        near_kernel: NearKernel::constants(a.rows(), 1).unwrap(),
        symmetry: ziggurat::amg::interpolate::Symmetry::Symmetric,
        grid: None,
    };
    let hierarchy = Hierarchy::build_on(&gpu, &a, &known, &Default::default()).unwrap();
    let traffic = gpu.traffic().unwrap().since(before);
    let csr = |a: &Csr<f64>| (4 * (a.rows() + 1) + 12 * a.nnz()) as u64;
    let finest = hierarchy.levels()[0].matrix();
    let vectors: u64 = hierarchy.levels().iter().map(|level| 8 * level.rows() as u64).sum();
    assert!(traffic.uploaded_bytes <= csr(finest) + 2 * vectors, "{traffic:?}");
    let made: u64 = hierarchy.levels()[1..].iter().map(|level| csr(level.matrix())).sum();
    let transfers = hierarchy.levels().iter().flat_map(|level| [level.prolongation(), level.restriction()]);
    let transfers: u64 = transfers.flatten().map(|matrix| csr(matrix)).sum();
    assert!(traffic.downloaded_bytes <= made + transfers + 4096, "{traffic:?}");
}

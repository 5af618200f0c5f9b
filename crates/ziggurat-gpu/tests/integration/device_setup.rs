//! Hierarchies whose levels are made on the device, compared with the host, and solves with them.

use crate::{gpu, real_matrices};
use ziggurat::amg::interpolate::NearKernel;
use ziggurat::amg::{Hierarchy, Level, WholeMatrix};
use ziggurat::config::{Method, Precision, SetupPlace, SmootherKind};
use ziggurat::{Solver, SolverBuilder, SolverConfig};
use ziggurat_gpu::Gpu;
use ziggurat_sparse::device::Device;
use ziggurat_sparse::gallery::Problem;
use ziggurat_sparse::io::read_matrix;
use ziggurat_sparse::{Csr, Kind};

fn problem(name: &str) -> (Csr<f64>, Vec<f64>) {
    let problem: Problem = name.parse().unwrap();
    (problem.matrix().unwrap(), problem.rhs().unwrap())
}

fn on_device(gpu: &Gpu) -> SolverBuilder {
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
fn assert_same_solve(name: &str, solvers: [&Solver; 2], b: &[f64]) {
    let [there, here] = solvers.map(|solver| solver.solve(b).unwrap().report);
    assert!(there.reason.is_converged() && there.relative_residual <= 1e-8, "{name}: {}", there.reason);
    assert!(there.iterations.abs_diff(here.iterations) <= 1, "{name}");
}

#[test]
fn levels_and_iterations_are_those_of_the_host() {
    let gpu = gpu();
    for name in ["poisson3d:32", "jump3d:32", "poisson3d27:24", "anisotropic3d:24", "neumann3d:16"] {
        let (a, b) = problem(name);
        let there = on_device(&gpu).build(&a).unwrap();
        let here = Solver::builder().device(&gpu).method(Method::Sa).build(&a).unwrap();
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
        let build = |builder: SolverBuilder| match modes.clone() {
            Some(modes) => builder.near_kernel(modes).build(&a).unwrap(),
            None => builder.build(&a).unwrap(),
        };
        let there = build(on_device(&gpu));
        let here = Solver::builder().device(&gpu).method(Method::Sa);
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
        let there = on_device(&gpu).method(Method::Pairwise).build(&a).unwrap();
        let here = Solver::builder().device(&gpu).method(Method::Pairwise).build(&a).unwrap();
        assert!(there.hierarchy().levels().len() > 1, "{name}");
        assert_same(name, there.hierarchy(), here.hierarchy(), 1e-11);
        assert_same_solve(name, [&there, &here], &b);
    }
}

/// Extended+i, and twice of it on a level that is coarsened aggressively; matrices that are not
/// symmetric, for which `auto` takes this method.
#[test]
fn classical_levels_are_those_of_the_host() {
    let gpu = gpu();
    for (name, method) in [
        ("poisson3d:16", Method::Classical),
        ("jump3d:16", Method::Classical),
        ("anisotropic3d:16", Method::Classical),
        ("elasticity3d:8", Method::Classical),
        ("convection3d:16", Method::Auto),
    ] {
        let (a, b) = problem(name);
        let there = on_device(&gpu).method(method).build(&a).unwrap();
        let here = Solver::builder().device(&gpu).method(Method::Classical).build(&a).unwrap();
        assert_eq!(there.config().method, Method::Classical, "{name}");
        assert!(there.hierarchy().levels().len() > 2, "{name}");
        assert_same(name, there.hierarchy(), here.hierarchy(), 1e-11);
        assert_same_solve(name, [&there, &here], &b);
    }
}

/// Meshes without any regularity: the same levels, too.
#[test]
fn levels_of_real_matrices_are_those_of_the_host() {
    let Some(folder) = real_matrices() else { return };
    let (gpu, mut levels) = (gpu(), 0);
    for name in ["bodyy5", "4elt_lap", "wathen100"] {
        let a = read_matrix(folder.join(format!("{name}.mtx.gz"))).unwrap();
        let there = on_device(&gpu).build(&a).unwrap();
        // The host would look for test vectors where most couplings are positive (bodyy5).
        let here = Solver::builder().device(&gpu).method(Method::Sa);
        let here = here.with(|config| config.sa.test_vectors = Some(0)).build(&a).unwrap();
        assert!(there.hierarchy().levels().len() > 2, "{name}");
        assert_same(name, there.hierarchy(), here.hierarchy(), 1e-11);
        let there = on_device(&gpu).method(Method::Classical).build(&a).unwrap();
        let here = Solver::builder().device(&gpu).method(Method::Classical).build(&a).unwrap();
        assert_same(name, there.hierarchy(), here.hierarchy(), 1e-11);
        levels += there.hierarchy().levels().len();
    }
    assert!(levels > 5, "{levels}"); // the smoother alone solves bodyy5
}

/// A device without `f64` makes the levels in `f32`.
#[test]
fn without_double_precision() {
    let (a, b) = problem("poisson3d:16");
    let gpu = gpu().without(Kind::F64);
    let there = on_device(&gpu).build(&a).unwrap();
    let here = Solver::builder().device(&gpu).method(Method::Sa).build(&a).unwrap();
    assert_same("poisson3d:16", there.hierarchy(), here.hierarchy(), 1e-5);
    assert!(there.solve(&b).unwrap().report.reason.is_converged());
}

/// New values: interpolation is kept, and products are computed on the host.
#[test]
fn new_values_are_taken() {
    let (mut a, b) = problem("poisson3d:12");
    let mut solver = on_device(&gpu()).build(&a).unwrap();
    a.values_mut().iter_mut().for_each(|value| *value *= 3.0);
    solver.update_values(&a).unwrap();
    assert!(solver.solve(&b).unwrap().report.reason.is_converged());
}

/// Transfers over the bus: the matrix and one vector per level on the way in, sizes and the
/// coarsest level on the way back; the coarsest level is inverted on the host. Constant and varying
/// scalings, plain and smoothed levels, several unknowns per node.
#[test]
fn only_sizes_and_the_coarsest_level_return() {
    for (name, precision, method) in [
        ("poisson3d:20", Precision::F16, Method::Sa),
        ("jump3d:20", Precision::F16, Method::Sa),
        ("elasticity3d:12", Precision::F32, Method::Sa),
        ("convection3d:20", Precision::F16, Method::Classical),
    ] {
        let (gpu, (a, _)) = (gpu(), problem(name));
        let before = gpu.traffic().unwrap();
        let few_rows = |config: &mut SolverConfig| config.hierarchy.coarse_rows = Some(100);
        let solver = on_device(&gpu).precision(precision).method(method).with(few_rows);
        let solver = solver.build(&a).unwrap();
        let traffic = gpu.traffic().unwrap().since(before);
        let levels = solver.hierarchy().levels();
        let rows: Vec<usize> = levels.iter().map(Level::rows).collect();
        assert!(levels.len() > 2, "{name}: {rows:?}");
        let csr = |level: &Level<WholeMatrix>| (4 * (level.rows() + 1) + 12 * level.nnz()) as u64;
        let (finest, coarsest) = (&levels[0], levels.last().unwrap());
        let inverse = 8 * (coarsest.rows() * coarsest.rows()) as u64;
        let vectors: u64 = levels.iter().map(|level| 8 * level.rows() as u64).sum();
        assert!(traffic.uploaded_bytes <= csr(finest) + inverse + 4 * vectors, "{name}: {traffic:?}");
        let sizes = 2048 * levels.len() as u64;
        assert!(traffic.downloaded_bytes <= csr(coarsest) + sizes, "{name}: {traffic:?}, {rows:?}");
    }
}

/// Where the smoother needs whole rows, levels are copied to the host and lowered there.
#[test]
fn approximate_inverses_are_made_on_the_host() {
    let (a, b) = problem("poisson3d:16");
    let build = |builder: SolverBuilder| builder.smoother(SmootherKind::Fsai).build(&a).unwrap();
    let gpu = gpu();
    let there = build(on_device(&gpu));
    let here = build(Solver::builder().device(&gpu).method(Method::Sa));
    assert_same_solve("fsai", [&there, &here], &b);
}

/// Levels are stored as on the host: a stencil without its columns, nodes by blocks, in the asked
/// precision.
#[test]
fn levels_are_stored_in_few_bytes() {
    for (name, format, bytes_per_entry) in
        [("poisson3d27:16", "delta-sell", 2.5), ("elasticity3d:8", "bsr", 2.75)]
    {
        let (a, _) = problem(name);
        let solver = on_device(&gpu()).precision(Precision::F16).build(&a).unwrap();
        let finest = &solver.preconditioner().stored()[0];
        assert_eq!((finest.storage, finest.format.format().name()), (Kind::F16, format), "{name}");
        let bytes = finest.format.bytes() as f64 / a.nnz() as f64;
        assert!(bytes < bytes_per_entry, "{name}: {bytes} bytes per entry");
    }
}

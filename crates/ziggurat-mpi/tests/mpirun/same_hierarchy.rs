//! The levels are the same bit for bit, and so is the number of iterations, on any number of ranks
//! and in one process without MPI.

use std::path::PathBuf;
use std::sync::Arc;

use ziggurat::amg::interpolate::NearKernel;
use ziggurat::{Solver, SolverConfig};
use ziggurat_mpi::{Comm, DistributedCsr, DistributedSolver, rigid_body_modes};
use ziggurat_sparse::gallery::{self, Problem};
use ziggurat_sparse::io::read_matrix;

use crate::launch::{is_rank, mpirun, rank};

const RANKS: [usize; 6] = [1, 2, 3, 4, 7, 8];

/// The precisions to test.
const PRECISIONS: [&str; 2] = ["f64", "f16"];

/// Finite elements, a reservoir, a power grid, a structure, and convection.
const REAL: [&str; 5] =
    ["wathen100.mtx.gz", "spe10_layer.mtx.gz", "ibmpg1.mtx.gz", "bodyy5.mtx.gz", "CSky3d30.mtx.gz"];

fn config(precision: &str, method: &str) -> SolverConfig {
    SolverConfig::from_json(&format!(r#"{{"precision": "{precision}", "method": "{method}"}}"#)).unwrap()
}

/// A line about a solve, which must not depend on ranks.
fn line(name: &str, levels: &[(u64, u64, u64)], iterations: usize, residual: f64, rtol: f64) -> String {
    assert!(residual <= rtol, "{name}: residual {residual:e}");
    let levels: Vec<String> =
        levels.iter().map(|(rows, nnz, bits)| format!("{rows}/{nnz}/{bits:x}")).collect();
    format!("{name}: {} in {iterations}", levels.join(" "))
}

fn solve_here(
    a: &DistributedCsr,
    b: &[f64],
    modes: Option<NearKernel>,
    name: &str,
    config: SolverConfig,
) -> String {
    let rtol = config.stopping.rtol;
    let solver = match modes {
        Some(modes) => DistributedSolver::with_near_kernel(a, &modes, config),
        None => DistributedSolver::new(a, config),
    };
    let solver = solver.unwrap();
    let report = solver.solve(b).unwrap().report;
    let levels: Vec<_> =
        solver.levels().iter().map(|level| (level.rows, level.nnz, level.fingerprint)).collect();
    line(name, &levels, report.iterations, report.relative_residual, rtol)
}

fn solve_alone(
    a: &ziggurat_sparse::Csr<f64>,
    b: &[f64],
    modes: Option<&NearKernel>,
    name: &str,
    config: SolverConfig,
) -> String {
    let rtol = config.stopping.rtol;
    let set_up = |config| match modes {
        Some(modes) => Solver::with_near_kernel(a, modes.clone(), config),
        None => Solver::new(a, config),
    };
    let solver = set_up(config).unwrap();
    let report = solver.solve(b).unwrap().report;
    let facts = |a: &ziggurat_sparse::Csr<f64>| {
        let bits = a.values().iter().fold(0u64, |sum, value| sum.wrapping_add(value.to_bits()));
        (a.rows() as u64, a.nnz() as u64, bits)
    };
    let levels: Vec<_> = solver.hierarchy().levels().iter().map(|level| facts(level.matrix())).collect();
    line(name, &levels, report.iterations, report.relative_residual, rtol)
}

fn problem_here(comm: &Arc<dyn Comm>, problem: Problem, name: &str, config: SolverConfig) -> String {
    let a = DistributedCsr::generate(comm, problem).unwrap();
    let (generator, rows) = (problem.generator(), a.own_rows());
    let b: Vec<f64> = rows.clone().map(|row| generator.rhs(row)).collect();
    let modes = (problem.block_size() == 3).then(|| {
        let points: Vec<_> = (rows.start / 3..rows.end / 3).map(|node| generator.coordinates(node)).collect();
        rigid_body_modes(&**comm, &points, 3).unwrap()
    });
    solve_here(&a, &b, modes, name, config)
}

fn problem_alone(problem: Problem, name: &str, config: SolverConfig) -> String {
    let modes = (problem.block_size() == 3).then(|| {
        NearKernel::from_vectors(&gallery::rigid_body_modes(&problem.coordinates().unwrap()), 3).unwrap()
    });
    solve_alone(&problem.matrix().unwrap(), &problem.rhs().unwrap(), modes.as_ref(), name, config)
}

/// Runs the test on all numbers of ranks and compares the output with the output of one process.
fn compare(test: &str, alone: &[String]) {
    for ranks in RANKS {
        let ran = mpirun(test, ranks);
        assert!(ran.success, "{ranks} ranks:\n{}", ran.everything);
        assert_eq!(ran.lines, alone, "{ranks} ranks");
    }
}

#[test]
fn model_problems() {
    let problems = ["poisson3d:40", "anisotropic3d:40", "jump3d:40", "elasticity3d:12"];
    let cases = || {
        problems.into_iter().flat_map(|name| PRECISIONS.map(|precision| (name, precision))).map(
            |(name, precision)| {
                (name.parse::<Problem>().unwrap(), format!("{name} {precision}"), config(precision, "auto"))
            },
        )
    };
    if is_rank() {
        rank(|comm| {
            cases().map(|(problem, name, config)| problem_here(comm, problem, &name, config)).collect()
        });
    } else {
        let alone: Vec<String> =
            cases().map(|(problem, name, config)| problem_alone(problem, &name, config)).collect();
        compare("same_hierarchy::model_problems", &alone);
    }
}

#[test]
fn other_methods() {
    let cases = || {
        let of = |name: &str, method: &str| {
            (name.parse::<Problem>().unwrap(), format!("{name} {method}"), config("f64", method))
        };
        let smoothed = |name: &str, method: &str, smoother: &str| {
            let text = format!(
                r#"{{"precision": "f64", "method": "{method}", "smoother": {{"kind": "{smoother}"}}}}"#
            );
            let config = SolverConfig::from_json(&text).unwrap();
            (name.parse::<Problem>().unwrap(), format!("{name} {method} {smoother}"), config)
        };
        let found = r#"{"method": "sa", "precision": "f64", "sa": {"test_vectors": 5}}"#;
        let found = SolverConfig::from_json(found).unwrap();
        let energy = r#"{"method": "sa", "precision": "f64", "sa": {"energy_steps": 3}}"#;
        let energy = SolverConfig::from_json(energy).unwrap();
        let given = |name: &str, what: &str, config: SolverConfig| {
            (name.parse::<Problem>().unwrap(), format!("{name} {what}"), config)
        };
        [
            given("elasticity3d:7", "test vectors", found),
            given("elasticity3d:8", "energy", energy.clone()),
            given("jump3d:16", "energy", energy),
            smoothed("jump3d:20", "sa", "fsai"),
            smoothed("elasticity3d:8", "sa", "fsai"),
            smoothed("poisson3d:20", "none", "fsai"),
            smoothed("elasticity3d:8", "sa", "block-jacobi"),
            smoothed("convection3d:20", "auto", "ilu0"),
            smoothed("convection3d:20", "auto", "spai"),
            smoothed("jump3d:12", "sa", "spai"),
            smoothed("jump3d:20", "none", "ilu0"),
            smoothed("jump3d:20", "none", "ilut"),
            smoothed("poisson3d:20", "none", "block-jacobi"),
            of("poisson3d:24", "classical"),
            of("convection3d:20", "classical"),
            of("transport3d:16", "air"),
            of("jump3d:16", "bamg"),
            of("elasticity3d:7", "bamg"),
            of("poisson3d:24", "pairwise"),
            of("elasticity3d:8", "pairwise"),
            of("neumann3d:20", "auto"),
            of("poisson2d:120", "classical"),
            // Odd and even numbers of planes, and fewer of them than ranks need.
            of("poisson2d:151", "structured"),
            of("poisson3d27:19", "structured"),
            of("convection3d:18", "structured"),
            of("anisotropic3d:21", "structured"),
            of("jump3d:33", "structured"),
        ]
    };
    if is_rank() {
        rank(|comm| {
            cases()
                .into_iter()
                .map(|(problem, name, config)| problem_here(comm, problem, &name, config))
                .collect()
        });
    } else {
        let alone: Vec<String> = cases()
            .into_iter()
            .map(|(problem, name, config)| problem_alone(problem, &name, config))
            .collect();
        compare("same_hierarchy::other_methods", &alone);
    }
}

/// The path of the collection of real matrices, if it exists.
fn collection() -> Option<PathBuf> {
    let given = std::env::var_os("ZIGGURAT_MATRICES").map(PathBuf::from);
    let beside = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/matrices"));
    given.or(Some(beside)).filter(|folder| folder.is_dir())
}

#[test]
fn real_matrices() {
    let Some(folder) = collection() else { return };
    let cases = || REAL.into_iter().flat_map(|name| PRECISIONS.map(|precision| (name, precision)));
    if is_rank() {
        rank(|comm| {
            let solve = |(name, precision): (&str, &str)| {
                let a = DistributedCsr::read(comm, folder.join(name)).unwrap();
                let b = vec![1.0; a.own_rows().count()];
                solve_here(&a, &b, None, &format!("{name} {precision}"), config(precision, "auto"))
            };
            cases().map(solve).collect()
        });
    } else {
        let solve = |(name, precision): (&str, &str)| {
            let a = read_matrix(folder.join(name)).unwrap();
            let b = vec![1.0; a.rows()];
            solve_alone(&a, &b, None, &format!("{name} {precision}"), config(precision, "auto"))
        };
        let alone: Vec<String> = cases().map(solve).collect();
        compare("same_hierarchy::real_matrices", &alone);
    }
}

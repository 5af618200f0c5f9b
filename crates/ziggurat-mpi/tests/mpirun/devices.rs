//! Ranks that compute on a GPU each: the levels of ranks on CPUs bit for bit, and the same cycle
//! and solution up to rounding.

use std::sync::Arc;

use ziggurat::SolverConfig;
use ziggurat::amg::interpolate::NearKernel;
use ziggurat_gpu::Gpu;
use ziggurat_mpi::{Comm, DistributedCsr, DistributedSolver, rigid_body_modes};
use ziggurat_sparse::device::{Cpu, Device};
use ziggurat_sparse::gallery::Problem;

use crate::launch::{is_rank, mpirun, rank};

/// Every kernel that receives a halo: products and residuals, sweeps with a diagonal, Gauss–Seidel,
/// an approximate inverse, and a level with several unknowns per node.
const CASES: [(&str, &str, &str); 6] = [
    ("poisson3d:16", "jacobi", "f64"),
    ("poisson3d:16", "chebyshev", "f16"),
    ("jump3d:16", "l1-jacobi", "f32"),
    ("poisson3d27:14", "gauss-seidel", "f16"),
    ("poisson3d:16", "fsai", "f32"),
    ("elasticity3d:10", "chebyshev", "f16"),
];

struct System {
    a: DistributedCsr,
    b: Vec<f64>,
    modes: Option<NearKernel>,
}

fn system(comm: &Arc<dyn Comm>, name: &str) -> System {
    let problem: Problem = name.parse().unwrap();
    let a = DistributedCsr::generate(comm, problem).unwrap();
    let (generator, rows) = (problem.generator(), a.own_rows());
    let b = rows.clone().map(|row| generator.rhs(row)).collect();
    let modes = (problem.block_size() == 3).then(|| {
        let points: Vec<_> = (rows.start / 3..rows.end / 3).map(|node| generator.coordinates(node)).collect();
        rigid_body_modes(&**comm, &points, 3).unwrap()
    });
    System { a, b, modes }
}

/// The levels, the iterations, the elements of x and the elements after one cycle.
type Found = (Vec<(u64, u64, u64)>, usize, Vec<f64>, Vec<f64>);

fn solve(device: &dyn Device, system: &System, config: &SolverConfig) -> Found {
    let System { a, b, modes } = system;
    let solver = DistributedSolver::on(device, a, modes.as_ref(), config.clone()).unwrap();
    let mut cycle = vec![0.0; b.len()];
    solver.apply(b, &mut cycle).unwrap();
    let solution = solver.solve(b).unwrap();
    assert!(solution.report.reason.is_converged(), "{}", solution.report.reason);
    let levels = solver.levels().iter().map(|level| (level.rows, level.nnz, level.fingerprint));
    (levels.collect(), solution.report.iterations, solution.x, cycle)
}

/// The largest difference over all ranks, relative to the largest element.
fn difference(comm: &dyn Comm, x: &[f64], y: &[f64]) -> f64 {
    let largest = comm.most(x.iter().fold(0.0, |most: f64, x| most.max(x.abs())));
    comm.most(x.iter().zip(y).fold(0.0, |most: f64, (x, y)| most.max((x - y).abs()))) / largest
}

#[test]
fn a_gpu_per_rank_gives_the_levels_and_the_solution_of_cpus() {
    if !is_rank() {
        for ranks in [1, 3] {
            let ran = mpirun("devices::a_gpu_per_rank_gives_the_levels_and_the_solution_of_cpus", ranks);
            assert!(ran.success, "{ranks} ranks:\n{}", ran.everything);
            assert_eq!(ran.lines.len(), CASES.len(), "{}", ran.everything);
        }
        return;
    }
    rank(|comm| {
        let gpu = Gpu::named("vulkan").unwrap();
        let case = |(name, smoother, precision): (&str, &str, &str)| {
            let json = format!(
                r#"{{"precision": "{precision}", "method": "sa", "smoother": {{"kind": "{smoother}"}}}}"#
            );
            let (config, system) = (SolverConfig::from_json(&json).unwrap(), system(comm, name));
            let before = gpu.traffic().unwrap();
            let there = solve(&gpu, &system, &config);
            let after = gpu.traffic().unwrap();
            let here = solve(&Cpu::new(), &system, &config);
            assert_eq!(there.0, here.0, "{name}, {smoother}: levels");
            assert!(there.1.abs_diff(here.1) <= 1, "{name}, {smoother}: {} for {}", there.1, here.1);
            let solutions = difference(&**comm, &here.2, &there.2);
            assert!(solutions < 1e-5, "{name}, {smoother}: solutions differ by {solutions:e}");
            let rounding = if precision == "f64" { 1e-12 } else { 1e-4 };
            let cycles = difference(&**comm, &here.3, &there.3);
            assert!(cycles < rounding, "{name}, {smoother}: cycles differ by {cycles:e}");
            // Halos and sums cross the bus in an iteration, but no vectors.
            let downloaded = after.downloaded_bytes - before.downloaded_bytes;
            let vector = 8 * system.b.len() as u64;
            let iterations = there.1 as u64 + 2;
            assert!(
                comm.size() > 1 || downloaded < 4 * vector + iterations * 20_000,
                "{name}, {smoother}: {downloaded} bytes for {iterations} iterations of {vector} bytes"
            );
            format!("{name} {smoother} {precision}")
        };
        CASES.into_iter().map(case).collect()
    });
}

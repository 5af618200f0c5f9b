//! Cycles and Krylov iterations do not allocate. This is the only test of its executable, since it
//! counts the allocations of the whole process.

#![allow(clippy::unwrap_used)] // helper functions are not marked #[test]

use std::alloc::System as SystemAllocator;
use std::ops::ControlFlow;

use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use ziggurat::amg::{
    Coarsening, Cycle, Cycling, Hierarchy, HierarchyConfig, LevelPrecision, Lowering, Pairwise,
    SmoothedAggregation,
};
use ziggurat::krylov::{LinearProblem, Method, Progress, System, Work, solve};
use ziggurat_sparse::Kind;
use ziggurat_sparse::device::{Cpu, Vector};
use ziggurat_sparse::gallery::Problem;
use ziggurat_sparse::operator::MatrixOperator;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<SystemAllocator> = &INSTRUMENTED_SYSTEM;

/// Number of allocations and reallocations so far, in all threads.
fn allocations() -> usize {
    let stats = ALLOCATOR.stats();
    stats.allocations + stats.reallocations
}

#[test]
fn iterations_do_not_allocate() {
    // Runs inside a pool, because submitting work to a pool from outside occasionally allocates.
    rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap().install(check_every_method);
}

fn check_every_method() {
    let a = "poisson3d:24".parse::<Problem>().unwrap().matrix().unwrap();
    let (device, n) = (Cpu::new(), a.rows());
    let matrix = MatrixOperator::new(&device, a.clone()).unwrap();
    let plain = HierarchyConfig {
        coarsening: Coarsening::Pairwise(Pairwise::default()),
        ..HierarchyConfig::default()
    };
    let usual = HierarchyConfig::default();
    let coarsening = Coarsening::Structured(SmoothedAggregation::default());
    let grid = HierarchyConfig { coarsening, ..HierarchyConfig::default() };
    let narrow = LevelPrecision { working: Kind::F32, storage: Kind::F16 };
    for (cycle, config, precision) in [
        (Cycle::V, usual, LevelPrecision::default()),
        (Cycle::W, plain, LevelPrecision::default()),
        (Cycle::K, plain, LevelPrecision::default()),
        (Cycle::V, usual, narrow),
        (Cycle::V, grid, narrow),
    ] {
        let hierarchy = Hierarchy::build(&a, &config).unwrap();
        let cycling = Cycling { cycle, ..Cycling::default() };
        let multigrid = hierarchy.lower(&device, &cycling, |_| precision, Lowering::default()).unwrap();
        let system = System::new(&matrix).preconditioner(&multigrid);
        for method in Method::ALL {
            let mut work = Work::new(method, &device, &system).unwrap();
            let (b, mut x) = (Vector::from(vec![1.0; n]), Vector::from(vec![0.0; n]));
            let mut counts = [0; 2];
            let mut watch = |progress: &Progress| {
                // The first iterations may allocate when threads start.
                match progress.iteration {
                    2 => counts[0] = allocations(),
                    5 => counts[1] = allocations(),
                    _ => {}
                }
                ControlFlow::Continue(())
            };
            let problem = LinearProblem::new(&device, &system, &b).observer(&mut watch);
            let report = solve(problem, &mut x, &mut work).unwrap();
            assert!(report.iterations >= 5, "{method}: {} iterations", report.iterations);
            let [before, after] = counts;
            assert!(before > 0);
            assert_eq!(after - before, 0, "{method} with a {cycle:?}-cycle");
        }
    }
}

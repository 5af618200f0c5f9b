//! No method allocates while it iterates: a solve of many iterations allocates exactly as often as one of few.
//!
//! Alone in its program, because it counts what every thread allocates.

#![allow(clippy::unwrap_used)] // a test, whose helpers clippy does not recognise as such

use std::alloc::System as SystemAllocator;

use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use ziggurat_krylov::{LinearProblem, Method, Stopping, System, Work, solve};
use ziggurat_sparse::Csr;
use ziggurat_sparse::device::Cpu;
use ziggurat_sparse::operator::MatrixOperator;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<SystemAllocator> = &INSTRUMENTED_SYSTEM;

/// Allocations so far, by any thread; growing counts as well.
fn allocations() -> usize {
    let stats = ALLOCATOR.stats();
    stats.allocations + stats.reallocations
}

/// Springs in a row, held nowhere: symmetric, singular, ill-conditioned enough to keep every method busy.
fn free_chain(n: usize) -> Csr<f64> {
    let (mut row_ptr, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for row in 0..n {
        let diagonal = if row == 0 || row + 1 == n { 1.0 } else { 2.0 };
        for (column, value) in [(row.wrapping_sub(1), -1.0), (row, diagonal), (row + 1, -1.0)] {
            if column < n {
                columns.push(column as u32);
                values.push(value);
            }
        }
        row_ptr.push(columns.len());
    }
    Csr::try_new(n, n, row_ptr, columns, values).unwrap()
}

#[test]
fn as_many_allocations_for_sixty_iterations_as_for_six() {
    // Two threads, and vectors of three pieces: everything that runs in parallel does. The solves run inside the pool,
    // because entering one from outside allocates.
    let n = 20_000;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    pool.install(|| {
        let device = Cpu::new();
        let operator = MatrixOperator::new(&device, free_chain(n)).unwrap();
        let kernel = [vec![1.0 / (n as f64).sqrt(); n]];
        let system = System::new(&operator).kernel(&kernel);
        let mut b: Vec<f64> = (0..n).map(|i| (i * i % 17) as f64 - 8.0).collect();
        system.project(&device, &mut b);
        let mut x = vec![0.0; n];
        for method in Method::ALL.into_iter().chain([Method::Gmres { restart: 7 }]) {
            let mut work = Work::new(method, &device, &system).unwrap();
            let mut count = |iterations: usize| {
                x.fill(0.0);
                let stopping = Stopping::default().rtol(0.0).max_iterations(iterations);
                let before = allocations();
                let problem = LinearProblem::new(&device, &system, &b).stopping(stopping);
                let report = solve(problem, &mut x, &mut work).unwrap();
                let allocations = allocations() - before;
                assert_eq!(report.iterations, iterations, "{method}: {report}");
                allocations
            };
            count(60); // threads make their queues on first use
            let (few, many) = (count(6), count(60));
            assert_eq!((few, many), (2, 2), "{method}: two histories, and nothing else");
        }
    });
}

//! Iterations do not allocate: the number of allocations does not depend on the number of
//! iterations.
//!
//! The only test in its program, because it counts the allocations of all threads.

#![allow(clippy::unwrap_used)] // clippy does not recognise test helpers

use std::alloc::System as SystemAllocator;

use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};
use ziggurat_krylov::{Basis, LinearProblem, Method, Stopping, System, Work, solve};
use ziggurat_sparse::Csr;
use ziggurat_sparse::device::{Cpu, Device, Vector};
use ziggurat_sparse::operator::MatrixOperator;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<SystemAllocator> = &INSTRUMENTED_SYSTEM;

/// Allocations and reallocations so far, by all threads.
fn allocations() -> usize {
    let stats = ALLOCATOR.stats();
    stats.allocations + stats.reallocations
}

/// A free chain of springs: symmetric, singular and so ill-conditioned that no method converges
/// early.
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

/// A multiple of the identity with which Richardson's iteration converges for that chain.
fn damping(n: usize) -> Csr<f64> {
    Csr::try_new(n, n, (0..=n).collect(), (0..n as u32).collect(), vec![0.3; n]).unwrap()
}

#[test]
fn as_many_allocations_for_sixty_iterations_as_for_six() {
    // Two threads and vectors that are split among them, so that every kernel runs in parallel. The
    // solves run inside the pool, because entering a pool from outside allocates.
    let n = 20_000;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    pool.install(|| {
        let device = Cpu::new();
        let operator = MatrixOperator::new(&device, free_chain(n)).unwrap();
        let kernel = [Vector::from(vec![1.0 / (n as f64).sqrt(); n])];
        let damping = MatrixOperator::new(&device, damping(n)).unwrap();
        let plain = System::new(&operator).kernel(&kernel);
        let damped = System::new(&operator).kernel(&kernel).preconditioner(&damping);
        let mut b = Vector::from((0..n).map(|i| (i * i % 17) as f64 - 8.0).collect::<Vec<_>>());
        plain.project(&device, &mut b);
        let mut x = Vector::from(vec![0.0; n]);
        let [gmres, fgmres] = [Method::Gmres { restart: 7 }, Method::Fgmres { restart: 7 }];
        let wide = Method::ALL.into_iter().chain([gmres]).map(|method| (method, Basis::F64));
        for (method, basis) in wide.chain([(gmres, Basis::F16), (fgmres, Basis::F32)]) {
            let system = if method == Method::Richardson { &damped } else { &plain };
            let mut work = Work::with_basis(method, basis, &device, system).unwrap();
            let mut count = |iterations: usize| {
                device.fill(0.0, &mut x);
                let stopping = Stopping::default().rtol(0.0).max_iterations(iterations);
                let before = allocations();
                let problem = LinearProblem::new(&device, system, &b).stopping(stopping);
                let report = solve(problem, &mut x, &mut work).unwrap();
                let allocations = allocations() - before;
                assert_eq!(report.iterations, iterations, "{method}: {report}");
                allocations
            };
            count(60); // threads allocate their queues on first use
            let (few, many) = (count(6), count(60));
            assert_eq!((few, many), (2, 2), "{method}: the two histories only");
        }
    });
}

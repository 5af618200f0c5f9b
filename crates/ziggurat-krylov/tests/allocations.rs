//! No method allocates while it iterates: a solve of many iterations allocates exactly as often as one of few.
//!
//! Alone in its program, because it counts what every thread allocates.

#![allow(clippy::unwrap_used)] // a test, whose helpers clippy does not recognise as such

use std::alloc::{GlobalAlloc, Layout, System as SystemAllocator};
use std::sync::atomic::{AtomicUsize, Ordering};

use ziggurat_krylov::{Local, Method, Stopping, System, Work, solve};
use ziggurat_sparse::Csr;
use ziggurat_sparse::device::Cpu;
use ziggurat_sparse::operator::MatrixOperator;

struct Counting;

static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is passed on to the system's allocator, which keeps the contract.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promise about `layout` is the one that is needed.
        unsafe { SystemAllocator.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: `pointer` came from `alloc` above with this layout.
        unsafe { SystemAllocator.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

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
        let space = Local(Cpu::new());
        let operator = MatrixOperator::new(&space.0, free_chain(n)).unwrap();
        let kernel = [vec![1.0 / (n as f64).sqrt(); n]];
        let system = System::new(&operator).kernel(&kernel);
        let mut b: Vec<f64> = (0..n).map(|i| (i * i % 17) as f64 - 8.0).collect();
        system.project(&space, &mut b);
        let mut x = vec![0.0; n];
        for method in Method::ALL.into_iter().chain([Method::Gmres { restart: 7 }]) {
            let mut work = Work::new(method, &space, &system).unwrap();
            let mut count = |iterations: usize| {
                x.fill(0.0);
                let stopping = Stopping::default().rtol(0.0).max_iterations(iterations);
                let before = ALLOCATIONS.load(Ordering::Relaxed);
                let report = solve(&space, &system, &b, &mut x, &stopping, None, &mut work).unwrap();
                let allocations = ALLOCATIONS.load(Ordering::Relaxed) - before;
                assert_eq!(report.iterations, iterations, "{method}: {report}");
                allocations
            };
            count(60); // threads make their queues on first use
            let (few, many) = (count(6), count(60));
            assert_eq!((few, many), (1, 1), "{method}: the history, and nothing else");
        }
    });
}

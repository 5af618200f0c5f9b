//! The threads of a rank, which all solvers of its process share: started by the first solver.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use ziggurat_ffi::{Failure, Status, thread_count};

use crate::comm::Comm;
use crate::threads::Threads;

/// The number that the caller has set; zero for none.
static GIVEN: AtomicUsize = AtomicUsize::new(0);

/// The number of threads that are running; zero before the first solver.
static RUNNING: AtomicUsize = AtomicUsize::new(0);

/// Sets the number of threads, before they are started.
pub(super) fn set_threads(threads: i64) -> Result<(), Failure> {
    let threads = thread_count(threads)?;
    match RUNNING.load(Relaxed) {
        0 => GIVEN.store(threads, Relaxed),
        running if running == threads => {}
        running => {
            let text = format!(
                "{running} threads are running; call ziggurat_mpi_set_threads before the first solver is made"
            );
            return Err(Failure::new(Status::Order, text));
        }
    }
    Ok(())
}

/// Starts the threads of this rank, unless they are running. Collective: ranks that have threads
/// take part, because others may have none.
pub(super) fn start_threads(comm: &dyn Comm) {
    let given = Some(GIVEN.load(Relaxed)).filter(|&given| given > 0);
    let threads = Threads::of_ranks(comm, given).count;
    if ziggurat_ffi::start_threads(threads) {
        RUNNING.store(threads, Relaxed);
    }
}

//! The threads of a C library: rayon's global pool, which is the library's own, because the library
//! contains rayon.

use rayon::ThreadPoolBuilder;

use crate::arrays::count;
use crate::status::Failure;

/// Starts this many threads for all solvers of the process. Threads that are running already stay
/// as they are, and it returns whether there were none.
///
/// ```
/// assert!(ziggurat_ffi::start_threads(2));
/// assert!(!ziggurat_ffi::start_threads(3));
/// ```
pub fn start_threads(threads: usize) -> bool {
    let pool = ThreadPoolBuilder::new().num_threads(threads);
    pool.thread_name(|index| format!("ziggurat-{index}")).build_global().is_ok()
}

/// A number of threads from the caller; zero for the rule of `ziggurat::threads`.
pub fn thread_count(threads: i64) -> Result<usize, Failure> {
    let most = ziggurat::threads::MOST;
    let threads = count("threads", threads)?;
    if threads > most {
        return Err(Failure::argument(format!("{threads} threads; at most {most}")));
    }
    Ok(threads)
}

//! Thread pools of given sizes, so that one run can compare 1 thread with 2.

use std::time::Instant;

use rayon::{ThreadPool, ThreadPoolBuilder};
use ziggurat::{Solution, SolveError, Solver};

use super::BenchError;

/// A pool and its size.
pub(crate) struct Pool {
    /// The number of threads.
    pub(crate) threads: usize,
    pool: ThreadPool,
}

/// A solver and its solution of one system, with the time of each.
pub(crate) struct TimedSolve {
    pub(crate) solver: Solver,
    pub(crate) solution: Solution,
    pub(crate) setup_seconds: f64,
    pub(crate) solve_seconds: f64,
}

impl Pool {
    /// Runs `work` on this pool; rayon then uses only these threads.
    pub(crate) fn run<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        self.pool.install(work)
    }

    /// Sets up a solver and solves for `b`, on this pool.
    pub(crate) fn solve(
        &self,
        b: &[f64],
        set_up: impl FnOnce() -> Result<Solver, SolveError> + Send,
    ) -> Result<TimedSolve, SolveError> {
        let start = Instant::now();
        let solver = self.run(set_up)?;
        let setup_seconds = start.elapsed().as_secs_f64();
        let start = Instant::now();
        let solution = self.run(|| solver.solve(b))?;
        Ok(TimedSolve { solver, solution, setup_seconds, solve_seconds: start.elapsed().as_secs_f64() })
    }

    /// `1 thread`, `2 threads`, for headings and names.
    pub(crate) fn label(&self) -> String {
        format!("{} thread{}", self.threads, if self.threads == 1 { "" } else { "s" })
    }
}

/// One pool per number of threads.
pub(crate) fn pools(threads: &[usize]) -> Result<Vec<Pool>, BenchError> {
    threads
        .iter()
        .map(|&threads| {
            // For rayon, 0 means one thread per core, which was not requested.
            if threads == 0 {
                return Err(BenchError::Threads { threads, reason: "at least one is needed".to_owned() });
            }
            let pool = ThreadPoolBuilder::new().num_threads(threads).build();
            let pool = pool.map_err(|error| BenchError::Threads { threads, reason: error.to_string() })?;
            Ok(Pool { threads, pool })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_runs_on_as_many_threads_as_the_pool_has() {
        let pools = pools(&[1, 3]).unwrap();
        let seen: Vec<usize> = pools.iter().map(|pool| pool.run(rayon::current_num_threads)).collect();
        assert_eq!(seen, [1, 3]);
        assert_eq!(pools[0].label(), "1 thread");
        assert_eq!(pools[1].label(), "3 threads");
    }
}

//! The processes that run a command: this one alone, or the ranks that an MPI launcher has started.
//!
//! Ranks compare their command lines before anything else, because ranks that do different things
//! would wait for each other for ever. From then on an error on one rank is an error on all of
//! them, and rank 0 alone prints. One rank is one process: it runs the code of one process, and
//! without MPI if the launcher says that there is no other rank.

#[cfg(feature = "mpi")]
mod ranks;

use std::process::ExitCode;

use rayon::ThreadPoolBuilder;
use ziggurat_report::figures::counted;

use crate::failure::Failure;

#[cfg(feature = "mpi")]
pub(crate) use ranks::{Ranks, agree_as, agree_same, on_first};

/// The processes that run this command.
pub(crate) struct Job {
    #[cfg(feature = "mpi")]
    ranks: Option<Ranks>,
}

impl Job {
    /// Runs a command in all of its processes.
    pub(crate) fn run(
        command: impl FnOnce(&mut Job) -> Result<ExitCode, Failure>,
    ) -> Result<ExitCode, Failure> {
        #[cfg(feature = "mpi")]
        if ranks::are_launched() {
            return ranks::run(command);
        }
        command(&mut Job::alone())
    }

    fn alone() -> Job {
        Job {
            #[cfg(feature = "mpi")]
            ranks: None,
        }
    }

    /// Whether this process prints what all of them would.
    pub(crate) fn is_first(&self) -> bool {
        #[cfg(feature = "mpi")]
        if let Some(ranks) = &self.ranks {
            return ranks.comm.rank() == 0;
        }
        true
    }

    /// The ranks, if there are several.
    #[cfg(feature = "mpi")]
    pub(crate) fn ranks(&self) -> Option<&Ranks> {
        self.ranks.as_ref()
    }

    /// Refuses a command that runs in one process, if there are several.
    pub(crate) fn refuse_ranks(&self, command: &str) -> Result<(), Failure> {
        #[cfg(feature = "mpi")]
        if self.ranks.is_some() {
            return Err(Failure::new(
                format!("`ziggurat {command}` runs in one process"),
                "start it without mpirun; `ziggurat solve` runs on several ranks",
            ));
        }
        let _ = command; // without MPI there are no ranks
        Ok(())
    }

    /// Starts the threads of this process: as many as given, or by the rule of
    /// [`ziggurat::threads`].
    pub(crate) fn start_threads(&mut self, given: Option<usize>) -> Result<(), Failure> {
        #[cfg(feature = "mpi")]
        if let Some(ranks) = &mut self.ranks {
            ranks.threads = ziggurat_mpi::Threads::of_ranks(&*ranks.comm, given);
            return agree_as(&*ranks.comm, start(ranks.threads.count));
        }
        start(ziggurat::threads::count(given))
    }
}

/// Starts threads. This one is part of the pool, because the MPI calls come from it, and because
/// kernels then start without waiting for another thread.
fn start(threads: usize) -> Result<(), Failure> {
    let pool = ThreadPoolBuilder::new().num_threads(threads).use_current_thread();
    pool.build_global().map_err(|error| {
        Failure::new(
            format!("cannot start {}: {error}", counted(threads, "thread")),
            "use fewer with --threads, or omit it to use all cores",
        )
    })
}

//! The ranks that an MPI launcher has started: they compare their commands, and agree on what each
//! step ends with.

use std::env;
use std::ffi::OsString;
use std::iter;
use std::process::ExitCode;
use std::sync::Arc;

use ziggurat_mpi::{Comm, DistributedError, Mpi, MpiError, Session, Threads, together};

use super::Job;
use crate::failure::Failure;
use crate::shell;

/// Variables that launchers set for the processes they start: Open MPI, MPICH and its
/// descendants, Slurm with PMIx.
const LAUNCHED: [&str; 4] = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMI_RANK", "PMIX_RANK"];

/// Variables in which launchers give the number of processes: Open MPI, MPICH and its
/// descendants, Slurm.
const SIZE: [&str; 3] = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"];

/// Separates the cause of a failure from its hint on the way to other ranks.
const HINT: &str = "\nhint: ";

/// Several ranks.
pub(crate) struct Ranks {
    pub(crate) comm: Arc<dyn Comm>,
    pub(crate) threads: Threads,
}

/// Whether an MPI launcher has started this process, and maybe others.
pub(super) fn are_launched() -> bool {
    size_told() != Some(1) && LAUNCHED.iter().any(|name| env::var_os(name).is_some())
}

/// The number of processes that the launcher says it has started.
fn size_told() -> Option<usize> {
    SIZE.iter().find_map(|name| env::var(name).ok()?.parse().ok())
}

/// Runs a command on all ranks. An error on one of them is an error on all of them, and a panic
/// aborts all of them.
pub(super) fn run(command: impl FnOnce(&mut Job) -> Result<ExitCode, Failure>) -> Result<ExitCode, Failure> {
    let started = |error: MpiError| Failure::new(error.to_string(), "start it by mpirun");
    let session = Session::start().map_err(started)?;
    let comm: Arc<dyn Comm> = Arc::new(Mpi::world().map_err(started)?);
    let result = if comm.size() == 1 {
        match size_told() {
            // All of them would solve the same system, and write the same files.
            Some(told) if told > 1 => Err(Failure::new(
                format!("started as one of {told} ranks, but MPI knows only this one"),
                "use the mpirun of the MPI library that the command was built with",
            )),
            _ => command(&mut Job::alone()),
        }
    } else {
        together(&*comm, || {
            compare_commands(&*comm)?;
            let threads = Threads { count: 1, crowded: None };
            command(&mut Job { ranks: Some(Ranks { comm: comm.clone(), threads }) })
        })
    };
    // All ranks have an error, and rank 0 prints it: before the session ends, because the
    // launcher kills it once another rank has exited with an error.
    let code = result.unwrap_or_else(|failure| {
        if comm.rank() == 0 {
            failure.print();
        }
        ExitCode::FAILURE
    });
    drop(comm);
    drop(session);
    Ok(code)
}

/// Refuses command lines that differ. Collective.
fn compare_commands(comm: &dyn Comm) -> Result<(), Failure> {
    // Machines may have the program in different folders.
    let words = iter::once(OsString::from("ziggurat")).chain(env::args_os().skip(1));
    let Some((rank, theirs, first)) = difference(comm, &shell::command(words)) else { return Ok(()) };
    Err(Failure::new(
        format!("the ranks were given different commands: rank 0 `{first}`, rank {rank} `{theirs}`"),
        "give all ranks the same command",
    ))
}

/// The lowest rank whose text differs from the text of rank 0, with both texts. Collective.
fn difference(comm: &dyn Comm, text: &str) -> Option<(usize, String, String)> {
    let mut words: Vec<u64> = text.bytes().map(u64::from).collect();
    comm.broadcast(0, &mut words);
    let bytes: Vec<u8> = words.iter().map(|&word| word as u8).collect();
    let first = String::from_utf8_lossy(&bytes).into_owned();
    let (rank, theirs) = comm.failure((text != first).then_some(text))?;
    Some((rank, theirs, first))
}

/// Refuses what differs between ranks although their commands are the same, because it depends
/// on files. Collective.
pub(crate) fn agree_same(comm: &dyn Comm, what: &str, text: &str) -> Result<(), Failure> {
    match difference(comm, text) {
        None => Ok(()),
        Some((rank, ..)) => Err(Failure::new(
            format!("the {what} of rank {rank} differs from that of rank 0"),
            "give all machines the same files",
        )),
    }
}

/// The result of this rank, if all ranks have one; otherwise the failure of the lowest rank
/// that failed, with its hint. Collective.
pub(crate) fn agree_as<T>(comm: &dyn Comm, result: Result<T, Failure>) -> Result<T, Failure> {
    let own = result.as_ref().err().map(|failure| format!("{failure}{HINT}{}", failure.hint()));
    match comm.failure(own.as_deref()) {
        None => result,
        Some((rank, message)) => result.and(Err(match message.split_once(HINT) {
            Some((cause, hint)) => Failure::new(format!("rank {rank}: {cause}"), hint),
            None => DistributedError::Elsewhere { rank, message }.into(),
        })),
    }
}

/// Work of rank 0; if it fails, all ranks fail. Collective.
pub(crate) fn on_first(comm: &dyn Comm, work: impl FnOnce() -> Result<(), Failure>) -> Result<(), Failure> {
    agree_as(comm, if comm.rank() == 0 { work() } else { Ok(()) })
}

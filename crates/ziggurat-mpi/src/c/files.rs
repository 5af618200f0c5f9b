//! The functions of `include/ziggurat_mpi.h` that write levels to a file and read them; the header
//! documents them.
//!
//! Rank 0 writes and reads the same file as one process, so `ziggurat_load` reads it, too.

use std::ffi::{c_char, c_int};
use std::fs::File;

use ziggurat_amg::Hierarchy;
use ziggurat_ffi::{Failure, Status, count, text};
use ziggurat_sparse::io::OutputFile;

use super::state::{Ready, ZigguratMpiSolver};
use crate::error::agree_as;
use crate::solver::DistributedSolver;

/// Writes the levels of all ranks to a file.
///
/// # Safety
/// Pointers point to as many elements as the header says, or are null; the solver is not destroyed
/// during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ziggurat_mpi_solver_save(
    solver: *mut ZigguratMpiSolver,
    path: *const c_char,
) -> c_int {
    // SAFETY: the caller's word, here and below.
    unsafe {
        ZigguratMpiSolver::collective(solver, |state| {
            let comm = state.comm.clone();
            let ready = state.ready().and_then(|ready| Ok((text("path", path)?, &ready.solver)));
            let (path, solver) = agree_as(&*comm, ready)?;
            let written = match solver.hierarchy()? {
                Some(hierarchy) => save(&hierarchy, path),
                None => Ok(()),
            };
            agree_as(&*comm, written)?;
            Ok(Status::Ok)
        })
    }
}

/// Writes a hierarchy to a file.
fn save(hierarchy: &Hierarchy, path: &str) -> Result<(), Failure> {
    let failed = |error| Failure::file(path, &error);
    let mut file = OutputFile::create(path).map_err(failed)?;
    hierarchy.save(&mut file)?;
    file.finish().map(drop).map_err(failed)
}

/// Reads levels from a file, in place of setup. This rank has `rows_here` rows of the matrix.
///
/// # Safety
/// Pointers point to as many elements as the header says, or are null; the solver is not destroyed
/// during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ziggurat_mpi_solver_load(
    solver: *mut ZigguratMpiSolver,
    rows_here: i64,
    path: *const c_char,
) -> c_int {
    // SAFETY: the caller's word, here and below.
    unsafe {
        ZigguratMpiSolver::collective(solver, |state| {
            let comm = state.comm.clone();
            let given = count("rows_here", rows_here).and_then(|rows| Ok((rows, text("path", path)?)));
            let (rows, path) = agree_as(&*comm, given)?;
            let read = (comm.rank() == 0).then(|| {
                let file = File::open(path).map_err(|error| Failure::file(path, &error))?;
                Ok::<_, Failure>(Hierarchy::load(file)?)
            });
            let hierarchy = agree_as(&*comm, read.transpose())?;
            let config = state.settings.config.clone();
            let solver = DistributedSolver::from_hierarchy(&comm, rows, hierarchy.as_ref(), config)?;
            state.ready = Some(Ready { solver, places: None });
            Ok(Status::Ok)
        })
    }
}

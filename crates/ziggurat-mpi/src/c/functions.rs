//! The functions of `include/ziggurat_mpi.h` that make, set up and use a solver; the header
//! documents them.

use std::cell::RefCell;
use std::ffi::{CString, c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use mpi::ffi;
use ziggurat::SolveOptions;
use ziggurat::config::Krylov;
use ziggurat::krylov::Progress;
use ziggurat_ffi::{
    Failure, Index, Report, Rows, Status, array, array_mut, count, destroy, disjoint, ordered, write_text,
};
use ziggurat_sparse::words::counted;

use super::state::{State, ZigguratMpiSolver};
use super::threads::{set_threads, start_threads};
use crate::comm::{Mpi, MpiError};
use crate::error::{agree_as, panic_message};

thread_local! {
    /// Why this thread could not make a solver or set threads.
    static WITHOUT_SOLVER: RefCell<CString> = RefCell::new(c"the solver is a null pointer".to_owned());
}

/// Makes a solver on the ranks of a communicator; null if that is not possible.
///
/// # Safety
/// MPI is initialised, `comm` is valid or null, and all of its ranks call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ziggurat_mpi_solver_create(comm: ffi::MPI_Comm) -> *mut ZigguratMpiSolver {
    // SAFETY: the caller's word.
    make(|| unsafe { Mpi::from_c(comm) })
}

/// [`ziggurat_mpi_solver_create`] with a communicator of Fortran.
///
/// # Safety
/// As [`ziggurat_mpi_solver_create`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ziggurat_mpi_solver_create_f(comm: ffi::RSMPI_Fint) -> *mut ZigguratMpiSolver {
    // SAFETY: the caller's word.
    make(|| unsafe { Mpi::from_fortran(comm) })
}

fn make(comm: impl FnOnce() -> Result<Mpi, MpiError>) -> *mut ZigguratMpiSolver {
    let made = catch_unwind(AssertUnwindSafe(|| {
        let comm = comm()?;
        start_threads(&comm);
        Ok::<_, MpiError>(comm)
    }));
    let text = match made {
        Ok(Ok(comm)) => return Box::into_raw(Box::new(ZigguratMpiSolver::new(Arc::new(comm)))),
        Ok(Err(error)) => error.to_string(),
        Err(payload) => panic_message(&*payload).to_owned(),
    };
    failed_without_solver(&format!("no solver was made: {text}"));
    std::ptr::null_mut()
}

/// Keeps the sentence of a call without a solver.
pub(super) fn failed_without_solver(text: &str) {
    let text = CString::new(text).unwrap_or_default();
    // A thread that is ending has no place for the text any more.
    let _ = WITHOUT_SOLVER.try_with(|place| *place.borrow_mut() = text);
}

/// Number of threads of this rank; 0 for the rule of `ziggurat::threads`. To be called before the
/// first solver is made.
#[unsafe(no_mangle)]
pub extern "C" fn ziggurat_mpi_set_threads(threads: i64) -> c_int {
    match set_threads(threads) {
        Ok(()) => Status::Ok.into(),
        Err(Failure { status, text }) => {
            failed_without_solver(&text);
            status.into()
        }
    }
}

/// Frees a solver and sets the pointer to null.
///
/// # Safety
/// Pointers point to as many elements as the header says, or are null; the solver is not destroyed
/// during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ziggurat_mpi_solver_destroy(solver: *mut *mut ZigguratMpiSolver) {
    // SAFETY: the caller's word.
    unsafe { destroy(solver) };
}

/// The sentence of the last failure of a solver; for a null pointer, why this thread could not make
/// one or set threads.
///
/// # Safety
/// Pointers point to as many elements as the header says, or are null; the solver is not destroyed
/// during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ziggurat_mpi_solver_error(solver: *const ZigguratMpiSolver) -> *const c_char {
    let without = WITHOUT_SOLVER.try_with(|text| text.borrow().clone()).unwrap_or_default();
    // SAFETY: the caller's word.
    unsafe { ZigguratMpiSolver::error(solver, &without) }
}

/// Sets up the solver for this rank's rows, with 32-bit indices.
///
/// # Safety
/// Pointers point to as many elements as the header says, or are null; the solver is not destroyed
/// during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ziggurat_mpi_solver_setup_i32(
    solver: *mut ZigguratMpiSolver,
    rows_here: i64,
    row_ptr: *const i32,
    columns: *const i32,
    values: *const f64,
    base: c_int,
) -> c_int {
    // SAFETY: the caller's word.
    unsafe { setup(solver, rows_here, row_ptr, columns, values, base) }
}

/// Sets up the solver for this rank's rows, with 64-bit indices.
///
/// # Safety
/// Pointers point to as many elements as the header says, or are null; the solver is not destroyed
/// during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ziggurat_mpi_solver_setup_i64(
    solver: *mut ZigguratMpiSolver,
    rows_here: i64,
    row_ptr: *const i64,
    columns: *const i64,
    values: *const f64,
    base: c_int,
) -> c_int {
    // SAFETY: the caller's word.
    unsafe { setup(solver, rows_here, row_ptr, columns, values, base) }
}

unsafe fn setup<I: Index>(
    solver: *mut ZigguratMpiSolver,
    rows_here: i64,
    row_ptr: *const I,
    columns: *const I,
    values: *const f64,
    base: c_int,
) -> c_int {
    // SAFETY: the caller's word, here and below.
    unsafe {
        ZigguratMpiSolver::collective(solver, |state| {
            state.set_up(Rows::read(rows_here, row_ptr, columns, values, base))?;
            Ok(Status::Ok)
        })
    }
}

/// Replaces the values of this rank's rows.
///
/// # Safety
/// Pointers point to as many elements as the header says, or are null; the solver is not destroyed
/// during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ziggurat_mpi_solver_update_values(
    solver: *mut ZigguratMpiSolver,
    entries_here: i64,
    values: *const f64,
) -> c_int {
    // SAFETY: the caller's word, here and below.
    unsafe {
        ZigguratMpiSolver::collective(solver, |state| {
            let comm = state.comm.clone();
            let ready = state.ready().and_then(|ready| {
                let (entries, expected) = (count("entries_here", entries_here)?, ready.solver.own_nnz());
                if entries != expected {
                    let (values, entries) = (counted(entries, "value"), counted(expected, "entry"));
                    let text = format!("{values}, but this rank's rows have {entries}");
                    return Err(Failure::argument(text));
                }
                Ok((array("values", values, entries)?, ready))
            });
            let (values, ready) = agree_as(&*comm, ready)?;
            match &ready.places {
                Some(places) => ready.solver.update_entries(&ordered(places, values))?,
                None => ready.solver.update_entries(values)?,
            };
            Ok(Status::Ok)
        })
    }
}

/// One multigrid cycle: z ≈ A⁻¹ r.
///
/// # Safety
/// Pointers point to as many elements as the header says, or are null; the solver is not destroyed
/// during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ziggurat_mpi_solver_apply(
    solver: *mut ZigguratMpiSolver,
    r: *const f64,
    z: *mut f64,
) -> c_int {
    // SAFETY: the caller's word, here and below.
    unsafe {
        ZigguratMpiSolver::collective(solver, |state| {
            let rows = state.rows();
            let solver = &state.ready()?.solver;
            let vectors = disjoint("r", r, "z", z, rows)
                .and_then(|()| Ok((array("r", r, rows)?, array_mut("z", z, rows)?)));
            solver.apply_together(vectors)?;
            Ok(Status::Ok)
        })
    }
}

/// Solves A x = b.
///
/// # Safety
/// Pointers point to as many elements as the header says, or are null; the solver is not destroyed
/// during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ziggurat_mpi_solver_solve(
    solver: *mut ZigguratMpiSolver,
    b: *const f64,
    x: *mut f64,
    use_guess: c_int,
    report: *mut Report,
) -> c_int {
    // SAFETY: the caller's word, here and below.
    unsafe {
        ZigguratMpiSolver::collective(solver, |state| {
            let (rows, monitor, comm) = (state.rows(), state.settings.monitor, state.comm.clone());
            // Options of the iteration alone can change between solves.
            let mut options = SolveOptions::from(&state.settings.config);
            let ready = state.ready().and_then(|ready| {
                disjoint("b", b, "x", x, rows)?;
                Ok((array("b", b, rows)?, array_mut("x", x, rows)?, &ready.solver))
            });
            let (b, x, solver) = agree_as(&*comm, ready)?;
            if options.krylov == Krylov::Auto {
                // As resolved at setup: later solves then start with what this one ends with.
                options.krylov = solver.config().krylov;
            }
            let guess = (use_guess != 0).then(|| x.to_vec());
            let solution = match monitor {
                Some(monitor) => {
                    let mut observer = move |progress: &Progress| monitor.watch(progress);
                    solver.solve_with(b, guess.as_deref(), &options, Some(&mut observer))
                }
                None => solver.solve_with(b, guess.as_deref(), &options, None),
            }?;
            x.copy_from_slice(&solution.x);
            let done = solution.report;
            if let Some(report) = report.as_mut() {
                let levels = solver.levels().len();
                *report = Report::new(&done, solver.setup_seconds(), levels, solver.operator_complexity());
            }
            Report::status(&done)
        })
    }
}

/// Number of rows of this rank; 0 before setup.
///
/// # Safety
/// Pointers point to as many elements as the header says, or are null; the solver is not destroyed
/// during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ziggurat_mpi_solver_rows(solver: *mut ZigguratMpiSolver) -> i64 {
    let mut found = 0;
    // SAFETY: the caller's word.
    unsafe {
        ZigguratMpiSolver::call(solver, |state| {
            found = state.rows() as i64;
            Ok(Status::Ok)
        });
    }
    found
}

/// Describes the solver: its choices and the levels over all ranks. Returns the length of the whole
/// text.
///
/// # Safety
/// Pointers point to as many elements as the header says, or are null; the solver is not destroyed
/// during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ziggurat_mpi_solver_describe(
    solver: *mut ZigguratMpiSolver,
    buffer: *mut c_char,
    room: usize,
) -> usize {
    // SAFETY: the caller's word.
    unsafe { describe(solver, buffer, room, |state| Ok(state.ready()?.solver.to_string())) }
}

/// Writes all options as TOML with comments. Returns the length of the whole text.
///
/// # Safety
/// Pointers point to as many elements as the header says, or are null; the solver is not destroyed
/// during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ziggurat_mpi_solver_get_config(
    solver: *mut ZigguratMpiSolver,
    buffer: *mut c_char,
    room: usize,
) -> usize {
    // SAFETY: the caller's word.
    unsafe { describe(solver, buffer, room, |state| Ok(state.settings.config.to_commented_toml()?)) }
}

/// Writes a text about the state into a buffer. Returns the length of the whole text.
unsafe fn describe(
    solver: *mut ZigguratMpiSolver,
    buffer: *mut c_char,
    room: usize,
    make: impl FnOnce(&mut State) -> Result<String, Failure>,
) -> usize {
    let mut made = String::new();
    // SAFETY: the caller's word.
    unsafe {
        ZigguratMpiSolver::call(solver, |state| {
            made = make(state)?;
            Ok(Status::Ok)
        });
        write_text(buffer, room, &made)
    }
}

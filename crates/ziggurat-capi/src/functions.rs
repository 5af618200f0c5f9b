//! The functions of `include/ziggurat.h` that make, set up and use a solver; the header documents
//! them.

use std::ffi::{c_char, c_int};
use std::fs::File;
use std::sync::Arc;

use ziggurat::amg::Hierarchy;
use ziggurat::config::Krylov;
use ziggurat::krylov::{Observer, Progress};
use ziggurat::sparse::device::DeviceExt;
use ziggurat::sparse::io::OutputFile;
use ziggurat::sparse::operator::LinearOperator;
use ziggurat::sparse::words::counted;
use ziggurat::{Solution, SolveError, SolveOptions, Solver, SolverConfig};
use ziggurat_ffi::{
    Failure, Index, Report, Rows, Status, array, array_mut, count, destroy, disjoint, ordered, start_threads,
    text, write_text,
};

use crate::state::{Ready, State, ZigguratSolver, cycle_work};

/// The version of the library.
#[unsafe(no_mangle)]
pub extern "C" fn ziggurat_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// Makes a solver.
#[unsafe(no_mangle)]
pub extern "C" fn ziggurat_create() -> *mut ZigguratSolver {
    // The first solver starts the threads.
    start_threads(ziggurat::threads::count(None));
    Box::into_raw(Box::new(ZigguratSolver::default()))
}

/// Frees a solver and sets the pointer to null.
///
/// # Safety
/// Pointers point to as many elements as the header says, or are null; the solver is not destroyed
/// during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ziggurat_destroy(solver: *mut *mut ZigguratSolver) {
    // SAFETY: the caller's word.
    unsafe { destroy(solver) };
}

/// The sentence of the last failure of a solver.
///
/// # Safety
/// Pointers point to as many elements as the header says, or are null; the solver is not destroyed
/// during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ziggurat_error(solver: *const ZigguratSolver) -> *const c_char {
    // SAFETY: the caller's word.
    unsafe { ZigguratSolver::error(solver) }
}

/// Sets up the solver for a matrix with 32-bit indices.
///
/// # Safety
/// Pointers point to as many elements as the header says, or are null; the solver is not destroyed
/// during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ziggurat_setup_i32(
    solver: *mut ZigguratSolver,
    rows: i64,
    row_ptr: *const i32,
    columns: *const i32,
    values: *const f64,
    base: c_int,
) -> c_int {
    // SAFETY: the caller's word.
    unsafe { setup(solver, rows, row_ptr, columns, values, base) }
}

/// Sets up the solver for a matrix with 64-bit indices.
///
/// # Safety
/// Pointers point to as many elements as the header says, or are null; the solver is not destroyed
/// during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ziggurat_setup_i64(
    solver: *mut ZigguratSolver,
    rows: i64,
    row_ptr: *const i64,
    columns: *const i64,
    values: *const f64,
    base: c_int,
) -> c_int {
    // SAFETY: the caller's word.
    unsafe { setup(solver, rows, row_ptr, columns, values, base) }
}

unsafe fn setup<I: Index>(
    solver: *mut ZigguratSolver,
    rows: i64,
    row_ptr: *const I,
    columns: *const I,
    values: *const f64,
    base: c_int,
) -> c_int {
    // SAFETY: the caller's word, here and below.
    unsafe {
        ZigguratSolver::call(solver, |state| {
            state.set_up(Rows::read(rows, row_ptr, columns, values, base)?)?;
            Ok(Status::Ok)
        })
    }
}

/// Replaces the values of the matrix.
///
/// # Safety
/// Pointers point to as many elements as the header says, or are null; the solver is not destroyed
/// during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ziggurat_update_values(
    solver: *mut ZigguratSolver,
    entries: i64,
    values: *const f64,
) -> c_int {
    // SAFETY: the caller's word, here and below.
    unsafe {
        ZigguratSolver::call(solver, |state| {
            let (runtime, Ready { solver, places, work, .. }) = state.ready()?;
            let mut a = Arc::unwrap_or_clone(solver.hierarchy().matrix().map_err(SolveError::from)?);
            let entries = count("entries", entries)?;
            if entries != a.nnz() {
                let (values, entries) = (counted(entries, "value"), counted(a.nnz(), "entry"));
                let text = format!("{values}, but the matrix has {entries}");
                return Err(Failure::argument(text));
            }
            let values = array("values", values, entries)?;
            match places {
                Some(places) => a.values_mut().copy_from_slice(&ordered(places, values)),
                None => a.values_mut().copy_from_slice(values),
            }
            runtime.run(|| solver.update_values(a))?;
            *work = cycle_work(solver)?;
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
pub unsafe extern "C" fn ziggurat_apply(solver: *mut ZigguratSolver, r: *const f64, z: *mut f64) -> c_int {
    // SAFETY: the caller's word, here and below.
    unsafe {
        ZigguratSolver::call(solver, |state| {
            let rows = state.rows();
            let (runtime, Ready { solver, work, input, output, .. }) = state.ready()?;
            disjoint("r", r, "z", z, rows)?;
            let (r, z) = (array("r", r, rows)?, array_mut("z", z, rows)?);
            let device = solver.device();
            device.overwrite(r, input)?;
            runtime.run(|| solver.preconditioner().apply(device, input, output, work));
            device.copy_to(output, z)?;
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
pub unsafe extern "C" fn ziggurat_solve(
    solver: *mut ZigguratSolver,
    b: *const f64,
    x: *mut f64,
    use_guess: c_int,
    report: *mut Report,
) -> c_int {
    // SAFETY: the caller's word.
    unsafe { solve(solver, b, x, use_guess, report, Solver::solve_with) }
}

/// Solves Aᵀ x = b.
///
/// # Safety
/// Pointers point to as many elements as the header says, or are null; the solver is not destroyed
/// during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ziggurat_solve_transposed(
    solver: *mut ZigguratSolver,
    b: *const f64,
    x: *mut f64,
    use_guess: c_int,
    report: *mut Report,
) -> c_int {
    // SAFETY: the caller's word.
    unsafe { solve(solver, b, x, use_guess, report, Solver::solve_transposed_with) }
}

/// [`Solver::solve_with`] or its transpose.
type SolveWith = fn(
    &Solver,
    &[f64],
    Option<&[f64]>,
    &SolveOptions,
    Option<&mut Observer<'_>>,
) -> Result<Solution, SolveError>;

unsafe fn solve(
    solver: *mut ZigguratSolver,
    b: *const f64,
    x: *mut f64,
    use_guess: c_int,
    report: *mut Report,
    solve_with: SolveWith,
) -> c_int {
    // SAFETY: the caller's word, here and below.
    unsafe {
        ZigguratSolver::call(solver, |state| {
            let (rows, monitor) = (state.rows(), state.settings.monitor);
            // Options of the iteration alone can change between solves.
            let mut options = SolveOptions::from(&state.settings.config);
            let (runtime, Ready { solver, work, .. }) = state.ready()?;
            if options.krylov == Krylov::Auto {
                // As resolved at setup: later solves then start with what this one ends with.
                options.krylov = solver.config().krylov;
            }
            disjoint("b", b, "x", x, rows)?;
            let (b, x) = (array("b", b, rows)?, array_mut("x", x, rows)?);
            let guess = (use_guess != 0).then(|| x.to_vec());
            let solution = runtime.run(|| match monitor {
                Some(monitor) => {
                    let mut observer = move |progress: &Progress| monitor.watch(progress);
                    solve_with(solver, b, guess.as_deref(), &options, Some(&mut observer))
                }
                None => solve_with(solver, b, guess.as_deref(), &options, None),
            })?;
            x.copy_from_slice(&solution.x);
            if solution.promotion.is_some() {
                *work = cycle_work(solver)?;
            }
            let done = solution.report;
            if let Some(report) = report.as_mut() {
                let seconds = solver.stages().iter().map(|stage| stage.1).sum();
                let hierarchy = solver.hierarchy();
                let levels = hierarchy.levels().len();
                *report = Report::new(&done, seconds, levels, hierarchy.operator_complexity());
            }
            Report::status(&done)
        })
    }
}

/// Writes the hierarchy to a file.
///
/// # Safety
/// Pointers point to as many elements as the header says, or are null; the solver is not destroyed
/// during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ziggurat_save(solver: *mut ZigguratSolver, path: *const c_char) -> c_int {
    // SAFETY: the caller's word, here and below.
    unsafe {
        ZigguratSolver::call(solver, |state| {
            let path = text("path", path)?;
            let (_, ready) = state.ready()?;
            let failed = |error| Failure::file(path, &error);
            let mut file = OutputFile::create(path).map_err(failed)?;
            ready.solver.hierarchy().save(&mut file)?;
            file.finish().map_err(failed)?;
            Ok(Status::Ok)
        })
    }
}

/// Reads a hierarchy from a file, in place of setup.
///
/// # Safety
/// Pointers point to as many elements as the header says, or are null; the solver is not destroyed
/// during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ziggurat_load(solver: *mut ZigguratSolver, path: *const c_char) -> c_int {
    // SAFETY: the caller's word, here and below.
    unsafe {
        ZigguratSolver::call(solver, |state| {
            let path = text("path", path)?;
            let file = File::open(path).map_err(|error| Failure::file(path, &error))?;
            let hierarchy = Hierarchy::load(file)?;
            let config = state.settings.config.clone();
            let solver = state.runtime().run(|| Solver::from_hierarchy(hierarchy, config))?;
            state.keep(solver, None)?;
            Ok(Status::Ok)
        })
    }
}

/// Number of rows of the matrix; 0 before setup.
///
/// # Safety
/// Pointers point to as many elements as the header says, or are null; the solver is not destroyed
/// during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ziggurat_rows(solver: *mut ZigguratSolver) -> i64 {
    let mut found = 0;
    // SAFETY: the caller's word.
    unsafe {
        ZigguratSolver::call(solver, |state| {
            found = state.rows() as i64;
            Ok(Status::Ok)
        });
    }
    found
}

/// Describes the solver: its choices and levels. Returns the length of the whole text.
///
/// # Safety
/// Pointers point to as many elements as the header says, or are null; the solver is not destroyed
/// during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ziggurat_describe(
    solver: *mut ZigguratSolver,
    buffer: *mut c_char,
    room: usize,
) -> usize {
    // SAFETY: the caller's word.
    unsafe {
        describe(solver, buffer, room, |state| {
            let (_, Ready { solver, .. }) = state.ready()?;
            let SolverConfig { method, krylov, precision, smoother, .. } = solver.config();
            Ok(format!("{method}, {krylov}, {precision}, {}\n{}", smoother.kind, solver.hierarchy()))
        })
    }
}

/// Writes all options as TOML with comments. Returns the length of the whole text.
///
/// # Safety
/// Pointers point to as many elements as the header says, or are null; the solver is not destroyed
/// during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ziggurat_get_config(
    solver: *mut ZigguratSolver,
    buffer: *mut c_char,
    room: usize,
) -> usize {
    // SAFETY: the caller's word.
    unsafe { describe(solver, buffer, room, |state| Ok(state.settings.config.to_commented_toml()?)) }
}

/// Writes a text about the state into a buffer. Returns the length of the whole text.
unsafe fn describe(
    solver: *mut ZigguratSolver,
    buffer: *mut c_char,
    room: usize,
    make: impl FnOnce(&mut State) -> Result<String, Failure>,
) -> usize {
    let mut made = String::new();
    // SAFETY: the caller's word.
    unsafe {
        ZigguratSolver::call(solver, |state| {
            made = make(state)?;
            Ok(Status::Ok)
        });
        write_text(buffer, room, &made)
    }
}

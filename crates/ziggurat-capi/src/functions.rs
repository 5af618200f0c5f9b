//! The functions of `include/ziggurat.h` that make, set up and use a solver; the header documents
//! them.

use std::ffi::{c_char, c_int};
use std::fs::File;
use std::ops::ControlFlow;

use ziggurat::amg::Hierarchy;
use ziggurat::config::Krylov;
use ziggurat::krylov::Progress;
use ziggurat::sparse::operator::LinearOperator;
use ziggurat::{SolveOptions, Solver, SolverConfig};

use crate::arrays::{Index, Matrix, array, array_mut, count, ordered, text};
use crate::state::{Monitor, Ready, State, ZigguratSolver, cycle_work};
use crate::status::{Failure, Status};

/// Bytes of the name of a stop reason, with the zero at its end.
const REASON_BYTES: usize = 32;

/// How a solve went.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ZigguratReport {
    /// Number of iterations.
    pub iterations: i64,
    /// ‖b − A x‖ / ‖b‖, computed anew from the caller's b.
    pub relative_residual: f64,
    /// The part of b that a singular matrix cannot reach, relative to ‖b‖.
    pub left_out: f64,
    /// Seconds of setup.
    pub setup_seconds: f64,
    /// Seconds of the iteration.
    pub solve_seconds: f64,
    /// Number of levels.
    pub levels: i64,
    /// Entries on all levels, relative to the finest.
    pub operator_complexity: f64,
    /// Why the iteration stopped, such as `converged` or `max_iterations`.
    pub stop_reason: [c_char; REASON_BYTES],
}

/// The version of the library.
#[unsafe(no_mangle)]
pub extern "C" fn ziggurat_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// Makes a solver.
#[unsafe(no_mangle)]
pub extern "C" fn ziggurat_create() -> *mut ZigguratSolver {
    Box::into_raw(Box::new(ZigguratSolver::new()))
}

/// Frees a solver and sets the pointer to null.
///
/// # Safety
/// Pointers point to as many elements as the header says, or are null; the solver is not destroyed
/// during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ziggurat_destroy(solver: *mut *mut ZigguratSolver) {
    // SAFETY: null or the caller's variable.
    if let Some(handle) = unsafe { solver.as_mut() }
        && !handle.is_null()
    {
        // SAFETY: made by `ziggurat_create`, and freed once: the caller's variable becomes null.
        drop(unsafe { Box::from_raw(*handle) });
        *handle = std::ptr::null_mut();
    }
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
            state.set_up(Matrix::read(rows, row_ptr, columns, values, base)?)?;
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
            let mut a = solver.hierarchy().levels()[0].matrix().as_ref().clone();
            let entries = count("entries", entries)?;
            if entries != a.nnz() {
                let text = format!("{entries} values, but the matrix has {} entries", a.nnz());
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
            input.copy_from_slice(r);
            runtime.run(|| solver.preconditioner().apply(solver.device(), input, output, work));
            z.copy_from_slice(output);
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
    report: *mut ZigguratReport,
) -> c_int {
    // SAFETY: the caller's word, here and below.
    unsafe {
        ZigguratSolver::call(solver, |state| {
            let (rows, monitor) = (state.rows(), state.monitor);
            // What the iteration alone needs can change between solves.
            let mut options = SolveOptions::from(&state.config);
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
                    let mut observer = move |progress: &Progress| watch(monitor, progress);
                    solver.solve_with(b, guess.as_deref(), &options, Some(&mut observer))
                }
                None => solver.solve_with(b, guess.as_deref(), &options, None),
            })?;
            x.copy_from_slice(&solution.x);
            if solution.promotion.is_some() {
                *work = cycle_work(solver)?;
            }
            let done = solution.report;
            if let Some(report) = report.as_mut() {
                *report = ZigguratReport {
                    iterations: done.iterations as i64,
                    relative_residual: done.relative_residual,
                    left_out: done.left_out,
                    setup_seconds: solver.stages().iter().map(|stage| stage.1).sum(),
                    solve_seconds: done.seconds,
                    levels: solver.hierarchy().levels().len() as i64,
                    operator_complexity: solver.hierarchy().operator_complexity(),
                    stop_reason: name(done.reason.name()),
                };
            }
            if done.reason.is_converged() {
                Ok(Status::Ok)
            } else {
                let residual = done.relative_residual;
                let text = format!("not converged: {}; the relative residual is {residual:.2e}", done.reason);
                Err(Failure::new(Status::NotConverged, text))
            }
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
            let file = File::create(path).map_err(|error| file(path, &error))?;
            ready.solver.hierarchy().save(file)?;
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
            let hierarchy = Hierarchy::load(File::open(path).map_err(|error| file(path, &error))?)?;
            let config = state.config.clone();
            let solver = state.runtime.run(|| Solver::from_hierarchy(hierarchy, config))?;
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
        write_text(solver, buffer, room, |state| {
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
    unsafe { write_text(solver, buffer, room, |state| Ok(state.config.to_commented_toml()?)) }
}

/// Writes a text and a zero into a buffer, cut to its size.
unsafe fn write_text(
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
    }
    if !buffer.is_null() && room > 0 {
        let length = made.floor_char_boundary(room - 1);
        // SAFETY: the buffer has `room` bytes.
        unsafe {
            std::ptr::copy_nonoverlapping(made.as_ptr().cast(), buffer, length);
            *buffer.add(length) = 0;
        }
    }
    made.len()
}

/// Refuses an input that is also the output.
fn disjoint(
    input_name: &str,
    input: *const f64,
    output_name: &str,
    output: *const f64,
    len: usize,
) -> Result<(), Failure> {
    let apart = input.addr().abs_diff(output.addr()) >= len.saturating_mul(size_of::<f64>());
    if apart || input.is_null() || output.is_null() {
        return Ok(());
    }
    Err(Failure::argument(format!("{input_name} and {output_name} overlap; give two vectors")))
}

/// Calls the caller's function after an iteration.
fn watch(monitor: Monitor, progress: &Progress) -> ControlFlow<()> {
    let Monitor { function, context } = monitor;
    // SAFETY: a function of the caller, with the context that belongs to it.
    match unsafe { function(progress.iteration as i64, progress.relative_residual, context) } {
        0 => ControlFlow::Continue(()),
        _ => ControlFlow::Break(()),
    }
}

/// A name in an array of characters, with a zero at its end.
fn name(text: &str) -> [c_char; REASON_BYTES] {
    let mut name = [0; REASON_BYTES];
    for (place, byte) in name[..REASON_BYTES - 1].iter_mut().zip(text.bytes()) {
        *place = byte as c_char;
    }
    name
}

fn file(path: &str, error: &std::io::Error) -> Failure {
    Failure::new(Status::File, format!("{path}: {error}"))
}

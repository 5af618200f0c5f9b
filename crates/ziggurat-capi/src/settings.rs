//! The functions of `include/ziggurat.h` that set options; the header documents them.

use std::ffi::{c_char, c_int, c_void};

use ziggurat_ffi::{Log, LogFunction, Monitor, MonitorFunction, Status, thread_count};

use crate::state::ZigguratSolver;

/// Sets an option by its key.
///
/// # Safety
/// Pointers point to as many elements as the header says, or are null; the solver is not destroyed
/// during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ziggurat_set_option(
    solver: *mut ZigguratSolver,
    key: *const c_char,
    value: *const c_char,
) -> c_int {
    // SAFETY: the caller's word, here and below.
    unsafe {
        ZigguratSolver::call(solver, |state| {
            state.settings.set_option(key, value)?;
            Ok(Status::Ok)
        })
    }
}

/// Replaces all options by a configuration in TOML.
///
/// # Safety
/// Pointers point to as many elements as the header says, or are null; the solver is not destroyed
/// during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ziggurat_set_config(solver: *mut ZigguratSolver, toml: *const c_char) -> c_int {
    // SAFETY: the caller's word, here and below.
    unsafe {
        ZigguratSolver::call(solver, |state| {
            state.settings.set_config(toml)?;
            Ok(Status::Ok)
        })
    }
}

/// Number of threads; 0 for the rule of `ziggurat::threads`.
///
/// # Safety
/// Pointers point to as many elements as the header says, or are null; the solver is not destroyed
/// during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ziggurat_set_threads(solver: *mut ZigguratSolver, threads: i64) -> c_int {
    // SAFETY: the caller's word.
    unsafe {
        ZigguratSolver::call(solver, |state| {
            state.threads.set(thread_count(threads)?)?;
            Ok(Status::Ok)
        })
    }
}

/// Unknowns per node; 0 to detect it.
///
/// # Safety
/// Pointers point to as many elements as the header says, or are null; the solver is not destroyed
/// during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ziggurat_set_block_size(solver: *mut ZigguratSolver, block_size: i64) -> c_int {
    // SAFETY: the caller's word.
    unsafe {
        ZigguratSolver::call(solver, |state| {
            state.settings.set_block_size(block_size)?;
            Ok(Status::Ok)
        })
    }
}

/// Coordinates of nodes or unknowns, one point after the other; null to forget them.
///
/// # Safety
/// Pointers point to as many elements as the header says, or are null; the solver is not destroyed
/// during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ziggurat_set_coordinates(
    solver: *mut ZigguratSolver,
    dimension: i64,
    points: i64,
    coordinates: *const f64,
) -> c_int {
    // SAFETY: the caller's word, here and below.
    unsafe {
        ZigguratSolver::call(solver, |state| {
            state.settings.set_coordinates(dimension, points, coordinates)?;
            Ok(Status::Ok)
        })
    }
}

/// Vectors of the near-null space, one after the other; null to forget them.
///
/// # Safety
/// Pointers point to as many elements as the header says, or are null; the solver is not destroyed
/// during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ziggurat_set_near_null_space(
    solver: *mut ZigguratSolver,
    vectors: i64,
    rows: i64,
    values: *const f64,
) -> c_int {
    // SAFETY: the caller's word, here and below.
    unsafe {
        ZigguratSolver::call(solver, |state| {
            state.settings.set_near_null_space(vectors, rows, values)?;
            Ok(Status::Ok)
        })
    }
}

/// The function that receives log events; null for none.
///
/// # Safety
/// Pointers point to as many elements as the header says, or are null; the solver is not destroyed
/// during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ziggurat_set_log(
    solver: *mut ZigguratSolver,
    function: Option<LogFunction>,
    context: *mut c_void,
) -> c_int {
    // SAFETY: the caller's word.
    unsafe {
        ZigguratSolver::call(solver, |state| {
            state.settings.log = function.map(|function| Log { function, context });
            Ok(Status::Ok)
        })
    }
}

/// The function that is called after every iteration; null for none.
///
/// # Safety
/// Pointers point to as many elements as the header says, or are null; the solver is not destroyed
/// during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ziggurat_set_monitor(
    solver: *mut ZigguratSolver,
    function: Option<MonitorFunction>,
    context: *mut c_void,
) -> c_int {
    // SAFETY: the caller's word.
    unsafe {
        ZigguratSolver::call(solver, |state| {
            state.settings.monitor = function.map(|function| Monitor { function, context });
            Ok(Status::Ok)
        })
    }
}

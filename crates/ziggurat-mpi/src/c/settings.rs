//! The functions of `include/ziggurat_mpi.h` that set options; the header documents them. They
//! concern the calling rank only: setup compares ranks.

use std::ffi::{c_char, c_int, c_void};

use ziggurat_ffi::{Log, LogFunction, Monitor, MonitorFunction, Status};

use super::state::ZigguratMpiSolver;

/// Sets an option by its key.
///
/// # Safety
/// Pointers point to as many elements as the header says, or are null; the solver is not destroyed
/// during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ziggurat_mpi_solver_set_option(
    solver: *mut ZigguratMpiSolver,
    key: *const c_char,
    value: *const c_char,
) -> c_int {
    // SAFETY: the caller's word, here and below.
    unsafe {
        ZigguratMpiSolver::call(solver, |state| {
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
pub unsafe extern "C" fn ziggurat_mpi_solver_set_config(
    solver: *mut ZigguratMpiSolver,
    toml: *const c_char,
) -> c_int {
    // SAFETY: the caller's word, here and below.
    unsafe {
        ZigguratMpiSolver::call(solver, |state| {
            state.settings.set_config(toml)?;
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
pub unsafe extern "C" fn ziggurat_mpi_solver_set_block_size(
    solver: *mut ZigguratMpiSolver,
    block_size: i64,
) -> c_int {
    // SAFETY: the caller's word.
    unsafe {
        ZigguratMpiSolver::call(solver, |state| {
            state.settings.set_block_size(block_size)?;
            Ok(Status::Ok)
        })
    }
}

/// Coordinates of this rank's nodes or unknowns, one point after the other; null to forget them.
///
/// # Safety
/// Pointers point to as many elements as the header says, or are null; the solver is not destroyed
/// during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ziggurat_mpi_solver_set_coordinates(
    solver: *mut ZigguratMpiSolver,
    dimension: i64,
    points: i64,
    coordinates: *const f64,
) -> c_int {
    // SAFETY: the caller's word, here and below.
    unsafe {
        ZigguratMpiSolver::call(solver, |state| {
            state.settings.set_coordinates(dimension, points, coordinates)?;
            Ok(Status::Ok)
        })
    }
}

/// This rank's rows of the vectors of the near-null space, one after the other; null to forget
/// them.
///
/// # Safety
/// Pointers point to as many elements as the header says, or are null; the solver is not destroyed
/// during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ziggurat_mpi_solver_set_near_null_space(
    solver: *mut ZigguratMpiSolver,
    vectors: i64,
    rows_here: i64,
    values: *const f64,
) -> c_int {
    // SAFETY: the caller's word, here and below.
    unsafe {
        ZigguratMpiSolver::call(solver, |state| {
            state.settings.set_near_null_space(vectors, rows_here, values)?;
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
pub unsafe extern "C" fn ziggurat_mpi_solver_set_log(
    solver: *mut ZigguratMpiSolver,
    function: Option<LogFunction>,
    context: *mut c_void,
) -> c_int {
    // SAFETY: the caller's word.
    unsafe {
        ZigguratMpiSolver::call(solver, |state| {
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
pub unsafe extern "C" fn ziggurat_mpi_solver_set_monitor(
    solver: *mut ZigguratMpiSolver,
    function: Option<MonitorFunction>,
    context: *mut c_void,
) -> c_int {
    // SAFETY: the caller's word.
    unsafe {
        ZigguratMpiSolver::call(solver, |state| {
            state.settings.monitor = function.map(|function| Monitor { function, context });
            Ok(Status::Ok)
        })
    }
}

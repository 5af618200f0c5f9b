//! The functions of `include/ziggurat.h` that set options; the header documents them.

use std::ffi::{c_char, c_int, c_void};

use ziggurat::{Coordinates, SolverConfig};

use crate::arrays::{array, count, text};
use crate::log::{Log, LogFunction};
use crate::state::{Monitor, MonitorFunction, ZigguratSolver};
use crate::status::{Failure, Status};

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
            state.config.set(text("key", key)?, text("value", value)?)?;
            Ok(Status::Ok)
        })
    }
}

/// Replaces all options by those of a configuration in TOML.
///
/// # Safety
/// Pointers point to as many elements as the header says, or are null; the solver is not destroyed
/// during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ziggurat_set_config(solver: *mut ZigguratSolver, toml: *const c_char) -> c_int {
    // SAFETY: the caller's word, here and below.
    unsafe {
        ZigguratSolver::call(solver, |state| {
            state.config = SolverConfig::from_toml(text("toml", toml)?)?;
            Ok(Status::Ok)
        })
    }
}

/// Number of threads; 0 for as many as the process may use.
///
/// # Safety
/// Pointers point to as many elements as the header says, or are null; the solver is not destroyed
/// during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ziggurat_set_threads(solver: *mut ZigguratSolver, threads: i64) -> c_int {
    // SAFETY: the caller's word.
    unsafe {
        ZigguratSolver::call(solver, |state| {
            let threads = count("threads", threads)?;
            if threads > MOST_THREADS {
                return Err(Failure::argument(format!("{threads} threads; at most {MOST_THREADS}")));
            }
            state.runtime.set_threads(threads)?;
            Ok(Status::Ok)
        })
    }
}

/// More threads than any machine has cores.
const MOST_THREADS: usize = 4096;

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
            let block = count("block_size", block_size)?;
            state.block = (block > 0).then_some(block);
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
            if coordinates.is_null() {
                state.coordinates = None;
                return Ok(Status::Ok);
            }
            let (dimension, points) = (count("dimension", dimension)?, count("points", points)?);
            if !(1..=3).contains(&dimension) {
                return Err(Failure::argument(format!("dimension is {dimension}; it must be 1, 2 or 3")));
            }
            let flat = array("coordinates", coordinates, points.saturating_mul(dimension))?;
            let point = |at: &[f64]| {
                let mut point = [0.0; 3];
                point[..dimension].copy_from_slice(at);
                point
            };
            let given = Coordinates::try_new(flat.chunks_exact(dimension).map(point).collect(), dimension);
            state.coordinates = Some(given.map_err(|error| Failure::argument(error.to_string()))?);
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
            if values.is_null() {
                state.near_kernel = None;
                return Ok(Status::Ok);
            }
            let (vectors, rows) = (count("vectors", vectors)?, count("rows", rows)?);
            if vectors == 0 || rows == 0 {
                return Err(Failure::argument(format!("{vectors} vectors of {rows} rows")));
            }
            let flat = array("values", values, vectors.saturating_mul(rows))?;
            state.near_kernel = Some(flat.chunks_exact(rows).map(<[f64]>::to_vec).collect());
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
            state.runtime.log = function.map(|function| Log { function, context });
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
            state.monitor = function.map(|function| Monitor { function, context });
            Ok(Status::Ok)
        })
    }
}

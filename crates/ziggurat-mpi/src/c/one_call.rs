//! Setup and solve in one call, with the caller's communicator and its own rows.

use std::ffi::{CStr, c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use mpi::ffi;
use ziggurat::SolverConfig;

use super::threads::start_threads;
use crate::comm::{Comm, Mpi, MpiError};
use crate::error::{DistributedError, agree, check_same, panic_message, together};
use crate::matrix::DistributedCsr;
use crate::solver::DistributedSolver;

/// How a solve went.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct ZigguratMpiReport {
    /// Iterations made.
    pub iterations: i64,
    /// ‖b − A x‖ / ‖b‖, computed afresh.
    pub relative_residual: f64,
    /// Levels of the hierarchy.
    pub levels: i64,
    /// Seconds of setup on this rank.
    pub setup_seconds: f64,
    /// Seconds of the iteration on this rank.
    pub solve_seconds: f64,
}

/// Return values of a call.
const CONVERGED: c_int = 0;
const ERROR: c_int = 1;
const NOT_CONVERGED: c_int = 2;

/// Solves A x = b on the ranks of `comm`. Every rank gives `rows_here` rows, which follow the rows
/// of the previous rank: `row_ptr` has `rows_here + 1` numbers and begins with 0, `columns` holds
/// global ids that increase within each row. `block_size` is the number of unknowns per node, the
/// same on every rank, or 0 to detect it from the pattern; each rank owns whole nodes. `b` and `x`
/// have `rows_here` elements. `config` is JSON, or null for the defaults. `report` and `message`
/// may be null. After an error, `message` describes it in at most `message_length` bytes, including
/// the terminating zero.
///
/// Returns 0 if the solve converged, 2 if it did not, and 1 on an error. The value is the same on
/// every rank.
///
/// # Safety
/// MPI is initialised, `comm` is valid, all of its ranks call, and pointers point to as many
/// elements as said.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ziggurat_mpi_solve(
    comm: ffi::MPI_Comm,
    rows_here: i64,
    block_size: i64,
    row_ptr: *const i64,
    columns: *const i64,
    values: *const f64,
    b: *const f64,
    x: *mut f64,
    config: *const c_char,
    report: *mut ZigguratMpiReport,
    message: *mut c_char,
    message_length: usize,
) -> c_int {
    let work = || {
        // SAFETY: the caller's word, as above.
        let comm: Arc<dyn Comm> =
            Arc::new(unsafe { Mpi::from_c(comm) }.map_err(|error: MpiError| error.to_string())?);
        start_threads(&*comm);
        let solved = together(&*comm, || {
            // SAFETY: as above.
            let given = unsafe { CArgs::read(rows_here, block_size, row_ptr, columns, values, b, x, config) };
            let fault = |message| DistributedError::Elsewhere { rank: comm.rank(), message };
            let given = agree(&*comm, given.map_err(fault))?;
            // Whether nodes are detected must be the same before any rank detects them.
            check_same(&*comm, "block_size", &block_size.to_string())?;
            given.solve(&comm)
        });
        solved.map_err(|error| error.to_string())
    };
    // Only a panic on a single rank arrives here: on several ranks it has ended the job.
    let result = catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|payload| Err(format!("panicked: {}", panic_message(&*payload))));
    match result {
        Ok((solution, facts, converged)) => {
            // SAFETY: `x` has `rows_here` elements, as many as the solution, and may be null if
            // that is zero; the report is null or writable.
            unsafe {
                if !solution.is_empty() {
                    std::ptr::copy_nonoverlapping(solution.as_ptr(), x, solution.len());
                }
                if let Some(report) = report.as_mut() {
                    *report = facts;
                }
            }
            if converged { CONVERGED } else { NOT_CONVERGED }
        }
        Err(error) => {
            if !message.is_null() && message_length > 0 {
                let bytes = &error.as_bytes()[..error.len().min(message_length - 1)];
                // SAFETY: the message has room for `message_length` bytes.
                unsafe {
                    std::ptr::copy_nonoverlapping(bytes.as_ptr().cast(), message, bytes.len());
                    *message.add(bytes.len()) = 0;
                }
            }
            ERROR
        }
    }
}

/// [`ziggurat_mpi_solve`] with a communicator of Fortran.
///
/// # Safety
/// As [`ziggurat_mpi_solve`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ziggurat_mpi_solve_f(
    comm: ffi::RSMPI_Fint,
    rows_here: i64,
    block_size: i64,
    row_ptr: *const i64,
    columns: *const i64,
    values: *const f64,
    b: *const f64,
    x: *mut f64,
    config: *const c_char,
    report: *mut ZigguratMpiReport,
    message: *mut c_char,
    message_length: usize,
) -> c_int {
    // SAFETY: the caller's word, as above.
    unsafe {
        let comm = ffi::RSMPI_Comm_f2c(comm);
        ziggurat_mpi_solve(
            comm,
            rows_here,
            block_size,
            row_ptr,
            columns,
            values,
            b,
            x,
            config,
            report,
            message,
            message_length,
        )
    }
}

/// Validated C arguments.
struct CArgs {
    /// Unknowns per node; `None` to detect them.
    block: Option<usize>,
    row_ptr: Vec<usize>,
    columns: Vec<u64>,
    values: Vec<f64>,
    b: Vec<f64>,
    config: SolverConfig,
}

impl CArgs {
    /// Copies the caller's arrays.
    ///
    /// # Safety
    /// Pointers point to as many elements as said.
    unsafe fn read(
        rows: i64,
        block_size: i64,
        row_ptr: *const i64,
        columns: *const i64,
        values: *const f64,
        b: *const f64,
        x: *const f64,
        config: *const c_char,
    ) -> Result<Self, String> {
        let rows = usize::try_from(rows).map_err(|_| format!("{rows} rows"))?;
        let block = usize::try_from(block_size).map_err(|_| format!("a block size of {block_size}"))?;
        let block = (block > 0).then_some(block);
        let check = |name: &str, null: bool, aligned: bool, elements: usize| match (null, aligned) {
            (true, _) if elements > 0 => Err(format!("{name} is a null pointer")),
            (_, false) => Err(format!("{name} is not aligned to 8 bytes")),
            // Arrays of 8 bytes per element cannot be longer.
            _ if elements > isize::MAX as usize / 8 => Err(format!("{name} has {elements} elements")),
            _ => Ok(()),
        };
        check("row_ptr", row_ptr.is_null(), row_ptr.is_aligned(), rows.saturating_add(1))?;
        check("b", b.is_null(), b.is_aligned(), rows)?;
        check("x", x.is_null(), x.is_aligned(), rows)?;
        // SAFETY: `rows + 1` numbers, by the caller's word.
        let row_ptr = unsafe { std::slice::from_raw_parts(row_ptr, rows + 1) };
        let in_range = |&number: &i64| usize::try_from(number).map_err(|_| format!("{number} in row_ptr"));
        let row_ptr = row_ptr.iter().map(in_range).collect::<Result<Vec<_>, _>>()?;
        let entries = row_ptr[rows];
        if row_ptr.windows(2).any(|pair| pair[0] > pair[1]) {
            return Err("row_ptr decreases".to_owned());
        }
        check("columns", columns.is_null(), columns.is_aligned(), entries)?;
        check("values", values.is_null(), values.is_aligned(), entries)?;
        // A null pointer makes no slice, even of nothing.
        // SAFETY: as many elements as the row pointers say, by the caller's word.
        let (columns, values, b) = unsafe {
            let columns = if entries == 0 { &[][..] } else { std::slice::from_raw_parts(columns, entries) };
            let values = if entries == 0 { &[][..] } else { std::slice::from_raw_parts(values, entries) };
            let b = if rows == 0 { &[][..] } else { std::slice::from_raw_parts(b, rows) };
            (columns, values, b)
        };
        let id = |&column: &i64| u64::try_from(column).map_err(|_| format!("column {column}"));
        let config = if config.is_null() {
            SolverConfig::default()
        } else {
            // SAFETY: a string that ends with zero, by the caller's word.
            let text = unsafe { CStr::from_ptr(config) }.to_str().map_err(|error| error.to_string())?;
            SolverConfig::from_json(text).map_err(|error| error.to_string())?
        };
        let columns = columns.iter().map(id).collect::<Result<_, _>>()?;
        Ok(CArgs { block, row_ptr, columns, values: values.to_vec(), b: b.to_vec(), config })
    }

    fn solve(self, comm: &Arc<dyn Comm>) -> Result<(Vec<f64>, ZigguratMpiReport, bool), DistributedError> {
        let block = self.block.unwrap_or(1);
        let a = DistributedCsr::from_rows(comm, block, &self.row_ptr, &self.columns, &self.values)?;
        let a = if self.block.is_none() { a.with_detected_nodes()? } else { a };
        let solver = DistributedSolver::new(&a, self.config)?;
        let solution = solver.solve(&self.b)?;
        let report = ZigguratMpiReport {
            iterations: solution.report.iterations as i64,
            relative_residual: solution.report.relative_residual,
            levels: solver.levels().len() as i64,
            setup_seconds: solver.setup_seconds(),
            solve_seconds: solution.report.seconds,
        };
        Ok((solution.x, report, solution.report.reason.is_converged()))
    }
}

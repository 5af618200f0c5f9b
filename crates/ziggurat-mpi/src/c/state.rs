//! The state of a handle, and how ranks agree on the result of a call.
//!
//! A failure of one rank is a failure of all ranks, with the same status. So a rank that finds a
//! wrong argument tells the others before it returns, and every collective call begins with an
//! agreement, where they meet it.

use std::ffi::{c_char, c_int};
use std::sync::Arc;

use ziggurat_ffi::{Failure, Handle, Rows, Settings, Status, logged};

use crate::comm::Comm;
use crate::error::{DistributedError, agree_as, check_same, together};
use crate::matrix::DistributedCsr;
use crate::near_kernel::near_kernel;
use crate::solver::DistributedSolver;

/// A solver on the ranks of a communicator, as C sees it.
#[derive(Debug)]
pub struct ZigguratMpiSolver(Handle<State>);

/// The settings and, after setup, the solver.
#[derive(Debug)]
pub(super) struct State {
    pub(super) comm: Arc<dyn Comm>,
    pub(super) settings: Settings,
    pub(super) ready: Option<Ready>,
}

/// A solver that is set up.
#[derive(Debug)]
pub(super) struct Ready {
    pub(super) solver: DistributedSolver,
    /// See [`Rows::places`].
    pub(super) places: Option<Vec<usize>>,
}

/// The status of an error of another rank: that rank states it.
impl From<DistributedError> for Failure {
    fn from(error: DistributedError) -> Self {
        match error {
            DistributedError::Solve(error) => error.into(),
            DistributedError::Elsewhere { .. } => Failure::new(Status::Ok, error.to_string()),
            error => Failure::argument(error.to_string()),
        }
    }
}

impl ZigguratMpiSolver {
    pub(super) fn new(comm: Arc<dyn Comm>) -> Self {
        let state = State { comm, settings: Settings::default(), ready: None };
        ZigguratMpiSolver(Handle::new(state))
    }

    /// Calls `work`, which concerns this rank only, with the state of a handle.
    ///
    /// # Safety
    /// `handle` is null, or a solver that is not destroyed during the call.
    pub(super) unsafe fn call(
        handle: *const ZigguratMpiSolver,
        work: impl FnOnce(&mut State) -> Result<Status, Failure>,
    ) -> c_int {
        // SAFETY: the caller's word.
        let handle = unsafe { handle.as_ref() }.map(|handle| &handle.0);
        Handle::call(handle, work, |state| state.ready = None)
    }

    /// Calls `work` on all ranks. If it fails on one of them, it fails on all of them, with the
    /// same status.
    ///
    /// # Safety
    /// As [`ZigguratMpiSolver::call`].
    pub(super) unsafe fn collective(
        handle: *const ZigguratMpiSolver,
        work: impl FnOnce(&mut State) -> Result<Status, Failure>,
    ) -> c_int {
        // SAFETY: the caller's word.
        unsafe {
            Self::call(handle, |state| {
                let (comm, log) = (state.comm.clone(), state.settings.log);
                let done = logged(log, || together(&*comm, || work(state)));
                done.map_err(|Failure { status, text }| {
                    let number = comm.most(f64::from(c_int::from(status)));
                    let status = Status::from_number(number as u64).filter(|&status| status != Status::Ok);
                    Failure { status: status.unwrap_or(Status::Internal), text }
                })
            })
        }
    }

    /// The sentence of the last failure, or `without` if there is no handle.
    ///
    /// # Safety
    /// As [`ZigguratMpiSolver::call`].
    pub(super) unsafe fn error(handle: *const ZigguratMpiSolver, without: &std::ffi::CStr) -> *const c_char {
        // SAFETY: the caller's word.
        let handle = unsafe { handle.as_ref() }.map(|handle| &handle.0);
        Handle::error(handle, without)
    }
}

impl State {
    /// The solver, if there has been a setup.
    pub(super) fn ready(&mut self) -> Result<&mut Ready, Failure> {
        let too_early = || {
            let text = "there is no matrix yet; call ziggurat_mpi_solver_setup_i32 or _i64 first";
            Failure::new(Status::Order, text)
        };
        self.ready.as_mut().ok_or_else(too_early)
    }

    /// Number of rows of this rank; zero before setup.
    pub(super) fn rows(&self) -> usize {
        self.ready.as_ref().map_or(0, |ready| ready.solver.own_rows().count())
    }

    /// Sets up the solver for this rank's rows of a matrix. Collective.
    pub(super) fn set_up(&mut self, rows: Result<Rows<u64>, Failure>) -> Result<(), Failure> {
        let comm = self.comm.clone();
        let Rows { row_ptr, columns, values, places } = agree_as(&*comm, rows)?;
        let Settings { config, block, coordinates, near_kernel: vectors, .. } = &self.settings;
        check_same(&*comm, "block size", &format!("{block:?}"))?;
        let known = (vectors.is_some(), coordinates.is_some());
        check_same(&*comm, "choice of near-null space or coordinates", &format!("{known:?}"))?;
        self.ready = None; // its memory is free for the new one
        let a = DistributedCsr::from_rows(&comm, block.unwrap_or(1), &row_ptr, &columns, &values)?;
        drop((row_ptr, columns, values));
        let by_coordinates = vectors.is_none() && coordinates.is_some();
        let a = if block.is_none() && !by_coordinates { a.with_whole_nodes()? } else { a };
        let solver = match (vectors, coordinates) {
            (Some(vectors), _) => {
                let kernel = near_kernel(&*comm, vectors, a.block())?;
                DistributedSolver::with_near_kernel(&a, &kernel, config.clone())
            }
            (None, Some(coordinates)) => DistributedSolver::with_coordinates(&a, coordinates, config.clone()),
            (None, None) => DistributedSolver::new(&a, config.clone()),
        };
        self.ready = Some(Ready { solver: solver?, places });
        Ok(())
    }
}

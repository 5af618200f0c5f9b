//! Nonblocking messages in transit. MPI reads and writes their buffers until they are complete, so
//! a guard waits for them before the buffers can be released, also when the stack unwinds.

#![allow(unsafe_code)]

use std::os::raw::c_int;

use mpi::ffi;

/// Requests that are complete when this guard has been dropped.
#[derive(Debug)]
pub(super) struct Pending<'a> {
    requests: &'a mut [ffi::MPI_Request],
}

impl<'a> Pending<'a> {
    /// Guards requests, which are [null](Self::none) until messages are started.
    pub(super) fn new(requests: &'a mut [ffi::MPI_Request]) -> Self {
        Pending { requests }
    }

    /// The null request.
    pub(super) fn none() -> ffi::MPI_Request {
        // SAFETY: a constant of MPI.
        unsafe { ffi::RSMPI_REQUEST_NULL }
    }

    /// The requests, to start messages with.
    pub(super) fn requests(&mut self) -> &mut [ffi::MPI_Request] {
        self.requests
    }

    /// The number of requests as MPI counts them. There is at most one per pair of ranks and
    /// direction, and MPI counts ranks with the same type.
    fn count(&self) -> c_int {
        c_int::try_from(self.requests.len()).unwrap_or(c_int::MAX)
    }

    /// Whether all messages are complete.
    pub(super) fn are_complete(&mut self) -> bool {
        let mut done = 0;
        // SAFETY: as many requests as stated, each null or started.
        unsafe {
            let at = self.requests.as_mut_ptr();
            ffi::MPI_Testall(self.count(), at, &mut done, ffi::RSMPI_STATUSES_IGNORE);
        }
        done != 0
    }
}

impl Drop for Pending<'_> {
    fn drop(&mut self) {
        // SAFETY: as many requests as stated, each null, started or complete.
        unsafe {
            ffi::MPI_Waitall(self.count(), self.requests.as_mut_ptr(), ffi::RSMPI_STATUSES_IGNORE);
        }
    }
}

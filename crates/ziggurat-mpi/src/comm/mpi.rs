//! An MPI communicator, through the crate `mpi`.
//!
//! MPI handles are used directly (`mpi::ffi`): callers pass plain handles, the requests of a swap
//! are kept on the stack so that a cycle does not allocate, and unexpected messages need probes.
//! The caller's communicator is duplicated, so that its messages and ours never mix; only the
//! duplicate is freed.
//!
//! **Unexpected messages** ([`Comm::deliver`]) use nonblocking consensus (Hoefler, Siebert &
//! Lumsdaine, *Scalable communication protocols for dynamic sparse data exchange*, 2010):
//! synchronous sends, and after their completion a nonblocking barrier. When the barrier completes,
//! no message is in transit. Ranks communicate only with the receivers of their messages.
//!
//! **Threads.** One thread at a time makes calls. MPI must be initialised for `MPI_THREAD_FUNNELED`
//! if that is always the thread that initialised it, otherwise for `MPI_THREAD_SERIALIZED`.

#![allow(unsafe_code)]

use std::mem::MaybeUninit;
use std::os::raw::{c_int, c_void};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use mpi::ffi;
use thiserror::Error;

use super::{Comm, Parcel, ParcelMut};

/// The tag of messages between neighbours.
const SWAP: c_int = 1;

/// The tag of unexpected messages. Rounds alternate between this tag and the next one, because a
/// fast rank may be one round ahead of a slow one.
const DELIVERY: c_int = 2;

/// Up to this many requests are kept on the stack.
const FEW: usize = 64;

/// Why a communicator could not be created.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum MpiError {
    /// `MPI_Init` has not been called.
    #[error("MPI is not initialised; call MPI_Init first, or start a Session")]
    NotInitialised,
    /// `MPI_Init` or `MPI_Finalize` has already been called.
    #[error("MPI was already initialised; use Mpi::world() or the caller's communicator")]
    AlreadyInitialised,
}

/// An MPI session: initialises MPI, and finalises it when dropped. A library called by an MPI
/// program does not need it: see [`Mpi::from_c`].
#[derive(Debug)]
pub struct Session {
    _universe: Universe,
}

struct Universe(#[allow(dead_code)] mpi::environment::Universe);

impl std::fmt::Debug for Universe {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Universe")
    }
}

impl Session {
    /// Initialises MPI for calls from this thread.
    ///
    /// # Errors
    /// If MPI has already been initialised.
    pub fn start() -> Result<Self, MpiError> {
        let universe = mpi::initialize_with_threading(mpi::Threading::Funneled);
        universe
            .map(|(universe, _)| Session { _universe: Universe(universe) })
            .ok_or(MpiError::AlreadyInitialised)
    }

    /// Aborts all ranks, for a program that cannot continue.
    pub fn abort(&self, code: i32) -> ! {
        // SAFETY: MPI is initialised while a session exists.
        unsafe { ffi::MPI_Abort(ffi::RSMPI_COMM_WORLD, code) };
        std::process::exit(code)
    }
}

/// An MPI communicator: a duplicate of an existing one.
///
/// ```no_run
/// use ziggurat_mpi::{Comm, Mpi, Session};
/// let session = Session::start()?; // in a program that has not called MPI_Init
/// let world = Mpi::world()?;
/// println!("rank {} of {}", world.rank(), world.size());
/// # Ok::<(), ziggurat_mpi::MpiError>(())
/// ```
#[derive(Debug)]
pub struct Mpi {
    handle: ffi::MPI_Comm,
    rank: usize,
    size: usize,
    /// The number of rounds of unexpected messages.
    rounds: AtomicU32,
}

// SAFETY: a handle is a plain value, and MPI may be called from any thread if calls do not overlap
// (MPI_THREAD_SERIALIZED). By the contract of `Comm`, calls come from one thread at a time.
unsafe impl Send for Mpi {}
// SAFETY: as above; other threads use a shared reference only for `rank` and `size`.
unsafe impl Sync for Mpi {}

impl Mpi {
    /// The communicator of all ranks that were started together.
    ///
    /// # Errors
    /// If MPI is not initialised.
    pub fn world() -> Result<Self, MpiError> {
        check_initialised()?;
        // SAFETY: MPI is initialised, so the world communicator exists.
        unsafe { Self::from_c(ffi::RSMPI_COMM_WORLD) }
    }

    /// Duplicates a communicator of C. The handle is used only during this call.
    ///
    /// # Safety
    /// The handle is a valid intracommunicator, and all of its ranks make this call.
    ///
    /// # Errors
    /// If MPI is not initialised.
    pub unsafe fn from_c(borrowed: ffi::MPI_Comm) -> Result<Self, MpiError> {
        check_initialised()?;
        let mut handle = MaybeUninit::uninit();
        // SAFETY: the caller guarantees a valid communicator; MPI writes the duplicate.
        let handle = unsafe {
            ffi::MPI_Comm_dup(borrowed, handle.as_mut_ptr());
            handle.assume_init()
        };
        Ok(Self::own(handle))
    }

    /// Duplicates a communicator of Fortran.
    ///
    /// # Safety
    /// As [`Mpi::from_c`].
    ///
    /// # Errors
    /// If MPI is not initialised.
    pub unsafe fn from_fortran(borrowed: ffi::RSMPI_Fint) -> Result<Self, MpiError> {
        check_initialised()?;
        // SAFETY: the caller guarantees a valid communicator.
        unsafe { Self::from_c(ffi::RSMPI_Comm_f2c(borrowed)) }
    }

    /// Takes ownership of a communicator that this library created.
    fn own(handle: ffi::MPI_Comm) -> Self {
        let (mut rank, mut size) = (0, 0);
        // SAFETY: a valid communicator; MPI writes two numbers.
        unsafe {
            ffi::MPI_Comm_rank(handle, &mut rank);
            ffi::MPI_Comm_size(handle, &mut size);
        }
        Mpi { handle, rank: rank as usize, size: size as usize, rounds: AtomicU32::new(0) }
    }

    /// Reduces numbers of a type over all ranks.
    fn reduce<T>(&self, numbers: &mut [T], datatype: ffi::MPI_Datatype, operation: ffi::MPI_Op) {
        let mut result: Vec<MaybeUninit<T>> = Vec::new();
        let (mut few, count) = ([const { MaybeUninit::uninit() }; FEW], numbers.len());
        let result = if count <= FEW {
            &mut few[..count]
        } else {
            result.resize_with(count, MaybeUninit::uninit);
            &mut result[..]
        };
        // SAFETY: both buffers have `count` elements of the datatype. MPI has initialised the
        // results, which are plain numbers.
        unsafe {
            let (from, to) = (numbers.as_ptr().cast(), result.as_mut_ptr().cast());
            ffi::MPI_Allreduce(from, to, count as c_int, datatype, operation, self.handle);
            std::ptr::copy_nonoverlapping(result.as_ptr().cast::<T>(), numbers.as_mut_ptr(), count);
        }
    }
}

fn check_initialised() -> Result<(), MpiError> {
    let (mut initialised, mut finalised) = (0, 0);
    // SAFETY: these two functions may be called at any time.
    unsafe {
        ffi::MPI_Initialized(&mut initialised);
        ffi::MPI_Finalized(&mut finalised);
    }
    if initialised != 0 && finalised == 0 { Ok(()) } else { Err(MpiError::NotInitialised) }
}

impl Drop for Mpi {
    fn drop(&mut self) {
        // After MPI_Finalize there is nothing to free.
        if check_initialised().is_ok() {
            // SAFETY: this value owns the communicator.
            unsafe { ffi::MPI_Comm_free(&mut self.handle) };
        }
    }
}

/// The datatype for elements of `width` bytes, and how many of it make up an element.
fn datatype(width: usize) -> (ffi::MPI_Datatype, usize) {
    // SAFETY: constants of MPI.
    unsafe {
        match width {
            width if width.is_multiple_of(8) => (ffi::RSMPI_UINT64_T, width / 8),
            width if width.is_multiple_of(4) => (ffi::RSMPI_UINT32_T, width / 4),
            width => (ffi::RSMPI_UINT8_T, width),
        }
    }
}

impl Comm for Mpi {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn sum(&self, numbers: &mut [u64]) {
        // SAFETY: constants of MPI.
        let (datatype, operation) = unsafe { (ffi::RSMPI_UINT64_T, ffi::RSMPI_SUM) };
        self.reduce(numbers, datatype, operation);
    }

    fn sum_reals(&self, numbers: &mut [f64]) {
        // SAFETY: constants of MPI.
        let (datatype, operation) = unsafe { (ffi::RSMPI_DOUBLE, ffi::RSMPI_SUM) };
        self.reduce(numbers, datatype, operation);
    }

    fn largest(&self, numbers: &mut [f64]) {
        // MPI does not define the maximum with NaN, so numbers are compared as integers, where NaN
        // is the largest.
        let ordered = |x: f64| match x.to_bits() {
            _ if x.is_nan() => i64::MAX,
            bits if (bits as i64) < 0 => !(bits as i64) ^ i64::MIN,
            bits => bits as i64,
        };
        let back = |x: i64| match x {
            i64::MAX => f64::NAN,
            x if x < 0 => f64::from_bits(!(x ^ i64::MIN) as u64),
            x => f64::from_bits(x as u64),
        };
        // SAFETY: constants of MPI.
        let (datatype, operation) = unsafe { (ffi::RSMPI_INT64_T, ffi::RSMPI_MAX) };
        // Cycles reduce a single number and must not allocate.
        let mut keys = [0; FEW];
        for numbers in numbers.chunks_mut(FEW) {
            let keys = &mut keys[..numbers.len()];
            keys.iter_mut().zip(&*numbers).for_each(|(key, &x)| *key = ordered(x));
            self.reduce(keys, datatype, operation);
            numbers.iter_mut().zip(&*keys).for_each(|(number, &key)| *number = back(key));
        }
    }

    fn before(&self, count: u64) -> u64 {
        let mut sum = 0u64;
        // SAFETY: one number in, one out; on rank 0 the result stays zero.
        unsafe {
            let (from, to): (*const u64, *mut u64) = (&count, &mut sum);
            ffi::MPI_Exscan(from.cast(), to.cast(), 1, ffi::RSMPI_UINT64_T, ffi::RSMPI_SUM, self.handle);
        }
        if self.rank == 0 { 0 } else { sum }
    }

    fn deliver(&self, messages: Vec<(usize, Vec<u64>)>) -> Vec<(usize, Vec<u64>)> {
        let tag = DELIVERY + (self.rounds.fetch_add(1, Relaxed) % 2) as c_int;
        let mut received = Vec::new();
        // SAFETY: the buffers of pending sends are in `messages` until all sends are complete.
        // Receive buffers have the length that the probe reported. All requests are complete before
        // this function returns.
        unsafe {
            let mut sends = Vec::with_capacity(messages.len());
            for (to, words) in messages.iter().filter(|(to, _)| *to != self.rank) {
                let mut request = ffi::RSMPI_REQUEST_NULL;
                let (buffer, count) = (words.as_ptr().cast::<c_void>(), words.len() as c_int);
                ffi::MPI_Issend(
                    buffer,
                    count,
                    ffi::RSMPI_UINT64_T,
                    *to as c_int,
                    tag,
                    self.handle,
                    &mut request,
                );
                sends.push(request);
            }
            let mut barrier = None;
            loop {
                let (mut waiting, mut status) = (0, MaybeUninit::<ffi::MPI_Status>::uninit());
                ffi::MPI_Iprobe(ffi::RSMPI_ANY_SOURCE, tag, self.handle, &mut waiting, status.as_mut_ptr());
                if waiting != 0 {
                    let (status, mut count) = (status.assume_init(), 0);
                    ffi::MPI_Get_count(&status, ffi::RSMPI_UINT64_T, &mut count);
                    let mut words = vec![0u64; count as usize];
                    let buffer = words.as_mut_ptr().cast();
                    let ignore = ffi::RSMPI_STATUS_IGNORE;
                    ffi::MPI_Recv(
                        buffer,
                        count,
                        ffi::RSMPI_UINT64_T,
                        status.MPI_SOURCE,
                        tag,
                        self.handle,
                        ignore,
                    );
                    received.push((status.MPI_SOURCE as usize, words));
                    continue;
                }
                let mut done = 0;
                match &mut barrier {
                    Some(barrier) => {
                        ffi::MPI_Test(barrier, &mut done, ffi::RSMPI_STATUS_IGNORE);
                        if done != 0 {
                            break;
                        }
                    }
                    None => {
                        let count = sends.len() as c_int;
                        ffi::MPI_Testall(count, sends.as_mut_ptr(), &mut done, ffi::RSMPI_STATUSES_IGNORE);
                        if done != 0 {
                            let mut request = ffi::RSMPI_REQUEST_NULL;
                            ffi::MPI_Ibarrier(self.handle, &mut request);
                            barrier = Some(request);
                        }
                    }
                }
                // If ranks share a core, this lets the others run.
                std::thread::yield_now();
            }
        }
        received.extend(messages.into_iter().filter(|(to, _)| *to == self.rank));
        received.sort_by_key(|(from, _)| *from);
        received
    }

    fn swap(&self, outgoing: Parcel<'_>, incoming: ParcelMut<'_>, meanwhile: &mut dyn FnMut()) {
        assert_eq!(outgoing.bytes.len(), outgoing.route.len() * outgoing.width, "bytes to send");
        assert_eq!(incoming.bytes.len(), incoming.route.len() * incoming.width, "bytes to receive");
        let count = outgoing.route.peers.len() + incoming.route.peers.len();
        if count == 0 {
            return meanwhile();
        }
        // SAFETY: every message lies within its buffer, because bounds increase up to its length.
        // Neither buffer is accessed until all requests are complete, because `meanwhile` has no
        // access to them.
        unsafe {
            let mut few = [ffi::RSMPI_REQUEST_NULL; FEW];
            let mut many = Vec::new();
            let requests = if count <= FEW {
                &mut few[..count]
            } else {
                many.resize(count, ffi::RSMPI_REQUEST_NULL);
                &mut many[..]
            };
            let mut next = 0;
            let (kind, each) = datatype(incoming.width);
            let bytes = incoming.bytes.as_mut_ptr();
            for (&peer, bounds) in incoming.route.peers.iter().zip(incoming.route.bounds.windows(2)) {
                let (at, count) = (bytes.add(bounds[0] * incoming.width), (bounds[1] - bounds[0]) * each);
                let request = &mut requests[next];
                ffi::MPI_Irecv(at.cast(), count as c_int, kind, peer as c_int, SWAP, self.handle, request);
                next += 1;
            }
            let (kind, each) = datatype(outgoing.width);
            let bytes = outgoing.bytes.as_ptr();
            for (&peer, bounds) in outgoing.route.peers.iter().zip(outgoing.route.bounds.windows(2)) {
                let (at, count) = (bytes.add(bounds[0] * outgoing.width), (bounds[1] - bounds[0]) * each);
                let request = &mut requests[next];
                ffi::MPI_Isend(at.cast(), count as c_int, kind, peer as c_int, SWAP, self.handle, request);
                next += 1;
            }
            meanwhile();
            ffi::MPI_Waitall(count as c_int, requests.as_mut_ptr(), ffi::RSMPI_STATUSES_IGNORE);
        }
    }

    fn broadcast(&self, root: usize, words: &mut Vec<u64>) {
        let mut count = words.len() as u64;
        // SAFETY: first the length, and then as many numbers.
        unsafe {
            let at: *mut u64 = &mut count;
            ffi::MPI_Bcast(at.cast(), 1, ffi::RSMPI_UINT64_T, root as c_int, self.handle);
            words.resize(count as usize, 0);
            let at = words.as_mut_ptr().cast();
            ffi::MPI_Bcast(at, count as c_int, ffi::RSMPI_UINT64_T, root as c_int, self.handle);
        }
    }

    fn gather(&self, words: &[u64]) -> Vec<Vec<u64>> {
        let received = self.deliver(vec![(0, words.to_vec())]);
        received.into_iter().map(|(_, words)| words).collect()
    }

    fn subset(&self, member: bool) -> Option<Arc<dyn Comm>> {
        let mut handle = MaybeUninit::uninit();
        // SAFETY: all ranks of this communicator make this call. MPI writes the handle, which is
        // null on ranks that are not members.
        let handle = unsafe {
            let colour = if member { 0 } else { ffi::RSMPI_UNDEFINED };
            ffi::MPI_Comm_split(self.handle, colour, self.rank as c_int, handle.as_mut_ptr());
            handle.assume_init()
        };
        member.then(|| Arc::new(Mpi::own(handle)) as Arc<dyn Comm>)
    }
}

//! A communicator of MPI, through the crate `mpi`.
//!
//! MPI's handles are used as they are (`mpi::ffi`): a handle that a caller lends comes as such, requests of a swap are kept on the stack
//! so that a cycle allocates nothing, and unexpected messages need probes. What is lent is duplicated, so that our messages
//! and the caller's never meet, and only the duplicate is freed.
//!
//! **Unexpected messages** ([`Comm::deliver`]) by nonblocking consensus (Hoefler, Siebert & Lumsdaine, *Scalable communication protocols
//! for dynamic sparse data exchange*, 2010): synchronous sends, and once these have arrived a nonblocking barrier; when that is through, nothing is under way.
//! No rank hears of ranks that it has nothing to do with.
//!
//! **Threads.** One thread at a time calls, so MPI has to be initialised for `MPI_THREAD_FUNNELED` if that is always the one that
//! initialised it, else for `MPI_THREAD_SERIALIZED`.

#![allow(unsafe_code)]

use std::mem::MaybeUninit;
use std::os::raw::{c_int, c_void};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use mpi::ffi;
use thiserror::Error;

use super::{Comm, Parcel, ParcelMut};

/// Messages between neighbours.
const SWAP: c_int = 1;

/// Unexpected messages. Rounds alternate between this tag and the next: a fast rank may be one round ahead of a slow one.
const DELIVERY: c_int = 2;

/// So many requests are kept on the stack.
const FEW: usize = 64;

/// Why there is no communicator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum MpiError {
    /// Nobody has called `MPI_Init`.
    #[error("MPI is not initialised; call MPI_Init first, or start a Session")]
    NotInitialised,
    /// `MPI_Init` was called already, or `MPI_Finalize`.
    #[error("MPI was initialised by somebody else; use Mpi::world() or the communicator that they have")]
    AlreadyInitialised,
}

/// MPI, initialised for a program of one's own and finalised when this is dropped. A library that is called by an MPI program does
/// not need it: see [`Mpi::from_c`].
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
    /// If it is initialised already.
    pub fn start() -> Result<Self, MpiError> {
        let universe = mpi::initialize_with_threading(mpi::Threading::Funneled);
        universe
            .map(|(universe, _)| Session { _universe: Universe(universe) })
            .ok_or(MpiError::AlreadyInitialised)
    }

    /// Ends all ranks at once, for a program that cannot go on.
    pub fn abort(&self, code: i32) -> ! {
        // SAFETY: MPI is initialised while a session lives.
        unsafe { ffi::MPI_Abort(ffi::RSMPI_COMM_WORLD, code) };
        std::process::exit(code)
    }
}

/// A communicator of MPI: a duplicate of one that exists.
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
    /// Rounds of unexpected messages.
    rounds: AtomicU32,
}

// SAFETY: a handle is a plain value, and MPI's calls may come from any thread that does not overlap with another call
// (MPI_THREAD_SERIALIZED); by the contract of `Comm` calls come from one thread at a time.
unsafe impl Send for Mpi {}
// SAFETY: as above; a shared reference is used by other threads for `rank` and `size` only.
unsafe impl Sync for Mpi {}

impl Mpi {
    /// All ranks that were started together.
    ///
    /// # Errors
    /// If MPI is not initialised.
    pub fn world() -> Result<Self, MpiError> {
        check_initialised()?;
        // SAFETY: MPI is initialised, so the world is there.
        unsafe { Self::from_c(ffi::RSMPI_COMM_WORLD) }
    }

    /// The ranks of a communicator in C. It is borrowed for this call only.
    ///
    /// # Safety
    /// The handle is a valid intracommunicator, all of whose ranks make this call.
    ///
    /// # Errors
    /// If MPI is not initialised.
    pub unsafe fn from_c(borrowed: ffi::MPI_Comm) -> Result<Self, MpiError> {
        check_initialised()?;
        let mut handle = MaybeUninit::uninit();
        // SAFETY: a valid communicator, by the caller's word; MPI writes the duplicate.
        let handle = unsafe {
            ffi::MPI_Comm_dup(borrowed, handle.as_mut_ptr());
            handle.assume_init()
        };
        Ok(Self::own(handle))
    }

    /// The ranks of a communicator in Fortran.
    ///
    /// # Safety
    /// As [`Mpi::from_c`].
    ///
    /// # Errors
    /// If MPI is not initialised.
    pub unsafe fn from_fortran(borrowed: ffi::RSMPI_Fint) -> Result<Self, MpiError> {
        check_initialised()?;
        // SAFETY: a valid communicator, by the caller's word.
        unsafe { Self::from_c(ffi::RSMPI_Comm_f2c(borrowed)) }
    }

    /// Takes a communicator that this library has made.
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
        // SAFETY: both buffers have `count` elements of the datatype. What MPI has written is copied back bit by bit: numbers.
        unsafe {
            let (from, to) = (numbers.as_ptr().cast(), result.as_mut_ptr().cast());
            ffi::MPI_Allreduce(from, to, count as c_int, datatype, operation, self.handle);
            std::ptr::copy_nonoverlapping(result.as_ptr().cast::<T>(), numbers.as_mut_ptr(), count);
        }
    }
}

fn check_initialised() -> Result<(), MpiError> {
    let (mut initialised, mut finalised) = (0, 0);
    // SAFETY: these two may be called at any time.
    unsafe {
        ffi::MPI_Initialized(&mut initialised);
        ffi::MPI_Finalized(&mut finalised);
    }
    if initialised != 0 && finalised == 0 { Ok(()) } else { Err(MpiError::NotInitialised) }
}

impl Drop for Mpi {
    fn drop(&mut self) {
        // After MPI_Finalize there is nothing left to free.
        if check_initialised().is_ok() {
            // SAFETY: the communicator is this value's own.
            unsafe { ffi::MPI_Comm_free(&mut self.handle) };
        }
    }
}

/// The datatype of elements of so many bytes, and how many make up an element.
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
        // MPI does not say what the maximum of NaN is. As integers NaN is the largest of the non-negative ones.
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
        // A cycle asks for one, and must not allocate.
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
        // SAFETY: one number in, one out; rank 0 gets none and keeps its zero.
        unsafe {
            let (from, to): (*const u64, *mut u64) = (&count, &mut sum);
            ffi::MPI_Exscan(from.cast(), to.cast(), 1, ffi::RSMPI_UINT64_T, ffi::RSMPI_SUM, self.handle);
        }
        if self.rank == 0 { 0 } else { sum }
    }

    fn deliver(&self, messages: Vec<(usize, Vec<u64>)>) -> Vec<(usize, Vec<u64>)> {
        let tag = DELIVERY + (self.rounds.fetch_add(1, Relaxed) % 2) as c_int;
        let mut received = Vec::new();
        // SAFETY: buffers of pending sends live in `messages` until all sends are complete; what is received fits the count that the probe
        // has told. Requests are waited for before this function returns.
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
                // Where ranks share a core, the one that is waited for should have it.
                std::thread::yield_now();
            }
        }
        received.extend(messages.into_iter().filter(|(to, _)| *to == self.rank));
        received.sort_by_key(|(from, _)| *from);
        received
    }

    fn swap(&self, outgoing: Parcel<'_>, incoming: ParcelMut<'_>, meanwhile: &mut dyn FnMut()) {
        assert_eq!(outgoing.bytes.len(), outgoing.route.len() * outgoing.width, "bytes of what is sent");
        assert_eq!(incoming.bytes.len(), incoming.route.len() * incoming.width, "bytes of what is received");
        let count = outgoing.route.peers.len() + incoming.route.peers.len();
        if count == 0 {
            return meanwhile();
        }
        // SAFETY: every message lies within its buffer, since bounds increase up to its length; neither buffer is touched until all
        // requests are complete, since `meanwhile` has no access to them.
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
        // SAFETY: one number, and then as many as it says.
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
        // SAFETY: all ranks of this communicator call; MPI writes the handle, which is null for those that are no members.
        let handle = unsafe {
            let colour = if member { 0 } else { ffi::RSMPI_UNDEFINED };
            ffi::MPI_Comm_split(self.handle, colour, self.rank as c_int, handle.as_mut_ptr());
            handle.assume_init()
        };
        member.then(|| Arc::new(Mpi::own(handle)) as Arc<dyn Comm>)
    }
}

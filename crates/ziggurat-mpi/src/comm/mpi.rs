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
//! **Failures.** [`Comm::failure`] has a communicator of its own, the *control* communicator. So a
//! rank that failed, and the ranks that continue, never meet in the same reduction with different
//! data. A rank that failed waits there for a limited time ([`Mpi::with_patience`]). After that it
//! aborts the job, because some rank is waiting for one of its messages.
//!
//! **Errors of MPI** end all ranks: the duplicates have the error handler `MPI_ERRORS_ARE_FATAL`,
//! whatever handler the caller's communicator has. So return codes need no checks.
//!
//! **Counts.** MPI counts elements with 31 bits. Reductions and broadcasts of more elements are
//! divided into pieces. A longer message between two ranks ends the job with an explanation.
//!
//! **Threads.** One thread at a time makes calls. MPI must be initialised for `MPI_THREAD_FUNNELED`
//! if that is always the thread that initialised it, otherwise for `MPI_THREAD_SERIALIZED`.

#![allow(unsafe_code)]

use std::io::Write;
use std::mem::MaybeUninit;
use std::os::raw::c_int;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::time::{Duration, Instant};

use mpi::ffi;

use super::pending::Pending;
use super::session::{MpiError, check_initialised};
use super::{Comm, Parcel, ParcelMut};

/// The tag of messages between neighbours.
const SWAP: c_int = 1;

/// The tag of unexpected messages. Rounds alternate between this tag and the next one, because a
/// fast rank may be one round ahead of a slow one.
const DELIVERY: c_int = 2;

/// Up to this many requests are kept on the stack.
const FEW: usize = 64;

/// The largest number of elements in one call of MPI.
const MOST: usize = c_int::MAX as usize;

/// How long a rank that failed waits for the others.
const PATIENCE: Duration = Duration::from_secs(30);

/// The number of elements as MPI counts them, if it can.
fn count(elements: usize) -> Option<c_int> {
    c_int::try_from(elements).ok()
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
    /// A duplicate for failures.
    control: ffi::MPI_Comm,
    rank: usize,
    size: usize,
    /// The number of rounds of unexpected messages.
    rounds: AtomicU32,
    /// Whether the last call found a failure.
    failed: AtomicBool,
    patience: Duration,
    last_words: fn(&str),
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
        // SAFETY: the caller guarantees a valid communicator or the null communicator.
        unsafe {
            if borrowed == ffi::RSMPI_COMM_NULL {
                return Err(MpiError::NullCommunicator);
            }
            let mut inter = 0;
            let code = ffi::MPI_Comm_test_inter(borrowed, &mut inter);
            if code != ffi::MPI_SUCCESS as c_int || inter != 0 {
                return Err(MpiError::NotIntra);
            }
            let handle = duplicate(borrowed).ok_or(MpiError::NotDuplicated)?;
            let control = duplicate(handle).ok_or(MpiError::NotDuplicated)?;
            Ok(Self::own(handle, control))
        }
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

    /// Takes ownership of two communicators that this library created.
    fn own(handle: ffi::MPI_Comm, control: ffi::MPI_Comm) -> Self {
        let (mut rank, mut size) = (0, 0);
        // SAFETY: valid communicators; MPI writes two numbers.
        unsafe {
            for handle in [handle, control] {
                ffi::MPI_Comm_set_errhandler(handle, ffi::RSMPI_ERRORS_ARE_FATAL);
            }
            ffi::MPI_Comm_rank(handle, &mut rank);
            ffi::MPI_Comm_size(handle, &mut size);
        }
        Mpi {
            handle,
            control,
            rank: rank as usize,
            size: size as usize,
            rounds: AtomicU32::new(0),
            failed: AtomicBool::new(false),
            patience: PATIENCE,
            last_words: to_standard_error,
        }
    }

    /// Takes ownership of a part of this communicator that MPI has created. All ranks of the part
    /// make this call.
    fn part(&self, handle: ffi::MPI_Comm) -> Arc<dyn Comm> {
        // SAFETY: a valid communicator, by the contract above.
        let control = unsafe { duplicate(handle) };
        let control = control.unwrap_or_else(|| self.end(&MpiError::NotDuplicated.to_string()));
        let Mpi { patience, last_words, .. } = *self;
        Arc::new(Self::own(handle, control).with_patience(patience).with_last_words(last_words))
    }

    /// Sets how long a rank that failed waits until the others know of its failure; 30 seconds if
    /// it is not set. After that time it aborts the job.
    #[must_use]
    pub fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Sets where the reason for an abort is written; to standard error if it is not set. The
    /// process ends when the function returns.
    #[must_use]
    pub fn with_last_words(mut self, last_words: fn(&str)) -> Self {
        self.last_words = last_words;
        self
    }

    /// Ends the processes of all ranks.
    fn end(&self, message: &str) -> ! {
        let (rank, size) = (self.rank, self.size);
        (self.last_words)(&format!("rank {rank} of {size} failed, and all ranks are aborted: {message}"));
        // SAFETY: a valid communicator.
        unsafe { ffi::MPI_Abort(self.handle, 1) };
        std::process::exit(1)
    }

    /// The number of elements of a message to or from another rank, as MPI counts them.
    fn length(&self, elements: usize, peer: usize) -> c_int {
        count(elements).unwrap_or_else(|| {
            self.end(&format!(
                "a message of {elements} elements between ranks {} and {peer} is longer than MPI can count \
                 ({MOST}); use more ranks",
                self.rank
            ))
        })
    }

    /// Receives a message that a probe has announced.
    ///
    /// # Safety
    /// `status` describes a message with this tag that has not been received.
    unsafe fn receive(&self, status: &ffi::MPI_Status, tag: c_int) -> Vec<u64> {
        let mut count = 0;
        // SAFETY: the buffer has the length of the message.
        unsafe {
            ffi::MPI_Get_count(status, ffi::RSMPI_UINT64_T, &mut count);
            let mut words = vec![0u64; usize::try_from(count).unwrap_or(0)];
            let (buffer, kind, ignore) =
                (words.as_mut_ptr().cast(), ffi::RSMPI_UINT64_T, ffi::RSMPI_STATUS_IGNORE);
            ffi::MPI_Recv(buffer, words.len() as c_int, kind, status.MPI_SOURCE, tag, self.handle, ignore);
            words
        }
    }

    /// Marks a call other than [`Comm::failure`].
    fn called(&self) {
        self.failed.store(false, Relaxed);
    }

    /// Reduces numbers of a type over all ranks.
    fn reduce<T>(&self, numbers: &mut [T], datatype: ffi::MPI_Datatype, operation: ffi::MPI_Op) {
        self.called();
        let mut result: Vec<MaybeUninit<T>> = Vec::new();
        let mut few = [const { MaybeUninit::uninit() }; FEW];
        // At least one piece: a reduction of nothing is still a call of all ranks.
        let pieces = numbers.len().div_ceil(MOST).max(1);
        for piece in 0..pieces {
            let end = numbers.len().min((piece + 1) * MOST);
            let numbers = &mut numbers[piece * MOST..end];
            let count = numbers.len();
            let result = if count <= FEW {
                &mut few[..count]
            } else {
                result.resize_with(count, MaybeUninit::uninit);
                &mut result[..count]
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

    /// Broadcasts words over one of the communicators.
    fn broadcast_over(&self, handle: ffi::MPI_Comm, root: usize, words: &mut Vec<u64>) {
        let mut count = words.len() as u64;
        // SAFETY: first the length, and then as many numbers.
        unsafe {
            let at: *mut u64 = &mut count;
            ffi::MPI_Bcast(at.cast(), 1, ffi::RSMPI_UINT64_T, root as c_int, handle);
            words.resize(count as usize, 0);
            for piece in words.chunks_mut(MOST) {
                let (at, count) = (piece.as_mut_ptr().cast(), piece.len() as c_int);
                ffi::MPI_Bcast(at, count, ffi::RSMPI_UINT64_T, root as c_int, handle);
            }
        }
    }
}

/// A duplicate of a communicator; `None` if MPI reports an error.
///
/// # Safety
/// The communicator is valid, and all of its ranks make this call.
unsafe fn duplicate(handle: ffi::MPI_Comm) -> Option<ffi::MPI_Comm> {
    let mut copy = MaybeUninit::uninit();
    // SAFETY: guaranteed by the caller; MPI writes the duplicate if it succeeds.
    unsafe {
        let code = ffi::MPI_Comm_dup(handle, copy.as_mut_ptr());
        (code == ffi::MPI_SUCCESS as c_int).then(|| copy.assume_init())
    }
}

/// Writes the reason for an abort. The process is about to end, so that no caller can.
fn to_standard_error(message: &str) {
    // If standard error is closed, only the exit code remains.
    let _ = writeln!(std::io::stderr(), "ziggurat: {message}");
}

impl Drop for Mpi {
    fn drop(&mut self) {
        // After MPI_Finalize there is nothing to free.
        if check_initialised().is_ok() {
            // SAFETY: this value owns both communicators.
            unsafe {
                ffi::MPI_Comm_free(&mut self.control);
                ffi::MPI_Comm_free(&mut self.handle);
            }
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
        self.called();
        let mut sum = 0u64;
        // SAFETY: one number in, one out; on rank 0 the result stays zero.
        unsafe {
            let (from, to): (*const u64, *mut u64) = (&count, &mut sum);
            ffi::MPI_Exscan(from.cast(), to.cast(), 1, ffi::RSMPI_UINT64_T, ffi::RSMPI_SUM, self.handle);
        }
        if self.rank == 0 { 0 } else { sum }
    }

    fn deliver(&self, messages: Vec<(usize, Vec<u64>)>) -> Vec<(usize, Vec<u64>)> {
        self.called();
        let tag = DELIVERY + (self.rounds.fetch_add(1, Relaxed) % 2) as c_int;
        let mut received = Vec::new();
        let mut requests = vec![Pending::none(); messages.len()];
        // Declared after `messages`, whose buffers the sends read, and so dropped before it.
        let mut sends = Pending::new(&mut requests);
        // SAFETY: the buffers of pending sends are in `messages` until all sends are complete.
        // Receive buffers have the length that the probe reported.
        unsafe {
            let others = messages.iter().filter(|(to, _)| *to != self.rank);
            for ((to, words), request) in others.zip(sends.requests()) {
                let (buffer, count) = (words.as_ptr().cast(), self.length(words.len(), *to));
                let to = *to as c_int;
                ffi::MPI_Issend(buffer, count, ffi::RSMPI_UINT64_T, to, tag, self.handle, request);
            }
            let mut barrier = None;
            loop {
                let (mut waiting, mut status) = (0, MaybeUninit::<ffi::MPI_Status>::uninit());
                ffi::MPI_Iprobe(ffi::RSMPI_ANY_SOURCE, tag, self.handle, &mut waiting, status.as_mut_ptr());
                if waiting != 0 {
                    let status = status.assume_init();
                    received.push((status.MPI_SOURCE as usize, self.receive(&status, tag)));
                    continue;
                }
                match &mut barrier {
                    Some(barrier) => {
                        let mut done = 0;
                        ffi::MPI_Test(barrier, &mut done, ffi::RSMPI_STATUS_IGNORE);
                        if done != 0 {
                            break;
                        }
                    }
                    None => {
                        if sends.are_complete() {
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
        drop(sends);
        received.extend(messages.into_iter().filter(|(to, _)| *to == self.rank));
        received.sort_by_key(|(from, _)| *from);
        received
    }

    fn swap(&self, outgoing: Parcel<'_>, incoming: ParcelMut<'_>, meanwhile: &mut dyn FnMut()) {
        self.called();
        assert_eq!(outgoing.bytes.len(), outgoing.route.len() * outgoing.width, "bytes to send");
        assert_eq!(incoming.bytes.len(), incoming.route.len() * incoming.width, "bytes to receive");
        let count = outgoing.route.peers.len() + incoming.route.peers.len();
        if count == 0 {
            return meanwhile();
        }
        let mut few = [Pending::none(); FEW];
        let mut many = Vec::new();
        let requests = if count <= FEW {
            &mut few[..count]
        } else {
            many.resize(count, Pending::none());
            &mut many[..]
        };
        // Waits for all messages when it is dropped, even if `meanwhile` panics, so that MPI does
        // not write to buffers that no longer exist.
        let mut pending = Pending::new(requests);
        let (receives, sends) = pending.requests().split_at_mut(incoming.route.peers.len());
        // SAFETY: every message lies within its buffer, because bounds increase up to its length.
        // Neither buffer is accessed until all requests are complete, because `meanwhile` has no
        // access to them.
        unsafe {
            let (kind, each) = datatype(incoming.width);
            let bytes = incoming.bytes.as_mut_ptr();
            let bounds = incoming.route.bounds.windows(2);
            for ((&peer, bounds), request) in incoming.route.peers.iter().zip(bounds).zip(receives) {
                let at = bytes.add(bounds[0] * incoming.width).cast();
                let count = self.length((bounds[1] - bounds[0]) * each, peer);
                ffi::MPI_Irecv(at, count, kind, peer as c_int, SWAP, self.handle, request);
            }
            let (kind, each) = datatype(outgoing.width);
            let bytes = outgoing.bytes.as_ptr();
            let bounds = outgoing.route.bounds.windows(2);
            for ((&peer, bounds), request) in outgoing.route.peers.iter().zip(bounds).zip(sends) {
                let at = bytes.add(bounds[0] * outgoing.width).cast();
                let count = self.length((bounds[1] - bounds[0]) * each, peer);
                ffi::MPI_Isend(at, count, kind, peer as c_int, SWAP, self.handle, request);
            }
        }
        meanwhile();
        drop(pending);
    }

    fn broadcast(&self, root: usize, words: &mut Vec<u64>) {
        self.called();
        self.broadcast_over(self.handle, root, words);
    }

    fn gather(&self, words: &[u64]) -> Vec<Vec<u64>> {
        let received = self.deliver(vec![(0, words.to_vec())]);
        received.into_iter().map(|(_, words)| words).collect()
    }

    fn subset(&self, member: bool) -> Option<Arc<dyn Comm>> {
        self.called();
        // SAFETY: all ranks of this communicator make this call. MPI writes the handle, which is
        // null on ranks that are not members.
        let handle = unsafe {
            let mut handle = MaybeUninit::uninit();
            let colour = if member { 0 } else { ffi::RSMPI_UNDEFINED };
            ffi::MPI_Comm_split(self.handle, colour, self.rank as c_int, handle.as_mut_ptr());
            handle.assume_init()
        };
        member.then(|| self.part(handle))
    }

    fn machine(&self) -> Arc<dyn Comm> {
        self.called();
        // SAFETY: all ranks of this communicator make this call, and MPI writes the handle.
        let handle = unsafe {
            let mut handle = MaybeUninit::uninit();
            let (kind, key, info) = (ffi::RSMPI_COMM_TYPE_SHARED, self.rank as c_int, ffi::RSMPI_INFO_NULL);
            ffi::MPI_Comm_split_type(self.handle, kind, key, info, handle.as_mut_ptr());
            handle.assume_init()
        };
        self.part(handle)
    }

    fn failure(&self, own: Option<&str>) -> Option<(usize, String)> {
        let (mine, mut lowest) = (own.map_or(self.size, |_| self.rank) as u64, self.size as u64);
        let mut request = [Pending::none()];
        let mut pending = Pending::new(&mut request);
        // SAFETY: one number in and one out, which are not accessed until the request is complete.
        // If it never completes, the process ends.
        unsafe {
            let (from, to): (*const u64, *mut u64) = (&mine, &mut lowest);
            let (kind, operation) = (ffi::RSMPI_UINT64_T, ffi::RSMPI_MIN);
            let request = &mut pending.requests()[0];
            ffi::MPI_Iallreduce(from.cast(), to.cast(), 1, kind, operation, self.control, request);
        }
        if let Some(message) = own {
            let start = Instant::now();
            while !pending.are_complete() {
                if start.elapsed() > self.patience {
                    self.end(message);
                }
                std::thread::sleep(Duration::from_micros(100));
            }
        }
        drop(pending);
        let lowest = lowest as usize;
        self.failed.store(lowest < self.size, Relaxed);
        if lowest == self.size {
            return None;
        }
        let mut words: Vec<u64> = own.unwrap_or_default().bytes().map(u64::from).collect();
        self.broadcast_over(self.control, lowest, &mut words);
        let bytes: Vec<u8> = words.iter().map(|&word| word as u8).collect();
        Some((lowest, String::from_utf8_lossy(&bytes).into_owned()))
    }

    fn has_failed(&self) -> bool {
        self.failed.load(Relaxed)
    }

    fn abort(&self, message: &str) {
        if self.size > 1 {
            self.end(message);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_beyond_31_bits_are_not_truncated() {
        assert_eq!(count(MOST), Some(c_int::MAX));
        assert_eq!(count(MOST + 1), None);
        assert_eq!(count(1 << 32), None);
    }
}

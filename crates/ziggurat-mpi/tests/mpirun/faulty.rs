//! Faults on demand: a communicator that panics, and memory that runs out.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering::Relaxed};

use ziggurat_mpi::comm::{Parcel, ParcelMut};
use ziggurat_mpi::{Comm, Mpi};

/// A communicator that panics in one of its calls.
#[derive(Debug)]
pub(crate) struct Faulty {
    pub(crate) comm: Arc<dyn Comm>,
    /// Calls until the panic, on this communicator and those made from it; never if negative.
    pub(crate) left: Arc<AtomicI64>,
    /// Whether the panic is inside an exchange, while messages are in transit.
    pub(crate) in_transit: bool,
}

impl Faulty {
    /// Panics in call `number` of the world, on `rank` only.
    pub(crate) fn new(world: Mpi, rank: usize, number: i64, in_transit: bool) -> Self {
        let left = if world.rank() == rank { number } else { -1 };
        Faulty { comm: Arc::new(world), left: Arc::new(AtomicI64::new(left)), in_transit }
    }

    /// Whether this call fails.
    fn fails(&self) -> bool {
        self.left.fetch_sub(1, Relaxed) == 0
    }

    fn call(&self) -> &dyn Comm {
        assert!(self.in_transit || !self.fails(), "a fault on demand");
        &*self.comm
    }
}

impl Comm for Faulty {
    fn rank(&self) -> usize {
        self.comm.rank()
    }

    fn size(&self) -> usize {
        self.comm.size()
    }

    fn sum(&self, numbers: &mut [u64]) {
        self.call().sum(numbers);
    }

    fn sum_reals(&self, numbers: &mut [f64]) {
        self.call().sum_reals(numbers);
    }

    fn largest(&self, numbers: &mut [f64]) {
        self.call().largest(numbers);
    }

    fn before(&self, count: u64) -> u64 {
        self.call().before(count)
    }

    fn deliver(&self, messages: Vec<(usize, Vec<u64>)>) -> Vec<(usize, Vec<u64>)> {
        self.call().deliver(messages)
    }

    fn swap(&self, outgoing: Parcel<'_>, incoming: ParcelMut<'_>, meanwhile: &mut dyn FnMut()) {
        let fails = self.in_transit && self.fails();
        self.call().swap(outgoing, incoming, &mut || {
            assert!(!fails, "a fault in transit");
            meanwhile();
        });
    }

    fn broadcast(&self, root: usize, words: &mut Vec<u64>) {
        self.call().broadcast(root, words);
    }

    fn gather(&self, words: &[u64]) -> Vec<Vec<u64>> {
        self.call().gather(words)
    }

    fn subset(&self, member: bool) -> Option<Arc<dyn Comm>> {
        let comm = self.call().subset(member)?;
        Some(Arc::new(Faulty { comm, left: self.left.clone(), in_transit: self.in_transit }))
    }

    fn machine(&self) -> Arc<dyn Comm> {
        let comm = self.call().machine();
        Arc::new(Faulty { comm, left: self.left.clone(), in_transit: self.in_transit })
    }

    fn failure(&self, own: Option<&str>) -> Option<(usize, String)> {
        self.call().failure(own)
    }

    fn has_failed(&self) -> bool {
        self.comm.has_failed()
    }

    fn abort(&self, message: &str) {
        self.comm.abort(message);
    }
}

/// Allocations of at least this many bytes are counted and fail, unless other sizes are given.
const LARGE: usize = 2000;

/// The smallest and the largest allocation that is counted and fails.
static SIZES: [AtomicUsize; 2] = [AtomicUsize::new(LARGE), AtomicUsize::new(usize::MAX)];

/// Counted allocations that succeed before one fails.
static LEFT: AtomicUsize = AtomicUsize::new(usize::MAX);

/// The system's memory, in which one large allocation fails.
pub(crate) struct Memory;

impl Memory {
    /// The large allocation after `number` others fails.
    pub(crate) fn fail_after(number: usize) {
        LEFT.store(number, Relaxed);
    }

    /// The allocation of `sizes` bytes after `number` others fails.
    pub(crate) fn fail_after_sizes(number: usize, sizes: std::ops::RangeInclusive<usize>) {
        SIZES[0].store(*sizes.start(), Relaxed);
        SIZES[1].store(*sizes.end(), Relaxed);
        Memory::fail_after(number);
    }

    /// Counted allocations since [`fail_after`](Self::fail_after), which was given `number`; zero
    /// if one has failed.
    pub(crate) fn counted(number: usize) -> usize {
        number.saturating_sub(LEFT.swap(usize::MAX, Relaxed))
    }

    fn fails(size: usize) -> bool {
        let [smallest, largest] = [0, 1].map(|k: usize| SIZES[k].load(Relaxed));
        if !(smallest..=largest).contains(&size) || LEFT.load(Relaxed) == usize::MAX {
            return false;
        }
        LEFT.fetch_update(Relaxed, Relaxed, |left| Some(left.checked_sub(1).unwrap_or(usize::MAX)))
            .is_ok_and(|left| left == 0)
    }
}

// SAFETY: forwards to the system's allocator, or returns null, which means that there is no memory.
unsafe impl GlobalAlloc for Memory {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if Memory::fails(layout.size()) {
            return std::ptr::null_mut();
        }
        // SAFETY: guaranteed by the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: guaranteed by the caller.
        unsafe { System.dealloc(at, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if Memory::fails(layout.size()) {
            return std::ptr::null_mut();
        }
        // SAFETY: guaranteed by the caller.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if Memory::fails(size) {
            return std::ptr::null_mut();
        }
        // SAFETY: guaranteed by the caller.
        unsafe { System.realloc(at, layout, size) }
    }
}

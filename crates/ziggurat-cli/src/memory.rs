//! The allocator, and what the command says when memory runs out.
//!
//! A library that can go on without an allocation tries it and gets an error. Any other failed
//! allocation ends a Rust program by SIGABRT, after a line of the standard library that names the
//! bytes. The allocator here keeps the size of the largest allocation that failed, and a handler of
//! that signal adds an error in two lines, with the stage of setup or solve, and ends the command
//! with exit code 1. A process that cannot even be started for lack of memory says nothing.
//!
//! Cost: a comparison with zero per allocation.

// The allocator and the signal handler are interfaces of the system.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout};
use std::io::{self, Write};
use std::sync::atomic::{AtomicUsize, Ordering};

use mimalloc::MiMalloc;
use signal_hook::consts::SIGABRT;
use signal_hook::low_level;
use ziggurat_sparse::trace::last_stage;

/// Uses huge pages and reuses freed memory: the first access to a new page is expensive, and setup
/// frees much of what it allocates.
#[global_allocator]
static ALLOCATOR: Noting = Noting;

/// Bytes of the largest allocation that failed; 0 if none has. Others fail while the standard
/// library prints where the first one did.
static REFUSED: AtomicUsize = AtomicUsize::new(0);

/// [`MiMalloc`], which notes failures.
struct Noting;

// SAFETY: all calls are passed on to an allocator with their arguments, and its results are
// returned.
unsafe impl GlobalAlloc for Noting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's word, here and below.
        noted(unsafe { MiMalloc.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: see above.
        noted(unsafe { MiMalloc.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: see above.
        noted(unsafe { MiMalloc.realloc(at, layout, size) }, size)
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: see above.
        unsafe { MiMalloc.dealloc(at, layout) }
    }
}

fn noted(allocated: *mut u8, size: usize) -> *mut u8 {
    if allocated.is_null() {
        REFUSED.fetch_max(size, Ordering::Relaxed);
    }
    allocated
}

/// Lets the command end with an error when memory runs out, from now on.
pub(crate) fn explain_shortage() {
    // SAFETY: without a failed allocation, the handler reads an atomic. After one, the process
    // raises the signal itself, where it holds no lock that the handler takes: the message is put
    // together on the stack, `last_stage` does not wait, and the lock of standard error belongs to
    // this thread or is free soon.
    let registered = unsafe { low_level::register(SIGABRT, end_if_short) };
    // Without the handler, the standard library's line remains.
    let _ = registered;
}

/// Ends the process if an allocation has failed.
fn end_if_short() {
    if print_shortage() {
        low_level::exit(1);
    }
}

/// Whether a panic is a failed allocation that a dependency unwraps. If so, prints the error.
pub(crate) fn is_cause_of(panic: &str) -> bool {
    panic.contains("AllocError") && print_shortage()
}

/// Prints the error if an allocation has failed. Returns whether one has.
fn print_shortage() -> bool {
    let refused = REFUSED.load(Ordering::Relaxed);
    if refused > 0 {
        let mut text = [0; 400];
        let length = sentence(&mut text, refused, last_stage());
        let _ = io::stderr().write_all(&text[..length]);
    }
    refused > 0
}

/// Writes the error into `text`, without memory of its own. Returns its length.
fn sentence(text: &mut [u8], refused: usize, stage: Option<(&str, Option<usize>)>) -> usize {
    let mut out = io::Cursor::new(text);
    // The text is long enough.
    let _ = write!(out, "error: out of memory: {refused} bytes could not be allocated");
    let _ = match stage {
        Some((stage, Some(level))) => write!(out, " in the stage `{stage}` of level {level}"),
        Some((stage, None)) => write!(out, " in the stage `{stage}`"),
        None => Ok(()),
    };
    let _ = out.write_all(HINT);
    out.position() as usize
}

const HINT: &[u8] =
    b"\nhint: `ziggurat estimate` says how much a solve takes; try --preset low-memory, several ranks, \
    or a machine with more memory\n";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stage_is_named_if_there_is_one() {
        let say = |stage| {
            let mut text = [0; 400];
            let length = sentence(&mut text, 6_048_000, stage);
            let text = str::from_utf8(&text[..length]).unwrap();
            text.strip_suffix(str::from_utf8(HINT).unwrap()).unwrap().to_owned()
        };
        let begin = "error: out of memory: 6048000 bytes could not be allocated";
        assert_eq!(say(None), begin);
        assert_eq!(say(Some(("solve", None))), format!("{begin} in the stage `solve`"));
        let long = "a stage with a name that is longer than any other";
        assert_eq!(say(Some((long, Some(12)))), format!("{begin} in the stage `{long}` of level 12"));
    }
}

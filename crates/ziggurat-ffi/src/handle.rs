//! A solver as C sees it: a state that one call at a time uses, and the sentence of the last
//! failure.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, PoisonError, TryLockError};

use crate::status::{Failure, Status};

/// A state and the sentence of the last failure.
///
/// ```
/// use ziggurat_ffi::{Failure, Handle, Status};
/// let handle = Handle::new(7);
/// let call = |new| Handle::call(Some(&handle), |state| {
///     if new < 0 {
///         return Err(Failure::argument(format!("{new} is negative")));
///     }
///     *state = new;
///     Ok(Status::Ok)
/// }, |_| ());
/// assert_eq!((call(9), call(-1)), (0, 1));
/// ```
#[derive(Debug, Default)]
pub struct Handle<S> {
    state: Mutex<S>,
    /// The sentence of the last failure.
    error: Mutex<CString>,
}

/// Frees what a function of C has made, and sets the caller's variable to null. Does nothing if
/// either pointer is null.
///
/// ```
/// let mut made = Box::into_raw(Box::new(7));
/// // SAFETY: made by `Box::into_raw`.
/// unsafe { ziggurat_ffi::destroy(&mut made) };
/// assert!(made.is_null());
/// ```
///
/// # Safety
/// `variable` is null or a variable, which holds null or what `Box::into_raw` returned and nobody
/// uses any more.
pub unsafe fn destroy<T>(variable: *mut *mut T) {
    // SAFETY: null or the caller's variable.
    if let Some(made) = unsafe { variable.as_mut() }
        && !made.is_null()
    {
        // SAFETY: made by `Box::into_raw`, and freed once: the caller's variable becomes null.
        drop(unsafe { Box::from_raw(*made) });
        *made = std::ptr::null_mut();
    }
}

thread_local! {
    /// The text that this thread has asked for last.
    static SHOWN: RefCell<CString> = RefCell::default();
}

impl<S> Handle<S> {
    /// A handle with this state.
    pub fn new(state: S) -> Self {
        Handle { state: Mutex::new(state), error: Mutex::default() }
    }

    /// Calls `work` with the state of a handle, which is `None` for a null pointer. Keeps the
    /// sentence of a failure in the handle. After a panic, the state may be inconsistent, and
    /// `repair` is called.
    pub fn call(
        handle: Option<&Self>,
        work: impl FnOnce(&mut S) -> Result<Status, Failure>,
        repair: impl FnOnce(&mut S),
    ) -> c_int {
        let Some(handle) = handle else { return Status::Argument.into() };
        let run = |state: &mut S| {
            catch_unwind(AssertUnwindSafe(|| work(state))).unwrap_or_else(|payload| {
                repair(state);
                Err(Failure::panic(&*payload))
            })
        };
        let result = match handle.state.try_lock() {
            Ok(mut state) => run(&mut state),
            Err(TryLockError::Poisoned(poisoned)) => run(&mut poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => {
                Err(Failure::new(Status::Busy, "the solver is in use by another call; use one per thread"))
            }
        };
        match result {
            Ok(status) => status.into(),
            Err(Failure { status, text }) => {
                let text = CString::new(text.replace('\0', "")).unwrap_or_default();
                *handle.error.lock().unwrap_or_else(PoisonError::into_inner) = text;
                status.into()
            }
        }
    }

    /// The sentence of the last failure, or `without` for a null pointer. It is valid until this
    /// thread asks again.
    pub fn error(handle: Option<&Self>, without: &CStr) -> *const c_char {
        let text = match handle {
            Some(handle) => handle.error.lock().unwrap_or_else(PoisonError::into_inner).clone(),
            None => without.to_owned(),
        };
        let shown = SHOWN.try_with(|shown| {
            *shown.borrow_mut() = text;
            shown.borrow().as_ptr()
        });
        // A thread that is ending has no place for the text any more.
        shown.unwrap_or(CStr::as_ptr(c"no text: the thread is ending"))
    }
}

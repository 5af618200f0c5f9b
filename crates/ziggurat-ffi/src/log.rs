//! Log events for the caller's function.

use std::ffi::{CString, c_char, c_int, c_void};
use std::fmt::{self, Write as _};

use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::{Dispatch, Event, Level, Metadata, Subscriber};

/// A function that receives log events: level (1 for a warning, 2 for information, 3 for details),
/// text, and the caller's context.
pub type LogFunction = unsafe extern "C" fn(c_int, *const c_char, *mut c_void);

/// The caller's function and what it is called with.
#[derive(Clone, Copy, Debug)]
pub struct Log {
    /// The function.
    pub function: LogFunction,
    /// Its last argument.
    pub context: *mut c_void,
}

// SAFETY: the headers ask for a function and a context that other threads may use. Only one thread
// uses them at a time: the one that runs the call.
unsafe impl Send for Log {}
// SAFETY: as above.
unsafe impl Sync for Log {}

/// Runs `work`, during which events of this thread go to the caller's function.
pub fn logged<R>(log: Option<Log>, work: impl FnOnce() -> R) -> R {
    match log {
        Some(log) => tracing::subscriber::with_default(log, work),
        None => tracing::dispatcher::with_default(&Dispatch::none(), work),
    }
}

impl Subscriber for Log {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().split("::").next() == Some("ziggurat") && *metadata.level() <= Level::DEBUG
    }

    // Spans are at level TRACE, and cost nothing then.
    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(LevelFilter::DEBUG)
    }

    fn event(&self, event: &Event<'_>) {
        let mut text = Text(String::new());
        event.record(&mut text);
        let Ok(text) = CString::new(text.0.replace('\0', "")) else { return };
        let level = match *event.metadata().level() {
            Level::ERROR | Level::WARN => 1,
            Level::INFO => 2,
            _ => 3,
        };
        // SAFETY: a function of the caller, with the context that belongs to it.
        unsafe { (self.function)(level, text.as_ptr(), self.context) };
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1) // spans are not shown
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// The message of an event.
struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            // Writing to a string does not fail.
            let _ = write!(self.0, "{value:?}");
        }
    }
}

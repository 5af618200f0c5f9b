//! Progress: a bar or spinner on standard error for stages that take longer than a second.
//!
//! Nothing is shown if standard error is not a terminal. The bar of a stage is removed when the
//! stage ends, so only results remain on the screen.

use std::io::{self, IsTerminal};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::terminal::printable;

/// Time before a stage is shown.
const PATIENCE: Duration = Duration::from_secs(1);

/// Shows the progress of stages on a terminal.
#[derive(Debug)]
pub(crate) struct Progress {
    seen: bool,
}

impl Progress {
    /// Shows progress on a terminal if `wanted`.
    pub(crate) fn new(wanted: bool) -> Self {
        Progress { seen: wanted && io::stderr().is_terminal() }
    }

    /// A stage of unknown length.
    pub(crate) fn stage(&self, what: &str) -> Stage {
        self.start(ProgressBar::new_spinner(), "{spinner} {msg} ({elapsed})", what)
    }

    /// A stage that processes this number of bytes.
    pub(crate) fn bytes(&self, what: &str, bytes: u64) -> Stage {
        self.start(ProgressBar::new(bytes), "{msg} {wide_bar} {bytes} of {total_bytes} ({eta} left)", what)
    }

    fn start(&self, bar: ProgressBar, template: &str, what: &str) -> Stage {
        bar.set_draw_target(ProgressDrawTarget::hidden());
        bar.set_message(printable(what).into_owned());
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        let mut stage = Stage { bar, timer: None };
        if self.seen {
            let (over, wait) = mpsc::channel();
            let bar = stage.bar.clone();
            let show = move || {
                if wait.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
                    bar.set_draw_target(ProgressDrawTarget::stderr());
                    bar.enable_steady_tick(Duration::from_millis(100));
                }
            };
            // If no thread can be started, there is no bar.
            stage.timer = thread::Builder::new().spawn(show).ok().map(|thread| (over, thread));
        }
        stage
    }
}

/// A stage, which ends when it is dropped.
#[derive(Debug)]
pub(crate) struct Stage {
    bar: ProgressBar,
    timer: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Stage {
    /// Changes the message.
    pub(crate) fn tell(&self, how_far: String) {
        self.bar.set_message(how_far);
    }

    /// Wraps a reader so that its bytes advance the bar.
    pub(crate) fn counting<R: io::Read>(&self, reader: R) -> impl io::Read + use<R> {
        self.bar.wrap_read(reader)
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if let Some((over, thread)) = self.timer.take() {
            drop(over);
            let _ = thread.join(); // only draws, so a panic is harmless
        }
        self.bar.finish_and_clear();
    }
}

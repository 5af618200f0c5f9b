//! What is going on: a bar or a spinner on standard error, for whatever takes longer than a second.
//!
//! Nothing appears if standard error is not a terminal. A stage that ends within the second leaves no trace at all; a
//! longer one is wiped when it ends, so that only results stay on the screen.

use std::io::{self, IsTerminal};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// How long a stage may take before it is shown.
const PATIENCE: Duration = Duration::from_secs(1);

/// Shows stages, if there is somebody to see them.
#[derive(Debug)]
pub(crate) struct Progress {
    seen: bool,
}

impl Progress {
    pub(crate) fn new() -> Self {
        Progress { seen: io::stderr().is_terminal() }
    }

    /// A stage whose length nobody knows.
    pub(crate) fn stage(&self, what: &str) -> Stage {
        self.start(ProgressBar::new_spinner(), "{spinner} {msg} ({elapsed})", what)
    }

    /// A stage of so many bytes.
    pub(crate) fn bytes(&self, what: &str, bytes: u64) -> Stage {
        self.start(ProgressBar::new(bytes), "{msg} {wide_bar} {bytes} of {total_bytes} ({eta} left)", what)
    }

    fn start(&self, bar: ProgressBar, template: &str, what: &str) -> Stage {
        bar.set_draw_target(ProgressDrawTarget::hidden());
        bar.set_message(what.to_owned());
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
            // Without a thread to spare there is no bar, and no harm.
            stage.timer = thread::Builder::new().spawn(show).ok().map(|thread| (over, thread));
        }
        stage
    }
}

/// Something that is going on until it is dropped.
#[derive(Debug)]
pub(crate) struct Stage {
    bar: ProgressBar,
    timer: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Stage {
    /// How far it is.
    pub(crate) fn tell(&self, how_far: String) {
        self.bar.set_message(how_far);
    }

    /// The reader, with its bytes counted.
    pub(crate) fn counting<R: io::Read>(&self, reader: R) -> impl io::Read + use<R> {
        self.bar.wrap_read(reader)
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if let Some((over, thread)) = self.timer.take() {
            drop(over);
            let _ = thread.join(); // it only draws
        }
        self.bar.finish_and_clear();
    }
}

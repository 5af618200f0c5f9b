//! `--verbose`: the log events of the libraries as lines on standard error.
//!
//! The libraries log through `tracing`, which forwards its events to `log` if no subscriber is
//! installed. Dependencies log there too; their events are not shown.

use std::io::{self, Write};
use std::sync::LazyLock;
use std::time::Instant;

use log::{Level, LevelFilter, Log, Metadata, Record};

use crate::terminal::printable;

/// Writes an event as a line: the seconds since the start, the part of the program, and the text.
#[derive(Debug)]
struct LogLines {
    start: Instant,
}

impl Log for LogLines {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().split("::").next() == Some("ziggurat")
    }

    fn log(&self, record: &Record<'_>) {
        if !self.enabled(record.metadata()) {
            return;
        }
        let seconds = self.start.elapsed().as_secs_f64();
        let part = record.target().rsplit("::").next().unwrap_or_default();
        let warning = if record.level() <= Level::Warn { "warning: " } else { "" };
        let text = record.args().to_string();
        let line = format!("[{seconds:8.3} s] {part}: {warning}{}\n", printable(&text));
        // If standard error is closed, nobody reads the log.
        let _ = io::stderr().write_all(line.as_bytes());
    }

    fn flush(&self) {}
}

/// Shows log events from now on.
pub(crate) fn show() {
    static LINES: LazyLock<LogLines> = LazyLock::new(|| LogLines { start: Instant::now() });
    if log::set_logger(&*LINES).is_ok() {
        log::set_max_level(LevelFilter::Debug);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_events_of_this_project_are_shown() {
        let lines = LogLines { start: Instant::now() };
        let is_shown =
            |target| lines.enabled(&Metadata::builder().level(Level::Debug).target(target).build());
        assert!(is_shown("ziggurat::setup") && is_shown("ziggurat"));
        assert!(!is_shown("wgpu_core::device") && !is_shown("zigguratish::setup"));
    }
}

//! `--trace FILE`: the spans of setup and solve ([`ziggurat_sparse::trace`]) as a timeline in the
//! Chrome trace event format, which Perfetto and `chrome://tracing` open.
//!
//! A span becomes one complete event (`"ph": "X"`) when it ends. Its fields become arguments, and a
//! field `stage` its name. The file is complete JSON after every write, because each one overwrites
//! the closing brackets of the one before: a process that is killed leaves a file that can be
//! opened. So does a full disk, on which the last write is undone.
//!
//! The file has about 150 bytes per span. A V-cycle has four spans per level, and an iteration
//! three more. When the file has 256 MiB, further spans are left out and counted.

use std::collections::HashMap;
use std::fmt::{self, Write as _};
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};
use ziggurat_sparse::io::OutputFile;
use ziggurat_sparse::trace::TARGET;

use crate::failure::Failure;

/// The size from which spans are left out. Viewers load larger files slowly or not at all.
const MOST_BYTES: u64 = 256 << 20;

/// Events are written when there are this many bytes of them, or after this time.
const WRITE_AFTER: (usize, Duration) = (64 << 10, Duration::from_secs(1));

/// A timeline that is being written. Dropping it completes the file.
#[derive(Debug)]
pub(crate) struct Trace {
    path: PathBuf,
    file: Shared,
}

type Shared = Arc<Mutex<TraceFile>>;

impl Trace {
    /// Creates the file and writes spans to it from now on.
    pub(crate) fn start(path: &Path) -> Result<Self, Failure> {
        let file = OutputFile::create(path).and_then(|file| TraceFile::new(file, MOST_BYTES));
        let file = Arc::new(Mutex::new(file.map_err(|error| Failure::writing(path, &error))?));
        let timeline = Timeline { start: Instant::now(), file: file.clone() };
        tracing::subscriber::set_global_default(timeline).map_err(|error| {
            Failure::new(format!("cannot write a trace: {error}"), "please report this bug")
        })?;
        Ok(Trace { path: path.to_owned(), file })
    }

    /// Completes the file.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        let mut file = lock(&self.file);
        file.write();
        match file.error.take() {
            Some(error) => Err(Failure::writing(&self.path, &error)),
            None => Ok(()),
        }
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        lock(&self.file).write(); // after an error of the solve, which is the one to report
    }
}

fn lock(file: &Shared) -> MutexGuard<'_, TraceFile> {
    file.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Passes spans on to the file.
#[derive(Debug)]
struct Timeline {
    start: Instant,
    file: Shared,
}

impl Subscriber for Timeline {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_span() && metadata.target() == TARGET
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(LevelFilter::TRACE)
    }

    fn new_span(&self, attributes: &Attributes<'_>) -> Id {
        let mut span = Span { name: None, arguments: String::new(), start: Duration::ZERO };
        attributes.record(&mut span);
        span.name.get_or_insert_with(|| quoted(attributes.metadata().name()));
        Id::from_u64(lock(&self.file).open(span))
    }

    fn record(&self, id: &Id, values: &Record<'_>) {
        if let Some(span) = lock(&self.file).spans.get_mut(&id.into_u64()) {
            values.record(span);
        }
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {}

    fn enter(&self, id: &Id) {
        if let Some(span) = lock(&self.file).spans.get_mut(&id.into_u64()) {
            span.start = self.start.elapsed();
        }
    }

    fn exit(&self, id: &Id) {
        let end = self.start.elapsed();
        lock(&self.file).add(id.into_u64(), end);
    }

    fn try_close(&self, id: Id) -> bool {
        lock(&self.file).spans.remove(&id.into_u64()).is_some()
    }
}

/// A span that has not ended, with its name and its arguments as JSON.
#[derive(Debug)]
struct Span {
    name: Option<String>,
    arguments: String,
    /// Since the start of the timeline.
    start: Duration,
}

impl Span {
    fn argument(&mut self, field: &Field, value: fmt::Arguments<'_>) {
        let comma = if self.arguments.is_empty() { "" } else { "," };
        // Writing to a string does not fail.
        let _ = write!(self.arguments, "{comma}{}:{value}", quoted(field.name()));
    }
}

impl Visit for Span {
    fn record_f64(&mut self, field: &Field, value: f64) {
        if value.is_finite() {
            self.argument(field, format_args!("{value:.4e}"));
        }
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.argument(field, format_args!("{value}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        match field.name() {
            "stage" => self.name = Some(quoted(value)),
            _ => self.argument(field, format_args!("{}", quoted(value))),
        }
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.argument(field, format_args!("{}", quoted(&format!("{value:?}"))));
    }
}

/// A text as JSON.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The file, which is complete JSON after every write.
#[derive(Debug)]
struct TraceFile {
    file: File,
    /// Bytes in the file, without the closing brackets.
    bytes: u64,
    most_bytes: u64,
    /// Events that are not yet written.
    pending: String,
    /// The closing brackets behind them.
    closing: String,
    written: Instant,
    spans: HashMap<u64, Span>,
    last_id: u64,
    left_out: u64,
    threads: HashMap<ThreadId, usize>,
    /// The first error; nothing is written after it.
    error: Option<io::Error>,
}

impl TraceFile {
    /// The file takes its place when it has its first event.
    fn new(mut file: OutputFile, most_bytes: u64) -> io::Result<Self> {
        // With this first event, all others begin with a comma.
        let process = r#"{"ph":"M","name":"process_name","pid":1,"args":{"name":"ziggurat solve"}}"#;
        let (begin, closing) = (format!("{{\"traceEvents\":[\n{process}"), closing(0));
        file.write_all(format!("{begin}{closing}").as_bytes())?;
        Ok(TraceFile {
            file: file.finish()?,
            bytes: begin.len() as u64,
            most_bytes,
            pending: String::new(),
            closing,
            written: Instant::now(),
            spans: HashMap::new(),
            last_id: 0,
            left_out: 0,
            threads: HashMap::new(),
            error: None,
        })
    }

    /// Keeps a span until it ends, if there is space for it. Returns its number.
    fn open(&mut self, span: Span) -> u64 {
        self.last_id += 1;
        if self.bytes + self.pending.len() as u64 <= self.most_bytes {
            self.spans.insert(self.last_id, span);
        } else {
            self.left_out += 1;
        }
        self.last_id
    }

    /// Adds the event of a span that ends.
    fn add(&mut self, id: u64, end: Duration) {
        let Some(Span { name, arguments, start }) = self.spans.get(&id) else { return };
        let next = self.threads.len() + 1;
        let thread = *self.threads.entry(thread::current().id()).or_insert(next);
        let microseconds = |time: Duration| time.as_nanos() as f64 * 1e-3;
        // Writing to a string does not fail.
        let _ = write!(
            self.pending,
            ",\n{{\"ph\":\"X\",\"cat\":\"ziggurat\",\"name\":{},\"pid\":1,\"tid\":{thread},\
             \"ts\":{:.3},\"dur\":{:.3},\"args\":{{{arguments}}}}}",
            name.as_deref().unwrap_or("\"\""),
            microseconds(*start),
            microseconds(end.saturating_sub(*start)),
        );
        if self.pending.len() >= WRITE_AFTER.0 || self.written.elapsed() >= WRITE_AFTER.1 {
            self.write();
        }
    }

    /// Writes what is pending, and the closing brackets. If that fails, the file is what it was.
    fn write(&mut self) {
        if self.error.is_some() {
            return self.pending.clear();
        }
        let (events, closing) = (self.pending.len() as u64, closing(self.left_out));
        self.pending += &closing;
        match overwrite(&mut self.file, self.bytes, &self.pending) {
            Ok(()) => (self.bytes, self.closing) = (self.bytes + events, closing),
            Err(error) => {
                self.error = Some(error);
                // There is space for them, because they were there.
                let closed = overwrite(&mut self.file, self.bytes, &self.closing);
                let _ = closed.and_then(|()| self.file.set_len(self.bytes + self.closing.len() as u64));
            }
        }
        self.pending.clear();
        self.written = Instant::now();
    }
}

/// The end of a complete file.
fn closing(left_out: u64) -> String {
    format!("\n],\"displayTimeUnit\":\"ms\",\"otherData\":{{\"spans_left_out\":{left_out}}}}}\n")
}

fn overwrite(file: &mut File, from: u64, text: &str) -> io::Result<()> {
    file.seek(SeekFrom::Start(from))?;
    file.write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use tracing::field::Empty;
    use tracing::trace_span;

    /// Runs `work` with a timeline of at most `most_bytes`; returns the file and what is in it.
    fn traced(test: &str, most_bytes: u64, work: impl FnOnce(&Path)) -> serde_json::Value {
        let path = std::env::temp_dir().join(format!("ziggurat-{}-{test}.json", std::process::id()));
        let file = TraceFile::new(OutputFile::create(&path).unwrap(), most_bytes).unwrap();
        let file = Arc::new(Mutex::new(file));
        let timeline = Timeline { start: Instant::now(), file: file.clone() };
        tracing::subscriber::with_default(timeline, || work(&path));
        lock(&file).write();
        let read = read(&path);
        fs::remove_file(path).unwrap();
        read
    }

    fn read(path: &Path) -> serde_json::Value {
        serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
    }

    #[test]
    fn spans_become_events_with_numbers_as_arguments() {
        let trace = traced("events", MOST_BYTES, |_| {
            let outer = trace_span!(target: TARGET, "stage", stage = "a \"b\"", level = 3_usize).entered();
            let inner = trace_span!(target: TARGET, "inner", bytes = 7_u64, gb_per_s = Empty).entered();
            inner.record("gb_per_s", 12.5);
            drop(inner);
            drop(outer);
            drop(trace_span!(target: "other", "not shown").entered());
            tracing::error!(target: TARGET, "not a span");
        });
        let events = trace["traceEvents"].as_array().unwrap();
        let names: Vec<_> = events.iter().map(|event| event["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["process_name", "inner", "a \"b\""]);
        assert_eq!(events[1]["args"], serde_json::json!({ "bytes": 7, "gb_per_s": 12.5 }));
        assert_eq!(events[2]["args"], serde_json::json!({ "level": 3 }));
        assert_eq!((&events[1]["tid"], &events[2]["tid"]), (&1.into(), &1.into()));
    }

    #[test]
    fn the_file_is_complete_after_every_write_and_does_not_grow_without_limit() {
        let trace = traced("limit", 1000, |path| {
            assert_eq!(read(path)["traceEvents"].as_array().unwrap().len(), 1);
            let all = trace_span!(target: TARGET, "all").entered();
            for _ in 0..2000 {
                drop(trace_span!(target: TARGET, "one").entered());
            }
            drop(all);
        });
        let events = trace["traceEvents"].as_array().unwrap();
        // A span that had begun before the limit is there.
        assert_eq!(events.last().unwrap()["name"], "all");
        let left_out = trace["otherData"]["spans_left_out"].as_u64().unwrap();
        assert!(left_out > 1900 && events.len() as u64 + left_out == 2002, "{left_out}");
    }
}

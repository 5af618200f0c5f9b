//! The stages of a level's setup. Each is timed, and its errors name the level and the stage.

use std::time::Instant;

use tracing::span::EnteredSpan;
use ziggurat_sparse::trace;

use crate::halo::Processes;
use crate::{Cancel, SetupError};

/// The completed stages of one level's setup.
#[derive(Debug)]
pub struct Stages {
    level: usize,
    /// Rows on all processes.
    rows: u64,
    cancel: Cancel,
    done: Vec<(&'static str, f64)>,
}

/// A stage that has begun.
#[derive(Debug)]
pub struct Stage {
    name: &'static str,
    start: Instant,
    /// Ends when it is dropped.
    span: Option<EnteredSpan>,
}

impl Stages {
    /// No stages yet on level `level`; 0 is the finest.
    pub(crate) fn new(level: usize, rows: u64, cancel: &Cancel) -> Self {
        Stages { level, rows, cancel: cancel.clone(), done: Vec::new() }
    }

    /// The level; 0 is the finest.
    pub fn level(&self) -> usize {
        self.level
    }

    /// Runs a stage on the local rows of `halo`. If it fails on one process, it fails on all. An
    /// error names the level, the stage, and rows by their global ids. It does not begin if setup
    /// [has to stop](Self::check).
    pub fn run<H: Processes, T, E: Into<SetupError>>(
        &mut self,
        stage: &'static str,
        halo: &H,
        work: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, SetupError> {
        self.check(stage, halo)?;
        let begun = self.begin(stage);
        let named = |error: E| {
            let error = error.into().with_rows(|row| halo.global_id(row));
            SetupError::at(self.level, stage)(error)
        };
        let result = halo.agree(work().map_err(named));
        self.end(begun);
        result
    }

    /// Asks whether setup has to stop before this stage. If one process has to, all have.
    ///
    /// # Errors
    /// If it has to.
    pub fn check<H: Processes>(&self, stage: &'static str, halo: &H) -> Result<(), SetupError> {
        if self.cancel.is_never() {
            return Ok(());
        }
        halo.agree(self.cancel.check().map_err(SetupError::at(self.level, stage)))
    }

    /// Begins a stage.
    pub fn begin(&self, stage: &'static str) -> Stage {
        let span = trace::stage(stage, Some(self.level), self.rows);
        Stage { name: stage, start: Instant::now(), span }
    }

    /// Ends a stage and records its time. Times of the same stage are added up.
    pub fn end(&mut self, stage: Stage) {
        let Stage { name, start, span } = stage;
        let seconds = start.elapsed().as_secs_f64();
        drop(span);
        match self.done.last_mut() {
            Some(last) if last.0 == name => last.1 += seconds,
            _ => self.done.push((name, seconds)),
        }
    }

    /// The stages in order, with the seconds of each.
    pub(crate) fn into_seconds(self) -> Vec<(&'static str, f64)> {
        self.done
    }
}

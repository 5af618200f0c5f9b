//! The stages of a level's setup. Each is timed, and its errors name the level and the stage.

use std::time::Instant;

use crate::SetupError;
use crate::halo::Processes;

/// The completed stages of one level's setup.
#[derive(Debug)]
pub struct Stages {
    level: usize,
    done: Vec<(&'static str, f64)>,
}

impl Stages {
    /// No stages yet on level `level`; 0 is the finest.
    pub(crate) fn new(level: usize) -> Self {
        Stages { level, done: Vec::new() }
    }

    /// The level; 0 is the finest.
    pub fn level(&self) -> usize {
        self.level
    }

    /// Runs a stage on the local rows of `halo`. If it fails on one process, it fails on all. An
    /// error names the level, the stage, and rows by their global ids.
    pub fn run<H: Processes, T, E: Into<SetupError>>(
        &mut self,
        stage: &'static str,
        halo: &H,
        work: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, SetupError> {
        let start = Instant::now();
        let named = |error: E| {
            let error = error.into().with_rows(|row| halo.global_id(row));
            SetupError::at(self.level, stage)(error)
        };
        let result = halo.agree(work().map_err(named));
        self.add(stage, start);
        result
    }

    /// Records a stage that began at `start` and ends now. Times of the same stage are added up.
    pub fn add(&mut self, stage: &'static str, start: Instant) {
        let seconds = start.elapsed().as_secs_f64();
        match self.done.last_mut() {
            Some(last) if last.0 == stage => last.1 += seconds,
            _ => self.done.push((stage, seconds)),
        }
    }

    /// The stages in order, with the seconds of each.
    pub(crate) fn into_seconds(self) -> Vec<(&'static str, f64)> {
        self.done
    }
}

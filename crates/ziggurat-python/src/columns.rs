//! Solves for several right-hand sides, which share the hierarchy.
//!
//! They are solved one after another, each with all threads, or at the same time, each with one
//! thread. The latter saves the synchronisation of threads in every operation. It is used if there
//! are enough right-hand sides for all threads, or if the matrix is so small that threads hardly
//! help. Results are the same in both ways, because they do not depend on the number of threads.
//! Three kinds of solves are always sequential: with a callback, which sees one iteration after
//! another; with levels whose precision may be raised, because that affects later solves; and with
//! the transpose, whose levels the first one makes with all threads.
//!
//! A solve may also change to a stronger smoother or to factors, with which later ones start.
//! Solves at the same time do not know which of them is later. So those keep their change for
//! themselves, and from the first one on that has changed, all are solved again, one after another.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use rayon::ThreadPool;
use ziggurat::krylov::Observer;
use ziggurat::{Solution, SolveError, SolveOptions, Solver};
use ziggurat_report as report;

use crate::lock::Held;
use crate::outcome::Outcome;
use crate::threads::{Monitor, unless_stopped};

/// Matrices with fewer rows are solved with one thread per right-hand side.
const SMALL: usize = 20_000;

/// A time limit that no solve reaches, in seconds.
const FOREVER: f64 = 1e12;

/// The concatenated solutions, and an outcome for each.
type Solutions = (Vec<f64>, Vec<Outcome>);

/// The solutions for all right-hand sides.
pub(crate) type Solved = Result<Solutions, SolveError>;

/// Right-hand sides and guesses as concatenated columns, with what solves them.
pub(crate) struct Columns<'a> {
    pub(crate) solver: &'a Solver,
    pub(crate) setup_seconds: f64,
    pub(crate) options: &'a SolveOptions,
    /// Whether the systems have the transposed matrix.
    pub(crate) transposed: bool,
    pub(crate) b: &'a [f64],
    pub(crate) guess: Option<&'a [f64]>,
}

impl Columns<'_> {
    fn rows(&self) -> usize {
        self.solver.hierarchy().levels()[0].rows()
    }

    /// The number of right-hand sides. A matrix without rows has one, which is empty.
    pub(crate) fn count(&self) -> usize {
        self.b.len().checked_div(self.rows()).unwrap_or(1)
    }

    /// The number of right-hand sides to solve at the same time, given this many threads.
    pub(crate) fn at_a_time(&self, threads: usize) -> usize {
        let worthwhile = self.count() >= threads || self.rows() < SMALL;
        if worthwhile { threads.min(self.count()) } else { 1 }
    }

    /// Solves for one right-hand side.
    fn solve(
        &self,
        index: usize,
        options: &SolveOptions,
        observer: &mut Observer<'_>,
    ) -> Result<(Vec<f64>, Outcome), SolveError> {
        let rows = self.rows();
        let column = index * rows..(index + 1) * rows;
        let (b, guess) = (&self.b[column.clone()], self.guess.map(|guess| &guess[column]));
        let start = Instant::now();
        let solved = match self.transposed {
            false => self.solver.solve_with(b, guess, options, Some(observer)),
            true => self.solver.solve_transposed_with(b, guess, options, Some(observer)),
        };
        let Solution { x, report, promotion, traffic } = solved?;
        let timing = (self.setup_seconds, start.elapsed().as_secs_f64());
        let b_norm = report.b_norm;
        let solution = Solution { x: Vec::new(), report, promotion, traffic };
        let mut outcome = report::Outcome::of(self.solver, &solution, timing).with_options(self.options);
        // The peak of the process is the peak of the whole Python program.
        outcome.peak_bytes = None;
        Ok((x, Outcome { b_norm, outcome: Arc::new(outcome) }))
    }

    /// Solves one after another, until the monitor stops.
    pub(crate) fn in_turn<T>(&self, monitor: &Monitor<'_, T>) -> Solved {
        self.rest_in_turn((Vec::with_capacity(self.b.len()), Vec::with_capacity(self.count())), monitor)
    }

    /// Solves for those that come after the solved ones.
    fn rest_in_turn<T>(&self, solved: Solutions, monitor: &Monitor<'_, T>) -> Solved {
        let (mut all, mut outcomes) = solved;
        for index in outcomes.len()..self.count() {
            if monitor.is_stopped() {
                break;
            }
            let (x, outcome) = self.solve(index, self.options, &mut |progress| monitor.observe(progress))?;
            all.extend_from_slice(&x);
            outcomes.push(outcome);
        }
        Ok((all, outcomes))
    }

    /// The options with which a solve keeps a stronger preconditioner for itself: they differ from
    /// the configuration in a limit that has no effect.
    fn options_alone(&self) -> SolveOptions {
        let mut options = self.options.clone();
        options.stopping.max_seconds = Some(options.stopping.max_seconds.map_or(FOREVER, f64::next_up));
        options
    }

    /// Solves with one right-hand side per pool at a time, until the monitor stops. Pools have one
    /// thread each. The error comes from the first right-hand side that has one.
    pub(crate) fn at_once<T>(&self, pools: &[ThreadPool], monitor: &Monitor<'_, T>, held: &Held) -> Solved {
        let (next, solved) = (AtomicUsize::new(0), Mutex::new(Vec::with_capacity(self.count())));
        let (stop, options) = (monitor.stop_flag(), self.options_alone());
        let keeps_changes = *self.options == SolveOptions::from(self.solver.config());
        // The first right-hand side whose solve changes something for those after it.
        let changing = AtomicUsize::new(self.count());
        let work = || {
            while !stop.load(Ordering::Relaxed) {
                let index = next.fetch_add(1, Ordering::Relaxed);
                if index >= changing.load(Ordering::Relaxed) {
                    break;
                }
                let mut observe = |_: &_| match index > changing.load(Ordering::Relaxed) {
                    true => ControlFlow::Break(()),
                    false => unless_stopped(stop),
                };
                let result = self.solve(index, &options, &mut observe);
                if keeps_changes
                    && result.as_ref().is_ok_and(|(_, outcome)| outcome.outcome.promotion.is_some())
                {
                    changing.fetch_min(index, Ordering::Relaxed);
                }
                solved.lock().unwrap_or_else(PoisonError::into_inner).push((index, result));
            }
        };
        std::thread::scope(|scope| {
            for pool in pools {
                scope.spawn(|| pool.install(|| held.clone().during(work)));
            }
        });
        let mut solved = solved.into_inner().unwrap_or_else(PoisonError::into_inner);
        solved.sort_by_key(|(index, _)| *index);
        let (mut all, mut outcomes) = (Vec::with_capacity(self.b.len()), Vec::with_capacity(self.count()));
        for (_, result) in
            solved.into_iter().take_while(|(index, _)| *index < changing.load(Ordering::Relaxed))
        {
            let (x, outcome) = result?;
            all.extend_from_slice(&x);
            outcomes.push(outcome);
        }
        self.rest_in_turn((all, outcomes), monitor)
    }
}

//! Timing on a noisy machine.
//!
//! On shared machines, times measured at different moments cannot be compared. So contestants
//! alternate within one run, round after round, and a slow moment affects all of them. The best
//! time is what the machine can do, because noise only adds time; the median is the typical time.

use std::hint::black_box;
use std::time::{Duration, Instant};

use serde::Serialize;

/// Work that is timed against other contestants.
pub(crate) struct Contestant<'a> {
    name: String,
    measure: Box<dyn FnMut() -> Duration + 'a>,
}

/// The times of a contestant.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Timing {
    /// The name of the contestant.
    pub(crate) name: String,
    /// Its best round, in seconds.
    pub(crate) best: f64,
    /// Its median round, in seconds.
    pub(crate) median: f64,
}

impl<'a> Contestant<'a> {
    /// Work to be timed. Its result is hidden from the optimiser and dropped after the clock has
    /// stopped.
    pub(crate) fn new<R>(name: impl Into<String>, mut work: impl FnMut() -> R + 'a) -> Self {
        let measure = move || {
            let start = Instant::now();
            let result = black_box(work());
            let time = start.elapsed();
            drop(result);
            time
        };
        Contestant { name: name.into(), measure: Box::new(measure) }
    }
}

impl Timing {
    /// The rate of the best round for work that moves `bytes`, in 10⁹ bytes per second.
    pub(crate) fn gb_per_s(&self, bytes: usize) -> f64 {
        bytes as f64 * 1e-9 / self.best
    }
}

/// Runs the contestants alternately: one round to warm up pages, caches and threads, then `rounds`
/// timed ones. Returns the timings in the order of the contestants.
pub(crate) fn alternate(mut contestants: Vec<Contestant<'_>>, rounds: usize) -> Vec<Timing> {
    debug_assert!(rounds > 0);
    let mut times = vec![Vec::with_capacity(rounds); contestants.len()];
    for round in 0..=rounds {
        for (contestant, times) in contestants.iter_mut().zip(&mut times) {
            let time = (contestant.measure)().as_secs_f64();
            if round > 0 {
                times.push(time);
            }
        }
    }
    contestants.into_iter().zip(times).map(|(contestant, times)| summarise(contestant.name, times)).collect()
}

fn summarise(name: String, mut times: Vec<f64>) -> Timing {
    times.sort_by(f64::total_cmp);
    let best = times.first().copied().unwrap_or(f64::NAN);
    // For an even number, the slower of the middle two, so that the median is a measured time.
    let median = times.get(times.len() / 2).copied().unwrap_or(f64::NAN);
    Timing { name, best, median }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;
    use std::thread::sleep;

    #[test]
    fn contestants_take_turns() {
        let order = RefCell::new(String::new());
        let player = |name: char| {
            Contestant::new(name, {
                let order = &order;
                move || order.borrow_mut().push(name)
            })
        };
        let timings = alternate(vec![player('a'), player('b')], 3);
        assert_eq!(timings.iter().map(|timing| timing.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(order.into_inner(), "abababab"); // one round to warm up and three that count
    }

    #[test]
    fn best_and_median_are_taken_from_the_rounds() {
        let timing = summarise("x".to_owned(), vec![3.0, 1.0, 9.0, 2.0, 8.0]);
        assert_eq!((timing.best, timing.median), (1.0, 3.0));
        assert_eq!(summarise("x".to_owned(), vec![4.0, 2.0]).median, 4.0);
    }

    #[test]
    fn the_clock_runs_during_the_work_and_not_while_the_result_is_dropped() {
        struct SlowToDrop;
        impl Drop for SlowToDrop {
            fn drop(&mut self) {
                sleep(Duration::from_millis(200));
            }
        }
        let contestants = vec![
            Contestant::new("works", || sleep(Duration::from_millis(20))),
            Contestant::new("drops", || SlowToDrop),
        ];
        let timings = alternate(contestants, 1);
        assert!(timings[0].best >= 0.020, "{timings:?}");
        assert!(timings[1].best < 0.200, "{timings:?}");
    }
}

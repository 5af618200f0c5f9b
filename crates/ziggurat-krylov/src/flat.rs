//! Residuals that no longer fall, although nothing has broken down.
//!
//! ```text
//! m(k) = min ‖r_j‖, j ≤ k          recent factor = (m(n) / m(n − w))^(1/w)
//! ```
//!
//! The smallest residual so far is compared, because most methods let the residual grow between
//! iterations. The average factor since the start says nothing about such an iteration: a fast
//! start hides that nothing has happened since.
//!
//! Only a restarted method is stopped early, because after a restart it does again what it did
//! before. Others may stand for long and converge all the same, CG on a chain of n unknowns for
//! n / 2 iterations; for these it only matters at the limit of iterations, what to call the end.

/// Consecutive restarts, and iterations, within which the residual must fall by [`FLAT_RESTARTS`].
const RESTARTS: u32 = 4;
const ITERATIONS: usize = 100;

/// The factor of the residual over that many restarts that counts as standing still.
const FLAT_RESTARTS: f64 = 0.99;

/// From this number of iterations on, a solve that reaches its limit may have stood still.
const LONG: usize = 200;

/// The factor of the residual over the last half of such a solve that counts as standing still.
const FLAT_HALF: f64 = 0.9;

/// The smallest part of a solve that is recent, and the smallest number of iterations.
const RECENT: usize = 4;
const FEW: usize = 16;

/// The smallest residual of the first `count` iterations and of the initial guess. NaN is skipped.
fn best(initial: f64, history: &[f64], count: usize) -> f64 {
    history[..count].iter().copied().fold(initial, f64::min)
}

/// The factor per iteration by which the smallest residual fell in the last quarter of a solve, in
/// its last sixteen iterations, or in all if these are fewer. `None` without iterations, or if no
/// residual is positive and finite.
pub(crate) fn recent_factor(initial: f64, history: &[f64]) -> Option<f64> {
    let count = history.len();
    let recent = (count / RECENT).max(count.min(FEW));
    let factor = best(initial, history, count) / best(initial, history, count - recent);
    let factor = factor.powf((recent as f64).recip());
    (recent > 0 && factor.is_finite() && factor > 0.0).then_some(factor)
}

/// Whether a solve that has reached its limit of iterations stood still in their second half.
pub(crate) fn stood_still(initial: f64, history: &[f64]) -> bool {
    let count = history.len();
    count >= LONG && best(initial, history, count) > FLAT_HALF * best(initial, history, count / 2)
}

/// The restarts since the true residual last fell.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Restarts {
    /// The number of iterations and the residual then.
    since: usize,
    residual: f64,
    count: u32,
}

impl Restarts {
    pub(crate) fn from(initial: f64) -> Self {
        Restarts { residual: initial, ..Restarts::default() }
    }

    /// A restart after this number of iterations, from this residual: whether the method stands
    /// still.
    pub(crate) fn stand_still(&mut self, iterations: usize, residual: f64) -> bool {
        if residual < FLAT_RESTARTS * self.residual {
            *self = Restarts { since: iterations, residual, count: 0 };
        } else {
            self.count += 1;
        }
        self.count >= RESTARTS && iterations - self.since >= ITERATIONS
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{KrylovReport, LinearProblem, Method, StopReason, Stopping, System, Work, solve};
    use ziggurat_sparse::device::{Cpu, Vector};
    use ziggurat_sparse::operator::MatrixOperator;
    use ziggurat_sparse::{Csr, CsrRef};

    fn diagonal(values: &[f64]) -> Csr<f64> {
        let n = values.len();
        Csr::try_new(n, n, (0..=n).collect(), (0..n as u32).collect(), values.to_vec()).unwrap()
    }

    fn solved(a: CsrRef<'_, f64>, m: CsrRef<'_, f64>, method: Method, limit: usize) -> KrylovReport {
        let device = Cpu::new();
        let operator = |a: CsrRef<'_, f64>| MatrixOperator::new(&device, a.to_owned()).unwrap();
        let (a, m) = (operator(a), operator(m));
        let system = System::new(&a).preconditioner(&m);
        let mut work = Work::new(method, &device, &system).unwrap();
        let (b, mut x) = (Vector::from(vec![1.0; 2]), Vector::from(vec![0.0; 2]));
        let problem = LinearProblem::new(&device, &system, &b);
        let problem = problem.stopping(Stopping::default().max_iterations(limit));
        solve(problem, &mut x, &mut work).unwrap()
    }

    #[test]
    fn restarts_that_keep_promises_of_nothing_are_stagnation() {
        // r·A r is almost zero, so a step gains almost nothing, and so does each after it.
        let (a, identity) = (diagonal(&[1.0, -0.99]), diagonal(&[1.0, 1.0]));
        for method in [Method::Gmres { restart: 1 }, Method::Fgmres { restart: 1 }] {
            let report = solved(a.view(), identity.view(), method, 1000);
            assert_eq!(report.reason, StopReason::Stagnated, "{method:?}");
            assert!(report.iterations < 200, "{method:?}: {}", report.iterations);
            assert!(report.recent_factor().unwrap() > 0.999);
            let full = solved(a.view(), identity.view(), Method::Gmres { restart: 2 }, 1000);
            assert!(full.reason.is_converged());
        }
    }

    #[test]
    fn a_limit_that_ends_a_flat_residual_is_stagnation() {
        // A preconditioner that is a million times too small.
        let (a, tiny) = (diagonal(&[1.0, 1.0]), diagonal(&[1e-6, 1e-6]));
        let ended = |limit| solved(a.view(), tiny.view(), Method::Richardson, limit).reason;
        assert_eq!((ended(300), ended(100)), (StopReason::Stagnated, StopReason::MaxIterations));
    }

    #[test]
    fn the_recent_factor_is_that_of_the_end() {
        // A digit per iteration, then a flat residual.
        let history: Vec<f64> = (1..=200).map(|k| 0.1_f64.powi(k.min(6))).collect();
        assert_eq!(recent_factor(1.0, &history), Some(1.0));
        assert!((recent_factor(1.0, &history[..6]).unwrap() - 0.1).abs() < 1e-12);
        // A residual that grows is not better than before.
        assert_eq!(recent_factor(1.0, &[2.0, 3.0]), Some(1.0));
        assert_eq!(recent_factor(1.0, &[]), None);
        assert_eq!(recent_factor(0.0, &[0.0]), None);
    }

    #[test]
    fn only_long_solves_stand_still() {
        let flat = |length| vec![0.5; length];
        assert!(stood_still(1.0, &flat(200)) && !stood_still(1.0, &flat(199)));
        // A digit per thousand iterations is slow, and goes on.
        let slow: Vec<f64> = (1..=1000).map(|k| 0.1_f64.powf(f64::from(k) / 1000.0)).collect();
        assert!(!stood_still(1.0, &slow));
    }

    #[test]
    fn restarts_stand_still_if_they_gain_next_to_nothing_together() {
        let after = |gain: f64, length: usize| {
            let mut restarts = Restarts::from(1.0);
            (1..=20).find(|&k| restarts.stand_still(k * length, gain.powi(k as i32)))
        };
        assert_eq!(after(1.0, 50), Some(4));
        assert_eq!(after(1.0, 10), Some(10)); // a hundred iterations
        assert_eq!(after(0.999, 50), Some(4));
        assert_eq!(after(0.98, 50), None);
        assert_eq!(after(0.995, 50), None); // one percent in two restarts
    }
}

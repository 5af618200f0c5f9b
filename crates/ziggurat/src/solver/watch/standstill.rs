//! Whether a solve stands still: judged by its recent residuals, since an average since the start
//! is dominated by what happened at the start.
//!
//! Methods that minimise the residual are checked every 64 iterations. With others the residual may
//! stand or grow for long and fall all the same, on bcsstk28 for 256 iterations of 768, so they are
//! checked when the number of iterations has doubled, from 512 on.

use ziggurat_krylov::{Progress, Stopping};

/// The iterations between two checks of a method that minimises the residual.
const EVERY: usize = 64;

/// The iterations of the first interval of other methods.
const FIRST: usize = 256;

/// A solve that converges faster, a digit in 75 iterations, does not stand still.
const SLOWEST: f64 = 0.97;

/// A solve stands still if it needs this many times the iterations done, or more than are allowed.
const MANY: f64 = 8.0;

/// The smallest relative residual so far, now and at the last check.
#[derive(Debug)]
pub(super) struct Recent {
    best: f64,
    best_then: Option<f64>,
    checked: usize,
}

impl Recent {
    pub(super) const BEGINNING: Recent = Recent { best: f64::INFINITY, best_then: None, checked: 0 };

    /// After every iteration: the recent residual factor per iteration, if the solve stands still.
    /// `is_minimal` states that the method minimises the residual.
    pub(super) fn stands_still(
        &mut self,
        progress: &Progress,
        stopping: &Stopping,
        is_minimal: bool,
    ) -> Option<f64> {
        let Progress { iteration, residual, relative_residual, target, .. } = *progress;
        let target = target / residual * relative_residual;
        self.after(iteration, relative_residual, target, stopping.max_iterations, is_minimal)
    }

    /// As [`stands_still`](Self::stands_still), by relative residuals.
    fn after(
        &mut self,
        iteration: usize,
        relative_residual: f64,
        target: f64,
        max_iterations: usize,
        is_minimal: bool,
    ) -> Option<f64> {
        self.best = self.best.min(relative_residual);
        let is_due = match is_minimal {
            true => iteration.is_multiple_of(EVERY),
            false => iteration.is_power_of_two() && iteration >= FIRST,
        };
        if !is_due {
            return None;
        }
        let since = iteration - self.checked;
        let then = self.best_then.replace(self.best);
        self.checked = iteration;
        let factor = (self.best / then?).powf((since as f64).recip());
        let left = if factor < 1.0 { (target / self.best).ln() / factor.ln() } else { f64::INFINITY };
        let allowed = max_iterations.saturating_sub(iteration) as f64;
        (factor > SLOWEST && left > allowed.min(MANY * iteration as f64)).then_some(factor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first iteration at which a solve with these residuals stands still.
    fn stands_still_at(is_minimal: bool, residual: impl Fn(usize) -> f64) -> Option<usize> {
        let mut recent = Recent::BEGINNING;
        (1..=1000)
            .find(|&iteration| recent.after(iteration, residual(iteration), 1e-8, 1000, is_minimal).is_some())
    }

    #[test]
    fn a_flat_residual_is_found_wherever_it_begins() {
        // Six digits in a hundred iterations, then nothing: the average factor is good for long.
        let falls_and_stands = |k: usize| 10_f64.powf(-6.0 * (k as f64 / 100.0).min(1.0));
        assert_eq!(stands_still_at(true, falls_and_stands), Some(192));
        assert_eq!(stands_still_at(false, falls_and_stands), Some(512));
        assert_eq!(stands_still_at(true, |_| 1.0), Some(128));
        assert_eq!(stands_still_at(true, |k| 0.95_f64.powi(k.min(300) as i32)), Some(384));
    }

    #[test]
    fn a_slow_residual_is_not_flat() {
        for digits_per_hundred in [0.9, 2.0, 10.0] {
            let steady = |k: usize| 10_f64.powf(-digits_per_hundred * k as f64 / 100.0);
            assert_eq!(stands_still_at(true, steady), None, "{digits_per_hundred}");
            assert_eq!(stands_still_at(false, steady), None, "{digits_per_hundred}");
        }
        // CG may grow first.
        assert_eq!(
            stands_still_at(false, |k| if k < 240 { 10.0 } else { 0.9_f64.powi(k as i32 - 240) }),
            None
        );
    }
}

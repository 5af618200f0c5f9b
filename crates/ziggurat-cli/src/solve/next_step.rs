//! The next step after a solve: a sentence, and the command that does it.

use std::ffi::{OsStr, OsString};

use ziggurat::Stronger;
use ziggurat::config::{Krylov, Method, SmootherKind};
use ziggurat::krylov::StopReason;
use ziggurat_report::{NextStep, Outcome};
use ziggurat_sparse::Kind;

use crate::arguments::SolveOptions;
use crate::shell;
use crate::system::source_words;
use crate::vectors::column_words;

/// Convergence often slows down: so many times the iterations that are missing are enough.
const RESERVE: f64 = 2.0;

/// A limit of iterations beyond this multiple of the last one is no advice.
const MOST_MORE: f64 = 3.0;

/// A limit of time is often a guess, so more of it is worth asking for.
const MOST_TIME: f64 = 10.0;

/// The next step after this outcome; `typed` are the words of the command that led to it.
pub(super) fn next_step(outcome: &Outcome, options: &SolveOptions, typed: &[OsString]) -> NextStep {
    let with = |option: &str, value: Option<&OsStr>| shell::command(with_option(typed, option, value));
    let next = |sentence: &str, command: String| NextStep { sentence: sentence.to_owned(), command };
    let is = |reason: StopReason| outcome.stop_reason == reason.name();
    if outcome.converged {
        return match (&outcome.promotion, &options.precision) {
            (Some(_), _) if outcome.method == Method::Direct.name() => next(
                "Multigrid did not converge, and sparse factors solved the system. Start with them next time.",
                with("--method", Some(Method::Direct.name().as_ref())),
            ),
            (Some(_), _) if let Some(Stronger::Smoother(smoother)) = outcome.promoted_to => {
                let words = with_option(typed, "--smoother", Some(smoother.name().as_ref()));
                let words = match outcome.method == outcome.config.method.name() {
                    true => words,
                    false => with_option(&words, "--method", Some(outcome.method.as_ref())),
                };
                let double = Kind::F64.to_string();
                match outcome.rounding {
                    Some(_) => next(
                        "A stronger smoother was needed, and rounding slows it. Start with it in double \
                         precision next time.",
                        shell::command(with_option(&words, "--precision", Some(double.as_ref()))),
                    ),
                    None => next(
                        "A stronger smoother was needed. Start with it next time, if it will be needed again.",
                        shell::command(words),
                    ),
                }
            }
            _ if outcome.rounding.is_some() => next(
                "Rounding slows this solve. Solve in single precision.",
                with("--precision", Some(Kind::F32.to_string().as_ref())),
            ),
            (Some(_), None) => next(
                "The precision of the levels was raised during this solve. Start with it next time.",
                with("--precision", Some(outcome.precision.as_ref())),
            ),
            _ => next("See whether another method is faster.", compare(options)),
        };
    }
    if is(StopReason::Inconsistent) {
        let sentence = "Accept the least-squares solution; the report states what is left out.";
        return next(sentence, with("--project-rhs", None));
    }
    if let (true, Some(path)) = (is(StopReason::Interrupted), &options.output) {
        return next("Continue from the solution that was written.", with("--guess", Some(path.as_os_str())));
    }
    // Where something else is known to work, only a goal that is near is worth the way.
    let indefinite = for_indefinite(outcome, typed);
    let most = if indefinite.is_some() { NEAR } else { MOST_MORE };
    if let (true, Some(limit)) = (is(StopReason::MaxIterations), enough_iterations(outcome, most)) {
        let sentence = format!("At the present rate, about {} iterations are enough.", limit);
        return next(&sentence, with("--max-iterations", Some(limit.to_string().as_ref())));
    }
    let most = if indefinite.is_some() { NEAR } else { MOST_TIME };
    if let (true, Some((sentence, seconds))) = (is(StopReason::TimeLimit), enough_seconds(outcome, most)) {
        return next(&sentence, with("--max-seconds", Some(seconds.as_ref())));
    }
    if let Some(step) = indefinite {
        return step;
    }
    if outcome.method == Method::Direct.name() && is(StopReason::Stagnated) {
        let source = source_words(&options.source, None, None, None);
        let inspect = || shell::command(["ziggurat".into(), "inspect".into()].into_iter().chain(source));
        return match reached(outcome.relative_residual) {
            Some(rtol) => next(
                "Sparse factors do not reach the tolerance either: rounding errors of this ill-conditioned \
                 matrix prevent it. Ask for what they reach.",
                with("--rtol", Some(rtol.as_ref())),
            ),
            None => next(
                "Sparse factors do not solve the system either: the matrix is singular, or nearly so. See \
                 what is special about it.",
                inspect(),
            ),
        };
    }
    if is(StopReason::TimeLimit) {
        let sentence = "At the present rate, more time (--max-seconds) will hardly help. Try the other methods; \
                        the table says which of them solve this system.";
        return next(sentence, compare(options));
    }
    next("Try the other methods; the table says which of them solve this system.", compare(options))
}

/// The same multiple where another method is known to work.
const NEAR: f64 = 2.0;

/// Codes of advice about matrices that multigrid does not suit as a whole.
const INDEFINITE: [&str; 4] = ["saddle-point", "indefinite", "mixed-diagonal", "zero-diagonal"];

/// The next step for an indefinite system: sparse factors, or MINRES with a positive preconditioner
/// where there are several processes or where factors were not chosen.
fn for_indefinite(outcome: &Outcome, typed: &[OsString]) -> Option<NextStep> {
    let is_known = outcome.advice.iter().any(|advice| INDEFINITE.contains(&advice.code));
    let by_minres = outcome.krylov == Krylov::Minres.name();
    if by_minres && outcome.stop_reason == StopReason::NotPositivePreconditioner.name() {
        let words = with_option(typed, "--method", Some(Method::None.name().as_ref()));
        let words = with_option(&words, "--smoother", Some(SmootherKind::L1Jacobi.name().as_ref()));
        let sentence = "MINRES needs a positive preconditioner, and multigrid is none for this matrix. \
                        A diagonal one is. On one process sparse factors (--method direct) solve such systems, too.";
        return Some(NextStep { sentence: sentence.to_owned(), command: shell::command(words) });
    }
    let has_factors = outcome.method == Method::Direct.name() || outcome.ranks.is_some();
    if !is_known || has_factors || by_minres {
        return None;
    }
    let words = with_option(typed, "--method", Some(Method::Direct.name().as_ref()));
    let given = outcome.config.krylov;
    // The factors of an indefinite matrix are not positive.
    let words = match given {
        Krylov::Cg | Krylov::Fcg => with_option(&words, "--krylov", Some(Krylov::Fgmres.name().as_ref())),
        _ => words,
    };
    let sentence = "Multigrid does not suit this indefinite matrix as a whole. Sparse factors solve it; if they \
                    do not fit into memory and the matrix is symmetric, try --krylov minres.";
    Some(NextStep { sentence: sentence.to_owned(), command: shell::command(words) })
}

/// The next larger power of ten, if a solution with this residual is of use.
fn reached(residual: f64) -> Option<String> {
    (residual < 1e-3).then(|| format!("1e{}", residual.log10().floor() as i32 + 1))
}

/// The number of iterations in which the tolerance is reached, rounded up to two digits; `None` if
/// that is far away.
fn enough_iterations(outcome: &Outcome, most: f64) -> Option<usize> {
    let needed = needed_iterations(outcome)?;
    let digits = unit_of_two_digits(needed).max(1.0);
    (needed <= most * outcome.iterations as f64).then(|| ((needed / digits).ceil() * digits) as usize)
}

/// The limit of time that is enough, likewise, and why; the same multiple of the last one if no
/// iteration has shown the rate.
fn enough_seconds(outcome: &Outcome, most: f64) -> Option<(String, String)> {
    let (limit, iterations) = (outcome.config.stopping.max_seconds?, outcome.iterations as f64);
    let factor = if outcome.iterations > 0 { needed_iterations(outcome)? / iterations } else { most };
    let (seconds, unit) = (factor * limit, unit_of_two_digits(factor * limit));
    if !(seconds > 0.0 && factor <= most) {
        return None;
    }
    let decimals = (-unit.log10()).max(0.0) as usize;
    // Rounding errors are not rounded up.
    let seconds = format!("{:.decimals$}", (seconds / unit * (1.0 - 1e-9)).ceil() * unit);
    let sentence = match outcome.iterations {
        0 => "The time was over before the first iteration. Allow more.".to_owned(),
        _ => format!("At the present rate, about {seconds} s are enough."),
    };
    Some((sentence, seconds))
}

/// The power of ten of the second digit.
fn unit_of_two_digits(x: f64) -> f64 {
    10_f64.powf(x.log10().floor() - 1.0)
}

/// The number of iterations in which the tolerance is reached, if it ever is. A fast start says
/// nothing about the rest, nor does a fast end: the slower one counts.
fn needed_iterations(outcome: &Outcome) -> Option<f64> {
    let rate = outcome.convergence_factor()?.max(outcome.recent_factor?);
    let missing = (outcome.tolerance / outcome.relative_residual).ln() / rate.ln();
    let needed = outcome.iterations as f64 + RESERVE * missing;
    (rate < 1.0 && needed.is_finite()).then_some(needed)
}

/// The command that compares methods on this system.
fn compare(options: &SolveOptions) -> String {
    let words =
        source_words(&options.source, options.rhs.as_deref(), options.coords.as_deref(), options.rtol);
    let words = words.into_iter().chain(column_words(options.rhs_column));
    shell::command(["ziggurat".into(), "compare".into()].into_iter().chain(words))
}

/// The words of a command with an option set, in place of its earlier value.
fn with_option(words: &[OsString], option: &str, value: Option<&OsStr>) -> Vec<OsString> {
    let mut kept: Vec<OsString> = Vec::new();
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        if word == option {
            if value.is_some() {
                rest.next();
            }
        } else if !word.to_string_lossy().starts_with(&format!("{option}=")) {
            kept.push(word.clone());
        }
    }
    kept.push(option.into());
    kept.extend(value.map(OsStr::to_owned));
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::{Arguments, Command};
    use clap::Parser;
    use ziggurat::Solver;
    use ziggurat_sparse::Csr;

    fn next(typed: &[&str], change: impl FnOnce(&mut Outcome)) -> String {
        let typed: Vec<OsString> = ["ziggurat", "solve"].iter().chain(typed).map(OsString::from).collect();
        let Command::Solve(options) = Arguments::try_parse_from(&typed).unwrap().command else { panic!() };
        let solver = Solver::builder().build(Csr::identity(1).unwrap()).unwrap();
        let mut outcome = Outcome::of(&solver, &solver.solve(&[1.0]).unwrap(), (0.0, 0.0));
        change(&mut outcome);
        let next = next_step(&outcome, &options, &typed).command;
        // It can be typed.
        let words: Vec<&str> = next.split(' ').collect();
        Arguments::try_parse_from(words).unwrap();
        next
    }

    /// Stops with an even history.
    fn stopped(outcome: &mut Outcome, reason: StopReason, iterations: usize, residual: f64) {
        outcome.recent_factor = Some(residual.powf((iterations as f64).recip()));
        outcome.converged = false;
        outcome.stop_reason = reason.name().to_owned();
        (outcome.iterations, outcome.relative_residual) = (iterations, residual);
        outcome.true_residuals = vec![(0, 1.0)];
    }

    #[test]
    fn what_converged_can_be_compared() {
        let command = next(&["A.mtx", "--rhs", "b.mtx", "--rtol", "1e-6", "--json", "-"], |_| {});
        assert_eq!(command, "ziggurat compare A.mtx --rhs b.mtx --rtol 1e-6");
        let command = next(&["A.mtx", "--rhs", "b.mtx", "--rhs-column", "3"], |_| {});
        assert_eq!(command, "ziggurat compare A.mtx --rhs b.mtx --rhs-column 3");
    }

    #[test]
    fn a_limit_is_raised_to_what_is_needed_and_only_if_that_is_near() {
        let limit = |iterations, residual| {
            next(&["A.mtx", "--max-iterations=10", "--max-iterations", "9"][..2], |outcome| {
                stopped(outcome, StopReason::MaxIterations, iterations, residual);
            })
        };
        // A digit in two iterations: six more, with a reserve.
        assert_eq!(limit(10, 1e-5), "ziggurat solve A.mtx --max-iterations 22");
        assert_eq!(limit(200, 1e-6), "ziggurat solve A.mtx --max-iterations 340");
        // A few iterations say little about many.
        assert_eq!(limit(20, 1e-2), "ziggurat compare A.mtx");
        assert_eq!(limit(1000, 0.999), "ziggurat compare A.mtx");
        assert_eq!(limit(10, 3.0), "ziggurat compare A.mtx");
    }

    #[test]
    fn more_time_is_asked_for_if_it_will_do() {
        let limit = |typed: &[&str], seconds, iterations, residual| {
            next(typed, |outcome| {
                stopped(outcome, StopReason::TimeLimit, iterations, residual);
                outcome.config.stopping.max_seconds = Some(seconds);
            })
        };
        // A digit in two iterations: 12 more, with a reserve.
        let twice = limit(&["A.mtx", "--max-seconds", "30"], 30.0, 10, 1e-5);
        assert_eq!(twice, "ziggurat solve A.mtx --max-seconds 66");
        // The limit may be in a file.
        let little = limit(&["A.mtx", "--config", "a.toml"], 0.02, 10, 1e-5);
        assert_eq!(little, "ziggurat solve A.mtx --config a.toml --max-seconds 0.044");
        assert_eq!(limit(&["A.mtx"], 200.0, 20, 1e-2), "ziggurat solve A.mtx --max-seconds 1400");
        assert_eq!(limit(&["A.mtx"], 1.0, 1000, 0.999), "ziggurat compare A.mtx");
        // No iteration has shown a rate.
        assert_eq!(limit(&["A.mtx"], 3.0, 0, 1.0), "ziggurat solve A.mtx --max-seconds 30");
    }

    #[test]
    fn nothing_is_promised_from_a_flat_residual() {
        for recent in [Some(1.0), Some(0.9999), None] {
            let command = next(&["A.mtx"], |outcome| {
                stopped(outcome, StopReason::MaxIterations, 1000, 2e-6);
                outcome.recent_factor = recent;
            });
            assert_eq!(command, "ziggurat compare A.mtx", "{recent:?}");
        }
    }

    #[test]
    fn indefinite_systems_get_what_solves_them() {
        // A constraint: a zero on the diagonal of a symmetric pattern.
        let advice = || {
            let a = Csr::try_new(2, 2, vec![0, 2, 3], vec![0, 1, 0], vec![1.0; 3]).unwrap();
            ziggurat::diagnose(a.view()).advice()
        };
        let of = |typed: &[&str], reason, krylov: Krylov| {
            next(typed, |outcome| {
                stopped(outcome, reason, 1000, 2e-6);
                (outcome.recent_factor, outcome.advice) = (Some(1.0), advice());
                outcome.krylov = krylov.name().to_owned();
                (outcome.config.krylov, outcome.method) = (krylov, "sa".to_owned());
            })
        };
        let stagnated = of(&["A.mtx"], StopReason::Stagnated, Krylov::Fgmres);
        assert_eq!(stagnated, "ziggurat solve A.mtx --method direct");
        let limited = of(&["A.mtx", "--method", "sa"], StopReason::MaxIterations, Krylov::Fgmres);
        assert_eq!(limited, "ziggurat solve A.mtx --method direct");
        let by_cg = of(&["A.mtx", "--krylov=cg"], StopReason::NotPositiveMatrix, Krylov::Cg);
        assert_eq!(by_cg, "ziggurat solve A.mtx --method direct --krylov fgmres");
        let by_minres = of(&["A.mtx"], StopReason::NotPositivePreconditioner, Krylov::Minres);
        assert_eq!(by_minres, "ziggurat solve A.mtx --method none --smoother l1-jacobi");
    }

    #[test]
    fn interrupted_and_inconsistent_solves_are_continued() {
        let command = next(&["--problem", "poisson2d:9", "-o", "x.mtx", "--guess", "y.mtx"], |outcome| {
            stopped(outcome, StopReason::Interrupted, 3, 0.1);
        });
        assert_eq!(command, "ziggurat solve --problem poisson2d:9 -o x.mtx --guess x.mtx");
        let command = next(&["A.mtx"], |outcome| stopped(outcome, StopReason::Inconsistent, 3, 0.1));
        assert_eq!(command, "ziggurat solve A.mtx --project-rhs");
        let command = next(&["A.mtx"], |outcome| {
            outcome.promotion = Some("levels changed".to_owned());
            outcome.precision = "f32".to_owned();
        });
        assert_eq!(command, "ziggurat solve A.mtx --precision f32");
        let slow = |outcome: &mut Outcome| *outcome = outcome.clone().with_rounding(true);
        let command = next(&["A.mtx", "--precision", "f16"], slow);
        assert_eq!(command, "ziggurat solve A.mtx --precision f32");
        // Its factors are rounded as well.
        let smoothed = |outcome: &mut Outcome| {
            outcome.promotion = Some("changed to fsai smoothing".to_owned());
            outcome.promoted_to = Some(Stronger::Smoother(SmootherKind::Fsai));
            slow(outcome);
            assert!(outcome.rounding.as_ref().is_some_and(|said| said.contains("precision f64")));
        };
        let command = next(&["A.mtx", "--precision", "f16"], smoothed);
        assert_eq!(command, "ziggurat solve A.mtx --smoother fsai --precision f64");
    }
}

//! What to do after a solve: a sentence, and the command that does it.

use std::ffi::{OsStr, OsString};

use ziggurat::Stronger;
use ziggurat::config::Method;
use ziggurat::krylov::StopReason;
use ziggurat_report::{NextStep, Outcome};

use crate::arguments::SolveOptions;
use crate::shell;
use crate::system::source_words;

/// A limit of iterations beyond this multiple of the last one is no advice.
const MOST_MORE: f64 = 20.0;

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
                let sentence =
                    "A stronger smoother was needed. Start with it next time, if it will be needed again.";
                next(sentence, shell::command(words))
            }
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
    if let (true, Some(limit)) = (is(StopReason::MaxIterations), enough_iterations(outcome)) {
        let sentence = format!("At the present rate, about {} iterations are enough.", limit);
        return next(&sentence, with("--max-iterations", Some(limit.to_string().as_ref())));
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
    next("Try the other methods; the table says which of them solve this system.", compare(options))
}

/// The next larger power of ten, if a solution with this residual is of use.
fn reached(residual: f64) -> Option<String> {
    (residual < 1e-3).then(|| format!("1e{}", residual.log10().floor() as i32 + 1))
}

/// The number of iterations in which the tolerance is reached at the present rate, rounded up to
/// two digits; `None` if that is far away.
fn enough_iterations(outcome: &Outcome) -> Option<usize> {
    let rate = outcome.convergence_factor().filter(|&rate| rate < 1.0)?;
    let missing = (outcome.tolerance / outcome.relative_residual).ln() / rate.ln();
    let needed = outcome.iterations as f64 + 1.2 * missing; // convergence often slows down
    let digits = 10_f64.powf((needed.log10().floor() - 1.0).max(0.0));
    (needed <= MOST_MORE * outcome.iterations as f64).then(|| ((needed / digits).ceil() * digits) as usize)
}

/// The command that compares methods on this system.
fn compare(options: &SolveOptions) -> String {
    let words =
        source_words(&options.source, options.rhs.as_deref(), options.coords.as_deref(), options.rtol);
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

    fn stopped(outcome: &mut Outcome, reason: StopReason, iterations: usize, residual: f64) {
        outcome.converged = false;
        outcome.stop_reason = reason.name().to_owned();
        (outcome.iterations, outcome.relative_residual) = (iterations, residual);
        outcome.true_residuals = vec![(0, 1.0)];
    }

    #[test]
    fn what_converged_can_be_compared() {
        let command = next(&["A.mtx", "--rhs", "b.mtx", "--rtol", "1e-6", "--json", "-"], |_| {});
        assert_eq!(command, "ziggurat compare A.mtx --rhs b.mtx --rtol 1e-6");
    }

    #[test]
    fn a_limit_is_raised_to_what_is_needed_and_only_if_that_is_near() {
        let limit = |iterations, residual| {
            next(&["A.mtx", "--max-iterations=10", "--max-iterations", "9"][..2], |outcome| {
                stopped(outcome, StopReason::MaxIterations, iterations, residual);
            })
        };
        // A factor of 0.1 per iteration: 6 more, with a reserve.
        assert_eq!(limit(2, 1e-2), "ziggurat solve A.mtx --max-iterations 10");
        assert_eq!(limit(100, 1e-5), "ziggurat solve A.mtx --max-iterations 180");
        assert_eq!(limit(1000, 0.999), "ziggurat compare A.mtx");
        assert_eq!(limit(10, 3.0), "ziggurat compare A.mtx");
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
    }
}

//! `cargo xtask ci`: the checks that decide whether a change lands.
//!
//! The steps run in order, cheap ones first. The first that fails ends the run, with the line to repeat it by hand; a
//! table of times closes every run, failed or not. The build goes where cargo puts it by default: nothing here sets
//! `CARGO_TARGET_DIR`, so a developer's own choice holds.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use thiserror::Error;

use crate::bench::table::Table;
use crate::source_rules;

/// What one step does.
enum Action {
    /// Our own rules about files.
    SourceRules,
    /// Compilers of GPUs that are not there.
    GpuSources,
    /// The Python package, from its wheel.
    Python,
    /// `cargo` with these arguments.
    Cargo(&'static [&'static str]),
    /// The same, with one environment variable set.
    CargoWith(&'static [&'static str], (&'static str, &'static str)),
}

struct Step {
    name: &'static str,
    action: Action,
}

const STEPS: &[Step] = &[
    Step { name: "source rules", action: Action::SourceRules },
    // The one step that may need the network, and the one that notices a lock file out of date. It brings the crates
    // of every platform, which `cargo deny` reads.
    Step { name: "fetch", action: Action::Cargo(&["fetch", "--locked"]) },
    Step { name: "format", action: Action::Cargo(&["fmt", "--all", "--check"]) },
    Step {
        name: "dependencies",
        action: Action::Cargo(&["deny", "--offline", "check", "licenses", "bans", "sources"]),
    },
    Step {
        name: "clippy",
        action: Action::Cargo(&[
            "clippy",
            "--workspace",
            "--all-targets",
            "--all-features",
            "--",
            "-D",
            "warnings",
        ]),
    },
    // Features only add: the one library that others build on with and without them must build, without a warning, when none is on. The wheel is
    // built so, too, and with it all libraries beneath.
    Step {
        name: "clippy, no features",
        action: Action::Cargo(&[
            "clippy",
            "--package",
            "ziggurat-sparse",
            "--lib",
            "--no-default-features",
            "--",
            "-D",
            "warnings",
        ]),
    },
    // Before the tests, one of which runs a benchmark in the environment that this makes.
    Step { name: "python", action: Action::Python },
    Step {
        name: "tests",
        // Without the examples, which clippy has checked.
        action: Action::Cargo(&[
            "nextest",
            "run",
            "--workspace",
            "--all-features",
            "--lib",
            "--bins",
            "--tests",
            "--no-tests=fail",
        ]),
    },
    Step { name: "gpu sources", action: Action::GpuSources },
    Step { name: "doctests", action: Action::Cargo(&["test", "--doc", "--workspace", "--all-features"]) },
    Step {
        name: "rustdoc",
        action: Action::CargoWith(
            &["doc", "--no-deps", "--workspace", "--all-features"],
            ("RUSTDOCFLAGS", "-D warnings"),
        ),
    },
];

/// What `cargo nextest` exits with when it found nothing to run.
const NEXTEST_NO_TESTS: i32 = 4;

/// The check that failed, and why.
#[derive(Debug, Error)]
#[error("step `{step}` failed: {reason}")]
pub(crate) struct CiError {
    step: &'static str,
    reason: String,
}

/// Runs every step in `root`, the workspace's folder.
pub(crate) fn run(root: &Path) -> Result<(), CiError> {
    run_steps(STEPS, |step| perform(&step.action, root))
}

/// Runs `steps` by `perform` until one fails; prints the table of times either way.
fn run_steps(steps: &[Step], perform: impl Fn(&Step) -> Result<(), String>) -> Result<(), CiError> {
    let mut finished: Vec<Duration> = Vec::with_capacity(steps.len());
    let mut failure = None;
    for step in steps {
        println!("\n==> {}: {}", step.name, step.action.line());
        let start = Instant::now();
        let outcome = perform(step);
        finished.push(start.elapsed());
        if let Err(reason) = outcome {
            failure = Some(CiError { step: step.name, reason });
            break;
        }
    }
    println!("\n{}", summary(steps, &finished, failure.is_some()));
    failure.map_or(Ok(()), Err)
}

/// One line per step: how it ended and how long it took.
fn summary(steps: &[Step], finished: &[Duration], failed: bool) -> Table {
    let mut table = Table::new(["step", "outcome", "seconds"]);
    for (index, step) in steps.iter().enumerate() {
        let outcome = match index + 1 {
            done if failed && done == finished.len() => "FAILED",
            done if done <= finished.len() => "ok",
            _ => "not run",
        };
        let seconds =
            finished.get(index).map_or_else(String::new, |time| format!("{:.1}", time.as_secs_f64()));
        table.row([step.name.to_owned(), outcome.to_owned(), seconds]);
    }
    let total: Duration = finished.iter().sum();
    let outcome = if failed { "FAILED" } else { "ok" };
    table.row(["total".to_owned(), outcome.to_owned(), format!("{:.1}", total.as_secs_f64())]);
    table
}

impl Action {
    /// The step as one would type it.
    fn line(&self) -> String {
        let (args, variable) = match self {
            Action::SourceRules => return "xtask/src/source_rules.rs".to_owned(),
            Action::GpuSources => return "cargo xtask gpu-sources".to_owned(),
            Action::Python => return "cargo xtask python".to_owned(),
            Action::Cargo(args) => (args, None),
            Action::CargoWith(args, variable) => (args, Some(variable)),
        };
        let mut line = String::new();
        if let Some((name, value)) = variable {
            let _ = write!(line, "{name}=\"{value}\" "); // writing to a string does not fail
        }
        line + "cargo " + &args.join(" ")
    }
}

/// Does what a step says; on failure, the reason.
fn perform(action: &Action, root: &Path) -> Result<(), String> {
    match action {
        Action::SourceRules => check_source_rules(root),
        Action::GpuSources => crate::gpu_sources::run(root).map_err(|error| error.to_string()),
        Action::Python => crate::python::check(root, false).map_err(|error| error.to_string()),
        Action::Cargo(args) => cargo(args, None, root),
        Action::CargoWith(args, variable) => cargo(args, Some(*variable), root),
    }
    .map_err(|reason| match action {
        Action::SourceRules => reason,
        Action::Cargo(["nextest" | "deny", ..]) => {
            format!(
                "{reason}\n  by hand: {}\n  if cargo lacks the command, `.ci/run` installs it",
                action.line()
            )
        }
        _ => format!("{reason}\n  by hand: {}", action.line()),
    })
}

fn cargo(args: &[&str], variable: Option<(&str, &str)>, root: &Path) -> Result<(), String> {
    // The cargo that runs us, so that a `cargo +toolchain xtask ci` checks with that toolchain.
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(&program);
    command.args(args).envs(variable).current_dir(root);
    let status = command.status().map_err(|error| format!("cannot start {}: {error}", program.display()))?;
    match status.code() {
        Some(0) => Ok(()),
        Some(NEXTEST_NO_TESTS) if args.first() == Some(&"nextest") => {
            Err("no test was found; a workspace without tests does not pass".to_owned())
        }
        Some(code) => Err(format!("cargo exited with {code}")),
        None => Err("cargo was ended by a signal".to_owned()),
    }
}

fn check_source_rules(root: &Path) -> Result<(), String> {
    let files = source_rules::read_sources(root).map_err(|error| error.to_string())?;
    let findings = source_rules::check(&files);
    for note in &findings.notes {
        println!("note: {note}");
    }
    if findings.faults.is_empty() {
        println!("{} source files keep the rules", files.len());
        return Ok(());
    }
    Err(findings.faults.iter().fold(String::new(), |list, fault| format!("{list}\n  {fault}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    const THREE: &[Step] = &[
        Step { name: "one", action: Action::SourceRules },
        Step { name: "two", action: Action::Cargo(&["two"]) },
        Step { name: "three", action: Action::Cargo(&["three"]) },
    ];

    #[test]
    fn the_first_failure_ends_the_run_and_is_named() {
        let seen = RefCell::new(Vec::new());
        let outcome = run_steps(THREE, |step| {
            seen.borrow_mut().push(step.name);
            if step.name == "two" { Err("it broke".to_owned()) } else { Ok(()) }
        });
        assert_eq!(outcome.unwrap_err().to_string(), "step `two` failed: it broke");
        assert_eq!(seen.into_inner(), ["one", "two"]);
    }

    #[test]
    fn the_summary_says_what_ran_and_what_did_not() {
        let seconds = [Duration::from_millis(1500), Duration::from_millis(2500)];
        let failed = summary(THREE, &seconds, true).to_string();
        let lines: Vec<&str> = failed.lines().collect();
        assert!(lines[2].contains("ok") && lines[2].contains("1.5"), "{failed}");
        assert!(lines[3].contains("FAILED") && lines[3].contains("2.5"), "{failed}");
        assert!(lines[4].contains("not run"), "{failed}");
        assert!(lines[5].contains("total") && lines[5].contains("4.0"), "{failed}");
        let passed = summary(THREE, &[Duration::ZERO; 3], false).to_string();
        assert!(!passed.contains("FAILED") && !passed.contains("not run"), "{passed}");
    }

    #[test]
    fn a_failing_command_reports_the_line_to_repeat_it() {
        let action = Action::CargoWith(&["no-such-command-at-all"], ("RUSTDOCFLAGS", "-D warnings"));
        let reason = perform(&action, crate::workspace_root()).unwrap_err();
        assert!(reason.contains("RUSTDOCFLAGS=\"-D warnings\" cargo no-such-command-at-all"), "{reason}");
        assert!(reason.contains("exited with"), "{reason}");
    }
}

//! `cargo xtask ci`: the checks that decide whether a change lands.
//!
//! Groups of steps run one after the other, cheap ones first; the steps of a group run at the same
//! time. All groups run, also after a failure, so that one run shows everything that is wrong; each
//! failure names the line to repeat that step by hand. A table of times closes every run. The build
//! goes where cargo puts it by default: nothing here sets `CARGO_TARGET_DIR`, so a developer's own
//! choice holds.

use std::fmt::Write as _;
use std::io::{self, Read as _};
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

use tasks::programs;
use tasks::table::Table;
use thiserror::Error;

use crate::source_rules;

/// The action of a step.
enum Action {
    /// Our own rules about files.
    SourceRules,
    /// Another task of xtask, in its own process.
    Task(&'static [&'static str]),
    /// `cargo` with these arguments.
    Cargo(&'static [&'static str]),
    /// The same, with one environment variable set.
    CargoWith(&'static [&'static str], (&'static str, &'static str)),
}

struct Step {
    name: &'static str,
    action: Action,
}

const STEPS: &[&[Step]] = &[
    &[Step { name: "source rules", action: Action::SourceRules }],
    // The one step that may need the network, and the one that notices a lock file out of date. It
    // brings the crates of every platform, which `cargo deny` reads.
    &[Step { name: "fetch", action: Action::Cargo(&["fetch", "--locked"]) }],
    &[Step { name: "format", action: Action::Cargo(&["fmt", "--all", "--check"]) }],
    &[Step {
        name: "dependencies",
        action: Action::Cargo(&["deny", "--offline", "check", "licenses", "bans", "sources"]),
    }],
    // The environment is downloaded while clippy runs. Two builds take turns: cargo locks its
    // folder.
    &[
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
        Step { name: "python wheel", action: Action::Task(&["python", "--only", "wheel"]) },
    ],
    // Features only add: what users build without them, which is all that the published wheel
    // holds, must build without a warning.
    &[
        Step {
            name: "clippy, no features",
            action: Action::Cargo(&[
                "clippy",
                "--package",
                "ziggurat-python",
                "--lib",
                "--",
                "-D",
                "warnings",
            ]),
        },
        // Without the sparse factors that the wheel has. `--tests` would bring them along.
        Step {
            name: "clippy, no factors",
            action: Action::Cargo(&["clippy", "--package", "ziggurat", "--lib", "--", "-D", "warnings"]),
        },
    ],
    // One of the tests runs a benchmark in the environment that the wheel is installed in.
    &[
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
        Step { name: "python checks", action: Action::Task(&["python", "--only", "checks"]) },
    ],
    &[
        Step { name: "matrix units", action: Action::Task(&["matrix-units"]) },
        Step { name: "fingerprints", action: Action::Task(&["fingerprints", "--small"]) },
    ],
    &[
        Step { name: "doctests", action: Action::Cargo(&["test", "--doc", "--workspace", "--all-features"]) },
        Step { name: "gpu sources", action: Action::Task(&["gpu-sources"]) },
        Step { name: "readme examples", action: Action::Task(&["outside"]) },
    ],
    // Both run one program at a time. The book uses the Python environment and the programs of the
    // tests.
    &[
        Step { name: "instructions", action: Action::Task(&["instructions"]) },
        Step { name: "book", action: Action::Task(&["book"]) },
    ],
    &[Step {
        name: "rustdoc",
        action: Action::CargoWith(
            &["doc", "--no-deps", "--workspace", "--all-features"],
            ("RUSTDOCFLAGS", "-D warnings"),
        ),
    }],
];

/// The exit code of `cargo nextest` when it found nothing to run.
const NEXTEST_NO_TESTS: i32 = 4;

/// The checks that failed, each with its reason.
#[derive(Debug, Error)]
#[error("{}", .failures.join("\n"))]
pub(crate) struct CiError {
    failures: Vec<String>,
}

/// How a step ended.
struct Ended {
    step: &'static str,
    time: Duration,
    /// Why it failed, if it did.
    failure: Option<String>,
}

/// Where the output of a step goes.
enum Output {
    /// To the terminal, as it comes.
    Shown,
    /// Here. It is printed when the steps beside this one have ended.
    Kept(String),
}

/// Runs every step in `root`, the workspace's folder.
pub(crate) fn run(root: &Path) -> Result<(), CiError> {
    run_groups(STEPS, |step, output| perform(&step.action, root, output))
}

/// Runs `groups` by `perform`, and prints the table of times.
fn run_groups(
    groups: &[&[Step]],
    perform: impl Fn(&Step, &mut Output) -> Result<(), String> + Sync,
) -> Result<(), CiError> {
    let start = Instant::now();
    let mut ended = Vec::new();
    for group in groups {
        ended.extend(run_group(group, &perform));
    }
    println!("\n{}", summary(&ended, start.elapsed()));
    let failure = |ended: Ended| Some(format!("step `{}` failed: {}", ended.step, ended.failure?));
    let failures: Vec<String> = ended.into_iter().filter_map(failure).collect();
    if failures.is_empty() { Ok(()) } else { Err(CiError { failures }) }
}

/// Runs all steps of a group at the same time. The output of the first is shown as it comes.
fn run_group(
    group: &[Step],
    perform: &(impl Fn(&Step, &mut Output) -> Result<(), String> + Sync),
) -> Vec<Ended> {
    let run = |step: &Step, mut output: Output| {
        let start = Instant::now();
        let failure = perform(step, &mut output).err();
        (Ended { step: step.name, time: start.elapsed(), failure }, output)
    };
    let Some((first, others)) = group.split_first() else { return Vec::new() };
    for step in group {
        println!("\n==> {}: {}", step.name, step.action.line());
    }
    let all = thread::scope(|scope| {
        let started: Vec<_> =
            others.iter().map(|step| scope.spawn(move || run(step, Output::Kept(String::new())))).collect();
        let mut all = vec![run(first, Output::Shown)];
        let join = |thread: thread::ScopedJoinHandle<'_, _>| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        all.extend(started.into_iter().map(join));
        all
    });
    let print = |(ended, output): (Ended, Output)| {
        if let Output::Kept(text) = output {
            println!("\n==> {}, which ran beside {}:\n{text}", ended.step, first.name);
        }
        ended
    };
    all.into_iter().map(print).collect()
}

/// One line per step: how it ended and how long it took.
fn summary(ended: &[Ended], total: Duration) -> Table {
    let seconds = |time: Duration| format!("{:.1}", time.as_secs_f64());
    let outcome = |failed: bool| if failed { "FAILED" } else { "ok" };
    let mut table = Table::new(["step", "outcome", "seconds"]);
    for ended in ended {
        table.row([ended.step, outcome(ended.failure.is_some()), &seconds(ended.time)]);
    }
    let failed = ended.iter().any(|ended| ended.failure.is_some());
    table.row(["total", outcome(failed), &seconds(total)]);
    table
}

impl Action {
    /// The step as one would type it.
    fn line(&self) -> String {
        let (args, variable) = match self {
            Action::SourceRules => return "xtask/src/source_rules.rs".to_owned(),
            Action::Task(args) => return format!("cargo xtask {}", args.join(" ")),
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
fn perform(action: &Action, root: &Path, output: &mut Output) -> Result<(), String> {
    match action {
        Action::SourceRules => return check_source_rules(root),
        Action::Task(args) => task(args, output),
        Action::Cargo(args) => cargo(args, None, root, output),
        Action::CargoWith(args, variable) => cargo(args, Some(*variable), root, output),
    }
    .map_err(|reason| match action {
        Action::Cargo(["nextest" | "deny", ..]) => {
            format!(
                "{reason}\n  by hand: {}\n  if cargo lacks the command, `.ci/run` installs it",
                action.line()
            )
        }
        _ => format!("{reason}\n  by hand: {}", action.line()),
    })
}

/// Runs this program again, with another task.
fn task(args: &[&str], output: &mut Output) -> Result<(), String> {
    let program = std::env::current_exe().map_err(|error| format!("cannot find xtask: {error}"))?;
    let mut command = Command::new(program);
    command.args(args);
    match status(command, output)?.code() {
        Some(0) => Ok(()),
        _ => Err("the reason is in its output".to_owned()),
    }
}

fn cargo(
    args: &[&str],
    variable: Option<(&str, &str)>,
    root: &Path,
    output: &mut Output,
) -> Result<(), String> {
    let mut command = programs::cargo();
    command.args(args).envs(variable).current_dir(root);
    match status(command, output)?.code() {
        Some(0) => Ok(()),
        Some(NEXTEST_NO_TESTS) if args.first() == Some(&"nextest") => {
            Err("no test was found; a workspace without tests does not pass".to_owned())
        }
        Some(code) => Err(format!("cargo exited with {code}")),
        None => Err("cargo was ended by a signal".to_owned()),
    }
}

/// Runs a command to its end.
fn status(mut command: Command, output: &mut Output) -> Result<ExitStatus, String> {
    let program = command.get_program().to_owned();
    let run = || match output {
        Output::Shown => command.status(),
        Output::Kept(text) => {
            let (mut reader, writer) = io::pipe()?;
            let mut child = command.stdout(writer.try_clone()?).stderr(writer).spawn()?;
            drop(command); // it holds the pipe's other end, and would keep it open
            let mut bytes = Vec::new();
            reader.read_to_end(&mut bytes)?;
            text.push_str(&String::from_utf8_lossy(&bytes));
            child.wait()
        }
    };
    run().map_err(|error| format!("cannot run {}: {error}", program.display()))
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
    use std::sync::Mutex;

    const FOUR: &[&[Step]] = &[
        &[Step { name: "one", action: Action::SourceRules }],
        &[
            Step { name: "two", action: Action::Cargo(&["two"]) },
            Step { name: "three", action: Action::Task(&["three"]) },
        ],
        &[Step { name: "four", action: Action::Cargo(&["four"]) }],
    ];

    #[test]
    fn all_steps_run_and_all_failures_are_named() {
        let seen = Mutex::new(Vec::new());
        let outcome = run_groups(FOUR, |step, _| {
            seen.lock().unwrap().push(step.name);
            if ["one", "three"].contains(&step.name) { Err("it broke".to_owned()) } else { Ok(()) }
        });
        assert_eq!(
            outcome.unwrap_err().to_string(),
            "step `one` failed: it broke\nstep `three` failed: it broke"
        );
        let mut seen = seen.into_inner().unwrap();
        seen.sort_unstable();
        assert_eq!(seen, ["four", "one", "three", "two"]);
    }

    #[test]
    fn the_output_of_the_first_step_of_a_group_is_shown_and_that_of_others_is_kept() {
        let kept = Mutex::new(Vec::new());
        let outcome = run_groups(FOUR, |step, output| {
            let seen = matches!(output, Output::Kept(_));
            kept.lock().unwrap().push((step.name, seen));
            Ok(())
        });
        assert!(outcome.is_ok());
        let mut kept = kept.into_inner().unwrap();
        kept.sort_unstable();
        assert_eq!(kept, [("four", false), ("one", false), ("three", true), ("two", false)]);

        let mut output = Output::Kept(String::new());
        let mut command = Command::new("sh");
        command.args(["-c", "echo one; echo two >&2; exit 3"]);
        let ended = status(command, &mut output).unwrap();
        assert_eq!(ended.code(), Some(3));
        assert!(matches!(output, Output::Kept(text) if text == "one\ntwo\n"));
    }

    #[test]
    fn the_summary_says_how_each_step_ended() {
        let ended = |step, millis, failed: bool| Ended {
            step,
            time: Duration::from_millis(millis),
            failure: failed.then(String::new),
        };
        let two = [ended("one", 1500, false), ended("two", 2500, true)];
        let failed = summary(&two, Duration::from_secs(4)).to_string();
        let lines: Vec<&str> = failed.lines().collect();
        assert!(lines[2].contains("ok") && lines[2].contains("1.5"), "{failed}");
        assert!(lines[3].contains("FAILED") && lines[3].contains("2.5"), "{failed}");
        assert!(lines[4].contains("total") && lines[4].contains("4.0"), "{failed}");
        let passed = summary(&two[..1], Duration::ZERO).to_string();
        assert!(!passed.contains("FAILED"), "{passed}");
    }

    #[test]
    fn a_failing_command_reports_the_line_to_repeat_it() {
        let action = Action::CargoWith(&["no-such-command-at-all"], ("RUSTDOCFLAGS", "-D warnings"));
        let reason = perform(&action, tasks::workspace_root(), &mut Output::Shown).unwrap_err();
        assert!(reason.contains("RUSTDOCFLAGS=\"-D warnings\" cargo no-such-command-at-all"), "{reason}");
        assert!(reason.contains("exited with"), "{reason}");
    }
}

//! `ziggurat solve`: the system is read, solved and reported.
//!
//! [`compute`] sets up and solves for one process and for MPI ranks alike. Only loading the system
//! and writing the solution differ: for ranks they are in `ranks.rs`.

pub(crate) mod configuration;
mod next_step;
mod page;
#[cfg(feature = "mpi")]
mod ranks;

use std::ffi::OsString;
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use ziggurat::amg::SetupError;
use ziggurat::amg::interpolate::NearKernel;
use ziggurat::config::ConfigError;
use ziggurat::krylov::{self, KrylovError, StopReason};
use ziggurat::{Solution, SolveError, Solver, SolverConfig};
use ziggurat_report::Outcome;
use ziggurat_sparse::CsrRef;
use ziggurat_sparse::device::{Device, DeviceError};
use ziggurat_sparse::io::{FileFormat, write_vector};

use crate::arguments::SolveOptions;
use crate::devices;
use crate::failure::Failure;
use crate::interrupt::Interrupt;
use crate::job::Job;
use crate::log_lines;
use crate::output;
use crate::progress::Progress;
use crate::shell;
use crate::system::System;
use crate::terminal::printable;
use crate::trace::Trace;

/// The exit code of [`solve::run`](run) when the solver stopped without having converged.
pub(crate) const NOT_CONVERGED: u8 = 2;

pub(crate) fn run(options: &SolveOptions, job: &Job, progress: &Progress) -> Result<ExitCode, Failure> {
    #[cfg(feature = "mpi")]
    if let Some(ranks) = job.ranks() {
        return ranks::run(ranks, options, progress);
    }
    let _ = job; // without MPI there is one process
    let config = configuration::configure(options)?;
    if options.dump_config {
        configuration::print(&config)?;
        return Ok(ExitCode::SUCCESS);
    }
    if options.verbosity.verbose {
        log_lines::show();
    }
    check_files(options)?;
    let trace = options.trace.as_deref().map(Trace::start).transpose()?;
    let device = devices::open(&options.device)?;
    let system = System::load(&options.source, progress)?;
    system.check_square()?;
    if system.a.rows() == 0 {
        return Err(no_rows(&system.name));
    }
    let b = system.rhs(options.rhs_file(), progress)?;
    let guess = system.guess(options.guess_file(), progress)?;
    let kernel = system.near_kernel(options.coords.as_deref(), progress)?;

    let given = Given { b, guess, kernel, config, timed: options.report.is_some() };
    let (outcome, solution) = solve_on(&*device, &system, given, progress)?;
    let code = finish(&system, &outcome, solution, options)?;
    trace.map_or(Ok(()), Trace::finish)?;
    Ok(ExitCode::from(code))
}

/// The error for a matrix without rows.
pub(crate) fn no_rows(name: &str) -> Failure {
    Failure::new(format!("{name} has no rows"), "give a matrix with at least one")
}

/// Refuses files that cannot be written, before the work and not after.
fn check_files(options: &SolveOptions) -> Result<(), Failure> {
    let inputs = [&options.source.file, &options.rhs, &options.guess, &options.coords, &options.config];
    let outputs = [
        ("--output", options.output.as_deref()),
        ("--json", options.json.as_deref()),
        ("--report", options.report.as_deref()),
        ("--trace", options.trace.as_deref()),
    ];
    output::check(
        inputs.into_iter().filter_map(|path| path.as_deref()),
        outputs.into_iter().filter_map(|(option, path)| Some((option, path?))),
    )?;
    if let Some(path) = &options.output {
        FileFormat::of_vector(path)?;
    }
    for (option, path, hint) in [
        ("--output", &options.output, "give the solution a file, as in --output x.mtx"),
        ("--report", &options.report, "give the page a file, as in --report solve.html"),
        ("--trace", &options.trace, "give the timeline a file, as in --trace solve.json"),
    ] {
        if let Some(path) = path.as_deref().filter(|path| output::is_standard(path)) {
            return Err(Failure::new(
                format!("{option} {} does not name a file", path.display()),
                format!("the report goes to standard output; {hint}"),
            ));
        }
    }
    Ok(())
}

/// Reports as asked: as JSON, as text, as a page. The matrix is for the page.
fn tell(
    name: &str,
    outcome: &Outcome,
    matrix: Option<CsrRef<'_, f64>>,
    options: &SolveOptions,
) -> Result<(), Failure> {
    let ranks =
        outcome.ranks.iter().flat_map(|ranks| ["mpirun".into(), "-n".into(), ranks.count.to_string().into()]);
    let typed: Vec<OsString> = ranks.chain(std::env::args_os()).collect();
    let outcome = &outcome.clone().with_next_step(next_step::next_step(outcome, options, &typed));
    let json = options.json.as_deref();
    if let Some(path) = json {
        output::write_json(path, outcome)?;
    }
    if !options.verbosity.quiet && !json.is_some_and(output::is_standard) {
        output::print(&ziggurat_report::text(name, outcome))?;
    }
    match &options.report {
        Some(path) => page::write(path, name, outcome, matrix, &shell::command(typed)),
        None => Ok(()),
    }
}

/// Reports, writes the solution, and returns the exit code.
fn finish(
    system: &System,
    outcome: &Outcome,
    solution: Vec<f64>,
    options: &SolveOptions,
) -> Result<u8, Failure> {
    tell(&system.name, outcome, Some(system.a.view()), options)?;
    if let Some(path) = &options.output {
        let solution = system.in_given_order(solution)?;
        if outcome.converged || is_finite(&solution) {
            write_vector(path, &solution)?;
        } else {
            note_breakdown(path);
        }
    }
    Ok(exit_code(outcome))
}

/// Whether a solution that has not converged may be written.
fn is_finite(solution: &[f64]) -> bool {
    solution.iter().all(|value| value.is_finite())
}

/// Says why the file for the solution is not written.
fn note_breakdown(path: &Path) {
    let path = path.display().to_string();
    let path = printable(&path);
    // Without standard error the report has to do.
    let _ = writeln!(io::stderr(), "note: the iteration broke down, so nothing is written to {path}");
}

fn exit_code(outcome: &Outcome) -> u8 {
    if outcome.converged { 0 } else { NOT_CONVERGED }
}

/// An iteration in words.
fn told(iteration: &krylov::Progress) -> String {
    let tolerance = iteration.target / iteration.residual * iteration.relative_residual;
    let (number, residual) = (iteration.iteration, iteration.relative_residual);
    if tolerance.is_finite() {
        format!("iteration {number}, relative residual {residual:.1e} (tolerance {tolerance:.0e})")
    } else {
        format!("iteration {number}")
    }
}

/// A solver after setup, in one process or on MPI ranks.
trait SetUp {
    /// Whether the constants are known to be the null space of the matrix.
    fn annihilates_constants(&self) -> bool;

    fn solve(
        &self,
        b: &[f64],
        guess: Option<&[f64]>,
        observer: &mut krylov::Observer<'_>,
    ) -> Result<Solution, Failure>;

    /// The time that the slowest process took, of the time on this one.
    fn slowest(&self, seconds: f64) -> f64;

    /// The data for the report; `timing` holds the seconds of setup and of the solve.
    fn outcome(&self, solution: &Solution, timing: (f64, f64)) -> Outcome;
}

impl SetUp for Solver {
    fn annihilates_constants(&self) -> bool {
        Solver::annihilates_constants(self)
    }

    fn solve(
        &self,
        b: &[f64],
        guess: Option<&[f64]>,
        observer: &mut krylov::Observer<'_>,
    ) -> Result<Solution, Failure> {
        self.solve_with(b, guess, &self.config().into(), Some(observer)).map_err(refused)
    }

    fn slowest(&self, seconds: f64) -> f64 {
        seconds
    }

    fn outcome(&self, solution: &Solution, timing: (f64, f64)) -> Outcome {
        Outcome::of(self, solution, timing)
    }
}

/// Sets up and solves, and measures both. This is the only place that does so. `rhs` makes the
/// right-hand side, which may depend on whether the constants are the null space. Ctrl-C stops the
/// iteration.
fn compute<S: SetUp>(
    set_up: impl FnOnce() -> Result<S, Failure>,
    rhs: impl FnOnce(bool) -> Result<Vec<f64>, Failure>,
    guess: Option<&[f64]>,
    progress: &Progress,
) -> Result<(S, Outcome, Vec<f64>), Failure> {
    let start = Instant::now();
    let stage = progress.stage("setting up");
    let solver = set_up()?;
    drop(stage);
    let setup_seconds = solver.slowest(start.elapsed().as_secs_f64());
    let b = rhs(solver.annihilates_constants())?;
    let start = Instant::now();
    let stage = progress.stage("solving");
    let interrupt = Interrupt::catch();
    let solution = solver.solve(&b, guess, &mut |iteration| {
        let told = told(iteration);
        tracing::debug!(target: "ziggurat::solve", "{told}");
        stage.tell(format!("solving: {told}"));
        if interrupt.is_requested() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    drop(stage);
    let solve_seconds = solver.slowest(start.elapsed().as_secs_f64());
    let outcome = solver.outcome(&solution, (setup_seconds, solve_seconds));
    Ok((solver, outcome, solution.x))
}

/// The inputs of a solve beside the matrix.
#[derive(Clone)]
pub(crate) struct Given {
    /// The right-hand side, unless it is the default.
    pub(crate) b: Option<Vec<f64>>,
    pub(crate) guess: Option<Vec<f64>>,
    pub(crate) kernel: Option<NearKernel>,
    pub(crate) config: SolverConfig,
    /// Whether some more cycles measure the time of each level.
    pub(crate) timed: bool,
}

/// Solves in one process on `device`.
pub(crate) fn solve_on(
    device: &dyn Device,
    system: &System,
    given: Given,
    progress: &Progress,
) -> Result<(Outcome, Vec<f64>), Failure> {
    let Given { b, guess, kernel, config, timed } = given;
    let builder = Solver::builder().config(config).device(device).cancel(Interrupt::cancel());
    let has_coordinates = kernel.is_some();
    let builder = match kernel {
        Some(kernel) => builder.near_kernel(kernel),
        None => builder,
    };
    let set_up = || builder.build(system.a.clone()).map_err(refused);
    let rhs = |singular| match b {
        Some(b) => Ok(b),
        None => system.default_rhs(singular),
    };
    let (solver, mut outcome, solution) = compute(set_up, rhs, guess.as_deref(), progress)?;
    outcome.has_coordinates = has_coordinates;
    if timed && outcome.stop_reason != StopReason::Interrupted.name() {
        let _stage = progress.stage("timing levels");
        outcome = outcome.with_cycle_seconds(&solver);
    }
    Ok((outcome, solution))
}

/// The solver's error, with what `inspect` can tell about it.
#[allow(clippy::needless_pass_by_value)] // as `map_err` calls it
pub(crate) fn refused(error: SolveError) -> Failure {
    match &error {
        // It says what this matrix or device does not admit, and what does.
        SolveError::Config(ConfigError::Value { .. }) => {
            return Failure::new(
                error.to_string(),
                "`ziggurat inspect` lists what would be chosen for this matrix",
            );
        }
        SolveError::Config(error) => return configuration::refused(error, ""),
        _ => {}
    }
    let device = match &error {
        SolveError::Device(error) | SolveError::Krylov(KrylovError::Device(error)) => Some(error),
        SolveError::Setup(error) => match error.cause() {
            SetupError::Device(error) => Some(error),
            _ => None,
        },
        _ => None,
    };
    if let Some(DeviceError::OutOfMemory { .. }) = device {
        return Failure::new(
            error.to_string(),
            "`ziggurat estimate` says how much memory a solve takes; try --preset low-memory, or several ranks",
        );
    }
    if matches!(error, SolveError::Device(_)) {
        return Failure::new(error.to_string(), "`ziggurat devices` lists where else to compute");
    }
    if error.stop_reason() == Some(StopReason::TimeLimit) {
        return Failure::new(
            error.to_string(),
            "allow more time (--max-seconds); `ziggurat estimate` predicts how long setup takes",
        );
    }
    if error.stop_reason().is_some() {
        return Failure::new(error.to_string(), "`ziggurat estimate` predicts how long setup takes");
    }
    Failure::new(error.to_string(), "`ziggurat inspect` tells what is special about this matrix")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::{Arguments, Command};
    use clap::Parser;
    use std::fs;
    use std::path::PathBuf;
    use ziggurat_sparse::io::read_vector;

    /// The options of the command line `ziggurat solve …`.
    fn options(arguments: &[&str]) -> SolveOptions {
        let all = ["ziggurat", "solve"].iter().chain(arguments);
        match Arguments::try_parse_from(all).unwrap().command {
            Command::Solve(options) => options,
            other => panic!("{other:?}"),
        }
    }

    /// Of a small solve, with another verdict if wanted.
    fn outcome(converged: bool) -> Outcome {
        let solver = Solver::builder().build(ziggurat_sparse::Csr::identity(1).unwrap()).unwrap();
        let mut outcome = Outcome::of(&solver, &solver.solve(&[1.0]).unwrap(), (0.0, 0.0));
        outcome.converged = converged;
        outcome
    }

    fn folder(test: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("ziggurat-{}-{test}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn a_shuffled_system_gives_its_solution_in_the_given_order() {
        let folder = folder("order");
        let (x, json) = (folder.join("x.mtx"), folder.join("r.json"));
        let [x_name, json_name] = [&x, &json].map(|path| path.to_str().unwrap());
        let arguments =
            ["--problem", "neumann3d:4", "--shuffle", "9", "--output", x_name, "--json", json_name];
        let options = options(&arguments);
        let system = System::load(&options.source, &Progress::new(false)).unwrap();
        // The right-hand side itself stands for a solution: it is known in both orders.
        let b = system.rhs(None, &Progress::new(false)).unwrap().unwrap();
        let given = "neumann3d:4".parse::<ziggurat_sparse::gallery::Problem>().unwrap().rhs().unwrap();
        assert_ne!(b, given);
        assert_eq!(finish(&system, &outcome(true), b, &options).unwrap(), 0);
        assert_eq!(read_vector(&x).unwrap(), given);
        let written: serde_json::Value = serde_json::from_str(&fs::read_to_string(&json).unwrap()).unwrap();
        assert_eq!(written["converged"], true);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn what_did_not_converge_exits_with_two_even_if_the_solution_is_nonsense() {
        let folder = folder("nonsense");
        let x = folder.join("x.mtx");
        let options = options(&["--problem", "poisson2d:2", "--output", x.to_str().unwrap()]);
        let system = System::load(&options.source, &Progress::new(false)).unwrap();
        let finish_with = |solution| finish(&system, &outcome(false), solution, &options).unwrap();
        assert_eq!(finish_with(vec![f64::NAN; 4]), NOT_CONVERGED);
        assert!(!x.exists());
        assert_eq!(finish_with(vec![1.0; 4]), NOT_CONVERGED);
        assert_eq!(read_vector(&x).unwrap(), [1.0; 4]);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_problem_with_several_unknowns_per_node_brings_its_coordinates() {
        let options = options(&["--problem", "elasticity3d:2"]);
        let system = System::load(&options.source, &Progress::new(false)).unwrap();
        let coordinates = system.coordinates(None, &Progress::new(false)).unwrap().unwrap();
        assert_eq!((coordinates.dimension, coordinates.points.len() * 3), (3, system.a.rows()));
    }
}

//! `ziggurat solve`: the system is read, solved and reported.
//!
//! Everything around the solver is here; the solver itself is called in [`compute`] and nowhere else.

mod report;

use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Instant;

use ziggurat::amg::{self, LevelPrecision};
use ziggurat::krylov::{self, DEFAULT_RESTART, Stopping};
use ziggurat::{SolveError, Solver, SolverConfig};
use ziggurat_sparse::Kind;
use ziggurat_sparse::io::write_vector;

use crate::arguments::{Device, Krylov, Method, Precision, SolveOptions};
use crate::failure::Failure;
use crate::output;
use crate::progress::Progress;
use crate::system::System;
use report::Outcome;

/// What [`solve::run`](run) exits with when the solver stopped without having converged.
const NOT_CONVERGED: u8 = 2;

pub(crate) fn run(options: &SolveOptions, progress: &Progress) -> Result<ExitCode, Failure> {
    let json = options.json.as_deref();
    let inputs = [&options.source.file, &options.rhs, &options.coords];
    let outputs = [("--output", options.output.as_deref()), ("--json", json)];
    output::check(
        inputs.into_iter().filter_map(|path| path.as_deref()),
        outputs.into_iter().filter_map(|(option, path)| Some((option, path?))),
    )?;
    if let (Some(path), true) = (&options.output, options.output.as_deref().is_some_and(output::is_standard))
    {
        return Err(Failure::new(
            format!("--output {} does not name a file", path.display()),
            "the report goes to standard output; give the solution a file, as in --output x.mtx",
        ));
    }
    let system = System::load(&options.source, progress)?;
    system.check_square("solve with")?;
    if system.a.rows() == 0 {
        return Err(Failure::new(format!("{} has no rows", system.name), "give a matrix with at least one"));
    }
    let b = system.rhs(options.rhs.as_deref(), progress)?;
    // Read, so that a wrong file is refused now; no method uses coordinates yet.
    system.coordinates(options.coords.as_deref(), progress)?;

    let outcome = compute(&system, &b, options, progress)?;
    finish(&system, outcome, options).map(ExitCode::from)
}

/// Reports, writes the solution, and tells the exit code.
fn finish(system: &System, outcome: Outcome, options: &SolveOptions) -> Result<u8, Failure> {
    let json = options.json.as_deref();
    if let Some(path) = json {
        output::write_json(path, &outcome)?;
    }
    if !json.is_some_and(output::is_standard) {
        output::print(&report::text(&system.name, &outcome, options.rtol))?;
    }
    let converged = outcome.converged;
    if let Some(path) = &options.output {
        let solution = system.in_given_order(outcome.solution)?;
        if converged || solution.iter().all(|value| value.is_finite()) {
            write_vector(path, &solution)?;
        } else {
            let path = path.display();
            let _ = writeln!(io::stderr(), "note: the iteration broke down, so nothing is written to {path}");
        }
    }
    Ok(if converged { 0 } else { NOT_CONVERGED })
}

/// Solves. The only place that knows the solver: from the options to its configuration, from its answer to an [`Outcome`].
fn compute(
    system: &System,
    b: &[f64],
    options: &SolveOptions,
    progress: &Progress,
) -> Result<Outcome, Failure> {
    let config = configure(options)?;
    let start = Instant::now();
    let stage = progress.stage("setting up");
    let solver = Solver::new(&system.a, config.clone()).map_err(refused)?;
    drop(stage);
    let setup_seconds = start.elapsed().as_secs_f64();
    let start = Instant::now();
    let stage = progress.stage("solving");
    let solution = solver.solve(b).map_err(refused)?;
    drop(stage);
    let hierarchy = solver.hierarchy();
    let LevelPrecision { working, storage } = config.precision;
    let level = |level: &amg::Level| report::Level {
        rows: level.matrix().rows(),
        nnz: level.matrix().nnz(),
        storage: storage.to_string(),
        working: working.to_string(),
        format: "csr".to_owned(),
        bytes: (level.matrix().nnz() * (4 + storage.facts().bytes) + 8 * (level.matrix().rows() + 1)) as u64,
    };
    Ok(Outcome {
        converged: solution.report.reason.is_converged(),
        stop_reason: solution.report.reason.name().to_owned(),
        iterations: solution.report.iterations,
        relative_residual: solution.report.relative_residual,
        setup_seconds,
        solve_seconds: start.elapsed().as_secs_f64(),
        rows: system.a.rows(),
        nnz: system.a.nnz(),
        operator_complexity: hierarchy.operator_complexity(),
        grid_complexity: hierarchy.grid_complexity(),
        levels: hierarchy.levels().iter().map(level).collect(),
        peak_bytes: report::peak_bytes(),
        config: serde_json::json!({
            "method": "classical",
            "krylov": solver.method().to_string(),
            "rtol": config.stopping.rtol,
            "max_iterations": config.stopping.max_iterations,
            "hierarchy": format!("{:?}", config.hierarchy),
            "cycling": format!("{:?}", config.cycling),
        }),
        method: "classical".to_owned(),
        krylov: solver.method().name().to_owned(),
        precision: storage.to_string(),
        version: env!("CARGO_PKG_VERSION"),
        solution: solution.x,
    })
}

/// The solver's configuration; a choice that it does not have yet is a failure that says so.
fn configure(options: &SolveOptions) -> Result<SolverConfig, Failure> {
    let missing =
        |option: &str, hint: &str| Err(Failure::new(format!("{option} is not in the solver yet"), hint));
    match options.method {
        Method::Auto | Method::Classical => {}
        Method::Sa | Method::Pairwise | Method::Structured => {
            return missing("this --method", "use --method classical, or leave it out");
        }
    }
    if options.device != Device::Cpu {
        return missing("--device gpu", "use --device cpu, or leave it out");
    }
    let precision = match options.precision {
        Precision::Auto | Precision::F64 => LevelPrecision::default(),
        Precision::F32 => LevelPrecision { working: Kind::F32, storage: Kind::F32 },
        Precision::F16 | Precision::Bf16 => {
            return missing("16-bit --precision", "use --precision f64 or f32, or leave it out");
        }
    };
    let restart = DEFAULT_RESTART;
    let krylov = match options.krylov {
        Krylov::Auto => None,
        Krylov::Cg => Some(krylov::Method::Cg),
        Krylov::Fcg => Some(krylov::Method::FlexibleCg),
        Krylov::Gmres => Some(krylov::Method::Gmres { restart }),
        Krylov::Fgmres => Some(krylov::Method::Fgmres { restart }),
        Krylov::Bicgstab => Some(krylov::Method::BiCgStab),
    };
    let stopping = Stopping::default().rtol(options.rtol);
    Ok(SolverConfig { krylov, stopping, precision, ..SolverConfig::default() })
}

/// The solver's error, with what `inspect` can tell about it.
#[allow(clippy::needless_pass_by_value)] // as `map_err` calls it
fn refused(error: SolveError) -> Failure {
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

    /// What the command line `ziggurat solve …` asks for.
    fn options(arguments: &[&str]) -> SolveOptions {
        let all = ["ziggurat", "solve"].iter().chain(arguments);
        match Arguments::try_parse_from(all).unwrap().command {
            Command::Solve(options) => options,
            other => panic!("{other:?}"),
        }
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
        let system = System::load(&options.source, &Progress::new()).unwrap();
        // The right-hand side itself stands for a solution: it is known in both orders.
        let b = system.rhs(None, &Progress::new()).unwrap();
        let given = "neumann3d:4".parse::<ziggurat_sparse::gallery::Problem>().unwrap().rhs().unwrap();
        assert_ne!(b, given);
        let outcome = Outcome { solution: b, ..report::tests::outcome(true) };
        assert_eq!(finish(&system, outcome, &options).unwrap(), 0);
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
        let system = System::load(&options.source, &Progress::new()).unwrap();
        let finish_with = |solution| {
            let outcome = Outcome { solution, ..report::tests::outcome(false) };
            finish(&system, outcome, &options).unwrap()
        };
        assert_eq!(finish_with(vec![f64::NAN; 4]), NOT_CONVERGED);
        assert!(!x.exists());
        assert_eq!(finish_with(vec![1.0; 4]), NOT_CONVERGED);
        assert_eq!(read_vector(&x).unwrap(), [1.0; 4]);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_problem_with_several_unknowns_per_node_brings_its_coordinates() {
        let options = options(&["--problem", "elasticity3d:2"]);
        let system = System::load(&options.source, &Progress::new()).unwrap();
        let coordinates = system.coordinates(None, &Progress::new()).unwrap().unwrap();
        assert_eq!((coordinates.dimension, coordinates.points.len() * 3), (3, system.a.rows()));
    }
}

//! Real systems: every matrix of the shared collection, solved as `ziggurat solve FILE` does
//! without an option and with `--preset robust`, with the right-hand side that comes with it (else
//! all ones, or one that sums to zero if the matrix is singular).
//!
//! Each row has what was chosen, what the solve changed, and the residual, recomputed here. Beside
//! them, PyAMG's black box and scipy's factorisation solve the same systems, if the environment of
//! `cargo xtask python` is there, and so does hypre with its defaults (conjugate gradients where
//! ours are, else GMRES), if it is installed; the picture is a performance profile.

mod peers;
mod profile;

use std::path::Path;
use std::time::Instant;

use serde::Serialize;
use serde_json::{Value, json};
use tasks::python::Environment;
use tasks::table::Table;
use ziggurat::config::{Decision, Krylov};
use ziggurat::{Solver, SolverConfig, Stronger};

use super::race::HypreDefaults;
use super::systems::{RealSystem, relative_residual, whole_collection};
use super::{Bench, BenchError, Setting};
use peers::{Answer, PEERS, Rhs};
use profile::FACTORS;

pub(super) const BENCH: Bench = Bench {
    name: "collection",
    what: "real systems: which the presets default and robust solve, by what, in what time",
    rounds: 1,
    run,
};

/// The presets to compare.
const PRESETS: [&str; 2] = ["default", "robust"];

/// The result for one matrix.
#[derive(Debug, Serialize)]
struct Row {
    matrix: String,
    rows: usize,
    nnz: usize,
    /// Stop reason, or the error of setup.
    outcome: String,
    converged: bool,
    method: String,
    krylov: &'static str,
    /// The change that the solve made, if any.
    promotion: Option<String>,
    iterations: usize,
    /// ‖b − A x‖ / ‖b‖, computed here.
    residual: f64,
    setup_seconds: f64,
    solve_seconds: f64,
    /// The automatic choices with their reasons.
    decisions: Vec<Decision>,
    /// The reports of other solvers, by name.
    peers: Vec<(&'static str, Option<Answer>)>,
}

impl Row {
    fn seconds(&self) -> f64 {
        self.setup_seconds + self.solve_seconds
    }

    /// The report of a peer, if it took part.
    fn peer(&self, name: &str) -> Option<Option<&Answer>> {
        let found = self.peers.iter().find(|(peer, _)| *peer == name);
        found.map(|(_, answer)| answer.as_ref())
    }
}

fn run(setting: &Setting) -> Result<Value, BenchError> {
    let paths = whole_collection(setting.quick);
    let Some(pool) = setting.pools.last() else { return Ok(Value::Null) };
    let environment = Environment::there();
    if environment.is_none() {
        println!("without PyAMG and scipy: create their environment with cargo xtask python");
    }
    let hypre = match HypreDefaults::new(setting.quick) {
        Ok(hypre) => Some(hypre),
        Err(error) => {
            println!("without hypre: {error}");
            None
        }
    };
    let (mut results, mut picture) = (Vec::new(), None);
    for preset in PRESETS {
        let config = SolverConfig::preset(preset)
            .map_err(|error| BenchError::Solve(preset.to_owned(), error.to_string()))?;
        let mut table = Table::new([
            "matrix",
            "rows",
            "entries",
            "outcome",
            "method",
            "iterations",
            "residual",
            "setup",
            "solve",
            "pyamg",
            "spsolve",
            "hypre",
        ]);
        let mut rows = Vec::new();
        for path in &paths {
            let system = RealSystem::read(path)?;
            let (mut row, rhs, b) = pool.run(|| solve(&system, path, &config))?;
            let [of_python @ .., last] = PEERS;
            if let (Some(environment), true) = (&environment, preset == PRESETS[0]) {
                for peer in of_python {
                    let answer = peers::run(environment.python().as_ref(), peer, path, &rhs, pool.threads)?;
                    row.peers.push((peer, answer));
                }
            }
            if let (Some(hypre), true) = (&hypre, preset == PRESETS[0]) {
                let cg = row.krylov == Krylov::Cg.name();
                let solved = hypre.solve(&system.a, &b, cg, pool.threads)?;
                let answer = |(seconds, residual)| Answer { seconds, residual: Some(residual) };
                row.peers.push((last, solved.map(answer)));
            }
            let peers = PEERS.map(|name| match row.peer(name) {
                Some(answer) => {
                    let solved = answer.and_then(Answer::solved);
                    solved.map_or("failed".to_owned(), |seconds| format!("{seconds:.2}"))
                }
                None => String::new(),
            });
            table.row([
                row.matrix.clone(),
                row.rows.to_string(),
                row.nnz.to_string(),
                row.outcome.clone(),
                row.method.clone(),
                row.iterations.to_string(),
                format!("{:.1e}", row.residual),
                format!("{:.2}", row.setup_seconds),
                format!("{:.2}", row.solve_seconds),
                peers[0].clone(),
                peers[1].clone(),
                peers[2].clone(),
            ]);
            rows.push(row);
        }
        let solved = rows.iter().filter(|row| row.converged).count();
        let direct = rows.iter().filter(|row| row.converged && row.method.ends_with("direct")).count();
        println!(
            "preset {preset}\n\n{table}\n{solved} of {} are solved, {direct} of them by sparse factors\n",
            rows.len()
        );
        if preset == PRESETS[0] && (environment.is_some() || hypre.is_some()) {
            picture = Some(profiles(&rows));
        }
        results.push(json!({ "preset": preset, "solved": solved, "by_factors": direct, "matrices": rows }));
    }
    Ok(json!({ "presets": results, "picture": picture }))
}

/// Prints the performance profiles, and draws them.
fn profiles(rows: &[Row]) -> String {
    let ours = rows.iter().map(|row| row.converged.then(|| row.seconds())).collect();
    let mut solvers = vec![profile::Solver { name: "ziggurat", seconds: ours }];
    let took_part = |name: &&str| rows.first().is_some_and(|row| row.peer(name).is_some());
    for name in PEERS.into_iter().filter(took_part) {
        let of = |row: &Row| row.peer(name)??.solved();
        solvers.push(profile::Solver { name, seconds: rows.iter().map(of).collect() });
    }
    let heads = FACTORS.map(|factor| format!("within {factor}x"));
    let mut table = Table::new(["solver".to_owned()].into_iter().chain(heads));
    for (solver, factors) in solvers.iter().zip(profile::factors(&solvers)) {
        let shares =
            FACTORS.map(|factor| format!("{:.0} %", 100.0 * profile::share(&factors, factor, rows.len())));
        table.row([solver.name.to_owned()].into_iter().chain(shares));
    }
    println!("share of the systems solved within a factor of the fastest of them\n\n{table}");
    profile::picture(&solvers)
}

/// Solves a system; also returns its right-hand side, as a name and as numbers.
fn solve(
    system: &RealSystem,
    path: &Path,
    config: &SolverConfig,
) -> Result<(Row, Rhs, Vec<f64>), BenchError> {
    let RealSystem { name, a, b } = system;
    let mut row = Row {
        rows: a.rows(),
        nnz: a.nnz(),
        outcome: String::new(),
        converged: false,
        method: String::new(),
        krylov: "",
        promotion: None,
        iterations: 0,
        residual: f64::NAN,
        setup_seconds: 0.0,
        solve_seconds: 0.0,
        decisions: Vec::new(),
        peers: Vec::new(),
        matrix: name.clone(),
    };
    let given = RealSystem::rhs_path(path).map(Rhs::File);
    let start = Instant::now();
    let solver = match Solver::new(a.clone(), config.clone()) {
        Ok(solver) => solver,
        Err(error) => {
            row.outcome = error.to_string();
            let b = b.clone().unwrap_or_else(|| vec![1.0; a.rows()]);
            return Ok((row, given.unwrap_or(Rhs::Ones), b));
        }
    };
    row.setup_seconds = start.elapsed().as_secs_f64();
    row.decisions = solver.decisions();
    row.krylov = solver.config().krylov.name();
    let rhs = given.unwrap_or(if solver.annihilates_constants() { Rhs::Balanced } else { Rhs::Ones });
    let b = b.clone().unwrap_or_else(|| RealSystem::default_rhs(&solver));
    let start = Instant::now();
    let solution =
        solver.solve(&b).map_err(|error| BenchError::Solve(row.matrix.clone(), error.to_string()))?;
    row.solve_seconds = start.elapsed().as_secs_f64();
    row.outcome = solution.report.reason.name().to_owned();
    row.converged = solution.report.reason.is_converged();
    row.iterations = solution.report.iterations;
    row.residual = relative_residual(a, &solution.x, &b);
    let chosen = solver.config().method.name();
    row.method = match &solution.promotion {
        Some(promotion) => match promotion.to {
            Stronger::Factors => format!("{chosen}, then direct"),
            Stronger::Smoother(smoother) => format!("{chosen}, then {smoother}"),
            Stronger::Levels(_) => chosen.to_owned(),
        },
        None => chosen.to_owned(),
    };
    row.promotion = solution.promotion.map(|promotion| promotion.to_string());
    Ok((row, rhs, b))
}

//! Whether advice helps: every piece of advice about a matrix of the shared collection that says
//! what to do is followed, and the system is solved as given and as advised. Advice that was given
//! in the past and did not help is tried as well ("not advised").
//!
//! Advice about the matrix (`ziggurat::diagnose`) is followed by changing the matrix or the
//! configuration. Both solves are without the fallback, which would hide the difference. The next
//! step of the command (`next_step` of `ziggurat solve --json`) is followed by running it, after
//! solves without options, without the fallback, with a low limit of iterations and in 16 bits.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use serde::Serialize;
use serde_json::{Value, json};
use tasks::programs;
use tasks::table::Table;
use ziggurat::amg::interpolate::NearKernel;
use ziggurat::config::{Krylov, Method};
use ziggurat::{Solver, SolverConfig, diagnose};
use ziggurat_sparse::algebra::scale_rows;
use ziggurat_sparse::{Coo, Csr};

use super::systems::{RealSystem, whole_collection};
use super::{Bench, BenchError, Setting};

pub(super) const BENCH: Bench =
    Bench { name: "advice", what: "real systems: whether the advice of reports helps", rounds: 1, run };

/// The options of the solves whose next step is followed.
const FOLLOWED_AFTER: [&[&str]; 4] = [
    &[],
    &["--no-fallback"],
    &["--no-fallback", "--max-iterations", "20"],
    &["--no-fallback", "--precision", "f16"],
];

/// A system as given, or changed as advised.
#[derive(Clone)]
struct Attempt {
    a: Arc<Csr<f64>>,
    b: Option<Vec<f64>>,
    near_kernel: Option<NearKernel>,
    config: SolverConfig,
}

/// How a solve ended.
#[derive(Clone, Debug, Serialize)]
struct Ended {
    /// Stop reason, or the error of setup.
    reason: String,
    converged: bool,
    iterations: usize,
    seconds: f64,
}

/// A piece of advice that was followed.
#[derive(Debug, Serialize)]
struct Followed {
    advice: String,
    matrix: String,
    as_given: Ended,
    as_advised: Ended,
}

fn run(setting: &Setting) -> Result<Value, BenchError> {
    let mut paths = whole_collection(false);
    if setting.quick {
        paths.retain(|path| path.ends_with("jpwh_991.mtx.gz"));
    }
    let Some(pool) = setting.pools.last() else { return Ok(Value::Null) };
    let mut about_matrices = Vec::new();
    for path in &paths {
        about_matrices.extend(pool.run(|| follow_diagnosis(path))?);
    }
    print("advice about the matrix, followed", &about_matrices);
    let mut next_steps = Vec::new();
    if !setting.quick {
        let program = programs::build(&["--release", "-p", "ziggurat-cli"], &["--bin", "ziggurat"])
            .map_err(BenchError::Program)?
            .join("ziggurat");
        for path in &paths {
            for options in FOLLOWED_AFTER {
                next_steps.extend(follow_next_step(&program, path, options)?);
            }
        }
        print("next steps of the command, followed", &next_steps);
    }
    Ok(json!({ "about_matrices": about_matrices, "next_steps": next_steps }))
}

fn print(title: &str, all: &[Followed]) {
    let mut table = Table::new(["advice", "matrix", "as given", "s", "as advised", "s", "helps"]);
    let words = |ended: &Ended| match ended.converged {
        true => format!("{} iterations", ended.iterations),
        false => ended.reason.clone(),
    };
    let mut all: Vec<&Followed> = all.iter().collect();
    all.sort_by(|one, other| one.advice.cmp(&other.advice)); // stable: matrices keep their order
    for followed in all {
        let Followed { advice, matrix, as_given, as_advised } = followed;
        let seconds = |ended: &Ended| format!("{:.2}", ended.seconds);
        table.row([
            advice.clone(),
            matrix.clone(),
            words(as_given),
            seconds(as_given),
            words(as_advised),
            seconds(as_advised),
            followed.effect().to_owned(),
        ]);
    }
    println!("{title}\n\n{table}");
}

impl Followed {
    /// Whether the advice helps. Times vary, so iterations decide where both solves converge, and
    /// times only where one takes twice as long as the other.
    fn effect(&self) -> &'static str {
        let Followed { as_given, as_advised, .. } = self;
        let fewer = |one: &Ended, other: &Ended| 10 * one.iterations < 9 * other.iterations;
        let faster = |one: &Ended, other: &Ended| 2.0 * one.seconds < other.seconds;
        match (as_given.converged, as_advised.converged) {
            (false, true) => "solves it",
            (true, false) => "prevents it",
            (false, false) => "no",
            _ if faster(as_advised, as_given) => "yes",
            _ if faster(as_given, as_advised) => "slower",
            _ if fewer(as_advised, as_given) => "yes",
            _ if fewer(as_given, as_advised) => "slower",
            _ => "equal",
        }
    }
}

/// Follows each piece of advice about a matrix that says what to do.
fn follow_diagnosis(path: &Path) -> Result<Vec<Followed>, BenchError> {
    let RealSystem { name: matrix, a, b } = RealSystem::read(path)?;
    let diagnosis = diagnose(a.view());
    let config = SolverConfig { fallback: false, ..SolverConfig::default() };
    let given = Attempt { a, b, near_kernel: None, config };
    let mut as_given = None;
    let mut all = Vec::new();
    for advice in diagnosis.advice() {
        for (advice, advised) in advised(advice.code, &given, path)? {
            let as_given = as_given.get_or_insert_with(|| attempt(&given)).clone();
            let as_advised = attempt(&advised);
            all.push(Followed { advice, matrix: matrix.clone(), as_given, as_advised });
        }
    }
    Ok(all)
}

/// The system as advised, in each way that the advice leaves open; none if it only informs.
fn advised(code: &str, given: &Attempt, path: &Path) -> Result<Vec<(String, Attempt)>, BenchError> {
    let named = |attempt: Attempt| vec![(code.to_owned(), attempt)];
    let with_krylov = |krylov: Krylov| {
        let config = SolverConfig { krylov, ..given.config.clone() };
        (format!("{code}: {krylov}"), Attempt { config, ..given.clone() })
    };
    let with_factors = || {
        let config = SolverConfig { method: Method::Direct, ..given.config.clone() };
        (format!("{code}: direct"), Attempt { config, ..given.clone() })
    };
    let diagonal = || given.a.view().diagonal(given.a.all_rows());
    Ok(match code {
        "cg" => vec![with_krylov(Krylov::Cg)],
        "nonsymmetric" | "nearly-symmetric" => {
            vec![with_krylov(Krylov::Gmres), with_krylov(Krylov::Bicgstab)]
        }
        "indefinite" | "zero-diagonal" => vec![with_factors()],
        "saddle-point" => vec![with_factors(), with_krylov(Krylov::Minres)],
        "mixed-diagonal" => {
            let diagonal = diagonal();
            let negative = diagonal.iter().filter(|&&value| value < 0.0).count();
            let positive = diagonal.iter().filter(|&&value| value > 0.0).count();
            let rare = if negative <= positive { -1.0 } else { 1.0 };
            let factors: Vec<f64> =
                diagonal.iter().map(|value| if value * rare > 0.0 { -1.0 } else { 1.0 }).collect();
            let negated = with_scaled_rows(given, &factors)?;
            vec![with_factors(), ("not advised: negate rows of the rarer sign".to_owned(), negated)]
        }
        "dirichlet-columns" => {
            let symmetric = without_dirichlet_columns(given)?;
            vec![("not advised: eliminate boundary columns".to_owned(), symmetric)]
        }
        "explicit-zeros" => named(with_entries(given, |_, _, value| value != 0.0)?),
        "blocks" => with_modes(given, path)?.map_or(Vec::new(), named),
        _ => Vec::new(),
    })
}

/// D A x = D b
fn with_scaled_rows(given: &Attempt, factors: &[f64]) -> Result<Attempt, BenchError> {
    let mut a = (*given.a).clone();
    scale_rows(&mut a, factors)?;
    let b = given.b.clone().unwrap_or_else(|| vec![1.0; a.rows()]);
    let b = b.iter().zip(factors).map(|(b, factor)| b * factor).collect();
    Ok(Attempt { a: Arc::new(a), b: Some(b), ..given.clone() })
}

/// The matrix with those entries for which `keep(row, column, value)` holds.
fn with_entries(given: &Attempt, keep: impl Fn(usize, usize, f64) -> bool) -> Result<Attempt, BenchError> {
    let n = given.a.rows();
    let mut a = Coo::with_capacity(n, n, given.a.nnz())?;
    for row in 0..n {
        let (columns, values) = given.a.row(row);
        for (&column, &value) in columns.iter().zip(values) {
            if keep(row, column as usize, value) {
                a.push(row, column as usize, value)?;
            }
        }
    }
    Ok(Attempt { a: Arc::new(a.into_csr()), ..given.clone() })
}

/// Known values of boundary rows, which have no entry but the diagonal, moved to the right-hand
/// side.
fn without_dirichlet_columns(given: &Attempt) -> Result<Attempt, BenchError> {
    let a = &given.a;
    let known = |row: usize| {
        let (columns, values) = a.row(row);
        let mut nonzero = columns.iter().zip(values).filter(|(_, value)| **value != 0.0);
        match (nonzero.next(), nonzero.next()) {
            (Some((&column, &value)), None) if column as usize == row => Some(value),
            _ => None,
        }
    };
    let diagonal: Vec<Option<f64>> = (0..a.rows()).map(known).collect();
    let given_b = given.b.clone().unwrap_or_else(|| vec![1.0; a.rows()]);
    let mut b = given_b.clone();
    for (row, b) in b.iter_mut().enumerate() {
        let (columns, values) = a.row(row);
        for (&column, value) in columns.iter().zip(values) {
            let column = column as usize;
            if let Some(diagonal) = diagonal[column].filter(|_| column != row) {
                *b -= value * given_b[column] / diagonal;
            }
        }
    }
    let inner = with_entries(given, |row, column, _| row == column || diagonal[column].is_none())?;
    Ok(Attempt { b: Some(b), ..inner })
}

/// With the coordinates or the near-null space that come with the matrix.
fn with_modes(given: &Attempt, path: &Path) -> Result<Option<Attempt>, BenchError> {
    let modes = RealSystem::modes(path, given.a.view())?;
    Ok(modes.map(|modes| Attempt { near_kernel: Some(modes), ..given.clone() }))
}

/// Sets up and solves.
fn attempt(attempt: &Attempt) -> Ended {
    let Attempt { a, b, near_kernel, config } = attempt.clone();
    let mut ended = Ended { reason: String::new(), converged: false, iterations: 0, seconds: 0.0 };
    let start = Instant::now();
    let builder = Solver::builder().config(config);
    let builder = match near_kernel {
        Some(near_kernel) => builder.near_kernel(near_kernel),
        None => builder,
    };
    let solved = builder.build(a).and_then(|solver| {
        let b = b.unwrap_or_else(|| RealSystem::default_rhs(&solver));
        solver.solve(&b)
    });
    ended.seconds = start.elapsed().as_secs_f64();
    match solved {
        Ok(solution) => {
            ended.reason = solution.report.reason.name().to_owned();
            ended.converged = solution.report.reason.is_converged();
            ended.iterations = solution.report.iterations;
        }
        Err(error) => ended.reason = error.to_string(),
    }
    ended
}

/// Solves with the command and these options, then runs the next step that it names; `None` if the
/// step is not another solve.
fn follow_next_step(program: &Path, path: &Path, options: &[&str]) -> Result<Option<Followed>, BenchError> {
    let system = RealSystem::read(path)?;
    let mut words = vec!["solve".to_owned(), path.display().to_string()];
    if let Some(rhs) = RealSystem::rhs_path(path) {
        words.extend(["--rhs".to_owned(), rhs.display().to_string()]);
    }
    words.extend(options.iter().map(|&option| option.to_owned()));
    let Some(report) = report(program, &words)? else { return Ok(None) };
    let command = report["next_step"]["command"].as_str().unwrap_or_default();
    // The command names its program first, and no path here contains a space.
    let mut next: Vec<String> = command.split_whitespace().skip(1).map(str::to_owned).collect();
    next.retain(|word| word != "--json" && word != "-");
    if next.first().is_none_or(|word| word != "solve") {
        return Ok(None);
    }
    let Some(advised) = self::report(program, &next)? else { return Ok(None) };
    let added: Vec<&String> = next.iter().filter(|word| !words.contains(word)).collect();
    let added = added.iter().map(|word| word.as_str()).collect::<Vec<_>>().join(" ");
    Ok(Some(Followed {
        advice: added,
        matrix: system.name,
        as_given: ended(&report),
        as_advised: ended(&advised),
    }))
}

/// The JSON report of a run of the command; `None` if it refuses the system.
fn report(program: &Path, words: &[String]) -> Result<Option<Value>, BenchError> {
    let output = Command::new(program).args(words).args(["--json", "-"]).output();
    let output = output.map_err(|error| BenchError::Program(error.to_string()))?;
    Ok(serde_json::from_slice(&output.stdout).ok())
}

fn ended(report: &Value) -> Ended {
    let seconds = |key: &str| report[key].as_f64().unwrap_or(f64::NAN);
    Ended {
        reason: report["stop_reason"].as_str().unwrap_or_default().to_owned(),
        converged: report["converged"].as_bool().unwrap_or(false),
        iterations: report["iterations"].as_u64().unwrap_or(0) as usize,
        seconds: seconds("setup_seconds") + seconds("solve_seconds"),
    }
}

//! Every number of a configuration, at every kind of value: it is honoured, or refused with an
//! error that names the key, the value and the range. Nothing panics, hangs or allocates without
//! bound.
//!
//! The keys come from the default configuration, so a new one is tested without being listed.

use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use serde_json::{Map, Value, json};
use ziggurat::config::{ConfigError, Krylov};
use ziggurat::{SolveError, SolveOptions, Solver, SolverConfig};
use ziggurat_sparse::Csr;
use ziggurat_sparse::gallery::Problem;

/// Far more than a solve of 144 rows takes, even on a busy machine.
const LIMIT: Duration = Duration::from_secs(100);

/// Configurations that between them use every key.
fn bases() -> [Value; 5] {
    [
        json!({ "method": "sa", "krylov": "cg", "smoother": { "kind": "chebyshev" } }),
        json!({ "method": "classical", "krylov": "fgmres", "smoother": { "kind": "gauss-seidel" } }),
        json!({ "method": "pairwise", "krylov": "fcg", "smoother": { "kind": "jacobi" }, "cycle": { "kind": "k" } }),
        json!({ "method": "air", "krylov": "fgmres", "smoother": { "kind": "fc-jacobi" } }),
        json!({ "method": "sa", "krylov": "gmres", "smoother": { "kind": "gauss-seidel" }, "cycle": { "kind": "w" } }),
    ]
    .map(|mut base| {
        base["hierarchy"] = json!({ "coarse_rows": 10 });
        base
    })
}

/// The values of a number: edges of the ranges of integers and of fractions, and what is neither.
fn values() -> Vec<Value> {
    let integers =
        [0, 1, 2, 31, 33, 100, 101, 1000, 1001, 5000, 5001, 1 << 32, 1 << 63, u64::MAX - 1, u64::MAX];
    let fractions = [0.5, 1.0, 1.0 + f64::EPSILON, 2.5, f64::MIN_POSITIVE, 1e-300, 1e300, f64::MAX];
    let negative = [-1.0, -0.5, -1e300].map(Value::from);
    let integers = integers.map(Value::from);
    integers
        .into_iter()
        .chain(fractions.map(Value::from))
        .chain(negative)
        .chain([json!(-1), json!(i64::MIN)])
        .collect()
}

/// The paths of all numbers, and of what may be a number.
fn numbers(value: &Value, path: &str, found: &mut Vec<String>) {
    let join = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    match value {
        Value::Object(map) => map.iter().for_each(|(key, value)| numbers(value, &join(key), found)),
        Value::Number(_) | Value::Null => found.push(path.to_owned()),
        _ => {}
    }
}

/// All numbers of the default configuration. A filter is one of two.
fn keys() -> Vec<String> {
    let mut found = Vec::new();
    numbers(&serde_json::to_value(SolverConfig::default()).unwrap(), "", &mut found);
    let other = |path: &String| {
        path.strip_suffix("filter.threshold").map(|path| format!("{path}filter.average_connections"))
    };
    let others: Vec<String> = found.iter().filter_map(other).collect();
    found.extend(others);
    found
}

/// A configuration with one more key.
fn with(base: &Value, path: &str, value: &Value) -> Value {
    let mut config = base.clone();
    let mut place = &mut config;
    for key in path.split('.') {
        place = place.as_object_mut().unwrap().entry(key).or_insert_with(|| Value::Object(Map::new()));
    }
    *place = value.clone();
    config
}

/// Solves, or returns why the configuration or the setup is refused.
fn solve(a: &Arc<Csr<f64>>, text: &str) -> Result<(), SolveError> {
    let config = SolverConfig::from_json(text)?;
    let b = vec![1.0; a.rows()];
    let solver = Solver::new(a.clone(), config)?;
    let solution = solver.solve(&b)?;
    assert_eq!(solution.x.len(), b.len());
    if solution.report.reason.is_converged() {
        let stopping = solver.config().stopping;
        let squares = (0..a.rows()).map(|row| {
            let (columns, values) = a.row(row);
            let ax: f64 = columns.iter().zip(values).map(|(&j, a)| a * solution.x[j as usize]).sum();
            (b[row] - ax).powi(2)
        });
        let residual = squares.sum::<f64>().sqrt();
        let b_norm = (a.rows() as f64).sqrt(); // and the norm of the residual of a zero guess
        assert!(residual <= 1.01 * stopping.target(b_norm, b_norm), "{text}: {residual}");
    }
    Ok(())
}

/// Runs all cases in a thread of their own, so that a hang is a failure with the case's name.
fn all_within_limit(cases: Vec<(String, Value, String)>) {
    let a = Arc::new("poisson2d:12".parse::<Problem>().unwrap().matrix().unwrap());
    let (sender, results) = channel();
    let given = cases.clone();
    let worker = thread::spawn(move || {
        // One thread: waking another takes longer than such a solve.
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        pool.install(|| given.iter().for_each(|(_, _, text)| sender.send(solve(&a, text)).unwrap()));
    });
    for (path, value, text) in cases {
        let result = match results.recv_timeout(LIMIT) {
            Ok(result) => result,
            Err(error) => panic!("{text}: {error}"),
        };
        // A limit of no time is honoured by setup, too.
        if let Err(error) = result.or_else(|error| error.stop_reason().map(|_| ()).ok_or(error)) {
            let message = error.to_string();
            let key = path.strip_prefix("stopping.").unwrap_or(&path);
            assert!(matches!(error, SolveError::Config(_)), "{text}: {message}");
            assert!(
                message.contains(&format!("{key}`")) && message.contains("it must be"),
                "{text}: {message}"
            );
            if !matches!(error, SolveError::Config(ConfigError::Stopping(_))) {
                // As it was given, or as the number that it became.
                let forms = [Some(value.to_string()), value.as_f64().map(|x| format!("{x:?}"))];
                let stated = forms.into_iter().flatten().any(|form| message.contains(&form));
                assert!(stated, "{text}: {message}");
                assert!(message.len() < 160, "{text}: {message}");
            }
        }
    }
    worker.join().unwrap();
}

#[test]
fn every_number_is_honoured_or_refused() {
    let keys = keys();
    for known in
        ["restart", "smoother.omega", "stopping.max_seconds", "sa.strength.filter.average_connections"]
    {
        assert!(keys.iter().any(|key| key == known), "{known} is not in {keys:?}");
    }
    let mut cases = Vec::new();
    for base in bases() {
        for path in &keys {
            for value in values() {
                cases.push((path.clone(), value.clone(), with(&base, path, &value).to_string()));
            }
        }
    }
    all_within_limit(cases);
}

/// Options of a solve are not part of a validated configuration.
#[test]
fn the_restart_of_a_solve_is_checked_too() {
    let solver = Solver::new(Csr::identity(3).unwrap(), SolverConfig::default()).unwrap();
    for restart in [0, 5001, usize::MAX] {
        let options = SolveOptions { krylov: Krylov::Gmres, restart, ..SolveOptions::default() };
        let error = solver.solve_with(&[1.0; 3], None, &options, None).unwrap_err().to_string();
        assert!(
            error.starts_with("`restart` is ") && error.ends_with("it must be from 1 to 5000"),
            "{error}"
        );
    }
}

#[test]
fn what_is_not_finite_is_refused_by_name() {
    for path in keys() {
        for value in ["nan", "-nan", "inf", "-inf"] {
            let error = SolverConfig::from_toml(&format!("{path} = {value}")).unwrap_err().to_string();
            assert!(
                error.contains(&format!("`{path}` is ")) && error.contains("it must be finite"),
                "{error}"
            );
        }
    }
}

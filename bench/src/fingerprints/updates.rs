//! New values in the pattern of a solver's matrix: what is solved, and the records.
//!
//! The command has no updates, so these run in this process: A, then A with other values, then A
//! again, each followed by a solve.

use serde_json::{Value, json};
use ziggurat::sparse::{Csr, gallery::Problem};
use ziggurat::{SolveError, Solver, SolverConfig};

use super::records::{Records, hash, merge};

/// Model problems, each with the keys of the configuration.
const CASES: &[(&str, &str)] = &[
    ("jump3d:12", "method = 'sa'\nupdate.rebuild = 'never'"),
    ("jump3d:12", "method = 'sa'\nupdate.rebuild = 'when-slower'\nupdate.factor = 1.0"),
    ("jump3d:12", "method = 'sa'\nupdate.rebuild = 'always'"),
    ("jump3d:12", "method = 'structured'"),
    ("jump3d:12", "method = 'classical'"),
    ("convection3d:10", "method = 'pairwise'"),
    ("elasticity3d:5", "method = 'sa'\nprecision = 'f16'"),
];

fn name((problem, settings): (&str, &str)) -> String {
    format!("{problem}, {}, updated", settings.replace('\n', ", "))
}

/// The names of all cases.
pub(super) fn names() -> impl Iterator<Item = String> {
    CASES.iter().copied().map(name)
}

/// The records of the cases whose name contains `only`.
pub(super) fn records(only: &str) -> Result<Records, SolveError> {
    let mut records = Records::new();
    for &case in CASES.iter().filter(|&&case| name(case).contains(only)) {
        let on_threads = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            // Without a pool of its own, the run still has the same bits.
            pool.map_or_else(|_| run(case), |pool| pool.install(|| run(case)))
        };
        records.insert(name(case), merge(on_threads(1)?, on_threads(2)?, Vec::new()));
    }
    Ok(records)
}

/// Solves, updates and solves again, twice.
fn run((problem, settings): (&str, &str)) -> Result<Value, SolveError> {
    let a = problem.parse::<Problem>().ok().and_then(|problem| problem.matrix().ok());
    let (Some(a), Ok(config)) = (a, SolverConfig::from_toml(settings)) else { return Ok(Value::Null) };
    let b: Vec<f64> = (0..a.rows()).map(|row| 1.0 + (row % 7) as f64).collect();
    let mut solver = Solver::new(a.clone(), config)?;
    let mut steps = vec![json!({ "updated": "no" })];
    record(&solver, &b, &mut steps)?;
    for matrix in [shifted(&a), a] {
        let updated = solver.update_values(matrix)?;
        steps.push(json!({ "updated": format!("{updated:?}") }));
        record(&solver, &b, &mut steps)?;
    }
    Ok(json!({ "steps": steps }))
}

/// Completes the record of the last step by its solve.
fn record(solver: &Solver, b: &[f64], steps: &mut [Value]) -> Result<(), SolveError> {
    let solution = solver.solve(b)?;
    if let Some(step) = steps.last_mut() {
        step["iterations"] = solution.report.iterations.into();
        step["stop_reason"] = format!("{:?}", solution.report.reason).into();
        step["residuals"] = hash(solution.report.history.iter().copied());
        step["solution"] = hash(solution.x.iter().copied());
    }
    Ok(())
}

/// A with its diagonal raised by up to a half, row by row: the same pattern, other couplings.
fn shifted(a: &Csr<f64>) -> Csr<f64> {
    let mut a = a.clone();
    let entries: Vec<(usize, bool)> = (0..a.rows())
        .flat_map(|row| a.row(row).0.iter().map(move |&column| (row, column as usize == row)))
        .collect();
    for (value, (row, is_diagonal)) in a.values_mut().iter_mut().zip(entries) {
        if is_diagonal {
            *value *= 1.0 + 0.1 * (row % 6) as f64;
        }
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_case_is_solved_before_and_after_its_updates() {
        for &case in CASES {
            let record = run(case).unwrap();
            let steps = record["steps"].as_array().unwrap_or_else(|| panic!("{}", name(case)));
            assert!(steps.iter().all(|step| step["stop_reason"] == "Converged"), "{}: {record}", name(case));
            assert_ne!(steps[0]["solution"], steps[1]["solution"], "{}", name(case));
        }
    }
}

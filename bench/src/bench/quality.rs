//! Iterations and operator complexity of conjugate gradients with one V(1,1) cycle, by method,
//! problem and size.
//!
//! The relative residual is 10⁻⁸, the initial guess zero, and all other settings are the defaults.
//! Smoothed aggregation is measured for many solves and, with a plain finest level, for few.
//! The results depend neither on the machine nor on the number of threads.

use serde::Serialize;
use serde_json::Value;
use tasks::table::Table;
use ziggurat::config::{Effort, Method};
use ziggurat::{Solver, SolverConfig};

use super::systems::ModelSystem;
use super::{Bench, BenchError, Setting};

pub(super) const BENCH: Bench =
    Bench { name: "quality", what: "iterations and complexity by method, problem and size", rounds: 1, run };

/// The problems, their sizes, and the goal: the maximal iterations and complexity of the better
/// method for many solves at the second size.
const PROBLEMS: [(&str, &[u32], usize, f64); 5] = [
    ("poisson3d", &[50, 100, 160], 18, 1.7),
    ("poisson3d27", &[50, 100, 160], 13, 1.7),
    ("anisotropic3d", &[50, 100, 160], 15, 2.2),
    ("jump3d", &[50, 100, 160], 18, 1.7),
    ("elasticity3d", &[20, 40], 22, 1.7),
];
const QUICK_SIZES: &[u32] = &[8, 12];

/// One method on one system.
#[derive(Clone, Debug, Serialize)]
struct Figure {
    problem: &'static str,
    size: u32,
    method: &'static str,
    effort: &'static str,
    iterations: usize,
    converged: bool,
    operator_complexity: f64,
    grid_complexity: f64,
}

fn run(setting: &Setting) -> Result<Value, BenchError> {
    println!(
        "conjugate gradients, one V(1,1) cycle, relative residual 1e-8: iterations at operator complexity\n"
    );
    let mut table = Table::new([
        "problem",
        "smoothed aggregation",
        "with a plain level",
        "classical",
        "better, many solves",
        "goal",
    ]);
    let mut figures = Vec::new();
    for (problem, sizes, most, most_complexity) in PROBLEMS {
        for (index, &size) in if setting.quick { QUICK_SIZES } else { sizes }.iter().enumerate() {
            let found = measure(problem, size)?;
            let show = |figure: &Figure| {
                let sign = if figure.converged { "" } else { ">" };
                format!("{sign}{} @ {:.2}", figure.iterations, figure.operator_complexity)
            };
            let [smoothed, _, classical] = &found;
            let better = [smoothed, classical].into_iter().filter(|figure| figure.converged);
            let better = better.min_by_key(|figure| figure.iterations);
            table.row([
                format!("{problem}:{size}"),
                show(&found[0]),
                show(&found[1]),
                show(&found[2]),
                better.map_or_else(|| "none".to_owned(), |figure| figure.method.to_owned()),
                if index == 1 { format!("{most} @ {most_complexity}") } else { String::new() },
            ]);
            figures.extend(found);
        }
    }
    println!("{table}");
    Ok(serde_json::json!({ "figures": figures }))
}

/// Measures all variants on one problem.
fn measure(problem: &'static str, size: u32) -> Result<[Figure; 3], BenchError> {
    let system = ModelSystem::new(&format!("{problem}:{size}"))?;
    let with = |method: Method, effort: Effort| -> Result<Figure, BenchError> {
        let config = SolverConfig { method, effort, ..SolverConfig::default() };
        let solver = Solver::with_near_kernel(system.a.clone(), system.near_kernel.clone(), config)
            .map_err(|error| system.refused(&error))?;
        let solution = solver.solve(&system.b).map_err(|error| system.refused(&error))?;
        Ok(Figure {
            problem,
            size,
            method: method.name(),
            effort: effort.name(),
            iterations: solution.report.iterations,
            converged: solution.report.reason.is_converged(),
            operator_complexity: solver.hierarchy().operator_complexity(),
            grid_complexity: solver.hierarchy().grid_complexity(),
        })
    };
    let (few, many) = (Effort::FewSolves, Effort::ManySolves);
    Ok([with(Method::Sa, many)?, with(Method::Sa, few)?, with(Method::Classical, many)?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_variants_solve_small_systems() {
        for problem in ["poisson3d", "elasticity3d"] {
            let figures = measure(problem, 8).unwrap();
            assert!(figures.iter().all(|figure| figure.converged && figure.iterations < 60), "{figures:?}");
        }
    }
}

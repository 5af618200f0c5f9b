//! Iterations on the symmetric positive definite matrices of the shared collection. The right-hand
//! side is all ones.

use std::path::PathBuf;
use std::sync::Arc;

use serde::Serialize;
use tasks::table::Table;
use ziggurat::config::Precision;
use ziggurat::{Solver, SolverConfig};
use ziggurat_sparse::io::read_matrix;

use super::super::BenchError;
use super::super::pool::Pool;
use super::super::systems::collection;

/// The matrices, from the index of the collection.
pub(super) fn paths() -> Option<Vec<PathBuf>> {
    collection(|cells| cells.get(4).is_some_and(|verified| verified.starts_with("sym, SPD")))
}

/// One matrix: the iterations in each precision, `None` if it did not converge. The last precision
/// is `auto`.
#[derive(Debug, Serialize)]
pub(super) struct RealMatrix {
    matrix: String,
    iterations: Vec<Option<usize>>,
    /// Whether `auto` changed the precision, and why.
    promotion: Option<String>,
}

/// Solves every matrix in every precision and prints a table.
pub(super) fn count(paths: &[PathBuf], pool: &Pool) -> Result<Vec<RealMatrix>, BenchError> {
    let precisions = [Precision::F64, Precision::F32, Precision::F16, Precision::BF16, Precision::Auto];
    let mut table = Table::new([
        "matrix",
        "f64",
        "K64P32D32",
        "K64P32D16",
        "K64P32DB16",
        "auto",
        "raised after iteration",
    ]);
    let (mut results, mut unsolved) = (Vec::new(), Vec::new());
    for path in paths {
        let matrix = path.file_name().unwrap_or_default().to_string_lossy().replace(".mtx.gz", "");
        let refused = |error: String| BenchError::Solve(matrix.clone(), error);
        let a = Arc::new(read_matrix(path).map_err(|error| refused(error.to_string()))?);
        let b = vec![1.0; a.rows()];
        let (mut iterations, mut promotion) = (Vec::new(), None);
        for precision in &precisions {
            let config =
                SolverConfig { precision: precision.clone(), fallback: false, ..SolverConfig::default() };
            let solution = pool.run(|| Solver::new(a.clone(), config)?.solve(&b));
            let solution = solution.map_err(|error| refused(error.to_string()))?;
            let report = solution.report;
            iterations.push(report.reason.is_converged().then_some(report.iterations));
            promotion = solution.promotion;
            if iterations == [None] {
                break;
            }
        }
        if iterations == [None] {
            unsolved.push(matrix);
            continue;
        }
        let counts =
            iterations.iter().map(|count| count.map_or("none".to_owned(), |count| count.to_string()));
        let after = promotion.as_ref().map_or(String::new(), |promotion| promotion.after.to_string());
        table.row(std::iter::once(matrix.clone()).chain(counts).chain([after]));
        results.push(RealMatrix { matrix, iterations, promotion: promotion.map(|p| p.to_string()) });
    }
    println!("{table}\nnot solved in 64 bits: {}", unsolved.join(", "));
    Ok(results)
}

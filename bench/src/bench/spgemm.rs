//! The coarse matrix R·A·P of the first coarse level: computed once, and again for new values on
//! the same pattern.
//!
//! P comes from smoothed aggregation: aggregates of 3×3×3 grid points, T with a one where a point
//! belongs to an aggregate, P = (I − 2/3 D⁻¹A) T (Vaněk, Mandel & Brezina, 1996), R = Pᵀ. The
//! aggregates come from the geometry, so that the results do not depend on the coarsening.
//!
//! `tiles.rs` compares products by rows with those by blocks of nodes and by 4 by 4 tiles.
//!
//! Times are given in milliseconds and in products of A with a vector on the same number of
//! threads, timed in the same run. The latter are less sensitive to noise.

mod tiles;

use serde::Serialize;
use serde_json::Value;
use tasks::table::Table;
use ziggurat_sparse::algebra::{TripleProductPlan, product, transpose, triple_product};
use ziggurat_sparse::device::{Cpu, HostMatrix, Kernels};
use ziggurat_sparse::gallery::Problem;
use ziggurat_sparse::{Csr, MatrixError};

use super::pool::Pool;
use super::timing::{Contestant, Timing, alternate};
use super::{Bench, BenchError, Setting};

pub(super) const BENCH: Bench = Bench {
    name: "spgemm",
    what: "the coarse matrix R·A·P: once and repeated, speed-up by threads",
    rounds: 9,
    run,
};

const PROBLEMS: [&str; 2] = ["poisson3d:100", "poisson3d27:100"];
const QUICK_PROBLEMS: [&str; 2] = ["poisson3d:10", "poisson3d27:10"];
/// Grid points along each edge of an aggregate.
const EDGE: usize = 3;
/// Damping of the Jacobi step that smooths P.
const DAMPING: f64 = 2.0 / 3.0;

/// The timed phases, on every pool, in this order. The first is the unit.
const PHASES: [&str; 3] = ["A times a vector", "once", "repeated"];

/// One phase on every number of threads.
#[derive(Debug, Serialize)]
struct Figure {
    phase: &'static str,
    ms: Vec<f64>,
    median_ms: Vec<f64>,
    /// The time divided by the time of A times a vector.
    in_spmvs: Vec<f64>,
    /// The speed-up of the last number of threads over the first.
    speed_up: f64,
}

/// One problem.
#[derive(Debug, Serialize)]
struct Measured {
    problem: String,
    rows: usize,
    nnz: usize,
    nnz_of_p: usize,
    coarse_rows: usize,
    coarse_nnz: usize,
    threads: Vec<usize>,
    figures: Vec<Figure>,
}

fn run(setting: &Setting) -> Result<Value, BenchError> {
    println!("best of {} rounds; \"repeated\" is for new values in the same pattern\n", setting.rounds);
    let mut results = Vec::new();
    for name in if setting.quick { QUICK_PROBLEMS } else { PROBLEMS } {
        let measured = measure(&name.parse()?, setting)?;
        println!(
            "{name}: A {} rows, {} entries; P {} entries; R·A·P {} rows, {} entries\n\n{}",
            measured.rows,
            measured.nnz,
            measured.nnz_of_p,
            measured.coarse_rows,
            measured.coarse_nnz,
            table(&measured.figures, &setting.pools)
        );
        results.push(measured);
    }
    Ok(serde_json::json!({ "problems": results, "tiles": tiles::run(setting)? }))
}

fn measure(problem: &Problem, setting: &Setting) -> Result<Measured, BenchError> {
    let pools = &setting.pools[..];
    let a = problem.matrix()?;
    let p = smoothed_aggregation(&a, problem.size() as usize)?;
    let r = transpose(p.view(), p.all_rows());
    // Once before the timed runs, so that errors are returned.
    let (plan, coarse) = TripleProductPlan::with_product(r.view(), r.all_rows(), a.view(), p.view())?;

    let (cpu, on_device) = (Cpu::new(), HostMatrix::from(a.clone()));
    let x = vec![1.0; a.cols()];
    let (a, p, r) = (a.view(), p.view(), r.view());
    let mut contestants = Vec::new();
    for pool in pools {
        let mut y = vec![0.0; a.rows()];
        let (mut plan, mut c) = (plan.clone(), coarse.clone());
        let (cpu, on_device, x) = (&cpu, &on_device, &x);
        contestants.extend([
            Contestant::new(PHASES[0], move || pool.run(|| cpu.spmv(1.0, on_device, x, 0.0, &mut y))),
            Contestant::new(PHASES[1], move || pool.run(|| triple_product(r, r.all_rows(), a, p))),
            Contestant::new(PHASES[2], move || pool.run(|| plan.compute_into(r, a, p, &mut c))),
        ]);
    }
    let timings = alternate(contestants, setting.rounds);
    Ok(Measured {
        problem: problem.to_string(),
        rows: a.rows(),
        nnz: a.nnz(),
        nnz_of_p: p.nnz(),
        coarse_rows: coarse.rows(),
        coarse_nnz: coarse.nnz(),
        threads: pools.iter().map(|pool| pool.threads).collect(),
        figures: figures(&timings),
    })
}

/// One figure per phase. The timings are ordered by pool, then by phase.
fn figures(timings: &[Timing]) -> Vec<Figure> {
    let pools = || timings.chunks(PHASES.len());
    let figure = |(k, phase): (usize, &'static str)| {
        let ms: Vec<f64> = pools().map(|timings| 1e3 * timings[k].best).collect();
        Figure {
            phase,
            median_ms: pools().map(|timings| 1e3 * timings[k].median).collect(),
            in_spmvs: pools().map(|timings| timings[k].best / timings[0].best).collect(),
            speed_up: ms.first().zip(ms.last()).map_or(f64::NAN, |(first, last)| first / last),
            ms,
        }
    };
    PHASES.into_iter().enumerate().map(figure).collect()
}

/// P = (I − 2/3 D⁻¹A) T for a matrix on a grid of `n` points in each direction, numbered x fastest.
fn smoothed_aggregation(a: &Csr<f64>, n: usize) -> Result<Csr<f64>, MatrixError> {
    let m = n.div_ceil(EDGE);
    let aggregate = |row: usize| {
        let [x, y, z] = [row % n, row / n % n, row / (n * n)].map(|position| position / EDGE);
        ((z * m + y) * m + x) as u32
    };
    let one = |(): &mut (), row: usize, columns: &mut [u32], values: &mut [f64]| {
        (columns[0], values[0]) = (aggregate(row), 1.0);
    };
    let tentative = Csr::build(a.all_rows(), m * m * m, || (), |(), _| 1, one)?;
    // The diagonal of A puts every entry of T into the pattern of A·T, so P has that pattern.
    let mut p = product(a.view(), a.all_rows(), tentative.view())?;
    let (row_ptr, columns) = (p.row_ptr().to_vec(), p.columns().to_vec());
    let diagonal = a.view().diagonal(a.all_rows());
    for (row, diagonal) in diagonal.into_iter().enumerate() {
        let range = row_ptr[row]..row_ptr[row + 1];
        for (value, &column) in p.values_mut()[range.clone()].iter_mut().zip(&columns[range]) {
            let tentative = if column == aggregate(row) { 1.0 } else { 0.0 };
            *value = tentative - DAMPING * *value / diagonal;
        }
    }
    Ok(p)
}

fn table(figures: &[Figure], pools: &[Pool]) -> Table {
    let headings =
        |unit: &str| pools.iter().map(|pool| format!("{unit}, {}", pool.label())).collect::<Vec<_>>();
    let mut table = Table::new(
        [vec!["phase".to_owned()], headings("ms"), headings("SpMVs"), vec!["speed-up".to_owned()]].concat(),
    );
    for figure in figures {
        let ms = figure.ms.iter().map(|ms| format!("{ms:.2}"));
        let spmvs = figure.in_spmvs.iter().map(|spmvs| format!("{spmvs:.1}"));
        let name = std::iter::once(figure.phase.to_owned());
        table.row(name.chain(ms).chain(spmvs).chain([format!("{:.2}", figure.speed_up)]));
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::pool::pools;

    #[test]
    fn interpolation_keeps_the_constants_inside_the_grid() {
        // 7 points: the last aggregate of each line has one point only.
        let n = 7;
        let problem: Problem = "poisson3d27:7".parse().unwrap();
        let p = smoothed_aggregation(&problem.matrix().unwrap(), n).unwrap();
        assert_eq!((p.rows(), p.cols()), (343, 27));
        for row in 0..p.rows() {
            let inside =
                [row % n, row / n % n, row / (n * n)].iter().all(|position| (1..n - 1).contains(position));
            let sum: f64 = p.row(row).1.iter().sum();
            assert_eq!((sum - 1.0).abs() < 1e-14, inside, "row {row}: {sum}");
        }
        // A corner of the grid and all its neighbours lie in one aggregate: 1 - 2/3 (26 - 7) / 26.
        assert_eq!(p.row(0).0, [0]);
        assert!((p.row(0).1[0] - (1.0 - 2.0 / 3.0 * 19.0 / 26.0)).abs() < 1e-14);
    }

    #[test]
    fn every_phase_has_its_times() {
        let setting = Setting { quick: true, rounds: 1, pools: pools(&[1, 2]).unwrap() };
        let measured = measure(&"poisson3d:6".parse().unwrap(), &setting).unwrap();
        assert_eq!((measured.coarse_rows, measured.coarse_nnz), (8, 64));
        assert_eq!(measured.figures.len(), PHASES.len());
        for figure in &measured.figures {
            assert_eq!((figure.ms.len(), figure.in_spmvs.len()), (2, 2));
            assert!(figure.ms.iter().all(|&ms| ms > 0.0) && figure.speed_up > 0.0, "{figure:?}");
        }
    }

    #[test]
    fn speed_up_and_units_come_from_the_right_times() {
        let timing = |best| Timing { name: String::new(), best, median: 2.0 * best };
        let timings: Vec<Timing> = (1..=6).map(|k| timing(f64::from(k))).collect();
        let figures = figures(&timings);
        assert_eq!(figures[1].ms, [2e3, 5e3]);
        assert_eq!(figures[1].median_ms, [4e3, 10e3]);
        assert_eq!(figures[1].in_spmvs, [2.0, 5.0 / 4.0]);
        assert_eq!(figures[1].speed_up, 2.0 / 5.0);
    }
}

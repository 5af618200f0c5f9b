//! R·A·P of the finest level of smoothed aggregation by rows, by blocks of nodes, and by 4 by 4
//! tiles as in AmgT (Lu et al., SC 2024).
//!
//! For the products in tiles, A, P and R are padded with zeros until each of their tiles is full,
//! which is not timed: a tile costs 16 values whatever it holds. They run in the kernel that
//! multiplies blocks of nodes, compiled for 4 by 4. The magnitudes of the results must have the
//! same sum.

use serde::Serialize;
use tasks::table::Table;
use ziggurat::config::Method;
use ziggurat::{Solver, SolverConfig};
use ziggurat_sparse::algebra::TripleProductPlan;
use ziggurat_sparse::{Csr, MatrixError};

use crate::bench::pool::Pool;
use crate::bench::systems::ModelSystem;
use crate::bench::timing::{Contestant, Timing, alternate};
use crate::bench::{BenchError, Setting};

const PROBLEMS: [&str; 3] = ["elasticity3d:40", "poisson3d27:100", "crank_elas3d"];
const QUICK_PROBLEMS: [&str; 2] = ["elasticity3d:5", "poisson3d27:8"];

/// Rows and columns of a tile.
const EDGE: usize = 4;

/// One way to multiply, on one number of threads.
#[derive(Debug, Serialize)]
pub(super) struct Figure {
    problem: String,
    way: String,
    threads: usize,
    /// Stored entries of A and P, and the share of padding among them.
    stored: [usize; 2],
    padding: [f64; 2],
    once_ms: f64,
    repeated_ms: f64,
}

/// The matrices of one way, and the sizes of the blocks of A and of R·A·P.
struct Way {
    name: String,
    r: Csr<f64>,
    a: Csr<f64>,
    p: Csr<f64>,
    blocks: Option<(usize, usize)>,
}

impl Way {
    fn once(&self) -> Result<(TripleProductPlan<f64>, Csr<f64>), MatrixError> {
        let (r, a, p) = (self.r.view(), self.a.view(), self.p.view());
        match self.blocks {
            None => TripleProductPlan::with_product(r, r.all_rows(), a, p),
            Some((fine, coarse)) => {
                TripleProductPlan::with_blocked_product(r, r.all_rows(), a, p, fine, coarse)
            }
        }
    }
}

/// All problems; prints a table.
pub(super) fn run(setting: &Setting) -> Result<Vec<Figure>, BenchError> {
    let mut figures = Vec::new();
    for name in if setting.quick { &QUICK_PROBLEMS[..] } else { &PROBLEMS } {
        match ModelSystem::with_modes(name)? {
            Some(system) => figures.extend(measure(&system, setting)?),
            None => println!("no {name}: the collection is missing"),
        }
    }
    println!("by rows, by blocks and by tiles\n\n{}", table(&figures));
    Ok(figures)
}

fn measure(system: &ModelSystem, setting: &Setting) -> Result<Vec<Figure>, BenchError> {
    let few_levels = |config: &mut SolverConfig| {
        config.hierarchy.max_levels = 2;
        config.sa.plain_levels = Some(0); // a smoothed P
    };
    let solver = Solver::builder().method(Method::Sa).near_kernel(system.near_kernel.clone());
    let solver = solver.with(few_levels).build(system.a.clone()).map_err(|error| system.refused(&error))?;
    let levels = solver.hierarchy().levels();
    let fine = &levels[0];
    let (Some(p), Some(r)) = (fine.prolongation(), fine.restriction()) else {
        return Err(BenchError::Solve(system.name.clone(), "there is one level only".to_owned()));
    };
    let blocks = (fine.block(), levels[1].block());
    let (r, a, p) = ((**r).clone(), (**fine.matrix()).clone(), (**p).clone());
    let entries = [a.nnz(), p.nnz()];
    let mut ways =
        vec![Way { name: "rows".to_owned(), r: r.clone(), a: a.clone(), p: p.clone(), blocks: None }];
    if blocks != (1, 1) {
        let name = format!("blocks of {} and {}", blocks.0, blocks.1);
        ways.push(Way { name, r: r.clone(), a: a.clone(), p: p.clone(), blocks: Some(blocks) });
    }
    let [r, a, p] = [padded(&r)?, padded(&a)?, padded(&p)?];
    ways.push(Way { name: "tiles".to_owned(), r, a, p, blocks: Some((EDGE, EDGE)) });

    // Once before the timed runs, so that errors are returned. The products of rigid-body modes
    // cancel in part, so sums differ by more than their own rounding.
    let mut runs = Vec::new();
    let sum = |c: &Csr<f64>| c.values().iter().map(|value| value.abs()).sum::<f64>();
    let mut expected = None;
    for way in &ways {
        let (plan, c) = way.once()?;
        let difference = (sum(&c) / *expected.get_or_insert(sum(&c)) - 1.0).abs();
        if difference.is_nan() || difference > 1e-8 {
            let why = format!("the product by {} differs by {difference:.1e}", way.name);
            return Err(BenchError::Solve(system.name.clone(), why));
        }
        match plan.is_blocked() == way.blocks.is_some() {
            true => runs.push((way, plan, c)),
            false => println!("{}: nodes with other blocks, so no product by {}", system.name, way.name),
        }
    }
    let mut contestants = Vec::new();
    for pool in &setting.pools {
        for (way, plan, c) in &runs {
            let (mut plan, mut c) = (plan.clone(), c.clone());
            contestants.push(Contestant::new("once", move || pool.run(|| way.once())));
            contestants.push(Contestant::new("repeated", move || {
                let (r, a, p) = (way.r.view(), way.a.view(), way.p.view());
                pool.run(|| plan.compute_into(r, a, p, &mut c))
            }));
        }
    }
    let timings = alternate(contestants, setting.rounds);
    let runs = &runs;
    let timed = setting.pools.iter().flat_map(|pool: &Pool| runs.iter().map(move |(way, ..)| (pool, *way)));
    let figure = |((pool, way), times): ((&Pool, &Way), &[Timing])| {
        let [once, repeated]: &[Timing; 2] = times.try_into().ok()?;
        let stored = [way.a.nnz(), way.p.nnz()];
        let share = |k: usize| 1.0 - entries[k] as f64 / stored[k] as f64;
        Some(Figure {
            problem: system.name.clone(),
            way: way.name.clone(),
            threads: pool.threads,
            stored,
            padding: [share(0), share(1)],
            once_ms: 1e3 * once.best,
            repeated_ms: 1e3 * repeated.best,
        })
    };
    Ok(timed.zip(timings.chunks(2)).filter_map(figure).collect())
}

/// The matrix with zeros in all places of the tiles that have an entry; rows and columns are
/// rounded up to whole tiles.
fn padded(a: &Csr<f64>) -> Result<Csr<f64>, MatrixError> {
    let (block_rows, block_cols) = (a.rows().div_ceil(EDGE), a.cols().div_ceil(EDGE));
    let (mut row_ptr, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for block_row in 0..block_rows {
        let rows = (EDGE * block_row..EDGE * (block_row + 1)).map(|row| (row < a.rows()).then(|| a.row(row)));
        let rows: Vec<_> = rows.collect();
        let mut tiles: Vec<u32> =
            rows.iter().flatten().flat_map(|(columns, _)| columns.iter().map(|&j| j / EDGE as u32)).collect();
        tiles.sort_unstable();
        tiles.dedup();
        for row in rows {
            let first = columns.len();
            columns
                .extend(tiles.iter().flat_map(|&tile| (0..EDGE as u32).map(move |j| tile * EDGE as u32 + j)));
            values.resize(columns.len(), 0.0);
            for (column, &value) in row.iter().flat_map(|(columns, values)| columns.iter().zip(*values)) {
                if let Ok(place) = columns[first..].binary_search(column) {
                    values[first + place] = value;
                }
            }
            row_ptr.push(columns.len());
        }
    }
    Csr::try_new(EDGE * block_rows, EDGE * block_cols, row_ptr, columns, values)
}

fn table(figures: &[Figure]) -> Table {
    let mut table = Table::new(["R·A·P", "by", "threads", "zeros in A", "in P", "once ms", "repeated ms"]);
    for figure in figures {
        let percent = figure.padding.map(|share| format!("{:.0} %", 100.0 * share));
        let [of_a, of_p] = percent;
        let (once, repeated) = (format!("{:.1}", figure.once_ms), format!("{:.1}", figure.repeated_ms));
        let threads = figure.threads.to_string();
        table.row([figure.problem.clone(), figure.way.clone(), threads, of_a, of_p, once, repeated]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::pool::pools;

    #[test]
    fn tiles_are_full() {
        let a = Csr::try_new(5, 6, vec![0, 1, 1, 2, 2, 3], vec![1, 0, 5], vec![1.0, 2.0, 3.0]).unwrap();
        let padded = padded(&a).unwrap();
        assert_eq!((padded.rows(), padded.cols(), padded.nnz()), (8, 8, 32));
        assert_eq!((padded.get(0, 1), padded.get(0, 3), padded.get(4, 5)), (Some(1.0), Some(0.0), Some(3.0)));
        assert_eq!((padded.get(0, 4), padded.get(7, 7)), (None, Some(0.0)));
    }

    #[test]
    fn every_way_has_its_times() {
        let setting = Setting { quick: true, rounds: 1, pools: pools(&[1]).unwrap() };
        let system = ModelSystem::new("elasticity3d:5").unwrap();
        let figures = measure(&system, &setting).unwrap();
        let ways: Vec<&str> = figures.iter().map(|figure| figure.way.as_str()).collect();
        assert_eq!(ways, ["rows", "blocks of 3 and 6", "tiles"]);
        assert!(figures.iter().all(|figure| figure.once_ms > 0.0 && figure.repeated_ms > 0.0));
        assert_eq!(figures[0].padding, [0.0; 2]);
        assert!(figures[2].padding.iter().all(|&share| share > 0.1 && share < 0.9), "{figures:?}");
    }
}

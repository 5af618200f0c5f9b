//! Product and sweep with the matrix of a grid by diagonals, as fractions of the read bandwidth.
//!
//! ```text
//! product   y ← A x                     bytes: matrix, x, y
//! sweep     y ← x + d ∘ (b − A x)       bytes: matrix, x, b, d, y
//! ```
//!
//! Each is moved once, as in `bench spmv`, so writes and what they read first count as losses. The
//! sets are larger than the last-level cache. A sweep as separate passes (residual, product with d,
//! sum) shows what fusing them gains.

use serde::Serialize;
use ziggurat_sparse::device::{Cpu, Device, HostMatrix};
use ziggurat_sparse::gallery::Problem;
use ziggurat_sparse::grid::{GridSystem, recognise};
use ziggurat_sparse::{Reads, Real, Store, f16};

use crate::bench::bandwidth::ReadSet;
use crate::bench::pool::Pool;
use crate::bench::table::Table;
use crate::bench::timing::{Contestant, alternate};
use crate::bench::{BenchError, Setting};

const PROBLEMS: [&str; 2] = ["poisson3d:256", "poisson3d27:160"];
const QUICK_PROBLEMS: [&str; 1] = ["poisson3d:12"];

/// One kernel in one pair of numbers.
#[derive(Clone, Debug, Serialize)]
pub(super) struct KernelSpeed {
    problem: String,
    numbers: String,
    kernel: &'static str,
    bytes: usize,
    ms: f64,
    fraction_of_bandwidth: f64,
}

/// A kernel to be timed.
struct Kernel<'a> {
    numbers: String,
    kernel: &'static str,
    bytes: usize,
    contestant: Contestant<'a>,
}

pub(super) fn measure(setting: &Setting, pool: &Pool) -> Result<Vec<KernelSpeed>, BenchError> {
    let (set, cpu) = (ReadSet::new(setting.quick), Cpu::new());
    let mut table = Table::new(["problem", "numbers", "kernel", "MB", "ms", "of the read bandwidth"]);
    let mut all = Vec::new();
    for name in if setting.quick { &QUICK_PROBLEMS[..] } else { &PROBLEMS } {
        let refused = |error: String| BenchError::Solve((*name).to_owned(), error);
        let a = name.parse::<Problem>().map_err(|error| refused(error.to_string()))?;
        let a = a.matrix().map_err(|error| refused(error.to_string()))?;
        let pattern = recognise(a.view()).map_err(|error| refused(error.to_string()))?;
        let grid = GridSystem::from_csr(a.view(), &pattern).map_err(|error| refused(error.to_string()))?;
        drop(a);
        let (wide, single, half) = (
            HostMatrix::from(grid.to_dia::<f64>()),
            HostMatrix::from(grid.to_dia::<f32>()),
            HostMatrix::from(grid.to_dia::<f16>()),
        );
        let mut kernels = of_pair::<f64, f64>(&cpu, &wide, pool)?;
        kernels.extend(of_pair::<f32, f32>(&cpu, &single, pool)?);
        kernels.extend(of_pair::<f32, f16>(&cpu, &half, pool)?);
        let mut contestants = set.contestants(std::slice::from_ref(pool));
        let mut facts = Vec::new();
        for Kernel { numbers, kernel, bytes, contestant } in kernels {
            facts.push((numbers, kernel, bytes));
            contestants.push(contestant);
        }
        let timings = alternate(contestants, 3 * setting.rounds);
        let (reading, timings) = timings.split_at(2);
        let bandwidths = set.bandwidths(std::slice::from_ref(pool), reading);
        let most = bandwidths.first().map_or(f64::NAN, |bandwidth| bandwidth.gb_per_s);
        for ((numbers, kernel, bytes), timing) in facts.into_iter().zip(timings) {
            let fraction_of_bandwidth = timing.gb_per_s(bytes) / most;
            let speed = KernelSpeed {
                problem: (*name).to_owned(),
                numbers,
                kernel,
                bytes,
                ms: 1e3 * timing.best,
                fraction_of_bandwidth,
            };
            table.row([
                speed.problem.clone(),
                speed.numbers.clone(),
                kernel.to_owned(),
                format!("{:.0}", bytes as f64 / 1e6),
                format!("{:.2}", speed.ms),
                format!("{fraction_of_bandwidth:.2}"),
            ]);
            all.push(speed);
        }
    }
    println!("{table}");
    Ok(all)
}

/// The kernels for one pair of numbers.
fn of_pair<'a, C: Reads<S> + Real, S: Store>(
    cpu: &'a Cpu,
    a: &'a HostMatrix<S>,
    pool: &'a Pool,
) -> Result<Vec<Kernel<'a>>, BenchError> {
    let n = a.rows();
    let one = || cpu.upload(&vec![C::one(); n]);
    let numbers = format!("{}/{}", C::KIND, S::KIND);
    let kernel = |kernel: &'static str, vectors: usize, work: Box<dyn FnMut() + 'a>| Kernel {
        numbers: numbers.clone(),
        kernel,
        bytes: a.bytes() + vectors * n * size_of::<C>(),
        contestant: Contestant::new(kernel, work),
    };
    let (x, mut y) = (one()?, cpu.zeros::<C>(n)?);
    let mut product = move || cpu.spmv(C::one(), a, &x, C::zero(), &mut y);
    let (x, b, d, mut y) = (one()?, one()?, one()?, cpu.zeros::<C>(n)?);
    let mut sweep = move || cpu.sweep(a, C::one(), &d, &b, &x, C::zero(), &mut y);
    let (x, b, d) = (one()?, one()?, one()?);
    let (mut r, mut z, mut y) = (cpu.zeros::<C>(n)?, cpu.zeros::<C>(n)?, cpu.zeros::<C>(n)?);
    let mut passes = move || {
        cpu.residual(a, &x, &b, &mut r);
        cpu.diagonal(C::one(), &d, &r, C::zero(), &mut z);
        cpu.axpbypcz(C::one(), &x, C::one(), &z, C::zero(), &mut y);
    };
    Ok(vec![
        kernel("product", 2, Box::new(move || pool.run(&mut product))),
        kernel("sweep", 4, Box::new(move || pool.run(&mut sweep))),
        kernel("sweep in passes", 4, Box::new(move || pool.run(&mut passes))),
    ])
}

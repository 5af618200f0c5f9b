//! Product and sweep with the matrix of a grid by diagonals, as fractions of the read bandwidth.
//!
//! ```text
//! product   y ← A x                     bytes: matrix, x, y
//! sweep     y ← x + d ∘ (b − A x)       bytes: matrix, x, b, d, y
//! ```
//!
//! Each is moved once, as in `bench spmv`, so writes and what they read first count as losses. The
//! sets are larger than the last-level cache. A sweep as separate passes (residual, product with d,
//! sum) shows what fusing them gains. A product with the values of a point together, as plain
//! loops, shows what storing them by diagonals gains; in 16 bits, conversions would decide instead.

use rayon::prelude::*;
use serde::Serialize;
use tasks::table::Table;
use ziggurat_sparse::device::{Cpu, HostMatrix, Kernels};
use ziggurat_sparse::gallery::Problem;
use ziggurat_sparse::grid::{GridMatrix, GridSystem, recognise};
use ziggurat_sparse::{Reads, Real, Store, f16};

use crate::bench::bandwidth::ReadSet;
use crate::bench::pool::Pool;
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
        let point_by_point = (PointByPoint::<f64>::new(grid.sum()), PointByPoint::<f32>::new(grid.sum()));
        let mut kernels = of_pair::<f64, f64>(&cpu, &wide, pool)?;
        kernels.extend(of_pair::<f32, f32>(&cpu, &single, pool)?);
        kernels.extend(of_pair::<f32, f16>(&cpu, &half, pool)?);
        kernels.extend([point_by_point.0.kernel(pool), point_by_point.1.kernel(pool)]);
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

/// A matrix whose values are stored point by point (array of structures).
struct PointByPoint<C> {
    values: Vec<C>,
    /// Of the neighbours in a vector with `reach` more elements at both ends.
    offsets: Vec<usize>,
    reach: usize,
}

impl<C: Real> PointByPoint<C> {
    fn new(a: &GridMatrix) -> Self {
        let offsets: Vec<isize> = a.stencil().iter().map(|&direction| a.grid().offset(direction)).collect();
        let reach = offsets.iter().map(|offset| offset.unsigned_abs()).max().unwrap_or(0);
        let mut values = vec![C::zero(); offsets.len() * a.grid().len()];
        for (s, &direction) in a.stencil().iter().enumerate() {
            let of_direction = a.of_direction(direction).unwrap_or_default();
            let of_points = values.iter_mut().skip(s).step_by(offsets.len());
            of_points.zip(of_direction).for_each(|(to, value)| *to = C::narrow(value));
        }
        let offsets = offsets.into_iter().map(|offset| reach.wrapping_add_signed(offset)).collect();
        PointByPoint { values, offsets, reach }
    }

    fn kernel<'a>(&'a self, pool: &'a Pool) -> Kernel<'a> {
        const POINTS: usize = 4096;
        let (directions, kernel) = (self.offsets.len(), "product, point by point");
        let n = self.values.len() / directions;
        let (x, mut y) = (vec![C::one(); n + 2 * self.reach], vec![C::zero(); n]);
        let mut work = move || {
            y.par_chunks_mut(POINTS).zip(self.values.par_chunks(POINTS * directions)).enumerate().for_each(
                |(piece, (y, values))| {
                    let points = y.iter_mut().zip(values.chunks_exact(directions));
                    for (point, (y, values)) in (piece * POINTS..).zip(points) {
                        let entries = values.iter().zip(&self.offsets);
                        *y = entries.fold(C::zero(), |sum, (&value, offset)| sum + value * x[point + offset]);
                    }
                },
            );
        };
        Kernel {
            numbers: format!("{}/{}", C::KIND, C::KIND),
            kernel,
            bytes: size_of_val(&self.values[..]) + 2 * n * size_of::<C>(),
            contestant: Contestant::new(kernel, move || pool.run(&mut work)),
        }
    }
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

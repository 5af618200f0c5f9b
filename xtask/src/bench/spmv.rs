//! Sparse matrix times vector, y ← A x, against the bandwidth of the memory it is read from.
//!
//! Bytes are counted from first principles: values, columns, row pointers, x and y, each moved once. So the fraction of
//! the read bandwidth is at most one as long as nothing stays in a cache from one product to the next; x read more than
//! once, and y read before it is written, count as losses of the kernel. Reading and kernels take turns in one run, and
//! each fraction is of the bandwidth beside it.
//!
//! BSR is counted as it is stored: where blocks of 3 are not full, GB/s are high and the product is slow all the same.

use serde::Serialize;
use serde_json::Value;
use ziggurat_sparse::device::{Cpu, Device, DeviceError, HostMatrix};
use ziggurat_sparse::gallery::Problem;
use ziggurat_sparse::{MatrixError, Reads, Real, Store};

use super::bandwidth::{self, Bandwidth, ReadSet};
use super::pool::Pool;
use super::table::Table;
use super::timing::{Contestant, Timing, alternate};
use super::{Bench, BenchError, Setting};

pub(super) const BENCH: Bench =
    Bench { name: "spmv", what: "matrix times vector, as a fraction of the read bandwidth", rounds: 9, run };

const PROBLEMS: [&str; 3] = ["poisson3d:160", "poisson3d27:120", "elasticity3d:60"];
const QUICK_PROBLEMS: [&str; 3] = ["poisson3d:12", "poisson3d27:12", "elasticity3d:5"];

/// A matrix in one format and what its product moves.
struct Kernel {
    name: String,
    nnz: usize,
    bytes: usize,
}

/// One kernel on one number of threads.
#[derive(Debug, Serialize)]
struct Figure {
    kernel: String,
    threads: usize,
    /// Stored values, the zeros that fill blocks included.
    nnz: usize,
    bytes: usize,
    ms: f64,
    median_ms: f64,
    gb_per_s: f64,
    fraction_of_bandwidth: f64,
}

/// One problem: the bandwidth beside its kernels, and them.
#[derive(Debug, Serialize)]
struct Measured {
    problem: String,
    bandwidth: Vec<Bandwidth>,
    figures: Vec<Figure>,
}

fn run(setting: &Setting) -> Result<Value, BenchError> {
    let set = ReadSet::new(setting.quick);
    let cpu = Cpu::new();
    println!(
        "{:?} kernels; reading {} MiB; best of {} rounds\n",
        cpu.simd(),
        set.bytes() >> 20,
        setting.rounds
    );
    let mut results = Vec::new();
    for name in if setting.quick { QUICK_PROBLEMS } else { PROBLEMS } {
        results.push(measure(&name.parse()?, &cpu, &set, setting)?);
    }
    Ok(serde_json::json!({ "simd": format!("{:?}", cpu.simd()), "problems": results }))
}

fn measure(problem: &Problem, cpu: &Cpu, set: &ReadSet, setting: &Setting) -> Result<Measured, BenchError> {
    let pools = &setting.pools[..];
    let a = problem.matrix()?;
    println!("{problem}: {} rows, {} entries", a.rows(), a.nnz());
    let narrow: HostMatrix<f32> = a.view().stored_as().into();
    let blocks: Option<HostMatrix<f64>> = match a.view().to_bsr(3) {
        Ok(blocks) => Some(blocks.into()),
        Err(MatrixError::BlockSize { .. }) => {
            println!("no bsr3: blocks of 3 do not tile {} rows", a.rows());
            None
        }
        Err(error) => return Err(error.into()),
    };
    let wide: HostMatrix<f64> = a.into();

    let mut contestants = set.contestants(pools);
    let mut kernels = vec![
        enter::<f64, f64>("csr f64", cpu, &wide, pools, &mut contestants)?,
        enter::<f32, f32>("csr f32", cpu, &narrow, pools, &mut contestants)?,
    ];
    if let Some(blocks) = &blocks {
        kernels.push(enter::<f64, f64>("bsr3 f64", cpu, blocks, pools, &mut contestants)?);
    }
    let timings = alternate(contestants, setting.rounds);
    let (reading, products) = timings.split_at(2 * pools.len());
    let bandwidth = set.bandwidths(pools, reading);
    let figures = kernels
        .iter()
        .zip(products.chunks(pools.len()))
        .flat_map(|(kernel, timings)| {
            timings.iter().zip(&bandwidth).map(|(timing, bandwidth)| kernel.figure(timing, bandwidth))
        })
        .collect();
    let measured = Measured { problem: problem.to_string(), bandwidth, figures };
    println!("\n{}\n{}", bandwidth::table(&measured.bandwidth), table(&measured.figures));
    Ok(measured)
}

/// Adds one contestant per pool for the product with `a`.
fn enter<'a, C: Reads<S>, S: Store>(
    name: &str,
    cpu: &'a Cpu,
    a: &'a HostMatrix<S>,
    pools: &'a [Pool],
    contestants: &mut Vec<Contestant<'a>>,
) -> Result<Kernel, DeviceError> {
    for pool in pools {
        let x = cpu.upload(&vec![C::one(); a.cols()])?;
        let mut y = cpu.zeros::<C>(a.rows())?;
        contestants.push(Contestant::new(format!("{name}, {}", pool.label()), move || {
            pool.run(|| cpu.spmv(C::one(), a, &x, C::zero(), &mut y));
        }));
    }
    Ok(Kernel { name: name.to_owned(), nnz: a.nnz(), bytes: bytes_moved::<C, S>(a) })
}

/// Values, columns, row pointers, x and y, each once.
fn bytes_moved<C: Real, S: Store>(a: &HostMatrix<S>) -> usize {
    a.bytes() + (a.rows() + a.cols()) * size_of::<C>()
}

impl Kernel {
    fn figure(&self, timing: &Timing, bandwidth: &Bandwidth) -> Figure {
        let gb_per_s = timing.gb_per_s(self.bytes);
        Figure {
            kernel: self.name.clone(),
            threads: bandwidth.threads,
            nnz: self.nnz,
            bytes: self.bytes,
            ms: 1e3 * timing.best,
            median_ms: 1e3 * timing.median,
            gb_per_s,
            fraction_of_bandwidth: gb_per_s / bandwidth.gb_per_s,
        }
    }
}

fn table(figures: &[Figure]) -> Table {
    let headings =
        ["kernel", "threads", "MB moved", "bytes/value", "ms", "median ms", "GB/s", "of bandwidth"];
    let mut table = Table::new(headings);
    for figure in figures {
        table.row([
            figure.kernel.clone(),
            figure.threads.to_string(),
            format!("{:.1}", figure.bytes as f64 * 1e-6),
            format!("{:.2}", figure.bytes as f64 / figure.nnz as f64),
            format!("{:.2}", figure.ms),
            format!("{:.2}", figure.median_ms),
            format!("{:.2}", figure.gb_per_s),
            format!("{:.2}", figure.fraction_of_bandwidth),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::pool::pools;
    use ziggurat_sparse::Csr;

    #[test]
    fn bytes_are_counted_from_first_principles() {
        // 5 rows, 5 entries: 6 row pointers, 5 columns, 5 values, x and y.
        let a: HostMatrix<f32> = Csr::identity(5).unwrap().into();
        assert_eq!(bytes_moved::<f32, f32>(&a), 6 * 8 + 5 * 4 + 5 * 4 + 2 * 5 * 4);
        assert_eq!(bytes_moved::<f64, f32>(&a), 6 * 8 + 5 * 4 + 5 * 4 + 2 * 5 * 8);
    }

    #[test]
    fn every_kernel_has_a_figure_for_every_number_of_threads() {
        let set = ReadSet::new(true);
        let setting = Setting { quick: true, rounds: 1, pools: pools(&[1, 2]).unwrap() };
        let names = |problem: &str| -> Vec<(String, usize)> {
            let measured = measure(&problem.parse().unwrap(), &Cpu::new(), &set, &setting).unwrap();
            assert!(measured.figures.iter().all(|figure| figure.fraction_of_bandwidth > 0.0));
            measured.figures.into_iter().map(|figure| (figure.kernel, figure.threads)).collect()
        };
        let scalar = [("csr f64", 1), ("csr f64", 2), ("csr f32", 1), ("csr f32", 2)];
        let blocks = [("bsr3 f64", 1), ("bsr3 f64", 2)];
        let expected = |list: &[(&str, usize)]| -> Vec<(String, usize)> {
            list.iter().map(|&(name, threads)| (name.to_owned(), threads)).collect()
        };
        assert_eq!(names("elasticity3d:3"), expected(&[&scalar[..], &blocks[..]].concat()));
        assert_eq!(names("poisson3d:4"), expected(&scalar)); // 64 rows: no multiple of 3
    }
}

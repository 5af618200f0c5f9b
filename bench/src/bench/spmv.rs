//! Sparse matrix times vector, y ← A x, compared with the memory bandwidth.
//!
//! Bytes are counted from first principles: the stored matrix, x and y, each moved once. So the
//! fraction of the read bandwidth is at most one, unless data stays in a cache from one product to
//! the next. Reading x more than once, and reading y before it is written, count as losses of the
//! kernel. Reads and kernels alternate in one run, and fractions refer to the bandwidth measured in
//! that run.
//!
//! Every format that suits a matrix is measured in 64, 32 and 16 bits. Delta-SELL and BSR include
//! the zeros that fill slots or blocks; bytes per entry are per entry of the CSR matrix. A stencil
//! in natural order is the best case of delta-SELL. So the benchmark also uses rows shuffled within
//! windows, and the levels of a real hierarchy if the shared collection is available.

use std::path::Path;
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;
use tasks::table::Table;
use ziggurat::amg::{Hierarchy, HierarchyConfig};
use ziggurat_sparse::device::{Cpu, DeviceError, HostMatrix, Kernels, MatrixFormat};
use ziggurat_sparse::io::read_matrix;
use ziggurat_sparse::matrix::ScaleFactors;
use ziggurat_sparse::{Csr, Reads, Real, Store, f16};

use super::bandwidth::{self, Bandwidth, ReadSet};
use super::pool::Pool;
use super::systems::ModelSystem;
use super::timing::{Contestant, Timing, alternate};
use super::{Bench, BenchError, Setting};

pub(super) const BENCH: Bench =
    Bench { name: "spmv", what: "matrix times vector, as a fraction of the read bandwidth", rounds: 31, run };

/// After the slash: the window within which rows are shuffled.
const PROBLEMS: [&str; 8] = [
    "poisson3d:160",
    "poisson3d27:120",
    "poisson3d:160/64",
    "poisson3d27:120/64",
    "poisson3d:160/1024",
    "poisson3d27:120/1024",
    "elasticity3d:60",
    "crank_elas3d",
];
const QUICK_PROBLEMS: [&str; 3] = ["poisson3d:12", "poisson3d27:12/64", "elasticity3d:5"];

/// A real matrix whose levels are measured.
const REAL: &str = "../../shared/matrices/crank_heat3d.mtx.gz";

/// Levels with fewer rows fit in the caches.
const SMALLEST_LEVEL: usize = 1000;

/// A matrix in one format, and the bytes that its product moves.
struct Kernel {
    name: String,
    bytes: usize,
}

/// One kernel on one number of threads.
#[derive(Debug, Serialize)]
struct Figure {
    kernel: String,
    threads: usize,
    /// Entries of the matrix.
    nnz: usize,
    bytes: usize,
    ms: f64,
    median_ms: f64,
    gb_per_s: f64,
    fraction_of_bandwidth: f64,
    /// The speed-up over CSR in 64 bits on the same number of threads.
    faster: f64,
}

/// One problem: its kernels, and the bandwidth measured with them.
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
    for name in if setting.quick { &QUICK_PROBLEMS[..] } else { &PROBLEMS } {
        match ModelSystem::with_modes(name)? {
            Some(system) => results.push(measure(name, (&system.a, system.block), &cpu, &set, setting)?),
            None => println!("no {name}: the collection is missing"),
        }
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(REAL);
    if path.exists() && !setting.quick {
        let refused = |error: String| BenchError::Solve("crank_heat3d".to_owned(), error);
        let a = read_matrix(&path).map_err(|error| refused(error.to_string()))?;
        let hierarchy = Hierarchy::build(a, &HierarchyConfig::default());
        let hierarchy = hierarchy.map_err(|error| refused(error.to_string()))?;
        for (index, level) in hierarchy.levels().iter().enumerate() {
            if level.matrix().rows() >= SMALLEST_LEVEL {
                let name = format!("crank_heat3d, level {index}");
                results.push(measure(&name, (level.matrix(), 1), &cpu, &set, setting)?);
            }
        }
    } else {
        println!("no real matrix: the collection is missing, or this is a quick run");
    }
    Ok(serde_json::json!({ "simd": format!("{:?}", cpu.simd()), "problems": results }))
}

fn measure(
    problem: &str,
    (a, block): (&Csr<f64>, usize),
    cpu: &Cpu,
    set: &ReadSet,
    setting: &Setting,
) -> Result<Measured, BenchError> {
    let pools = &setting.pools[..];
    println!("{problem}: {} rows, {} entries", a.rows(), a.nnz());
    let (nnz, a) = (a.nnz(), Arc::new(a.clone()));
    let formats = MatrixFormat::ALL.iter().filter(|format| block > 1 || !format.has_blocks());
    let stored: Vec<Stored> = formats.filter_map(|&format| Stored::new(format, &a, block)).collect();

    let (mut contestants, mut kernels) = (set.contestants(pools), Vec::new());
    for Stored { name, f64, f32, f16 } in &stored {
        kernels.push(enter::<f64, f64>(&format!("{name} f64"), cpu, f64, pools, &mut contestants)?);
        kernels.push(enter::<f32, f32>(&format!("{name} f32"), cpu, f32, pools, &mut contestants)?);
        kernels.push(enter::<f64, f32>(&format!("{name} f32, in f64"), cpu, f32, pools, &mut contestants)?);
        kernels.push(enter::<f32, f16>(&format!("{name} f16, in f32"), cpu, f16, pools, &mut contestants)?);
    }
    let timings = alternate(contestants, setting.rounds);
    let (reading, products) = timings.split_at(2 * pools.len());
    let bandwidth = set.bandwidths(pools, reading);
    let figures = kernels
        .iter()
        .zip(products.chunks(pools.len()))
        .flat_map(|(kernel, timings)| {
            let against = timings.iter().zip(&bandwidth).zip(products);
            against.map(|((timing, bandwidth), csr)| kernel.figure(nnz, timing, bandwidth, csr))
        })
        .collect();
    let measured = Measured { problem: problem.to_owned(), bandwidth, figures };
    println!("\n{}\n{}", bandwidth::table(&measured.bandwidth), table(&measured.figures));
    Ok(measured)
}

/// A matrix in one format and three number types.
struct Stored {
    name: String,
    f64: HostMatrix<f64>,
    f32: HostMatrix<f32>,
    f16: HostMatrix<f16>,
}

impl Stored {
    /// `None` if the format does not suit the matrix.
    fn new(format: MatrixFormat, a: &Arc<Csr<f64>>, block: usize) -> Option<Self> {
        fn of<S: Store>(format: MatrixFormat, a: &Arc<Csr<f64>>, block: usize) -> Option<HostMatrix<S>> {
            Some(HostMatrix::plan(format, a, block)?.fill(ScaleFactors::ONE))
        }
        Some(Stored {
            name: if format.has_blocks() { format!("{format}{block}") } else { format.to_string() },
            f64: of(format, a, block)?,
            f32: of(format, a, block)?,
            f16: of(format, a, block)?,
        })
    }
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
    Ok(Kernel { name: name.to_owned(), bytes: bytes_moved::<C, S>(a) })
}

/// The bytes of the stored matrix, x and y, each moved once.
fn bytes_moved<C: Real, S: Store>(a: &HostMatrix<S>) -> usize {
    a.bytes() + (a.rows() + a.cols()) * size_of::<C>()
}

impl Kernel {
    fn figure(&self, nnz: usize, timing: &Timing, bandwidth: &Bandwidth, csr: &Timing) -> Figure {
        let gb_per_s = timing.gb_per_s(self.bytes);
        Figure {
            kernel: self.name.clone(),
            threads: bandwidth.threads,
            nnz,
            bytes: self.bytes,
            ms: 1e3 * timing.best,
            median_ms: 1e3 * timing.median,
            gb_per_s,
            fraction_of_bandwidth: gb_per_s / bandwidth.gb_per_s,
            faster: csr.best / timing.best,
        }
    }
}

fn table(figures: &[Figure]) -> Table {
    let headings = [
        "kernel",
        "threads",
        "MB moved",
        "bytes/entry",
        "ms",
        "median ms",
        "GB/s",
        "of bandwidth",
        "speed-up",
    ];
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
            format!("{:.2}", figure.faster),
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
            let system = ModelSystem::new(problem).unwrap();
            let measured = measure(problem, (&system.a, system.block), &Cpu::new(), &set, &setting).unwrap();
            assert!(measured.figures.iter().all(|figure| figure.fraction_of_bandwidth > 0.0));
            measured.figures.into_iter().map(|figure| (figure.kernel, figure.threads)).collect()
        };
        let expected = |formats: &[&str]| -> Vec<(String, usize)> {
            let numbers = |format| {
                ["f64", "f32", "f32, in f64", "f16, in f32"].map(|number| format!("{format} {number}"))
            };
            let kernels = formats.iter().flat_map(numbers);
            kernels.flat_map(|kernel| [(kernel.clone(), 1), (kernel, 2)]).collect()
        };
        assert_eq!(names("elasticity3d:3"), expected(&["csr", "bsr3", "delta-sell", "tiles"]));
        assert_eq!(names("poisson3d:4/16"), expected(&["csr", "delta-sell", "tiles"])); // has no blocks
    }
}

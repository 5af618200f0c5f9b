//! Measures kernels and solves on a device, and prints the minimum and the requested memory traffic
//! of the kernels.
//!
//! ```text
//! cargo run --release -p ziggurat-gpu --example measure -- DEVICE EDGE ROUNDS
//! ```
//!
//! `cargo xtask bench gpu` formats the output as tables. There is one line per kernel and per
//! solve:
//!
//! ```text
//! kernel NAME MATRIX FORMAT NUMBERS LEAST REQUESTED SECONDS
//! solve MATRIX PRECISION ITERATIONS SECONDS KERNELS DOWNLOADS DOWNLOADED_BYTES
//! ```

#![allow(clippy::print_stdout)]

use std::error::Error;
use std::time::Instant;

use ziggurat::Solver;
use ziggurat::config::Precision;
use ziggurat_gpu::{Bytes, Gpu};
use ziggurat_sparse::device::{HostMatrix, Kernels};
use ziggurat_sparse::gallery::{Problem, shuffle};
use ziggurat_sparse::grid::{GridMatrix, recognise};
use ziggurat_sparse::matrix::ScaleFactors;
use ziggurat_sparse::{Csr, DeltaSell, Reads, Store, Tiles, bf16, f16};

/// Number of launches per timing, which share one synchronisation.
const LAUNCHES: u32 = 10;

struct Measure {
    gpu: Gpu,
    rounds: usize,
}

impl Measure {
    /// The best time of one launch, in seconds.
    fn time(&self, mut launch: impl FnMut()) -> Result<f64, Box<dyn Error>> {
        launch(); // compiles the kernel
        self.gpu.finish()?;
        let mut best = f64::INFINITY;
        for _ in 0..self.rounds {
            let start = Instant::now();
            (0..LAUNCHES).for_each(|_| launch());
            self.gpu.finish()?;
            best = best.min(start.elapsed().as_secs_f64() / f64::from(LAUNCHES));
        }
        Ok(best)
    }

    /// Measures product, residual and sweep of a matrix, or only the product if it is not square.
    fn matrix<C: Reads<S>, S: Store>(&self, name: &str, host: HostMatrix<S>) -> Result<(), Box<dyn Error>> {
        let (gpu, n, columns, format) = (&self.gpu, host.rows(), host.cols(), host.format());
        let bytes = gpu.product_bytes::<C>(&host);
        let a = gpu.upload_matrix(host)?;
        let [b, d] = [2.0, 3.0].map(|value| vec![C::narrow(value); n]);
        let (b, d) = (gpu.upload(&b)?, gpu.upload(&d)?);
        let (x, mut y) = (gpu.upload(&vec![C::one(); columns])?, gpu.zeros::<C>(n)?);
        let line = |kernel: &str, bytes: Bytes, seconds: f64| {
            let (computed, stored) = (C::KIND, S::KIND);
            let Bytes { least, requested, .. } = bytes;
            println!("kernel {kernel} {name} {format} {computed}/{stored} {least} {requested} {seconds:e}");
        };
        let seconds = self.time(|| gpu.spmv(C::one(), &a, &x, C::zero(), &mut y))?;
        line("product", bytes, seconds);
        if n != columns {
            return Ok(());
        }
        let seconds = self.time(|| gpu.residual(&a, &x, &b, &mut y))?;
        line("residual", bytes.with_vectors(1), seconds);
        let seconds = self.time(|| gpu.sweep(&a, C::one(), &d, &b, &x, C::zero(), &mut y))?;
        line("sweep", bytes.with_vectors(3), seconds);
        Ok(())
    }

    fn formats(&self, name: &str, a: &Csr<f64>, block: usize) -> Result<(), Box<dyn Error>> {
        self.matrix::<f64, f64>(name, a.clone().into())?;
        self.matrix::<f32, f16>(name, a.view().stored_as::<f16>().into())?;
        let tiles = Tiles::from_csr(a.view().stored_as::<f16>().view());
        // Scattered entries take a tile each: too much for the arrays of some devices.
        if 4 * tiles.tiles() <= a.nnz() {
            self.matrix::<f32, f16>(name, tiles.into())?;
        }
        if block > 1 {
            let blocks = a.view().to_bsr(block)?;
            self.matrix::<f64, f64>(name, blocks.clone().into())?;
            self.matrix::<f32, f16>(name, blocks.view().stored_as::<f16>().into())?;
            return Ok(());
        }
        let long = "rows too long for delta-SELL";
        self.matrix::<f64, f64>(name, DeltaSell::from_csr(a.view()).ok_or(long)?.into())?;
        self.matrix::<f32, f32>(name, DeltaSell::from_csr(a.view()).ok_or(long)?.into())?;
        self.matrix::<f32, f16>(name, DeltaSell::<f16>::from_csr(a.view()).ok_or(long)?.into())?;
        self.matrix::<f32, bf16>(name, DeltaSell::<bf16>::from_csr(a.view()).ok_or(long)?.into())?;
        Ok(())
    }

    /// Measures interpolation and restriction between the grids of a model problem, as weights and
    /// in compressed rows.
    fn transfers<C: Reads<S>, S: Store>(&self, name: &str, a: &Csr<f64>) -> Result<(), Box<dyn Error>> {
        let a = GridMatrix::from_csr(a.view(), &recognise(a.view())?)?;
        let (p, _) = a.coarsen(&[2, 1, 0]).ok_or("too few points")?;
        for (direction, transfer) in [("P", p.clone()), ("R", p.transposed())] {
            let name = format!("{name},{direction}");
            let rows = transfer.to_csr().view().stored_as::<S>();
            let weights = HostMatrix::from(transfer).scaled_as::<S>(ScaleFactors::ONE);
            self.matrix::<C, S>(&name, rows.into())?;
            self.matrix::<C, S>(&name, weights.ok_or("a transfer of narrow weights")?)?;
        }
        Ok(())
    }

    /// Measures vector updates and reductions. Neighbouring units access neighbouring elements, so
    /// the requested traffic is the minimum.
    fn vectors(&self, n: usize) -> Result<(), Box<dyn Error>> {
        let gpu = &self.gpu;
        let [x, y, z] = [1.0, 2.0, 3.0].map(|value| vec![value; n]);
        let (x, mut y, mut z) = (gpu.upload(&x)?, gpu.upload(&y)?, gpu.upload(&z)?);
        let line = |kernel: &str, vectors: usize, seconds: f64| {
            let bytes = vectors * 8 * n;
            println!("kernel {kernel} n={n} vector f64 {bytes} {bytes} {seconds:e}");
        };
        let seconds = self.time(|| gpu.axpby(0.5, &x, 0.5, &mut y))?;
        line("axpby", 3, seconds);
        let seconds = self.time(|| gpu.step_and_turn(0.5, &mut y, 0.5, &x, &mut z))?;
        line("step_and_turn", 5, seconds);
        let seconds = self.time(|| {
            gpu.combine(&[0.5], &[&x], 0.5, &mut y);
        })?;
        line("combine", 3, seconds);
        let seconds = self.time(|| {
            gpu.dot(&x, &y);
        })?;
        line("dot", 2, seconds);
        Ok(())
    }

    fn solve(&self, name: &str, precision: &Precision) -> Result<(), Box<dyn Error>> {
        let problem: Problem = name.parse()?;
        let (a, b) = (problem.matrix()?, problem.rhs()?);
        let solver = Solver::builder().device(&self.gpu).precision(precision.clone()).build(&a)?;
        let mut best = solver.solve(&b)?; // compiles the kernels
        for _ in 0..self.rounds {
            let solution = solver.solve(&b)?;
            if solution.report.seconds < best.report.seconds {
                best = solution;
            }
        }
        let (report, traffic) = (&best.report, best.traffic.unwrap_or_default());
        println!(
            "solve {name} {precision} {} {:e} {} {} {}",
            report.iterations, report.seconds, traffic.kernels, traffic.downloads, traffic.downloaded_bytes
        );
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let gpu = Gpu::named(&arguments.next().unwrap_or_else(|| "gpu".to_owned()))?;
    let edge: usize = arguments.next().map_or(Ok(40), |edge| edge.parse())?;
    let rounds: usize = arguments.next().map_or(Ok(3), |rounds| rounds.parse())?;
    println!("device {}", gpu.name());
    let measure = Measure { gpu, rounds };
    for name in [format!("poisson3d:{edge}"), format!("poisson3d27:{edge}")] {
        let a = name.parse::<Problem>()?.matrix()?;
        measure.formats(&name, &a, 1)?;
        measure.transfers::<f64, f64>(&name, &a)?;
        measure.transfers::<f32, f16>(&name, &a)?;
        let (shuffled, _) = shuffle(a.view(), 1, 64.try_into()?)?;
        measure.formats(&format!("{name},shuffled"), &shuffled, 1)?;
    }
    let name = format!("elasticity3d:{}", edge / 2);
    measure.formats(&name, &name.parse::<Problem>()?.matrix()?, 3)?;
    measure.vectors(edge * edge * edge)?;
    for precision in [Precision::F64, Precision::F32, Precision::F16] {
        measure.solve(&format!("poisson3d:{edge}"), &precision)?;
    }
    Ok(())
}

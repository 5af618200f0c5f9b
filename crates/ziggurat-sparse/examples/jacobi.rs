//! The same smoother on the same matrix, stored in 64, 32 and 16 bits.
//!
//! Run `cargo run --release --example jacobi -- poisson3d:50`, or pass the path of a Matrix Market
//! file with a symmetric positive definite matrix.

#![allow(clippy::print_stdout)] // examples print their results

use std::error::Error;
use std::time::Instant;

use ziggurat_sparse::device::{Cpu, Device};
use ziggurat_sparse::gallery::Problem;
use ziggurat_sparse::spectrum::gershgorin;
use ziggurat_sparse::{Csr, Reads, Store, bf16, f16, io};

const SWEEPS: usize = 50;

fn main() -> Result<(), Box<dyn Error>> {
    let source = std::env::args().nth(1).unwrap_or_else(|| "poisson3d:50".to_owned());
    let a = if std::path::Path::new(&source).exists() {
        io::read_matrix(&source)?
    } else {
        source.parse::<Problem>()?.matrix()?
    };
    let cpu = Cpu::new();
    println!("{source}: {} rows, {} entries; {}", a.rows(), a.nnz(), cpu.name());
    println!("{SWEEPS} damped Jacobi sweeps on A x = 1:\n");
    println!("{:>8} {:>11} {:>10} {:>12} {:>10}", "storage", "arithmetic", "MB", "ms/sweep", "residual");
    smooth::<f64, f64>(&cpu, &a)?;
    smooth::<f32, f32>(&cpu, &a)?;
    smooth::<f32, f16>(&cpu, &a)?;
    smooth::<f32, bf16>(&cpu, &a)?;
    Ok(())
}

/// Smooths with the matrix stored as `S` and all arithmetic in `C`, then measures the true residual
/// in f64.
fn smooth<C: Reads<S>, S: Store>(cpu: &Cpu, a: &Csr<f64>) -> Result<(), Box<dyn Error>> {
    let n = a.rows();
    let omega = C::narrow(4.0 / (3.0 * gershgorin(a.view(), a.all_rows())?));
    let inverse_diagonal: Vec<C> = a.view().diagonal(0..n).iter().map(|d| C::narrow(1.0 / d)).collect();
    let narrow = a.view().stored_as::<S>();
    let megabytes = narrow.bytes() as f64 * 1e-6;
    let matrix = cpu.upload_matrix(narrow.into())?;
    let (d, b) = (cpu.upload(&inverse_diagonal)?, cpu.upload(&vec![C::one(); n])?);
    let (mut x, mut y) = (cpu.zeros::<C>(n)?, cpu.zeros::<C>(n)?);
    let start = Instant::now();
    for _ in 0..SWEEPS {
        cpu.sweep(&matrix, omega, &d, &b, &x, C::zero(), &mut y);
        std::mem::swap(&mut x, &mut y);
    }
    let milliseconds = start.elapsed().as_secs_f64() * 1e3 / SWEEPS as f64;
    let mut wide = cpu.zeros::<f64>(n)?;
    cpu.cast(&x, &mut wide);
    let mut residual = cpu.zeros::<f64>(n)?;
    cpu.residual(&cpu.upload_matrix(a.clone().into())?, &wide, &vec![1.0; n], &mut residual);
    let relative = cpu.norm(&residual) / (n as f64).sqrt();
    println!("{:>8} {:>11} {megabytes:>10.1} {milliseconds:>12.2} {relative:>10.6}", S::KIND, C::KIND);
    Ok(())
}

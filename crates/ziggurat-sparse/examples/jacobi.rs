//! The same smoother on the same matrix, stored in 64, 32 and 16 bits.
//!
//! Run `cargo run --release --example jacobi -- poisson3d:50`, or pass the path of a Matrix Market
//! file with a symmetric positive definite matrix.

#![allow(clippy::print_stdout)] // examples print their results

use std::error::Error;
use std::time::Instant;

use ziggurat_sparse::device::{Cpu, Device, DeviceError, DeviceExt, Vector};
use ziggurat_sparse::gallery::Problem;
use ziggurat_sparse::spectrum::gershgorin;
use ziggurat_sparse::{Csr, Kind, Store, bf16, f16, io};

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
    smooth::<f64>(&cpu, &a, Kind::F64)?;
    smooth::<f32>(&cpu, &a, Kind::F32)?;
    smooth::<f16>(&cpu, &a, Kind::F32)?;
    smooth::<bf16>(&cpu, &a, Kind::F32)?;
    Ok(())
}

/// A vector in another number type.
fn converted(device: &dyn Device, x: &Vector, number: Kind) -> Result<Vector, DeviceError> {
    let mut y = device.zeros(number, x.len())?;
    device.copy(x, &mut y);
    Ok(y)
}

/// Smooths with the matrix stored as `S` and all arithmetic in `number`, then measures the true
/// residual in f64.
fn smooth<S: Store>(device: &dyn Device, a: &Csr<f64>, number: Kind) -> Result<(), Box<dyn Error>> {
    let n = a.rows();
    let omega = 4.0 / (3.0 * gershgorin(a.view(), a.all_rows())?);
    let inverse_diagonal: Vec<f64> = a.view().diagonal(0..n).iter().map(|d| 1.0 / d).collect();
    let narrow = a.view().stored_as::<S>();
    let megabytes = narrow.bytes() as f64 * 1e-6;
    let matrix = device.upload_matrix(narrow)?;
    let (d, b) = (device.adopt(inverse_diagonal)?, device.adopt(vec![1.0; n])?);
    let [d, rhs] = [converted(device, &d, number)?, converted(device, &b, number)?];
    let (mut x, mut y) = (device.zeros(number, n)?, device.zeros(number, n)?);
    let start = Instant::now();
    for _ in 0..SWEEPS {
        device.sweep(&matrix, omega, &d, &rhs, &x, 0.0, &mut y);
        std::mem::swap(&mut x, &mut y);
    }
    let milliseconds = start.elapsed().as_secs_f64() * 1e3 / SWEEPS as f64;
    let (x, mut residual) = (converted(device, &x, Kind::F64)?, device.zeros(Kind::F64, n)?);
    device.residual(&device.upload_matrix(a.clone())?, &x, &b, &mut residual);
    let relative = device.norm(&residual) / (n as f64).sqrt();
    println!("{:>8} {number:>11} {megabytes:>10.1} {milliseconds:>12.2} {relative:>10.6}", S::KIND);
    Ok(())
}

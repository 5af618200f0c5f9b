//! Writes the CUDA and HIP sources of every kernel that some solves launch, and an index of them as JSON lines.
//!
//! `cargo run -p ziggurat-gpu --example launched_sources --features sources -- FOLDER`; `cargo xtask gpu-sources` does that and
//! compiles what is written. The solves are those that the tests compare with the CPU, and some more methods.

#![allow(clippy::print_stdout)]

use std::error::Error;
use std::fmt::Write as _;
use std::path::PathBuf;

use ziggurat::Solver;
use ziggurat::config::{CycleKind, Krylov, Method, Precision, SmootherKind};
use ziggurat_gpu::Gpu;
use ziggurat_sparse::gallery::Problem;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(std::env::args().nth(1).ok_or("a folder to write to")?);
    std::fs::create_dir_all(&folder)?;
    let gpu = Gpu::best()?.keeping_sources();
    let precisions = [Precision::F64, Precision::F32, Precision::F16, Precision::BF16];
    for name in ["poisson3d:32", "anisotropic3d:32", "jump3d:32", "elasticity3d:10"] {
        let problem: Problem = name.parse()?;
        let (a, b) = (problem.matrix()?, problem.rhs()?);
        for precision in precisions.clone() {
            let solver = Solver::builder().device(gpu.clone()).precision(precision).build(&a)?;
            solver.solve(&b)?;
        }
    }
    let problem: Problem = "convection3d:16".parse()?;
    let (a, b) = (problem.matrix()?, problem.rhs()?);
    for krylov in [Krylov::Gmres, Krylov::Fgmres, Krylov::Bicgstab] {
        Solver::builder().device(gpu.clone()).krylov(krylov).build(&a)?.solve(&b)?;
    }
    let problem: Problem = "poisson3d:16".parse()?;
    let (a, b) = (problem.matrix()?, problem.rhs()?);
    for method in [Method::Classical, Method::Pairwise] {
        let solver = Solver::builder().device(gpu.clone()).method(method).cycle(CycleKind::K);
        solver.smoother(SmootherKind::GaussSeidel).build(&a)?.solve(&b)?;
    }

    let sources = gpu.sources().map(|sources| sources.all()).unwrap_or_default();
    let mut index = String::new();
    for (number, source) in sources.iter().enumerate() {
        let file = format!("{number:03}-{}.{}", source.kernel, source.target.extension());
        let text =
            source.text.as_ref().map_err(|why| format!("{} {}: {why}", source.kernel, source.shape))?;
        std::fs::write(folder.join(&file), text)?;
        // Names of numbers and shapes have neither quotes nor backslashes.
        let (kernel, numbers, shape) = (&source.kernel, &source.numbers, &source.shape);
        writeln!(
            index,
            r#"{{"file":"{file}","kernel":"{kernel}","numbers":"{numbers}","shape":"{shape}"}}"#
        )?;
    }
    std::fs::write(folder.join("index.jsonl"), index)?;
    println!("{} sources in {}", sources.len(), folder.display());
    Ok(())
}

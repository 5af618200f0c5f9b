//! Writes the CUDA and HIP sources of every kernel that a set of solves and sparse products
//! launches, with an index as JSON lines.
//!
//! ```text
//! cargo run -p ziggurat-gpu --example launched_sources --features sources -- FOLDER [MATRIX.mtx.gz …]
//! ```
//!
//! `cargo xtask gpu-sources` runs this example and compiles the sources. The solves are those that
//! the tests compare with the CPU (with the matrices given as arguments), some further methods,
//! sparse products, and the coarsening and lowering of a matrix.

#![allow(clippy::print_stdout)]

use std::error::Error;
use std::fmt::Write as _;
use std::path::PathBuf;

use ziggurat::Solver;
use ziggurat::config::{CycleKind, Format, Krylov, Method, Precision, SmootherKind};
use ziggurat_gpu::Gpu;
use ziggurat_gpu::sources::Sources;
use ziggurat_sparse::algebra::{Truncation, transpose};
use ziggurat_sparse::device::{
    AggregationKernels, ClassicalKernels, ClassicalStrength, DeviceError, FilteredStep, Kernels,
    LoweringKernels, RowStep, SetupKernels, SparseFactors, SymmetricStrength,
};
use ziggurat_sparse::gallery::Problem;
use ziggurat_sparse::io::read_matrix;
use ziggurat_sparse::{Csr, MatrixError, Real, bf16, f16};

/// The Laplacian of a star, plus the identity.
fn star(leaves: usize) -> Result<Csr<f64>, MatrixError> {
    let n = leaves + 1;
    let row_ptr = std::iter::once(0).chain((0..n).map(|row| n + 2 * row)).collect();
    let columns = (0..n as u32).chain((1..n as u32).flat_map(|leaf| [0, leaf])).collect();
    let hub = std::iter::once(n as f64).chain(std::iter::repeat_n(-1.0, leaves));
    let values = hub.chain((0..leaves).flat_map(|_| [-1.0, 2.0])).collect();
    Csr::try_new(n, n, row_ptr, columns, values)
}

/// A product and a transpose on the device.
fn multiply<T: Real>(gpu: &Gpu, a: &Csr<f64>, b: &Csr<f64>) -> Result<(), DeviceError> {
    let [a, b] = [a, b].map(|matrix| gpu.upload_sparse(&matrix.view().stored_as::<T>()));
    let c = gpu.product_once(&a?, &b?)?;
    gpu.transpose(&c)?;
    gpu.finish()
}

/// The steps of smoothed aggregation on the device, with two rows per node.
fn coarsen<T: Real>(gpu: &Gpu, a: &Csr<f64>) -> Result<(), DeviceError> {
    let a = gpu.upload_sparse(&a.view().stored_as::<T>())?;
    let nodes = gpu.node_matrix(&a, 2)?;
    gpu.pairs(&nodes, 2)?;
    let strength = SymmetricStrength { threshold: 0.01, most: Some(4.0), sampled: true };
    let strong = gpu.strong_connections(&nodes, &strength)?;
    let ones = vec![T::one(); 3 * gpu.size(&a).rows];
    // Three equal vectors: two of them are dead.
    let (p, kernel) = gpu.tentative(&gpu.aggregates(&strong, &nodes)?, &gpu.upload(&ones)?, 3)?;
    let step = gpu.smoothing_matrix(&a, &nodes, &FilteredStep { filter: 0.1, damping: 1.0, radius: 2.0 })?;
    let p = gpu.product_once(&step, &p)?;
    let mut coarse = gpu.triple_product(&gpu.transpose(&p)?, &a, &p)?;
    gpu.set_dead_diagonal(&mut coarse, &kernel, 3)?;
    gpu.finish()
}

/// The steps of classical coarsening on the device, aggressively.
fn coarsen_classically<T: Real>(gpu: &Gpu, a: &Csr<f64>) -> Result<(), DeviceError> {
    let a = gpu.upload_sparse(&a.view().stored_as::<T>())?;
    for (symmetric, max_row_sum) in [(true, Some(0.9)), (false, None)] {
        let strong = gpu.dependences(&a, &ClassicalStrength { threshold: 0.25, max_row_sum })?;
        let first = gpu.coarse_rows(&strong, None)?;
        let of_first = gpu.transpose(&first)?;
        let second = gpu.coarse_rows(&gpu.paths(&strong, &first, 1)?, Some(&of_first))?;
        let second = gpu.product_once(&first, &second)?;
        let truncation = Truncation { relative: 0.2, max_entries: Some(5), keep_row_sums: symmetric };
        let p1 = gpu.extended_i(&a, &strong, &first, None, symmetric, truncation)?;
        let p2 = gpu.extended_i(&a, &strong, &second, Some(&first), symmetric, truncation)?;
        let p2 = gpu.product_once(&of_first, &p2)?;
        gpu.two_stage(&p1, &p2, &first, truncation)?;
    }
    gpu.finish()
}

/// The lowering of a matrix on the device, with all factors that a level or a transfer has.
fn lower<T: Real>(gpu: &Gpu, a: &Csr<f64>, block: usize) -> Result<(), DeviceError> {
    let a = gpu.upload_sparse(&a.view().stored_as::<T>())?;
    for step in [RowStep::Jacobi, RowStep::L1, RowStep::Spai0, RowStep::ProvedSpai0(1.9)] {
        gpu.steps(&a, step)?;
    }
    let exponents = gpu.root_exponents(&gpu.row_sizes(&a)?)?;
    let factors = gpu.powers_of_two(&exponents, (-63, 63), true, 0)?;
    for (left, right) in [(false, false), (true, false), (false, true), (true, true)] {
        let [left, right] = [left, right].map(|side| side.then_some(&factors));
        let factors = SparseFactors { left, right, factor: 1.0 };
        gpu.largest_scaled(&a, factors)?;
        gpu.stored::<T, f64>(&a, factors, block)?;
        gpu.stored::<T, f32>(&a, factors, block)?;
        gpu.stored::<T, f16>(&a, factors, block)?;
        gpu.stored::<T, bf16>(&a, factors, block)?;
    }
    gpu.finish()
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(std::env::args().nth(1).ok_or("missing argument: output folder")?);
    std::fs::create_dir_all(&folder)?;
    let gpu = &Gpu::best()?.matrix_units_from(0).keeping_sources();
    let precisions = [Precision::F64, Precision::F32, Precision::F16, Precision::BF16];
    for name in ["poisson3d:32", "anisotropic3d:32", "jump3d:32", "elasticity3d:10"] {
        let problem: Problem = name.parse()?;
        let (a, b) = (problem.matrix()?, problem.rhs()?);
        for precision in precisions.clone() {
            let solver = Solver::builder().device(gpu).precision(precision).build(&a)?;
            solver.solve(&b)?;
        }
    }
    // Grids that are coarsened along all axes, two, and both of a plane.
    for name in ["poisson3d:32", "anisotropic3d:32", "poisson2d:90"] {
        let problem: Problem = name.parse()?;
        let (a, b) = (problem.matrix()?, problem.rhs()?);
        for precision in precisions.clone() {
            let solver = Solver::builder().device(gpu).precision(precision);
            solver.method(Method::Structured).build(&a)?.solve(&b)?;
        }
    }
    // Tiles, also by matrix units; the star has a row of several pieces.
    let problem: Problem = "elasticity3d:6".parse()?;
    for a in [problem.matrix()?, star(3000)?] {
        for precision in precisions.clone() {
            let solver = Solver::builder().device(gpu).precision(precision);
            let solver = solver.with(|config| config.format = Format::Tiles).build(&a)?;
            solver.solve(&vec![1.0; a.rows()])?;
        }
    }
    for path in std::env::args().skip(2) {
        let a = read_matrix(&path)?;
        for precision in precisions.clone() {
            let solver = Solver::builder().device(gpu).precision(precision).build(&a)?;
            solver.solve(&vec![1.0; a.rows()])?;
        }
    }
    let problem: Problem = "convection3d:16".parse()?;
    let (a, b) = (problem.matrix()?, problem.rhs()?);
    for krylov in [Krylov::Gmres, Krylov::Fgmres, Krylov::Bicgstab] {
        Solver::builder().device(gpu).krylov(krylov).build(&a)?.solve(&b)?;
    }
    let problem: Problem = "poisson3d:16".parse()?;
    let (a, b) = (problem.matrix()?, problem.rhs()?);
    for method in [Method::Classical, Method::Pairwise] {
        let solver = Solver::builder().device(gpu).method(method).cycle(CycleKind::K);
        solver.smoother(SmootherKind::GaussSeidel).build(&a)?.solve(&b)?;
    }
    // The hub's row is long enough for the load-balanced kernel.
    let a = star(3000)?;
    Solver::builder().device(gpu).build(&a)?.solve(&vec![1.0; a.rows()])?;

    // Sparse products and transposes: short rows, long ones, and long rows of the left factor.
    let wide = Csr::try_new(1, 3000, vec![0, 3000], (0..3000).collect(), vec![1.0; 3000])?;
    let tall = transpose(wide.view(), wide.all_rows());
    let (poisson, elasticity) = ("poisson3d:8".parse::<Problem>()?, "elasticity3d:4".parse::<Problem>()?);
    let (a, b) = (poisson.matrix()?, elasticity.matrix()?);
    for (a, b) in [(&a, &a), (&b, &b), (&wide, &Csr::identity(3000)?), (&wide, &tall)] {
        multiply::<f64>(gpu, a, b)?;
        multiply::<f32>(gpu, a, b)?;
    }
    coarsen::<f64>(gpu, &a)?;
    coarsen::<f32>(gpu, &a)?;
    coarsen_classically::<f64>(gpu, &a)?;
    coarsen_classically::<f32>(gpu, &a)?;
    // The formats with the fewest bytes: delta-SELL, blocks, compressed rows.
    for (a, block) in [(&a, 1), (&b, 3), (&star(300)?, 1)] {
        lower::<f64>(gpu, a, block)?;
        lower::<f32>(gpu, a, block)?;
    }

    let sources = gpu.sources().map(Sources::all).unwrap_or_default();
    let mut index = String::new();
    for (number, source) in sources.iter().enumerate() {
        let file = format!("{number:03}-{}.{}", source.kernel, source.target.extension());
        let text =
            source.text.as_ref().map_err(|why| format!("{} {}: {why}", source.kernel, source.shape))?;
        std::fs::write(folder.join(&file), text)?;
        // The names need no escaping: they contain neither quotes nor backslashes.
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

//! Multigrid on structured grids: levels by diagonals and transfers without indices, compared with
//! the CPU.

use crate::gpu;
use crate::solves::{RTOL, relative_residual, solved};
use ziggurat::Solver;
use ziggurat::config::{Method, Precision};
use ziggurat_sparse::device::{HostMatrix, Kernels, MatrixFormat};
use ziggurat_sparse::gallery::Problem;
use ziggurat_sparse::grid::{GridMatrix, GridTransfer, recognise};
use ziggurat_sparse::matrix::ScaleFactors;
use ziggurat_sparse::{Kind, Store, bf16, f16};

/// The interpolation of a model problem along these axes.
fn interpolation(name: &str, axes: &[usize]) -> GridTransfer<f64> {
    let a = name.parse::<Problem>().unwrap().matrix().unwrap();
    let grid = recognise(a.view()).unwrap();
    GridMatrix::from_csr(a.view(), &grid).unwrap().coarsen(axes).unwrap().0
}

/// Solves with grid levels on both devices; the second level has `coarse` points.
fn compare(name: &str, coarse: usize) {
    let problem: Problem = name.parse().unwrap();
    let (a, b) = (problem.matrix().unwrap(), problem.rhs().unwrap());
    for precision in [Precision::F64, Precision::F32, Precision::F16] {
        let builder = || Solver::builder().method(Method::Structured).precision(precision.clone());
        let on_gpu = builder().device(&gpu()).rtol(RTOL).build(&a).unwrap();
        let finest = &on_gpu.preconditioner().stored()[0];
        assert_eq!(finest.format.format(), MatrixFormat::Dia.into(), "{name} {precision}");
        // P and R: two weights per point that is left out, and factors of rows and columns.
        assert_eq!(on_gpu.hierarchy_in_use().levels()[1].rows(), coarse, "{name}");
        let fine = a.rows();
        let transfers = 4 * (fine - coarse) * finest.storage.facts().bytes + 8 * (fine + coarse);
        assert!(finest.transfer_bytes <= transfers, "{name} {precision}");
        let (on_cpu, on_gpu) = (solved(builder(), &a, &b), on_gpu.solve(&b).unwrap());
        let iterations = (on_cpu.report.iterations, on_gpu.report.iterations);
        assert!(iterations.0.abs_diff(iterations.1) <= 1, "{name} {precision}: {iterations:?} iterations");
        assert!(on_gpu.report.reason.is_converged(), "{name} {precision}: {}", on_gpu.report.reason);
        let residual = relative_residual(&a, &on_gpu.x, &b);
        assert!(residual <= 1.01 * RTOL, "{name} {precision}: {residual:e}");
    }
}

#[test]
fn three_dimensions() {
    compare("poisson3d:32", 16 * 16 * 16);
}

#[test]
fn two_dimensions() {
    compare("poisson2d:90", 45 * 45);
}

/// Diagonals of their own for each unknown, and transfers with the same weights.
#[test]
fn several_unknowns_per_point() {
    compare("radiation3t:16", 3 * 512);
}

/// Weak connections along an axis: the grid is coarsened along the others.
#[test]
fn semi_coarsening() {
    compare("anisotropic3d:32", 16 * 16 * 32);
}

/// The device holds the weights and nothing else.
#[test]
fn only_weights_are_uploaded() {
    fn uploaded<S: Store>(p: &GridTransfer<f64>) {
        let gpu = gpu();
        let narrow = HostMatrix::from(p.clone()).scaled_as::<S>(ScaleFactors::ONE).unwrap();
        let (before, weights) = (gpu.traffic().unwrap(), 2 * p.rows().abs_diff(p.cols()));
        let matrix = gpu.upload_matrix(narrow).unwrap();
        assert_eq!(gpu.shape(&matrix), (p.rows(), p.cols()));
        let traffic = gpu.traffic().unwrap().since(before);
        assert_eq!((traffic.uploads, traffic.uploaded_bytes), (1, (weights * size_of::<S>()) as u64));
    }
    let p = interpolation("poisson3d:9", &[2, 1, 0]);
    for transfer in [p.transposed(), p] {
        uploaded::<f64>(&transfer);
        uploaded::<f32>(&transfer);
        uploaded::<f16>(&transfer);
        uploaded::<bf16>(&transfer);
    }
}

/// A device without `f64` keeps them on the host, too.
#[test]
fn without_f64() {
    let gpu = gpu().without(Kind::F64);
    let p = interpolation("poisson3d:9", &[2, 0]);
    let on_device = gpu.upload_matrix::<f64>(p.clone().into()).unwrap();
    let x = gpu.upload(&vec![1.0; p.cols()]).unwrap();
    let mut y = gpu.zeros(p.rows()).unwrap();
    gpu.spmv(1.0, &on_device, &x, 0.0, &mut y);
    let rows = p.to_csr();
    let expected = |row: usize| rows.row(row).1.iter().sum::<f64>();
    let found = gpu.to_host(y).unwrap();
    assert!(found.iter().enumerate().all(|(row, y)| (y - expected(row)).abs() < 1e-12));
}

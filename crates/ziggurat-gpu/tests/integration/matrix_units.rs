//! Products by matrix units (tensor cores): with vectors, against the reference with all digits of
//! the vector; of sparse matrices; and in whole setups and solves. Debian 12's software Vulkan has
//! none; Mesa 26's has `f16` 8x8x8, and `.ci/run` installs it beside the other and requires these
//! tests to run there.

use std::io::Write;

use crate::gpu;
use ziggurat::Solver;
use ziggurat::config::{Format, Precision, SetupPlace};
use ziggurat_gpu::Gpu;
use ziggurat_sparse::algebra::product as exact_product;
use ziggurat_sparse::device::{Kernels, SetupKernels};
use ziggurat_sparse::gallery::Problem;
use ziggurat_sparse::hash::uniform_signed;
use ziggurat_sparse::{Coo, Csr, Kind, Tiles, f16};

/// The device, if it has matrix units for `f16`.
fn with_units() -> Option<Gpu> {
    let gpu = gpu();
    if gpu.matrix_units().iter().any(|name| name.starts_with("f16")) {
        return Some(gpu.matrix_units_from(0)); // for tiles that are hardly filled, too
    }
    assert!(
        std::env::var_os("ZIGGURAT_MATRIX_UNITS").is_none(),
        "ZIGGURAT_MATRIX_UNITS is set, but the device has none: {gpu:?}"
    );
    // Not `eprintln!`, which the test harness captures: a skipped test must be visible.
    let _ = writeln!(std::io::stderr(), "skipped: no matrix units");
    None
}

/// A matrix of dense rows with small integers, whose products with a vector are exact in `f64`.
fn dense_rows(rows: usize, cols: usize) -> Csr<f16> {
    let columns = (0..rows).flat_map(|_| 0..cols as u32).collect();
    let value = |k: usize| f16::from_f64((k * 7 % 13) as f64 - 6.0);
    let row_ptr = (0..=rows).map(|row| row * cols).collect();
    Csr::try_new(rows, cols, row_ptr, columns, (0..rows * cols).map(value).collect()).unwrap()
}

/// y = A x on the device, and the number of kernels on matrix units.
fn product(gpu: &Gpu, a: &Csr<f16>, x: &[f32]) -> (Vec<f32>, u64) {
    let before = gpu.traffic().unwrap();
    let rows = a.rows();
    let a = gpu.upload_matrix(Tiles::from_csr(a.view()).into()).unwrap();
    let (x, mut y) = (gpu.upload(x).unwrap(), gpu.zeros::<f32>(rows).unwrap());
    gpu.spmv(1.0, &a, &x, 0.0, &mut y);
    let mut found = vec![f32::NAN; gpu.len(&y)];
    gpu.download(&y, &mut found).unwrap();
    (found, gpu.traffic().unwrap().since(before).by_matrix_units)
}

/// Elements that use all 24 digits, of very different sizes within a row and of extreme sizes
/// throughout; rows and columns that do not fill tiles; block rows of several pieces.
#[test]
fn a_vector_keeps_all_its_digits() {
    let Some(gpu) = with_units() else { return };
    for (rows, cols) in [(1, 1), (4, 4), (7, 13), (16, 259), (5, 1030)] {
        let a = dense_rows(rows, cols);
        for (spread, size) in [(0, 0), (20, 0), (60, 0), (8, 100), (8, -100), (0, 120)] {
            let element = |j: usize| {
                let digits = 1.0 + (j * 48_271 % 65_521) as f64 / 65_521.0 / 3.0;
                let exponent = size - (j * 11 % 17) as i32 * spread / 17;
                (digits * 2f64.powi(exponent)) as f32
            };
            let x: Vec<f32> = (0..cols).map(element).collect();
            let (found, by_units) = product(&gpu, &a, &x);
            assert_eq!(by_units, 1);
            for (row, &found) in found.iter().enumerate() {
                let (columns, values) = a.row(row);
                let term = |(&j, v): (&u32, &f16)| v.to_f64() * f64::from(x[j as usize]);
                let terms: Vec<f64> = columns.iter().zip(values).map(term).collect();
                let expected: f64 = terms.iter().sum();
                let magnitude: f64 = terms.iter().map(|term| term.abs()).sum();
                let allowed = (cols + 16) as f64 * f64::from(f32::EPSILON) / 2.0 * magnitude;
                let error = (f64::from(found) - expected).abs();
                assert!(
                    error <= allowed.max(1e-44),
                    "{rows} by {cols}, spread {spread}, size {size}, row {row}: {found:e} for {expected:e}"
                );
            }
        }
    }
}

/// Zero vectors, infinities and NaN arrive as they do elsewhere.
#[test]
fn odd_vectors_are_not_hidden() {
    let Some(gpu) = with_units() else { return };
    let a = dense_rows(8, 8);
    assert_eq!(product(&gpu, &a, &[0.0; 8]).0, [0.0; 8]);
    for odd in [f32::INFINITY, f32::NAN] {
        let mut x = [1.0; 8];
        x[3] = odd;
        assert!(product(&gpu, &a, &x).0.iter().all(|y| !y.is_finite()), "{odd}");
    }
    let tiny = f32::MIN_POSITIVE / 2.0;
    let row_sum = |row: usize| a.row(row).1.iter().map(|v| v.to_f64()).sum::<f64>();
    for (row, found) in product(&gpu, &a, &[tiny; 8]).0.into_iter().enumerate() {
        // Subnormal numbers may be flushed to zero, as GPUs do.
        assert!(found == 0.0 || f64::from(found) == row_sum(row) * f64::from(tiny), "{found:e}");
    }
}

/// Levels in tiles, on matrix units: the CPU's iterations, and a true residual below the tolerance.
#[test]
fn solves_by_matrix_units() {
    let Some(gpu) = with_units() else { return };
    for name in ["elasticity3d:10", "poisson3d27:24"] {
        let problem: Problem = name.parse().unwrap();
        let (a, b) = (problem.matrix().unwrap(), problem.rhs().unwrap());
        let on_cpu = Solver::builder().precision(Precision::F16).rtol(1e-8).build(&a).unwrap();
        let on_cpu = on_cpu.solve(&b).unwrap();
        let tiles = |gpu: &Gpu| {
            let solver = Solver::builder().device(gpu).precision(Precision::F16).rtol(1e-8);
            solver.with(|config| config.format = Format::Tiles).build(&a).unwrap().solve(&b).unwrap()
        };
        let by_units = tiles(&gpu);
        assert!(by_units.report.reason.is_converged(), "{name}: {}", by_units.report.reason);
        assert!(by_units.report.relative_residual <= 1e-8, "{name}");
        let iterations = (on_cpu.report.iterations, by_units.report.iterations);
        assert!(iterations.0.abs_diff(iterations.1) <= 1, "{name}: {iterations:?} iterations");
        let launched = by_units.traffic.unwrap().by_matrix_units;
        assert!(launched as usize >= by_units.report.iterations, "{name}: {launched} kernels");
        let without = tiles(&gpu.clone().without_matrix_units());
        assert_eq!(without.traffic.unwrap().by_matrix_units, 0);
        assert!(without.report.iterations.abs_diff(by_units.report.iterations) <= 1, "{name}");
    }
}

/// Rows of `per_row` entries whose columns are scattered, except in a band.
fn scattered(rows: usize, cols: usize, per_row: usize, value: impl Fn(u64) -> f32) -> Csr<f32> {
    let mut all = Coo::new(rows, cols).unwrap();
    for row in 0..rows {
        let mut columns: Vec<usize> = (0..per_row).map(|k| (row + k * (k + row % 3)) % cols).collect();
        columns.sort_unstable();
        columns.dedup();
        for column in columns {
            all.push(row, column, value((row * cols + column) as u64)).unwrap();
        }
    }
    all.to_csr()
}

/// A B on the device by matrix units, its pattern checked.
fn sparse_product(gpu: &Gpu, a: &Csr<f32>, b: &Csr<f32>) -> (Csr<f32>, Csr<f64>) {
    let before = gpu.traffic().unwrap();
    let [there, other] = [a, b].map(|matrix| gpu.upload_sparse(matrix).unwrap());
    let found = gpu.download_sparse(&gpu.product_once(&there, &other).unwrap()).unwrap();
    assert_eq!(gpu.traffic().unwrap().since(before).by_matrix_units, 1);
    let [a, b] = [a, b].map(|matrix| matrix.view().stored_as::<f64>());
    let expected = exact_product(a.view(), a.all_rows(), b.view()).unwrap();
    assert_eq!((found.row_ptr(), found.columns()), (expected.row_ptr(), expected.columns()));
    (found, expected)
}

/// The sizes of A and B: tiles that are cut off at the end, rows without entries, one tile.
const SHAPES: [[usize; 4]; 5] =
    [[1, 1, 1, 1], [4, 4, 4, 3], [37, 53, 29, 9], [66, 64, 150, 30], [203, 90, 11, 0]];

/// Numbers of sixteen bits, whose products and sums are exact in `f32`.
#[test]
fn sparse_products_of_short_numbers_are_exact() {
    let Some(gpu) = with_units() else { return };
    let short = |i| (40.0 * uniform_signed(i)).round() as f32 / 8.0;
    for [rows, inner, cols, per_row] in SHAPES {
        let (a, b) = (scattered(rows, inner, per_row + 1, short), scattered(inner, cols, per_row + 2, short));
        let (found, expected) = sparse_product(&gpu, &a, &b);
        assert_eq!(found.view().stored_as::<f64>(), expected, "{rows} {inner} {cols}");
    }
    let e = matrix("elasticity3d:4");
    sparse_product(&gpu, &e, &e);
}

fn matrix(name: &str) -> Csr<f32> {
    name.parse::<Problem>().unwrap().matrix().unwrap().view().stored_as()
}

/// Numbers of 32 bits and all sizes: the error is as for sums in `f32`, compared with the largest
/// product in four rows.
#[test]
fn sparse_products_keep_the_digits_of_single_precision() {
    let Some(gpu) = with_units() else { return };
    for spread in [0, 12, 60] {
        let value = |i: u64| {
            let exponent = (uniform_signed(i ^ 77) * f64::from(spread)) as i32;
            (uniform_signed(i) * 2f64.powi(exponent)) as f32
        };
        for [rows, inner, cols, per_row] in SHAPES {
            let a = scattered(rows, inner, per_row + 1, value);
            let b = scattered(inner, cols, per_row + 2, value);
            let (found, expected) = sparse_product(&gpu, &a, &b);
            let largest = |m: &Csr<f32>, rows: std::ops::Range<usize>| {
                rows.filter(|&row| row < m.rows())
                    .flat_map(|row| m.row(row).1)
                    .fold(0.0_f32, |x, v| x.max(v.abs()))
            };
            for row in 0..rows {
                let first = row / 4 * 4;
                let terms = (first..(first + 4).min(rows)).flat_map(|row| {
                    let (columns, values) = a.row(row);
                    columns.iter().zip(values).map(|(&j, value)| {
                        let j = j as usize / 4 * 4;
                        f64::from(value.abs()) * f64::from(largest(&b, j..j + 4))
                    })
                });
                let size = terms.fold(0.0, f64::max);
                let allowed = (a.row(row).0.len() + 4) as f64 * f64::from(f32::EPSILON) * size;
                for (found, expected) in found.row(row).1.iter().zip(expected.row(row).1) {
                    let error = (f64::from(*found) - expected).abs();
                    assert!(error <= allowed, "{rows} {inner} {cols}, row {row}: {error:e} {allowed:e}");
                }
            }
        }
    }
}

/// Setup on a device without `f64`, whose Galerkin products take matrix units: the levels and the
/// iterations of a setup without them.
#[test]
fn levels_by_matrix_units() {
    let Some(gpu) = with_units() else { return };
    let gpu = gpu.without(Kind::F64);
    let problem: Problem = "elasticity3d:10".parse().unwrap();
    let (a, b) = (problem.matrix().unwrap(), problem.rhs().unwrap());
    let build = |gpu: &Gpu| {
        let before = gpu.traffic().unwrap();
        let solver = Solver::builder().device(gpu).precision(Precision::F32);
        let solver = solver.with(|config| config.setup = SetupPlace::Device).build(&a).unwrap();
        (gpu.traffic().unwrap().since(before).by_matrix_units, solver)
    };
    let (by_units, there) = build(&gpu);
    let (none, here) = build(&gpu.clone().without_matrix_units());
    assert!(by_units > 0 && none == 0, "{by_units} {none}");
    for (there, here) in there.hierarchy().levels().iter().zip(here.hierarchy().levels()) {
        assert_eq!(there.matrix().columns(), here.matrix().columns());
        for row in 0..here.rows() {
            let (found, expected) = (there.matrix().row(row).1, here.matrix().row(row).1);
            let largest = expected.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
            assert!(found.iter().zip(expected).all(|(x, y)| (x - y).abs() <= 1e-5 * largest), "row {row}");
        }
    }
    let [there, here] = [there, here].map(|solver| solver.solve(&b).unwrap().report);
    assert!(there.reason.is_converged() && there.relative_residual <= 1e-8);
    assert!(there.iterations.abs_diff(here.iterations) <= 1);
}

//! The estimates compared with known spectra, with each other, and across numbers of threads and
//! row ranges.

use std::f64::consts::PI;

use proptest::prelude::*;

use super::*;
use crate::graph::sample::{grid, on_threads, scattered};
use crate::{Csr, MatrixError, f16};

/// The extreme eigenvalues of D⁻¹A for a Laplacian on a grid with n points per direction, in any
/// dimension.
fn laplacian_ends(n: usize) -> (f64, f64) {
    let cosine = (PI / (n + 1) as f64).cos();
    (1.0 - cosine, 1.0 + cosine)
}

fn close(x: f64, y: f64, tolerance: f64) -> bool {
    (x - y).abs() <= tolerance * y.abs()
}

#[test]
fn many_steps_find_both_ends_of_laplacians() {
    for (a, n) in [(grid(40, 1), 40), (grid(12, 12), 12)] {
        let bounds = lanczos_jacobi(a.view(), 80).unwrap();
        let (smallest, largest) = laplacian_ends(n);
        assert!(close(bounds.smallest, smallest, 1e-9) && close(bounds.largest, largest, 1e-9), "{bounds:?}");
        assert!(close(bounds.upper, largest, 1e-9), "{bounds:?}");
    }
}

#[test]
fn a_dozen_steps_bound_laplacians_sharply() {
    for (a, n) in [(grid(3000, 1), 3000), (grid(60, 60), 60)] {
        let bounds = lanczos_jacobi(a.view(), LANCZOS_STEPS).unwrap();
        let (smallest, largest) = laplacian_ends(n);
        assert_eq!(bounds.steps, LANCZOS_STEPS);
        assert!(bounds.smallest >= smallest && bounds.largest <= largest, "{bounds:?}");
        assert!(bounds.largest > 0.98 * largest, "{bounds:?}");
        assert!(bounds.upper > largest && bounds.upper < 1.02 * largest, "{bounds:?}");
        let power = power_jacobi(a.view(), POWER_STEPS).unwrap();
        assert!(power.settled && power.radius <= largest && power.radius > 0.9 * largest, "{power:?}");
    }
}

#[test]
fn symmetric_scaling_changes_not_a_bit() {
    // S A S has the same D⁻¹A up to similarity; powers of four keep all operations exact, including
    // square roots.
    let a = grid(30, 20);
    let mut scaled = a.clone();
    let scale = |row: usize| 4f64.powi((row * 7 % 11) as i32 - 5);
    let rows: Vec<usize> = (0..a.rows()).flat_map(|row| vec![row; a.row(row).0.len()]).collect();
    for (entry, value) in scaled.values_mut().iter_mut().enumerate() {
        *value *= scale(rows[entry]) * scale(a.columns()[entry] as usize);
    }
    let (plain, scaled) = (a.view(), scaled.view());
    assert_eq!(lanczos_jacobi(plain, 12).unwrap(), lanczos_jacobi(scaled, 12).unwrap());
    assert_eq!(power_jacobi(plain, 12).unwrap(), power_jacobi(scaled, 12).unwrap());
}

#[test]
fn same_bits_for_any_number_of_threads() {
    let a = grid(250, 200); // a dozen blocks
    let all = || {
        let (lanczos, power) = (lanczos_jacobi(a.view(), 8).unwrap(), power_jacobi(a.view(), 8).unwrap());
        (lanczos, power, gershgorin(a.view(), a.all_rows()).unwrap())
    };
    let one = on_threads(1, all);
    assert_eq!(one, on_threads(2, all));
    assert_eq!(one, on_threads(3, all));
}

#[test]
fn two_processes_find_what_one_does() {
    // Each process holds a range of rows; here the halo is the whole vector, and the reduction is a
    // sum.
    let a = grid(30, 30);
    let cut = 311;
    let parts = [0..cut, cut..900].map(|rows| JacobiScaled::try_new(a.view(), rows).unwrap());
    let start = [parts[0].start_vector(0), parts[1].start_vector(cut as u64)].concat();
    let apply = |x: &[f64], y: &mut [f64]| {
        let (top, bottom) = y.split_at_mut(cut);
        parts[0].apply(x, top);
        parts[1].apply(x, bottom);
    };
    let dot = |x: &[f64], y: &[f64]| parts[0].dot(&x[..cut], &y[..cut]) + parts[1].dot(&x[cut..], &y[cut..]);
    let together = lanczos(start.clone(), 12, apply, dot).unwrap();
    let alone = lanczos_jacobi(a.view(), 12).unwrap();
    assert!(close(together.upper, alone.upper, 1e-9) && close(together.smallest, alone.smallest, 1e-9));
    let together = power(start, 12, apply, dot).unwrap();
    assert!(close(together.radius, power_jacobi(a.view(), 12).unwrap().radius, 1e-9));
}

#[test]
fn narrow_storage_is_read_exactly() {
    let a = grid(20, 20);
    let half = a.view().stored_as::<f16>(); // 4 and -1 are exact
    assert_eq!(lanczos_jacobi(a.view(), 12), lanczos_jacobi(half.view(), 12));
    assert_eq!(gershgorin(a.view(), 0..400), gershgorin(half.view(), 0..400));
}

#[test]
fn nothing_and_one_row() {
    let empty = Csr::<f64>::identity(0).unwrap();
    let bounds = lanczos_jacobi(empty.view(), 12).unwrap();
    assert_eq!(bounds, LanczosBounds { smallest: 0.0, largest: 0.0, upper: 0.0, steps: 0 });
    assert_eq!(power_jacobi(empty.view(), 12).unwrap().radius, 0.0);
    let one = Csr::try_new(1, 1, vec![0, 1], vec![0], vec![7.0]).unwrap();
    for steps in [0, 1, 12] {
        assert_eq!(lanczos_jacobi(one.view(), steps).unwrap().steps, 1);
        assert!(close(lanczos_jacobi(one.view(), steps).unwrap().upper, 1.0, 1e-14));
        assert!(close(power_jacobi(one.view(), steps).unwrap().radius, 1.0, 1e-14));
    }
}

#[test]
fn faults_name_their_place() {
    let mut a = grid(10, 10);
    let rectangular = Csr::<f64>::try_new(1, 2, vec![0, 1], vec![0], vec![1.0]).unwrap();
    let mismatch = MatrixError::Mismatch { what: "columns of a square matrix", expected: 1, found: 2 };
    assert_eq!(lanczos_jacobi(rectangular.view(), 5), Err(mismatch.clone().into()));
    assert_eq!(power_jacobi(rectangular.view(), 5), Err(mismatch.into()));
    let first = a.columns().iter().position(|&column| column == 1).unwrap(); // row 0, column 1
    a.values_mut()[first] = f64::INFINITY;
    let fault = SpectrumError::Matrix(MatrixError::NotFinite { row: 0, column: 1, value: f64::INFINITY });
    assert_eq!(lanczos_jacobi(a.view(), 5), Err(fault.clone()));
    assert_eq!(power_jacobi(a.view(), 5), Err(fault));
    let doubling = |x: &[f64], y: &mut [f64]| y[0] = 1e300 * x[0];
    let product = |x: &[f64], y: &[f64]| x[0] * y[0];
    assert_eq!(
        power(vec![1.0], 5, doubling, product),
        Err(SpectrumError::NotFinite { step: 1, norm: f64::INFINITY })
    );
}

#[test]
fn a_negative_diagonal_is_no_obstacle_to_power_iteration() {
    let mut a = grid(20, 20);
    let expected = power_jacobi(a.view(), 15).unwrap();
    a.values_mut().iter_mut().for_each(|value| *value = -*value);
    assert_eq!(power_jacobi(a.view(), 15).unwrap(), expected);
    assert!(matches!(lanczos_jacobi(a.view(), 15), Err(SpectrumError::NegativeDiagonal { row: 0, .. })));
}

#[test]
fn competing_eigenvalues_are_averaged() {
    // Eigenvalues ±1 in a skewed basis: the growth factor alternates indefinitely.
    let swap = |x: &[f64], y: &mut [f64]| (y[0], y[1]) = (8.0 * x[1], x[0] / 8.0);
    let dot = |x: &[f64], y: &[f64]| x[0] * y[0] + x[1] * y[1];
    for steps in [4, 5, 17, 20] {
        let estimate = power(vec![0.3, 0.7], steps, swap, dot).unwrap();
        assert!(!estimate.settled && close(estimate.radius, 1.0, 1e-12), "{estimate:?}");
    }
    // An operator that maps everything to zero.
    let nilpotent = |x: &[f64], y: &mut [f64]| (y[0], y[1]) = (x[1], 0.0);
    assert_eq!(power(vec![0.3, 0.7], 9, nilpotent, dot).unwrap().radius, 0.0);
}

proptest! {
    #[test]
    fn gershgorin_is_never_below_the_others(n in 1usize..80, degree in 0usize..6, seed in any::<u64>()) {
        // A + Aᵀ, dense, with a positive diagonal that need not dominate.
        let a = scattered(n, degree, seed);
        let value = |row, column| a.get(row, column).unwrap_or(0.0) + a.get(column, row).unwrap_or(0.0);
        let entry = |at: usize| match (at / n, at % n) {
            (row, column) if row == column => 0.5 + value(row, row).abs(),
            (row, column) => value(row, column),
        };
        let (row_ptr, columns) = ((0..=n).map(|row| row * n).collect(), (0..n).flat_map(|_| 0..n as u32).collect());
        let a = Csr::try_new(n, n, row_ptr, columns, (0..n * n).map(entry).collect()).unwrap();
        let proven = gershgorin(a.view(), a.all_rows()).unwrap() * (1.0 + 1e-12);
        let bounds = lanczos_jacobi(a.view(), 10).unwrap();
        prop_assert!(bounds.largest <= proven && bounds.smallest >= -proven);
        prop_assert!(bounds.smallest <= bounds.largest && bounds.largest <= bounds.upper);
        // Self-adjoint, so the growth factor never exceeds the radius; by the trace, 1 lies within
        // the spectrum.
        prop_assert!(power_jacobi(a.view(), 10).unwrap().radius <= proven);
        let exact = lanczos_jacobi(a.view(), 3 * n).unwrap();
        prop_assert!(exact.largest >= 1.0 - 1e-9 && exact.smallest <= 1.0 + 1e-9);
        prop_assert!(exact.largest >= bounds.largest * (1.0 - 1e-9) && exact.largest <= proven);
    }
}

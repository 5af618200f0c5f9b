//! In every layout, rows equal the rows of the CSR matrix.

use super::*;
use crate::gallery::{Problem, shuffle};
use crate::hash::hash_id;
use crate::{Csr, f16};
use std::num::NonZeroUsize;

/// The entries of a row without padding, ordered by column.
fn entries<S: Store>(a: &DeltaSell<S>, row: usize) -> Vec<(usize, f64)> {
    let mut entries: Vec<_> =
        a.row(row).map(|(column, value)| (column, value.wide())).filter(|entry| entry.1 != 0.0).collect();
    entries.sort_by_key(|entry| entry.0);
    entries
}

/// Checks that every row holds the entries of the CSR matrix, and that the plan predicted the
/// bytes.
fn check<S: Store>(a: &Csr<f64>) -> DeltaSell<S> {
    let plan = DeltaSellPlan::new(a.view(), size_of::<S>()).unwrap();
    let bytes = plan.bytes();
    let made = plan.fill::<S>(a.view()).unwrap();
    assert_eq!((made.rows(), made.cols(), made.nnz()), (a.rows(), a.cols(), a.nnz()));
    assert_eq!(made.bytes(), bytes);
    for row in 0..a.rows() {
        let (columns, values) = a.row(row);
        let stored = values.iter().map(|&value| S::narrow(value).wide());
        let expected = columns.iter().map(|&column| column as usize).zip(stored);
        // Explicit zeros cannot be distinguished from padding.
        let expected: Vec<_> = expected.filter(|entry| entry.1 != 0.0).collect();
        assert_eq!(entries(&made, row), expected, "row {row}");
    }
    made
}

fn problem(name: &str, window: usize) -> Csr<f64> {
    let a = name.parse::<Problem>().unwrap().matrix().unwrap();
    shuffle(a.view(), 1, NonZeroUsize::new(window).unwrap()).unwrap().0
}

/// Rows of up to `longest` entries with columns anywhere below `cols`.
fn scattered(rows: usize, cols: usize, longest: u64) -> Csr<f64> {
    let (mut row_ptr, mut columns) = (vec![0], Vec::new());
    for row in 0..rows as u64 {
        let count = hash_id(row) % (longest + 1);
        let mut row: Vec<u32> = (0..count).map(|k| (hash_id(row << 20 | k) % cols as u64) as u32).collect();
        row.sort_unstable();
        row.dedup();
        columns.append(&mut row);
        row_ptr.push(columns.len());
    }
    let values = (1..=columns.len()).map(|k| k as f64).collect();
    Csr::try_new(rows, cols, row_ptr, columns, values).unwrap()
}

#[test]
fn rows_are_those_of_the_csr_matrix() {
    for a in [
        problem("poisson3d:7", 1),
        problem("poisson3d27:16", 1),
        problem("poisson3d:20", 64),
        problem("elasticity3d:5", 1),
        scattered(1, 1, 1),
        scattered(300, 5, 9),
        scattered(1000, 100, 40),
        scattered(700, 200_000, 30),
        Csr::try_new(3, 0, vec![0; 4], vec![], vec![]).unwrap(),
        Csr::try_new(0, 3, vec![0], vec![], vec![]).unwrap(),
    ] {
        check::<f64>(&a);
        check::<f32>(&a);
    }
    check::<f16>(&problem("jump3d:20", 1));
}

#[test]
fn values_are_scaled_by_row_and_column() {
    for a in [problem("poisson3d:20", 1), problem("poisson3d:20", 64), scattered(700, 3000, 30)] {
        let scale = |row: usize, column: usize| 2f64.powi((row % 7) as i32 - (column % 5) as i32);
        let mut expected = a.clone();
        for row in 0..a.rows() {
            for k in a.row_ptr()[row]..a.row_ptr()[row + 1] {
                expected.values_mut()[k] *= scale(row, a.columns()[k] as usize);
            }
        }
        let expected = DeltaSell::<f32>::from_csr(expected.view()).unwrap();
        let plan = DeltaSellPlan::new(a.view(), size_of::<f32>()).unwrap();
        assert_eq!(plan.fill_scaled::<f32>(a.view(), scale).unwrap(), expected);
        let exact = DeltaSellPlan::new(a.view(), size_of::<f32>()).unwrap().fill::<f64>(a.view()).unwrap();
        let left: Vec<f64> = (0..a.rows()).map(|row| scale(row, 0)).collect();
        let right: Vec<f64> = (0..a.cols()).map(|column| scale(0, column)).collect();
        let factors = ScaleFactors { left: Some(&left), right: Some(&right), factor: 1.0 };
        assert_eq!(exact.rescaled::<f32>(factors), expected);
        let all = ScaleFactors { factor: 0.5, ..ScaleFactors::ONE };
        let halved = DeltaSellPlan::new(a.view(), 4).unwrap().fill_scaled::<f32>(a.view(), |_, _| 0.5);
        assert_eq!(exact.rescaled::<f32>(all), halved.unwrap());
    }
}

#[test]
fn a_stencil_needs_no_index() {
    let a = check::<f16>(&problem("poisson3d:32", 1));
    let [consecutive, others @ ..] = a.slots_by_width();
    // Chunks at both ends extend beyond the matrix.
    assert!(consecutive > 1000 * others.iter().sum::<usize>().max(1), "{:?}", a.slots_by_width());
    assert!((a.bytes() as f64) < 2.6 * a.nnz() as f64, "{} bytes for {} entries", a.bytes(), a.nnz());
}

#[test]
fn every_width_occurs() {
    let near = check::<f32>(&problem("poisson3d:32", 64)).slots_by_width();
    assert!(near[1] > 0 && near[2] > 0, "{near:?}");
    let far = check::<f32>(&scattered(700, 200_000, 30)).slots_by_width();
    assert!(far[5] > 0, "{far:?}");
    let middle = check::<f32>(&scattered(700, 3000, 30)).slots_by_width();
    assert!(middle[4] > 0, "{middle:?}");
    let bytes = check::<f32>(&scattered(700, 200, 3)).slots_by_width();
    assert!(bytes[3] > 0, "{bytes:?}");
}

#[test]
fn uneven_rows_are_sorted_and_little_is_padded() {
    let a = check::<f32>(&scattered(5000, 3000, 30));
    assert!((a.stored() as f64) < 1.15 * a.nnz() as f64, "{} for {}", a.stored(), a.nnz());
}

#[test]
fn what_it_does_not_hold_is_refused() {
    let columns: Vec<u32> = (0..40_000).collect();
    let dense = Csr::try_new(1, 40_000, vec![0, 40_000], columns, vec![1.0; 40_000]).unwrap();
    assert!(DeltaSell::<f32>::from_csr(dense.view()).is_none());
}

/// A plan that accepted these would hold slots whose columns differ from the matrix, and kernels
/// read x at these columns without a check.
#[test]
fn a_plan_is_filled_from_its_own_pattern_only() {
    let empty =
        |rows: usize, cols| Csr::<f64>::try_new(rows, cols, vec![0; rows + 1], vec![], vec![]).unwrap();
    let identity = |n| Csr::<f64>::identity(n).unwrap();
    let scattered = |longest| scattered(700, 3000, longest);
    for (planned, other) in [
        (identity(256), empty(256, 1)),
        (identity(256), empty(256, 256)),
        (empty(256, 256), identity(256)),
        (identity(256), identity(255)),
        (identity(256), identity(512)),
        (identity(512), problem("poisson2d:16", 1)),
        (problem("poisson3d:8", 1), identity(512)),
        (problem("poisson3d:8", 1), problem("poisson3d27:8", 1)),
        (problem("poisson3d27:8", 1), problem("poisson3d:8", 1)),
        (problem("poisson3d:16", 1), problem("poisson3d:16", 64)),
        (problem("poisson3d:16", 64), problem("poisson3d:16", 1)),
        (scattered(30), scattered(29)),
        (scattered(29), scattered(30)),
        (scattered(3), scattered(30)),
        (scattered(30), scattered(3)),
    ] {
        let plan = DeltaSellPlan::new(planned.view(), size_of::<f32>()).unwrap();
        let error = plan.fill::<f32>(other.view()).unwrap_err();
        assert_eq!(error, crate::MatrixError::OtherPattern { what: "the matrix to convert" });
    }
}

/// Values are not part of a layout, and a plan serves every matrix of its layout.
#[test]
fn a_plan_is_filled_from_any_values() {
    let a = scattered(700, 3000, 30);
    let mut twice = a.clone();
    twice.values_mut().iter_mut().for_each(|value| *value *= 2.0);
    let plan = DeltaSellPlan::new(a.view(), size_of::<f64>()).unwrap();
    assert_eq!(plan.fill::<f64>(twice.view()).ok(), DeltaSell::from_csr(twice.view()));
}

//! Compares every property with its definition on random matrices, and checks the diagnosis and
//! advice of known problems.

use proptest::prelude::*;
use ziggurat_sparse::gallery::Problem;
use ziggurat_sparse::graph::permute_symmetric;
use ziggurat_sparse::{Coo, Csr};

use super::*;

fn problem(name: &str) -> Csr<f64> {
    name.parse::<Problem>().unwrap().matrix().unwrap()
}

fn codes(diagnosis: &Diagnosis) -> Vec<&'static str> {
    diagnosis.advice().iter().map(|advice| advice.code).collect()
}

fn from_triplets(rows: usize, cols: usize, triplets: &[(usize, usize, f64)]) -> Csr<f64> {
    let mut coo = Coo::new(rows, cols).unwrap();
    for &(row, column, value) in triplets {
        coo.push(row, column, value).unwrap();
    }
    coo.into_csr()
}

/// The symmetry test of solvers, which need no measure of the asymmetry.
fn is_symmetric(a: &Csr<f64>) -> bool {
    symmetry::is_symmetric(a.view(), &Whole::new(a.rows()))
}

/// Random matrices of small integers: sums are exact, and zero sums, ties and symmetric pairs
/// occur.
fn matrices() -> impl Strategy<Value = Csr<f64>> {
    (0usize..9, 0usize..9, any::<bool>(), any::<bool>()).prop_flat_map(|(rows, other, square, mirrored)| {
        let cols = if square { rows } else { other };
        let entry = (0..rows.max(1), 0..cols.max(1), -3i32..=3);
        proptest::collection::vec(entry, 0..40).prop_map(move |entries| {
            let mut coo = Coo::new(rows, cols).unwrap();
            for (row, column, value) in entries {
                if rows > 0 && cols > 0 {
                    coo.push(row, column, f64::from(value)).unwrap();
                    if mirrored && square && row != column {
                        coo.push(column, row, f64::from(value)).unwrap();
                    }
                }
            }
            coo.into_csr()
        })
    })
}

proptest! {
    #[test]
    fn properties_of_rows_agree_with_their_definitions(a in matrices()) {
        let d = diagnose(a.view());
        let at = |row: usize, column: usize| a.get(row, column).unwrap_or(0.0);
        let rows = 0..a.rows();
        let count = |holds: &dyn Fn(usize) -> bool| rows.clone().filter(|&row| holds(row)).count();
        let off = |row: usize| (0..a.cols()).filter(move |&column| column != row).map(move |column| at(row, column));
        let places = 0..a.rows().min(a.cols());

        prop_assert_eq!((d.rows, d.cols, d.nnz), (a.rows(), a.cols(), a.nnz()));
        let lengths: Vec<usize> = rows.clone().map(|row| a.row(row).0.len()).collect();
        prop_assert_eq!(d.entries.per_row_min, lengths.iter().copied().min().unwrap_or(0));
        prop_assert_eq!(d.entries.per_row_max, lengths.iter().copied().max().unwrap_or(0));
        prop_assert_eq!(d.entries.longest_row, rows.clone().find(|&row| lengths[row] == d.entries.per_row_max));
        let empty = |row: usize| (0..a.cols()).all(|column| at(row, column) == 0.0);
        prop_assert_eq!(d.entries.empty_rows, count(&empty));
        prop_assert_eq!(d.entries.first_empty_row, rows.clone().find(|&row| empty(row)));
        prop_assert_eq!(d.entries.explicit_zeros, a.values().iter().filter(|&&value| value == 0.0).count());

        prop_assert_eq!(d.diagonal.stored, places.clone().filter(|&k| a.get(k, k).is_some()).count());
        prop_assert_eq!(d.diagonal.positive, places.clone().filter(|&k| at(k, k) > 0.0).count());
        prop_assert_eq!(d.diagonal.negative, places.clone().filter(|&k| at(k, k) < 0.0).count());
        prop_assert_eq!(d.diagonal.zero, places.clone().filter(|&k| at(k, k) == 0.0).count());
        prop_assert_eq!(d.diagonal.first_zero_row, places.clone().find(|&k| at(k, k) == 0.0));
        let sizes = places.clone().map(|k| at(k, k).abs()).filter(|&size| size > 0.0);
        prop_assert_eq!(d.diagonal.smallest, sizes.clone().reduce(f64::min));
        prop_assert_eq!(d.diagonal.largest, sizes.reduce(f64::max));

        let all_off: Vec<(usize, f64)> = rows.clone().flat_map(|row| off(row).map(move |value| (row, value))).collect();
        prop_assert_eq!(d.off_diagonal.negative, all_off.iter().filter(|entry| entry.1 < 0.0).count());
        prop_assert_eq!(d.off_diagonal.positive, all_off.iter().filter(|entry| entry.1 > 0.0).count());
        let opposing = all_off.iter().filter(|&&(row, value)| row < a.cols() && at(row, row) * value < 0.0).count();
        let signed = d.off_diagonal.negative + d.off_diagonal.positive;
        let expected = if signed == 0 { 1.0 } else { opposing as f64 / signed as f64 };
        prop_assert_eq!(d.off_diagonal.opposing_fraction, expected);

        let diagonal = |row: usize| if row < a.cols() { at(row, row) } else { 0.0 };
        let zero_sum = |row: usize| !empty(row) && off(row).sum::<f64>() + diagonal(row) == 0.0;
        prop_assert_eq!(d.special_rows.zero_sum, count(&zero_sum));
        let dominant =
            |row: usize| diagonal(row) != 0.0 && diagonal(row).abs() >= off(row).map(f64::abs).sum::<f64>();
        prop_assert_eq!(d.special_rows.dominant, count(&dominant));
        let dirichlet = |row: usize| diagonal(row) != 0.0 && off(row).all(|value| value == 0.0);
        prop_assert_eq!(d.special_rows.dirichlet, count(&dirichlet));
        let values = a.values().iter().map(|value| value.abs()).filter(|&size| size > 0.0);
        prop_assert_eq!(d.values.smallest, values.clone().reduce(f64::min));
        prop_assert_eq!(d.values.largest, values.reduce(f64::max));
        prop_assert!(serde_json::to_string(&d).is_ok() && d.advice().iter().all(|advice| !advice.text.is_empty()));
    }

    #[test]
    fn symmetry_agrees_with_its_definition(a in matrices()) {
        let d = diagnose(a.view());
        let Some(symmetry) = &d.symmetry else {
            prop_assert!(a.rows() != a.cols() && !d.symmetric);
            return Ok(());
        };
        let n = a.rows();
        let at = |row: usize, column: usize| a.get(row, column).unwrap_or(0.0);
        let pairs: Vec<(usize, usize)> = (0..n).flat_map(|row| (0..n).map(move |column| (row, column))).collect();
        let stored = |row: usize, column: usize| a.get(row, column).is_some();
        prop_assert_eq!(symmetry.structure, pairs.iter().all(|&(i, j)| stored(i, j) == stored(j, i)));
        prop_assert_eq!(symmetry.exact, pairs.iter().all(|&(i, j)| at(i, j) == at(j, i)));
        prop_assert_eq!(symmetry.to_rounding, symmetry.exact); // for integers
        prop_assert_eq!(d.symmetric, symmetry.exact);
        prop_assert_eq!(is_symmetric(&a), symmetry.exact);
        let norm = |value: &dyn Fn(usize, usize) -> f64| pairs.iter().map(|&(i, j)| value(i, j).powi(2)).sum::<f64>().sqrt();
        let whole = norm(&at);
        let skew = if whole == 0.0 { 0.0 } else { norm(&|i, j| at(i, j) - at(j, i)) / 2.0 / whole };
        prop_assert!((symmetry.skew - skew).abs() < 1e-14, "{} {}", symmetry.skew, skew);
        let inner = |row: usize| (0..n).any(|column| column != row && at(row, column) != 0.0) || at(row, row) == 0.0;
        let inside = pairs.iter().filter(|&&(i, j)| inner(i) && inner(j)).all(|&(i, j)| at(i, j) == at(j, i));
        prop_assert_eq!(symmetry.but_for_dirichlet, !symmetry.exact && inside);
    }

    /// Scaling by a power of two changes no result, not even a bit of the largest difference.
    #[test]
    fn a_common_factor_changes_no_result(a in matrices(), exponent in -900i32..900) {
        let mut scaled = a.clone();
        for value in scaled.values_mut() {
            *value *= 2f64.powi(exponent);
        }
        let (one, other) = (diagnose(a.view()), diagnose(scaled.view()));
        prop_assert_eq!(one.symmetry, other.symmetry);
        prop_assert_eq!(one.special_rows, other.special_rows);
        prop_assert_eq!(one.graph, other.graph);
        prop_assert_eq!(one.looks_singular, other.looks_singular);
    }
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let a = problem("convection3d:24");
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| diagnose(a.view()))
    };
    let one = on(1);
    assert!(one.symmetry.as_ref().unwrap().skew > 0.0);
    assert_eq!(one, on(2));
    assert_eq!(one, on(4));
}

#[test]
fn model_problems_are_recognised() {
    let poisson = diagnose(problem("poisson3d:10").view());
    assert!(poisson.symmetric && !poisson.looks_singular && !poisson.looks_like_saddle_point);
    assert_eq!(poisson.diagonal.sign, DiagonalSign::Positive);
    assert_eq!((poisson.special_rows.dominant_fraction, poisson.off_diagonal.opposing_fraction), (1.0, 1.0));
    assert_eq!(poisson.special_rows.zero_sum, 512); // the interior points
    assert_eq!(
        (poisson.graph.bandwidth, poisson.graph.components, poisson.graph.block_size),
        (100, Some(1), 1)
    );
    assert_eq!(codes(&poisson), ["cg"]);

    let neumann = diagnose(problem("neumann3d:6").view());
    assert!(neumann.symmetric && neumann.looks_singular);
    assert_eq!(neumann.graph.floating_components, Some(1));
    assert_eq!(codes(&neumann), ["constant-kernel", "cg"]);

    let convection = diagnose(problem("convection3d:6").view());
    assert!(!convection.symmetric && convection.symmetry.as_ref().unwrap().structure);
    assert_eq!(codes(&convection), ["nonsymmetric"]);

    let elasticity = diagnose(problem("elasticity3d:4").view());
    assert!(elasticity.symmetric && elasticity.graph.block_size == 3);
    assert_eq!(codes(&elasticity), ["cg", "blocks", "explicit-zeros"]);
}

#[test]
fn a_negated_matrix_has_the_same_couplings_and_a_negative_diagonal() {
    let mut a = problem("poisson2d:8");
    let before = diagnose(a.view());
    for value in a.values_mut() {
        *value = -*value;
    }
    let after = diagnose(a.view());
    assert_eq!(after.diagonal.sign, DiagonalSign::Negative);
    assert_eq!(after.off_diagonal.opposing_fraction, before.off_diagonal.opposing_fraction);
    assert_eq!(codes(&after), ["negative-diagonal"]);
}

#[test]
fn only_differences_within_rounding_are_symmetric() {
    let mut a = problem("poisson2d:6");
    a.values_mut()[1] *= 1.0 + 1e-14; // (0, 1)
    let near = diagnose(a.view()).symmetry.unwrap();
    assert!(!near.exact && near.to_rounding && near.structure && is_symmetric(&a));
    a.values_mut()[1] *= 1.0 + 1e-9;
    let off = diagnose(a.view());
    assert!(!off.symmetric && !is_symmetric(&a));
    assert_eq!(codes(&off)[0], "nearly-symmetric");
    // Rounding errors that assembly leaves in a zero entry: only their small size is right.
    for (value, mirrored, expected) in [(3e-16, -2e-16, true), (3e-16, 0.0, true), (3e-11, -2e-11, false)] {
        let corner = [(0, 0, 2.0), (1, 1, 2.0), (0, 1, value), (1, 0, mirrored)];
        assert_eq!(is_symmetric(&from_triplets(2, 2, &corner)), expected, "{value} {mirrored}");
        assert_eq!(is_symmetric(&from_triplets(2, 2, &corner[..3])), expected, "{value} alone");
    }
    let infinite = [(0, 0, 2.0), (1, 1, 2.0), (0, 1, f64::INFINITY), (1, 0, 1.0)];
    assert!(!is_symmetric(&from_triplets(2, 2, &infinite)));
}

#[test]
fn an_asymmetry_is_found_in_rows_with_different_units() {
    // Rows 0 and 1 are in pascals, rows 2 and 3 are dimensionless: the second pair is clearly
    // nonsymmetric.
    let large = [(0, 0, 2e15), (0, 1, -1e15), (1, 0, -1e15), (1, 1, 2e15)];
    let small = [(2, 2, 2.0), (2, 3, -1.0), (3, 2, -0.5), (3, 3, 2.0)];
    let a = from_triplets(4, 4, &[large, small].concat());
    let symmetry = diagnose(a.view()).symmetry.unwrap();
    assert!(!symmetry.to_rounding && (symmetry.largest_difference - 0.25).abs() < 1e-15);
}

#[test]
fn boundary_rows_that_break_the_symmetry_are_reported() {
    // Row 0 is a boundary row, but its column has other entries.
    let a = from_triplets(
        3,
        3,
        &[(0, 0, 1.0), (1, 0, -1.0), (1, 1, 2.0), (1, 2, -1.0), (2, 1, -1.0), (2, 2, 2.0)],
    );
    let d = diagnose(a.view());
    assert!(d.symmetry.as_ref().unwrap().but_for_dirichlet && !d.symmetric);
    assert_eq!(codes(&d), ["dirichlet-columns"]);
}

#[test]
fn constraints_look_like_a_saddle_point() {
    // [ 2 0 1; 0 2 1; 1 1 0 ]
    let a =
        from_triplets(3, 3, &[(0, 0, 2.0), (0, 2, 1.0), (1, 1, 2.0), (1, 2, 1.0), (2, 0, 1.0), (2, 1, 1.0)]);
    let d = diagnose(a.view());
    assert!(d.looks_like_saddle_point && !d.looks_singular);
    assert_eq!(d.diagonal.sign, DiagonalSign::SomeZero);
    assert_eq!(codes(&d)[0], "saddle-point");
    let advice = d.advice();
    assert!(advice[0].text.starts_with("1 row has a zero diagonal (row 2, counted from 0)"), "{}", advice[0]);
}

#[test]
fn a_floating_component_is_found_among_others() {
    let held = [(0, 0, 2.0), (0, 1, -1.0), (1, 0, -1.0), (1, 1, 2.0)];
    let free = [(2, 2, 1.0), (2, 3, -1.0), (3, 2, -1.0), (3, 3, 1.0)];
    let d = diagnose(from_triplets(4, 4, &[held, free].concat()).view());
    assert!(d.looks_singular);
    assert_eq!((d.graph.components, d.graph.floating_components), (Some(2), Some(1)));
    assert_eq!(codes(&d), ["floating-parts", "cg", "parts", "blocks"]);
}

#[test]
fn values_that_are_not_finite_are_counted_and_excluded() {
    let mut a = problem("poisson2d:4");
    (a.values_mut()[0], a.values_mut()[1]) = (f64::NAN, f64::INFINITY); // (0, 0) and (0, 1)
    let d = diagnose(a.view());
    assert_eq!((d.entries.not_finite, d.entries.first_not_finite_row), (2, Some(0)));
    assert_eq!((d.values.largest, d.symmetric), (Some(4.0), false));
    assert_eq!(codes(&d)[0], "not-finite");
    assert_eq!(d, diagnose(a.view()), "no field is NaN");
}

#[test]
fn matrices_without_entries_rows_or_columns_are_diagnosed() {
    for (rows, cols) in [(0, 0), (0, 3), (3, 0), (2, 2)] {
        let a = Csr::<f64>::try_new(rows, cols, vec![0; rows + 1], vec![], vec![]).unwrap();
        let d = diagnose(a.view());
        assert_eq!((d.entries.per_row_min, d.entries.per_row_max, d.entries.empty_rows), (0, 0, rows));
        assert_eq!((d.values.smallest, d.diagonal.largest), (None, None));
        assert_eq!(d.symmetric, rows == cols);
        // Rows that are empty read 0 = b.
        let level = if rows == cols && rows > 0 { AdviceLevel::Warning } else { AdviceLevel::Problem };
        assert!(d.advice().iter().any(|advice| advice.level == level), "{rows} x {cols}");
    }
}

#[test]
fn the_fit_of_every_number_type_is_detected() {
    let fits = |smallest: f64, largest: f64| {
        let a = from_triplets(2, 2, &[(0, 0, smallest), (1, 1, largest)]);
        let values = diagnose(a.view()).values;
        (values.f32, values.f16, values.bf16)
    };
    assert_eq!(fits(1.0, 65504.0), (Fit::Fits, Fit::Fits, Fit::Fits));
    assert_eq!(fits(1.0, 65505.0), (Fit::Fits, Fit::Overflows, Fit::Fits));
    assert_eq!(fits(1e-6, 1.0), (Fit::Fits, Fit::Underflows, Fit::Fits));
    assert_eq!(fits(1e-40, 1e39), (Fit::Overflows, Fit::Overflows, Fit::Overflows));
    assert_eq!(fits(1e-40, 1.0), (Fit::Underflows, Fit::Underflows, Fit::Underflows));
}

#[test]
fn a_renumbering_changes_only_positions() {
    let a = problem("jump3d:12");
    let order = (0..a.rows() as u32).rev().collect();
    let reversed =
        permute_symmetric(a.view(), &ziggurat_sparse::graph::Permutation::from_new_to_old(order).unwrap())
            .unwrap();
    let (one, other) = (diagnose(a.view()), diagnose(reversed.view()));
    assert_eq!(
        (one.diagonal, one.off_diagonal, one.values),
        (other.diagonal, other.off_diagonal, other.values)
    );
    assert_eq!((one.special_rows, one.graph), (other.special_rows, other.graph));
}

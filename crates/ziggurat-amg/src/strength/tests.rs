//! Tests of each measure and each filter on matrices whose strong connections are known.

use ziggurat_sparse::Csr;

use super::*;
use crate::halo::Whole;
use crate::testing::{on_threads, problem};

fn graph_of(a: &Csr<f64>, strength: &Strength) -> StrongGraph {
    strong_connections(a.view(), a.all_rows(), strength, &[], &Whole::new(a.rows())).unwrap()
}

/// Row 0 as given, and identity rows below it.
fn first_row(values: &[f64]) -> Csr<f64> {
    let n = values.len();
    let row_ptr = (0..=n).map(|row| if row == 0 { 0 } else { n + row - 1 }).collect();
    let columns = (0..n as u32).chain(1..n as u32).collect();
    let values = values.iter().copied().chain((1..n).map(|_| 1.0)).collect();
    Csr::try_new(n, n, row_ptr, columns, values).unwrap()
}

#[test]
fn classical_is_relative_to_the_largest_opposed_entry() {
    let threshold = |theta| Strength { filter: Filter::Threshold(theta), ..Strength::classical() };
    // Exactly a quarter is strong; positive entries and explicit zeros never are.
    let a = first_row(&[6.0, -4.0, -1.0, -0.9, 3.0, 0.0]);
    assert_eq!(graph_of(&a, &threshold(0.25)).row(0), [1, 2]);
    assert_eq!(graph_of(&a, &threshold(0.0)).row(0), [1, 2, 3]);
    assert_eq!(graph_of(&a, &threshold(1.0)).row(0), [1]);
    // With a negative diagonal the signs are reversed.
    let flipped = first_row(&[-6.0, 4.0, 1.0, 0.9, -3.0, 0.0]);
    assert_eq!(graph_of(&flipped, &threshold(0.25)), graph_of(&a, &threshold(0.25)));
    // No entry of opposite sign: no connections. Dirichlet rows have none either.
    let a = first_row(&[6.0, 1.0, 2.0]);
    assert_eq!(graph_of(&a, &threshold(0.25)).connections(), 0);
}

#[test]
fn dominated_rows_have_no_connections() {
    let a = first_row(&[10.0, -0.5, -0.4]); // row sum 9.1
    assert_eq!(graph_of(&a, &Strength::classical()).connections(), 0);
    for max_row_sum in [None, Some(0.92)] {
        assert_eq!(graph_of(&a, &Strength { max_row_sum, ..Strength::classical() }).row(0), [1, 2]);
    }
}

#[test]
fn symmetric_does_not_see_signs_or_scalings() {
    let a = problem("anisotropic3d:4");
    let scaled = {
        let scale =
            |row: usize| [0.5, 8.0, 1.0, 64.0][row % 4] * if row.is_multiple_of(2) { -1.0 } else { 1.0 };
        let mut scaled = a.clone();
        let row_of: Vec<usize> =
            (0..a.rows()).flat_map(|row| std::iter::repeat_n(row, a.row(row).0.len())).collect();
        let columns = a.columns().to_vec();
        for ((value, row), column) in scaled.values_mut().iter_mut().zip(row_of).zip(columns) {
            *value *= scale(row) * scale(column as usize);
        }
        scaled
    };
    let graph = graph_of(&a, &Strength::symmetric());
    assert_eq!(graph, graph.transpose());
    assert_eq!(graph_of(&scaled, &Strength::symmetric()), graph);
    // -1 is strong relative to 4.02, -0.01 is not.
    assert_eq!(graph.row(21), [17, 20, 22, 25]);
    // Every connection of a row with zero diagonal is strong.
    assert_eq!(graph_of(&first_row(&[0.0, 1e-9, -3.0]), &Strength::symmetric()).row(0), [1, 2]);
}

#[test]
fn affinity_follows_the_vectors_and_not_the_entries() {
    // A ring of four rows with equal entries. The vectors agree on 0-1 and on 2-3.
    let columns = vec![0, 1, 3, 0, 1, 2, 1, 2, 3, 0, 2, 3];
    let a = Csr::try_new(4, 4, vec![0, 3, 6, 9, 12], columns, vec![-1.0; 12]).unwrap();
    let vectors = [vec![1.0, 2.0, 1.0, -1.0], vec![1.0, 2.1, -1.0, 1.0]];
    let affinity = |strength: &Strength, vectors: &[Vec<f64>]| {
        strong_connections(a.view(), a.all_rows(), strength, vectors, &Whole::new(4))
    };
    let pairs = StrongGraph::try_new(4, vec![0, 1, 2, 3, 4], vec![1, 0, 3, 2]).unwrap();
    let half = Strength { filter: Filter::Threshold(0.5), ..Strength::affinity() };
    assert_eq!(affinity(&half, &vectors).unwrap(), pairs);
    let one_each = Strength { filter: Filter::AverageConnections(1.0), ..Strength::affinity() };
    assert_eq!(affinity(&one_each, &vectors).unwrap(), pairs);
    // Rows where all vectors are zero have no strong connections.
    assert_eq!(affinity(&half, &[vec![1.0, 1.0, 0.0, 0.0]]).unwrap().connections(), 2);

    assert_eq!(affinity(&half, &[]), Err(StrengthError::NoVectors));
    let short = [vec![1.0; 4], vec![1.0; 3]];
    let fault = StrengthError::VectorLength { vector: 1, expected: 4, found: 3 };
    assert_eq!(affinity(&half, &short), Err(fault));
}

#[test]
fn an_average_keeps_the_strongest_and_ties_together() {
    let a = problem("anisotropic3d:6");
    let keep = |average| {
        let filter = Filter::AverageConnections(average);
        graph_of(&a, &Strength { filter, max_row_sum: None, ..Strength::classical() })
    };
    // Four per row in the plane (fewer at its boundary), all equally strong; two weak ones across.
    let in_plane = 6 * (2 * 2 * 6 * 5);
    assert_eq!(keep(1.0).connections(), in_plane);
    assert_eq!(keep(in_plane as f64 / 216.0).connections(), in_plane);
    assert_eq!(keep(in_plane as f64 / 216.0 + 0.01).connections(), a.nnz() - 216);
    assert_eq!(keep(1e9).connections(), a.nnz() - 216);
}

#[test]
fn a_range_of_rows_keeps_its_columns() {
    let a = problem("jump3d:5");
    for strength in [
        Strength::classical(),
        Strength::symmetric(),
        Strength { filter: Filter::AverageConnections(2.0), ..Strength::classical() },
    ] {
        let whole = graph_of(&a, &strength);
        let halo = Whole::new(a.rows());
        let part = strong_connections(a.view(), 31..77, &strength, &[], &halo).unwrap();
        assert_eq!((part.rows(), part.cols()), (46, 125));
        for row in 31..77 {
            assert_eq!(part.row(row - 31), whole.row(row));
        }
        assert_eq!(strong_connections(a.view(), 9..9, &strength, &[], &halo).unwrap().rows(), 0);
    }
}

#[test]
fn same_bits_on_any_number_of_threads() {
    let a = problem("jump3d:40");
    for strength in [
        Strength::classical(),
        Strength::symmetric(),
        Strength { filter: Filter::AverageConnections(3.0), ..Strength::symmetric() },
    ] {
        assert_eq!(on_threads(1, || graph_of(&a, &strength)), on_threads(2, || graph_of(&a, &strength)));
    }
}

#[test]
fn nonsense_is_refused_by_name() {
    let a = first_row(&[2.0, -1.0]);
    let refuse = |strength: Strength, rows: Range<usize>| {
        strong_connections(a.view(), rows, &strength, &[], &Whole::new(2)).unwrap_err()
    };
    let with = |filter| Strength { filter, ..Strength::classical() };
    assert_eq!(refuse(with(Filter::Threshold(1.5)), 0..2), StrengthError::Threshold { found: 1.5 });
    assert_eq!(refuse(with(Filter::AverageConnections(0.0)), 0..2), StrengthError::Average { found: 0.0 });
    assert!(matches!(refuse(with(Filter::Threshold(f64::NAN)), 0..2), StrengthError::Threshold { .. }));
    let negative = Strength { max_row_sum: Some(-1.0), ..Strength::classical() };
    assert_eq!(refuse(negative, 0..2), StrengthError::MaxRowSum { found: -1.0 });
    assert!(matches!(refuse(Strength::classical(), 1..3), StrengthError::Matrix(_)));
    let message = refuse(with(Filter::Threshold(2.0)), 0..2).to_string();
    assert!(message.contains("not between 0 and 1"), "{message}");
}

#[test]
fn the_empty_matrix_has_the_empty_graph() {
    let a = Csr::try_new(0, 0, vec![0], vec![], vec![]).unwrap();
    for strength in [Strength::classical(), Strength::symmetric()] {
        assert_eq!(graph_of(&a, &strength).rows(), 0);
    }
    let average = Strength { filter: Filter::AverageConnections(2.0), ..Strength::classical() };
    assert_eq!(graph_of(&a, &average).connections(), 0);
}

#[test]
fn of_those_above_a_threshold_the_strongest_are_kept() {
    let with = |a: &Csr<f64>, threshold, most| {
        let filter = Filter::Strongest { threshold, most };
        let graph = graph_of(a, &Strength { filter, ..Strength::symmetric() });
        (0..a.rows()).map(|row| graph.row(row).len()).sum::<usize>()
    };
    // A ring of 6: strengths 0.4 to the next, 0.2 to the one after it, 0.1 to the opposite one.
    let entry = |i: usize, j: usize| match (i + 6 - j) % 6 {
        0 => 1.0,
        1 | 5 => -0.4,
        2 | 4 => -0.2,
        _ => -0.1,
    };
    let values = (0..36).map(|k| entry(k / 6, k % 6)).collect();
    let columns = (0..36).map(|k| k % 6).collect();
    let a = Csr::try_new(6, 6, (0..=6).map(|row| 6 * row).collect(), columns, values).unwrap();
    assert_eq!(with(&a, 0.0, 5.0), 30);
    assert_eq!(with(&a, 0.15, 5.0), 24); // the threshold decides
    assert_eq!(with(&a, 0.15, 2.0), 12); // the number decides
    assert_eq!(with(&a, 0.0, 100.0), 30); // there are no more
    assert_eq!(with(&a, 0.5, 2.0), 0);
}

/// Of a large matrix, a sample of the rows decides which connections are the strongest, and all
/// rows decide about an average that is asked for; as on devices.
#[test]
fn the_strongest_are_those_of_the_reference_device() {
    use ziggurat_sparse::device::{AggregationKernels, Reference, SymmetricStrength};
    use ziggurat_sparse::hash::uniform;
    let n = 70_000;
    let mut all = ziggurat_sparse::Coo::new(n, n).unwrap();
    for row in 0..n {
        all.push(row, row, 1.0).unwrap();
        for distance in [1, 7, 300] {
            let (other, value) = ((row + distance) % n, -uniform((3 * row + distance) as u64));
            all.push(row, other, value).unwrap();
            all.push(other, row, value).unwrap();
        }
    }
    let (a, most) = (all.into_csr(), 2.5);
    let strongest = Filter::Strongest { threshold: 0.0, most };
    let mut thresholds = Vec::new();
    for (filter, sampled) in [(strongest, true), (Filter::AverageConnections(most), false)] {
        let found = graph_of(&a, &Strength { filter, ..Strength::symmetric() });
        let strength = SymmetricStrength { threshold: 0.0, most: Some(most), sampled };
        let expected = Reference.strong_connections(&a, &strength).unwrap();
        assert!((0..n).all(|row| found.row(row) == expected.row(row).0), "{filter:?}");
        thresholds.push(expected.nnz());
    }
    assert_ne!(thresholds[0], thresholds[1], "the sample is not the whole");
}

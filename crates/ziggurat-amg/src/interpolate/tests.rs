//! Properties that every interpolation must have, and the two-grid convergence it gives.

use std::ops::Range;

use ziggurat_sparse::algebra::{product, transpose, triple_product, truncate};
use ziggurat_sparse::{Csr, CsrRef};

use super::*;
use crate::coarsen::{Paths, Point, Splitting, aggressive, coarsen_again, pmis};
use crate::halo::Whole;
use crate::strength::StrongGraph;
use crate::testing::{on_threads, problem, strong};

type Method = fn(
    CsrRef<'_, f64>,
    Range<usize>,
    &StrongGraph,
    &Splitting,
    Truncation,
) -> Result<Csr<f64>, InterpolationError>;

/// Keeps every entry.
const ALL: Truncation = Truncation { relative: 0.0, max_entries: None, keep_row_sums: true };

fn hybrid_alone(
    a: CsrRef<'_, f64>,
    rows: Range<usize>,
    strong: &StrongGraph,
    splitting: &Splitting,
    truncation: Truncation,
) -> Result<Csr<f64>, InterpolationError> {
    hybrid(a, rows, strong, splitting, &Whole::new(a.cols()), Symmetry::General, truncation)
}

fn extended_i_general(
    a: CsrRef<'_, f64>,
    rows: Range<usize>,
    strong: &StrongGraph,
    splitting: &Splitting,
    truncation: Truncation,
) -> Result<Csr<f64>, InterpolationError> {
    extended_i(a, rows, strong, splitting, Symmetry::General, truncation)
}

const METHODS: [(&str, Method); 4] = [
    ("classical", classical_modified),
    ("extended+i", extended_i_general),
    ("hybrid", hybrid_alone),
    ("multipass", multipass),
];

fn split(strong: &StrongGraph) -> Splitting {
    pmis(strong, &Whole::new(strong.rows())).unwrap()
}

fn row_sum(a: &Csr<f64>, row: usize) -> f64 {
    a.row(row).1.iter().sum()
}

/// Scales entries by a few percent, symmetrically, such that rows that sum to zero still do.
fn perturbed(a: &Csr<f64>) -> Csr<f64> {
    let mut columns_of = Vec::new();
    for row in 0..a.rows() {
        columns_of.extend(a.row(row).0.iter().map(|&column| (row, column as usize)));
    }
    let mut b = a.clone();
    let factor = |i: usize, j: usize| 1.0 + 0.2 * (((i.min(j) * 7 + i.max(j) * 13) % 11) as f64 / 11.0);
    let mut change = vec![0.0; a.rows()];
    for (value, &(i, j)) in b.values_mut().iter_mut().zip(&columns_of) {
        if i != j {
            change[i] += *value * (factor(i, j) - 1.0);
            *value *= factor(i, j);
        }
    }
    for (value, &(i, j)) in b.values_mut().iter_mut().zip(&columns_of) {
        if i == j {
            *value -= change[i];
        }
    }
    b
}

#[test]
fn coarse_rows_are_the_identity_and_constants_are_reproduced() {
    for name in
        ["poisson2d:13", "poisson3d:7", "poisson3d27:7", "anisotropic3d:7", "jump3d:12", "neumann3d:8"]
    {
        let a = perturbed(&problem(name));
        let graph = strong(&a);
        let plain = split(&graph);
        let far = aggressive(&graph, &Whole::new(a.rows()), Paths::One).unwrap();
        for (method, interpolation) in METHODS {
            let splitting = if method == "multipass" { &far } else { &plain };
            let p = interpolation(a.view(), a.all_rows(), &graph, splitting, ALL).unwrap();
            assert_eq!((p.rows(), p.cols()), (a.rows(), splitting.coarse_rows()));
            // Rows that sum to zero, as do the rows of all neighbours that the interpolation uses.
            let mut exact: Vec<bool> = (0..a.rows()).map(|row| row_sum(&a, row).abs() < 1e-12).collect();
            if method == "multipass" {
                for _ in 0..4 {
                    let all = |&row: &usize| a.row(row).0.iter().all(|&column| exact[column as usize]);
                    exact = (0..a.rows()).map(|row| all(&row)).collect();
                }
            }
            let mut tested = 0;
            #[allow(clippy::needless_range_loop)] // the row indexes the matrix as well
            for row in 0..a.rows() {
                match splitting.coarse_index(row) {
                    Some(index) => assert_eq!(p.row(row), (&[index][..], &[1.0][..])),
                    None if exact[row] => {
                        assert!((row_sum(&p, row) - 1.0).abs() < 1e-12, "{name} {method} row {row}");
                        tested += 1;
                    }
                    // Next to a Dirichlet boundary the weights sum to less than one.
                    None => assert!(row_sum(&p, row) < 1.0 + 1e-12, "{name} {method} row {row}"),
                }
            }
            assert!(tested > 20 || method == "multipass", "{name} {method}: {tested}");
        }
    }
}

#[test]
fn one_dimension_is_interpolated_linearly() {
    // Coarse rows 0 and 3: rows 1 and 2 have no common coarse row at distance one.
    let n = 10;
    let a = problem(&format!("poisson2d:{n}"));
    let line = Csr::build(
        0..n,
        n,
        || (),
        |(), row| if row == 0 || row == n - 1 { 2 } else { 3 },
        |(), row, columns, values| {
            let first = row.saturating_sub(1);
            for (place, (column, value)) in columns.iter_mut().zip(values.iter_mut()).enumerate() {
                *column = (first + place) as u32;
                *value = if first + place == row { 2.0 } else { -1.0 };
            }
        },
    )
    .unwrap();
    assert_eq!(a.rows(), n * n);
    let graph = strong(&line);
    let splitting = Splitting::new(n, |row| if row % 3 == 0 { Point::Coarse } else { Point::Fine });
    let p = extended_i_general(line.view(), line.all_rows(), &graph, &splitting, ALL).unwrap();
    let h = hybrid_alone(line.view(), line.all_rows(), &graph, &splitting, ALL).unwrap();
    for row in 0..n {
        let value: f64 = p.row(row).0.iter().zip(p.row(row).1).map(|(&c, w)| 3.0 * f64::from(c) * w).sum();
        assert!((value - row as f64).abs() < 1e-14, "row {row} has {value}");
        assert_eq!(p.row(row), h.row(row));
    }
    // Distance one takes the nearest coarse row.
    let p = classical_modified(line.view(), line.all_rows(), &graph, &splitting, ALL).unwrap();
    assert_eq!((p.row(1), p.row(2)), ((&[0][..], &[1.0][..]), (&[1][..], &[1.0][..])));
}

#[test]
fn extended_i_is_its_formula() {
    // Entries of both signs, weak and strong, in a nonsymmetric matrix: the formula evaluated entry
    // by entry.
    let base = problem("poisson3d27:4");
    let mut a = base.clone();
    for (k, value) in a.values_mut().iter_mut().enumerate() {
        let size = 0.1 + ((k * 37) % 101) as f64 / 101.0;
        *value = match (*value > 0.0, k % 9) {
            (true, _) => 14.0,
            (false, 0) => 0.3 * size,
            (false, _) => -size,
        };
    }
    let graph = strong(&a);
    let splitting = split(&graph);
    let coarse = |row: u32| splitting.coarse_index(row as usize);
    let entry = |i: u32, j: u32| a.get(i as usize, j as usize).unwrap_or(0.0);
    let opposed = |i: u32, j: u32| if entry(i, j) * entry(i, i) < 0.0 { entry(i, j) } else { 0.0 };
    let depends = |i: u32, j: u32| graph.row(i as usize).contains(&j);
    let all = || 0..a.rows() as u32;
    for (method, interpolation, plus_i) in
        [("extended+i", extended_i_general as Method, true), ("classical", classical_modified, false)]
    {
        let p = interpolation(a.view(), a.all_rows(), &graph, &splitting, ALL).unwrap();
        for i in all().filter(|&i| coarse(i).is_none()) {
            let fine: Vec<u32> = all().filter(|&k| depends(i, k) && coarse(k).is_none()).collect();
            let set: Vec<u32> = all()
                .filter(|&j| coarse(j).is_some())
                .filter(|&j| depends(i, j) || plus_i && fine.iter().any(|&k| depends(k, j)))
                .collect();
            let own = |k: u32| if plus_i { opposed(k, i) } else { 0.0 };
            let b = |k: u32| own(k) + set.iter().map(|&l| opposed(k, l)).sum::<f64>();
            let weak = all().filter(|&n| n != i && !set.contains(&n) && (!fine.contains(&n) || b(n) == 0.0));
            let sharing = || fine.iter().filter(|&&k| b(k) != 0.0);
            let diagonal = entry(i, i)
                + weak.map(|n| entry(i, n)).sum::<f64>()
                + sharing().map(|&k| entry(i, k) * own(k) / b(k)).sum::<f64>();
            assert_eq!(p.row(i as usize).0.len(), set.len());
            for &j in &set {
                let shares = sharing().map(|&k| entry(i, k) * opposed(k, j) / b(k)).sum::<f64>();
                let expected = -(entry(i, j) + shares) / diagonal;
                let found = p.get(i as usize, coarse(j).unwrap() as usize).unwrap();
                assert!((found - expected).abs() < 1e-12, "{method} ({i}, {j}): {found} for {expected}");
            }
        }
    }
}

#[test]
fn a_symmetric_matrix_may_be_read_either_way() {
    for name in ["poisson3d:8", "anisotropic3d:8", "jump3d:12"] {
        let a = perturbed(&problem(name));
        let graph = strong(&a);
        let splitting = split(&graph);
        let of = |symmetry| extended_i(a.view(), a.all_rows(), &graph, &splitting, symmetry, ALL).unwrap();
        assert_eq!(of(Symmetry::Symmetric), of(Symmetry::General), "{name}");
    }
}

#[test]
fn hybrid_lies_between_and_leaves_no_neighbour_uncovered() {
    let a = problem("poisson3d:9");
    let graph = strong(&a);
    let splitting = split(&graph);
    let of = |interpolation: Method| interpolation(a.view(), a.all_rows(), &graph, &splitting, ALL).unwrap();
    let (one, between, two) = (of(classical_modified), of(hybrid_alone), of(extended_i_general));
    assert!(one.nnz() < between.nnz() && between.nnz() < two.nnz());
    for row in (0..a.rows()).filter(|&row| splitting.point(row) == Point::Fine) {
        let set = between.row(row).0;
        assert!(one.row(row).0.iter().all(|column| set.contains(column)));
        assert!(set.iter().all(|column| two.row(row).0.contains(column)));
        for &neighbour in graph.row(row) {
            let mut theirs =
                graph.row(neighbour as usize).iter().filter_map(|&c| splitting.coarse_index(c as usize));
            let covered = theirs.any(|column| set.contains(&column));
            assert!(covered || splitting.point(neighbour as usize) == Point::Coarse, "{row} and {neighbour}");
        }
    }
}

#[test]
fn rows_without_connections_are_empty() {
    // A Dirichlet row (0), a pair (1, 2), and a row whose only dependency is not coarse (3, on 0).
    let a = Csr::try_new(
        4,
        4,
        vec![0, 1, 3, 5, 7],
        vec![0, 1, 2, 1, 2, 0, 3],
        vec![1.0, 2.0, -2.0, -2.0, 2.0, -3.0, 3.0],
    )
    .unwrap();
    let graph = strong(&a);
    let splitting = Splitting::new(4, |row| if row == 1 { Point::Coarse } else { Point::Fine });
    for (method, interpolation) in METHODS {
        let p = interpolation(a.view(), a.all_rows(), &graph, &splitting, ALL).unwrap();
        assert_eq!(
            (p.row_ptr(), p.columns(), p.values()),
            (&[0, 0, 1, 2, 2][..], &[0, 0][..], &[1.0; 2][..]),
            "{method}"
        );
    }
    let empty = Csr::try_new(0, 0, vec![0], vec![], vec![]).unwrap();
    for (_, interpolation) in METHODS {
        let p = interpolation(empty.view(), 0..0, &strong(&empty), &Splitting::new(0, |_| Point::Fine), ALL)
            .unwrap();
        assert_eq!((p.rows(), p.cols()), (0, 0));
    }
}

#[test]
fn a_range_of_rows_is_those_rows_and_misfits_are_refused() {
    let a = problem("convection3d:6");
    let graph = strong(&a);
    let splitting = split(&graph);
    for (method, interpolation) in METHODS {
        let whole = interpolation(a.view(), a.all_rows(), &graph, &splitting, ALL).unwrap();
        let part = interpolation(a.view(), 50..120, &graph, &splitting, ALL).unwrap();
        for row in 50..120 {
            assert_eq!(part.row(row - 50), whole.row(row), "{method}");
        }
        assert!(interpolation(a.view(), 1..217, &graph, &splitting, ALL).is_err());
        let short = Splitting::new(215, |_| Point::Coarse);
        assert!(interpolation(a.view(), a.all_rows(), &graph, &short, ALL).is_err());
        let other = strong(&problem("poisson3d:5"));
        assert!(interpolation(a.view(), a.all_rows(), &other, &splitting, ALL).is_err());
    }
}

#[test]
fn same_bits_on_any_number_of_threads() {
    let a = perturbed(&problem("poisson3d:40"));
    let graph = strong(&a);
    let splitting = split(&graph);
    for (method, interpolation) in METHODS {
        let run = || interpolation(a.view(), a.all_rows(), &graph, &splitting, ALL).unwrap();
        assert_eq!(on_threads(1, run), on_threads(2, run), "{method}");
    }
}

#[test]
fn galerkin_is_symmetric() {
    let a = perturbed(&problem("poisson3d:8"));
    let graph = strong(&a);
    let splitting = split(&graph);
    for (method, interpolation) in METHODS {
        let p = interpolation(a.view(), a.all_rows(), &graph, &splitting, ALL).unwrap();
        let r = transpose(p.view(), p.all_rows());
        let coarse = triple_product(r.view(), r.all_rows(), a.view(), p.view()).unwrap();
        let flipped = transpose(coarse.view(), coarse.all_rows());
        assert_eq!(flipped.columns(), coarse.columns(), "{method}");
        for (x, y) in coarse.values().iter().zip(flipped.values()) {
            assert!((x - y).abs() < 1e-12, "{method}");
        }
    }
}

/// Solves a dense system by Gaussian elimination with pivoting.
fn solve(mut a: Vec<Vec<f64>>, mut b: Vec<f64>) -> Vec<f64> {
    let n = b.len();
    for k in 0..n {
        let pivot = (k..n).max_by(|&x, &y| a[x][k].abs().total_cmp(&a[y][k].abs())).unwrap();
        a.swap(k, pivot);
        b.swap(k, pivot);
        let (above, below) = a.split_at_mut(k + 1);
        for (row, value) in below.iter_mut().zip(k + 1..) {
            let factor = row[k] / above[k][k];
            if factor != 0.0 {
                for (x, y) in row[k..].iter_mut().zip(&above[k][k..]) {
                    *x -= factor * y;
                }
                b[value] -= factor * b[k];
            }
        }
    }
    for k in (0..n).rev() {
        let known: f64 = (k + 1..n).map(|j| a[k][j] * b[j]).sum();
        b[k] = (b[k] - known) / a[k][k];
    }
    b
}

fn times(a: &Csr<f64>, x: &[f64]) -> Vec<f64> {
    let product = |row| a.row(row).0.iter().zip(a.row(row).1).map(|(&c, v)| v * x[c as usize]).sum();
    (0..a.rows()).map(product).collect()
}

/// Asymptotic factor by which a Jacobi sweep, an exact coarse correction and another Jacobi sweep
/// reduce the error.
fn two_grid_factor(a: &Csr<f64>, p: &Csr<f64>) -> f64 {
    let r = transpose(p.view(), p.all_rows());
    let coarse = triple_product(r.view(), r.all_rows(), a.view(), p.view()).unwrap();
    let dense: Vec<Vec<f64>> = (0..coarse.rows())
        .map(|row| (0..coarse.cols()).map(|column| coarse.get(row, column).unwrap_or(0.0)).collect())
        .collect();
    let diagonal = a.view().diagonal(a.all_rows());
    let smooth = |x: &mut Vec<f64>| {
        let ax = times(a, x);
        for ((x, ax), d) in x.iter_mut().zip(ax).zip(&diagonal) {
            *x -= 2.0 / 3.0 * ax / d;
        }
    };
    let mut x: Vec<f64> = (0..a.rows() as u64).map(ziggurat_sparse::hash::uniform_signed).collect();
    let mut factor = 1.0;
    for _ in 0..20 {
        smooth(&mut x);
        let residual = times(&r, &times(a, &x));
        let correction = times(p, &solve(dense.clone(), residual));
        x.iter_mut().zip(correction).for_each(|(x, c)| *x -= c);
        smooth(&mut x);
        factor = x.iter().map(|x| x * x).sum::<f64>().sqrt();
        x.iter_mut().for_each(|x| *x /= factor);
    }
    factor
}

#[test]
fn two_levels_converge() {
    let a = problem("poisson2d:20");
    let graph = strong(&a);
    let splitting = split(&graph);
    let far = aggressive(&graph, &Whole::new(a.rows()), Paths::One).unwrap();
    let short = Truncation { max_entries: Some(4), ..ALL };
    for (method, interpolation, splitting, truncation, ceiling) in [
        ("classical", classical_modified as Method, &splitting, ALL, 0.6),
        ("extended+i", extended_i_general, &splitting, ALL, 0.4),
        ("extended+i, 4 entries", extended_i_general, &splitting, short, 0.45),
        ("hybrid", hybrid_alone, &splitting, ALL, 0.5),
        ("multipass", multipass, &far, ALL, 0.8),
    ] {
        let p = interpolation(a.view(), a.all_rows(), &graph, splitting, truncation).unwrap();
        let factor = two_grid_factor(&a, &p);
        println!("{method}: {factor}");
        assert!(factor < ceiling, "{method}: {factor}");
    }
}

#[test]
fn rows_are_truncated_as_if_afterwards() {
    let a = perturbed(&problem("poisson3d:9"));
    let graph = strong(&a);
    let splitting = split(&graph);
    for (method, interpolation) in METHODS {
        let of = |how| interpolation(a.view(), a.all_rows(), &graph, &splitting, how);
        let whole = of(ALL).unwrap();
        for how in [Truncation { max_entries: Some(3), ..ALL }, Truncation { relative: 0.3, ..ALL }] {
            let expected = truncate(whole.view(), whole.all_rows(), how).unwrap();
            assert_eq!(of(how).unwrap(), expected, "{method}");
        }
        let nothing = Truncation { max_entries: Some(0), ..ALL };
        assert!(matches!(of(nothing), Err(InterpolationError::Truncation(_))), "{method}");
    }
}

/// Two-stage interpolation after aggressive coarsening.
fn in_two_stages(a: &Csr<f64>, rows: Range<usize>, paths: Paths, how: Truncation) -> Csr<f64> {
    let graph = strong(a);
    let first = split(&graph);
    let second = coarsen_again(&graph, &first, &Whole::new(a.rows()), paths).unwrap();
    two_stage(a.view(), rows, &graph, &first, &second, Symmetry::General, how).unwrap()
}

#[test]
fn two_stages_are_extended_i_twice() {
    for name in ["poisson2d:13", "poisson3d:8", "poisson3d27:8", "anisotropic3d:8", "jump3d:12"] {
        let a = perturbed(&problem(name));
        let graph = strong(&a);
        let first = split(&graph);
        for how in [ALL, Truncation { max_entries: Some(3), relative: 0.1, ..ALL }] {
            let p = in_two_stages(&a, a.all_rows(), Paths::One, how);
            let second = aggressive(&graph, &Whole::new(a.rows()), Paths::One).unwrap();
            let p1 = extended_i_general(a.view(), a.all_rows(), &graph, &first, how).unwrap();
            let far = extended_i_general(a.view(), a.all_rows(), &graph, &second, how).unwrap();
            let p2 = Csr::collect(
                far.row_ptr(),
                0..first.coarse_rows(),
                far.cols(),
                || first.coarse_points(),
                |points, row, entries| {
                    let (columns, values) = far.row(points[row] as usize);
                    entries.extend(columns, values);
                },
            )
            .unwrap();
            let whole = product(p1.view(), p1.all_rows(), p2.view()).unwrap();
            let expected = truncate(whole.view(), whole.all_rows(), how).unwrap();
            assert_eq!((p.rows(), p.cols(), p.nnz()), (expected.rows(), expected.cols(), expected.nnz()));
            assert!(p.nnz() > a.rows(), "{name}");
            for row in a.all_rows() {
                let kept = second.coarse_index(row);
                assert!(
                    kept.is_none_or(|index| p.row(row) == (&[index][..], &[1.0][..])),
                    "{name} row {row}"
                );
                assert!((row_sum(&p, row) - row_sum(&expected, row)).abs() < 1e-13, "{name} row {row}");
                assert!(
                    how != ALL
                        || (p.row(row).1.iter().zip(expected.row(row).1)).all(|(x, y)| (x - y).abs() < 1e-13),
                    "{name} row {row}"
                );
            }
        }
    }
}

#[test]
fn two_stages_reproduce_constants_and_converge() {
    let a = perturbed(&problem("neumann3d:9"));
    let p = in_two_stages(&a, a.all_rows(), Paths::Two, Truncation { max_entries: Some(4), ..ALL });
    assert!((0..a.rows()).all(|row| (row_sum(&p, row) - 1.0).abs() < 1e-12));
    assert_eq!(
        in_two_stages(&a, 100..200, Paths::Two, ALL).row(7),
        in_two_stages(&a, 0..729, Paths::Two, ALL).row(107)
    );
    let a = problem("poisson2d:20");
    for (paths, ceiling) in [(Paths::One, 0.8), (Paths::Two, 0.72)] {
        let factor = two_grid_factor(&a, &in_two_stages(&a, a.all_rows(), paths, ALL));
        assert!(factor < ceiling, "{paths:?}: {factor}");
    }
}

#[test]
fn two_stages_same_bits_on_any_number_of_threads() {
    let a = perturbed(&problem("poisson3d:40"));
    let run = || in_two_stages(&a, a.all_rows(), Paths::Two, Truncation { max_entries: Some(4), ..ALL });
    assert_eq!(on_threads(1, run), on_threads(2, run));
}

#[test]
fn a_first_coarse_row_without_interpolation_leaves_its_share_to_the_others() {
    // Row 1 depends on rows 0 and 2, which are coarse in the first splitting. Row 0 stays coarse;
    // row 2 does not, and depends on no row.
    let a =
        Csr::try_new(3, 3, vec![0, 2, 5, 6], vec![0, 1, 0, 1, 2, 2], vec![2.0, -2.0, -1.0, 2.0, -1.0, 1.0])
            .unwrap();
    let graph = strong(&a);
    let coarse = |rows: &'static [usize]| {
        Splitting::new(3, |row| if rows.contains(&row) { Point::Coarse } else { Point::Fine })
    };
    let of = |first: Splitting, second: Splitting| {
        two_stage(a.view(), a.all_rows(), &graph, &first, &second, Symmetry::General, ALL)
    };
    let p = of(coarse(&[0, 2]), coarse(&[0])).unwrap();
    assert_eq!((p.row_ptr(), p.values()), (&[0, 1, 2, 2][..], &[1.0; 2][..]));
    let error = of(coarse(&[0]), coarse(&[0, 2])).unwrap_err();
    assert!(error.to_string().contains("coarse in the first"), "{error}");
    assert!(of(coarse(&[0]), Splitting::new(2, |_| Point::Fine)).is_err());
}

//! The effect of smoothers on errors.

use super::chebyshev::coefficients;
use super::*;
use crate::halo::Whole;
use crate::testing::Part;
use ziggurat_sparse::Csr;
use ziggurat_sparse::gallery::Problem;

/// The smoothers with a diagonal; approximate inverses are tested in their files.
const ALL: [Smoother; 6] = [
    Smoother::Jacobi { omega: None },
    Smoother::L1Jacobi,
    Smoother::Spai0,
    Smoother::Chebyshev { degree: 3, base: ChebyshevBase::Jacobi, ratio: 30.0 },
    Smoother::Chebyshev { degree: 2, base: ChebyshevBase::L1Jacobi, ratio: 4.0 },
    Smoother::GaussSeidel { block: 64 },
];

fn matrix(name: &str) -> Csr<f64> {
    name.parse::<Problem>().unwrap().matrix().unwrap()
}

fn relaxation(data: &SmootherData) -> &Relaxation {
    match data {
        SmootherData::Diagonal { relaxation, .. } => relaxation,
        _ => panic!("no diagonal"),
    }
}

#[test]
fn diagonals_follow_their_formulas() {
    let a = matrix("poisson2d:9");
    let centre = 40;
    let of =
        |smoother: Smoother| smoother.data(a.view(), &Whole::new(a.rows()), None).unwrap().diagonal()[centre];
    assert_eq!(of(Smoother::Jacobi { omega: Some(0.5) }), 0.125);
    // Without an estimate of the radius, the step of SPAI-0.
    assert_eq!(of(Smoother::Jacobi { omega: None }), 4.0 / 20.0);
    let jacobi = Smoother::default().data(a.view(), &Whole::new(a.rows()), Some(2.0)).unwrap();
    assert_eq!(jacobi.diagonal()[centre], 1.6 / 2.0 / 4.0);
    assert_eq!(of(Smoother::L1Jacobi), 1.0 / 8.0);
    assert_eq!(of(Smoother::Spai0), 4.0 / 20.0);
    assert_eq!(of(Smoother::GaussSeidel { block: 81 }), 0.25);
    // Rows 40 to 47 are a block: three of the four neighbours of row 40 are outside.
    assert_eq!(of(Smoother::GaussSeidel { block: 8 }), 1.0 / (4.0 + 3.0 / 2.0));
}

#[test]
fn a_step_that_is_not_proved_to_converge_is_found_by_the_radius() {
    // Far from diagonally dominant: the rows of elasticity.
    let a = matrix("elasticity3d:6");
    let halo = Whole::new(a.rows());
    let found = Smoother::default().data(a.view(), &halo, None).unwrap();
    let radius = spectral_radius(a.view(), &halo).unwrap();
    assert_eq!(found, Smoother::default().data(a.view(), &halo, Some(radius)).unwrap());
    // One row is enough, here with a negative diagonal entry; another process does not see it.
    let poisson = matrix("poisson2d:9");
    assert!(spai0::proved_diagonal(poisson.view(), poisson.all_rows()).is_some());
    let mut one = poisson.clone();
    one.values_mut()[0] = -4.0;
    assert!(spai0::proved_diagonal(one.view(), one.all_rows()).is_none());
    assert!(spai0::proved_diagonal(one.view(), 1..81).is_some());
}

#[test]
fn chebyshev_is_small_on_its_interval_and_one_at_zero() {
    let (lower, upper) = (0.5, 2.0);
    let steps = coefficients(4, lower, upper);
    // The error polynomial e_k(λ), by the recurrence on x with b = 0 and A = λ.
    let error = |lambda: f64| {
        let (mut before, mut now) = (1.0, 1.0);
        for &(omega, beta) in &steps {
            (before, now) = (now, now - omega * lambda * now + beta * (now - before));
        }
        now
    };
    assert_eq!(error(0.0), 1.0);
    // The optimum: 1 / T_4((Λ + λ)/(Λ − λ)).
    let best = 1.0 / (4.0 * (5.0_f64 / 3.0).acosh()).cosh();
    let worst =
        (0..=100).map(|k| error(lower + (upper - lower) * f64::from(k) / 100.0).abs()).fold(0.0, f64::max);
    assert!((worst - best).abs() < 1e-12, "{worst}, {best}");
}

#[test]
fn a_missing_diagonal_entry_is_reported_with_its_row() {
    let a = Csr::try_new(3, 3, vec![0, 1, 2, 3], vec![0, 1, 0], vec![1.0; 3]).unwrap();
    for smoother in ALL {
        let data = smoother.data(a.view(), &Whole::new(a.rows()), None);
        if matches!(smoother, Smoother::L1Jacobi | Smoother::Chebyshev { base: ChebyshevBase::L1Jacobi, .. })
        {
            assert!(data.is_ok(), "{smoother:?} divides by the sums of rows");
            continue;
        }
        let error = data.unwrap_err().to_string();
        assert!(error.starts_with("row 2: the diagonal entry is"), "{smoother:?}: {error}");
    }
}

#[test]
fn an_empty_row_counts_as_one_with_the_largest_diagonal_entry() {
    let a = Csr::try_new(3, 3, vec![0, 1, 2, 2], vec![0, 1], vec![4.0, 2.0]).unwrap();
    let filled = Csr::try_new(3, 3, vec![0, 1, 2, 3], vec![0, 1, 2], vec![4.0, 2.0, 4.0]).unwrap();
    for smoother in ALL {
        let [found, expected] = [&a, &filled].map(|a| smoother.data(a.view(), &Whole::new(3), None));
        assert_eq!(found.unwrap(), expected.unwrap(), "{smoother:?}");
    }
}

#[test]
fn negative_matrices_have_negative_diagonals() {
    let mut a = matrix("poisson2d:5");
    a.values_mut().iter_mut().for_each(|value| *value = -*value);
    for smoother in ALL {
        let data = smoother.data(a.view(), &Whole::new(a.rows()), None).unwrap();
        assert!(data.diagonal().iter().all(|&d| d < 0.0), "{smoother:?}");
    }
}

#[test]
fn a_range_of_rows_gets_the_data_of_the_whole_matrix() {
    let a = matrix("jump3d:6");
    let radius = spectral_radius(a.view(), &Whole::new(a.rows())).unwrap();
    // The range begins and ends with a Gauss–Seidel block, so that the blocks are the same.
    let (begin, end) = (64, 192);
    // The local numbering of a process: own rows and columns first.
    let local = |column: u32| match column as usize {
        column if column < begin => column + (end - begin),
        column if column < end => column - begin,
        column => column,
    };
    let (mut columns, mut values, mut row_ptr) = (vec![], vec![], vec![0]);
    for row in begin..end {
        columns.extend(a.row(row).0.iter().map(|&column| local(column) as u32));
        values.extend(a.row(row).1);
        row_ptr.push(columns.len());
    }
    let own = Csr::from_unsorted(end - begin, a.cols(), row_ptr, columns, values).unwrap();
    for smoother in ALL {
        let whole = smoother.data(a.view(), &Whole::new(a.rows()), Some(radius)).unwrap();
        let part = smoother.data(a.view(), &Part { owned: begin..end, local: 216 }, Some(radius)).unwrap();
        assert_eq!(relaxation(&part), relaxation(&whole));
        assert_eq!(part.diagonal(), &whole.diagonal()[begin..end]);
        let own =
            smoother.data(own.view(), &Part { owned: 0..end - begin, local: 216 }, Some(radius)).unwrap();
        for (own, whole) in own.diagonal().iter().zip(part.diagonal()) {
            assert!((own / whole - 1.0).abs() < 1e-14, "{smoother:?}: {own}, {whole}");
        }
        assert_eq!(smoother.data(a.view(), &Part { owned: 5..5, local: 216 }, None).unwrap().diagonal(), []);
        assert!(smoother.data(a.view(), &Part { owned: 5..217, local: 217 }, Some(radius)).is_err());
    }
    let (mut faulty, entry) = (a.clone(), a.row_ptr()[100]);
    faulty.values_mut()[entry..a.row_ptr()[101]].fill(f64::NAN);
    for smoother in ALL {
        let error = smoother
            .data(faulty.view(), &Part { owned: begin..end, local: 216 }, Some(radius))
            .unwrap_err()
            .to_string();
        assert!(error.starts_with("row 100: "), "{smoother:?}: {error}");
    }
}

//! Reports at the limits of doubles: right-hand sides near the smallest number, guesses so large
//! that twice the precision does not suffice, and tolerances near rounding errors. The residual is
//! computed without rounding errors by the test.

use ziggurat::config::{Krylov, Method};
use ziggurat::krylov::KrylovReport;
use ziggurat::{SolveOptions, Solver, SolverConfig};
use ziggurat_sparse::hash::hash_id;
use ziggurat_sparse::{Coo, Csr};

use crate::never_wrong::relative_residual;

/// A matrix with the given diagonals, by their offsets; rows are cut off at the ends.
fn banded(n: usize, diagonals: &[(isize, f64)]) -> Coo<f64> {
    let mut a = Coo::new(n, n).unwrap();
    for (i, &(offset, value)) in (0..n).flat_map(|i| diagonals.iter().map(move |diagonal| (i, diagonal))) {
        if let Some(j) = i.checked_add_signed(offset).filter(|&j| j < n) {
            a.push(i, j, value).unwrap();
        }
    }
    a
}

/// Numbers between −1 and 1.
fn noise(n: usize) -> Vec<f64> {
    (0..n as u64).map(|i| (hash_id(i) >> 11) as f64 / (1u64 << 52) as f64 - 1.0).collect()
}

fn times(factor: f64, x: &[f64]) -> Vec<f64> {
    x.iter().map(|x| factor * x).collect()
}

/// Solves, and compares the report with the exact residual.
fn checked(
    a: &Csr<f64>,
    b: &[f64],
    guess: Option<&[f64]>,
    config: &SolverConfig,
    about: &str,
) -> KrylovReport {
    let solver = Solver::new(a, config.clone()).unwrap();
    let solution = solver.solve_with(b, guess, &SolveOptions::from(config), None).unwrap();
    let (truth, report) = (relative_residual(a, &solution.x, b), solution.report);
    let about = format!("{about}: {report}, exactly {truth:e}");
    if report.reason.is_converged() {
        let rtol = config.stopping.rtol;
        assert!(report.relative_residual <= rtol && truth <= (1.0 + 1e-10) * rtol, "{about}");
        assert!((report.relative_residual - truth).abs() <= 0.01 * rtol, "{about}");
    }
    assert!(report.relative_residual != 0.0 || truth == 0.0, "{about}");
    report
}

#[test]
fn right_hand_sides_near_the_smallest_number() {
    for n in [250, 300, 350] {
        let mut a = banded(n, &[(0, 6.0), (-1, -4.0), (1, -4.0), (-2, 1.0), (2, 1.0)]);
        a.push(0, 0, -1.0).unwrap();
        a.push(n - 1, n - 1, -1.0).unwrap();
        let a = a.to_csr();
        let config = SolverConfig::default();
        for size in [1e-156, 1e-170, 1e-250, 1e-300] {
            let about = format!("biharmonic line of {n}, {size:e}");
            checked(&a, &vec![size; n], None, &config, &about);
            checked(&a, &times(size, &noise(n)), None, &config, &about);
        }
        // A power of two changes no bit of a mantissa.
        let at_one = checked(&a, &vec![1.0; n], None, &config, "one");
        for exponent in [-518, -565, -830, -996] {
            let tiny = checked(&a, &vec![2f64.powi(exponent); n], None, &config, "tiny");
            let outcome =
                |report: &KrylovReport| (report.reason, report.iterations, report.relative_residual);
            assert_eq!(outcome(&tiny), outcome(&at_one), "2^{exponent}, {n}");
        }
    }
}

#[test]
fn guesses_so_large_that_nothing_is_left_of_b() {
    let n = 80;
    // A line without boundary values, and transport without an inflow: singular.
    let mut a = banded(n, &[(0, 2.5), (-1, -1.5), (1, -1.0)]);
    a.push(0, 0, -1.5).unwrap();
    a.push(n - 1, n - 1, -1.0).unwrap();
    let (a, b) = (a.to_csr(), vec![1.0; n]);
    let methods = Krylov::ALL.iter().map(|&krylov| (Method::Auto, krylov));
    for (method, krylov) in methods.chain([(Method::Direct, Krylov::Auto)]) {
        for (size, rtol) in [1e34, 1e50, 1e100].into_iter().flat_map(|size| [(size, 0.3), (size, 1e-2)]) {
            let mut config = SolverConfig { method, krylov, ..SolverConfig::preset("robust").unwrap() };
            config.stopping.rtol = rtol;
            let about = format!("{method} {krylov}, guess {size:e}, rtol {rtol}");
            checked(&a, &b, Some(&times(size, &noise(n))), &config, &about);
        }
    }
}

#[test]
fn singular_matrices_of_many_kinds() {
    let n = 30;
    let (u, v) = (noise(n), noise(2 * n).split_off(n));
    let mut rank_one = Coo::new(n, n).unwrap();
    (0..n * n).for_each(|k| rank_one.push(k / n, k % n, u[k / n] * v[k % n]).unwrap());
    let mut config = SolverConfig::preset("robust").unwrap();
    (config.krylov, config.method, config.fallback) = (Krylov::Idr, Method::Classical, false);
    checked(&rank_one.to_csr(), &vec![1.0; n], None, &config, "rank one");

    let mut config =
        SolverConfig { krylov: Krylov::Cgs, precision: "bf16".parse().unwrap(), ..Default::default() };
    config.stopping.rtol = 0.1;
    for seed in 0..30 {
        let mut markov = banded(n, &[(0, 1.0), (-1, -0.25)]);
        markov.push(0, n - 1, -0.25).unwrap();
        for (i, k) in (0..n).flat_map(|i| (0..3).map(move |k| (i, k))) {
            let to = hash_id((1000 * seed + 10 * i + k) as u64) as usize % n;
            markov.push(to, i, -0.25).unwrap();
        }
        checked(&markov.to_csr(), &times(1.0, &noise(n)), None, &config, &format!("Markov chain {seed}"));
    }
}

#[test]
fn projections_where_the_rest_is_nearly_singular() {
    let (free, rest) = (20, 15);
    for (krylov, shift) in Krylov::ALL.iter().flat_map(|&krylov| [1e-15, 1e-13, 1e-10].map(|s| (krylov, s))) {
        for size in [0.0, 1e10, 1e20, 1e30] {
            let mut a = banded(free + rest, &[(0, 2.0), (-1, -1.0), (1, -1.0)]);
            for (i, value) in [(0, -1.0), (free - 1, -1.0), (free, -1.0 + shift), (free + rest - 1, -1.0)] {
                a.push(i, i, value).unwrap();
            }
            a.push(free - 1, free, 1.0).unwrap();
            a.push(free, free - 1, 1.0).unwrap();
            let (a, b) = (a.to_csr(), noise(free + rest));
            let mut config = SolverConfig { krylov, ..SolverConfig::default() };
            config.stopping.project_rhs = true;
            let solver = Solver::new(&a, config.clone()).unwrap();
            let guess = times(size, &noise(free + rest));
            let solution = solver.solve_with(&b, Some(&guess), &SolveOptions::from(&config), None).unwrap();
            let (truth, report) = (relative_residual(&a, &solution.x, &b), solution.report);
            let about = format!("{krylov}, {shift:e}, guess {size:e}: {report}, exactly {truth:e}");
            if report.reason.is_converged() {
                assert!((truth - report.left_out).abs() <= 1e-8 && report.left_out > 0.01, "{about}");
                assert!((report.relative_residual - truth).abs() <= 1e-10, "{about}");
            }
        }
    }
}

#[test]
fn tolerances_near_rounding_errors() {
    let (mut converged, count) = (0, 100);
    for seed in 0..count {
        let n = 40 + 3 * seed;
        let a = banded(n, &[(0, 2.0), (-1, -1.0), (1, -1.0)]).to_csr();
        let mut config = SolverConfig { krylov: Krylov::Fgmres, ..SolverConfig::default() };
        config.precision = "K64P32D16".parse().unwrap();
        config.stopping.rtol = [1e-13, 3e-13, 1e-12][seed % 3];
        let report = checked(&a, &noise(n), None, &config, &format!("line of {n}"));
        converged += usize::from(report.reason.is_converged());
    }
    assert!(2 * converged > count, "only {converged} of {count}");
}

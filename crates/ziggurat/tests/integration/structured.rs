//! Structured grids: found in the matrix, few iterations whatever the size, the same in every
//! precision, and refused where the matrix is not a grid.

use ziggurat::amg::Hierarchy;
use ziggurat::config::{Method, Precision};
use ziggurat::sparse::device::Reference;
use ziggurat::{SolveError, Solver, Updated};
use ziggurat_sparse::gallery::{Problem, shuffle};
use ziggurat_sparse::graph::permute_symmetric;
use ziggurat_sparse::grid::recognise;
use ziggurat_sparse::{Coo, Csr};

fn matrix(name: &str) -> Csr<f64> {
    name.parse::<Problem>().unwrap().matrix().unwrap()
}

fn rhs(name: &str) -> Vec<f64> {
    name.parse::<Problem>().unwrap().rhs().unwrap()
}

fn iterations(name: &str, precision: &str) -> (usize, Solver) {
    let precision = precision.parse::<Precision>().unwrap();
    let builder = Solver::builder().method(Method::Structured).precision(precision);
    let solver = builder.build(matrix(name)).unwrap();
    let solution = solver.solve(&rhs(name)).unwrap();
    assert!(
        solution.report.reason.is_converged() && solution.promotion.is_none(),
        "{name}: {}",
        solution.report
    );
    (solution.report.iterations, solver)
}

#[test]
fn iterations_do_not_depend_on_size_or_precision() {
    for (small, large, most) in [
        ("poisson3d:24", "poisson3d:48", 10),
        ("poisson3d27:20", "poisson3d27:36", 9),
        ("anisotropic3d:24", "anisotropic3d:48", 12),
        ("jump3d:30", "jump3d:50", 13),
        ("poisson2d:100", "poisson2d:200", 11),
        ("neumann3d:24", "neumann3d:40", 10),
        ("solid3d:12", "solid3d:20", 14),
        ("elasticity3d:12", "elasticity3d:20", 25),
        ("radiation3t:12", "radiation3t:24", 30),
    ] {
        let (few, _) = iterations(small, "f64");
        let (many, solver) = iterations(large, "f64");
        assert!(few <= most && many <= most, "{large}: {few} and {many} iterations");
        assert_eq!(solver.preconditioner().stored()[0].format.format().name(), "dia");
        let (narrow, _) = iterations(large, "f16");
        assert!(narrow <= many + 1, "{large}: {narrow} iterations in 16 bits, {many} in 64");
    }
}

#[test]
fn auto_takes_it_for_large_grids_only() {
    let method = |a: Csr<f64>| Solver::builder().build(a).unwrap().config().method;
    assert_eq!(method(matrix("poisson3d:32")), Method::Structured);
    assert_eq!(method(matrix("poisson3d:20")), Method::Sa); // few entries
    assert_eq!(method(matrix("convection3d:32")), Method::Air); // not symmetric
    let irregular = shuffle(matrix("poisson2d:30").view(), 1, 900.try_into().unwrap()).unwrap().0;
    let error = Solver::builder().method(Method::Structured).build(irregular).unwrap_err();
    assert!(matches!(error, SolveError::Setup(_)), "{error}");
    assert!(error.to_string().contains("not that of a structured grid"), "{error}");
}

/// Cells that are left out are rows with only a diagonal entry: here those outside a ball, and a
/// wall with a door.
#[test]
fn cells_may_be_left_out() {
    let n = 36;
    let is_active = |point: usize| {
        let [x, y, z] = [point % n, point / n % n, point / n / n];
        let in_ball = [x, y, z].into_iter().map(|at| (2 * at + 1).abs_diff(n).pow(2)).sum::<usize>() < n * n;
        in_ball && (x != n / 3 || y.abs_diff(n / 2) < 3)
    };
    let full = matrix("poisson3d:36");
    let mut masked = Coo::new(full.rows(), full.cols()).unwrap();
    for row in full.all_rows() {
        for (&column, &value) in full.row(row).0.iter().zip(full.row(row).1) {
            if row == column as usize || is_active(row) && is_active(column as usize) {
                masked.push(row, column as usize, value).unwrap();
            }
        }
    }
    let a = masked.to_csr();
    let b: Vec<f64> = (0..a.rows()).map(|point| f64::from(u8::from(is_active(point)))).collect();
    for precision in [Precision::F64, Precision::F16] {
        let solver = Solver::builder().method(Method::Structured).precision(precision).build(&a).unwrap();
        let solution = solver.solve(&b).unwrap();
        assert!(solution.report.reason.is_converged() && solution.promotion.is_none());
        assert!(solution.report.iterations <= 20, "{}", solution.report);
    }
}

/// The levels hold one unknown after the other; callers do not notice.
#[test]
fn several_unknowns_per_point_come_in_either_order() {
    let a = matrix("radiation3t:14");
    let order = recognise(a.view()).unwrap().by_unknown().unwrap();
    let by_unknown = permute_symmetric(a.view(), &order).unwrap();
    let b: Vec<f64> = (0..a.rows()).map(|row| (row as f64).sin()).collect();
    let mut ordered = vec![0.0; b.len()];
    order.apply(&b, &mut ordered).unwrap();
    let solve = |a: &Csr<f64>, b: &[f64]| {
        let solver = Solver::builder().method(Method::Structured).build(a).unwrap();
        assert_eq!(*solver.hierarchy().matrix().unwrap(), *a);
        solver.solve(b).unwrap().x
    };
    let mut expected = vec![0.0; b.len()];
    order.apply(&solve(&a, &b), &mut expected).unwrap();
    assert_eq!(solve(&by_unknown, &ordered), expected);
    // One of them is sparser than the other unknowns: an entry less, and the pattern is another.
    let solver = Solver::builder().method(Method::Structured).build(&a).unwrap();
    assert_eq!(solver.hierarchy().levels()[1].rows(), 3 * 343);
    assert!(solver.hierarchy().check_pattern(&by_unknown).is_err());
}

#[test]
fn hierarchies_do_not_depend_on_threads_and_can_be_saved() {
    ["jump3d:30", "radiation3t:16"].into_iter().for_each(does_not_depend_on_threads);
}

fn does_not_depend_on_threads(name: &str) {
    let a = matrix(name);
    let solver = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let solver = Solver::builder().method(Method::Structured).build(&a).unwrap();
            let x = solver.solve(&vec![1.0; a.rows()]).unwrap().x;
            (solver, x)
        })
    };
    let ((one, x), (two, y)) = (solver(1), solver(2));
    assert_eq!(x, y);
    let mut file = Vec::new();
    one.hierarchy().save(&mut file).unwrap();
    let loaded = Hierarchy::load(&file[..]).unwrap();
    for (loaded, level) in loaded.levels().iter().zip(two.hierarchy().levels()) {
        assert_eq!(loaded.matrix(), level.matrix());
        assert_eq!(loaded.prolongation(), level.prolongation());
        assert_eq!(loaded.restriction(), level.restriction());
    }
    let again = Solver::builder().build_from(loaded).unwrap();
    assert!(again.solve(&vec![1.0; a.rows()]).unwrap().report.reason.is_converged());
}

#[test]
fn new_values_give_what_a_new_setup_gives() {
    ["jump3d:24", "radiation3t:16"].into_iter().for_each(updates_as_it_sets_up);
}

fn updates_as_it_sets_up(name: &str) {
    let (a, mut changed) = (matrix(name), matrix(name));
    for row in 0..a.rows() {
        let entries = a.row_ptr()[row]..a.row_ptr()[row + 1];
        for (value, &column) in changed.values_mut()[entries.clone()].iter_mut().zip(&a.columns()[entries]) {
            *value *= (1.0 + 0.1 * (row as f64).sin()) * (1.0 + 0.1 * f64::from(column).sin());
        }
    }
    let builder = Solver::builder().method(Method::Structured);
    let mut updated = builder.clone().build(&a).unwrap();
    assert_eq!(updated.update_values(&changed).unwrap(), Updated::Values);
    let fresh = builder.build(&changed).unwrap();
    let levels = |solver: &Solver| {
        solver.hierarchy().levels()[..2].iter().map(|l| l.matrix().clone()).collect::<Vec<_>>()
    };
    assert_eq!(levels(&updated), levels(&fresh));
    let iterations = |solver: &Solver| solver.solve(&vec![1.0; a.rows()]).unwrap().report.iterations;
    assert!(iterations(&updated) <= iterations(&fresh) + 2);
}

#[test]
fn other_devices_and_smoothers_work() {
    let a = matrix("poisson3d:17");
    let device = Solver::builder().method(Method::Structured).device(&Reference);
    let report = device.build(&a).unwrap().solve(&vec![1.0; a.rows()]).unwrap().report;
    assert!(report.reason.is_converged() && report.iterations <= 10, "{report}");
    let radiation = matrix("radiation3t:12");
    for smoother in ["jacobi", "spai0", "l1-jacobi", "chebyshev", "gauss-seidel", "block-jacobi"] {
        for (a, most) in [(&a, 18), (&radiation, 70)] {
            let builder = Solver::builder().method(Method::Structured).smoother(smoother.parse().unwrap());
            let report = builder.build(a).unwrap().solve(&vec![1.0; a.rows()]).unwrap().report;
            assert!(report.reason.is_converged() && report.iterations <= most, "{smoother}: {report}");
        }
    }
    // Unknowns that exchange heat with each other are smoothed together.
    let builder = Solver::builder().method(Method::Structured).smoother("block-jacobi".parse().unwrap());
    let report = builder.build(&radiation).unwrap().solve(&vec![1.0; radiation.rows()]).unwrap().report;
    assert!(report.iterations <= 20, "{report}");
}

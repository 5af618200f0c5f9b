//! Negative definite matrices, such as a discrete Laplacian: −A is solved, and the caller does not
//! notice.

use std::sync::Arc;

use crate::systems::uneven;
use ziggurat::amg::{Hierarchy, negative};
use ziggurat::config::{Krylov, Method, Reorder};
use ziggurat::krylov::StopReason;
use ziggurat::sparse::device::{Cpu, DeviceExt, Vector};
use ziggurat::sparse::gallery::Problem;
use ziggurat::sparse::operator::LinearOperator;
use ziggurat::sparse::{Csr, Kind};
use ziggurat::{SolveOptions, Solver, SolverConfig, Updated};

fn matrix(name: &str) -> Arc<Csr<f64>> {
    name.parse::<Problem>().unwrap().matrix().unwrap().into()
}

fn minus(x: &[f64]) -> Vec<f64> {
    x.iter().map(|x| -x).collect()
}

/// Whether two vectors are equal up to the tolerance of a solve.
fn near(x: &[f64], y: &[f64]) -> bool {
    let most = y.iter().fold(0.0, |most: f64, y| most.max(y.abs()));
    x.iter().zip(y).all(|(x, y)| (x - y).abs() <= 1e-6 * most)
}

fn cycle(solver: &Solver, r: &[f64]) -> Vec<f64> {
    let (cpu, mut z) = (Cpu::new(), Vector::from(vec![0.0; r.len()]));
    let mut work = solver.preconditioner().workspace(&cpu, Kind::F64).unwrap();
    solver.preconditioner().apply(&cpu, &r.to_vec().into(), &mut z, &mut work);
    cpu.to_host(z).unwrap()
}

#[test]
fn the_negative_matrix_has_the_negative_solution_bit_for_bit() {
    for (name, method) in [
        ("poisson3d:12", Method::Auto),
        ("poisson3d:40", Method::Auto), // structured, in 16 bits
        ("jump3d:16", Method::Classical),
        ("poisson3d:12", Method::Pairwise),
        ("poisson3d:12", Method::Bamg),
        ("poisson3d:12", Method::None),
        ("poisson3d:12", Method::Direct),
        ("elasticity3d:6", Method::Auto),
    ] {
        let a = matrix(name);
        let (b, builder) = (uneven(a.rows()), || Solver::builder().method(method));
        let (usual, solver) = (builder().build(a.clone()).unwrap(), builder().build(negative(&a)).unwrap());
        assert_eq!(solver.config(), usual.config(), "{name}, {method}");
        let (expected, found) = (usual.solve(&b).unwrap(), solver.solve(&b).unwrap());
        assert!(found.report.reason.is_converged(), "{name}, {method}");
        assert_eq!(found.report.history, expected.report.history, "{name}, {method}");
        assert!(found.x == minus(&expected.x), "{name}, {method}");
        assert!(cycle(&solver, &b) == minus(&cycle(&usual, &b)), "{name}, {method}");
        // From the solution there is nothing left to do.
        let options = SolveOptions::from(solver.config());
        assert_eq!(solver.solve_with(&b, Some(&found.x), &options, None).unwrap().report.iterations, 0);
    }
}

#[test]
fn the_choice_is_stated() {
    let solver = Solver::new(negative(&matrix("poisson3d:8")), SolverConfig::default()).unwrap();
    let krylov = solver.decisions().into_iter().find(|decision| decision.key == "krylov").unwrap();
    assert_eq!(krylov.value, "cg");
    assert!(krylov.reason.contains("−A is solved"), "{}", krylov.reason);
    // A chosen method stays, and an indefinite matrix is not negated.
    let mut a = Csr::clone(&negative(&matrix("poisson3d:8")));
    a.values_mut()[0] = 6.0;
    let indefinite = Solver::new(a, SolverConfig::default()).unwrap();
    assert!(!indefinite.hierarchy().is_negated() && indefinite.config().krylov == Krylov::Fgmres);
}

#[test]
fn new_values_keep_the_sign_or_rebuild() {
    let a = negative(&matrix("poisson3d:10"));
    let b = uneven(a.rows());
    for reorder in [Reorder::Off, Reorder::On] {
        let builder = Solver::builder().method(Method::Sa).with(|config| config.reorder = reorder);
        let mut solver = builder.build(a.clone()).unwrap();
        let x = solver.solve(&b).unwrap().x;
        let mut twice = Csr::clone(&a);
        twice.values_mut().iter_mut().for_each(|value| *value *= 2.0);
        assert_eq!(solver.update_values(twice.clone()).unwrap(), Updated::Values);
        assert_eq!(*solver.hierarchy().matrix().unwrap(), twice);
        let halves: Vec<f64> = x.iter().map(|x| x / 2.0).collect();
        assert!(near(&solver.solve(&b).unwrap().x, &halves));
        // A value that is not finite is refused, and the old matrix stays.
        let mut wrong = twice.clone();
        wrong.values_mut()[7] = f64::NAN;
        assert!(solver.update_values(wrong).is_err());
        assert!(near(&solver.solve(&b).unwrap().x, &halves));
        assert_eq!(solver.update_values(negative(&a)).unwrap(), Updated::Rebuilt);
        assert!(!solver.hierarchy().is_negated());
        assert!(near(&solver.solve(&b).unwrap().x, &minus(&x)));
    }
}

#[test]
fn a_saved_hierarchy_keeps_the_sign() {
    let a = negative(&matrix("poisson3d:10"));
    let (solver, b) = (Solver::new(a.clone(), SolverConfig::default()).unwrap(), uneven(a.rows()));
    let mut file = Vec::new();
    solver.hierarchy().save(&mut file).unwrap();
    let loaded = Hierarchy::load(&file[..]).unwrap();
    assert_eq!(loaded.matrix().unwrap(), a);
    let again = Solver::from_hierarchy(loaded, SolverConfig::default()).unwrap();
    assert!(again.solve(&b).unwrap().x == solver.solve(&b).unwrap().x);
}

#[test]
fn a_singular_negative_matrix_is_solved_for_what_it_can_reach() {
    let a = negative(&matrix("neumann3d:8"));
    let solver = Solver::new(a, SolverConfig::default()).unwrap();
    let mut b = vec![0.0; 512];
    b[0] = 1.0;
    assert_eq!(solver.solve(&b).unwrap().report.reason, StopReason::Inconsistent);
    b[511] = -1.0;
    let x = solver.solve(&b).unwrap().x;
    assert!(x[0] < x[511], "a source makes −A⁻¹ b negative");
}

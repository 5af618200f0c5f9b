//! Unknowns in a new order: the caller does not notice.

use std::sync::Arc;

use crate::far::Far;
use crate::systems::{residual, scattered, uneven};
use ziggurat::amg::Hierarchy;
use ziggurat::amg::interpolate::NearKernel;
use ziggurat::config::{Method, Precision, Reorder, SmootherKind};
use ziggurat::krylov::StopReason;
use ziggurat::sparse::device::{Cpu, DeviceExt, Vector};
use ziggurat::sparse::gallery::Problem;
use ziggurat::sparse::operator::LinearOperator;
use ziggurat::sparse::{Csr, Kind, MatrixError};
use ziggurat::{SolveError, SolveOptions, Solver, SolverBuilder, Stronger, Updated};

fn reordering() -> SolverBuilder {
    Solver::builder().with(|config| config.reorder = Reorder::On)
}

#[test]
fn every_method_solves_in_the_given_order() {
    for (name, method) in [
        ("poisson3d:12", Method::Auto),
        ("poisson3d:12", Method::Classical),
        ("poisson3d:12", Method::Pairwise),
        ("poisson3d:12", Method::None),
        ("elasticity3d:5", Method::Sa),
        ("convection3d:12", Method::Auto),
        ("transport3d:12", Method::Air),
    ] {
        let a = scattered(name);
        let b = uneven(a.rows());
        for precision in [Precision::F64, Precision::F16] {
            let solver = reordering().method(method).precision(precision).build(&a).unwrap();
            assert!(solver.hierarchy().order().is_some(), "{name}");
            let solution = solver.solve(&b).unwrap();
            assert!(solution.report.reason.is_converged(), "{name}, {method}: {}", solution.report);
            assert!(residual(&a, &solution.x, &b) <= 1.01e-8, "{name}, {method}");
            // From the solution there is nothing left to do.
            let options = SolveOptions::from(solver.config());
            let again = solver.solve_with(&b, Some(&solution.x), &options, None).unwrap();
            assert_eq!(again.report.iterations, 0, "{name}, {method}");
        }
    }
}

#[test]
fn the_order_depends_on_the_matrix_and_is_a_decision() {
    let small = scattered("poisson3d:12");
    assert_eq!(Solver::builder().build(&small).unwrap().config().reorder, Reorder::Off);
    let large = scattered("poisson3d:51");
    let solver = Solver::builder().build(&large).unwrap();
    assert_eq!(solver.config().reorder, Reorder::On);
    let decision = solver.decisions().into_iter().find(|decision| decision.key == "reorder").unwrap();
    assert!(decision.reason.starts_with("rows refer to scattered columns"), "{}", decision.reason);
    let natural = "poisson3d:51".parse::<Problem>().unwrap().matrix().unwrap();
    let solver = Solver::builder().method(Method::Sa).build(&natural).unwrap();
    assert_eq!(solver.config().reorder, Reorder::Off);
    assert!(solver.decisions().iter().all(|decision| decision.key != "reorder"));
    // A new order would lose the structure that these methods recognise in the given one.
    for method in [Method::Structured, Method::Direct, Method::Cpr] {
        let error = reordering().method(method).build(&small).unwrap_err().to_string();
        let expected = format!("`reorder` is on; it must be auto or off with the method {method},");
        assert!(error.starts_with(&expected), "{error}");
    }
    assert_eq!(reordering().build(&natural).unwrap().config().method, Method::Sa);
}

#[test]
fn near_kernels_and_null_spaces_are_in_the_given_order() {
    let problem: Problem = "elasticity3d:6".parse().unwrap();
    let (a, b) = (problem.matrix().unwrap(), problem.rhs().unwrap());
    let modes = NearKernel::rigid_body_modes(&problem.coordinates().unwrap(), 3).unwrap();
    let given = Solver::builder().near_kernel(modes.clone()).build(&a).unwrap().solve(&b).unwrap();
    let solver = reordering().near_kernel(modes).build(&a).unwrap();
    let solution = solver.solve(&b).unwrap();
    assert!(residual(&a, &solution.x, &b) <= 1.01e-8);
    assert!(solution.report.iterations <= given.report.iterations + 2, "{}", solution.report);
    // Two bodies, each with its constants: b is consistent on neither.
    let part = scattered("neumann3d:6");
    let n = part.rows();
    let (mut row_ptr, mut columns) = (part.row_ptr().to_vec(), part.columns().to_vec());
    row_ptr.extend(part.row_ptr()[1..].iter().map(|end| end + part.nnz()));
    columns.extend(part.columns().iter().map(|column| column + n as u32));
    let values = [part.values(), part.values()].concat();
    let two = Csr::try_new(2 * n, 2 * n, row_ptr, columns, values).unwrap();
    let mut b = vec![0.0; 2 * n];
    b[0] = 1.0;
    let report = reordering().build(&two).unwrap().solve(&b).unwrap().report;
    assert_eq!(report.reason, StopReason::Inconsistent);
    assert!((report.left_out - (n as f64).sqrt().recip()).abs() < 1e-12, "{}", report.left_out);
    b[n - 1] = -1.0;
    let solution = reordering().build(&two).unwrap().solve(&b).unwrap();
    assert!(solution.report.reason.is_converged() && residual(&two, &solution.x, &b) <= 1.01e-8);
}

#[test]
fn new_values_rebuilds_and_errors_are_in_the_given_order() {
    let mut a = scattered("jump3d:10");
    let b = uneven(a.rows());
    let mut solver = reordering().build(&a).unwrap();
    a.values_mut().iter_mut().for_each(|value| *value *= 3.0);
    assert_eq!(solver.update_values(&a).unwrap(), Updated::Values);
    assert!(residual(&a, &solver.solve(&b).unwrap().x, &b) <= 1.01e-8);
    // No longer symmetric, so the hierarchy is rebuilt.
    let place = a.row_ptr()[500];
    a.values_mut()[place] *= 1.5;
    assert_eq!(solver.update_values(&a).unwrap(), Updated::Rebuilt);
    assert!(residual(&a, &solver.solve(&b).unwrap().x, &b) <= 1.01e-8);
    // The solver keeps its matrix if the new one has a fault, and the fault is named.
    let good = a.clone();
    a.values_mut()[place] = f64::NAN;
    let column = a.row(500).0[0] as usize;
    match solver.update_values(&a).unwrap_err() {
        SolveError::Setup(error) => match error.cause() {
            ziggurat::amg::SetupError::Matrix(MatrixError::NotFinite { row, column: found, .. }) => {
                assert_eq!((*row, *found), (500, column));
            }
            other => panic!("{other}"),
        },
        other => panic!("{other}"),
    }
    assert!(residual(&good, &solver.solve(&b).unwrap().x, &b) <= 1.01e-8);
    assert!(solver.solve(&b[1..]).is_err(), "a right-hand side of another length");
}

#[test]
fn a_cycle_is_in_the_given_order_on_every_device() {
    let a = scattered("convection3d:9");
    let b = uneven(a.rows());
    let builder = || reordering().method(Method::Classical).smoother(SmootherKind::L1Jacobi);
    let solver = builder().build(&a).unwrap();
    let applied = |cycle: &dyn LinearOperator, b: &[f64]| {
        let (cpu, mut x) = (Cpu::new(), Vector::from(vec![f64::NAN; b.len()]));
        cycle.apply(&cpu, &b.to_vec().into(), &mut x, &mut cycle.workspace(&cpu, Kind::F64).unwrap());
        cpu.to_host::<f64>(x).unwrap()
    };
    // In a wrong order, the residual would be larger than b.
    let x = applied(solver.preconditioner(), &b);
    assert!(residual(&a, &x, &b) < 0.8, "{}", residual(&a, &x, &b));
    // y · M b = Mᵀ y · b
    let y = uneven(a.rows()).into_iter().rev().collect::<Vec<_>>();
    let transposed = applied(&solver.transposed_preconditioner().unwrap(), &y);
    let dot = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f64>();
    assert!((dot(&y, &x) - dot(&transposed, &b)).abs() <= 1e-10 * dot(&y, &y).sqrt() * dot(&x, &x).sqrt());
    // In device memory.
    let far = builder().device(&Far::default()).build(&a).unwrap();
    let device = far.device();
    let (uploaded, mut z) = (device.upload(&b).unwrap(), device.zeros(Kind::F64, b.len()).unwrap());
    let mut work = far.preconditioner().workspace(device, Kind::F64).unwrap();
    far.preconditioner().apply(device, &uploaded, &mut z, &mut work);
    let there = device.to_host::<f64>(z).unwrap();
    let size = x.iter().fold(0.0, |size: f64, x| size.max(x.abs()));
    assert!(there.iter().zip(&x).all(|(z, x)| (z - x).abs() <= 1e-10 * size));
    assert!(residual(&a, &far.solve(&b).unwrap().x, &b) <= 1.01e-8);
    // Loaded from a file.
    let mut file = Vec::new();
    solver.hierarchy().save(&mut file).unwrap();
    let loaded =
        Solver::from_hierarchy(Hierarchy::load(&file[..]).unwrap(), solver.config().clone()).unwrap();
    assert_eq!(applied(loaded.preconditioner(), &b), x);
    assert!(residual(&a, &loaded.solve(&b).unwrap().x, &b) <= 1.01e-8);
}

#[test]
fn stronger_preconditioners_are_in_the_given_order() {
    // The Laplacian minus half the identity, which is indefinite.
    let mut a = scattered("poisson2d:40");
    for row in 0..a.rows() {
        let place = a.row_ptr()[row] + a.row(row).0.binary_search(&(row as u32)).unwrap();
        a.values_mut()[place] -= 0.5;
    }
    let (a, b) = (Arc::new(a), uneven(1600));
    let mut solver = reordering().build(a.clone()).unwrap();
    let solution = solver.solve(&b).unwrap();
    let last = solution.promotion.as_ref().map(|promotion| promotion.to);
    assert_eq!(last, Some(Stronger::Factors));
    assert!(residual(&a, &solution.x, &b) <= 1.01e-8);
    // As an operator, too, and after new values.
    let (cpu, mut x) = (Cpu::new(), Vector::from(vec![0.0; 1600]));
    let mut work = solver.preconditioner().workspace(&cpu, Kind::F64).unwrap();
    solver.preconditioner().apply(&cpu, &b.clone().into(), &mut x, &mut work);
    assert!(residual(&a, x.elements().unwrap(), &b) <= 1e-8);
    assert_eq!(solver.update_values(a.clone()).unwrap(), Updated::Rebuilt);
    assert!(residual(&a, &solver.solve(&b).unwrap().x, &b) <= 1.01e-8);
    // Levels of another smoother.
    let strong = reordering().smoother(SmootherKind::Ilu0).build(a).unwrap();
    assert!(strong.hierarchy_in_use().order().is_some());
}

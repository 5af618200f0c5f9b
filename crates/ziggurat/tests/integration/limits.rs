//! Limits of time and requests to stop, in setup and where a solve changes its preconditioner.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};
use ziggurat::config::{Method, Rebuild};
use ziggurat::krylov::{StopReason, Stopping};
use ziggurat::sparse::Csr;
use ziggurat::sparse::device::Reference;
use ziggurat::sparse::gallery::Problem;
use ziggurat::{Cancel, SolveOptions, Solver, SolverConfig};

fn matrix(name: &str) -> Csr<f64> {
    name.parse::<Problem>().unwrap().matrix().unwrap()
}

/// Sets a flag when the stage with this number begins.
struct AtStage {
    flag: Arc<AtomicBool>,
    left: AtomicUsize,
}

impl Subscriber for AtStage {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_span() && metadata.name() == "stage"
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        if self.left.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.flag.store(true, Ordering::Relaxed);
        }
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, _: &Event<'_>) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

/// The error of a setup that is asked to stop when this stage begins; `None` if it has fewer.
fn cancelled_at(a: &Csr<f64>, method: Method, stage: usize) -> Option<String> {
    let flag = Arc::new(AtomicBool::new(false));
    let subscriber = AtStage { flag: flag.clone(), left: AtomicUsize::new(stage) };
    let builder = Solver::builder().method(method).cancel(Cancel::on(flag.clone()));
    let built = tracing::subscriber::with_default(subscriber, || builder.build(a));
    match built {
        Ok(_) => None,
        Err(error) => {
            assert_eq!(error.stop_reason(), Some(StopReason::Interrupted), "{error}");
            Some(error.to_string())
        }
    }
}

#[test]
fn setup_stops_at_the_next_stage_of_any_method() {
    for (name, method) in [
        ("poisson3d:12", Method::Sa),
        ("poisson3d:12", Method::Classical),
        ("poisson3d:12", Method::Pairwise),
        ("poisson3d:20", Method::Structured),
        ("poisson3d:12", Method::Direct),
        ("transport3d:12", Method::Air),
        ("convection3d:12", Method::Auto),
    ] {
        let a = matrix(name);
        let errors: Vec<String> = (1..200).map_while(|stage| cancelled_at(&a, method, stage)).collect();
        assert!(errors.len() >= 3, "{method}: {errors:?}");
        // One error for each stage that did not begin, on every level.
        let on = |level: usize| errors.iter().any(|error| error.starts_with(&format!("level {level}, ")));
        assert!(on(0) && (method == Method::Direct || on(1)), "{method}: {errors:?}");
        assert!(errors.iter().all(|error| error.ends_with(": interrupted on request")), "{errors:?}");
    }
}

#[test]
fn the_time_limit_holds_in_setup_on_every_device() {
    let a = matrix("poisson3d:12");
    for method in [Method::Auto, Method::Classical, Method::Direct, Method::None] {
        let builder = || Solver::builder().method(method).max_seconds(1e-9);
        let error = builder().build(&a).unwrap_err();
        assert_eq!(error.stop_reason(), Some(StopReason::TimeLimit), "{error}");
        assert!(builder().device(&Reference).build(&a).is_err());
        let enough = Solver::builder().method(method).max_seconds(1e9).build(&a).unwrap();
        assert!(enough.solve(&vec![1.0; a.rows()]).unwrap().report.reason.is_converged());
    }
}

/// The Laplacian minus half the identity, which is indefinite: multigrid fails, and factors follow.
fn indefinite() -> Csr<f64> {
    let mut a = matrix("poisson2d:40");
    for row in 0..a.rows() {
        let place = a.row_ptr()[row] + a.row(row).0.binary_search(&(row as u32)).unwrap();
        a.values_mut()[place] -= 0.5;
    }
    a
}

#[test]
fn a_solve_that_is_cancelled_does_not_change_its_preconditioner() {
    let a = indefinite();
    let b = vec![1.0; a.rows()];
    let flag = Arc::new(AtomicBool::new(false));
    let solver = Solver::builder().cancel(Cancel::on(flag.clone())).build(&a).unwrap();
    // At the first stage of a stronger preconditioner, whichever that is.
    let subscriber = AtStage { flag: flag.clone(), left: AtomicUsize::new(2) };
    let solution = tracing::subscriber::with_default(subscriber, || solver.solve(&b).unwrap());
    assert_eq!(solution.report.reason, StopReason::Interrupted, "{}", solution.report);
    assert!(solution.promotion.is_none_or(|promotion| !promotion.is_to_factors()));
    // The solver is as good as before once nobody asks to stop.
    flag.store(false, Ordering::Relaxed);
    let solution = solver.solve(&b).unwrap();
    assert!(solution.report.reason.is_converged() && solution.promotion.unwrap().is_to_factors());
}

#[test]
fn a_limit_of_a_solve_is_no_limit_of_setup_or_of_later_solves() {
    let a = matrix("convection3d:10");
    let b = vec![1.0; a.rows()];
    let mut solver = Solver::new(&a, SolverConfig::default()).unwrap();
    let no_time = SolveOptions {
        stopping: Stopping::default().max_seconds(0.0),
        ..SolveOptions::from(solver.config())
    };
    for solution in [solver.solve_with(&b, None, &no_time, None), solver.solve_with(&b, None, &no_time, None)]
    {
        assert_eq!(solution.unwrap().report.reason, StopReason::TimeLimit);
    }
    assert!(solver.solve(&b).unwrap().report.reason.is_converged());
    // Transposing takes time, too.
    let error = solver.solve_transposed_with(&b, None, &no_time, None).unwrap_err();
    assert_eq!(error.stop_reason(), Some(StopReason::TimeLimit), "{error}");
    assert!(solver.solve_transposed(&b).unwrap().report.reason.is_converged());
    assert!(solver.update_values(&a).is_ok());
}

#[test]
fn a_cancelled_update_keeps_the_old_values() {
    let a = matrix("poisson3d:12");
    let b = vec![1.0; a.rows()];
    let mut twice = a.clone();
    twice.values_mut().iter_mut().for_each(|value| *value *= 2.0);
    for rebuild in [Rebuild::Never, Rebuild::Always] {
        let flag = Arc::new(AtomicBool::new(false));
        let builder = Solver::builder().rebuild(rebuild).cancel(Cancel::on(flag.clone()));
        let mut solver = builder.build(&a).unwrap();
        let x = solver.solve(&b).unwrap().x;
        flag.store(true, Ordering::Relaxed);
        let error = solver.update_values(&twice).unwrap_err();
        assert_eq!(error.stop_reason(), Some(StopReason::Interrupted), "{error}");
        flag.store(false, Ordering::Relaxed);
        assert_eq!(solver.solve(&b).unwrap().x, x);
        // In the middle of it.
        let subscriber = AtStage { flag: flag.clone(), left: AtomicUsize::new(2) };
        let updated = tracing::subscriber::with_default(subscriber, || solver.update_values(&twice));
        flag.store(false, Ordering::Relaxed);
        if updated.is_err() {
            assert_eq!(solver.solve(&b).unwrap().x, x);
        }
        solver.update_values(&twice).unwrap();
        assert!(
            solver.solve(&b).unwrap().x.iter().zip(&x).all(|(y, x)| (2.0 * y - x).abs() <= 1e-6 * x.abs())
        );
    }
}

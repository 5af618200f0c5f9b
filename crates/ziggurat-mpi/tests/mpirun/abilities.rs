//! The abilities of `Solver`, and whether `DistributedSolver` has them: one table, whose rows run
//! on one process and on ranks. Missing abilities of ranks are listed with the sentence that
//! refuses them.

use std::ops::ControlFlow;
use std::sync::Arc;

use ziggurat::amg::{self, interpolate::NearKernel};
use ziggurat::config::Krylov;
use ziggurat::krylov::{Progress, StopReason, Stopping};
use ziggurat::sparse::Kind;
use ziggurat::sparse::device::{Reference, Vector};
use ziggurat::sparse::operator::LinearOperator;
use ziggurat::{Coordinates, Solution, SolveOptions, Solver, SolverConfig, Updated};
use ziggurat_mpi::{Comm, DistributedCsr, DistributedSolver, rigid_body_modes};
use ziggurat_sparse::gallery::{self, Problem};

use crate::launch::{is_rank, mpirun, rank};

/// A row: its name, whether one process can, and whether ranks can, or why not.
type Ability = (&'static str, fn() -> bool, fn(&Arc<dyn Comm>) -> Result<bool, String>);

const TABLE: [Ability; 18] = [
    ("solve", || one("{}").is_some(), |comm| ranks(comm, "{}").map(|_| true)),
    ("guess and options", || guess(&one("{}").unwrap()), |comm| ranks(comm, "{}").map(|s| their_guess(&s))),
    ("observer", || observed(&one("{}").unwrap()), |comm| ranks(comm, "{}").map(|s| their_observed(&s))),
    ("update_values", updated, they_updated),
    ("one cycle", || cycle(&one("{}").unwrap()), |comm| ranks(comm, "{}").map(|s| their_cycle(&s))),
    ("negative definite", negative_definite, they_are_negative),
    ("near-null space", || elastic(false), |comm| their_elastic(comm, false)),
    ("coordinates", || elastic(true), |comm| their_elastic(comm, true)),
    (
        "null space",
        || null_space(&gallery_solver("neumann3d:8")),
        |comm| {
            let solver = distributed(comm, "neumann3d:8", "{}")?;
            let reason = solver.solve(&vec![1.0; their_rows(comm, "neumann3d:8")]).unwrap().report.reason;
            Ok(solver.annihilates_constants() && reason == StopReason::Inconsistent)
        },
    ),
    (
        "decisions",
        || !one("{}").unwrap().decisions().is_empty(),
        |comm| ranks(comm, "{}").map(|solver| !solver.decisions().is_empty()),
    ),
    (
        "method direct",
        || one(r#"{"method": "direct"}"#).is_some(),
        |comm| ranks(comm, r#"{"method": "direct"}"#).map(|_| true),
    ),
    (
        "method structured",
        || one(r#"{"method": "structured"}"#).is_some(),
        |comm| ranks(comm, r#"{"method": "structured"}"#).map(|_| true),
    ),
    (
        "compressed basis",
        || one(COMPRESSED).is_some_and(|solver| solver.solve(&[1.0; 1000]).is_ok_and(|s| within(&s))),
        |comm| {
            let solver = ranks(comm, COMPRESSED)?;
            Ok(within(&solver.solve(&vec![1.0; solver.own_rows().count()]).unwrap()))
        },
    ),
    (
        "a new order",
        || one(r#"{"reorder": "on"}"#).is_some_and(|solver| solver.hierarchy().order().is_some()),
        |comm| ranks(comm, r#"{"reorder": "on"}"#).map(|_| true),
    ),
    (
        "setup on a device",
        || on_reference().solve(&[1.0; 1000]).is_ok_and(|solution| solution.report.reason.is_converged()),
        |comm| ranks(comm, r#"{"setup": "device"}"#).map(|_| true),
    ),
    ("method cpr", cpr_is_known, |comm| ranks(comm, r#"{"method": "cpr"}"#).map(|_| true)),
    ("save and load", || saved(&one("{}").unwrap()), |comm| ranks(comm, "{}").map(|s| they_saved(comm, &s))),
    // This has no function on ranks, so its row states it.
    (
        "transposed cycle",
        || one("{}").unwrap().transposed_preconditioner().is_ok(),
        |_| Err("no function on ranks".into()),
    ),
];

/// The second column of the table on two ranks.
const ON_RANKS: [&str; 18] = [
    "yes",
    "yes",
    "yes",
    "yes",
    "yes",
    "yes",
    "yes",
    "yes",
    "yes",
    "yes",
    "`method`: `direct` needs one process; choose a multigrid method, or run without mpirun",
    "yes",
    "yes",
    "`reorder`: ranks keep the given order; leave it at auto, or run without mpirun",
    "`setup`: ranks set up on the host; leave it there, or run without mpirun",
    "`method`: `cpr` is not distributed yet; choose classical, or run without mpirun",
    "yes",
    "no function on ranks",
];

const POISSON: &str = "poisson3d:10";

fn problem(name: &str) -> Problem {
    name.parse().unwrap()
}

fn one(config: &str) -> Option<Solver> {
    Solver::new(problem(POISSON).matrix().unwrap(), SolverConfig::from_json(config).unwrap()).ok()
}

/// A solver whose levels are made on a device, here the slow one of the tests.
fn on_reference() -> Solver {
    let config = SolverConfig::from_json(r#"{"setup": "device"}"#).unwrap();
    let builder = Solver::builder().config(config).device(&Reference);
    builder.build(problem(POISSON).matrix().unwrap()).unwrap()
}

fn gallery_solver(name: &str) -> Solver {
    Solver::new(problem(name).matrix().unwrap(), SolverConfig::default()).unwrap()
}

fn distributed(comm: &Arc<dyn Comm>, name: &str, config: &str) -> Result<DistributedSolver, String> {
    let a = DistributedCsr::generate(comm, problem(name)).unwrap();
    let config = SolverConfig::from_json(config).unwrap();
    DistributedSolver::new(&a, config).map_err(|error| error.to_string())
}

fn ranks(comm: &Arc<dyn Comm>, config: &str) -> Result<DistributedSolver, String> {
    distributed(comm, POISSON, config)
}

fn their_rows(comm: &Arc<dyn Comm>, name: &str) -> usize {
    DistributedCsr::generate(comm, problem(name)).unwrap().own_rows().count()
}

const COMPRESSED: &str = r#"{"krylov": "gmres", "basis": "f16", "stopping": {"rtol": 1e-12}}"#;

/// Whether a solution is more accurate than its basis.
fn within(solution: &Solution) -> bool {
    solution.report.reason.is_converged() && solution.report.relative_residual <= 1e-12
}

/// Options with another Krylov method and a limit of iterations.
fn few() -> SolveOptions {
    SolveOptions {
        krylov: Krylov::Fgmres,
        stopping: Stopping::default().max_iterations(2),
        ..Default::default()
    }
}

fn guess(solver: &Solver) -> bool {
    let b = vec![1.0; 1000];
    let rough = solver.solve_with(&b, None, &few(), None).unwrap();
    let fine = solver.solve_with(&b, Some(&rough.x), &SolveOptions::default(), None).unwrap();
    rough.report.reason == StopReason::MaxIterations && fine.report.initial_residual == rough.report.residual
}

fn their_guess(solver: &DistributedSolver) -> bool {
    let b = vec![1.0; solver.own_rows().count()];
    let rough = solver.solve_with(&b, None, &few(), None).unwrap();
    let fine = solver.solve_with(&b, Some(&rough.x), &SolveOptions::default(), None).unwrap();
    let same = (fine.report.initial_residual / rough.report.residual - 1.0).abs() < 1e-12;
    rough.report.reason == StopReason::MaxIterations && same
}

fn stop(progress: &Progress) -> ControlFlow<()> {
    if progress.iteration < 2 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
}

fn observed(solver: &Solver) -> bool {
    solver.solve_observed(&vec![1.0; 1000], &mut stop).unwrap().report.reason == StopReason::Interrupted
}

fn their_observed(solver: &DistributedSolver) -> bool {
    let b = vec![1.0; solver.own_rows().count()];
    solver.solve_observed(&b, Some(&mut stop)).unwrap().report.reason == StopReason::Interrupted
}

fn updated() -> bool {
    let mut a = problem(POISSON).matrix().unwrap();
    let mut solver = one(r#"{"method": "sa"}"#).unwrap();
    a.values_mut().iter_mut().for_each(|value| *value *= 2.0);
    solver.update_values(a).unwrap() == Updated::Values
}

fn they_updated(comm: &Arc<dyn Comm>) -> Result<bool, String> {
    let a = DistributedCsr::generate(comm, problem(POISSON)).unwrap();
    let mut solver = ranks(comm, r#"{"method": "sa"}"#)?;
    Ok(solver.update_values(&a).unwrap() == Updated::Values)
}

fn cycle(solver: &Solver) -> bool {
    let (cycle, mut z) = (solver.preconditioner(), Vector::from(vec![0.0; 1000]));
    let mut work = cycle.workspace(solver.device(), Kind::F64).unwrap();
    cycle.apply(solver.device(), &vec![1.0; 1000].into(), &mut z, &mut work);
    z.elements().unwrap().iter().all(|&z: &f64| z > 0.0)
}

fn their_cycle(solver: &DistributedSolver) -> bool {
    let rows = solver.own_rows().count();
    let mut z = vec![0.0; rows];
    solver.apply(&vec![1.0; rows], &mut z).unwrap();
    z.iter().all(|&z| z > 0.0)
}

/// −A has the solution −x, by conjugate gradients, and its cycle is −M, also after an update.
fn negative_definite() -> bool {
    let a = amg::negative(&problem(POISSON).matrix().unwrap().into());
    let mut solver = Solver::new(a.clone(), SolverConfig::default()).unwrap();
    let is_negative = |solver: &Solver| {
        let x = solver.solve(&vec![1.0; 1000]).unwrap().x;
        x.iter().all(|&x| x < 0.0) && !cycle(solver) && solver.config().krylov == Krylov::Cg
    };
    is_negative(&solver) && solver.update_values(a).unwrap() == Updated::Values && is_negative(&solver)
}

fn they_are_negative(comm: &Arc<dyn Comm>) -> Result<bool, String> {
    let generator = problem(POISSON).generator();
    let own = DistributedCsr::generate(comm, problem(POISSON)).unwrap().own_rows();
    let mut entries = Vec::new();
    own.clone().for_each(|row| generator.row(row, |column, value| entries.push((row, column, -value))));
    let a = DistributedCsr::from_entries(comm, own.clone().count(), 1, entries).unwrap();
    let mut solver = DistributedSolver::new(&a, SolverConfig::default()).unwrap();
    let is_negative = |solver: &DistributedSolver| {
        let x = solver.solve(&vec![1.0; own.clone().count()]).unwrap().x;
        x.iter().all(|&x| x < 0.0) && !their_cycle(solver) && solver.config().krylov == Krylov::Cg
    };
    Ok(is_negative(&solver) && solver.update_values(&a).unwrap() == Updated::Values && is_negative(&solver))
}

/// Elasticity by coordinates or by its rigid-body modes takes few iterations.
fn elastic(by_coordinates: bool) -> bool {
    let problem = problem("elasticity3d:6");
    let points = problem.coordinates().unwrap();
    let builder = match by_coordinates {
        true => Solver::builder().coordinates(Coordinates::try_new(points, 3).unwrap()),
        false => {
            let modes = gallery::rigid_body_modes(&points);
            Solver::builder().near_kernel(NearKernel::from_vectors(&modes, 3).unwrap())
        }
    };
    let solver = builder.build(problem.matrix().unwrap()).unwrap();
    solver.solve(&problem.rhs().unwrap()).unwrap().report.iterations < 25
}

fn their_elastic(comm: &Arc<dyn Comm>, by_coordinates: bool) -> Result<bool, String> {
    let problem = problem("elasticity3d:6");
    let a = DistributedCsr::generate(comm, problem).unwrap();
    let (own, generator) = (a.own_rows(), problem.generator());
    let points: Vec<_> = (own.start / 3..own.end / 3).map(|node| generator.coordinates(node)).collect();
    let config = SolverConfig::default();
    let solver = match by_coordinates {
        true => {
            let points = Coordinates::try_new(points, 3).unwrap();
            DistributedSolver::with_coordinates(&a, &points, config)
        }
        false => {
            let modes = rigid_body_modes(&**comm, &points, 3).unwrap();
            DistributedSolver::with_near_kernel(&a, &modes, config)
        }
    };
    let b: Vec<f64> = own.map(|row| generator.rhs(row)).collect();
    Ok(solver.map_err(|error| error.to_string())?.solve(&b).unwrap().report.iterations < 25)
}

fn null_space(solver: &Solver) -> bool {
    let reason = solver.solve(&vec![1.0; 512]).unwrap().report.reason;
    solver.annihilates_constants() && reason == StopReason::Inconsistent
}

/// CPR needs a reservoir's matrix; for others it is refused by name, not as unknown.
fn cpr_is_known() -> bool {
    SolverConfig::from_json(r#"{"method": "cpr"}"#).is_ok()
}

fn saved(solver: &Solver) -> bool {
    let mut file = Vec::new();
    solver.hierarchy().save(&mut file).is_ok() && amg::Hierarchy::load(&file[..]).is_ok()
}

fn they_saved(comm: &Arc<dyn Comm>, solver: &DistributedSolver) -> bool {
    let (hierarchy, rows) = (solver.hierarchy().unwrap(), solver.own_rows().count());
    DistributedSolver::from_hierarchy(comm, rows, hierarchy.as_ref(), SolverConfig::default()).is_ok()
}

#[test]
fn what_a_solver_can_ranks_can() {
    if is_rank() {
        rank(|comm| {
            let told = |result: Result<bool, String>| match result {
                Ok(true) => "yes".to_owned(),
                Ok(false) => "wrong".to_owned(),
                Err(why) => why,
            };
            TABLE.iter().map(|(_, _, theirs)| told(theirs(comm))).collect()
        });
    } else {
        for (name, one, _) in TABLE {
            assert!(one(), "{name} on one process");
        }
        let ran = mpirun("abilities::what_a_solver_can_ranks_can", 2);
        assert!(ran.success, "{}", ran.everything);
        assert_eq!(ran.lines, ON_RANKS, "{:?}", TABLE.map(|row| row.0));
    }
}

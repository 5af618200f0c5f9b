//! Transport and convection by approximate ideal restriction.

use crate::systems::{residual, scattered, solved_everywhere};
use ziggurat::config::{Krylov, Method, Precision, SmootherKind};
use ziggurat::sparse::Csr;
use ziggurat::{Solver, SolverConfig};

#[test]
fn few_iterations_at_any_size_with_and_without_diffusion() {
    for (name, most) in [("transport3d:12", 12), ("transport3d:24", 14), ("convection3d:24", 14)] {
        let a = scattered(name);
        let solver = Solver::builder().method(Method::Air).build(&a).unwrap();
        let config = solver.config();
        assert_eq!((config.smoother.kind, config.krylov), (SmootherKind::FcJacobi, Krylov::Fgmres));
        assert_eq!((config.cycle.pre_sweeps, config.cycle.post_sweeps), (0, 1));
        let solution = solver.solve(&vec![1.0; a.rows()]).unwrap();
        assert!(solution.promotion.is_none(), "{name}: {:?}", solution.promotion);
        assert!(solution.report.iterations <= most, "{name}: {}", solution.report.iterations);
        assert!(residual(&a, &solution.x, &vec![1.0; a.rows()]) <= 1e-8, "{name}");
    }
}

#[test]
fn every_device_precision_and_new_values_are_solved() {
    let mut a = scattered("transport3d:12");
    let changed = |(index, value): (usize, &mut f64)| *value *= 1.0 + 1e-3 * (index % 7) as f64;
    let change = |a: &mut Csr<f64>| a.values_mut().iter_mut().enumerate().for_each(changed);
    solved_everywhere(Method::Air, &mut a, change, 2);
}

#[test]
fn auto_takes_it_where_information_flows_in_one_direction() {
    let chosen = |name: &str| Solver::new(scattered(name), SolverConfig::default()).unwrap();
    let transport = chosen("transport3d:32");
    assert_eq!((transport.config().method, &transport.config().precision), (Method::Air, &Precision::F16));
    assert_eq!(chosen("convection3d:4").config().method, Method::Air);
    assert_eq!(chosen("convection3d:60").config().method, Method::Classical);
    assert_eq!(chosen("poisson3d:8").config().method, Method::Sa);
}

#[test]
fn its_smoother_is_refused_where_no_rows_are_kept() {
    let a = scattered("convection3d:8");
    let with = |config: &mut SolverConfig| config.smoother.kind = SmootherKind::FcJacobi;
    let error = Solver::builder().method(Method::Sa).with(with).build(&a).unwrap_err().to_string();
    assert!(error.ends_with("choose method air or classical"), "{error}");
    let classical = Solver::builder().method(Method::Classical).with(with).build(&a).unwrap();
    assert!(classical.solve(&vec![1.0; a.rows()]).unwrap().report.reason.is_converged());
}

//! Approximate inverses as smoothers and as preconditioners alone: they reduce iterations, in every
//! precision, and are refused where they do not apply.

use ziggurat::config::{Krylov, Method, Precision, SmootherKind};
use ziggurat::{Solution, Solver};
use ziggurat_sparse::Csr;
use ziggurat_sparse::gallery::Problem;

fn matrix(name: &str) -> Csr<f64> {
    name.parse::<Problem>().unwrap().matrix().unwrap()
}

fn solve(name: &str, method: Method, smoother: SmootherKind, precision: Precision) -> Solution {
    let builder = Solver::builder().method(method).smoother(smoother).precision(precision);
    let solver = builder.with(|config| config.fallback = false).build(matrix(name)).unwrap();
    let solution = solver.solve(&name.parse::<Problem>().unwrap().rhs().unwrap()).unwrap();
    assert!(solution.report.reason.is_converged(), "{name} {method} {smoother}: {}", solution.report);
    solution
}

#[test]
fn alone_they_need_fewer_iterations_than_jacobi() {
    for name in ["poisson3d:24", "jump3d:24", "elasticity3d:10"] {
        let iterations =
            |smoother| solve(name, Method::None, smoother, Precision::F64).report.iterations as f64;
        let jacobi = iterations(SmootherKind::Jacobi);
        // The rows of elasticity have 81 entries, of which FSAI takes eight.
        let fsai = if name == "elasticity3d:10" { 0.9 } else { 0.6 };
        for (smoother, most) in [(SmootherKind::Fsai, fsai), (SmootherKind::Ilu0, 0.7)] {
            let found = iterations(smoother);
            assert!(found <= most * jacobi, "{name} {smoother}: {found} iterations, Jacobi {jacobi}");
        }
    }
}

#[test]
fn sixteen_bits_take_the_iterations_of_sixty_four() {
    for (name, method) in
        [("jump3d:24", Method::None), ("elasticity3d:10", Method::None), ("poisson3d:24", Method::Sa)]
    {
        // Alone, ILU(0) of jump3d loses iterations: substitutions accumulate the rounding errors of
        // the factors.
        let ilu0 = (method == Method::Sa).then_some(SmootherKind::Ilu0);
        for smoother in [SmootherKind::Fsai, SmootherKind::BlockJacobi].into_iter().chain(ilu0) {
            let [wide, narrow] = [Precision::F64, Precision::F16]
                .map(|precision| solve(name, method, smoother, precision).report.iterations);
            assert!(10 * narrow <= 11 * wide + 10, "{name} {method} {smoother}: {narrow} for {wide}");
        }
    }
}

#[test]
fn without_coarse_levels_the_smoother_suits_the_matrix() {
    let config =
        |name: &str| Solver::builder().method(Method::None).build(matrix(name)).unwrap().config().clone();
    let symmetric = config("poisson3d:10");
    assert_eq!((symmetric.smoother.kind, symmetric.krylov), (SmootherKind::Fsai, Krylov::Cg));
    let general = config("convection3d:10");
    assert_eq!((general.smoother.kind, general.krylov), (SmootherKind::Ilu0, Krylov::Fgmres));
    solve("convection3d:20", Method::None, SmootherKind::Auto, Precision::Auto);
    solve("convection3d:20", Method::Classical, SmootherKind::Ilu0, Precision::Auto);
}

/// More fill takes fewer iterations, and a symmetric matrix keeps conjugate gradients.
#[test]
fn fill_pays_in_iterations() {
    for (name, krylov) in [("jump3d:20", Krylov::Cg), ("convection3d:20", Krylov::Fgmres)] {
        let a = matrix(name);
        let iterations = |smoother, entries| {
            let builder = Solver::builder().method(Method::None).smoother(smoother).precision(Precision::F64);
            let builder = builder.with(|config| config.smoother.ilut.entries = entries);
            let solver = builder.with(|config| config.smoother.ilut.tolerance = 1e-4).build(&a).unwrap();
            assert_eq!(solver.config().krylov, krylov, "{name}");
            let report = solver.solve(&vec![1.0; a.rows()]).unwrap().report;
            assert!(report.reason.is_converged(), "{name}: {}", report.reason);
            report.iterations
        };
        let (without, few, many) = (
            iterations(SmootherKind::Ilu0, 0),
            iterations(SmootherKind::Ilut, 8),
            iterations(SmootherKind::Ilut, 30),
        );
        assert!(many < few && few < without, "{name}: {without}, {few}, {many}");
    }
}

#[test]
fn sparse_approximate_inverses_need_no_symmetry() {
    for (name, method, most) in [
        ("convection3d:20", Method::None, 0.7),
        ("convection3d:20", Method::Auto, 0.8),
        ("jump3d:20", Method::Sa, 1.0),
    ] {
        let iterations =
            |smoother, precision| solve(name, method, smoother, precision).report.iterations as f64;
        let jacobi = iterations(SmootherKind::L1Jacobi, Precision::F64);
        let [wide, narrow] =
            [Precision::F64, Precision::F16].map(|precision| iterations(SmootherKind::Spai, precision));
        assert!(wide <= most * jacobi, "{name} {method}: {wide} iterations, l1-Jacobi {jacobi}");
        assert!(narrow <= 1.1 * wide + 1.0, "{name} {method}: {narrow} iterations in 16 bits, {wide} in 64");
    }
    let symmetric = Solver::builder().smoother(SmootherKind::Spai).build(matrix("poisson3d:6")).unwrap();
    assert_eq!(symmetric.config().krylov, Krylov::Fgmres);
}

#[test]
fn fsai_is_refused_where_it_does_not_apply() {
    let fsai = || Solver::builder().smoother(SmootherKind::Fsai);
    let error = fsai().build(matrix("convection3d:10")).unwrap_err();
    assert!(error.to_string().contains("`fsai` needs a symmetric matrix with"), "{error}");
    let mut indefinite = matrix("poisson2d:40");
    indefinite.values_mut()[0] = -4.0; // the first diagonal entry
    let error = fsai().build(indefinite).unwrap_err();
    assert!(error.to_string().contains("with a positive diagonal; choose ilu0"), "{error}");
}

#[test]
fn results_do_not_depend_on_threads() {
    for smoother in [
        SmootherKind::Fsai,
        SmootherKind::Spai,
        SmootherKind::Ilu0,
        SmootherKind::Ilut,
        SmootherKind::BlockJacobi,
    ] {
        let of = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| solve("jump3d:20", Method::Sa, smoother, Precision::F16).x)
        };
        assert_eq!(of(1), of(3), "{smoother}");
    }
}

#[test]
fn new_values_update_the_smoother() {
    let a = matrix("jump3d:16");
    let mut solver = Solver::builder().smoother(SmootherKind::Fsai).build(&a).unwrap();
    let mut scaled = a.clone();
    scaled.values_mut().iter_mut().for_each(|value| *value *= 8.0);
    let b = vec![1.0; a.rows()];
    let before = solver.solve(&b).unwrap();
    solver.update_values(scaled).unwrap();
    let after = solver.solve(&b).unwrap();
    assert!(after.report.reason.is_converged());
    assert_eq!(before.report.iterations, after.report.iterations);
}

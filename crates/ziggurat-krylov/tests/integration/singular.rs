//! Singular systems whose kernel is projected out.

use ziggurat_krylov::{Method, StopReason, Stopping};
use ziggurat_sparse::Csr;
use ziggurat_sparse::device::{Cpu, Device, Reference};

use crate::matrices::*;

/// A free chain of springs, stiffer towards the end.
fn free_chain(n: usize) -> Csr<f64> {
    let spring = |i: usize| 1.0 + i as f64 / n as f64; // between i and i + 1
    from_formula(n, |i, j| {
        if i == j {
            (if i > 0 { spring(i - 1) } else { 0.0 }) + (if i + 1 < n { spring(i) } else { 0.0 })
        } else if i.abs_diff(j) == 1 {
            -spring(i.min(j))
        } else {
            0.0
        }
    })
}

fn consistent_system_converges(device: &dyn Device) {
    let n = 60;
    let a = free_chain(n);
    // Not a multiple of the identity, so its results have a kernel component.
    let m = diagonal(&(0..n).map(|i| 0.2 + 0.3 * random(5, i).abs()).collect::<Vec<_>>());
    let kernel = [vec![1.0 / (n as f64).sqrt(); n]];
    let b = product(&a, &random_vector(n, 1));
    let guess = vec![3.0; n];
    for method in krylov_methods().chain([Method::Gmres { restart: 60 }]) {
        let case = Case { kernel: &kernel, guess: &guess, ..Case::new(&a, &b).preconditioned(&m) };
        let stopping = Stopping::default().max_iterations(5000);
        let (x, report) = solve_case(device, method, case, &stopping, None);
        assert_eq!(report.reason, StopReason::Converged, "{method}: {report}");
        let mean = x.iter().sum::<f64>() / n as f64;
        assert!((mean - 3.0).abs() < 1e-10, "{method}: x keeps the kernel component of the guess, {mean}");
    }
}

#[test]
fn consistent_systems_converge() {
    consistent_system_converges(&Cpu::new());
    consistent_system_converges(&Reference);
}

#[test]
fn inconsistent_systems_are_reported_unless_the_projection_is_accepted() {
    let n = 30;
    let a = free_chain(n);
    let kernel = [vec![1.0 / (n as f64).sqrt(); n]];
    let mut b = product(&a, &random_vector(n, 1));
    b.iter_mut().for_each(|b| *b += 0.1);
    let unreachable = 0.1 * (n as f64).sqrt();
    for method in krylov_methods() {
        let case = Case { kernel: &kernel, ..Case::new(&a, &b) };
        let solve = |stopping| solve_case(&Cpu::new(), method, case, &stopping, None);
        let (x, report) = solve(Stopping::default());
        assert_eq!(report.reason, StopReason::Inconsistent, "{method}: {report}");
        // It stopped at the least-squares solution; the residual is the kernel component of b.
        assert!((report.residual - unreachable).abs() < 1e-6, "{method}: {}", report.residual);
        assert!((report.left_out - unreachable / norm(&b)).abs() < 1e-14, "{method}");
        let (accepted, report) = solve(Stopping::default().project_rhs(true));
        assert_eq!((report.reason, &accepted), (StopReason::Converged, &x), "{method}");
        assert!((report.residual - residual_norm(&a, &x, &b)).abs() < 1e-12, "of the given b");
        // A tolerance above the kernel component is reachable, if there is room for the rest.
        let left_out = report.left_out;
        for (factor, reason) in [(1.01, StopReason::Converged), (1.001, StopReason::Inconsistent)] {
            let stopping = Stopping::default().rtol(factor * left_out);
            let (x, report) = solve(stopping);
            assert_eq!(report.reason, reason, "{method}: {report}");
            assert_eq!(report.residual <= report.target, report.reason.is_converged(), "{method}");
            assert!(residual_norm(&a, &x, &b) <= 1.01 * factor * unreachable, "{method}");
            let (accepted, report) = solve(stopping.project_rhs(true));
            assert_eq!((report.reason, accepted), (StopReason::Converged, x), "{method}: {report}");
        }
    }
    // b is in the kernel, so no iteration can reduce the residual.
    let b = vec![1.0; n];
    for (method, accept) in Method::ALL.into_iter().flat_map(|method| [(method, false), (method, true)]) {
        let case = Case { kernel: &kernel, guess: &[1.0; 30], ..Case::new(&a, &b) };
        let stopping = Stopping::default().project_rhs(accept);
        let (x, report) = solve_case(&Cpu::new(), method, case, &stopping, None);
        let expected = if accept { StopReason::Converged } else { StopReason::Inconsistent };
        assert_eq!((report.reason, report.iterations), (expected, 0), "{method}");
        assert!((report.relative_residual - 1.0).abs() < 1e-14 && (report.left_out - 1.0).abs() < 1e-14);
        assert_eq!(x, vec![0.0; n]);
    }
}

#[test]
fn more_kernel_vectors_than_one_pass_takes() {
    // Twelve separate chains.
    let (chains, length) = (12, 5);
    let n = chains * length;
    let chain = free_chain(length);
    let a = from_formula(n, |i, j| {
        if i / length == j / length { chain.get(i % length, j % length).unwrap_or(0.0) } else { 0.0 }
    });
    let kernel: Vec<Vec<f64>> = (0..chains)
        .map(|c| (0..n).map(|i| if i / length == c { (length as f64).sqrt().recip() } else { 0.0 }).collect())
        .collect();
    let b = product(&a, &random_vector(n, 2));
    let m = diagonal(&(0..n).map(|i| 0.2 + 0.3 * random(5, i).abs()).collect::<Vec<_>>());
    for method in krylov_methods() {
        let case = Case { kernel: &kernel, ..Case::new(&a, &b).preconditioned(&m) };
        let (x, report) = solve_case(&Cpu::new(), method, case, &Stopping::default(), None);
        assert_eq!(report.reason, StopReason::Converged, "{method}: {report}");
        for chain in x.chunks(length) {
            assert!(chain.iter().sum::<f64>().abs() < 1e-12);
        }
    }
}

#[test]
fn richardson_keeps_the_kernel_component_of_the_guess() {
    let n = 8;
    let (a, kernel) = (free_chain(n), [vec![1.0 / (n as f64).sqrt(); n]]);
    let m = diagonal(&(0..n).map(|i| 0.1 + 0.1 * random(5, i).abs()).collect::<Vec<_>>());
    let (mut b, guess) = (product(&a, &random_vector(n, 1)), vec![3.0; n]);
    let solve = |b: &[f64]| {
        let case = Case { kernel: &kernel, guess: &guess, ..Case::new(&a, b).preconditioned(&m) };
        solve_case(&Cpu::new(), Method::Richardson, case, &Stopping::default(), None)
    };
    let (x, report) = solve(&b);
    assert_eq!(report.reason, StopReason::Converged, "{report}");
    assert!((x.iter().sum::<f64>() / n as f64 - 3.0).abs() < 1e-10);
    b.iter_mut().for_each(|b| *b += 0.1);
    assert_eq!(solve(&b).1.reason, StopReason::Inconsistent);
}

//! Property: a solve that reports convergence has converged.
//!
//! Random systems of many kinds (scales of 10^±200, singular, nearly singular, several components,
//! nonsymmetric, blocks, penalty rows, mixed units), random right-hand sides, and every method,
//! smoother, cycle, precision and Krylov method. If the report says `converged`, ‖b − A x‖ ≤
//! 1.01 rtol ‖b‖ must hold for the residual computed here, in twice the precision, or the report
//! must state what it left out. Other results are allowed, panics are not.
//!
//! CI runs a few hundred systems. `ZIGGURAT_SYSTEMS=20000 cargo nextest run --release -p ziggurat
//! never_wrong` runs more; a failure prints the number of its system, and `ZIGGURAT_SYSTEM=number`
//! repeats that one.

use std::fmt::Write as _;

use ziggurat::config::{Basis, CycleKind, Krylov, Method, SmootherKind};
use ziggurat::krylov::KrylovReport;
use ziggurat::{SolveOptions, Solver, SolverConfig};
use ziggurat_sparse::hash::hash_id;
use ziggurat_sparse::{Coo, Csr};

/// Random decisions; each call makes a new one.
struct Dice {
    state: u64,
}

impl Dice {
    fn new(seed: u64) -> Self {
        Dice { state: hash_id(seed) }
    }

    fn below(&mut self, count: usize) -> usize {
        self.state = hash_id(self.state.wrapping_add(1));
        (self.state >> 11) as usize % count
    }

    /// Between 0 and 1.
    fn unit(&mut self) -> f64 {
        self.below(1 << 30) as f64 / (1u64 << 30) as f64
    }

    fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }

    /// A power of ten with an exponent between −most and most.
    fn power(&mut self, most: i32) -> f64 {
        10f64.powi(self.below(2 * most as usize + 1) as i32 - most)
    }
}

/// A matrix as triplets.
struct Draft {
    n: usize,
    entries: Vec<(usize, usize, f64)>,
}

impl Draft {
    /// A weighted graph Laplacian, on a chain or on a grid, with a diagonal that makes it regular
    /// or not.
    fn laplacian(dice: &mut Dice, about: &mut String) -> Draft {
        let width = 1 + dice.below(20);
        let n = width * (1 + dice.below(20));
        let spread = *dice.pick(&[0, 0, 1, 4, 8]);
        let shift = *dice.pick(&[0.0, 0.0, 1e-14, 1e-12, 1e-10, 1e-6, 1e-2, 1.0]);
        let convection = *dice.pick(&[0.0, 0.0, 0.0, 0.1, 1.0, 10.0]);
        let _ = write!(
            about,
            "laplacian {width} of {n}, spread {spread}, shift {shift}, convection {convection}"
        );
        let mut draft = Draft { n, entries: Vec::new() };
        let mut diagonal = vec![shift; n];
        if dice.one_in(4) {
            diagonal[0] += 1.0; // one boundary value
        }
        for i in 0..n {
            let right = ((i + 1) % width != 0 && i + 1 < n).then_some(i + 1);
            for j in right.into_iter().chain((i + width < n).then_some(i + width)) {
                let weight = if spread == 0 { 1.0 } else { dice.power(spread) };
                draft.entries.push((i, j, -weight));
                draft.entries.push((j, i, -weight - convection));
                diagonal[i] += weight;
                diagonal[j] += weight + convection;
            }
        }
        draft.entries.extend(diagonal.into_iter().enumerate().map(|(i, value)| (i, i, value)));
        draft
    }

    /// A few random entries per row; with or without a dominant diagonal.
    fn random(dice: &mut Dice, about: &mut String) -> Draft {
        let (n, per_row) = (1 + dice.below(150), 1 + dice.below(6));
        let diagonal = *dice.pick(&[0.0, 0.5, 3.0, 10.0]);
        let symmetric = dice.one_in(2);
        let _ = write!(about, "random {n}, {per_row} per row, diagonal {diagonal}, symmetric {symmetric}");
        let mut draft = Draft { n, entries: (0..n).map(|i| (i, i, diagonal)).collect() };
        for i in 0..n {
            for _ in 0..per_row {
                let (j, value) = (dice.below(n), dice.unit() - 0.5);
                draft.entries.push((i, j, value));
                if symmetric {
                    draft.entries.push((j, i, value));
                }
            }
        }
        draft
    }

    /// The Kronecker product with a small positive definite matrix: several unknowns per node.
    fn blocks(self, dice: &mut Dice) -> Draft {
        let size = 2 + dice.below(2);
        let coupling = 0.9 * dice.unit() / size as f64;
        let block = |i: usize, j: usize| if i == j { 1.0 } else { coupling };
        let entries = self.entries.iter().flat_map(|&(i, j, value)| {
            (0..size * size)
                .map(move |k| (size * i + k / size, size * j + k % size, value * block(k / size, k % size)))
        });
        Draft { n: size * self.n, entries: entries.collect() }
    }

    /// A second matrix, decoupled from the first.
    fn beside(mut self, other: Draft) -> Draft {
        let first = self.n;
        self.entries.extend(other.entries.into_iter().map(|(i, j, value)| (first + i, first + j, value)));
        Draft { n: first + other.n, entries: self.entries }
    }

    fn scale(&mut self, row: impl Fn(usize) -> f64, column: impl Fn(usize) -> f64) {
        self.entries.iter_mut().for_each(|(i, j, value)| *value *= row(*i) * column(*j));
    }

    fn matrix(&self) -> Csr<f64> {
        let mut coo = Coo::new(self.n, self.n).unwrap();
        self.entries.iter().for_each(|&(i, j, value)| coo.push(i, j, value).unwrap());
        coo.to_csr()
    }
}

/// A random matrix, and what it is.
fn matrix(dice: &mut Dice, about: &mut String) -> Csr<f64> {
    let part = |dice: &mut Dice, about: &mut String| {
        let draft = if dice.one_in(4) { Draft::random(dice, about) } else { Draft::laplacian(dice, about) };
        if dice.one_in(6) { draft.blocks(dice) } else { draft }
    };
    let mut draft = part(dice, about);
    while dice.one_in(5) {
        about.push_str(" + ");
        let mut other = part(dice, about);
        let factor = {
            let most = *dice.pick(&[0, 3, 14, 100]);
            dice.power(most)
        };
        other.scale(|_| factor, |_| 1.0);
        draft = draft.beside(other);
    }
    if dice.one_in(8) {
        let penalty = dice.power(100).max(1.0);
        let _ = write!(about, ", penalty {penalty:e}");
        draft.entries.extend((0..draft.n).step_by(7).map(|i| (i, i, penalty)));
    }
    if dice.one_in(6) {
        let (base, both) = (dice.power(12), dice.one_in(2));
        let _ = write!(about, ", units {base:e} of rows{}", if both { " and columns" } else { "" });
        let unit = |i: usize| base.powi((i % 3) as i32 - 1);
        draft.scale(unit, |j| if both { unit(j) } else { 1.0 });
    }
    if dice.one_in(3) {
        let factor = dice.power(200);
        let _ = write!(about, ", times {factor:e}");
        draft.scale(|_| factor, |_| 1.0);
    }
    draft.matrix()
}

/// A random right-hand side: in the range of A or not.
fn rhs(dice: &mut Dice, a: &Csr<f64>, about: &mut String) -> Vec<f64> {
    let n = a.rows();
    let kind = dice.below(6);
    let mut b = match kind {
        0 => vec![1.0; n],
        1 => (0..n).map(|i| if i == 0 { 1.0 } else { 0.0 }).collect(),
        2 | 3 => product(a, &(0..n).map(|_| dice.unit() - 0.5).collect::<Vec<_>>()),
        4 => (0..n).map(|i| if 2 * i < n { 1.0 } else { -1.0 }).collect(),
        _ => (0..n).map(|_| dice.unit() - 0.5).collect(),
    };
    let _ = write!(about, "; b {kind}");
    if dice.one_in(3) {
        let factor = dice.power(200);
        let _ = write!(about, " times {factor:e}");
        b.iter_mut().for_each(|b| *b *= factor);
    }
    if b.iter().any(|b| !b.is_finite()) { vec![1.0; n] } else { b }
}

fn product(a: &Csr<f64>, x: &[f64]) -> Vec<f64> {
    let row = |i| {
        let (columns, values) = a.row(i);
        columns.iter().zip(values).map(|(&j, value)| value * x[j as usize]).sum()
    };
    a.all_rows().map(row).collect()
}

/// A random configuration, and what it is.
fn config(dice: &mut Dice, about: &mut String) -> SolverConfig {
    let mut config = SolverConfig::default();
    if dice.one_in(2) {
        config.method = *dice.pick(Method::ALL);
    }
    if dice.one_in(2) {
        config.krylov = *dice.pick(Krylov::ALL);
    }
    if dice.one_in(2) {
        config.smoother.kind = *dice.pick(SmootherKind::ALL);
    }
    if dice.one_in(3) {
        config.cycle.kind = *dice.pick(CycleKind::ALL);
    }
    let precisions = ["auto", "auto", "f64", "f32", "f16", "bf16", "K64P32D16", "f64-f32,f16-f32"];
    config.precision = dice.pick(&precisions).parse().unwrap();
    config.stopping.rtol = *dice.pick(&[1e-8, 1e-8, 1e-2, 1e-5, 1e-11, 1e-14, 0.5]);
    config.stopping.max_iterations = *dice.pick(&[1, 10, 60, 200]);
    config.stopping.project_rhs = dice.one_in(6);
    // Several levels also for small matrices.
    config.hierarchy.coarse_rows = *dice.pick(&[None, Some(2), Some(10), Some(50), Some(500)]);
    config.restart = *dice.pick(&[1, 5, 30]);
    if config.krylov.stores_basis() {
        config.basis = *dice.pick(Basis::ALL);
    }
    let _ = write!(
        about,
        "; {} {} {} {} {} {}, rtol {:e}, coarse {:?}",
        config.method,
        config.krylov,
        config.basis,
        config.smoother.kind,
        config.cycle.kind,
        config.precision,
        config.stopping.rtol,
        config.hierarchy.coarse_rows
    );
    config
}

/// ‖b − A x‖ / ‖b‖ with products and sums in twice the precision (Ogita, Rump & Oishi 2005), in
/// units in which nothing overflows or underflows.
fn relative_residual(a: &Csr<f64>, x: &[f64], b: &[f64]) -> f64 {
    let power = |x: f64| x.log2().floor().clamp(-1000.0, 1000.0).exp2();
    let unit = power(b.iter().fold(0.0_f64, |most, b| most.max(b.abs())));
    let (mut residual, mut size) = (0.0, 0.0);
    for i in a.all_rows() {
        let (columns, values) = a.row(i);
        let (mut sum, mut error) = (b[i] / unit, 0.0);
        let mut add = |term: f64| {
            let next = sum + term;
            let part = next - sum;
            error += (sum - (next - part)) + (term - part);
            sum = next;
        };
        for (&j, &value) in columns.iter().zip(values) {
            let x = -(x[j as usize] / unit);
            let term = value * x;
            add(term);
            add(value.mul_add(x, -term));
        }
        residual += (sum + error).powi(2);
        size += (b[i] / unit).powi(2);
    }
    (residual / size).sqrt()
}

/// What is wrong with a report, if anything.
fn fault(a: &Csr<f64>, x: &[f64], b: &[f64], config: &SolverConfig, report: &KrylovReport) -> Option<String> {
    let rtol = config.stopping.rtol;
    if !report.reason.is_converged() {
        return None;
    }
    if b.iter().all(|&b| b == 0.0) {
        return x.iter().any(|&x| x != 0.0).then(|| "x is not zero".to_owned());
    }
    let truth = relative_residual(a, x, b);
    let accepted = config.stopping.project_rhs && report.left_out > rtol;
    if accepted {
        // What remains of the residual must be small compared with the projection of b.
        let reachable = (1.0 - report.left_out.powi(2)).max(0.0).sqrt();
        let allowed = report.left_out.hypot(1.01 * rtol * reachable) * (1.0 + 1e-12);
        return (truth > allowed).then(|| format!("{truth:e}, left out {:e}", report.left_out));
    }
    (truth.is_nan() || truth > 1.01 * rtol)
        .then(|| format!("{truth:e} where {:e} is reported", report.relative_residual))
}

/// Solves system number `seed`; returns whether it converged, or what is wrong.
fn solve(seed: u64) -> Result<bool, String> {
    let (mut dice, mut about) = (Dice::new(seed), String::new());
    let a = matrix(&mut dice, &mut about);
    if a.values().iter().any(|value| !value.is_finite()) {
        return Ok(false);
    }
    let b = rhs(&mut dice, &a, &mut about);
    let config = config(&mut dice, &mut about);
    let Ok(solver) = Solver::new(&a, config.clone()) else { return Ok(false) };
    let guess: Option<Vec<f64>> = dice.one_in(5).then(|| b.iter().map(|b| b * dice.unit()).collect());
    let options = SolveOptions::from(&config);
    let Ok(solution) = solver.solve_with(&b, guess.as_deref(), &options, None) else { return Ok(false) };
    match fault(&a, &solution.x, &b, &config, &solution.report) {
        Some(fault) => Err(format!("system {seed}: {fault}\n    {about}")),
        None => Ok(solution.report.reason.is_converged()),
    }
}

#[test]
fn converged_means_converged() {
    let from_environment = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seeds = match (from_environment("ZIGGURAT_SYSTEM"), from_environment("ZIGGURAT_SYSTEMS")) {
        (Some(one), _) => one..one + 1,
        (None, count) => 0..count.unwrap_or(400),
    };
    let count = seeds.end - seeds.start;
    let (mut converged, mut faults) = (0, Vec::new());
    for seed in seeds {
        match std::panic::catch_unwind(|| solve(seed)) {
            Ok(Ok(good)) => converged += u64::from(good),
            Ok(Err(fault)) => faults.push(fault),
            Err(_) => faults.push(format!("system {seed}: panic")),
        }
    }
    assert!(faults.is_empty(), "{} of {count} systems:\n{}", faults.len(), faults.join("\n"));
    // Otherwise the property would hold because nothing converges.
    assert!(count == 1 || 3 * converged > count, "only {converged} of {count} converged");
}

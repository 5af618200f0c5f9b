//! Property: a solve that reports convergence has converged.
//!
//! Random systems of many kinds (scales of 10^±300, singular, nearly singular, several components,
//! nonsymmetric, blocks, penalty rows, mixed units, squares of Laplacians, rank one, Markov
//! chains), random right-hand sides, guesses of any size, and every method, smoother, cycle,
//! precision and Krylov method. The residual is computed here without rounding errors
//! ([`ExactSum`]). If the report says `converged`, both this and the reported one are within the
//! tolerance, or the report states what it left out. A residual of zero is only reported if it is
//! zero. Other results are allowed, panics are not.
//!
//! CI runs a few hundred systems. `ZIGGURAT_SYSTEMS=20000 cargo nextest run --release -p ziggurat
//! never_wrong` runs more, `ZIGGURAT_SYSTEMS=20000..25000` some of them; a failure prints the
//! number of its system, and `ZIGGURAT_SYSTEM=number` repeats that one.

use std::fmt::Write as _;

use ziggurat::config::{Basis, CycleKind, Krylov, Method, SmootherKind};
use ziggurat::krylov::KrylovReport;
use ziggurat::{SolveOptions, Solver, SolverConfig};
use ziggurat_sparse::hash::hash_id;
use ziggurat_sparse::{Coo, Csr, ExactSum};

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

    /// The square of the Laplacian of a line, whose condition number grows with n⁴.
    fn biharmonic(dice: &mut Dice, about: &mut String) -> Draft {
        let n = 3 + dice.below(350);
        let _ = write!(about, "biharmonic {n}");
        let stencil = |i: usize, j: usize| match i.abs_diff(j) {
            0 if i == 0 || i + 1 == n => 5.0,
            0 => 6.0,
            1 => -4.0,
            _ => 1.0,
        };
        let row = |i: usize| (i.saturating_sub(2)..(i + 3).min(n)).map(move |j| (i, j, stencil(i, j)));
        Draft { n, entries: (0..n).flat_map(row).collect() }
    }

    /// A line without boundary values, with transport in one direction: singular but for rounding,
    /// or regular.
    fn transport(dice: &mut Dice, about: &mut String) -> Draft {
        let (n, strength) = (2 + dice.below(120), *dice.pick(&[1e-12, 0.1, 0.5, 1.0, 100.0]));
        let inflow = *dice.pick(&[0.0, 0.0, 1e-15, 1.0]);
        let _ = write!(about, "transport {n}, {strength}, inflow {inflow}");
        let mut draft = Draft { n, entries: vec![(0, 0, inflow * strength)] };
        for i in 1..n {
            let pair =
                [(i, i, 1.0 + strength), (i, i - 1, -1.0 - strength), (i - 1, i - 1, 1.0), (i - 1, i, -1.0)];
            draft.entries.extend(pair);
        }
        draft
    }

    /// u vᵀ, the smallest range there is.
    fn rank_one(dice: &mut Dice, about: &mut String) -> Draft {
        let n = 1 + dice.below(30);
        let symmetric = dice.one_in(2);
        let _ = write!(about, "rank one {n}, symmetric {symmetric}");
        let mut vector = || (0..n).map(|_| dice.unit() + 0.1).collect::<Vec<f64>>();
        let (u, v) = (vector(), vector());
        let v = if symmetric { &u } else { &v };
        let entry = |k: usize| (k / n, k % n, u[k / n] * v[k % n]);
        Draft { n, entries: (0..n * n).map(entry).collect() }
    }

    /// 1 − Pᵀ or 1 − P of a random Markov chain: singular with different kernels on both sides.
    fn markov(dice: &mut Dice, about: &mut String) -> Draft {
        let (n, transposed) = (2 + dice.below(100), !dice.one_in(3));
        let _ = write!(about, "Markov chain {n}, transposed {transposed}");
        let mut draft = Draft { n, entries: (0..n).map(|i| (i, i, 1.0)).collect() };
        for i in 0..n {
            let to: Vec<usize> = (0..1 + dice.below(4)).map(|_| dice.below(n)).chain([(i + 1) % n]).collect();
            let share = (to.len() as f64).recip();
            draft
                .entries
                .extend(to.iter().map(|&j| if transposed { (j, i, -share) } else { (i, j, -share) }));
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
        let draft = match dice.below(16) {
            0 => Draft::biharmonic(dice, about),
            1 => Draft::transport(dice, about),
            2 => Draft::rank_one(dice, about),
            3 => Draft::markov(dice, about),
            4..=6 => Draft::random(dice, about),
            _ => Draft::laplacian(dice, about),
        };
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
        let factor = dice.power(300);
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
    let preset = *dice.pick(&["default", "default", "default", "default", "robust"]);
    let mut config = SolverConfig::preset(preset).unwrap();
    config.fallback = !dice.one_in(4);
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
    config.stopping.rtol = *dice.pick(&[1e-8, 1e-8, 1e-2, 1e-5, 1e-11, 1e-13, 1e-14, 0.5]);
    config.stopping.max_iterations = *dice.pick(&[1, 10, 60, 200]);
    config.stopping.project_rhs = dice.one_in(4);
    // Several levels also for small matrices.
    config.hierarchy.coarse_rows = *dice.pick(&[None, Some(2), Some(10), Some(50), Some(500)]);
    config.restart = *dice.pick(&[1, 5, 30]);
    if config.krylov.stores_basis() {
        config.basis = *dice.pick(Basis::ALL);
    }
    let _ = write!(
        about,
        "; {preset} {}{} {} {} {} {} {}, rtol {:e}, coarse {:?}",
        if config.fallback { "" } else { "no fallback " },
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

/// ‖b − A x‖ / ‖b‖, where every row is summed without rounding errors, in units in which nothing
/// overflows and what underflows does not count.
pub(crate) fn relative_residual(a: &Csr<f64>, x: &[f64], b: &[f64]) -> f64 {
    let power = |x: f64| x.log2().floor().clamp(-1000.0, 1000.0).exp2();
    let largest = |x: &[f64]| x.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
    let unit = power(largest(b));
    let row = |i: usize| {
        let (columns, values) = a.row(i);
        let terms = columns.iter().zip(values).flat_map(|(&j, &value)| {
            let x = -(x[j as usize] / unit);
            [value * x, value.mul_add(x, -(value * x))]
        });
        terms.chain([b[i] / unit]).collect::<ExactSum>().rounded()
    };
    let r: Vec<f64> = a.all_rows().map(row).collect();
    let norm = |x: &[f64], unit: f64| unit * x.iter().map(|x| (x / unit).powi(2)).sum::<f64>().sqrt();
    let b: Vec<f64> = b.iter().map(|b| b / unit).collect();
    match largest(&r) {
        0.0 => r.iter().sum(), // 0 or NaN
        most => norm(&r, power(most)) / norm(&b, 1.0),
    }
}

/// The error in a report, if there is one.
fn fault(a: &Csr<f64>, x: &[f64], b: &[f64], config: &SolverConfig, report: &KrylovReport) -> Option<String> {
    let rtol = config.stopping.rtol;
    let is_converged = report.reason.is_converged();
    if !is_converged && report.relative_residual != 0.0 {
        return None;
    }
    if b.iter().all(|&b| b == 0.0) {
        return x.iter().any(|&x| x != 0.0).then(|| "x is not zero".to_owned());
    }
    let (truth, reported) = (relative_residual(a, x, b), report.relative_residual);
    let what = || Some(format!("{truth:e} where {reported:e} is reported, left out {:e}", report.left_out));
    let near = |expected: f64, error: f64| (truth - expected).abs() <= error + 1e-9 * expected;
    if reported == 0.0 && truth != 0.0 || !near(reported, 0.01 * rtol) {
        return what();
    }
    let is_within = report.residual <= report.target || report.target < f64::MIN_POSITIVE;
    if !is_converged || truth.max(reported) <= rtol * (1.0 + 1e-10) && is_within {
        return None;
    }
    // The remaining residual is the projection of b, up to the tolerance.
    let reachable = (1.0 - report.left_out.powi(2)).max(0.0).sqrt();
    let is_projection = near(report.left_out, 1.01 * rtol * reachable + 1e-14);
    if config.stopping.project_rhs && report.left_out > 0.99 * rtol && is_projection { None } else { what() }
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
    let size = if dice.one_in(2) { 1.0 } else { dice.power(100).max(1.0) };
    let guess: Option<Vec<f64>> = dice.one_in(4).then(|| b.iter().map(|b| size * b * dice.unit()).collect());
    if guess.is_some() {
        let _ = write!(about, "; guess {size:e}");
    }
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
    let text = std::env::var("ZIGGURAT_SYSTEMS").unwrap_or_default();
    let range = text.split_once("..").map(|(from, to)| from.parse().unwrap()..to.parse().unwrap());
    let seeds = match (from_environment("ZIGGURAT_SYSTEM"), range, from_environment("ZIGGURAT_SYSTEMS")) {
        (Some(one), ..) => one..one + 1,
        (None, Some(range), _) => range,
        (None, None, count) => 0..count.unwrap_or(400),
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
    println!("{converged} of {count} converged");
    // Otherwise the property would hold because nothing converges.
    assert!(count == 1 || 4 * converged > count, "only {converged} of {count} converged");
}

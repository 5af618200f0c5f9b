//! The results of the papers behind this library, repeated as far as a CPU can.
//!
//! | paper | what is repeated |
//! |---|---|
//! | Tsai, *Portable mixed precision AMG* (thesis, 2024), and Tsai, Beams & Anzt, *Three-precision AMG* (2023) | its precision ladders on its two finite-element problems, with pairwise aggregation: Jacobi and Chebyshev, V- and W-cycles, stand-alone; and its byte model |
//! | Zong, Yu, Huang & Xue, *FP16 acceleration* (2024) | iterations and times by how levels are stored, as in `cargo xtask bench structured` |
//! | Isotton, *Chronos* (thesis) | Jacobi against adaptive FSAI; classical, hybrid and extended+i interpolation; least-squares interpolation (BAMG) for structures, energy-minimising interpolation for elasticity |
//! | Lu et al., *AmgT* (2024) | with its settings, the share of Galerkin products in setup, and what mixed precision adds |
//!
//! Iterations do not depend on the machine. Times compare variants within this run; the papers' are
//! from GPUs or other CPUs. docs/papers.md says where and why numbers differ.
//!
//! `ZIGGURAT_PAPERS_ONLY` restricts a run to some parts, separated by commas: `thesis`, `fp16`,
//! `interpolations`, `structures`, `elasticity`, `amgt`.

mod chronos;
mod finite_elements;

use serde::Serialize;
use serde_json::Value;
use tasks::table::Table;
use ziggurat::config::{Coarsest, CycleKind, Format, Krylov, LevelSettings, Method, Precision, SmootherKind};
use ziggurat::{Solver, SolverConfig};

use super::pool::{Pool, TimedSolve};
use super::systems::{ModelSystem, relative_residual};
use super::{Bench, BenchError, Setting, structured};

pub(super) const BENCH: Bench = Bench {
    name: "papers",
    what: "what the papers report, repeated: precision ladders, FP16, adaptive FSAI, AmgT's settings",
    rounds: 3,
    run,
};

/// Names of the parts to run, instead of all.
const ONLY: &str = "ZIGGURAT_PAPERS_ONLY";

/// A precision ladder: its name in the thesis, ours, the storage format, and the iterations of the
/// thesis on the beam and the L-shape (Jacobi, V-cycle); `None` if it did not converge.
type Ladder = (&'static str, &'static str, Format, [Option<usize>; 2]);

/// The ladders. 16-bit levels of the thesis have 16-bit vectors, too, which ours never have; so the
/// same name has wider vectors here.
const LADDERS: [Ladder; 8] = [
    ("DP", "f64", Format::Csr, [Some(44), Some(160)]),
    ("DP-SP", "f64-f32,f64-f32", Format::Csr, [Some(44), Some(171)]),
    ("DP-SP-HP", "f64-f32,f64-f32-f16", Format::Csr, [Some(86), None]),
    ("DP-HP", "f64-f32,f64-f16", Format::Csr, [Some(127), None]),
    ("DP-SP-BF", "f64-f32,f64-f32-bf16", Format::Csr, [Some(44), Some(186)]),
    ("DP-BF", "f64-f32,f64-bf16", Format::Csr, [Some(44), Some(192)]),
    ("(DP-SP, HP)", "f64-f32,f16", Format::Csr, [None, None]),
    ("ours: K64P32D16", "f16", Format::Auto, [None, None]),
];

/// How the cycle is used.
#[derive(Clone, Copy, Debug)]
struct Use {
    name: &'static str,
    smoother: SmootherKind,
    cycle: CycleKind,
    krylov: Krylov,
    /// Tolerances of the residual: relative to the right-hand side, and absolute. One has to hold.
    tolerances: (f64, f64),
    most_iterations: usize,
    /// Sweeps on the coarsest level, which has no solver.
    coarsest_sweeps: (usize, usize),
}

/// The settings of the thesis (sections 6.1 and 6.6): conjugate gradients to a relative residual of
/// 10⁻¹² in at most 800 iterations, stand-alone to an absolute residual of 10⁻⁹ in at most 100. The
/// coarsest level has four sweeps of Jacobi, or one polynomial of degree 2.
const USES: [Use; 4] = [
    Use {
        name: "CG, V-cycle, Jacobi 0.9",
        smoother: SmootherKind::Jacobi,
        cycle: CycleKind::V,
        krylov: Krylov::Cg,
        tolerances: (1e-12, 0.0),
        most_iterations: 800,
        coarsest_sweeps: (2, 2),
    },
    Use {
        name: "CG, V-cycle, Chebyshev on the l1 diagonal",
        smoother: SmootherKind::L1Chebyshev,
        cycle: CycleKind::V,
        krylov: Krylov::Cg,
        tolerances: (1e-12, 0.0),
        most_iterations: 800,
        coarsest_sweeps: (1, 0),
    },
    Use {
        name: "CG, W-cycle of 4 levels, Jacobi 0.9",
        smoother: SmootherKind::Jacobi,
        cycle: CycleKind::W,
        krylov: Krylov::Cg,
        tolerances: (1e-12, 0.0),
        most_iterations: 800,
        coarsest_sweeps: (2, 2),
    },
    Use {
        name: "V-cycles alone, Jacobi 0.9",
        smoother: SmootherKind::Jacobi,
        cycle: CycleKind::V,
        krylov: Krylov::Richardson,
        tolerances: (0.0, 1e-9),
        most_iterations: 100,
        coarsest_sweeps: (2, 2),
    },
];

/// One solve.
#[derive(Clone, Debug, Serialize)]
struct Measured {
    system: String,
    setting: String,
    variant: String,
    iterations: usize,
    /// Iterations until the residual of the recurrence is within the tolerance, by which the thesis
    /// stops; `None` if it never is.
    by_recurrence: Option<usize>,
    setup_seconds: f64,
    solve_seconds: f64,
    operator_complexity: f64,
    relative_residual: f64,
    /// Bytes of matrices and transfers of all levels.
    bytes: usize,
    /// The part of setup that Galerkin products take.
    product_share: f64,
}

impl Measured {
    /// Iterations by the recurrence; more than all of them if they were not enough.
    fn count(&self) -> String {
        self.by_recurrence.map_or_else(|| format!("> {}", self.iterations), |count| count.to_string())
    }

    /// How much faster an iteration is than in another solve.
    fn faster_than(&self, other: &Measured) -> String {
        let per_iteration = |one: &Measured| one.solve_seconds / one.iterations.max(1) as f64;
        format!("{:.2}", per_iteration(other) / per_iteration(self))
    }
}

fn run(setting: &Setting) -> Result<Value, BenchError> {
    let Some(pool) = setting.pools.last() else { return Ok(Value::Null) };
    println!("{}, best of {} rounds\n", pool.label(), setting.rounds);
    let only = std::env::var(ONLY).ok();
    let mut results = serde_json::Map::new();
    for (name, repeat) in PARTS {
        if only.as_deref().is_none_or(|only| only.split(',').any(|word| word == name)) {
            results.insert(name.to_owned(), repeat(setting, pool)?);
        }
    }
    Ok(serde_json::json!({ "threads": pool.threads, "parts": results }))
}

/// Prints the tables of a part, and returns its numbers.
type Part = fn(&Setting, &Pool) -> Result<Value, BenchError>;

/// The parts by name.
const PARTS: [(&str, Part); 6] = [
    ("thesis", |setting, pool| Ok(serde_json::json!(thesis(setting, pool)?))),
    ("fp16", |setting, pool| {
        println!("Zong et al.: iterations, and times of cycles and solves\n");
        let (iterations, speed) = structured::paper(setting, pool)?;
        Ok(serde_json::json!({ "iterations": iterations, "speed": speed }))
    }),
    ("interpolations", |setting, pool| Ok(serde_json::json!(chronos::interpolations(setting, pool)?))),
    ("structures", |setting, pool| Ok(serde_json::json!(chronos::structures(setting, pool)?))),
    ("elasticity", |setting, pool| Ok(serde_json::json!(chronos::elasticity(setting, pool)?))),
    ("amgt", |setting, pool| Ok(serde_json::json!(amgt(setting, pool)?))),
];

/// Sets up and solves; the variants alternate, and the best round of each counts.
fn best_of(
    system: &ModelSystem,
    setting: &str,
    variants: &[(String, SolverConfig)],
    rounds: usize,
    pool: &Pool,
) -> Result<Vec<Measured>, BenchError> {
    let mut best: Vec<Option<Measured>> = vec![None; variants.len()];
    for _ in 0..rounds {
        for ((variant, config), best) in variants.iter().zip(&mut best) {
            let refused = |error| system.refused(&error);
            let (a, kernel) = (system.a.clone(), system.near_kernel.clone());
            let set_up = || Solver::with_near_kernel(a, kernel, config.clone());
            let TimedSolve { solver, solution, setup_seconds, solve_seconds } =
                pool.solve(&system.b, set_up).map_err(refused)?;
            let report = &solution.report;
            let within = |residual: &f64| *residual <= report.target;
            let stored = solver.preconditioner().stored();
            let products = solver.stages().iter().filter(|(stage, _)| *stage == "Galerkin product");
            let measured = Measured {
                system: system.name.clone(),
                setting: setting.to_owned(),
                variant: variant.clone(),
                iterations: report.iterations,
                by_recurrence: report.history.iter().position(within).map(|place| place + 1),
                setup_seconds,
                solve_seconds,
                operator_complexity: solver.hierarchy().operator_complexity(),
                relative_residual: relative_residual(&system.a, &solution.x, &system.b),
                bytes: stored.iter().map(|level| level.format.bytes() + level.transfer_bytes).sum(),
                product_share: products.map(|(_, seconds)| seconds).sum::<f64>() / setup_seconds,
            };
            if best.as_ref().is_none_or(|best| solve_seconds < best.solve_seconds) {
                *best = Some(measured);
            }
        }
    }
    Ok(best.into_iter().flatten().collect())
}

fn norm(b: &[f64]) -> f64 {
    b.iter().map(|value| value * value).sum::<f64>().sqrt()
}

/// Tsai's ladders on his two problems.
fn thesis(setting: &Setting, pool: &Pool) -> Result<Vec<Measured>, BenchError> {
    let systems = match setting.quick {
        true => [finite_elements::beam(1)?, finite_elements::l_shape(3)?],
        false => [finite_elements::beam(8)?, finite_elements::l_shape(128)?],
    };
    let mut all = Vec::new();
    for way in USES {
        let mut table = Table::new([
            "problem",
            "ladder",
            "iterations",
            "in the thesis",
            "solve s",
            "residual, relative",
            "absolute",
            "iteration, speed-up",
            "by bytes",
        ]);
        for (place, system) in systems.iter().enumerate() {
            let variants =
                LADDERS.map(|(name, ladder, format, _)| (name.to_owned(), way.config(ladder, format)));
            // The first table is for times, the others are for iterations.
            let rounds = if way.name == USES[0].name { setting.rounds } else { 1 };
            let measured = best_of(system, way.name, &variants, rounds, pool)?;
            for (one, (.., reported)) in measured.iter().zip(LADDERS) {
                let is_theirs = way.name == USES[0].name && !setting.quick;
                let reported = match (is_theirs, reported[place]) {
                    (true, Some(iterations)) => iterations.to_string(),
                    (true, None) if one.variant.starts_with("DP") => "fails".to_owned(),
                    _ => String::new(),
                };
                table.row([
                    one.system.clone(),
                    one.variant.clone(),
                    one.count(),
                    reported,
                    format!("{:.2}", one.solve_seconds),
                    format!("{:.1e}", one.relative_residual),
                    format!("{:.1e}", one.relative_residual * norm(&system.b)),
                    one.faster_than(&measured[0]),
                    format!("{:.2}", measured[0].bytes as f64 / one.bytes as f64),
                ]);
            }
            all.extend(measured);
        }
        println!("Tsai: {}\n\n{table}", way.name);
    }
    Ok(all)
}

impl Use {
    /// The configuration: pairs of rows, and one sweep before and one after the correction, on the
    /// coarsest level as many as are given.
    fn config(&self, ladder: &str, format: Format) -> SolverConfig {
        let precision: Precision = ladder.parse().unwrap_or_default();
        let method = Method::Pairwise;
        let mut config =
            SolverConfig { method, precision, format, fallback: false, ..SolverConfig::default() };
        config.pairwise.passes = 1;
        config.hierarchy.coarse_rows = Some(64);
        let levels = if self.cycle == CycleKind::W { 4 } else { 11 };
        config.hierarchy.max_levels = levels;
        let (before, after) = self.coarsest_sweeps;
        let (pre_sweeps, post_sweeps) = (Some(before), Some(after));
        config.levels = vec![LevelSettings { from: levels - 1, smoother: None, pre_sweeps, post_sweeps }];
        config.hierarchy.coarsest = Coarsest::Smoothed;
        (config.cycle.kind, config.krylov) = (self.cycle, self.krylov);
        config.smoother.kind = self.smoother;
        config.smoother.omega = (self.smoother == SmootherKind::Jacobi).then_some(0.9);
        (config.stopping.rtol, config.stopping.atol) = self.tolerances;
        config.stopping.max_iterations = self.most_iterations;
        config
    }
}

fn table_of(all: &[Measured]) -> Table {
    let mut table =
        Table::new(["system", "variant", "complexity", "iterations", "setup s", "solve s", "total s"]);
    for one in all {
        table.row([
            one.system.clone(),
            one.variant.clone(),
            format!("{:.2}", one.operator_complexity),
            one.count(),
            format!("{:.2}", one.setup_seconds),
            format!("{:.2}", one.solve_seconds),
            format!("{:.2}", one.setup_seconds + one.solve_seconds),
        ]);
    }
    table
}

/// AmgT's settings: PMIS, extended+i, ℓ1-Jacobi, at most seven levels.
fn amgt(setting: &Setting, pool: &Pool) -> Result<Vec<Measured>, BenchError> {
    let names: &[&str] = match setting.quick {
        true => &["poisson3d27:8"],
        false => &["poisson3d:80", "poisson3d27:80", "jump3d:80", "crank_heat3d"],
    };
    let mut table = Table::new([
        "system",
        "precision",
        "iterations",
        "Galerkin products, of setup",
        "setup s",
        "solve s",
        "iteration, speed-up",
    ]);
    let mut all = Vec::new();
    for name in names {
        let Some(system) = ModelSystem::named(name)? else { continue };
        let variants = ["f64", "f64-f32,f64-f32-f16", "f16"].map(|ladder| {
            let precision: Precision = ladder.parse().unwrap_or_default();
            let mut config = SolverConfig {
                method: Method::Classical,
                precision,
                fallback: false,
                krylov: Krylov::Cg,
                ..SolverConfig::default()
            };
            config.classical.aggressive_levels = 0;
            config.classical.strength.max_row_sum = Some(0.8);
            (config.classical.truncation.relative, config.classical.truncation.max_entries) = (0.1, Some(4));
            config.hierarchy.max_levels = 7;
            config.smoother.kind = SmootherKind::L1Jacobi;
            (ladder.to_owned(), config)
        });
        let measured = best_of(&system, "AmgT's settings", &variants, setting.rounds, pool)?;
        for one in &measured {
            table.row([
                one.system.clone(),
                one.variant.clone(),
                one.count(),
                format!("{:.0} %", 100.0 * one.product_share),
                format!("{:.2}", one.setup_seconds),
                format!("{:.2}", one.solve_seconds),
                one.faster_than(&measured[0]),
            ]);
        }
        all.extend(measured);
    }
    println!("Lu et al.: PMIS, extended+i, l1-Jacobi, at most 7 levels, relative residual 1e-8\n\n{table}");
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_ladder_is_a_precision() {
        for (_, ladder, ..) in LADDERS {
            assert_eq!(ladder.parse::<Precision>().unwrap().to_string(), ladder);
        }
    }
}

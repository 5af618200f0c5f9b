//! Precision `auto` against fixed 16, 32 and 64 bits: whether it is ever the wrong choice.
//!
//! Setup and one solve of every symmetric positive definite matrix of the shared collection and of
//! the model problems, without the fallback, which would hide a failure. The right-hand side is all
//! ones. The precisions alternate, and each counts with its fastest round. Two goals: where 16 bits
//! take the iterations of 64 bits, `auto` is at most 5 % slower than fixed 16 bits; nowhere is it
//! more than 10 % slower than fixed 64 bits. A row that misses one says so.

use std::time::Instant;

use serde::Serialize;
use serde_json::Value;
use tasks::table::Table;
use ziggurat::config::Precision;
use ziggurat::{Solver, SolverConfig};

use super::pool::Pool;
use super::systems::{ModelSystem, collection};
use super::{Bench, BenchError, Setting};

pub(super) const BENCH: Bench = Bench {
    name: "auto",
    what: "precision auto against fixed 16, 32 and 64 bits on all positive definite systems",
    rounds: 5,
    run,
};

const PROBLEMS: [&str; 7] = [
    "poisson2d:1000",
    "poisson3d:100",
    "poisson3d:100/1024",
    "poisson3d27:80",
    "anisotropic3d:100",
    "jump3d:100",
    "elasticity3d:40",
];
const QUICK_PROBLEMS: [&str; 1] = ["poisson3d:10"];

const COUNT: usize = 4;

/// The fixed ones first.
const PRECISIONS: [Precision; COUNT] = [Precision::F16, Precision::F32, Precision::F64, Precision::Auto];

/// A precision on a system.
#[derive(Clone, Copy, Debug, Serialize)]
struct Run {
    /// `None` if it did not converge.
    iterations: Option<usize>,
    seconds: f64,
}

/// All precisions on a system, in the order of [`PRECISIONS`].
#[derive(Debug, Serialize)]
struct Measured {
    system: String,
    runs: [Run; COUNT],
    /// The time of `auto` relative to fixed 16 bits, where these take the iterations of 64 bits.
    over_f16: Option<f64>,
    /// The time of `auto` relative to fixed 64 bits, where these converge.
    over_f64: Option<f64>,
}

impl Measured {
    fn new(system: String, runs: [Run; COUNT]) -> Self {
        let [f16, _, f64, auto] = runs;
        let as_f64 = f16.iterations.zip(f64.iterations).is_some_and(|(f16, f64)| f16 <= f64);
        let over_f16 = as_f64.then_some(auto.seconds / f16.seconds);
        let over_f64 = f64.iterations.map(|_| auto.seconds / f64.seconds);
        Measured { system, runs, over_f16, over_f64 }
    }

    /// The goal that this system misses.
    fn missed(&self) -> &'static str {
        let [.., f64, auto] = self.runs;
        match (self.over_f16, self.over_f64) {
            _ if f64.iterations.is_some() && auto.iterations.is_none() => "not solved",
            (Some(ratio), _) if ratio > 1.05 => "5 % over f16",
            (_, Some(ratio)) if ratio > 1.10 => "10 % over f64",
            _ => "",
        }
    }
}

fn run(setting: &Setting) -> Result<Value, BenchError> {
    let Some(pool) = setting.pools.last() else { return Ok(Value::Null) };
    let mut names: Vec<String> = Vec::new();
    if setting.quick {
        names.extend(QUICK_PROBLEMS.map(str::to_owned));
    } else {
        names.extend(PROBLEMS.map(str::to_owned));
        let spd = collection(|cells| cells.get(4).is_some_and(|verified| verified.starts_with("sym, SPD")));
        let name = |path: std::path::PathBuf| {
            path.file_name().unwrap_or_default().to_string_lossy().replace(".mtx.gz", "")
        };
        names.extend(spd.unwrap_or_default().into_iter().map(name));
    }
    let mut table = Table::new([
        "system",
        "iterations f16 / f32 / f64 / auto",
        "ms f16 / f32 / f64 / auto",
        "auto / f16",
        "auto / f64",
        "missed",
    ]);
    let (mut results, mut missed) = (Vec::new(), 0);
    for name in &names {
        let Some(system) = ModelSystem::named(name)? else { continue };
        let measured = measure(&system, pool, setting.rounds)?;
        let join = |part: fn(&Run) -> String| measured.runs.iter().map(part).collect::<Vec<_>>().join(" / ");
        let ratio = |ratio: Option<f64>| ratio.map_or("–".to_owned(), |ratio| format!("{ratio:.2}"));
        table.row([
            measured.system.clone(),
            join(|run| run.iterations.map_or("none".to_owned(), |count| count.to_string())),
            join(|run| format!("{:.1}", run.seconds * 1e3)),
            ratio(measured.over_f16),
            ratio(measured.over_f64),
            measured.missed().to_owned(),
        ]);
        missed += usize::from(!measured.missed().is_empty());
        results.push(measured);
    }
    println!("{}, best of {} rounds\n\n{table}", pool.label(), setting.rounds);
    println!("{missed} of {} systems miss a goal", results.len());
    Ok(serde_json::json!({ "threads": pool.threads, "systems": results }))
}

fn measure(system: &ModelSystem, pool: &Pool, rounds: usize) -> Result<Measured, BenchError> {
    let refused = |error| system.refused(&error);
    let b = vec![1.0; system.a.rows()];
    let mut runs = [Run { iterations: None, seconds: f64::INFINITY }; COUNT];
    for _ in 0..rounds {
        for (precision, best) in PRECISIONS.into_iter().zip(&mut runs) {
            let config = SolverConfig { precision, fallback: false, ..SolverConfig::default() };
            let start = Instant::now();
            let report = pool.run(|| {
                let kernel = (system.block > 1).then(|| system.near_kernel.clone());
                let builder = Solver::builder().config(config);
                let builder = match kernel {
                    Some(kernel) => builder.near_kernel(kernel),
                    None => builder,
                };
                Ok(builder.build(system.a.clone())?.solve(&b)?.report)
            });
            let report = report.map_err(refused)?;
            best.seconds = best.seconds.min(start.elapsed().as_secs_f64());
            best.iterations = report.reason.is_converged().then_some(report.iterations);
        }
    }
    Ok(Measured::new(system.name.clone(), runs))
}

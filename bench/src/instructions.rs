//! `cargo xtask instructions`: the instructions of a fixed setup and solve, phase by phase.
//!
//! Times on a shared machine vary by tens of percent; the number of instructions that one thread
//! executes does not. Callgrind counts this program's instructions up to the end of each phase, and
//! the difference of two counts is a phase. A phase that executes 3 % more than the saved count
//! fails. Counts depend on the compiler, the C library, Valgrind, the instruction set and the
//! profile, so the saved ones are compared only where all of these are the same; elsewhere the new
//! counts are printed.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use tasks::table::Table;
use tasks::with_solver::{InstructionsOptions, Phase};
use thiserror::Error;
use ziggurat::amg::halo::Whole;
use ziggurat::amg::interpolate::{NearKernel, Symmetry};
use ziggurat::amg::{Hierarchy, HierarchyConfig, MatrixProperties, WholeMatrix};
use ziggurat::config::{Effort, Precision};
use ziggurat::diagnose::{MatrixKind, unknowns_per_node};
use ziggurat::{SolveError, Solver, SolverConfig};
use ziggurat_sparse::device::{Cpu, Device};
use ziggurat_sparse::gallery::{Problem, ProblemError};

/// The saved counts, from the workspace's root.
const SAVED: &str = "bench/instructions.json";

/// The system: large enough that every phase executes millions of instructions.
const PROBLEM: &str = "jump3d:24";

/// The growth of a count that fails.
const ALLOWED: f64 = 1.03;

/// The phases that are counted, each with its end. The first begins when the matrix is there.
const PHASES: [(&str, Phase); 4] = [
    ("diagnosis", Phase::Diagnosis),
    ("hierarchy", Phase::Hierarchy),
    // A solver diagnoses and builds its hierarchy, too, so this is what it does besides.
    ("conversion", Phase::Setup),
    ("solve", Phase::Solve),
];

/// Counts, and what they depend on.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Counts {
    conditions: BTreeMap<String, String>,
    /// The instructions of each phase.
    instructions: BTreeMap<String, u64>,
}

/// Why nothing was counted, or a count is too large.
#[derive(Debug, Error)]
pub(crate) enum InstructionsError {
    #[error("cannot run {program}: {source}; apt install valgrind")]
    Run { program: String, source: io::Error },
    #[error("Valgrind printed no count: {0}")]
    NoCount(String),
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("{SAVED}: {0}")]
    Json(#[from] serde_json::Error),
    #[error(transparent)]
    Problem(#[from] ProblemError),
    #[error(transparent)]
    Solve(#[from] SolveError),
    #[error("no thread pool: {0}")]
    Pool(#[from] rayon::ThreadPoolBuildError),
    #[error(
        "more instructions than before: {0}; if that is worth it, save the new counts with `cargo xtask instructions --save`"
    )]
    More(String),
}

pub(crate) fn run(options: &InstructionsOptions, root: &Path) -> Result<(), InstructionsError> {
    if let Some(phase) = options.until {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
        return pool.install(|| run_until(phase));
    }
    let path = root.join(SAVED);
    let found = count()?;
    let file = |source| InstructionsError::File { path: path.clone(), source };
    if options.save {
        return fs::write(&path, serde_json::to_string_pretty(&found)? + "\n").map_err(file);
    }
    let saved: Counts = serde_json::from_str(&fs::read_to_string(&path).map_err(file)?)?;
    let comparable = saved.conditions == found.conditions;
    let mut table = Table::new(["phase", "instructions", "saved", "ratio"]);
    let mut more = Vec::new();
    for (phase, &count) in &found.instructions {
        let before = saved.instructions.get(phase).copied().unwrap_or(0);
        let ratio = count as f64 / before as f64;
        table.row([phase.clone(), count.to_string(), before.to_string(), format!("{ratio:.3}")]);
        if ratio > ALLOWED {
            more.push(format!("{phase} {ratio:.3} times"));
        }
    }
    println!("{PROBLEM}, one thread\n\n{table}");
    if !comparable {
        println!("not compared: saved for {:?}, found {:?}", saved.conditions, found.conditions);
        return Ok(());
    }
    if more.is_empty() { Ok(()) } else { Err(InstructionsError::More(more.join(", "))) }
}

/// Counts all phases of this program, and states the conditions.
fn count() -> Result<Counts, InstructionsError> {
    let mut instructions = BTreeMap::new();
    let mut begin = instructions_until(Phase::Matrix)?;
    for (name, phase) in PHASES {
        let end = instructions_until(phase)?;
        instructions.insert(name.to_owned(), end.saturating_sub(begin));
        begin = end;
    }
    let first_line = |program: &str| -> Result<String, InstructionsError> {
        let output = Command::new(program).arg("--version").output();
        let failed = |source| InstructionsError::Run { program: program.to_owned(), source };
        let text = String::from_utf8_lossy(&output.map_err(failed)?.stdout).into_owned();
        Ok(text.lines().next().unwrap_or_default().to_owned())
    };
    let conditions = [
        ("compiler", first_line("rustc")?),
        ("C library", first_line("ldd")?),
        ("Valgrind", first_line("valgrind")?),
        ("device", Cpu::new().name()),
        ("profile", if cfg!(debug_assertions) { "dev" } else { "release" }.to_owned()),
    ];
    let conditions = conditions.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    Ok(Counts { conditions, instructions })
}

/// The instructions of a run that ends with a phase.
fn instructions_until(phase: Phase) -> Result<u64, InstructionsError> {
    let program = "valgrind".to_owned();
    let failed = |source| InstructionsError::Run { program: program.clone(), source };
    let name = phase.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default();
    let output = Command::new(&program)
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg(std::env::current_exe().map_err(failed)?)
        .args(["instructions", "--until", &name])
        .output()
        .map_err(failed)?;
    let text = String::from_utf8_lossy(&output.stderr);
    let count = text.lines().find_map(|line| line.split_once("Collected :")?.1.trim().parse().ok());
    count.filter(|_| output.status.success()).ok_or_else(|| InstructionsError::NoCount(text.into_owned()))
}

/// Everything up to the end of a phase. Later phases repeat earlier ones, which the difference of
/// two counts removes.
fn run_until(phase: Phase) -> Result<(), InstructionsError> {
    let problem: Problem = PROBLEM.parse()?;
    let (a, b) = (std::sync::Arc::new(problem.matrix()?), problem.rhs()?);
    // As for a large system.
    let mut config =
        SolverConfig { effort: Effort::FewSolves, precision: Precision::F16, ..Default::default() };
    config.sa.plain_levels = Some(1);
    let setup_error = |error| InstructionsError::Solve(SolveError::Setup(error));
    match phase {
        Phase::Matrix => {}
        Phase::Diagnosis | Phase::Hierarchy => {
            let block = unknowns_per_node(a.view(), &Whole::new(a.rows()));
            MatrixKind::of(&WholeMatrix::new(a.clone(), block)).map_err(setup_error)?;
            if matches!(phase, Phase::Hierarchy) {
                let near_kernel =
                    NearKernel::constants(a.rows(), 1).map_err(|error| setup_error(error.into()))?;
                let properties = MatrixProperties { near_kernel, symmetry: Symmetry::Symmetric, grid: None };
                let hierarchy: HierarchyConfig = config.hierarchy_config();
                Hierarchy::with_properties(a, properties, &hierarchy).map_err(setup_error)?;
            }
        }
        Phase::Setup => drop(Solver::new(a, config)?),
        Phase::Solve => drop(Solver::new(a, config)?.solve(&b)?),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_phase_runs() {
        for phase in Phase::value_variants() {
            run_until(*phase).unwrap();
        }
    }

    #[test]
    fn the_saved_counts_are_those_of_all_phases() {
        let saved = fs::read_to_string(tasks::workspace_root().join(SAVED)).unwrap();
        let saved: Counts = serde_json::from_str(&saved).unwrap();
        assert!(PHASES.iter().all(|(name, ..)| saved.instructions.contains_key(*name)));
    }
}

//! Setup and solve, compared with hypre's BoomerAMG on the same systems, to the same true residual.
//!
//! hypre runs on two MPI processes and ziggurat on two threads, alternating round by round. The
//! hypre driver, `competitors/hypre.c`, is compiled against the installed hypre. The results are
//! those of each contestant's best round by total time. Times are also given in products of A with
//! a vector on our two threads, timed in the same rounds.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use serde::Serialize;
use serde_json::Value;
use ziggurat::{Solver, SolverConfig};
use ziggurat_sparse::device::{Cpu, Device, HostMatrix};

use super::pool::Pool;
use super::systems::ModelSystem;
use super::table::Table;
use super::{Bench, BenchError, Setting};

pub(super) const BENCH: Bench =
    Bench { name: "race", what: "setup and solve, compared with hypre on two processes", rounds: 5, run };

/// The problems, their quick versions, and hypre's best strength threshold for each.
const PROBLEMS: [(&str, &str, f64); 5] = [
    ("poisson3d:100", "poisson3d:12", 0.25),
    ("poisson3d27:100", "poisson3d27:12", 0.25),
    ("anisotropic3d:100", "anisotropic3d:12", 0.25),
    ("jump3d:100", "jump3d:20", 0.25),
    ("elasticity3d:40", "elasticity3d:6", 0.5),
];

/// One contestant's best round.
#[derive(Clone, Copy, Debug, Serialize)]
struct Round {
    setup_seconds: f64,
    solve_seconds: f64,
    iterations: usize,
    relative_residual: f64,
}

impl Round {
    fn total(&self) -> f64 {
        self.setup_seconds + self.solve_seconds
    }
}

/// The stages of setup and their seconds.
type Stages = Vec<(&'static str, f64)>;

/// Both contestants on one system.
#[derive(Debug, Serialize)]
struct Measured {
    problem: String,
    hypre: Round,
    ours: Round,
    /// The stages of our best round.
    stages: Stages,
    /// The time of A times a vector, on our threads.
    spmv_seconds: f64,
}

fn run(setting: &Setting) -> Result<Value, BenchError> {
    let Some(pool) = setting.pools.last() else { return Ok(Value::Null) };
    let folder = std::env::temp_dir().join(format!("ziggurat-race-{}", std::process::id()));
    let failed = |source| BenchError::Write { path: folder.clone(), source };
    fs::create_dir_all(&folder).map_err(failed)?;
    let result = race(setting, pool, &folder);
    fs::remove_dir_all(&folder).map_err(failed)?;
    let measured = result?;
    print(&measured);
    Ok(serde_json::json!({ "threads": pool.threads, "problems": measured }))
}

fn race(setting: &Setting, pool: &Pool, folder: &Path) -> Result<Vec<Measured>, BenchError> {
    let driver = compile(folder)?;
    let mut measured = Vec::new();
    for (usual, quick, threshold) in PROBLEMS {
        let system = ModelSystem::new(if setting.quick { quick } else { usual })?;
        let file = folder.join("system.bin");
        write(&system, &file).map_err(|source| BenchError::Write { path: file.clone(), source })?;
        measured.push(measure(&system, setting.rounds, pool, || hypre(&driver, &file, &system, threshold))?);
    }
    Ok(measured)
}

fn measure(
    system: &ModelSystem,
    rounds: usize,
    pool: &Pool,
    hypre: impl Fn() -> Result<Round, BenchError>,
) -> Result<Measured, BenchError> {
    let (cpu, a) = (Cpu::new(), HostMatrix::from(system.a.clone()));
    let (x, mut y) = (vec![1.0; system.a.cols()], vec![0.0; system.a.rows()]);
    let mut spmv_seconds = f64::INFINITY;
    let (mut theirs, mut ours) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        theirs.push(hypre()?);
        ours.push(pool.run(|| ziggurat(system))?);
        for _ in 0..5 {
            let start = Instant::now();
            pool.run(|| cpu.spmv(1.0, &a, &x, 0.0, &mut y));
            spmv_seconds = spmv_seconds.min(start.elapsed().as_secs_f64());
        }
    }
    let none = || BenchError::Solve(system.name.clone(), "no round was run".to_owned());
    let by_total = |one: &Round, other: &Round| one.total().total_cmp(&other.total());
    let hypre = theirs.into_iter().min_by(by_total).ok_or_else(none)?;
    let (ours, stages) = ours.into_iter().min_by(|one, other| by_total(&one.0, &other.0)).ok_or_else(none)?;
    Ok(Measured { problem: system.name.clone(), hypre, ours, stages, spmv_seconds })
}

/// One setup and one solve by ziggurat, and the stages of setup.
fn ziggurat(system: &ModelSystem) -> Result<(Round, Stages), BenchError> {
    let (a, near_kernel) = (system.a.clone(), system.near_kernel.clone());
    let start = Instant::now();
    let solver = Solver::with_near_kernel(a, near_kernel, SolverConfig::default())
        .map_err(|error| system.refused(&error))?;
    let middle = Instant::now();
    let solution = solver.solve(&system.b).map_err(|error| system.refused(&error))?;
    let end = Instant::now();
    let round = Round {
        setup_seconds: (middle - start).as_secs_f64(),
        solve_seconds: (end - middle).as_secs_f64(),
        iterations: solution.report.iterations,
        relative_residual: solution.report.relative_residual,
    };
    Ok((round, solver.stages().to_vec()))
}

/// Compiles the driver. Without MPI or hypre, the error says what to install.
fn compile(folder: &Path) -> Result<PathBuf, BenchError> {
    let driver = folder.join("hypre");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("competitors/hypre.c");
    let mut command = Command::new("mpicc");
    command.args(["-O3", "-march=native", "-I/usr/include/hypre"]).arg(source).arg("-o").arg(&driver);
    run_command(command.args(["-lHYPRE", "-lm"]))?;
    Ok(driver)
}

/// One setup and one solve by hypre.
fn hypre(driver: &Path, file: &Path, system: &ModelSystem, threshold: f64) -> Result<Round, BenchError> {
    let mut command = Command::new("mpirun");
    command.args(["--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n", "2"]);
    command.env("OMP_NUM_THREADS", "1").arg(driver).arg(file);
    let printed = run_command(command.args([system.block.to_string(), threshold.to_string()]))?;
    let numbers: Vec<f64> = printed.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let &[setup_seconds, solve_seconds, iterations, relative_residual] = &numbers[..] else {
        return Err(BenchError::Competitor(format!("hypre printed {printed:?}")));
    };
    Ok(Round { setup_seconds, solve_seconds, iterations: iterations as usize, relative_residual })
}

/// Runs a command and returns its standard output.
fn run_command(command: &mut Command) -> Result<String, BenchError> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| {
        let needs = "the race needs hypre and MPI: apt install libhypre-dev libopenmpi-dev openmpi-bin";
        BenchError::Competitor(format!("{name}: {error}\n{needs}"))
    })?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(BenchError::Competitor(format!("{name}: {}", said.trim())));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Writes the system in the format of the driver.
fn write(system: &ModelSystem, path: &Path) -> io::Result<()> {
    let mut file = BufWriter::with_capacity(1 << 20, File::create(path)?);
    let a = &system.a;
    let extents = [a.rows(), a.nnz()];
    for &number in extents.iter().chain(a.row_ptr()) {
        file.write_all(&(number as u64).to_ne_bytes())?;
    }
    for column in a.columns() {
        file.write_all(&column.to_ne_bytes())?;
    }
    for value in a.values().iter().chain(&system.b) {
        file.write_all(&value.to_ne_bytes())?;
    }
    file.flush()
}

fn print(measured: &[Measured]) {
    let mut table = Table::new([
        "problem",
        "",
        "iterations",
        "setup s",
        "solve s",
        "total s",
        "setup SpMVs",
        "iteration SpMVs",
        "speed-up",
    ]);
    for Measured { problem, hypre, ours, spmv_seconds, .. } in measured {
        for (name, round) in [("hypre, 2 processes", hypre), ("ziggurat, 2 threads", ours)] {
            let ratio = hypre.total() / round.total();
            table.row([
                problem.clone(),
                name.to_owned(),
                round.iterations.to_string(),
                format!("{:.3}", round.setup_seconds),
                format!("{:.3}", round.solve_seconds),
                format!("{:.3}", round.total()),
                format!("{:.0}", round.setup_seconds / spmv_seconds),
                format!("{:.1}", round.solve_seconds / spmv_seconds / round.iterations.max(1) as f64),
                format!("{ratio:.2}"),
            ]);
        }
    }
    let logarithms = measured.iter().map(|one| (one.hypre.total() / one.ours.total()).ln());
    let mean = (logarithms.sum::<f64>() / measured.len().max(1) as f64).exp();
    println!("{table}\n{mean:.2}x faster than hypre (geometric mean)\n\nour setup by stages, in SpMVs:");
    for Measured { problem, stages, spmv_seconds, .. } in measured {
        let stages = stages.iter().map(|(stage, seconds)| format!("{stage} {:.1}", seconds / spmv_seconds));
        println!("  {problem}: {}", stages.collect::<Vec<_>>().join(", "));
    }
}

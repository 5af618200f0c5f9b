//! `mpirun -n 4 ziggurat solve …`: the same command on many ranks.
//!
//! Every rank makes or reads its own part of the system; rank 0 reports. Under a launcher of MPI ranks have one thread each unless `--threads`
//! says otherwise. An error on one rank is an error on all.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::ops::ControlFlow;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use ziggurat::SolverConfig;
use ziggurat_mpi::{
    Comm, Distributed, DistributedCsr, DistributedSolver, InputError, LevelReport, Mpi, Session, agree_as,
    rigid_body_modes,
};
use ziggurat_report::{Distribution, Level, Outcome, Ranks, peak_bytes};
use ziggurat_sparse::device::Device;
use ziggurat_sparse::gallery::Problem;

use super::{NOT_CONVERGED, check_files, configuration, tell, told};
use crate::arguments::{DeviceName, SolveOptions};
use crate::failure::Failure;
use crate::progress::Progress;
use crate::system::parse_problem;

/// What launchers set for the processes they start: Open MPI, MPICH and its descendants, Slurm with PMIx.
const LAUNCHED: [&str; 4] = ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMI_RANK", "PMIX_RANK"];

/// Whether a launcher of MPI has started this process.
pub(crate) fn are_launched() -> bool {
    LAUNCHED.iter().any(|name| std::env::var_os(name).is_some())
}

pub(crate) fn run(options: &SolveOptions, progress: &Progress) -> Result<ExitCode, Failure> {
    let session = Session::start().map_err(|error| Failure::new(error.to_string(), "start it by mpirun"))?;
    let comm: Arc<dyn Comm> =
        Arc::new(Mpi::world().map_err(|error| Failure::new(error.to_string(), "start it by mpirun"))?);
    let first = comm.rank() == 0;
    // A rank that breaks down takes the others with it: they would wait for ever.
    let work = std::panic::AssertUnwindSafe(|| solve(&comm, options, progress));
    match std::panic::catch_unwind(work) {
        Ok(Ok(code)) => Ok(code),
        // Everybody has an error, and the first rank tells it.
        Ok(Err(failure)) if first => Err(failure),
        Ok(Err(_)) => Ok(ExitCode::FAILURE),
        Err(_) => session.abort(1),
    }
}

fn solve(comm: &Arc<dyn Comm>, options: &SolveOptions, progress: &Progress) -> Result<ExitCode, Failure> {
    // Files may be there for one rank and not for another.
    let config = agree_as(&**comm, configuration::configure(options))?;
    refuse(options)?;
    let first = comm.rank() == 0;
    agree_as(&**comm, if first { check_files(options) } else { Ok(()) })?;
    let (name, a, problem) = load(comm, options)?;
    let b = match (&options.rhs, problem) {
        (Some(path), _) => a.read_rhs(path).map_err(unread)?,
        (None, Some(problem)) => {
            let generator = problem.generator();
            a.own_rows().map(|row| generator.rhs(row)).collect()
        }
        (None, None) => vec![1.0; a.own_rows().count()],
    };
    let (outcome, solution) = compute(comm, &a, problem, &b, config, progress)?;
    let converged = outcome.converged;
    agree_as(&**comm, if first { tell(&name, &outcome, None, options) } else { Ok(()) })?;
    if let Some(path) = &options.output {
        write(&**comm, path, a.global_rows(), &solution)?;
    }
    Ok(ExitCode::from(if converged { 0 } else { NOT_CONVERGED }))
}

/// Says what cannot be done on several ranks yet.
fn refuse(options: &SolveOptions) -> Result<(), Failure> {
    let not = |option: &str| {
        Err(Failure::new(
            format!("{option} cannot be used on several ranks yet"),
            "leave it out, or run without mpirun",
        ))
    };
    match options {
        options if options.source.shuffle.is_some() => not("--shuffle"),
        options if options.coords.is_some() => not("--coords"),
        options if options.dump_config => not("--dump-config"),
        SolveOptions { device: DeviceName::Gpu(name), .. } => not(&format!("--device {name}")),
        _ => Ok(()),
    }
}

/// The matrix: every rank makes or reads its own part.
fn load(
    comm: &Arc<dyn Comm>,
    options: &SolveOptions,
) -> Result<(String, DistributedCsr, Option<Problem>), Failure> {
    match (&options.source.file, &options.source.problem) {
        (Some(file), None) => {
            let a = DistributedCsr::read(comm, file).map_err(unread)?;
            Ok((file.display().to_string(), a, None))
        }
        (None, Some(problem)) => {
            let problem = parse_problem(problem)?;
            let a = DistributedCsr::generate(comm, problem)?;
            Ok((problem.to_string(), a, Some(problem)))
        }
        _ => Err(Failure::new(
            "a matrix is not given, or given twice",
            "name a Matrix Market file, or a model problem as in --problem poisson3d:50",
        )),
    }
}

fn compute(
    comm: &Arc<dyn Comm>,
    a: &DistributedCsr,
    problem: Option<Problem>,
    b: &[f64],
    config: SolverConfig,
    progress: &Progress,
) -> Result<(Outcome, Vec<f64>), Failure> {
    let start = Instant::now();
    let elastic = problem.filter(|problem| problem.block_size() == 3);
    let solver = match elastic {
        Some(problem) => {
            let (generator, rows) = (problem.generator(), a.own_rows());
            let points: Vec<_> =
                (rows.start / 3..rows.end / 3).map(|node| generator.coordinates(node)).collect();
            rigid_body_modes(&**comm, &points)
                .and_then(|modes| DistributedSolver::with_near_kernel(a, &modes, config))
        }
        None => DistributedSolver::new(a, config),
    };
    let solver = solver?;
    let setup_seconds = slowest(&**comm, start);
    let start = Instant::now();
    let stage = progress.stage("solving");
    let mut watch = |iteration: &ziggurat::krylov::Progress| {
        stage.tell(told(iteration));
        ControlFlow::Continue(())
    };
    let solution = solver.solve_observed(b, Some(&mut watch))?;
    drop(stage);
    let solve_seconds = slowest(&**comm, start);
    let peak = peak_bytes();
    let most = comm.most(peak.unwrap_or(0) as f64) as u64;
    let total = comm.total(peak.unwrap_or(0));
    let ranks = Ranks {
        count: comm.size(),
        threads: rayon::current_num_threads(),
        peak_bytes_total: peak.map(|_| total),
    };
    let levels = solver.levels().iter().map(level).collect();
    let timing = (setup_seconds, solve_seconds);
    let device = Distributed::new(comm.clone()).name();
    let outcome =
        Outcome::new(&solution, solver.config(), levels, device, timing, peak.map(|_| most), Some(ranks));
    Ok((outcome, solution.x))
}

/// The most seconds that any rank took since then.
fn slowest(comm: &dyn Comm, start: Instant) -> f64 {
    comm.most(start.elapsed().as_secs_f64())
}

fn level(level: &LevelReport) -> Level {
    Level {
        rows: level.rows as usize,
        nnz: level.nnz as usize,
        storage: level.storage.clone(),
        working: level.working.clone(),
        format: level.format.clone(),
        bytes: level.bytes,
        transfer_bytes: level.transfer_bytes,
        reason: level.reason.clone(),
        setup_seconds: None,
        cycle_seconds: None,
        distribution: Some(Distribution {
            ranks: level.ranks,
            rows_most: level.rows_most,
            halo_rows: level.halo_rows,
            halo_rows_most: level.halo_rows_most,
            messages_most: level.messages_most,
            bytes_most: level.bytes_most,
        }),
    }
}

/// Writes the solution: one rank after the other sends its part to rank 0, which holds no more than one at a time.
fn write(comm: &dyn Comm, path: &Path, rows: u64, own: &[f64]) -> Result<(), Failure> {
    let shared = |result: Result<(), std::io::Error>| {
        agree_as(comm, result.map_err(|error| Failure::writing(path, &error)))
    };
    let mut file = None;
    let opened = if comm.rank() == 0 {
        File::create(path).and_then(|created| {
            let mut created = BufWriter::new(created);
            writeln!(created, "%%MatrixMarket matrix array real general\n{rows} 1")?;
            file = Some(created);
            Ok(())
        })
    } else {
        Ok(())
    };
    shared(opened)?;
    let mut written = Ok(());
    for rank in 0..comm.size() {
        let words = if comm.rank() == rank {
            vec![(0, own.iter().map(|x| x.to_bits()).collect())]
        } else {
            Vec::new()
        };
        for (_, words) in comm.deliver(words) {
            if let Some(file) = &mut file {
                written = written.and_then(|()| {
                    words.iter().try_for_each(|&bits| writeln!(file, "{:e}", f64::from_bits(bits)))
                });
            }
        }
    }
    if let Some(file) = &mut file {
        written = written.and_then(|()| file.flush());
    }
    shared(written)
}

/// A file that could not be read.
fn unread(error: InputError) -> Failure {
    match error {
        InputError::Read(error) => error.into(),
        error => Failure::new(error.to_string(), "check the file: `ziggurat inspect` describes it"),
    }
}

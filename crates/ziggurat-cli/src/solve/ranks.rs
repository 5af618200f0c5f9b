//! `mpirun -n 4 ziggurat solve …`: the same command on several ranks.
//!
//! Each rank generates or reads its own part of the system, and rank 0 reports. An error on one
//! rank is an error on all ranks. A single rank runs the code of one process instead (`job.rs`).

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use ziggurat::amg::halo::{Halo, Processes};
use ziggurat::amg::interpolate::{NearKernel, NearKernelError};
use ziggurat::amg::{LevelMatrix, empty_rows};
use ziggurat::{Solution, SolverConfig, krylov};
use ziggurat_mpi::{
    Comm, DistributedCsr, DistributedError, DistributedSolver, InputError, LevelReport, rigid_body_modes,
};
use ziggurat_report::{Crowded, Distribution, Level, Outcome, peak_bytes};
use ziggurat_sparse::device::Device;
use ziggurat_sparse::gallery::Problem;
use ziggurat_sparse::io::VectorWriter;

use super::{
    SetUp, check_files, compute, configuration, exit_code, is_finite, no_rows, note_breakdown, tell,
};
use crate::arguments::SolveOptions;
use crate::devices;
use crate::failure::Failure;
use crate::input::check_readable;
use crate::job::{Ranks, agree_as, agree_same, on_first};
use crate::log_lines;
use crate::progress::Progress;
use crate::system::{Coordinates, Origin, no_modes, unfit, unopened};
use crate::trace::Trace;
use crate::vectors::{RHS_HINT, VectorFile, default_rhs, guess_hint};

/// Variables in which launchers number the processes of a machine: Open MPI, MPICH and its
/// descendants, Slurm.
const LOCAL_RANK: [&str; 3] = ["OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"];

/// Solves on all ranks. Collective.
pub(crate) fn run(ranks: &Ranks, options: &SolveOptions, progress: &Progress) -> Result<ExitCode, Failure> {
    let comm = &ranks.comm;
    if comm.rank() == 0 && options.verbosity.verbose {
        log_lines::show();
    }
    let config = agree_as(&**comm, configuration::configure(options))?;
    agree_same(&**comm, "configuration", &format!("{config:?}"))?;
    if options.dump_config {
        on_first(&**comm, || configuration::print(&config))?;
        return Ok(ExitCode::SUCCESS);
    }
    refuse(options)?;
    on_first(&**comm, || check_files(options))?;
    let path = options.trace.as_deref().filter(|_| comm.rank() == 0);
    let trace = agree_as(&**comm, path.map(Trace::start).transpose())?;
    let device = agree_as(&**comm, devices::open_for(&options.device, process_of_machine(&**comm)))?;
    let outcome = solve_on(&*device, ranks, config, options, progress)?;
    agree_as(&**comm, trace.map_or(Ok(()), Trace::finish))?;
    Ok(ExitCode::from(exit_code(&outcome)))
}

/// The number of this process on its machine, as the launcher says; otherwise its rank.
fn process_of_machine(comm: &dyn Comm) -> usize {
    let said = LOCAL_RANK.iter().find_map(|name| std::env::var(name).ok()?.parse().ok());
    said.unwrap_or_else(|| comm.rank())
}

fn solve_on(
    device: &dyn Device,
    ranks: &Ranks,
    config: SolverConfig,
    options: &SolveOptions,
    progress: &Progress,
) -> Result<Outcome, Failure> {
    let comm = &ranks.comm;
    let part = Part::load(comm, options)?;
    let b = part.rhs(options.rhs_file(), progress)?;
    let guess = options.guess_file();
    let hint = guess_hint(part.a.global_rows());
    let guess = guess.map(|file| part.vector(file, &hint, progress)).transpose()?;
    let (part, kernel) = part.with_near_kernel(options.coords.as_deref(), progress)?;
    let set_up = || {
        let solver = DistributedSolver::on(device, &part.a, kernel.as_ref(), config);
        Ok(OnRanks { ranks, solver: solver.map_err(refused)? })
    };
    let rhs = |singular| match b {
        Some(b) => Ok(b),
        None => {
            let halo = LevelMatrix::rows(&part.a);
            let mut is_empty = vec![false; halo.owned().len()];
            let empty = empty_rows(LevelMatrix::view(&part.a), &halo);
            empty.iter().for_each(|&row| is_empty[row] = true);
            let (first, all) =
                halo.number(is_empty.len() - empty.len()).map_err(|error| refused(error.into()))?;
            Ok(default_rhs(&is_empty, first, all, singular))
        }
    };
    let (_, outcome, solution) = compute(set_up, rhs, guess.as_deref(), progress)?;
    on_first(&**comm, || tell(&part.name, &outcome, None, options))?;
    if let Some(path) = &options.output {
        if outcome.converged || !comm.any(!is_finite(&solution)) {
            write(&**comm, path, part.a.global_rows(), &solution)?;
        } else if comm.rank() == 0 {
            note_breakdown(path);
        }
    }
    Ok(outcome)
}

/// Refuses options that several ranks do not support yet.
fn refuse(options: &SolveOptions) -> Result<(), Failure> {
    let not = |option: &str| {
        Err(Failure::new(
            format!("{option} cannot be used on several ranks yet"),
            "leave it out, or run without mpirun",
        ))
    };
    if options.source.shuffle.is_some() { not("--shuffle") } else { Ok(()) }
}

/// The rows of the system that this rank owns.
struct Part {
    /// The file or the problem, for reports.
    name: String,
    a: DistributedCsr,
    problem: Option<Problem>,
}

impl Part {
    /// Generates or reads the matrix. Collective.
    fn load(comm: &Arc<dyn Comm>, options: &SolveOptions) -> Result<Self, Failure> {
        let part = match Origin::of(&options.source)? {
            Origin::File(file) => {
                agree_as(&**comm, check_readable(file).map_err(|failure| unopened(file, failure)))?;
                let a = DistributedCsr::read(comm, file).map_err(unread)?;
                Part { name: file.display().to_string(), a, problem: None }
            }
            Origin::Problem(problem) => {
                let a = DistributedCsr::generate(comm, problem)?;
                Part { name: problem.to_string(), a, problem: Some(problem) }
            }
        };
        if part.a.global_rows() == 0 { Err(no_rows(&part.name)) } else { Ok(part) }
    }

    /// The right-hand side from a file or of the model problem. Collective.
    fn rhs(&self, file: Option<VectorFile<'_>>, progress: &Progress) -> Result<Option<Vec<f64>>, Failure> {
        match (file, self.problem) {
            (Some(file), _) => self.vector(file, RHS_HINT, progress).map(Some),
            (None, Some(problem)) => {
                let generator = problem.generator();
                Ok(Some(self.a.own_rows().map(|row| generator.rhs(row)).collect()))
            }
            (None, None) => Ok(None),
        }
    }

    /// This rank's rows of a vector with one value per row of the matrix; `hint` is for a file of
    /// another length. If a column is chosen, each rank reads the whole file. Collective.
    fn vector(&self, file: VectorFile<'_>, hint: &str, progress: &Progress) -> Result<Vec<f64>, Failure> {
        let comm = &**self.a.comm();
        agree_as(comm, check_readable(file.path))?;
        let misfit =
            |found: u64| file.misfit(found as usize, &self.name, self.a.global_rows() as usize, hint);
        if file.column.is_none() {
            return self.a.read_rhs(file.path).map_err(|error| match error {
                InputError::RightHandSide { found, .. } => misfit(found),
                InputError::Read(error) => file.unread(error),
                error => unread(error),
            });
        }
        let all = agree_as(comm, file.read(progress))?;
        let own = self.a.own_rows();
        match all.len() as u64 {
            found if found == self.a.global_rows() => Ok(all[own.start as usize..own.end as usize].to_vec()),
            found => Err(misfit(found)),
        }
    }

    /// The rigid-body modes of own rows, where nodes have a displacement in every dimension and
    /// their coordinates are known; then the matrix has as many unknowns per node as there are
    /// dimensions. Each rank reads the whole file. Collective.
    fn with_near_kernel(
        self,
        file: Option<&Path>,
        progress: &Progress,
    ) -> Result<(Self, Option<NearKernel>), Failure> {
        let (comm, rows) = (self.a.comm().clone(), self.a.own_rows());
        let own = |dimension: usize| rows.start / dimension as u64..rows.end / dimension as u64;
        let (dimension, points) = match (file, self.problem) {
            (Some(path), _) => {
                let all = self.a.global_rows();
                let read = Coordinates::read(path, &self.name, all, progress).and_then(|read| {
                    let dimension = read.dimension;
                    let nodes = read.checked()?.by_node(all as usize).map_err(unfit)?;
                    let distributed = || unfit(NearKernelError::Distributed.into());
                    Ok((dimension, nodes.ok_or_else(distributed)?))
                });
                let (dimension, (block, points)) = agree_as(&*comm, read)?;
                if block != dimension || dimension == 1 {
                    return Ok((self, None));
                }
                let own = own(dimension);
                (dimension, points[own.start as usize..own.end as usize].to_vec())
            }
            (None, Some(problem)) if problem.has_displacements() => {
                let generator = problem.generator();
                (3, own(3).map(|node| generator.coordinates(node)).collect())
            }
            _ => return Ok((self, None)),
        };
        // Refuses ranks that cut nodes apart, before their coordinates are used.
        let a = self.a.with_nodes(dimension)?;
        let kernel = rigid_body_modes(&*comm, &points, dimension).map_err(no_modes)?;
        Ok((Part { a, ..self }, Some(kernel)))
    }
}

/// The solver of all ranks. Its methods are collective.
struct OnRanks<'a> {
    ranks: &'a Ranks,
    solver: DistributedSolver,
}

impl SetUp for OnRanks<'_> {
    fn annihilates_constants(&self) -> bool {
        self.solver.annihilates_constants()
    }

    fn solve(
        &self,
        b: &[f64],
        guess: Option<&[f64]>,
        observer: &mut krylov::Observer<'_>,
    ) -> Result<Solution, Failure> {
        let options = self.solver.config().into();
        self.solver.solve_with(b, guess, &options, Some(observer)).map_err(refused)
    }

    fn slowest(&self, seconds: f64) -> f64 {
        self.ranks.comm.most(seconds)
    }

    /// The stages of setup are measured on this rank.
    fn outcome(&self, solution: &Solution, timing: (f64, f64)) -> Outcome {
        let peak = peak_bytes();
        let (comm, threads) = (&self.ranks.comm, self.ranks.threads);
        let most = comm.most(peak.unwrap_or(0) as f64) as u64;
        let total = comm.total(peak.unwrap_or(0));
        let ranks = ziggurat_report::Ranks {
            count: comm.size(),
            threads: threads.count,
            crowded: threads.crowded.map(|(threads, cores)| Crowded { threads, cores }),
            peak_bytes_total: peak.map(|_| total),
        };
        let solver = &self.solver;
        let levels = solver.levels().iter().map(level).collect();
        let device = solver.device_name();
        let peak = peak.map(|_| most);
        let outcome = Outcome::new(solution, solver.config(), levels, device, timing, peak, Some(ranks));
        let mut outcome = outcome.with_rounding(solver.rounding_slows()).with_stages(solver.stages());
        outcome.decisions = solver.decisions();
        outcome
    }
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
        smoother_bytes: level.smoother_bytes,
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

/// Writes the solution. The ranks send their parts to rank 0 one after the other, so that it holds
/// only one part at a time.
fn write(comm: &dyn Comm, path: &Path, rows: u64, own: &[f64]) -> Result<(), Failure> {
    let first = (comm.rank() == 0).then(|| VectorWriter::create(path, rows));
    let mut file = agree_as(comm, first.transpose().map_err(Failure::from))?;
    let mut written = Ok(());
    for rank in 0..comm.size() {
        let words = if comm.rank() == rank {
            vec![(0, own.iter().map(|x| x.to_bits()).collect())]
        } else {
            Vec::new()
        };
        for (_, words) in comm.deliver(words) {
            if let Some(file) = &mut file {
                let values: Vec<f64> = words.iter().map(|&bits| f64::from_bits(bits)).collect();
                written = written.and_then(|()| file.write(&values));
            }
        }
    }
    let finished = written.and_then(|()| file.map_or(Ok(()), VectorWriter::finish));
    agree_as(comm, finished.map_err(Failure::from))
}

/// The error for a file that could not be read.
fn unread(error: InputError) -> Failure {
    match error {
        InputError::Read(error) => error.into(),
        error => Failure::new(error.to_string(), "check the file: `ziggurat inspect` describes it"),
    }
}

/// The solver's error, with the hint that one process gives.
fn refused(error: DistributedError) -> Failure {
    match error {
        DistributedError::Solve(error) => super::refused(error),
        error => error.into(),
    }
}

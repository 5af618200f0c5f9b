//! The solver of a distributed system: set up once by all ranks, then used for any number of
//! solves.
//!
//! The steps are those of one process: the matrix is analysed, settings left open are
//! [resolved](SolverConfig::resolve), levels are built and lowered, and the outer iteration is that
//! of `ziggurat`, on distributed vectors.
//!
//! The caller may distribute rows arbitrarily. Internally, ranks own whole grains (see `setup`), so
//! that results do not depend on the number of ranks. Rows near the bounds of ranks are moved once,
//! and so are their elements of b and x in every solve.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use ziggurat::config::{ConfigError, Decision, Method, Reorder, SetupPlace};
use ziggurat::diagnose::{MatrixKind, NullSpace};
use ziggurat::events;
use ziggurat::{HostSystem, Iteration, Pace, Solution, SolveError, SolveOptions, SolverConfig, Stronger};
use ziggurat_amg::interpolate::{NearKernel, Symmetry};
use ziggurat_amg::{
    Cancel, CoarseningStop, Coarsest, ExactMatrix, Hierarchy, Level, MAX_SPARSE_ROWS, Multigrid, Setup,
};
use ziggurat_krylov::Observer;
use ziggurat_sparse::device::{Cpu, Device, DeviceError, DeviceExt, Vector};
use ziggurat_sparse::operator::{LinearOperator, Workspace};
use ziggurat_sparse::{Kind, MatrixError, trace};

use crate::comm::Comm;
use crate::device::Distributed;
use crate::error::{DistributedError, agree, agree_as, check_same, together};
use crate::levels::{Lowerable, is_shared, lower, positive_levels};
use crate::matrix::DistributedCsr;
use crate::partition::Partition;
use crate::placed::{check, oriented, placed, placed_kernel};
use crate::redistribution::Redistribution;
use crate::report::LevelReport;
use crate::setup::{grain, row_multiple};

/// A distributed system that is set up. Every method is collective.
///
/// ```
/// use std::sync::Arc;
/// use ziggurat::SolverConfig;
/// use ziggurat_mpi::{Alone, Comm, DistributedCsr, DistributedSolver};
/// let comm: Arc<dyn Comm> = Arc::new(Alone);
/// // -u'' on 1000 points. Under MPI every rank gives some of the rows.
/// let entries = (0..1000u64).flat_map(|i| {
///     let neighbours = [i.checked_sub(1), (i < 999).then_some(i + 1)];
///     [(i, i, 2.0)].into_iter().chain(neighbours.into_iter().flatten().map(move |j| (i, j, -1.0)))
/// });
/// let a = DistributedCsr::from_entries(&comm, 1000, 1, entries.collect())?;
/// let solver = DistributedSolver::new(&a, SolverConfig::default())?;
/// let solution = solver.solve(&vec![1.0; 1000])?;
/// assert!(solution.report.reason.is_converged());
/// # Ok::<(), ziggurat_mpi::DistributedError>(())
/// ```
pub struct DistributedSolver {
    pub(crate) comm: Arc<dyn Comm>,
    pub(crate) device: Distributed,
    /// The caller's distribution of rows, and the internal one.
    pub(crate) given: Partition,
    pub(crate) inside: Arc<Partition>,
    /// Between them: vectors, and the entries of the matrix.
    vectors: Redistribution,
    pub(crate) entries: Redistribution,
    pub(crate) kind: MatrixKind,
    pub(crate) levels: Vec<Lowerable>,
    pub(crate) iteration: Iteration,
    /// The near-kernel that the caller gave, in the internal distribution.
    pub(crate) near_kernel: Option<NearKernel>,
    pub(crate) pace: Pace,
    pub(crate) reports: Vec<LevelReport>,
    /// Memory for [`apply`](Self::apply), made by its first call.
    cycle: Mutex<Option<Cycle>>,
    stages: Vec<(&'static str, f64)>,
    pub(crate) stop: CoarseningStop,
    seconds: f64,
}

/// The work memory of a cycle, its input and its output.
type Cycle = (Workspace, Vector, Vector);

impl fmt::Debug for DistributedSolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DistributedSolver").field("levels", &self.reports).finish_non_exhaustive()
    }
}

/// The choices and a table of the levels.
impl fmt::Display for DistributedSolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SolverConfig { method, krylov, precision, smoother, .. } = self.config();
        writeln!(f, "{method}, {krylov}, {precision}, {}", smoother.kind)?;
        writeln!(f, "level       rows        entries  ranks  halo rows  format")?;
        for (index, level) in self.reports.iter().enumerate() {
            let LevelReport { rows, nnz, ranks, halo_rows, storage, format, .. } = level;
            writeln!(f, "{index:>5} {rows:>10} {nnz:>14} {ranks:>6} {halo_rows:>10}  {storage} {format}")?;
        }
        let (complexity, stop, seconds) = (self.operator_complexity(), self.stop, self.seconds);
        write!(f, "operator complexity {complexity:.2}; coarsening stopped: {stop}; {seconds:.3} s")
    }
}

impl DistributedSolver {
    /// Analyses the matrix, builds the hierarchy and lowers it.
    ///
    /// # Errors
    /// If the configuration is invalid, or the matrix is invalid on any rank. Then every rank
    /// returns an error.
    pub fn new(a: &DistributedCsr, config: SolverConfig) -> Result<Self, DistributedError> {
        Self::on(&Cpu::new(), a, None, config)
    }

    /// As [`new`](Self::new), with this rank's rows of the near-kernel: vectors that the matrix
    /// maps to nearly zero, such as the [rigid-body modes](crate::rigid_body_modes) of an elastic
    /// body.
    ///
    /// # Errors
    /// As [`new`](Self::new), and if the near-kernel does not fit the matrix.
    pub fn with_near_kernel(
        a: &DistributedCsr,
        kernel: &NearKernel,
        config: SolverConfig,
    ) -> Result<Self, DistributedError> {
        Self::on(&Cpu::new(), a, Some(kernel), config)
    }

    /// A solver on any device: every rank gives its own, all of the same kind, and this rank's rows
    /// of the near-kernel if it is known. Setup is on the CPUs; products run on the devices.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use ziggurat::SolverConfig;
    /// use ziggurat_mpi::{Alone, Comm, DistributedCsr, DistributedSolver};
    /// use ziggurat_sparse::device::Reference;
    /// let comm: Arc<dyn Comm> = Arc::new(Alone);
    /// let a = DistributedCsr::from_rows(&comm, 1, &[0, 1, 2], &[0, 1], &[2.0, 4.0])?;
    /// let solver = DistributedSolver::on(&Reference, &a, None, SolverConfig::default())?;
    /// assert!(solver.solve(&[1.0, 1.0])?.report.reason.is_converged());
    /// # Ok::<(), ziggurat_mpi::DistributedError>(())
    /// ```
    ///
    /// # Errors
    /// As [`DistributedSolver::new`] and [`DistributedSolver::with_near_kernel`], and if a level
    /// does not fit a device.
    pub fn on(
        device: &dyn Device,
        a: &DistributedCsr,
        kernel: Option<&NearKernel>,
        config: SolverConfig,
    ) -> Result<Self, DistributedError> {
        let device = Distributed::over(device, a.comm().clone());
        together(&**a.comm(), || Self::set_up_together(device, a, kernel, config))
    }

    pub(crate) fn set_up_together(
        device: Distributed,
        given: &DistributedCsr,
        kernel: Option<&NearKernel>,
        mut asked: SolverConfig,
    ) -> Result<Self, DistributedError> {
        let (start, comm) = (Instant::now(), given.comm().clone());
        let _setup = trace::stage("setup", None, given.global_rows());
        let diagnosis = trace::stage("diagnosis", None, given.global_rows());
        let vectors = kernel.map(NearKernel::count);
        check_same(&*comm, "configuration", &format!("{asked:?}"))?;
        check_same(&*comm, "number of near-kernel vectors", &format!("{vectors:?}"))?;
        agree(&*comm, asked.validate().map_err(SolveError::from))?;
        refuse(&*comm, &asked)?;
        agree(&*comm, check(given, kernel))?;
        let (negative, kind) = oriented(given, kernel.is_none())?;
        let given = negative.as_ref().unwrap_or(given);
        let mut config = resolved(&asked, &kind, &device);
        kind.check(&config, &device).map_err(SolveError::from)?;
        let symmetry = if kind.symmetric { Symmetry::Symmetric } else { Symmetry::General };
        let row_multiple = row_multiple(config.cycling().smoothers());
        let cancel =
            config.stopping.max_seconds.map_or(Cancel::NEVER, |seconds| Cancel::NEVER.within(seconds));
        let grid = kind.grid.as_ref();
        drop(diagnosis);
        let diagnosed = start.elapsed().as_secs_f64();

        let mut unit = grain(given.block(), row_multiple);
        if given.global_rows() <= config.hierarchy_config().coarse_rows as u64 {
            unit = given.global_rows().max(1);
        }
        let (hierarchy, inside, near_kernel) = loop {
            let inside = Arc::new(given.rows.aligned(&*comm, unit));
            let a = placed(given, &inside)?;
            let near_kernel = placed_kernel(given, &inside, kernel)?;
            let given_kernel = kernel.map(|_| near_kernel.clone());
            let hierarchy_config = config.hierarchy_config();
            let setup = Setup { config: &hierarchy_config, symmetry, row_multiple, grid, cancel: &cancel };
            let hierarchy = Hierarchy::of_matrix(a, near_kernel, &setup)?;
            if let Some(fewer) = positive_levels(&*comm, &hierarchy, &config, &kind) {
                (asked, config) = (asked.with_levels(fewer), config.with_levels(fewer));
                continue;
            }
            // A matrix that cannot be coarsened is solved on one rank if it is small enough.
            let on_several =
                hierarchy.levels().len() == 1 && is_shared(hierarchy.levels()[0].distributed_matrix());
            let solved = config.lowering().coarsest != Coarsest::Smoothed;
            if solved && comm.any(on_several) && given.global_rows() <= MAX_SPARSE_ROWS as u64 {
                unit = given.global_rows();
                continue;
            }
            break (hierarchy, inside, given_kernel);
        };
        let mut stages = hierarchy.stages();
        stages.insert(0, ("diagnosis", diagnosed));
        let (given, stop) = ((*given.rows).clone(), hierarchy.stop());
        let levels = hierarchy.into_levels();
        let made = Made { comm, given, inside, kind, levels, stop, near_kernel, stages, start };
        made.lowered(device, config, asked)
    }

    /// The same solver for a caller whose rows are distributed as in `other`, which has the same
    /// matrix. Collective.
    pub(crate) fn for_rows_of(mut self, other: &Self) -> Self {
        self.given = other.given.clone();
        self.vectors = Redistribution::new(&self.comm, &self.given, &self.inside);
        self.entries = of_entries(&self.vectors, &self.levels[0]);
        self
    }

    /// Solves A x = b from a zero guess. `b` and the solution's `x` hold the elements of this
    /// rank's rows; the report covers all ranks. A singular system is solved in the least-squares
    /// sense.
    ///
    /// # Errors
    /// If `b` does not have one element per row of this rank, on any rank.
    pub fn solve(&self, b: &[f64]) -> Result<Solution, DistributedError> {
        self.solve_with(b, None, &SolveOptions::from(self.iteration.config()), None)
    }

    /// As [`solve`](Self::solve), with an observer of every iteration that may request a stop; then
    /// all ranks stop.
    ///
    /// # Errors
    /// As [`solve`](Self::solve).
    pub fn solve_observed(
        &self,
        b: &[f64],
        observer: Option<&mut Observer<'_>>,
    ) -> Result<Solution, DistributedError> {
        self.solve_with(b, None, &SolveOptions::from(self.iteration.config()), observer)
    }

    /// As [`solve`](Self::solve), from this rank's rows of an optional guess, with per-solve
    /// overrides. All ranks give the same options. Either all or none give a guess, and either all
    /// or none an observer.
    ///
    /// # Errors
    /// As [`solve`](Self::solve), if the guess has another length, and if options differ between
    /// ranks.
    pub fn solve_with(
        &self,
        b: &[f64],
        guess: Option<&[f64]>,
        options: &SolveOptions,
        observer: Option<&mut Observer<'_>>,
    ) -> Result<Solution, DistributedError> {
        together(&*self.comm, || self.solve_together(b, guess, options, observer))
    }

    fn solve_together(
        &self,
        b: &[f64],
        guess: Option<&[f64]>,
        options: &SolveOptions,
        observer: Option<&mut Observer<'_>>,
    ) -> Result<Solution, DistributedError> {
        let _solve = trace::stage("solve", None, self.inside.global());
        let (guessed, observed) = (guess.is_some(), observer.is_some());
        let alike = format!("{options:?}, guess: {guessed}, observer: {observed}");
        check_same(
            &*self.comm,
            "set of options, including whether there is a guess and an observer,",
            &alike,
        )?;
        let expected = self.given.len();
        let fits = |what, found: usize| match found == expected {
            true => Ok(()),
            false => Err(MatrixError::Mismatch { what, expected, found }),
        };
        let checked = fits("elements of the right-hand side, one per row of this rank", b.len());
        let checked = checked.and_then(|()| match guess {
            Some(guess) => fits("elements of the guess, one per row of this rank", guess.len()),
            None => Ok(()),
        });
        agree(&*self.comm, checked)?;
        let b = self.vectors.inwards(b);
        // (−A)(−x) = b, where −A is set up.
        let guess = guess.map(|guess| self.in_sign(self.vectors.inwards(guess)));
        let raise = |to, _| match to {
            Stronger::Levels(kind) => lower(&self.levels, &self.config().in_precision(kind)).map(Some),
            Stronger::Smoother(_) | Stronger::Factors => Ok(None), // never asked for: see the configuration
        };
        let guess = guess.map(|x| self.device.upload(&x)).transpose();
        let guess = agree(&*self.comm, guess.map_err(SolveError::from))?;
        let finest = &self.levels[0];
        let (part, b) = (finest.part(&finest.a), &b[..]);
        let largest_row_error = self.kind.largest_row_error;
        let system = HostSystem { a: &|| part, largest_row_error, b };
        let solved = match self.iteration.solve_certified(&system, guess, options, observer, &raise) {
            // The message comes from the rank that failed.
            Err(SolveError::OtherProcess) => Ok(None),
            solved => solved.map(Some),
        };
        let Some(solution) = agree(&*self.comm, solved)? else { return Err(SolveError::OtherProcess.into()) };
        let Solution { x, report, promotion, traffic } = solution;
        if promotion.is_some() {
            self.forget_cycle();
        }
        self.pace.note(report.iterations);
        if self.comm.rank() == 0 {
            events::solved(&report, promotion.as_ref());
        }
        Ok(Solution { x: self.vectors.outwards(&self.in_sign(x)), report, promotion, traffic })
    }

    /// One multigrid cycle, z ≈ A⁻¹ r, as the preconditioner of another iteration. `r` and `z` hold
    /// the elements of this rank's rows. Collective.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use ziggurat::SolverConfig;
    /// use ziggurat_mpi::{Alone, Comm, DistributedCsr, DistributedSolver};
    /// let comm: Arc<dyn Comm> = Arc::new(Alone);
    /// let a = DistributedCsr::from_rows(&comm, 1, &[0, 1, 2], &[0, 1], &[2.0, 4.0])?;
    /// let solver = DistributedSolver::new(&a, SolverConfig::default())?;
    /// let mut z = [0.0; 2];
    /// solver.apply(&[1.0, 1.0], &mut z)?;
    /// assert!((z[0] - 0.5).abs() < 1e-12 && (z[1] - 0.25).abs() < 1e-12);
    /// # Ok::<(), ziggurat_mpi::DistributedError>(())
    /// ```
    ///
    /// # Errors
    /// If `r` or `z` does not have one element per row of this rank, on any rank.
    pub fn apply(&self, r: &[f64], z: &mut [f64]) -> Result<(), DistributedError> {
        together(&*self.comm, || self.apply_together(Ok::<_, DistributedError>((r, z))))
    }

    /// As [`apply`](Self::apply), if this rank has vectors; its error is an error on all ranks.
    pub(crate) fn apply_together<E: fmt::Display + From<DistributedError>>(
        &self,
        vectors: Result<(&[f64], &mut [f64]), E>,
    ) -> Result<(), E> {
        let (device, cycle) = (&self.device, self.iteration.preconditioner());
        let mut kept = self.cycle.lock().unwrap_or_else(PoisonError::into_inner);
        let failed = |error: DeviceError| DistributedError::from(SolveError::from(error));
        let ready = vectors.and_then(|(r, z)| {
            let expected = self.given.len();
            if let Some(found) = [r.len(), z.len()].into_iter().find(|&found| found != expected) {
                let what = "elements of a vector, one per row of this rank";
                return Err(DistributedError::from(MatrixError::Mismatch { what, expected, found }).into());
            }
            let rows = self.inside.len();
            let make = || {
                let vector = || device.zeros(Kind::F64, rows);
                Ok((cycle.workspace(device, Kind::F64)?, vector()?, vector()?))
            };
            let memory = kept.take().map_or_else(make, Ok).map_err(failed)?;
            Ok((r, z, memory))
        });
        let (r, z, (mut work, mut input, mut output)) = agree_as(&*self.comm, ready)?;
        let written = device.overwrite(&self.vectors.inwards(r), &mut input);
        agree(&*self.comm, written.map_err(SolveError::from))?;
        cycle.apply(device, &input, &mut output, &mut work);
        let mut inside = vec![0.0; self.inside.len()];
        agree(&*self.comm, device.copy_to(&output, &mut inside).map_err(SolveError::from))?;
        z.copy_from_slice(&self.vectors.outwards(&self.in_sign(inside)));
        *kept = Some((work, input, output));
        Ok(())
    }

    /// −x if the levels are those of −A, else x.
    fn in_sign(&self, mut x: Vec<f64>) -> Vec<f64> {
        if self.kind.negated {
            x.iter_mut().for_each(|x| *x = -*x);
        }
        x
    }

    /// Drops the memory of a cycle that is no longer in use.
    pub(crate) fn forget_cycle(&self) {
        *self.cycle.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// The name of the devices in reports.
    pub fn device_name(&self) -> String {
        self.device.name()
    }

    /// The choices that the configuration left open, with the reason for each.
    pub fn decisions(&self) -> Vec<Decision> {
        let mut decisions = self.iteration.asked().decisions(self.kind.facts(&self.device));
        decisions.extend(self.config().plain_finest(self.levels.len(), self.levels[0].radius));
        decisions
    }

    /// Whether a slow solve has found that rounding to the precision that was asked for slows it.
    pub fn rounding_slows(&self) -> bool {
        self.iteration.rounding_slows()
    }

    /// Whether the matrix is symmetric and its rows sum to zero, so that the constants are in its
    /// null space. Right-hand sides in its range then sum to zero.
    pub fn annihilates_constants(&self) -> bool {
        self.kind.symmetric && self.kind.annihilates_constants
    }

    /// The configuration in use, with all settings resolved.
    pub fn config(&self) -> &SolverConfig {
        self.iteration.config()
    }

    /// The global ids of this rank's rows: vectors have an element for each of them.
    pub fn own_rows(&self) -> std::ops::Range<u64> {
        self.given.own()
    }

    /// The number of entries of this rank's rows.
    pub fn own_nnz(&self) -> usize {
        self.entries.given_len()
    }

    /// Entries of all levels, relative to those of the finest.
    pub fn operator_complexity(&self) -> f64 {
        let all: u64 = self.reports.iter().map(|level| level.nnz).sum();
        all as f64 / self.reports.first().map_or(1, |finest| finest.nnz.max(1)) as f64
    }

    /// The levels over all ranks, finest first; the same on every rank.
    pub fn levels(&self) -> &[LevelReport] {
        &self.reports
    }

    /// The stages of setup in order, with their seconds on this rank.
    pub fn stages(&self) -> &[(&'static str, f64)] {
        &self.stages
    }

    /// Why coarsening stopped.
    pub fn stop(&self) -> CoarseningStop {
        self.stop
    }

    /// Seconds of setup on this rank.
    pub fn setup_seconds(&self) -> f64 {
        self.seconds
    }
}

/// Refuses what ranks do not have.
pub(crate) fn refuse(comm: &dyn Comm, asked: &SolverConfig) -> Result<(), SolveError> {
    let refused = match (asked.method, asked.reorder, asked.setup) {
        (Method::Direct, ..) if comm.size() > 1 => {
            ("method", "`direct` needs one process; choose a multigrid method, or run without mpirun")
        }
        (Method::Cpr, ..) => {
            ("method", "`cpr` is not distributed yet; choose classical, or run without mpirun")
        }
        (_, Reorder::On, _) => {
            ("reorder", "ranks keep the given order; leave it at auto, or run without mpirun")
        }
        (_, _, SetupPlace::Device) => {
            ("setup", "ranks set up on the host; leave it there, or run without mpirun")
        }
        _ => return Ok(()),
    };
    Err(ConfigError::Value { path: refused.0.into(), reason: refused.1.into() }.into())
}

/// The configuration for this matrix on ranks. Factors and refinement need one process. Without the
/// fallback, an iteration needs no observer, which costs a message.
pub(crate) fn resolved(asked: &SolverConfig, kind: &MatrixKind, device: &dyn Device) -> SolverConfig {
    SolverConfig { fallback: false, refinement_steps: 0, ..asked.resolve(kind.facts(device)) }
}

/// The distributions of the entries of a matrix, given those of its rows. Collective.
fn of_entries(vectors: &Redistribution, finest: &Lowerable) -> Redistribution {
    let inside = finest.a.row_lengths();
    let lengths: Vec<f64> = inside.iter().map(|&length| length as f64).collect();
    let given = vectors.outwards(&lengths).into_iter().map(|length| length as usize);
    let sums = |lengths: &mut dyn Iterator<Item = usize>| {
        let mut sums = vec![0];
        lengths.for_each(|length| sums.push(sums[sums.len() - 1] + length));
        sums
    };
    vectors.of_entries(&sums(&mut { given }), &sums(&mut inside.into_iter()))
}

/// Levels before lowering, and what a solver keeps of how they were made.
pub(crate) struct Made {
    pub(crate) comm: Arc<dyn Comm>,
    pub(crate) given: Partition,
    pub(crate) inside: Arc<Partition>,
    pub(crate) kind: MatrixKind,
    pub(crate) levels: Vec<Level<DistributedCsr>>,
    pub(crate) stop: CoarseningStop,
    pub(crate) near_kernel: Option<NearKernel>,
    pub(crate) stages: Vec<(&'static str, f64)>,
    pub(crate) start: Instant,
}

impl Made {
    /// Lowers the levels. Collective.
    pub(crate) fn lowered(
        self,
        device: Distributed,
        config: SolverConfig,
        asked: SolverConfig,
    ) -> Result<DistributedSolver, DistributedError> {
        let Made { comm, given, inside, kind, levels, stop, near_kernel, mut stages, start } = self;
        let lowering = Instant::now();
        let conversion = trace::stage("conversion", None, given.global());
        let Lowered { levels, multigrid, matrix, kernel, reports } =
            Lowered::new(&comm, &device, levels, &kind, &config)?;
        drop(conversion);
        let iteration = Iteration::new(&device, matrix, multigrid, kernel, config, asked);
        stages.push(("conversion", lowering.elapsed().as_secs_f64()));
        let vectors = Redistribution::new(&comm, &given, &inside);
        let entries = of_entries(&vectors, &levels[0]);
        let seconds = start.elapsed().as_secs_f64();
        if comm.rank() == 0 {
            let levels: Vec<_> = reports.iter().map(LevelReport::summary).collect();
            events::set_up(&levels, iteration.config(), &stages);
        }
        Ok(DistributedSolver {
            comm,
            device,
            given,
            inside,
            vectors,
            entries,
            kind,
            levels,
            iteration,
            near_kernel,
            pace: Pace::default(),
            reports,
            cycle: Mutex::new(None),
            stages,
            stop,
            seconds,
        })
    }
}

/// Levels on this rank's device, and what they were made from.
pub(crate) struct Lowered {
    pub(crate) levels: Vec<Lowerable>,
    pub(crate) multigrid: Multigrid,
    pub(crate) matrix: Box<dyn LinearOperator>,
    /// The known null space.
    pub(crate) kernel: NullSpace,
    pub(crate) reports: Vec<LevelReport>,
}

impl Lowered {
    /// Collective.
    pub(crate) fn new(
        comm: &Arc<dyn Comm>,
        device: &Distributed,
        levels: Vec<Level<DistributedCsr>>,
        kind: &MatrixKind,
        config: &SolverConfig,
    ) -> Result<Self, DistributedError> {
        let facts = LevelReport::facts(&levels);
        let kernel = agree(&**comm, kind.null_space(device, levels[0].distributed_matrix(), None))?;
        let (cycling, coarsest) = (config.cycling(), config.lowering().coarsest);
        let levels = levels.into_iter().enumerate();
        let levels = levels
            .map(|(index, level)| Lowerable::new(device, level, cycling.on_level(index).smoother, coarsest));
        // A rank that fails on one level takes part in the messages of the others.
        let levels: Vec<Result<_, _>> = levels.collect();
        let levels: Vec<Lowerable> = agree(&**comm, levels.into_iter().collect::<Result<_, _>>())?;
        let multigrid = agree(&**comm, lower(&levels, config))?;
        let reports = LevelReport::gather(&**comm, facts, &multigrid.stored());
        let finest = &levels[0];
        let exact = ExactMatrix::of_part(finest.part(&finest.a), finest.block(), config.lowering().formats);
        let matrix = match finest.shared {
            true => exact.operator_of_part(device, &finest.a.remote),
            false => exact.operator(device),
        };
        let matrix = agree(&**comm, matrix.map_err(SolveError::from))?;
        Ok(Lowered { levels, multigrid, matrix, kernel, reports })
    }
}

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

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use ziggurat::config::{ConfigError, Method};
use ziggurat::diagnose::MatrixKind;
use ziggurat::events;
use ziggurat::{Iteration, Solution, SolveError, SolveOptions, SolverConfig, Stronger, certified};
use ziggurat_amg::interpolate::{NearKernel, Symmetry};
use ziggurat_amg::smoother::{Smoother, SmootherData};
use ziggurat_amg::{
    COARSE_FALLBACK_SMOOTHER, CoarseningStop, Coarsest, ExactMatrix, Hierarchy, InverseSource, Level,
    LevelSource, MAX_SPARSE_ROWS, Multigrid, OwnMatrix, Part, Setup,
};
use ziggurat_krylov::Observer;
use ziggurat_sparse::{MatrixError, trace};

use crate::comm::Comm;
use crate::device::Distributed;
use crate::error::{DistributedError, agree, check_same, together};
use crate::matrix::DistributedCsr;
use crate::partition::Partition;
use crate::report::LevelReport;
use crate::rows::send_home;
use crate::setup::{self, Transfer, grain, moved, row_by_row, row_multiple};
use crate::split::Split;

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
    comm: Arc<dyn Comm>,
    /// The caller's distribution of rows, and the internal one.
    given: Partition,
    inside: Arc<Partition>,
    kind: MatrixKind,
    levels: Vec<Lowerable>,
    iteration: Iteration<Distributed>,
    config: SolverConfig,
    reports: Vec<LevelReport>,
    stages: Vec<(&'static str, f64)>,
    stop: CoarseningStop,
    seconds: f64,
}

impl fmt::Debug for DistributedSolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DistributedSolver").field("levels", &self.reports).finish_non_exhaustive()
    }
}

/// A level as input to lowering.
struct Lowerable {
    device: Distributed,
    /// Whether several ranks own rows of it.
    shared: bool,
    a: Split,
    block: usize,
    radius: Option<f64>,
    smoother: Option<LevelSmoother>,
    transfer: Option<(Split, Split)>,
    /// The number of the first own row.
    first_row: u64,
}

/// The smoother's data of a level.
enum LevelSmoother {
    /// Data of own rows alone: a diagonal, or factors within blocks of rows.
    Own(SmootherData),
    /// An approximate inverse.
    Inverse(Box<DistributedInverse>),
}

/// The factors of an approximate inverse, and the damping, if that is given.
struct DistributedInverse {
    first: Split,
    second: Option<Split>,
    omega: Option<f64>,
}

impl DistributedSolver {
    /// Analyses the matrix, builds the hierarchy and lowers it.
    ///
    /// # Errors
    /// If the configuration is invalid, or the matrix is invalid on any rank. Then every rank
    /// returns an error.
    pub fn new(a: &DistributedCsr, config: SolverConfig) -> Result<Self, DistributedError> {
        Self::set_up(a, None, config)
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
        Self::set_up(a, Some(kernel), config)
    }

    fn set_up(
        given: &DistributedCsr,
        kernel: Option<&NearKernel>,
        asked: SolverConfig,
    ) -> Result<Self, DistributedError> {
        together(&**given.comm(), || Self::set_up_together(given, kernel, asked))
    }

    fn set_up_together(
        given: &DistributedCsr,
        kernel: Option<&NearKernel>,
        asked: SolverConfig,
    ) -> Result<Self, DistributedError> {
        let (start, comm) = (Instant::now(), given.comm().clone());
        let _setup = trace::stage("setup", None, given.global_rows());
        let diagnosis = trace::stage("diagnosis", None, given.global_rows());
        let vectors = kernel.map(NearKernel::count);
        check_same(&*comm, "configuration", &format!("{asked:?}"))?;
        check_same(&*comm, "number of near-kernel vectors", &format!("{vectors:?}"))?;
        agree(&*comm, asked.validate().map_err(SolveError::from))?;
        let refused = match asked.method {
            Method::Direct if comm.size() > 1 => {
                Some("`direct` needs one process; choose a multigrid method, or run without mpirun")
            }
            Method::Structured => {
                Some("`structured` is not distributed yet; choose another method, or run without mpirun")
            }
            Method::Cpr => Some("`cpr` is not distributed yet; choose classical, or run without mpirun"),
            _ => None,
        };
        if let Some(reason) = refused {
            let (path, reason) = ("method".into(), reason.into());
            return Err(SolveError::from(ConfigError::Value { path, reason }).into());
        }
        agree(&*comm, check(given, kernel))?;
        let device = Distributed::new(comm.clone());
        let kind = MatrixKind::of(given)?;
        // Factors and refinement need one process. Without the fallback, an iteration needs no
        // observer, which costs a message.
        let config =
            SolverConfig { fallback: false, refinement_steps: 0, ..asked.resolve(kind.facts(&device)) };
        config.check_for(kind.facts(&device)).map_err(SolveError::from)?;
        let hierarchy_config = config.hierarchy_config();
        let symmetry = if kind.symmetric { Symmetry::Symmetric } else { Symmetry::General };
        let cycling = config.cycling();
        let row_multiple = row_multiple(cycling.smoothers());
        let setup = Setup { config: &hierarchy_config, symmetry, row_multiple };
        drop(diagnosis);
        let diagnosed = start.elapsed().as_secs_f64();

        let mut unit = grain(given.block(), row_multiple);
        if given.global_rows() <= hierarchy_config.coarse_rows as u64 {
            unit = given.global_rows().max(1);
        }
        let (hierarchy, inside) = loop {
            let inside = Arc::new(given.rows.aligned(&*comm, unit));
            let a = placed(given, &inside)?;
            let kernel = placed_kernel(given, &inside, kernel)?;
            let hierarchy = Hierarchy::of_matrix(a, kernel, &setup)?;
            // A matrix that cannot be coarsened is solved on one rank if it is small enough.
            let on_several =
                hierarchy.levels().len() == 1 && is_shared(hierarchy.levels()[0].distributed_matrix());
            let solved = config.lowering().coarsest != Coarsest::Smoothed;
            if solved && comm.any(on_several) && given.global_rows() <= MAX_SPARSE_ROWS as u64 {
                unit = given.global_rows();
                continue;
            }
            break (hierarchy, inside);
        };
        let lowering = Instant::now();
        let conversion = trace::stage("conversion", None, given.global_rows());
        let (mut stages, stop) = (hierarchy.stages(), hierarchy.stop());
        let facts = LevelReport::facts(hierarchy.levels());
        let kernel = kind.null_space(&device, hierarchy.levels()[0].distributed_matrix());
        let kernel = agree(&*comm, kernel)?;
        let coarsest = config.lowering().coarsest;
        let levels = hierarchy.into_levels().into_iter().enumerate();
        let levels =
            levels.map(|(index, level)| Lowerable::new(level, cycling.on_level(index).smoother, coarsest));
        // A rank that fails on one level takes part in the messages of the others.
        let levels: Vec<Result<Lowerable, _>> = levels.collect();
        let lowerable: Vec<Lowerable> = agree(&*comm, levels.into_iter().collect::<Result<_, _>>())?;
        let multigrid = agree(&*comm, lower(&lowerable, &config))?;
        let reports = LevelReport::gather(&*comm, facts, &multigrid.stored());
        let finest = &lowerable[0];
        let exact = ExactMatrix::of_part(finest.part(&finest.a), finest.block, config.lowering().formats);
        let matrix = match finest.shared {
            true => exact.operator_of_part(&device, &finest.a.remote),
            false => exact.operator(&device),
        };
        let matrix = agree(&*comm, matrix.map_err(SolveError::from))?;
        drop(conversion);
        let iteration = Iteration::new(device, matrix, multigrid, kernel, config.clone(), asked);
        stages.insert(0, ("diagnosis", diagnosed));
        stages.push(("conversion", lowering.elapsed().as_secs_f64()));
        let seconds = start.elapsed().as_secs_f64();
        if comm.rank() == 0 {
            let levels: Vec<_> = reports.iter().map(LevelReport::summary).collect();
            events::set_up(&levels, &config, &stages);
        }
        let given = (*given.rows).clone();
        let levels = lowerable;
        Ok(DistributedSolver {
            comm,
            given,
            inside,
            kind,
            levels,
            iteration,
            config,
            reports,
            stages,
            stop,
            seconds,
        })
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
        let inside = |x: &[f64]| moved(&*self.comm, &self.given, &self.inside, 1, x);
        let (b, guess) = (inside(b), guess.map(inside));
        let raise = |to| match to {
            Stronger::Levels(kind) => lower(&self.levels, &self.config.in_precision(kind)).map(Some),
            Stronger::Smoother(_) | Stronger::Factors => Ok(None), // never asked for: see the configuration
        };
        let solved = match self.iteration.solve(b.clone(), guess, options, observer, raise) {
            // The message comes from the rank that failed.
            Err(SolveError::OtherProcess) => Ok(None),
            solved => solved.map(Some),
        };
        let Some(solution) = agree(&*self.comm, solved)? else { return Err(SolveError::OtherProcess.into()) };
        let (finest, device) = (&self.levels[0], &self.iteration.device);
        let (part, stopping) = (finest.part(&finest.a), &options.stopping);
        let report =
            certified(solution.report, device, part, self.kind.largest_row_sum, stopping, &b, &solution.x);
        let report = agree(&*self.comm, report.map_err(SolveError::from))?;
        let solution = Solution { report, ..solution };
        let x = moved(&*self.comm, &self.inside, &self.given, 1, &solution.x);
        if self.comm.rank() == 0 {
            events::solved(&solution.report, solution.promotion.as_ref());
        }
        Ok(Solution { x, ..solution })
    }

    /// Whether the matrix is symmetric and its rows sum to zero, so that the constants are in its
    /// null space. Right-hand sides in its range then sum to zero.
    pub fn annihilates_constants(&self) -> bool {
        self.kind.symmetric && self.kind.annihilates_constants
    }

    /// The configuration in use, with all settings resolved.
    pub fn config(&self) -> &SolverConfig {
        &self.config
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

/// Rejects a matrix or a near-kernel that is not finite or does not fit.
fn check(a: &DistributedCsr, kernel: Option<&NearKernel>) -> Result<(), DistributedError> {
    let finite = a.view().check_finite().map_err(|error| a.with_global_ids(error.into()));
    finite?;
    let mismatch = |what, expected, found| Err(MatrixError::Mismatch { what, expected, found }.into());
    match kernel {
        Some(kernel) if kernel.rows() != a.own.len() => mismatch(
            "values of each near-kernel vector, one per row of this rank",
            a.own.len(),
            kernel.rows(),
        ),
        Some(kernel) if kernel.block() != a.block() => {
            mismatch("unknowns per node of the near-kernel", a.block(), kernel.block())
        }
        _ => Ok(()),
    }
}

/// The matrix with its rows distributed as `inside`.
fn placed(a: &DistributedCsr, inside: &Arc<Partition>) -> Result<DistributedCsr, DistributedError> {
    let comm = a.comm();
    if !comm.any(a.rows.own() != inside.own()) {
        return Ok(a.clone());
    }
    let home = send_home(&**comm, inside, a.entries());
    DistributedCsr::square(comm, inside.clone(), a.block(), home.named(&inside.own()))
}

/// The near-kernel of those rows; constants if none is given.
fn placed_kernel(
    a: &DistributedCsr,
    inside: &Partition,
    kernel: Option<&NearKernel>,
) -> Result<NearKernel, DistributedError> {
    let comm = &**a.comm();
    let Some(kernel) = kernel else { return agree(comm, NearKernel::constants(inside.len(), a.block())) };
    let count = kernel.count();
    // A constant must have the same value on every rank.
    let value = kernel.vectors().values().first().copied();
    let (least, most) = (
        comm.most(value.map_or(f64::NEG_INFINITY, |value| -value)),
        comm.most(value.unwrap_or(f64::NEG_INFINITY)),
    );
    let constant = !comm.any(!kernel.is_constant()) && -least == most;
    let values = moved(comm, &a.rows, inside, count, &row_by_row(kernel));
    agree(comm, setup::near_kernel(&values, kernel.block(), count, inside.len(), constant))
}

/// Whether several ranks own rows of the matrix. Collective.
fn is_shared(a: &DistributedCsr) -> bool {
    a.comm().total(u64::from(!a.rows.is_empty())) > 1
}

impl Lowerable {
    /// Computes the smoother's data, which reads whole rows, and splits own from remote columns.
    /// The last level is solved directly if it is on one rank, and smoothed otherwise.
    fn new(
        level: Level<DistributedCsr>,
        smoother: Smoother,
        coarsest: Coarsest,
    ) -> Result<Self, DistributedError> {
        let (a, radius, transfer) = level.into_parts();
        let comm = a.comm().clone();
        let smoother = match transfer {
            Some(_) => Some(smoother),
            None if coarsest == Coarsest::Smoothed => Some(smoother),
            None if is_shared(&a) => Some(COARSE_FALLBACK_SMOOTHER),
            None => None,
        };
        let smoother = smoother.map(|smoother| LevelSmoother::new(&a, smoother, radius)).transpose()?;
        let transfer = match transfer {
            Some(Transfer { r, p }) => Some((Split::of(r)?, Split::of(p)?)),
            None => None,
        };
        Ok(Lowerable {
            device: Distributed::new(comm.clone()),
            shared: comm.size() > 1 && smoother.is_some(),
            block: a.block(),
            first_row: a.own_rows().start,
            a: Split::of(a)?,
            radius,
            smoother,
            transfer,
        })
    }

    fn part<'a>(&self, split: &'a Split) -> Part<'a, Distributed> {
        Part { own: OwnMatrix::Rows(&split.own), remote: self.shared.then_some(&split.remote) }
    }

    fn source(&self) -> LevelSource<'_, Distributed> {
        LevelSource {
            device: &self.device,
            a: self.part(&self.a),
            block: self.block,
            host: None,
            radius: self.radius,
            smoother: match &self.smoother {
                Some(LevelSmoother::Own(data)) => Some(data),
                _ => None,
            },
            inverse: match &self.smoother {
                Some(LevelSmoother::Inverse(inverse)) => Some(InverseSource {
                    first: self.part(&inverse.first),
                    second: inverse.second.as_ref().map(|second| self.part(second)),
                    omega: inverse.omega,
                }),
                _ => None,
            },
            first_row: self.first_row,
            transfer: self.transfer.as_ref().map(|(r, p)| (self.part(r), self.part(p))),
        }
    }
}

impl LevelSmoother {
    /// Computes the data from own rows and those of other ranks that the smoother reads.
    fn new(a: &DistributedCsr, smoother: Smoother, radius: Option<f64>) -> Result<Self, DistributedError> {
        let known = match smoother.depth() {
            0 => Cow::Borrowed(a),
            depth => a.with_halo(depth)?,
        };
        let made = smoother.data(known.view(), &known.around.rows(), radius);
        match agree(&**a.comm(), made.map_err(|error| known.with_global_ids(error)))? {
            SmootherData::Inverse(inverse) => {
                let first = known.of_own_rows(&inverse.factor)?;
                let second = match inverse.is_product {
                    true => Some(Split::of(first.transposed(a.block())?)?),
                    false => None,
                };
                let (first, omega) = (Split::of(first)?, inverse.omega);
                Ok(LevelSmoother::Inverse(Box::new(DistributedInverse { first, second, omega })))
            }
            own => Ok(LevelSmoother::Own(own)),
        }
    }
}

/// Moves the levels to this rank's device.
fn lower(levels: &[Lowerable], config: &SolverConfig) -> Result<Multigrid<Distributed>, SolveError> {
    let sources: Vec<_> = levels.iter().map(Lowerable::source).collect();
    Ok(Multigrid::new(&sources, &config.cycling(), |index| config.precision.level(index), config.lowering())?)
}

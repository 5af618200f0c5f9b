//! The solver of a distributed system: set up once by all ranks, solved with as often as needed.
//!
//! The same way as in one process: the matrix is looked at, what is left to it is [decided](SolverConfig::resolve), levels are
//! built and lowered, and the outer iteration is `ziggurat`'s own, over vectors that are spread over ranks.
//!
//! Rows may lie on ranks as the caller likes. Inside, ranks own whole grains (see `setup`), so that results do not depend on how many
//! ranks there are: rows near the borders of ranks are moved once, and so are their parts of b and x in every solve.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use ziggurat::{Iteration, Solution, SolveError, SolveOptions, SolverConfig};
use ziggurat_amg::interpolate::{NearKernel, Symmetry};
use ziggurat_amg::{ExactMatrix, LevelSource, MAX_SPARSE_ROWS, Multigrid, Part};
use ziggurat_krylov::Observer;
use ziggurat_sparse::MatrixError;

use crate::comm::Comm;
use crate::device::Distributed;
use crate::error::{DistributedError, agree};
use crate::matrix::DistributedCsr;
use crate::nature::Nature;
use crate::partition::Partition;
use crate::report::LevelReport;
use crate::rows::send_home;
use crate::setup::{self, Plan, grain, moved};
use crate::split::Split;

/// A distributed system that is set up. Every method is called by all ranks.
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
    /// As the caller has the rows, and as they lie inside.
    given: Partition,
    inside: Arc<Partition>,
    levels: Vec<Lowerable>,
    iteration: Iteration<Distributed>,
    config: SolverConfig,
    reports: Vec<LevelReport>,
    seconds: f64,
}

impl fmt::Debug for DistributedSolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DistributedSolver").field("levels", &self.reports).finish_non_exhaustive()
    }
}

/// A level as lowering reads it.
struct Lowerable {
    device: Distributed,
    /// Whether several ranks have rows of it.
    shared: bool,
    a: Split,
    block: usize,
    radius: Option<f64>,
    smoother: Option<ziggurat_amg::smoother::SmootherData>,
    transfer: Option<(Split, Split)>,
}

impl DistributedSolver {
    /// Looks at the matrix, builds the hierarchy and lowers it.
    ///
    /// # Errors
    /// If the configuration makes no sense, or a rank's part of the matrix is at fault; then every rank has an error.
    pub fn new(a: &DistributedCsr, config: SolverConfig) -> Result<Self, DistributedError> {
        Self::set_up(a, None, config)
    }

    /// As [`new`](Self::new), with this rank's rows of what the matrix maps to almost zero: the [rigid-body modes](crate::rigid_body_modes)
    /// of an elastic body.
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
        let (start, comm) = (Instant::now(), given.comm().clone());
        agree(&*comm, asked.validate().map_err(SolveError::from))?;
        agree(&*comm, check(given, kernel))?;
        let nature = Nature::of(given)?;
        let config = asked.resolve(nature.facts);
        let hierarchy = config.hierarchy_config();
        let symmetry = if nature.facts.symmetric { Symmetry::Symmetric } else { Symmetry::General };
        let plan = Plan { config: &hierarchy, smoother: config.cycling().smoother, symmetry };

        let mut unit = grain(given.block(), plan.smoother);
        if given.global_rows() <= hierarchy.coarse_rows as u64 {
            unit = given.global_rows().max(1);
        }
        let (levels, inside) = loop {
            let inside = Arc::new(given.rows.aligned(&*comm, unit));
            let a = placed(given, &inside)?;
            let kernel = placed_kernel(given, &inside, kernel)?;
            let levels = setup::build(a, &kernel, &plan, 0)?;
            // A matrix that cannot be coarsened is solved by one rank, if it can be.
            let on_several = levels.len() == 1 && levels[0].smoother.is_some();
            if comm.any(on_several) && given.global_rows() <= MAX_SPARSE_ROWS as u64 {
                unit = given.global_rows();
                continue;
            }
            break (levels, inside);
        };
        let facts = LevelReport::facts(&levels);
        let lowerable = agree(&*comm, levels.into_iter().map(Lowerable::new).collect::<Result<Vec<_>, _>>())?;
        let multigrid = agree(&*comm, lower(&lowerable, &config))?;
        let reports = LevelReport::gather(&*comm, facts, &multigrid.stored());
        let finest = &lowerable[0];
        let exact = ExactMatrix::of_part(finest.part(&finest.a), finest.block, config.lowering().formats);
        let device = Distributed::new(comm.clone());
        let matrix = match finest.shared {
            true => exact.operator_of_part(&device, &finest.a.remote),
            false => exact.operator(&device),
        };
        let matrix = agree(&*comm, matrix.map_err(SolveError::from))?;
        let constant = (given.global_rows() as f64).sqrt().recip();
        let in_kernel = nature.facts.symmetric && nature.annihilates_constants;
        let kernel = if in_kernel { vec![vec![constant; inside.len()]] } else { Vec::new() };
        let iteration = Iteration::new(device, matrix, multigrid, kernel, config.clone(), asked);
        let seconds = start.elapsed().as_secs_f64();
        let given = (*given.rows).clone();
        Ok(DistributedSolver { comm, given, inside, levels: lowerable, iteration, config, reports, seconds })
    }

    /// Solves A x = b from a zero guess; `b` and the solution's `x` have the elements of this rank's rows, its report is that of the whole.
    /// A singular system is solved in the least-squares sense.
    ///
    /// # Errors
    /// If `b` does not have as many elements as this rank has rows, on any rank.
    pub fn solve(&self, b: &[f64]) -> Result<Solution, DistributedError> {
        self.solve_observed(b, None)
    }

    /// As [`solve`](Self::solve), with somebody who is told of every iteration, and may ask to stop: then all ranks stop.
    ///
    /// # Errors
    /// As [`solve`](Self::solve).
    pub fn solve_observed(
        &self,
        b: &[f64],
        observer: Option<&mut Observer<'_>>,
    ) -> Result<Solution, DistributedError> {
        let fits = if b.len() == self.given.len() {
            Ok(())
        } else {
            let what = "elements of the right-hand side, against this rank's rows";
            Err(MatrixError::Mismatch { what, expected: self.given.len(), found: b.len() })
        };
        agree(&*self.comm, fits)?;
        let b = moved(&*self.comm, &self.given, &self.inside, 1, b);
        let widen = || {
            let config = SolverConfig { precision: ziggurat::config::Precision::F64, ..self.config.clone() };
            lower(&self.levels, &config)
        };
        let options = SolveOptions::from(self.iteration.config());
        let solution = agree(&*self.comm, self.iteration.solve(b, None, &options, observer, widen))?;
        let x = moved(&*self.comm, &self.inside, &self.given, 1, &solution.x);
        Ok(Solution { x, ..solution })
    }

    /// The configuration in use: what was left to the matrix is decided.
    pub fn config(&self) -> &SolverConfig {
        &self.config
    }

    /// The levels over all ranks, finest first: the same on every rank.
    pub fn levels(&self) -> &[LevelReport] {
        &self.reports
    }

    /// Seconds that setup took on this rank.
    pub fn setup_seconds(&self) -> f64 {
        self.seconds
    }
}

/// Refuses what no level could be built of.
fn check(a: &DistributedCsr, kernel: Option<&NearKernel>) -> Result<(), DistributedError> {
    let finite = a.view().check_finite().map_err(|error| a.globally(error.into()));
    finite?;
    let mismatch = |what, expected, found| Err(MatrixError::Mismatch { what, expected, found }.into());
    match kernel {
        Some(kernel) if kernel.rows() != a.own.len() => mismatch(
            "values of each near-kernel vector, against this rank's rows",
            a.own.len(),
            kernel.rows(),
        ),
        Some(kernel) if kernel.block() != a.block() => {
            mismatch("unknowns per node of the near-kernel, against the matrix's", a.block(), kernel.block())
        }
        _ => Ok(()),
    }
}

/// The matrix with its rows where they are to be.
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
    let Some(kernel) = kernel else { return Ok(NearKernel::constants(inside.len(), a.block())?) };
    let comm = &**a.comm();
    let (rows, count) = (kernel.rows(), kernel.count());
    // The same on every rank, or it is not constant.
    let value = kernel.vectors().values().first().copied();
    let (least, most) = (
        comm.most(value.map_or(f64::NEG_INFINITY, |value| -value)),
        comm.most(value.unwrap_or(f64::NEG_INFINITY)),
    );
    let constant = !comm.any(!kernel.is_constant()) && -least == most;
    let values: Vec<f64> =
        (0..rows).flat_map(|row| kernel.vectors().columns().map(move |column| column[row])).collect();
    let values = moved(comm, &a.rows, inside, count, &values);
    setup::near_kernel(&values, kernel.block(), count, inside.len(), constant)
}

impl Lowerable {
    fn new(level: setup::Level) -> Result<Self, DistributedError> {
        let transfer = match level.transfer {
            Some((r, p)) => Some((Split::of(r)?, Split::of(p)?)),
            None => None,
        };
        // The last level is solved directly where one rank has it.
        let shared = level.comm.size() > 1 && (transfer.is_some() || level.smoother.is_some());
        Ok(Lowerable {
            device: Distributed::new(level.comm.clone()),
            shared,
            block: level.a.block(),
            a: Split::of(level.a)?,
            radius: level.radius,
            smoother: level.smoother,
            transfer,
        })
    }

    fn part<'a>(&self, split: &'a Split) -> Part<'a, Distributed> {
        Part { own: &split.own, remote: self.shared.then_some(&split.remote) }
    }

    fn source(&self) -> LevelSource<'_, Distributed> {
        LevelSource {
            device: &self.device,
            a: self.part(&self.a),
            block: self.block,
            host: None,
            radius: self.radius,
            smoother: self.smoother.as_ref(),
            transfer: self.transfer.as_ref().map(|(r, p)| (self.part(r), self.part(p))),
        }
    }
}

/// Moves the levels to this rank's part of the device.
fn lower(levels: &[Lowerable], config: &SolverConfig) -> Result<Multigrid<Distributed>, SolveError> {
    let sources: Vec<_> = levels.iter().map(Lowerable::source).collect();
    Ok(Multigrid::new(&sources, &config.cycling(), |index| config.precision.level(index), config.lowering())?)
}

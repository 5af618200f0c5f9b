//! The hierarchy of all ranks as one process has it, and back: for files.
//!
//! The levels do not depend on the number of ranks, and neither does the hierarchy that rank 0
//! gathers: saved, it is the file of one process. So a hierarchy that was set up on some ranks can
//! be loaded on fewer or more of them, or by [`ziggurat::Solver::from_hierarchy`], and ranks can
//! use one that only one process can make, such as the hierarchy of a reservoir (CPR).
//!
//! Coarse rows are divided evenly, in grains, as in setup (`setup.rs`). Cost: rank 0 holds all
//! levels for a while, and every entry is sent once.

use std::sync::Arc;
use std::time::Instant;

use ziggurat::diagnose::MatrixKind;
use ziggurat::{SolveError, SolverConfig};
use ziggurat_amg::{CoarseningStop, Coarsest, Hierarchy, Level, MAX_SPARSE_ROWS, WholeMatrix, WholeTransfer};
use ziggurat_sparse::{Csr, MatrixError, trace};

use crate::comm::Comm;
use crate::device::Distributed;
use crate::error::{DistributedError, agree, check_same, together};
use crate::matrix::DistributedCsr;
use crate::partition::Partition;
use crate::rows::{NamedRows, send_home};
use crate::setup::{Transfer, empty, grain, row_multiple};
use crate::solver::{DistributedSolver, Made, refuse, resolved};
use crate::split::Split;

impl DistributedSolver {
    /// The hierarchy of all ranks on rank 0, `None` on the others. What it
    /// [saves](Hierarchy::save) can be loaded on any number of ranks. Collective.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use ziggurat::{SolverConfig, amg::Hierarchy};
    /// use ziggurat_mpi::{Alone, Comm, DistributedCsr, DistributedSolver};
    /// let comm: Arc<dyn Comm> = Arc::new(Alone);
    /// let a = DistributedCsr::generate(&comm, "poisson3d:12".parse()?)?;
    /// let solver = DistributedSolver::new(&a, SolverConfig::default())?;
    /// let mut file = Vec::new(); // or File::create(path)?
    /// if let Some(hierarchy) = solver.hierarchy()? {
    ///     hierarchy.save(&mut file)?;
    /// }
    ///
    /// let rows_here = a.own_rows().count();
    /// let loaded = (comm.rank() == 0).then(|| Hierarchy::load(&file[..])).transpose()?;
    /// let again = DistributedSolver::from_hierarchy(&comm, rows_here, loaded.as_ref(), SolverConfig::default())?;
    /// assert!(again.solve(&vec![1.0; rows_here])?.report.reason.is_converged());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the matrix has more rows than one process can have, or memory runs out.
    pub fn hierarchy(&self) -> Result<Option<Hierarchy>, DistributedError> {
        let comm = &*self.comm;
        together(comm, || {
            let mut levels: Vec<Level<WholeMatrix>> = Vec::new();
            for (index, level) in self.levels.iter().enumerate() {
                let rows = self.levels()[index].rows;
                let a = gathered(comm, &level.a, rows)?;
                // A rank without rows of the level knows neither.
                let block = comm.most(if level.a.own.rows() > 0 { level.block() as f64 } else { 1.0 });
                let radius = comm.most(level.radius.unwrap_or(0.0));
                let first = level.a.own_rows().start;
                let points = numbers(comm, first, level.points.as_deref());
                let transfer = match &level.transfer {
                    Some(transfer) => {
                        let coarse = self.levels()[index + 1].rows;
                        let (p, r) =
                            (gathered(comm, &transfer.p, coarse)?, gathered(comm, &transfer.r, rows)?);
                        let dead = numbers(comm, transfer.r.own_rows().start, Some(&transfer.dead));
                        p.zip(r).map(|(p, r)| WholeTransfer::new(p, r, dead))
                    }
                    None => None,
                };
                let Some(a) = a else { continue };
                let a = WholeMatrix::new(a, block as usize);
                let level = match transfer {
                    Some(transfer) => Level::with_transfer(a, transfer),
                    None => Level::last(a),
                };
                let points = Some(points).filter(|points| !points.is_empty());
                levels.push(level.with_radius((radius > 0.0).then_some(radius)).with_points(points));
            }
            if comm.rank() > 0 {
                return Ok(None);
            }
            let hierarchy = Hierarchy::from_levels(levels, self.stop());
            Ok(Some(if self.kind.negated { hierarchy.of_negative() } else { hierarchy }))
        })
    }

    /// A solver for an existing hierarchy, which rank 0 gives: only the smoothers are set up. This
    /// rank has `rows_here` rows. Collective.
    ///
    /// # Errors
    /// If the rows of all ranks do not match the hierarchy, if its unknowns are in a new order, or
    /// as [`DistributedSolver::new`].
    pub fn from_hierarchy(
        comm: &Arc<dyn Comm>,
        rows_here: usize,
        hierarchy: Option<&Hierarchy>,
        config: SolverConfig,
    ) -> Result<Self, DistributedError> {
        together(&**comm, || taken_over(comm, rows_here, hierarchy, config))
    }
}

/// Distributes the hierarchy of rank 0 and lowers it. Collective.
fn taken_over(
    comm: &Arc<dyn Comm>,
    rows_here: usize,
    hierarchy: Option<&Hierarchy>,
    asked: SolverConfig,
) -> Result<DistributedSolver, DistributedError> {
    let (start, device) = (Instant::now(), Distributed::new(comm.clone()));
    check_same(&**comm, "configuration", &format!("{asked:?}"))?;
    agree(&**comm, asked.validate().map_err(SolveError::from))?;
    refuse(&**comm, &asked)?;
    let hierarchy = hierarchy.filter(|_| comm.rank() == 0);
    let outline = agree(&**comm, Outline::of(&**comm, hierarchy))?;
    let given = Partition::try_new(&**comm, rows_here)?;
    let _setup = trace::stage("setup", None, given.global());
    let expected = outline.levels[0].rows;
    if given.global() != expected {
        let what = "rows on all ranks, as the hierarchy has";
        let (expected, found) = (expected as usize, given.global() as usize);
        return Err(MatrixError::Mismatch { what, expected, found }.into());
    }
    // Rank 0 can tell which smoother an open one will be, and so which rows belong together.
    let multiple = match hierarchy {
        Some(hierarchy) => MatrixKind::of(hierarchy.levels()[0].distributed_matrix())
            .map(|kind| row_multiple(resolved(&asked, &kind, &device).cycling().smoothers())),
        None => Ok(1),
    };
    let multiple = comm.most(agree(&**comm, multiple)? as f64) as u64;
    let solved = asked.lowering().coarsest != Coarsest::Smoothed;
    let unit = |level: usize| {
        let LevelOutline { rows, block, .. } = outline.levels[level];
        let on_one = solved && level + 1 == outline.levels.len() && rows <= MAX_SPARSE_ROWS as u64;
        if on_one { rows.max(1) } else { grain(block, multiple) }
    };
    let inside = Arc::new(given.aligned(&**comm, unit(0)));
    let levels = distributed(comm, &inside, hierarchy, &outline, unit)?;
    let mut kind = MatrixKind::of(levels[0].distributed_matrix())?;
    kind.negated = outline.negated;
    let config = resolved(&asked, &kind, &device);
    kind.check(&config, &device).map_err(SolveError::from)?;
    let (comm, stages) = (comm.clone(), vec![("distribution", start.elapsed().as_secs_f64())]);
    let made =
        Made { comm, given, inside, kind, levels, stop: outline.stop, near_kernel: None, stages, start };
    made.lowered(device, config, asked)
}

/// The properties of a hierarchy on rank 0 that all ranks need.
struct Outline {
    levels: Vec<LevelOutline>,
    stop: CoarseningStop,
    negated: bool,
}

struct LevelOutline {
    rows: u64,
    block: usize,
    radius: Option<f64>,
    /// Whether the next level keeps rows.
    has_points: bool,
}

impl Outline {
    /// Collective.
    fn of(comm: &dyn Comm, hierarchy: Option<&Hierarchy>) -> Result<Self, DistributedError> {
        let mut words = Vec::new();
        let mut ordered = false;
        if let Some(hierarchy) = hierarchy {
            ordered = hierarchy.order().is_some();
            let stop = CoarseningStop::ALL.iter().position(|stop| *stop == hierarchy.stop()).unwrap_or(0);
            words = vec![stop as u64, hierarchy.is_negated().into()];
            for level in hierarchy.levels() {
                let radius = level.radius().unwrap_or(0.0).to_bits();
                let points = level.points().is_some();
                words.extend([level.rows() as u64, level.block() as u64, radius, points.into()]);
            }
        }
        comm.broadcast(0, &mut words);
        if comm.any(ordered) {
            let what = "a hierarchy in a new order of the unknowns";
            let instead = "set it up with `reorder` off, or run without mpirun";
            return Err(DistributedError::NotDistributed { what, instead });
        }
        let [stop, negated, levels @ ..] = &words[..] else {
            let what = "levels of the hierarchy, which rank 0 gives";
            return Err(MatrixError::Mismatch { what, expected: 1, found: 0 }.into());
        };
        let level = |words: &[u64]| LevelOutline {
            rows: words[0],
            block: words[1] as usize,
            radius: Some(f64::from_bits(words[2])).filter(|&radius| radius > 0.0),
            has_points: words[3] != 0,
        };
        Ok(Outline {
            levels: levels.chunks_exact(4).map(level).collect(),
            stop: CoarseningStop::ALL[*stop as usize],
            negated: *negated != 0,
        })
    }
}

/// Sends the rows of every level to the ranks that own them. `unit` is the number of rows of a
/// level that are never divided. Collective.
fn distributed(
    comm: &Arc<dyn Comm>,
    inside: &Arc<Partition>,
    hierarchy: Option<&Hierarchy>,
    outline: &Outline,
    unit: impl Fn(usize) -> u64,
) -> Result<Vec<Level<DistributedCsr>>, DistributedError> {
    let all = &**comm;
    let send = |rows: &Partition, matrix: Option<&Arc<Csr<f64>>>| {
        send_home(all, rows, matrix.map(|matrix| entries(matrix)).unwrap_or_default())
    };
    // The ranks of the level, and its rows as these and as all ranks see them.
    let (mut members, mut rows) = (Some(comm.clone()), inside.clone());
    let mut rows_of_all = inside.clone();
    let mut levels = Vec::new();
    for (index, LevelOutline { block, radius, has_points, .. }) in outline.levels.iter().enumerate() {
        let level = hierarchy.map(|hierarchy| &hierarchy.levels()[index]);
        let a = send(&rows_of_all, level.map(Level::matrix)).named(&rows_of_all.own());
        let points = has_points.then(|| spread(all, &rows_of_all, level.and_then(Level::points)));
        let followed = index + 1 < outline.levels.len();
        let a = match &members {
            Some(members) => Some(DistributedCsr::square(members, rows.clone(), *block, a)?),
            None => None,
        };
        if !followed {
            levels.push(a.map_or_else(|| empty(*block, false), |a| Ok(Level::last(a)))?.with_radius(*radius));
            break;
        }
        let next = &outline.levels[index + 1];
        let target = members.as_ref().map(|members| Partition::even(&**members, next.rows, unit(index + 1)));
        let own = target.as_ref().map_or(0..0, Partition::own);
        let target_of_all = Arc::new(Partition::with_range(all, own, next.rows));
        let p = send(&rows_of_all, level.and_then(Level::prolongation)).named(&target_of_all.own());
        let r = send(&target_of_all, level.and_then(Level::restriction)).named(&rows_of_all.own());
        let dead = level.and_then(Level::transfer).map(WholeTransfer::dead);
        let dead = spread(all, &target_of_all, dead);
        let level = match (&members, a, target) {
            (Some(members), Some(a), Some(target)) => {
                let target = Arc::new(target);
                let p = DistributedCsr::rectangular(members, rows.clone(), target.clone(), next.block, p)?;
                let r = DistributedCsr::rectangular(members, target, rows.clone(), *block, r)?;
                Level::with_transfer(a, Transfer { r, p, dead })
            }
            _ => empty(*block, true)?,
        };
        levels.push(level.with_radius(*radius).with_points(points));
        members = match members {
            Some(members) => members.subset(!target_of_all.is_empty()),
            None => None,
        };
        rows = match &members {
            Some(members) => Arc::new(Partition::with_range(&**members, target_of_all.own(), next.rows)),
            None => Arc::new(Partition::try_new(&crate::comm::Alone, 0)?),
        };
        rows_of_all = target_of_all;
    }
    Ok(levels)
}

/// The entries of a matrix.
fn entries(a: &Csr<f64>) -> Vec<(u64, u64, f64)> {
    let of_row = |row: usize| {
        let (columns, values) = a.row(row);
        columns.iter().zip(values).map(move |(&column, &value)| (row as u64, u64::from(column), value))
    };
    a.all_rows().flat_map(of_row).collect()
}

/// The ids from rank 0 that this rank owns, counted from its first. Collective.
fn spread(comm: &dyn Comm, rows: &Partition, ids: Option<&[u32]>) -> Vec<u32> {
    let mut words: Vec<u64> = ids.unwrap_or_default().iter().map(|&id| id.into()).collect();
    comm.broadcast(0, &mut words);
    let own = rows.own();
    words.into_iter().filter(|id| own.contains(id)).map(|id| (id - own.start) as u32).collect()
}

/// The ids of all ranks on rank 0, given the ids of this one, counted from its first row.
/// Collective.
fn numbers(comm: &dyn Comm, first: u64, own: Option<&[u32]>) -> Vec<u32> {
    let ids: Vec<u64> = own.unwrap_or_default().iter().map(|&id| first + u64::from(id)).collect();
    comm.gather(&ids).into_iter().flatten().map(|id| id as u32).collect()
}

/// The matrix of all ranks, which has `cols` columns, on rank 0. Collective.
fn gathered(comm: &dyn Comm, split: &Split, cols: u64) -> Result<Option<Arc<Csr<f64>>>, DistributedError> {
    let joined = agree(comm, split.joined())?;
    let NamedRows { ids, row_ptr, columns, values } = joined.own_named();
    let lengths: Vec<u64> = row_ptr.windows(2).map(|pair| (pair[1] - pair[0]) as u64).collect();
    let columns: Vec<u64> = columns.iter().map(|&column| ids[column as usize]).collect();
    let values: Vec<u64> = values.iter().map(|value| value.to_bits()).collect();
    // Ranks are in the order of their rows.
    let [lengths, columns, values] =
        [lengths, columns, values].map(|words| comm.gather(&words).into_iter().flatten());
    if comm.rank() > 0 {
        return Ok(None);
    }
    let mut row_ptr = vec![0];
    lengths.for_each(|length| row_ptr.push(row_ptr[row_ptr.len() - 1] + length as usize));
    let columns = columns.map(u32::try_from).collect::<Result<Vec<_>, _>>();
    let columns = columns.map_err(|_| DistributedError::NotDistributed {
        what: "a hierarchy of more than 2^32 columns on one rank",
        instead: "do without saving it",
    })?;
    let values = values.map(f64::from_bits).collect();
    Ok(Some(Arc::new(Csr::try_new(row_ptr.len() - 1, cols as usize, row_ptr, columns, values)?)))
}

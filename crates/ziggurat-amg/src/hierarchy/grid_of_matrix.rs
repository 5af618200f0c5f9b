//! The structured grid of a matrix whose rows may be distributed over processes.
//!
//! Every process looks at its own rows. The distances of entries from the diagonal are then known
//! to all, and with them the candidates, which every process checks against its rows. Cost: two
//! passes over the columns and some thirty small messages; a matrix with many diagonals is refused
//! after a few rows.

use std::sync::Arc;

use ziggurat_sparse::grid::{GridPattern, GridSystem, MatrixRows, NotAGrid, SidedPoints, recognise};
use ziggurat_sparse::{Csr, MatrixError};

use super::matrix::GridLevel;
use crate::halo::{Halo, Processes};

/// The share of points that follow one coarse neighbour only, beyond which a grid is not coarsened
/// further.
const RAGGED: f64 = 0.5;

/// The structured grid of a matrix, and its stencils if they are known.
///
/// ```
/// use std::sync::Arc;
/// use ziggurat_amg::KnownGrid;
/// use ziggurat_sparse::{gallery::Problem, grid::recognise};
/// let a = Arc::new("poisson3d:12".parse::<Problem>()?.matrix()?);
/// let known = KnownGrid::with_stencils(&a, recognise(a.view())?)?;
/// assert!(known.stencils().is_some_and(|stencils| stencils.is_symmetric(0.0)));
/// assert_eq!(KnownGrid::from(known.pattern().clone()).stencils(), None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct KnownGrid {
    pattern: GridPattern,
    /// The matrix that the stencils come from, so that they are not used for another matrix.
    stencils: Option<(Arc<Csr<f64>>, Arc<GridSystem>)>,
}

impl From<GridPattern> for KnownGrid {
    fn from(pattern: GridPattern) -> Self {
        KnownGrid { pattern, stencils: None }
    }
}

impl KnownGrid {
    /// Converts a matrix with this pattern.
    ///
    /// # Errors
    /// If it has another pattern.
    pub fn with_stencils(a: &Arc<Csr<f64>>, pattern: GridPattern) -> Result<Self, MatrixError> {
        let stencils = GridSystem::from_csr(a.view(), &pattern)?;
        Ok(KnownGrid { pattern, stencils: Some((a.clone(), Arc::new(stencils))) })
    }

    /// The grid, the directions and the unknowns of a point.
    pub fn pattern(&self) -> &GridPattern {
        &self.pattern
    }

    /// The stencils, if they are known.
    pub fn stencils(&self) -> Option<&GridSystem> {
        self.stencils.as_ref().map(|(_, stencils)| &**stencils)
    }

    /// The stencils, if they come from this matrix.
    pub(super) fn into_stencils_of(self, a: &Arc<Csr<f64>>) -> Option<Arc<GridSystem>> {
        self.stencils.filter(|(from, _)| Arc::ptr_eq(from, a)).map(|(_, stencils)| stencils)
    }
}

/// Whether most points along some axis follow one coarse neighbour only. `counts` are this
/// process's own. Collective.
///
/// ```
/// use ziggurat_amg::{halo::Whole, is_ragged};
/// use ziggurat_sparse::grid::SidedPoints;
/// let along = |sided| SidedPoints { sided, all: 10 };
/// assert!(is_ragged(&[along(2), along(6)], &Whole::new(100)));
/// assert!(!is_ragged(&[along(2), along(5)], &Whole::new(100)));
/// ```
pub fn is_ragged<H: Halo>(counts: &[SidedPoints], halo: &H) -> bool {
    let mut totals: Vec<u64> = counts.iter().flat_map(|count| [count.sided, count.all]).collect();
    halo.sum(&mut totals);
    totals.chunks_exact(2).any(|total| SidedPoints { sided: total[0], all: total[1] }.share() > RAGGED)
}

/// The structured grid of a matrix whose rows may be distributed over processes. Collective.
///
/// ```
/// use ziggurat_amg::{WholeMatrix, grid_of};
/// use ziggurat_sparse::gallery::Problem;
/// let a = "poisson3d:12".parse::<Problem>()?.matrix()?;
/// let found = grid_of(&WholeMatrix::new(a.into(), 1))?;
/// assert_eq!(found.grid.points(), [12; 3]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Why there is none; the same on every process.
pub fn grid_of<M: GridLevel>(a: &M) -> Result<GridPattern, NotAGrid> {
    let halo = a.rows();
    if halo.is_whole() {
        let found = recognise(a.view())?;
        return match found.unknowns {
            1 => Ok(found),
            _ if M::SEVERAL_UNKNOWNS => Ok(found),
            unknowns => Err(NotAGrid::SharedUnknowns { unknowns }),
        };
    }
    let ids: Vec<u64> = (0..halo.local()).map(|local| halo.global_id(local)).collect();
    let own = halo.owned();
    let first = ids.get(own.start).copied().unwrap_or(0);
    let rows = MatrixRows::new(a.view(), own.clone(), first, &ids);
    let known = rows.distances();
    if halo.any(known.is_none()) {
        return Err(NotAGrid::Diagonals);
    }
    let (known, mut distances) = (known.unwrap_or_default(), Vec::<isize>::new());
    // The distances of all processes, one after another: each is the smallest above the last one.
    loop {
        let next = known.iter().find(|&distance| distances.last().is_none_or(|last| last < distance));
        let smallest = -halo.largest(next.map_or(f64::NEG_INFINITY, |&distance| -(distance as f64)));
        if smallest == f64::INFINITY {
            break;
        }
        distances.push(smallest as isize);
    }
    let mut nnz = [(a.view().row_ptr()[own.end] - a.view().row_ptr()[own.start]) as u64];
    halo.sum(&mut nnz);
    let mut reason = NotAGrid::Distances;
    for pattern in GridPattern::candidates(a.global_rows() as usize, nnz[0] as usize, &distances)? {
        let outside = pattern.first_outside(&rows);
        if !halo.any(outside.is_some()) {
            return Ok(pattern);
        }
        let smallest = -halo.largest(outside.map_or(f64::NEG_INFINITY, |(row, _)| -(row as f64)));
        let column =
            outside.filter(|(row, _)| *row as f64 == smallest).map_or(0.0, |(_, column)| column as f64);
        reason = NotAGrid::NotNeighbours { row: smallest as usize, column: halo.largest(column) as usize };
    }
    Err(reason)
}

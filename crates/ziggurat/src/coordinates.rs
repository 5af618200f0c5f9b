//! Coordinates: where the unknowns are, which gives the rigid-body modes of an elastic body.
//!
//! FEM codes have coordinates in two shapes. *Per node*: one row for each node, whose unknowns are
//! consecutive and as many as there are dimensions. *Per unknown*: one row for each row of the
//! matrix; the unknowns of a node are consecutive rows with equal coordinates. The second shape
//! also describes nodes that have lost some of their unknowns to boundary conditions.
//!
//! Such an incomplete node does not say which displacements its unknowns are. They follow from the
//! matrix: constant displacements are in the kernel of an elastic body, so the entries of a row sum
//! to zero over each other displacement, and to the negative of its diagonal entry over its own.
//! With the sums σ_c over the entries in complete nodes, and displacements in increasing order, an
//! incomplete node gets those that minimise Σ_rows σ_c(row). Nodes without a complete neighbour are
//! assigned after their neighbours. Then each node gets those that minimise Σ_rows Σ_c |σ_c| over
//! all entries, twice. This is an estimate: if it is wrong for a node, convergence is slower, and
//! the solution is the same.
//!
//! Cost: one pass over the coordinates; one over the rows of incomplete nodes.

use std::ops::Range;

use thiserror::Error;
use ziggurat_amg::coarsen::Aggregates;
use ziggurat_amg::halo::Whole;
use ziggurat_amg::interpolate::{NearKernel, NearKernelError};
use ziggurat_sparse::words::{counted, number};
use ziggurat_sparse::{CsrRef, Dense};

use crate::diagnose::{numbered_by_fields, unknowns_per_node};

/// The largest number of unknowns of a node, in elements with rotations.
const MOST_UNKNOWNS: usize = 6;

/// Rounds of assigning displacements to incomplete nodes. Each reaches the neighbours of the nodes
/// of the round before.
const ROUNDS: usize = 4;

/// Rounds in which the displacements of all incomplete nodes are reconsidered.
const REFINEMENTS: usize = 2;

/// The number of unknowns per node, and the coordinates of the nodes.
pub type ByNode = (usize, Vec<[f64; 3]>);

/// Coordinates of nodes or of unknowns, in one, two or three dimensions.
///
/// ```
/// use ziggurat::{Coordinates, Solver};
/// use ziggurat::sparse::gallery::Problem;
/// let problem: Problem = "elasticity3d:6".parse()?;
/// let coordinates = Coordinates::try_new(problem.coordinates()?, 3)?;
/// let a = problem.matrix()?;
/// let solver = Solver::builder().coordinates(coordinates).build(&a)?;
/// assert!(solver.solve(&problem.rhs()?)?.report.iterations < 30);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Coordinates {
    points: Vec<[f64; 3]>,
    dimension: usize,
}

/// Why coordinates cannot be used.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum CoordinatesError {
    /// There are no such dimensions.
    #[error("coordinates have {}; they must have 1, 2 or 3", counted(*found, "column"))]
    Dimension {
        /// Number of columns.
        found: usize,
    },
    /// A coordinate is infinite or NaN.
    #[error("coordinate {axis} in row {row} is {}; every coordinate must be finite", number(*value))]
    NotFinite {
        /// The row.
        row: usize,
        /// The column.
        axis: usize,
        /// The value.
        value: f64,
    },
    /// The number of rows fits neither nodes nor unknowns.
    #[error(
        "coordinates have {}, but the matrix has {rows}; give one row per node ({rows} divided by the \
         unknowns per node, usually {dimension}), or one row per unknown ({rows})",
        counted(*found, "row")
    )]
    Rows {
        /// Number of rows of the coordinates.
        found: usize,
        /// Number of rows of the matrix.
        rows: usize,
        /// Number of columns of the coordinates.
        dimension: usize,
    },
    /// The unknowns are numbered displacement by displacement.
    #[error(
        "rows {first} and {second} have the same coordinates: the unknowns are numbered displacement by \
         displacement; number them node by node, so that the unknowns of a node are consecutive"
    )]
    NotByNode {
        /// A row.
        first: usize,
        /// A row with the same coordinates.
        second: usize,
    },
    /// A node has more unknowns than there are dimensions, and rotations.
    #[error(
        "rows {row} to {} have the same coordinates: {found} unknowns at one node, in {}; \
         give the near-null space instead of coordinates",
        row + found - 1,
        counted(*dimension, "dimension")
    )]
    TooMany {
        /// The first row of the node.
        row: usize,
        /// Number of its unknowns.
        found: usize,
        /// Number of columns of the coordinates.
        dimension: usize,
    },
    /// The coordinates say that nodes have one unknown, but the matrix has several per node.
    #[error(
        "the coordinates of successive rows differ, but the matrix has {block} unknowns per node; give one row per \
         node, or the same coordinates for all unknowns of a node"
    )]
    OneUnknown {
        /// Number of unknowns per node.
        block: usize,
    },
    /// The rigid-body modes are invalid, for example because all nodes are on one line.
    #[error("the coordinates define no rigid-body modes: {0}")]
    Modes(#[from] NearKernelError),
}

impl Coordinates {
    /// Checks the coordinates. Those beyond the dimension are ignored.
    ///
    /// # Errors
    /// If there are other than 1, 2 or 3 dimensions, or if a coordinate is not finite.
    pub fn try_new(points: Vec<[f64; 3]>, dimension: usize) -> Result<Self, CoordinatesError> {
        if !(1..=3).contains(&dimension) {
            return Err(CoordinatesError::Dimension { found: dimension });
        }
        for (row, point) in points.iter().enumerate() {
            if let Some(axis) = point[..dimension].iter().position(|value| !value.is_finite()) {
                return Err(CoordinatesError::NotFinite { row, axis, value: point[axis] });
            }
        }
        Ok(Coordinates { points, dimension })
    }

    /// The points; unused coordinates are arbitrary.
    pub fn points(&self) -> &[[f64; 3]] {
        &self.points
    }

    /// Number of dimensions.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// The coordinates of the nodes of a matrix with `rows` rows, if every node has the same number
    /// of unknowns, with that number.
    ///
    /// ```
    /// use ziggurat::Coordinates;
    /// let (left, right) = ([0.0; 3], [1.0, 0.0, 0.0]);
    /// let unknowns = Coordinates::try_new(vec![left, left, right, right], 2)?;
    /// assert_eq!(unknowns.by_node(4)?, Some((2, vec![left, right])));
    /// # Ok::<(), ziggurat::CoordinatesError>(())
    /// ```
    ///
    /// # Errors
    /// If the number of points fits neither nodes nor unknowns.
    pub fn by_node(&self, rows: usize) -> Result<Option<ByNode>, CoordinatesError> {
        let Coordinates { points, dimension } = self;
        let found = points.len();
        if found != rows {
            if found == 0 || !rows.is_multiple_of(found) {
                return Err(CoordinatesError::Rows { found, rows, dimension: *dimension });
            }
            return Ok(Some((rows / found, points.clone())));
        }
        let starts = self.starts();
        let size = starts.get(1).map_or(1, |second| second - starts[0]);
        if size == 1
            && let Some((first, second)) = self.repeated(rows)
        {
            return Err(CoordinatesError::NotByNode { first, second });
        }
        let equal = starts.windows(2).all(|pair| pair[1] - pair[0] == size);
        Ok(equal.then(|| (size, starts[..starts.len() - 1].iter().map(|&row| points[row]).collect())))
    }

    /// The near-kernel of a matrix whose unknowns are displacements: its rigid-body modes. `None`
    /// if there is one unknown per node, so that coordinates are not needed. Constants, if there
    /// are several unknowns per node, but not as many as dimensions. Displacements may also be
    /// numbered field by field.
    ///
    /// # Errors
    /// If the coordinates do not fit the matrix.
    pub fn near_kernel(&self, a: CsrRef<'_, f64>) -> Result<Option<NearKernel>, CoordinatesError> {
        let dimension = self.dimension;
        if dimension > 1 && numbered_by_fields(a) == dimension {
            let (nodes, repeated) = (a.rows() / dimension, self.points.len() == a.rows());
            if self.points.len() == nodes || repeated && self.repeated(a.rows()).is_some() {
                let modes = NearKernel::rigid_body_modes(&self.points[..nodes], dimension)?;
                return Ok(Some(modes.by_fields()?));
            }
        }
        match self.by_node(a.rows())? {
            Some((1, _)) => match unknowns_per_node(a, &Whole::new(a.rows())) {
                1 => Ok(None),
                block => Err(CoordinatesError::OneUnknown { block }),
            },
            Some((block, nodes)) if block == dimension => {
                Ok(Some(NearKernel::rigid_body_modes(&nodes, dimension)?))
            }
            Some((found, _)) if found > MOST_UNKNOWNS => {
                Err(CoordinatesError::TooMany { row: 0, found, dimension })
            }
            Some((block, _)) => Ok(Some(NearKernel::constants(a.rows(), block)?)),
            None => self.of_incomplete_nodes(a).map(Some),
        }
    }

    /// The first row of each node, and the number of rows: consecutive rows with equal coordinates
    /// belong to one node.
    fn starts(&self) -> Vec<usize> {
        let differ = |pair: &[[f64; 3]]| pair[0][..self.dimension] != pair[1][..self.dimension];
        let inner = self.points.windows(2).enumerate().filter(|(_, pair)| differ(pair));
        let first = (!self.points.is_empty()).then_some(0);
        first.into_iter().chain(inner.map(|(row, _)| row + 1)).chain([self.points.len()]).collect()
    }

    /// The first row and the one with the same coordinates, if the unknowns are numbered
    /// displacement by displacement.
    fn repeated(&self, rows: usize) -> Option<(usize, usize)> {
        let dimension = self.dimension;
        let second = rows / dimension;
        let is_repeated =
            dimension > 1 && second > 1 && self.points[0][..dimension] == self.points[second][..dimension];
        is_repeated.then_some((0, second))
    }

    /// The rigid-body modes where nodes have different numbers of unknowns.
    fn of_incomplete_nodes(&self, a: CsrRef<'_, f64>) -> Result<NearKernel, CoordinatesError> {
        let (starts, dimension) = (self.starts(), self.dimension);
        let too_many = starts.windows(2).find(|pair| pair[1] - pair[0] > dimension);
        if let Some(&[row, end]) = too_many {
            return Err(CoordinatesError::TooMany { row, found: end - row, dimension });
        }
        let displacements = displacements(a, &starts, dimension);
        let nodes: Vec<[f64; 3]> = starts[..starts.len() - 1].iter().map(|&row| self.points[row]).collect();
        let complete = NearKernel::rigid_body_modes(&nodes, dimension)?;
        let of: Vec<u32> = (0u32..)
            .zip(starts.windows(2))
            .flat_map(|(node, pair)| std::iter::repeat_n(node, pair[1] - pair[0]))
            .collect();
        let places = || of.iter().zip(&displacements).map(|(&node, &c)| node as usize * dimension + c);
        let columns = complete.vectors().columns();
        let values = columns.flat_map(|column| places().map(|place| column[place])).collect();
        let vectors = Dense::try_new(of.len(), complete.count(), values).map_err(NearKernelError::from)?;
        let nodes = Aggregates::try_new(nodes.len(), of).map_err(|_| CoordinatesError::Rows {
            found: self.points.len(),
            rows: a.rows(),
            dimension,
        })?;
        Ok(NearKernel::with_nodes(vectors, nodes)?)
    }
}

/// A row of a node without known displacements.
const UNKNOWN: usize = usize::MAX;

/// Which displacement each row is: 0, 1 or 2. `starts` has the first row of each node.
fn displacements(a: CsrRef<'_, f64>, starts: &[usize], dimension: usize) -> Vec<usize> {
    let mut of = vec![UNKNOWN; a.rows()];
    let mut incomplete = Vec::new();
    for pair in starts.windows(2) {
        let rows = pair[0]..pair[1];
        if rows.len() == dimension {
            of[rows].iter_mut().zip(0..).for_each(|(of, c)| *of = c);
        } else {
            incomplete.push(rows);
        }
    }
    let mut left = incomplete.clone();
    for _ in 0..ROUNDS {
        let assigned: Vec<_> = left.iter().map(|rows| most_negative(a, rows, &of, dimension)).collect();
        assign(&mut of, &left, &assigned);
        left.retain(|rows| of[rows.start] == UNKNOWN);
    }
    // Nodes that are connected with none of known displacements.
    for rows in left {
        of[rows].iter_mut().zip(0..).for_each(|(of, c)| *of = c);
    }
    for _ in 0..REFINEMENTS {
        let assigned: Vec<_> = incomplete.iter().map(|rows| most_balanced(a, rows, &of, dimension)).collect();
        assign(&mut of, &incomplete, &assigned);
    }
    of
}

fn assign(of: &mut [usize], nodes: &[Range<usize>], assigned: &[Option<Vec<usize>>]) {
    for (rows, chosen) in nodes.iter().zip(assigned) {
        if let Some(chosen) = chosen {
            of[rows.clone()].copy_from_slice(chosen);
        }
    }
}

/// The displacements of a node whose own sums are the lowest. `None` if the node is connected with
/// none of known displacements.
fn most_negative(
    a: CsrRef<'_, f64>,
    rows: &Range<usize>,
    of: &[usize],
    dimension: usize,
) -> Option<Vec<usize>> {
    let sums: Vec<[f64; 3]> = rows.clone().map(|row| sums(a, row, |column| of[column])).collect();
    if sums.iter().flatten().all(|&sum| sum == 0.0) {
        return None;
    }
    lowest(rows.len(), dimension, |chosen| sums.iter().zip(chosen).map(|(sums, &c)| sums[c]).sum())
}

/// The displacements of a node for which constant displacements are closest to the kernel.
fn most_balanced(
    a: CsrRef<'_, f64>,
    rows: &Range<usize>,
    of: &[usize],
    dimension: usize,
) -> Option<Vec<usize>> {
    lowest(rows.len(), dimension, |chosen| {
        let of = |column: usize| match rows.contains(&column) {
            true => chosen[column - rows.start],
            false => of[column],
        };
        let size = |row: usize| sums(a, row, of).iter().map(|sum| sum.abs()).sum::<f64>();
        rows.clone().map(size).sum()
    })
}

/// The sums of the entries of a row over each displacement.
fn sums(a: CsrRef<'_, f64>, row: usize, of: impl Fn(usize) -> usize) -> [f64; 3] {
    let mut sums = [0.0; 3];
    let (columns, values) = a.row(row);
    for (&column, value) in columns.iter().zip(values) {
        if let Some(sum) = sums.get_mut(of(column as usize)) {
            *sum += value;
        }
    }
    sums
}

/// The increasing displacements of a node with `count` rows that have the lowest cost.
fn lowest(count: usize, dimension: usize, cost: impl Fn(&[usize]) -> f64) -> Option<Vec<usize>> {
    // A set of displacements is a number whose bits are its elements.
    let sets = (0..1usize << dimension).filter(|set| set.count_ones() as usize == count);
    let costs = sets.map(|set| {
        let chosen: Vec<usize> = (0..dimension).filter(|c| set >> c & 1 == 1).collect();
        (cost(&chosen), chosen)
    });
    costs.min_by(|x, y| x.0.total_cmp(&y.0)).map(|(_, chosen)| chosen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Solver, SolverConfig};
    use ziggurat_sparse::gallery::Problem;
    use ziggurat_sparse::{Coo, Csr};

    /// The matrix of `elasticity3d:size` without the rows that `keep` refuses (node, displacement),
    /// and the coordinates and displacements of the others.
    fn condensed(size: u32, keep: impl Fn([f64; 3], usize) -> bool) -> (Csr<f64>, Coordinates, Vec<usize>) {
        let problem: Problem = format!("elasticity3d:{size}").parse().unwrap();
        let (a, points) = (problem.matrix().unwrap(), problem.coordinates().unwrap());
        let kept: Vec<usize> = (0..a.rows()).filter(|row| keep(points[row / 3], row % 3)).collect();
        let mut number = vec![usize::MAX; a.rows()];
        kept.iter().enumerate().for_each(|(new, &old)| number[old] = new);
        let mut coo = Coo::new(kept.len(), kept.len()).unwrap();
        for (row, &old) in kept.iter().enumerate() {
            let (columns, values) = a.row(old);
            for (&column, &value) in columns.iter().zip(values) {
                if number[column as usize] != usize::MAX {
                    coo.push(row, number[column as usize], value).unwrap();
                }
            }
        }
        let points = kept.iter().map(|row| points[row / 3]).collect();
        let displacements = kept.iter().map(|row| row % 3).collect();
        (coo.to_csr(), Coordinates::try_new(points, 3).unwrap(), displacements)
    }

    /// Displacements across the planes y = 0 and z = 0 are zero.
    fn rollers(point: [f64; 3], displacement: usize) -> bool {
        displacement == 0 || point[displacement] > 0.01 + 1.0 / 9.0
    }

    fn iterations(a: &Csr<f64>, coordinates: Option<&Coordinates>) -> usize {
        let builder = Solver::builder().config(SolverConfig::default());
        let builder = match coordinates {
            Some(coordinates) => builder.coordinates(coordinates.clone()),
            None => builder,
        };
        let report = builder.build(a).unwrap().solve(&vec![1.0; a.rows()]).unwrap().report;
        assert!(report.reason.is_converged());
        report.iterations
    }

    #[test]
    fn one_row_per_unknown_is_one_row_per_node() {
        let problem: Problem = "elasticity3d:6".parse().unwrap();
        let (a, points) = (problem.matrix().unwrap(), problem.coordinates().unwrap());
        let by_node = Coordinates::try_new(points.clone(), 3).unwrap();
        let repeated = points.iter().flat_map(|&point| [point; 3]).collect();
        let by_unknown = Coordinates::try_new(repeated, 3).unwrap();
        assert_eq!(by_unknown.by_node(a.rows()).unwrap(), Some((3, points)));
        assert_eq!(by_unknown.near_kernel(a.view()).unwrap(), by_node.near_kernel(a.view()).unwrap());
    }

    #[test]
    fn displacements_of_incomplete_nodes_follow_from_the_matrix() {
        let (a, coordinates, expected) = condensed(8, rollers);
        let starts = coordinates.starts();
        let incomplete = starts.windows(2).filter(|pair| pair[1] - pair[0] < 3).count();
        assert!(incomplete > 100, "{incomplete}");
        let found = displacements(a.view(), &starts, 3);
        let wrong = found.iter().zip(&expected).filter(|(found, expected)| found != expected).count();
        assert!(20 * wrong <= incomplete, "{wrong} of {incomplete} are wrong");
    }

    #[test]
    fn coordinates_make_incomplete_nodes_converge() {
        let (a, coordinates, _) = condensed(9, rollers);
        let (without, with) = (iterations(&a, None), iterations(&a, Some(&coordinates)));
        assert!(with <= 30 && 2 * with < without, "{with} iterations with coordinates, {without} without");
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let problem: Problem = "elasticity3d:4".parse().unwrap();
        let (a, points) = (problem.matrix().unwrap(), problem.coordinates().unwrap());
        let refused = |points: Vec<[f64; 3]>, dimension: usize| {
            Coordinates::try_new(points, dimension).and_then(|found| found.near_kernel(a.view())).unwrap_err()
        };
        assert_eq!(refused(points.clone(), 4), CoordinatesError::Dimension { found: 4 });
        let mut wrong = points.clone();
        wrong[3][1] = f64::NAN;
        assert!(matches!(refused(wrong, 3), CoordinatesError::NotFinite { row: 3, axis: 1, .. }));
        let less = points[1..].to_vec();
        assert!(matches!(refused(less, 3), CoordinatesError::Rows { dimension: 3, .. }));
        // All first displacements, then all second and all third ones.
        let by_field = [&points[..]; 3].concat();
        let second = points.len();
        assert_eq!(refused(by_field, 3), CoordinatesError::NotByNode { first: 0, second });
        // A vector that is not coordinates at all.
        let ramp = (0..a.rows()).map(|row| [row as f64, 0.0, 0.0]).collect();
        assert_eq!(refused(ramp, 1), CoordinatesError::OneUnknown { block: 3 });
        assert!(matches!(refused(vec![[1.0; 3]; a.rows()], 1), CoordinatesError::TooMany { row: 0, .. }));
    }

    #[test]
    fn one_unknown_per_node_needs_no_coordinates() {
        let problem: Problem = "poisson3d:6".parse().unwrap();
        let coordinates = Coordinates::try_new(problem.coordinates().unwrap(), 3).unwrap();
        assert_eq!(coordinates.near_kernel(problem.matrix().unwrap().view()).unwrap(), None);
    }
}

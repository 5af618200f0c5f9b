//! The matrix of a grid with several unknowns per point: one block for every pair of unknowns.
//!
//! ```text
//!     ⎡ A_00  A_01 … ⎤
//! A = ⎢ A_10  A_11 … ⎥      A_ij: how unknown i of a point depends on unknown j around it
//!     ⎣  ⋮     ⋮     ⎦
//! ```
//!
//! Every block is the matrix of the grid with a stencil of its own, so what unknowns do not share
//! is not stored. Rows hold the first unknown of all points, then the second, and so on: the values
//! of a direction are contiguous, as with one unknown (the structure of arrays of Zong, Yu, Huang &
//! Xue, *FP16 acceleration in structured multigrid preconditioner*, ICPP 2024).
//!
//! All unknowns have the same interpolation, made from the sum of all blocks. An error that is
//! constant in all unknowns, as where temperatures exchange heat, and one that is constant in one
//! of them, as a translation of an elastic body, are then interpolated exactly away from
//! boundaries. With an interpolation for each unknown, unknowns that nearly equal each other would
//! differ between coarse points, and the large coupling entries would penalise that.
//!
//! Cost: the passes of one unknown, for every block that is not zero.

use std::sync::Arc;

use super::matrix::{self, PIECE, pieces};
use super::pattern::{MOST_DIRECTIONS, UnknownOrder};
use super::unknowns::{NumberedPoints, place};
use super::{Grid, GridMatrix, GridPattern, GridTransfer, GridValues};
use crate::matrix::ScaleFactors;
use crate::matrix::dia::{Dia, WINDOW, scale_diagonal};
use crate::matrix::format::Format;
use crate::number::Store;
use crate::parallel::{all_pieces, consume, over_pieces, zeros};
use crate::{CsrRef, MatrixError};

/// Points per task where compressed rows are distributed to the blocks.
const TASK: usize = 512;

/// The matrix of a grid with one or several unknowns per point.
///
/// ```
/// use ziggurat_sparse::gallery::Problem;
/// use ziggurat_sparse::grid::{GridSystem, recognise};
/// let a = "radiation3t:8".parse::<Problem>()?.matrix()?;
/// let on_grid = GridSystem::from_csr(a.view(), &recognise(a.view())?)?;
/// assert_eq!((on_grid.unknowns(), on_grid.rows(), on_grid.nnz()), (3, 3 * 512, a.nnz()));
/// // Two of the three temperatures exchange heat with the first one only.
/// assert_eq!(on_grid.block(0, 2).map(|block| block.stencil()), Some(&[[0; 3]][..]));
/// assert!(on_grid.block(1, 2).is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct GridSystem {
    grid: Grid,
    unknowns: usize,
    /// Block (i, j) is at i · unknowns + j; `None` if it is zero.
    blocks: Vec<Option<Arc<GridMatrix>>>,
    /// The sum of all blocks, which is the only one with one unknown per point.
    sum: Arc<GridMatrix>,
}

impl From<GridMatrix> for GridSystem {
    /// One unknown per point.
    fn from(a: GridMatrix) -> Self {
        let sum = Arc::new(a);
        GridSystem { grid: sum.grid(), unknowns: 1, blocks: vec![Some(sum.clone())], sum }
    }
}

impl GridSystem {
    /// Converts a matrix with the given pattern, whose rows may be in either order.
    ///
    /// # Errors
    /// If the matrix does not have that pattern.
    pub fn from_csr(a: CsrRef<'_, f64>, pattern: &GridPattern) -> Result<Self, MatrixError> {
        if pattern.unknowns == 1 {
            return GridMatrix::from_csr(a, pattern).map(GridSystem::from);
        }
        let GridPattern { grid, unknowns, .. } = *pattern;
        let n = grid.len();
        if a.rows() != n * unknowns || a.cols() != a.rows() {
            let (what, expected) = ("rows of the matrix of a grid", n * unknowns);
            return Err(MatrixError::Mismatch { what, expected, found: a.rows() });
        }
        let numbered = NumberedPoints::new(a, pattern);
        let wrong = |(row, column)| MatrixError::NewPattern { row, column, missing: false };
        let used = numbered.directions_of_blocks().map_err(wrong)?;
        let directions = |used: &u32| (0..MOST_DIRECTIONS).filter(|s| used >> s & 1 != 0).collect::<Vec<_>>();
        let directions: Vec<Vec<usize>> = used.iter().map(directions).collect();
        let mut values: Vec<Vec<f64>> = directions.iter().map(|of| zeros(of.len() * n)).collect();
        // Where the values of a place are stored: directions of all blocks, one after another.
        let mut slots = vec![usize::MAX; directions.len() * MOST_DIRECTIONS];
        let all =
            directions.iter().enumerate().flat_map(|(block, of)| of.iter().map(move |&s| place(block, s)));
        all.enumerate().for_each(|(slot, place)| slots[place as usize] = slot);
        let mut tasks: Vec<Vec<&mut [f64]>> = Vec::new();
        tasks.resize_with(n.div_ceil(TASK), Vec::new);
        for values in &mut values {
            tasks.iter_mut().zip(pieces(values, n, TASK)).for_each(|(task, piece)| task.extend(piece));
        }
        consume(tasks, &|task, mut out| {
            let first = task * TASK;
            let _checked = numbered.for_each_row(first..(first + TASK).min(n), |point, places, values| {
                for (&place, &value) in places.iter().zip(values) {
                    if value != 0.0 {
                        out[slots[place as usize]][point - first] = value;
                    }
                }
            });
        });
        let blocks = directions.into_iter().zip(values).map(|(directions, values)| {
            let stencil: Vec<[i8; 3]> = directions.iter().map(|&s| pattern.stencil[s]).collect();
            (!stencil.is_empty()).then(|| Arc::new(GridMatrix::by_direction(grid, stencil, values)))
        });
        let blocks: Vec<Option<Arc<GridMatrix>>> = blocks.collect();
        let sum = Arc::new(sum(grid, &pattern.stencil, &blocks));
        Ok(GridSystem { grid, unknowns, blocks, sum })
    }

    /// The grid.
    pub fn grid(&self) -> Grid {
        self.grid
    }

    /// Unknowns per point.
    pub fn unknowns(&self) -> usize {
        self.unknowns
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.unknowns * self.grid.len()
    }

    /// How unknown `i` depends on unknown `j`; `None` if it does not.
    ///
    /// # Panics
    /// If there are no such unknowns.
    pub fn block(&self, i: usize, j: usize) -> Option<&GridMatrix> {
        self.row_of_blocks(i)[j].as_deref()
    }

    /// The blocks of unknown `i`.
    pub(super) fn row_of_blocks(&self, i: usize) -> &[Option<Arc<GridMatrix>>] {
        &self.blocks[i * self.unknowns..][..self.unknowns]
    }

    /// The matrix, if there is one unknown per point.
    fn only(&self) -> Option<&GridMatrix> {
        (self.unknowns == 1).then_some(&self.sum)
    }

    /// The sum of all blocks, which determines how the grid is coarsened.
    pub fn sum(&self) -> &GridMatrix {
        &self.sum
    }

    /// Number of entries: of each direction of a block, as many as points have a neighbour there.
    pub fn nnz(&self) -> usize {
        self.blocks.iter().flatten().map(|block| block.nnz()).sum()
    }

    /// The grid, the directions of all blocks, and the number of unknowns in the order of rows.
    pub fn pattern(&self) -> GridPattern {
        GridPattern { unknowns: self.unknowns, order: UnknownOrder::ByUnknown, ..self.sum().pattern() }
    }

    /// The matrix by diagonals in single precision, if that is exact and how it is stored.
    pub fn single(&self) -> Option<&Arc<Dia<f32>>> {
        match self.only()?.values() {
            GridValues::Single(values) => Some(values),
            GridValues::ByDirection(_) => None,
        }
    }

    /// Whether single precision represents every entry.
    pub fn is_exact_in_single(&self) -> bool {
        // A fold without an early exit is vectorised.
        let exact = |values: &[f64]| values.iter().fold(true, |all, &x| all & (f64::from(x as f32) == x));
        self.blocks.iter().flatten().all(|block| match block.values() {
            GridValues::Single(_) => true,
            GridValues::ByDirection(values) => {
                all_pieces(0..values.len(), matrix::TASK, &|task| exact(&values[task]))
            }
        })
    }

    /// The diagonal; zeros where there is no entry.
    pub fn diagonal(&self) -> Vec<f64> {
        let of = |i: usize| self.block(i, i).and_then(|block| block.of_direction([0; 3]));
        let mut all = of(0).unwrap_or_else(|| vec![0.0; self.grid.len()]);
        for i in 1..self.unknowns {
            match of(i) {
                Some(diagonal) => all.extend(diagonal),
                None => all.resize((i + 1) * self.grid.len(), 0.0),
            }
        }
        all
    }

    /// The diagonal entry that all rows have; `None` if they differ, or a row has none.
    pub fn constant_diagonal(&self) -> Option<f64> {
        let of = |i: usize| self.block(i, i).and_then(|block| block.constant_of([0; 3]));
        let first = if self.rows() > 0 { of(0)? } else { return None };
        (1..self.unknowns).all(|i| of(i) == Some(first)).then_some(first)
    }

    /// The matrix stored by diagonals.
    pub fn to_dia<S: Store>(&self) -> Dia<S> {
        self.scaled_dia(ScaleFactors::ONE)
    }

    /// The matrix times its factors, stored by diagonals and rounded to `S`. Directions may share a
    /// diagonal where the grid has fewer than three points along an axis; at every point, only one
    /// of them is not zero.
    ///
    /// # Panics
    /// If there are fewer factors than rows.
    pub fn scaled_dia<S: Store>(&self, factors: ScaleFactors<'_>) -> Dia<S> {
        if let Some(scaled) = self.single().and_then(|single| single.scaled_as(factors)) {
            return scaled;
        }
        let (n, rows) = (self.grid.len(), self.rows());
        let diagonals: Vec<Diagonals<'_>> = (0..self.unknowns).map(|i| self.diagonals_of(i)).collect();
        // Windows with the same unknowns have the same diagonals.
        let mut sections: Vec<(usize, [usize; 2])> = Vec::new();
        for first in (0..rows).step_by(WINDOW) {
            let unknowns = [first / n, ((first + WINDOW).min(rows) - 1) / n];
            match sections.last_mut() {
                Some((windows, same)) if *same == unknowns => *windows += 1,
                _ => sections.push((1, unknowns)),
            }
        }
        let offsets = |[first, last]: [usize; 2]| {
            let all = diagonals[first..=last].iter().flatten();
            let mut all: Vec<isize> = all.map(|&(offset, _)| offset).collect();
            all.sort_unstable();
            all.dedup();
            all
        };
        let sections: Vec<(usize, Vec<isize>)> =
            sections.into_iter().map(|(windows, unknowns)| (windows, offsets(unknowns))).collect();
        let of_sections: Vec<Vec<isize>> = sections.iter().map(|(_, offsets)| offsets.clone()).collect();
        Dia::from_diagonals(rows, rows, sections, |section, d, first, out| {
            let (offset, end) = (of_sections[section][d], first + out.len());
            let mut buffer = [0.0; WINDOW];
            let unknowns = diagonals.iter().enumerate().take((end - 1) / n + 1).skip(first / n);
            for (i, diagonals) in unknowns {
                let of_unknown = first.max(i * n)..end.min((i + 1) * n);
                let Ok(at) = diagonals.binary_search_by_key(&offset, |&(offset, _)| offset) else {
                    continue;
                };
                let out = &mut out[of_unknown.start - first..of_unknown.end - first];
                for &(block, s) in &diagonals[at].1 {
                    let values = &mut buffer[..out.len()];
                    block.copy(s, of_unknown.start - i * n, values);
                    out.iter_mut().zip(&*values).for_each(|(out, value)| *out += value);
                }
            }
            scale_diagonal(out, first, offset, factors);
        })
    }

    /// The diagonals of an unknown's rows.
    fn diagonals_of(&self, i: usize) -> Diagonals<'_> {
        let n = self.grid.len() as isize;
        let mut all: Vec<(isize, &GridMatrix, usize)> = Vec::new();
        for j in 0..self.unknowns {
            let Some(block) = self.block(i, j) else { continue };
            let between = (j as isize - i as isize) * n;
            let directions = block.stencil().iter().enumerate();
            let offsets = directions.map(|(s, &direction)| (self.grid.offset(direction), s));
            // Directions of a grid with fewer than three points along an axis may leave it.
            let inside = offsets.filter(|(offset, _)| offset.abs() < n);
            all.extend(inside.map(|(offset, s)| (between + offset, block, s)));
        }
        all.sort_by_key(|&(offset, ..)| offset);
        let groups = all.chunk_by(|one, other| one.0 == other.0);
        let entries =
            groups.map(|group| (group[0].0, group.iter().map(|&(_, block, s)| (block, s)).collect()));
        entries.collect()
    }

    /// The largest absolute entry, multiplied by its factors.
    ///
    /// # Panics
    /// If there are fewer factors than rows.
    pub fn largest(&self, factors: ScaleFactors<'_>) -> f64 {
        let (n, m) = (self.grid.len(), self.unknowns);
        let of = |(place, block): (usize, &Option<Arc<GridMatrix>>)| {
            let part =
                |list: Option<&'_ [f64]>, unknown: usize| list.map(|list| list[unknown * n..][..n].to_vec());
            let Some(block) = block else { return 0.0 };
            if m == 1 {
                return block.largest(factors);
            }
            let (left, right) = (part(factors.left, place / m), part(factors.right, place % m));
            let (left, right) = (left.as_deref(), right.as_deref());
            block.largest(ScaleFactors { left, right, ..factors })
        };
        self.blocks.iter().enumerate().map(of).fold(0.0, f64::max)
    }

    /// The largest absolute entry of a row.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn largest_in_row(&self, row: usize) -> f64 {
        let (i, point) = (row / self.grid.len(), row % self.grid.len());
        let blocks = self.row_of_blocks(i).iter().flatten();
        blocks.map(|block| block.largest_in_row(point)).fold(0.0, f64::max)
    }

    /// Interpolation from every second point along the given axes, and the matrix of these points.
    /// `None` without axes, or if the grid has fewer than two points along one of them.
    ///
    /// ```
    /// use ziggurat_sparse::gallery::Problem;
    /// use ziggurat_sparse::grid::{GridSystem, recognise};
    /// let a = "solid3d:7".parse::<Problem>()?.matrix()?;
    /// let a = GridSystem::from_csr(a.view(), &recognise(a.view())?)?;
    /// let (p, coarse) = a.coarsen(&[0, 1, 2]).ok_or("too few points")?;
    /// assert_eq!((p.rows(), p.cols(), coarse.rows()), (3 * 343, 81, 81));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn coarsen(&self, axes: &[usize]) -> Option<(GridTransfer<f64>, GridSystem)> {
        let (p, coarse) = self.sum().coarsen(axes)?;
        if self.unknowns == 1 {
            return Some((p, coarse.into()));
        }
        let coarsened = |block: &Option<Arc<GridMatrix>>| Some(Arc::new(block.as_ref()?.coarsen_by(&p)));
        let blocks = self.blocks.iter().map(coarsened).collect();
        let (grid, unknowns, sum) = (coarse.grid(), self.unknowns, Arc::new(coarse));
        Some((p.of_unknowns(unknowns), GridSystem { grid, unknowns, blocks, sum }))
    }
}

/// The diagonals of an unknown's rows, increasing, each with the directions of blocks on it.
type Diagonals<'a> = Vec<(isize, Vec<(&'a GridMatrix, usize)>)>;

/// The sum of blocks, none of which has other directions.
fn sum(grid: Grid, stencil: &[[i8; 3]], blocks: &[Option<Arc<GridMatrix>>]) -> GridMatrix {
    let n = grid.len();
    let mut values = zeros(stencil.len() * n);
    for (direction, values) in stencil.iter().zip(values.chunks_mut(n.max(1))) {
        let of = |block: &'_ GridMatrix| block.stencil().iter().position(|other| other == direction);
        let terms: Vec<(&GridMatrix, usize)> =
            blocks.iter().flatten().filter_map(|block| of(block).map(|s| (&**block, s))).collect();
        over_pieces(values, &|first, values| {
            let mut buffer = [0.0; PIECE];
            for (values, first) in values.chunks_mut(PIECE).zip((first..).step_by(PIECE)) {
                for &(block, s) in &terms {
                    let term = &mut buffer[..values.len()];
                    block.copy(s, first, term);
                    values.iter_mut().zip(&*term).for_each(|(sum, term)| *sum += term);
                }
            }
        });
    }
    GridMatrix::by_direction(grid, stencil.to_vec(), values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Csr;
    use crate::algebra::{product, transpose};
    use crate::gallery::Problem;
    use crate::graph::permute_symmetric;
    use crate::grid::recognise;

    /// A matrix, and the same with its rows in the order of its grid.
    fn ordered(name: &str) -> (Csr<f64>, Csr<f64>, GridPattern) {
        let a = name.parse::<Problem>().unwrap().matrix().unwrap();
        let pattern = recognise(a.view()).unwrap();
        let order = pattern.by_unknown();
        let by_unknown = order.map_or(a.clone(), |order| permute_symmetric(a.view(), &order).unwrap());
        (a, by_unknown, pattern)
    }

    fn assert_same(found: &Csr<f64>, expected: &Csr<f64>, tolerance: f64, name: &str) {
        assert_eq!((found.rows(), found.cols()), (expected.rows(), expected.cols()), "{name}");
        let largest = expected.values().iter().fold(0.0, |most: f64, x| most.max(x.abs()));
        for row in expected.all_rows() {
            for &column in found.row(row).0.iter().chain(expected.row(row).0) {
                let [one, other] = [found, expected].map(|a| a.get(row, column as usize).unwrap_or(0.0));
                assert!((one - other).abs() <= tolerance * largest, "{name} ({row}, {column}) {one} {other}");
            }
        }
    }

    #[test]
    fn both_orders_of_the_unknowns_give_the_same_blocks() {
        for name in ["radiation3t:9", "solid3d:6", "elasticity3d:5"] {
            let (a, by_unknown, pattern) = ordered(name);
            let one = GridSystem::from_csr(a.view(), &pattern).unwrap();
            assert_same(&one.to_dia::<f64>().to_csr(), &by_unknown, 0.0, name);
            let found = recognise(by_unknown.view()).unwrap();
            assert_eq!(found, GridPattern { order: UnknownOrder::ByUnknown, ..pattern }, "{name}");
            assert_eq!(GridSystem::from_csr(by_unknown.view(), &found).unwrap(), one, "{name}");
        }
    }

    #[test]
    fn sums_and_largest_entries_are_those_of_compressed_rows() {
        // Some planes have more points than a piece.
        for name in ["radiation3t:9", "elasticity3d:6", "poisson3d:9", "jump3d:26", "poisson3d27:7"] {
            let (a, csr, pattern) = ordered(name);
            let a = GridSystem::from_csr(a.view(), &pattern).unwrap();
            let factors: Vec<f64> = csr.all_rows().map(|row| 1.0 + (row * 7 % 13) as f64).collect();
            let scaled = ScaleFactors { left: Some(&factors), right: Some(&factors), factor: 0.5 };
            let mut largest: f64 = 0.0;
            let sums = a.map_squares(|diagonal, size, squares| diagonal + 3.0 * size + 7.0 * squares);
            let sizes = a.map_sizes(|diagonal, size| diagonal + 3.0 * size);
            let entries = a.fold_rows(0, |entries, row| entries + row.entries, |one, other| one + other);
            assert_eq!(entries, csr.values().iter().filter(|value| **value != 0.0).count(), "{name}");
            let largest_sum = a.fold_rows(0.0, |most: f64, row| most.max(row.sum), f64::max);
            let row_sum = |row: usize| csr.row(row).1.iter().sum::<f64>();
            let expected = csr.all_rows().map(row_sum).fold(0.0, f64::max);
            assert!((largest_sum - expected).abs() <= 1e-9 * a.largest(ScaleFactors::ONE), "{name}");
            let constant = a.constant_diagonal();
            assert_eq!(constant.is_some(), a.diagonal().iter().all(|&x| x == a.diagonal()[0]), "{name}");
            let diagonal = a.diagonal();
            for row in csr.all_rows() {
                let (columns, values) = csr.row(row);
                let sum: f64 = values.iter().map(|x| x.abs()).sum();
                let squares: f64 = values.iter().map(|x| x * x).sum();
                assert_eq!(diagonal[row], csr.get(row, row).unwrap());
                let expected = diagonal[row] + 3.0 * sum + 7.0 * squares;
                assert!((sums[row] - expected).abs() <= 1e-12 * expected, "{name}, row {row}");
                let expected = diagonal[row] + 3.0 * sum;
                assert!((sizes[row] - expected).abs() <= 1e-12 * expected, "{name}, row {row}");
                assert_eq!(a.largest_in_row(row), values.iter().fold(0.0, |most: f64, x| most.max(x.abs())));
                for (&column, value) in columns.iter().zip(values) {
                    largest = largest.max((value * scaled.of(row, column as usize)).abs());
                }
            }
            assert!((a.largest(scaled) - largest).abs() <= 1e-14 * largest, "{name}");
            assert_same(&a.scaled_dia::<f64>(scaled).to_csr(), &scaled.apply(csr.view()), 1e-15, name);
        }
    }

    #[test]
    fn the_coarse_matrix_is_the_galerkin_product_and_does_not_depend_on_threads() {
        for (name, axes) in
            [("radiation3t:9", &[2, 1, 0][..]), ("radiation3t:8", &[1, 0]), ("elasticity3d:6", &[2, 1, 0])]
        {
            let (a, csr, pattern) = ordered(name);
            let a = GridSystem::from_csr(a.view(), &pattern).unwrap();
            let (p, coarse) = a.coarsen(axes).unwrap();
            let (r, rows) = (p.transposed().to_csr(), p.to_csr());
            assert_eq!(r, transpose(rows.view(), rows.all_rows()), "{name}");
            let ap = product(csr.view(), csr.all_rows(), rows.view()).unwrap();
            let expected = product(r.view(), r.all_rows(), ap.view()).unwrap();
            assert_same(&coarse.to_dia::<f64>().to_csr(), &expected, 1e-13, name);
            assert_eq!(coarse.sum().grid(), coarse.grid());
            let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
            assert_eq!(one.install(|| a.coarsen(axes).unwrap()), (p, coarse), "{name}");
        }
    }
}

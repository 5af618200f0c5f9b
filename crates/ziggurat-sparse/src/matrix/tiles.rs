//! Tiles of 4 by 4 with bitmaps: the format of matrix units (mBSR).
//!
//! ```text
//! block row I: the tiles row_ptr[I] .. row_ptr[I + 1], block columns increase strictly
//! entry (i, j) of tile k: values[16 k + 4 j + i], stored if bit 4 j + i of maps[k] is set
//! bytes = T (16 s + 6) + 8 (n / 4 + 1)                  s: bytes of a stored value, T: tiles
//! ```
//!
//! This is the format of AmgT (Lu et al., *AmgT: Algebraic Multigrid Solver on Tensor Cores*, SC
//! 2024), with tiles stored by columns: consecutive tiles of a block row are then a column-major
//! fragment of a matrix unit without repacking, and a column of a tile is a vector register. The
//! bitmaps tell stored zeros from those that fill a tile, so that the pattern survives, and the
//! pattern of a product follows from products of bitmaps. A tile at the right or lower border of a
//! matrix may extend beyond it; that part is zero.
//!
//! With the mean number of entries per tile, f, an entry takes (16 s + 6) / f bytes. CSR needs
//! s + 4, so tiles need fewer only with f > 6.3 in 16 bits and f > 11 in 64.

use std::sync::Arc;

use super::convert::for_each_block;
use super::csr::{check_extents, check_layout, check_order};
use super::format::{Format, FormatPlan, RowEntries};
use super::{Csr, CsrRef, MatrixError, ScaleFactors, count_rows};
use crate::number::Store;
use crate::parallel::{map_pieces, over_blocks};

/// Rows and columns of a tile.
pub(crate) const TILE: usize = 4;

/// Values of a tile.
pub(crate) const TILE_VALUES: usize = TILE * TILE;

/// The mean number of entries per tile from which tiles are dense: AmgT's limit for the use of
/// matrix units.
const DENSE: usize = 10;

/// A sparse matrix of 4 by 4 tiles with bitmaps.
///
/// ```
/// use ziggurat_sparse::{Csr, Tiles};
/// // [ 1 2 . . . ]
/// // [ . 0 . . 3 ]      with a stored zero
/// let a = Csr::try_new(2, 5, vec![0, 2, 4], vec![0, 1, 1, 4], vec![1.0, 2.0, 0.0, 3.0])?;
/// let tiles = Tiles::from_csr(a.view());
/// assert_eq!((tiles.columns(), tiles.maps()), (&[0, 1][..], &[0b11_0001, 0b10][..]));
/// assert_eq!((tiles.nnz(), tiles.mean_fill()), (4, 2.0));
/// assert_eq!(tiles.to_csr(), a);
/// # Ok::<(), ziggurat_sparse::MatrixError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Tiles<T> {
    rows: usize,
    cols: usize,
    row_ptr: Vec<usize>,
    columns: Vec<u32>,
    maps: Vec<u16>,
    values: Vec<T>,
}

impl<T: Store> Tiles<T> {
    /// Takes ownership of arrays as a matrix of `rows` by `cols`, after validating them. Values
    /// whose bit is not set must be zero, and no bit may be set outside the matrix.
    ///
    /// ```
    /// use ziggurat_sparse::Tiles;
    /// let mut values = vec![0.0; 16];
    /// values[4] = 7.0; // row 0, column 1
    /// let a = Tiles::try_new(2, 2, vec![0, 1], vec![0], vec![0b1_0000], values)?;
    /// assert_eq!(a.to_csr().row(0), (&[1][..], &[7.0][..]));
    /// # Ok::<(), ziggurat_sparse::MatrixError>(())
    /// ```
    pub fn try_new(
        rows: usize,
        cols: usize,
        row_ptr: Vec<usize>,
        columns: Vec<u32>,
        maps: Vec<u16>,
        values: Vec<T>,
    ) -> Result<Self, MatrixError> {
        check_extents(rows, cols)?;
        let (block_rows, block_cols) = (rows.div_ceil(TILE), cols.div_ceil(TILE));
        check_layout(block_rows, block_cols, &row_ptr, &columns, maps.len())
            .and_then(|()| check_order(&row_ptr, &columns))
            .map_err(|fault| MatrixError::InBlocks { block: TILE, fault: Box::new(fault) })?;
        let expected = columns.len().saturating_mul(TILE_VALUES);
        if values.len() != expected {
            let what = "number of values (16 per tile)";
            return Err(MatrixError::Mismatch { what, expected, found: values.len() });
        }
        for block_row in 0..block_rows {
            for k in row_ptr[block_row]..row_ptr[block_row + 1] {
                let inside = bits_inside(rows - TILE * block_row, cols - TILE * columns[k] as usize);
                let tile = &values[k * TILE_VALUES..][..TILE_VALUES];
                let outside = (0..TILE_VALUES).find(|&place| {
                    let bit = maps[k] >> place & 1 == 1;
                    if bit { inside >> place & 1 == 0 } else { tile[place] != T::default() }
                });
                if let Some(place) = outside {
                    return Err(MatrixError::OutsideTile {
                        row: TILE * block_row + place % TILE,
                        column: TILE * columns[k] as usize + place / TILE,
                    });
                }
            }
        }
        Ok(Tiles { rows, cols, row_ptr, columns, maps, values })
    }

    /// The matrix in tiles: every tile with at least one entry is stored.
    pub fn from_csr(a: CsrRef<'_, T>) -> Self {
        Pattern::of(a).fill(a, |value, _, _| value)
    }

    /// The matrix in compressed rows, stored zeros included.
    pub fn to_csr(&self) -> Csr<T> {
        let in_row = |row: usize| {
            let (bits, tiles) = (0x1111u16 << (row % TILE), self.tiles_of(row / TILE));
            self.maps[tiles].iter().map(|map| (map & bits).count_ones() as usize).sum()
        };
        Csr::assemble(
            0..self.rows,
            self.cols,
            || (),
            |(), row| in_row(row),
            |(), row, columns, values| {
                let mut to = columns.iter_mut().zip(values);
                self.for_each_entry(row, |column, value| {
                    if let Some((to_column, to_value)) = to.next() {
                        (*to_column, *to_value) = (column as u32, value);
                    }
                });
            },
        )
    }
}

/// The bits of a tile that lie within the first `rows` and `cols` of it.
fn bits_inside(rows: usize, cols: usize) -> u16 {
    let column = (1u16 << rows.min(TILE)) - 1;
    (0..cols.min(TILE)).map(|j| column << (TILE * j)).sum()
}

impl<T> Tiles<T> {
    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Number of block rows of four rows, the last of which may have fewer.
    pub fn block_rows(&self) -> usize {
        self.row_ptr.len() - 1
    }

    /// Number of tiles.
    pub fn tiles(&self) -> usize {
        self.columns.len()
    }

    /// Number of entries, without the zeros that fill tiles.
    pub fn nnz(&self) -> usize {
        /// Tiles per task.
        const TASK: usize = 32 * 1024;
        let maps = &self.maps;
        let entries = |tile: usize| maps[tile].count_ones() as usize;
        let pieces = map_pieces(0..maps.len(), TASK, &|tiles| tiles.map(entries).sum::<usize>());
        pieces.into_iter().sum()
    }

    /// The mean number of entries per tile, of 16; 0 without tiles.
    pub fn mean_fill(&self) -> f64 {
        self.nnz() as f64 / self.tiles().max(1) as f64
    }

    /// Start of each block row, and end of the last one, in tiles.
    pub fn row_ptr(&self) -> &[usize] {
        &self.row_ptr
    }

    /// The block column of every tile.
    pub fn columns(&self) -> &[u32] {
        &self.columns
    }

    /// The bitmap of every tile: bit 4 j + i is set if entry (i, j) is stored.
    pub fn maps(&self) -> &[u16] {
        &self.maps
    }

    /// The values of all tiles, each by columns.
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// Memory used by the arrays, in bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(&self.row_ptr[..])
            + size_of_val(&self.columns[..])
            + size_of_val(&self.maps[..])
            + size_of_val(&self.values[..])
    }

    /// The tiles of a block row.
    fn tiles_of(&self, block_row: usize) -> std::ops::Range<usize> {
        self.row_ptr[block_row]..self.row_ptr[block_row + 1]
    }
}

/// Which tiles a matrix has, and which of their entries.
struct Pattern {
    row_ptr: Vec<usize>,
    columns: Vec<u32>,
    maps: Vec<u16>,
}

impl Pattern {
    fn of<T: Store>(a: CsrRef<'_, T>) -> Self {
        let row_ptr = tile_ptr(a);
        let tiles = row_ptr[row_ptr.len() - 1];
        let (mut columns, mut maps) = (vec![0; tiles], vec![0u16; tiles]);
        let block_rows = 0..row_ptr.len() - 1;
        over_blocks(&row_ptr, block_rows, 1, &mut columns, &mut maps, &|piece, columns, maps| {
            let offset = row_ptr[piece.start];
            for block_row in piece {
                let first = row_ptr[block_row] - offset;
                for_each_block(a, TILE, block_row, |k, column, r, in_row, _| {
                    columns[first + k] = column as u32;
                    let bits = in_row.iter().map(|&c| 1u16 << (TILE * (c as usize - TILE * column) + r));
                    maps[first + k] |= bits.sum::<u16>();
                });
            }
        });
        Pattern { row_ptr, columns, maps }
    }

    /// Fills the tiles with the values of the matrix, mapped by `f(value, row, column)`.
    fn fill<T: Store, S: Store>(self, a: CsrRef<'_, T>, f: impl Fn(T, usize, usize) -> S + Sync) -> Tiles<S> {
        let Pattern { row_ptr, mut columns, maps } = self;
        let mut values = vec![S::default(); columns.len() * TILE_VALUES];
        let block_rows = 0..row_ptr.len() - 1;
        over_blocks(
            &row_ptr,
            block_rows,
            TILE_VALUES,
            &mut columns,
            &mut values,
            &|piece, columns, values| {
                let offset = row_ptr[piece.start];
                for row in TILE * piece.start..(TILE * piece.end).min(a.rows()) {
                    let mut k = row_ptr[row / TILE] - offset;
                    let (in_row, of_row) = a.row(row);
                    for (&column, &value) in in_row.iter().zip(of_row) {
                        while columns[k] < column / TILE as u32 {
                            k += 1;
                        }
                        let column = column as usize;
                        let place = k * TILE_VALUES + TILE * (column % TILE) + row % TILE;
                        values[place] = f(value, row, column);
                    }
                }
            },
        );
        Tiles { rows: a.rows(), cols: a.cols(), row_ptr, columns, maps, values }
    }
}

/// The number of tiles before each block row, and of all.
fn tile_ptr<T: Store>(a: CsrRef<'_, T>) -> Vec<usize> {
    let tiles = |(): &mut (), block_row| for_each_block(a, TILE, block_row, |_, _, _, _, _| ());
    count_rows(0..a.rows().div_ceil(TILE), || (), tiles)
}

/// Whether tiles have at least ten of sixteen entries on average, from a sample of block rows.
/// Others are not worth a plan: tiles would need more bytes than other formats.
///
/// ```
/// use ziggurat_sparse::{Csr, matrix::has_dense_tiles};
/// let dense = Csr::try_new(4, 4, vec![0, 4, 8, 12, 16], [0, 1, 2, 3].repeat(4), vec![1.0; 16])?;
/// assert!(has_dense_tiles(dense.view()) && !has_dense_tiles(Csr::<f64>::identity(4)?.view()));
/// # Ok::<(), ziggurat_sparse::MatrixError>(())
/// ```
pub fn has_dense_tiles<T: Store>(a: CsrRef<'_, T>) -> bool {
    const SAMPLE: usize = 64;
    let block_rows = a.rows().div_ceil(TILE);
    let (mut tiles, mut entries) = (0, 0);
    for block_row in (0..block_rows).step_by(block_rows.div_ceil(SAMPLE).max(1)) {
        tiles += for_each_block(a, TILE, block_row, |_, _, _, columns, _| entries += columns.len());
    }
    entries > 0 && entries >= DENSE * tiles
}

impl<S: Store> Format<S> for Tiles<S> {
    type As<T: Store> = Tiles<T>;
    type View<'a> = &'a Tiles<S>;

    fn view(&self) -> &Tiles<S> {
        self
    }

    fn plan(a: &Arc<Csr<f64>>, _: usize) -> Option<FormatPlan<'_, Arc<Self>>> {
        let pattern = Pattern::of(a.view());
        let bytes = pattern.columns.len()
            * (TILE_VALUES * size_of::<S>() + size_of::<u32>() + size_of::<u16>())
            + size_of::<usize>() * pattern.row_ptr.len();
        Some(FormatPlan::new(bytes, move |factors| {
            Arc::new(pattern.fill(a.view(), |value, row, column| {
                S::narrow(if factors.is_one() { value } else { value * factors.of(row, column) })
            }))
        }))
    }

    fn scaled_as<T: Store>(&self, factors: ScaleFactors<'_>) -> Option<Tiles<T>> {
        let mut values = vec![T::default(); self.values.len()];
        let (mut columns, block_rows) = (self.columns.clone(), 0..self.block_rows());
        over_blocks(
            &self.row_ptr,
            block_rows,
            TILE_VALUES,
            &mut columns,
            &mut values,
            &|piece, _, values| {
                let offset = self.row_ptr[piece.start] * TILE_VALUES;
                for block_row in piece {
                    for k in self.tiles_of(block_row) {
                        for place in (0..TILE_VALUES).filter(|place| self.maps[k] >> place & 1 == 1) {
                            let (row, column) = self.entry(block_row, k, place);
                            let value = self.values[k * TILE_VALUES + place].wide();
                            values[k * TILE_VALUES + place - offset] =
                                T::narrow(value * factors.of(row, column));
                        }
                    }
                }
            },
        );
        let (row_ptr, maps) = (self.row_ptr.clone(), self.maps.clone());
        Some(Tiles { rows: self.rows, cols: self.cols, row_ptr, columns, maps, values })
    }
}

impl<T> Tiles<T> {
    /// Row and column of a place in tile `k`.
    fn entry(&self, block_row: usize, k: usize, place: usize) -> (usize, usize) {
        (TILE * block_row + place % TILE, TILE * self.columns[k] as usize + place / TILE)
    }
}

impl<S: Store> RowEntries for &Tiles<S> {
    type Value = S;

    #[inline(always)]
    fn for_each_entry(self, row: usize, mut each: impl FnMut(usize, S)) {
        for k in self.tiles_of(row / TILE) {
            for j in 0..TILE {
                let place = TILE * j + row % TILE;
                if self.maps[k] >> place & 1 == 1 {
                    each(TILE * self.columns[k] as usize + j, self.values[k * TILE_VALUES + place]);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::f16;
    use crate::gallery::Problem;

    fn matrix(name: &str) -> Csr<f64> {
        name.parse::<Problem>().unwrap().matrix().unwrap()
    }

    #[test]
    fn a_matrix_survives_the_way_there_and_back() {
        for name in ["poisson2d:9", "poisson3d27:7", "elasticity3d:4", "convection3d:5"] {
            let a = matrix(name);
            let tiles = Tiles::from_csr(a.view());
            assert_eq!((tiles.nnz(), tiles.to_csr()), (a.nnz(), a), "{name}");
            let Tiles { rows, cols, row_ptr, columns, maps, values } = tiles.clone();
            assert_eq!(Tiles::try_new(rows, cols, row_ptr, columns, maps, values), Ok(tiles), "{name}");
        }
        let empty = Csr::<f64>::try_new(0, 3, vec![0], vec![], vec![]).unwrap();
        assert_eq!(Tiles::from_csr(empty.view()).to_csr(), empty);
    }

    #[test]
    fn faulty_tiles_are_rejected_with_their_place() {
        let made = |map: u16, place: usize| {
            let mut values = vec![0.0; 16];
            values[place] = 1.0;
            Tiles::try_new(3, 6, vec![0, 1], vec![1], vec![map], values)
        };
        assert!(made(1, 0).is_ok());
        // A value without a bit, a bit in a row below the matrix, one in a column beside it.
        assert_eq!(made(1, 5), Err(MatrixError::OutsideTile { row: 1, column: 5 }));
        assert_eq!(made(1 << 3, 3), Err(MatrixError::OutsideTile { row: 3, column: 4 }));
        assert_eq!(made(1 << 8, 8), Err(MatrixError::OutsideTile { row: 0, column: 6 }));
        let few = Tiles::try_new(3, 6, vec![0, 1], vec![1], vec![1], vec![0.0; 15]);
        assert!(matches!(few, Err(MatrixError::Mismatch { expected: 16, found: 15, .. })));
        let column = Tiles::try_new(3, 6, vec![0, 1], vec![2], vec![1], vec![0.0; 16]);
        assert!(matches!(column, Err(MatrixError::InBlocks { block: 4, .. })));
    }

    #[test]
    fn scaling_equals_that_of_compressed_rows() {
        let a = Arc::new(matrix("elasticity3d:3"));
        let (left, right): (Vec<f64>, Vec<f64>) =
            (0..a.rows()).map(|i| ((1 + i % 5) as f64, 1.0 / (1 + i % 7) as f64)).unzip();
        let factors = ScaleFactors { left: Some(&left), right: Some(&right), factor: 0.5 };
        let expected: Csr<f16> = factors.apply(a.view());
        assert_eq!(Tiles::<f16>::plan(&a, 1).unwrap().fill(factors).to_csr(), expected);
        let wide = Tiles::from_csr(a.view());
        assert_eq!(wide.scaled_as::<f16>(factors).unwrap().to_csr(), expected);
    }

    #[test]
    fn blocks_of_four_are_dense_and_grids_are_not() {
        let node = Csr::try_new(
            8,
            8,
            (0..=8).map(|i| 8 * i).collect(),
            (0..8).collect::<Vec<_>>().repeat(8),
            vec![1.0; 64],
        );
        assert!(has_dense_tiles(node.unwrap().view()));
        assert!(!has_dense_tiles(matrix("poisson3d27:8").view()));
        assert!(!has_dense_tiles(Csr::<f64>::try_new(0, 0, vec![0], vec![], vec![]).unwrap().view()));
    }
}

//! Row products of a matrix in 4 by 4 tiles with bitmaps, as in AmgT (Lu et al., SC 2024).
//!
//! ```text
//! dense tiles (10 of 16 entries on average), if the device has matrix units: kernels/fragments.rs
//! otherwise: one subgroup per block row; unit l processes the tiles l, l + s, l + 2s, …,
//!            and only those entries whose bit is set
//! ```
//!
//! Block rows with more than 64 tiles are cut into pieces of 64, which are the block rows of a
//! taller matrix: the same kernels compute their products, and a second kernel adds the products of
//! a block row in a fixed order. Memory traffic: the entries or, by matrix units, all values; 6
//! bytes per tile for its column and bitmap, 4 bytes per block row, and the vectors.

use cubecl::prelude::*;
use ziggurat_sparse::device::DeviceError;
use ziggurat_sparse::{Kind, Store, Tiles, bf16, f16};

use crate::Gpu;
use crate::capabilities::Capabilities;
use crate::device_format::{Buffer, DeviceFormat, RowsCall, longest};
use crate::kernels::fragments::{FragmentShape, tile_fragments};
use crate::kernels::row_products::{Operation, Subgroup, UNITS, finish_row, subgroup_sum};
use crate::kernels::widen::{Packing, value};
use crate::launch::{Span, countable, launch, launch_if};
use crate::matrix_units::LARGEST_FRAGMENT;
use crate::numbers::{Coefficient, packing, with_pair, with_real};
use crate::requests::{Requests, Shared, words};

/// The largest number of tiles that one plane processes, as in AmgT.
const PIECE: usize = 64;

/// Zeros after the last tile.
const PADDING: usize = LARGEST_FRAGMENT as usize;

/// Compile-time arguments of [`tile_rows`].
#[derive(CubeType, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct TileShape {
    pub(crate) packing: Packing,
    pub(crate) operation: Operation,
    pub(crate) subgroup: Subgroup,
}

/// The bitmap of a tile.
#[cube]
fn map_of(maps: &Array<u32>, tile: usize) -> u32 {
    (maps[tile / 2] >> (16u32 * u32::cast_from(tile % 2))) & 0xFFFFu32
}

/// Applies an operation to all rows.
#[cube(launch_unchecked)]
pub(crate) fn tile_rows<V: Numeric, C: Float + CubeElement>(
    row_ptr: &Array<u32>,
    columns: &Array<u32>,
    maps: &Array<u32>,
    values: &Array<V>,
    x: &Array<C>,
    b: &Array<C>,
    d: &Array<C>,
    y: &mut Array<C>,
    alpha: C,
    beta: C,
    rows: u32,
    block_rows: u32,
    #[comptime] shape: TileShape,
) {
    let size = comptime!(shape.subgroup.size);
    let lane = UNIT_POS % size;
    let block_row = CUBE_POS * comptime!((UNITS / size) as usize) + (UNIT_POS / size) as usize;
    let inside = block_row < block_rows as usize;
    let mut sums = Array::<C>::new(4usize);
    #[unroll]
    for i in 0..4usize {
        sums[i] = C::new(0.0);
    }
    if inside {
        let end = row_ptr[block_row + 1];
        let mut k = row_ptr[block_row] + lane;
        while k < end {
            let map = map_of(maps, k as usize);
            let column = columns[k as usize] as usize * 4;
            #[unroll]
            for j in 0..4usize {
                // A column without entries may be outside the matrix.
                if (map >> comptime!(4 * j as u32)) & 15u32 != 0 {
                    let x_j = x[column + j];
                    #[unroll]
                    for i in 0..4usize {
                        if (map >> comptime!((4 * j + i) as u32)) & 1u32 != 0 {
                            let place = k as usize * 16 + comptime!(4 * j + i);
                            sums[i] += value::<V, C>(values, place, comptime!(shape.packing)) * x_j;
                        }
                    }
                }
            }
            k += size;
        }
    }
    #[unroll]
    for i in 0..4usize {
        let sum = subgroup_sum::<C>(sums[i], comptime!(shape.subgroup));
        let row = block_row * 4 + i;
        if lane == 0 && inside && row < rows as usize {
            finish_row::<C>(row, sum, x, b, d, y, alpha, beta, comptime!(shape.operation));
        }
    }
}

/// Adds up the products of the pieces of each block row, four per piece, and finishes its rows.
#[cube(launch_unchecked)]
pub(crate) fn tile_pieces<C: Float + CubeElement>(
    piece_ptr: &Array<u32>,
    products: &Array<C>,
    x: &Array<C>,
    b: &Array<C>,
    d: &Array<C>,
    y: &mut Array<C>,
    alpha: C,
    beta: C,
    rows: u32,
    #[comptime] operation: Operation,
) {
    let row = CUBE_POS * comptime!(UNITS as usize) + UNIT_POS as usize;
    if row < rows as usize {
        let mut sum = C::new(0.0);
        for piece in piece_ptr[row / 4]..piece_ptr[row / 4 + 1] {
            sum += products[piece as usize * 4 + row % 4];
        }
        finish_row::<C>(row, sum, x, b, d, y, alpha, beta, operation);
    }
}

/// The arrays of a matrix in tiles.
#[derive(Debug)]
pub(super) struct TileArrays {
    row_ptr: Buffer,
    columns: Buffer,
    maps: Buffer,
    values: Buffer,
    /// Number of values, padding included.
    padded: usize,
    tiles: usize,
    block_rows: usize,
    cols: u32,
    /// Whether matrix units are used, if there are any.
    dense: bool,
    pieces: Option<Pieces>,
}

/// The partition of long block rows.
#[derive(Debug)]
struct Pieces {
    /// The first tile of each piece, and the number of tiles.
    row_ptr: Buffer,
    /// The first piece of each block row, and the number of pieces.
    piece_ptr: Buffer,
    count: usize,
}

/// The first tile of each piece and the first piece of each block row, each with the end.
fn cut(row_ptr: &[usize]) -> (Vec<usize>, Vec<usize>) {
    let (mut tiles, mut pieces) = (vec![0], vec![0]);
    for row in row_ptr.windows(2) {
        tiles.extend((row[0]..row[1]).step_by(PIECE).map(|first| (first + PIECE).min(row[1])));
        pieces.push(tiles.len() - 1);
    }
    (tiles, pieces)
}

impl TileArrays {
    pub(super) fn upload<S: Store>(gpu: &Gpu, a: &Tiles<S>) -> Result<Self, DeviceError> {
        let longest = longest(a.row_ptr());
        countable("stored values of a matrix", a.values().len() + PADDING)?;
        let mut maps: Vec<u32> = Vec::with_capacity(a.tiles().div_ceil(2));
        let word = |pair: &[u16]| u32::from(pair[0]) | u32::from(pair.get(1).copied().unwrap_or(0)) << 16;
        maps.extend(a.maps().chunks(2).map(word));
        let mut values = a.values().to_vec();
        values.resize(values.len() + PADDING, S::default());
        let pieces = || {
            let (tiles, pieces) = cut(a.row_ptr());
            let (row_ptr, piece_ptr) = (gpu.row_ptr(&tiles)?, gpu.row_ptr(&pieces)?);
            Ok(Pieces { row_ptr, piece_ptr, count: tiles.len() - 1 })
        };
        Ok(TileArrays {
            row_ptr: gpu.row_ptr(a.row_ptr())?,
            columns: gpu.words(a.columns())?,
            maps: gpu.words(&maps)?,
            values: gpu.values(&values)?,
            padded: values.len(),
            tiles: a.tiles(),
            block_rows: a.block_rows(),
            cols: countable("columns of a matrix", a.cols())?,
            dense: a.mean_fill() >= f64::from(gpu.capabilities().dense_from),
            pieces: (longest > PIECE).then(pieces).transpose()?,
        })
    }

    /// Applies an operation to the rows of these block rows.
    fn rows_of(&self, gpu: &Gpu, row_ptr: Span<'_>, block_rows: usize, call: &RowsCall<'_>) {
        if !(self.dense && self.by_matrix_units(gpu, row_ptr, block_rows, call)) {
            let (mean, rows) = (self.tiles / block_rows, call.rows as u32);
            let per_cube = UNITS / gpu.capabilities().subgroup(mean).size;
            let [columns, maps, values] = [&self.columns, &self.maps, &self.values].map(Buffer::span);
            let ([x, b, d, y], (alpha, beta)) = (call.vectors, call.coefficients);
            with_pair!(call.computed, call.stored, |N, V| launch!(
                gpu,
                tile_rows::TileRows<V, N>,
                block_rows.div_ceil(per_cube as usize),
                UNITS,
                [row_ptr, columns, maps, values, x, b, d, y],
                [N::of(alpha), N::of(beta), rows, block_rows as u32],
                |target| [TileShape {
                    packing: packing(call.stored, target),
                    operation: call.operation,
                    subgroup: target.subgroup(mean)
                }]
            ));
        }
    }

    /// As [`TileArrays::rows_of`], if the device has matrix units for these numbers; whether it
    /// has.
    fn by_matrix_units(&self, gpu: &Gpu, row_ptr: Span<'_>, block_rows: usize, call: &RowsCall<'_>) -> bool {
        // The same memory, read as numbers instead of words.
        let values = Span { len: self.padded, ..self.values.span() };
        let (columns, [x, b, d, y]) = (self.columns.span(), call.vectors);
        let (alpha, beta) = call.coefficients;
        macro_rules! launched {
            ($a:ty, $n:ty) => {
                launch_if!(
                    gpu,
                    tile_fragments::TileFragments<$a, $n>,
                    block_rows,
                    [row_ptr, columns, values, x, b, d, y],
                    [
                        <$n>::of(alpha),
                        <$n>::of(beta),
                        call.rows as u32,
                        self.cols,
                        block_rows as u32
                    ],
                    |target| target.matrix_units.of_pair(call.stored, call.computed),
                    |units| FragmentShape { units, operation: call.operation }
                )
            };
        }
        let launched = match (call.stored, call.computed) {
            (Kind::F16, Kind::F32) => launched!(f16, f32),
            (Kind::Bf16, Kind::F32) => launched!(bf16, f32),
            (Kind::F64, Kind::F64) => launched!(f64, f64),
            _ => false,
        };
        if launched {
            gpu.count_matrix_units();
        }
        launched
    }
}

impl DeviceFormat for TileArrays {
    fn rows(&self, gpu: &Gpu, call: &RowsCall<'_>) {
        let Some(pieces) = &self.pieces else {
            return self.rows_of(gpu, self.row_ptr.span(), self.block_rows, call);
        };
        let len = 4 * pieces.count;
        let Some(products) = gpu.noted(gpu.empty(len * call.computed.facts().bytes)) else { return };
        let products = Span { handle: &products, len };
        let [x, b, d, y] = call.vectors;
        let product = RowsCall {
            rows: len,
            operation: Operation::Product,
            coefficients: (1.0, 0.0),
            vectors: [x, b, d, products],
            ..*call
        };
        self.rows_of(gpu, pieces.row_ptr.span(), pieces.count, &product);
        let (piece_ptr, (alpha, beta)) = (pieces.piece_ptr.span(), call.coefficients);
        with_real!(call.computed, |N| launch!(
            gpu,
            tile_pieces::TilePieces<N>,
            call.rows.div_ceil(UNITS as usize),
            UNITS,
            [piece_ptr, products, x, b, d, y],
            [N::of(alpha), N::of(beta), call.rows as u32],
            |_target| [call.operation]
        ));
    }
}

/// The size of the arrays in bytes, and the requests of a product without matrix units.
pub(super) fn traffic<S: Store>(
    a: &Tiles<S>,
    computed: usize,
    capabilities: &Capabilities,
) -> (usize, Requests) {
    let (row_ptr, columns, maps, rows) = (a.row_ptr(), a.columns(), a.maps(), a.block_rows());
    let value = size_of::<S>();
    let arrays = 4 * (rows + 1) + 4 * a.tiles() + words(2 * a.tiles()) + words(size_of_val(a.values()));
    let shared = Shared { size: capabilities.subgroup(a.tiles() / rows.max(1)).size as usize, rows };
    let mut requests = Requests::default();
    for plane in 0..shared.planes() {
        shared.borders(&mut requests, plane, 4, computed);
        shared.turns(
            plane,
            |row| (row_ptr[row], row_ptr[row + 1]),
            |taken| {
                requests.load(4, taken.iter().copied());
                requests.load(4, taken.iter().map(|k| k / 2));
                for j in 0..4 {
                    let used = taken.iter().filter(|&&k| maps[k] >> (4 * j) & 15 != 0);
                    requests.load(computed, used.map(|&k| columns[k] as usize * 4 + j));
                    for place in 4 * j..4 * j + 4 {
                        let set = taken.iter().filter(|&&k| maps[k] >> place & 1 == 1);
                        requests.load(value, set.map(|&k| 16 * k + place));
                    }
                }
            },
        );
    }
    (arrays, requests)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_block_rows_are_cut_into_pieces() {
        assert_eq!(cut(&[0]), (vec![0], vec![0]));
        let (tiles, pieces) = cut(&[0, 3, 3, 133, 197]);
        assert_eq!(tiles, [0, 3, 67, 131, 133, 197]);
        assert_eq!(pieces, [0, 1, 1, 4, 5]);
    }
}

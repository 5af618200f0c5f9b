//! Row products of a CSR matrix with strongly varying row lengths, with one cube per piece of 1024
//! entries.
//!
//! ```text
//! piece p                 products a_k x[column_k] into shared memory, then the sums of its rows
//! row spanning pieces     its partial sums go to `carry`, and a second kernel adds them up
//! ```
//!
//! The load-balanced kernel of Tsai's thesis (section 4.1.1) gives every warp the same number of
//! entries and adds with atomics. This kernel uses the same partition, computed when the matrix is
//! uploaded, but adds in two stages in a fixed order. Results are therefore bitwise reproducible,
//! and float atomics are not needed. Memory traffic: as [`csr`](super::csr), plus 4 bytes per piece
//! and at most 16 bytes per piece for the partial sums.

use cubecl::prelude::*;
use ziggurat_sparse::device::DeviceError;
use ziggurat_sparse::{Csr, Store};

use crate::Gpu;
use crate::device_format::{Buffer, RowsCall};
use crate::kernels::row_products::{Operation, UNITS, finish_row};
use crate::kernels::widen::{Packing, value};
use crate::launch::{Span, launch};
use crate::numbers::{Coefficient, packing, with_pair, with_real};
use crate::requests::{PLANE, Requests};

/// Number of entries per piece.
const PIECE: u32 = 8 * UNITS;

/// Compile-time arguments of [`csr_pieces`].
#[derive(CubeType, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct BalancedShape {
    pub(crate) packing: Packing,
    pub(crate) operation: Operation,
}

/// The partition of the entries into pieces; see [`Pieces::of`].
#[derive(Debug, PartialEq, Eq)]
struct Pieces {
    /// For each piece, the first row that begins in or after it; then the number of rows.
    first_rows: Vec<u32>,
    /// For each row that spans several pieces: the row, its first piece and its last piece.
    split: Vec<[u32; 3]>,
}

impl Pieces {
    /// Partitions the entries of a matrix with the given row pointers into at least one piece.
    fn of(row_ptr: &[usize]) -> Self {
        let (rows, entries) = (row_ptr.len() - 1, row_ptr[row_ptr.len() - 1]);
        let piece = PIECE as usize;
        let count = entries.div_ceil(piece).max(1);
        let first = |p: usize| row_ptr[..rows].partition_point(|&begin| begin < p * piece);
        let mut first_rows: Vec<u32> = (0..count).map(|p| first(p) as u32).collect();
        first_rows.push(rows as u32);
        let mut split = Vec::new();
        for p in 0..count {
            // Only the last row that begins in a piece can extend beyond it.
            let (begin, end) = (first_rows[p] as usize, first_rows[p + 1] as usize);
            if begin < end && row_ptr[end] > (p + 1) * piece {
                split.push([end as u32 - 1, p as u32, ((row_ptr[end] - 1) / piece) as u32]);
            }
        }
        Pieces { first_rows, split }
    }
}

/// The arrays of the partition.
#[derive(Debug)]
pub(super) struct PieceArrays {
    first_rows: Buffer,
    split: Buffer,
    pieces: usize,
    split_rows: usize,
}

impl PieceArrays {
    pub(super) fn upload(gpu: &Gpu, row_ptr: &[usize]) -> Result<Self, DeviceError> {
        let pieces = Pieces::of(row_ptr);
        Ok(PieceArrays {
            first_rows: gpu.words(&pieces.first_rows)?,
            split: gpu.words(pieces.split.as_flattened())?,
            pieces: pieces.first_rows.len() - 1,
            split_rows: pieces.split.len(),
        })
    }

    /// Applies an operation to all rows of the matrix with these row pointers, columns and values.
    pub(super) fn rows(&self, gpu: &Gpu, matrix: [Span<'_>; 3], entries: usize, call: &RowsCall<'_>) {
        let parts = 2 * self.pieces;
        let Some(carry) = gpu.noted(gpu.empty(parts * call.computed.facts().bytes)) else { return };
        let carry = Span { handle: &carry, len: parts };
        let ([row_ptr, columns, values], [x, b, d, y]) = (matrix, call.vectors);
        let ((alpha, beta), operation) = (call.coefficients, call.operation);
        let (first_rows, split) = (self.first_rows.span(), self.split.span());
        with_pair!(call.computed, call.stored, |N, V| launch!(
            gpu,
            csr_pieces::CsrPieces<V, N>,
            self.pieces,
            UNITS,
            [row_ptr, columns, values, first_rows, x, b, d, y, carry],
            [N::of(alpha), N::of(beta), entries as u32, self.pieces as u32],
            |target| [BalancedShape { packing: packing(call.stored, target), operation }]
        ));
        if self.split_rows > 0 {
            with_real!(call.computed, |N| launch!(
                gpu,
                csr_split_rows::CsrSplitRows<N>,
                self.split_rows.div_ceil(UNITS as usize),
                UNITS,
                [split, carry, x, b, d, y],
                [N::of(alpha), N::of(beta), self.split_rows as u32],
                |_target| [operation]
            ));
        }
    }
}

/// The size of all arrays in bytes, if the matrix takes `arrays`, and the requests of a product.
pub(super) fn traffic<S: Store>(a: &Csr<S>, computed: usize, arrays: usize) -> (usize, Requests) {
    let (row_ptr, columns, piece) = (a.row_ptr(), a.columns(), PIECE as usize);
    let pieces = Pieces::of(row_ptr);
    let mut requests = Requests::default();
    for begin in (0..a.nnz()).step_by(PLANE) {
        let entries = begin..(begin + PLANE).min(a.nnz());
        match size_of::<S>() {
            2 => requests.load(4, entries.clone().map(|k| k / 2)),
            value => requests.load(value, entries.clone()),
        }
        requests.load(4, entries.clone());
        requests.load(computed, entries.map(|k| columns[k] as usize));
    }
    for (p, ends) in pieces.first_rows.windows(2).enumerate() {
        requests.load(4, [p, p + 1].into_iter());
        let rows = ends[0] as usize..ends[1] as usize;
        for begin in rows.clone().step_by(PLANE) {
            let rows = begin..(begin + PLANE).min(rows.end);
            requests.load(4, rows.clone());
            requests.load(4, rows.clone().map(|row| row + 1));
            requests.store(computed, rows.filter(|&row| row_ptr[row + 1] <= (p + 1) * piece));
        }
        requests.load(computed, [2 * p, 2 * p + 1].into_iter());
    }
    for &[row, first, last] in &pieces.split {
        requests.load(4, 0..3);
        (first..=last).for_each(|p| requests.load(computed, std::iter::once(2 * p as usize)));
        requests.store(computed, std::iter::once(row as usize));
    }
    let more = 4 * pieces.first_rows.len() + 12 * pieces.split.len();
    (arrays + more, requests)
}

/// Σ shared[begin..end]
#[cube]
fn shared_sum<C: Float>(shared: &SharedMemory<C>, begin: u32, end: u32) -> C {
    let mut sum = C::new(0.0);
    for k in begin..end {
        sum += shared[k as usize];
    }
    sum
}

/// Finishes the rows within one piece, and writes the partial sums of the others to `carry`: for
/// each piece, one for the row continued from the previous piece and one for the row continued in
/// the next.
#[cube(launch_unchecked)]
pub(crate) fn csr_pieces<V: Numeric, C: Float + CubeElement>(
    row_ptr: &Array<u32>,
    columns: &Array<u32>,
    values: &Array<V>,
    first_rows: &Array<u32>,
    x: &Array<C>,
    b: &Array<C>,
    d: &Array<C>,
    y: &mut Array<C>,
    carry: &mut Array<C>,
    alpha: C,
    beta: C,
    entries: u32,
    pieces: u32,
    #[comptime] shape: BalancedShape,
) {
    let piece = CUBE_POS;
    if piece < pieces as usize {
        let mut shared = SharedMemory::<C>::new(comptime!(PIECE as usize));
        let begin = u32::cast_from(piece) * PIECE;
        let end = select(entries - begin < PIECE, entries, begin + PIECE);
        let mut k = begin + UNIT_POS;
        while k < end {
            let stored = value::<V, C>(values, k as usize, comptime!(shape.packing));
            shared[(k - begin) as usize] = stored * x[columns[k as usize] as usize];
            k += UNITS;
        }
        sync_cube();
        let first = first_rows[piece];
        let count = first_rows[piece + 1] - first;
        // Job 0 is the row continued from the previous piece; the others are rows that begin here.
        let mut job = UNIT_POS;
        while job <= count {
            if job == 0 {
                let mut to = end;
                if count > 0 {
                    to = row_ptr[first as usize];
                }
                carry[2 * piece] = shared_sum::<C>(&shared, 0u32, to - begin);
            } else {
                let row = (first + job - 1) as usize;
                let from = row_ptr[row];
                let to = row_ptr[row + 1];
                if to <= end {
                    let sum = shared_sum::<C>(&shared, from - begin, to - begin);
                    finish_row::<C>(row, sum, x, b, d, y, alpha, beta, comptime!(shape.operation));
                } else {
                    carry[2 * piece + 1] = shared_sum::<C>(&shared, from - begin, end - begin);
                }
            }
            job += UNITS;
        }
    }
}

/// Adds up the partial sums of the rows that span several pieces, and finishes these rows.
#[cube(launch_unchecked)]
pub(crate) fn csr_split_rows<C: Float + CubeElement>(
    split: &Array<u32>,
    carry: &Array<C>,
    x: &Array<C>,
    b: &Array<C>,
    d: &Array<C>,
    y: &mut Array<C>,
    alpha: C,
    beta: C,
    count: u32,
    #[comptime] operation: Operation,
) {
    let index = CUBE_POS * comptime!(UNITS as usize) + UNIT_POS as usize;
    if index < count as usize {
        let row = split[3 * index] as usize;
        let first = split[3 * index + 1];
        let last = split[3 * index + 2];
        let mut sum = carry[(2 * first + 1) as usize];
        for piece in first + 1..last + 1 {
            sum += carry[(2 * piece) as usize];
        }
        finish_row::<C>(row, sum, x, b, d, y, alpha, beta, operation);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_span_pieces_are_found() {
        assert_eq!(Pieces::of(&[0]), Pieces { first_rows: vec![0, 0], split: vec![] });
        assert_eq!(Pieces::of(&[0, 0, 0]), Pieces { first_rows: vec![0, 2], split: vec![] });
        // A full piece, an empty row at the boundary, a row that spans three pieces, a short row.
        let row_ptr = [0, 1000, 1024, 1024, 3073, 3080];
        assert_eq!(Pieces::of(&row_ptr), Pieces { first_rows: vec![0, 2, 4, 4, 5], split: vec![[3, 1, 3]] });
    }
}

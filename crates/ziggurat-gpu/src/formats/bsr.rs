//! Row products of a BSR matrix, with one subgroup per block row.
//!
//! ```text
//! (A x)_{b I + i} = Σ_K Σ_j a_K[i, j] x[b column_K + j]
//! unit l processes the blocks K = l, l + s, l + 2s, …
//! ```
//!
//! A unit multiplies whole blocks and keeps b sums, so neighbouring units read neighbouring blocks,
//! and an element of x is read once per block. The block size is a compile-time argument, so the
//! sums stay in registers. Memory traffic: the values, 4 bytes per block for its column, 4 bytes
//! per block row, and the vectors.

use cubecl::prelude::*;
use ziggurat_sparse::device::DeviceError;
use ziggurat_sparse::{Bsr, Store};

use crate::Gpu;
use crate::capabilities::Capabilities;
use crate::device_format::{Buffer, DeviceFormat, RowArrays, RowsCall, longest};
use crate::kernels::row_products::{Operation, Subgroup, UNITS, finish_row, subgroup_sum};
use crate::kernels::widen::{Packing, value};
use crate::launch::{Span, launch};
use crate::numbers::{Coefficient, packing, with_pair};
use crate::requests::{Requests, Shared, words};

/// The largest supported block size; matrices with larger blocks are converted to CSR.
const LARGEST_BLOCK: usize = 9;

/// Whether the kernel supports the block size of a matrix.
pub(super) fn is_supported<S: Store>(a: &Bsr<S>) -> bool {
    a.block_size() <= LARGEST_BLOCK
}

/// Compile-time arguments of [`bsr_rows`].
#[derive(CubeType, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct BsrShape {
    pub(crate) packing: Packing,
    pub(crate) operation: Operation,
    pub(crate) subgroup: Subgroup,
    pub(crate) block: u32,
}

/// Applies an operation to all rows.
#[cube(launch_unchecked)]
pub(crate) fn bsr_rows<V: Numeric, C: Float + CubeElement>(
    row_ptr: &Array<u32>,
    columns: &Array<u32>,
    values: &Array<V>,
    x: &Array<C>,
    b: &Array<C>,
    d: &Array<C>,
    y: &mut Array<C>,
    alpha: C,
    beta: C,
    block_rows: u32,
    #[comptime] shape: BsrShape,
) {
    let size = comptime!(shape.subgroup.size);
    let block = comptime!(shape.block as usize);
    let lane = UNIT_POS % size;
    let block_row = CUBE_POS * comptime!((UNITS / size) as usize) + (UNIT_POS / size) as usize;
    let inside = block_row < block_rows as usize;
    let mut sums = Array::<C>::new(block);
    #[unroll]
    for i in 0..block {
        sums[i] = C::new(0.0);
    }
    if inside {
        let end = row_ptr[block_row + 1];
        let mut k = row_ptr[block_row] + lane;
        while k < end {
            let first = k as usize * comptime!(block * block);
            let column = columns[k as usize] as usize * block;
            #[unroll]
            for j in 0..block {
                let x_j = x[column + j];
                #[unroll]
                for i in 0..block {
                    sums[i] += value::<V, C>(values, first + i * block + j, comptime!(shape.packing)) * x_j;
                }
            }
            k += size;
        }
    }
    #[unroll]
    for i in 0..block {
        let sum = subgroup_sum::<C>(sums[i], comptime!(shape.subgroup));
        if lane == 0 && inside {
            let row = block_row * block + i;
            finish_row::<C>(row, sum, x, b, d, y, alpha, beta, comptime!(shape.operation));
        }
    }
}

/// The arrays of a BSR matrix.
#[derive(Debug)]
pub(crate) struct BsrArrays {
    row_ptr: Buffer,
    columns: Buffer,
    values: Buffer,
    block: usize,
    blocks: usize,
    block_rows: usize,
    /// Number of blocks in the longest block row.
    longest: usize,
}

impl BsrArrays {
    pub(super) fn upload<S: Store>(gpu: &Gpu, a: &Bsr<S>) -> Result<Self, DeviceError> {
        let a = a.view();
        Ok(BsrArrays {
            row_ptr: gpu.row_ptr(a.row_ptr())?,
            columns: gpu.words(a.columns())?,
            values: gpu.values(a.values())?,
            block: a.block_size(),
            blocks: a.blocks(),
            block_rows: a.block_rows(),
            longest: longest(a.row_ptr()),
        })
    }

    /// A matrix whose arrays are on the device already.
    pub(crate) fn of_device([row_ptr, columns, values]: [Buffer; 3], block: usize, longest: usize) -> Self {
        let (blocks, block_rows) = (columns.span().len, row_ptr.span().len - 1);
        BsrArrays { row_ptr, columns, values, block, blocks, block_rows, longest }
    }

    fn spans(&self) -> [Span<'_>; 3] {
        [&self.row_ptr, &self.columns, &self.values].map(Buffer::span)
    }
}

impl DeviceFormat for BsrArrays {
    fn rows(&self, gpu: &Gpu, call: &RowsCall<'_>) {
        let (mean, block) = (self.blocks / self.block_rows, self.block as u32);
        let per_cube = UNITS / gpu.capabilities().subgroup(mean).size;
        let ([row_ptr, columns, values], [x, b, d, y]) = (self.spans(), call.vectors);
        let ((alpha, beta), operation) = (call.coefficients, call.operation);
        with_pair!(call.computed, call.stored, |N, V| launch!(
            gpu,
            bsr_rows::BsrRows<V, N>,
            self.block_rows.div_ceil(per_cube as usize),
            UNITS,
            [row_ptr, columns, values, x, b, d, y],
            [N::of(alpha), N::of(beta), self.block_rows as u32],
            |target| [BsrShape {
                packing: packing(call.stored, target),
                operation,
                subgroup: target.subgroup(mean),
                block
            }]
        ));
    }

    fn by_rows(&self) -> Option<RowArrays<'_>> {
        let [row_ptr, columns, values] = self.spans();
        let (block, longest) = (self.block, self.longest * self.block);
        Some(RowArrays { row_ptr, columns, values, block, longest })
    }
}

/// The size of the arrays in bytes, and the requests of a product.
pub(super) fn traffic<S: Store>(
    a: &Bsr<S>,
    computed: usize,
    capabilities: &Capabilities,
) -> (usize, Requests) {
    let (a, value) = (a.view(), size_of::<S>());
    let (row_ptr, columns, block, rows) = (a.row_ptr(), a.columns(), a.block_size(), a.block_rows());
    let arrays = 4 * (rows + 1) + 4 * a.blocks() + words(value * a.nnz());
    let shared = Shared { size: capabilities.subgroup(a.blocks() / rows.max(1)).size as usize, rows };
    let mut requests = Requests::default();
    for plane in 0..shared.planes() {
        shared.borders(&mut requests, plane, block, computed);
        shared.turns(
            plane,
            |row| (row_ptr[row], row_ptr[row + 1]),
            |taken| {
                requests.load(4, taken.iter().copied());
                for j in 0..block {
                    requests.load(computed, taken.iter().map(|&k| columns[k] as usize * block + j));
                    for i in 0..block {
                        let entries = taken.iter().map(|k| (k * block + i) * block + j);
                        match value {
                            2 => requests.load(4, entries.map(|k| k / 2)),
                            _ => requests.load(value, entries),
                        }
                    }
                }
            },
        );
    }
    (arrays, requests)
}

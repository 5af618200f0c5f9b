//! Row products of a CSR matrix, with one subgroup per row.
//!
//! ```text
//! (A x)_i = Σ_k a_k x[column_k],   k from row_ptr[i] to row_ptr[i+1]
//! unit l processes k = l, l + s, l + 2s, …
//! ```
//!
//! This is the classical kernel of Tsai's thesis (algorithm 11). The subgroup size is a power of
//! two chosen for the mean row length. 16-bit values are read in pairs (algorithm 16): unit l
//! processes the words l, l + s, …, and a word shared by two rows is read for both. Memory traffic:
//! the value and 4 bytes for the column of each entry, 4 bytes per row, and the vectors.

use cubecl::prelude::*;
use ziggurat_sparse::device::DeviceError;
use ziggurat_sparse::{Csr, Store};

use super::csr_balanced::{self, PieceArrays};
use crate::Gpu;
use crate::capabilities::Capabilities;
use crate::device_format::{Buffer, DeviceFormat, RowArrays, RowsCall, longest};
use crate::kernels::row_products::{Operation, Subgroup, UNITS, finish_row, subgroup_sum};
use crate::kernels::widen::{Packing, half_of};
use crate::launch::{Span, launch};
use crate::numbers::{Coefficient, packing, with_pair};
use crate::requests::{Requests, Shared, words};

/// Compile-time arguments of [`csr_rows`].
#[derive(CubeType, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct CsrShape {
    pub(crate) packing: Packing,
    pub(crate) operation: Operation,
    pub(crate) subgroup: Subgroup,
}

/// One unit's part of a row product: every `stride`-th entry (or word of two), starting at `lane`.
#[cube]
pub(crate) fn csr_part<V: Numeric, C: Float>(
    columns: &Array<u32>,
    values: &Array<V>,
    x: &Array<C>,
    begin: u32,
    end: u32,
    lane: u32,
    #[comptime] stride: u32,
    #[comptime] packing: Packing,
) -> C {
    let mut sum = C::new(0.0);
    if comptime!(packing == Packing::Plain) {
        let mut k = begin + lane;
        while k < end {
            sum += C::cast_from(values[k as usize]) * x[columns[k as usize] as usize];
            k += stride;
        }
    } else {
        let mut word = begin / 2 + lane;
        while 2 * word < end {
            let both = u32::cast_from(values[word as usize]);
            let k = 2 * word;
            if k >= begin {
                sum += half_of::<C>(both, 0u32, packing) * x[columns[k as usize] as usize];
            }
            if k + 1 < end {
                sum += half_of::<C>(both, 1u32, packing) * x[columns[(k + 1) as usize] as usize];
            }
            word += stride;
        }
    }
    sum
}

/// Applies an operation to all rows.
#[cube(launch_unchecked)]
pub(crate) fn csr_rows<V: Numeric, C: Float + CubeElement>(
    row_ptr: &Array<u32>,
    columns: &Array<u32>,
    values: &Array<V>,
    x: &Array<C>,
    b: &Array<C>,
    d: &Array<C>,
    y: &mut Array<C>,
    alpha: C,
    beta: C,
    rows: u32,
    #[comptime] shape: CsrShape,
) {
    let size = comptime!(shape.subgroup.size);
    let lane = UNIT_POS % size;
    let row = CUBE_POS * comptime!((UNITS / size) as usize) + (UNIT_POS / size) as usize;
    let mut part = C::new(0.0);
    if row < rows as usize {
        part = csr_part::<V, C>(
            columns,
            values,
            x,
            row_ptr[row],
            row_ptr[row + 1],
            lane,
            size,
            comptime!(shape.packing),
        );
    }
    let sum = subgroup_sum::<C>(part, comptime!(shape.subgroup));
    if lane == 0 && row < rows as usize {
        finish_row::<C>(row, sum, x, b, d, y, alpha, beta, comptime!(shape.operation));
    }
}

/// The arrays of a CSR matrix.
#[derive(Debug)]
pub(crate) struct CsrArrays {
    row_ptr: Buffer,
    columns: Buffer,
    values: Buffer,
    entries: usize,
    /// Number of entries in the longest row.
    longest: usize,
    /// The partition into pieces, if the load-balanced kernel is used.
    pieces: Option<PieceArrays>,
}

impl CsrArrays {
    pub(super) fn upload<S: Store>(gpu: &Gpu, a: &Csr<S>) -> Result<Self, DeviceError> {
        let longest = longest(a.row_ptr());
        let balanced = gpu.capabilities().is_balanced(a.nnz(), longest);
        Ok(CsrArrays {
            row_ptr: gpu.row_ptr(a.row_ptr())?,
            columns: gpu.words(a.columns())?,
            values: gpu.values(a.values())?,
            entries: a.nnz(),
            longest,
            pieces: balanced.then(|| PieceArrays::upload(gpu, a.row_ptr())).transpose()?,
        })
    }

    /// A matrix whose arrays are on the device already. Its rows are not partitioned: that would
    /// need the row pointers on the host.
    pub(crate) fn of_device(
        row_ptr: Buffer,
        columns: Buffer,
        values: Buffer,
        entries: usize,
        longest: usize,
    ) -> Self {
        CsrArrays { row_ptr, columns, values, entries, longest, pieces: None }
    }

    fn spans(&self) -> [Span<'_>; 3] {
        [&self.row_ptr, &self.columns, &self.values].map(Buffer::span)
    }
}

impl DeviceFormat for CsrArrays {
    fn rows(&self, gpu: &Gpu, call: &RowsCall<'_>) {
        if let Some(pieces) = &self.pieces {
            return pieces.rows(gpu, self.spans(), self.entries, call);
        }
        let mean = self.entries / call.rows;
        let per_cube = UNITS / gpu.capabilities().subgroup(mean).size;
        let ([row_ptr, columns, values], [x, b, d, y]) = (self.spans(), call.vectors);
        let ((alpha, beta), operation) = (call.coefficients, call.operation);
        with_pair!(call.computed, call.stored, |N, V| launch!(
            gpu,
            csr_rows::CsrRows<V, N>,
            call.rows.div_ceil(per_cube as usize),
            UNITS,
            [row_ptr, columns, values, x, b, d, y],
            [N::of(alpha), N::of(beta), call.rows as u32],
            |target| [CsrShape {
                packing: packing(call.stored, target),
                operation,
                subgroup: target.subgroup(mean)
            }]
        ));
    }

    fn by_rows(&self) -> Option<RowArrays<'_>> {
        let [row_ptr, columns, values] = self.spans();
        Some(RowArrays { row_ptr, columns, values, block: 1, longest: self.longest })
    }
}

/// The size of the arrays in bytes, and the requests of a product.
pub(super) fn traffic<S: Store>(
    a: &Csr<S>,
    computed: usize,
    capabilities: &Capabilities,
) -> (usize, Requests) {
    let (rows, row_ptr, columns) = (a.rows(), a.row_ptr(), a.columns());
    let value = size_of::<S>();
    let arrays = 4 * (rows + 1) + 4 * a.nnz() + words(value * a.nnz());
    if capabilities.is_balanced(a.nnz(), longest(row_ptr)) {
        return csr_balanced::traffic(a, computed, arrays);
    }
    let mut requests = Requests::default();
    let shared = Shared { size: capabilities.subgroup(a.nnz() / rows.max(1)).size as usize, rows };
    for plane in 0..shared.planes() {
        shared.borders(&mut requests, plane, 1, computed);
        if value == 2 {
            // Two values per word; a word may be shared with the neighbouring row.
            let ends = |row: usize| (row_ptr[row] / 2, row_ptr[row + 1].div_ceil(2));
            shared.turns(plane, ends, |taken| {
                requests.load(4, taken.iter().copied());
                for half in 0..2 {
                    let entries = taken.iter().map(|word| (2 * word + half).min(a.nnz() - 1));
                    requests.load(4, entries.clone());
                    requests.load(computed, entries.map(|k| columns[k] as usize));
                }
            });
        } else {
            shared.turns(
                plane,
                |row| (row_ptr[row], row_ptr[row + 1]),
                |taken| {
                    requests.load(value, taken.iter().copied());
                    requests.load(4, taken.iter().copied());
                    requests.load(computed, taken.iter().map(|&k| columns[k] as usize));
                },
            );
        }
    }
    (arrays, requests)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capabilities::balanced_beyond;
    use crate::requests::SECTOR;
    use crate::runtime::Vendor;

    fn capabilities() -> Capabilities {
        Capabilities {
            f64: true,
            f16: true,
            planes: true,
            plane_size: 32,
            largest_array: 1 << 40,
            cubes: 65535,
            balanced_beyond: balanced_beyond(Vendor::Nvidia),
            matrix_units: Default::default(),
            dense_from: 10,
        }
    }

    #[test]
    fn a_diagonal_matrix_requests_each_byte_once() {
        // 1024 rows are 32 planes: row_ptr twice (the second time shifted by one), columns, values,
        // x, y.
        let a = Csr::<f64>::identity(1024).unwrap();
        let (arrays, requested) = traffic(&a, 8, &capabilities());
        assert_eq!(arrays, 1024 * 16 + 4);
        assert_eq!(requested.sectors * SECTOR, 1024 * (4 + 4 + 4 + 8 + 8 + 8) + 32 * SECTOR);
    }

    #[test]
    fn distant_columns_request_a_sector_each() {
        let columns: Vec<u32> = (0..32).map(|k| 1000 * k).collect();
        let a = Csr::try_new(1, 32_000, vec![0, 32], columns, vec![1.0_f64; 32]).unwrap();
        let (_, requested) = traffic(&a, 8, &capabilities());
        // Row pointers and result, values, columns, and 32 sectors of x.
        assert_eq!(requested.sectors * SECTOR, 3 * SECTOR + 8 * 32 + 4 * 32 + 32 * SECTOR);
    }
}

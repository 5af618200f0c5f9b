//! Row products of a matrix stored by diagonals, with one unit per row.
//!
//! ```text
//! (A x)_i = Σ_d a_d[i] x[i + offset_d]
//! ```
//!
//! Neighbouring units read neighbouring values and elements of x, so every load is coalesced and
//! none fetches an index. A word of two 16-bit values is read by the two units of its rows, in the
//! same transaction. Offsets are added modulo 2³², so that a column before the first row becomes
//! larger than any other and is skipped like one after the last. Where sections of rows have
//! diagonals of their own, a unit looks its section up in a table of a few words. Memory traffic in
//! bytes: the stored values, and the vectors.

use cubecl::prelude::*;
use ziggurat_sparse::device::DeviceError;
use ziggurat_sparse::{Dia, DiaSection, Store};

use crate::Gpu;
use crate::device_format::{Buffer, DeviceFormat, RowsCall};
use crate::kernels::row_products::{Operation, UNITS, finish_row};
use crate::kernels::widen::{Packing, value};
use crate::launch::{Span, countable, launch};
use crate::numbers::{Coefficient, packing, with_pair};
use crate::requests::{PLANE, Requests, words};

/// Rows per window of the format.
const WINDOW: u32 = Dia::<f32>::WINDOW as u32;

/// Compile-time arguments of [`dia_rows`].
#[derive(CubeType, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct DiaShape {
    pub(crate) packing: Packing,
    pub(crate) operation: Operation,
    /// Whether there are several sections.
    pub(crate) sections: bool,
}

/// Words per section in the table before the offsets: its first window, the places of its first
/// offset and of its first value, and the number of its diagonals.
const ENTRY: u32 = 4;

/// Where the offsets and values of a row are.
#[derive(CubeType, Clone, Copy)]
struct RowPlace {
    offsets: u32,
    diagonals: u32,
    /// The place of the row's value on the first diagonal.
    values: u32,
}

/// The place of a row. With one section, there is no table.
#[cube]
fn row_place(offsets: &Array<u32>, row: u32, n: u32, #[comptime] several: bool) -> RowPlace {
    let window = row / WINDOW;
    let mut place =
        RowPlace { offsets: 0u32.runtime(), diagonals: n, values: window * n * WINDOW + row % WINDOW };
    if several {
        // n is the number of sections; the last one that does not begin behind the row is its own.
        for section in 0..n {
            let entry = (ENTRY * section) as usize;
            let first = offsets[entry];
            if first <= window {
                place.offsets = offsets[entry + 1];
                place.diagonals = offsets[entry + 3];
                place.values =
                    offsets[entry + 2] + (window - first) * place.diagonals * WINDOW + row % WINDOW;
            }
        }
    }
    place
}

/// Applies an operation to all rows.
#[cube(launch_unchecked)]
pub(crate) fn dia_rows<V: Numeric, C: Float + CubeElement>(
    offsets: &Array<u32>,
    values: &Array<V>,
    x: &Array<C>,
    b: &Array<C>,
    d: &Array<C>,
    y: &mut Array<C>,
    alpha: C,
    beta: C,
    rows: u32,
    columns: u32,
    diagonals_or_sections: u32,
    #[comptime] shape: DiaShape,
) {
    let index = CUBE_POS * comptime!(UNITS as usize) + UNIT_POS as usize;
    if index < rows as usize {
        let row = u32::cast_from(index);
        let place = row_place(offsets, row, diagonals_or_sections, shape.sections);
        let mut sum = C::new(0.0);
        for k in 0..place.diagonals {
            let column = row + offsets[(place.offsets + k) as usize];
            if column < columns {
                let at = (place.values + k * WINDOW) as usize;
                let stored = value::<V, C>(values, at, comptime!(shape.packing));
                sum += stored * x[column as usize];
            }
        }
        finish_row::<C>(index, sum, x, b, d, y, alpha, beta, comptime!(shape.operation));
    }
}

/// The arrays of a matrix stored by diagonals.
#[derive(Debug)]
pub(super) struct DiaArrays {
    offsets: Buffer,
    values: Buffer,
    columns: u32,
    /// The sections, or the diagonals of the only one.
    count: u32,
    sections: bool,
}

impl DiaArrays {
    pub(super) fn upload<S: Store>(gpu: &Gpu, a: &Dia<S>) -> Result<Self, DeviceError> {
        countable("stored values of a matrix", a.values().len())?;
        let sections = a.sections();
        let offsets = table(a);
        let count = match sections {
            [only] => only.offsets().len(),
            sections => sections.len(),
        };
        Ok(DiaArrays {
            offsets: gpu.words(&offsets)?,
            values: gpu.values(a.values())?,
            columns: countable("columns of a matrix", a.cols())?,
            count: count as u32,
            sections: sections.len() > 1,
        })
    }

    fn spans(&self) -> [Span<'_>; 2] {
        [&self.offsets, &self.values].map(Buffer::span)
    }
}

impl DeviceFormat for DiaArrays {
    fn rows(&self, gpu: &Gpu, call: &RowsCall<'_>) {
        let ([offsets, values], [x, b, d, y]) = (self.spans(), call.vectors);
        let ((alpha, beta), operation) = (call.coefficients, call.operation);
        with_pair!(call.computed, call.stored, |N, V| launch!(
            gpu,
            dia_rows::DiaRows<V, N>,
            call.rows.div_ceil(UNITS as usize),
            UNITS,
            [offsets, values, x, b, d, y],
            [N::of(alpha), N::of(beta), call.rows as u32, self.columns, self.count],
            |target| [DiaShape { packing: packing(call.stored, target), operation, sections: self.sections }]
        ));
    }
}

/// The offsets of all sections, after a table of these if there are several.
fn table<S: Store>(a: &Dia<S>) -> Vec<u32> {
    let sections = a.sections();
    let mut words = Vec::new();
    let mut first = ENTRY as usize * sections.len();
    for section in sections.iter().filter(|_| sections.len() > 1) {
        let value = a.place(section.windows().start);
        words.extend([section.windows().start, first, value, section.offsets().len()].map(|x| x as u32));
        first += section.offsets().len();
    }
    let offsets = sections.iter().flat_map(DiaSection::offsets);
    words.extend(offsets.map(|&offset| offset as i32 as u32));
    words
}

/// The size of the arrays in bytes, and the requests of a product.
pub(super) fn traffic<S: Store>(a: &Dia<S>, computed: usize) -> (usize, Requests) {
    let arrays = 4 * table(a).len() + words(size_of_val(a.values()));
    let (mut requests, window) = (Requests::default(), WINDOW as usize);
    let several = a.sections().len() > 1;
    for section in a.sections() {
        let offsets = section.offsets();
        let rows = section.windows().start * window..(section.windows().end * window).min(a.rows());
        for first in rows.step_by(PLANE) {
            let rows = first..(first + PLANE).min(a.rows());
            if several {
                (0..a.sections().len()).for_each(|entry| requests.load(4, std::iter::once(4 * entry)));
            }
            for (d, &offset) in offsets.iter().enumerate() {
                let place = |row: usize| a.place(row / window) + d * window + row % window;
                let column = |row: usize| row.checked_add_signed(offset).filter(|&column| column < a.cols());
                let active = || rows.clone().filter(|&row| column(row).is_some());
                requests.load(4, std::iter::once(d));
                requests.load(size_of::<S>(), active().map(place));
                requests.load(computed, rows.clone().filter_map(column));
            }
            requests.store(computed, rows);
        }
    }
    (arrays, requests)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::requests::SECTOR;
    use ziggurat_sparse::Csr;

    #[test]
    fn a_product_requests_the_values_and_the_vectors() {
        let a = Csr::<f64>::identity(512).unwrap();
        let (arrays, requested) = traffic(&Dia::<f64>::from_csr(a.view()).unwrap(), 8);
        assert_eq!(arrays, 4 + 8 * 512);
        // Per plane one sector for the offset.
        assert_eq!(requested.sectors * SECTOR, 16 * SECTOR + 3 * 8 * 512);
    }
}

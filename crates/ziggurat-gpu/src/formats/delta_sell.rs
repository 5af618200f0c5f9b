//! Row products of a delta-SELL matrix, with one unit per row, or per two rows of 16-bit values.
//!
//! ```text
//! (A x)_i = Σ_slots a x[base + difference]
//! the units of a chunk read adjacent values of the same slot
//! ```
//!
//! Sixteen rows share a slot, and their values are contiguous, so loads are coalesced without any
//! exchange between units. Loads of x are coalesced too where columns are consecutive. Differences
//! of 8 and 16 bits are packed into 32-bit words. A word of two 16-bit values is read once, by the
//! unit that computes both rows (the packed loads of Tsai's thesis, section 4.3.2). Memory traffic
//! in bytes: per stored value its size, ¼ for its base and 0, 1, 2 or 4 for its difference; per row
//! 1½, and 1 more if rows are sorted; and the vectors.

use cubecl::prelude::*;
use ziggurat_sparse::device::DeviceError;
use ziggurat_sparse::{DeltaSell, Store};

use crate::Gpu;
use crate::device_format::{Buffer, DeviceFormat, RowsCall};
use crate::kernels::row_products::{Operation, UNITS, finish_row};
use crate::kernels::widen::{Packing, half_of};
use crate::launch::{Span, countable, launch};
use crate::numbers::{Coefficient, packing, with_pair};
use crate::requests::{PLANE, Requests, words};

/// Number of rows per chunk.
pub(crate) const LANES: u32 = 16;

/// Number of words in a chunk descriptor: its first slot, the offset of its differences (in words),
/// and the number of slots with consecutive columns and with differences of 8, 16 and 32 bits.
pub(crate) const CHUNK_WORDS: u32 = 6;

/// Compile-time arguments of [`delta_sell_rows`].
#[derive(CubeType, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct DeltaSellShape {
    pub(crate) packing: Packing,
    pub(crate) operation: Operation,
    /// Whether rows are sorted, so that `order` maps lanes to the rows of their window.
    pub(crate) sorted: bool,
}

impl DeltaSellShape {
    /// Number of rows per unit.
    fn rows(self) -> u32 {
        if self.packing.is_paired() { 2 } else { 1 }
    }
}

/// The difference of a lane in a slot whose differences start at `word`. `bits` is 8, 16 or 32, or
/// 0 for consecutive columns.
#[cube]
fn difference(deltas: &Array<u32>, word: u32, lane: u32, #[comptime] bits: u32) -> u32 {
    if comptime!(bits == 0) {
        lane
    } else if comptime!(bits == 32) {
        deltas[(word + lane) as usize]
    } else {
        let per_word = comptime!(32 / bits.max(1));
        let both = deltas[(word + lane / per_word) as usize];
        (both >> (bits * (lane % per_word))) & comptime!((1u32 << (bits % 32)) - 1)
    }
}

/// Adds `count` slots of one index width to the sums of a unit's rows.
#[cube]
fn add_slots<V: Numeric, C: Float>(
    values: &Array<V>,
    bases: &Array<u32>,
    deltas: &Array<u32>,
    x: &Array<C>,
    slot: u32,
    word: u32,
    count: u32,
    lane: u32,
    sums: &mut Array<C>,
    #[comptime] bits: u32,
    #[comptime] packing: Packing,
) {
    for k in 0..count {
        let base = bases[(slot + k) as usize];
        let here = word + k * comptime!(LANES * bits / 32);
        let column = base + difference(deltas, here, lane, bits);
        if comptime!(packing == Packing::Plain) {
            let stored = C::cast_from(values[((slot + k) * LANES + lane) as usize]);
            sums[0] += stored * x[column as usize];
        } else {
            let both = u32::cast_from(values[((slot + k) * comptime!(LANES / 2) + lane / 2) as usize]);
            let next = base + difference(deltas, here, lane + 1, bits);
            sums[0] += half_of::<C>(both, 0u32, packing) * x[column as usize];
            sums[1] += half_of::<C>(both, 1u32, packing) * x[next as usize];
        }
    }
}

/// The row that a lane computes.
#[cube]
fn row_of(order: &Array<u32>, place: u32, #[comptime] sorted: bool) -> u32 {
    if comptime!(sorted) {
        let byte = (order[(place / 4) as usize] >> (8 * (place % 4))) & 0xFFu32;
        place / 256 * 256 + byte
    } else {
        place
    }
}

/// Applies an operation to all rows.
#[cube(launch_unchecked)]
pub(crate) fn delta_sell_rows<V: Numeric, C: Float + CubeElement>(
    chunks: &Array<u32>,
    bases: &Array<u32>,
    deltas: &Array<u32>,
    values: &Array<V>,
    order: &Array<u32>,
    x: &Array<C>,
    b: &Array<C>,
    d: &Array<C>,
    y: &mut Array<C>,
    alpha: C,
    beta: C,
    rows: u32,
    places: u32,
    #[comptime] shape: DeltaSellShape,
) {
    let per_unit = comptime!(shape.rows());
    let packing = comptime!(shape.packing);
    let index = CUBE_POS * comptime!(UNITS as usize) + UNIT_POS as usize;
    let place = u32::cast_from(index) * per_unit;
    if place < places {
        let chunk = (place / LANES * CHUNK_WORDS) as usize;
        let lane = place % LANES;
        let mut slot = chunks[chunk];
        let mut word = chunks[chunk + 1];
        let mut sums = Array::<C>::new(comptime!(per_unit as usize));
        #[unroll]
        for k in 0..comptime!(per_unit as usize) {
            sums[k] = C::new(0.0);
        }
        let count = chunks[chunk + 2];
        add_slots::<V, C>(values, bases, deltas, x, slot, word, count, lane, &mut sums, 0u32, packing);
        slot += count;
        let count = chunks[chunk + 3];
        add_slots::<V, C>(values, bases, deltas, x, slot, word, count, lane, &mut sums, 8u32, packing);
        slot += count;
        word += count * comptime!(LANES / 4);
        let count = chunks[chunk + 4];
        add_slots::<V, C>(values, bases, deltas, x, slot, word, count, lane, &mut sums, 16u32, packing);
        slot += count;
        word += count * comptime!(LANES / 2);
        let count = chunks[chunk + 5];
        add_slots::<V, C>(values, bases, deltas, x, slot, word, count, lane, &mut sums, 32u32, packing);
        #[unroll]
        for k in 0..comptime!(per_unit as usize) {
            let row = row_of(order, place + u32::cast_from(k), comptime!(shape.sorted));
            if row < rows {
                let operation = comptime!(shape.operation);
                finish_row::<C>(row as usize, sums[k], x, b, d, y, alpha, beta, operation);
            }
        }
    }
}

/// The arrays of a delta-SELL matrix.
#[derive(Debug)]
pub(crate) struct DeltaSellArrays {
    chunks: Buffer,
    bases: Buffer,
    deltas: Buffer,
    values: Buffer,
    order: Buffer,
    sorted: bool,
    /// Number of lanes in all chunks, including those beyond the last row.
    places: usize,
}

impl DeltaSellArrays {
    pub(super) fn upload<S: Store>(gpu: &Gpu, a: &DeltaSell<S>) -> Result<Self, DeviceError> {
        let parts = a.parts();
        countable("stored values of a matrix", parts.values.len())?;
        let (mut slot, mut word) = (0, 0);
        let mut chunks = Vec::with_capacity(parts.counts.len() * CHUNK_WORDS as usize);
        for &[consecutive, within_64, within_128, bytes, two_bytes, four_bytes] in parts.counts {
            let bytes: u32 = [within_64, within_128, bytes].into_iter().map(u32::from).sum();
            let [consecutive, two_bytes, four_bytes] = [consecutive, two_bytes, four_bytes].map(u32::from);
            chunks.extend([slot, word, consecutive, bytes, two_bytes, four_bytes]);
            slot += consecutive + bytes + two_bytes + four_bytes;
            word += LANES / 4 * (bytes + 2 * two_bytes + 4 * four_bytes);
        }
        Ok(DeltaSellArrays {
            chunks: gpu.words(&chunks)?,
            bases: gpu.words(parts.bases)?,
            deltas: gpu.bytes(parts.deltas)?,
            values: gpu.values(parts.values)?,
            order: gpu.bytes(parts.order)?,
            sorted: !parts.order.is_empty(),
            places: parts.counts.len() * LANES as usize,
        })
    }

    /// A matrix with rows in natural order, whose arrays are on the device already.
    pub(crate) fn of_device(
        gpu: &Gpu,
        [chunks, bases, deltas, values]: [Buffer; 4],
    ) -> Result<Self, DeviceError> {
        let places = chunks.span().len / CHUNK_WORDS as usize * LANES as usize;
        let order = gpu.bytes(&[])?;
        Ok(DeltaSellArrays { chunks, bases, deltas, values, order, sorted: false, places })
    }

    fn spans(&self) -> [Span<'_>; 5] {
        [&self.chunks, &self.bases, &self.deltas, &self.values, &self.order].map(Buffer::span)
    }
}

impl DeviceFormat for DeltaSellArrays {
    fn rows(&self, gpu: &Gpu, call: &RowsCall<'_>) {
        let per_unit = if call.stored.facts().bytes == 2 { 2 } else { 1 };
        let ([chunks, bases, deltas, values, order], [x, b, d, y]) = (self.spans(), call.vectors);
        let ((alpha, beta), operation, sorted) = (call.coefficients, call.operation, self.sorted);
        with_pair!(call.computed, call.stored, |N, V| launch!(
            gpu,
            delta_sell_rows::DeltaSellRows<V, N>,
            (self.places / per_unit).div_ceil(UNITS as usize),
            UNITS,
            [chunks, bases, deltas, values, order, x, b, d, y],
            [N::of(alpha), N::of(beta), call.rows as u32, self.places as u32],
            |target| [DeltaSellShape { packing: packing(call.stored, target), operation, sorted }]
        ));
    }
}

/// The size of the arrays in bytes, and the requests of a product.
pub(super) fn traffic<S: Store>(a: &DeltaSell<S>, computed: usize) -> (usize, Requests) {
    let (parts, lanes) = (a.parts(), LANES as usize);
    let arrays = parts.counts.len() * CHUNK_WORDS as usize * 4
        + 4 * parts.bases.len()
        + words(parts.deltas.len())
        + words(size_of_val(parts.values))
        + words(parts.order.len());
    // The chunks of a plane advance in lockstep, slot by slot, so one load covers all of them.
    let rows_per_unit = if size_of::<S>() == 2 { 2 } else { 1 };
    let together = PLANE * rows_per_unit / lanes;
    let (mut requests, mut slot, mut byte) = (Requests::default(), 0, 0);
    let mut begins = Vec::with_capacity(parts.counts.len());
    for counts in parts.counts {
        let [consecutive, a, b, c, two, four] = counts.map(usize::from);
        let counts = [consecutive, a + b + c, two, four];
        begins.push((slot, byte, counts));
        slot += counts.iter().sum::<usize>();
        byte += lanes * (counts[1] + 2 * counts[2] + 4 * counts[3]);
    }
    for (plane, chunks) in begins.chunks(together).enumerate() {
        let first = plane * together;
        for word in 0..CHUNK_WORDS as usize {
            let of_chunks = (first..first + chunks.len()).map(|chunk| chunk * CHUNK_WORDS as usize + word);
            requests.load(4, of_chunks);
        }
        let (mut slots, mut bytes): (Vec<usize>, Vec<usize>) =
            chunks.iter().map(|&(slot, byte, _)| (slot, byte)).unzip();
        for (width, lane_bytes) in [0, 1, 2, 4].into_iter().enumerate() {
            for turn in 0..chunks.iter().map(|(.., counts)| counts[width]).max().unwrap_or(0) {
                let active: Vec<usize> = (0..chunks.len()).filter(|&c| turn < chunks[c].2[width]).collect();
                let slot_of = |&c: &usize| slots[c] + turn;
                let begin_of = |c: usize| bytes[c] + turn * lanes * lane_bytes;
                requests.load(4, active.iter().map(slot_of));
                requests.load(
                    size_of::<S>(),
                    active.iter().map(slot_of).flat_map(|slot| slot * lanes..(slot + 1) * lanes),
                );
                if lane_bytes > 0 {
                    let of_lanes = |&c: &usize| begin_of(c)..begin_of(c) + lanes * lane_bytes;
                    requests.load(1, active.iter().flat_map(of_lanes));
                }
                // A unit processes its rows one after the other.
                for row in 0..rows_per_unit {
                    let column = |c: usize, lane: usize| {
                        let at = begin_of(c) + lane * lane_bytes;
                        let delta = match lane_bytes {
                            0 => lane,
                            _ => (0..lane_bytes).map(|k| usize::from(parts.deltas[at + k]) << (8 * k)).sum(),
                        };
                        parts.bases[slots[c] + turn] as usize + delta
                    };
                    let lanes = (row..lanes).step_by(rows_per_unit);
                    let columns = active.iter().flat_map(|&c| lanes.clone().map(move |lane| (c, lane)));
                    requests.load(computed, columns.map(|(c, lane)| column(c, lane)));
                }
            }
            for (c, (.., counts)) in chunks.iter().enumerate() {
                slots[c] += counts[width];
                bytes[c] += counts[width] * lanes * lane_bytes;
            }
        }
        for row in 0..rows_per_unit {
            let places = (first * lanes + row..(first + chunks.len()) * lanes).step_by(rows_per_unit);
            if !parts.order.is_empty() {
                requests.load(1, places.clone());
            }
            let row_of = |place: usize| match parts.order.get(place) {
                Some(&byte) => place / 256 * 256 + usize::from(byte),
                None => place,
            };
            requests.store(computed, places.map(row_of).filter(|&row| row < a.rows()));
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
    fn consecutive_slots_request_no_indices() {
        let a = Csr::<f64>::identity(512).unwrap();
        let a = DeltaSell::<f64>::from_csr(a.view()).unwrap();
        let (arrays, requested) = traffic(&a, 8);
        let (chunks, requested) = (32, requested.sectors * SECTOR);
        assert_eq!(arrays, chunks * 24 + 4 * chunks + 8 * 512);
        // Two chunks per plane: their descriptors (six loads), bases, values, x, y.
        assert!(requested <= 16 * (6 * 2 + 2) * SECTOR + 3 * 8 * 512, "{requested}");
        assert!(requested >= 3 * 8 * 512);
    }
}

//! Memory traffic of a matrix–vector product on a GPU: the minimum, and what the kernels request.
//!
//! ```text
//! least      every array once: the matrix in its device layout, x and y
//! requested  for each load of a plane, its distinct 32-byte sectors; no cache between loads
//! ```
//!
//! The actual traffic lies between the two. It is closer to the first if the caches hold the data
//! that neighbouring rows share, and closer to the second if they do not. The effective bandwidth
//! is the first divided by the time; the ratio of the two shows the overhead of the kernel's access
//! pattern. Loads are simulated on the host with the index arithmetic of the kernels, so this file
//! must follow changes to them. Tests compare it with cases counted by hand.

use ziggurat_sparse::device::HostMatrix;
use ziggurat_sparse::{Bsr, Csr, DeltaSell, Store};

use crate::capabilities::Capabilities;
use crate::kernels::bsr::LARGEST_BLOCK;
use crate::kernels::csr_balanced::{PIECE, Pieces};
use crate::kernels::delta_sell::{CHUNK_WORDS, LANES};
use crate::kernels::row_products::UNITS;
use crate::matrix::longest;

/// Size of a memory transaction on NVIDIA and AMD GPUs, in bytes.
const SECTOR: usize = 32;

/// Number of units whose loads are combined.
const PLANE: usize = 32;

/// Memory traffic of one product y ← A x.
///
/// ```
/// # let Ok(gpu) = ziggurat_gpu::Gpu::best() else { return Ok(()) };
/// use ziggurat_sparse::{Csr, device::HostMatrix};
/// let a: HostMatrix<f64> = Csr::identity(1024)?.into();
/// let bytes = gpu.product_bytes::<f64>(&a);
/// assert_eq!(bytes.least, 1024 * (8 + 4 + 4 + 8 + 8) + 4);
/// assert!(bytes.requested >= bytes.least);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bytes {
    /// Minimum: every array once.
    pub least: usize,
    /// Bytes requested by loads and stores.
    pub requested: usize,
    /// The same two values for a vector with one access per row, such as y.
    pub row_vector: (usize, usize),
}

impl Bytes {
    /// The traffic of an operation that accesses `more` additional vectors once per row: one (b)
    /// for a residual, three (b, d and x) for a sweep, four with momentum.
    ///
    /// ```
    /// use ziggurat_gpu::Bytes;
    /// let product = Bytes { least: 100, requested: 160, row_vector: (16, 32) };
    /// assert_eq!(product.with_vectors(3), Bytes { least: 148, requested: 256, ..product });
    /// ```
    #[must_use]
    pub fn with_vectors(self, more: usize) -> Self {
        let (least, requested) = self.row_vector;
        Bytes { least: self.least + more * least, requested: self.requested + more * requested, ..self }
    }
}

/// Accumulated loads and stores of planes.
#[derive(Debug, Default)]
struct Requests {
    sectors: usize,
    /// Sectors of y.
    results: usize,
    /// The sectors of the current load.
    at_hand: Vec<usize>,
}

impl Requests {
    /// One load of elements of `size` bytes at the given indices of an array.
    fn load(&mut self, size: usize, indices: impl Iterator<Item = usize>) {
        self.at_hand.clear();
        self.at_hand.extend(indices.map(|index| index * size / SECTOR));
        self.at_hand.sort_unstable();
        self.at_hand.dedup();
        self.sectors += self.at_hand.len();
    }

    /// One store of results at the given rows.
    fn store(&mut self, size: usize, rows: impl Iterator<Item = usize>) {
        let before = self.sectors;
        self.load(size, rows);
        self.results += self.sectors - before;
    }
}

/// The number of units that share a row, and the number of rows.
struct Shared {
    size: usize,
    rows: usize,
}

impl Shared {
    /// Simulates the loop of a plane over the entries of its rows: calls `turn` with the entries
    /// that the active units load in each iteration.
    fn turns(&self, plane: usize, ends: impl Fn(usize) -> (usize, usize), mut turn: impl FnMut(&[usize])) {
        let per_plane = PLANE / self.size;
        let unit = |unit: usize| {
            let row = plane * per_plane + unit / self.size;
            let (begin, end) = if row < self.rows { ends(row) } else { (0, 0) };
            (begin + unit % self.size, end)
        };
        let mut places: Vec<(usize, usize)> = (0..PLANE).map(unit).collect();
        let mut taken = Vec::with_capacity(PLANE);
        loop {
            taken.clear();
            taken.extend(places.iter().filter(|(at, end)| at < end).map(|(at, _)| at));
            if taken.is_empty() {
                return;
            }
            turn(&taken);
            places.iter_mut().for_each(|(at, _)| *at += self.size);
        }
    }

    fn planes(&self) -> usize {
        (self.rows * self.size).div_ceil(PLANE)
    }

    /// Loads the two row pointers of each row and stores the results.
    fn borders(&self, requests: &mut Requests, plane: usize, results: usize, computed: usize) {
        let per_plane = PLANE / self.size;
        let rows = plane * per_plane..((plane + 1) * per_plane).min(self.rows);
        requests.load(4, rows.clone());
        requests.load(4, rows.clone().map(|row| row + 1));
        for result in 0..results {
            requests.store(computed, rows.clone().map(|row| row * results + result));
        }
    }
}

/// Size of an array in bytes, rounded up to whole 32-bit words.
fn words(bytes: usize) -> usize {
    bytes.next_multiple_of(4)
}

impl crate::Gpu {
    /// The memory traffic of y ← A x, computed in `C` by the kernels of this device.
    pub fn product_bytes<C: Store>(&self, a: &HostMatrix<impl Store>) -> Bytes {
        let (computed, capabilities) = (size_of::<C>(), self.capabilities());
        let vectors = computed * (a.rows() + a.cols());
        let (matrix, requests) = match a {
            HostMatrix::Csr(a) => csr(a, computed, capabilities),
            HostMatrix::Bsr(a) if a.block_size() > LARGEST_BLOCK => {
                csr(&a.view().to_csr(), computed, capabilities)
            }
            HostMatrix::Bsr(a) => bsr(a, computed, capabilities),
            HostMatrix::DeltaSell(a) => delta_sell(a, computed),
            other => (other.bytes(), Requests::default()),
        };
        let row_vector = (computed * a.rows(), requests.results * SECTOR);
        Bytes { least: matrix + vectors, requested: requests.sectors * SECTOR, row_vector }
    }
}

/// Size of the arrays in bytes, and the requests.
fn csr<S: Store>(a: &Csr<S>, computed: usize, capabilities: &Capabilities) -> (usize, Requests) {
    let (rows, row_ptr, columns) = (a.rows(), a.row_ptr(), a.columns());
    let value = size_of::<S>();
    let arrays = 4 * (rows + 1) + 4 * a.nnz() + words(value * a.nnz());
    if capabilities.is_balanced(a.nnz(), longest(row_ptr)) {
        return csr_by_pieces(a, computed, arrays);
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

fn csr_by_pieces<S: Store>(a: &Csr<S>, computed: usize, arrays: usize) -> (usize, Requests) {
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

fn bsr<S: Store>(a: &Bsr<S>, computed: usize, capabilities: &Capabilities) -> (usize, Requests) {
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

fn delta_sell<S: Store>(a: &DeltaSell<S>, computed: usize) -> (usize, Requests) {
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

/// The simulation requires a cube to be a whole number of planes.
const _: () = assert!((UNITS as usize).is_multiple_of(PLANE));

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capabilities::balanced_beyond;
    use crate::runtime::Vendor;

    fn capabilities() -> Capabilities {
        let (largest_array, balanced_beyond) = (1 << 40, balanced_beyond(Vendor::Nvidia));
        let (f64, f16, planes) = (true, true, true);
        Capabilities { f64, f16, planes, plane_size: 32, largest_array, cubes: 65535, balanced_beyond }
    }

    #[test]
    fn a_diagonal_matrix_requests_each_byte_once() {
        // 1024 rows are 32 planes: row_ptr twice (the second time shifted by one), columns, values,
        // x, y.
        let a = Csr::<f64>::identity(1024).unwrap();
        let (arrays, requested) = csr(&a, 8, &capabilities());
        assert_eq!(arrays, 1024 * 16 + 4);
        assert_eq!(requested.sectors * SECTOR, 1024 * (4 + 4 + 4 + 8 + 8 + 8) + 32 * SECTOR);
    }

    #[test]
    fn distant_columns_request_a_sector_each() {
        let columns: Vec<u32> = (0..32).map(|k| 1000 * k).collect();
        let a = Csr::try_new(1, 32_000, vec![0, 32], columns, vec![1.0_f64; 32]).unwrap();
        let (_, requested) = csr(&a, 8, &capabilities());
        // Row pointers and result, values, columns, and 32 sectors of x.
        assert_eq!(requested.sectors * SECTOR, 3 * SECTOR + 8 * 32 + 4 * 32 + 32 * SECTOR);
    }

    #[test]
    fn consecutive_slots_request_no_indices() {
        let a = Csr::<f64>::identity(512).unwrap();
        let a = DeltaSell::<f64>::from_csr(a.view()).unwrap();
        let (arrays, requested) = delta_sell(&a, 8);
        let (chunks, requested) = (32, requested.sectors * SECTOR);
        assert_eq!(arrays, chunks * 24 + 4 * chunks + 8 * 512);
        // Two chunks per plane: their descriptors (six loads), bases, values, x, y.
        assert!(requested <= 16 * (6 * 2 + 2) * SECTOR + 3 * 8 * 512, "{requested}");
        assert!(requested >= 3 * 8 * 512);
    }
}

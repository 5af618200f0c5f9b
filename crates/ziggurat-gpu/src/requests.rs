//! The memory requests of a kernel, simulated on the host: for each load or store of a plane, its
//! distinct 32-byte sectors.

use crate::kernels::row_products::UNITS;

/// Size of a memory transaction on NVIDIA and AMD GPUs, in bytes.
pub(crate) const SECTOR: usize = 32;

/// Number of units whose loads are combined.
pub(crate) const PLANE: usize = 32;

/// The simulation requires a cube to be a whole number of planes.
const _: () = assert!((UNITS as usize).is_multiple_of(PLANE));

/// Accumulated loads and stores of planes.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    /// Sectors loaded and stored.
    pub(crate) sectors: usize,
    /// Sectors of y.
    pub(crate) results: usize,
    /// The sectors of the current load.
    at_hand: Vec<usize>,
}

impl Requests {
    /// One load of elements of `size` bytes at the given indices of an array.
    pub(crate) fn load(&mut self, size: usize, indices: impl Iterator<Item = usize>) {
        self.at_hand.clear();
        self.at_hand.extend(indices.map(|index| index * size / SECTOR));
        self.at_hand.sort_unstable();
        self.at_hand.dedup();
        self.sectors += self.at_hand.len();
    }

    /// One store of results at the given rows.
    pub(crate) fn store(&mut self, size: usize, rows: impl Iterator<Item = usize>) {
        let before = self.sectors;
        self.load(size, rows);
        self.results += self.sectors - before;
    }
}

/// The number of units that share a row, and the number of rows.
pub(crate) struct Shared {
    pub(crate) size: usize,
    pub(crate) rows: usize,
}

impl Shared {
    /// Simulates the loop of a plane over the entries of its rows: calls `turn` with the entries
    /// that the active units load in each iteration.
    pub(crate) fn turns(
        &self,
        plane: usize,
        ends: impl Fn(usize) -> (usize, usize),
        mut turn: impl FnMut(&[usize]),
    ) {
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

    pub(crate) fn planes(&self) -> usize {
        (self.rows * self.size).div_ceil(PLANE)
    }

    /// Loads the two row pointers of each row and stores the results.
    pub(crate) fn borders(&self, requests: &mut Requests, plane: usize, results: usize, computed: usize) {
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
pub(crate) fn words(bytes: usize) -> usize {
    bytes.next_multiple_of(4)
}

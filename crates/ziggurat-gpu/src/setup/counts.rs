//! The building blocks of patterns: scans of counts, lists of rows, and the sizes that the host
//! needs.

use cubecl::server::Handle;
use ziggurat_sparse::device::DeviceError;

use crate::Gpu;
use crate::device_format::Buffer;
use crate::kernels::row_lists::list_rows;
use crate::kernels::scan::{ROWS_PER_UNIT, SCAN_BLOCK, add_before, longest_row, pick, scan_blocks};
use crate::kernels::vector::VECTOR_UNITS;
use crate::launch::{Span, countable, launch};

/// Number of cubes for one unit per element.
pub(super) fn cubes(len: usize) -> usize {
    len.div_ceil(VECTOR_UNITS as usize)
}

/// Rows by class, as pairs of a row and the number of a piece.
#[derive(Debug)]
pub(super) struct RowLists {
    pairs: Buffer,
    /// Where each class begins, and the end of the last one.
    starts: Vec<u32>,
}

impl RowLists {
    /// Lists of no rows.
    pub(super) fn empty(gpu: &Gpu, classes: usize) -> Result<Self, DeviceError> {
        Ok(RowLists { pairs: gpu.uninitialised(0)?, starts: vec![0; classes + 1] })
    }

    pub(super) fn pairs(&self) -> Span<'_> {
        self.pairs.span()
    }

    /// The first pair of a class, and the number of pairs.
    pub(super) fn class(&self, class: usize) -> (u32, u32) {
        (self.starts[class], self.starts[class + 1] - self.starts[class])
    }
}

impl Gpu {
    /// An uninitialised array of 32-bit words.
    pub(super) fn uninitialised(&self, len: usize) -> Result<Buffer, DeviceError> {
        countable("elements of an array", len)?;
        Ok(Buffer::new(self.empty(4 * len)?, len))
    }

    /// An array of 32-bit zeros.
    pub(super) fn zero_words(&self, len: usize) -> Result<Buffer, DeviceError> {
        countable("elements of an array", len)?;
        Ok(Buffer::new(self.zeroed(4 * len)?, len))
    }

    /// The exclusive scan of at least one count.
    pub(super) fn scan(&self, counts: Span<'_>) -> Result<Buffer, DeviceError> {
        let (len, blocks) = (counts.len, counts.len.div_ceil(SCAN_BLOCK as usize));
        let (sums, totals) = (self.uninitialised(len)?, self.uninitialised(blocks)?);
        launch!(
            self,
            scan_blocks::ScanBlocks,
            blocks,
            VECTOR_UNITS,
            [counts, sums.span(), totals.span()],
            [len as u32, blocks as u32],
            |_target| []
        );
        if blocks > 1 {
            let before = self.scan(totals.span())?;
            launch!(
                self,
                add_before::AddBefore,
                cubes(len),
                VECTOR_UNITS,
                [before.span(), sums.span()],
                [len as u32],
                |_target| []
            );
        }
        Ok(sums)
    }

    /// Copies the elements 0, stride, 2 stride, … to the host: a few sizes.
    pub(super) fn sizes(&self, of: Span<'_>, stride: usize, count: usize) -> Result<Vec<u32>, DeviceError> {
        let picked = self.uninitialised(count)?;
        launch!(
            self,
            pick::Pick,
            cubes(count),
            VECTOR_UNITS,
            [of, picked.span()],
            [stride as u32, count as u32],
            |_target| []
        );
        self.few_words(picked.handle(), count)
    }

    /// Copies a short array to the host.
    fn few_words(&self, handle: &Handle, count: usize) -> Result<Vec<u32>, DeviceError> {
        let mut words = vec![0; count];
        self.fetch(handle, bytemuck::cast_slice_mut(&mut words))?;
        Ok(words)
    }

    /// The number of entries in the longest row.
    pub(super) fn longest(&self, row_ptr: Span<'_>) -> Result<usize, DeviceError> {
        let (rows, longest) = (row_ptr.len - 1, self.zero_words(1)?);
        launch!(
            self,
            longest_row::LongestRow,
            cubes(rows.div_ceil(ROWS_PER_UNIT as usize)),
            VECTOR_UNITS,
            [row_ptr, longest.span()],
            [rows as u32],
            |_target| []
        );
        Ok(self.few_words(longest.handle(), 1)?[0] as usize)
    }

    /// Repeats a round, which adds the number of rows that it leaves undecided to its argument,
    /// until there are none. The number returns to the host after every `rounds` rounds.
    pub(super) fn until_decided(&self, rounds: usize, round: impl Fn(Span<'_>)) -> Result<(), DeviceError> {
        loop {
            let (not_read, open) = (self.zero_words(1)?, self.zero_words(1)?);
            for _ in 1..rounds {
                round(not_read.span());
            }
            round(open.span());
            if self.sizes(open.span(), 0, 1)? == [0] {
                return Ok(());
            }
        }
    }

    /// Lists rows by class. `flags` says how often each row is listed in each class, class after
    /// class, and ends with a zero.
    pub(super) fn listed(&self, flags: &Buffer, rows: usize) -> Result<RowLists, DeviceError> {
        let (flags, len) = (flags.span(), flags.span().len - 1);
        let places = self.scan(flags)?;
        let starts = self.sizes(places.span(), rows, len / rows + 1)?;
        let pairs = self.uninitialised(2 * starts[len / rows] as usize)?;
        launch!(
            self,
            list_rows::ListRows,
            cubes(len),
            VECTOR_UNITS,
            [flags, places.span(), pairs.span()],
            [rows as u32, len as u32],
            |_target| []
        );
        Ok(RowLists { pairs, starts })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ziggurat_sparse::hash::hash_id;

    /// Scans of one, two and three stages, and sums that do not fit in 32 bits.
    #[test]
    fn scans_add_up_what_precedes() {
        let gpu = Gpu::best().unwrap();
        let most = SCAN_BLOCK as usize;
        for len in [1, 2, most - 1, most, most + 1, 3 * most + 5, most * most + 1] {
            let counts: Vec<u32> = (0..len as u64).map(|i| (hash_id(i) % 7) as u32).collect();
            let sums = gpu.scan(gpu.words(&counts).unwrap().span()).unwrap();
            let found = gpu.few_words(sums.handle(), len).unwrap();
            let mut sum = 0;
            for (i, (found, count)) in found.into_iter().zip(counts).enumerate() {
                assert_eq!(found, sum, "element {i} of {len}");
                sum += count;
            }
        }
        let sums = gpu.scan(gpu.words(&[u32::MAX - 1, 1, 7, 0]).unwrap().span()).unwrap();
        let found = gpu.few_words(sums.handle(), 4).unwrap();
        assert_eq!(found, [0, u32::MAX - 1, u32::MAX, u32::MAX]);
    }
}

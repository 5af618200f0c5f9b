//! The symbolic phase of a sparse product C = A B on the device.
//!
//! ```text
//! classes of rows by terms
//! ▸ count: short rows sorted in shared memory, long ones by bitmaps ▸ scan: row pointers
//! ▸ fill: the same again, written in order ▸ classes by entries, for the numeric phase
//! ```
//!
//! The kernels are in `kernels/product_pattern.rs` and `kernels/product_marks.rs`. Memory besides
//! the result: 40 bytes per row, and bitmaps of at most [`MARK_WORDS`] words. Transfers: five, of 4
//! to 20 bytes.

use ziggurat_sparse::device::{DeviceError, SparseSize};

use super::counts::{RowLists, cubes};
use super::sparse::Pattern;
use crate::Gpu;
use crate::device_format::Buffer;
use crate::kernels::gauss_seidel::TURNS;
use crate::kernels::product_marks::{count_marks, fill_marks, mark_columns};
use crate::kernels::product_pattern::{count_columns, fill_columns};
use crate::kernels::row_lists::{CLASSES, UNITS_OF_CLASS, classes_by_entries, classes_by_terms};
use crate::kernels::row_products::UNITS;
use crate::kernels::vector::VECTOR_UNITS;
use crate::launch::{Span, launch};

/// Words of the bitmaps in one batch of rows, 64 MB; more if a single row needs more. Few in unit
/// tests, so that these have several batches.
const MARK_WORDS: usize = if cfg!(test) { 1 << 9 } else { 1 << 24 };

/// The symbolic phase of a product by rows.
#[derive(Debug)]
pub(super) struct RowPlan {
    /// The sizes of A and B.
    factors: [SparseSize; 2],
    /// The number of entries in the longest row of A.
    longest: usize,
    pattern: Pattern,
    /// The rows of C by number of entries.
    lists: RowLists,
}

/// The patterns of A and B, and the longest rows of both.
struct Factors<'a> {
    a: &'a Pattern,
    b: &'a Pattern,
    longest: [usize; 2],
}

impl RowPlan {
    pub(super) fn new(gpu: &Gpu, a: &Pattern, b: &Pattern) -> Result<Self, DeviceError> {
        assert_eq!(a.size.cols, b.size.rows, "columns of A, rows of B");
        let (rows, cols) = (a.size.rows, b.size.cols);
        let factors = [a.size, b.size];
        if a.size.entries == 0 || b.size.entries == 0 {
            let size = SparseSize { rows, cols, entries: 0 };
            let pattern =
                Pattern { size, row_ptr: gpu.zero_words(rows + 1)?, columns: gpu.uninitialised(0)? };
            let lists = RowLists::empty(gpu, CLASSES as usize)?;
            return Ok(RowPlan { factors, longest: 0, pattern, lists });
        }
        let longest = [gpu.longest(a.row_ptr.span())?, gpu.longest(b.row_ptr.span())?];
        let both = Factors { a, b, longest };
        both.check(gpu)?;
        let (row_ptr, by_terms) = both.count(gpu)?;
        let entries = gpu.sizes(row_ptr.span(), rows, 2)?[1];
        if entries == u32::MAX {
            let most = u32::MAX as usize - 1;
            return Err(DeviceError::TooLarge { what: "entries of a product", found: most + 1, most });
        }
        let size = SparseSize { rows, cols, entries: entries as usize };
        let pattern = Pattern { size, row_ptr, columns: gpu.uninitialised(size.entries)? };
        both.fill(gpu, &by_terms, &pattern)?;
        let flags = gpu.zero_words(CLASSES as usize * rows + 1)?;
        launch!(
            gpu,
            classes_by_entries::ClassesByEntries,
            cubes(rows),
            VECTOR_UNITS,
            [pattern.row_ptr.span(), flags.span()],
            [rows as u32],
            |_target| []
        );
        let lists = gpu.listed(&flags, rows)?;
        Ok(RowPlan { factors, longest: longest[0], pattern, lists })
    }

    /// The pattern of C.
    pub(super) fn pattern(&self) -> &Pattern {
        &self.pattern
    }

    /// The sizes of A and B.
    pub(super) fn factors(&self) -> [SparseSize; 2] {
        self.factors
    }

    /// The number of entries in the longest row of A.
    pub(super) fn longest(&self) -> usize {
        self.longest
    }

    /// The rows of C by number of entries.
    pub(super) fn lists(&self) -> &RowLists {
        &self.lists
    }
}

impl Factors<'_> {
    /// The arrays of A and B.
    fn spans(&self) -> [Span<'_>; 4] {
        let ([a_row_ptr, a_columns], [b_row_ptr, b_columns]) = (self.a.spans(), self.b.spans());
        [a_row_ptr, a_columns, b_row_ptr, b_columns]
    }

    /// Entries of a row of A that a cube marks. Its loops then have about as many iterations as
    /// drivers accept.
    fn chunk(&self) -> usize {
        let turns = 1 + self.longest[1].div_ceil(UNITS as usize);
        (TURNS / turns).max(1)
    }

    /// Fails if a row of B is longer than the loops of software Vulkan.
    fn check(&self, gpu: &Gpu) -> Result<(), DeviceError> {
        let (found, most) = (self.longest[1], 60_000 * UNITS as usize);
        if gpu.found().software && found > most {
            return Err(DeviceError::TooLarge {
                what: "entries in a row, for software Vulkan,",
                found,
                most,
            });
        }
        Ok(())
    }

    /// The row pointers of C, and its rows by terms.
    fn count(&self, gpu: &Gpu) -> Result<(Buffer, RowLists), DeviceError> {
        let rows = self.a.size.rows;
        let [a_row_ptr, a_columns, b_row_ptr, b_columns] = self.spans();
        let (flags, counts) = (gpu.zero_words(CLASSES as usize * rows + 1)?, gpu.zero_words(rows + 1)?);
        launch!(
            gpu,
            classes_by_terms::ClassesByTerms,
            cubes(rows),
            VECTOR_UNITS,
            [a_row_ptr, a_columns, b_row_ptr, flags.span()],
            [rows as u32],
            |_target| []
        );
        let lists = gpu.listed(&flags, rows)?;
        for (class, units) in UNITS_OF_CLASS.into_iter().enumerate() {
            let (first, number) = lists.class(class);
            if number > 0 {
                launch!(
                    gpu,
                    count_columns::CountColumns,
                    number.div_ceil(UNITS / units) as usize,
                    UNITS,
                    [a_row_ptr, a_columns, b_row_ptr, b_columns, lists.pairs(), counts.span()],
                    [first, number],
                    |_target| [units]
                );
            }
        }
        self.mark(gpu, &lists, |marks, (first, number, words)| {
            launch!(
                gpu,
                count_marks::CountMarks,
                number as usize,
                UNITS,
                [marks, lists.pairs(), counts.span()],
                [first, number, words],
                |_target| []
            );
        })?;
        Ok((gpu.scan(counts.span())?, lists))
    }

    /// Writes the columns of C.
    fn fill(&self, gpu: &Gpu, lists: &RowLists, pattern: &Pattern) -> Result<(), DeviceError> {
        let [a_row_ptr, a_columns, b_row_ptr, b_columns] = self.spans();
        let [row_ptr, columns] = pattern.spans();
        for (class, units) in UNITS_OF_CLASS.into_iter().enumerate() {
            let (first, number) = lists.class(class);
            if number > 0 {
                launch!(
                    gpu,
                    fill_columns::FillColumns,
                    number.div_ceil(UNITS / units) as usize,
                    UNITS,
                    [a_row_ptr, a_columns, b_row_ptr, b_columns, lists.pairs(), row_ptr, columns],
                    [first, number],
                    |_target| [units]
                );
            }
        }
        self.mark(gpu, lists, |marks, (first, number, words)| {
            launch!(
                gpu,
                fill_marks::FillMarks,
                number as usize,
                UNITS,
                [marks, lists.pairs(), row_ptr, columns],
                [first, number, words],
                |_target| []
            );
        })
    }

    /// Makes the bitmaps of the rows of the last class in batches, and passes each batch on with
    /// its first place in the lists, its number of rows and the words per row.
    fn mark(
        &self,
        gpu: &Gpu,
        lists: &RowLists,
        each: impl Fn(Span<'_>, (u32, u32, u32)),
    ) -> Result<(), DeviceError> {
        let (begin, listed) = lists.class(CLASSES as usize - 1);
        let words = self.b.size.cols.div_ceil(32);
        let at_once = (MARK_WORDS / words.max(1)).max(1);
        let chunk = self.chunk();
        let chunks = self.longest[0].div_ceil(chunk);
        let [a_row_ptr, a_columns, b_row_ptr, b_columns] = self.spans();
        for skipped in (0..listed).step_by(at_once) {
            let (first, number) = (begin + skipped, (at_once as u32).min(listed - skipped));
            let marks = gpu.zero_words(number as usize * words)?;
            launch!(
                gpu,
                mark_columns::MarkColumns,
                number as usize * chunks,
                UNITS,
                [a_row_ptr, a_columns, b_row_ptr, b_columns, lists.pairs(), marks.span()],
                [first, number, words as u32, chunk as u32, chunks as u32],
                |_target| []
            );
            each(marks.span(), (first, number, words as u32));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ziggurat_sparse::device::conformance::setup_kernels;

    #[test]
    fn bitmaps_in_batches() {
        let gpu = Gpu::best().unwrap();
        setup_kernels::long_rows::<_, f64>(&gpu);
    }
}

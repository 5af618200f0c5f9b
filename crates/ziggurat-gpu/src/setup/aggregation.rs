//! Aggregation on the device: implementation of [`AggregationKernels`] for a GPU.
//!
//! Every step has one unit per row, node or aggregate. Strong connections and MIS-2 aggregates are
//! here, with kernels in `kernels/strong_connections.rs`, `mis2.rs` and `aggregates.rs`; pairs are
//! in `pairs.rs`, and interpolation is in `interpolation.rs`. Only sizes return to the host: of
//! each matrix its number of entries, of the graph how long its connections are, and after every
//! [`ROUNDS`] rounds of MIS-2 how many rows are not decided yet.

use ziggurat_sparse::Real;
use ziggurat_sparse::device::{
    AggregationKernels, DeviceError, FilteredStep, Kernels, LONE, SetupKernels, SparseSize,
    SymmetricStrength, VOTE_UNITS, block_bits,
};

use super::counts::cubes;
use super::sparse::{GpuSparse, Pattern};
use crate::device_format::Buffer;
use crate::kernels::aggregates::{elect, join_roots, mark_members, mark_roots, mark_votes, write_members};
use crate::kernels::compaction::{keep_entries, keep_rows};
use crate::kernels::mis2::{count_lengths, decide_rows, first_keys, nearest_keys};
use crate::kernels::strong_connections::{count_strong, diagonal_scales, mark_strong};
use crate::kernels::vector::VECTOR_UNITS;
use crate::launch::{Span, launch};
use crate::numbers::{Coefficient, with_real};
use crate::{Gpu, GpuVector};

/// Rounds of MIS-2 between two looks at how many rows are left.
const ROUNDS: usize = 16;

/// Keys of rows have 32 bits: one for the block, and two numbers are not keys.
const MOST_ROWS: usize = (1 << 31) - 2;

/// Iterations that a loop of software Vulkan may have.
pub(super) const LONGEST: usize = 60_000;

impl Gpu {
    /// Fails if kernels with one unit per row cannot process the matrix.
    pub(super) fn check_rows<T: Real>(&self, a: &GpuSparse<T>) -> Result<(), DeviceError> {
        let too_large = |what, found, most| Err(DeviceError::TooLarge { what, found, most });
        if a.size().rows > MOST_ROWS {
            return too_large("rows of a matrix to be coarsened", a.size().rows, MOST_ROWS);
        }
        let longest = self.longest(a.pattern().row_ptr.span())?;
        if self.found().software && longest > LONGEST {
            return too_large("entries in a row, for software Vulkan,", longest, LONGEST);
        }
        Ok(())
    }

    /// An array of the values of a matrix.
    pub(super) fn uninitialised_values<T: Real>(&self, len: usize) -> Result<Buffer, DeviceError> {
        Ok(Buffer::new(self.empty(len * size_of::<T>())?, len))
    }

    /// The largest strength that at least `rank` connections of the rows that count have, or the
    /// smallest that any has.
    ///
    /// Positive numbers have the order of their bits, so bisection finds it exactly.
    fn strength_of_rank<T: Real>(
        &self,
        a: &GpuSparse<T>,
        scales: &GpuVector<T>,
        strength: &SymmetricStrength,
        rank: u64,
    ) -> Result<f64, DeviceError> {
        let ([row_ptr, columns], rows) = (a.pattern().spans(), a.size().rows);
        // Row 1 is in no sample.
        let all = strength.counts(1, rows as u64);
        let count = |threshold: T| {
            let out = self.zero_words(1)?;
            with_real!(T::KIND, |N| launch!(
                self,
                count_strong::CountStrong<N>,
                cubes(rows),
                VECTOR_UNITS,
                [row_ptr, columns, a.values(), scales.span(), out.span()],
                [N::of(threshold), rows as u32, u32::from(all)],
                |_target| []
            ));
            Ok::<u64, DeviceError>(u64::from(self.sizes(out.span(), 0, 1)?[0]))
        };
        let smallest = T::narrow(f64::from(f32::MIN_POSITIVE));
        let rank = rank.max(1).min(count(smallest)?);
        // At least `rank` connections are as strong as the first, fewer are as strong as the
        // second.
        let bits = |x: T| x.wide().to_bits();
        let (mut low, mut high) = (bits(smallest), bits(T::narrow(1e30)));
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            let threshold = T::narrow(f64::from_bits(middle));
            match count(threshold)? >= rank {
                true => low = middle,
                false => high = middle,
            }
        }
        Ok(f64::from_bits(low))
    }

    /// The matrix of the entries that are kept, with new values. `kept` has a zero after the last
    /// entry.
    pub(super) fn kept<T: Real>(
        &self,
        a: &GpuSparse<T>,
        kept: &Buffer,
        values: Span<'_>,
    ) -> Result<GpuSparse<T>, DeviceError> {
        let SparseSize { rows, cols, entries } = a.size();
        let places = self.scan(kept.span())?;
        let left = self.sizes(places.span(), entries, 2)?[1] as usize;
        let (row_ptr, columns) = (self.uninitialised(rows + 1)?, self.uninitialised(left)?);
        launch!(
            self,
            keep_rows::KeepRows,
            cubes(rows + 1),
            VECTOR_UNITS,
            [places.span(), a.pattern().row_ptr.span(), row_ptr.span()],
            [rows as u32],
            |_target| []
        );
        let size = SparseSize { rows, cols, entries: left };
        let result = GpuSparse::uninitialised(self, Pattern { size, row_ptr, columns })?;
        let [_, old_columns] = a.pattern().spans();
        let [_, new_columns] = result.pattern().spans();
        with_real!(T::KIND, |N| launch!(
            self,
            keep_entries::KeepEntries<N>,
            cubes(entries),
            VECTOR_UNITS,
            [places.span(), old_columns, values, new_columns, result.values()],
            [entries as u32],
            |_target| []
        ));
        Ok(result)
    }

    /// A matrix whose rows have so many entries, which are to be computed. `counts` ends with a
    /// zero.
    pub(super) fn with_counts<T: Real>(
        &self,
        counts: &Buffer,
        cols: usize,
    ) -> Result<GpuSparse<T>, DeviceError> {
        let (row_ptr, rows) = (self.scan(counts.span())?, counts.span().len - 1);
        let entries = self.sizes(row_ptr.span(), rows, 2)?[1] as usize;
        let (size, columns) = (SparseSize { rows, cols, entries }, self.uninitialised(entries)?);
        GpuSparse::uninitialised(self, Pattern { size, row_ptr, columns })
    }

    /// The keys of the rows of a graph after MIS-2: 0 for roots.
    fn independent_set<T: Real>(&self, strong: &GpuSparse<T>) -> Result<Buffer, DeviceError> {
        let ([row_ptr, columns], rows) = (strong.pattern().spans(), strong.size().rows);
        let lengths = self.zero_words(32)?;
        launch!(
            self,
            count_lengths::CountLengths,
            32 * cubes(rows.div_ceil(8)),
            VECTOR_UNITS,
            [row_ptr, columns, lengths.span()],
            [rows as u32],
            |_target| []
        );
        let lengths: Vec<u64> = self.sizes(lengths.span(), 1, 32)?.into_iter().map(u64::from).collect();
        let (keys, near) = (self.uninitialised(rows)?, self.uninitialised(rows)?);
        launch!(
            self,
            first_keys::FirstKeys,
            cubes(rows),
            VECTOR_UNITS,
            [row_ptr, keys.span()],
            [block_bits(&lengths).min(31), rows as u32],
            |_target| []
        );
        self.until_decided(ROUNDS, |open| {
            launch!(
                self,
                nearest_keys::NearestKeys,
                cubes(rows),
                VECTOR_UNITS,
                [row_ptr, columns, keys.span(), near.span()],
                [rows as u32],
                |_target| []
            );
            launch!(
                self,
                decide_rows::DecideRows,
                cubes(rows),
                VECTOR_UNITS,
                [row_ptr, columns, near.span(), keys.span(), open],
                [rows as u32],
                |_target| []
            );
        })?;
        Ok(keys)
    }

    /// The aggregates as a matrix, from the aggregate of each row.
    pub(super) fn members<T: Real>(
        &self,
        aggregate: &Buffer,
        rows: usize,
        count: usize,
    ) -> Result<GpuSparse<T>, DeviceError> {
        let members = self.zero_words(rows + 1)?;
        launch!(
            self,
            mark_members::MarkMembers,
            cubes(rows),
            VECTOR_UNITS,
            [aggregate.span(), members.span()],
            [rows as u32],
            |_target| []
        );
        let result = self.with_counts::<T>(&members, count)?;
        let [row_ptr, columns] = result.pattern().spans();
        with_real!(T::KIND, |N| launch!(
            self,
            write_members::WriteMembers<N>,
            cubes(rows),
            VECTOR_UNITS,
            [aggregate.span(), row_ptr, columns, result.values()],
            [rows as u32],
            |_target| []
        ));
        Ok(result)
    }
}

impl AggregationKernels for Gpu {
    fn diagonal_scales<T: Real>(&self, a: &GpuSparse<T>) -> Result<(GpuVector<T>, f64), DeviceError> {
        self.check_rows(a)?;
        let ([row_ptr, columns], rows) = (a.pattern().spans(), a.size().rows);
        let (scales, bounds) = (self.zeros::<T>(rows)?, self.zeros::<T>(rows)?);
        with_real!(T::KIND, |N| launch!(
            self,
            diagonal_scales::DiagonalScales<N>,
            cubes(rows),
            VECTOR_UNITS,
            [row_ptr, columns, a.values(), scales.span(), bounds.span()],
            [rows as u32],
            |_target| []
        ));
        Ok((scales, self.norm_max(&bounds)))
    }

    fn strong_connections<T: Real>(
        &self,
        a: &GpuSparse<T>,
        strength: &SymmetricStrength,
    ) -> Result<GpuSparse<T>, DeviceError> {
        let SparseSize { rows, entries, .. } = a.size();
        let (scales, _) = self.diagonal_scales(a)?;
        let threshold = match strength.rank(rows, entries) {
            Some(rank) => strength.threshold.max(self.strength_of_rank(a, &scales, strength, rank)?),
            None => strength.threshold,
        };
        let [row_ptr, columns] = a.pattern().spans();
        let (kept, sizes) = (self.zero_words(entries + 1)?, self.uninitialised_values::<T>(entries)?);
        with_real!(T::KIND, |N| launch!(
            self,
            mark_strong::MarkStrong<N>,
            cubes(rows),
            VECTOR_UNITS,
            [row_ptr, columns, a.values(), scales.span(), kept.span(), sizes.span()],
            [N::of(threshold), rows as u32],
            |_target| []
        ));
        self.kept(a, &kept, sizes.span())
    }

    fn aggregates<T: Real>(
        &self,
        strong: &GpuSparse<T>,
        a: &GpuSparse<T>,
    ) -> Result<GpuSparse<T>, DeviceError> {
        assert_eq!(strong.size().rows, a.size().rows, "rows of the graph and of the matrix");
        let (rows, keys) = (a.size().rows, self.independent_set(strong)?);
        let [row_ptr, columns] = a.pattern().spans();
        let [strong_row_ptr, strong_columns] = strong.pattern().spans();
        let roots = self.zero_words(rows + 1)?;
        with_real!(T::KIND, |N| launch!(
            self,
            mark_roots::MarkRoots<N>,
            cubes(rows),
            VECTOR_UNITS,
            [row_ptr, columns, a.values(), strong_row_ptr, keys.span(), roots.span()],
            [N::of(LONE), rows as u32],
            |_target| []
        ));
        let numbers = self.scan(roots.span())?;
        let count = self.sizes(numbers.span(), rows, 2)?[1] as usize;
        let aggregate = self.uninitialised(rows)?;
        launch!(
            self,
            join_roots::JoinRoots,
            cubes(rows),
            VECTOR_UNITS,
            [strong_row_ptr, strong_columns, keys.span(), roots.span(), numbers.span(), aggregate.span()],
            [rows as u32],
            |_target| []
        );
        let taken = self.members::<T>(&aggregate, rows, count)?;
        let entries = strong.size().entries;
        let (kept, votes) = (self.zero_words(entries + 1)?, self.uninitialised_values::<T>(entries)?);
        with_real!(T::KIND, |N| launch!(
            self,
            mark_votes::MarkVotes<N>,
            cubes(rows),
            VECTOR_UNITS,
            [strong_row_ptr, strong.values(), aggregate.span(), kept.span(), votes.span()],
            [N::of(VOTE_UNITS), rows as u32],
            |_target| []
        ));
        let votes = self.product_once(&self.kept(strong, &kept, votes.span())?, &taken)?;
        let [row_ptr, columns] = votes.pattern().spans();
        with_real!(T::KIND, |N| launch!(
            self,
            elect::Elect<N>,
            cubes(rows),
            VECTOR_UNITS,
            [row_ptr, columns, votes.values(), aggregate.span()],
            [rows as u32],
            |_target| []
        ));
        self.members(&aggregate, rows, count)
    }

    fn pairs<T: Real>(&self, a: &GpuSparse<T>, rounds: usize) -> Result<GpuSparse<T>, DeviceError> {
        self.pairs_of(a, rounds)
    }

    fn node_matrix<T: Real>(&self, a: &GpuSparse<T>, block: usize) -> Result<GpuSparse<T>, DeviceError> {
        let SparseSize { rows, cols, .. } = a.size();
        assert!(rows.is_multiple_of(block) && cols.is_multiple_of(block), "whole nodes");
        self.norms_of_blocks(a, block)
    }

    fn tentative<T: Real>(
        &self,
        aggregates: &GpuSparse<T>,
        kernel: &GpuVector<T>,
        count: usize,
    ) -> Result<(GpuSparse<T>, GpuVector<T>), DeviceError> {
        self.orthogonal(aggregates, kernel, count)
    }

    fn set_dead_diagonal<T: Real>(
        &self,
        a: &mut GpuSparse<T>,
        kernel: &GpuVector<T>,
        count: usize,
    ) -> Result<Vec<u32>, DeviceError> {
        self.revived(a, kernel, count)
    }

    fn smoothing_matrix<T: Real>(
        &self,
        a: &GpuSparse<T>,
        nodes: &GpuSparse<T>,
        step: &FilteredStep,
    ) -> Result<GpuSparse<T>, DeviceError> {
        self.filtered(a, nodes, step)
    }
}

//! Classical coarsening on the device: implementation of [`ClassicalKernels`] for a GPU.
//!
//! Every step has one unit per row; the kernels are in `kernels/dependences.rs`, `pmis.rs`,
//! `extended_i.rs` and `truncation.rs`. Patterns come from products of patterns, and from entries
//! that are kept. Only sizes return to the host, and after every [`ROUNDS`] rounds of PMIS how many
//! rows are not decided yet.

use ziggurat_sparse::Real;
use ziggurat_sparse::algebra::Truncation;
use ziggurat_sparse::device::{ClassicalKernels, ClassicalStrength, DeviceError, SetupKernels, SparseSize};

use super::aggregation::LONGEST;
use super::counts::cubes;
use super::sparse::{GpuSparse, Pattern};
use crate::Gpu;
use crate::device_format::Buffer;
use crate::kernels::dependences::mark_dependences;
use crate::kernels::extended_i::{
    count_shares, extended_weights, mark_ends, mark_sides, mark_weak, renumber_columns,
};
use crate::kernels::pmis::{decide_points, first_measures, mark_coarse, mark_paths, number_columns};
use crate::kernels::truncation::{mark_reached, mark_truncated, truncate_rows};
use crate::kernels::vector::{VECTOR_UNITS, fill_all};
use crate::launch::launch;
use crate::numbers::{Coefficient, with_real};

/// Steps of a binary search that are compiled.
const SEARCHES: [u32; 3] = [5, 8, 16];

/// Turns of a loop that searches a row for the entry opposite to another, and those around it.
const SEARCH: usize = 8;

/// Rounds of PMIS between two looks at how many rows are left.
const ROUNDS: usize = 8;

impl Gpu {
    /// The matrix with ones in place of its entries.
    fn ones<T: Real>(&self, a: &GpuSparse<T>) -> Result<GpuSparse<T>, DeviceError> {
        let entries = a.size().entries;
        let ones = a.with_values(self.uninitialised_values::<T>(entries)?);
        with_real!(T::KIND, |N| launch!(
            self,
            fill_all::FillAll<N>,
            cubes(entries),
            VECTOR_UNITS,
            [ones.values()],
            [N::of(T::one()), entries as u32],
            |_target| []
        ));
        Ok(ones)
    }

    /// The entries of a matrix that are kept, with the numbers of coarse rows as columns.
    fn kept_coarse<T: Real>(
        &self,
        a: &GpuSparse<T>,
        kept: &Buffer,
        coarse: &GpuSparse<T>,
    ) -> Result<GpuSparse<T>, DeviceError> {
        let found = self.kept(a, kept, a.values())?;
        let ([_, columns], [numbers, _]) = (found.pattern().spans(), coarse.pattern().spans());
        let entries = found.size().entries;
        launch!(
            self,
            renumber_columns::RenumberColumns,
            cubes(entries),
            VECTOR_UNITS,
            [columns, numbers],
            [entries as u32],
            |_target| []
        );
        Ok(found.with_cols(coarse.size().cols))
    }

    /// Rows of P with untruncated weights, truncated by their states.
    fn truncated<T: Real>(
        &self,
        p: &GpuSparse<T>,
        states: &Buffer,
        truncation: Truncation,
    ) -> Result<GpuSparse<T>, DeviceError> {
        let ([row_ptr, _], SparseSize { rows, entries, .. }) = (p.pattern().spans(), p.size());
        let longest = self.longest(row_ptr)?;
        let most = truncation.max_entries.unwrap_or(usize::MAX).min(u32::MAX as usize);
        let searches = if longest > most { most } else { 0 };
        self.check_turns((searches + 3).saturating_mul(longest))?;
        let kept = self.zero_words(entries + 1)?;
        with_real!(T::KIND, |N| launch!(
            self,
            truncate_rows::TruncateRows<N>,
            cubes(rows),
            VECTOR_UNITS,
            [row_ptr, states.span(), p.values(), kept.span()],
            [N::of(T::narrow(truncation.relative)), most as u32, rows as u32],
            |_target| [truncation.keep_row_sums]
        ));
        self.kept(p, &kept, p.values())
    }

    /// Fails if software Vulkan would end the loops of a unit early.
    fn check_turns(&self, turns: usize) -> Result<(), DeviceError> {
        let what = "steps of a row of interpolation, for software Vulkan,";
        match self.found().software && turns > LONGEST {
            true => Err(DeviceError::TooLarge { what, found: turns, most: LONGEST }),
            false => Ok(()),
        }
    }
}

impl ClassicalKernels for Gpu {
    fn dependences<T: Real>(
        &self,
        a: &GpuSparse<T>,
        strength: &ClassicalStrength,
    ) -> Result<GpuSparse<T>, DeviceError> {
        self.check_rows(a)?;
        let ([row_ptr, columns], SparseSize { rows, entries, .. }) = (a.pattern().spans(), a.size());
        let kept = self.zero_words(entries + 1)?;
        let [threshold, most] = [strength.threshold, strength.max_row_sum.unwrap_or_default()].map(T::narrow);
        with_real!(T::KIND, |N| launch!(
            self,
            mark_dependences::MarkDependences<N>,
            cubes(rows),
            VECTOR_UNITS,
            [row_ptr, columns, a.values(), kept.span()],
            [N::of(threshold), N::of(most), rows as u32],
            |_target| [strength.max_row_sum.is_some()]
        ));
        self.kept(a, &kept, a.values())
    }

    fn coarse_rows<T: Real>(
        &self,
        strong: &GpuSparse<T>,
        again: Option<&GpuSparse<T>>,
    ) -> Result<GpuSparse<T>, DeviceError> {
        let ([row_ptr, columns], rows) = (strong.pattern().spans(), strong.size().rows);
        assert!(again.is_none_or(|again| again.size().entries == rows), "a number for each row");
        let [_, numbers] = again.unwrap_or(strong).pattern().spans();
        let dependents = self.transpose(strong)?;
        let [dependents_row_ptr, dependents_columns] = dependents.pattern().spans();
        let (measures, states) = (self.uninitialised(2 * rows)?, self.uninitialised(rows)?);
        launch!(
            self,
            first_measures::FirstMeasures,
            cubes(rows),
            VECTOR_UNITS,
            [
                row_ptr,
                columns,
                dependents_row_ptr,
                dependents_columns,
                measures.span(),
                states.span(),
                numbers
            ],
            [rows as u32],
            |_target| [again.is_some()]
        );
        self.until_decided(ROUNDS, |open| {
            launch!(
                self,
                decide_points::DecidePoints,
                cubes(rows),
                VECTOR_UNITS,
                [row_ptr, columns, measures.span(), states.span(), open],
                [rows as u32],
                |_target| []
            );
        })?;
        let marks = self.zero_words(rows + 1)?;
        launch!(
            self,
            mark_coarse::MarkCoarse,
            cubes(rows),
            VECTOR_UNITS,
            [states.span(), marks.span()],
            [rows as u32],
            |_target| []
        );
        let row_ptr = self.scan(marks.span())?;
        let count = self.sizes(row_ptr.span(), rows, 2)?[1] as usize;
        let columns = self.uninitialised(count)?;
        launch!(
            self,
            number_columns::NumberColumns,
            cubes(count),
            VECTOR_UNITS,
            [columns.span()],
            [count as u32],
            |_target| []
        );
        let size = SparseSize { rows, cols: count, entries: count };
        self.ones(&GpuSparse::uninitialised(self, Pattern { size, row_ptr, columns })?)
    }

    fn paths<T: Real>(
        &self,
        strong: &GpuSparse<T>,
        coarse: &GpuSparse<T>,
        least: u32,
    ) -> Result<GpuSparse<T>, DeviceError> {
        let ([row_ptr, columns], SparseSize { rows, entries, .. }) =
            (strong.pattern().spans(), strong.size());
        let ([numbers, _], ends) = (coarse.pattern().spans(), self.zero_words(entries + 1)?);
        launch!(
            self,
            mark_ends::MarkEnds,
            cubes(rows),
            VECTOR_UNITS,
            [row_ptr, columns, numbers, ends.span()],
            [rows as u32],
            |_target| []
        );
        let ones = self.ones(strong)?;
        let ends = self.kept_coarse(&ones, &ends, coarse)?;
        // The diagonal of the first factor leaves paths of one step.
        let starts = self.product_once(&self.transpose(coarse)?, &ones)?;
        let paths = self.product_once(&starts, &ends)?;
        let ([row_ptr, columns], SparseSize { rows, entries, .. }) = (paths.pattern().spans(), paths.size());
        let kept = self.zero_words(entries + 1)?;
        with_real!(T::KIND, |N| launch!(
            self,
            mark_paths::MarkPaths<N>,
            cubes(rows),
            VECTOR_UNITS,
            [row_ptr, columns, paths.values(), kept.span()],
            [N::of(T::narrow(f64::from(least))), rows as u32],
            |_target| []
        ));
        self.kept(&paths, &kept, paths.values())
    }

    fn extended_i<T: Real>(
        &self,
        a: &GpuSparse<T>,
        strong: &GpuSparse<T>,
        coarse: &GpuSparse<T>,
        to: Option<&GpuSparse<T>>,
        symmetric: bool,
        truncation: Truncation,
    ) -> Result<GpuSparse<T>, DeviceError> {
        let ([row_ptr, columns], SparseSize { rows, entries, .. }) = (a.pattern().spans(), a.size());
        let ([strong_row_ptr, strong_columns], [numbers, _]) =
            (strong.pattern().spans(), coarse.pattern().spans());
        let [chosen, _] = to.unwrap_or(coarse).pattern().spans();
        let flags = || self.zero_words(strong.size().entries + 1);
        let (fine_side, near) = (flags()?, flags()?);
        launch!(
            self,
            mark_sides::MarkSides,
            cubes(rows),
            VECTOR_UNITS,
            [strong_row_ptr, strong_columns, numbers, chosen, fine_side.span(), near.span()],
            [rows as u32],
            |_target| [to.is_some()]
        );
        let fine_side = self.kept(strong, &fine_side, strong.values())?;
        let near = self.kept_coarse(strong, &near, coarse)?;
        let kept = self.zero_words(entries + 1)?;
        with_real!(T::KIND, |N| launch!(
            self,
            mark_weak::MarkWeak<N>,
            cubes(rows),
            VECTOR_UNITS,
            [row_ptr, columns, a.values(), strong_row_ptr, strong_columns, numbers, kept.span()],
            [rows as u32],
            |_target| []
        ));
        let weak = self.kept_coarse(a, &kept, coarse)?;
        let pattern = self.plan_product(&fine_side, &near)?.pattern().clone();
        let (p, states) = (GpuSparse::<T>::uninitialised(self, pattern)?, self.uninitialised(rows)?);
        let [near_row_ptr, near_columns] = near.pattern().spans();
        let [weak_row_ptr, weak_columns] = weak.pattern().spans();
        let ([p_row_ptr, p_columns], longest) =
            (p.pattern().spans(), self.longest(p.pattern().row_ptr.span())?);
        if self.found().software {
            let counts = self.zero_words(rows + 1)?;
            let [fine_row_ptr, fine_columns] = fine_side.pattern().spans();
            launch!(
                self,
                count_shares::CountShares,
                cubes(rows),
                VECTOR_UNITS,
                [fine_row_ptr, fine_columns, near_row_ptr, weak_row_ptr, counts.span()],
                [rows as u32],
                |_target| []
            );
            let shares = self.longest(self.scan(counts.span())?.span())?;
            let of_row = self.longest(row_ptr)?;
            self.check_turns(2 * (shares + longest) + 4 * of_row * SEARCH)?;
        }
        // Few shapes, because each is compiled.
        let steps = SEARCHES.into_iter().find(|steps| longest >> steps == 0).unwrap_or(32);
        with_real!(T::KIND, |N| launch!(
            self,
            extended_weights::ExtendedWeights<N>,
            cubes(rows),
            VECTOR_UNITS,
            [
                row_ptr,
                columns,
                a.values(),
                strong_row_ptr,
                strong_columns,
                numbers,
                near_row_ptr,
                near_columns,
                near.values(),
                weak_row_ptr,
                weak_columns,
                weak.values(),
                p_row_ptr,
                p_columns,
                p.values(),
                states.span()
            ],
            [N::of(T::max_value()), rows as u32],
            |_target| [symmetric, steps]
        ));
        self.truncated(&p, &states, truncation)
    }

    fn two_stage<T: Real>(
        &self,
        p1: &GpuSparse<T>,
        p2: &GpuSparse<T>,
        first: &GpuSparse<T>,
        truncation: Truncation,
    ) -> Result<GpuSparse<T>, DeviceError> {
        let ([row_ptr, columns], SparseSize { rows, entries, .. }) = (p1.pattern().spans(), p1.size());
        let ([second, _], [as_they_are, _]) = (p2.pattern().spans(), first.pattern().spans());
        let (kept, scaled) = (self.zero_words(entries + 1)?, self.uninitialised_values::<T>(entries)?);
        with_real!(T::KIND, |N| launch!(
            self,
            mark_reached::MarkReached<N>,
            cubes(rows),
            VECTOR_UNITS,
            [row_ptr, columns, p1.values(), second, kept.span(), scaled.span()],
            [rows as u32],
            |_target| []
        ));
        let p = self.product_once(&self.kept(p1, &kept, scaled.span())?, p2)?;
        let states = self.uninitialised(rows)?;
        launch!(
            self,
            mark_truncated::MarkTruncated,
            cubes(rows),
            VECTOR_UNITS,
            [as_they_are, states.span()],
            [rows as u32],
            |_target| []
        );
        self.truncated(&p, &states, truncation)
    }
}

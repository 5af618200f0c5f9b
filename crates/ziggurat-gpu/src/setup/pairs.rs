//! Pairs of rows on the device; the kernels are in `kernels/pairs.rs`. Nothing returns to the host
//! but the number of pairs.

use ziggurat_sparse::Real;
use ziggurat_sparse::device::{DeviceError, Kernels};

use super::counts::cubes;
use super::sparse::GpuSparse;
use crate::kernels::pairs::{
    choose_partners, diagonal_sizes, join_pairs, mark_first, match_partners, number_pairs,
};
use crate::kernels::vector::VECTOR_UNITS;
use crate::launch::launch;
use crate::numbers::with_real;
use crate::{Gpu, GpuVector};

impl Gpu {
    /// |a_ii| of every row.
    pub(super) fn sizes_of_diagonal<T: Real>(&self, a: &GpuSparse<T>) -> Result<GpuVector<T>, DeviceError> {
        let ([row_ptr, columns], rows) = (a.pattern().spans(), a.size().rows);
        let sizes = self.zeros::<T>(rows)?;
        with_real!(T::KIND, |N| launch!(
            self,
            diagonal_sizes::DiagonalSizes<N>,
            cubes(rows),
            VECTOR_UNITS,
            [row_ptr, columns, a.values(), sizes.span()],
            [rows as u32],
            |_target| []
        ));
        Ok(sizes)
    }

    /// Pairs, as a matrix.
    pub(super) fn pairs_of<T: Real>(
        &self,
        a: &GpuSparse<T>,
        rounds: usize,
    ) -> Result<GpuSparse<T>, DeviceError> {
        self.check_rows(a)?;
        let ([row_ptr, columns], rows) = (a.pattern().spans(), a.size().rows);
        let diagonal = self.sizes_of_diagonal(a)?;
        let (partners, choices) = (self.zero_words(rows)?, self.uninitialised(rows)?);
        // A round without a pair would be repeated without one, so nobody asks whether to go on.
        for _ in 0..rounds {
            with_real!(T::KIND, |N| launch!(
                self,
                choose_partners::ChoosePartners<N>,
                cubes(rows),
                VECTOR_UNITS,
                [row_ptr, columns, a.values(), diagonal.span(), partners.span(), choices.span()],
                [rows as u32],
                |_target| []
            ));
            launch!(
                self,
                match_partners::MatchPartners,
                cubes(rows),
                VECTOR_UNITS,
                [choices.span(), partners.span()],
                [rows as u32],
                |_target| []
            );
        }
        let (roots, first) = (choices, self.zero_words(rows + 1)?);
        with_real!(T::KIND, |N| launch!(
            self,
            join_pairs::JoinPairs<N>,
            cubes(rows),
            VECTOR_UNITS,
            [row_ptr, columns, a.values(), diagonal.span(), partners.span(), roots.span()],
            [rows as u32],
            |_target| []
        ));
        launch!(
            self,
            mark_first::MarkFirst,
            cubes(rows),
            VECTOR_UNITS,
            [roots.span(), first.span()],
            [rows as u32],
            |_target| []
        );
        let numbers = self.scan(first.span())?;
        let count = self.sizes(numbers.span(), rows, 2)?[1] as usize;
        let aggregate = self.uninitialised(rows)?;
        launch!(
            self,
            number_pairs::NumberPairs,
            cubes(rows),
            VECTOR_UNITS,
            [roots.span(), numbers.span(), aggregate.span()],
            [rows as u32],
            |_target| []
        );
        self.members(&aggregate, rows, count)
    }
}

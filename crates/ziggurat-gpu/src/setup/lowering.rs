//! Lowering on the device: implementation of [`LoweringKernels`] for a GPU.
//!
//! The kernels are in `kernels/lowering.rs`, one unit per row or element. Values are scaled in the
//! number type of setup and rounded in a second pass, so that every format has one kernel that
//! fills it. Of the formats, that with the fewest bytes is taken: compressed rows, which share row
//! pointers and columns with the level of setup; blocks of nodes; delta-SELL (`slots.rs`). To the
//! host return maxima, of 8 bytes each, and sizes.

use ziggurat_sparse::device::{
    DeviceError, Kernels, LoweringKernels, MatrixFormat, RowStep, SparseFactors, SparseSize, StoredSparse,
};
use ziggurat_sparse::matrix::MAX_BLOCK;
use ziggurat_sparse::{Kind, Real, Store};

use super::counts::cubes;
use super::sparse::{GpuSparse, Pattern};
use crate::device_format::{Buffer, DeviceFormat};
use crate::formats::{BsrArrays, CsrArrays};
use crate::kernels::lowering::{
    Sides, StepShape, largest_in_rows, narrow_pairs, powers_of_two, root_exponents, row_sizes, row_steps,
    scale_entries,
};
use crate::kernels::node_matrix::fill_blocks;
use crate::kernels::vector::{VECTOR_UNITS, cast_all};
use crate::launch::{Span, countable, launch};
use crate::numbers::{Coefficient, with_real};
use crate::{Gpu, GpuMatrix, GpuVector};

/// The factors of a matrix as arguments of kernels.
#[derive(Clone, Copy)]
pub(super) struct FactorSpans<'a> {
    pub(super) left: Span<'a>,
    pub(super) right: Span<'a>,
    pub(super) factor: f64,
    pub(super) sides: Sides,
}

impl<'a> FactorSpans<'a> {
    /// Absent factors are arrays that are not read.
    pub(super) fn new<T: Real>(a: &'a GpuSparse<T>, factors: SparseFactors<'a, GpuVector<T>>) -> Self {
        let SparseFactors { left, right, factor } = factors;
        let SparseSize { rows, cols, .. } = a.size();
        assert!(left.is_none_or(|left| left.len == rows), "factors of rows");
        assert!(right.is_none_or(|right| right.len == cols), "factors of columns");
        FactorSpans {
            left: left.map_or(a.values(), GpuVector::span),
            right: right.map_or(a.values(), GpuVector::span),
            factor,
            sides: Sides { left: left.is_some(), right: right.is_some() },
        }
    }
}

impl Gpu {
    /// The values of an array, rounded once to `S`, as matrices have them.
    pub(super) fn rounded<T: Real, S: Store>(&self, values: Buffer) -> Result<Buffer, DeviceError> {
        let len = values.span().len;
        match (T::KIND, S::KIND) {
            (computed, stored) if computed == stored => Ok(values),
            (_, Kind::F64 | Kind::F32) => {
                let cast = Buffer::new(self.empty(len * size_of::<S>())?, len);
                with_real!(T::KIND, |N| with_real!(S::KIND, |M| launch!(
                    self,
                    cast_all::CastAll<N, M>,
                    cubes(len),
                    VECTOR_UNITS,
                    [values.span(), cast.span()],
                    [len as u32],
                    |_target| []
                )));
                Ok(cast)
            }
            (_, Kind::F16 | Kind::Bf16) => {
                let words = self.uninitialised(len.div_ceil(2))?;
                with_real!(T::KIND, |N| launch!(
                    self,
                    narrow_pairs::NarrowPairs<N>,
                    cubes(len.div_ceil(2)),
                    VECTOR_UNITS,
                    [values.span(), words.span()],
                    [len as u32, 0u32],
                    |_target| [S::KIND == Kind::Bf16]
                ));
                Ok(words)
            }
        }
    }

    /// The values of L A M in the order of A.
    fn scaled_values<T: Real>(
        &self,
        a: &GpuSparse<T>,
        factors: FactorSpans<'_>,
    ) -> Result<Buffer, DeviceError> {
        let ([row_ptr, columns], SparseSize { rows, entries, .. }) = (a.pattern().spans(), a.size());
        let scaled = Buffer::new(self.empty(entries * size_of::<T>())?, entries);
        let FactorSpans { left, right, factor, sides } = factors;
        with_real!(T::KIND, |N| launch!(
            self,
            scale_entries::ScaleEntries<N>,
            cubes(rows),
            VECTOR_UNITS,
            [row_ptr, columns, a.values(), left, right, scaled.span()],
            [N::of(T::narrow(factor)), rows as u32],
            |_target| [sides]
        ));
        Ok(scaled)
    }

    /// The values of L A M by blocks; `nodes` is the pattern of the blocks with an entry. Writes
    /// the columns of `nodes`.
    pub(super) fn block_values<T: Real>(
        &self,
        a: &GpuSparse<T>,
        nodes: &Pattern,
        block: usize,
        factors: FactorSpans<'_>,
    ) -> Result<Buffer, DeviceError> {
        let ([row_ptr, columns], SparseSize { rows, entries, .. }) = (a.pattern().spans(), nodes.size);
        let ([node_row_ptr, node_columns], len) = (nodes.spans(), entries * block * block);
        countable("values of blocks", len)?;
        let blocks = Buffer::new(self.empty(len * size_of::<T>())?, len);
        let FactorSpans { left, right, factor, sides } = factors;
        with_real!(T::KIND, |N| launch!(
            self,
            fill_blocks::FillBlocks<N>,
            cubes(rows),
            VECTOR_UNITS,
            [row_ptr, columns, a.values(), left, right, node_row_ptr, node_columns, blocks.span()],
            [N::of(T::narrow(factor)), block as u32, rows as u32, a.size().rows as u32],
            |_target| [sides]
        ));
        Ok(blocks)
    }

    /// A matrix of these arrays.
    pub(super) fn matrix_of<T: Real, S: Store>(
        a: &GpuSparse<T>,
        arrays: impl DeviceFormat + 'static,
    ) -> GpuMatrix<S> {
        let SparseSize { rows, cols, .. } = a.size();
        GpuMatrix { rows, cols, arrays: Some(Box::new(arrays)), host: None }
    }
}

impl LoweringKernels for Gpu {
    fn shares_memory_with(&self, other: &Gpu) -> bool {
        self.found().name == other.found().name
    }

    fn steps<T: Real>(&self, a: &GpuSparse<T>, step: RowStep) -> Result<Option<GpuVector<T>>, DeviceError> {
        self.check_rows(a)?;
        let ([row_ptr, columns], rows) = (a.pattern().spans(), a.size().rows);
        let (shape, bound) = match step {
            RowStep::Jacobi => (StepShape::Jacobi, 0.0),
            RowStep::L1 => (StepShape::L1, 0.0),
            RowStep::Spai0 => (StepShape::Spai0, 0.0),
            RowStep::ProvedSpai0(bound) => (StepShape::Proved, bound),
        };
        let (steps, unusable) = (self.zeros::<T>(rows)?, self.zeros::<T>(rows)?);
        with_real!(T::KIND, |N| launch!(
            self,
            row_steps::RowSteps<N>,
            cubes(rows),
            VECTOR_UNITS,
            [row_ptr, columns, a.values(), steps.span(), unusable.span()],
            [N::of(T::narrow(bound)), N::of(T::max_value()), rows as u32],
            |_target| [shape]
        ));
        Ok((self.norm_max(&unusable) == 0.0).then_some(steps))
    }

    fn row_sizes<T: Real>(&self, a: &GpuSparse<T>) -> Result<GpuVector<T>, DeviceError> {
        self.check_rows(a)?;
        let ([row_ptr, columns], rows) = (a.pattern().spans(), a.size().rows);
        let sizes = self.zeros::<T>(rows)?;
        with_real!(T::KIND, |N| launch!(
            self,
            row_sizes::RowSizes<N>,
            cubes(rows),
            VECTOR_UNITS,
            [row_ptr, columns, a.values(), sizes.span()],
            [rows as u32],
            |_target| []
        ));
        Ok(sizes)
    }

    fn root_exponents<T: Real>(&self, sizes: &GpuVector<T>) -> Result<GpuVector<T>, DeviceError> {
        let (len, exponents) = (self.len(sizes), self.zeros::<T>(self.len(sizes))?);
        with_real!(T::KIND, |N| launch!(
            self,
            root_exponents::RootExponents<N>,
            cubes(len),
            VECTOR_UNITS,
            [sizes.span(), exponents.span()],
            [N::of(T::max_value()), len as u32],
            |_target| [T::KIND == Kind::F64]
        ));
        Ok(exponents)
    }

    fn powers_of_two<T: Real>(
        &self,
        exponents: &GpuVector<T>,
        (low, high): (i32, i32),
        inverse: bool,
        shift: i32,
    ) -> Result<GpuVector<T>, DeviceError> {
        let (len, powers) = (self.len(exponents), self.zeros::<T>(self.len(exponents))?);
        with_real!(T::KIND, |N| launch!(
            self,
            powers_of_two::PowersOfTwo<N>,
            cubes(len),
            VECTOR_UNITS,
            [exponents.span(), powers.span()],
            [low, high, if inverse { -1i32 } else { 1i32 }, shift, len as u32],
            |_target| []
        ));
        Ok(powers)
    }

    fn largest_scaled<T: Real>(
        &self,
        a: &GpuSparse<T>,
        factors: SparseFactors<'_, GpuVector<T>>,
    ) -> Result<f64, DeviceError> {
        self.check_rows(a)?;
        let ([row_ptr, columns], rows) = (a.pattern().spans(), a.size().rows);
        let largest = self.zeros::<T>(rows)?;
        let FactorSpans { left, right, factor, sides } = FactorSpans::new(a, factors);
        with_real!(T::KIND, |N| launch!(
            self,
            largest_in_rows::LargestInRows<N>,
            cubes(rows),
            VECTOR_UNITS,
            [row_ptr, columns, a.values(), left, right, largest.span()],
            [rows as u32],
            |_target| [sides]
        ));
        Ok(self.norm_max(&largest) * factor.abs())
    }

    fn stored<T: Real, S: Store>(
        &self,
        a: &GpuSparse<T>,
        factors: SparseFactors<'_, GpuVector<T>>,
        block: usize,
    ) -> Result<StoredSparse<GpuMatrix<S>>, DeviceError> {
        self.check_rows(a)?;
        let (SparseSize { rows, cols, entries }, value) = (a.size(), size_of::<S>());
        let factors = FactorSpans::new(a, factors);
        let of_rows = (4 + value) * entries + 4 * (rows + 1);
        let mut considered = vec![(MatrixFormat::Csr, of_rows)];
        let has_blocks =
            (2..=MAX_BLOCK).contains(&block) && rows.is_multiple_of(block) && cols.is_multiple_of(block);
        let nodes = has_blocks.then(|| self.counted_blocks(a, block)).transpose()?;
        if let Some(size) = nodes.as_ref().map(GpuSparse::size) {
            let of_blocks = (4 + value * block * block) * size.entries + 4 * (size.rows + 1);
            considered.push((MatrixFormat::Bsr, of_blocks));
        }
        let least = considered.iter().map(|&(_, bytes)| bytes).fold(of_rows, usize::min);
        let slots = self.slots_of(a, least, value)?;
        considered.extend(slots.as_ref().map(|slots| (MatrixFormat::DeltaSell, slots.bytes)));
        considered.sort_by_key(|&(_, bytes)| bytes);
        let matrix = match (considered[0].0, slots, nodes) {
            (MatrixFormat::DeltaSell, Some(slots), _) => {
                Gpu::matrix_of(a, slots.filled::<T, S>(self, a, factors)?)
            }
            (MatrixFormat::Bsr, _, Some(nodes)) => {
                let values = self.block_values(a, nodes.pattern(), block, factors)?;
                let Pattern { row_ptr, columns, .. } = nodes.pattern().clone();
                let longest = self.longest(row_ptr.span())?;
                let arrays = [row_ptr, columns, self.rounded::<T, S>(values)?];
                Gpu::matrix_of(a, BsrArrays::of_device(arrays, block, longest))
            }
            _ => {
                let values = self.rounded::<T, S>(self.scaled_values(a, factors)?)?;
                let longest = self.longest(a.pattern().row_ptr.span())?;
                let Pattern { row_ptr, columns, .. } = a.pattern().clone();
                Gpu::matrix_of(a, CsrArrays::of_device(row_ptr, columns, values, entries, longest))
            }
        };
        Ok(StoredSparse { matrix, considered })
    }
}

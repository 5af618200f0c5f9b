//! Interpolation of aggregates on the device, with one or several unknowns per node; the kernels
//! are in `kernels/node_matrix.rs`, `tentative.rs` and `filtered_step.rs`. Besides numbers of
//! entries, only the list of dead unknowns returns to the host, if there are any.

use ziggurat_sparse::Real;
use ziggurat_sparse::device::{DeviceError, FilteredStep, Kernels, SetupKernels, SparseSize, dependent};

use super::counts::cubes;
use super::sparse::{GpuSparse, Pattern};
use crate::kernels::filtered_step::{filtered_step, mark_filtered};
use crate::kernels::node_matrix::{block_norms, count_blocks};
use crate::kernels::tentative::{find_dead, kernel_rows, orthogonalise, revive};
use crate::kernels::vector::VECTOR_UNITS;
use crate::launch::launch;
use crate::numbers::{Coefficient, with_real};
use crate::{Gpu, GpuVector};

impl Gpu {
    /// A matrix with an entry for every block, whose columns and values are to be computed. The
    /// last blocks may lack rows or columns.
    pub(super) fn counted_blocks<T: Real>(
        &self,
        a: &GpuSparse<T>,
        block: usize,
    ) -> Result<GpuSparse<T>, DeviceError> {
        self.check_rows(a)?;
        let SparseSize { rows, cols, .. } = a.size();
        let ([row_ptr, columns], nodes) = (a.pattern().spans(), rows.div_ceil(block));
        let counts = self.zero_words(nodes + 1)?;
        launch!(
            self,
            count_blocks::CountBlocks,
            cubes(nodes),
            VECTOR_UNITS,
            [row_ptr, columns, counts.span()],
            [block as u32, nodes as u32, rows as u32],
            |_target| []
        );
        self.with_counts(&counts, cols.div_ceil(block))
    }

    /// The norms of blocks.
    pub(super) fn norms_of_blocks<T: Real>(
        &self,
        a: &GpuSparse<T>,
        block: usize,
    ) -> Result<GpuSparse<T>, DeviceError> {
        let result = self.counted_blocks(a, block)?;
        let ([row_ptr, columns], nodes) = (a.pattern().spans(), result.size().rows);
        let [node_row_ptr, node_columns] = result.pattern().spans();
        with_real!(T::KIND, |N| launch!(
            self,
            block_norms::BlockNorms<N>,
            cubes(nodes),
            VECTOR_UNITS,
            [row_ptr, columns, a.values(), node_row_ptr, node_columns, result.values()],
            [block as u32, nodes as u32, a.size().rows as u32],
            |_target| []
        ));
        Ok(result)
    }

    /// Q and R of the near-kernel on every aggregate.
    pub(super) fn orthogonal<T: Real>(
        &self,
        aggregates: &GpuSparse<T>,
        kernel: &GpuVector<T>,
        count: usize,
    ) -> Result<(GpuSparse<T>, GpuVector<T>), DeviceError> {
        let SparseSize { rows: nodes, cols, entries } = aggregates.size();
        let block = self.len(kernel) / (nodes * count).max(1);
        assert_eq!(self.len(kernel), nodes * block * count, "rows of the near-kernel");
        let (rows, entries) = (nodes * block, entries * block * count);
        let (row_ptr, columns) = (self.uninitialised(rows + 1)?, self.uninitialised(entries)?);
        let size = SparseSize { rows, cols: cols * count, entries };
        let p = GpuSparse::uninitialised(self, Pattern { size, row_ptr, columns })?;
        let [member_ptr, members] = aggregates.pattern().spans();
        let [row_ptr, columns] = p.pattern().spans();
        with_real!(T::KIND, |N| launch!(
            self,
            kernel_rows::KernelRows<N>,
            cubes(rows + 1),
            VECTOR_UNITS,
            [member_ptr, members, kernel.span(), row_ptr, columns, p.values()],
            [block as u32, count as u32, rows as u32],
            |_target| []
        ));
        let (members, r) = (self.transpose(aggregates)?, self.zeros::<T>(cols * count * count)?);
        let [member_ptr, members] = members.pattern().spans();
        with_real!(T::KIND, |N| launch!(
            self,
            orthogonalise::Orthogonalise<N>,
            cubes(cols),
            VECTOR_UNITS,
            [member_ptr, members, row_ptr, p.values(), r.span()],
            [N::of(T::narrow(dependent::<T>())), block as u32, count as u32, cols as u32],
            |_target| []
        ));
        Ok((p, r))
    }

    /// Sets the diagonal of dead unknowns, and lists them.
    pub(super) fn revived<T: Real>(
        &self,
        a: &GpuSparse<T>,
        kernel: &GpuVector<T>,
        count: usize,
    ) -> Result<Vec<u32>, DeviceError> {
        let ([row_ptr, columns], rows) = (a.pattern().spans(), a.size().rows);
        assert_eq!(self.len(kernel), rows * count, "rows of the near-kernel");
        let dead = self.zeros::<T>(rows)?;
        with_real!(T::KIND, |N| launch!(
            self,
            find_dead::FindDead<N>,
            cubes(rows),
            VECTOR_UNITS,
            [kernel.span(), dead.span()],
            [count as u32, rows as u32],
            |_target| []
        ));
        if self.norm_max(&dead) == 0.0 {
            return Ok(Vec::new());
        }
        let largest = self.norm_max(&self.sizes_of_diagonal(a)?);
        let scale = if largest > 0.0 { T::narrow(largest) } else { T::one() };
        with_real!(T::KIND, |N| launch!(
            self,
            revive::Revive<N>,
            cubes(rows),
            VECTOR_UNITS,
            [row_ptr, columns, dead.span(), a.values()],
            [N::of(scale), rows as u32],
            |_target| []
        ));
        let mut flags = vec![T::zero(); rows];
        self.download(&dead, &mut flags)?;
        Ok((0..rows as u32).filter(|&row| flags[row as usize] > T::zero()).collect())
    }

    /// 1 − ω D⁻¹ A_F
    pub(super) fn filtered<T: Real>(
        &self,
        a: &GpuSparse<T>,
        nodes: &GpuSparse<T>,
        step: &FilteredStep,
    ) -> Result<GpuSparse<T>, DeviceError> {
        let SparseSize { rows, cols, entries } = a.size();
        let block = rows / nodes.size().rows.max(1);
        let [row_ptr, columns] = a.pattern().spans();
        let [node_row_ptr, node_columns] = nodes.pattern().spans();
        let (kept, counts) = (self.uninitialised(entries)?, self.zero_words(rows + 1)?);
        with_real!(T::KIND, |N| launch!(
            self,
            mark_filtered::MarkFiltered<N>,
            cubes(rows),
            VECTOR_UNITS,
            [row_ptr, columns, node_row_ptr, node_columns, nodes.values(), kept.span(), counts.span()],
            [N::of(step.filter), block as u32, rows as u32],
            |_target| []
        ));
        let result = self.with_counts::<T>(&counts, cols)?;
        let [new_row_ptr, new_columns] = result.pattern().spans();
        with_real!(T::KIND, |N| launch!(
            self,
            filtered_step::FilteredStep<N>,
            cubes(rows),
            VECTOR_UNITS,
            [row_ptr, columns, a.values(), kept.span(), new_row_ptr, new_columns, result.values()],
            [N::of(step.damping / step.radius), N::of(0.5 * step.damping), block as u32, rows as u32],
            |_target| []
        ));
        Ok(result)
    }
}

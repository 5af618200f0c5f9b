//! Transpose T = Aᵀ on the device: the entries of A, stably sorted by column; the kernels are in
//! `kernels/sort.rs`. Memory besides the result: 16 bytes per entry. Nothing returns to the host.

use ziggurat_sparse::Real;
use ziggurat_sparse::device::{DeviceError, SparseSize};

use super::counts::cubes;
use super::sparse::{GpuSparse, Pattern};
use crate::Gpu;
use crate::device_format::Buffer;
use crate::kernels::row_products::UNITS;
use crate::kernels::sort::{
    DIGIT_BITS, DIGITS, SORT_BLOCK, count_digits, rows_of_keys, scatter_keys, transposed_entries,
};
use crate::kernels::vector::VECTOR_UNITS;
use crate::launch::launch;
use crate::numbers::with_real;

pub(super) fn transpose<T: Real>(gpu: &Gpu, a: &GpuSparse<T>) -> Result<GpuSparse<T>, DeviceError> {
    let SparseSize { rows, cols, entries } = a.size();
    let size = SparseSize { rows: cols, cols: rows, entries };
    if entries == 0 {
        let row_ptr = gpu.zero_words(cols + 1)?;
        return GpuSparse::uninitialised(gpu, Pattern { size, row_ptr, columns: gpu.uninitialised(0)? });
    }
    let (keys, positions) = sorted(gpu, &a.pattern().columns, entries, cols)?;
    let (row_ptr, columns) = (gpu.uninitialised(cols + 1)?, gpu.uninitialised(entries)?);
    launch!(
        gpu,
        rows_of_keys::RowsOfKeys,
        cubes(cols + 1),
        VECTOR_UNITS,
        [keys.span(), row_ptr.span()],
        [entries as u32, cols as u32],
        |_target| []
    );
    let t = GpuSparse::uninitialised(gpu, Pattern { size, row_ptr, columns })?;
    with_real!(T::KIND, |N| launch!(
        gpu,
        transposed_entries::TransposedEntries<N>,
        cubes(entries),
        VECTOR_UNITS,
        [a.pattern().row_ptr.span(), a.values(), positions.span(), t.pattern().columns.span(), t.values()],
        [entries as u32, rows as u32],
        |_target| []
    ));
    Ok(t)
}

/// Keys below `limit` in increasing order, and where each of them was. Equal keys keep their order.
fn sorted(gpu: &Gpu, keys: &Buffer, len: usize, limit: usize) -> Result<(Buffer, Buffer), DeviceError> {
    let bits = (limit as u32 - 1).checked_ilog2().map_or(1, |highest| highest + 1);
    let blocks = len.div_ceil(SORT_BLOCK as usize);
    let (mut keys, mut positions) = (keys.clone(), keys.clone());
    for shift in (0..bits).step_by(DIGIT_BITS as usize) {
        let counts = gpu.uninitialised(DIGITS as usize * blocks)?;
        launch!(
            gpu,
            count_digits::CountDigits,
            blocks,
            UNITS,
            [keys.span(), counts.span()],
            [len as u32, blocks as u32, shift],
            |_target| []
        );
        let places = gpu.scan(counts.span())?;
        let (new_keys, new_positions) = (gpu.uninitialised(len)?, gpu.uninitialised(len)?);
        launch!(
            gpu,
            scatter_keys::ScatterKeys,
            blocks,
            UNITS,
            [keys.span(), positions.span(), places.span(), new_keys.span(), new_positions.span()],
            [len as u32, blocks as u32, shift],
            |_target| [shift == 0]
        );
        (keys, positions) = (new_keys, new_positions);
    }
    Ok((keys, positions))
}

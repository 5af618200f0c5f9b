//! Conversion from compressed rows to delta-SELL on the device; the kernels are in
//! `kernels/slots.rs`. Two sizes return to the host: the number of slots, and of words that the
//! differences take.

use ziggurat_sparse::device::{DeviceError, SparseSize};
use ziggurat_sparse::{Real, Store};

use super::counts::cubes;
use super::lowering::FactorSpans;
use super::sparse::GpuSparse;
use crate::Gpu;
use crate::device_format::Buffer;
use crate::formats::{CHUNK_WORDS, DeltaSellArrays, LANES};
use crate::kernels::slots::{count_slots, fill_slots, measure_slots, place_slots, place_words};
use crate::kernels::vector::VECTOR_UNITS;
use crate::launch::launch;
use crate::numbers::{Coefficient, with_real};

/// The layout of a matrix in delta-SELL format.
pub(super) struct Slots {
    /// The memory that it takes.
    pub(super) bytes: usize,
    descriptions: Buffer,
    /// The base of each slot in the order of the rows, and its place among the slots of its chunk.
    measured: Buffer,
    places: Buffer,
    /// Whether the entries of a chunk share slots by diagonal, and the diagonal of each slot.
    by_diagonal: Buffer,
    diagonals: Buffer,
    /// Slots, and words of differences.
    sizes: [usize; 2],
}

impl Gpu {
    /// The layout of a matrix; `None` if it takes more than `most` bytes, with values of
    /// `value_bytes` bytes.
    pub(super) fn slots_of<T: Real>(
        &self,
        a: &GpuSparse<T>,
        most: usize,
        value_bytes: usize,
    ) -> Result<Option<Slots>, DeviceError> {
        let ([row_ptr, columns], SparseSize { rows, cols, .. }) = (a.pattern().spans(), a.size());
        let chunks = rows.div_ceil(LANES as usize);
        let (lengths, by_diagonal) = (self.zero_words(chunks + 1)?, self.uninitialised(chunks)?);
        launch!(
            self,
            count_slots::CountSlots,
            cubes(chunks),
            VECTOR_UNITS,
            [row_ptr, columns, lengths.span(), by_diagonal.span()],
            [value_bytes as u32, chunks as u32, rows as u32],
            |_target| []
        );
        let first_slots = self.scan(lengths.span())?;
        let slots = self.sizes(first_slots.span(), chunks, 2)?[1] as usize;
        let lanes = LANES as usize;
        let least = 4 * CHUNK_WORDS as usize * chunks + slots.saturating_mul(4 + lanes * value_bytes);
        // Kernels count stored values, and words of differences, in 32 bits.
        if least > most || slots > u32::MAX as usize / lanes {
            return Ok(None);
        }
        let (measured, widths) = (self.uninitialised(slots)?, self.uninitialised(slots)?);
        let diagonals = self.uninitialised(slots)?;
        launch!(
            self,
            measure_slots::MeasureSlots,
            cubes(chunks),
            VECTOR_UNITS,
            [
                row_ptr,
                columns,
                first_slots.span(),
                by_diagonal.span(),
                measured.span(),
                widths.span(),
                diagonals.span()
            ],
            [chunks as u32, rows as u32, cols as u32],
            |_target| []
        );
        let (words, places) = (self.zero_words(chunks + 1)?, self.uninitialised(slots)?);
        let descriptions = self.uninitialised(CHUNK_WORDS as usize * chunks)?;
        launch!(
            self,
            place_slots::PlaceSlots,
            cubes(chunks),
            VECTOR_UNITS,
            [first_slots.span(), widths.span(), descriptions.span(), words.span(), places.span()],
            [chunks as u32],
            |_target| []
        );
        let first_words = self.scan(words.span())?;
        let words = self.sizes(first_words.span(), chunks, 2)?[1] as usize;
        let bytes = least + 4 * words;
        if bytes > most {
            return Ok(None);
        }
        launch!(
            self,
            place_words::PlaceWords,
            cubes(chunks),
            VECTOR_UNITS,
            [first_words.span(), descriptions.span()],
            [chunks as u32],
            |_target| []
        );
        let sizes = [slots, words];
        Ok(Some(Slots { bytes, descriptions, measured, places, by_diagonal, diagonals, sizes }))
    }
}

impl Slots {
    /// The arrays of L A M, rounded to `S`.
    pub(super) fn filled<T: Real, S: Store>(
        self,
        gpu: &Gpu,
        a: &GpuSparse<T>,
        factors: FactorSpans<'_>,
    ) -> Result<DeltaSellArrays, DeviceError> {
        let ([row_ptr, columns], rows) = (a.pattern().spans(), a.size().rows);
        let Slots { descriptions, measured, places, by_diagonal, diagonals, .. } = self;
        let [slots, words] = self.sizes;
        let chunks = rows.div_ceil(LANES as usize);
        let stored = slots * LANES as usize;
        let (bases, deltas) = (gpu.uninitialised(slots)?, gpu.uninitialised(words)?);
        let values = Buffer::new(gpu.empty(stored * size_of::<T>())?, stored);
        let FactorSpans { left, right, factor, sides } = factors;
        with_real!(T::KIND, |N| launch!(
            gpu,
            fill_slots::FillSlots<N>,
            cubes(4 * chunks),
            VECTOR_UNITS,
            [
                row_ptr,
                columns,
                a.values(),
                left,
                right,
                descriptions.span(),
                measured.span(),
                places.span(),
                by_diagonal.span(),
                diagonals.span(),
                bases.span(),
                values.span(),
                deltas.span()
            ],
            [N::of(T::narrow(factor)), chunks as u32, rows as u32],
            |_target| [sides]
        ));
        let values = gpu.rounded::<T, S>(values)?;
        DeltaSellArrays::of_device(gpu, [descriptions, bases, deltas, values])
    }
}

//! Matrix operations: what is common to all formats. The format launches the kernel.

use ziggurat_sparse::device::{Direction, HostMatrix};
use ziggurat_sparse::{Reads, Store};

use crate::Gpu;
use crate::device_format::{DeviceFormat, RowsCall, SweepCall};
use crate::kernels::gauss_seidel::TURNS;
use crate::kernels::row_products::Operation;
use crate::matrix::GpuMatrix;
use crate::vector::GpuVector;

impl<S: Store> GpuMatrix<S> {
    #[allow(clippy::panic)] // the number type determines the place, so a mismatch is a bug
    fn arrays(&self) -> &dyn DeviceFormat {
        match self.arrays.as_deref() {
            Some(arrays) => arrays,
            None => panic!("a host matrix was passed to a kernel"),
        }
    }

    #[allow(clippy::panic)] // as above
    pub(crate) fn host(&self) -> &HostMatrix<S> {
        match &self.host {
            Some(host) => host,
            None => panic!("a device matrix was passed to a host operation"),
        }
    }
}

/// Maximum number of loop iterations on Mesa's software Vulkan, which ends loops after 65,535.
const MOST_TURNS: usize = 60_000;

impl Gpu {
    /// Applies an operation to every row. `vectors` are x, b and d.
    pub(crate) fn rows<C: Reads<S>, S: Store>(
        &self,
        a: &GpuMatrix<S>,
        operation: Operation,
        (alpha, beta): (C, C),
        vectors: [&GpuVector<C>; 3],
        y: &mut GpuVector<C>,
    ) {
        if a.rows == 0 {
            return;
        }
        let [x, b, d] = vectors.map(GpuVector::span);
        a.arrays().rows(
            self,
            &RowsCall {
                rows: a.rows,
                computed: C::KIND,
                stored: S::KIND,
                operation,
                coefficients: (alpha.wide(), beta.wide()),
                vectors: [x, b, d, y.span()],
            },
        );
    }

    /// One Gauss–Seidel sweep. `vectors` are d and b.
    pub(crate) fn blocks_of_rows<C: Reads<S>, S: Store>(
        &self,
        a: &GpuMatrix<S>,
        vectors: [&GpuVector<C>; 2],
        guess: Option<&GpuVector<C>>,
        (block, direction): (usize, Direction),
        y: &mut GpuVector<C>,
    ) {
        if a.rows == 0 {
            return;
        }
        let [d, b] = vectors.map(GpuVector::span);
        let (x, y) = (guess.map_or(b, GpuVector::span), y.span());
        let (backward, guess) = (direction == Direction::Backward, guess.is_some());
        let (arrays, longest) = (a.arrays(), a.arrays().longest_row());
        if self.found().software && longest > MOST_TURNS {
            self.lose(format!(
                "Gauss-Seidel over a row of {longest} entries: software Vulkan terminates loops this long"
            ));
            return;
        }
        let per_unit = block.clamp(1, a.rows).next_multiple_of(arrays.rows_per_block());
        let units = a.rows.div_ceil(per_unit);
        let at_once = (TURNS / longest.max(1)).max(1);
        for from in (0..per_unit).step_by(at_once) {
            arrays.gauss_seidel(
                self,
                &SweepCall {
                    rows: a.rows as u32,
                    rows_per_unit: per_unit as u32,
                    blocks: units as u32,
                    from: from as u32,
                    to: (from + at_once) as u32,
                    computed: C::KIND,
                    stored: S::KIND,
                    backward,
                    guess,
                    vectors: [d, b, x, y],
                },
            );
        }
    }
}

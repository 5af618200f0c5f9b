//! Matrix operations: what is common to all formats. The format launches the kernels of products.

use ziggurat_sparse::device::{Direction, HostMatrix};
use ziggurat_sparse::{Reads, Store};

use crate::Gpu;
use crate::device_format::{DeviceFormat, RowArrays, RowsCall};
use crate::kernels::gauss_seidel::{GaussSeidelShape, TURNS, gauss_seidel_rows};
use crate::kernels::row_products::{Operation, UNITS};
use crate::launch::launch;
use crate::matrix::GpuMatrix;
use crate::numbers::{packing, with_pair};
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

    #[allow(clippy::panic)] // an error of the algorithm: see `Device::gauss_seidel`
    fn by_rows(&self) -> RowArrays<'_> {
        match self.arrays().by_rows() {
            Some(rows) => rows,
            None => panic!("Gauss-Seidel, with a matrix whose format is not row by row"),
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
        let RowArrays { row_ptr, columns, values, block: of_format, longest } = a.by_rows();
        if self.found().software && longest > MOST_TURNS {
            self.lose(format!(
                "Gauss-Seidel over a row of {longest} entries: software Vulkan terminates loops this long"
            ));
            return;
        }
        let per_unit = block.clamp(1, a.rows).next_multiple_of(of_format);
        let units = a.rows.div_ceil(per_unit);
        let at_once = (TURNS / longest.max(1)).max(1);
        for from in (0..per_unit).step_by(at_once) {
            let sizes = [a.rows, per_unit, units, from, from + at_once].map(|size| size as u32);
            let [rows, per_unit, units, from, to] = sizes;
            with_pair!(C::KIND, S::KIND, |N, V| launch!(
                self,
                gauss_seidel_rows::GaussSeidelRows<V, N>,
                (units as usize).div_ceil(UNITS as usize),
                UNITS,
                [row_ptr, columns, values, d, b, x, y],
                [rows, per_unit, units, from, to],
                |target| [GaussSeidelShape {
                    packing: packing(S::KIND, target),
                    backward,
                    guess,
                    block: of_format as u32
                }]
            ));
        }
    }
}

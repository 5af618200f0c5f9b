//! Matrix operations. The matrix format and the number types select the kernel.

use ziggurat_sparse::device::{Direction, HostMatrix};
use ziggurat_sparse::{Reads, Store};

use crate::Gpu;
use crate::kernels::bsr::{BsrShape, bsr_rows};
use crate::kernels::csr::{CsrShape, csr_rows};
use crate::kernels::csr_balanced::{BalancedShape, csr_pieces, csr_split_rows};
use crate::kernels::delta_sell::{DeltaSellShape, delta_sell_rows};
use crate::kernels::gauss_seidel::{GaussSeidelShape, TURNS, gauss_seidel_rows, gauss_seidel_slots};
use crate::kernels::row_products::{Operation, UNITS};
use crate::launch::{Span, launch};
use crate::matrix::{Arrays, BsrArrays, CsrArrays, DeltaSellArrays, GpuMatrix, PieceArrays};
use crate::numbers::{Coefficient, packing, with_pair, with_real};
use crate::vector::GpuVector;

impl<S: Store> GpuMatrix<S> {
    #[allow(clippy::panic)] // the number type determines the place, so a mismatch is a bug
    fn arrays(&self) -> &Arrays {
        match &self.arrays {
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

/// The vectors of an operation in the order x, b, d, y. Unused ones are any of the others except y.
type Vectors<'a> = [Span<'a>; 4];

impl Gpu {
    /// Applies an operation to every row. `vectors` are x, b and d.
    pub(crate) fn rows<C: Reads<S>, S: Store>(
        &self,
        a: &GpuMatrix<S>,
        operation: Operation,
        coefficients: (C, C),
        vectors: [&GpuVector<C>; 3],
        y: &mut GpuVector<C>,
    ) {
        if a.rows == 0 {
            return;
        }
        let [x, b, d] = vectors.map(GpuVector::span);
        let vectors = [x, b, d, y.span()];
        match a.arrays() {
            Arrays::Csr(CsrArrays { pieces: Some(pieces), .. }) => {
                self.csr_by_pieces(a, pieces, operation, coefficients, vectors);
            }
            Arrays::Csr(arrays) => self.csr_by_rows(a, arrays, operation, coefficients, vectors),
            Arrays::Bsr(arrays) => self.bsr_by_rows(a, arrays, operation, coefficients, vectors),
            Arrays::DeltaSell(arrays) => self.delta_sell_by_rows(a, arrays, operation, coefficients, vectors),
        }
    }

    fn csr_by_rows<C: Reads<S>, S: Store>(
        &self,
        a: &GpuMatrix<S>,
        arrays: &CsrArrays,
        operation: Operation,
        (alpha, beta): (C, C),
        [x, b, d, y]: Vectors<'_>,
    ) {
        let mean = arrays.entries / a.rows;
        let per_cube = UNITS / self.capabilities().subgroup(mean).size;
        let (row_ptr, columns, values) = (arrays.row_ptr.span(), arrays.columns.span(), arrays.values.span());
        with_pair!(C::KIND, S::KIND, |N, V| launch!(
            self,
            csr_rows::CsrRows<V, N>,
            a.rows.div_ceil(per_cube as usize),
            UNITS,
            [row_ptr, columns, values, x, b, d, y],
            [N::of(alpha), N::of(beta), a.rows as u32],
            |target| [CsrShape { packing: packing(S::KIND, target), operation, subgroup: target.subgroup(mean) }]
        ));
    }

    fn csr_by_pieces<C: Reads<S>, S: Store>(
        &self,
        a: &GpuMatrix<S>,
        pieces: &PieceArrays,
        operation: Operation,
        (alpha, beta): (C, C),
        [x, b, d, y]: Vectors<'_>,
    ) {
        let Arrays::Csr(arrays) = a.arrays() else { return };
        let parts = 2 * pieces.pieces;
        let Some(carry) = self.noted(self.empty(parts * size_of::<C>())) else { return };
        let carry = Span { handle: &carry, len: parts };
        let (row_ptr, columns, values) = (arrays.row_ptr.span(), arrays.columns.span(), arrays.values.span());
        let (first_rows, split) = (pieces.first_rows.span(), pieces.split.span());
        with_pair!(C::KIND, S::KIND, |N, V| launch!(
            self,
            csr_pieces::CsrPieces<V, N>,
            pieces.pieces,
            UNITS,
            [row_ptr, columns, values, first_rows, x, b, d, y, carry],
            [N::of(alpha), N::of(beta), arrays.entries as u32, pieces.pieces as u32],
            |target| [BalancedShape { packing: packing(S::KIND, target), operation }]
        ));
        if pieces.split_rows > 0 {
            with_real!(C::KIND, |N| launch!(
                self,
                csr_split_rows::CsrSplitRows<N>,
                pieces.split_rows.div_ceil(UNITS as usize),
                UNITS,
                [split, carry, x, b, d, y],
                [N::of(alpha), N::of(beta), pieces.split_rows as u32],
                |_target| [operation]
            ));
        }
    }

    fn bsr_by_rows<C: Reads<S>, S: Store>(
        &self,
        _: &GpuMatrix<S>,
        arrays: &BsrArrays,
        operation: Operation,
        (alpha, beta): (C, C),
        [x, b, d, y]: Vectors<'_>,
    ) {
        let (mean, block) = (arrays.blocks / arrays.block_rows, arrays.block as u32);
        let per_cube = UNITS / self.capabilities().subgroup(mean).size;
        let (row_ptr, columns, values) = (arrays.row_ptr.span(), arrays.columns.span(), arrays.values.span());
        with_pair!(C::KIND, S::KIND, |N, V| launch!(
            self,
            bsr_rows::BsrRows<V, N>,
            arrays.block_rows.div_ceil(per_cube as usize),
            UNITS,
            [row_ptr, columns, values, x, b, d, y],
            [N::of(alpha), N::of(beta), arrays.block_rows as u32],
            |target| [BsrShape {
                packing: packing(S::KIND, target),
                operation,
                subgroup: target.subgroup(mean),
                block
            }]
        ));
    }

    fn delta_sell_by_rows<C: Reads<S>, S: Store>(
        &self,
        a: &GpuMatrix<S>,
        arrays: &DeltaSellArrays,
        operation: Operation,
        (alpha, beta): (C, C),
        [x, b, d, y]: Vectors<'_>,
    ) {
        let sorted = arrays.sorted;
        let per_unit = if size_of::<S>() == 2 { 2 } else { 1 };
        let [chunks, bases, deltas, values, order] = arrays.spans();
        with_pair!(C::KIND, S::KIND, |N, V| launch!(
            self,
            delta_sell_rows::DeltaSellRows<V, N>,
            (arrays.places / per_unit).div_ceil(UNITS as usize),
            UNITS,
            [chunks, bases, deltas, values, order, x, b, d, y],
            [N::of(alpha), N::of(beta), a.rows as u32, arrays.places as u32],
            |target| [DeltaSellShape { packing: packing(S::KIND, target), operation, sorted }]
        ));
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
        let (own, longest) = match a.arrays() {
            Arrays::Csr(arrays) => (1, arrays.longest),
            Arrays::Bsr(arrays) => (arrays.block, arrays.longest * arrays.block),
            // The lane of a row is found by a search within its window of 256.
            Arrays::DeltaSell(arrays) => (1, arrays.longest + 256),
        };
        if self.found().software && longest > MOST_TURNS {
            self.lose(format!(
                "Gauss-Seidel over a row of {longest} entries: software Vulkan terminates loops this long"
            ));
            return;
        }
        let per_unit = block.clamp(1, a.rows).next_multiple_of(own);
        let units = a.rows.div_ceil(per_unit);
        let cubes = units.div_ceil(UNITS as usize);
        let shape = |packing| GaussSeidelShape { packing, backward, guess, block: own as u32 };
        let at_once = (TURNS / longest.max(1)).max(1);
        for from in (0..per_unit).step_by(at_once) {
            let (rows, per_unit, units) = (a.rows as u32, per_unit as u32, units as u32);
            let (from, to) = (from as u32, (from + at_once) as u32);
            let (row_ptr, columns, values) = match a.arrays() {
                Arrays::Csr(arrays) => (&arrays.row_ptr, &arrays.columns, &arrays.values),
                Arrays::Bsr(arrays) => (&arrays.row_ptr, &arrays.columns, &arrays.values),
                Arrays::DeltaSell(arrays) => {
                    let sorted = arrays.sorted;
                    let [chunks, bases, deltas, values, order] = arrays.spans();
                    with_pair!(C::KIND, S::KIND, |N, V| launch!(
                        self,
                        gauss_seidel_slots::GaussSeidelSlots<V, N>,
                        cubes,
                        UNITS,
                        [chunks, bases, deltas, values, order, d, b, x, y],
                        [rows, per_unit, units, from, to],
                        |target| [shape(packing(S::KIND, target)), sorted]
                    ));
                    continue;
                }
            };
            let (row_ptr, columns, values) = (row_ptr.span(), columns.span(), values.span());
            with_pair!(C::KIND, S::KIND, |N, V| launch!(
                self,
                gauss_seidel_rows::GaussSeidelRows<V, N>,
                cubes,
                UNITS,
                [row_ptr, columns, values, d, b, x, y],
                [rows, per_unit, units, from, to],
                |target| [shape(packing(S::KIND, target))]
            ));
        }
    }
}

//! Sparse products in 4 by 4 tiles by matrix units; the kernels are in `kernels/tile_products.rs`.
//!
//! Used where the tiles of both factors are full enough, as for products with vectors
//! ([`Gpu::matrix_units_from`]). The pattern of the tiles of C is a product of the patterns of the
//! tiles of A and B; its entries are the same as in the product by rows, so that the pattern of C
//! does not depend on how its values are computed. Memory besides C: the tiles of A, B and C, with
//! their zeros.

use ziggurat_sparse::device::{DeviceError, SparseFactors};
use ziggurat_sparse::{Kind, Real, f16};

use super::counts::cubes;
use super::lowering::FactorSpans;
use super::pattern::RowPlan;
use super::sparse::{GpuSparse, Pattern};
use crate::Gpu;
use crate::device_format::Buffer;
use crate::kernels::tile_products::{entries_of_tiles, powers_of_tiles, tile_products};
use crate::kernels::vector::VECTOR_UNITS;
use crate::launch::{launch, launch_if};
use crate::numbers::with_real;

/// Rows and columns of a tile.
const EDGE: usize = 4;

/// The tiles of the matrices of a product C = A B.
#[derive(Debug)]
pub(super) struct TilePlan {
    a: Pattern,
    b: Pattern,
    c: Pattern,
}

impl TilePlan {
    /// The tiles of a product; `None` if the tiles of a factor are not full enough, or if the
    /// device has no matrix units for these numbers.
    pub(super) fn new<T: Real>(
        gpu: &Gpu,
        a: &GpuSparse<T>,
        b: &GpuSparse<T>,
    ) -> Result<Option<Self>, DeviceError> {
        let units = gpu.capabilities().matrix_units.of_products(T::KIND);
        if units.is_none() && !gpu.records_sources() {
            return Ok(None);
        }
        let mut patterns = Vec::new();
        for factor in [a, b] {
            let tiles = gpu.norms_of_blocks(factor, EDGE)?.pattern().clone();
            let least = gpu.capabilities().dense_from as usize * tiles.size.entries;
            if factor.size().entries < least || tiles.size.entries == 0 {
                return Ok(None);
            }
            patterns.push(tiles);
        }
        let [a, b] = [patterns.remove(0), patterns.remove(0)];
        let c = RowPlan::new(gpu, &a, &b)?.pattern().clone();
        Ok(Some(TilePlan { a, b, c }))
    }

    /// Computes the values of C; whether the device has matrix units for them.
    pub(super) fn compute<T: Real>(
        &self,
        gpu: &Gpu,
        a: &GpuSparse<T>,
        b: &GpuSparse<T>,
        c: &GpuSparse<T>,
    ) -> Result<bool, DeviceError> {
        let (of_a, of_b) = (gpu.tiles(a, &self.a)?, gpu.tiles(b, &self.b)?);
        let inner = self.b.size.rows;
        let powers = Buffer::new(gpu.empty(4 * inner)?, inner);
        let ([a_row_ptr, a_columns], [b_row_ptr, b_columns]) = (self.a.spans(), self.b.spans());
        let (len, rows) = (EDGE * EDGE * self.c.size.entries, self.c.size.rows);
        let of_c = Buffer::new(gpu.empty(len * size_of::<T>())?, len);
        let [row_ptr, columns] = self.c.spans();
        with_real!(T::KIND, |N| launch!(
            gpu,
            powers_of_tiles::PowersOfTiles<N>,
            cubes(inner),
            VECTOR_UNITS,
            [b_row_ptr, of_b.span(), powers.span()],
            [inner as u32],
            |_target| []
        ));
        macro_rules! launched {
            ($a:ty, $n:ty) => {
                launch_if!(
                    gpu,
                    tile_products::TileProducts<$a, $n>,
                    rows,
                    [
                        a_row_ptr,
                        a_columns,
                        of_a.span(),
                        b_row_ptr,
                        b_columns,
                        of_b.span(),
                        powers.span(),
                        row_ptr,
                        columns,
                        of_c.span()
                    ],
                    [rows as u32],
                    |target| target.matrix_units.of_products(T::KIND),
                    |units| units
                )
            };
        }
        let launched = match T::KIND {
            Kind::F64 => launched!(f64, f64),
            _ => launched!(f16, f32),
        };
        if launched {
            gpu.count_matrix_units();
            let [c_row_ptr, c_columns] = c.pattern().spans();
            with_real!(T::KIND, |N| launch!(
                gpu,
                entries_of_tiles::EntriesOfTiles<N>,
                cubes(c.size().rows),
                VECTOR_UNITS,
                [row_ptr, columns, of_c.span(), c_row_ptr, c_columns, c.values()],
                [c.size().rows as u32],
                |_target| []
            ));
        }
        Ok(launched)
    }
}

impl Gpu {
    /// The values of the tiles of a matrix, each by rows.
    fn tiles<T: Real>(&self, a: &GpuSparse<T>, tiles: &Pattern) -> Result<Buffer, DeviceError> {
        let factors = FactorSpans::new(a, SparseFactors::ONE);
        self.block_values(a, tiles, EDGE, factors)
    }
}

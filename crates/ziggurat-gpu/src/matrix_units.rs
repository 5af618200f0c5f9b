//! Matrix units (tensor cores) of a device: which multiplications of small matrices it offers.
//!
//! ```text
//! D (m by n) ← A (m by k) B (k by n) + D
//! ```
//!
//! Only shapes that a device reports are used: others run on some devices with wrong results. A
//! matrix-vector product with 4 by 4 tiles uses m/4 columns of B for each part of the vector (see
//! [`fragments`](crate::kernels::fragments)), so n must be at least that times the parts. Of the
//! shapes that suit, the one with the fewest tiles per multiplication wastes least at the end of a
//! block row. A sparse product of two matrices (see
//! [`tile_products`](crate::kernels::tile_products)) uses four rows of A for each part, so the
//! shape with the fewest rows wastes least.

use cubecl::features::MmaConfig;
use cubecl::ir::{ElemType, FloatKind, StorageType};
use cubecl::prelude::*;
use ziggurat_sparse::Kind;

/// The largest number of values in a fragment of tiles. Matrices have as many zeros after their
/// last tile, because a multiplication reads whole fragments.
pub(crate) const LARGEST_FRAGMENT: u32 = 512;

/// The shape of a multiplication, and how a vector enters it.
#[derive(CubeType, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct MatrixUnits {
    pub(crate) m: u32,
    pub(crate) n: u32,
    pub(crate) k: u32,
    /// How an element of the vector is split into numbers of the matrix's type.
    pub(crate) split: Split,
    /// Units that work together: one plane.
    pub(crate) units: u32,
}

/// How an element of a vector is split into parts, so that nothing is rounded.
#[derive(CubeType, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Split {
    /// Not at all: `f64`.
    Whole,
    /// Into the leading eight digits, the next and the last: `bf16` has the exponents of `f32`.
    Digits,
    /// Into four integers of eleven digits, relative to the largest element: `f16`.
    Integers,
}

impl Split {
    /// Number of parts.
    pub(crate) fn parts(self) -> u32 {
        match self {
            Split::Whole => 1,
            Split::Digits => 3,
            Split::Integers => 4,
        }
    }
}

impl MatrixUnits {
    /// Number of tiles of a block row in one multiplication.
    pub(crate) fn tiles(&self) -> u32 {
        self.m * self.k / 16
    }
}

/// The shape of a multiplication in a sparse product of two matrices.
#[derive(CubeType, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ProductUnits {
    pub(crate) m: u32,
    pub(crate) n: u32,
    pub(crate) k: u32,
    /// The parts that each element of both matrices is cut into.
    pub(crate) parts: u32,
    /// Units that work together: one plane.
    pub(crate) units: u32,
}

impl ProductUnits {
    /// Tiles of a row of the first matrix in one multiplication.
    pub(crate) fn inner(&self) -> u32 {
        self.k / 4
    }

    /// Tiles of a row of the result in one multiplication.
    pub(crate) fn outer(&self) -> u32 {
        self.n / (4 * self.parts)
    }
}

/// The matrix units of a device: for products with vectors by the number type that matrices are
/// stored in, for products of matrices by the type computed in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct MatrixUnitSet {
    pub(crate) f16: Option<MatrixUnits>,
    pub(crate) bf16: Option<MatrixUnits>,
    pub(crate) f64: Option<MatrixUnits>,
    pub(crate) products_in_f32: Option<ProductUnits>,
    pub(crate) products_in_f64: Option<ProductUnits>,
}

impl MatrixUnitSet {
    /// The supported MMA shapes among the multiplications that a device reports.
    pub(crate) fn of(offered: &[MmaConfig], units: u32) -> Self {
        let type_of = |kind| StorageType::Scalar(ElemType::Float(kind));
        let multiplies = |shape: &MmaConfig, stored, summed| {
            (shape.a_type, shape.b_type, shape.cd_type) == (type_of(stored), type_of(stored), type_of(summed))
        };
        let best = |stored: FloatKind, summed: FloatKind, split: Split| {
            let suits = |shape: &&MmaConfig| {
                multiplies(shape, stored, summed)
                    && shape.m.is_multiple_of(4)
                    && (shape.m * shape.k).is_multiple_of(16)
                    && shape.m * shape.k <= LARGEST_FRAGMENT
                    && shape.n >= split.parts() * shape.m / 4
            };
            let found = offered.iter().filter(suits).min_by_key(|shape| (shape.m * shape.k, shape.n));
            found.map(|&MmaConfig { m, n, k, .. }| MatrixUnits { m, n, k, split, units })
        };
        // Rows beyond the rows of the parts are wasted; columns hold further tiles.
        let product = |stored: FloatKind, summed: FloatKind, parts: u32| {
            let suits = |shape: &&MmaConfig| {
                multiplies(shape, stored, summed)
                    && shape.m >= 4 * parts
                    && shape.n.is_multiple_of(4 * parts)
                    && shape.k.is_multiple_of(4)
                    && (shape.k / 4) * (shape.n / (4 * parts)) <= units
            };
            let found = offered.iter().filter(suits).min_by_key(|shape| (shape.m, shape.n * shape.k));
            found.map(|&MmaConfig { m, n, k, .. }| ProductUnits { m, n, k, parts, units })
        };
        MatrixUnitSet {
            f16: best(FloatKind::F16, FloatKind::F32, Split::Integers),
            bf16: best(FloatKind::BF16, FloatKind::F32, Split::Digits),
            f64: best(FloatKind::F64, FloatKind::F64, Split::Whole),
            products_in_f32: product(FloatKind::F16, FloatKind::F32, 2),
            products_in_f64: product(FloatKind::F64, FloatKind::F64, 1),
        }
    }

    /// The units for a product with a matrix of a number type, computed in another.
    pub(crate) fn of_pair(&self, stored: Kind, computed: Kind) -> Option<MatrixUnits> {
        match (stored, computed) {
            (Kind::F16, Kind::F32) => self.f16,
            (Kind::Bf16, Kind::F32) => self.bf16,
            (Kind::F64, Kind::F64) => self.f64,
            _ => None, // the sums would have too few digits
        }
    }

    /// The units for a product of two matrices, computed in a number type.
    pub(crate) fn of_products(&self, computed: Kind) -> Option<ProductUnits> {
        match computed {
            Kind::F32 => self.products_in_f32,
            Kind::F64 => self.products_in_f64,
            Kind::F16 | Kind::Bf16 => None, // setup does not compute in these
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(stored: FloatKind, summed: FloatKind, m: u32, n: u32, k: u32) -> MmaConfig {
        let type_of = |kind| StorageType::Scalar(ElemType::Float(kind));
        MmaConfig { a_type: type_of(stored), b_type: type_of(stored), cd_type: type_of(summed), m, n, k }
    }

    #[test]
    fn the_smallest_shape_with_room_for_all_parts_is_taken() {
        use FloatKind::{F16, F32, F64};
        let cuda = [
            shape(F16, F32, 16, 16, 16),
            shape(F16, F32, 8, 32, 16),
            shape(F16, F32, 32, 8, 16), // 8 columns, but 4 · 8 needed
            shape(F16, F16, 8, 8, 8),   // sums in 16 bits
            shape(F64, F64, 8, 8, 4),
        ];
        let found = MatrixUnitSet::of(&cuda, 32);
        let f16 = MatrixUnits { m: 8, n: 32, k: 16, split: Split::Integers, units: 32 };
        assert_eq!((found.f16, f16.tiles()), (Some(f16), 8));
        assert_eq!(found.of_pair(Kind::F64, Kind::F64).map(|f64| (f64.m, f64.tiles())), Some((8, 2)));
        assert_eq!((found.bf16, found.of_pair(Kind::F16, Kind::F64)), (None, None));
        // Two parts of four tiles of the result, four tiles of a row.
        let of_f32 = ProductUnits { m: 8, n: 32, k: 16, parts: 2, units: 32 };
        assert_eq!((found.of_products(Kind::F32), of_f32.inner(), of_f32.outer()), (Some(of_f32), 4, 4));
        assert_eq!(
            found.of_products(Kind::F64).map(|f64| (f64.parts, f64.inner(), f64.outer())),
            Some((1, 1, 2))
        );
        assert_eq!(MatrixUnitSet::of(&[], 32), MatrixUnitSet::default());
    }
}

//! Capabilities of a device, queried once when it is opened and consulted before every launch.

use cubecl::features::{Plane, TypeUsage};
use cubecl::prelude::*;
use ziggurat_sparse::{Kind, f16};

use crate::kernels::row_products::Subgroup;
use crate::matrix_units::MatrixUnitSet;
use crate::runtime::Vendor;

/// Capabilities of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Capabilities {
    /// Whether it supports `f64` arithmetic. Otherwise `f64` data stays on the host.
    pub(crate) f64: bool,
    /// Whether it converts `f16`. Otherwise kernels decode the bits.
    pub(crate) f16: bool,
    /// Whether the units of a plane can exchange registers.
    pub(crate) planes: bool,
    /// Minimum number of units in a plane.
    pub(crate) plane_size: u32,
    /// Size of the largest array, in bytes.
    pub(crate) largest_array: u64,
    /// Maximum number of cubes in one dimension of a grid.
    pub(crate) cubes: u32,
    /// CSR matrices with more entries in total, or in one row, use the load-balanced kernel.
    pub(crate) balanced_beyond: (usize, usize),
    /// Its matrix units.
    pub(crate) matrix_units: MatrixUnitSet,
    /// Mean number of entries per tile from which they are used.
    pub(crate) dense_from: u32,
}

/// The limit of AmgT (Lu et al., SC 2024) for the use of matrix units: entries of sixteen.
pub(crate) const DENSE_FROM: u32 = 10;

/// The limits of the automatic kernel choice in Tsai's thesis (algorithm 12) for AMD and Intel. The
/// thesis gives none for NVIDIA and others; they use AMD's, which have not been measured there.
pub(crate) fn balanced_beyond(vendor: Vendor) -> (usize, usize) {
    match vendor {
        Vendor::Intel => (1_000_000, 25_600),
        Vendor::Nvidia | Vendor::Amd | Vendor::Other => (100_000_000, 768),
    }
}

/// Maximum number of units per row if they exchange data through shared memory: the plane size of
/// most GPUs.
const LARGEST_WITHOUT_PLANES: u32 = 32;

impl Capabilities {
    /// Queries the capabilities from a client.
    pub(crate) fn of<R: Runtime>(client: &ComputeClient<R>, vendor: Vendor) -> Self {
        let properties = client.properties();
        let offered: Vec<_> = properties.features.matmul.cmma.iter().copied().collect();
        let full = TypeUsage::Buffer | TypeUsage::Arithmetic | TypeUsage::Conversion;
        Capabilities {
            f64: f64::supported_uses(client).is_superset(full),
            f16: f16::supported_uses(client).contains(TypeUsage::Conversion),
            planes: properties.features.plane.contains(Plane::Ops),
            plane_size: properties.hardware.plane_size_min,
            largest_array: properties.memory.max_page_size,
            cubes: properties.hardware.max_cube_count.0,
            balanced_beyond: balanced_beyond(vendor),
            matrix_units: MatrixUnitSet::of(&offered, properties.hardware.plane_size_max),
            dense_from: DENSE_FROM,
        }
    }

    /// Whether the device supports arithmetic in a number type.
    pub(crate) fn computes_in(&self, number: Kind) -> bool {
        match number {
            Kind::F64 => self.f64,
            Kind::F32 => true,
            Kind::F16 | Kind::Bf16 => false, // vectors are never stored in 16 bits
        }
    }

    /// The number of units that share a row: the largest power of two that exceeds neither the mean
    /// number of entries per row nor the size of a plane.
    pub(crate) fn subgroup(&self, mean: usize) -> Subgroup {
        let most = if self.planes { self.plane_size } else { LARGEST_WITHOUT_PLANES };
        let size = 1 << mean.max(1).ilog2().min(most.ilog2());
        Subgroup { size, planes: self.planes }
    }

    /// Whether a CSR matrix uses the load-balanced kernel, given its number of entries and the
    /// length of its longest row.
    pub(crate) fn is_balanced(&self, entries: usize, longest: usize) -> bool {
        entries > self.balanced_beyond.0 || longest > self.balanced_beyond.1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn capabilities(planes: bool, plane_size: u32, vendor: Vendor) -> Capabilities {
        let (largest_array, balanced_beyond) = (1 << 30, balanced_beyond(vendor));
        Capabilities {
            f64: true,
            f16: true,
            planes,
            plane_size,
            largest_array,
            cubes: 65535,
            balanced_beyond,
            matrix_units: MatrixUnitSet::default(),
            dense_from: DENSE_FROM,
        }
    }

    #[test]
    fn subgroups_fit_rows_and_planes() {
        let warp = capabilities(true, 32, Vendor::Nvidia);
        let sizes = [0, 1, 2, 3, 7, 27, 81, 1000].map(|mean| warp.subgroup(mean).size);
        assert_eq!(sizes, [1, 1, 2, 2, 4, 16, 32, 32]);
        assert_eq!(capabilities(true, 64, Vendor::Amd).subgroup(81), Subgroup { size: 64, planes: true });
        assert_eq!(capabilities(false, 8, Vendor::Other).subgroup(81), Subgroup { size: 32, planes: false });
    }

    #[test]
    fn long_rows_use_the_balanced_kernel() {
        let amd = capabilities(true, 64, Vendor::Amd);
        assert!(!amd.is_balanced(1_000_000, 768) && amd.is_balanced(1_000_000, 769));
        let intel = capabilities(true, 16, Vendor::Intel);
        assert!(!intel.is_balanced(1_000_000, 769) && intel.is_balanced(1_000_001, 7));
    }
}

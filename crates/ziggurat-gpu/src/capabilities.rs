//! What a device can do, asked once when it is opened and consulted before every launch.

use cubecl::features::{Plane, TypeUsage};
use cubecl::prelude::*;
use ziggurat_sparse::{Kind, f16};

use crate::kernels::row_products::Subgroup;
use crate::runtime::Vendor;

/// What a device can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Capabilities {
    /// Whether it computes in `f64`. Without it, what is in `f64` stays on the host.
    pub(crate) f64: bool,
    /// Whether it converts `f16`. Without it, bits are put together.
    pub(crate) f16: bool,
    /// Whether units of a plane exchange registers.
    pub(crate) planes: bool,
    /// Units of a plane, at the least.
    pub(crate) plane_size: u32,
    /// Bytes of the largest array.
    pub(crate) largest_array: u64,
    /// Cubes in one direction, at the most.
    pub(crate) cubes: u32,
    /// Beyond this many entries in all, and beyond this many in a row, a CSR matrix goes by pieces instead of by rows.
    pub(crate) balanced_beyond: (usize, usize),
}

/// The limits of the automatic choice in Tsai's thesis (algorithm 12) for AMD and Intel. It gives none for NVIDIA and others, which
/// get AMD's; they were not measured.
pub(crate) fn balanced_beyond(vendor: Vendor) -> (usize, usize) {
    match vendor {
        Vendor::Intel => (1_000_000, 25_600),
        Vendor::Nvidia | Vendor::Amd | Vendor::Other => (100_000_000, 768),
    }
}

/// Units per row at the most, where they exchange through memory: the plane of most GPUs.
const LARGEST_WITHOUT_PLANES: u32 = 32;

impl Capabilities {
    /// Asks a client.
    pub(crate) fn of<R: Runtime>(client: &ComputeClient<R>, vendor: Vendor) -> Self {
        let properties = client.properties();
        let full = TypeUsage::Buffer | TypeUsage::Arithmetic | TypeUsage::Conversion;
        Capabilities {
            f64: f64::supported_uses(client).is_superset(full),
            f16: f16::supported_uses(client).contains(TypeUsage::Conversion),
            planes: properties.features.plane.contains(Plane::Ops),
            plane_size: properties.hardware.plane_size_min,
            largest_array: properties.memory.max_page_size,
            cubes: properties.hardware.max_cube_count.0,
            balanced_beyond: balanced_beyond(vendor),
        }
    }

    /// Whether arithmetic in a number runs on the device.
    pub(crate) fn computes_in(&self, number: Kind) -> bool {
        match number {
            Kind::F64 => self.f64,
            Kind::F32 => true,
            Kind::F16 | Kind::Bf16 => false, // no vector is in 16 bits
        }
    }

    /// How many units share a row of so many entries on average: the largest power of two that is not larger, up to a plane.
    pub(crate) fn subgroup(&self, mean: usize) -> Subgroup {
        let most = if self.planes { self.plane_size } else { LARGEST_WITHOUT_PLANES };
        let size = 1 << mean.max(1).ilog2().min(most.ilog2());
        Subgroup { size, planes: self.planes }
    }

    /// Whether a CSR matrix of so many entries, so many in the longest row, goes by pieces.
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
    fn long_rows_are_cut() {
        let amd = capabilities(true, 64, Vendor::Amd);
        assert!(!amd.is_balanced(1_000_000, 768) && amd.is_balanced(1_000_000, 769));
        let intel = capabilities(true, 16, Vendor::Intel);
        assert!(!intel.is_balanced(1_000_000, 769) && intel.is_balanced(1_000_001, 7));
    }
}

//! The numbers of each level: what its matrices are stored in, and what its vectors are computed in.

use ziggurat_sparse::Kind;
use ziggurat_sparse::device::Device;

/// The numbers of one level.
///
/// ```
/// use ziggurat_amg::LevelPrecision;
/// use ziggurat_sparse::Kind;
/// let precision = LevelPrecision::default();
/// assert_eq!((precision.working, precision.storage), (Kind::F64, Kind::F64));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LevelPrecision {
    /// Vectors and arithmetic: `f64` or `f32`.
    pub working: Kind,
    /// Matrices in memory. They are scaled into the range of a narrow number after setup, by powers of two.
    pub storage: Kind,
}

impl LevelPrecision {
    /// The same on a device, which may have no arithmetic in double precision: then it is single.
    pub(crate) fn on(self, device: &impl Device) -> Self {
        if device.computes_in(Kind::F64) { self } else { self.without_f64() }
    }

    /// The same with single precision in the place of double.
    ///
    /// ```
    /// use ziggurat_amg::LevelPrecision;
    /// use ziggurat_sparse::Kind;
    /// let level = LevelPrecision { working: Kind::F64, storage: Kind::F16 };
    /// assert_eq!(level.without_f64(), LevelPrecision { working: Kind::F32, storage: Kind::F16 });
    /// ```
    #[must_use]
    pub fn without_f64(self) -> Self {
        let narrow = |kind| if kind == Kind::F64 { Kind::F32 } else { kind };
        LevelPrecision { working: narrow(self.working), storage: narrow(self.storage) }
    }

    /// What matrices are stored in: nothing is wider in memory than in arithmetic.
    pub(crate) fn stored(self) -> Kind {
        match self {
            LevelPrecision { working: Kind::F64, storage } => storage,
            LevelPrecision { storage: Kind::F64, .. } => Kind::F32,
            LevelPrecision { storage, .. } => storage,
        }
    }
}

impl Default for LevelPrecision {
    fn default() -> Self {
        LevelPrecision { working: Kind::F64, storage: Kind::F64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ziggurat_sparse::device::Cpu;

    #[test]
    fn without_double_precision_levels_are_single_and_keep_what_is_narrower() {
        for (working, storage, stored) in [
            (Kind::F64, Kind::F64, Kind::F32),
            (Kind::F64, Kind::F16, Kind::F16),
            (Kind::F32, Kind::F64, Kind::F32),
            (Kind::F32, Kind::Bf16, Kind::Bf16),
        ] {
            let asked = LevelPrecision { working, storage };
            let found = asked.without_f64();
            assert_eq!((found.working, found.stored()), (Kind::F32, stored));
            assert_eq!(asked.on(&Cpu::new()), asked, "a device that has it");
        }
    }
}

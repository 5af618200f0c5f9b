//! The precisions of each level: one for the stored matrices, one for vectors and arithmetic.

use ziggurat_sparse::Kind;
use ziggurat_sparse::device::Device;

/// The precisions of one level.
///
/// ```
/// use ziggurat_amg::LevelPrecision;
/// use ziggurat_sparse::Kind;
/// let precision = LevelPrecision::default();
/// assert_eq!((precision.working, precision.storage), (Kind::F64, Kind::F64));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LevelPrecision {
    /// The precision of vectors and arithmetic: `f64` or `f32`.
    pub working: Kind,
    /// The precision of matrices in memory. After setup they are scaled by powers of two into the
    /// range of a reduced precision.
    pub storage: Kind,
}

impl LevelPrecision {
    /// The same on a device; single precision replaces double if the device does not compute in
    /// double, and 16 bits where they are to compute.
    pub(crate) fn on(self, device: &dyn Device) -> Self {
        let asked = if device.computes_in(Kind::F64) { self } else { self.without_f64() };
        let working = if asked.working == Kind::F64 { Kind::F64 } else { Kind::F32 };
        LevelPrecision { working, ..asked }
    }

    /// The same with single precision instead of double.
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

    /// The precision of stored matrices: at most the precision of the arithmetic.
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
    fn without_double_precision_levels_are_single_or_narrower() {
        for (working, storage, stored) in [
            (Kind::F64, Kind::F64, Kind::F32),
            (Kind::F64, Kind::F16, Kind::F16),
            (Kind::F32, Kind::F64, Kind::F32),
            (Kind::F32, Kind::Bf16, Kind::Bf16),
        ] {
            let asked = LevelPrecision { working, storage };
            let found = asked.without_f64();
            assert_eq!((found.working, found.stored()), (Kind::F32, stored));
            assert_eq!(asked.on(&Cpu::new()), asked, "a device with double precision");
        }
    }
}

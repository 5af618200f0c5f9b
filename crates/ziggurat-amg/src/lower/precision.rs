//! The numbers of each level: what its matrices are stored in, and what its vectors are computed in.

use ziggurat_sparse::Kind;

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

//! How a level is stored, and which formats were considered for it: data for reports.

use std::fmt;

use ziggurat_sparse::Kind;
use ziggurat_sparse::device::MatrixFormat;

/// The formats that were considered, with their bytes. The first was chosen.
///
/// ```
/// use ziggurat_amg::{Formats, Hierarchy, HierarchyConfig};
/// use ziggurat_sparse::gallery::Problem;
/// let a = "poisson2d:100".parse::<Problem>()?.matrix()?;
/// let finest = Hierarchy::build(a, &HierarchyConfig::default())?.finest(Formats::FewestBytes);
/// assert!(finest.considered().to_string().starts_with("dia"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FormatCandidates {
    pub(crate) candidates: Vec<(LevelFormat, usize)>,
    /// Why there was no choice, where there was none.
    pub(crate) why: Option<&'static str>,
}

impl FormatCandidates {
    /// The chosen format.
    pub fn format(&self) -> LevelFormat {
        self.candidates.first().map_or(LevelFormat::None, |first| first.0)
    }

    /// The bytes of the chosen format.
    pub fn bytes(&self) -> usize {
        self.candidates.first().map_or(0, |first| first.1)
    }

    /// Adds the bytes of a part that is stored the same way in any format.
    pub(crate) fn and(mut self, bytes: usize) -> Self {
        self.candidates.iter_mut().for_each(|candidate| candidate.1 += bytes);
        self
    }

    /// A format without an alternative.
    pub(crate) fn only(format: LevelFormat, bytes: usize, why: &'static str) -> Self {
        FormatCandidates { candidates: vec![(format, bytes)], why: Some(why) }
    }
}

impl fmt::Display for FormatCandidates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (k, &(format, bytes)) in self.candidates.iter().enumerate() {
            let before = ["", " < ", " < "].get(k).copied().unwrap_or(", ");
            write!(f, "{before}{format} {:.3} MB", bytes as f64 * 1e-6)?;
        }
        match self.why {
            Some(why) => write!(f, " ({why})"),
            None => Ok(()),
        }
    }
}

/// The format of a level's matrix, or what takes its place.
///
/// ```
/// use ziggurat_amg::LevelFormat;
/// use ziggurat_sparse::device::MatrixFormat;
/// assert_eq!(LevelFormat::Matrix(MatrixFormat::Bsr).to_string(), "bsr");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LevelFormat {
    /// A matrix in this format.
    Matrix(MatrixFormat),
    /// The dense inverse of the coarsest matrix.
    Inverse,
    /// Sparse factors of the coarsest matrix.
    Factors,
    /// No matrix is stored.
    None,
}

impl LevelFormat {
    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            LevelFormat::Matrix(format) => format.name(),
            LevelFormat::Inverse => "inverse",
            LevelFormat::Factors => "factors",
            LevelFormat::None => "none",
        }
    }
}

impl From<MatrixFormat> for LevelFormat {
    fn from(format: MatrixFormat) -> Self {
        LevelFormat::Matrix(format)
    }
}

impl fmt::Display for LevelFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// How a level is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredLevel {
    /// The precision of its matrices.
    pub storage: Kind,
    /// The precision of its vectors and arithmetic.
    pub working: Kind,
    /// The format of its matrix.
    pub format: FormatCandidates,
    /// Bytes of restriction and prolongation to the next level.
    pub transfer_bytes: usize,
    /// Bytes of the smoother's matrices; pointwise smoothers have none.
    pub smoother_bytes: usize,
}

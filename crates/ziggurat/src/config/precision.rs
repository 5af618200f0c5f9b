//! The storage and working precision of the levels of a hierarchy, by name.
//!
//! | name | vectors and arithmetic | matrices | name in the literature |
//! |---|---|---|---|
//! | `auto` | chosen for the matrix, monitored, and raised to f64 if convergence is slow | | |
//! | `f64` | f64 | f64 | K64P64D64 |
//! | `f32` | f32 | f32 | K64P32D32 |
//! | `f16` | f32 | f16, scaled into its range | K64P32D16 |
//! | `bf16` | f32 | bf16 | K64P32DB16 |
//! | `f64-f32,f16-f16-f32` | f64 on the finest level, f32 below | f16 on two levels, f32 below | (DP-SP, HP-HP-SP) |
//!
//! The names from the literature are accepted too. The last form follows Tsai's thesis: working
//! precisions, a comma, storage precisions. Each list starts at the finest level, and its last
//! entry applies to all coarser levels. A storage list that ends in `f32` corresponds to the shift
//! level of Zong et al. The outer iteration and the coarsest level are always in `f64`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use ziggurat_amg::LevelPrecision;
use ziggurat_sparse::{Kind, UnknownName};

/// The storage and working precision of the hierarchy. The solution is always in double precision.
///
/// ```
/// use ziggurat::config::Precision;
/// assert_eq!("K64P32D16".parse(), Ok(Precision::F16));
/// let ladder: Precision = "DP-SP,HP".parse()?;
/// assert_eq!(ladder.to_string(), "f64-f32,f16");
/// # Ok::<(), ziggurat_sparse::UnknownName>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
#[non_exhaustive]
pub enum Precision {
    /// Reduced precision if it saves time; monitored during the solve.
    #[default]
    Auto,
    /// The same precision on every level.
    Uniform(LevelPrecision),
    /// One entry per level, finest first. The last entry applies to all coarser levels.
    ByLevel(Vec<LevelPrecision>),
}

const fn uniform(working: Kind, storage: Kind) -> Precision {
    Precision::Uniform(LevelPrecision { working, storage })
}

/// The names of uniform precisions, here and in the literature.
static NAMES: [(&str, &str, Precision); 4] = [
    ("f64", "K64P64D64", Precision::F64),
    ("f32", "K64P32D32", Precision::F32),
    ("f16", "K64P32D16", Precision::F16),
    ("bf16", "K64P32DB16", Precision::BF16),
];

impl Precision {
    /// Double precision.
    pub const F64: Precision = uniform(Kind::F64, Kind::F64);
    /// Single precision.
    pub const F32: Precision = uniform(Kind::F32, Kind::F32);
    /// Matrices in `f16`, scaled into its range; vectors in `f32`.
    pub const F16: Precision = uniform(Kind::F32, Kind::F16);
    /// Matrices in `bf16`, which has fewer digits but the range of `f32`; vectors in `f32`.
    pub const BF16: Precision = uniform(Kind::F32, Kind::Bf16);

    /// Replaces double by single precision, for devices without double precision.
    ///
    /// ```
    /// use ziggurat::config::Precision;
    /// let ladder: Precision = "f64-f32,f16".parse()?;
    /// assert_eq!(ladder.without_f64().level(0), Precision::F16.level(0));
    /// assert_eq!(Precision::F64.without_f64(), Precision::F32);
    /// # Ok::<(), ziggurat_sparse::UnknownName>(())
    /// ```
    #[must_use]
    pub fn without_f64(&self) -> Precision {
        match self {
            Precision::Auto => Precision::Auto,
            Precision::Uniform(level) => Precision::Uniform(level.without_f64()),
            Precision::ByLevel(levels) => {
                Precision::ByLevel(levels.iter().map(|level| level.without_f64()).collect())
            }
        }
    }

    /// All levels in `kind`, computed in `f64` if they are stored so, else in `f32`.
    ///
    /// ```
    /// use ziggurat::config::Precision;
    /// use ziggurat_sparse::Kind;
    /// assert_eq!([Kind::F64, Kind::F16].map(Precision::uniform), [Precision::F64, Precision::F16]);
    /// ```
    #[must_use]
    pub fn uniform(kind: Kind) -> Precision {
        uniform(if kind == Kind::F64 { Kind::F64 } else { Kind::F32 }, kind)
    }

    /// The precision of a level; double precision for [`Precision::Auto`].
    ///
    /// ```
    /// use ziggurat::config::Precision;
    /// use ziggurat_sparse::Kind;
    /// let shifted: Precision = "f32,f16-f16-f32".parse()?;
    /// assert_eq!([0, 1, 2, 7].map(|k| shifted.level(k).storage), [Kind::F16, Kind::F16, Kind::F32, Kind::F32]);
    /// # Ok::<(), ziggurat_sparse::UnknownName>(())
    /// ```
    pub fn level(&self, index: usize) -> LevelPrecision {
        match self {
            Precision::Auto => LevelPrecision::default(),
            Precision::Uniform(level) => *level,
            Precision::ByLevel(levels) => levels.get(index).or(levels.last()).copied().unwrap_or_default(),
        }
    }
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Precision::Auto {
            return f.pad("auto");
        }
        if let Some((name, ..)) = NAMES.iter().find(|(.., precision)| precision == self) {
            return f.pad(name);
        }
        let levels = match self {
            Precision::ByLevel(levels) => &levels[..],
            _ => &[self.level(0)],
        };
        let ladder = |of: fn(&LevelPrecision) -> Kind| {
            let mut kinds: Vec<Kind> = levels.iter().map(of).collect();
            while kinds.len() > 1 && kinds[kinds.len() - 1] == kinds[kinds.len() - 2] {
                kinds.pop(); // the last entry applies to all coarser levels
            }
            kinds.iter().map(|kind| kind.name()).collect::<Vec<_>>().join("-")
        };
        f.pad(&format!("{},{}", ladder(|level| level.working), ladder(|level| level.storage)))
    }
}

/// A number type, by its own name or by the name used in Tsai's thesis.
fn number(name: &str) -> Option<Kind> {
    Some(match name.to_ascii_lowercase().as_str() {
        "f64" | "dp" => Kind::F64,
        "f32" | "sp" => Kind::F32,
        "f16" | "hp" => Kind::F16,
        "bf16" | "bf" => Kind::Bf16,
        _ => return None,
    })
}

/// `working-working-…,storage-storage-…`
fn ladders(text: &str) -> Option<Precision> {
    let (working, storage) = text.split_once(',')?;
    let list = |text: &str| text.split('-').map(|name| number(name.trim())).collect::<Option<Vec<Kind>>>();
    let (working, storage) = (list(working)?, list(storage)?);
    let computes = |kind: &Kind| matches!(kind, Kind::F64 | Kind::F32);
    if !working.iter().all(computes) {
        return None;
    }
    let at = |list: &[Kind], k: usize| list.get(k).or(list.last()).copied();
    let levels = (0..working.len().max(storage.len()))
        .map(|k| Some(LevelPrecision { working: at(&working, k)?, storage: at(&storage, k)? }))
        .collect::<Option<Vec<_>>>()?;
    Some(match levels[..] {
        [level] => Precision::Uniform(level),
        _ => Precision::ByLevel(levels),
    })
}

impl FromStr for Precision {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        if name.eq_ignore_ascii_case("auto") {
            return Ok(Precision::Auto);
        }
        let known = NAMES
            .iter()
            .find(|(ours, papers, _)| name.eq_ignore_ascii_case(ours) || name.eq_ignore_ascii_case(papers));
        known.map(|(.., precision)| precision.clone()).or_else(|| ladders(name)).ok_or_else(|| {
            let ours = NAMES.iter().map(|(ours, ..)| *ours);
            let papers = NAMES.iter().map(|(_, papers, _)| *papers);
            let known = ["auto"].into_iter().chain(ours).chain(papers).chain(["f64-f32,f16"]);
            UnknownName::new("precision", name, known)
        })
    }
}

impl TryFrom<String> for Precision {
    type Error = UnknownName;

    fn try_from(name: String) -> Result<Self, UnknownName> {
        name.parse()
    }
}

impl From<Precision> for String {
    fn from(precision: Precision) -> String {
        precision.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_round_trips() {
        for name in ["auto", "f64", "f32", "f16", "bf16", "f64-f32,f16", "f32,f16-f16-f32", "f64,bf16"] {
            let precision: Precision = name.parse().unwrap();
            assert_eq!(precision.to_string(), name);
            let json = serde_json::to_string(&precision).unwrap();
            assert_eq!(serde_json::from_str::<Precision>(&json).unwrap(), precision);
        }
        assert_eq!("k64p32db16".parse(), Ok(Precision::BF16));
        assert_eq!("DP-SP,HP-SP".parse::<Precision>().unwrap().to_string(), "f64-f32,f16-f32");
    }

    #[test]
    fn an_unknown_precision_is_rejected_with_a_suggestion() {
        for wrong in ["f46", "f16,f16", "f32,", "-,f16", "f32,f8"] {
            assert!(wrong.parse::<Precision>().is_err(), "{wrong}");
        }
        let error = "K64P32D15".parse::<Precision>().unwrap_err().to_string();
        assert!(error.contains("K64P32D16"), "{error}");
    }
}

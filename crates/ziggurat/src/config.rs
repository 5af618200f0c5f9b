//! The configuration of a [`Solver`](crate::Solver): flat, with a name for everything, the same in Rust, TOML and JSON.
//!
//! Every choice is `auto` by default, which the matrix decides; [`SolverConfig::resolve`] says how. A file may give any part
//! of it:
//!
//! ```toml
//! method = "classical"
//!
//! [stopping]
//! rtol = 1e-10
//!
//! [classical.strength]
//! filter = { threshold = 0.5 }
//! ```

mod choices;
mod precision;
mod preset;
mod resolve;
mod text;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use ziggurat_amg::{Classical, Cycling, Formats, HierarchyConfig, Lowering, Pairwise, SmoothedAggregation};
use ziggurat_krylov::{DEFAULT_RESTART, KrylovError, Stopping};
use ziggurat_sparse::UnknownName;

pub use choices::{ChoiceKey, Format, Rebuild, Scaling, choices};
pub use precision::Precision;
pub use resolve::Facts;
pub use ziggurat_amg::smoother::{SmootherKind, SmootherParameters};
pub use ziggurat_amg::{CycleKind, Method};
pub use ziggurat_krylov::Krylov;

/// What a [`Solver`](crate::Solver) is to do. Every default is a choice by the matrix or the usual one.
///
/// ```
/// use ziggurat::SolverConfig;
/// use ziggurat::config::Method;
/// let config = SolverConfig { method: Method::Classical, ..SolverConfig::default() };
/// assert_eq!(config.stopping.rtol, 1e-8);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SolverConfig {
    /// How the hierarchy is built.
    pub method: Method,
    /// The outer iteration.
    pub krylov: Krylov,
    /// Steps before GMRES and FGMRES start anew.
    pub restart: usize,
    /// What the hierarchy is stored and computed in.
    pub precision: Precision,
    /// The formats that matrices are stored in.
    pub format: Format,
    /// Whether levels are scaled into the range of a narrow number.
    pub scaling: Scaling,
    /// When to stop.
    pub stopping: Stopping,
    /// How far the matrix is coarsened.
    pub hierarchy: Extent,
    /// Parameters of smoothed aggregation.
    pub sa: SmoothedAggregation,
    /// Parameters of classical coarsening.
    pub classical: Classical,
    /// Parameters of pairwise aggregation.
    pub pairwise: Pairwise,
    /// How levels are visited.
    pub cycle: Visits,
    /// How levels are smoothed.
    pub smoother: SmootherParameters,
    /// What new values of the matrix lead to.
    pub update: Update,
}

impl Default for SolverConfig {
    fn default() -> Self {
        SolverConfig {
            method: Method::default(),
            krylov: Krylov::default(),
            restart: DEFAULT_RESTART,
            precision: Precision::default(),
            format: Format::default(),
            scaling: Scaling::default(),
            stopping: Stopping::default(),
            hierarchy: Extent::default(),
            sa: SmoothedAggregation::default(),
            classical: Classical::default(),
            pairwise: Pairwise::default(),
            cycle: Visits::default(),
            smoother: SmootherParameters::default(),
            update: Update::default(),
        }
    }
}

/// How far a matrix is coarsened.
///
/// ```
/// assert_eq!(ziggurat::config::Extent::default().coarse_rows, 300);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Extent {
    /// A level of so few rows is solved directly.
    pub coarse_rows: usize,
    /// Levels at most, the coarsest included.
    pub max_levels: usize,
}

impl Default for Extent {
    fn default() -> Self {
        let HierarchyConfig { coarse_rows, max_levels, .. } = HierarchyConfig::default();
        Extent { coarse_rows, max_levels }
    }
}

/// How levels are visited.
///
/// ```
/// assert_eq!(ziggurat::config::Visits::default().pre_sweeps, 1);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Visits {
    /// The order of the levels.
    pub kind: CycleKind,
    /// Smoothings before the coarse level.
    pub pre_sweeps: usize,
    /// Smoothings after it.
    pub post_sweeps: usize,
}

impl Default for Visits {
    fn default() -> Self {
        Visits { kind: CycleKind::default(), pre_sweeps: 1, post_sweeps: 1 }
    }
}

/// What new values of the matrix lead to; see [`Solver::update_values`](crate::Solver::update_values).
///
/// ```
/// assert_eq!(ziggurat::config::Update::default().factor, 1.5);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Update {
    /// Whether the hierarchy is built anew.
    pub rebuild: Rebuild,
    /// `when-slower`: from how many times the iterations on.
    pub factor: f64,
}

impl Default for Update {
    fn default() -> Self {
        Update { rebuild: Rebuild::default(), factor: 1.5 }
    }
}

/// What is wrong with a configuration.
///
/// ```
/// use ziggurat::SolverConfig;
/// let error = SolverConfig::from_toml("[smoother]\nomgea = 0.5").unwrap_err();
/// assert!(error.to_string().starts_with("unknown key `smoother.omgea`; did you mean `smoother.omega`?"));
/// ```
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The text is not what it should be.
    #[error("this is not {format}: {reason}")]
    Syntax {
        /// TOML or JSON.
        format: &'static str,
        /// Where and why.
        reason: String,
    },
    /// A key that does not exist.
    #[error(
        "unknown key `{path}`{} (known here: {})",
        .nearest.as_ref().map_or(String::new(), |nearest| format!("; did you mean `{nearest}`?")),
        .known.join(", ")
    )]
    UnknownKey {
        /// The whole path of the key.
        path: String,
        /// The whole path of the nearest one that exists.
        nearest: Option<String>,
        /// The keys that exist beside it.
        known: Vec<String>,
    },
    /// A value that cannot be understood.
    #[error("`{path}`: {reason}")]
    Value {
        /// The whole path of the key.
        path: String,
        /// What was expected.
        reason: String,
    },
    /// A number that makes no sense.
    #[error("`{path}` is {value}; it must be {must}")]
    Setting {
        /// The whole path of the key.
        path: &'static str,
        /// Its value.
        value: f64,
        /// What it must be.
        must: &'static str,
    },
    /// When to stop makes no sense.
    #[error("stopping: {0}")]
    Stopping(#[from] KrylovError),
    /// No preset has that name.
    #[error(transparent)]
    Preset(#[from] UnknownName),
}

impl SolverConfig {
    /// Checks that every number means something. [`Solver`](crate::Solver) does this first.
    ///
    /// ```
    /// use ziggurat::SolverConfig;
    /// let mut config = SolverConfig::default();
    /// config.smoother.ratio = 0.5;
    /// assert_eq!(config.validate().unwrap_err().to_string(), "`smoother.ratio` is 0.5; it must be finite and above 1");
    /// ```
    ///
    /// # Errors
    /// Names the key at fault. Parameters of methods are checked when the methods run.
    pub fn validate(&self) -> Result<(), ConfigError> {
        self.stopping.validate()?;
        let positive = "at least 1";
        let settings = [
            ("restart", self.restart as f64, self.restart > 0, positive),
            (
                "hierarchy.max_levels",
                self.hierarchy.max_levels as f64,
                self.hierarchy.max_levels > 0,
                positive,
            ),
            ("pairwise.passes", self.pairwise.passes as f64, self.pairwise.passes > 0, positive),
            ("smoother.degree", self.smoother.degree as f64, self.smoother.degree > 0, positive),
            ("smoother.block", self.smoother.block as f64, self.smoother.block > 0, positive),
            (
                "smoother.ratio",
                self.smoother.ratio,
                self.smoother.ratio.is_finite() && self.smoother.ratio > 1.0,
                "finite and above 1",
            ),
            (
                "smoother.omega",
                self.smoother.omega.unwrap_or(1.0),
                self.smoother.omega.is_none_or(|omega| omega.is_finite() && omega > 0.0),
                "finite and positive",
            ),
            ("update.factor", self.update.factor, self.update.factor >= 1.0, "at least 1"),
            (
                "cycle.pre_sweeps",
                self.cycle.pre_sweeps as f64,
                self.cycle.pre_sweeps + self.cycle.post_sweeps > 0,
                "at least 1 where cycle.post_sweeps is 0",
            ),
        ];
        match settings.into_iter().find(|(_, _, good, _)| !good) {
            Some((path, value, _, must)) => Err(ConfigError::Setting { path, value, must }),
            None => Ok(()),
        }
    }

    /// What the hierarchy is to be told. `auto` counts as the usual one, here and below: it is [resolved](Self::resolve) before.
    ///
    /// ```
    /// let config = ziggurat::SolverConfig::default();
    /// assert_eq!(config.hierarchy_config(), ziggurat::amg::HierarchyConfig::default());
    /// ```
    pub fn hierarchy_config(&self) -> HierarchyConfig {
        let coarsening = self.method.coarsening(self.sa, self.classical, self.pairwise);
        let Extent { coarse_rows, max_levels } = self.hierarchy;
        HierarchyConfig { coarsening, coarse_rows, max_levels }
    }

    /// How levels are to be visited and smoothed.
    ///
    /// ```
    /// assert_eq!(ziggurat::SolverConfig::default().cycling(), ziggurat::amg::Cycling::default());
    /// ```
    pub fn cycling(&self) -> Cycling {
        let Visits { kind, pre_sweeps, post_sweeps } = self.cycle;
        let cycle = kind.cycle().unwrap_or_default();
        Cycling { cycle, pre_sweeps, post_sweeps, smoother: self.smoother.smoother() }
    }

    /// The same with levels in double precision, or in the widest number that a device computes in.
    ///
    /// ```
    /// use ziggurat::{SolverConfig, config::Precision};
    /// assert_eq!(SolverConfig::default().in_double_precision().precision, Precision::F64);
    /// ```
    #[must_use]
    pub fn in_double_precision(&self) -> Self {
        SolverConfig { precision: Precision::F64, ..self.clone() }
    }

    /// How levels are to be stored.
    ///
    /// ```
    /// assert_eq!(ziggurat::SolverConfig::default().lowering(), ziggurat::amg::Lowering::default());
    /// ```
    pub fn lowering(&self) -> Lowering {
        let formats = match self.format {
            Format::Auto => Formats::FewestBytes,
            Format::Csr => Formats::Csr,
        };
        Lowering { formats, scaled: self.scaling == Scaling::Auto }
    }

    /// The outer iteration, with its restart.
    ///
    /// ```
    /// use ziggurat::{SolverConfig, config::Krylov, krylov::Method};
    /// let config = SolverConfig { krylov: Krylov::Gmres, restart: 7, ..SolverConfig::default() };
    /// assert_eq!(config.krylov_method(), Method::Gmres { restart: 7 });
    /// ```
    pub fn krylov_method(&self) -> ziggurat_krylov::Method {
        let restart = self.restart;
        self.krylov.method(restart).unwrap_or(ziggurat_krylov::Method::Fgmres { restart })
    }
}

#[cfg(test)]
mod tests;

//! The configuration of a [`Solver`](crate::Solver), with the same names in Rust, TOML and JSON.
//!
//! Every choice defaults to `auto`, which depends on the matrix; see [`SolverConfig::resolve`]. A
//! file may contain any subset of the keys:
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
mod decide;
mod keys;
mod precision;
mod preset;
mod resolve;
mod text;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use ziggurat_amg::{
    Air, Bamg, Classical, Cpr, Cycling, Formats, HierarchyConfig, LevelSmoothing, Lowering, OutOfRange,
    Pairwise, SmoothedAggregation,
};
use ziggurat_krylov::{DEFAULT_RESTART, KrylovError, MAX_RESTART, Stopping};
use ziggurat_sparse::Kind;
use ziggurat_sparse::UnknownName;

pub use choices::{ChoiceKey, Effort, Format, Rebuild, Reorder, Scaling, SetupPlace, choices};
pub use decide::Decision;
pub use precision::Precision;
pub use resolve::MatrixFacts;
pub use ziggurat_amg::smoother::{FsaiParameters, IlutParameters, SmootherKind, SmootherParameters};
pub use ziggurat_amg::{Coarsest, CycleKind, Method};
pub use ziggurat_krylov::{Basis, Combine, Krylov};

/// Each refinement step gains digits, or is the last one.
const MAX_REFINEMENT_STEPS: usize = 100;

/// The configuration of a [`Solver`](crate::Solver). Choices default to `auto`, parameters to
/// common values.
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
    /// The coarsening method.
    pub method: Method,
    /// The budget of setup.
    pub effort: Effort,
    /// The Krylov method of the outer iteration.
    pub krylov: Krylov,
    /// Iterations between restarts of GMRES and FGMRES.
    pub restart: usize,
    /// How GMRES and FGMRES store their basis.
    pub basis: Basis,
    /// The storage and working precision of the hierarchy.
    pub precision: Precision,
    /// The storage formats of matrices.
    pub format: Format,
    /// Whether levels are scaled into the range of their storage type.
    pub scaling: Scaling,
    /// Whether the unknowns are renumbered before setup.
    pub reorder: Reorder,
    /// Where the levels are made.
    pub setup: SetupPlace,
    /// The stopping criteria.
    pub stopping: Stopping,
    /// The size of the hierarchy.
    pub hierarchy: Extent,
    /// Parameters of smoothed aggregation.
    pub sa: SmoothedAggregation,
    /// Parameters of classical coarsening.
    pub classical: Classical,
    /// Parameters of pairwise aggregation.
    pub pairwise: Pairwise,
    /// The cells of a reservoir system.
    pub cpr: Cpr,
    /// The restriction of `air`.
    pub air: Air,
    /// Parameters of least-squares interpolation.
    pub bamg: Bamg,
    /// The multigrid cycle.
    pub cycle: Visits,
    /// The smoother and its parameters.
    pub smoother: SmootherParameters,
    /// Other settings from some level on.
    pub levels: Vec<LevelSettings>,
    /// When new matrix values cause a rebuild of the hierarchy.
    pub update: Update,
    /// Whether a solve that is slow or fails continues with a stronger smoother, and then with
    /// sparse factors of the matrix, if they fit into memory.
    pub fallback: bool,
    /// Maximum number of corrections of a solution that rounding errors keep from the tolerance.
    /// They are computed from residuals in twice the precision, on one process.
    pub refinement_steps: usize,
}

impl Default for SolverConfig {
    fn default() -> Self {
        SolverConfig {
            method: Method::default(),
            effort: Effort::default(),
            krylov: Krylov::default(),
            restart: DEFAULT_RESTART,
            basis: Basis::default(),
            precision: Precision::default(),
            format: Format::default(),
            scaling: Scaling::default(),
            reorder: Reorder::default(),
            setup: SetupPlace::default(),
            stopping: Stopping::default(),
            hierarchy: Extent::default(),
            sa: SmoothedAggregation::default(),
            classical: Classical::default(),
            pairwise: Pairwise::default(),
            cpr: Cpr::default(),
            air: Air::default(),
            bamg: Bamg::default(),
            cycle: Visits::default(),
            smoother: SmootherParameters::default(),
            levels: Vec::new(),
            update: Update::default(),
            fallback: true,
            refinement_steps: 0,
        }
    }
}

/// The size of the hierarchy.
///
/// ```
/// assert_eq!(ziggurat::config::Extent::default().coarse_rows, None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Extent {
    /// A level with at most this many rows is the coarsest; `None`: 300, or 1000 if nodes have
    /// several unknowns and the matrix is large.
    pub coarse_rows: Option<usize>,
    /// Maximum number of levels, including the coarsest.
    pub max_levels: usize,
    /// How the coarsest level is solved.
    pub coarsest: Coarsest,
}

impl Default for Extent {
    fn default() -> Self {
        let HierarchyConfig { max_levels, .. } = HierarchyConfig::default();
        Extent { coarse_rows: None, max_levels, coarsest: Coarsest::default() }
    }
}

/// The multigrid cycle.
///
/// ```
/// assert_eq!(ziggurat::config::Visits::default().pre_sweeps, 1);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Visits {
    /// The order in which levels are visited.
    pub kind: CycleKind,
    /// Number of sweeps before the coarse-grid correction.
    pub pre_sweeps: usize,
    /// Number of sweeps after the coarse-grid correction.
    pub post_sweeps: usize,
}

impl Default for Visits {
    fn default() -> Self {
        Visits { kind: CycleKind::default(), pre_sweeps: 1, post_sweeps: 1 }
    }
}

/// Settings of some level and all coarser ones, which override the settings of the whole hierarchy.
/// Where several apply, the last one in the list does.
///
/// ```
/// use ziggurat::SolverConfig;
/// let text = "[[levels]]\nfrom = 1\nsmoother = { kind = 'chebyshev', degree = 3 }\npost_sweeps = 2";
/// let config = SolverConfig::from_toml(text)?;
/// assert_eq!((config.levels[0].from, config.levels[0].post_sweeps), (1, Some(2)));
/// # Ok::<(), ziggurat::config::ConfigError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LevelSettings {
    /// The first level with these settings; 0 is the finest.
    pub from: usize,
    /// The smoother and all of its parameters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub smoother: Option<SmootherParameters>,
    /// Number of sweeps before the coarse-grid correction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pre_sweeps: Option<usize>,
    /// Number of sweeps after the coarse-grid correction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub post_sweeps: Option<usize>,
}

/// When new matrix values cause a rebuild of the hierarchy; see
/// [`Solver::update_values`](crate::Solver::update_values).
///
/// ```
/// assert_eq!(ziggurat::config::Update::default().factor, 1.5);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Update {
    /// When the hierarchy is rebuilt.
    pub rebuild: Rebuild,
    /// For `when-slower`: the growth of the iteration count that causes a rebuild.
    pub factor: f64,
}

impl Default for Update {
    fn default() -> Self {
        Update { rebuild: Rebuild::default(), factor: 1.5 }
    }
}

/// An invalid configuration.
///
/// ```
/// use ziggurat::SolverConfig;
/// let error = SolverConfig::from_toml("[smoother]\nomgea = 0.5").unwrap_err();
/// assert!(error.to_string().starts_with("unknown key `smoother.omgea`; did you mean `smoother.omega`?"));
/// ```
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// The text is not valid TOML or JSON.
    #[error("invalid {format}: {reason}")]
    Syntax {
        /// `TOML` or `JSON`.
        format: &'static str,
        /// The position and the cause.
        reason: String,
    },
    /// A key is unknown.
    #[error(
        "unknown key `{path}`{} (known keys: {})",
        if .nearest.is_empty() {
            String::new()
        } else {
            format!("; did you mean `{}`?", .nearest.join("` or `"))
        },
        .known.join(", ")
    )]
    UnknownKey {
        /// The full path of the key.
        path: String,
        /// The full paths of keys of the same name in other tables, or the path of the closest key.
        nearest: Vec<String>,
        /// The known keys of the same table.
        known: Vec<String>,
    },
    /// A value cannot be parsed.
    #[error("`{path}`: {reason}")]
    Value {
        /// The full path of the key.
        path: String,
        /// Why the value is rejected.
        reason: String,
    },
    /// A number is out of range.
    #[error("`{path}` is {value}; it must be {must}")]
    Setting {
        /// The full path of the key.
        path: String,
        /// The value.
        value: String,
        /// The requirement.
        must: String,
    },
    /// The stopping criteria are invalid.
    #[error("stopping: {0}")]
    Stopping(#[from] KrylovError),
    /// There is no preset with this name.
    #[error(transparent)]
    Preset(#[from] UnknownName),
}

impl From<OutOfRange> for ConfigError {
    fn from(error: OutOfRange) -> Self {
        let OutOfRange { name: path, value, must } = error;
        ConfigError::Setting { path, value, must }
    }
}

impl SolverConfig {
    /// Checks that every number is within its range. [`Solver`](crate::Solver) calls this before
    /// setup.
    ///
    /// ```
    /// use ziggurat::SolverConfig;
    /// let mut config = SolverConfig::default();
    /// config.smoother.ratio = 0.5;
    /// assert_eq!(config.validate().unwrap_err().to_string(), "`smoother.ratio` is 0.5; it must be finite and above 1");
    /// ```
    ///
    /// # Errors
    /// If a number is out of range; the error names the key, the value and the range. All sections
    /// are checked, also for methods that are not used. Also if the basis of a Krylov method
    /// without one is to be compressed.
    pub fn validate(&self) -> Result<(), ConfigError> {
        let section = |name: &'static str| move |error: OutOfRange| error.within(name);
        self.stopping.validate()?;
        OutOfRange::unless_in("restart", self.restart, 1..=MAX_RESTART)?;
        self.check_basis()?;
        self.check_coarsest()?;
        self.check_reorder()?;
        self.check_setup()?;
        OutOfRange::unless_in("refinement_steps", self.refinement_steps, 0..=MAX_REFINEMENT_STEPS)?;
        self.hierarchy_config().check().map_err(section("hierarchy"))?;
        self.sa.check().map_err(section("sa"))?;
        self.classical.check().map_err(section("classical"))?;
        self.pairwise.check().map_err(section("pairwise"))?;
        self.cpr.check().map_err(section("cpr"))?;
        self.air.check().map_err(section("air"))?;
        self.bamg.check().map_err(section("bamg"))?;
        self.cycling().check().map_err(section("cycle"))?;
        self.smoother.check().map_err(section("smoother"))?;
        for smoother in self.levels.iter().filter_map(|level| level.smoother) {
            smoother.check().map_err(section("smoother")).map_err(section("levels"))?;
        }
        let factor = self.update.factor;
        OutOfRange::unless("update.factor", factor, factor >= 1.0, "at least 1")?;
        Ok(())
    }

    /// Checks that the Krylov method has a basis, if it is to be compressed.
    fn check_basis(&self) -> Result<(), ConfigError> {
        let krylov = self.krylov;
        if self.basis == Basis::F64 || krylov.stores_basis() {
            return Ok(());
        }
        let (path, value) = ("basis".into(), self.basis.to_string());
        let must = format!("f64 with {krylov}, which stores no basis; or choose gmres or fgmres");
        Err(ConfigError::Setting { path, value, must })
    }

    /// Checks that there is a coarsest level, if its solver is given.
    fn check_coarsest(&self) -> Result<(), ConfigError> {
        let (method, coarsest) = (self.method, self.hierarchy.coarsest);
        if coarsest == Coarsest::Auto || ![Method::Direct, Method::None].contains(&method) {
            return Ok(());
        }
        let (path, value) = ("hierarchy.coarsest".into(), coarsest.to_string());
        let must = format!("auto with the method {method}, which has no coarsest level");
        Err(ConfigError::Setting { path, value, must })
    }

    /// Checks that the method does not need the given order, if there is to be another one.
    fn check_reorder(&self) -> Result<(), ConfigError> {
        if self.reorder != Reorder::On || !self.method.keeps_order() {
            return Ok(());
        }
        let (path, value) = ("reorder".into(), self.reorder.to_string());
        let must = format!("auto or off with the method {}, which keeps the given order", self.method);
        Err(ConfigError::Setting { path, value, must })
    }

    /// Checks that devices have the method in the given order, if levels are to be made on one.
    fn check_setup(&self) -> Result<(), ConfigError> {
        let refused = |must: &str| {
            let (path, value) = ("setup".into(), self.setup.to_string());
            Err(ConfigError::Setting { path, value, must: must.into() })
        };
        match (self.setup, self.method, self.reorder) {
            (SetupPlace::Host, ..) => Ok(()),
            (_, Method::Classical, _) if self.smoother.kind == SmootherKind::FcJacobi => {
                refused("host with the smoother fc-jacobi")
            }
            (_, Method::Auto | Method::Sa | Method::Pairwise | Method::Classical, order) => match order {
                Reorder::Auto | Reorder::Off => Ok(()),
                Reorder::On => refused("host with another order of the unknowns"),
            },
            _ => refused("host with this method; devices have `sa`, `pairwise` and `classical`"),
        }
    }

    /// This configuration with sparse factors of the matrix instead of multigrid.
    #[must_use]
    pub(crate) fn by_factors(&self) -> Self {
        let hierarchy = Extent { coarsest: Coarsest::Auto, ..self.hierarchy };
        let (reorder, setup) = (Reorder::Off, SetupPlace::Host);
        // The factors of an indefinite matrix are not positive.
        let krylov = match self.krylov {
            Krylov::Cg | Krylov::Fcg | Krylov::Minres => Krylov::Auto,
            krylov => krylov,
        };
        SolverConfig { method: Method::Direct, krylov, hierarchy, reorder, setup, ..self.clone() }
    }

    /// This configuration with at most so many levels.
    ///
    /// ```
    /// assert_eq!(ziggurat::SolverConfig::default().with_levels(2).hierarchy.max_levels, 2);
    /// ```
    #[must_use]
    pub fn with_levels(&self, max_levels: usize) -> Self {
        SolverConfig { hierarchy: Extent { max_levels, ..self.hierarchy }, ..self.clone() }
    }

    /// This configuration with the method that is chosen if factors do not fit into memory.
    #[must_use]
    pub(crate) fn by_multigrid(&self, facts: MatrixFacts) -> Self {
        let method = decide::method(self, MatrixFacts { factors: false, ..facts }).0;
        SolverConfig { method, ..self.clone() }
    }

    /// The configuration of the hierarchy. Here and below, `auto` means the most common choice; it
    /// is normally [resolved](Self::resolve) before.
    ///
    /// ```
    /// let config = ziggurat::SolverConfig::default();
    /// assert_eq!(config.hierarchy_config(), ziggurat::amg::HierarchyConfig::default());
    /// ```
    pub fn hierarchy_config(&self) -> HierarchyConfig {
        let coarsening =
            self.method.coarsening(self.sa, self.classical, self.pairwise, self.cpr, self.air, self.bamg);
        let Extent { coarse_rows, max_levels, .. } = self.hierarchy;
        let coarse_rows = coarse_rows.unwrap_or(HierarchyConfig::default().coarse_rows);
        let max_levels = match self.method {
            Method::Direct | Method::None => 1,
            _ => max_levels,
        };
        HierarchyConfig { coarsening, coarse_rows, max_levels, reorder: self.reorder == Reorder::On }
    }

    /// The cycle and its smoother.
    ///
    /// ```
    /// assert_eq!(ziggurat::SolverConfig::default().cycling(), ziggurat::amg::Cycling::default());
    /// ```
    pub fn cycling(&self) -> Cycling {
        let Visits { kind, pre_sweeps, post_sweeps } = self.cycle;
        let cycle = kind.cycle().unwrap_or_default();
        let from_level = self.levels.iter().map(|level| {
            let smoothing = LevelSmoothing {
                pre_sweeps: level.pre_sweeps.unwrap_or(pre_sweeps),
                post_sweeps: level.post_sweeps.unwrap_or(post_sweeps),
                smoother: level.smoother.unwrap_or(self.smoother).smoother(),
            };
            (level.from, smoothing)
        });
        let from_level = from_level.collect();
        Cycling { cycle, pre_sweeps, post_sweeps, smoother: self.smoother.smoother(), from_level }
    }

    /// The smoothers of all levels by name.
    ///
    /// ```
    /// use ziggurat::{SolverConfig, config::SmootherKind};
    /// assert!(SolverConfig::default().smoother_kinds().eq([SmootherKind::Auto]));
    /// ```
    pub fn smoother_kinds(&self) -> impl Iterator<Item = SmootherKind> + '_ {
        let of_levels = self.levels.iter().filter_map(|level| level.smoother);
        [self.smoother].into_iter().chain(of_levels).map(|smoother| smoother.kind)
    }

    /// This configuration with all levels in one number type.
    ///
    /// ```
    /// use ziggurat::{SolverConfig, config::Precision};
    /// use ziggurat::sparse::Kind;
    /// assert_eq!(SolverConfig::default().in_precision(Kind::F32).precision, Precision::F32);
    /// ```
    #[must_use]
    pub fn in_precision(&self, kind: Kind) -> Self {
        SolverConfig { precision: Precision::uniform(kind), ..self.clone() }
    }

    /// The smoother that replaces one that is too weak, in a resolved configuration.
    pub(crate) fn stronger_smoother(&self) -> SmootherKind {
        match self.krylov {
            Krylov::Cg | Krylov::Fcg => SmootherKind::Fsai,
            _ => SmootherKind::Ilu0,
        }
    }

    /// A resolved configuration with that smoother. FSAI smooths the same levels. ILU(0) is for
    /// matrices that are not positive definite, where few entries on coarse levels matter more.
    pub(crate) fn with_stronger_smoother(&self) -> Self {
        let mut config = self.clone();
        config.smoother.kind = self.stronger_smoother();
        if config.smoother.kind == SmootherKind::Ilu0 {
            config.method = Method::Sa;
        }
        config
    }

    /// How the levels are stored.
    ///
    /// ```
    /// assert_eq!(ziggurat::SolverConfig::default().lowering(), ziggurat::amg::Lowering::default());
    /// ```
    pub fn lowering(&self) -> Lowering<'static> {
        let formats = match self.format {
            Format::Auto => Formats::FewestBytes,
            Format::Csr => Formats::Csr,
            Format::Tiles => Formats::Tiles,
        };
        let coarsest = match self.method {
            Method::Direct => Coarsest::Direct,
            Method::None => Coarsest::Smoothed,
            _ => self.hierarchy.coarsest,
        };
        Lowering { formats, scaled: self.scaling == Scaling::Auto, coarsest, cancel: None }
    }

    /// The Krylov method, including its restart length.
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

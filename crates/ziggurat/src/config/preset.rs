//! Named configurations.

use ziggurat_sparse::UnknownName;

use super::{ConfigError, Effort, Method, Precision, SmootherKind, SolverConfig};

impl SolverConfig {
    /// The names and descriptions of the presets.
    pub const PRESETS: [(&str, &str); 4] = [
        ("default", "all settings are chosen for the matrix"),
        (
            "robust",
            "for matrices on which the default fails: two Gauss-Seidel sweeps, f64, a long restart, refinement",
        ),
        ("fast", "matrices of the hierarchy in f16, its vectors in f32, the solution still in f64"),
        (
            "low-memory",
            "pairwise aggregation with matrices in f16: the fewest entries per level, but more iterations",
        ),
    ];

    /// The preset with this name.
    ///
    /// ```
    /// use ziggurat::{SolverConfig, config::Method};
    /// assert_eq!(SolverConfig::preset("low-memory")?.method, Method::Pairwise);
    /// assert!(SolverConfig::preset("robst").unwrap_err().to_string().contains("did you mean `robust`?"));
    /// # Ok::<(), ziggurat::config::ConfigError>(())
    /// ```
    ///
    /// # Errors
    /// If there is no such preset; the error suggests the closest name.
    pub fn preset(name: &str) -> Result<Self, ConfigError> {
        let mut config = SolverConfig::default();
        match name {
            "default" => {}
            "robust" => {
                config.effort = Effort::ManySolves;
                config.classical.aggressive_levels = 0;
                config.smoother.kind = SmootherKind::GaussSeidel;
                (config.cycle.pre_sweeps, config.cycle.post_sweeps) = (2, 2);
                config.restart = 100;
                config.precision = Precision::F64;
                config.refinement_steps = 10;
            }
            "fast" => config.precision = Precision::F16,
            "low-memory" => {
                config.method = Method::Pairwise;
                config.precision = Precision::F16;
            }
            _ => return Err(UnknownName::new("preset", name, Self::PRESETS.map(|(name, _)| name)).into()),
        }
        Ok(config)
    }
}

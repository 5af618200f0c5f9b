//! Configurations with a name, for a purpose.

use ziggurat_sparse::UnknownName;

use super::{ConfigError, Krylov, Method, Precision, SmootherKind, SolverConfig};

impl SolverConfig {
    /// The presets, each with what it is for.
    pub const PRESETS: [(&str, &str); 4] = [
        ("default", "everything is chosen by the matrix"),
        (
            "robust",
            "for matrices that the default fails on: classical, Gauss-Seidel twice, FGMRES with a long restart",
        ),
        ("fast", "the hierarchy in 32 bits: half of its bytes, the solution still in double precision"),
        ("low-memory", "pairwise aggregation in 32 bits: the fewest entries per level, and more iterations"),
    ];

    /// The preset of this name.
    ///
    /// ```
    /// use ziggurat::{SolverConfig, config::Method};
    /// assert_eq!(SolverConfig::preset("low-memory")?.method, Method::Pairwise);
    /// assert!(SolverConfig::preset("robst").unwrap_err().to_string().contains("did you mean `robust`?"));
    /// # Ok::<(), ziggurat::config::ConfigError>(())
    /// ```
    ///
    /// # Errors
    /// If there is none; the error names the nearest.
    pub fn preset(name: &str) -> Result<Self, ConfigError> {
        let mut config = SolverConfig::default();
        match name {
            "default" => {}
            "robust" => {
                config.method = Method::Classical;
                config.classical.aggressive_levels = 0;
                config.smoother.kind = SmootherKind::GaussSeidel;
                (config.cycle.pre_sweeps, config.cycle.post_sweeps) = (2, 2);
                config.krylov = Krylov::Fgmres;
                config.restart = 100;
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

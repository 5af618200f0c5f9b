//! From options and files to the solver's configuration. Options win over the file or the preset.

use std::fs;
use std::path::Path;

use ziggurat::SolverConfig;
use ziggurat::config::ConfigError;
use ziggurat_sparse::io::check_file;

use crate::arguments::SolveOptions;
use crate::failure::Failure;
use crate::output;

/// The solver's configuration.
pub(crate) fn configure(options: &SolveOptions) -> Result<SolverConfig, Failure> {
    let mut config = match (&options.config, &options.preset) {
        (Some(path), _) => read(path)?,
        (None, Some(name)) => SolverConfig::preset(name).map_err(|error| {
            let presets = SolverConfig::PRESETS.map(|(name, about)| format!("{name}: {about}"));
            Failure::new(error.to_string(), presets.join("; "))
        })?,
        (None, None) => SolverConfig::default(),
    };
    config.method = options.method.unwrap_or(config.method);
    config.smoother.kind = options.smoother.unwrap_or(config.smoother.kind);
    config.effort = options.effort.unwrap_or(config.effort);
    config.setup = options.setup.unwrap_or(config.setup);
    config.krylov = options.krylov.unwrap_or(config.krylov);
    config.basis = options.basis.unwrap_or(config.basis);
    if let Some(precision) = &options.precision {
        config.precision = precision.clone();
    }
    if let Some(rtol) = options.rtol {
        config.stopping.rtol = rtol;
    }
    config.stopping.max_iterations = options.max_iterations.unwrap_or(config.stopping.max_iterations);
    config.stopping.max_seconds = options.max_seconds.or(config.stopping.max_seconds);
    config.stopping.project_rhs |= options.project_rhs;
    config.fallback &= !options.no_fallback;
    // A page shows the true residual beside the residual of the recurrence.
    if options.report.is_some() && config.stopping.verify_every == 0 {
        config.stopping.verify_every = 1;
    }
    Ok(config)
}

pub(crate) fn read(path: &Path) -> Result<SolverConfig, Failure> {
    let parse = match path.extension().and_then(|extension| extension.to_str()) {
        Some("toml") => SolverConfig::from_toml,
        Some("json") => SolverConfig::from_json,
        _ => {
            return Err(Failure::new(
                format!("--config {}: its name says neither TOML nor JSON", path.display()),
                "let the name end in .toml or .json",
            ));
        }
    };
    check_file(path)?;
    let text = fs::read_to_string(path).map_err(|error| Failure::reading(path, &error))?;
    parse(&text).map_err(|error| refused(&error, &format!("{}: ", path.display())))
}

/// Prints the configuration as a commented TOML file.
pub(super) fn print(config: &SolverConfig) -> Result<(), Failure> {
    output::print(&config.to_commented_toml().map_err(|error| refused(&error, ""))?)
}

/// The failure for an invalid configuration; `place` says where it stands.
pub(crate) fn refused(error: &ConfigError, place: &str) -> Failure {
    let hint = match error {
        ConfigError::Syntax { .. } => {
            "correct the file; `ziggurat solve --dump-config` prints one to begin with"
        }
        ConfigError::UnknownKey { .. } => "`ziggurat solve --dump-config` prints every key",
        _ => "`ziggurat solve --dump-config` prints every key with its usual value",
    };
    Failure::new(format!("{place}{error}"), hint)
}

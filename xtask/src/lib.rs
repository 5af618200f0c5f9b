//! Code that two programs share: `xtask`, and `ziggurat-bench`, which runs the tasks that need the
//! solver.
//!
//! The solver takes minutes to compile, and `cargo xtask install` must not wait until benchmarks
//! are compiled, too. So tasks that link the solver are in `ziggurat-bench`, which `xtask` builds
//! and starts ([`with_solver`]).

// Commands print; the lint is meant for libraries.
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::path::Path;

pub mod programs;
pub mod python;
pub mod table;
pub mod with_solver;

/// The folder of the workspace's `Cargo.toml`.
pub fn workspace_root() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_workspace_root_is_found() {
        let manifest = std::fs::read_to_string(workspace_root().join("Cargo.toml")).unwrap();
        assert!(manifest.contains("[workspace]"));
    }
}

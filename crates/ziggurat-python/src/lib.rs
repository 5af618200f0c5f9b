//! The native module of the Python package `ziggurat`.
//!
//! Matrices and vectors are copied ([`arrays`]). Computations run on worker threads with the GIL
//! released and can be interrupted ([`threads`]); solves and updates of one solver exclude each
//! other ([`lock`]). Errors become Python exceptions with the same messages ([`errors`]), and
//! configurations and results are passed as JSON ([`json`]). Log events go to Python's `logging`,
//! to the loggers `ziggurat.setup` and `ziggurat.solve`. The public API is written in Python, in
//! `python/src/ziggurat`.

// pyo3 passes arguments by value.
#![allow(clippy::needless_pass_by_value)]

mod arrays;
mod columns;
mod cycle;
mod errors;
mod files;
mod gallery;
mod json;
mod lock;
mod near_kernel;
mod outcome;
mod pictures;
mod solver;
mod threads;
mod tune;

use pyo3::prelude::*;

/// The allocator of the `ziggurat` command: setup makes many short-lived allocations. A sanitizer
/// must see each of them.
#[cfg(not(ziggurat_sanitize))]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The native module, which is private: use the functions and classes of `ziggurat`.
#[pymodule]
mod _native {
    use pyo3::prelude::*;
    use pyo3_log::{Caching, Logger};

    #[pymodule_export]
    use crate::files::read_matrix;
    #[pymodule_export]
    use crate::gallery::{problem, problems};
    #[pymodule_export]
    use crate::json::{choices, config, preset};
    #[pymodule_export]
    use crate::near_kernel::rigid_body_modes;
    #[pymodule_export]
    use crate::outcome::Outcome;
    #[pymodule_export]
    use crate::pictures::{diagnose, palette, spy};
    #[pymodule_export]
    use crate::solver::NativeSolver;
    #[pymodule_export]
    use crate::threads::Progress;
    #[pymodule_export]
    use crate::tune::tune;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        // Log levels are not cached, so that changes take effect immediately; events are few.
        let logger = Logger::new(module.py(), Caching::Loggers)?;
        // This fails if another module has installed a logger. Everything else works.
        let _ = logger.install();
        Ok(())
    }
}

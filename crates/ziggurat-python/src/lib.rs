//! The native part of the Python package `ziggurat`: what Python cannot do itself.
//!
//! Arrays come in without a copy ([`arrays`]), work runs outside the GIL on threads of its own, and can be interrupted
//! ([`threads`]); errors become Python's exceptions with the same text ([`errors`]); events go to Python's `logging`, under the
//! loggers `ziggurat.setup` and `ziggurat.solve`. Everything that users see is in `python/src/ziggurat`.

// Python's arguments come by value.
#![allow(clippy::needless_pass_by_value)]

mod arrays;
mod cycle;
mod errors;
mod gallery;
mod near_kernel;
mod outcome;
mod pictures;
mod solver;
mod threads;

use mimalloc::MiMalloc;
use pyo3::prelude::*;

/// As in the `ziggurat` command: setup frees much of what it allocates.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// Functions and classes for the Python part of the package; nobody else should need them.
#[pymodule]
mod _native {
    use pyo3::prelude::*;
    use pyo3_log::{Caching, Logger};

    #[pymodule_export]
    use crate::gallery::{problem, problems};
    #[pymodule_export]
    use crate::near_kernel::rigid_body_modes;
    #[pymodule_export]
    use crate::outcome::Outcome;
    #[pymodule_export]
    use crate::pictures::{diagnose, spy};
    #[pymodule_export]
    use crate::solver::{NativeSolver, config, preset};
    #[pymodule_export]
    use crate::threads::Progress;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        // Levels are not cached: a program that changes them expects to be heard at once, and events are few.
        let logger = Logger::new(module.py(), Caching::Loggers)?;
        // Only the first of several modules in a process can be the logger; without it all else works.
        let _ = logger.install();
        Ok(())
    }
}

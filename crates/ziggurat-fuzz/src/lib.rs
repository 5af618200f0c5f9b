//! The bodies of the fuzz targets in `fuzz/`: functions that take arbitrary bytes and panic if
//! Ziggurat does something wrong with them.
//!
//! They are a crate of the workspace so that the tests replay the corpus (`tests/corpus.rs`) with
//! the usual toolchain. The targets themselves need cargo-fuzz and a nightly toolchain; see
//! CONTRIBUTING.md.
//!
//! | target | input | property |
//! |---|---|---|
//! | [`matrix_market`] | a file | parts give the whole; what is written is read back |
//! | [`files`] | a file of another format | parts give the whole; what is written in any format is read back |
//! | [`hierarchy`] | a saved hierarchy | it is refused, or it can be solved with and saved |
//! | [`configuration`] | JSON or TOML | it is refused, or it solves a small system |
//! | [`formats`] | a matrix and vectors | every format, storage and instruction set agrees with `Reference` |
//! | [`updates`] | a matrix and a sequence of updates | a solver that converged has a small residual |
//! | `c_entry` (feature `mpi`) | the arguments of `ziggurat_mpi_solve` | an error or a solution |

// A fuzz target reports a fault by a panic.
#![allow(clippy::panic, clippy::expect_used, clippy::unwrap_used)]

mod bytes;
#[cfg(feature = "mpi")]
mod c_entry;
mod configuration;
mod files;
mod formats;
mod hierarchy;
mod matrix_market;
mod updates;

#[cfg(feature = "mpi")]
pub use c_entry::c_entry;
pub use configuration::configuration;
pub use files::files;
pub use formats::formats;
pub use hierarchy::hierarchy;
pub use matrix_market::matrix_market;
pub use updates::updates;

/// A fuzz target.
pub type Target = fn(&[u8]);

/// All targets by name.
///
/// ```
/// assert!(ziggurat_fuzz::TARGETS.iter().any(|(name, _)| *name == "formats"));
/// ```
pub const TARGETS: &[(&str, Target)] = &[
    ("matrix_market", matrix_market),
    ("files", files),
    ("hierarchy", hierarchy),
    ("configuration", configuration),
    ("formats", formats),
    ("updates", updates),
    #[cfg(feature = "mpi")]
    ("c_entry", c_entry),
];

/// Makes the calling thread the only thread of rayon's global pool, because passing small inputs
/// between threads takes longer than computing on them. Does nothing if there is a pool already.
pub fn on_one_thread() {
    let _ = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build_global();
}

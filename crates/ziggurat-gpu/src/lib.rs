//! The Ziggurat solver on GPUs of any vendor.
//!
//! [`Gpu`] is a [`Device`](ziggurat_sparse::device::Device) on [CubeCL](https://github.com/tracel-ai/cubecl): one kernel in Rust becomes
//! CUDA, HIP, Vulkan or Metal. Runtimes are features; none needs a toolkit to build. A device is asked for by name or taken as it
//! comes:
//!
//! ```
//! use ziggurat::Solver;
//! use ziggurat_gpu::Gpu;
//! use ziggurat_sparse::gallery::Problem;
//! # let Ok(_) = Gpu::best() else { return Ok(()) };
//! let a = "poisson3d:12".parse::<Problem>()?.matrix()?;
//! let solver = Solver::builder().device(Gpu::best()?).build(&a)?;
//! let solution = solver.solve(&vec![1.0; a.rows()])?;
//! assert!(solution.report.reason.is_converged());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! What CubeCL calls things is known inside this crate only. `cargo xtask bench gpu` shows what kernels move; docs/gpus.md says on
//! what they have run.

#![deny(unsafe_code)]
// Without a runtime nothing is launched; all of it compiles all the same.
#![cfg_attr(
    not(any(feature = "vulkan", feature = "cuda", feature = "hip", feature = "metal")),
    allow(unused, clippy::all)
)]

mod bytes;
mod capabilities;
mod device;
mod error;
mod gpu;
mod host;
mod kernels;
mod launch;
mod matrix;
mod numbers;
mod reductions;
mod rows;
mod runtime;
#[cfg(feature = "sources")]
pub mod sources;
mod updates;
mod vector;

pub use bytes::Bytes;
pub use error::GpuError;
pub use gpu::Gpu;
pub use matrix::GpuMatrix;
pub use runtime::{Found, Missing, devices, missing};
pub use vector::GpuVector;

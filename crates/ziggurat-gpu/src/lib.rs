//! GPU backend of the Ziggurat solver, for devices of any vendor.
//!
//! [`Gpu`] implements [`Device`](ziggurat_sparse::device::Device) with
//! [CubeCL](https://github.com/tracel-ai/cubecl), which compiles each Rust kernel for CUDA, HIP,
//! Vulkan or Metal. Each runtime is a Cargo feature; none needs a toolkit to build. Devices are
//! selected by name or automatically:
//!
//! ```
//! use ziggurat::Solver;
//! use ziggurat_gpu::Gpu;
//! use ziggurat_sparse::gallery::Problem;
//! # let Ok(_) = Gpu::best() else { return Ok(()) };
//! let a = "poisson3d:12".parse::<Problem>()?.matrix()?;
//! let solver = Solver::builder().device(&Gpu::best()?).build(&a)?;
//! let solution = solver.solve(&vec![1.0; a.rows()])?;
//! assert!(solution.report.reason.is_converged());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! CubeCL is an implementation detail of this crate and does not appear in its interface. The
//! command `cargo xtask bench gpu` reports the memory traffic of the kernels, and docs/gpus.md
//! lists the devices they have run on.

#![deny(unsafe_code)]
// Without a runtime nothing is launched, so much of the code is unused.
#![cfg_attr(
    not(any(feature = "vulkan", feature = "cuda", feature = "hip", feature = "metal")),
    allow(unused, clippy::all)
)]

mod bytes;
mod capabilities;
mod device;
mod device_format;
mod error;
mod formats;
mod gpu;
mod host;
mod kernels;
mod launch;
mod matrix;
mod matrix_units;
mod numbers;
mod reductions;
mod requests;
mod rows;
mod runtime;
mod setup;
#[cfg(feature = "sources")]
pub mod sources;
mod updates;
mod vector;

pub use bytes::Bytes;
pub use error::GpuError;
pub use gpu::Gpu;
pub use matrix::GpuMatrix;
pub use runtime::{Found, Missing, devices, missing};
pub use setup::{GpuProductPlan, GpuSparse};
pub use vector::GpuVector;

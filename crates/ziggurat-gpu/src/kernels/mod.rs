//! The kernels, named like those of the CPU.
//!
//! The terms are CubeCL's: a *unit* is a thread, a *plane* is a warp (CUDA) or wavefront (HIP), and
//! a *cube* is a thread block with shared memory.

pub(crate) mod bsr;
pub(crate) mod csr;
pub(crate) mod csr_balanced;
pub(crate) mod delta_sell;
pub(crate) mod gauss_seidel;
pub(crate) mod reduce;
pub(crate) mod row_products;
pub(crate) mod vector;
pub(crate) mod widen;

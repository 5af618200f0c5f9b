//! The kernels, named as those of the CPU are.

pub(crate) mod bsr;
pub(crate) mod csr;
pub(crate) mod csr_balanced;
pub(crate) mod delta_sell;
pub(crate) mod gauss_seidel;
pub(crate) mod reduce;
pub(crate) mod row_products;
pub(crate) mod vector;
pub(crate) mod widen;

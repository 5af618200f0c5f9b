//! Sparse algebra on the device: implementation of [`SetupKernels`] for a GPU.
//!
//! A product has a symbolic phase (`pattern.rs`) and a numeric one (`product.rs`, or by matrix
//! units `tile_product.rs`); a transpose is a stable sort (`transpose.rs`). Patterns are built from
//! counts, scans and lists of rows (`counts.rs`). Coarsening is in `aggregation.rs`, `pairs.rs`,
//! `interpolation.rs` and `classical.rs`, lowering in `lowering.rs` and `slots.rs`. Only sizes
//! return to the host.

mod aggregation;
mod classical;
mod counts;
mod interpolation;
mod lowering;
mod pairs;
mod pattern;
mod product;
mod slots;
mod sparse;
mod tile_product;
mod transpose;

pub use product::GpuProductPlan;
pub use sparse::GpuSparse;

use ziggurat_sparse::device::{DeviceError, SetupKernels, SparseSize};
use ziggurat_sparse::{Csr, Real};

use crate::{Gpu, GpuMatrix};

impl SetupKernels for Gpu {
    type Sparse<T: Real> = GpuSparse<T>;
    type ProductPlan = GpuProductPlan;

    fn upload_sparse<T: Real>(&self, host: &Csr<T>) -> Result<GpuSparse<T>, DeviceError> {
        GpuSparse::upload(self, host)
    }

    fn download_sparse<T: Real>(&self, a: &GpuSparse<T>) -> Result<Csr<T>, DeviceError> {
        a.download(self)
    }

    fn size<T: Real>(&self, a: &GpuSparse<T>) -> SparseSize {
        a.size()
    }

    fn matrix<T: Real>(&self, a: &GpuSparse<T>) -> Result<GpuMatrix<T>, DeviceError> {
        a.matrix(self)
    }

    fn plan_product<T: Real>(
        &self,
        a: &GpuSparse<T>,
        b: &GpuSparse<T>,
    ) -> Result<GpuProductPlan, DeviceError> {
        GpuProductPlan::new(self, a, b)
    }

    fn product<T: Real>(
        &self,
        plan: &GpuProductPlan,
        a: &GpuSparse<T>,
        b: &GpuSparse<T>,
    ) -> Result<GpuSparse<T>, DeviceError> {
        let c = GpuSparse::uninitialised(self, plan.pattern().clone())?;
        plan.compute(self, a, b, &c)?;
        Ok(c)
    }

    fn update_product<T: Real>(
        &self,
        plan: &GpuProductPlan,
        a: &GpuSparse<T>,
        b: &GpuSparse<T>,
        c: &mut GpuSparse<T>,
    ) -> Result<(), DeviceError> {
        plan.compute(self, a, b, c)
    }

    fn transpose<T: Real>(&self, a: &GpuSparse<T>) -> Result<GpuSparse<T>, DeviceError> {
        transpose::transpose(self, a)
    }
}

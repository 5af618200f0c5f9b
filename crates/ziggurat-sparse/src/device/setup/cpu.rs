//! Sparse algebra on the CPU, by the functions of [`algebra`].

use super::{SetupKernels, SparseSize, expected, size_of_host};
use crate::algebra;
use crate::device::{Cpu, DeviceError, Kernels};
use crate::matrix::Csr;
use crate::number::Real;

impl SetupKernels for Cpu {
    type Sparse<T: Real> = Csr<T>;
    type ProductPlan = algebra::ProductPlan;

    fn upload_sparse<T: Real>(&self, host: &Csr<T>) -> Result<Csr<T>, DeviceError> {
        Ok(host.clone())
    }

    fn download_sparse<T: Real>(&self, a: &Csr<T>) -> Result<Csr<T>, DeviceError> {
        Ok(a.clone())
    }

    fn size<T: Real>(&self, a: &Csr<T>) -> SparseSize {
        size_of_host(a)
    }

    fn matrix<T: Real>(&self, a: &Csr<T>) -> Result<Self::Matrix<T>, DeviceError> {
        self.upload_matrix(a.clone().into())
    }

    fn plan_product<T: Real>(&self, a: &Csr<T>, b: &Csr<T>) -> Result<algebra::ProductPlan, DeviceError> {
        Ok(expected(algebra::ProductPlan::new(a.view(), a.all_rows(), b.view())))
    }

    fn product<T: Real>(
        &self,
        plan: &algebra::ProductPlan,
        a: &Csr<T>,
        b: &Csr<T>,
    ) -> Result<Csr<T>, DeviceError> {
        Ok(expected(plan.compute(a.view(), b.view())))
    }

    fn update_product<T: Real>(
        &self,
        plan: &algebra::ProductPlan,
        a: &Csr<T>,
        b: &Csr<T>,
        c: &mut Csr<T>,
    ) -> Result<(), DeviceError> {
        expected(plan.compute_into(a.view(), b.view(), c));
        Ok(())
    }

    fn transpose<T: Real>(&self, a: &Csr<T>) -> Result<Csr<T>, DeviceError> {
        Ok(algebra::transpose(a.view(), a.all_rows()))
    }

    fn product_once<T: Real>(&self, a: &Csr<T>, b: &Csr<T>) -> Result<Csr<T>, DeviceError> {
        Ok(expected(algebra::product(a.view(), a.all_rows(), b.view())))
    }

    fn triple_product<T: Real>(&self, r: &Csr<T>, a: &Csr<T>, p: &Csr<T>) -> Result<Csr<T>, DeviceError> {
        Ok(expected(algebra::triple_product(r.view(), r.all_rows(), a.view(), p.view())))
    }
}

//! Sparse algebra of the reference device, term by term.

use super::{SetupKernels, SparseSize, expected, size_of_host};
use crate::device::{DeviceError, Kernels, Reference};
use crate::matrix::Csr;
use crate::number::Real;

/// The oracle adds up one row of C after another in an array of all columns.
impl SetupKernels for Reference {
    type Sparse<T: Real> = Csr<T>;
    /// The columns of each row.
    type ProductPlan = Vec<Vec<u32>>;

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

    fn plan_product<T: Real>(&self, a: &Csr<T>, b: &Csr<T>) -> Result<Vec<Vec<u32>>, DeviceError> {
        assert_eq!(a.cols(), b.rows(), "columns of A, rows of B");
        let columns = |row: usize| {
            let of_b = a.row(row).0.iter().flat_map(|&j| b.row(j as usize).0);
            let mut columns: Vec<u32> = of_b.copied().collect();
            columns.sort_unstable();
            columns.dedup();
            columns
        };
        Ok((0..a.rows()).map(columns).collect())
    }

    fn product<T: Real>(&self, plan: &Vec<Vec<u32>>, a: &Csr<T>, b: &Csr<T>) -> Result<Csr<T>, DeviceError> {
        assert_eq!([plan.len(), a.cols()], [a.rows(), b.rows()], "sizes of A and B");
        let (mut row_ptr, mut values) = (vec![0], Vec::new());
        let mut sums = vec![T::zero(); b.cols()];
        for (row, columns) in plan.iter().enumerate() {
            let (of_a, a_values) = a.row(row);
            for (&j, &a_value) in of_a.iter().zip(a_values) {
                let (of_b, b_values) = b.row(j as usize);
                for (&k, &b_value) in of_b.iter().zip(b_values) {
                    sums[k as usize] += a_value * b_value;
                }
            }
            values.extend(columns.iter().map(|&k| std::mem::replace(&mut sums[k as usize], T::zero())));
            row_ptr.push(values.len());
        }
        Ok(expected(Csr::try_new(a.rows(), b.cols(), row_ptr, plan.concat(), values)))
    }

    fn update_product<T: Real>(
        &self,
        plan: &Vec<Vec<u32>>,
        a: &Csr<T>,
        b: &Csr<T>,
        c: &mut Csr<T>,
    ) -> Result<(), DeviceError> {
        *c = self.product(plan, a, b)?;
        Ok(())
    }

    fn transpose<T: Real>(&self, a: &Csr<T>) -> Result<Csr<T>, DeviceError> {
        let mut rows = vec![(Vec::new(), Vec::new()); a.cols()];
        for row in 0..a.rows() {
            let (columns, values) = a.row(row);
            for (&column, &value) in columns.iter().zip(values) {
                rows[column as usize].0.push(row as u32);
                rows[column as usize].1.push(value);
            }
        }
        let (mut row_ptr, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
        for (of_row, values_of_row) in rows {
            columns.extend(of_row);
            values.extend(values_of_row);
            row_ptr.push(columns.len());
        }
        Ok(expected(Csr::try_new(a.cols(), a.rows(), row_ptr, columns, values)))
    }
}

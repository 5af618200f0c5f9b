//! Lowering by the reference device, entry by entry, to compressed rows.

use super::{LoweringKernels, RowStep, SparseFactors, StoredSparse, expected, root_exponent};
use crate::device::{DeviceError, HostMatrix, Kernels, Reference};
use crate::matrix::Csr;
use crate::number::{Real, Store};

/// The factor of an entry.
fn factor<T: Real>(factors: SparseFactors<'_, Vec<T>>, row: usize, column: u32) -> f64 {
    let left = factors.left.map_or(1.0, |left| left[row].wide());
    let right = factors.right.map_or(1.0, |right| right[column as usize].wide());
    left * right * factors.factor
}

/// The entries of a row times their factors.
fn scaled<'a, T: Real>(
    a: &'a Csr<T>,
    row: usize,
    factors: SparseFactors<'a, Vec<T>>,
) -> impl Iterator<Item = f64> + 'a {
    let (columns, values) = a.row(row);
    columns.iter().zip(values).map(move |(&column, value)| value.wide() * factor(factors, row, column))
}

impl LoweringKernels for Reference {
    fn shares_memory_with(&self, _: &Reference) -> bool {
        true
    }

    fn steps<T: Real>(&self, a: &Csr<T>, step: RowStep) -> Result<Option<Vec<T>>, DeviceError> {
        let of_row = |row: usize| {
            let diagonal = a.get(row, row).unwrap_or(T::zero());
            let values = a.row(row).1;
            let sum = values.iter().fold(T::zero(), |sum, value| sum + value.abs());
            let squares = values.iter().fold(T::zero(), |sum, &value| sum + value * value);
            let made = match step {
                RowStep::Jacobi => T::one() / diagonal,
                RowStep::L1 => (T::one() / sum).copysign(diagonal),
                RowStep::Spai0 | RowStep::ProvedSpai0(_) => diagonal / squares,
            };
            let is_proved = match step {
                RowStep::ProvedSpai0(bound) => made > T::zero() && (made * sum).wide() <= bound,
                _ => true,
            };
            (Store::is_finite(made) && made != T::zero() && is_proved).then_some(made)
        };
        Ok((0..a.rows()).map(of_row).collect())
    }

    fn row_sizes<T: Real>(&self, a: &Csr<T>) -> Result<Vec<T>, DeviceError> {
        let size = |row: usize| {
            let diagonal = a.get(row, row).unwrap_or(T::zero()).abs();
            let largest = || a.row(row).1.iter().fold(T::zero(), |most, value| most.max(value.abs()));
            if diagonal > T::zero() { diagonal } else { largest() }
        };
        Ok((0..a.rows()).map(size).collect())
    }

    fn root_exponents<T: Real>(&self, sizes: &Vec<T>) -> Result<Vec<T>, DeviceError> {
        Ok(sizes.iter().map(|size| T::narrow(root_exponent(size.wide()).into())).collect())
    }

    fn powers_of_two<T: Real>(
        &self,
        exponents: &Vec<T>,
        (low, high): (i32, i32),
        inverse: bool,
        shift: i32,
    ) -> Result<Vec<T>, DeviceError> {
        let power = |exponent: &T| {
            let exponent = (exponent.wide() as i32).clamp(low, high);
            T::narrow(2f64.powi(if inverse { -exponent } else { exponent } + shift))
        };
        Ok(exponents.iter().map(power).collect())
    }

    fn largest_scaled<T: Real>(
        &self,
        a: &Csr<T>,
        factors: SparseFactors<'_, Vec<T>>,
    ) -> Result<f64, DeviceError> {
        let entries = (0..a.rows()).flat_map(|row| scaled(a, row, factors));
        Ok(entries.fold(0.0, |most, value| most.max(value.abs())))
    }

    fn stored<T: Real, S: Store>(
        &self,
        a: &Csr<T>,
        factors: SparseFactors<'_, Vec<T>>,
        _: usize,
    ) -> Result<StoredSparse<Self::Matrix<S>>, DeviceError> {
        let values = (0..a.rows()).flat_map(|row| scaled(a, row, factors)).map(S::narrow).collect();
        let (row_ptr, columns) = (a.row_ptr().to_vec(), a.columns().to_vec());
        let stored = HostMatrix::from(expected(Csr::try_new(a.rows(), a.cols(), row_ptr, columns, values)));
        let considered = vec![(stored.format(), stored.bytes())];
        Ok(StoredSparse { matrix: self.upload_matrix(stored)?, considered })
    }
}

//! A device that lowers matrices wrongly in one way each; the conformance suite must notice
//! (`conformance_catches.rs`).

use crate::conformance_catches::{Broken, Fault};
use ziggurat_sparse::device::{
    DeviceError, HostMatrix, LoweringKernels, Reference, RowStep, SparseFactors, StoredSparse,
};
use ziggurat_sparse::{Csr, Real, Store};

impl LoweringKernels for Broken {
    fn shares_memory_with(&self, _: &Broken) -> bool {
        true
    }

    fn steps<T: Real>(&self, a: &Csr<T>, step: RowStep) -> Result<Option<Vec<T>>, DeviceError> {
        let step = match (self.0, step) {
            (Fault::StepsAreJacobi, RowStep::L1) => RowStep::Jacobi,
            (Fault::StepsIgnoreProof, RowStep::ProvedSpai0(_)) => RowStep::Spai0,
            _ => step,
        };
        let found = Reference.steps(a, step)?;
        Ok(match self.0 {
            Fault::StepsAreAlwaysUsable => found.or_else(|| Some(vec![T::one(); a.rows()])),
            _ => found,
        })
    }

    fn row_sizes<T: Real>(&self, a: &Csr<T>) -> Result<Vec<T>, DeviceError> {
        let mut sizes = Reference.row_sizes(a)?;
        if self.0 == Fault::SizesOfDiagonalsOnly {
            for (row, size) in sizes.iter_mut().enumerate() {
                *size = a.get(row, row).unwrap_or(T::zero()).abs();
            }
        }
        Ok(sizes)
    }

    fn root_exponents<T: Real>(&self, sizes: &Vec<T>) -> Result<Vec<T>, DeviceError> {
        match self.0 {
            Fault::ExponentsAreRoundedDown => {
                let exponent = |size: &T| size.wide().log2().div_euclid(2.0);
                Ok(sizes.iter().map(|size| T::narrow(exponent(size))).collect())
            }
            _ => Reference.root_exponents(sizes),
        }
    }

    fn powers_of_two<T: Real>(
        &self,
        exponents: &Vec<T>,
        within: (i32, i32),
        inverse: bool,
        shift: i32,
    ) -> Result<Vec<T>, DeviceError> {
        match self.0 {
            Fault::PowersIgnoreBounds => Reference.powers_of_two(exponents, (-400, 400), inverse, shift),
            Fault::PowersIgnoreSign => Reference.powers_of_two(exponents, within, false, shift),
            Fault::PowersIgnoreShift => Reference.powers_of_two(exponents, within, inverse, 0),
            _ => Reference.powers_of_two(exponents, within, inverse, shift),
        }
    }

    fn largest_scaled<T: Real>(
        &self,
        a: &Csr<T>,
        factors: SparseFactors<'_, Vec<T>>,
    ) -> Result<f64, DeviceError> {
        match self.0 {
            Fault::LargestIgnoresFactors => Reference.largest_scaled(a, SparseFactors::ONE),
            _ => Reference.largest_scaled(a, factors),
        }
    }

    fn stored<T: Real, S: Store>(
        &self,
        a: &Csr<T>,
        factors: SparseFactors<'_, Vec<T>>,
        block: usize,
    ) -> Result<StoredSparse<HostMatrix<S>>, DeviceError> {
        let factors = match self.0 {
            Fault::StoredIgnoresRows => SparseFactors { left: None, ..factors },
            Fault::StoredIgnoresColumns => SparseFactors { right: None, ..factors },
            Fault::StoredIgnoresFactor => SparseFactors { factor: 1.0, ..factors },
            _ => factors,
        };
        match self.0 {
            Fault::StoredInSinglePrecision => {
                let mut a = a.clone();
                a.values_mut().iter_mut().for_each(|x| *x = T::narrow(f64::from(x.wide() as f32)));
                Reference.stored(&a, factors, block)
            }
            _ => Reference.stored(a, factors, block),
        }
    }
}

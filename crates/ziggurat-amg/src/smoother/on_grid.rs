//! The data of smoothers for the matrix of a structured grid, in one pass over it.
//!
//! Each smoother has the formula of its own file; only the way to the row sums differs, or to the
//! unknowns of a point.

use std::sync::Arc;

use rayon::prelude::*;
use ziggurat_sparse::MatrixError;
use ziggurat_sparse::grid::GridSystem;

use super::chebyshev::{ChebyshevBase, coefficients};
use super::spai0::PROVED;
use super::{ApproximateInverse, Relaxation, Smoother, SmootherData, block_jacobi};
use crate::SetupError;

impl Smoother {
    /// The smoother's data; `None` if it needs more than the sums of rows: an estimate of the
    /// spectrum, blocks of rows, or an approximate inverse.
    ///
    /// # Errors
    /// If a row has no usable diagonal entry.
    pub(crate) fn data_on_grid(&self, a: &GridSystem) -> Result<Option<SmootherData>, SetupError> {
        let one_step = || Relaxation::Recurrence(vec![(1.0, 0.0)]);
        let l1 = || a.map_rows(|diagonal, sum, _| sum.recip().copysign(diagonal));
        let (steps, relaxation) = match *self {
            Smoother::GaussSeidel { .. }
            | Smoother::FcJacobi { .. }
            | Smoother::Chebyshev { base: ChebyshevBase::Jacobi, .. }
            | Smoother::Fsai { .. }
            | Smoother::Spai { .. }
            | Smoother::Ilu0 { .. }
            | Smoother::Ilut { .. } => return Ok(None),
            Smoother::BlockJacobi { rows, omega } if (2..=rows).contains(&a.unknowns()) => {
                let factor = Arc::new(block_jacobi::inverse_of_points(a)?);
                let inverse = ApproximateInverse { factor, is_product: false, omega };
                return Ok(Some(SmootherData::Inverse(inverse)));
            }
            Smoother::BlockJacobi { .. } => return Ok(None),
            Smoother::Jacobi { omega: Some(omega) } => {
                (a.map_rows(|diagonal, _, _| omega / diagonal), one_step())
            }
            Smoother::Jacobi { omega: None } => {
                let steps = a.map_rows(|diagonal, sum, squares| {
                    let step = diagonal / squares;
                    if step > 0.0 && step * sum <= PROVED { step } else { f64::NAN }
                });
                if steps.par_iter().any(|step| step.is_nan()) {
                    return Ok(None);
                }
                (steps, one_step())
            }
            Smoother::Spai0 => (a.map_rows(|diagonal, _, squares| diagonal / squares), one_step()),
            Smoother::L1Jacobi => (l1(), one_step()),
            Smoother::Chebyshev { degree, ratio, .. } => {
                (l1(), Relaxation::Recurrence(coefficients(degree, 1.0 / ratio, 1.0)))
            }
        };
        let unusable = |step: &f64| !(step.is_finite() && *step != 0.0);
        match steps.par_iter().position_first(unusable) {
            Some(row) => {
                let value = a.diagonal()[row];
                Err(MatrixError::ZeroDiagonal { row, value }.into())
            }
            None => Ok(Some(SmootherData::Diagonal { diagonal: steps, relaxation })),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::halo::Whole;
    use ziggurat_sparse::gallery::Problem;
    use ziggurat_sparse::grid::recognise;

    #[test]
    fn the_data_are_those_of_compressed_rows() {
        for name in ["poisson3d:9", "jump3d:12", "poisson3d27:7"] {
            let a = name.parse::<Problem>().unwrap().matrix().unwrap();
            let on_grid = GridSystem::from_csr(a.view(), &recognise(a.view()).unwrap()).unwrap();
            let chebyshev = Smoother::Chebyshev { degree: 3, base: ChebyshevBase::L1Jacobi, ratio: 4.0 };
            let jacobi = [None, Some(0.7)].map(|omega| Smoother::Jacobi { omega });
            for smoother in [jacobi[0], jacobi[1], Smoother::L1Jacobi, Smoother::Spai0, chebyshev] {
                let expected = smoother.data(a.view(), &Whole::new(a.rows()), None).unwrap();
                let found = smoother.data_on_grid(&on_grid).unwrap().unwrap();
                let relaxation = |data: &SmootherData| match data {
                    SmootherData::Diagonal { relaxation, .. } => Some(relaxation.clone()),
                    _ => None,
                };
                assert_eq!(relaxation(&found), relaxation(&expected), "{name} {smoother:?}");
                assert_eq!(found.diagonal().len(), a.rows());
                for (found, expected) in found.diagonal().iter().zip(expected.diagonal()) {
                    assert!((found - expected).abs() <= 1e-14 * expected.abs(), "{name} {smoother:?}");
                }
            }
            assert_eq!(Smoother::GaussSeidel { block: 8 }.data_on_grid(&on_grid), Ok(None));
        }
        let mut zero = "poisson2d:5".parse::<Problem>().unwrap().matrix().unwrap();
        zero.values_mut().fill(0.0);
        let zero = GridSystem::from_csr(zero.view(), &recognise(zero.view()).unwrap()).unwrap();
        assert!(Smoother::L1Jacobi.data_on_grid(&zero).is_err());
    }
}

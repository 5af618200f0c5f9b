//! The data of smoothers for the matrix of a structured grid, in one pass over it.
//!
//! Each smoother has the formula of its own file; only the way to the row sums differs, or to the
//! unknowns of a point.

use std::sync::Arc;

use ziggurat_sparse::grid::GridSystem;
use ziggurat_sparse::{MatrixError, Real, Store, parallel};

use super::chebyshev::{ChebyshevBase, coefficients};
use super::spai0::PROVED;
use super::{ApproximateInverse, Relaxation, Smoother, SmootherData, block_jacobi};
use crate::SetupError;

/// Rows that are checked at a time.
const PIECE: usize = 4096;

impl Smoother {
    /// The smoother's data; `None` if it needs more than the sums of rows: an estimate of the
    /// spectrum, blocks of rows, or an approximate inverse.
    ///
    /// # Errors
    /// If a row has no usable diagonal entry.
    pub(crate) fn data_on_grid(&self, a: &GridSystem) -> Result<Option<SmootherData>, SetupError> {
        match *self {
            Smoother::BlockJacobi { rows, omega } if (2..=rows).contains(&a.unknowns()) => {
                let factor = Arc::new(block_jacobi::inverse_of_points(a)?);
                Ok(Some(SmootherData::Inverse(ApproximateInverse { factor, is_product: false, omega })))
            }
            Smoother::Jacobi { omega: None } => {
                let steps = a.map_squares(|diagonal, size, squares| {
                    let step = diagonal / squares;
                    if step > 0.0 && step * size <= PROVED { step } else { f64::NAN }
                });
                let proved = parallel::first_position(&steps, |step: &f64| step.is_nan()).is_none();
                Ok(proved.then(|| SmootherData::Diagonal { diagonal: steps, relaxation: one_step() }))
            }
            _ => {
                let steps = self.steps_on_grid(a, 1.0)?;
                Ok(steps.map(|(diagonal, relaxation)| SmootherData::Diagonal { diagonal, relaxation }))
            }
        }
    }

    /// Whether the step of a row depends on its sums alone.
    pub(crate) fn has_steps_on_grid(&self) -> bool {
        use Smoother::{Chebyshev, Jacobi, L1Jacobi, Spai0};
        matches!(
            self,
            Jacobi { omega: Some(_) } | L1Jacobi | Spai0 | Chebyshev { base: ChebyshevBase::L1Jacobi, .. }
        )
    }

    /// The step of every row times a factor, in the number that the level computes in; `None` if a
    /// step needs more than the sums of its row.
    ///
    /// # Errors
    /// If a row has no usable diagonal entry.
    #[allow(clippy::type_complexity)] // a list and a recurrence
    pub(crate) fn steps_on_grid<T: Real>(
        &self,
        a: &GridSystem,
        factor: f64,
    ) -> Result<Option<(Vec<T>, Relaxation)>, SetupError> {
        let l1 = || a.map_sizes(|diagonal, size| T::narrow(factor * size.recip().copysign(diagonal)));
        let (steps, relaxation) = match *self {
            Smoother::Jacobi { omega: Some(omega) } => {
                (a.map_sizes(|diagonal, _| T::narrow(factor * (omega / diagonal))), one_step())
            }
            Smoother::Spai0 => {
                (a.map_squares(|diagonal, _, squares| T::narrow(factor * (diagonal / squares))), one_step())
            }
            Smoother::L1Jacobi => (l1(), one_step()),
            Smoother::Chebyshev { degree, ratio, base: ChebyshevBase::L1Jacobi } => {
                (l1(), Relaxation::Recurrence(coefficients(degree, 1.0 / ratio, 1.0)))
            }
            _ => return Ok(None),
        };
        // A fold without an early exit is vectorised.
        let is_usable = |steps: &[T]| {
            let zero = T::zero();
            steps.iter().fold(true, |all, &step| all & Store::is_finite(step) & (step != zero))
        };
        let unusable = parallel::first_in_pieces(0..steps.len(), PIECE, &|mut rows| {
            if is_usable(&steps[rows.clone()]) {
                None
            } else {
                rows.find(|&row| !is_usable(&steps[row..=row]))
            }
        });
        match unusable {
            Some(row) => Err(MatrixError::ZeroDiagonal { row, value: a.diagonal()[row] }.into()),
            None => Ok(Some((steps, relaxation))),
        }
    }
}

pub(super) fn one_step() -> Relaxation {
    Relaxation::Recurrence(vec![(1.0, 0.0)])
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

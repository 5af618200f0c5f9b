//! Smoothing by a sparse approximate inverse, applied as one or two products:
//!
//! ```text
//! x ← x + ω M (b − A x),    M = F  or  M = Fᵀ F
//! ```
//!
//! F is treated like a level's matrix: lowering stores it in the level's precision, in the format
//! with the fewest bytes, on any device and on ranks. Without a given ω, lowering estimates ρ(M A)
//! with the stored matrices and takes 4 / (3ρ). Cost per sweep: one pass over the factors, and one
//! over A unless the guess is zero.

use std::sync::Arc;

use ziggurat_sparse::Csr;
use ziggurat_sparse::algebra::transpose;

/// A sparse approximate inverse.
///
/// ```
/// use ziggurat_amg::{halo::Whole, smoother::{FsaiParameters, Smoother, SmootherData}};
/// use ziggurat_sparse::gallery::Problem;
/// let a = "poisson2d:8".parse::<Problem>()?.matrix()?;
/// let smoother = Smoother::Fsai { parameters: FsaiParameters::default(), omega: None };
/// let SmootherData::Inverse(inverse) = smoother.data(a.view(), &Whole::new(64), None)? else { unreachable!() };
/// assert!(inverse.is_product && inverse.factor.rows() == 64);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ApproximateInverse {
    /// F: own rows, whose columns are the local rows.
    pub factor: Arc<Csr<f64>>,
    /// Whether M = FᵀF; otherwise M = F.
    pub is_product: bool,
    /// ω, if it is given.
    pub omega: Option<f64>,
}

impl ApproximateInverse {
    /// F, and Fᵀ if M is their product, of a matrix that is held by one process.
    pub(crate) fn factors(&self) -> (Arc<Csr<f64>>, Option<Arc<Csr<f64>>>) {
        (self.factor.clone(), self.is_product.then(|| transposed(&self.factor)))
    }

    /// The approximate inverse of Aᵀ: Mᵀ.
    pub(crate) fn transposed(self) -> ApproximateInverse {
        match self.is_product {
            true => self,
            false => ApproximateInverse { factor: transposed(&self.factor), ..self },
        }
    }
}

fn transposed(a: &Csr<f64>) -> Arc<Csr<f64>> {
    Arc::new(transpose(a.view(), a.all_rows()))
}

//! Interpolation: how a value on the coarse level becomes values on the fine one.
//!
//! Classical interpolation keeps a coarse row's value and gives a fine row i a weighted mean of coarse ones. It follows
//! from the row's own equation for smooth error, Σ_j a_ij e_j ≈ 0, where every e_j that is not coarse is replaced by
//! something that is; methods differ in the coarse rows they allow, the *interpolatory set*:
//!
//! | method | interpolatory set of row i | use it |
//! |---|---|---|
//! | [`classical_modified`] | coarse rows that i depends on | cheap, for easy problems |
//! | [`extended_i`] | and those that its fine neighbours depend on | the usual choice after PMIS |
//! | [`hybrid`] | the first, and as few of the second as join every pair of fine neighbours | between the two |
//! | [`two_stage`] | those of the coarse rows of a first splitting, by extended+i twice | after aggressive coarsening |
//! | [`multipass`] | whatever the rows it depends on are interpolated from | after aggressive coarsening, for less setup |
//!
//! Rows of the result are fine rows, columns are coarse rows as a [`Splitting`](crate::coarsen::Splitting) numbers them.
//! A coarse row is a row of the identity. A fine row that nothing can be interpolated to is empty: the smoother solves it.
//! Long rows are [truncated](Truncation) before they are stored.
//!
//! Interpolation by aggregation keeps a [near-kernel](NearKernel) instead: [`tentative`] cuts it up by
//! [`Aggregates`](crate::coarsen::Aggregates), [`smoothed`] smooths the cuts. Columns are the unknowns of aggregates, as many
//! each as the near-kernel has vectors.

mod classical_modified;
mod collapse;
mod extended_i;
mod filtered;
mod hybrid;
mod local_tentative;
mod multipass;
mod near_kernel;
mod smoothed;
mod tentative;
mod two_stage;
mod weights;

pub use classical_modified::classical_modified;
pub use extended_i::extended_i;
pub use filtered::filtered_matrix;
pub use hybrid::hybrid;
pub use local_tentative::LocalTentative;
pub use multipass::multipass;
pub use near_kernel::{NearKernel, NearKernelError};
pub use smoothed::{Scaling, Smoothing, SmoothingError, smoothed};
pub use tentative::{Tentative, tentative};
pub use two_stage::two_stage;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use ziggurat_sparse::MatrixError;
pub use ziggurat_sparse::algebra::Truncation;
use ziggurat_sparse::algebra::TruncationError;

/// Whether a_ik = a_ki may be relied on, up to rounding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Symmetry {
    /// It may: a_ki need not be looked up, which is faster.
    Symmetric,
    /// It may not. Right for any matrix.
    General,
}

/// How fine values are interpolated after aggressive coarsening.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
#[serde(rename_all = "kebab-case")]
pub enum LongRange {
    /// [`two_stage`]: fewer iterations.
    #[default]
    TwoStage,
    /// [`multipass`]: less setup.
    Multipass,
}

/// Why there is no interpolation.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum InterpolationError {
    /// Rows cannot be truncated as asked.
    #[error("truncation of interpolation: {0}")]
    Truncation(#[from] TruncationError),
    /// Matrix, strong graph, splitting and halo do not fit together.
    #[error(transparent)]
    Matrix(#[from] MatrixError),
}

#[cfg(test)]
mod tests;

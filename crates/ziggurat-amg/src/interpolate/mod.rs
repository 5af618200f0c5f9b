//! Interpolation: how values on the coarse level determine values on the fine level.
//!
//! Classical interpolation keeps the value of a coarse row and sets the value of a fine row i to a
//! weighted mean of values of coarse rows. It is derived from the equation of the row for smooth
//! error, Σ_j a_ij e_j ≈ 0, in which every e_j that is not coarse is replaced by coarse values.
//! Methods differ in the coarse rows they use, the *interpolatory set*:
//!
//! | method | interpolatory set of row i | use |
//! |---|---|---|
//! | [`classical_modified`] | coarse rows that i depends on | cheap, for easy problems |
//! | [`extended_i`] | also those that its fine neighbours depend on | the usual choice after PMIS |
//! | [`hybrid`] | the first, and as few of the second as are needed to cover every fine neighbour | a compromise between the two |
//! | [`two_stage`] | extended+i applied twice, via the coarse rows of a first splitting | after aggressive coarsening |
//! | [`multipass`] | the coarse rows from which the rows it depends on are interpolated | after aggressive coarsening, with cheaper setup |
//! | [`one_point`] | the coarse row that i depends on most | with [`ideal_restriction()`] |
//!
//! The rows of the result are the fine rows; the columns are the coarse rows as numbered by a
//! [`Splitting`](crate::coarsen::Splitting). A coarse row is a row of the identity. A fine row that
//! cannot be interpolated is empty: the smoother solves it. Long rows are [truncated](Truncation)
//! before they are stored.
//!
//! Restriction is the transpose of interpolation, except where the matrix is far from symmetric:
//! [`ideal_restriction()`] is computed from the matrix itself.
//!
//! Interpolation by aggregation preserves a [near-kernel](NearKernel) instead: [`tentative`]
//! restricts its vectors to [`Aggregates`](crate::coarsen::Aggregates), [`smoothed`] smooths the
//! result, and [`minimise_energy`] improves it further. The columns are the unknowns of the
//! aggregates; each aggregate has as many as the near-kernel has vectors.
//!
//! Where the near-kernel is not known, [`srqcg`] finds [test vectors](TestVectors) that take its
//! place, and [`bamg`] interpolates these by least squares, whatever the entries of the matrix.
//! [`filter_interpolation`] shortens the rows of the result without changing the test vectors.

mod bamg;
mod classical_modified;
mod collapse;
mod energy;
mod extended_i;
mod filtered;
mod hybrid;
mod ideal_restriction;
mod kernel_filter;
mod local_tentative;
mod maxvol;
mod multipass;
mod near_kernel;
mod one_point;
mod smoothed;
mod srqcg;
mod tentative;
mod test_vectors;
mod two_stage;
mod weights;

pub use bamg::{LeastSquares, bamg};
pub use classical_modified::classical_modified;
pub use energy::minimise_energy;
pub use extended_i::extended_i;
pub use filtered::filtered_matrix;
pub use hybrid::hybrid;
pub use ideal_restriction::ideal_restriction;
pub use kernel_filter::filter_interpolation;
pub use local_tentative::LocalTentative;
pub use multipass::multipass;
pub use near_kernel::{NearKernel, NearKernelError};
pub use one_point::one_point;
pub use smoothed::{ProlongationSmoothing, SmoothingError, SmoothingScale, smoothed};
pub use srqcg::srqcg;
pub use tentative::{Tentative, tentative};
pub use test_vectors::TestVectors;
pub use two_stage::two_stage;

use serde::{Deserialize, Serialize};
use thiserror::Error;
use ziggurat_sparse::MatrixError;
pub use ziggurat_sparse::algebra::Truncation;
use ziggurat_sparse::algebra::TruncationError;

/// Whether a_ik = a_ki can be assumed, up to rounding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Symmetry {
    /// It can: a_ki is not looked up, which is faster.
    Symmetric,
    /// It cannot. Correct for any matrix.
    General,
}

/// How fine values are interpolated from coarse ones on levels that are not coarsened aggressively.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
#[serde(rename_all = "kebab-case")]
pub enum Interpolation {
    /// Classical, modified after Henson & Yang: strong coarse neighbours only.
    ClassicalModified,
    /// Extended+i: coarse points at distance two as well.
    #[default]
    ExtendedI,
    /// Chronos's hybrid: distance two only where distance one does not suffice.
    Hybrid,
    /// The strongest coarse neighbour alone, for `air`.
    OnePoint,
}

/// Interpolation method after aggressive coarsening.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
#[serde(rename_all = "kebab-case")]
pub enum LongRange {
    /// [`two_stage`]: fewer iterations.
    #[default]
    TwoStage,
    /// [`multipass`]: cheaper setup.
    Multipass,
}

/// Why interpolation cannot be built.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum InterpolationError {
    /// The truncation parameters are invalid.
    #[error("truncation of interpolation: {0}")]
    Truncation(#[from] TruncationError),
    /// Matrix, strong graph, splitting and halo do not match.
    #[error(transparent)]
    Matrix(#[from] MatrixError),
}

#[cfg(test)]
mod tests;

//! Smoothers: cheap iterations that reduce the error components that the coarse levels cannot
//! represent.
//!
//! [`Smoother`] selects a method. [`SmootherData`] is the method applied to a matrix: data computed
//! in double precision from the full-precision matrix, which lowering rounds to the level's
//! precision and moves to a device. A cycle is symmetric, as conjugate gradients requires, if
//! post-smoothing is the adjoint of pre-smoothing. Gauss–Seidel reverses its direction; the others
//! are self-adjoint where the matrix is symmetric, except for SPAI, whose cycles are not symmetric.
//!
//! Pointwise smoothers multiply residuals by a diagonal. Approximate inverses multiply them by one
//! or two sparse matrices (`approximate_inverse.rs`), and incomplete factors are solved with; both
//! cost more per sweep and remove more of the error.

mod approximate_inverse;
mod block_jacobi;
mod chebyshev;
mod cholesky;
mod fc_jacobi;
mod fsai;
mod gauss_seidel;
mod ilu0;
mod ilut;
mod jacobi;
mod l1_jacobi;
pub(crate) mod on_device;
mod on_grid;
mod spai;
mod spai0;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use ziggurat_sparse::{Csr, CsrRef, MatrixError, choice};

use crate::empty_rows::Filled;
use crate::halo::Processes;
use crate::spectral_radius::spectral_radius;
use crate::{OutOfRange, SetupError};

pub use approximate_inverse::ApproximateInverse;
pub use block_jacobi::MAX_BLOCK;
pub(crate) use block_jacobi::inverse_of_nodes;
pub use chebyshev::ChebyshevBase;
pub use fsai::FsaiParameters;
pub use gauss_seidel::DEFAULT_BLOCK;
pub use ilu0::IncompleteFactors;
pub use ilut::IlutParameters;
pub use spai::SpaiParameters;

/// The available smoothers.
///
/// ```
/// use ziggurat_amg::smoother::Smoother;
/// assert_eq!(Smoother::default(), Smoother::Jacobi { omega: None });
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Smoother {
    /// x ← x + ω D⁻¹(b − A x). Without `omega`, ω = 1.6 / ρ(D⁻¹A), or the ω of SPAI-0 on a level
    /// where ρ is not known and the rows are dominated by their diagonal.
    Jacobi {
        /// The damping factor ω.
        omega: Option<f64>,
    },
    /// x ← x + D₁⁻¹(b − A x), D₁ = diag(Σ_j |a_ij|). Converges for every symmetric positive
    /// definite matrix.
    L1Jacobi,
    /// x ← x + M(b − A x) with the diagonal M that minimises ‖I − M A‖_F.
    Spai0,
    /// The Chebyshev polynomial of D⁻¹A (or D₁⁻¹A) that is smallest on the upper part of the
    /// spectrum.
    Chebyshev {
        /// The degree: passes over the matrix per sweep.
        degree: usize,
        /// The diagonal it is built on.
        base: ChebyshevBase,
        /// λmax / λmin of the damped part of the spectrum.
        ratio: f64,
    },
    /// Jacobi of the fine rows, twice, and of the coarse ones, once; in post-smoothing the fine
    /// rows first. For levels that keep rows of the level above.
    FcJacobi {
        /// The damping factor ω; without it, one.
        omega: Option<f64>,
    },
    /// Gauss–Seidel within blocks of rows, Jacobi between blocks; forward in pre-smoothing,
    /// backward in post-smoothing.
    GaussSeidel {
        /// Rows per block.
        block: usize,
    },
    /// Factorised sparse approximate inverse of a symmetric positive definite matrix: x ← x +
    /// ω GᵀG(b − A x).
    Fsai {
        /// How the pattern of G is found.
        parameters: FsaiParameters,
        /// The damping factor ω; without it, 4 / (3 ρ(GᵀG A)).
        omega: Option<f64>,
    },
    /// Sparse approximate inverse of any matrix: x ← x + ω M (b − A x), where every row of M is a
    /// least-squares solution.
    Spai {
        /// How many entries a row of M has.
        parameters: SpaiParameters,
        /// The damping factor ω; without it, one.
        omega: Option<f64>,
    },
    /// Incomplete LU factors without fill, within blocks of rows.
    Ilu0 {
        /// Rows per block.
        block: usize,
        /// Rows of a node, whose diagonal block is treated as one pivot.
        node_rows: usize,
        /// The damping factor; without it, chosen by the spectral radius.
        omega: Option<f64>,
    },
    /// Incomplete LU factors with fill, within blocks of rows.
    Ilut {
        /// Rows per block.
        block: usize,
        /// Which entries are kept.
        parameters: IlutParameters,
        /// The damping factor; without it, chosen by the spectral radius.
        omega: Option<f64>,
    },
    /// The inverses of diagonal blocks.
    BlockJacobi {
        /// The most rows of a block.
        rows: usize,
        /// The damping factor; without it, chosen by the spectral radius.
        omega: Option<f64>,
    },
}

impl Default for Smoother {
    fn default() -> Self {
        Smoother::Jacobi { omega: None }
    }
}

choice! {
    /// Smoothers by name.
    ///
    /// ```
    /// use ziggurat_amg::smoother::SmootherKind;
    /// assert_eq!("gauss-seidel".parse(), Ok(SmootherKind::GaussSeidel));
    /// ```
    SmootherKind, "smoother":
    /// Chosen by the method and the matrix.
    Auto = "auto",
    /// Damped Jacobi.
    Jacobi = "jacobi",
    /// ℓ1-Jacobi: converges for every symmetric positive definite matrix.
    L1Jacobi = "l1-jacobi",
    /// The best diagonal approximation of the inverse.
    Spai0 = "spai0",
    /// A Chebyshev polynomial on the matrix's diagonal.
    Chebyshev = "chebyshev",
    /// A Chebyshev polynomial on the ℓ1 diagonal, without an estimate of the spectrum.
    L1Chebyshev = "l1-chebyshev",
    /// Jacobi of fine rows, then of coarse ones, for `air` and `classical`.
    FcJacobi = "fc-jacobi",
    /// Gauss–Seidel within blocks of rows, Jacobi between them.
    GaussSeidel = "gauss-seidel",
    /// Factorised sparse approximate inverse, for symmetric positive definite matrices.
    Fsai = "fsai",
    /// Sparse approximate inverse with about the pattern of the matrix, which needs no symmetry.
    Spai = "spai",
    /// Incomplete LU factors without fill; incomplete Cholesky for symmetric matrices.
    Ilu0 = "ilu0",
    /// Incomplete LU factors with fill; incomplete Cholesky for symmetric matrices.
    Ilut = "ilut",
    /// Inverses of diagonal blocks.
    BlockJacobi = "block-jacobi",
}

/// The largest degree of a Chebyshev polynomial. Each is a pass over the matrix in every sweep, and
/// beyond a few dozen a coarse level removes the error at less cost.
const MAX_DEGREE: usize = 1000;

/// A smoother and its parameters, as a configuration gives them. Each smoother reads those it has.
///
/// ```
/// use ziggurat_amg::smoother::{Smoother, SmootherKind, SmootherParameters};
/// let parameters = SmootherParameters { kind: SmootherKind::Spai0, ..SmootherParameters::default() };
/// assert_eq!(parameters.smoother(), Smoother::Spai0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SmootherParameters {
    /// The smoother.
    pub kind: SmootherKind,
    /// Damping of Jacobi and of approximate inverses; without it, chosen by ρ(M A) or by rows.
    pub omega: Option<f64>,
    /// Degree of the Chebyshev polynomial: passes over the matrix per sweep.
    pub degree: usize,
    /// λmax / λmin of the part of the spectrum that Chebyshev damps.
    pub ratio: f64,
    /// Rows per block of Gauss–Seidel, ILU(0) and ILUT.
    pub block: usize,
    /// The most rows of a block of block Jacobi.
    pub block_rows: usize,
    /// Rows of a node, whose diagonal block ILU(0) treats as one pivot; without it, one.
    pub node_rows: Option<usize>,
    /// The pattern of FSAI.
    pub fsai: FsaiParameters,
    /// The entries of SPAI.
    pub spai: SpaiParameters,
    /// The entries of ILUT.
    pub ilut: IlutParameters,
}

impl Default for SmootherParameters {
    fn default() -> Self {
        SmootherParameters {
            kind: SmootherKind::default(),
            omega: None,
            degree: 2,
            ratio: 4.0,
            block: DEFAULT_BLOCK,
            block_rows: MAX_BLOCK,
            node_rows: None,
            fsai: FsaiParameters::default(),
            spai: SpaiParameters::default(),
            ilut: IlutParameters::default(),
        }
    }
}

impl SmootherParameters {
    /// Checks that every parameter is in its range.
    ///
    /// ```
    /// use ziggurat_amg::smoother::SmootherParameters;
    /// let error = SmootherParameters { degree: 0, ..SmootherParameters::default() }.check().unwrap_err();
    /// assert_eq!(error.to_string(), "`degree` is 0; it must be from 1 to 1000");
    /// ```
    ///
    /// # Errors
    /// The first that is not.
    pub fn check(&self) -> Result<(), OutOfRange> {
        let SmootherParameters {
            omega, degree, ratio, block, block_rows, node_rows, fsai, spai, ilut, ..
        } = *self;
        if let Some(omega) = omega {
            OutOfRange::unless("omega", omega, omega.is_finite() && omega > 0.0, "finite and positive")?;
        }
        OutOfRange::unless_in("degree", degree, 1..=MAX_DEGREE)?;
        OutOfRange::unless("ratio", ratio, ratio.is_finite() && ratio > 1.0, "finite and above 1")?;
        OutOfRange::unless_in("block", block, 1..=u32::MAX as usize)?;
        OutOfRange::unless_in("block_rows", block_rows, 1..=MAX_BLOCK)?;
        OutOfRange::unless_in("node_rows", node_rows.unwrap_or(1), 1..=MAX_BLOCK)?;
        fsai.check().map_err(|error| error.within("fsai"))?;
        spai.check().map_err(|error| error.within("spai"))?;
        ilut.check().map_err(|error| error.within("ilut"))
    }

    /// The smoother with its parameters; `auto` counts as Jacobi.
    pub fn smoother(&self) -> Smoother {
        let SmootherParameters { kind, omega, degree, ratio, block, .. } = *self;
        let SmootherParameters { block_rows, node_rows, fsai, spai, ilut, .. } = *self;
        let chebyshev = |base| Smoother::Chebyshev { degree, base, ratio };
        match kind {
            SmootherKind::Auto | SmootherKind::Jacobi => Smoother::Jacobi { omega },
            SmootherKind::L1Jacobi => Smoother::L1Jacobi,
            SmootherKind::Spai0 => Smoother::Spai0,
            SmootherKind::Chebyshev => chebyshev(ChebyshevBase::Jacobi),
            SmootherKind::L1Chebyshev => chebyshev(ChebyshevBase::L1Jacobi),
            SmootherKind::FcJacobi => Smoother::FcJacobi { omega },
            SmootherKind::GaussSeidel => Smoother::GaussSeidel { block },
            SmootherKind::Fsai => Smoother::Fsai { parameters: fsai, omega },
            SmootherKind::Spai => Smoother::Spai { parameters: spai, omega },
            SmootherKind::Ilu0 => Smoother::Ilu0 { block, node_rows: node_rows.unwrap_or(1), omega },
            SmootherKind::Ilut => Smoother::Ilut { block, parameters: ilut, omega },
            SmootherKind::BlockJacobi => Smoother::BlockJacobi { rows: block_rows, omega },
        }
    }
}

/// The run-time data of a smoother, in double precision.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum SmootherData {
    /// A diagonal that residuals are multiplied by.
    Diagonal {
        /// The diagonal.
        diagonal: Vec<f64>,
        /// The operation that uses it.
        relaxation: Relaxation,
    },
    /// A diagonal that residuals of fine and of coarse rows are multiplied by in turn.
    FineCoarse(Vec<f64>),
    /// Sparse matrices that residuals are multiplied by.
    Inverse(ApproximateInverse),
    /// Triangular factors that residuals are solved with.
    Factors(IncompleteFactors),
}

impl SmootherData {
    /// The diagonal of a pointwise smoother; empty for others.
    pub fn diagonal(&self) -> &[f64] {
        match self {
            SmootherData::Diagonal { diagonal, .. } | SmootherData::FineCoarse(diagonal) => diagonal,
            SmootherData::Inverse(_) | SmootherData::Factors(_) => &[],
        }
    }

    /// One step with this diagonal.
    fn one_step(diagonal: Vec<f64>) -> Self {
        SmootherData::Diagonal { diagonal, relaxation: Relaxation::Recurrence(vec![(1.0, 0.0)]) }
    }

    /// M = F, or M = FᵀF.
    fn inverse(factor: Csr<f64>, is_product: bool, omega: Option<f64>) -> Self {
        SmootherData::Inverse(ApproximateInverse { factor: Arc::new(factor), is_product, omega })
    }
}

/// The two ways to apply a diagonal.
#[derive(Clone, Debug, PartialEq)]
pub enum Relaxation {
    /// One step per pair (ω_k, β_k): x_{k+1} = x_k + ω_k d∘(b − A x_k) + β_k (x_k − x_{k−1}).
    Recurrence(Vec<(f64, f64)>),
    /// Gauss–Seidel within blocks of rows.
    GaussSeidel {
        /// Rows per block.
        block: usize,
    },
}

impl Smoother {
    /// Computes the smoother's data for the owned rows of a square matrix whose columns are the
    /// local rows of `halo`. It costs one pass over the rows, or about ten if the spectrum must be
    /// estimated; approximate inverses cost more. `radius` is ρ(D⁻¹A) if it is already known.
    /// Rows of other processes within [`depth`](Self::depth) connections must be present.
    /// Collective.
    ///
    /// ```
    /// use ziggurat_amg::{halo::Whole, smoother::Smoother};
    /// use ziggurat_sparse::gallery::Problem;
    /// let a = "poisson2d:8".parse::<Problem>()?.matrix()?;
    /// let data = Smoother::L1Jacobi.data(a.view(), &Whole::new(64), None)?;
    /// assert_eq!(data.diagonal()[27], 1.0 / 8.0); // 4 + 1 + 1 + 1 + 1
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If a row has entries, but no usable one on the diagonal, or the matrix does not have the
    /// owned rows.
    pub fn data<H: Processes>(
        &self,
        a: CsrRef<'_, f64>,
        halo: &H,
        radius: Option<f64>,
    ) -> Result<SmootherData, SetupError> {
        let rows = halo.owned();
        if rows.end > a.rows() {
            let what = "rows of the matrix to be smoothed";
            return Err(MatrixError::Mismatch { what, expected: rows.end, found: a.rows() }.into());
        }
        let filled = Filled::of(a, halo)?;
        let a = filled.view();
        if matches!(self, Smoother::Jacobi { omega: None }) && radius.is_none() {
            let proved = spai0::proved_diagonal(a, rows.clone());
            let everywhere = !halo.any(proved.is_none());
            if let Some(diagonal) = proved.filter(|_| everywhere) {
                return Ok(SmootherData::one_step(diagonal));
            }
        }
        // The estimate is collective, so it precedes everything that may fail on one process alone.
        let radius = match radius {
            None if self.needs_radius() => Some(spectral_radius(a, halo)?),
            radius => radius,
        };
        // The radius of an empty matrix is zero. Smoothers that do not need a radius do not read
        // it.
        let radius = radius.filter(|&radius| radius > 0.0).unwrap_or(1.0);
        match *self {
            Smoother::Jacobi { omega } => {
                Ok(SmootherData::one_step(jacobi::diagonal(a, rows, omega, radius)?))
            }
            Smoother::L1Jacobi => Ok(SmootherData::one_step(l1_jacobi::diagonal(a, rows)?)),
            Smoother::Spai0 => Ok(SmootherData::one_step(spai0::diagonal(a, rows)?)),
            Smoother::Chebyshev { degree, base, ratio } => {
                chebyshev::data(a, rows, degree, base, ratio, radius)
            }
            Smoother::FcJacobi { omega } => fc_jacobi::data(a, rows, omega),
            Smoother::GaussSeidel { block } => {
                let relaxation = Relaxation::GaussSeidel { block };
                Ok(SmootherData::Diagonal { diagonal: gauss_seidel::diagonal(a, rows, block)?, relaxation })
            }
            Smoother::Fsai { parameters, omega } => {
                Ok(SmootherData::inverse(fsai::factor(a, rows, &parameters)?, true, omega))
            }
            Smoother::Spai { parameters, omega } => {
                let omega = Some(omega.unwrap_or(1.0)); // the eigenvalues of M A are around one
                Ok(SmootherData::inverse(spai::inverse(a, rows, parameters)?, false, omega))
            }
            Smoother::Ilu0 { block, node_rows, omega } => {
                Ok(SmootherData::Factors(ilu0::factorise_nodes(a, rows, [block, node_rows], omega)?))
            }
            Smoother::Ilut { block, parameters, omega } => {
                let block = block.max(1);
                let factors =
                    ilu0::factorise(a, rows, block, omega, &|a, rows, shift, scratch: &mut ilut::Scratch| {
                        ilut::factorise(a, rows, shift, &parameters, scratch)
                    });
                Ok(SmootherData::Factors(factors?))
            }
            Smoother::BlockJacobi { rows, omega } => {
                Ok(SmootherData::inverse(block_jacobi::inverse(a, halo, rows)?, false, omega))
            }
        }
    }

    /// How many connections beyond its own rows a process must know to compute the data.
    pub fn depth(&self) -> usize {
        match self {
            Smoother::Fsai { parameters, .. } => parameters.depth(),
            Smoother::Spai { .. } => spai::DEPTH,
            _ => 0,
        }
    }

    /// Rows that are treated together. The rows of a process must begin at a multiple of it, so
    /// that results do not depend on the number of processes.
    pub fn rows_together(&self) -> usize {
        match *self {
            Smoother::GaussSeidel { block } | Smoother::Ilut { block, .. } => block.max(1),
            Smoother::Ilu0 { block, node_rows, .. } => ilu0::whole_nodes(block, node_rows),
            _ => 1,
        }
    }

    /// Whether post-smoothing takes the steps of pre-smoothing in reverse order, which makes both
    /// together self-adjoint for a symmetric matrix. Other smoothers repeat pre-smoothing.
    pub(crate) fn reverses(&self) -> bool {
        matches!(self, Smoother::GaussSeidel { .. } | Smoother::FcJacobi { .. })
    }

    /// Whether the step size depends on ρ(D⁻¹A).
    fn needs_radius(&self) -> bool {
        matches!(
            self,
            Smoother::Jacobi { omega: None } | Smoother::Chebyshev { base: ChebyshevBase::Jacobi, .. }
        )
    }
}

#[cfg(test)]
mod tests;

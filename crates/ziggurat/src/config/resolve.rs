//! What `auto` means for a matrix.
//!
//! | choice | where | becomes | because |
//! |---|---|---|---|
//! | method | symmetric | `sa` | few entries on coarse levels, and the near-kernel is kept |
//! | | else | `classical` | its interpolation follows the row, whatever the column says |
//! | smoother | classical, or not symmetric | `gauss-seidel` | goes along with convection; Jacobi needs a damping that only a symmetric spectrum gives safely |
//! | | several unknowns per node | `chebyshev` | D⁻¹A of a coupled system has a wide spectrum, of which one damped Jacobi step removes little |
//! | | else | `jacobi` | the cheapest, and enough |
//! | cycle | pairwise | `k` | plain aggregation loses speed with every level of a V-cycle |
//! | | else | `v` | the cheapest |
//! | krylov | symmetric, positive diagonal; symmetric cycle | `cg` | the cheapest |
//! | | symmetric, positive diagonal; another cycle | `fcg` | the preconditioner is not the same operator in every step |
//! | | else | `fgmres` | needs nothing of matrix or cycle |
//! | precision | Gauss–Seidel | `f64` | its levels are stored by rows, where 16 bits save little time |
//! | | not symmetric, or without a positive diagonal | `f64` | nothing says how a cycle bears rounding there |
//! | | few entries | `f64` | all of it stays in the caches: nothing to gain |
//! | | else | `f16` | a quarter of the bytes; and the solve watches it, and goes back to `f64` where it is slow |
//! | | `f64` on a device without it | `f32` | the outer iteration is in `f64` all the same, on the host |

use super::{CycleKind, Krylov, Method, Precision, SmootherKind, SolverConfig};

/// What decides about `auto`.
///
/// ```
/// use ziggurat::config::Facts;
/// let facts = Facts { symmetric: true, positive_diagonal: true, block: 3, nnz: 1000, f64: true };
/// assert_eq!(ziggurat::SolverConfig::default().resolve(facts).smoother.kind.name(), "chebyshev");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// a_ij = a_ji, but for rounding.
    pub symmetric: bool,
    /// Every diagonal entry is positive.
    pub positive_diagonal: bool,
    /// Unknowns per node.
    pub block: usize,
    /// Entries.
    pub nnz: usize,
    /// Whether the device computes in double precision.
    pub f64: bool,
}

/// Entries from which on narrow levels are worth making: some megabytes.
const WORTH_NARROWING: usize = 200_000;

impl SolverConfig {
    /// The same with nothing left to be chosen:
    ///
    /// - method: `sa` if symmetric, else `classical`;
    /// - smoother: `gauss-seidel` with `classical` or if not symmetric, else `chebyshev` with several unknowns per node,
    ///   else `jacobi`;
    /// - cycle: `k` with `pairwise`, else `v`;
    /// - krylov: `cg` if symmetric with a positive diagonal and a symmetric cycle, `fcg` with another cycle, else `fgmres`;
    /// - precision: `f16` if symmetric with a positive diagonal, with another smoother than Gauss–Seidel, and large; else `f64`. What is `f64`,
    ///   chosen or given, is `f32` on a device without it.
    ///
    /// ```
    /// use ziggurat::{SolverConfig, config::{Facts, Method}};
    /// let convection = Facts { symmetric: false, positive_diagonal: true, block: 1, nnz: 1000, f64: true };
    /// let config = SolverConfig::default().resolve(convection);
    /// assert_eq!((config.method, config.krylov.name()), (Method::Classical, "fgmres"));
    /// ```
    #[must_use]
    pub fn resolve(&self, facts: Facts) -> SolverConfig {
        let mut config = self.clone();
        if config.method == Method::Auto {
            config.method = if facts.symmetric { Method::Sa } else { Method::Classical };
        }
        if config.smoother.kind == SmootherKind::Auto {
            config.smoother.kind = match config.method {
                Method::Classical => SmootherKind::GaussSeidel,
                _ if !facts.symmetric => SmootherKind::GaussSeidel,
                Method::Sa if facts.block > 1 => SmootherKind::Chebyshev,
                _ => SmootherKind::Jacobi,
            };
        }
        if config.cycle.kind == CycleKind::Auto {
            config.cycle.kind = if config.method == Method::Pairwise { CycleKind::K } else { CycleKind::V };
        }
        if config.precision == Precision::Auto {
            let narrow = facts.symmetric
                && facts.positive_diagonal
                && facts.nnz >= WORTH_NARROWING
                && config.smoother.kind != SmootherKind::GaussSeidel;
            config.precision = if narrow { Precision::F16 } else { Precision::F64 };
        }
        if !facts.f64 {
            config.precision = config.precision.without_f64();
        }
        if config.krylov == Krylov::Auto {
            let cycling = config.cycling();
            let balanced = cycling.cycle.is_symmetric() && cycling.pre_sweeps == cycling.post_sweeps;
            config.krylov = match (facts.symmetric && facts.positive_diagonal, balanced) {
                (true, true) => Krylov::Cg,
                (true, false) => Krylov::Fcg,
                (false, _) => Krylov::Fgmres,
            };
        }
        config
    }
}

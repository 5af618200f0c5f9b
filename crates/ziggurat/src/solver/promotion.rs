//! Changes of a preconditioner that is too weak, and their causes.

use std::fmt;

use serde::{Serialize, Serializer};
use ziggurat_amg::Multigrid;
use ziggurat_krylov::StopReason;
use ziggurat_sparse::Kind;
use ziggurat_sparse::words::counted;

use super::SolveError;
use crate::config::{Precision, SmootherKind};

/// A change to a stronger preconditioner during a solve, and its cause.
///
/// ```
/// use ziggurat::{Solver, SolverConfig};
/// use ziggurat_sparse::gallery::Problem;
/// let a = "poisson3d:12".parse::<Problem>()?.matrix()?;
/// let solution = Solver::new(&a, SolverConfig::default())?.solve(&vec![1.0; a.rows()])?;
/// assert_eq!(solution.promotion, None); // nothing was wrong
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Promotion {
    /// The precision before.
    pub from: Precision,
    /// The preconditioner after it: levels in `f32` if rounding was slow, in `f64` after a failure
    /// (`f32` on a device without `f64`), a stronger smoother, and factors if that was not enough.
    pub to: Stronger,
    /// Number of iterations before this change.
    pub after: usize,
    /// The cause of this change.
    pub why: Fault,
    /// The change before this one in the same solve.
    pub earlier: Option<Box<Promotion>>,
}

impl Promotion {
    /// The first change of the solve.
    pub fn first(&self) -> &Promotion {
        self.earlier.as_ref().map_or(self, |earlier| earlier.first())
    }

    /// Whether the solve has changed to sparse factors.
    pub fn is_to_factors(&self) -> bool {
        self.to == Stronger::Factors
    }
}

/// A stronger preconditioner.
///
/// ```
/// use ziggurat::Stronger;
/// use ziggurat::sparse::Kind;
/// assert_eq!(Stronger::Levels(Kind::F32).to_string(), "f32");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stronger {
    /// The same levels in another number type.
    Levels(Kind),
    /// A stronger smoother: FSAI on the same levels if the matrix is symmetric with a positive
    /// diagonal, else ILU(0) on the levels of smoothed aggregation.
    Smoother(SmootherKind),
    /// Sparse factors of the matrix.
    Factors,
}

impl fmt::Display for Stronger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stronger::Levels(kind) => write!(f, "{kind}"),
            Stronger::Smoother(SmootherKind::Fsai) => f.pad("fsai smoothing"),
            Stronger::Smoother(smoother) => write!(f, "smoothed aggregation with {smoother} smoothing"),
            Stronger::Factors => f.pad("sparse factors"),
        }
    }
}

impl Serialize for Stronger {
    /// As its text.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Why the preconditioner was changed.
///
/// ```
/// use ziggurat::{Fault, krylov::StopReason};
/// assert_ne!(Fault::Failed(StopReason::Breakdown), Fault::TooSlow(0.99));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Fault {
    /// Convergence was slow, and the same cycle in single precision reduces the error by more: the
    /// average factor of the residual per iteration.
    RoundingSlows(f64),
    /// Too many more iterations are to be expected: the average factor of the residual per
    /// iteration.
    TooSlow(f64),
    /// The iteration stopped without converging.
    Failed(StopReason),
}

impl fmt::Display for Promotion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(earlier) = &self.earlier {
            write!(f, "{earlier}; then ")?;
        }
        let (from, to, after) = (&self.from, self.to, counted(self.after, "iteration"));
        match to {
            Stronger::Levels(_) => write!(f, "levels changed from {from} to {to}")?,
            Stronger::Smoother(SmootherKind::Fsai) => write!(f, "changed to {to}")?,
            Stronger::Smoother(_) | Stronger::Factors => write!(f, "changed from multigrid to {to}")?,
        }
        write!(f, " after {after}: ")?;
        match self.why {
            Fault::RoundingSlows(rate) => {
                write!(f, "rounding slows convergence (residual factor {rate:.2} per iteration)")
            }
            Fault::TooSlow(rate) => {
                write!(f, "convergence is too slow (residual factor {rate:.2} per iteration)")
            }
            Fault::Failed(reason) => write!(f, "the iteration stopped ({})", reason.name()),
        }
    }
}

/// Makes a stronger preconditioner; `None` if there is none, because the factors do not fit or the
/// matrix is distributed over processes. A smoother is made in the number type that is given, else
/// in the precision of the levels.
///
/// ```
/// use ziggurat::{Raise, Stronger};
/// let nothing: &Raise<'_> = &|_, _| Ok(None); // a solver with nothing stronger
/// assert!(nothing(Stronger::Factors, None)?.is_none());
/// # Ok::<(), ziggurat::SolveError>(())
/// ```
pub type Raise<'a> = dyn Fn(Stronger, Option<Kind>) -> Result<Option<Multigrid>, SolveError> + Sync + 'a;

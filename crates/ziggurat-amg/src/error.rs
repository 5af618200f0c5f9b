//! Errors of hierarchy construction and lowering.

use thiserror::Error;
use ziggurat_sparse::MatrixError;
use ziggurat_sparse::device::DeviceError;
use ziggurat_sparse::spectrum::SpectrumError;
use ziggurat_sparse::words::counted;

/// Why a hierarchy could not be built or moved to a device.
///
/// ```
/// use ziggurat_amg::{SetupError, halo::Whole, smoother::Smoother};
/// use ziggurat_sparse::Csr;
/// let a = Csr::try_new(2, 2, vec![0, 1, 2], vec![0, 0], vec![1.0, 1.0])?;
/// let error = Smoother::default().data(a.view(), &Whole::new(a.rows()), None).unwrap_err();
/// assert!(error.to_string().starts_with("row 1: the diagonal entry is 0"));
/// # Ok::<(), ziggurat_sparse::MatrixError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum SetupError {
    /// The matrix is invalid.
    #[error(transparent)]
    Matrix(#[from] MatrixError),
    /// The spectrum of a level could not be bounded.
    #[error(transparent)]
    Spectrum(#[from] SpectrumError),
    /// The strong connections could not be found.
    #[error(transparent)]
    Strength(#[from] crate::strength::StrengthError),
    /// Interpolation could not be formed.
    #[error(transparent)]
    Interpolation(#[from] crate::interpolate::InterpolationError),
    /// The near-kernel is invalid.
    #[error(transparent)]
    NearKernel(#[from] crate::interpolate::NearKernelError),
    /// The interpolation could not be smoothed.
    #[error(transparent)]
    Smoothing(#[from] crate::interpolate::SmoothingError),
    /// The matrix does not come from a structured grid.
    #[error("the matrix is not that of a structured grid in natural order: {0}; choose another method")]
    NotAGrid(#[from] ziggurat_sparse::grid::NotAGrid),
    /// The matrix has no cells with a pressure.
    #[error(
        "no cells with one pressure each are known in the matrix; state `cpr.unknowns` per cell and \
         `cpr.pressure`, or choose another method"
    )]
    NoCells,
    /// The device failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The levels cannot be made on a device.
    #[error("setup on the device is not possible: {reason}; set up on the host")]
    NotOnDevice {
        /// The capability that the device lacks.
        reason: &'static str,
    },
    /// The coarsest matrix could not be factorised.
    #[error("the coarsest matrix ({}) cannot be factorised: {reason}", counted(*rows, "row"))]
    CoarseSolve {
        /// The number of rows.
        rows: usize,
        /// The message of the factorisation.
        reason: String,
    },
    /// The time limit was reached.
    #[error("the time limit of {limit} s was reached; raise `stopping.max_seconds`")]
    TimeLimit {
        /// The limit in seconds.
        limit: f64,
    },
    /// A step is expected to exceed the time limit.
    #[error(
        "it is expected to take {expected:.1} s, and the time limit of {limit} s leaves {left:.1} s; raise \
         `stopping.max_seconds`"
    )]
    TooLong {
        /// The seconds that the step is expected to take.
        expected: f64,
        /// The seconds left of the limit.
        left: f64,
        /// The limit in seconds.
        limit: f64,
    },
    /// Setup was [cancelled](crate::Cancel).
    #[error("interrupted on request")]
    Interrupted,
    /// A diagonal entry is zero, and this says what else to try.
    #[error("{source}; {advice}")]
    ZeroDiagonal {
        /// The level, the stage and the row.
        source: Box<SetupError>,
        /// The remedy, or why there is none.
        advice: String,
    },
    /// Another process failed.
    #[error("rank {rank}: {message}")]
    Elsewhere {
        /// The rank of that process.
        rank: usize,
        /// Its error.
        message: String,
    },
    /// The rows of a level could not be distributed over processes.
    #[error("the level cannot be distributed over processes: {reason}")]
    Distribution {
        /// The reason.
        reason: String,
    },
    /// An error on one level, in one stage.
    #[error("level {level}, {stage}: {source}")]
    Level {
        /// The level; 0 is the finest.
        level: usize,
        /// The stage of setup.
        stage: &'static str,
        /// The error in that stage.
        source: Box<SetupError>,
    },
}

impl SetupError {
    /// Renames rows of the matrix, for example from local numbers to global ids.
    #[must_use]
    pub fn with_rows(self, id: impl Fn(usize) -> u64) -> Self {
        let id = |row: usize| id(row) as usize;
        match self {
            SetupError::Matrix(MatrixError::ZeroDiagonal { row, value }) => {
                MatrixError::ZeroDiagonal { row: id(row), value }.into()
            }
            SetupError::Matrix(MatrixError::NotFinite { row, column, value }) => {
                MatrixError::NotFinite { row: id(row), column: id(column), value }.into()
            }
            error => error,
        }
    }

    /// The error without the level and the stage, and without advice.
    ///
    /// ```
    /// use ziggurat_amg::SetupError;
    /// let cause = SetupError::CoarseSolve { rows: 3, reason: "it is singular".into() };
    /// let error = SetupError::Level { level: 2, stage: "direct solve", source: Box::new(cause.clone()) };
    /// assert_eq!(error.cause(), &cause);
    /// ```
    pub fn cause(&self) -> &SetupError {
        match self {
            SetupError::Level { source, .. } | SetupError::ZeroDiagonal { source, .. } => source.cause(),
            error => error,
        }
    }

    /// Whether setup has stopped at a limit or on request, and not because it is not possible.
    ///
    /// ```
    /// use ziggurat_amg::SetupError;
    /// assert!(SetupError::Interrupted.is_cancelled() && !SetupError::NoCells.is_cancelled());
    /// ```
    pub fn is_cancelled(&self) -> bool {
        let cause = self.cause();
        matches!(cause, SetupError::TimeLimit { .. } | SetupError::TooLong { .. } | SetupError::Interrupted)
    }

    /// Adds the level and the stage to an error.
    pub(crate) fn at(level: usize, stage: &'static str) -> impl FnOnce(SetupError) -> SetupError {
        move |source| SetupError::Level { level, stage, source: Box::new(source) }
    }
}

//! The status and the sentence that a call ends with.

use std::any::Any;
use std::ffi::c_int;
use std::fmt;

use ziggurat::SolveError;
use ziggurat::amg::{HierarchyFileError, SetupError};
use ziggurat::config::ConfigError;
use ziggurat::sparse::MatrixError;
use ziggurat::sparse::device::DeviceError;

/// The return value of a call, with the same numbers as in the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Status {
    /// Done; a solve has converged.
    Ok = 0,
    /// An argument is wrong.
    Argument = 1,
    /// A solve has not converged.
    NotConverged = 2,
    /// The call comes too early: there is no matrix yet.
    Order = 3,
    /// Setup is not possible for this matrix.
    Setup = 4,
    /// Another thread is using the solver, or a callback of the solver is running.
    Busy = 5,
    /// A file cannot be read or written.
    File = 6,
    /// A fault of the library.
    Internal = 7,
}

/// Why a call fails, for the status and the error text.
#[derive(Debug)]
pub struct Failure {
    /// The status.
    pub status: Status,
    /// The sentence.
    pub text: String,
}

impl Failure {
    /// A failure with this sentence.
    pub fn new(status: Status, text: impl Into<String>) -> Self {
        Failure { status, text: text.into() }
    }

    /// A wrong argument.
    pub fn argument(text: impl Into<String>) -> Self {
        Failure::new(Status::Argument, text)
    }

    /// A panic, which is a fault of the library.
    pub fn panic(payload: &(dyn Any + Send)) -> Self {
        let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
        let text = text.unwrap_or_else(|| "unknown cause".to_owned());
        Failure::new(Status::Internal, format!("a fault of the library, please report it: {text}"))
    }
}

impl Failure {
    /// A file that cannot be opened.
    pub fn file(path: &str, error: &std::io::Error) -> Self {
        Failure::new(Status::File, format!("{path}: {error}"))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Failure::argument(error.to_string())
    }
}

impl From<SolveError> for Failure {
    fn from(error: SolveError) -> Self {
        let status = match &error {
            SolveError::Setup(setup) => match setup.cause() {
                SetupError::Matrix(MatrixError::ZeroDiagonal { .. }) => Status::Setup,
                SetupError::Matrix(_) | SetupError::NearKernel(_) => Status::Argument,
                _ => Status::Setup,
            },
            SolveError::NotConverged(_) => Status::NotConverged,
            SolveError::Device(_) | SolveError::OtherProcess => Status::Internal,
            _ => Status::Argument,
        };
        Failure::new(status, error.to_string())
    }
}

impl From<DeviceError> for Failure {
    fn from(error: DeviceError) -> Self {
        Failure::new(Status::Internal, error.to_string())
    }
}

impl From<HierarchyFileError> for Failure {
    fn from(error: HierarchyFileError) -> Self {
        Failure::new(Status::File, error.to_string())
    }
}

impl Status {
    /// The status with this number.
    ///
    /// ```
    /// use ziggurat_ffi::Status;
    /// assert_eq!(Status::from_number(4), Some(Status::Setup));
    /// ```
    pub fn from_number(number: u64) -> Option<Status> {
        use Status::{Argument, Busy, File, Internal, NotConverged, Ok, Order, Setup};
        let all = [Ok, Argument, NotConverged, Order, Setup, Busy, File, Internal];
        all.get(usize::try_from(number).ok()?).copied()
    }
}

impl From<Status> for c_int {
    fn from(status: Status) -> c_int {
        status as c_int
    }
}

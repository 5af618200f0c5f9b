//! Errors: why a Krylov method could not start. Failure to converge is not an error but a
//! [`StopReason`](crate::StopReason).

use thiserror::Error;
use ziggurat_sparse::Kind;
use ziggurat_sparse::device::DeviceError;
use ziggurat_sparse::words::{counted, number};

use crate::method::Krylov;

/// Why a method could not start.
///
/// ```
/// use ziggurat_krylov::Stopping;
/// let error = Stopping::default().rtol(-1.0).validate().unwrap_err();
/// assert_eq!(error.to_string(), "`rtol` is -1; it must be finite and not negative");
/// ```
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum KrylovError {
    /// A setting has an invalid value.
    #[error("`{name}` is {}; it must be {must}", number(*value))]
    Setting {
        /// The setting.
        name: &'static str,
        /// Its value.
        value: f64,
        /// The valid values.
        must: &'static str,
    },
    /// The matrix is not square.
    #[error(
        "the matrix has {} and {}, but it must be square (for least squares, solve Aᵀ A x = Aᵀ b)",
        counted(*rows, "row"),
        counted(*cols, "column")
    )]
    NotSquare {
        /// Rows of the matrix.
        rows: usize,
        /// Columns of the matrix.
        cols: usize,
    },
    /// The preconditioner has another size than the matrix.
    #[error("the preconditioner is {rows} x {cols}, the matrix {n} x {n}; was it built for another matrix?")]
    Preconditioner {
        /// Rows of the preconditioner.
        rows: usize,
        /// Columns of the preconditioner.
        cols: usize,
        /// Rows of the matrix.
        n: usize,
    },
    /// A vector has another length than the matrix has rows.
    #[error("{what} has {}, the matrix {}", counted(*found, "entry"), counted(*expected, "row"))]
    Length {
        /// The vector.
        what: &'static str,
        /// Its length.
        found: usize,
        /// Rows of the matrix.
        expected: usize,
    },
    /// A vector has another number type than the system.
    #[error("{what} has numbers in {found}, the system in {expected}")]
    Number {
        /// The vector.
        what: &'static str,
        /// Its number type.
        found: Kind,
        /// The [number type](crate::System::number) of the system.
        expected: Kind,
    },
    /// Numbers of this type are only stored.
    #[error("methods compute in f64 or f32, not in {number}")]
    NoArithmetic {
        /// The number type of the system.
        number: Kind,
    },
    /// The method stores no Krylov basis that could be compressed.
    #[error("`basis` is {basis}, but {method} stores no basis; choose gmres or fgmres, or leave it at f64")]
    NoBasis {
        /// The method.
        method: Krylov,
        /// The number type of the basis.
        basis: Kind,
    },
    /// The device has no kernels for a compressed basis.
    #[error("`basis` is {basis}, but {device} cannot compress vectors; leave it at f64, or solve on a CPU")]
    CannotCompress {
        /// The name of the device.
        device: String,
        /// The number type of the basis.
        basis: Kind,
    },
    /// The device failed, for example for lack of memory.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

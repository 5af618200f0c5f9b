//! Faults in binary files, and their positions.

use std::fmt;

use thiserror::Error;

use crate::MatrixError;
use crate::words::{agreeing, counted, number};

/// The place of a fault in a binary file.
///
/// ```
/// use ziggurat_sparse::io::Position;
/// assert_eq!(Position::Byte(24).to_string(), "byte 24");
/// assert_eq!(Position::Array("indptr".to_owned()).to_string(), "array `indptr`");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Position {
    /// An offset in bytes, after decompression if the file is compressed with gzip.
    Byte(u64),
    /// An array of an archive, by its name.
    Array(String),
    /// An object of an HDF5 file, by its path.
    Object(String),
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Position::Byte(offset) => write!(f, "byte {offset}"),
            Position::Array(name) => write!(f, "array `{}`", name.escape_debug()),
            Position::Object(path) => write!(f, "object `{}`", path.escape_debug()),
        }
    }
}

/// A fault in a binary file: a NumPy array, a scipy archive, a PETSc file or an HDF5 file. Entries
/// are numbered from zero.
///
/// ```
/// use ziggurat_sparse::io::{BinaryFault, ReadError, read_vector_from};
/// let file = [&1_211_214_i32.to_be_bytes()[..], &7_i32.to_be_bytes(), &[0; 16]].concat();
/// let error = read_vector_from(&file[..], "b.petsc").unwrap_err();
/// assert_eq!(error.to_string(), "b.petsc, byte 8: 56 bytes are declared here, but the file ends after 16");
/// assert!(matches!(error, ReadError::Binary { fault: BinaryFault::Truncated { .. }, .. }));
/// ```
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum BinaryFault {
    /// The file ends before the bytes that it declares.
    #[error(
        "{} {} declared here, but the file ends after {left}",
        counted(*needed, "byte"),
        agreeing(needed, "is", "are")
    )]
    Truncated {
        /// Bytes declared.
        needed: u128,
        /// Bytes left.
        left: u64,
    },
    /// The file continues where it should end.
    #[error(
        "{} {}, where the file should end: {hint}",
        counted(*left, "more byte"),
        agreeing(left, "follows", "follow")
    )]
    Trailing {
        /// Bytes left.
        left: u64,
        /// A likely reason.
        hint: &'static str,
    },
    /// The header cannot be parsed.
    #[error("the header is malformed: expected {expected}")]
    Header {
        /// The expected header.
        expected: &'static str,
    },
    /// The format is valid, but this part of it is not supported.
    #[error("{found} is not supported; {supported}")]
    NotSupported {
        /// The unsupported part.
        found: String,
        /// The supported alternatives.
        supported: &'static str,
    },
    /// Compressed data is damaged.
    #[error("the data is damaged: {cause}")]
    Damaged {
        /// The message of the decompressor.
        cause: String,
    },
    /// An HDF5 file is damaged, or uses a part of the format that is not supported.
    #[error("the file cannot be read: {cause}")]
    Unreadable {
        /// The message of the library.
        cause: String,
    },
    /// The archive lacks an array.
    #[error("the archive has no such array (it has {found}); `scipy.sparse.save_npz` writes one")]
    NoSuchArray {
        /// The names of the arrays that it has.
        found: String,
    },
    /// The file has no object of this kind.
    #[error("the file contains no {what}")]
    NoSuchObject {
        /// "matrix" or "vector".
        what: &'static str,
    },
    /// An HDF5 file lacks the object that the path names, or that a sparse matrix consists of.
    #[error("the file has no such object (it has {found})")]
    NoSuchName {
        /// The names of objects that are there instead.
        found: String,
    },
    /// An HDF5 file has several objects of the wanted kind.
    #[error("several objects could be meant: {found}; name one of them, as in `FILE:NAME`")]
    SeveralObjects {
        /// Their names.
        found: String,
    },
    /// An array has another shape than expected.
    #[error("the shape is {found}, expected {expected}")]
    Shape {
        /// The shape of the array.
        found: String,
        /// The shape that it should have.
        expected: String,
    },
    /// A count is negative or too large.
    #[error("the number of {what} is {found}")]
    Count {
        /// The items counted.
        what: &'static str,
        /// The number in the file.
        found: i64,
    },
    /// The lengths of rows do not add up to the number of entries.
    #[error(
        "the lengths of the rows add up to {found}, but the header declares {}",
        counted(*declared, "entry")
    )]
    RowLengths {
        /// Entries declared.
        declared: u64,
        /// The sum of the lengths.
        found: u64,
    },
    /// Pointers must start at zero, never decrease, and end at the number of entries.
    #[error("pointer {entry} is {found}, expected {expected}")]
    Pointer {
        /// Its position.
        entry: u64,
        /// Its value.
        found: i64,
        /// The allowed values.
        expected: String,
    },
    /// An index is outside the matrix.
    #[error("entry {entry}: the index {found} is outside 0..{extent}")]
    IndexOutOfRange {
        /// Its position.
        entry: u64,
        /// The index found.
        found: i64,
        /// Rows or columns of the matrix.
        extent: u64,
    },
    /// A value is infinite or NaN.
    #[error("entry {entry}: the value is {}; every value must be finite", number(*value))]
    NotFinite {
        /// Its position.
        entry: u64,
        /// The value.
        value: f64,
    },
    /// More rows or columns than one process can index.
    #[error(transparent)]
    TooLarge(MatrixError),
    /// More rows than is plausible for a file of this size.
    #[error("{rows} rows are implausible for a file with {}; the limit is {limit}", counted(*bytes, "byte"))]
    TooManyRows {
        /// Rows declared.
        rows: u64,
        /// Bytes of the file, after decompression.
        bytes: u64,
        /// The most rows accepted for this number of bytes.
        limit: u64,
    },
    /// A matrix with more than one column, where a vector is expected.
    #[error("expected a vector (1 column), found {}", counted(*columns, "column"))]
    NotAVector {
        /// Columns of the matrix.
        columns: u64,
    },
    /// A sparse matrix, where a dense one is expected.
    #[error("expected a dense matrix, found a sparse one; use `read_matrix`")]
    NotDense,
}

/// A fault and its place in a file whose name is added later.
#[derive(Debug, PartialEq)]
pub(super) struct Located {
    pub(super) position: Position,
    pub(super) fault: BinaryFault,
}

impl BinaryFault {
    /// This fault at a byte offset.
    pub(super) fn at(self, byte: usize) -> Located {
        Located { position: Position::Byte(byte as u64), fault: self }
    }

    /// This fault in an array of an archive.
    pub(super) fn in_array(self, name: &str) -> Located {
        Located { position: Position::Array(name.to_owned()), fault: self }
    }

    /// This fault in an object of an HDF5 file.
    #[cfg(feature = "hdf5")]
    pub(super) fn in_object(self, path: &str) -> Located {
        Located { position: Position::Object(path.to_owned()), fault: self }
    }
}

/// Rejects infinite values and NaN.
pub(super) fn check_finite(values: &[f64]) -> Result<(), BinaryFault> {
    match values.iter().position(|value| !value.is_finite()) {
        None => Ok(()),
        Some(at) => Err(BinaryFault::NotFinite { entry: at as u64, value: values[at] }),
    }
}

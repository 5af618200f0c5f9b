//! Errors of reading and writing files. Messages locate the fault by file and line, byte or array.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::binary_fault::Located;
use super::{BinaryFault, Fault, FileFormat, Position};
use crate::MatrixError;
use crate::words::{counted, number};

/// Why a file could not be read. Lines are numbered from one.
///
/// ```
/// use ziggurat_sparse::io::{Fault, ReadError, read_matrix_from};
/// let text = "%%MatrixMarket matrix coordinate real general\n2 2 1\n3 1 1.5\n";
/// let error = read_matrix_from(text.as_bytes(), "a.mtx").unwrap_err();
/// assert_eq!(error.to_string(), "a.mtx, line 3: row 3 is outside 1..=2");
/// assert!(matches!(error, ReadError::Line { line: 3, fault: Fault::IndexOutOfRange { .. }, .. }));
/// ```
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The file could not be opened, or reading (or decompressing) it failed.
    #[error("{}{}: {cause}", path.display(), after(*line))]
    Io {
        /// The file.
        path: PathBuf,
        /// The last complete line read; 0 if there is none or its number is unknown (part of a
        /// file).
        line: u64,
        /// The error reported by the system or the decompressor.
        cause: io::Error,
    },
    /// A line violates the format.
    #[error("{}, line {line}: {fault}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, counted from one.
        line: u64,
        /// The fault in the line.
        fault: Fault,
    },
    /// A line violates the format, in a part of a file that was read without the lines before it.
    #[error("{}, the line at byte {offset}: {fault}", path.display())]
    Byte {
        /// The file.
        path: PathBuf,
        /// Byte offset of that line in the file.
        offset: u64,
        /// The fault in the line.
        fault: Fault,
    },
    /// The path names something whose reader may wait for ever, so it was not opened.
    #[error("{} is {what}, not a file", path.display())]
    Special {
        /// The path.
        path: PathBuf,
        /// "a named pipe", "a socket" or "a device".
        what: &'static str,
    },
    /// The requested column does not exist.
    #[error("{} has no column {column} (from 0); it has {}", path.display(), counted(*columns, "column"))]
    NoSuchColumn {
        /// The file.
        path: PathBuf,
        /// The requested column, from zero.
        column: usize,
        /// The number of columns.
        columns: usize,
    },
    /// The requested part does not exist.
    #[error("{}: part {part} of {parts} does not exist; parts are numbered from 0", path.display())]
    NoSuchPart {
        /// The file.
        path: PathBuf,
        /// The requested part.
        part: usize,
        /// The number of parts.
        parts: usize,
    },
    /// A binary file (NumPy, scipy, PETSc, HDF5) violates its format.
    #[error("{}, {position}: {fault}", path.display())]
    Binary {
        /// The file.
        path: PathBuf,
        /// Where in the file.
        position: Position,
        /// The fault at this position.
        fault: BinaryFault,
    },
    /// The requested rows are outside the vector, or the range is reversed. Rows are numbered from
    /// zero.
    #[error(
        "{}: rows {start}..{end} are out of range for a vector with {}",
        path.display(),
        counted(*rows, "row")
    )]
    NoSuchRows {
        /// The file.
        path: PathBuf,
        /// The first requested row.
        start: u64,
        /// One past the last requested row.
        end: u64,
        /// Rows of the vector.
        rows: u64,
    },
    /// The file is well formed, but the matrix is invalid: duplicate entries sum to infinity.
    #[error("{}: {fault}", path.display())]
    Matrix {
        /// The file.
        path: PathBuf,
        /// The fault in the matrix.
        fault: MatrixError,
    },
}

fn after(line: u64) -> String {
    if line == 0 { String::new() } else { format!(", after line {line}") }
}

impl Located {
    /// The error for a file of this name.
    pub(super) fn in_file(self, path: &Path) -> ReadError {
        let Located { position, fault } = self;
        ReadError::Binary { path: path.to_owned(), position, fault }
    }
}

impl ReadError {
    /// Wraps an I/O error for `path`.
    pub(super) fn io(path: &Path) -> impl Fn(io::Error) -> ReadError {
        move |cause| ReadError::Io { path: path.to_owned(), line: 0, cause }
    }
}

/// Why a file could not be written. Rows and columns are numbered from zero.
///
/// ```
/// use ziggurat_sparse::Csr;
/// use ziggurat_sparse::io::{WriteOptions, WriteSymmetry, write_matrix_to};
/// let a = Csr::try_new(2, 2, vec![0, 2, 3], vec![0, 1, 1], vec![2.0, -1.0, 2.0])?;
/// let options = WriteOptions { symmetry: WriteSymmetry::Symmetric, ..Default::default() };
/// let error = write_matrix_to(Vec::new(), a.view(), &options).unwrap_err();
/// assert_eq!(error.to_string(), "row 0, column 1 is -1 but row 1, column 0 is absent: the matrix is not symmetric");
/// # Ok::<(), ziggurat_sparse::MatrixError>(())
/// ```
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum WriteError {
    /// The file could not be created or written.
    #[error("{}: {cause}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The error reported by the system.
        cause: io::Error,
    },
    /// The format that the name of the file selects cannot hold this.
    #[error("{}: {format} files hold no {what}; {hint}", path.display())]
    Unsuitable {
        /// The file.
        path: PathBuf,
        /// The format.
        format: FileFormat,
        /// The kind of object to be written.
        what: &'static str,
        /// Which names select a suitable format.
        hint: &'static str,
    },
    /// A symmetric file was requested, but the matrix is not bitwise symmetric.
    #[error(
        "row {row}, column {column} is {} but row {column}, column {row} is {}: the matrix is not symmetric",
        number(*value),
        mirrored.map_or_else(|| "absent".to_owned(), |value| number(value).to_string())
    )]
    NotSymmetric {
        /// The row.
        row: usize,
        /// The column.
        column: usize,
        /// The entry there.
        value: f64,
        /// The mirrored entry, if it is stored.
        mirrored: Option<f64>,
    },
    /// The matrix has a value that a file cannot hold (infinite or NaN), or its dimensions
    /// disagree.
    #[error(transparent)]
    Matrix(#[from] MatrixError),
}

impl WriteError {
    /// Wraps an I/O error for `path`.
    pub(super) fn io(path: &Path) -> impl Fn(io::Error) -> WriteError {
        move |cause| WriteError::Io { path: path.to_owned(), cause }
    }
}

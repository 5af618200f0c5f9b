//! Errors of the Matrix Market reader and writer. Messages locate the fault by file and line.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::{MatrixError, UnknownName};

/// Why a Matrix Market file could not be read. Lines are numbered from one.
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
        /// What is wrong with it.
        fault: Fault,
    },
    /// A line violates the format, in a part of a file that was read without the lines before it.
    #[error("{}, the line at byte {offset}: {fault}", path.display())]
    Byte {
        /// The file.
        path: PathBuf,
        /// Byte offset of that line in the file.
        offset: u64,
        /// What is wrong with it.
        fault: Fault,
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
    /// Every line is well formed, but the matrix is invalid: duplicate entries sum to infinity.
    #[error("{}: {fault}", path.display())]
    Matrix {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        fault: MatrixError,
    },
}

fn after(line: u64) -> String {
    if line == 0 { String::new() } else { format!(", after line {line}") }
}

/// What is wrong with a line of a Matrix Market file.
///
/// ```
/// use ziggurat_sparse::io::Fault;
/// let fault = Fault::TooFewEntries { declared: 5, found: 3 };
/// assert_eq!(fault.to_string(), "the file ends after 3 entries, but its size line declares 5");
/// ```
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum Fault {
    /// The first line is not a Matrix Market banner.
    #[error(
        "a Matrix Market file begins with `%%MatrixMarket matrix coordinate|array real|integer|pattern \
         general|symmetric|skew-symmetric`, found `{found}`"
    )]
    Banner {
        /// The first word of the file.
        found: String,
    },
    /// A word of the banner is unknown.
    #[error(transparent)]
    UnknownWord(UnknownName),
    /// The banner is valid, but matrices of this kind cannot be read.
    #[error("{what} matrices are not supported yet; real, integer and pattern are")]
    NotSupported {
        /// "complex" or "hermitian".
        what: &'static str,
    },
    /// Two words of the banner contradict each other.
    #[error("{0}")]
    Contradiction(&'static str),
    /// The line, or the file, ends early.
    #[error("{what} is missing")]
    Missing {
        /// What is missing.
        what: &'static str,
    },
    /// The line has more words than it should.
    #[error("unexpected extra word `{found}`")]
    Extra {
        /// The first extra word.
        found: String,
    },
    /// A line exceeds the length limit.
    #[error("the line is longer than {limit} bytes; is this a text file?")]
    LineTooLong {
        /// The longest line accepted, in bytes.
        limit: usize,
    },
    /// A size or an index is not a whole number.
    #[error("{what} `{found}` is not a whole number")]
    NotACount {
        /// Which size or index.
        what: &'static str,
        /// The word in the file.
        found: String,
    },
    /// More rows or columns than one process can index.
    #[error(transparent)]
    TooLarge(MatrixError),
    /// More rows or columns than 64-bit indices can address.
    #[error("the number of {what} exceeds the range of 64-bit indices")]
    BeyondGlobalIds {
        /// "rows" or "columns".
        what: &'static str,
    },
    /// More rows than is plausible for a file of this size: see
    /// [`read_matrix`](super::read_matrix).
    #[error("{rows} rows are implausible for a file with {bytes} bytes of text; the limit is {limit}")]
    TooManyRows {
        /// Rows declared in the size line, or the number of them that is requested.
        rows: u64,
        /// Bytes of text, after decompression.
        bytes: u64,
        /// The most rows accepted for this number of bytes.
        limit: u64,
    },
    /// A symmetric or skew-symmetric matrix that is not square.
    #[error("the matrix is declared {symmetry}, but has {rows} rows and {columns} columns")]
    NotSquare {
        /// The symmetry declared in the banner.
        symmetry: &'static str,
        /// Rows of the matrix.
        rows: u64,
        /// Columns of the matrix.
        columns: u64,
    },
    /// An entry outside the matrix. Indices in the file start at one.
    #[error("{what} {found} is outside 1..={extent}")]
    IndexOutOfRange {
        /// "row" or "column".
        what: &'static str,
        /// The index as written in the file.
        found: String,
        /// Rows or columns of the matrix.
        extent: u64,
    },
    /// A value that is not a number.
    #[error("`{found}` is not a number")]
    NotANumber {
        /// The word in the file.
        found: String,
    },
    /// A value that is not an integer, in a file that declares integers.
    #[error("`{found}` is not an integer, but the banner declares `integer`; declare `real` instead")]
    NotAnInteger {
        /// The word in the file.
        found: String,
    },
    /// A value that is infinite, NaN, or too large for a double.
    #[error("the value `{found}` is not finite in double precision")]
    NotFinite {
        /// The word in the file.
        found: String,
    },
    /// An entry above the diagonal of a symmetric or skew-symmetric file.
    #[error(
        "row {row}, column {column} lies above the diagonal; a {symmetry} file stores only the lower triangle \
         (swap the two indices, or declare the file general and list both triangles)"
    )]
    UpperTriangle {
        /// The symmetry declared in the banner.
        symmetry: &'static str,
        /// The row, counted from one.
        row: u64,
        /// The column, counted from one.
        column: u64,
    },
    /// A nonzero entry on the diagonal of a skew-symmetric matrix.
    #[error("row {row}: the diagonal of a skew-symmetric matrix must be zero, found {value}")]
    SkewDiagonal {
        /// The row, counted from one.
        row: u64,
        /// The value found.
        value: f64,
    },
    /// More entries than the size line declares.
    #[error("too many entries: the size line declares {declared}")]
    TooManyEntries {
        /// Entries declared.
        declared: u64,
    },
    /// Fewer entries than the size line declares.
    #[error("the file ends after {found} entries, but its size line declares {declared}")]
    TooFewEntries {
        /// Entries declared.
        declared: u64,
        /// Entries found.
        found: u64,
    },
    /// A matrix with more than one column, where a vector is expected.
    #[error("expected a vector (1 column), found {columns} columns; use `read_dense` for several columns")]
    NotAVector {
        /// Columns of the matrix.
        columns: u64,
    },
    /// The requested rows are outside the vector, or the range is reversed. Rows are numbered from
    /// zero.
    #[error("rows {start}..{end} are out of range for a vector with {rows} rows")]
    NoSuchRows {
        /// The first requested row.
        start: u64,
        /// One past the last requested row.
        end: u64,
        /// Rows of the vector.
        rows: u64,
    },
    /// A coordinate file, where a dense matrix is expected.
    #[error("expected a dense matrix (`array`), found a sparse one (`coordinate`); use `read_matrix`")]
    NotDense,
}

/// Why a Matrix Market file could not be written. Rows and columns are numbered from zero.
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
    /// A symmetric file was requested, but the matrix is not bitwise symmetric.
    #[error(
        "row {row}, column {column} is {value} but row {column}, column {row} is {}: the matrix is not symmetric",
        mirrored.map_or_else(|| "absent".to_owned(), |value| value.to_string())
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

/// A word of the file, prepared for display: escaped if not printable, truncated if long.
pub(super) fn shown(word: &[u8]) -> String {
    const LONGEST: usize = 40;
    match word.get(..LONGEST) {
        Some(begin) if word.len() > LONGEST => format!("{}…", begin.escape_ascii()),
        _ => word.escape_ascii().to_string(),
    }
}

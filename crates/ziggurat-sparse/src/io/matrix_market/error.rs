//! What can be wrong with a file, said so that its author can find the line.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::{MatrixError, UnknownName};

/// Why a Matrix Market file could not be read. Lines count from one.
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
        /// The last line that arrived whole; 0 if none did, or if its number is not known (a part of a file).
        line: u64,
        /// What the system, or the decompressor, reports.
        cause: io::Error,
    },
    /// A line is not what the format asks for.
    #[error("{}, line {line}: {fault}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, counted from one.
        line: u64,
        /// What is wrong with it.
        fault: Fault,
    },
    /// A line is not what the format asks for, in a part of a file that was read without the lines before it.
    #[error("{}, the line at byte {offset}: {fault}", path.display())]
    Byte {
        /// The file.
        path: PathBuf,
        /// Bytes of the file before that line.
        offset: u64,
        /// What is wrong with it.
        fault: Fault,
    },
    /// A part that does not exist.
    #[error("{}: there is no part {part} of {parts}; parts count from 0", path.display())]
    NoSuchPart {
        /// The file.
        path: PathBuf,
        /// The part asked for.
        part: usize,
        /// How many parts there are.
        parts: usize,
    },
    /// Every line is well formed, but together they do not make a matrix: duplicates sum up to infinity.
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
/// assert_eq!(fault.to_string(), "the file ends after 3 entries, but its size line announces 5");
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
        /// What the file begins with.
        found: String,
    },
    /// A word of the banner is not known.
    #[error(transparent)]
    UnknownWord(UnknownName),
    /// The banner is valid, but this library cannot read such a matrix.
    #[error("{what} matrices are not supported yet; real, integer and pattern are")]
    NotSupported {
        /// "complex" or "hermitian".
        what: &'static str,
    },
    /// Two words of the banner contradict each other.
    #[error("{0}")]
    Contradiction(&'static str),
    /// The line, or the file, ends too soon.
    #[error("{what} is missing")]
    Missing {
        /// What should follow.
        what: &'static str,
    },
    /// More on the line than belongs there.
    #[error("`{found}` is one word too many on this line")]
    Extra {
        /// The first word that is too much.
        found: String,
    },
    /// A line without an end in sight.
    #[error("the line is longer than {limit} bytes; is this a text file?")]
    LineTooLong {
        /// The longest line that is read.
        limit: usize,
    },
    /// A size or an index is not a whole number.
    #[error("{what} `{found}` is not a whole number")]
    NotACount {
        /// Which one.
        what: &'static str,
        /// What stands there.
        found: String,
    },
    /// More rows or columns than one process can index.
    #[error(transparent)]
    TooLarge(MatrixError),
    /// More rows or columns than 64-bit ids can name.
    #[error("there are more {what} than 64-bit ids can name")]
    BeyondGlobalIds {
        /// "rows" or "columns".
        what: &'static str,
    },
    /// More rows than a file of this size can mean: see [`read_matrix`](super::read_matrix).
    #[error("{rows} rows in a file of {bytes} bytes of text; at most {limit} are believed")]
    TooManyRows {
        /// Rows that the size line announces, or those of them that are wanted.
        rows: u64,
        /// Bytes of text, after decompression.
        bytes: u64,
        /// The most rows that so many bytes justify.
        limit: u64,
    },
    /// A symmetric or skew-symmetric matrix that is not square.
    #[error("the matrix is declared {symmetry}, but has {rows} rows and {columns} columns")]
    NotSquare {
        /// What the banner says.
        symmetry: &'static str,
        /// Rows of the matrix.
        rows: u64,
        /// Columns of the matrix.
        columns: u64,
    },
    /// An entry outside the matrix. Indices in the file count from one.
    #[error("{what} {found} is outside 1..={extent}")]
    IndexOutOfRange {
        /// "row" or "column".
        what: &'static str,
        /// The index, as it stands in the file.
        found: String,
        /// Rows or columns of the matrix.
        extent: u64,
    },
    /// A value that is not a number.
    #[error("`{found}` is not a number")]
    NotANumber {
        /// What stands there.
        found: String,
    },
    /// A value that is not an integer, in a file that declares integers.
    #[error("`{found}` is not an integer, which the banner declares; a file of such values is `real`")]
    NotAnInteger {
        /// What stands there.
        found: String,
    },
    /// A value that is infinite, NaN, or too large for a double.
    #[error("the value `{found}` is not finite in double precision")]
    NotFinite {
        /// What stands there.
        found: String,
    },
    /// An entry above the diagonal of a symmetric or skew-symmetric file.
    #[error(
        "row {row}, column {column} lies above the diagonal; a {symmetry} file holds the lower triangle only \
         (swap the two indices, or declare the file general and list both triangles)"
    )]
    UpperTriangle {
        /// What the banner says.
        symmetry: &'static str,
        /// The row, from one.
        row: u64,
        /// The column, from one.
        column: u64,
    },
    /// An entry on the diagonal of a skew-symmetric matrix that is not zero.
    #[error("row {row}: the diagonal of a skew-symmetric matrix is zero, found {value}")]
    SkewDiagonal {
        /// The row, from one.
        row: u64,
        /// The value found.
        value: f64,
    },
    /// More entries than the size line announces.
    #[error("an entry too many: the size line announces {declared}")]
    TooManyEntries {
        /// Entries announced.
        declared: u64,
    },
    /// Fewer entries than the size line announces.
    #[error("the file ends after {found} entries, but its size line announces {declared}")]
    TooFewEntries {
        /// Entries announced.
        declared: u64,
        /// Entries found.
        found: u64,
    },
    /// A matrix with more than one column, where a vector is wanted.
    #[error("a vector has one column, this matrix has {columns} (`read_dense` reads several)")]
    NotAVector {
        /// Columns of the matrix.
        columns: u64,
    },
    /// Rows of a vector that it does not have, or a range that runs backwards. Rows count from zero.
    #[error("rows {start}..{end} are wanted of a vector that has {rows}")]
    NoSuchRows {
        /// The first row wanted.
        start: u64,
        /// The row after the last one wanted.
        end: u64,
        /// Rows of the vector.
        rows: u64,
    },
    /// A list of coordinates, where a dense matrix is wanted.
    #[error("a dense matrix is wanted, this one is sparse: `coordinate` (`read_matrix` reads it)")]
    NotDense,
}

/// Why a Matrix Market file could not be written. Rows and columns count from zero.
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
        /// What the system reports.
        cause: io::Error,
    },
    /// A symmetric file is asked for, but the matrix is not symmetric, to the last bit.
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
        /// The entry at the mirrored place, if there is one.
        mirrored: Option<f64>,
    },
    /// The matrix has a value that no file can hold (infinite or NaN), or its sizes disagree.
    #[error(transparent)]
    Matrix(#[from] MatrixError),
}

impl WriteError {
    /// Wraps what the system reports about `path`.
    pub(super) fn io(path: &Path) -> impl Fn(io::Error) -> WriteError {
        move |cause| WriteError::Io { path: path.to_owned(), cause }
    }
}

/// A word of the file, fit to be shown: what is not printable is escaped, what is long is cut.
pub(super) fn shown(word: &[u8]) -> String {
    const LONGEST: usize = 40;
    match word.get(..LONGEST) {
        Some(begin) if word.len() > LONGEST => format!("{}…", begin.escape_ascii()),
        _ => word.escape_ascii().to_string(),
    }
}

//! Faults in lines of text files.

use thiserror::Error;

use crate::words::{counted, number};
use crate::{MatrixError, UnknownName};

/// A fault in a line of a text file: Matrix Market, Rutherford–Boeing, or a table.
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
        /// The missing part.
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
    #[error(
        "{rows} rows are implausible for a file with {} of text; the limit is {limit}",
        counted(*bytes, "byte")
    )]
    TooManyRows {
        /// Rows declared in the size line, or the number of them that is requested.
        rows: u64,
        /// Bytes of text, after decompression.
        bytes: u64,
        /// The most rows accepted for this number of bytes.
        limit: u64,
    },
    /// A symmetric or skew-symmetric matrix that is not square.
    #[error(
        "the matrix is declared {symmetry}, but has {} and {}",
        counted(*rows, "row"),
        counted(*columns, "column")
    )]
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
    #[error("row {row}: the diagonal of a skew-symmetric matrix must be zero, found {}", number(*value))]
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
    #[error("the file ends after {}, but its size line declares {declared}", counted(*found, "entry"))]
    TooFewEntries {
        /// Entries declared.
        declared: u64,
        /// Entries found.
        found: u64,
    },
    /// A row of a table that has another length than the first one.
    #[error("the line has {}, but the first one has {expected}", counted(*found, "number"))]
    Ragged {
        /// Numbers of the first row.
        expected: usize,
        /// Numbers of this row.
        found: usize,
    },
    /// A matrix with more than one column, where a vector is expected.
    #[error("expected a vector (1 column), found {}", counted(*columns, "column"))]
    NotAVector {
        /// Columns of the matrix.
        columns: u64,
    },
    /// The requested rows are outside the vector, or the range is reversed. Rows are numbered from
    /// zero.
    #[error("rows {start}..{end} are out of range for a vector with {}", counted(*rows, "row"))]
    NoSuchRows {
        /// The first requested row.
        start: u64,
        /// One past the last requested row.
        end: u64,
        /// Rows of the vector.
        rows: u64,
    },
    /// The third line of a Rutherford–Boeing file does not begin with a matrix type.
    #[error("`{found}` is not a matrix type such as `rua` or `rsa`, which begins the third line of the file")]
    BoeingType {
        /// The first three letters of the line.
        found: String,
    },
    /// A Fortran format that is malformed or not supported.
    #[error("the Fortran format `{found}` of the {what} is not one such as `(10I8)` or `(1P,4E20.12)`")]
    FortranFormat {
        /// Which numbers it describes.
        what: &'static str,
        /// The format found.
        found: String,
    },
    /// Pointers of a Rutherford–Boeing file must start at one, never decrease, and end after the
    /// last entry.
    #[error("the pointer of column {column} is {found}, expected {expected}")]
    ColumnPointer {
        /// The column, counted from one; one beyond the last for the end.
        column: u64,
        /// The pointer found.
        found: u64,
        /// The allowed values.
        expected: String,
    },
    /// A coordinate file, where a dense matrix is expected.
    #[error("expected a dense matrix (`array`), found a sparse one (`coordinate`); use `read_matrix`")]
    NotDense,
}

/// A word of the file, prepared for display: escaped if not printable, truncated if long.
pub(super) fn shown(word: &[u8]) -> String {
    const LONGEST: usize = 40;
    match word.get(..LONGEST) {
        Some(begin) if word.len() > LONGEST => format!("{}…", begin.escape_ascii()),
        _ => word.escape_ascii().to_string(),
    }
}

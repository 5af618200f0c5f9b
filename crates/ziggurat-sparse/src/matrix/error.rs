//! What can be wrong with a matrix, said so that its author can find the place.

use thiserror::Error;

/// Why arrays do not make a matrix. Rows, columns and entries count from zero.
///
/// ```
/// use ziggurat_sparse::{Csr, MatrixError};
/// let error = Csr::try_new(2, 2, vec![0, 1, 2], vec![0, 5], vec![1.0, 1.0]).unwrap_err();
/// assert_eq!(error, MatrixError::ColumnOutOfRange { row: 1, entry: 1, column: 5, columns: 2 });
/// assert_eq!(error.to_string(), "row 1, entry 1: column 5 is outside the matrix, which has 2 columns");
/// ```
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum MatrixError {
    /// More rows or columns than a 32-bit local index can name.
    #[error("{extent} {what} are more than one process can index ({}); distribute the matrix", u32::MAX)]
    TooLarge {
        /// "rows" or "columns".
        what: &'static str,
        /// How many there are.
        extent: usize,
    },
    /// The row pointers are not one more than the rows.
    #[error("{rows} rows need {} row pointers, found {found}", rows + 1)]
    RowPointerCount {
        /// Rows of the matrix.
        rows: usize,
        /// Row pointers given.
        found: usize,
    },
    /// The first row pointer is not zero.
    #[error("the first row pointer is {found}, not 0")]
    RowPointerStart {
        /// What it is.
        found: usize,
    },
    /// A row ends before it begins.
    #[error("row {row}: its row pointers decrease from {begin} to {end}")]
    RowPointerDecreases {
        /// The row.
        row: usize,
        /// Where it begins.
        begin: usize,
        /// Where it ends.
        end: usize,
    },
    /// The last row pointer, the columns and the values disagree on how many entries there are.
    #[error("the row pointers end at {row_ptr_end}, but there are {columns} columns and {values} values")]
    EntryCount {
        /// The last row pointer.
        row_ptr_end: usize,
        /// Length of the array of columns.
        columns: usize,
        /// Length of the array of values.
        values: usize,
    },
    /// An entry lies outside the matrix.
    #[error("row {row}, entry {entry}: column {column} is outside the matrix, which has {columns} columns")]
    ColumnOutOfRange {
        /// The row.
        row: usize,
        /// Position in the array of columns.
        entry: usize,
        /// The column found there.
        column: usize,
        /// Columns of the matrix.
        columns: usize,
    },
    /// A triplet names a row outside the matrix.
    #[error("triplet {entry}: row {row} is outside the matrix, which has {rows} rows")]
    RowOutOfRange {
        /// Position in the list of triplets.
        entry: usize,
        /// The row found there.
        row: usize,
        /// Rows of the matrix.
        rows: usize,
    },
    /// The columns of a row do not increase.
    #[error(
        "row {row}, entry {entry}: column {column} follows column {previous}; columns must increase strictly \
         (`Csr::from_unsorted` sorts them and sums duplicates)"
    )]
    ColumnsNotIncreasing {
        /// The row.
        row: usize,
        /// Position in the array of columns.
        entry: usize,
        /// The column found there.
        column: u32,
        /// The column before it.
        previous: u32,
    },
    /// A value is infinite or not a number.
    #[error("row {row}, column {column}: the value is {value}; every entry must be finite")]
    NotFinite {
        /// The row.
        row: usize,
        /// The column.
        column: usize,
        /// The value found there.
        value: f64,
    },
    /// A block size that is not offered, or that does not divide the matrix.
    #[error("blocks of {block} do not tile a {rows} x {columns} matrix; 1 to 16 are offered, dividing both")]
    BlockSize {
        /// Rows (and columns) per block.
        block: usize,
        /// Rows of the matrix.
        rows: usize,
        /// Columns of the matrix.
        columns: usize,
    },
    /// A dense matrix that does not fit into memory.
    #[error("a dense {rows} x {columns} matrix does not fit into memory; keep it sparse")]
    DenseTooLarge {
        /// Its rows.
        rows: usize,
        /// Its columns.
        columns: usize,
    },
    /// A matrix too large for the narrow indices of the type it was to become.
    #[error("{extent} {what} do not fit indices up to {most}; ask for a type with wider indices")]
    IndexWidth {
        /// "rows", "columns" or "entries".
        what: &'static str,
        /// How many there are.
        extent: usize,
        /// How many the type can hold.
        most: usize,
    },
    /// A fault in the block rows and block columns of a matrix of blocks.
    #[error("counting in blocks of {block}: {fault}")]
    InBlocks {
        /// Rows (and columns) per block.
        block: usize,
        /// The fault; its rows, columns and entries are blocks.
        fault: Box<MatrixError>,
    },
    /// Two operands, or a matrix and its data, do not fit together.
    #[error("{what}: expected {expected}, found {found}")]
    Mismatch {
        /// What does not fit.
        what: &'static str,
        /// The size it should have.
        expected: usize,
        /// The size it has.
        found: usize,
    },
    /// A row without a usable diagonal entry, where one is needed.
    #[error("row {row}: the diagonal entry is {value}, but it has to be divided by")]
    ZeroDiagonal {
        /// The row.
        row: usize,
        /// The diagonal entry: zero, absent (zero) or not finite.
        value: f64,
    },
    /// A plan made for one pattern was given a matrix with another.
    #[error("{what} has another pattern than the plan was made for; make a new plan")]
    OtherPattern {
        /// Which matrix.
        what: &'static str,
    },
}

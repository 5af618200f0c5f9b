//! Errors in matrices. Messages locate the fault by row and entry.

use thiserror::Error;

use crate::words::{counted, number};

/// Why arrays are not a valid matrix. Rows, columns and entries are numbered from zero.
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
    /// More rows or columns than a 32-bit local index can address.
    #[error("{extent} {what} are more than one process can index ({}); distribute the matrix", u32::MAX)]
    TooLarge {
        /// "rows" or "columns".
        what: &'static str,
        /// The number of rows or columns.
        extent: usize,
    },
    /// The number of row pointers is not the number of rows plus one.
    #[error("a matrix of {} needs {}, found {found}", counted(*rows, "row"), counted(rows + 1, "row pointer"))]
    RowPointerCount {
        /// Rows of the matrix.
        rows: usize,
        /// Row pointers given.
        found: usize,
    },
    /// The first row pointer is not zero.
    #[error("the first row pointer is {found}, not 0")]
    RowPointerStart {
        /// Its value.
        found: usize,
    },
    /// A row pointer is less than the previous one.
    #[error("row {row}: its row pointers decrease from {begin} to {end}")]
    RowPointerDecreases {
        /// The row.
        row: usize,
        /// Start of the row.
        begin: usize,
        /// End of the row.
        end: usize,
    },
    /// The last row pointer, the columns and the values disagree on the number of entries.
    #[error(
        "the row pointers end at {row_ptr_end}, but there are {} and {}",
        counted(*columns, "column"),
        counted(*values, "value")
    )]
    EntryCount {
        /// The last row pointer.
        row_ptr_end: usize,
        /// Length of the array of columns.
        columns: usize,
        /// Length of the array of values.
        values: usize,
    },
    /// An entry lies outside the matrix.
    #[error(
        "row {row}, entry {entry}: column {column} is outside the matrix, which has {}",
        counted(*columns, "column")
    )]
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
    /// A triplet has a row index outside the matrix.
    #[error("triplet {entry}: row {row} is outside the matrix, which has {}", counted(*rows, "row"))]
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
    /// A value is infinite or NaN.
    #[error("row {row}, column {column}: the value is {}; every entry must be finite", number(*value))]
    NotFinite {
        /// The row.
        row: usize,
        /// The column.
        column: usize,
        /// The value found there.
        value: f64,
    },
    /// The block size is unsupported or does not divide the dimensions of the matrix.
    #[error(
        "block size {block} is invalid for a {rows} x {columns} matrix; it must be 1 to 16 and divide both"
    )]
    BlockSize {
        /// Rows (and columns) per block.
        block: usize,
        /// Rows of the matrix.
        rows: usize,
        /// Columns of the matrix.
        columns: usize,
    },
    /// A dense matrix that does not fit in memory.
    #[error("a dense {rows} x {columns} matrix does not fit in memory; use a sparse format")]
    DenseTooLarge {
        /// Its rows.
        rows: usize,
        /// Its columns.
        columns: usize,
    },
    /// A matrix that is too large for the index type of the conversion target.
    #[error("{extent} {what} exceed the index limit {most}; use a type with wider indices")]
    IndexWidth {
        /// "rows", "columns" or "entries".
        what: &'static str,
        /// The number of rows, columns or entries.
        extent: usize,
        /// The largest number that the type can index.
        most: usize,
    },
    /// A fault in the block rows or block columns of a block matrix.
    #[error("in units of {block} x {block} blocks: {fault}")]
    InBlocks {
        /// Rows (and columns) per block.
        block: usize,
        /// The fault; its rows, columns and entries count blocks.
        fault: Box<MatrixError>,
    },
    /// A tile holds an entry outside the matrix, or a value that its bitmap does not list.
    #[error(
        "row {row}, column {column} of the matrix in tiles: a value that the bitmap does not list, or outside the matrix"
    )]
    OutsideTile {
        /// The row.
        row: usize,
        /// The column.
        column: usize,
    },
    /// The sizes of two operands, or of a matrix and its data, do not match.
    #[error("{what}: expected {expected}, found {found}")]
    Mismatch {
        /// The quantity that does not match.
        what: &'static str,
        /// The expected size.
        expected: usize,
        /// The actual size.
        found: usize,
    },
    /// The new values belong to a matrix with another pattern.
    #[error(
        "row {row}: {} column {column}; new values must have the same pattern as the old ones, with \
         zeros stored where entries vanish; for another pattern set up a new solver",
        if *missing { "there is no entry in" } else { "there is a new entry in" }
    )]
    NewPattern {
        /// The first row that differs.
        row: usize,
        /// The first column that differs in it.
        column: usize,
        /// Whether the new matrix has no entry there; otherwise the old one has none.
        missing: bool,
    },
    /// A diagonal entry is zero, missing or not finite, where division by it is required.
    #[error("row {row}: the diagonal entry is {}, but it must be finite and nonzero", number(*value))]
    ZeroDiagonal {
        /// The row.
        row: usize,
        /// The diagonal entry; zero if it is missing.
        value: f64,
    },
    /// A plan was used with a matrix whose pattern differs from the one it was made for.
    #[error("{what} does not have the pattern that the plan was made for; make a new plan")]
    OtherPattern {
        /// Which matrix.
        what: &'static str,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_nouns_agree_with_them() {
        let error = MatrixError::ZeroDiagonal { row: 7, value: 1e-310 };
        assert_eq!(
            error.to_string(),
            "row 7: the diagonal entry is 1e-310, but it must be finite and nonzero"
        );
        let error = MatrixError::RowPointerCount { rows: 1, found: 3 };
        assert_eq!(error.to_string(), "a matrix of 1 row needs 2 row pointers, found 3");
        let error = MatrixError::EntryCount { row_ptr_end: 2, columns: 1, values: 2 };
        assert_eq!(error.to_string(), "the row pointers end at 2, but there are 1 column and 2 values");
    }
}

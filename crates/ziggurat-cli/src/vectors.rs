//! Vectors in files: right-hand sides and initial guesses. A file may hold several, one per column,
//! of which an option chooses one.

use std::cmp::Ordering;
use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::Path;

use ziggurat_report::figures::counted;
use ziggurat_sparse::io::{BinaryFault, Fault, ReadError, read_column_from, read_vector_from};

use crate::arguments::SolveOptions;
use crate::failure::Failure;
use crate::input::open;
use crate::progress::Progress;

/// A vector in a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct VectorFile<'a> {
    pub(crate) path: &'a Path,
    /// From one; `None` for a file with one column.
    pub(crate) column: Option<NonZeroUsize>,
    /// The option that chooses it.
    option: &'static str,
}

impl<'a> VectorFile<'a> {
    /// The right-hand side, if there is a file.
    pub(crate) fn rhs(path: Option<&'a Path>, column: Option<NonZeroUsize>) -> Option<Self> {
        path.map(|path| VectorFile { path, column, option: "--rhs-column" })
    }

    /// The initial guess, if there is a file.
    pub(crate) fn guess(path: Option<&'a Path>, column: Option<NonZeroUsize>) -> Option<Self> {
        path.map(|path| VectorFile { path, column, option: "--guess-column" })
    }

    /// Reads the vector.
    pub(crate) fn read(&self, progress: &Progress) -> Result<Vec<f64>, Failure> {
        let (file, stage) = open(self.path, progress)?;
        let file = stage.counting(file);
        let read = match self.column {
            Some(column) => read_column_from(file, self.path, column.get() - 1),
            None => read_vector_from(file, self.path),
        };
        read.map_err(|error| self.unread(error))
    }

    /// The failure for a file that cannot be read. If another column is needed, it says which ones
    /// there are.
    pub(crate) fn unread(&self, error: ReadError) -> Failure {
        let columns = match &error {
            ReadError::Line { fault: Fault::NotAVector { columns }, .. }
            | ReadError::Binary { fault: BinaryFault::NotAVector { columns }, .. } => *columns as usize,
            ReadError::NoSuchColumn { columns, .. } => *columns,
            _ => return error.into(),
        };
        let has = format!("{} has {}", self.path.display(), counted(columns, "column"));
        let option = self.option;
        let cause = match self.column {
            Some(column) => format!("{has}, so there is no column {column}"),
            None => format!("{has}, but one vector is needed"),
        };
        let hint = match columns {
            0 => "give a file with one value per row of the matrix".to_owned(),
            1 => format!("omit {option}"),
            _ => format!("choose one of them: {option} with a number from 1 to {columns}"),
        };
        Failure::new(cause, hint)
    }

    /// The failure for a vector of another length than the matrix called `name` has rows.
    pub(crate) fn misfit(&self, found: usize, name: &str, rows: usize, hint: &str) -> Failure {
        let (values, rows) = (counted(found, "value"), counted(rows, "row"));
        Failure::new(format!("{} has {values}, but {name} has {rows}", self.path.display()), hint)
    }
}

impl SolveOptions {
    /// Where the right-hand side is, if in a file.
    pub(crate) fn rhs_file(&self) -> Option<VectorFile<'_>> {
        VectorFile::rhs(self.rhs.as_deref(), self.rhs_column)
    }

    /// Where the initial guess is, if there is one.
    pub(crate) fn guess_file(&self) -> Option<VectorFile<'_>> {
        VectorFile::guess(self.guess.as_deref(), self.guess_column)
    }
}

/// The default right-hand side: all ones. If the constants are the null space of the matrix, ones
/// are outside its range; then it is 1 in the first half of the rows and −1 in the second half,
/// with 0 in the middle of an odd number, so that it sums to zero. Empty rows, whose equations read
/// 0 = b, get 0 and do not count. `first` is the number of the first row that counts, and `all`
/// their total.
pub(crate) fn default_rhs(is_empty: &[bool], first: u64, all: u64, singular: bool) -> Vec<f64> {
    let mut row = first;
    let value = |&is_empty: &bool| {
        if is_empty {
            return 0.0;
        }
        row += 1;
        match (2 * row - 1).cmp(&all) {
            _ if !singular => 1.0,
            Ordering::Less => 1.0,
            Ordering::Equal => 0.0,
            Ordering::Greater => -1.0,
        }
    };
    is_empty.iter().map(value).collect()
}

/// Advice on the form of a right-hand side.
pub(crate) const RHS_HINT: &str =
    "give the right-hand side that belongs to this matrix, or omit --rhs for the default";

/// Advice on the form of an initial guess.
pub(crate) fn guess_hint(rows: u64) -> String {
    format!(
        "give one value per row of the matrix, such as a Matrix Market array of size {rows} 1; or omit --guess"
    )
}

/// The words of a command that choose a column of the right-hand side.
pub(crate) fn column_words(column: Option<NonZeroUsize>) -> Vec<OsString> {
    column.iter().flat_map(|column| ["--rhs-column".into(), column.to_string().into()]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_right_hand_side_is_in_the_range() {
        assert_eq!(default_rhs(&[false; 3], 0, 3, false), [1.0; 3]);
        assert_eq!(default_rhs(&[false; 4], 0, 4, true), [1.0, 1.0, -1.0, -1.0]);
        assert_eq!(default_rhs(&[false; 5], 0, 5, true), [1.0, 1.0, 0.0, -1.0, -1.0]);
        let isolated = [true, false, false, true, false];
        assert_eq!(default_rhs(&isolated, 0, 3, false), [0.0, 1.0, 1.0, 0.0, 1.0]);
        assert_eq!(default_rhs(&isolated, 0, 3, true), [0.0, 1.0, 0.0, 0.0, -1.0]);
        // Ranks make their own rows of the same vector.
        assert_eq!(default_rhs(&[false; 2], 3, 5, true), [-1.0, -1.0]);
        assert_eq!(default_rhs(&isolated[2..], 1, 3, true), [0.0, 0.0, -1.0]);
    }
}

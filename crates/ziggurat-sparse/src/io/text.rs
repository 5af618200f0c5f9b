//! Tables of numbers as plain text: coordinates, right-hand sides, initial guesses.
//!
//! A line is a row; numbers are separated by blanks, commas or semicolons. Empty lines and lines
//! that begin with `#` or `%` are ignored. NumPy's `savetxt`, MATLAB's `writematrix` and
//! spreadsheets write such files. They are not read as sparse matrices: a list of `row column
//! value` would be mistaken for a dense matrix with three columns.

use std::path::Path;

use super::{Fault, ReadError};
use crate::Dense;

/// Whether a file that begins with these bytes is a table: its first line that is neither empty nor
/// a comment has numbers only.
pub(super) fn is_table(start: &[u8]) -> bool {
    let first = rows(start).next();
    first.is_some_and(|(_, line)| words(line).all(|word| number(word).is_some()))
}

/// Reads a table.
pub(super) fn read(text: &[u8], name: &Path) -> Result<Dense<f64>, ReadError> {
    let (mut values, mut columns, mut count) = (Vec::new(), 0, 0);
    for (line, row) in rows(text) {
        let fail = |fault| ReadError::Line { path: name.to_owned(), line, fault };
        let before = values.len();
        for word in words(row) {
            let shown = || String::from_utf8_lossy(&word[..word.len().min(40)]).into_owned();
            let value = number(word).ok_or_else(|| fail(Fault::NotANumber { found: shown() }))?;
            if !value.is_finite() {
                return Err(fail(Fault::NotFinite { found: shown() }));
            }
            values.push(value);
        }
        let found = values.len() - before;
        if count > 0 && found != columns {
            return Err(fail(Fault::Ragged { expected: columns, found }));
        }
        (columns, count) = (found, count + 1);
    }
    let matrix = |fault| ReadError::Matrix { path: name.to_owned(), fault };
    let mut table = Dense::zeros(count, columns).map_err(matrix)?;
    for j in 0..columns {
        let of_column = values.iter().skip(j).step_by(columns);
        table.column_mut(j).iter_mut().zip(of_column).for_each(|(to, &value)| *to = value);
    }
    Ok(table)
}

/// The lines with data, with their numbers from one.
fn rows(text: &[u8]) -> impl Iterator<Item = (u64, &[u8])> {
    let lines = (1..).zip(text.split(|&byte| byte == b'\n')).map(|(line, row)| (line, row.trim_ascii()));
    lines.filter(|(_, row)| !matches!(row.first(), None | Some(b'#' | b'%')))
}

fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    let is_separator = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b',' | b';');
    line.split(is_separator).filter(|word| !word.is_empty())
}

/// A number as programs write it, with `e` or Fortran's `d` before the exponent.
fn number(word: &[u8]) -> Option<f64> {
    let word = str::from_utf8(word).ok()?;
    word.parse().ok().or_else(|| word.replace(['d', 'D'], "e").parse().ok())
}

#[cfg(test)]
mod tests {
    use crate::io::{read_dense_from, read_matrix_from, read_vector_from};

    #[test]
    fn tables_of_many_programs() {
        for text in [
            "0.0 1.0 2.0\n3 4e0 5.\n",                                    // by hand
            "# x y z\n0.000000e+00 1.000000e+00 2.0e0\n3e0 4e0 5e0\n",    // numpy.savetxt
            "0,1,2\r\n3,4,5\r\n",                                         // CSV with Windows line ends
            "% MATLAB\n\n  0;1; 2\n  3;4;5",                              // no end of line at the end
            "0.0D+00 1.0D+00 2.0D+00\n  0.3D+01   0.4D+01   0.5D+01\n\n", // Fortran
        ] {
            let table = read_dense_from(text.as_bytes(), "xyz.txt").unwrap();
            assert_eq!((table.rows(), table.cols()), (2, 3), "{text}");
            assert_eq!(table.values(), [0.0, 3.0, 1.0, 4.0, 2.0, 5.0], "{text}");
        }
        assert_eq!(read_vector_from("1\n-2.5\n1e3\n".as_bytes(), "b").unwrap(), [1.0, -2.5, 1000.0]);
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        for (text, expected) in [
            ("1 2\n3\n", "t, line 2: the line has 1 number, but the first one has 2"),
            ("1 2\n\n3 x\n", "t, line 3: `x` is not a number"),
            ("1\n1e999\n", "t, line 2: the value `1e999` is not finite in double precision"),
        ] {
            assert_eq!(read_dense_from(text.as_bytes(), "t").unwrap_err().to_string(), expected);
        }
        // Not a vector, and never a sparse matrix.
        assert!(read_vector_from("1 2\n3 4\n".as_bytes(), "t").is_err());
        let error = read_matrix_from("1 1 4.0\n2 2 4.0\n".as_bytes(), "t").unwrap_err().to_string();
        assert!(error.contains("%%MatrixMarket"), "{error}");
    }
}

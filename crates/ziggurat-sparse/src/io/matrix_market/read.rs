//! Reading matrices, vectors and dense matrices.
//!
//! Entries take 16 bytes each while they are collected (32 for an off-diagonal entry of a symmetric
//! file); then the matrix is built from them.

use std::cmp::Ordering;
use std::io::Read;
use std::path::Path;

use super::cursor::Cursor;
use super::header::{Field, Header, Layout, StoredSymmetry};
use super::input::{Entries, Input};
use crate::io::{Fault, ReadError};
use crate::{Coo, Csr, Dense, MatrixError};

/// Block size in bytes, and the length limit of a line. Two blocks of text are in memory at once.
pub(super) const BLOCK: usize = 8 << 20;

/// Reads a matrix.
pub(in crate::io) fn read_matrix(reader: impl Read + Send, name: &Path) -> Result<Csr<f64>, ReadError> {
    let input = open_local(reader, name, BLOCK)?;
    match input.head.header.layout {
        Layout::Coordinate => coordinate_matrix(input),
        Layout::Array => array(input).map(|dense| dense.to_csr()),
    }
}

/// Reads a vector: an `array` with one column, or a `coordinate` matrix with one column, whose
/// missing entries are zero.
pub(in crate::io) fn read_vector(reader: impl Read + Send, name: &Path) -> Result<Vec<f64>, ReadError> {
    let mut input = open_local(reader, name, BLOCK)?;
    if input.head.header.cols != 1 {
        return Err(input.head.at_size_line(Fault::NotAVector { columns: input.head.header.cols }));
    }
    if input.head.header.layout == Layout::Array {
        return array(input).map(Dense::into_values);
    }
    let triplets = coordinates(&mut input)?;
    input.justify_rows(input.head.header.rows)?;
    let mut vector = vec![0.0; input.head.header.rows as usize];
    for (&row, &value) in triplets.rows.iter().zip(&triplets.values) {
        vector[row as usize] += value;
    }
    match vector.iter().position(|value| !value.is_finite()) {
        None => Ok(vector),
        Some(row) => Err(input.fault(MatrixError::NotFinite { row, column: 0, value: vector[row] })),
    }
}

/// Reads a dense matrix from an `array` file.
pub(in crate::io) fn read_dense(reader: impl Read + Send, name: &Path) -> Result<Dense<f64>, ReadError> {
    let input = open_local(reader, name, BLOCK)?;
    match input.head.header.layout {
        Layout::Coordinate => Err(input.head.at_size_line(Fault::NotDense)),
        Layout::Array => array(input),
    }
}

/// Opens a file whose rows and columns fit local indices.
fn open_local<'r, 'n>(
    reader: impl Read + Send + 'r,
    name: &'n Path,
    block: usize,
) -> Result<Input<'r, 'n>, ReadError> {
    let input = Input::open(reader, name, block)?;
    input.head.header.check_local().map_err(|fault| input.head.at_size_line(fault))?;
    Ok(input)
}

/// Entries of a sparse matrix, expanded to both triangles.
#[derive(Debug, Default, PartialEq)]
struct Triplets {
    rows: Vec<u32>,
    columns: Vec<u32>,
    values: Vec<f64>,
}

impl Triplets {
    fn push(&mut self, row: u64, column: u64, value: f64) {
        // `open_local` has checked that the indices fit.
        self.rows.push(row as u32);
        self.columns.push(column as u32);
        self.values.push(value);
    }
}

impl Entries for Triplets {
    fn append(&mut self, later: Triplets) {
        self.rows.extend_from_slice(&later.rows);
        self.columns.extend_from_slice(&later.columns);
        self.values.extend_from_slice(&later.values);
    }
}

/// Reads a value in the format that the banner declares.
#[inline]
fn value(cursor: &mut Cursor<'_>, field: Field) -> Result<f64, Fault> {
    match field {
        Field::Real => cursor.real(),
        Field::Integer => cursor.integer(),
        Field::Pattern => Ok(1.0),
    }
}

/// Reads one line of a coordinate file. Calls `push` with its entry (row, column, value), then with
/// the mirrored entry if there is one.
#[inline]
pub(super) fn coordinate(
    cursor: &mut Cursor<'_>,
    header: &Header,
    mut push: impl FnMut(u64, u64, f64),
) -> Result<(), Fault> {
    let symmetry = header.symmetry;
    let (row, column) = (cursor.index("row", header.rows)?, cursor.index("column", header.cols)?);
    let value = value(cursor, header.field)?;
    push(row, column, value);
    let mirrored = match symmetry {
        StoredSymmetry::General => return Ok(()),
        StoredSymmetry::Symmetric => value,
        StoredSymmetry::Skew => -value,
    };
    match row.cmp(&column) {
        Ordering::Greater => push(column, row, mirrored),
        Ordering::Equal if symmetry == StoredSymmetry::Skew && value != 0.0 => {
            return Err(Fault::SkewDiagonal { row: row + 1, value });
        }
        Ordering::Equal => {}
        Ordering::Less => {
            let (row, column) = (row + 1, column + 1);
            return Err(Fault::UpperTriangle { symmetry: symmetry.name(), row, column });
        }
    }
    Ok(())
}

/// Entries of a coordinate file, in file order, each followed by its mirrored entry if there is
/// one.
fn coordinates(input: &mut Input<'_, '_>) -> Result<Triplets, ReadError> {
    let header = input.head.header;
    input.entries(|cursor, triplets: &mut Triplets| {
        coordinate(cursor, &header, |row, column, value| triplets.push(row, column, value))
    })
}

fn coordinate_matrix(mut input: Input<'_, '_>) -> Result<Csr<f64>, ReadError> {
    let triplets = coordinates(&mut input)?;
    input.justify_rows(input.head.header.rows)?;
    let (rows, cols) = (input.head.header.rows as usize, input.head.header.cols as usize);
    let Triplets { rows: entry_rows, columns, values } = triplets;
    let matrix = Coo::try_from_triplets(rows, cols, entry_rows, columns, values).map(Coo::into_csr);
    matrix
        .and_then(|matrix| matrix.view().check_finite().map(|()| matrix))
        .map_err(|fault| input.fault(fault))
}

/// The values listed in an array file.
pub(super) fn array_lines(input: &mut Input<'_, '_>) -> Result<Vec<f64>, ReadError> {
    let field = input.head.header.field;
    input.entries(|cursor, values: &mut Vec<f64>| {
        values.push(value(cursor, field)?);
        Ok(())
    })
}

/// The matrix of an array file, expanded to both triangles.
fn array(mut input: Input<'_, '_>) -> Result<Dense<f64>, ReadError> {
    let Header { symmetry, rows, cols, .. } = input.head.header;
    let (rows, cols) = (rows as usize, cols as usize);
    let stored = array_lines(&mut input)?;
    input.justify_rows(input.head.header.rows)?; // can fail only for a matrix without columns
    let (first, sign) = match symmetry {
        StoredSymmetry::General => {
            return Dense::try_new(rows, cols, stored).map_err(|fault| input.fault(fault));
        }
        StoredSymmetry::Symmetric => (0, 1.0),
        StoredSymmetry::Skew => (1, -1.0), // the diagonal is not listed
    };
    // About twice as many values as the file lists.
    let mut full = Dense::zeros(rows, cols).map_err(|fault| input.fault(fault))?;
    let mut next = stored.into_iter();
    for column in 0..cols {
        // The range comes first: `zip` advances its first iterator first, so no value is lost when
        // the range ends.
        for (row, value) in (column + first..rows).zip(&mut next) {
            full[(row, column)] = value;
            full[(column, row)] = sign * value;
        }
    }
    Ok(full)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::counted;
    use proptest::prelude::*;

    /// Reads with blocks of `block` bytes on `threads` threads.
    fn read(text: &[u8], block: usize, threads: usize) -> Result<Csr<f64>, String> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            open_local(text, Path::new("t"), block)
                .and_then(coordinate_matrix)
                .map_err(|error| error.to_string())
        })
    }

    /// Data lines, some of them invalid, with comments and blank lines in between.
    fn lines() -> impl Strategy<Value = Vec<String>> {
        let good = (1u32..=20, 1u32..=20, -1e3..1e3f64).prop_map(|(i, j, v)| format!("{i} {j} {v}"));
        let line = prop_oneof![
            200 => good,
            20 => Just("% a comment".to_owned()),
            20 => Just("  \r".to_owned()),
            2 => Just("1 2".to_owned()),
            2 => Just("0 1 2".to_owned()),
        ];
        proptest::collection::vec(line, 0..120)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        // Small blocks, so that block boundaries fall everywhere around header, lines and faults.
        #[test]
        fn neither_blocks_nor_threads_change_the_result_or_the_error(
            lines in lines(),
            off in -9i64..=2,
            block in 64usize..400,
        ) {
            let data = lines.iter().filter(|line| line.starts_with(|c: char| c.is_ascii_digit())).count();
            let declared = (data as i64 + off).max(0);
            let text = format!("%%MatrixMarket matrix coordinate real general\n%\n20 20 {declared}\n{}", lines.join("\n"));
            let whole = read(text.as_bytes(), BLOCK, 1);
            prop_assert_eq!(&read(text.as_bytes(), block, 1), &whole);
            prop_assert_eq!(&read(text.as_bytes(), block, 2), &whole);
            prop_assert_eq!(&read(text.as_bytes(), BLOCK, 2), &whole);

            // The expected error, computed by a simple reference.
            let mut found = 0;
            let mut expected = None;
            for (at, line) in lines.iter().enumerate() {
                if line.starts_with(|c: char| c.is_ascii_digit()) {
                    let fault = match line.as_str() {
                        _ if found == declared => "too many entries",
                        "1 2" => "the value is missing",
                        "0 1 2" => "row 0 is outside 1..=20",
                        _ => "",
                    };
                    found += 1;
                    if !fault.is_empty() {
                        expected = Some(format!("t, line {}: {fault}", at + 4));
                        break;
                    }
                }
            }
            if expected.is_none() && found < declared {
                expected = Some(format!("the file ends after {}", counted(found, "entry")));
            }
            match (whole, expected) {
                (Ok(_), None) => {}
                (Err(error), Some(expected)) => prop_assert!(error.contains(&expected), "{error} / {expected}"),
                (whole, expected) => prop_assert!(false, "{whole:?} / {expected:?}"),
            }
        }
    }

    #[test]
    fn comments_may_fill_blocks_before_the_size_line() {
        let text = format!(
            "%%MatrixMarket matrix coordinate real general\n{}2 2 1\n2 x 1\n",
            "% a long introduction\n".repeat(50)
        );
        assert_eq!(
            read(text.as_bytes(), 64, 1),
            Err("t, line 53: column `x` is not a whole number".to_owned())
        );
    }
}

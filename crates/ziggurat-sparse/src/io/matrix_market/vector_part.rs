//! Selected rows of a vector in a Matrix Market file, for a process that owns these rows.
//!
//! In an `array` file the line number is the row number, which is only known after reading all
//! lines before; in a `coordinate` file any row may be on any line. So the whole text is read, and
//! only requested rows are kept: 8 bytes each (16 bytes per entry of a `coordinate` file, until
//! they are summed).

use std::io::Read;
use std::ops::Range;
use std::path::Path;

use super::header::{Layout, StoredSymmetry};
use super::part::open_global;
use super::read::{BLOCK, array_lines, coordinate};
use crate::MatrixError;
use crate::io::{Fault, ReadError};

/// The number of rows of a vector, as the size line states. Nothing else is read.
pub(in crate::io) fn read_vector_rows(reader: impl Read + Send, name: &Path) -> Result<u64, ReadError> {
    let input = open_global(reader, name, BLOCK)?;
    let header = input.head.header;
    match header.cols {
        1 => Ok(header.rows),
        columns => Err(input.head.at_size_line(Fault::NotAVector { columns })),
    }
}

/// Reads a range of rows (from zero) of a vector.
pub(in crate::io) fn read_vector_part(
    reader: impl Read + Send,
    name: &Path,
    rows: Range<u64>,
) -> Result<Vec<f64>, ReadError> {
    let mut input = open_global(reader, name, BLOCK)?;
    let header = input.head.header;
    if header.cols != 1 {
        return Err(input.head.at_size_line(Fault::NotAVector { columns: header.cols }));
    }
    let Range { start, end } = rows;
    if start > end || end > header.rows {
        return Err(input.head.at_size_line(Fault::NoSuchRows { start, end, rows: header.rows }));
    }
    if header.layout == Layout::Array {
        let mut values = array_lines(&mut input.only(start.min(header.stored)..end.min(header.stored)))?;
        if header.symmetry == StoredSymmetry::Skew {
            values.resize((end - start) as usize, 0.0); // 1 × 1: the only entry is on the unlisted diagonal
        }
        return Ok(values);
    }
    let entries = input.entries(|cursor, entries: &mut Vec<(u64, f64)>| {
        coordinate(cursor, &header, |row, _, value| {
            if rows.contains(&row) {
                entries.push((row - start, value));
            }
        })
    })?;
    input.justify_rows(end - start)?;
    let mut vector = vec![0.0; (end - start) as usize];
    for (row, value) in entries {
        vector[row as usize] += value;
    }
    match vector.iter().position(|value| !value.is_finite()) {
        None => Ok(vector),
        Some(at) => {
            let row = usize::try_from(start).map_or(usize::MAX, |start| start.saturating_add(at));
            Err(input.fault(MatrixError::NotFinite { row, column: 0, value: vector[at] }))
        }
    }
}

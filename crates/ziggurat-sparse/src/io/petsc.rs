//! Binary files of PETSc, as `MatView` and `VecView` write them to a binary viewer.
//!
//! A sequence of objects; all numbers are big-endian, values have 64 bits:
//!
//! ```text
//! matrix   1211216  rows  columns  entries   length of each row   columns   values
//! dense    1211216  rows  columns  -1        values, row by row
//! vector   1211214  rows                     values
//! indices  1211218  count                    indices                           (skipped)
//! ```
//!
//! From the manual pages of `MatLoad` and `VecLoad`. Integers have 32 bits, or 64 if PETSc was
//! configured so (`--with-64-bit-indices`); the first of them shows which. The entries of a matrix
//! with more than 2^31 - 2 of them are given as 2^31 - 1 in 32 bits.
//!
//! The first matrix, or the first vector, of a file is read. Builds of PETSc for complex numbers or
//! single precision write the same header, so their files are recognised only by their length and
//! refused. A symmetric matrix of type `sbaij` is stored as its upper triangle without a mark: it
//! cannot be recognised, so convert it to `aij` before it is written.

use std::io::{self, Write};

use super::BinaryFault;
use super::binary_fault::{Located, check_finite};
use super::content::{Content, Wanted};
use super::limits::check_size;
use crate::{Csr, CsrRef, Dense};

const MATRIX: i64 = 1_211_216;
const VECTOR: i64 = 1_211_214;
const INDEX_SET: i64 = 1_211_218;

/// The range of class ids, of which PETSc has about ten.
const CLASS_IDS: std::ops::Range<i64> = 1_211_210..1_211_240;

/// The number of entries that marks a dense matrix.
const DENSE: i64 = -1;

/// Values that are converted to bytes at once.
const PIECE: usize = 4096;

/// Whether a file starts with a matrix, a vector or an index set.
pub(super) fn is_petsc(start: &[u8]) -> bool {
    width(start).is_some()
}

/// The bytes of an integer.
fn width(start: &[u8]) -> Option<usize> {
    let known = |id: i64| matches!(id, MATRIX | VECTOR | INDEX_SET);
    [4, 8].into_iter().find(|&width| start.get(..width).is_some_and(|bytes| known(integer(bytes))))
}

/// A signed big-endian integer with 4 or 8 bytes.
fn integer(bytes: &[u8]) -> i64 {
    match *bytes {
        [a, b, c, d] => i32::from_be_bytes([a, b, c, d]).into(),
        [a, b, c, d, e, f, g, h] => i64::from_be_bytes([a, b, c, d, e, f, g, h]),
        _ => -1, // not called with other lengths
    }
}

/// Reads the first object of the wanted kind. A matrix serves as a vector or a dense matrix, and a
/// vector as a matrix, if there is nothing better.
pub(super) fn read(bytes: &[u8], wanted: Wanted) -> Result<Content, Located> {
    let width = width(bytes).ok_or(BinaryFault::Header { expected: "a class id of PETSc" }.at(0))?;
    let mut reader = Reader { bytes, at: 0, width };
    let mut second_best = None;
    while let Some(id) = reader.class_id()? {
        let begin = reader.at - width;
        match (id, wanted) {
            (MATRIX, Wanted::Vector) | (VECTOR, Wanted::Matrix | Wanted::Dense) => {
                second_best = second_best.or(Some(begin));
                if id == MATRIX { reader.skip_matrix()? } else { reader.skip_vector()? }
            }
            (MATRIX, _) => return reader.matrix(),
            (VECTOR, _) => return reader.vector(),
            (INDEX_SET, _) => {
                let count = reader.count("indices")?;
                reader.take(count, width)?;
            }
            (other, _) => {
                let found = format!("the object with class id {other}");
                let supported = "matrices and vectors before it are";
                return Err(BinaryFault::NotSupported { found, supported }.at(begin));
            }
        }
    }
    let Some(begin) = second_best else {
        let what = if wanted == Wanted::Vector { "vector" } else { "matrix" };
        return Err(BinaryFault::NoSuchObject { what }.at(bytes.len()));
    };
    reader.at = begin + width;
    if wanted == Wanted::Vector { reader.matrix() } else { reader.vector() }
}

/// A position in a file.
struct Reader<'b> {
    bytes: &'b [u8],
    at: usize,
    /// Bytes of an integer.
    width: usize,
}

/// The header of a matrix.
struct Size {
    rows: u64,
    cols: u64,
    entries: i64,
}

impl<'b> Reader<'b> {
    /// The class id of the next object; `None` at the end of the file.
    fn class_id(&mut self) -> Result<Option<i64>, Located> {
        let left = &self.bytes[self.at..];
        if left.is_empty() {
            return Ok(None);
        }
        match left.get(..self.width).map(integer) {
            Some(id) if CLASS_IDS.contains(&id) => {
                self.at += self.width;
                Ok(Some(id))
            }
            _ => {
                let hint = "was it written by a PETSc for complex numbers, or with another size of indices?";
                Err(BinaryFault::Trailing { left: left.len() as u64, hint }.at(self.at))
            }
        }
    }

    /// The next `count` items of `size` bytes.
    fn take(&mut self, count: u64, size: usize) -> Result<&'b [u8], Located> {
        let left = &self.bytes[self.at..];
        let needed = u128::from(count) * size as u128;
        let end = usize::try_from(needed).ok().filter(|&end| end <= left.len());
        let Some(end) = end else {
            return Err(BinaryFault::Truncated { needed, left: left.len() as u64 }.at(self.at));
        };
        self.at += end;
        Ok(&left[..end])
    }

    fn integer(&mut self) -> Result<i64, Located> {
        self.take(1, self.width).map(integer)
    }

    fn count(&mut self, what: &'static str) -> Result<u64, Located> {
        let begin = self.at;
        let found = self.integer()?;
        u64::try_from(found).map_err(|_| BinaryFault::Count { what, found }.at(begin))
    }

    fn size(&mut self) -> Result<Size, Located> {
        let (rows, cols, begin) = (self.count("rows")?, self.count("columns")?, self.at);
        match self.integer()? {
            found if found < DENSE => Err(BinaryFault::Count { what: "entries", found }.at(begin)),
            entries => Ok(Size { rows, cols, entries }),
        }
    }

    /// The start of each row, and the end of the last.
    fn row_ptr(&mut self, size: &Size) -> Result<Vec<usize>, Located> {
        let begin = self.at;
        let lengths = self.take(size.rows, self.width)?;
        let mut row_ptr = vec![0];
        let mut sum = 0_u64;
        for (row, length) in lengths.chunks_exact(self.width).map(integer).enumerate() {
            let added = u64::try_from(length).ok().and_then(|length| sum.checked_add(length));
            let bounded = added.filter(|&sum| sum <= self.bytes.len() as u64);
            let Some(added) = bounded else {
                let fault = BinaryFault::Count { what: "entries of a row", found: length };
                return Err(fault.at(begin + row * self.width));
            };
            sum = added;
            row_ptr.push(sum as usize); // at most the length of the file
        }
        let unknown = self.width == 4 && size.entries == i64::from(i32::MAX);
        if sum as i64 != size.entries && !unknown {
            let declared = size.entries as u64; // not negative: not a dense matrix
            return Err(BinaryFault::RowLengths { declared, found: sum }.at(begin));
        }
        Ok(row_ptr)
    }

    /// Finite values.
    fn values(&mut self, count: u64) -> Result<Vec<f64>, Located> {
        let begin = self.at;
        let bytes = self.take(count, 8)?;
        let values: Vec<f64> = bytes.as_chunks().0.iter().map(|&bytes| f64::from_be_bytes(bytes)).collect();
        check_finite(&values).map_err(|fault| fault.at(begin))?;
        Ok(values)
    }

    /// Rejects a file that continues with anything but another object.
    fn end(&self) -> Result<(), Located> {
        Reader { ..*self }.class_id().map(|_| ())
    }

    fn vector(mut self) -> Result<Content, Located> {
        let begin = self.at;
        let rows = self.count("rows")?;
        let (rows, _) = check_size(rows, 1, self.bytes.len()).map_err(|fault| fault.at(begin))?;
        let values = self.values(rows as u64)?;
        self.end()?;
        dense(rows, 1, values).map_err(|fault| fault.at(begin))
    }

    fn matrix(mut self) -> Result<Content, Located> {
        let begin = self.at;
        let size = self.size()?;
        let (rows, cols) =
            check_size(size.rows, size.cols, self.bytes.len()).map_err(|fault| fault.at(begin))?;
        if size.entries == DENSE {
            let by_rows = self.values(size.rows * size.cols)?; // both below 2^32
            self.end()?;
            let column = |j: usize| by_rows[j.min(by_rows.len())..].iter().step_by(cols).copied();
            let values = (0..if rows == 0 { 0 } else { cols }).flat_map(column).collect();
            return dense(rows, cols, values).map_err(|fault| fault.at(begin));
        }
        let row_ptr = self.row_ptr(&size)?;
        let entries = row_ptr[rows] as u64;
        let columns_begin = self.at;
        let columns = self.take(entries, self.width)?.chunks_exact(self.width).map(integer);
        let columns = columns.enumerate().map(|(entry, found)| match u32::try_from(found) {
            Ok(column) if u64::from(column) < size.cols => Ok(column),
            _ => {
                let (entry, extent) = (entry as u64, size.cols);
                Err(BinaryFault::IndexOutOfRange { entry, found, extent }.at(columns_begin))
            }
        });
        let columns = columns.collect::<Result<Vec<u32>, _>>()?;
        let values = self.values(entries)?;
        self.end()?;
        let a = Csr::from_unsorted(rows, cols, row_ptr, columns, values);
        a.map(Content::Sparse).map_err(|fault| BinaryFault::TooLarge(fault).at(begin))
    }

    fn skip_matrix(&mut self) -> Result<(), Located> {
        let size = self.size()?;
        if size.entries == DENSE {
            let row = size.cols.saturating_mul(8);
            self.take(size.rows, usize::try_from(row).unwrap_or(usize::MAX))?;
            return Ok(());
        }
        let entries = self.row_ptr(&size)?.last().copied().unwrap_or(0) as u64;
        self.take(entries, self.width + 8).map(|_| ())
    }

    fn skip_vector(&mut self) -> Result<(), Located> {
        let rows = self.count("rows")?;
        self.take(rows, 8).map(|_| ())
    }
}

fn dense(rows: usize, cols: usize, values: Vec<f64>) -> Result<Content, BinaryFault> {
    Dense::try_new(rows, cols, values).map(Content::Dense).map_err(BinaryFault::TooLarge)
}

/// Writes integers in the given number of bytes.
fn write_integers(
    out: &mut impl Write,
    width: usize,
    integers: impl IntoIterator<Item = i64>,
) -> io::Result<()> {
    let mut bytes = Vec::with_capacity(8 * PIECE);
    for integer in integers {
        bytes.extend_from_slice(&integer.to_be_bytes()[8 - width..]);
        if bytes.len() >= 8 * PIECE {
            out.write_all(&bytes)?;
            bytes.clear();
        }
    }
    out.write_all(&bytes)
}

/// The bytes of integers up to `largest`: 4, as most builds of PETSc have them, if they suffice.
fn width_for(largest: usize) -> usize {
    if i32::try_from(largest).is_ok() { 4 } else { 8 }
}

/// Writes the values of an object.
pub(super) fn write_values(out: &mut impl Write, values: &[f64]) -> io::Result<()> {
    let mut bytes = Vec::with_capacity(8 * PIECE.min(values.len()));
    for piece in values.chunks(PIECE) {
        bytes.clear();
        bytes.extend(piece.iter().flat_map(|value| value.to_be_bytes()));
        out.write_all(&bytes)?;
    }
    Ok(())
}

/// Writes what precedes the values of a vector.
pub(super) fn write_vector_header(out: &mut impl Write, rows: u64) -> io::Result<()> {
    let width = width_for(usize::try_from(rows).unwrap_or(usize::MAX));
    write_integers(out, width, [VECTOR, rows as i64])
}

/// Writes a sparse matrix.
pub(super) fn write_matrix(out: &mut impl Write, a: CsrRef<'_, f64>) -> io::Result<()> {
    let width = width_for(a.nnz().max(a.rows()).max(a.cols()));
    write_integers(out, width, [MATRIX, a.rows() as i64, a.cols() as i64, a.nnz() as i64])?;
    write_integers(out, width, a.row_ptr().windows(2).map(|row| (row[1] - row[0]) as i64))?;
    write_integers(out, width, a.columns().iter().map(|&column| i64::from(column)))?;
    write_values(out, a.values())
}

/// Writes a dense matrix.
pub(super) fn write_dense(out: &mut impl Write, dense: &Dense<f64>) -> io::Result<()> {
    let width = width_for(dense.rows().max(dense.cols()));
    write_integers(out, width, [MATRIX, dense.rows() as i64, dense.cols() as i64, DENSE])?;
    let mut row = Vec::with_capacity(dense.cols());
    for index in 0..dense.rows() {
        row.clear();
        row.extend(dense.columns().map(|column| column[index]));
        write_values(out, &row)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Objects of integers and values.
    fn file(width: usize, objects: &[(&[i64], &[f64])]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (integers, values) in objects {
            write_integers(&mut bytes, width, integers.iter().copied()).unwrap();
            write_values(&mut bytes, values).unwrap();
        }
        bytes
    }

    const TWO: (&[i64], &[f64]) = (&[MATRIX, 2, 3, 3, 1, 2, 2, 1, 0], &[5.0, 7.0, 6.0]);
    const VEC: (&[i64], &[f64]) = (&[VECTOR, 2], &[8.0, 9.0]);
    const FULL: (&[i64], &[f64]) = (&[MATRIX, 2, 3, DENSE], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);

    #[test]
    fn both_sizes_of_integers_and_unsorted_rows() {
        let expected = Csr::try_new(2, 3, vec![0, 1, 3], vec![2, 0, 1], vec![5.0, 6.0, 7.0])
            .map(Content::Sparse)
            .unwrap();
        for width in [4, 8] {
            assert_eq!(read(&file(width, &[TWO]), Wanted::Matrix).unwrap(), expected);
            assert_eq!(read(&file(width, &[VEC, TWO]), Wanted::Matrix).unwrap(), expected);
            let vector = Content::Dense(Dense::try_new(2, 1, vec![8.0, 9.0]).unwrap());
            for objects in [&[VEC][..], &[TWO, VEC], &[FULL, VEC, TWO], &[(&[INDEX_SET, 2, 1, 0], &[]), VEC]]
            {
                assert_eq!(read(&file(width, objects), Wanted::Vector).unwrap(), vector, "{objects:?}");
            }
            let full = Content::Dense(Dense::try_new(2, 3, vec![1.0, 4.0, 2.0, 5.0, 3.0, 6.0]).unwrap());
            assert_eq!(read(&file(width, &[VEC, FULL]), Wanted::Dense).unwrap(), full);
            assert_eq!(read(&file(width, &[VEC]), Wanted::Dense).unwrap(), vector);
        }
        let mut unknown = file(4, &[TWO]);
        unknown[12..16].copy_from_slice(&i32::MAX.to_be_bytes());
        assert_eq!(read(&unknown, Wanted::Matrix).unwrap(), expected);
    }

    #[test]
    fn faults_name_the_byte() {
        let fault = |bytes: &[u8]| {
            let Located { position, fault } = read(bytes, Wanted::Matrix).unwrap_err();
            format!("{position}: {fault}")
        };
        let changed = |at: usize, value: i32| {
            let mut bytes = file(4, &[TWO]);
            bytes[4 * at..4 * at + 4].copy_from_slice(&value.to_be_bytes());
            fault(&bytes)
        };
        assert_eq!(changed(1, -2), "byte 4: the number of rows is -2");
        assert_eq!(
            changed(1, i32::MAX),
            "byte 4: 2147483647 rows are implausible for a file with 60 bytes; the limit is 1110016"
        );
        assert_eq!(changed(1, 1000), "byte 16: 4000 bytes are declared here, but the file ends after 44");
        assert_eq!(
            changed(3, 4),
            "byte 16: the lengths of the rows add up to 3, but the header declares 4 entries"
        );
        assert_eq!(changed(3, -2), "byte 12: the number of entries is -2");
        assert_eq!(changed(4, -1), "byte 16: the number of entries of a row is -1");
        assert_eq!(changed(5, i32::MAX), "byte 20: the number of entries of a row is 2147483647");
        assert_eq!(changed(7, 3), "byte 24: entry 1: the index 3 is outside 0..3");
        assert_eq!(changed(8, -1), "byte 24: entry 2: the index -1 is outside 0..3");
        // Twice as many values: complex numbers.
        let mut complex = file(4, &[TWO]);
        complex.extend([0; 24]);
        assert!(fault(&complex).starts_with("byte 60: 24 more bytes follow"), "{}", fault(&complex));
        assert_eq!(fault(&file(4, &[(&[INDEX_SET, 0], &[])])), "byte 8: the file contains no matrix");
        let whole = file(4, &[TWO]);
        for length in 0..whole.len() {
            assert!(read(&whole[..length], Wanted::Matrix).is_err(), "{length}");
            assert!(read(&whole[..length], Wanted::Vector).is_err(), "{length}");
        }
    }
}

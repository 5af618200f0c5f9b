//! Reading a matrix.

use std::cmp::Ordering;
use std::path::Path;

use super::fortran_format::FortranFormat;
use super::is_type;
use crate::io::fault::{Fault, shown};
use crate::io::limits::most_rows;
use crate::io::{ReadError, StoredSymmetry};
use crate::{Coo, Csr, MatrixError};

/// Reads a matrix.
pub(in crate::io) fn read(text: &[u8], name: &Path) -> Result<Csr<f64>, ReadError> {
    let mut lines = Lines { rest: text, number: 0 };
    matrix(&mut lines, text.len()).map_err(|fault| match fault {
        Refused::Line(fault) => ReadError::Line { path: name.to_owned(), line: lines.number, fault },
        Refused::Matrix(fault) => ReadError::Matrix { path: name.to_owned(), fault },
    })
}

/// Why there is no matrix: the fault of the current line, or of the whole matrix.
enum Refused {
    Line(Fault),
    Matrix(MatrixError),
}

impl From<Fault> for Refused {
    fn from(fault: Fault) -> Self {
        Refused::Line(fault)
    }
}

/// The lines of a text.
struct Lines<'t> {
    rest: &'t [u8],
    /// The number of the current line, from one.
    number: u64,
}

impl<'t> Lines<'t> {
    fn next(&mut self, what: &'static str) -> Result<&'t [u8], Fault> {
        self.number += 1;
        if self.rest.is_empty() {
            return Err(Fault::Missing { what });
        }
        let end = self.rest.iter().position(|&byte| byte == b'\n').unwrap_or(self.rest.len());
        let (line, rest) = self.rest.split_at(end);
        self.rest = rest.get(1..).unwrap_or_default();
        Ok(line.trim_ascii_end())
    }

    /// Reads `count` fields, line by line.
    fn fields<T>(
        &mut self,
        count: usize,
        what: &'static str,
        format: FortranFormat,
        parse: impl Fn(&[u8]) -> Result<T, Fault>,
    ) -> Result<Vec<T>, Fault> {
        let mut fields = Vec::new();
        while fields.len() < count {
            let (line, before) = (self.next(what)?, fields.len());
            for field in format.fields(line).into_iter().take(count - before) {
                if field.is_empty() {
                    return Err(Fault::Missing { what });
                }
                fields.push(parse(field)?);
            }
            if fields.len() == before {
                return Err(Fault::Missing { what });
            }
        }
        Ok(fields)
    }
}

/// The third line.
struct Kind {
    pattern: bool,
    symmetry: StoredSymmetry,
    rows: u64,
    cols: u64,
    entries: u64,
}

fn number(word: Option<&[u8]>, what: &'static str) -> Result<u64, Fault> {
    let word = word.ok_or(Fault::Missing { what })?;
    let text = str::from_utf8(word).ok().and_then(|text| text.parse().ok());
    text.ok_or_else(|| Fault::NotACount { what, found: shown(word) })
}

/// The words of a line.
fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty())
}

fn kind(line: &[u8]) -> Result<Kind, Fault> {
    let letters = line.get(..3).filter(|letters| is_type(letters));
    let Some(&[kind, symmetry, assembly]) = letters else {
        return Err(Fault::BoeingType { found: shown(&line[..line.len().min(3)]) });
    };
    match [kind, symmetry, assembly].map(|letter| letter.to_ascii_uppercase()) {
        [b'C', ..] => return Err(Fault::NotSupported { what: "complex" }),
        [b'Q', ..] => return Err(Fault::NotSupported { what: "supplementary" }),
        [_, b'H', _] => return Err(Fault::NotSupported { what: "hermitian" }),
        [_, _, b'E'] => return Err(Fault::NotSupported { what: "elemental" }),
        _ => {}
    }
    let symmetry = match symmetry.to_ascii_uppercase() {
        b'S' => StoredSymmetry::Symmetric,
        b'Z' => StoredSymmetry::Skew,
        _ => StoredSymmetry::General,
    };
    let mut words = words(&line[3..]);
    let rows = number(words.next(), "the number of rows")?;
    let cols = number(words.next(), "the number of columns")?;
    let entries = number(words.next(), "the number of entries")?;
    for (what, count) in [("rows", rows), ("columns", cols)] {
        if count > u64::from(u32::MAX) {
            let extent = usize::try_from(count).unwrap_or(usize::MAX);
            return Err(Fault::TooLarge(MatrixError::TooLarge { what, extent }));
        }
    }
    if symmetry != StoredSymmetry::General && rows != cols {
        return Err(Fault::NotSquare { symmetry: symmetry.name(), rows, columns: cols });
    }
    Ok(Kind { pattern: kind.eq_ignore_ascii_case(&b'P'), symmetry, rows, cols, entries })
}

/// The next format of the fourth line.
fn format(rest: &mut &[u8], what: &'static str) -> Result<FortranFormat, Fault> {
    let begin = rest.trim_ascii_start();
    let mut depth = 0;
    let end = begin.iter().position(|byte| {
        depth += i64::from(*byte == b'(') - i64::from(*byte == b')');
        depth <= 0
    });
    let (text, after) = begin.split_at(end.map_or(begin.len(), |end| end + 1));
    *rest = after;
    let parsed = str::from_utf8(text).ok().and_then(FortranFormat::parse);
    parsed.ok_or_else(|| Fault::FortranFormat { what, found: shown(text) })
}

fn matrix(lines: &mut Lines<'_>, bytes: usize) -> Result<Csr<f64>, Refused> {
    lines.next("the title")?;
    let counts = lines.next("the line with the numbers of lines")?;
    let has_rhs =
        words(counts).nth(4).is_some_and(|word| word.iter().any(|byte| (b'1'..=b'9').contains(byte)));
    let Kind { pattern, symmetry, rows, cols, entries } = kind(lines.next("the line with the matrix type")?)?;
    let limit = most_rows(bytes as u64);
    if rows > limit {
        return Err(Fault::TooManyRows { rows, bytes: bytes as u64, limit }.into());
    }
    let mut formats = lines.next("the line with the Fortran formats")?;
    let pointer_format = format(&mut formats, "pointers")?;
    let index_format = format(&mut formats, "indices")?;
    let value_format = if pattern { None } else { Some(format(&mut formats, "values")?) };
    if has_rhs {
        lines.next("the line with the type of the right-hand sides")?;
    }

    // At most 32 bits; memory grows with the fields that are read.
    let (rows, cols) = (rows as usize, cols as usize);
    let pointers = lines.fields(cols + 1, "a column pointer", pointer_format, |field| {
        number(Some(field), "column pointer")
    })?;
    check_pointers(&pointers, entries)?;
    let entries = (pointers[cols] - 1) as usize;
    let extent = rows as u64;
    let indices = lines.fields(entries, "a row index", index_format, |field| {
        let index = number(Some(field), "row")?;
        let known = (1..=extent).contains(&index);
        let found = || Fault::IndexOutOfRange { what: "row", found: shown(field), extent };
        if known { Ok((index - 1) as u32) } else { Err(found()) }
    })?;
    let values = match value_format {
        Some(format) => lines.fields(entries, "a value", format, |field| format.real(field))?,
        None => vec![1.0; entries],
    };

    let mut all = Coo::with_capacity(rows, cols, entries).map_err(Refused::Matrix)?;
    for (column, own) in pointers.windows(2).map(|own| own[0] - 1..own[1] - 1).enumerate() {
        let own = own.start as usize..own.end as usize; // at most the number of indices
        for (&row, &value) in indices[own.clone()].iter().zip(&values[own]) {
            all.push(row as usize, column, value).map_err(Refused::Matrix)?;
            if let Some(mirrored) = mirrored(symmetry, row, column as u32, value)? {
                all.push(column, row as usize, mirrored).map_err(Refused::Matrix)?;
            }
        }
    }
    Ok(all.into_csr())
}

/// Pointers start at one, never decrease, and end after the last entry.
fn check_pointers(pointers: &[u64], entries: u64) -> Result<(), Fault> {
    let fault = |column: usize, expected: String| {
        Err(Fault::ColumnPointer { column: column as u64 + 1, found: pointers[column], expected })
    };
    if pointers[0] != 1 {
        return fault(0, "1".to_owned());
    }
    if let Some(at) = (1..pointers.len()).find(|&at| pointers[at] < pointers[at - 1]) {
        return fault(at, format!("at least {}", pointers[at - 1]));
    }
    let last = pointers.len() - 1;
    if pointers[last] - 1 != entries {
        return fault(last, format!("{}, one more than the number of entries", entries.saturating_add(1)));
    }
    Ok(())
}

/// The value on the other side of the diagonal, if the file does not list it.
fn mirrored(symmetry: StoredSymmetry, row: u32, column: u32, value: f64) -> Result<Option<f64>, Fault> {
    let (from_one, column_from_one) = (u64::from(row) + 1, u64::from(column) + 1);
    match (symmetry, row.cmp(&column)) {
        (StoredSymmetry::General, _) | (StoredSymmetry::Symmetric, Ordering::Equal) => Ok(None),
        (_, Ordering::Less) => {
            Err(Fault::UpperTriangle { symmetry: symmetry.name(), row: from_one, column: column_from_one })
        }
        (StoredSymmetry::Symmetric, _) => Ok(Some(value)),
        (StoredSymmetry::Skew, Ordering::Equal) if value != 0.0 => {
            Err(Fault::SkewDiagonal { row: from_one, value })
        }
        (StoredSymmetry::Skew, Ordering::Equal) => Ok(None),
        (StoredSymmetry::Skew, _) => Ok(Some(-value)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{is_header, write};
    use super::*;

    const SYMMETRIC: &str = "\
A title                                                                 KEY
             3             1             1             1             0
RSA                        3             3             4             0
(4I3)           (4I3)           (2D10.3)
  1  3  4  5
  1  3  2  3
 4.000D+00-1.500D+00
 4.000D+00 4.000D+00
";

    fn fault(text: &str) -> String {
        read(text.as_bytes(), Path::new("t")).unwrap_err().to_string()
    }

    #[test]
    fn the_lower_triangle_by_columns() {
        let a = read(SYMMETRIC.as_bytes(), Path::new("t")).unwrap();
        let expected =
            Csr::try_new(3, 3, vec![0, 2, 3, 5], vec![0, 2, 1, 0, 2], vec![4.0, -1.5, 4.0, -1.5, 4.0]);
        assert_eq!(a, expected.unwrap());
        let rectangular = SYMMETRIC.replace("RSA                        3", "rua                        4");
        assert_eq!(read(rectangular.as_bytes(), Path::new("t")).unwrap().nnz(), 4);
        let pattern = SYMMETRIC.replace("RSA", "PSA").replace("(2D10.3)", "");
        let lines: Vec<&str> = pattern.lines().take(6).collect();
        let a = read(lines.join("\n").as_bytes(), Path::new("t")).unwrap();
        assert_eq!((a.nnz(), a.get(0, 2)), (5, Some(1.0)));
        // Right-hand sides have a line in the header and lines at the end.
        let rhs = SYMMETRIC
            .replacen("1             0\n", "1             2\n", 1)
            .replace("(2D10.3)\n", "(2D10.3)            (2D10.3)\nF             1             0\n");
        let a = read((rhs + " 1.000D+00 1.000D+00\n 1.000D+00\n").as_bytes(), Path::new("t")).unwrap();
        assert_eq!(a.nnz(), 5);
    }

    #[test]
    fn faults_name_the_line() {
        let changed = |from: &str, to: &str| {
            assert!(SYMMETRIC.contains(from));
            fault(&SYMMETRIC.replacen(from, to, 1))
        };
        for (from, to, expected) in [
            ("RSA", "CSA", "t, line 3: complex matrices are not supported yet"),
            ("RSA", "RSE", "t, line 3: elemental matrices are not supported yet"),
            ("RSA", "RXA", "t, line 3: `RXA` is not a matrix type"),
            (
                "             3             3             4",
                "             3             2             4",
                "t, line 3: the matrix is declared symmetric, but has 3 rows and 2 columns",
            ),
            (
                "             3             3             4",
                "             3             3            -4",
                "t, line 3: the number of entries `-4` is not a whole number",
            ),
            (
                "             3             3             4",
                "    3000000000    3000000000             4",
                "t, line 3: 3000000000 rows are implausible",
            ),
            ("(4I3) ", "(4X3) ", "t, line 4: the Fortran format `(4X3)` of the pointers is not one such as"),
            ("(2D10.3)", "", "t, line 4: the Fortran format `` of the values"),
            ("  1  3  4  5", "  0  3  4  5", "t, line 5: the pointer of column 1 is 0, expected 1"),
            ("  1  3  4  5", "  1  3  2  5", "t, line 5: the pointer of column 3 is 2, expected at least 3"),
            ("  1  3  4  5", "  1  3  4  6", "t, line 5: the pointer of column 4 is 6, expected 5, one more"),
            ("  1  3  2  3", "  1  3  2  4", "t, line 6: row 4 is outside 1..=3"),
            ("  1  3  2  3", "  1  3  1  3", "t, line 8: row 1, column 2 lies above the diagonal"),
            ("4.000D+00-1.500", "4.0x0D+00-1.500", "t, line 7: `4.0x0D+00` is not a number"),
        ] {
            let found = changed(from, to);
            assert!(found.starts_with(expected), "{to}: {found}");
        }
        assert_eq!(fault(""), "t, line 1: the title is missing");
        for length in 0..SYMMETRIC.len() - 10 {
            assert!(read(&SYMMETRIC.as_bytes()[..length], Path::new("t")).is_err(), "{length}");
        }
    }

    #[test]
    fn what_is_recognised() {
        assert!(
            is_header(SYMMETRIC.as_bytes()) && !is_header(b"%%MatrixMarket") && !is_header(b"a\nb\nrsa\n")
        );
        assert!(is_type(b"rua") && is_type(b"PSA") && !is_type(b"mtx") && !is_type(b"rb"));
    }

    #[test]
    fn matrices_without_entries_have_no_lines() {
        let a = Csr::try_new(2, 3, vec![0, 0, 0], vec![], vec![]).unwrap();
        let mut text = Vec::new();
        write(&mut text, a.view(), false, "nothing\nmore").unwrap();
        assert_eq!(text.iter().filter(|&&byte| byte == b'\n').count(), 5);
        assert!(text.starts_with(b"nothing   ") && is_header(&text));
        assert_eq!(read(&text, Path::new("t")).unwrap(), a);
    }
}

//! Rutherford–Boeing and Harwell–Boeing: text formats of test matrices, by columns.
//!
//! ```text
//! title (72 columns)  key (8)
//! lines: total, pointers, indices, values [, right-hand sides]
//! type  rows  columns  entries  0
//! (pointers)  (indices)  (values)  [(right-hand sides)]      Fortran formats
//! [type and number of right-hand sides]
//! pointers: the start of each column, and the end of the last, from one
//! indices: the row of each entry, from one
//! values
//! ```
//!
//! A type has three letters: `R` real, `I` integer or `P` pattern (every entry is 1); `U` or `R`
//! all entries, `S` the lower triangle of a symmetric matrix, `Z` of a skew-symmetric one; `A`
//! assembled. Complex (`C`), Hermitian (`H`), elemental (`E`) and supplementary (`Q`) files are
//! refused. Right-hand sides of Harwell–Boeing files are ignored.
//!
//! From I. S. Duff, R. G. Grimes, J. G. Lewis, "Users' Guide for the Harwell–Boeing Sparse Matrix
//! Collection", 1992, and "The Rutherford–Boeing Sparse Matrix Collection", RAL-TR-97-031, 1997.

mod fortran_format;
mod read;
mod write;

pub(super) use read::read;
pub(super) use write::write;

/// Whether three letters are the type of a matrix.
pub(super) fn is_type(letters: &[u8]) -> bool {
    let among = |letter: u8, known: &[u8]| known.contains(&letter.to_ascii_uppercase());
    matches!(*letters, [kind, symmetry, assembly]
        if among(kind, b"RCPIQ") && among(symmetry, b"SUHZR") && among(assembly, b"AE"))
}

/// Whether a text has a type in its third line and a format in its fourth.
pub(super) fn is_header(start: &[u8]) -> bool {
    let mut lines = start.split(|&byte| byte == b'\n').skip(2);
    let [third, fourth] = [lines.next(), lines.next()].map(Option::unwrap_or_default);
    third.get(..3).is_some_and(is_type)
        && third.get(3).is_none_or(u8::is_ascii_whitespace)
        && fourth.trim_ascii_start().starts_with(b"(")
}

//! Writing: all threads format (and compress) pieces of text while the previous pieces are written.
//!
//! Every value is written with the fewest digits that read back as the same double. A compressed
//! file is a sequence of gzip members, one per piece (RFC 1952, section 2.2; `gzip` and other
//! readers treat them as one file), so that compression, by far the slowest part, is multithreaded
//! too.

use std::fs::File;
use std::io::{self, Write};
use std::ops::Range;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use rayon::prelude::*;

use super::error::WriteError;
use crate::{CsrRef, Dense, MatrixError};

/// Entries per piece: one to two MiB of text.
const PIECE: usize = 1 << 16;

/// Pieces per batch. Two batches are in memory at once.
const BATCH: usize = 32;

/// Whether to write the whole matrix or its lower triangle.
///
/// ```
/// use ziggurat_sparse::io::WriteSymmetry;
/// assert_eq!(WriteSymmetry::default(), WriteSymmetry::Auto);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WriteSymmetry {
    /// The lower triangle if the matrix is bitwise symmetric, otherwise the whole matrix.
    #[default]
    Auto,
    /// The whole matrix.
    General,
    /// The lower triangle; an error if the matrix is not bitwise symmetric.
    Symmetric,
}

/// Options for writing a matrix.
///
/// ```
/// use ziggurat_sparse::io::{WriteOptions, WriteSymmetry};
/// let options = WriteOptions { symmetry: WriteSymmetry::General, comment: "made by hand".to_owned() };
/// assert_ne!(options, WriteOptions::default());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WriteOptions {
    /// The whole matrix or its lower triangle.
    pub symmetry: WriteSymmetry,
    /// Text to write as comment lines below the banner.
    pub comment: String,
}

/// Writes a matrix as `coordinate real`, compressed if the file name ends in `.gz`.
/// [`read_matrix`](super::read_matrix) restores it bit for bit.
///
/// ```no_run
/// use ziggurat_sparse::{Csr, io};
/// let a = Csr::identity(5)?;
/// io::write_matrix("identity.mtx.gz", a.view(), &io::WriteOptions::default())?;
/// assert_eq!(io::read_matrix("identity.mtx.gz")?, a);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write_matrix(
    path: impl AsRef<Path>,
    a: CsrRef<'_, f64>,
    options: &WriteOptions,
) -> Result<(), WriteError> {
    let lower = checked_symmetry(a, options.symmetry)?;
    to_file(path.as_ref(), |file, gzip| matrix_text(file, gzip, a, lower, &options.comment))
}

/// [`write_matrix`] to any writer, as plain text.
///
/// ```
/// use ziggurat_sparse::{Csr, io};
/// let a = Csr::try_new(2, 2, vec![0, 2, 4], vec![0, 1, 0, 1], vec![2.0, -0.5, -0.5, 1e-9])?;
/// let mut text = Vec::new();
/// io::write_matrix_to(&mut text, a.view(), &io::WriteOptions::default())?;
/// assert_eq!(text, b"%%MatrixMarket matrix coordinate real symmetric\n2 2 3\n1 1 2\n2 1 -0.5\n2 2 1e-9\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write_matrix_to(
    writer: impl Write + Send,
    a: CsrRef<'_, f64>,
    options: &WriteOptions,
) -> Result<(), WriteError> {
    let lower = checked_symmetry(a, options.symmetry)?;
    matrix_text(writer, false, a, lower, &options.comment).map_err(WriteError::io(Path::new("writer")))
}

/// Writes a vector as an `array` with one column, compressed if the file name ends in `.gz`.
///
/// ```no_run
/// ziggurat_sparse::io::write_vector("x.mtx", &[1.0, 0.1])?;
/// # Ok::<(), ziggurat_sparse::io::WriteError>(())
/// ```
pub fn write_vector(path: impl AsRef<Path>, vector: &[f64]) -> Result<(), WriteError> {
    check_array(vector.len(), vector)?;
    to_file(path.as_ref(), |file, gzip| array_text(file, gzip, vector.len(), 1, vector))
}

/// [`write_vector`] to any writer, as plain text.
///
/// ```
/// let mut text = Vec::new();
/// ziggurat_sparse::io::write_vector_to(&mut text, &[1.0, 0.1])?;
/// assert_eq!(text, b"%%MatrixMarket matrix array real general\n2 1\n1\n0.1\n");
/// # Ok::<(), ziggurat_sparse::io::WriteError>(())
/// ```
pub fn write_vector_to(writer: impl Write + Send, vector: &[f64]) -> Result<(), WriteError> {
    check_array(vector.len(), vector)?;
    array_text(writer, false, vector.len(), 1, vector).map_err(WriteError::io(Path::new("writer")))
}

/// Writes a dense matrix as an `array`, compressed if the file name ends in `.gz`.
///
/// ```no_run
/// use ziggurat_sparse::{Dense, io};
/// let points = Dense::try_new(3, 2, vec![0.0, 1.0, 0.0, 0.0, 0.0, 1.0])?;
/// io::write_dense("points.mtx", &points)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write_dense(path: impl AsRef<Path>, dense: &Dense<f64>) -> Result<(), WriteError> {
    check_array(dense.rows(), dense.values())?;
    to_file(path.as_ref(), |file, gzip| array_text(file, gzip, dense.rows(), dense.cols(), dense.values()))
}

/// [`write_dense`] to any writer, as plain text.
///
/// ```
/// use ziggurat_sparse::{Dense, io};
/// let mut text = Vec::new();
/// io::write_dense_to(&mut text, &Dense::try_new(1, 2, vec![3.0, 4.0])?)?;
/// assert_eq!(text, b"%%MatrixMarket matrix array real general\n1 2\n3\n4\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write_dense_to(writer: impl Write + Send, dense: &Dense<f64>) -> Result<(), WriteError> {
    check_array(dense.rows(), dense.values())?;
    array_text(writer, false, dense.rows(), dense.cols(), dense.values())
        .map_err(WriteError::io(Path::new("writer")))
}

/// Creates the file and writes to it. Call it after all checks have passed.
fn to_file(path: &Path, text: impl FnOnce(File, bool) -> io::Result<()>) -> Result<(), WriteError> {
    let gzip = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("gz"));
    File::create(path).and_then(|file| text(file, gzip)).map_err(WriteError::io(path))
}

/// Whether to write only the lower triangle. Rejects matrices that could not be read back.
fn checked_symmetry(a: CsrRef<'_, f64>, symmetry: WriteSymmetry) -> Result<bool, WriteError> {
    a.check_finite()?;
    if symmetry == WriteSymmetry::General || (symmetry == WriteSymmetry::Auto && a.rows() != a.cols()) {
        return Ok(false);
    }
    if a.rows() != a.cols() {
        let what = "columns of a symmetric matrix";
        return Err(MatrixError::Mismatch { what, expected: a.rows(), found: a.cols() }.into());
    }
    // Bitwise comparison: 0 and -0 are equal, but mirroring would not preserve the sign.
    let same = |value: f64, mirrored: Option<f64>| mirrored.is_some_and(|m| m.to_bits() == value.to_bits());
    let fault = a.all_rows().into_par_iter().find_map_first(|row| {
        let (columns, values) = a.row(row);
        let entries = columns.iter().map(|&column| column as usize).zip(values.iter().copied());
        entries
            .map(|(column, value)| (row, column, value, a.get(column, row)))
            .find(|&(_, _, value, mirrored)| !same(value, mirrored))
    });
    match (fault, symmetry) {
        (None, _) => Ok(true),
        (Some(_), WriteSymmetry::Auto) => Ok(false),
        (Some((row, column, value, mirrored)), _) => {
            Err(WriteError::NotSymmetric { row, column, value, mirrored })
        }
    }
}

/// Rejects what could not be read back: values that are not finite, and more rows than indices can
/// address.
fn check_array(rows: usize, values: &[f64]) -> Result<(), MatrixError> {
    if u32::try_from(rows).is_err() {
        return Err(MatrixError::TooLarge { what: "rows", extent: rows });
    }
    match values.par_iter().position_first(|value| !value.is_finite()) {
        None => Ok(()),
        Some(at) => Err(MatrixError::NotFinite { row: at % rows, column: at / rows, value: values[at] }),
    }
}

fn matrix_text(
    out: impl Write + Send,
    gzip: bool,
    a: CsrRef<'_, f64>,
    lower: bool,
    comment: &str,
) -> io::Result<()> {
    // The entries of a row to write: all of them, or those up to the diagonal.
    let entries = |row: usize| {
        let (columns, values) = a.row(row);
        let count = if lower { columns.partition_point(|&j| j as usize <= row) } else { columns.len() };
        (&columns[..count], &values[..count])
    };
    let stored: usize = a.all_rows().into_par_iter().map(|row| entries(row).0.len()).sum();
    let symmetry = if lower { "symmetric" } else { "general" };
    let mut head = format!("%%MatrixMarket matrix coordinate real {symmetry}\n");
    for line in comment.lines() {
        head.extend(["% ", line, "\n"]);
    }
    head += &format!("{} {} {stored}\n", a.rows(), a.cols());

    let row_ptr = a.row_ptr();
    let mut pieces = Vec::new();
    let mut row = 0;
    while row < a.rows() {
        let end = row_ptr.partition_point(|&start| start <= row_ptr[row] + PIECE) - 1;
        let end = end.clamp(row + 1, a.rows());
        pieces.push(row..end);
        row = end;
    }
    write_pieces(out, gzip, &head, &pieces, |rows, text| {
        for row in rows {
            let (columns, values) = entries(row);
            for (&column, &value) in columns.iter().zip(values) {
                push_index(text, row);
                push_index(text, column as usize);
                push_value(text, value)?;
            }
        }
        Ok(())
    })
}

fn array_text(
    out: impl Write + Send,
    gzip: bool,
    rows: usize,
    cols: usize,
    values: &[f64],
) -> io::Result<()> {
    let head = format!("%%MatrixMarket matrix array real general\n{rows} {cols}\n");
    let pieces: Vec<_> =
        (0..values.len()).step_by(PIECE).map(|at| at..values.len().min(at + PIECE)).collect();
    write_pieces(out, gzip, &head, &pieces, |range, text| {
        values[range].iter().try_for_each(|&value| push_value(text, value))
    })
}

/// Appends a one-based index and a blank. Three times as fast as `write!`.
fn push_index(text: &mut Vec<u8>, index: usize) {
    let mut digits = [b' '; 21]; // 20 digits of 2^64 and a blank
    let (mut at, mut rest) = (20, index as u64 + 1);
    while rest > 0 {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    text.extend_from_slice(&digits[at..]);
}

/// Appends a value and a line end. Both notations of the standard library read back exactly; this
/// selects the shorter one.
fn push_value(text: &mut Vec<u8>, value: f64) -> io::Result<()> {
    if value == 0.0 || (1e-5..1e16).contains(&value.abs()) {
        writeln!(text, "{value}")
    } else {
        writeln!(text, "{value:e}")
    }
}

/// Writes `head`, then every piece in order, as formatted by `format`.
fn write_pieces(
    mut out: impl Write + Send,
    gzip: bool,
    head: &str,
    pieces: &[Range<usize>],
    format: impl Fn(Range<usize>, &mut Vec<u8>) -> io::Result<()> + Sync,
) -> io::Result<()> {
    let pack = |text: Vec<u8>| {
        if !gzip {
            return Ok(text);
        }
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(&text)?;
        encoder.finish()
    };
    let mut ready = vec![pack(head.as_bytes().to_vec())?];
    for batch in pieces.chunks(BATCH) {
        let (written, next) = rayon::join(
            || ready.iter().try_for_each(|text| out.write_all(text)),
            || {
                let made = batch.par_iter().map(|range| {
                    let mut text = Vec::new();
                    format(range.clone(), &mut text)?;
                    pack(text)
                });
                made.collect::<io::Result<Vec<_>>>()
            },
        );
        written?;
        ready = next?;
    }
    ready.iter().try_for_each(|text| out.write_all(text))?;
    out.flush()
}

//! Parts of matrices and vectors in files, for processes that share the reading.
//!
//! Only Matrix Market files are read in parts. A file of any other format is read as a whole by
//! every process, which then keeps its part.

use std::io::{Read, Seek};
use std::ops::Range;
use std::path::Path;

use super::content::{Content, Wanted};
use super::open::open;
use super::start::look;
use super::{FileFormat, ReadError, StoredSymmetry, matrix_market, read_vector_from};
use crate::Csr;

/// One part of a matrix, as returned by [`read_matrix_part`].
///
/// Concatenated, the parts of a file hold the entries of the whole matrix in file order.
///
/// ```
/// use std::io::Cursor;
/// use ziggurat_sparse::io::{StoredSymmetry, read_matrix_part_from};
/// let text = "%%MatrixMarket matrix coordinate real symmetric\n3 3 2\n1 1 4.0\n3 1 -1.5\n";
/// let part = read_matrix_part_from(Cursor::new(text), "text", 0, 1)?;
/// assert_eq!((part.rows, part.cols, part.symmetry), (3, 3, StoredSymmetry::Symmetric));
/// assert_eq!((part.declared, part.stored), (2, 2));
/// assert_eq!(part.entries, [(0, 0, 4.0), (2, 0, -1.5), (0, 2, -1.5)]);
/// # Ok::<(), ziggurat_sparse::io::ReadError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct MatrixPart {
    /// Rows of the whole matrix.
    pub rows: u64,
    /// Columns of the whole matrix.
    pub cols: u64,
    /// The symmetry declared in the banner of a Matrix Market file. The entries are already
    /// expanded.
    pub symmetry: StoredSymmetry,
    /// Data lines (entries, in formats without lines) that the whole file declares. The caller
    /// must check that the `stored` of all parts add up to it: if they do not, the file is
    /// truncated or its size line is wrong.
    pub declared: u64,
    /// Data lines, or entries, of this part.
    pub stored: u64,
    /// Row, column (from zero) and value of the entries of this part. An off-diagonal entry of a
    /// symmetric or skew-symmetric file is followed by its mirrored entry. Duplicates are not
    /// summed and may be in different parts.
    pub entries: Vec<(u64, u64, f64)>,
}

/// Reads part `part` of `parts` (from zero) of a matrix, with 64-bit row and column indices.
///
/// It supports the same files as [`read_matrix`](super::read_matrix), and the union of the parts is
/// what that function reads: both triangles, 1 for the entries of a `pattern`, no zeros from an
/// `array`. If there are more parts than lines, some parts are empty. Parts have about the same
/// number of bytes, or of lines; which rows they contain depends on the file.
///
/// A plain Matrix Market `coordinate` file is read starting at the first byte of the part. A
/// compressed file or an `array` can only be read from its start: every part takes the time of
/// reading the whole file, though not the memory. Store large matrices uncompressed. In any other
/// format, every part reads the whole matrix into memory and keeps its entries.
///
/// A malformed line is an error in the part that contains it. The error names the line, or its byte
/// offset if the lines before it were not read. The caller must check that the file has as many
/// lines as it declares, by [`MatrixPart::declared`]; for files that are read from their start,
/// every part checks this itself.
///
/// ```no_run
/// # let (rank, ranks) = (0, 4);
/// let part = ziggurat_sparse::io::read_matrix_part("thermal2.mtx", rank, ranks)?;
/// println!("rank {rank} has {} of {} lines", part.stored, part.declared);
/// # Ok::<(), ziggurat_sparse::io::ReadError>(())
/// ```
pub fn read_matrix_part(path: impl AsRef<Path>, part: usize, parts: usize) -> Result<MatrixPart, ReadError> {
    read_matrix_part_from(open(path.as_ref())?, path, part, parts)
}

/// [`read_matrix_part`] from any reader that can seek; `name` replaces the file name in errors.
///
/// ```
/// use std::io::Cursor;
/// let text = "%%MatrixMarket matrix coordinate pattern general\n9 9 4\n1 1\n2 1\n3 3\n4 1\n";
/// let [a, b] = [0, 1].map(|part| ziggurat_sparse::io::read_matrix_part_from(Cursor::new(text), "text", part, 2));
/// let (a, b) = (a?, b?);
/// assert_eq!(a.stored + b.stored, a.declared);
/// assert_eq!([a.entries, b.entries].concat(), [(0, 0, 1.0), (1, 0, 1.0), (2, 2, 1.0), (3, 0, 1.0)]);
/// # Ok::<(), ziggurat_sparse::io::ReadError>(())
/// ```
pub fn read_matrix_part_from(
    mut reader: impl Read + Seek + Send,
    name: impl AsRef<Path>,
    part: usize,
    parts: usize,
) -> Result<MatrixPart, ReadError> {
    let name = name.as_ref();
    if part >= parts {
        return Err(ReadError::NoSuchPart { path: name.to_owned(), part, parts });
    }
    let start = look(&mut reader, name);
    // The reader of Matrix Market says what a sparse matrix looks like.
    if matches!(start.format, FileFormat::MatrixMarket | FileFormat::Text) {
        reader.rewind().map_err(ReadError::io(name))?;
        return matrix_market::read_matrix_part(reader, name, part, parts);
    }
    Ok(part_of(&Content::read(start, name, Wanted::Matrix)?.into_matrix(), part, parts))
}

/// The entries of one part of a matrix.
fn part_of(a: &Csr<f64>, part: usize, parts: usize) -> MatrixPart {
    let declared = a.nnz() as u64;
    let own = cut(declared, part, parts) as usize..cut(declared, part + 1, parts) as usize;
    let mut row = a.row_ptr().partition_point(|&end| end <= own.start).saturating_sub(1);
    let entries = own.clone().map(|at| {
        while a.row_ptr()[row + 1] <= at {
            row += 1;
        }
        (row as u64, u64::from(a.columns()[at]), a.values()[at])
    });
    let entries = entries.collect();
    let (rows, cols, symmetry) = (a.rows() as u64, a.cols() as u64, StoredSymmetry::General);
    MatrixPart { rows, cols, symmetry, declared, stored: own.len() as u64, entries }
}

/// Start of part `part` of `parts` among `total` bytes or lines: ⌊part·total/parts⌋.
pub(super) fn cut(total: u64, part: usize, parts: usize) -> u64 {
    (u128::from(total) * part as u128 / parts as u128) as u64 // at most `total`
}

/// The number of rows of a vector. Of a Matrix Market file, nothing but the header is read.
///
/// ```no_run
/// assert_eq!(ziggurat_sparse::io::read_vector_rows("thermal2_b.mtx")?, 1_228_045);
/// # Ok::<(), ziggurat_sparse::io::ReadError>(())
/// ```
pub fn read_vector_rows(path: impl AsRef<Path>) -> Result<u64, ReadError> {
    let path = path.as_ref();
    let start = look(open(path)?, path);
    match start.format {
        FileFormat::MatrixMarket => matrix_market::read_vector_rows(start.reader, path),
        _ => Ok(read_vector_from(start.reader, path)?.len() as u64),
    }
}

/// Reads a range of rows (from zero) of a vector.
///
/// The whole file is read. Of a Matrix Market file, only the requested rows are kept in memory, and
/// the other lines of an `array` are counted but not parsed.
///
/// ```no_run
/// let b = ziggurat_sparse::io::read_vector_part("thermal2_b.mtx", 1000..2000)?;
/// assert_eq!(b.len(), 1000);
/// # Ok::<(), ziggurat_sparse::io::ReadError>(())
/// ```
pub fn read_vector_part(path: impl AsRef<Path>, rows: Range<u64>) -> Result<Vec<f64>, ReadError> {
    read_vector_part_from(open(path.as_ref())?, path, rows)
}

/// [`read_vector_part`] from any reader; `name` replaces the file name.
///
/// ```
/// let text = "%%MatrixMarket matrix array real general\n4 1\n1\n2.5\n-1e3\n7\n";
/// let b = ziggurat_sparse::io::read_vector_part_from(text.as_bytes(), "text", 1..3)?;
/// assert_eq!(b, [2.5, -1000.0]);
/// # Ok::<(), ziggurat_sparse::io::ReadError>(())
/// ```
pub fn read_vector_part_from(
    reader: impl Read + Send,
    name: impl AsRef<Path>,
    rows: Range<u64>,
) -> Result<Vec<f64>, ReadError> {
    let (start, name) = (look(reader, name.as_ref()), name.as_ref());
    if start.format == FileFormat::MatrixMarket {
        return matrix_market::read_vector_part(start.reader, name, rows);
    }
    let whole = read_vector_from(start.reader, name)?;
    let bounds = usize::try_from(rows.start).ok().zip(usize::try_from(rows.end).ok());
    match bounds.and_then(|(start, end)| whole.get(start..end)) {
        Some(part) => Ok(part.to_vec()),
        None => {
            let (path, Range { start, end }) = (name.to_owned(), rows);
            Err(ReadError::NoSuchRows { path, start, end, rows: whole.len() as u64 })
        }
    }
}

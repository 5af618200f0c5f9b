//! Writing matrices, vectors and dense matrices to files of every format. The name of the file
//! selects the format.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::format::is_gzip_name;
use super::{FileFormat, OutputFile, WriteError, matrix_market, npy, npz, petsc, rutherford_boeing};
use crate::parallel::{first_in_pieces, first_position};
use crate::{CsrRef, Dense, MatrixError};

impl FileFormat {
    /// [`of_name`](Self::of_name) for a vector or a dense matrix, so that a wrong name is found
    /// before the vector is computed.
    ///
    /// ```
    /// use ziggurat_sparse::io::FileFormat;
    /// assert_eq!(FileFormat::of_vector("x.npy")?, FileFormat::Npy);
    /// assert_eq!(
    ///     FileFormat::of_vector("x.npz").unwrap_err().to_string(),
    ///     "x.npz: scipy .npz files hold no vectors; use .mtx, .npy or .petsc"
    /// );
    /// # Ok::<(), ziggurat_sparse::io::WriteError>(())
    /// ```
    ///
    /// # Errors
    /// If the format holds no vectors.
    pub fn of_vector(name: impl AsRef<Path>) -> Result<Self, WriteError> {
        match FileFormat::of_name(name.as_ref()) {
            format @ (FileFormat::Npz | FileFormat::RutherfordBoeing) => {
                let (path, hint) = (name.as_ref().to_owned(), "use .mtx, .npy or .petsc");
                Err(WriteError::Unsuitable { path, format, what: "vectors", hint })
            }
            format => Ok(format),
        }
    }

    /// [`of_name`](Self::of_name) for a sparse matrix.
    ///
    /// ```
    /// use ziggurat_sparse::io::FileFormat;
    /// assert_eq!(FileFormat::of_matrix("A.npz")?, FileFormat::Npz);
    /// assert!(FileFormat::of_matrix("A.npy").is_err());
    /// # Ok::<(), ziggurat_sparse::io::WriteError>(())
    /// ```
    ///
    /// # Errors
    /// If the format holds no sparse matrices.
    pub fn of_matrix(name: impl AsRef<Path>) -> Result<Self, WriteError> {
        match FileFormat::of_name(name.as_ref()) {
            format @ FileFormat::Npy => {
                let (path, hint) = (name.as_ref().to_owned(), "use .mtx, .npz, .petsc or .rb");
                Err(WriteError::Unsuitable { path, format, what: "sparse matrices", hint })
            }
            format => Ok(format),
        }
    }
}

/// Whether to write the whole matrix or its lower triangle, in a format that has the choice: Matrix
/// Market and Rutherford–Boeing.
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
    /// Text to write as comment lines below the banner of a Matrix Market file, or as the title of
    /// a Rutherford–Boeing file.
    pub comment: String,
}

/// Writes a matrix in the format that the name of the file selects: `.npz` (scipy), `.petsc`, `.rb`
/// (Rutherford–Boeing), and Matrix Market for any other name. It is compressed if the name ends in
/// `.gz`. [`read_matrix`](super::read_matrix) restores it bit for bit. If writing fails, the file
/// of this name is [as before](super::OutputFile).
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
    let path = path.as_ref();
    let (format, lower) = (FileFormat::of_matrix(path)?, checked_symmetry(a, options.symmetry)?);
    to_file(path, format, |out, gzip| matrix_to(out, gzip, format, a, lower, &options.comment))
}

/// [`write_matrix`] to any writer, as plain Matrix Market text.
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
    write_matrix_as(writer, FileFormat::MatrixMarket, a, options)
}

/// [`write_matrix`] to any writer in a given format, without compression around it.
///
/// ```
/// use ziggurat_sparse::{Csr, io};
/// let a = Csr::identity(2)?;
/// let mut bytes = Vec::new();
/// io::write_matrix_as(&mut bytes, io::FileFormat::Petsc, a.view(), &io::WriteOptions::default())?;
/// assert_eq!(bytes.len(), 4 * (4 + 2 + 2) + 8 * 2);
/// assert_eq!(io::read_matrix_from(&bytes[..], "identity")?, a);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`write_matrix`]; also if the format is [`FileFormat::Npy`], which holds no sparse matrices.
pub fn write_matrix_as(
    writer: impl Write + Send,
    format: FileFormat,
    a: CsrRef<'_, f64>,
    options: &WriteOptions,
) -> Result<(), WriteError> {
    let lower = checked_symmetry(a, options.symmetry)?;
    matrix_to(writer, false, format, a, lower, &options.comment).map_err(WriteError::io(Path::new("writer")))
}

/// Writes a vector in the format that the name of the file selects: `.npy` (NumPy), `.petsc`, and
/// Matrix Market for any other name. It is compressed if the name ends in `.gz`.
///
/// ```no_run
/// ziggurat_sparse::io::write_vector("x.mtx", &[1.0, 0.1])?;
/// # Ok::<(), ziggurat_sparse::io::WriteError>(())
/// ```
pub fn write_vector(path: impl AsRef<Path>, vector: &[f64]) -> Result<(), WriteError> {
    let (path, format) = (path.as_ref(), FileFormat::of_vector(path.as_ref())?);
    check_array(vector.len(), vector)?;
    to_file(path, format, |out, gzip| vector_to(out, gzip, format, vector))
}

/// [`write_vector`] to any writer, as plain Matrix Market text.
///
/// ```
/// let mut text = Vec::new();
/// ziggurat_sparse::io::write_vector_to(&mut text, &[1.0, 0.1])?;
/// assert_eq!(text, b"%%MatrixMarket matrix array real general\n2 1\n1\n0.1\n");
/// # Ok::<(), ziggurat_sparse::io::WriteError>(())
/// ```
pub fn write_vector_to(writer: impl Write + Send, vector: &[f64]) -> Result<(), WriteError> {
    write_vector_as(writer, FileFormat::MatrixMarket, vector)
}

/// [`write_vector`] to any writer in a given format, without compression around it.
///
/// ```
/// use ziggurat_sparse::io;
/// let mut bytes = Vec::new();
/// io::write_vector_as(&mut bytes, io::FileFormat::Npy, &[1.0, 0.1])?;
/// assert_eq!(io::read_vector_from(&bytes[..], "x")?, [1.0, 0.1]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`write_vector`]; also if the format holds no vectors.
pub fn write_vector_as(
    writer: impl Write + Send,
    format: FileFormat,
    vector: &[f64],
) -> Result<(), WriteError> {
    check_array(vector.len(), vector)?;
    vector_to(writer, false, format, vector).map_err(WriteError::io(Path::new("writer")))
}

/// Writes a dense matrix in the format that the name of the file selects, as [`write_vector`] does.
///
/// ```no_run
/// use ziggurat_sparse::{Dense, io};
/// let points = Dense::try_new(3, 2, vec![0.0, 1.0, 0.0, 0.0, 0.0, 1.0])?;
/// io::write_dense("points.mtx", &points)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write_dense(path: impl AsRef<Path>, dense: &Dense<f64>) -> Result<(), WriteError> {
    let (path, format) = (path.as_ref(), FileFormat::of_vector(path.as_ref())?);
    check_array(dense.rows(), dense.values())?;
    to_file(path, format, |out, gzip| dense_to(out, gzip, format, dense))
}

/// [`write_dense`] to any writer, as plain Matrix Market text.
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
    dense_to(writer, false, FileFormat::MatrixMarket, dense).map_err(WriteError::io(Path::new("writer")))
}

/// Writes a file, which takes its place when it is complete. The text of Matrix Market is
/// compressed by its own writer, in parallel; then the argument of `write` is true.
fn to_file(
    path: &Path,
    format: FileFormat,
    write: impl FnOnce(&mut (dyn Write + Send), bool) -> io::Result<()>,
) -> Result<(), WriteError> {
    let gzip = is_gzip_name(path);
    let fill = |file: &mut OutputFile| match (format, gzip) {
        (FileFormat::MatrixMarket, _) => write(file, gzip),
        (_, false) => {
            let mut out = BufWriter::new(file);
            write(&mut out, false)?;
            out.flush()
        }
        (_, true) => {
            let mut out = GzEncoder::new(BufWriter::new(file), Compression::default());
            write(&mut out, false)?;
            out.finish()?.flush()
        }
    };
    let all = || {
        let mut file = OutputFile::create(path)?;
        fill(&mut file)?;
        file.finish()
    };
    all().map(drop).map_err(WriteError::io(path))
}

fn matrix_to(
    mut out: impl Write + Send,
    gzip: bool,
    format: FileFormat,
    a: CsrRef<'_, f64>,
    lower: bool,
    comment: &str,
) -> io::Result<()> {
    match format {
        FileFormat::MatrixMarket => matrix_market::matrix_text(&mut out, gzip, a, lower, comment),
        FileFormat::Npz => npz::write(&mut out, a),
        FileFormat::Petsc => petsc::write_matrix(&mut out, a),
        FileFormat::RutherfordBoeing => rutherford_boeing::write(&mut out, a, lower, comment),
        FileFormat::Npy | FileFormat::Hdf5 | FileFormat::Text => Err(unsuitable(format, "sparse matrices")),
    }
}

fn vector_to(mut out: impl Write + Send, gzip: bool, format: FileFormat, vector: &[f64]) -> io::Result<()> {
    match format {
        FileFormat::MatrixMarket => matrix_market::array_text(&mut out, gzip, vector.len(), 1, vector),
        FileFormat::Npy => {
            npy::write_header(&mut out, "<f8", &[vector.len()], false)?;
            npy::write_values(&mut out, vector)
        }
        FileFormat::Petsc => {
            petsc::write_vector_header(&mut out, vector.len() as u64)?;
            petsc::write_values(&mut out, vector)
        }
        FileFormat::Npz | FileFormat::Hdf5 | FileFormat::RutherfordBoeing | FileFormat::Text => {
            Err(unsuitable(format, "vectors"))
        }
    }
}

fn dense_to(
    mut out: impl Write + Send,
    gzip: bool,
    format: FileFormat,
    dense: &Dense<f64>,
) -> io::Result<()> {
    match format {
        FileFormat::MatrixMarket => {
            matrix_market::array_text(&mut out, gzip, dense.rows(), dense.cols(), dense.values())
        }
        FileFormat::Npy => {
            npy::write_header(&mut out, "<f8", &[dense.rows(), dense.cols()], true)?;
            npy::write_values(&mut out, dense.values())
        }
        FileFormat::Petsc => petsc::write_dense(&mut out, dense),
        FileFormat::Npz | FileFormat::Hdf5 | FileFormat::RutherfordBoeing | FileFormat::Text => {
            Err(unsuitable(format, "dense matrices"))
        }
    }
}

/// The error for a writer without a name.
fn unsuitable(format: FileFormat, what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, format!("{format} files with {what} are not written"))
}

/// Whether to write only the lower triangle. Rejects matrices that could not be read back.
fn checked_symmetry(a: CsrRef<'_, f64>, symmetry: WriteSymmetry) -> Result<bool, WriteError> {
    /// Rows per task.
    const TASK: usize = 1024;
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
    let fault_in = |row: usize| {
        let (columns, values) = a.row(row);
        let entries = columns.iter().map(|&column| column as usize).zip(values.iter().copied());
        entries
            .map(|(column, value)| (row, column, value, a.get(column, row)))
            .find(|&(_, _, value, mirrored)| !same(value, mirrored))
    };
    let row = first_in_pieces(a.all_rows(), TASK, &|mut rows| rows.find(|&row| fault_in(row).is_some()));
    match (row.and_then(fault_in), symmetry) {
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
    match first_position(values, |value| !value.is_finite()) {
        None => Ok(()),
        Some(at) => Err(MatrixError::NotFinite { row: at % rows, column: at / rows, value: values[at] }),
    }
}

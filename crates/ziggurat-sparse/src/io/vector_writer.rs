//! Writing a vector in pieces, for a process that never holds all of it.

use std::fmt;
use std::io::{self, BufWriter, IntoInnerError, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;

use super::format::is_gzip_name;
use super::matrix_market::push_value;
use super::{FileFormat, OutputFile, WriteError, npy, petsc};

/// Writes a vector piece by piece, in the format that the name of the file selects, as
/// [`write_vector`](super::write_vector) does.
///
/// ```
/// use ziggurat_sparse::io::{VectorWriter, read_vector};
/// let path = std::env::temp_dir().join(format!("ziggurat-pieces-{}.npy", std::process::id()));
/// let mut writer = VectorWriter::create(&path, 3)?;
/// writer.write(&[1.0, 2.0])?;
/// writer.write(&[3.0])?;
/// writer.finish()?;
/// assert_eq!(read_vector(&path)?, [1.0, 2.0, 3.0]);
/// # std::fs::remove_file(path)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct VectorWriter {
    path: PathBuf,
    format: FileFormat,
    out: Out,
}

/// A file, compressed or not.
enum Out {
    Plain(BufWriter<OutputFile>),
    Gzip(GzEncoder<BufWriter<OutputFile>>),
}

impl fmt::Debug for VectorWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VectorWriter").field("path", &self.path).field("format", &self.format).finish()
    }
}

impl VectorWriter {
    /// Begins the file of a vector with `rows` values. It appears when it is
    /// [finished](Self::finish).
    ///
    /// # Errors
    /// If the format holds no vectors, or the file cannot be created.
    pub fn create(path: impl AsRef<Path>, rows: u64) -> Result<Self, WriteError> {
        let (path, format) = (path.as_ref(), FileFormat::of_vector(path.as_ref())?);
        let create = || {
            let file = BufWriter::new(OutputFile::create(path)?);
            let mut out = match is_gzip_name(path) {
                true => Out::Gzip(GzEncoder::new(file, Compression::default())),
                false => Out::Plain(file),
            };
            match format {
                FileFormat::Npy => npy::write_header(&mut out, "<f8", &[rows as usize], false)?,
                FileFormat::Petsc => petsc::write_vector_header(&mut out, rows)?,
                _ => writeln!(out, "%%MatrixMarket matrix array real general\n{rows} 1")?,
            }
            Ok(out)
        };
        let out = create().map_err(WriteError::io(path))?;
        Ok(VectorWriter { path: path.to_owned(), format, out })
    }

    /// Appends values. Together there must be as many as were announced.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&mut self, values: &[f64]) -> Result<(), WriteError> {
        let out = &mut self.out;
        let written = match self.format {
            FileFormat::Npy => npy::write_values(out, values),
            FileFormat::Petsc => petsc::write_values(out, values),
            _ => write_lines(out, values),
        };
        written.map_err(WriteError::io(&self.path))
    }

    /// Completes the file, which then takes its place.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn finish(self) -> Result<(), WriteError> {
        let finished = match self.out {
            Out::Plain(file) => Ok(file),
            Out::Gzip(encoder) => encoder.finish(),
        };
        let finished =
            finished.and_then(|file| file.into_inner().map_err(IntoInnerError::into_error)?.finish());
        finished.map(drop).map_err(WriteError::io(&self.path))
    }
}

/// Writes a value per line.
fn write_lines(out: &mut Out, values: &[f64]) -> io::Result<()> {
    let mut text = Vec::new();
    for piece in values.chunks(4096) {
        text.clear();
        piece.iter().try_for_each(|&value| push_value(&mut text, value))?;
        out.write_all(&text)?;
    }
    Ok(())
}

impl Write for Out {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Out::Plain(file) => file.write(bytes),
            Out::Gzip(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Out::Plain(file) => file.flush(),
            Out::Gzip(encoder) => encoder.flush(),
        }
    }
}

//! Which format a file has: by its first bytes where they identify it, otherwise by its name.

use std::ffi::OsStr;
use std::fmt;
use std::io::{self, Cursor, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;

use super::{WriteError, hdf5, npy, npz, petsc, rutherford_boeing, text};

/// Bytes at the start of a file by which its format is recognised. Enough for the header of a gzip
/// file and the first lines of a text.
const START: u64 = 4096;

/// The format of a file with a matrix or a vector.
///
/// ```
/// use ziggurat_sparse::io::FileFormat;
/// assert_eq!(FileFormat::detect(b"\x93NUMPY", "data"), FileFormat::Npy);
/// assert_eq!(FileFormat::detect(b"a title", "bcsstk01.rsa"), FileFormat::RutherfordBoeing);
/// assert_eq!(FileFormat::detect(b"a title", "data"), FileFormat::MatrixMarket);
/// assert_eq!(FileFormat::Petsc.to_string(), "PETSc binary");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FileFormat {
    /// Matrix Market, a text format for sparse and dense matrices.
    MatrixMarket,
    /// A NumPy array, as `numpy.save` writes it.
    Npy,
    /// A sparse matrix of scipy, as `scipy.sparse.save_npz` writes it.
    Npz,
    /// Matrices and vectors of PETSc, as `MatView` and `VecView` write them to a binary viewer.
    Petsc,
    /// HDF5 in the layout of MATLAB 7.3. It is only read, and only with the feature `hdf5`.
    Hdf5,
    /// Rutherford–Boeing or Harwell–Boeing, a text format for sparse matrices.
    RutherfordBoeing,
    /// A table of numbers as text, for vectors and dense matrices. It is only read.
    Text,
}

impl fmt::Display for FileFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FileFormat::MatrixMarket => "Matrix Market",
            FileFormat::Npy => "NumPy .npy",
            FileFormat::Npz => "scipy .npz",
            FileFormat::Petsc => "PETSc binary",
            FileFormat::Hdf5 => "HDF5",
            FileFormat::RutherfordBoeing => "Rutherford–Boeing",
            FileFormat::Text => "plain text",
        })
    }
}

impl FileFormat {
    /// The format of a file with these first bytes (after decompression, at least the first four
    /// lines of a text) and this name. A file that nothing else identifies is Matrix Market, whose
    /// reader says what it expected.
    ///
    /// ```
    /// use ziggurat_sparse::io::FileFormat;
    /// let start = 1_211_216_i32.to_be_bytes();
    /// assert_eq!(FileFormat::detect(&start, "A.dat"), FileFormat::Petsc);
    /// assert_eq!(FileFormat::detect(b"# x y z\n0.5 0.25 1e-3\n", "xyz.csv"), FileFormat::Text);
    /// ```
    pub fn detect(start: &[u8], name: impl AsRef<Path>) -> Self {
        if npy::is_npy(start) {
            FileFormat::Npy
        } else if npz::is_npz(start) {
            FileFormat::Npz
        } else if petsc::is_petsc(start) {
            FileFormat::Petsc
        } else if hdf5::is_hdf5(start) {
            FileFormat::Hdf5
        } else if start.get(..2) == Some(b"%%") {
            FileFormat::MatrixMarket
        } else if rutherford_boeing::is_header(start) || is_boeing(name.as_ref()) {
            FileFormat::RutherfordBoeing
        } else if text::is_table(start) {
            FileFormat::Text
        } else {
            FileFormat::MatrixMarket
        }
    }

    /// The format that the name of a new file selects: `.npy`, `.npz`, `.petsc`, `.rb`, and Matrix
    /// Market for any other. `.gz` may follow each of them.
    ///
    /// ```
    /// use ziggurat_sparse::io::FileFormat;
    /// assert_eq!(FileFormat::of_name("A.rb.gz"), FileFormat::RutherfordBoeing);
    /// assert_eq!(FileFormat::of_name("A.txt"), FileFormat::MatrixMarket);
    /// ```
    pub fn of_name(name: impl AsRef<Path>) -> Self {
        match suffix(name.as_ref()).as_deref() {
            Some("npy") => FileFormat::Npy,
            Some("npz") => FileFormat::Npz,
            Some("petsc") => FileFormat::Petsc,
            Some("rb") => FileFormat::RutherfordBoeing,
            _ => FileFormat::MatrixMarket,
        }
    }

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

/// Whether a file of this name is compressed.
pub(super) fn is_gzip_name(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("gz"))
}

/// The suffix of a name in lower case, without `.gz`.
fn suffix(path: &Path) -> Option<String> {
    let inner = if is_gzip_name(path) { Path::new(path.file_stem()?) } else { path };
    inner.extension().and_then(OsStr::to_str).map(str::to_ascii_lowercase)
}

/// Whether a name has a suffix of Rutherford–Boeing files: `.rb`, `.hb`, or a matrix type such as
/// `.rua`.
fn is_boeing(path: &Path) -> bool {
    suffix(path).is_some_and(|suffix| {
        matches!(suffix.as_str(), "rb" | "hb") || rutherford_boeing::is_type(suffix.as_bytes())
    })
}

/// A reader whose first bytes have been looked at, and are read again.
pub(super) type Whole<R> = io::Chain<Cursor<Vec<u8>>, R>;

/// The start of a file.
pub(super) struct Start<R> {
    pub(super) format: FileFormat,
    pub(super) gzip: bool,
    pub(super) reader: Whole<R>,
}

/// Looks at the start of a file.
pub(super) fn look<R: Read>(mut reader: R, name: &Path) -> Start<R> {
    let mut start = Vec::new();
    // A failing reader fails again where its bytes are parsed, with the line in the message.
    let _ = reader.by_ref().take(START).read_to_end(&mut start);
    let gzip = start.starts_with(&[0x1f, 0x8b]);
    let format = if gzip {
        let mut text = Vec::new();
        // The compressed bytes are cut off, so this ends with an error.
        let _ = MultiGzDecoder::new(&start[..]).take(START).read_to_end(&mut text);
        FileFormat::detect(&text, name)
    } else {
        FileFormat::detect(&start, name)
    };
    Start { format, gzip, reader: Cursor::new(start).chain(reader) }
}

impl<R: Read> Start<R> {
    /// All bytes of the file, decompressed.
    pub(super) fn bytes(self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let mut reader = self.reader;
        if self.gzip {
            MultiGzDecoder::new(reader).read_to_end(&mut bytes)?;
        } else {
            reader.read_to_end(&mut bytes)?;
        }
        Ok(bytes)
    }
}

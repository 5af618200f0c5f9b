//! The formats of files, by their names.

use std::ffi::OsStr;
use std::fmt;
use std::path::Path;

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
}

/// Whether a file of this name is compressed.
pub(super) fn is_gzip_name(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("gz"))
}

/// The suffix of a name in lower case, without `.gz`.
pub(super) fn suffix(path: &Path) -> Option<String> {
    let inner = if is_gzip_name(path) { Path::new(path.file_stem()?) } else { path };
    inner.extension().and_then(OsStr::to_str).map(str::to_ascii_lowercase)
}

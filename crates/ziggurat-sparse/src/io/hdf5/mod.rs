//! HDF5 files in the layout of MATLAB 7.3, which PETSc reads too (`PETSC_VIEWER_HDF5_MAT`).
//!
//! ```text
//! sparse matrix  a group: attribute MATLAB_sparse (rows), datasets jc (columns + 1 pointers),
//!                ir (the row of each entry, from zero), data; by columns
//! vector         a dataset with one dimension, or with two of which one is 1
//! dense matrix   a dataset with two dimensions
//! ```
//!
//! HDF5 stores arrays by rows and MATLAB by columns, so MATLAB writes a matrix with its dimensions
//! exchanged, and marks every variable with the attribute `MATLAB_class`. A dataset with this mark
//! is read as columns × rows, any other one as rows × columns, which is what h5py shows. MATLAB
//! omits `ir` and `data` of a matrix without entries.
//!
//! A file may have several objects. One is read if its name is `A` (matrices), `b` or `rhs`
//! (vectors) or `coord` (coordinates), in any group: the names in the SuiteSparse collection's
//! `Problem` and in PETSc's examples. Otherwise it must be the only one of its kind. A path
//! `FILE:NAME`, such as `system.h5:Problem/A`, names the object.
//!
//! The feature `hdf5` enables this reader. docs/decisions/hdf5-in-rust.md says which library it
//! uses, and why it is not the C library. Compression is deflate, with or without shuffling; data
//! in other files, by links or otherwise, is refused.

#[cfg(feature = "hdf5")]
mod read;

use std::fs::File;
use std::path::Path;

#[cfg(feature = "hdf5")]
pub(super) use read::read;

use super::FileFormat;
use super::format::look;

/// The first bytes of a file.
const SIGNATURE: &[u8] = b"\x89HDF\r\n\x1a\n";

/// Where the signature may be, as far as the start of a file is looked at. MATLAB writes 512 bytes
/// of its own before it.
const OFFSETS: [usize; 4] = [0, 512, 1024, 2048];

/// Whether a file starts like HDF5.
pub(super) fn is_hdf5(start: &[u8]) -> bool {
    OFFSETS.iter().any(|&at| start.get(at..).is_some_and(|rest| rest.starts_with(SIGNATURE)))
}

/// The file and the object that a path of the form `FILE:NAME` denotes, if `FILE` is an HDF5 file
/// and no file has the whole path as its name.
pub(super) fn object_in(path: &Path) -> Option<(&Path, &str)> {
    let text = path.to_str().filter(|text| text.contains(':') && !path.exists())?;
    text.match_indices(':').find_map(|(at, _)| {
        // Not a pipe, from which looking would take bytes.
        let file = Some(Path::new(&text[..at])).filter(|file| file.is_file())?;
        let format = look(File::open(file).ok()?, file).format;
        (format == FileFormat::Hdf5).then_some((file, &text[at + 1..]))
    })
}

/// The file that a path names: `system.h5` for `system.h5:A`, an object of an HDF5 file, and
/// otherwise the path itself. All functions that read a path accept both.
///
/// ```
/// use std::path::Path;
/// use ziggurat_sparse::io::file_of;
/// let folder = std::env::temp_dir();
/// let file = folder.join(format!("ziggurat-file-of-{}.h5", std::process::id()));
/// std::fs::write(&file, b"\x89HDF\r\n\x1a\n")?;
/// let object = format!("{}:Problem/A", file.display());
/// assert_eq!(file_of(Path::new(&object)), file);
/// assert_eq!(file_of(Path::new("A.mtx")), Path::new("A.mtx"));
/// # std::fs::remove_file(file)?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn file_of(path: &Path) -> &Path {
    object_in(path).map_or(path, |(file, _)| file)
}

/// Without the library.
#[cfg(not(feature = "hdf5"))]
pub(super) fn read(
    _bytes: Vec<u8>,
    _object: Option<&str>,
    _wanted: super::content::Wanted,
) -> Result<super::content::Content, super::binary_fault::Located> {
    let found = "HDF5 without the cargo feature `hdf5`".to_owned();
    let supported = "build with `--features hdf5`";
    Err(super::BinaryFault::NotSupported { found, supported }.at(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_signature_may_follow_a_block_of_the_user() {
        let after = |bytes: usize| is_hdf5(&[&vec![b' '; bytes][..], SIGNATURE, &[0; 8]].concat());
        assert!(OFFSETS.iter().all(|&at| after(at)));
        assert!(!after(1) && !after(511) && !after(513));
        assert!(!is_hdf5(b"") && !is_hdf5(&SIGNATURE[..7]));
    }

    #[test]
    fn the_path_of_an_object_names_its_file() {
        let folder = std::env::temp_dir().join(format!("ziggurat-hdf5-names-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = |name: &str| folder.join(name);
        for name in ["s.h5", "with:colon.h5", "s.h5:there"] {
            std::fs::write(path(name), SIGNATURE).unwrap();
        }
        std::fs::write(path("A.mtx"), "%%MatrixMarket").unwrap();
        let found = |name: &str| {
            let path = path(name);
            let (file, object) = object_in(&path)?;
            Some((file.file_name()?.to_str()?.to_owned(), object.to_owned()))
        };
        let named = |file: &str, object: &str| Some((file.to_owned(), object.to_owned()));
        assert_eq!(found("s.h5:Problem/A"), named("s.h5", "Problem/A"));
        assert_eq!(found("s.h5:a:b"), named("s.h5", "a:b"));
        assert_eq!(found("with:colon.h5:b"), named("with:colon.h5", "b"));
        // Files that exist, and files that have no objects.
        for name in ["s.h5", "s.h5:there", "A.mtx:A", "none.h5:A", "poisson3d:20"] {
            assert_eq!(found(name), None, "{name}");
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[cfg(not(feature = "hdf5"))]
    #[test]
    fn without_the_library_the_error_names_the_feature() {
        let error = crate::io::read_matrix_from(SIGNATURE, "s.h5").unwrap_err().to_string();
        let expected = "s.h5, byte 0: HDF5 without the cargo feature `hdf5` is not supported; \
                        build with `--features hdf5`";
        assert_eq!(error, expected);
    }
}

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

#[cfg(feature = "hdf5")]
pub(super) use read::read;

/// The first bytes of a file.
const SIGNATURE: &[u8] = b"\x89HDF\r\n\x1a\n";

/// Where the signature may be, as far as the start of a file is looked at. MATLAB writes 512 bytes
/// of its own before it.
const OFFSETS: [usize; 4] = [0, 512, 1024, 2048];

/// Whether a file starts like HDF5.
pub(super) fn is_hdf5(start: &[u8]) -> bool {
    OFFSETS.iter().any(|&at| start.get(at..).is_some_and(|rest| rest.starts_with(SIGNATURE)))
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

    #[cfg(not(feature = "hdf5"))]
    #[test]
    fn without_the_library_the_error_names_the_feature() {
        let error = crate::io::read_matrix_from(SIGNATURE, "s.h5").unwrap_err().to_string();
        let expected = "s.h5, byte 0: HDF5 without the cargo feature `hdf5` is not supported; \
                        build with `--features hdf5`";
        assert_eq!(error, expected);
    }
}

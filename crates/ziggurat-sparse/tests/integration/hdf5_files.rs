//! HDF5 files of other programs: those in `tests/files`, which h5py 3.16 wrote, `matlab.mat` in the
//! layout of MATLAB 7.3, and `petsc.h5`, a vector of PETSc 3.18.

// Clippy takes only functions marked `#[test]` for tests.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;
use ziggurat_sparse::io::{
    BinaryFault, FileFormat, ReadError, WriteOptions, read_dense, read_dense_from, read_matrix,
    read_matrix_from, read_matrix_part, read_vector, read_vector_from, read_vector_part, read_vector_rows,
    write_matrix_as,
};

use crate::file_formats::{VECTOR, expected, file, points};

/// An object of a file.
fn object(name: &str, object: &str) -> PathBuf {
    format!("{}:{object}", file(name).display()).into()
}

#[test]
fn matrices_that_h5py_wrote() {
    let paths = [file("matlab.mat"), object("matlab.mat", "Problem/Zeros"), file("h5py.h5")];
    for path in paths {
        let place = path.display();
        assert_eq!(read_matrix(&path).unwrap(), expected(), "{place}");
        let parts: Vec<_> = (0..3).map(|part| read_matrix_part(&path, part, 3).unwrap()).collect();
        assert_eq!(parts.iter().map(|part| part.stored).sum::<u64>(), 8, "{place}");
        let values: Vec<f64> =
            parts.iter().flat_map(|part| part.entries.iter().map(|entry| entry.2)).collect();
        assert_eq!(values, expected().values(), "{place}");
    }
    for name in ["matlab.mat", "h5py.h5"] {
        let bytes = fs::read(file(name)).unwrap();
        assert_eq!(FileFormat::detect(&bytes, "data"), FileFormat::Hdf5);
        // Compressed, and under a name that says nothing.
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(&bytes).unwrap();
        let packed = packed.finish().unwrap();
        assert_eq!(read_matrix_from(&packed[..], "data").unwrap(), expected(), "{name}");
    }
}

#[test]
fn vectors_and_points_that_h5py_and_petsc_wrote() {
    for path in [file("matlab.mat"), file("petsc.h5"), object("h5py.h5", "load")] {
        let place = path.display();
        assert_eq!(read_vector(&path).unwrap(), VECTOR, "{place}");
        assert_eq!(read_vector_rows(&path).unwrap(), 5, "{place}");
        assert_eq!(read_vector_part(&path, 1..3).unwrap(), VECTOR[1..3], "{place}");
    }
    // A group that contains itself, beside the vector.
    assert_eq!(read_vector(file("cycle.h5")).unwrap(), VECTOR);
    let single = VECTOR.map(|value| f64::from(value as f32));
    assert_eq!(read_vector(object("h5py.h5", "single")).unwrap(), single);
    for path in [file("matlab.mat"), file("h5py.h5"), object("matlab.mat", "/Problem/aux/coord")] {
        assert_eq!(read_dense(&path).unwrap(), points(), "{}", path.display());
    }
}

#[test]
fn errors_name_the_object() {
    let error = |result: Result<Vec<f64>, ReadError>| result.unwrap_err().to_string();
    let several = error(read_vector(file("h5py.h5")));
    assert!(
        several.ends_with(
            "h5py.h5, object `/`: several objects could be meant: load, single; \
             name one of them, as in `FILE:NAME`"
        ),
        "{several}"
    );
    let missing = error(read_vector(object("h5py.h5", "lod")));
    assert!(missing.contains("h5py.h5:lod, object `lod`: the file has no such object (it has "), "{missing}");
    let sparse = error(read_vector(object("h5py.h5", "stiffness")));
    assert!(sparse.ends_with("expected a vector (1 column), found 5 columns"));
    // A thousand million numbers that were never written.
    let error = read_dense(file("unwritten.h5")).unwrap_err();
    assert!(matches!(error, ReadError::Binary { fault: BinaryFault::Shape { .. }, .. }), "{error}");
    // Names are for objects of HDF5 files only.
    let missing = read_matrix(object("csr.npz", "A")).unwrap_err();
    assert!(matches!(missing, ReadError::Io { .. }), "{missing}");
    let unwritten =
        write_matrix_as(Vec::new(), FileFormat::Hdf5, expected().view(), &WriteOptions::default());
    assert!(unwritten.unwrap_err().to_string().ends_with("HDF5 files with sparse matrices are not written"));
}

proptest! {
    #[test]
    fn no_damage_makes_the_reader_panic(
        name in prop::sample::select(vec!["matlab.mat", "h5py.h5", "petsc.h5"]),
        changes in proptest::collection::vec((any::<u16>(), any::<u8>()), 1..8),
        cut in any::<Option<u16>>(),
    ) {
        let mut bytes = fs::read(file(name)).unwrap();
        for (at, value) in changes {
            let length = bytes.len();
            bytes[usize::from(at) % length] = value;
        }
        bytes.truncate(cut.map_or(usize::MAX, |cut| usize::from(cut) % (bytes.len() + 1)));
        let _ = read_matrix_from(&bytes[..], "t.h5");
        let _ = read_vector_from(&bytes[..], "t.h5");
        let _ = read_dense_from(&bytes[..], "t.h5");
    }
}

//! Files of other programs: those in `tests/files`, which scipy 1.17, NumPy 2.4 and PETSc 3.18
//! wrote, round trips through every format, and PETSc itself where it is installed.

// Clippy takes only functions marked `#[test]` for tests.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;
use ziggurat_sparse::gallery::Problem;
use ziggurat_sparse::io::{
    FileFormat, VectorWriter, WriteError, WriteOptions, WriteSymmetry, read_dense, read_dense_from,
    read_matrix, read_matrix_from, read_matrix_part, read_vector, read_vector_from, read_vector_part,
    read_vector_rows, write_dense, write_matrix, write_matrix_as, write_vector, write_vector_as,
};
use ziggurat_sparse::{Csr, Dense};

pub(crate) fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files").join(name)
}

/// A folder of its own for a test.
fn folder(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("file_formats").join(test);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// The matrix that scipy, PETSc and h5py wrote.
pub(crate) fn expected() -> Csr<f64> {
    let columns = vec![0, 1, 1, 3, 0, 3, 2, 4];
    let values = vec![4.0, -1.5, 1.0 / 3.0, 1e-300, 2.5, -7.0, 1e100, 6.0];
    Csr::try_new(5, 5, vec![0, 2, 4, 4, 6, 8], columns, values).unwrap()
}

pub(crate) const VECTOR: [f64; 5] = [1.0, -0.1, 1.0 / 3.0, 0.0, 1e-300];

pub(crate) fn points() -> Dense<f64> {
    let column = |first: usize| (0..5).map(move |row| (2 * row + first) as f64 / 8.0);
    Dense::try_new(5, 2, column(0).chain(column(1)).collect()).unwrap()
}

#[test]
fn matrices_that_scipy_and_petsc_wrote() {
    let names =
        ["csr.npz", "csc.npz", "coo.npz", "bsr.npz", "dia.npz", "stored.npz", "scipy.rua", "system32.petsc"];
    for name in names.into_iter().chain(["system64.petsc"]) {
        assert_eq!(read_matrix(file(name)).unwrap(), expected(), "{name}");
        // Compressed, and under a name that says nothing.
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(&fs::read(file(name)).unwrap()).unwrap();
        let packed = packed.finish().unwrap();
        assert_eq!(read_matrix_from(&packed[..], "data").unwrap(), expected(), "{name}");
        for parts in [1, 3, 20] {
            let parts: Vec<_> =
                (0..parts).map(|part| read_matrix_part(file(name), part, parts).unwrap()).collect();
            let entries: Vec<_> = parts.iter().flat_map(|part| part.entries.clone()).collect();
            assert_eq!(parts.iter().map(|part| part.stored).sum::<u64>(), parts[0].declared, "{name}");
            let found: Vec<_> =
                entries.iter().map(|&(i, j, value)| (i as usize, j as usize, value)).collect();
            let a = expected();
            let known = (0..5).flat_map(|row| {
                let (columns, values) = a.row(row);
                columns
                    .iter()
                    .zip(values)
                    .map(move |(&j, &value)| (row, j as usize, value))
                    .collect::<Vec<_>>()
            });
            assert_eq!(found, known.collect::<Vec<_>>(), "{name}");
        }
    }
    // 64-bit indices, unsorted, and 32-bit values.
    let wide = Csr::try_new(2, 3, vec![0, 2, 3], vec![0, 2, 1], vec![2.0, 1.0, 3.0]).unwrap();
    assert_eq!(read_matrix(file("int64.npz")).unwrap(), wide);
}

#[test]
fn vectors_and_points_that_numpy_and_petsc_wrote() {
    for name in ["vector.npy", "column.npy", "system32.petsc", "system64.petsc"] {
        assert_eq!(read_vector(file(name)).unwrap(), VECTOR, "{name}");
        assert_eq!(read_vector_rows(file(name)).unwrap(), 5, "{name}");
        assert_eq!(read_vector_part(file(name), 1..3).unwrap(), VECTOR[1..3], "{name}");
        let error = read_vector_part(file(name), 3..6).unwrap_err().to_string();
        assert!(error.ends_with("rows 3..6 are out of range for a vector with 5 rows"), "{error}");
    }
    assert_eq!(read_vector(file("single.npy")).unwrap(), VECTOR.map(|value| f64::from(value as f32)));
    for name in ["points.npy", "points_fortran.npy", "big_endian.npy", "dense.petsc"] {
        assert_eq!(read_dense(file(name)).unwrap(), points(), "{name}");
        assert_eq!(read_matrix(file(name)).unwrap(), points().to_csr(), "{name}");
        let error = read_vector(file(name)).unwrap_err().to_string();
        assert!(error.contains("expected a vector (1 column), found 2 columns"), "{error}");
    }
    let error = read_dense(file("csr.npz")).unwrap_err().to_string();
    assert!(error.contains("expected a dense matrix, found a sparse one"), "{error}");
}

/// `tests/files/ziggurat.*` must be up to date, so that the tests of the Python package read with
/// scipy what this version writes. The bytes of an archive depend on the compressor.
#[test]
fn files_for_other_readers_are_what_is_written_now() {
    let folder = folder("own");
    let symmetric = "poisson2d:3".parse::<Problem>().unwrap().matrix().unwrap();
    let options = WriteOptions { comment: "written by ziggurat".to_owned(), ..Default::default() };
    write_matrix(folder.join("ziggurat.npz"), expected().view(), &options).unwrap();
    write_matrix(folder.join("ziggurat.rb"), expected().view(), &options).unwrap();
    write_matrix(folder.join("ziggurat_symmetric.rb"), symmetric.view(), &options).unwrap();
    write_vector(folder.join("ziggurat.npy"), &VECTOR).unwrap();
    write_dense(folder.join("ziggurat_points.npy"), &points()).unwrap();
    for name in ["ziggurat.rb", "ziggurat_symmetric.rb", "ziggurat.npy", "ziggurat_points.npy"] {
        assert!(fs::read(folder.join(name)).unwrap() == fs::read(file(name)).unwrap(), "{name}");
    }
    for name in [folder.join("ziggurat.npz"), file("ziggurat.npz")] {
        assert_eq!(read_matrix(&name).unwrap(), expected(), "{}", name.display());
    }
    // PETSc's files are the same as ours, byte for byte.
    write_matrix(folder.join("A.petsc"), expected().view(), &options).unwrap();
    write_vector(folder.join("b.petsc"), &VECTOR).unwrap();
    write_dense(folder.join("X.petsc"), &points()).unwrap();
    let system =
        [fs::read(folder.join("A.petsc")).unwrap(), fs::read(folder.join("b.petsc")).unwrap()].concat();
    assert!(system == fs::read(file("system32.petsc")).unwrap());
    assert!(fs::read(folder.join("X.petsc")).unwrap() == fs::read(file("dense.petsc")).unwrap());
}

#[test]
fn petsc_reads_what_is_written_and_writes_the_same_bytes() {
    // CI does not install PETSc, which is large. This test runs where it is installed.
    let found = Command::new("pkg-config").args(["--cflags", "--libs", "PETSc"]).output();
    let Some(found) = found.ok().filter(|found| found.status.success()) else { return };
    let folder = folder("petsc");
    let options = String::from_utf8(found.stdout).unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c/petsc_files.c");
    let mut compiler = Command::new("mpicc");
    compiler.arg("-o").arg(folder.join("program")).arg(source).args(options.split_whitespace());
    assert!(compiler.status().unwrap().success());

    let problem: Problem = "convection3d:7".parse().unwrap();
    let (a, b) = (problem.matrix().unwrap(), problem.rhs().unwrap());
    write_matrix(folder.join("A.petsc"), a.view(), &WriteOptions::default()).unwrap();
    write_vector(folder.join("b.petsc"), &b).unwrap();
    write_dense(folder.join("X.petsc"), &points()).unwrap();
    let mut program = Command::new(folder.join("program"));
    program.args(["A.petsc", "b.petsc", "X.petsc", "system.petsc", "dense.petsc"]).current_dir(&folder);
    let ran = program.output().unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let product = |row: usize| {
        let (columns, values) = a.row(row);
        columns.iter().zip(values).map(|(&j, value)| value * b[j as usize]).sum::<f64>()
    };
    let norm = (0..a.rows()).map(|row| product(row).powi(2)).sum::<f64>().sqrt();
    let said: f64 = String::from_utf8(ran.stdout).unwrap().trim().parse().unwrap();
    assert!((said - norm).abs() <= 1e-12 * norm, "{said} {norm}");

    let bytes = |name: &str| fs::read(folder.join(name)).unwrap();
    assert!(bytes("system.petsc") == [bytes("A.petsc"), bytes("b.petsc")].concat());
    assert!(bytes("dense.petsc") == bytes("X.petsc"));
    assert_eq!(read_matrix(folder.join("system.petsc")).unwrap(), a);
    assert_eq!(read_vector(folder.join("system.petsc")).unwrap(), b);
    assert_eq!(read_dense(folder.join("dense.petsc")).unwrap(), points());
}

#[test]
fn vectors_in_pieces_and_names_that_hold_no_vectors() {
    let folder = folder("pieces");
    for name in ["x.mtx", "x.mtx.gz", "x.npy", "x.npy.gz", "x.petsc", "x.PETSC.GZ", "x"] {
        let path = folder.join(name);
        let mut writer = VectorWriter::create(&path, 5).unwrap();
        [&VECTOR[..2], &[], &VECTOR[2..]].iter().for_each(|piece| writer.write(piece).unwrap());
        writer.finish().unwrap();
        assert_eq!(read_vector(&path).unwrap(), VECTOR, "{name}");
        let pieces = fs::read(&path).unwrap();
        write_vector(&path, &VECTOR).unwrap();
        assert_eq!(read_vector(&path).unwrap(), VECTOR, "{name}");
        let gzip = pieces.starts_with(&[0x1f, 0x8b]);
        assert_eq!(gzip, name.to_lowercase().ends_with(".gz"), "{name}");
        assert!(gzip || pieces == fs::read(&path).unwrap(), "{name}");
    }
    for name in ["x.npz", "x.rb", "x.rb.gz"] {
        let path = folder.join(name);
        assert!(matches!(VectorWriter::create(&path, 5), Err(WriteError::Unsuitable { .. })));
        let error = write_dense(&path, &points()).unwrap_err().to_string();
        assert!(error.ends_with("files hold no vectors; use .mtx, .npy or .petsc"), "{error}");
        assert!(!path.exists());
    }
    let error = write_matrix(folder.join("A.npy"), expected().view(), &WriteOptions::default()).unwrap_err();
    assert!(error.to_string().ends_with("use .mtx, .npz, .petsc or .rb"), "{error}");
    assert!(write_vector_as(Vec::new(), FileFormat::Npz, &VECTOR).is_err());
    assert!(
        write_matrix_as(Vec::new(), FileFormat::Npy, expected().view(), &WriteOptions::default()).is_err()
    );
}

/// The same bits: `==` would take 0 for -0.
fn bits(a: &Csr<f64>) -> (usize, &[usize], &[u32], Vec<u64>) {
    (a.cols(), a.row_ptr(), a.columns(), a.values().iter().map(|value| value.to_bits()).collect())
}

fn finite() -> impl Strategy<Value = f64> {
    any::<u64>().prop_map(|bits| Some(f64::from_bits(bits)).filter(|value| value.is_finite()).unwrap_or(-0.0))
}

/// Matrices of up to 20 rows and columns; square ones may be symmetric.
fn matrices() -> impl Strategy<Value = Csr<f64>> {
    let entries = proptest::collection::btree_map((0usize..20, 0usize..20), finite(), 0..60);
    (0usize..20, 0usize..20, any::<bool>(), entries).prop_map(|(rows, cols, symmetric, entries)| {
        let cols = if symmetric { rows } else { cols };
        let mut all = std::collections::BTreeMap::new();
        for ((i, j), value) in entries {
            if i < rows && j < cols {
                all.insert((i, j), value);
                if symmetric {
                    all.insert((j, i), value);
                }
            }
        }
        let mut row_ptr = vec![0; rows + 1];
        all.keys().for_each(|&(i, _)| row_ptr[i + 1] += 1);
        (0..rows).for_each(|i| row_ptr[i + 1] += row_ptr[i]);
        let columns = all.keys().map(|&(_, j)| j as u32).collect();
        Csr::try_new(rows, cols, row_ptr, columns, all.into_values().collect()).unwrap()
    })
}

const FORMATS: [FileFormat; 4] =
    [FileFormat::MatrixMarket, FileFormat::Npz, FileFormat::Petsc, FileFormat::RutherfordBoeing];

proptest! {
    #[test]
    fn matrices_survive_every_format(a in matrices()) {
        for format in FORMATS {
            for symmetry in [WriteSymmetry::Auto, WriteSymmetry::General] {
                let mut bytes = Vec::new();
                let options = WriteOptions { symmetry, comment: "title é\n1".to_owned() };
                write_matrix_as(&mut bytes, format, a.view(), &options).unwrap();
                prop_assert_eq!(FileFormat::detect(&bytes, "data"), format);
                let back = read_matrix_from(&bytes[..], "data").unwrap();
                prop_assert_eq!(bits(&back), bits(&a), "{}", format);
            }
        }
    }

    #[test]
    fn vectors_survive_every_format(x in proptest::collection::vec(finite(), 0..40)) {
        let to_bits = |x: &[f64]| x.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
        for format in [FileFormat::MatrixMarket, FileFormat::Npy, FileFormat::Petsc] {
            let mut bytes = Vec::new();
            write_vector_as(&mut bytes, format, &x).unwrap();
            prop_assert_eq!(to_bits(&read_vector_from(&bytes[..], "data").unwrap()), to_bits(&x));
            let dense = read_dense_from(&bytes[..], "data").unwrap();
            prop_assert_eq!((dense.rows(), dense.cols()), (x.len(), 1));
        }
    }

    #[test]
    fn no_damage_makes_a_reader_panic(
        a in matrices(),
        changes in proptest::collection::vec((any::<u16>(), any::<u8>()), 1..6),
        cut in any::<Option<u16>>(),
    ) {
        for format in FORMATS {
            let mut bytes = Vec::new();
            write_matrix_as(&mut bytes, format, a.view(), &WriteOptions::default()).unwrap();
            for &(at, value) in &changes {
                let length = bytes.len();
                bytes[usize::from(at) % length] = value;
            }
            bytes.truncate(cut.map_or(usize::MAX, |cut| usize::from(cut) % (bytes.len() + 1)));
            let _ = read_matrix_from(&bytes[..], "t.rb");
            let _ = read_vector_from(&bytes[..], "t.rb");
            let _ = read_dense_from(&bytes[..], "t.rb");
        }
    }
}

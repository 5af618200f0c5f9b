//! Tests of the reader. The library writes the files.

use hdf5_pure::{AttrValue, DatasetBuilder, FileBuilder, GroupBuilder};

use super::read;
use crate::io::binary_fault::Located;
use crate::io::content::{Content, Wanted};
use crate::io::hdf5::{SIGNATURE, is_hdf5};
use crate::{Csr, Dense};

/// The matrix (4 -1.5 0; 0 0 1/3; 0 2.5 0; 0 0 7) by columns.
const POINTERS: [u64; 4] = [0, 1, 3, 5];
const ROWS: [u64; 5] = [0, 2, 0, 3, 1];
const VALUES: [f64; 5] = [4.0, 2.5, -1.5, 7.0, 1.0 / 3.0];

fn matrix() -> Content {
    let values = vec![4.0, -1.5, 1.0 / 3.0, 2.5, 7.0];
    Content::Sparse(Csr::try_new(4, 3, vec![0, 2, 3, 4, 5], vec![0, 1, 2, 1, 2], values).unwrap())
}

fn dense(rows: usize, cols: usize, values: &[f64]) -> Content {
    Content::Dense(Dense::try_new(rows, cols, values.to_vec()).unwrap())
}

fn file(fill: impl FnOnce(&mut FileBuilder)) -> Vec<u8> {
    let mut file = FileBuilder::new();
    fill(&mut file);
    file.finish().unwrap()
}

/// Adds a matrix to a file.
fn add(file: &mut FileBuilder, name: &str, fill: impl FnOnce(&mut GroupBuilder)) {
    let mut group = file.create_group(name);
    fill(&mut group);
    file.add_group(group.finish());
}

/// Adds what a matrix consists of to its group.
fn fill(group: &mut GroupBuilder, rows: AttrValue, pointers: &[u64], indices: &[u64], values: &[f64]) {
    group.set_attr("MATLAB_sparse", rows);
    group.create_dataset("jc").with_u64_data(pointers);
    group.create_dataset("ir").with_u64_data(indices);
    group.create_dataset("data").with_f64_data(values);
}

fn usual(group: &mut GroupBuilder) {
    fill(group, AttrValue::U64(4), &POINTERS, &ROWS, &VALUES);
}

/// MATLAB's mark of a variable.
fn mark(dataset: &mut DatasetBuilder) {
    dataset.set_attr("MATLAB_class", AttrValue::AsciiString("double".to_owned()));
}

fn fault(bytes: Vec<u8>, object: Option<&str>, wanted: Wanted) -> String {
    let Located { position, fault } = read(bytes, object, wanted).unwrap_err();
    format!("{position}: {fault}")
}

#[test]
fn every_type_of_index_and_number() {
    assert_eq!(read(file(|file| add(file, "K", usual)), None, Wanted::Matrix).unwrap(), matrix());
    let signed = POINTERS.map(|pointer| pointer as i64);
    let (short, narrow) = (ROWS.map(|row| row as i32), VALUES.map(|value| value as f32));
    let bytes = file(|file| {
        file.with_userblock(512);
        add(file, "K", |group| {
            group.set_attr("MATLAB_sparse", AttrValue::F64(4.0));
            group.create_dataset("jc").with_i64_data(&signed).with_chunks(&[3]).with_deflate(6);
            group.create_dataset("ir").with_i32_data(&short);
            group
                .create_dataset("data")
                .with_f32_data(&narrow)
                .with_chunks(&[2])
                .with_shuffle()
                .with_deflate(9);
        });
    });
    assert!(is_hdf5(&bytes) && !bytes.starts_with(SIGNATURE));
    let Content::Sparse(a) = read(bytes, None, Wanted::Matrix).unwrap() else { panic!("a sparse matrix") };
    let Content::Sparse(known) = matrix() else { panic!("a sparse matrix") };
    assert_eq!((a.row_ptr(), a.columns()), (known.row_ptr(), known.columns()));
    let rounded: Vec<f64> = known.values().iter().map(|&value| f64::from(value as f32)).collect();
    assert_eq!(a.values(), rounded);
    // Duplicates are summed.
    let bytes = file(|file| {
        add(file, "A", |group| fill(group, AttrValue::I32(2), &[0, 3], &[1, 0, 1], &[2.0, 1.0, 5.0]));
        file.create_dataset("unused").with_i64_data(&signed);
    });
    let sum = Csr::try_new(2, 1, vec![0, 1, 2], vec![0, 0], vec![1.0, 7.0]).unwrap();
    assert_eq!(read(bytes, None, Wanted::Matrix).unwrap(), Content::Sparse(sum));
    // MATLAB omits arrays without entries.
    let bytes = file(|file| {
        add(file, "A", |group| {
            group.set_attr("MATLAB_sparse", AttrValue::U64(2));
            group.create_dataset("jc").with_u64_data(&[0, 0, 0, 0]);
        });
    });
    let empty = Csr::try_new(2, 3, vec![0; 3], vec![], vec![]).unwrap();
    assert_eq!(read(bytes, None, Wanted::Matrix).unwrap(), Content::Sparse(empty));
}

#[test]
fn matlab_exchanges_the_dimensions() {
    let numbers = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    let with = |shape: &[u64], marked: bool| {
        file(|file| {
            let dataset = file.create_dataset("p").with_f64_data(&numbers).with_shape(shape);
            if marked {
                mark(dataset);
            }
        })
    };
    let read = |bytes: Vec<u8>, wanted: Wanted| read(bytes, None, wanted).unwrap();
    // Rows of the dataset are rows of the matrix, or columns if MATLAB wrote it.
    assert_eq!(read(with(&[2, 3], false), Wanted::Dense), dense(2, 3, &[1.0, 4.0, 2.0, 5.0, 3.0, 6.0]));
    assert_eq!(read(with(&[2, 3], true), Wanted::Dense), dense(3, 2, &numbers));
    assert_eq!(read(with(&[2, 3], true), Wanted::Matrix), dense(3, 2, &numbers));
    // A vector is one in either direction.
    for (shape, marked) in [(&[6][..], false), (&[6, 1], false), (&[1, 6], false), (&[1, 6], true)] {
        assert_eq!(read(with(shape, marked), Wanted::Vector), dense(6, 1, &numbers), "{shape:?}");
    }
    assert_eq!(read(with(&[1, 6], true), Wanted::Dense), dense(6, 1, &numbers));
    assert_eq!(read(with(&[1, 6], false), Wanted::Dense), dense(1, 6, &numbers));
}

/// The contents of a structure of the SuiteSparse collection, and a vector beside it.
fn problem() -> Vec<u8> {
    file(|file| {
        let mut problem = file.create_group("Problem");
        for name in ["A", "Zeros"] {
            let mut group = problem.create_group(name);
            usual(&mut group);
            problem.add_group(group.finish());
        }
        mark(problem.create_dataset("b").with_f64_data(&[1.0, 2.0]).with_shape(&[1, 2]));
        mark(problem.create_dataset("x").with_f64_data(&[3.0, 4.0]).with_shape(&[1, 2]));
        mark(problem.create_dataset("id").with_f64_data(&[7.0]).with_shape(&[1, 1]));
        let title = problem.create_dataset("title").with_u16_data(&[72, 66]).with_shape(&[1, 2]);
        mark(title.set_attr("MATLAB_int_decode", AttrValue::I32(2)));
        let notes = problem.create_dataset("notes").with_u64_data(&[0, 0]);
        mark(notes.set_attr("MATLAB_empty", AttrValue::U8(1)));
        file.add_group(problem.finish());
        let mut cells = file.create_group("#refs#");
        cells.create_dataset("a").with_f64_data(&[9.0, 9.0]);
        file.add_group(cells.finish());
    })
}

#[test]
fn usual_names_are_preferred_and_others_are_given() {
    assert_eq!(read(problem(), None, Wanted::Matrix).unwrap(), matrix());
    assert_eq!(read(problem(), Some("/Problem/Zeros"), Wanted::Matrix).unwrap(), matrix());
    assert_eq!(read(problem(), None, Wanted::Vector).unwrap(), dense(2, 1, &[1.0, 2.0]));
    assert_eq!(read(problem(), Some("Problem/x"), Wanted::Vector).unwrap(), dense(2, 1, &[3.0, 4.0]));
    assert_eq!(read(problem(), Some("Problem/id"), Wanted::Vector).unwrap(), dense(1, 1, &[7.0]));
    assert_eq!(
        fault(problem(), None, Wanted::Dense),
        "object `/`: several objects could be meant: Problem/b, Problem/x; name one of them, as in `FILE:NAME`"
    );
    let faults = [
        ("B", "the file has no such object (it has Problem/b, Problem/x, Problem/A, Problem/Zeros)"),
        (
            "Problem/b/c",
            "the file has no such object (it has Problem/b, Problem/x, Problem/A, Problem/Zeros)",
        ),
        (
            "Problem",
            "a group whose attribute MATLAB_sparse is not a number of rows is not supported; \
             sparse matrices are, with this attribute and the datasets data, ir and jc",
        ),
        (
            "Problem/title",
            "a dataset of anything but integers and numbers of 32 or 64 bits is not supported; those are",
        ),
    ];
    for (name, expected) in faults {
        assert_eq!(fault(problem(), Some(name), Wanted::Matrix), format!("object `{name}`: {expected}"));
    }
    // Not by their kind: the only vector is `c`, but `b` is what a right-hand side is called.
    let bytes = file(|file| {
        add(file, "b", |group| fill(group, AttrValue::U64(2), &[0, 1], &[1], &[5.0]));
        file.create_dataset("c").with_f64_data(&[8.0, 9.0]);
    });
    let b = Csr::try_new(2, 1, vec![0, 0, 1], vec![0], vec![5.0]).unwrap();
    assert_eq!(read(bytes.clone(), None, Wanted::Vector).unwrap(), Content::Sparse(b));
    assert_eq!(read(bytes, None, Wanted::Dense).unwrap(), dense(2, 1, &[8.0, 9.0]));
    let nothing = file(|file| {
        file.create_dataset("text").with_vlen_strings(&["A"]);
    });
    assert_eq!(fault(nothing, None, Wanted::Vector), "object `/`: the file contains no vector");
}

#[test]
fn faults_name_the_object() {
    let changed = |rows: AttrValue, pointers: &[u64], indices: &[u64], values: &[f64]| {
        let bytes = file(|file| add(file, "A", |group| fill(group, rows, pointers, indices, values)));
        fault(bytes, None, Wanted::Matrix)
    };
    let rows = |rows: AttrValue| changed(rows, &POINTERS, &ROWS, &VALUES);
    let pointers = |pointers: &[u64]| changed(AttrValue::U64(4), pointers, &ROWS, &VALUES);
    let indices = |indices: &[u64]| changed(AttrValue::U64(4), &POINTERS, indices, &VALUES);
    let values = |values: &[f64]| changed(AttrValue::U64(4), &POINTERS, &ROWS, values);
    assert_eq!(rows(AttrValue::I64(-4)), "object `A`: the number of rows is -4");
    assert_eq!(rows(AttrValue::U64(2)), "object `A/ir`: entry 1: the index 2 is outside 0..2");
    assert!(rows(AttrValue::U64(4_000_000_000)).starts_with("object `A`: 4000000000 rows are implausible"));
    assert!(rows(AttrValue::U64(u64::MAX)).starts_with("object `A`: "), "{}", rows(AttrValue::U64(u64::MAX)));
    for bad in [AttrValue::F64(4.5), AttrValue::U64Array(vec![4, 4]), AttrValue::String("4".to_owned())] {
        assert!(rows(bad).starts_with("object `A`: a group whose attribute MATLAB_sparse is not a number"));
    }
    assert_eq!(pointers(&[0, 3, 1, 5]), "object `A/jc`: pointer 2 is 1, expected at least 3");
    assert_eq!(pointers(&[1, 1, 3, 5]), "object `A/jc`: pointer 0 is 1, expected 0");
    assert_eq!(pointers(&[0, 1, 3, 6]), "object `A/jc`: pointer 3 is 6, expected 5, the number of entries");
    assert_eq!(
        pointers(&[0, 1, u64::MAX, 5]),
        "object `A/jc`: pointer 3 is 5, expected at least 9223372036854775807"
    );
    assert_eq!(
        pointers(&[]),
        "object `A/jc`: the shape is (0), expected a pointer for each column and one more"
    );
    assert_eq!(indices(&[0, 2, 4, 3, 1]), "object `A/ir`: entry 2: the index 4 is outside 0..4");
    let largest = "object `A/ir`: entry 4: the index 9223372036854775807 is outside 0..4";
    assert_eq!(indices(&[0, 2, 0, 3, u64::MAX]), largest);
    assert_eq!(indices(&[0, 2]), "object `A/ir`: the shape is (2), expected (5)");
    assert_eq!(
        values(&[1.0, 2.0, f64::NAN, 4.0, 5.0]),
        "object `A/data`: entry 2: the value is NaN; every value must be finite"
    );
    let without = file(|file| {
        add(file, "A", |group| {
            group.set_attr("MATLAB_sparse", AttrValue::U64(4));
            group.create_dataset("jc").with_f64_data(&[0.0, 1.0]);
            group.create_dataset("data").with_f64_data(&VALUES);
        });
        add(file, "B", |group| {
            group.set_attr("MATLAB_sparse", AttrValue::U64(4));
            group.create_dataset("jc").with_u64_data(&[0, 1]);
            group.create_dataset("data").with_f64_data(&[1.0]);
        });
    });
    assert_eq!(
        fault(without.clone(), None, Wanted::Matrix),
        "object `A/jc`: an index that is not an integer is not supported; integers are"
    );
    assert_eq!(
        fault(without, Some("B"), Wanted::Matrix),
        "object `B/ir`: the file has no such object (it has jc, data)"
    );
}

#[test]
fn complex_numbers_are_refused() {
    let expected = "an array of complex numbers is not supported; real numbers are";
    let pairs = VALUES.map(|value| (value, 1.0));
    let bytes = file(|file| {
        add(file, "A", |group| {
            group.set_attr("MATLAB_sparse", AttrValue::U64(4));
            group.create_dataset("jc").with_u64_data(&POINTERS);
            group.create_dataset("ir").with_u64_data(&ROWS);
            group.create_dataset("data").with_complex64_data(&pairs);
        });
        file.create_dataset("b").with_complex64_data(&pairs);
        // As PETSc writes them.
        let parts = file.create_dataset("v").with_f64_data(&[0.0; 4]).with_shape(&[2, 2]);
        parts.set_attr("complex", AttrValue::U8(1));
    });
    assert_eq!(fault(bytes.clone(), None, Wanted::Matrix), format!("object `A/data`: {expected}"));
    assert_eq!(fault(bytes.clone(), None, Wanted::Vector), format!("object `b`: {expected}"));
    assert_eq!(fault(bytes, Some("v"), Wanted::Vector), format!("object `v`: {expected}"));
}

#[test]
fn a_file_may_be_cut_off_anywhere() {
    let whole = problem();
    for length in 0..whole.len() {
        for wanted in [Wanted::Matrix, Wanted::Vector, Wanted::Dense] {
            // Some bytes at the end may be unused.
            let _ = read(whole[..length].to_vec(), None, wanted);
        }
    }
    assert!(read(whole[..whole.len() / 2].to_vec(), None, Wanted::Matrix).is_err());
}

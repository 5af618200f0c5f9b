//! Files of other formats than Matrix Market: a malformed one is an error, and a matrix or a vector
//! that is read can be written in every format and read back bit for bit.

use std::io::Cursor;

use ziggurat_sparse::CsrRef;
use ziggurat_sparse::io::{
    FileFormat, WriteOptions, read_dense_from, read_matrix_from, read_matrix_part_from, read_vector_from,
    read_vector_part_from, write_matrix_as, write_vector_as,
};

use crate::matrix_market::same;

/// Rows above which a valid file is not processed further: a few bytes may declare a million empty
/// rows.
const MOST_ROWS: usize = 10_000;

/// The name of the input, which selects Rutherford–Boeing for what nothing else identifies.
const NAME: &str = "input.rb";

/// Reads the input as a matrix, a dense matrix and a vector, as a whole and in parts.
pub fn files(data: &[u8]) {
    if FileFormat::detect(data, NAME) == FileFormat::MatrixMarket {
        return; // the target `matrix_market`
    }
    let _ = read_dense_from(data, NAME);
    let _ = read_dense_from(data, "table.txt");
    if let Ok(vector) = read_vector_from(data, NAME) {
        vector_survives(data, &vector);
    }
    let Ok(a) = read_matrix_from(data, NAME) else { return };
    CsrRef::try_new(a.rows(), a.cols(), a.row_ptr(), a.columns(), a.values()).expect("a valid matrix");
    if a.rows() > MOST_ROWS || a.cols() > MOST_ROWS {
        return;
    }
    let parts = (0..3).map(|part| read_matrix_part_from(Cursor::new(data), NAME, part, 3).expect("a part"));
    let entries: Vec<_> = parts.flat_map(|part| part.entries).collect();
    assert!(same(&entries.iter().map(|&(_, _, value)| value).collect::<Vec<_>>(), a.values()));
    for format in [FileFormat::MatrixMarket, FileFormat::Npz, FileFormat::Petsc, FileFormat::RutherfordBoeing]
    {
        let mut bytes = Vec::new();
        write_matrix_as(&mut bytes, format, a.view(), &WriteOptions::default())
            .expect("memory can be written");
        let again = read_matrix_from(&bytes[..], "written").expect("what was written");
        assert_eq!((again.rows(), again.cols()), (a.rows(), a.cols()), "{format}");
        assert_eq!((again.row_ptr(), again.columns()), (a.row_ptr(), a.columns()), "{format}");
        assert!(same(again.values(), a.values()), "{format}");
    }
}

fn vector_survives(data: &[u8], vector: &[f64]) {
    if vector.len() > MOST_ROWS {
        return;
    }
    let middle = vector.len() as u64 / 2;
    let [low, high] = [0..middle, middle..vector.len() as u64]
        .map(|rows| read_vector_part_from(data, NAME, rows).expect("a part of a vector"));
    assert!(same(&[low, high].concat(), vector));
    for format in [FileFormat::MatrixMarket, FileFormat::Npy, FileFormat::Petsc] {
        let mut bytes = Vec::new();
        write_vector_as(&mut bytes, format, vector).expect("memory can be written");
        let again = read_vector_from(&bytes[..], "written").expect("what was written");
        assert!(same(&again, vector), "{format}");
    }
}

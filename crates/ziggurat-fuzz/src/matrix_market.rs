//! Matrix Market files: a malformed one is an error, the parts of a valid one are the whole, and a
//! matrix that is written is read back bit for bit.

use std::io::Cursor;

use ziggurat_sparse::io::{
    WriteOptions, read_dense_from, read_matrix_from, read_matrix_part_from, read_vector_from,
    read_vector_part_from, write_matrix_to,
};
use ziggurat_sparse::{Coo, Csr, CsrRef};

/// Rows above which a valid file is not processed further: a few bytes may declare billions of
/// empty rows.
const MOST_ROWS: usize = 10_000;

/// Reads the input as a matrix, a dense matrix and a vector, as a whole and in parts.
pub fn matrix_market(data: &[u8]) {
    if declares_more_than(data, MOST_ROWS) {
        return;
    }
    let _ = read_dense_from(data, "input");
    if let Ok(vector) = read_vector_from(data, "input") {
        let middle = vector.len() as u64 / 2;
        let [low, high] = [0..middle, middle..vector.len() as u64]
            .map(|rows| read_vector_part_from(Cursor::new(data), "input", rows).expect("a part of a vector"));
        assert!(same(&[low, high].concat(), &vector));
    }
    let parts = |count: usize| -> Option<Csr<f64>> {
        let parts: Vec<_> = (0..count)
            .map(|part| read_matrix_part_from(Cursor::new(data), "input", part, count).ok())
            .collect::<Option<_>>()?;
        if parts.iter().map(|part| part.stored).sum::<u64>() != parts[0].declared {
            return None;
        }
        let entries = parts.iter().flat_map(|part| &part.entries);
        let mut whole = Coo::new(parts[0].rows as usize, parts[0].cols as usize).ok()?;
        for &(row, column, value) in entries {
            whole.push(row as usize, column as usize, value).ok()?;
        }
        Some(whole.into_csr())
    };
    let Ok(a) = read_matrix_from(data, "input") else {
        return;
    };
    CsrRef::try_new(a.rows(), a.cols(), a.row_ptr(), a.columns(), a.values()).expect("a valid matrix");
    for count in [1, 3] {
        let joined = parts(count).expect("the parts of a valid file");
        assert_eq!((joined.row_ptr(), joined.columns()), (a.row_ptr(), a.columns()));
        assert!(same(joined.values(), a.values()));
    }
    let mut text = Vec::new();
    write_matrix_to(&mut text, a.view(), &WriteOptions::default()).expect("memory can be written");
    let again = read_matrix_from(&text[..], "written").expect("what was written");
    assert_eq!((again.row_ptr(), again.columns()), (a.row_ptr(), a.columns()));
    assert!(same(again.values(), a.values()));
}

/// Whether a line begins with a number above `most`, as a size line of a huge matrix does.
fn declares_more_than(data: &[u8], most: usize) -> bool {
    let numbers = data.split(|byte| !byte.is_ascii_digit());
    numbers.filter(|digits| digits.len() < 20).any(|digits| {
        let text = str::from_utf8(digits).unwrap_or("");
        text.parse::<u64>().is_ok_and(|number| number > most as u64)
    })
}

/// Equal bits, or both NaN.
pub(crate) fn same(one: &[f64], other: &[f64]) -> bool {
    one.len() == other.len()
        && one.iter().zip(other).all(|(a, b)| a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan()))
}

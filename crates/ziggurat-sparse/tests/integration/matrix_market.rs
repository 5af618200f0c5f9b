//! Matrix Market through its public face: every kind of file, every fault, round trips, and files
//! made to hurt.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;
use ziggurat_sparse::io::{
    ReadError, WriteOptions, WriteSymmetry, read_dense, read_dense_from, read_matrix, read_matrix_from,
    read_vector, read_vector_from, write_dense, write_matrix, write_matrix_to, write_vector,
};
use ziggurat_sparse::{Csr, Dense};

const COORDINATE: &str = "%%MatrixMarket matrix coordinate real general\n";

fn matrix(text: &str) -> Csr<f64> {
    read_matrix_from(text.as_bytes(), "t").unwrap_or_else(|error| unreachable!("{error}"))
}

/// The error's message without the file's name in front.
fn fault(text: impl AsRef<[u8]>) -> String {
    let error = read_matrix_from(text.as_ref(), "t").err().map(|error| error.to_string());
    error.map_or_else(|| "no fault".to_owned(), |message| message.trim_start_matches("t, ").to_owned())
}

/// The matrix as rows of a dense one.
fn dense(a: &Csr<f64>) -> Vec<Vec<f64>> {
    let row = |i| (0..a.cols()).map(|j| a.get(i, j).unwrap_or(0.0)).collect();
    (0..a.rows()).map(row).collect()
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text).and_then(|()| encoder.finish()).unwrap_or_default()
}

/// A file of its own for every test, removed at the end.
struct Scratch(std::path::PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        Scratch(std::env::temp_dir().join(format!("ziggurat-{}-{name}", std::process::id())))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn every_kind_of_coordinate_file() {
    let read =
        |kind: &str, data: &str| dense(&matrix(&format!("%%MatrixMarket matrix coordinate {kind}\n{data}")));
    assert_eq!(read("real general", "2 3 2\n1 3 2.5\n2 1 -1e-2\n"), [[0.0, 0.0, 2.5], [-0.01, 0.0, 0.0]]);
    assert_eq!(read("real symmetric", "2 2 2\n1 1 4\n2 1 -1\n"), [[4.0, -1.0], [-1.0, 0.0]]);
    assert_eq!(read("real skew-symmetric", "2 2 2\n2 1 3\n1 1 0\n"), [[0.0, -3.0], [3.0, 0.0]]);
    assert_eq!(read("integer general", "1 2 2\n1 1 -7\n1 2 +9\n"), [[-7.0, 9.0]]);
    assert_eq!(read("integer symmetric", "2 2 1\n2 1 5\n"), [[0.0, 5.0], [5.0, 0.0]]);
    assert_eq!(read("integer skew-symmetric", "2 2 1\n2 1 5\n"), [[0.0, -5.0], [5.0, 0.0]]);
    assert_eq!(read("pattern general", "2 2 1\n1 2\n"), [[0.0, 1.0], [0.0, 0.0]]);
    assert_eq!(read("pattern symmetric", "2 2 2\n2 2\n2 1\n"), [[0.0, 1.0], [1.0, 1.0]]);
}

#[test]
fn every_kind_of_array_file() {
    let read =
        |kind: &str, data: &str| dense(&matrix(&format!("%%MatrixMarket matrix array {kind}\n{data}")));
    assert_eq!(read("real general", "2 3\n1\n2\n3\n4\n5\n6\n"), [[1.0, 3.0, 5.0], [2.0, 4.0, 6.0]]);
    let symmetric = [[1.0, 2.0, 3.0], [2.0, 4.0, 5.0], [3.0, 5.0, 6.0]];
    assert_eq!(read("integer symmetric", "3 3\n1\n2\n3\n4\n5\n6\n"), symmetric);
    let skew = [[0.0, -1.0, -2.0], [1.0, 0.0, -3.0], [2.0, 3.0, 0.0]];
    assert_eq!(read("real skew-symmetric", "3 3\n1\n2\n3\n"), skew);
    assert_eq!(read("real skew-symmetric", "1 1\n"), [[0.0]]);
    // An array's zeros are not entries; its other values are.
    assert_eq!(matrix("%%MatrixMarket matrix array real general\n2 2\n0\n1\n-0\n0\n").nnz(), 1);
}

#[test]
fn empty_matrices() {
    let a = matrix(&format!("{COORDINATE}0 0 0"));
    assert_eq!((a.rows(), a.cols(), a.nnz()), (0, 0, 0));
    let a = matrix(&format!("{COORDINATE}3 5 0\n"));
    assert_eq!((a.rows(), a.cols(), a.nnz()), (3, 5, 0));
    let a = matrix("%%MatrixMarket matrix array real general\n2 0\n");
    assert_eq!((a.rows(), a.cols(), a.nnz()), (2, 0, 0));
}

#[test]
fn duplicates_are_summed_in_the_order_of_the_file_and_zeros_kept() {
    // (1e16 + 1) - 1e16 is 0 in this order, and 1 in others.
    let a = matrix(&format!("{COORDINATE}2 2 5\n2 2 1e16\n1 1 0\n2 2 1\n2 2 -1e16\n1 2 7\n"));
    assert_eq!((a.nnz(), a.get(0, 0), a.get(1, 1)), (3, Some(0.0), Some(0.0)));
    let s = matrix("%%MatrixMarket matrix coordinate real symmetric\n2 2 3\n2 1 1e16\n2 1 1\n2 1 -1e16\n");
    assert_eq!((s.get(1, 0), s.get(0, 1)), (Some(0.0), Some(0.0)));
}

#[test]
fn layout_is_free_where_the_format_leaves_it_free() {
    let strict = matrix(&format!("{COORDINATE}2 2 2\n1 1 1.5\n2 2 2.5\n"));
    let loose = "%%matrixmarket MATRIX Coordinate\tREAL general \r\n% note\r\n\r\n  2 2\t2 \r\n%\r\n 1  1 1.5D0\r\n\n\t2 2 25e-1 ";
    assert_eq!(matrix(loose), strict);
}

#[test]
fn faults_of_the_banner() {
    let begins = "line 1: a Matrix Market file begins with `%%MatrixMarket matrix coordinate|array \
                  real|integer|pattern general|symmetric|skew-symmetric`, found ";
    assert_eq!(fault(""), format!("{begins}``"));
    assert_eq!(fault("1 1 1\n"), format!("{begins}`1`"));
    assert_eq!(fault(b"\xef\xbb\xbf%%MatrixMarket"), format!("{begins}`\\xef\\xbb\\xbf%%MatrixMarket`"));
    let banner = |words: &str| fault(format!("%%MatrixMarket {words}\n1 1 1\n1 1 1\n"));
    assert_eq!(banner("vector array real general"), "line 1: unknown object `vector` (known: matrix)");
    assert_eq!(
        banner("matrix coordinates real general"),
        "line 1: unknown format `coordinates`; did you mean `coordinate`? (known: coordinate, array)"
    );
    assert_eq!(
        banner("matrix coordinate reel general"),
        "line 1: unknown field `reel`; did you mean `real`? (known: real, integer, pattern, complex)"
    );
    assert_eq!(
        banner("matrix coordinate real symetric"),
        "line 1: unknown symmetry `symetric`; did you mean `symmetric`? (known: general, symmetric, \
         skew-symmetric, hermitian)"
    );
    assert_eq!(banner("matrix coordinate real"), "line 1: symmetry is missing");
    assert_eq!(banner("matrix coordinate real general x"), "line 1: unexpected extra word `x`");
    assert_eq!(
        banner("matrix coordinate complex general"),
        "line 1: complex matrices are not supported yet; real, integer and pattern are"
    );
    assert_eq!(
        banner("matrix coordinate complex hermitian"),
        "line 1: complex matrices are not supported yet; real, integer and pattern are"
    );
    assert_eq!(
        banner("matrix coordinate real hermitian"),
        "line 1: hermitian matrices are not supported yet; real, integer and pattern are"
    );
    assert_eq!(
        banner("matrix array pattern general"),
        "line 1: `array` stores values and `pattern` has none; use `coordinate pattern`"
    );
    assert_eq!(
        banner("matrix coordinate pattern skew-symmetric"),
        "line 1: a `pattern` matrix has no signs, so it cannot be `skew-symmetric`"
    );
}

#[test]
fn faults_of_the_size_line() {
    let size = |line: &str| fault(format!("{COORDINATE}% note\n{line}\n"));
    assert_eq!(size(""), "line 3: the size line is missing");
    assert_eq!(size("5"), "line 3: the number of columns is missing");
    assert_eq!(size("5 5"), "line 3: the number of entries is missing");
    assert_eq!(size("5 -5 1"), "line 3: the number of columns `-5` is not a whole number");
    assert_eq!(size("5 5 1.0"), "line 3: the number of entries `1.0` is not a whole number");
    assert_eq!(size("5 5 1 1"), "line 3: unexpected extra word `1`");
    assert_eq!(
        size("4294967296 5 1"),
        "line 3: 4294967296 rows are more than one process can index (4294967295); distribute the matrix"
    );
    assert_eq!(
        size("5 99999999999999999999999999 1"),
        "line 3: 18446744073709551615 columns are more than one process can index (4294967295); distribute the \
         matrix"
    );
    assert_eq!(
        fault("%%MatrixMarket matrix coordinate real symmetric\n2 3 0\n"),
        "line 2: the matrix is declared symmetric, but has 2 rows and 3 columns"
    );
    assert_eq!(
        fault("%%MatrixMarket matrix array real skew-symmetric\n2 3\n"),
        "line 2: the matrix is declared skew-symmetric, but has 2 rows and 3 columns"
    );
    assert_eq!(
        fault("%%MatrixMarket matrix array real general\n2 2 4\n"),
        "line 2: unexpected extra word `4`"
    );
}

#[test]
fn faults_of_the_data_lines() {
    let data = |line: &str| fault(format!("{COORDINATE}4 5 2\n1 1 1\n\n{line}\n"));
    assert_eq!(data("0 1 1"), "line 5: row 0 is outside 1..=4");
    assert_eq!(data("5 1 1"), "line 5: row 5 is outside 1..=4");
    assert_eq!(data("4 6 1"), "line 5: column 6 is outside 1..=5");
    assert_eq!(data("4 18446744073709551617 1"), "line 5: column 18446744073709551617 is outside 1..=5");
    assert_eq!(data("-1 1 1"), "line 5: row `-1` is not a whole number");
    assert_eq!(data("1.0 1 1"), "line 5: row `1.0` is not a whole number");
    assert_eq!(data("1"), "line 5: column is missing");
    assert_eq!(data("1 1"), "line 5: the value is missing");
    assert_eq!(data("1 1 1,5"), "line 5: `1,5` is not a number");
    assert_eq!(data("1 1 0x1p3"), "line 5: `0x1p3` is not a number");
    assert_eq!(data("1 1 NaN"), "line 5: the value `NaN` is not finite in double precision");
    assert_eq!(data("1 1 -inf"), "line 5: the value `-inf` is not finite in double precision");
    assert_eq!(data("1 1 1e999"), "line 5: the value `1e999` is not finite in double precision");
    assert_eq!(data("1 1 1D999"), "line 5: the value `1D999` is not finite in double precision");
    assert_eq!(data("1 1 1.0 2.0"), "line 5: unexpected extra word `2.0`");
    assert_eq!(data("2 2 2\n3 3 3"), "line 6: too many entries: the size line declares 2");
    assert_eq!(data("2 2 2\n\n<html>"), "line 7: too many entries: the size line declares 2");
    assert_eq!(data("% none"), "line 5: the file ends after 1 entry, but its size line declares 2");
    let binary = [COORDINATE.as_bytes(), b"1 1 1\n1 1 \xff\xfe\n"].concat();
    assert_eq!(fault(binary), "line 3: `\\xff\\xfe` is not a number");
    let kind = |kind: &str, line: &str| fault(format!("%%MatrixMarket matrix {kind}\n{line}\n"));
    assert_eq!(
        kind("coordinate integer general", "1 1 1\n1 1 1.5"),
        "line 3: `1.5` is not an integer, but the banner declares `integer`; declare `real` instead"
    );
    assert_eq!(kind("coordinate pattern general", "1 1 1\n1 1 1"), "line 3: unexpected extra word `1`");
    assert_eq!(
        kind("coordinate real symmetric", "2 2 1\n1 2 1"),
        "line 3: row 1, column 2 lies above the diagonal; a symmetric file stores only the lower triangle (swap the \
         two indices, or declare the file general and list both triangles)"
    );
    assert_eq!(
        kind("coordinate real skew-symmetric", "2 2 1\n2 2 1"),
        "line 3: row 2: the diagonal of a skew-symmetric matrix must be zero, found 1"
    );
    assert_eq!(kind("array real general", "2 1\n1\n2 3"), "line 4: unexpected extra word `3`");
    assert_eq!(
        kind("array real general", "2 2\n1\n2\n3"),
        "line 5: the file ends after 3 entries, but its size line declares 4"
    );
    assert_eq!(kind("array real general", "1 1\n1\n2"), "line 4: too many entries: the size line declares 1");
    assert_eq!(
        fault(format!("{COORDINATE}1 1 2\n1 1 1e308\n1 1 1e308\n")),
        "t: row 0, column 0: the value is inf; every entry must be finite"
    );
}

#[test]
fn what_a_header_claims_is_not_allocated() {
    assert_eq!(
        fault(format!("{COORDINATE}10 10 1000000000000000000\n1 1 1\n")),
        "line 3: the file ends after 1 entry, but its size line declares 1000000000000000000"
    );
    let n = u32::MAX;
    assert_eq!(
        fault(format!("%%MatrixMarket matrix array real general\n{n} {n}\n1\n")),
        "line 3: the file ends after 1 entry, but its size line declares 18446744065119617025"
    );
    let limit = (1 << 20) + 1024 * 67;
    let text = format!("{COORDINATE}{n} 1 1\n1 1 1\n");
    let expected = format!(
        "line 2: 4294967295 rows are implausible for a file with 67 bytes of text; the limit is {limit}"
    );
    assert_eq!(fault(&text), expected);
    assert_eq!(read_vector_from(text.as_bytes(), "t").unwrap_err().to_string(), format!("t, {expected}"));
    assert!(fault(format!("%%MatrixMarket matrix array real general\n{n} 0\n")).contains("implausible"));
    assert_eq!(matrix(&format!("{COORDINATE}1000000 4294967295 1\n1 4294967295 1\n")).rows(), 1_000_000);
}

#[test]
fn a_line_without_end_is_refused_in_bounded_memory() {
    let limit = "longer than 8388608 bytes; is this a text file?";
    let endless = COORDINATE.bytes().chain(std::iter::repeat_n(b' ', 40 << 20)).collect::<Vec<u8>>();
    assert_eq!(fault(&endless), format!("line 2: the line is {limit}"));
    let bomb = gzip(&endless);
    assert!(bomb.len() < 1 << 20);
    assert_eq!(fault(&bomb), format!("line 2: the line is {limit}"));
    assert_eq!(fault(vec![b'%'; 9 << 20]), format!("line 1: the line is {limit}"));
}

#[test]
fn gzip_is_known_by_its_content_and_read_like_plain_text() {
    let text = format!("{COORDINATE}3 3 3\n1 1 1\n2 2 2\n3 1 0.1\n");
    let plain = matrix(&text);
    assert_eq!(read_matrix_from(&gzip(text.as_bytes())[..], "t").unwrap(), plain);
    // Members one after another, cut in the middle of a line.
    let (front, back) = text.as_bytes().split_at(62);
    assert_eq!(read_matrix_from(&[gzip(front), gzip(back)].concat()[..], "t").unwrap(), plain);
    let misnamed = Scratch::new("plain.mtx.gz");
    std::fs::write(&misnamed.0, &text).unwrap();
    assert_eq!(read_matrix(&misnamed.0).unwrap(), plain);
}

#[test]
fn a_broken_stream_names_the_last_good_line() {
    let entries: String = (1..=5000).map(|i| format!("{i} {i} {}\n", 1.0 / f64::from(i))).collect();
    let text = format!("{COORDINATE}5000 5000 5000\n{entries}");
    let packed = gzip(text.as_bytes());
    let error = read_matrix_from(&packed[..packed.len() / 2], "t").unwrap_err();
    assert!(matches!(error, ReadError::Io { line: 1000..4000, .. }), "{error:?}");
    assert!(error.to_string().starts_with("t, after line "), "{error}");
    // Every way to cut it short is an error.
    for length in (0..packed.len()).step_by(997).chain(packed.len() - 9..packed.len()) {
        assert!(read_matrix_from(&packed[..length], "t").is_err(), "{length} bytes of {}", packed.len());
    }
    let mut garbled = packed.clone();
    let checksum = packed.len() - 8;
    garbled[checksum] ^= 1;
    assert!(matches!(read_matrix_from(&garbled[..], "t"), Err(ReadError::Io { line: 5002, .. })));

    struct Failing;
    impl Read for Failing {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("the disk is gone"))
        }
    }
    let broken = format!("{COORDINATE}2 2 2\n1 1 1\n2 2").into_bytes();
    let error = read_matrix_from(broken.chain(Failing), "t").unwrap_err();
    assert_eq!(error.to_string(), "t, after line 3: the disk is gone");
    let error = read_matrix_from(Failing, "t").unwrap_err();
    assert_eq!(error.to_string(), "t: the disk is gone");
}

#[test]
fn a_file_that_cannot_be_opened_is_named() {
    let error = read_matrix("/no/such/file.mtx").unwrap_err().to_string();
    assert!(error.starts_with("/no/such/file.mtx: "), "{error}");
    let error = write_vector("/no/such/file.mtx", &[]).unwrap_err().to_string();
    assert!(error.starts_with("/no/such/file.mtx: "), "{error}");
    assert!(matches!(read_matrix(std::env::temp_dir()), Err(ReadError::Io { .. })));
}

#[test]
fn vectors_and_dense_matrices() {
    let array = "%%MatrixMarket matrix array real general\n";
    let vector = |text: &str| read_vector_from(text.as_bytes(), "t").map_err(|error| error.to_string());
    assert_eq!(vector(&format!("{array}3 1\n1\n0\n-2\n")), Ok(vec![1.0, 0.0, -2.0]));
    assert_eq!(vector(&format!("{array}0 1\n")), Ok(vec![]));
    assert_eq!(vector(&format!("{COORDINATE}4 1 3\n4 1 2\n2 1 1\n4 1 5\n")), Ok(vec![0.0, 1.0, 0.0, 7.0]));
    let columns = "expected a vector (1 column), found 2 columns";
    assert_eq!(vector(&format!("{array}1 2\n1\n2\n")), Err(format!("t, line 2: {columns}")));
    assert_eq!(
        vector(&format!("{COORDINATE}1 1 2\n1 1 1e308\n1 1 1e308\n")),
        Err("t: row 0, column 0: the value is inf; every entry must be finite".to_owned())
    );
    let error = read_dense_from(format!("{COORDINATE}1 1 0\n").as_bytes(), "t").unwrap_err();
    assert_eq!(
        error.to_string(),
        "t, line 2: expected a dense matrix (`array`), found a sparse one (`coordinate`); use `read_matrix`"
    );
}

#[test]
fn what_cannot_be_read_back_is_not_written() {
    let write = |a: &Csr<f64>, symmetry| {
        let options = WriteOptions { symmetry, ..Default::default() };
        write_matrix_to(Vec::new(), a.view(), &options).map_err(|error| error.to_string())
    };
    let nan = Csr::try_new(1, 1, vec![0, 1], vec![0], vec![f64::NAN]).unwrap();
    assert_eq!(
        write(&nan, WriteSymmetry::Auto),
        Err("row 0, column 0: the value is NaN; every entry must be finite".to_owned())
    );
    let skewed = Csr::try_new(2, 2, vec![0, 1, 2], vec![1, 0], vec![1.0, 2.0]).unwrap();
    assert_eq!(
        write(&skewed, WriteSymmetry::Symmetric),
        Err("row 0, column 1 is 1 but row 1, column 0 is 2: the matrix is not symmetric".to_owned())
    );
    let wide = Csr::try_new(1, 2, vec![0, 0], vec![], vec![]).unwrap();
    assert_eq!(
        write(&wide, WriteSymmetry::Symmetric),
        Err("columns of a symmetric matrix: expected 1, found 2".to_owned())
    );
    let nowhere = "/no/such/place"; // refused before the file is created
    let infinite = Dense::try_new(2, 2, vec![0.0, 0.0, 0.0, f64::INFINITY]).unwrap();
    assert_eq!(
        write_dense(nowhere, &infinite).unwrap_err().to_string(),
        "row 1, column 1: the value is inf; every entry must be finite"
    );
    assert_eq!(
        write_vector(nowhere, &[0.0, f64::NAN]).unwrap_err().to_string(),
        "row 1, column 0: the value is NaN; every entry must be finite"
    );
}

#[test]
fn a_large_file_is_the_same_for_any_number_of_threads() {
    // Several pieces, batches and blocks: 1.6 million entries, rows of uneven length.
    let n = 200_000;
    let a = Csr::build(
        0..n,
        n,
        || (),
        |(), row| (row % 17).min(n - row),
        |(), row, columns, values| {
            for (k, (column, value)) in columns.iter_mut().zip(values).enumerate() {
                (*column, *value) = ((row + k) as u32, 1.0 / (row + 3 * k + 1) as f64);
            }
        },
    )
    .unwrap();
    let options = WriteOptions { comment: "large\nand uneven".to_owned(), ..Default::default() };
    let [mut one, mut two] = [Vec::new(), Vec::new()];
    for (threads, text) in [(1, &mut one), (2, &mut two)] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let read = pool.install(|| {
            write_matrix_to(&mut *text, a.view(), &options).unwrap();
            read_matrix_from(&text[..], "t").unwrap()
        });
        assert!(read == a, "{threads} threads");
    }
    assert!(one.len() > 2 * (8 << 20), "blocks are not exercised by {} bytes", one.len());
    assert!(one == two);
    assert!(
        one.starts_with(b"%%MatrixMarket matrix coordinate real general\n% large\n% and uneven\n200000 ")
    );

    // A fault far behind, in a late block.
    let lines = one.iter().filter(|&&byte| byte == b'\n').count();
    one.truncate(one.len() - 1);
    one.push(b'x');
    let message = fault(&one);
    assert!(
        message.starts_with(&format!("line {lines}: ")) && message.ends_with("x` is not a number"),
        "{message}"
    );
}

/// Matrices of every shape and finite values of every size.
fn matrices() -> impl Strategy<Value = Csr<f64>> {
    let number = any::<u64>().prop_map(f64::from_bits).prop_filter("finite", |value| value.is_finite());
    let value =
        prop_oneof![number, Just(0.0), Just(-0.0), -10.0..10.0f64, (-100..100i32).prop_map(f64::from)];
    (0usize..12, 1usize..12).prop_flat_map(move |(rows, cols)| {
        let row = proptest::collection::btree_map(0..cols as u32, value.clone(), 0..=cols);
        proptest::collection::vec(row, rows).prop_filter_map("valid", move |rows| {
            let mut row_ptr = vec![0];
            row_ptr.extend(rows.iter().scan(0, |sum, row| {
                *sum += row.len();
                Some(*sum)
            }));
            let columns = rows.iter().flat_map(|row| row.keys().copied()).collect();
            let values = rows.iter().flat_map(|row| row.values().copied()).collect();
            Csr::try_new(rows.len(), cols, row_ptr, columns, values).ok()
        })
    })
}

/// The same pattern and values on both sides of the diagonal.
fn mirrored(a: &Csr<f64>) -> Csr<f64> {
    let n = a.rows().min(a.cols());
    let at = |i: usize, j: usize| a.get(i.max(j), i.min(j));
    let count = |i: usize| (0..n).filter(|&j| at(i, j).is_some()).count();
    Csr::build(
        0..n,
        n,
        || (),
        |(), i| count(i),
        |(), i, columns, values| {
            let entries = (0..n).filter_map(|j| Some((j as u32, at(i, j)?)));
            for ((column, value), entry) in columns.iter_mut().zip(values).zip(entries) {
                (*column, *value) = entry;
            }
        },
    )
    .unwrap_or_else(|error| unreachable!("{error}"))
}

/// The same bits: `==` would take 0 for -0.
fn bits(a: &Csr<f64>) -> (&[usize], &[u32], Vec<u64>) {
    (a.row_ptr(), a.columns(), a.values().iter().map(|value| value.to_bits()).collect())
}

proptest! {
    #[test]
    fn written_and_read_back_is_the_same_to_the_last_bit(a in matrices(), packed in any::<bool>()) {
        let file = Scratch::new(if packed { "round.mtx.gz" } else { "round.mtx" });
        for (a, symmetry) in [
            (&a, WriteSymmetry::Auto),
            (&a, WriteSymmetry::General),
            (&mirrored(&a), WriteSymmetry::Auto),
            (&mirrored(&a), WriteSymmetry::Symmetric),
        ] {
            let options = WriteOptions { symmetry, comment: "a\n\n2 2 1\n".to_owned() };
            write_matrix(&file.0, a.view(), &options).unwrap();
            let back = read_matrix(&file.0).unwrap();
            prop_assert_eq!(bits(&back), bits(a));
            prop_assert_eq!((back.rows(), back.cols()), (a.rows(), a.cols()));
            let begin = std::fs::read(&file.0).unwrap();
            prop_assert_eq!(begin.starts_with(&[0x1f, 0x8b]), packed);
        }
    }

    #[test]
    fn vectors_and_dense_matrices_survive_a_round_trip(
        rows in 0usize..20,
        cols in 1usize..4,
        seed in proptest::collection::vec(any::<u64>(), 80),
    ) {
        let finite = |bits: &u64| Some(f64::from_bits(*bits)).filter(|value| value.is_finite()).unwrap_or(-0.0);
        let values: Vec<f64> = seed[..rows * cols].iter().map(finite).collect();
        let to_bits = |values: &[f64]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
        let file = Scratch::new("dense.mtx.gz");
        write_dense(&file.0, &Dense::try_new(rows, cols, values.clone()).unwrap()).unwrap();
        let back = read_dense(&file.0).unwrap();
        prop_assert_eq!((back.rows(), back.cols(), to_bits(back.values())), (rows, cols, to_bits(&values)));
        write_vector(&file.0, &values).unwrap();
        prop_assert_eq!(to_bits(&read_vector(&file.0).unwrap()), to_bits(&values));
    }

}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300), head in 0usize..5) {
        let heads = ["", "\x1f\u{8b}", "%%MatrixMarket matrix ", COORDINATE, "%%MatrixMarket matrix array real general\n"];
        survive(&[heads[head].as_bytes(), &bytes].concat())?;
    }

    #[test]
    fn mutated_files_never_panic(
        kind in 0usize..6,
        packed in any::<bool>(),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0u8..5), 1..6),
    ) {
        let kinds = [
            "coordinate real general\n3 3 4\n1 1 1.5\n2 2 -2e-3\n3 1 7\n3 3 1D2\n",
            "coordinate integer symmetric\n3 3 3\n1 1 4\n2 1 -1\n3 3 9\n",
            "coordinate pattern general\n% note\n3 2 2\n1 1\n3 2\n",
            "coordinate real skew-symmetric\n3 3 2\n2 1 1.25\n3 2 4\n",
            "array real general\n3 1\n1\n\n2\n3\n",
            "array integer symmetric\n2 2\n1\n2\n3\n",
        ];
        let mut bytes = format!("%%MatrixMarket matrix {}", kinds[kind]).into_bytes();
        if packed {
            bytes = gzip(&bytes);
        }
        for (place, byte, change) in changes {
            let at = place.index(bytes.len() + 1).min(bytes.len());
            match change {
                0 => bytes.truncate(at),
                1 => bytes.insert(at, byte),
                2 => bytes.insert(at, b"0123456789-+.eEdD% \n\r\t"[byte as usize % 22]),
                _ if at == bytes.len() => {}
                3 => drop(bytes.remove(at)),
                _ => bytes[at] = byte,
            }
        }
        survive(&bytes)?;
    }
}

/// All three readers return, and what they return is sound.
fn survive(bytes: &[u8]) -> Result<(), TestCaseError> {
    let lines = bytes.split(|&byte| byte == b'\n').count() as u64;
    let packed = bytes.starts_with(&[0x1f, 0x8b]);
    let check = |error: ReadError| match error {
        ReadError::Line { line, .. } if !packed => {
            prop_assert!((1..=lines).contains(&line), "{} of {} lines", error, lines);
            Ok(())
        }
        _ => Ok(()),
    };
    match read_matrix_from(bytes, "fuzz") {
        Ok(a) => prop_assert!(a.view().check_finite().is_ok()),
        Err(error) => check(error)?,
    }
    match read_vector_from(bytes, "fuzz") {
        Ok(vector) => prop_assert!(vector.iter().all(|value| value.is_finite())),
        Err(error) => check(error)?,
    }
    match read_dense_from(bytes, "fuzz") {
        Ok(dense) => prop_assert!(dense.values().iter().all(|value| value.is_finite())),
        Err(error) => check(error)?,
    }
    Ok(())
}

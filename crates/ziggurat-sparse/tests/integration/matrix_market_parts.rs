//! Files read in parts: together they are the file, whatever its kind and wherever the cuts fall.

use std::io::{Cursor, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;
use ziggurat_sparse::io::{
    Fault, MatrixPart, ReadError, StoredSymmetry, read_matrix_from, read_matrix_part, read_matrix_part_from,
    read_vector_from, read_vector_part, read_vector_part_from,
};
use ziggurat_sparse::{Coo, Csr};

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text).and_then(|()| encoder.finish()).unwrap_or_default()
}

fn all_parts(bytes: &[u8], parts: usize) -> Result<Vec<MatrixPart>, ReadError> {
    (0..parts).map(|part| read_matrix_part_from(Cursor::new(bytes), "t", part, parts)).collect()
}

/// The matrix whose entries the parts hold.
fn join(parts: &[MatrixPart]) -> Csr<f64> {
    let (rows, cols) = (parts[0].rows, parts[0].cols);
    assert!(parts.iter().all(|part| (part.rows, part.cols) == (rows, cols)));
    let entries = || parts.iter().flat_map(|part| &part.entries);
    let matrix = Coo::try_from_triplets(
        rows as usize,
        cols as usize,
        entries().map(|entry| entry.0 as u32).collect(),
        entries().map(|entry| entry.1 as u32).collect(),
        entries().map(|entry| entry.2).collect(),
    );
    matrix.map_or_else(|error| unreachable!("{error}"), Coo::into_csr)
}

/// The same bits: `==` would take 0 for -0.
fn bits(a: &Csr<f64>) -> (&[usize], &[u32], Vec<u64>) {
    (a.row_ptr(), a.columns(), a.values().iter().map(|value| value.to_bits()).collect())
}

/// Every kind of file, and every liberty that the format leaves.
const FILES: [&str; 20] = [
    "coordinate real general\n4 5 5\n1 1 1.5\n4 5 -2e-3\n3 1 7\n2 2 0\n4 5 1e16\n",
    "coordinate real general\n4 5 4\n1 1 1.5\n4 5 1e16\n4 5 1\n4 5 -1e16", // summed in order; no line end
    "coordinate real symmetric\n4 4 5\n1 1 4\n2 1 -1\n4 1 -0\n4 4 9.25\n3 2 1e-300\n",
    "coordinate real skew-symmetric\n3 3 3\n2 1 1.25\n3 2 4\n2 2 0\n",
    "coordinate integer symmetric\n3 3 3\n1 1 4\n2 1 -1\n3 3 +9\n",
    "coordinate pattern general\n3 2 3\n1 1\n3 2\n2 1\n",
    "coordinate pattern symmetric\n3 3 3\n1 1\n3 2\n2 1\n",
    "coordinate real general\n% a comment\n%\n3 3 3\n% another\n1 1 1\n\n% third\n2 2 2\n%%\n3 3 3\n% last",
    "coordinate real general\r\n% note\r\n3 3 3\r\n1 1 1\r\n2 2 2\r\n\r\n3 3 3\r\n",
    "coordinate real general\n3 3 3\n1 1 1\n2 2 2\n3 3 3\n\n\n  \n\t\n\n\n\n\n\n\n",
    "coordinate real general\n3 3 3 \n  1 1  1D0\n 2\t2 2 \n3 3 3",
    "coordinate real general\n3 5 0\n",
    "coordinate real general\n0 0 0",
    "coordinate real general\n1 1 1\n1 1 3.25",
    "array real general\n3 4\n1\n2\n0\n4\n-5\n6\n7\n-0\n9\n10\n% note\n11\n\n12\n",
    "array integer symmetric\n4 4\n1\n2\n3\n4\n5\n0\n7\n8\n9\n10",
    "array real skew-symmetric\n4 4\n1\n2\n3\n4\n5\n6\n",
    "array real skew-symmetric\n1 1\n",
    "array real general\n7 1\r\n1\r\n2\r\n3\r\n4\r\n5\r\n6\r\n7",
    "array real general\n5 0\n",
];

#[test]
fn the_union_of_parts_is_the_matrix() {
    for file in FILES {
        let text = format!("%%MatrixMarket matrix {file}");
        let whole = read_matrix_from(text.as_bytes(), "t").unwrap();
        for bytes in [text.as_bytes(), &gzip(text.as_bytes())] {
            for count in (1..=9).chain([100]) {
                let parts = all_parts(bytes, count).unwrap();
                assert_eq!(bits(&join(&parts)), bits(&whole), "{count} parts of {file}");
                let stored: u64 = parts.iter().map(|part| part.stored).sum();
                assert!(parts.iter().all(|part| part.declared == stored), "{count} parts of {file}");
            }
        }
    }
}

#[test]
fn what_cannot_be_cut_is_shared_by_lines() {
    let text = format!("%%MatrixMarket matrix {}", FILES[0]);
    let count = |bytes: &[u8], parts| -> Vec<u64> {
        all_parts(bytes, parts).unwrap().iter().map(|part| part.stored).collect()
    };
    assert_eq!(count(&gzip(text.as_bytes()), 3), [1, 2, 2]); // cuts at ⌊5k/3⌋
    assert_eq!(count(&gzip(text.as_bytes()), 7), [0, 1, 1, 0, 1, 1, 1]);
    assert_eq!(count(format!("%%MatrixMarket matrix {}", FILES[18]).as_bytes(), 3), [2, 2, 3]);
}

#[test]
fn rows_and_columns_beyond_32_bits() {
    let n = 1u64 << 40;
    let text = format!("%%MatrixMarket matrix coordinate real symmetric\n{n} {n} 2\n{n} 1 2.5\n{n} {n} 1\n");
    for bytes in [text.as_bytes(), &gzip(text.as_bytes())] {
        let parts = all_parts(bytes, 2).unwrap();
        assert_eq!((parts[1].rows, parts[1].cols, parts[1].symmetry), (n, n, StoredSymmetry::Symmetric));
        let entries: Vec<_> = parts.into_iter().flat_map(|part| part.entries).collect();
        assert_eq!(entries, [(n - 1, 0, 2.5), (0, n - 1, 2.5), (n - 1, n - 1, 1.0)]);
    }
    let beyond = "%%MatrixMarket matrix coordinate real general\n1 18446744073709551616 0\n";
    assert_eq!(
        all_parts(beyond.as_bytes(), 1).unwrap_err().to_string(),
        "t, line 2: the number of columns exceeds the range of 64-bit indices"
    );
    let outside =
        format!("%%MatrixMarket matrix coordinate real general\n{n} 1 1\n18446744073709551617 1 1\n");
    assert_eq!(
        all_parts(outside.as_bytes(), 1).unwrap_err().to_string(),
        "t, line 3: row 18446744073709551617 is outside 1..=1099511627776"
    );
}

#[test]
fn a_wrong_number_of_lines_shows_in_every_part_that_can_see_it() {
    let head = "%%MatrixMarket matrix coordinate real general\n9 9 4\n";
    let short = format!("{head}1 1 1\n2 2 2\n3 3 3");
    let long = format!("{head}1 1 1\n2 2 2\n3 3 3\n4 4 4\n5 5 5\n");
    for (text, total) in [(&short, 3), (&long, 5)] {
        let parts = all_parts(text.as_bytes(), 3).unwrap();
        assert_eq!(parts.iter().map(|part| part.stored).sum::<u64>(), total);
        assert!(parts.iter().all(|part| part.declared == 4));
    }
    for part in 0..3 {
        let fault = |text: &str| {
            read_matrix_part_from(Cursor::new(gzip(text.as_bytes())), "t", part, 3).unwrap_err().to_string()
        };
        let few = "t, line 5: the file ends after 3 entries, but its size line declares 4";
        assert_eq!(fault(&short), few, "part {part}");
        assert_eq!(fault(&long), "t, line 7: too many entries: the size line declares 4", "part {part}");
    }
}

#[test]
fn a_wrong_line_of_a_compressed_file_is_named_by_its_own_part() {
    let text = "%%MatrixMarket matrix coordinate real general\n9 9 4\n1 1 1\n2 2 2\n% note\n3 x 3\n4 4 4\n";
    let read = |part| read_matrix_part_from(Cursor::new(gzip(text.as_bytes())), "t", part, 2);
    assert_eq!(read(0).unwrap().entries, [(0, 0, 1.0), (1, 1, 2.0)]);
    assert_eq!(read(1).unwrap_err().to_string(), "t, line 6: column `x` is not a whole number");
    let cut_short = &gzip(text.as_bytes())[..60];
    for part in 0..2 {
        let error = read_matrix_part_from(Cursor::new(cut_short), "t", part, 2).unwrap_err();
        assert!(matches!(error, ReadError::Io { .. }), "{error}");
    }
}

#[test]
fn files_by_their_path() {
    let path = std::env::temp_dir().join(format!("ziggurat-{}-part.mtx", std::process::id()));
    std::fs::write(&path, "%%MatrixMarket matrix array real general\n4 1\n1\n2\n3\n4\n").unwrap();
    let part = read_matrix_part(&path, 1, 2);
    let vector = read_vector_part(&path, 1..3);
    let missing = std::fs::remove_file(&path).map(|()| read_matrix_part(&path, 1, 2)).unwrap();
    assert_eq!(part.unwrap().entries, [(2, 0, 3.0), (3, 0, 4.0)]);
    assert_eq!(vector.unwrap(), [2.0, 3.0]);
    assert!(missing.unwrap_err().to_string().starts_with(&path.display().to_string()));
    assert!(matches!(read_matrix_part(std::env::temp_dir(), 0, 1), Err(ReadError::Io { .. })));
}

#[test]
fn rows_of_vectors() {
    let array = "%%MatrixMarket matrix array real general\n";
    let files = [
        format!("{array}5 1\n1\n2.5\n-0\n4\n5"),
        format!("{array}5 1\r\n1\r\n% note\r\n\r\n2\r\n3\r\n4\r\n5\r\n\r\n"),
        "%%MatrixMarket matrix coordinate real general\n5 1 5\n4 1 2\n2 1 1\n4 1 1e16\n4 1 -1e16\n5 1 3\n"
            .to_owned(),
        "%%MatrixMarket matrix array real skew-symmetric\n1 1\n".to_owned(),
        "%%MatrixMarket matrix array real symmetric\n1 1\n7\n".to_owned(),
        format!("{array}0 1\n"),
    ];
    let bits = |values: &[f64]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
    for text in files {
        let whole = read_vector_from(text.as_bytes(), "t").unwrap();
        for bytes in [text.as_bytes(), &gzip(text.as_bytes())] {
            for end in 0..=whole.len() {
                for start in 0..=end {
                    let part = read_vector_part_from(bytes, "t", start as u64..end as u64).unwrap();
                    assert_eq!(bits(&part), bits(&whole[start..end]), "rows {start}..{end} of {text}");
                }
            }
        }
    }
}

#[test]
fn faults_of_vectors() {
    let array = "%%MatrixMarket matrix array real general\n";
    let coordinate = "%%MatrixMarket matrix coordinate real general\n";
    let fault = |text: &str, start, end| {
        read_vector_part_from(text.as_bytes(), "t", start..end).unwrap_err().to_string()
    };
    let four = format!("{array}4 1\n1\n2\nx\n4\n");
    assert_eq!(fault(&four, 2, 5), "t, line 2: rows 2..5 are out of range for a vector with 4 rows");
    assert_eq!(fault(&four, 3, 2), "t, line 2: rows 3..2 are out of range for a vector with 4 rows");
    assert_eq!(fault(&four, 1, 3), "t, line 5: `x` is not a number");
    assert_eq!(read_vector_part_from(four.as_bytes(), "t", 0..2).unwrap(), [1.0, 2.0]);
    let short = format!("{array}9 1\n1\n2\n");
    assert_eq!(fault(&short, 0, 1), "t, line 4: the file ends after 2 entries, but its size line declares 9");
    let columns = "expected a vector (1 column), found 2 columns";
    assert_eq!(fault(&format!("{array}1 2\n1\n2\n"), 0, 1), format!("t, line 2: {columns}"));
    let infinite = format!("{coordinate}4 1 2\n3 1 1e308\n3 1 1e308\n");
    assert_eq!(fault(&infinite, 1, 4), "t: row 2, column 0: the value is inf; every entry must be finite");
    // A size that a header claims is not allocated, whichever rows are read.
    let huge = format!("{coordinate}9000000000000000000 1 1\n9000000000000000000 1 3\n");
    assert!(fault(&huge, 0, 9_000_000_000_000_000_000).contains("implausible"));
    let tail = 8_999_999_999_999_999_998..9_000_000_000_000_000_000;
    assert_eq!(read_vector_part_from(huge.as_bytes(), "t", tail).unwrap(), [0.0, 3.0]);
    let huge = format!("{array}9000000000000000000 1\n1\n");
    assert!(fault(&huge, 0, 9_000_000_000_000_000_000).contains("the file ends after 1 entry"));
}

#[test]
fn threads_change_nothing() {
    let lines: String = (1..=60_000).map(|i| format!("{i} {} {}\n", i / 2 + 1, 1.0 / f64::from(i))).collect();
    let text = format!("%%MatrixMarket matrix coordinate real symmetric\n60000 60000 60000\n{lines}");
    let bytes = gzip(text.as_bytes());
    let read = |threads, bytes: &[u8]| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| all_parts(bytes, 3).unwrap())
    };
    for bytes in [text.as_bytes(), &bytes] {
        assert!(read(1, bytes) == read(2, bytes));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    // Changed files: nothing panics, and the parts find no fault exactly where the whole has none.
    #[test]
    fn parts_and_whole_judge_alike(
        kind in 0usize..FILES.len(),
        parts in 1usize..6,
        packed in any::<bool>(),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0u8..5), 0..4),
    ) {
        let mut text = format!("%%MatrixMarket matrix {}", FILES[kind]).into_bytes();
        for (place, byte, change) in changes {
            let at = place.index(text.len() + 1).min(text.len());
            match change {
                0 => text.truncate(at),
                1 => text.insert(at, byte),
                2 => text.insert(at, b"0123456789-+.eEdD% \n\r\t"[byte as usize % 22]),
                _ if at == text.len() => {}
                3 => drop(text.remove(at)),
                _ => text[at] = byte,
            }
        }
        let whole = read_matrix_from(&text[..], "t");
        let found = if packed { all_parts(&gzip(&text), parts) } else { all_parts(&text, parts) };
        let found = found.map(|found| {
            let complete = found.iter().map(|part| part.stored).sum::<u64>() == found[0].declared;
            (found, complete)
        });
        match (whole, found) {
            (Ok(whole), Ok((found, complete))) => {
                prop_assert!(complete);
                let joined = join(&found);
                prop_assert_eq!(bits(&joined), bits(&whole));
            }
            (Ok(_), Err(error)) => prop_assert!(false, "only the parts object: {}", error),
            (Err(_), Err(_) | Ok((_, false))) => {}
            // Limits that only a single process has, and faults that only sums show.
            (Err(error), Ok((_, true))) => {
                let local = matches!(
                    error,
                    ReadError::Matrix { .. }
                        | ReadError::Line { fault: Fault::TooLarge(_) | Fault::TooManyRows { .. }, .. }
                );
                prop_assert!(local, "only the whole objects: {}", error);
            }
        }
        let _ = read_vector_part_from(&text[..], "t", 0..2);
    }
}

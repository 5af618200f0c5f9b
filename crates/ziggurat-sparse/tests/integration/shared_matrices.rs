//! Every matrix of the shared collection loads, with the rows and entries that its index states.
//!
//! The collection lies beside the repository (`shared/matrices`), or where `ZIGGURAT_MATRICES`
//! says. Where it is absent the tests say so and pass; where the variable names a folder that is
//! absent, they fail.

use std::io::{Cursor, Read, Write};
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;
use ziggurat_sparse::Coo;
use ziggurat_sparse::io::{
    read_dense, read_matrix, read_matrix_part, read_matrix_part_from, read_vector, read_vector_part,
};

/// A row of the index.
struct Listed {
    name: String,
    rows: usize,
    nnz: usize,
    extras: Vec<String>,
}

fn folder() -> PathBuf {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/matrices");
    std::env::var_os("ZIGGURAT_MATRICES").map_or(beside, PathBuf::from)
}

/// The index, or `None` (and a word about it) where there is no collection.
fn index() -> Option<Vec<Listed>> {
    let path = folder().join("INDEX.md");
    let Ok(text) = std::fs::read_to_string(&path) else {
        let named = std::env::var_os("ZIGGURAT_MATRICES").is_some();
        assert!(!named, "ZIGGURAT_MATRICES is set, but there is no {}", path.display());
        // Not `eprintln!`: the test harness would hide it, and a test that is skipped must be seen
        // to be.
        let _ = writeln!(
            std::io::stderr(),
            "skipped: no matrices at {} (set ZIGGURAT_MATRICES to the folder of INDEX.md)",
            path.display()
        );
        return None;
    };
    let listed: Vec<Listed> = text.lines().filter_map(listed).collect();
    // A change of the table's form must not make the test an empty one.
    assert!(listed.len() >= 60, "only {} matrices found in {}", listed.len(), path.display());
    Some(listed)
}

/// `| name | rows | nnz | verified | class | application | from | licence | extras | MiB gz | … |`;
/// other lines give `None`.
fn listed(line: &str) -> Option<Listed> {
    let cells: Vec<&str> = line.strip_prefix('|')?.split('|').map(str::trim).collect();
    let extras = cells.get(8)?.split(',').filter(|&extra| extra != "-" && !extra.is_empty());
    Some(Listed {
        name: (*cells.first()?).to_owned(),
        rows: cells.get(1)?.parse().ok()?,
        nnz: cells.get(2)?.parse().ok()?,
        extras: extras.map(|extra| extra.trim().to_owned()).collect(),
    })
}

#[test]
fn every_matrix_has_the_rows_and_entries_that_the_index_states() {
    for Listed { name, rows, nnz, .. } in index().unwrap_or_default() {
        let a = read_matrix(folder().join(format!("{name}.mtx.gz"))).unwrap();
        assert_eq!((a.rows(), a.cols(), a.nnz()), (rows, rows, nnz), "{name}");
    }
}

#[test]
fn every_companion_fits_its_matrix() {
    let mut checked = 0;
    for Listed { name, rows, extras, .. } in index().unwrap_or_default() {
        for extra in extras {
            let path = folder().join(format!("{name}_{extra}.mtx.gz"));
            if extra == "b" {
                assert_eq!(read_vector(&path).unwrap().len(), rows, "{}", path.display());
            } else {
                let dense = read_dense(&path).unwrap();
                // Coordinates belong to nodes, each of which has as many unknowns as the space
                // dimensions.
                let nodes = if extra == "coords" { rows / dense.cols() } else { rows };
                assert_eq!(dense.rows(), nodes, "{}", path.display());
            }
            checked += 1;
        }
    }
    assert!(checked == 0 || checked >= 20, "only {checked} companions found");
}

#[test]
fn parts_of_a_matrix_are_the_matrix_compressed_and_plain() {
    if index().is_none() {
        return;
    }
    // Symmetric, general, and an array.
    for (name, parts) in [("wathen100", 3), ("sherman5", 7), ("memplus_b", 4)] {
        let path = folder().join(format!("{name}.mtx.gz"));
        let mut text = Vec::new();
        MultiGzDecoder::new(std::fs::File::open(&path).unwrap()).read_to_end(&mut text).unwrap();
        let whole = read_matrix(&path).unwrap();
        for packed in [true, false] {
            let (mut joined, mut stored) = (Coo::new(whole.rows(), whole.cols()).unwrap(), 0);
            for part in 0..parts {
                let part = if packed {
                    read_matrix_part(&path, part, parts).unwrap()
                } else {
                    read_matrix_part_from(Cursor::new(&text), name, part, parts).unwrap()
                };
                stored += part.stored;
                for (row, column, value) in part.entries {
                    joined.push(row as usize, column as usize, value).unwrap();
                }
                // Parts of equal bytes or lines: none is idle, none has it all.
                assert!((1..part.declared).contains(&part.stored), "{name}: {} lines", part.stored);
                assert!(stored <= part.declared);
            }
            assert!(joined.into_csr() == whole, "{name}, packed: {packed}");
        }
    }
}

#[test]
fn rows_of_a_vector_are_those_of_the_whole() {
    if index().is_none() {
        return;
    }
    let path = folder().join("memplus_b.mtx.gz");
    let whole = read_vector(&path).unwrap();
    let n = whole.len();
    for rows in [0..n, 0..0, 5..17, n / 3..n] {
        assert_eq!(read_vector_part(&path, rows.start as u64..rows.end as u64).unwrap(), whole[rows]);
    }
}

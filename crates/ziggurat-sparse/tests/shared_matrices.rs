//! Every matrix of the shared collection loads, with the rows and entries that its index states.
//!
//! The collection lies beside the repository (`shared/matrices`), or where `ZIGGURAT_MATRICES` says. Where it is absent
//! the tests say so and pass; where the variable names a folder that is absent, they fail.

use std::io::Write;
use std::path::{Path, PathBuf};

use ziggurat_sparse::io::{read_dense, read_matrix, read_vector};

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
        // Not `eprintln!`: the test harness would hide it, and a test that is skipped must be seen to be.
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

/// `| name | rows | nnz | verified | class | application | from | licence | extras | MiB gz | … |`; other lines give `None`.
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
                // Coordinates belong to nodes, each of which has as many unknowns as the space dimensions.
                let nodes = if extra == "coords" { rows / dense.cols() } else { rows };
                assert_eq!(dense.rows(), nodes, "{}", path.display());
            }
            checked += 1;
        }
    }
    assert!(checked == 0 || checked >= 20, "only {checked} companions found");
}

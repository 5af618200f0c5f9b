//! Compares the diagnosis of real matrices with the index of the shared collection.
//!
//! The collection is in `shared/matrices` next to the repository, or in the folder given by
//! `ZIGGURAT_MATRICES`. Without a collection the test prints a message and passes. It fails if the
//! variable is set but the folder is missing.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ziggurat::diagnose;
use ziggurat::diagnose::{DiagonalSign, MatrixKind};
use ziggurat_sparse::io::read_matrix;

/// Larger matrices take seconds to unpack, and are of the same kinds.
const MOST_ENTRIES: usize = 300_000;

/// Power grids, circuits, and media whose permeability varies by orders of magnitude.
const HETEROGENEOUS: [&str; 7] =
    ["ak2010_lap", "norne_pressure", "ibmpg1", "pegase13659_dc", "rte6515_dc", "saylr4", "1138_bus"];

#[test]
fn the_diagnosis_agrees_with_the_index() {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/matrices");
    let named = std::env::var_os("ZIGGURAT_MATRICES").map(PathBuf::from);
    let folder = named.clone().unwrap_or(beside);
    let Ok(index) = std::fs::read_to_string(folder.join("INDEX.md")) else {
        assert!(
            named.is_none(),
            "ZIGGURAT_MATRICES is set, but there is no INDEX.md in {}",
            folder.display()
        );
        // Not `eprintln!`, which the test harness captures: a skipped test must be visible.
        let _ = writeln!(
            std::io::stderr(),
            "skipped: no matrices at {} (set ZIGGURAT_MATRICES)",
            folder.display()
        );
        return;
    };
    let (mut checked, mut heterogeneous) = (0, Vec::new());
    for line in index.lines() {
        // `| name | rows | nnz | verified | … |`
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [_, name, _, nnz, verified, ..] = cells[..] else { continue };
        if !nnz.parse().is_ok_and(|nnz: usize| nnz <= MOST_ENTRIES) {
            continue;
        }
        let a = read_matrix(folder.join(format!("{name}.mtx.gz"))).unwrap();
        let diagnosis = diagnose(a.view());
        assert_eq!(diagnosis.symmetric, verified.starts_with("sym"), "{name}");
        assert_eq!(diagnosis.looks_singular, verified.contains("singular"), "{name}");
        if diagnosis.symmetric {
            let negative = diagnosis.diagonal.sign == DiagonalSign::Negative;
            assert_eq!(negative, verified.contains("-A SPD"), "{name}");
        }
        if MatrixKind::of_whole(&Arc::new(a)).unwrap().heterogeneous {
            heterogeneous.push(name.to_owned());
        }
        checked += 1;
    }
    assert_eq!(heterogeneous, HETEROGENEOUS);
    // If the format of the table changes, the test must fail instead of checking nothing.
    assert!(checked >= 50, "only {checked} matrices found in {}", folder.display());
}

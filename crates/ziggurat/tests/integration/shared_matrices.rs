//! Compares the diagnosis of real matrices with the index of the shared collection.
//!
//! The collection is in `shared/matrices` next to the repository, or in the folder given by
//! `ZIGGURAT_MATRICES`. Without a collection the test prints a message and passes. It fails if the
//! variable is set but the folder is missing.

use std::io::Write;
use std::path::{Path, PathBuf};

use ziggurat::diagnose;
use ziggurat::diagnose::DiagonalSign;
use ziggurat_sparse::io::read_matrix;

/// Larger matrices take seconds to unpack, and are of the same kinds.
const MOST_ENTRIES: usize = 300_000;

#[test]
fn symmetry_sign_and_singularity_agree_with_the_index() {
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
    let mut checked = 0;
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
        checked += 1;
    }
    // If the format of the table changes, the test must fail instead of checking nothing.
    assert!(checked >= 50, "only {checked} matrices found in {}", folder.display());
}

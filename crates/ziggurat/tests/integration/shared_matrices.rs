//! The diagnosis of real matrices agrees with what the index of the shared collection states of
//! them.
//!
//! The collection lies beside the repository (`shared/matrices`), or where `ZIGGURAT_MATRICES`
//! says. Where it is absent the test says so and passes; where the variable names a folder that is
//! absent, it fails.

use std::io::Write;
use std::path::{Path, PathBuf};

use ziggurat::diagnose;
use ziggurat::diagnose::DiagonalSign;
use ziggurat_sparse::io::read_matrix;

/// Larger ones take seconds to unpack, and are of the same kinds.
const MOST_ENTRIES: usize = 300_000;

#[test]
fn symmetry_sign_and_kernel_are_as_the_index_states() {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/matrices");
    let named = std::env::var_os("ZIGGURAT_MATRICES").map(PathBuf::from);
    let folder = named.clone().unwrap_or(beside);
    let Ok(index) = std::fs::read_to_string(folder.join("INDEX.md")) else {
        assert!(
            named.is_none(),
            "ZIGGURAT_MATRICES is set, but there is no INDEX.md in {}",
            folder.display()
        );
        // Not `eprintln!`: the test harness would hide it, and a test that is skipped must be seen
        // to be.
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
    // A change of the table's form must not make the test an empty one.
    assert!(checked >= 50, "only {checked} matrices found in {}", folder.display());
}

//! Every input of the corpus passes its target, so that a fault found once stays mended.

#![allow(clippy::panic, clippy::expect_used, clippy::unwrap_used, clippy::print_stdout)]

use std::fs;
use std::path::Path;

use ziggurat_fuzz::TARGETS;

/// Replays the files of one target, in the order of their names.
fn replay(name: &str) {
    let (_, target) = TARGETS.iter().find(|(known, _)| *known == name).expect("a target");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(name);
    let mut files: Vec<_> = fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    assert!(!files.is_empty(), "{} has no input", folder.display());
    for file in files {
        println!("{}", file.display()); // the last one is the one that fails
        target(&fs::read(&file).unwrap());
    }
    target(&[]);
}

macro_rules! targets {
    ($($(#[$attribute:meta])* $name:ident)+) => {
        $(
            $(#[$attribute])*
            #[test]
            fn $name() {
                replay(stringify!($name));
            }
        )+

        #[test]
        fn every_target_is_replayed() {
            let known: Vec<&str> = TARGETS.iter().map(|(name, _)| *name).collect();
            let replayed = [$($(#[$attribute])* stringify!($name)),+];
            assert_eq!(known, replayed);
        }
    };
}

targets! {
    matrix_market
    files
    hierarchy
    configuration
    formats
    updates
    #[cfg(feature = "mpi")]
    c_entry
}

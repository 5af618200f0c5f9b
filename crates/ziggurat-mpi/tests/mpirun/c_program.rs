//! The C example: compiled by mpicc, linked with this library, run by mpirun.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::launch::{launcher, run};

/// The folder of the C library: an ancestor of the test program.
fn library_folder() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let folder = test.ancestors().find(|folder| folder.join("libziggurat_mpi.so").exists());
    folder.expect("cargo has built libziggurat_mpi.so").to_owned()
}

#[test]
fn a_c_program_solves_on_its_communicator() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (library, program) =
        (library_folder(), std::env::temp_dir().join(format!("ziggurat-c-{}", std::process::id())));
    let compiled = Command::new("mpicc")
        .args(["-Wall", "-Wextra", "-Werror", "-O1"])
        .arg(here.join("examples/c/poisson.c"))
        .arg("-I")
        .arg(here.join("include"))
        .arg("-L")
        .arg(&library)
        .args(["-lziggurat_mpi", "-o"])
        .arg(&program)
        .status();
    assert!(compiled.expect("mpicc is installed").success());
    // The iterations that the program prints, on the given number of ranks.
    let iterations = |ranks: usize, arguments: &[&str]| {
        let mut command = launcher(ranks);
        command.arg(&program).args(arguments).env("LD_LIBRARY_PATH", &library);
        let ran = run(command);
        let line = ran.everything.lines().find(|line| line.starts_with("converged in"));
        assert!(ran.success && line.is_some(), "{arguments:?} on {ranks} ranks: {}", ran.everything);
        line.and_then(|line| line.split_whitespace().nth(2)).map(str::to_owned)
    };
    for arguments in [&["90"][..], &["60", "2"]] {
        assert_eq!(iterations(1, arguments), iterations(3, arguments), "{arguments:?}");
    }
    // Detected from the pattern.
    assert_eq!(iterations(3, &["60", "2", "0"]), iterations(3, &["60", "2"]));
    // Lines of 61 nodes are not whole nodes of 4 unknowns.
    let mut command = launcher(3);
    command.arg(&program).args(["61", "1", "4"]).env("LD_LIBRARY_PATH", &library);
    let ran = run(command);
    assert!(!ran.success && ran.everything.contains("give every rank whole nodes"), "{}", ran.everything);
    let _ = std::fs::remove_file(program);
}

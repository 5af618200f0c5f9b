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

/// Compiles a program and links it with the library. Returns its path.
fn compiled(source: &str) -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let name = Path::new(source).file_stem().unwrap().to_str().unwrap();
    let program = std::env::temp_dir().join(format!("ziggurat-{name}-{}", std::process::id()));
    let compiled = Command::new("mpicc")
        .args(["-Wall", "-Wextra", "-Werror", "-O1"])
        .arg(here.join(source))
        .arg("-I")
        .arg(here.join("include"))
        .arg("-L")
        .arg(library_folder())
        .args(["-lziggurat_mpi", "-o"])
        .arg(&program)
        .status();
    assert!(compiled.expect("mpicc is installed").success());
    program
}

#[test]
fn a_c_program_solves_on_its_communicator() {
    let (library, program) = (library_folder(), compiled("examples/c/poisson.c"));
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

#[test]
fn a_bad_argument_on_one_rank_is_an_error_on_all() {
    let (library, program) = (library_folder(), compiled("tests/c/faults.c"));
    let run = |fault: &str| {
        let mut command = launcher(2);
        command.arg(&program).arg(fault).env("LD_LIBRARY_PATH", &library);
        run(command)
    };
    let fine = run("none");
    assert!(
        fine.everything.contains("rank 0: 0") && fine.everything.contains("rank 1: 0"),
        "{}",
        fine.everything
    );
    for (fault, words) in [
        ("row_ptr", "row_ptr is a null pointer"),
        ("columns", "columns is a null pointer"),
        ("values", "values is a null pointer"),
        ("b", "b is a null pointer"),
        ("x", "x is a null pointer"),
        ("aligned", "b is not aligned to 8 bytes"),
        ("rows", "-3 rows"),
        ("many", "row_ptr has 9223372036854775808 elements"),
        ("decreases", "row_ptr decreases"),
        ("entries", "columns has 9223372036854775807 elements"),
        ("first", "the first row pointer is 1, not 0"),
        ("column", "column -1"),
        ("block", "its block_size differs from that of rank 0"),
        ("detect", "its block_size differs from that of rank 0"),
        ("json", "rank 1: "),
        ("config", "its configuration differs from that of rank 0"),
    ] {
        let ran = run(fault);
        assert!(ran.success, "{fault}: {}", ran.everything);
        for rank in 0..2 {
            let line = ran.everything.lines().find_map(|line| line.strip_prefix(&format!("rank {rank}: 1 ")));
            assert!(line.is_some_and(|line| line.contains(words)), "{fault}: {}", ran.everything);
        }
    }
    let _ = std::fs::remove_file(program);
}

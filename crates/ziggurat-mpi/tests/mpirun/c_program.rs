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
    let mut said = Vec::new();
    for ranks in [1, 3] {
        let mut command = launcher(ranks);
        command.arg(&program).arg("90").env("LD_LIBRARY_PATH", &library);
        let ran = run(command);
        assert!(ran.success && ran.everything.contains("converged in"), "{}", ran.everything);
        let line = ran.everything.lines().find(|line| line.starts_with("converged")).unwrap().to_owned();
        said.push(line.replace(&format!("{ranks} ranks"), ""));
    }
    let _ = std::fs::remove_file(program);
    let iterations = |line: &String| line.split_whitespace().nth(2).map(str::to_owned);
    assert_eq!(iterations(&said[0]), iterations(&said[1]), "{said:?}");
}

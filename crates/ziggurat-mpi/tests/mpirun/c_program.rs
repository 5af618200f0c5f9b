//! Programs in C: compiled by mpicc, linked with this library, run by mpirun.

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
        .arg("-I")
        .arg(here.join("../ziggurat-capi/include"))
        .arg("-L")
        .arg(library_folder())
        .args(["-lziggurat_mpi", "-lm", "-o"])
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

#[test]
fn hostile_calls_of_handles_end_with_the_same_status_on_all_ranks() {
    let (library, program) = (library_folder(), compiled("tests/c/handles.c"));
    for ranks in [1, 2, 3] {
        let mut command = launcher(ranks);
        command.arg(&program).env("LD_LIBRARY_PATH", &library);
        let ran = run(command);
        assert!(ran.success, "{ranks} ranks: {}", ran.everything);
    }
    let _ = std::fs::remove_file(program);
}

#[test]
fn time_steps_by_updates_are_the_same_on_any_number_of_ranks() {
    let (library, program) = (library_folder(), compiled("examples/c/steps.c"));
    let steps = |ranks: usize| {
        let mut command = launcher(ranks);
        command.arg(&program).arg("90").env("LD_LIBRARY_PATH", &library);
        let ran = run(command);
        let lines = ran.everything.lines().filter(|line| line.starts_with("step ")).map(str::to_owned);
        let lines: Vec<String> = lines.collect();
        assert!(ran.success && lines.len() == 5, "{ranks} ranks: {}", ran.everything);
        lines
    };
    let alone = steps(1);
    assert_eq!(alone, steps(2));
    assert_eq!(alone, steps(3));
    let _ = std::fs::remove_file(program);
}

#[test]
fn the_header_declares_what_the_library_exports() {
    let read =
        |path: &str| std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap();
    let is_part_of_name = |c: &char| c.is_ascii_alphanumeric() || *c == '_';
    let sources = ["functions", "settings", "one_call"].map(|name| read(&format!("src/c/{name}.rs")));
    let exported = sources.iter().flat_map(|source| source.split("extern \"C\" fn ").skip(1));
    let mut exported: Vec<String> =
        exported.map(|rest| rest.chars().take_while(is_part_of_name).collect()).collect();
    // A declaration begins a line, and its name is the last word before the parenthesis.
    let header = read("include/ziggurat_mpi.h");
    let lines = header.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_alphabetic()));
    let declarations = lines.filter_map(|line| line.split_once('('));
    let mut declared: Vec<String> = declarations
        .filter_map(|(before, _)| before.rsplit([' ', '*']).next().map(str::to_owned))
        .filter(|name| name.starts_with("ziggurat_"))
        .collect();
    exported.sort();
    declared.sort();
    assert!(declared.len() > 15);
    assert_eq!(declared, exported);
}

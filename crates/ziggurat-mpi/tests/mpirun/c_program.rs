//! Programs in C and Fortran: compiled by the wrappers of MPI, linked with this library, run by
//! mpirun.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::launch::{Ran, launcher, run};

/// The name by which programs look for the library.
const SONAME: &str = "libziggurat_mpi.so.0";

/// A folder with the library under the names of an installation, and room for a program.
pub(crate) struct Place(PathBuf);

impl Place {
    pub(crate) fn new(name: &str) -> Place {
        let folder = std::env::temp_dir().join(format!("ziggurat-mpi-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let test = std::env::current_exe().unwrap();
        let mut paths = test.ancestors().map(|folder| folder.join("libziggurat_mpi.so"));
        let built = paths.find(|path| path.exists()).expect("cargo has built libziggurat_mpi.so");
        for name in [SONAME, "libziggurat_mpi.so"] {
            std::os::unix::fs::symlink(&built, folder.join(name)).unwrap();
        }
        Place(folder)
    }

    /// Compiles a program of this crate from its sources and links it with the library.
    fn compile(&self, compiler: &str, sources: &[&str], options: &[&str]) -> PathBuf {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let program = self.0.join("program");
        let mut command = Command::new(compiler);
        command.current_dir(&self.0).args(["-Wall", "-Wextra", "-Werror", "-O1"]).args(options);
        // Libraries come after what needs them.
        command.args(sources.iter().map(|source| here.join(source)));
        for headers in ["include", "../ziggurat-capi/include"] {
            command.arg("-I").arg(here.join(headers));
        }
        command.arg("-L").arg(&self.0).args(["-lziggurat_mpi", "-lm", "-o"]).arg(&program);
        let compiled = command.output().unwrap_or_else(|error| panic!("{compiler}: {error}"));
        assert!(compiled.status.success(), "{sources:?}: {}", String::from_utf8_lossy(&compiled.stderr));
        let bytes = std::fs::read(&program).unwrap();
        let named = bytes.windows(SONAME.len()).any(|part| part == SONAME.as_bytes());
        assert!(named, "{sources:?} does not look for {SONAME}");
        program
    }

    pub(crate) fn compile_c(&self, source: &str) -> PathBuf {
        self.compile("mpicc", &[source], &[])
    }

    pub(crate) fn run(&self, ranks: usize, program: &Path, arguments: &[&str]) -> Ran {
        self.run_on(launcher(ranks), program, arguments)
    }

    /// Runs a program on the ranks that a command starts.
    pub(crate) fn run_on(&self, mut command: Command, program: &Path, arguments: &[&str]) -> Ran {
        command.arg(program).args(arguments).env("LD_LIBRARY_PATH", &self.0);
        run(command)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_c_program_solves_on_its_communicator() {
    let place = Place::new("poisson");
    let program = place.compile_c("examples/c/poisson.c");
    // The iterations that the program prints, on the given number of ranks.
    let iterations = |ranks: usize, arguments: &[&str]| {
        let ran = place.run(ranks, &program, arguments);
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
    let ran = place.run(3, &program, &["61", "1", "4"]);
    assert!(!ran.success && ran.everything.contains("give every rank whole nodes"), "{}", ran.everything);
}

#[test]
fn hypre_is_preconditioned() {
    // CI does not install hypre. This test runs where it is installed.
    const HEADERS: &str = "/usr/include/hypre";
    if !Path::new(HEADERS).join("_hypre_parcsr_mv.h").exists() {
        return;
    }
    let place = Place::new("hypre");
    let options = ["-isystem", HEADERS, "-Wl,--no-as-needed", "-lHYPRE"];
    let program = place.compile("mpicc", &["examples/c/hypre_pcg.c"], &options);
    for ranks in [1, 2, 3] {
        let ran = place.run(ranks, &program, &["24"]);
        let iterations =
            ran.everything.lines().find_map(|line| line.split_once(" iterations, ")?.0.parse().ok());
        assert!(ran.success && iterations.is_some_and(|found: u32| found <= 16), "{}", ran.everything);
    }
}

#[test]
fn a_fortran_program_finds_the_known_solution() {
    let place = Place::new("fortran");
    let sources = ["fortran/ziggurat_mpi.f90", "examples/fortran/poisson.f90"];
    let program = place.compile("mpifort", &sources, &["-std=f2008"]);
    // The program's output for its two solves, without their errors.
    let solves = |ranks: usize| {
        let Ran { success, everything, .. } = place.run(ranks, &program, &[]);
        let solves: Vec<_> =
            everything.lines().filter_map(|line| line.split_once(", largest error")).collect();
        assert!(success && solves.len() == 2, "{ranks} ranks: {everything}");
        let small = |error: &str| error.trim().parse::<f64>().is_ok_and(|error| error < 1e-10);
        assert!(solves.iter().all(|(_, error)| small(error)), "{everything}");
        assert!(everything.contains("status 1: ") && everything.contains("classical"), "{everything}");
        solves.into_iter().map(|(before, _)| before.to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(solves(1), solves(3));
}

#[test]
fn misuse_from_fortran_ends_with_the_same_status_on_all_ranks() {
    let place = Place::new("misuse");
    let sources = ["fortran/ziggurat_mpi.f90", "tests/fortran/misuse.f90"];
    let program = place.compile("mpifort", &sources, &["-std=f2008"]);
    for ranks in [1, 3] {
        let ran = place.run(ranks, &program, &[]);
        assert!(ran.success, "{ranks} ranks: {}", ran.everything);
    }
}

#[test]
fn a_bad_argument_on_one_rank_is_an_error_on_all() {
    let place = Place::new("faults");
    let program = place.compile_c("tests/c/faults.c");
    let run = |fault: &str| place.run(2, &program, &[fault]);
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
}

#[test]
fn hostile_calls_of_handles_end_with_the_same_status_on_all_ranks() {
    let place = Place::new("handles");
    let program = place.compile_c("tests/c/handles.c");
    for ranks in [1, 2, 3] {
        let ran = place.run(ranks, &program, &[]);
        assert!(ran.success, "{ranks} ranks: {}", ran.everything);
    }
}

#[test]
fn time_steps_by_updates_are_the_same_on_any_number_of_ranks() {
    let place = Place::new("steps");
    let program = place.compile_c("examples/c/steps.c");
    let steps = |ranks: usize| {
        let ran = place.run(ranks, &program, &["90"]);
        let lines = ran.everything.lines().filter(|line| line.starts_with("step ")).map(str::to_owned);
        let lines: Vec<String> = lines.collect();
        assert!(ran.success && lines.len() == 5, "{ranks} ranks: {}", ran.everything);
        lines
    };
    let alone = steps(1);
    assert_eq!(alone, steps(2));
    assert_eq!(alone, steps(3));
}

#[test]
fn the_header_declares_what_the_library_exports() {
    let read =
        |path: &str| std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap();
    let is_part_of_name = |c: &char| c.is_ascii_alphanumeric() || *c == '_';
    let sources = ["files", "functions", "settings", "one_call", "threads"]
        .map(|name| read(&format!("src/c/{name}.rs")));
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

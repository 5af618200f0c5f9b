//! Programs in C, C++ and Fortran, compiled and linked with the library as a user would, and run.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A folder with the library under the names of an installation, and room for programs.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Place {
        let folder = std::env::temp_dir().join(format!("ziggurat-c-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let test = std::env::current_exe().unwrap();
        let built =
            test.ancestors().map(|folder| folder.join("libziggurat_capi.so")).find(|path| path.exists());
        let built = built.expect("cargo has built libziggurat_capi.so");
        for name in ["libziggurat.so.0", "libziggurat.so"] {
            std::os::unix::fs::symlink(&built, folder.join(name)).unwrap();
        }
        Place(folder)
    }

    /// Compiles a program of this crate from its sources, with this compiler.
    fn compile(&self, compiler: &str, sources: &[&str], options: &[&str]) -> PathBuf {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let program = self.0.join("program");
        let mut command = Command::new(compiler);
        command.current_dir(&self.0).args(["-Wall", "-Wextra", "-Werror", "-O1"]);
        // Libraries come after what needs them.
        command.args(sources.iter().map(|source| here.join(source))).args(options);
        command.arg("-I").arg(here.join("include")).arg("-L").arg(&self.0);
        command.args(["-lziggurat", "-lm", "-lpthread", "-o"]).arg(&program);
        let compiled = command.output().unwrap_or_else(|error| panic!("{compiler}: {error}"));
        assert!(compiled.status.success(), "{sources:?}: {}", text(&compiled));
        program
    }

    fn run(&self, program: &Path, arguments: &[&str]) -> Output {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(&self.0).env("LD_LIBRARY_PATH", &self.0);
        command.output().unwrap()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr[..]].concat()).into_owned()
}

#[test]
fn the_example_solves_twice() {
    let place = Place::new("example");
    let program = place.compile("cc", &["examples/c/poisson.c"], &["-std=c11"]);
    let ran = place.run(&program, &["100"]);
    let said = text(&ran);
    assert!(ran.status.success() && said.contains("10000 rows: converged in"), "{said}");
    let numbers: Vec<f64> = said
        .split_whitespace()
        .rev()
        .filter_map(|word| word.trim_end_matches(',').parse().ok())
        .take(2)
        .collect();
    assert!((numbers[0] - 2.0 * numbers[1]).abs() < 1e-4 * numbers[0], "{said}");
    assert!(!place.run(&program, &["0"]).status.success());
}

#[test]
fn cpp_and_fortran_solve_and_receive_errors() {
    let place = Place::new("cpp");
    let program = place.compile("c++", &["examples/cpp/poisson.cpp"], &["-std=c++17"]);
    let ran = place.run(&program, &["60"]);
    let said = text(&ran);
    assert!(ran.status.success() && said.contains("converged in"), "{said}");
    assert!(said.contains("classical") && said.contains("as many elements as the matrix"), "{said}");
    assert!(!place.run(&program, &["0"]).status.success());

    let place = Place::new("fortran");
    let sources = ["fortran/ziggurat.f90", "examples/fortran/poisson.f90"];
    let ran = place.run(&place.compile("gfortran", &sources, &["-std=f2008"]), &[]);
    let said = text(&ran);
    assert!(ran.status.success() && said.contains("converged in"), "{said}");
    assert!(said.contains("status 1: ") && said.contains("classical"), "{said}");
}

#[test]
fn hostile_calls_end_with_a_status_and_a_sentence() {
    let place = Place::new("hostile");
    let options = ["-std=c11", "-D_POSIX_C_SOURCE=200809L", "-fsanitize=address"];
    let program = place.compile("cc", &["tests/c/hostile.c"], &options);
    let ran = place.run(&program, &[]);
    assert!(ran.status.success(), "{}", text(&ran));
}

/// The options with which programs are compiled for PETSc; `None` where it is not installed.
fn petsc() -> Option<Vec<String>> {
    let found = Command::new("pkg-config").args(["--cflags", "--libs", "PETSc"]).output().ok()?;
    let words = text(&found).split_whitespace().map(str::to_owned).collect();
    found.status.success().then_some(words)
}

#[test]
fn petsc_loads_the_preconditioner_by_options() {
    // CI does not install PETSc, which is large. This test runs where it is installed.
    let Some(options) = petsc() else { return };
    let place = Place::new("petsc");
    let mut options: Vec<&str> = options.iter().map(String::as_str).collect();
    let program = place.compile("mpicc", &["tests/c/petsc_program.c"], &options);
    let program = {
        let kept = place.0.join("petsc_program");
        std::fs::rename(program, &kept).unwrap();
        kept
    };
    options.extend(["-fPIC", "-shared", "-Wl,-z,nodelete"]);
    let plug_in = place.0.join("libpetscziggurat.so");
    std::fs::rename(place.compile("mpicc", &["petsc/pcziggurat.c"], &options), &plug_in).unwrap();
    let plug_in = plug_in.to_str().unwrap();
    let common = ["-dll_append", plug_in, "-pc_type", "ziggurat", "-ksp_rtol", "1e-9"];
    let run = |more: &[&str]| {
        let ran = place.run(&program, &[&common[..], more].concat());
        (ran.status.success(), text(&ran))
    };

    // A setup and two updates; the first iteration count of each is that of multigrid.
    let (success, said) = run(&["-n", "24", "-ksp_view"]);
    let lines: Vec<&str> = said.lines().filter(|line| line.starts_with("step ")).collect();
    assert!(success && lines.len() == 3, "{said}");
    for line in lines {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (iterations, residual): (usize, f64) = (words[2].parse().unwrap(), words[5].parse().unwrap());
        assert!(iterations <= 20 && residual < 1e-7, "{line}");
    }
    assert!(said.contains("operator complexity"), "{said}");

    // Options are honoured or refused.
    let (success, said) = run(&["-n", "10", "-pc_ziggurat_method", "classic"]);
    assert!(!success && said.contains("did you mean `classical`?"), "{said}");
    let (success, said) = run(&["-n", "16", "-ksp_view", "-pc_ziggurat_smoother_kind", "l1-jacobi"]);
    assert!(success && said.contains("l1-jacobi"), "{said}");
}

#[test]
fn the_header_declares_what_the_library_exports() {
    let read =
        |path: &str| std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap();
    let is_part_of_name = |c: &char| c.is_ascii_alphanumeric() || *c == '_';
    let source = read("src/functions.rs") + &read("src/settings.rs");
    let exported = source.split("extern \"C\" fn ").skip(1);
    let mut exported: Vec<String> =
        exported.map(|rest| rest.chars().take_while(is_part_of_name).collect()).collect();
    // A declaration begins a line, and its name is the last word before the parenthesis.
    let header = read("include/ziggurat.h");
    let lines = header.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_alphabetic()));
    let declarations =
        lines.filter(|line| !line.starts_with("typedef")).filter_map(|line| line.split_once('('));
    let mut declared: Vec<String> = declarations
        .filter_map(|(before, _)| before.rsplit([' ', '*']).next().map(str::to_owned))
        .filter(|name| name.starts_with("ziggurat_"))
        .collect();
    exported.sort();
    declared.sort();
    assert!(declared.len() > 15);
    assert_eq!(declared, exported);
}

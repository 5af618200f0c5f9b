//! Programs in C, C++ and Fortran, compiled and linked with the library as a user would, and run.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use ziggurat::sparse::gallery::Problem;
use ziggurat::sparse::io::{FileFormat, WriteOptions, write_matrix_as, write_vector_as};

/// A folder with the library under the names of an installation, and room for programs.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Place {
        let folder = std::env::temp_dir().join(format!("ziggurat-c-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let built = built("libziggurat_capi.so").expect("cargo has built libziggurat_capi.so");
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

    /// As [`compile`](Self::compile), under another name.
    fn compile_as(&self, name: &str, source: &str, options: &[&str]) -> PathBuf {
        let kept = self.0.join(name);
        std::fs::rename(self.compile("mpicc", &[source], options), &kept).unwrap();
        kept
    }

    /// Runs a program on MPI ranks.
    fn mpirun(&self, ranks: usize, program: &Path, arguments: &[&str]) -> Output {
        let mut command = Command::new("mpirun");
        command.args(["--allow-run-as-root", "--oversubscribe", "-n", &ranks.to_string()]);
        // There may be more ranks than cores, so a waiting rank yields.
        command.env("OMPI_MCA_mpi_yield_when_idle", "1").env("RAYON_NUM_THREADS", "1");
        command.env("OMPI_MCA_btl_vader_single_copy_mechanism", "none");
        command.arg(program).args(arguments).current_dir(&self.0).env("LD_LIBRARY_PATH", &self.0);
        command.output().unwrap()
    }

    fn run(&self, program: &Path, arguments: &[&str]) -> Output {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(&self.0).env("LD_LIBRARY_PATH", &self.0);
        command.output().unwrap()
    }
}

/// A library that cargo has built.
fn built(library: &str) -> Option<PathBuf> {
    let test = std::env::current_exe().unwrap();
    test.ancestors().map(|folder| folder.join(library)).find(|path| path.exists())
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
fn cpp_and_fortran_solve_with_the_transpose() {
    let place = Place::new("transposed-cpp");
    let program = place.compile("c++", &["tests/c/transposed.cpp"], &["-std=c++17"]);
    let ran = place.run(&program, &[]);
    assert!(ran.status.success() && text(&ran).contains("good"), "{}", text(&ran));

    let place = Place::new("transposed-fortran");
    let sources = ["fortran/ziggurat.f90", "tests/c/transposed.f90"];
    let ran = place.run(&place.compile("gfortran", &sources, &["-std=f2008"]), &[]);
    assert!(ran.status.success() && text(&ran).contains("good"), "{}", text(&ran));
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
    let program = place.compile_as("petsc_program", "tests/c/petsc_program.c", &options);
    options.extend(["-fPIC", "-shared", "-Wl,-z,nodelete"]);
    let plug_in = place.compile_as("libpetscziggurat.so", "petsc/pcziggurat.c", &options);
    let plug_in = plug_in.to_str().unwrap();
    let common = ["-dll_append", plug_in, "-pc_type", "ziggurat", "-ksp_rtol", "1e-9"];
    let run = |more: &[&str]| {
        let ran = place.run(&program, &[&common[..], more].concat());
        (ran.status.success(), text(&ran))
    };

    // A setup and two updates; the first iteration count of each is for multigrid.
    let (success, said) = run(&["-n", "24", "-ksp_view"]);
    let lines: Vec<&str> = said.lines().filter(|line| line.starts_with("step ")).collect();
    assert!(success && lines.len() == 3, "{said}");
    for line in lines {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (iterations, residual): (usize, f64) = (words[2].parse().unwrap(), words[5].parse().unwrap());
        assert!(iterations <= 20 && residual < 1e-7, "{line}");
    }
    assert!(said.contains("operator complexity"), "{said}");

    // Time steps: one setup, no memory that is lost with an update.
    let (success, said) = run(&["-n", "16", "-steps", "101", "-info", ":pc"]);
    let count = |words: &str| said.lines().filter(|line| line.contains(words)).count();
    assert_eq!((success, count("ziggurat: setup"), count("ziggurat: update")), (true, 1, 100), "{said}");
    let bytes = said.lines().find_map(|line| line.strip_prefix("bytes ")).unwrap();
    let bytes: Vec<f64> = bytes.split(' ').map(|number| number.parse().unwrap()).collect();
    assert!(bytes[1] < 1.02 * bytes[0], "{bytes:?}");

    // Options are honoured or refused.
    let (success, said) = run(&["-n", "10", "-pc_ziggurat_method", "classic"]);
    assert!(!success && said.contains("did you mean `classical`?"), "{said}");
    let (success, said) = run(&["-n", "16", "-ksp_view", "-pc_ziggurat_smoother_kind", "l1-jacobi"]);
    assert!(success && said.contains("l1-jacobi"), "{said}");
}

/// The steps that a program of PETSc has printed: iterations and residual.
fn steps(said: &str) -> Vec<(usize, f64)> {
    let lines = said.lines().filter(|line| line.starts_with("step "));
    let of_line = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        (words[2].parse().unwrap(), words[5].trim_end_matches(',').parse().unwrap())
    };
    lines.map(of_line).collect()
}

#[test]
fn petsc_solves_on_ranks() {
    // As above; and the library for ranks is built by the tests of the whole workspace.
    let (Some(options), Some(library)) = (petsc(), built("libziggurat_mpi.so")) else { return };
    let place = Place::new("petsc-ranks");
    for name in ["libziggurat_mpi.so.0", "libziggurat_mpi.so"] {
        std::os::unix::fs::symlink(&library, place.0.join(name)).unwrap();
    }
    let mut options: Vec<&str> = options.iter().map(String::as_str).collect();
    let program = place.compile_as("poisson", "tests/c/petsc_program.c", &options);
    let elasticity = place.compile_as("elasticity", "tests/c/petsc_elasticity.c", &options);
    let header = concat!("-I", env!("CARGO_MANIFEST_DIR"), "/../ziggurat-mpi/include");
    let folder = format!("-L{}", place.0.display());
    options.extend(["-fPIC", "-shared", "-Wl,-z,nodelete"]);
    let for_ranks = [&options[..], &["-DZIGGURAT_MPI", header, &folder, "-lziggurat_mpi"]].concat();
    let plug_in = place.compile_as("libpetscziggurat.so", "petsc/pcziggurat.c", &for_ranks);
    let common = ["-dll_append", plug_in.to_str().unwrap(), "-pc_type", "ziggurat", "-ksp_rtol", "1e-9"];
    let run = |ranks: usize, program: &Path, more: &[&str]| {
        let ran = place.mpirun(ranks, program, &[&common[..], more].concat());
        (ran.status.success(), text(&ran))
    };

    // A setup and two updates, with as many iterations as on one process.
    let solve = |ranks: usize| {
        let more = ["-n", "24", "-ksp_view", "-info", ":pc", "-pc_ziggurat_method", "sa"];
        let (success, said) = run(ranks, &program, &more);
        let steps = steps(&said);
        assert!(success && steps.len() == 3 && said.contains("operator complexity"), "{said}");
        assert!(steps.iter().all(|step| step.0 <= 20 && step.1 < 1e-7), "{said}");
        let count = |words: &str| said.lines().filter(|line| line.contains(words)).count();
        assert_eq!((count("ziggurat: setup"), count("ziggurat: update")), (1, 2), "{said}");
        steps.iter().map(|step| step.0).collect::<Vec<_>>()
    };
    let alone = solve(1);
    assert!([2, 3].into_iter().all(|ranks| solve(ranks) == alone));

    // Elasticity, with what is known about it, in two formats.
    let file = place.0.join("body");
    write_body(&file, "elasticity3d:8");
    let file = file.to_str().unwrap();
    let iterations = |ranks: usize, more: &[&str]| {
        let (success, said) = run(ranks, &elasticity, &[&["-file", file], more].concat());
        let steps = steps(&said);
        assert!(success && steps.len() == 3, "{more:?} on {ranks} ranks: {said}");
        assert!(steps.iter().all(|step| step.1 < 1e-6), "{more:?} on {ranks} ranks: {said}");
        assert_eq!(steps[0].0, steps[1].0, "{more:?} on {ranks} ranks: {said}");
        steps[0].0
    };
    for ranks in [1, 2, 3] {
        let [blocks, modes, points] =
            ["blocks", "modes", "points"].map(|known| iterations(ranks, &["-known", known]));
        assert!(modes < blocks && points == modes, "{ranks} ranks: {blocks} {modes} {points}");
        iterations(ranks, &["-known", "nothing"]);
        assert_eq!(iterations(ranks, &["-known", "modes", "-type", "baij"]), modes);
    }

    // Failures are reported by PETSc's means.
    for ranks in [2, 3] {
        let (_, said) = run(ranks, &elasticity, &["-file", file, "-zero_row", "1000"]);
        assert!(said.contains("reason DIVERGED_PC_FAILED"), "{said}");
        let (success, said) = run(ranks, &program, &["-n", "10", "-pc_ziggurat_method", "classic"]);
        assert!(!success && said.contains("did you mean `classical`?"), "{said}");
        let (success, said) = run(ranks, &program, &["-n", "10", "-pc_ziggurat_method", "cpr"]);
        assert!(!success && said.contains("not distributed yet"), "{said}");
    }

    // A plug-in without the library for ranks refuses them.
    place.compile_as("libpetscziggurat.so", "petsc/pcziggurat.c", &options);
    let (success, said) = run(2, &program, &["-n", "10"]);
    assert!(!success && said.contains("compiled for one process"), "{said}");
}

/// Writes a matrix and the coordinates of its nodes as PETSc reads them.
fn write_body(path: &Path, problem: &str) {
    let problem: Problem = problem.parse().unwrap();
    let (a, points) = (problem.matrix().unwrap(), problem.coordinates().unwrap());
    let file = File::create(path).unwrap();
    write_matrix_as(&file, FileFormat::Petsc, a.view(), &WriteOptions::default()).unwrap();
    write_vector_as(&file, FileFormat::Petsc, points.as_flattened()).unwrap();
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

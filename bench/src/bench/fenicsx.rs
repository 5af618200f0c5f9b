//! The plug-in for PETSc in FEniCSx, compared with PETSc's GAMG and with hypre's BoomerAMG: setup
//! and solve of the same matrices, alternating in one Python process per rank, on 1 and 2 ranks.
//!
//! The script `competitors/fenicsx.py` documents the problems and the settings. It needs the Debian
//! packages `petsc-dev`, `python3-dolfinx-real` and `python3-petsc4py`.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use tasks::programs;
use tasks::table::Table;

use super::{Bench, BenchError, Setting};

pub(super) const BENCH: Bench = Bench {
    name: "fenicsx",
    what: "setup and solve in FEniCSx by PETSc's KSP, compared with GAMG and hypre, on 1 and 2 ranks",
    rounds: 3,
    run,
};

/// The Python of the distribution, which has its packages.
const PYTHON: &str = "/usr/bin/python3";
/// 107,163 and 421,443 displacements, and 117,649 unknowns of quadratic elements.
const PROBLEMS: [&str; 3] = ["elasticity:20", "elasticity:32", "poisson:24"];
const QUICK_PROBLEMS: [&str; 2] = ["elasticity:3", "poisson:4"];

fn run(setting: &Setting) -> Result<Value, BenchError> {
    // Before the build, which takes minutes.
    text_of(Command::new("pkg-config").args(["--cflags", "PETSc"]))?;
    text_of(Command::new(PYTHON).args(["-c", "import dolfinx, petsc4py"]))?;
    let packages = ["--package", "ziggurat-capi", "--package", "ziggurat-mpi"];
    let built = match setting.quick {
        // As the tests are, so that little has to be compiled.
        true => programs::build(programs::AS_TESTS, &["--lib"]),
        false => programs::build(&["--release"], &packages),
    };
    let built = built.map_err(BenchError::Program)?;
    let folder = built.join("petsc");
    let plug_in = plug_in(tasks::workspace_root(), &built, &folder)?;
    let problems: &[&str] = if setting.quick { &QUICK_PROBLEMS } else { &PROBLEMS };
    let mut measured = Vec::new();
    for ranks in [1, 2] {
        let mut command = programs::mpirun(ranks);
        command.arg(PYTHON).arg(tasks::workspace_root().join("bench/competitors/fenicsx.py"));
        command.arg(&plug_in).arg(setting.rounds.to_string()).args(problems);
        command.env("LD_LIBRARY_PATH", &folder).env("OMP_NUM_THREADS", "1");
        let said = text_of(&mut command)?;
        // Compilers of forms print lines before it.
        let line = said.lines().rev().find(|line| line.starts_with('{')).unwrap_or_default();
        measured.push(serde_json::from_str(line)?);
    }
    print(&measured);
    Ok(json!({ "runs": measured }))
}

/// Compiles the plug-in into `folder`, which gets the libraries under the names of an installation.
fn plug_in(root: &Path, built: &Path, folder: &Path) -> Result<PathBuf, BenchError> {
    let failed = |error: std::io::Error| BenchError::Program(format!("{}: {error}", folder.display()));
    std::fs::create_dir_all(folder).map_err(failed)?;
    for (from, to) in [
        ("libziggurat_capi.so", "libziggurat.so"),
        ("libziggurat_capi.so", "libziggurat.so.0"),
        ("libziggurat_mpi.so", "libziggurat_mpi.so"),
        ("libziggurat_mpi.so", "libziggurat_mpi.so.0"),
    ] {
        std::fs::copy(built.join(from), folder.join(to)).map_err(failed)?;
    }
    let petsc = text_of(Command::new("pkg-config").args(["--cflags", "--libs", "PETSc"]))?;
    let path = folder.join("libpetscziggurat.so");
    let mut compiler = Command::new("mpicc");
    compiler.args(["-O2", "-fPIC", "-shared", "-DZIGGURAT_MPI", "-Wl,-z,nodelete"]);
    compiler.arg(root.join("crates/ziggurat-capi/petsc/pcziggurat.c"));
    for part in ["capi", "mpi"] {
        compiler.arg("-I").arg(root.join(format!("crates/ziggurat-{part}/include")));
    }
    compiler.args(petsc.split_whitespace()).arg("-L").arg(folder);
    compiler.args(["-lziggurat", "-lziggurat_mpi", "-o"]).arg(&path);
    text_of(&mut compiler)?;
    Ok(path)
}

/// The output of a program; an error if it is not installed or fails.
fn text_of(command: &mut Command) -> Result<String, BenchError> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output();
    let output = output.map_err(|error| BenchError::Competitor(format!("{name}: {error}")))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(BenchError::Competitor(format!("{name} failed; is FEniCSx installed?\n{said}")));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Prints a line for each run. The last column is the total, relative to Ziggurat's.
fn print(measured: &[Value]) {
    let headings =
        ["problem", "unknowns", "ranks", "-pc_type", "iterations", "setup s", "solve s", "total s", "×"];
    let mut table = Table::new(headings);
    let problems = measured
        .iter()
        .flat_map(|run| run["problems"].as_array().into_iter().flatten().map(move |p| (run, p)));
    for (run, problem) in problems {
        let number = |who: &str, key: &str| problem["runs"][who][key].as_f64().unwrap_or(f64::NAN);
        let total = |who: &str| number(who, "setup_seconds") + number(who, "solve_seconds");
        for who in ["ziggurat", "gamg", "hypre"] {
            let residual = number(who, "relative_residual");
            let mark = if residual <= 1.1e-8 { "" } else { " (not solved)" };
            table.row([
                problem["problem"].as_str().unwrap_or_default().to_owned(),
                problem["unknowns"].to_string(),
                run["ranks"].to_string(),
                format!("{who}{mark}"),
                number(who, "iterations").to_string(),
                format!("{:.2}", number(who, "setup_seconds")),
                format!("{:.2}", number(who, "solve_seconds")),
                format!("{:.2}", total(who)),
                format!("{:.2}", total(who) / total("ziggurat")),
            ]);
        }
    }
    println!("{table}");
}

//! The contestants: how their drivers are built and started, and which settings the race tries.
//!
//! A driver is a file in `competitors`, and its opening comment gives the reasons for the settings.
//! Compiled drivers are kept in `race` in cargo's target directory.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tasks::programs;
use tasks::python::Environment;

use super::super::BenchError;
use super::driver;
use super::system::RaceSystem;

/// How a contestant computes in parallel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Parallelism {
    Processes,
    Threads,
    None,
}

/// A solver to compare with.
struct Peer {
    name: &'static str,
    parallelism: Parallelism,
    /// The source of its driver.
    source: &'static str,
    /// The compiler; an interpreted driver has none.
    compiler: Option<&'static str>,
    /// Arguments of the compiler before the source, and after it.
    flags: [&'static [&'static str]; 2],
    /// Its name for pkg-config, which gives further arguments.
    package: Option<&'static str>,
    /// Whether compiling takes a minute; a quick run then uses only an existing driver.
    slow_to_compile: bool,
    /// How to install it.
    install: &'static str,
    /// Settings to try on scalar problems, as arguments of the driver.
    scalar: &'static [&'static str],
    /// Settings to try on elastic bodies.
    elastic: &'static [&'static str],
    /// Settings that begin with this pass the rigid-body modes to it; `None` if no setting does.
    with_modes: Option<&'static str>,
}

const HYPRE: &str = "hypre";
const AMGCL: &str = "AMGCL";
const ZIGGURAT: &str = "ziggurat";

const PEERS: [Peer; 6] = [
    Peer {
        name: HYPRE,
        parallelism: Parallelism::Processes,
        source: "hypre.c",
        compiler: Some("mpicc"),
        flags: [&["-O3", "-march=native", "-I/usr/include/hypre"], &["-lHYPRE", "-lm"]],
        package: None,
        slow_to_compile: false,
        install: "apt install libhypre-dev libopenmpi-dev openmpi-bin",
        scalar: &["0.25 1", "0.5 1", "0.25 0"],
        elastic: &["0.5 1", "0.25 1", "0.5 0"],
        with_modes: None,
    },
    Peer {
        name: "hypre PFMG",
        parallelism: Parallelism::Processes,
        source: "hypre_pfmg.c",
        compiler: Some("mpicc"),
        flags: [&["-O3", "-march=native", "-I/usr/include/hypre"], &["-lHYPRE", "-lm"]],
        package: None,
        slow_to_compile: false,
        install: "apt install libhypre-dev libopenmpi-dev openmpi-bin",
        scalar: &["0 1", "0 2", "1 1", "1 2"],
        elastic: &["0 1"],
        with_modes: None,
    },
    Peer {
        name: AMGCL,
        parallelism: Parallelism::Threads,
        source: "amgcl.cpp",
        compiler: Some("g++"),
        flags: [&["-O3", "-march=native", "-fopenmp", "-w"], &[]],
        package: None,
        slow_to_compile: true,
        install: "apt install g++ libboost-dev; pip install pybind11 numpy setuptools; \
                  pip download --no-deps --no-build-isolation --no-binary :all: pyamgcl; unpack the \
                  archive and set ZIGGURAT_AMGCL to its folder",
        scalar: &[
            "smoothed_aggregation spai0 0",
            "smoothed_aggregation spai0 0.08",
            "ruge_stuben spai0 0.25",
        ],
        elastic: &["blocks ilu0 0", "blocks spai0 0", "modes spai0 0.08"],
        with_modes: Some("modes"),
    },
    Peer {
        name: "PETSc GAMG",
        parallelism: Parallelism::Processes,
        source: "petsc.c",
        compiler: Some("mpicc"),
        flags: [&["-O3", "-march=native"], &["-lm"]],
        package: Some("PETSc"),
        slow_to_compile: false,
        install: "apt install petsc-dev",
        scalar: &["", "-pc_gamg_threshold 0.01"],
        elastic: &["", "-pc_gamg_threshold 0.01"],
        with_modes: Some(""),
    },
    Peer {
        name: "MueLu",
        parallelism: Parallelism::Processes,
        source: "muelu.cpp",
        compiler: Some("mpicxx"),
        flags: [
            &["-std=c++17", "-O2", "-march=native", "-w", "-I/usr/include/trilinos"],
            &[
                "-Wl,--copy-dt-needed-entries",
                "-ltrilinos_muelu-adapters",
                "-ltrilinos_muelu-interface",
                "-ltrilinos_muelu",
                "-ltrilinos_belostpetra",
            ],
        ],
        package: None,
        slow_to_compile: true,
        install: "apt install libtrilinos-{muelu,belos,xpetra,tpetra,teuchos,kokkos,kokkos-kernels,ifpack2,\
                  amesos2,zoltan2,thyra,epetra,epetraext,rtop}-dev",
        scalar: &["sgs 0", "sgs 0.02", "chebyshev 0"],
        elastic: &["sgs 0", "sgs 0.02", "chebyshev 0"],
        with_modes: Some(""),
    },
    Peer {
        name: "PyAMG",
        parallelism: Parallelism::None,
        source: "pyamg_driver.py",
        compiler: None,
        flags: [&[], &[]],
        package: None,
        slow_to_compile: false,
        install: "cargo xtask python --only wheel, or pip install pyamg for the python3 on the path",
        scalar: &["sa 0 gs", "sa 0.08 gs", "sa 0 jacobi"],
        elastic: &["sa 0 gs", "sa 0 jacobi"],
        with_modes: Some(""),
    },
];

/// The smoothers of hypre for `cargo xtask bench smoothers`; no contestant of the race.
const HYPRE_SMOOTHERS: Peer = Peer {
    name: "hypre smoothers",
    source: "hypre_smoothers.c",
    scalar: &["fsai", "ilu0", "ilu0_natural"],
    elastic: &["fsai", "ilu0", "ilu0_natural"],
    ..PEERS[0]
};

/// A contestant that is ready to run.
pub(super) struct Contestant {
    pub(super) name: &'static str,
    with_modes: Option<&'static str>,
    parallelism: Parallelism,
    /// Whether times do not matter.
    quick: bool,
    /// The driver with its interpreter, if any; empty for ziggurat.
    program: Vec<PathBuf>,
    scalar: &'static [&'static str],
    elastic: &'static [&'static str],
}

/// A peer that does not take part.
#[derive(Debug, serde::Serialize)]
pub(super) struct Absent {
    pub(super) name: &'static str,
    pub(super) reason: String,
}

impl Contestant {
    /// Ziggurat, whose settings are its defaults.
    fn ours(quick: bool) -> Self {
        Contestant {
            name: ZIGGURAT,
            with_modes: Some(""),
            parallelism: Parallelism::Threads,
            quick,
            program: Vec::new(),
            scalar: &[""],
            elastic: &[""],
        }
    }

    pub(super) fn is_ours(&self) -> bool {
        self.name == ZIGGURAT
    }

    /// The settings to try on this system.
    pub(super) fn settings(&self, system: &RaceSystem) -> &'static [&'static str] {
        if system.modes.is_empty() { self.scalar } else { self.elastic }
    }

    /// Whether this setting passes the rigid-body modes of an elastic body.
    pub(super) fn takes_modes(&self, setting: &str) -> bool {
        self.with_modes.is_some_and(|start| setting.starts_with(start))
    }

    /// `hypre, 2 processes`.
    pub(super) fn label(&self, threads: usize) -> String {
        match self.parallelism {
            Parallelism::Processes => format!("{}, {threads} processes", self.name),
            Parallelism::Threads => format!("{}, {threads} threads", self.name),
            Parallelism::None => format!("{}, 1 thread", self.name),
        }
    }

    /// The command for one run.
    pub(super) fn command(
        &self,
        system: &Path,
        solution: &Path,
        setting: &str,
        threads: usize,
    ) -> Result<Command, BenchError> {
        let Some((first, rest)) = self.program.split_first() else {
            return driver::command(system, solution, threads);
        };
        let mut command = if self.parallelism == Parallelism::Processes {
            let mut mpirun = limited("mpirun");
            mpirun.args(["--allow-run-as-root", "--oversubscribe", "--bind-to", "none"]);
            mpirun.args(["-n", &threads.to_string()]).env("OMP_NUM_THREADS", "1").arg(first);
            if self.quick {
                // Tests run beside others; ranks that wait must not take their cores.
                mpirun.env("OMPI_MCA_mpi_yield_when_idle", "1");
            }
            mpirun
        } else {
            let mut alone = limited(first);
            alone.env("OMP_NUM_THREADS", threads.to_string()).env_remove("PYTHONPATH");
            alone
        };
        command.args(rest).arg(system).arg(solution).args(setting.split_whitespace());
        Ok(command)
    }
}

/// Seconds that a peer has for one system; the slowest that solve one take a third of this.
const LIMIT: &str = "60";

/// A command that ends after the time limit.
fn limited(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new("timeout");
    command.arg(LIMIT).arg(program);
    command
}

/// All contestants, ziggurat last, and the peers that are not installed. hypre must be.
pub(super) fn contestants(quick: bool) -> Result<(Vec<Contestant>, Vec<Absent>), BenchError> {
    let (mut ready, mut absent) = (Vec::new(), Vec::new());
    for peer in &PEERS {
        match peer.contestant(quick) {
            Ok(contestant) => ready.push(contestant),
            Err(reason) if peer.name == HYPRE => {
                return Err(BenchError::Competitor(format!("the race needs hypre: {reason}")));
            }
            Err(reason) => absent.push(Absent { name: peer.name, reason }),
        }
    }
    ready.push(Contestant::ours(quick));
    Ok((ready, absent))
}

/// hypre alone, or how to install it.
pub(super) fn hypre(quick: bool) -> Result<Contestant, String> {
    PEERS[0].contestant(quick)
}

/// The smoothers of hypre, or how to install it.
pub(super) fn hypre_smoothers(quick: bool) -> Result<Contestant, String> {
    HYPRE_SMOOTHERS.contestant(quick)
}

impl Peer {
    /// The peer, ready to run. On failure, says how to install it.
    fn contestant(&self, quick: bool) -> Result<Contestant, String> {
        let &Peer { name, with_modes, parallelism, scalar, elastic, .. } = self;
        let program = self.program(quick)?;
        Ok(Contestant { name, with_modes, parallelism, quick, program, scalar, elastic })
    }

    /// The driver, compiled if necessary. On failure, says how to install the peer.
    fn program(&self, quick: bool) -> Result<Vec<PathBuf>, String> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("competitors");
        let source = folder.join(self.source);
        let not_installed = |error: String| format!("not installed ({}): {error}", self.install);
        let Some(compiler) = self.compiler else {
            let python = Environment::there().map_or_else(|| "python3".to_owned(), |found| found.python());
            output(Command::new(&python).args(["-c", "import pyamg"])).map_err(not_installed)?;
            return Ok(vec![python.into(), source]);
        };
        let built = programs::target().join("race").join(source.file_stem().unwrap_or_default());
        if is_newer(&built, &[&source, &folder.join("system.h")]) {
            return Ok(vec![built]);
        }
        if quick && self.slow_to_compile {
            return Err("not compiled yet; a run without --quick compiles it".to_owned());
        }
        let mut command = Command::new(compiler);
        command.args(self.flags[0]);
        if self.name == AMGCL {
            let headers = std::env::var_os("ZIGGURAT_AMGCL");
            let headers = headers.ok_or_else(|| not_installed("ZIGGURAT_AMGCL is not set".to_owned()))?;
            command.arg("-I").arg(headers);
        }
        let folder = programs::target().join("race");
        fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        println!("compiling the driver of {}", self.name);
        // Under another name first: a compilation that is interrupted leaves no driver.
        let unfinished = built.with_extension("new");
        command.arg(&source).arg("-o").arg(&unfinished).args(self.flags[1]);
        if let Some(package) = self.package {
            let mut ask = Command::new("pkg-config");
            let flags = output(ask.args(["--cflags", "--libs", package])).map_err(not_installed)?;
            command.args(flags.split_whitespace());
        }
        output(&mut command).map_err(not_installed)?;
        fs::rename(&unfinished, &built).map_err(|error| format!("{}: {error}", built.display()))?;
        Ok(vec![built])
    }
}

/// Whether `file` exists and is newer than its sources.
fn is_newer(file: &Path, sources: &[&Path]) -> bool {
    let changed = |path: &Path| fs::metadata(path).and_then(|data| data.modified()).ok();
    let built = changed(file);
    built.is_some() && sources.iter().all(|source| changed(source) < built)
}

/// Runs a command and returns its standard output, or the first line of its error output that names
/// an error.
pub(super) fn output(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| format!("{name}: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    if name == "timeout" && output.status.code() == Some(124) {
        return Err(format!("not solved within {LIMIT} s"));
    }
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let lines = || said.lines().filter(|line| !line.trim().is_empty());
    let line = lines().find(|line| line.to_lowercase().contains("error")).or_else(|| lines().next());
    Err(format!("{name}: {}", line.unwrap_or("failed").trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failing_command_is_explained_by_its_error() {
        let said = output(Command::new("sh").args(["-c", "echo first >&2; echo 'an error' >&2; exit 1"]));
        assert_eq!(said, Err("sh: an error".to_owned()));
        assert_eq!(output(Command::new("sh").args(["-c", "echo well"])), Ok("well\n".to_owned()));
        let mut slow = Command::new("timeout");
        assert!(output(slow.args(["0.1", "sleep", "5"])).unwrap_err().starts_with("not solved within"));
        assert!(output(&mut Command::new("no-such-program")).unwrap_err().starts_with("no-such-program: "));
    }

    #[test]
    fn every_driver_exists_and_every_peer_has_settings() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("competitors");
        for peer in PEERS.iter().chain([&HYPRE_SMOOTHERS]) {
            assert!(folder.join(peer.source).exists(), "{}", peer.source);
            assert!(!peer.scalar.is_empty() && !peer.elastic.is_empty(), "{}", peer.name);
        }
    }
}

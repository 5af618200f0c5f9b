//! `cargo xtask outside`: the Rust examples of README.md and of the book, built and run as programs
//! of another crate.
//!
//! Documentation tests have the dev-dependencies of their crate and may hide lines. A reader who
//! copies an example has neither. So each example becomes a program of a crate that depends only on
//! `ziggurat`, by path, and on the crates that examples bring together with it, and is not part of
//! this workspace. The crate has this workspace's lock file, so that no network is needed, and its
//! target directory, so that only changed crates are compiled.
//!
//! `--times` measures instead what such a crate costs to build: processor seconds of a clean debug
//! build, a clean release build, and a release build after an edit of the program.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use tasks::programs;
use tasks::table::Table;
use thiserror::Error;

use crate::book::{BookError, markdown};

/// The command line of `cargo xtask outside`.
#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Measure build times of a small program instead; takes minutes. Linux only.
    #[arg(long)]
    times: bool,
    /// The workspace that the crate depends on, such as a clone at an earlier revision [default:
    /// this one].
    #[arg(long, value_name = "FOLDER", requires = "times")]
    library: Option<PathBuf>,
}

/// Why an example did not run, or nothing was measured.
#[derive(Debug, Error)]
pub(crate) enum OutsideError {
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("cannot start {program}: {source}")]
    Start { program: String, source: io::Error },
    #[error(transparent)]
    Book(#[from] BookError),
    #[error("README.md and the book have no Rust example")]
    NoExample,
    #[error("Rust examples do not compile as programs of another crate; see {}", .0.display())]
    Build(PathBuf),
    #[error("an example of {} fails; see {}", document.display(), path.display())]
    Run { document: PathBuf, path: PathBuf },
    #[error("{0} does not state the processor time of child processes")]
    NoTimes(&'static str),
}

/// The program whose builds are timed, and what an edit changes in it.
const PROGRAM: &str = "\
use ziggurat::Solver;
use ziggurat::sparse::gallery::Problem;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let a = \"poisson3d:20\".parse::<Problem>()?.matrix()?;
    let solver = Solver::builder().rtol(1e-8).build(&a)?;
    let solution = solver.solve(&vec![1.0; a.rows()])?;
    println!(\"{} iterations\", solution.report.iterations);
    Ok(())
}
";
const EDIT: (&str, &str) = ("rtol(1e-8)", "rtol(1e-6)");

/// The features that examples use, and the crates that they bring together with `ziggurat`, in the
/// versions of the workspace.
const WITH_OTHERS: (&str, &str) = (
    "[\"nalgebra-sparse\"]",
    "nalgebra-sparse = { version = \"0.12\", default-features = false }\nrayon = \"1\"\n",
);

pub(crate) fn run(options: &Options, root: &Path) -> Result<(), OutsideError> {
    if options.times {
        return times(options.library.as_deref().unwrap_or(root));
    }
    let readmes = ["README.md", "crates/ziggurat/README.md"];
    let mut pages = Vec::new();
    for name in readmes {
        pages.push(markdown::page(&root.join(name))?);
    }
    pages.extend(markdown::pages(&root.join("book/src"))?);
    let found =
        pages.iter().flat_map(|page| rust_examples(&page.text).into_iter().map(|code| (&page.path, code)));
    let (documents, examples): (Vec<_>, Vec<_>) = found.unzip();
    if examples.is_empty() {
        return Err(OutsideError::NoExample);
    }
    // A folder that stays, so that cargo knows what it has built.
    let outside = OutsideCrate::write(&programs::target().join("outside"), root, WITH_OTHERS, &examples)?;
    if !outside.cargo(&["build", "--bins"], &programs::target())? {
        return Err(OutsideError::Build(outside.folder));
    }
    for (number, document) in (1..).zip(documents) {
        let program = program(number);
        if !outside.cargo(&["run", "--quiet", "--bin", &program], &programs::target())? {
            let document = document.clone();
            return Err(OutsideError::Run { document, path: outside.source(number) });
        }
    }
    println!("{} Rust examples of README.md and the book run as programs of another crate", examples.len());
    Ok(())
}

/// The contents of the blocks that begin with exactly "```rust".
fn rust_examples(text: &str) -> Vec<String> {
    markdown::blocks(text).into_iter().filter(|block| block.info == "rust").map(|block| block.code).collect()
}

/// The name of the program of an example.
fn program(number: usize) -> String {
    format!("example_{number}")
}

/// A crate that depends on `ziggurat`.
struct OutsideCrate {
    folder: PathBuf,
}

impl OutsideCrate {
    /// Writes the crate, with one program per example; `library` is the workspace of `ziggurat`,
    /// and `with` are its features and further dependencies.
    fn write(
        folder: &Path,
        library: &Path,
        with: (&str, &str),
        examples: &[String],
    ) -> Result<Self, OutsideError> {
        let (features, others) = with;
        let outside = OutsideCrate { folder: folder.to_owned() };
        let sources = folder.join("src/bin");
        // Programs of examples that are no longer there would be built, too.
        match fs::remove_dir_all(&sources) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => return Err(at(&sources)(source)),
            _ => fs::create_dir_all(&sources).map_err(at(&sources))?,
        }
        let library = fs::canonicalize(library).map_err(at(library))?;
        let manifest = format!(
            "[package]\nname = \"outside\"\nedition = \"2024\"\n\n[dependencies]\nziggurat = {{ path = {:?}, \
             features = {features} }}\n{others}\n[workspace]\n",
            library.join("crates/ziggurat")
        );
        outside.put("Cargo.toml", &manifest)?;
        let lock = library.join("Cargo.lock");
        outside.put("Cargo.lock", &fs::read_to_string(&lock).map_err(at(&lock))?)?;
        for (index, example) in examples.iter().enumerate() {
            outside.put(&format!("src/bin/{}.rs", program(index + 1)), example)?;
        }
        Ok(outside)
    }

    fn put(&self, name: &str, text: &str) -> Result<(), OutsideError> {
        let path = self.folder.join(name);
        fs::write(&path, text).map_err(at(&path))
    }

    fn source(&self, number: usize) -> PathBuf {
        self.folder.join(format!("src/bin/{}.rs", program(number)))
    }

    /// Runs cargo on this crate with the toolchain of the workspace. Returns whether it succeeds.
    fn cargo(&self, arguments: &[&str], target: &Path) -> Result<bool, OutsideError> {
        let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut cargo = Command::new(&program);
        cargo.current_dir(tasks::workspace_root()).args(arguments).arg("--offline");
        cargo.arg("--manifest-path").arg(self.folder.join("Cargo.toml"));
        let status = cargo.env("CARGO_TARGET_DIR", target).status();
        let program = program.to_string_lossy().into_owned();
        Ok(status.map_err(|source| OutsideError::Start { program, source })?.success())
    }
}

/// Prints the processor seconds of the three builds.
fn times(library: &Path) -> Result<(), OutsideError> {
    let folder = std::env::temp_dir().join(format!("ziggurat-outside-{}", std::process::id()));
    let outside = OutsideCrate::write(&folder, library, ("[]", ""), &[PROGRAM.to_owned()])?;
    let target = folder.join("target");
    let timed = |arguments: &[&str]| {
        let before = child_seconds()?;
        match outside.cargo(arguments, &target)? {
            true => Ok(child_seconds()? - before),
            false => Err(OutsideError::Build(outside.folder.clone())),
        }
    };
    let mut table = Table::new(["build", "processor seconds"]);
    let mut row = |name: &str, seconds: f64| table.row([name.to_owned(), format!("{seconds:.1}")]);
    row("debug, clean", timed(&["build"])?);
    row("release, clean", timed(&["build", "--release"])?);
    outside.put("src/bin/example_1.rs", &PROGRAM.replace(EDIT.0, EDIT.1))?;
    row("release, after an edit", timed(&["build", "--release"])?);
    println!("{table}");
    fs::remove_dir_all(&folder).map_err(at(&folder))
}

/// The processor time, user and system, of all child processes that have ended, in seconds.
fn child_seconds() -> Result<f64, OutsideError> {
    const STAT: &str = "/proc/self/stat";
    /// The unit of the file, which Linux has fixed.
    const TICKS_PER_SECOND: f64 = 100.0;
    let text = fs::read_to_string(STAT).map_err(at(Path::new(STAT)))?;
    // The name of the program, in parentheses, may contain spaces.
    let after_name = text.rsplit(')').next().unwrap_or_default();
    let ticks: Vec<f64> =
        after_name.split_whitespace().skip(13).take(2).filter_map(|field| field.parse().ok()).collect();
    match ticks[..] {
        [user, system] => Ok((user + system) / TICKS_PER_SECOND),
        _ => Err(OutsideError::NoTimes(STAT)),
    }
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> OutsideError {
    let path = path.to_owned();
    move |source| OutsideError::File { path, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rust_blocks_are_found_and_others_are_not() {
        let text = "a\n```sh\ncargo\n```\n```rust\nfn main() {}\n```\nb\n```rust,ignore\nx\n```\n```rust\nlast\n```\n";
        assert_eq!(rust_examples(text), ["fn main() {}\n", "last\n"]);
        let readme = fs::read_to_string(tasks::workspace_root().join("README.md")).unwrap();
        let examples = rust_examples(&readme);
        assert!(examples.len() >= 2);
        // Nothing is hidden from a reader.
        assert!(examples.iter().all(|example| example.contains("fn main()") && !example.contains("\n# ")));
    }

    #[test]
    fn the_edit_changes_the_program() {
        assert_ne!(PROGRAM.replace(EDIT.0, EDIT.1), PROGRAM);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn time_of_children_grows() {
        let before = child_seconds().unwrap();
        let work = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
        assert!(Command::new("sh").args(["-c", work]).status().unwrap().success());
        assert!(child_seconds().unwrap() > before);
    }
}

//! `cargo xtask book`: the book is complete, its links resolve, and its code runs.
//!
//! 1. Pages that are generated from the code equal the files in the repository: the crates
//!    ([`crates`]), and the configuration (`configuration_reference` of `ziggurat-bench`).
//!    `--write` writes them.
//! 2. Links of all Markdown files of the repository resolve, and Rust files that they name exist
//!    ([`links`]).
//! 3. Tables of measured numbers name the revision at which they were taken ([`tables`]).
//! 4. mdBook builds the pages without a warning, and their links resolve ([`html`]).
//! 5. Blocks of shell commands, Python and C run as a reader would run them ([`blocks`]), and print
//!    what the book shows, numbers included ([`output`]).
//!
//! Rust blocks are programs of another crate, built by `cargo xtask outside`. mdBook is a command
//! and not a library here, because it would add fifty crates to the lock file; `.ci/run` installs
//! it.

mod blocks;
mod crates;
mod html;
mod links;
pub(crate) mod markdown;
mod output;
mod tables;

use std::io;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use tasks::programs;
use tasks::python::Environment;
use tasks::with_solver::{self, HandOverError};
use thiserror::Error;

use crate::install::{self, InstallError};
use crate::source_rules::ReadError;

/// The command line of `cargo xtask book`.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Do only this.
    #[arg(long)]
    only: Option<Part>,
    /// Write the generated pages instead of comparing them.
    #[arg(long)]
    write: bool,
    /// Run only the code of chapters whose path contains this.
    #[arg(long, value_name = "TEXT")]
    chapter: Option<String>,
    /// Run the code with what `cargo xtask install` has installed here [default: a build of this
    /// workspace].
    #[arg(long, value_name = "FOLDER")]
    prefix: Option<PathBuf>,
}

/// A part of the check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    /// Compare generated pages with the code.
    Generated,
    /// Check the links of Markdown files.
    Links,
    /// Check that tables of measured numbers name their revision.
    Tables,
    /// Build the pages, and check their links.
    Html,
    /// Run the code blocks.
    Run,
}

/// Why the book does not pass.
#[derive(Debug, Error)]
pub(crate) enum BookError {
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("cannot start {program}: {source}")]
    Start { program: &'static str, source: io::Error },
    #[error("{} differs from the code; `cargo xtask book --write` writes it", .0.display())]
    Generated(PathBuf),
    #[error(transparent)]
    Configuration(#[from] HandOverError),
    #[error(transparent)]
    Sources(#[from] ReadError),
    #[error("cargo metadata: {0}")]
    Metadata(String),
    #[error("links that lead nowhere:{}", list(.0))]
    Links(Vec<String>),
    #[error("tables of numbers without \"Taken at REVISION\" after them:{}", list(.0))]
    Tables(Vec<String>),
    #[error("mdBook fails or warns (`.ci/run` installs it if it is missing):\n{0}")]
    MdBook(String),
    #[error("there is no Python environment; `cargo xtask python --only wheel` makes it")]
    NoPython,
    #[error("the build failed:\n{0}")]
    Build(String),
    #[error(transparent)]
    Install(#[from] InstallError),
    #[error("code that does not run, or prints something else than the book says:{}", list(.0))]
    Blocks(Vec<String>),
}

fn list(items: &[String]) -> String {
    items.iter().fold(String::new(), |list, item| format!("{list}\n  {item}"))
}

fn at(path: &Path) -> impl FnOnce(io::Error) -> BookError {
    let path = path.to_owned();
    move |source| BookError::File { path, source }
}

/// Checks the book, or a part of it.
pub(crate) fn run(options: &Options, root: &Path) -> Result<(), BookError> {
    let wanted = |part| options.only.is_none_or(|only| only == part);
    let folder = programs::target().join("book");
    if options.write {
        with_solver::run(&["configuration-reference", "--write"])?;
        crates::write(root)?;
    }
    if wanted(Part::Generated) {
        with_solver::run(&["configuration-reference"])?;
        crates::check(root)?;
    }
    if wanted(Part::Links) {
        println!("{} links in Markdown files resolve", links::check(root)?);
    }
    if wanted(Part::Tables) {
        println!("{} tables of numbers name their revision", tables::check(root)?);
    }
    if wanted(Part::Html) {
        let pages = html::build(root, &folder)?;
        println!("{} pages, {} links: {}", pages.pages, pages.links, pages.start.display());
    }
    if wanted(Part::Run) {
        let python = Environment::there().ok_or(BookError::NoPython)?;
        let prefix = match &options.prefix {
            Some(prefix) => std::path::absolute(prefix).map_err(at(prefix))?,
            None => installed(root, &folder)?,
        };
        let runner = blocks::Runner { folder: folder.join("run"), prefix, python };
        let count = runner.run_all(root, options.chapter.as_deref())?;
        println!("{count} code blocks of the book run");
    }
    Ok(())
}

/// Builds the command and the C library as the tests are built, and installs them in `folder`.
fn installed(root: &Path, folder: &Path) -> Result<PathBuf, BookError> {
    let built = programs::build(programs::AS_TESTS, &["--lib", "--bins"]).map_err(BookError::Build)?;
    let prefix = folder.join("prefix");
    install::place(&built, root, &prefix)?;
    Ok(prefix)
}

//! Runs the code blocks of the book as a reader would.
//!
//! Each chapter has a folder of its own, in which its blocks run in their order:
//!
//! | block | what happens |
//! |---|---|
//! | first line is a comment that holds a file name, such as `# solver.toml` | written to this file |
//! | `sh` | run by bash, which stops at the first failure |
//! | `python` | all blocks of a chapter are one program, run at the end of the chapter |
//! | `text` directly after one of these | must be in its output, with its numbers, but for times and what else depends on the machine ([`output`](super::output)) |
//! | `text,complete` | the same, and the output has no other lines |
//! | `text,within=5%` | the same, and numbers may differ by 5 % |
//! | `sh,ignore`, `python,ignore` | not run: it installs something, or needs another machine |
//!
//! The command and the C library are on the paths of the environment, as after an installation.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use tasks::python::Environment;

use super::markdown::{self, Block, Page};
use super::output::{Bound, missing_line};
use super::{BookError, at};

/// Separates the outputs of Python blocks.
const SEPARATOR: char = '\u{1e}';

/// The environment in which code blocks run.
#[derive(Debug)]
pub(crate) struct Runner {
    /// The folder that gets one folder per chapter.
    pub(crate) folder: PathBuf,
    /// Where the command and the C library are installed.
    pub(crate) prefix: PathBuf,
    /// The environment with the Python package.
    pub(crate) python: Environment,
}

/// Blocks of Python with the output that the book shows.
type Shown<'a> = (&'a Block<'a>, Option<&'a Block<'a>>);

impl Runner {
    /// Runs the blocks of all chapters, or of those whose path contains `chapter`. Returns how many
    /// there are.
    pub(crate) fn run_all(&self, root: &Path, chapter: Option<&str>) -> Result<usize, BookError> {
        let book = root.join("book/src");
        let (mut count, mut failures) = (0, Vec::new());
        for page in markdown::pages(&book)? {
            let name = page.path.strip_prefix(&book).unwrap_or(&page.path).display().to_string();
            if chapter.is_none_or(|part| name.contains(part)) {
                count += self.run_page(&page, &name, &mut failures)?;
            }
        }
        if failures.is_empty() { Ok(count) } else { Err(BookError::Blocks(failures)) }
    }

    fn run_page(&self, page: &Page, name: &str, failures: &mut Vec<String>) -> Result<usize, BookError> {
        let blocks = markdown::blocks(&page.text);
        let shown = |index: usize| {
            blocks.get(index + 1).filter(|next: &&Block<'_>| next.info.starts_with("text") && next.follows)
        };
        let folder = self.folder.join(name.trim_end_matches(".md"));
        match fs::remove_dir_all(&folder) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => return Err(at(&folder)(source)),
            _ => fs::create_dir_all(&folder).map_err(at(&folder))?,
        }
        let mut count = 0;
        let mut python: Vec<Shown<'_>> = Vec::new();
        for (index, block) in blocks.iter().enumerate() {
            if let Some(file) = file_name(block) {
                let path = folder.join(file);
                fs::write(&path, &block.code).map_err(at(&path))?;
            } else if block.info == "python" {
                python.push((block, shown(index)));
            } else if block.info == "sh" {
                count += 1;
                let mut bash = Command::new("bash");
                bash.args(["-euo", "pipefail", "-c", &block.code]);
                match self.output(bash, "bash", &folder)? {
                    Ok(output) => failures.extend(difference(name, shown(index), &output)),
                    Err(output) => failures.push(failure(name, block, &output)),
                }
            }
        }
        count += python.len();
        failures.extend(self.run_python(name, &folder, &python)?);
        Ok(count)
    }

    /// Runs all blocks as one program.
    fn run_python(&self, name: &str, folder: &Path, blocks: &[Shown<'_>]) -> Result<Vec<String>, BookError> {
        let Some((first, _)) = blocks.first() else { return Ok(Vec::new()) };
        let separate = format!("\nprint(chr({}), flush=True)\n", u32::from(SEPARATOR));
        let program: String = blocks.iter().map(|(block, _)| block.code.clone() + &separate).collect();
        let path = folder.join("chapter.py");
        fs::write(&path, program).map_err(at(&path))?;
        let mut python = Command::new(self.python.python());
        python.arg("chapter.py");
        Ok(match self.output(python, "python", folder)? {
            Ok(output) => {
                let parts = output.split(SEPARATOR).map(str::to_owned);
                blocks
                    .iter()
                    .zip(parts)
                    .filter_map(|((_, shown), part)| difference(name, *shown, &part))
                    .collect()
            }
            Err(output) => vec![failure(name, first, &output)],
        })
    }

    /// The output of a command: `Ok` if it succeeds, `Err` if it fails.
    fn output(
        &self,
        mut command: Command,
        program: &'static str,
        folder: &Path,
    ) -> Result<Result<String, String>, BookError> {
        let python = PathBuf::from(self.python.python());
        let mut folders = vec![self.prefix.join("bin")];
        folders.extend(python.parent().map(Path::to_owned));
        folders.extend(std::env::var_os("PATH").iter().flat_map(std::env::split_paths));
        if let Ok(path) = std::env::join_paths(folders) {
            command.env("PATH", path);
        }
        let lib = self.prefix.join("lib");
        command.env("LD_LIBRARY_PATH", &lib).env("PKG_CONFIG_PATH", lib.join("pkgconfig"));
        command.env("MPLBACKEND", "agg");
        // Open MPI refuses to run as root or with more ranks than cores, as it would here.
        for variable in ["OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] {
            command.env(variable, "1");
        }
        command.env("OMPI_MCA_rmaps_base_oversubscribe", "1").env("OMPI_MCA_mpi_yield_when_idle", "1");
        command.env("OMPI_MCA_btl_vader_single_copy_mechanism", "none");
        for variable in ["PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV"] {
            command.env_remove(variable);
        }
        let done = command.current_dir(folder).output();
        let done = done.map_err(|source| BookError::Start { program, source })?;
        let text = String::from_utf8_lossy(&done.stdout).into_owned();
        let both = || text.clone() + &String::from_utf8_lossy(&done.stderr);
        Ok(if done.status.success() { Ok(text) } else { Err(both()) })
    }
}

/// A line that the book shows and the output lacks, or, in a complete block, the other way round.
fn difference(name: &str, shown: Option<&Block<'_>>, output: &str) -> Option<String> {
    let shown = shown?;
    let Some((complete, bound)) = comparison(shown.info) else {
        return Some(format!("{name}:{}: a block of text cannot be `{}`", shown.line, shown.info));
    };
    let missing = missing_line(&shown.code, output, bound);
    let (which, missing) = match missing {
        Some(missing) => ("shown", missing),
        None if complete => ("printed", missing_line(output, &shown.code, bound)?),
        None => return None,
    };
    let other = if which == "shown" { "printed" } else { "shown" };
    let instead = match missing.printed {
        Some(line) => format!("{other} with other numbers: {line}"),
        None => format!("not {other}"),
    };
    let (line, output) = (missing.line, indented(output));
    Some(format!("{name}:{}: {which}: {line}\n    {instead}\n    the output is:\n{output}", shown.line))
}

/// How a block of text is compared: whether the output has no other lines, and by how much numbers
/// may differ. `None` if its words are not known.
fn comparison(info: &str) -> Option<(bool, Bound)> {
    let mut found = (false, Bound::EQUAL);
    for word in info.strip_prefix("text")?.split(',').skip(1) {
        match word {
            "complete" => found.0 = true,
            _ => found.1 = Bound::parse(word)?,
        }
    }
    Some(found)
}

/// The file that a block is written to: its first line is a comment with nothing but the name.
fn file_name<'a>(block: &'a Block<'_>) -> Option<&'a str> {
    let first = block.code.lines().next()?.trim();
    let name = ["# ", "// ", "! ", "/* "].iter().find_map(|start| first.strip_prefix(start))?;
    let name = name.trim_end_matches("*/").trim();
    let is_name = |c: char| c.is_alphanumeric() || "._-".contains(c);
    let (stem, extension) = name.rsplit_once('.')?;
    (name.chars().all(is_name) && !stem.is_empty() && !extension.is_empty()).then_some(name)
}

fn failure(name: &str, block: &Block<'_>, output: &str) -> String {
    format!("{name}:{}: fails:\n{}", block.line, indented(output))
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("    {line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(code: &str) -> Block<'_> {
        Block { info: "toml", line: 1, code: code.to_owned(), follows: false }
    }

    #[test]
    fn a_block_that_shows_a_wrong_number_fails() {
        let shown = |info, code: &str| Block { info, line: 7, code: code.to_owned(), follows: true };
        let block = shown("text", "step 0: 13 iterations\n");
        assert_eq!(difference("a.md", Some(&block), "step 0: 13 iterations\nstep 1: 9 iterations\n"), None);
        let failure = difference("a.md", Some(&block), "step 0: 8 iterations\n").unwrap();
        assert!(
            failure.starts_with(
                "a.md:7: shown: step 0: 13 iterations\n    printed with other numbers: step 0: 8 iterations\n"
            ),
            "{failure}"
        );
        // A complete block shows every line, and a bound is one that is known.
        let complete = shown("text,complete", "step 0: 13 iterations\n");
        assert_eq!(difference("a.md", Some(&complete), "step 0: 13 iterations\n"), None);
        let failure = difference("a.md", Some(&complete), "step 0: 13 iterations\nsolved\n").unwrap();
        assert!(failure.starts_with("a.md:7: printed: solved\n    not shown\n"), "{failure}");
        let near = shown("text,within=10%", "step 0: 13 iterations\n");
        assert_eq!(difference("a.md", Some(&near), "step 0: 14 iterations\n"), None);
        let unknown = shown("text,exactly", "step 0: 13 iterations\n");
        assert!(difference("a.md", Some(&unknown), "step 0: 13 iterations\n").is_some());
    }

    #[test]
    fn a_file_is_named_by_a_comment_of_its_own() {
        for (code, name) in [
            ("# solver.toml\nx = 1\n", Some("solver.toml")),
            ("/* poisson.c */\n", Some("poisson.c")),
            ("// a-b.cpp\n", Some("a-b.cpp")),
            ("# see solver.toml\n", None),
            ("x = 1\n# solver.toml\n", None),
            ("# ../solver.toml\n", None),
        ] {
            assert_eq!(file_name(&block(code)), name, "{code}");
        }
    }
}

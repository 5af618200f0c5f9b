//! `--report FILE`: the page about a solve, with the command that leads to it.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use ziggurat_report::{Outcome, Page, page};
use ziggurat_sparse::CsrRef;

use crate::failure::Failure;

/// Writes the page. Under MPI no process has the whole matrix, so there is none to give.
pub(super) fn write(
    path: &Path,
    name: &str,
    outcome: &Outcome,
    matrix: Option<CsrRef<'_, f64>>,
) -> Result<(), Failure> {
    let command = command(std::env::args_os(), outcome.ranks.as_ref().map(|ranks| ranks.count));
    let threads = rayon::current_num_threads();
    let page = page(&Page { name, outcome, matrix, command: &command, threads });
    fs::write(path, page).map_err(|error| Failure::writing(path, &error))
}

/// What was typed, as a shell takes it.
fn command(arguments: impl IntoIterator<Item = impl AsRef<OsStr>>, ranks: Option<usize>) -> String {
    let words = arguments.into_iter().map(|word| quoted(&word.as_ref().to_string_lossy()));
    let launcher = ranks.map(|count| format!("mpirun -n {count}"));
    launcher.into_iter().chain(words).collect::<Vec<_>>().join(" ")
}

/// A word as a shell takes it: between single quotes, unless it is plain.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:,=+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_can_be_typed_again() {
        let words = ["ziggurat", "solve", "--problem", "poisson3d:8", "--rtol=1e-6"];
        assert_eq!(command(words, None), "ziggurat solve --problem poisson3d:8 --rtol=1e-6");
        assert_eq!(
            command(["a b", "it's", "", "$HOME;*"], Some(4)),
            r"mpirun -n 4 'a b' 'it'\''s' '' '$HOME;*'"
        );
    }

    /// A shell gives back the words that were quoted.
    #[cfg(unix)]
    #[test]
    fn shells_take_them_as_they_were() {
        let words = ["printf", "%s|", "a b", "it's", "", "$HOME;*", "\"<&>\"", "\\n", "~", "ü"];
        let output = std::process::Command::new("sh").arg("-c").arg(command(words, None)).output().unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), words[2..].join("|") + "|");
    }
}

//! Source rules: what no compiler or linter checks about our files.
//!
//! - No source file has more than 600 lines; those above 400 are noted, because they soon will.
//! - No file or folder is named `util`, `helper`, `misc` or `common`: such names gather what nobody
//!   placed.
//! - Every file in a `src` folder opens with `//!`: what it holds, and for a method its formula,
//!   source and cost.
//! - Comments, and the prose of Markdown files, wrap at 100 columns. Tables, code blocks and lines
//!   with a URL may be wider.
//! - No comment in Rust opens with "What": it names the thing instead.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// Lines above which a file is refused.
const MOST_LINES: usize = 600;
/// Lines above which a file is mentioned.
const MANY_LINES: usize = 400;
/// Columns at which prose wraps.
const PROSE_COLUMNS: usize = 100;
/// Names that say nothing, in the singular.
const EMPTY_NAMES: [&str; 4] = ["util", "helper", "misc", "common"];
/// Where source and documents lie.
const FOLDERS: [&str; 7] = ["crates", "bench", "xtask", "docs", "book", "packaging", "python"];
/// Documents beside them.
const DOCUMENTS: [&str; 5] =
    ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"];

/// A source file: its path from the workspace's root, and its text.
#[derive(Debug)]
pub(crate) struct SourceFile {
    pub(crate) path: PathBuf,
    pub(crate) text: String,
}

/// The result of the rules for a set of files.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    /// Broken rules, each with its file.
    pub(crate) faults: Vec<String>,
    /// Limits that are nearly reached.
    pub(crate) notes: Vec<String>,
}

/// A file or folder that cannot be read.
#[derive(Debug, Error)]
#[error("cannot read {}: {source}", path.display())]
pub(crate) struct ReadError {
    path: PathBuf,
    source: io::Error,
}

/// Every Rust and Markdown file of the workspace, tracked by git or not, in the order of their
/// paths.
pub(crate) fn read_sources(root: &Path) -> Result<Vec<SourceFile>, ReadError> {
    let mut files = Vec::new();
    for folder in FOLDERS {
        walk(root, &root.join(folder), &mut files)?;
    }
    for name in DOCUMENTS {
        read(root, &root.join(name), &mut files)?;
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

fn walk(root: &Path, folder: &Path, files: &mut Vec<SourceFile>) -> Result<(), ReadError> {
    let at = |path: &Path| {
        let path = path.to_owned();
        move |source| ReadError { path, source }
    };
    for entry in fs::read_dir(folder).map_err(at(folder))? {
        let entry = entry.map_err(at(folder))?;
        let path = entry.path();
        let hidden = entry.file_name().to_string_lossy().starts_with('.');
        if entry.file_type().map_err(at(&path))?.is_dir() {
            if !hidden && entry.file_name() != "target" {
                walk(root, &path, files)?;
            }
        } else if path.extension().is_some_and(|extension| extension == "rs" || extension == "md") {
            read(root, &path, files)?;
        }
    }
    Ok(())
}

fn read(root: &Path, path: &Path, files: &mut Vec<SourceFile>) -> Result<(), ReadError> {
    let text = fs::read_to_string(path).map_err(|source| ReadError { path: path.to_owned(), source })?;
    let path = path.strip_prefix(root).unwrap_or(path).to_owned();
    files.push(SourceFile { path, text });
    Ok(())
}

/// Holds every file to every rule.
pub(crate) fn check(files: &[SourceFile]) -> Findings {
    let mut findings = Findings::default();
    for SourceFile { path, text } in files {
        let place = path.display();
        for line in wide_prose(text, is_markdown(path)) {
            findings.faults.push(format!("{place}:{line}: prose wraps at {PROSE_COLUMNS} columns"));
        }
        if is_markdown(path) {
            continue;
        }
        for line in what_openings(text) {
            findings.faults.push(format!("{place}:{line}: the comment opens with `What`; name the thing"));
        }
        let lines = text.lines().count();
        if lines > MOST_LINES {
            findings.faults.push(format!("{place}: {lines} lines; split it, {MOST_LINES} is the most"));
        } else if lines > MANY_LINES {
            findings.notes.push(format!("{place}: {lines} lines, comfortable is up to {MANY_LINES}"));
        }
        if let Some(name) = empty_name(path) {
            findings.faults.push(format!("{place}: `{name}` says nothing; name it after what it holds"));
        }
        if in_src(path) && !text.trim_start().starts_with("//!") {
            findings
                .faults
                .push(format!("{place}: must open with `//!`: what it computes, its source, its cost"));
        }
    }
    findings
}

fn is_markdown(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "md")
}

/// The numbers of lines of prose that are too wide: of comments, or of all text in Markdown.
fn wide_prose(text: &str, markdown: bool) -> Vec<usize> {
    let mut in_code = false;
    let mut wide = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let comment = line.trim_start().strip_prefix("//");
        let Some(prose) = (if markdown { Some(line) } else { comment }) else {
            in_code = false;
            continue;
        };
        let prose = prose.trim_start_matches(['/', '!']).trim_start();
        if prose.starts_with("```") {
            in_code = !in_code;
        } else if !in_code
            && line.chars().count() > PROSE_COLUMNS
            && !prose.starts_with('|')
            && !prose.contains("://")
        {
            wide.push(number);
        }
    }
    wide
}

/// The numbers of lines at which a comment, or a paragraph of one, opens with "What".
fn what_openings(text: &str) -> Vec<usize> {
    let mut in_paragraph = false;
    let mut openings = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let comment = line.trim_start().strip_prefix("//").unwrap_or_default();
        let first = comment.trim_start_matches(['/', '!']).split_whitespace().next();
        let opens = first.is_some_and(|word| word.trim_end_matches(|c: char| !c.is_alphanumeric()) == "What");
        if !in_paragraph && opens {
            openings.push(number);
        }
        in_paragraph = first.is_some();
    }
    openings
}

/// The first part of the path that is one of [`EMPTY_NAMES`], alone or in the plural.
fn empty_name(path: &Path) -> Option<String> {
    path.components().find_map(|component| {
        let part = Path::new(component.as_os_str());
        let stem = part.file_stem()?.to_string_lossy();
        let singular = stem.strip_suffix('s').unwrap_or(&stem).to_owned();
        EMPTY_NAMES.contains(&singular.as_str()).then(|| stem.into_owned())
    })
}

fn in_src(path: &Path) -> bool {
    path.components().any(|component| component.as_os_str() == "src")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, text: &str) -> SourceFile {
        SourceFile { path: path.into(), text: text.to_owned() }
    }

    fn faults(path: &str, text: &str) -> Vec<String> {
        check(&[file(path, text)]).faults
    }

    #[test]
    fn a_long_file_is_noted_then_refused() {
        let lines = |count: usize| "//!\n".repeat(count);
        for (count, fault, note) in
            [(400, false, false), (401, false, true), (600, false, true), (601, true, false)]
        {
            let findings = check(&[file("crates/a/src/b.rs", &lines(count))]);
            assert_eq!((!findings.faults.is_empty(), !findings.notes.is_empty()), (fault, note), "{count}");
        }
        assert!(!faults("crates/a/tests/b.rs", &lines(601)).is_empty(), "tests are source too");
    }

    #[test]
    fn empty_names_are_refused_for_files_and_folders() {
        for path in [
            "crates/a/src/util.rs",
            "crates/a/src/helpers.rs",
            "crates/a/tests/common/mod.rs",
            "xtask/src/misc.rs",
        ] {
            assert_eq!(faults(path, "//! Text.").len(), 1, "{path}");
        }
        for path in ["crates/a/src/commons_ball.rs", "crates/a/src/utility_theory.rs", "crates/a/src/s.rs"] {
            assert_eq!(faults(path, "//! Text."), Vec::<String>::new(), "{path}");
        }
    }

    #[test]
    fn source_opens_with_its_purpose() {
        assert_eq!(faults("crates/a/src/b.rs", "use std::fmt;\n//! Late.").len(), 1);
        assert_eq!(faults("crates/a/src/b.rs", "").len(), 1);
        assert_eq!(faults("crates/a/src/b.rs", "/// Of an item.").len(), 1);
        assert!(faults("crates/a/src/b.rs", "\n//! Text.").is_empty());
        assert!(faults("crates/a/tests/b.rs", "use std::fmt;").is_empty());
    }

    #[test]
    fn prose_wraps_but_tables_and_code_do_not() {
        let long = "x".repeat(100);
        let text = format!(
            "//! {long}\n// a | b\n//! | {long} |\n//! ```\n//! {long}\n//! ```\nlet y = \"{long}\";"
        );
        assert_eq!(wide_prose(&text, false), [1]);
        assert_eq!(wide_prose(&format!("{long}y\n\n| {long} |\n\nsee https://{long}\n"), true), [1]);
        assert_eq!(faults("docs/a.md", &format!("{long}y")).len(), 1);
    }

    #[test]
    fn comments_do_not_open_with_what() {
        for comment in ["// What follows.", "    /// What is kept.", "//! What\n//! it holds.", "//What"] {
            assert_eq!(what_openings(comment), [1], "{comment}");
        }
        assert_eq!(what_openings("/// An item.\n///\n/// What it holds.\nfn a() {}\n// What."), [3, 5]);
        for comment in ["// Whatever follows.", "let a = \"What\";", "/// It says\n/// What changed."] {
            assert_eq!(what_openings(comment), [0; 0], "{comment}");
        }
        assert_eq!(faults("crates/a/tests/b.rs", "// What is tested.").len(), 1);
        assert!(faults("docs/a.md", "What is new").is_empty());
    }

    #[test]
    fn this_workspace_is_read_whole() {
        let files = read_sources(tasks::workspace_root()).unwrap();
        for path in [
            "bench/src/main.rs",
            "xtask/src/main.rs",
            "crates/ziggurat-sparse/src/matrix/csr.rs",
            "README.md",
        ] {
            assert!(files.iter().any(|file| file.path == Path::new(path)), "{path}");
        }
        assert!(files.is_sorted_by(|a, b| a.path < b.path));
    }
}

//! Links in Markdown files: every relative link names a file of the repository, and every anchor a
//! heading of it. A Rust file that is named in code type, such as `solver/watch.rs`, exists, too:
//! some file of the repository has this path, or a path that ends in it.

use std::path::{Path, PathBuf};

use super::markdown::{self, Page};
use super::{BookError, at, html};
use crate::source_rules;

/// Documents outside of the folders.
const DOCUMENTS: [&str; 5] =
    ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"];
/// Folders of documents.
const FOLDERS: [&str; 5] = ["book/src", "docs", "packaging", "python", "crates"];

/// Checks all links, and returns how many there are.
pub(crate) fn check(root: &Path) -> Result<usize, BookError> {
    let mut pages = Vec::new();
    for folder in FOLDERS {
        pages.extend(markdown::pages(&root.join(folder))?);
    }
    for name in DOCUMENTS {
        pages.push(markdown::page(&root.join(name))?);
    }
    let sources = source_rules::read_sources(root)?;
    let exists = |name: &str| sources.iter().any(|source| source.path.ends_with(name));
    let mut dead = Vec::new();
    let mut count = 0;
    for page in &pages {
        let place = page.path.strip_prefix(root).unwrap_or(&page.path);
        for (line, name) in named_files(&page.text) {
            count += 1;
            if !exists(name) {
                dead.push(format!("{}:{line}: there is no {name}", place.display()));
            }
        }
        for (line, target) in local_links(page) {
            count += 1;
            if !resolves(page, &target)? {
                dead.push(format!("{}:{line}: {target}", place.display()));
            }
        }
    }
    if dead.is_empty() { Ok(count) } else { Err(BookError::Links(dead)) }
}

fn local_links(page: &Page) -> Vec<(usize, String)> {
    let links = markdown::prose(&page.text).flat_map(|(number, line)| {
        let targets = markdown::targets(line).into_iter();
        targets.map(move |(from, to)| (number, line[from..to].to_owned()))
    });
    links.filter(|(_, target)| markdown::is_local(target)).collect()
}

/// The Rust files that a text names in code type, with their lines. `NAME` stands for a file that a
/// reader adds.
fn named_files(text: &str) -> Vec<(usize, &str)> {
    let is_file = |code: &&str| {
        let is_path = |c: char| c.is_ascii_alphanumeric() || "_-./".contains(c);
        code.ends_with(".rs") && code.chars().all(is_path) && !code.starts_with('.') && !code.contains("NAME")
    };
    let in_line = |(number, line)| {
        let codes = str::split(line, '`').skip(1).step_by(2); // after every odd backtick
        codes.filter(is_file).map(move |code| (number, code))
    };
    markdown::prose(text).flat_map(in_line).collect()
}

/// Whether the file is there, and has the anchor.
fn resolves(page: &Page, target: &str) -> Result<bool, BookError> {
    let (file, anchor) = target.split_once('#').map_or((target, None), |(file, anchor)| (file, Some(anchor)));
    let folder = page.path.parent().unwrap_or(Path::new("."));
    let path: PathBuf = if file.is_empty() { page.path.clone() } else { folder.join(file) };
    if !path.exists() {
        return Ok(false);
    }
    let Some(anchor) = anchor else { return Ok(true) };
    let mut text = std::fs::read_to_string(&path).map_err(at(&path))?;
    // A chapter may consist of a document of the repository.
    if let Some(document) = text.lines().find_map(html::include) {
        let document = path.parent().unwrap_or(folder).join(document);
        text = std::fs::read_to_string(&document).map_err(at(&document))?;
    }
    Ok(markdown::anchors(&text).iter().any(|found| found == anchor))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_links_of_this_repository_resolve() {
        assert!(check(tasks::workspace_root()).unwrap() > 50);
    }

    #[test]
    fn rust_files_are_named_in_code_type() {
        let text =
            "see `a/b.rs`, `f()` and `c.rs`\n```\n`d.rs`\n```\n`NAME.rs`, `../e.rs`, `x * y.rs`, f.rs\n";
        assert_eq!(named_files(text), [(1, "a/b.rs"), (1, "c.rs")]);
    }

    #[test]
    fn a_missing_file_or_heading_is_noticed() {
        let path = tasks::workspace_root().join("README.md");
        let page = Page { path, text: String::new() };
        assert!(resolves(&page, "docs/precision.md#techniques").unwrap());
        assert!(!resolves(&page, "docs/precision.md#no-such-heading").unwrap());
        assert!(!resolves(&page, "docs/no-such-file.md").unwrap());
    }
}

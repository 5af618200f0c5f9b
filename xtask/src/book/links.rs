//! Links in Markdown files: every relative link names a file of the repository, and every anchor a
//! heading of it.

use std::path::{Path, PathBuf};

use super::markdown::{self, Page};
use super::{BookError, at, html};

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
    let mut dead = Vec::new();
    let mut count = 0;
    for page in &pages {
        let place = page.path.strip_prefix(root).unwrap_or(&page.path);
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
        assert!(check(crate::workspace_root()).unwrap() > 50);
    }

    #[test]
    fn a_missing_file_or_heading_is_noticed() {
        let path = crate::workspace_root().join("README.md");
        let page = Page { path, text: String::new() };
        assert!(resolves(&page, "docs/precision.md#techniques").unwrap());
        assert!(!resolves(&page, "docs/precision.md#no-such-heading").unwrap());
        assert!(!resolves(&page, "docs/no-such-file.md").unwrap());
    }
}

//! Builds the pages with mdBook.
//!
//! The book contains documents of the repository, such as ARCHITECTURE.md, by lines of the form
//! `{{#include PATH}}`, and its chapters link to files of the repository. A copy of the sources is
//! made for mdBook, in which included text is in place, links to a document lead to the chapter
//! that includes it (to its title, if the chapter includes several), and links to other files
//! outside of the book are plain text.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use super::markdown;
use super::{BookError, at};

/// The built book.
#[derive(Debug)]
pub(crate) struct Pages {
    /// Number of pages.
    pub(crate) pages: usize,
    /// Number of links between them.
    pub(crate) links: usize,
    /// The first page.
    pub(crate) start: PathBuf,
}

/// Builds the book in `folder`, and checks the links of its pages.
pub(crate) fn build(root: &Path, folder: &Path) -> Result<Pages, BookError> {
    let (source, html) = (folder.join("source"), folder.join("html"));
    for old in [&source, &html] {
        let _ = fs::remove_dir_all(old); // there may be none
    }
    stage(&root.join("book"), &source)?;
    let mut mdbook = Command::new("mdbook");
    let done = mdbook.arg("build").arg(&source).arg("--dest-dir").arg(&html).output();
    let done =
        done.map_err(|source| BookError::Start { program: "mdbook (`.ci/run` installs it)", source })?;
    let said = String::from_utf8_lossy(&done.stderr).into_owned() + &String::from_utf8_lossy(&done.stdout);
    if !done.status.success() || said.contains("WARN") || said.contains("ERROR") {
        return Err(BookError::MdBook(said));
    }
    check(&html)
}

/// Copies the book with included documents and changed links.
fn stage(book: &Path, to: &Path) -> Result<(), BookError> {
    let book = fs::canonicalize(book).map_err(at(book))?;
    let files = files(&book)?;
    let mut included = BTreeMap::new();
    for file in files.iter().filter(|file| is_markdown(file)) {
        let text = fs::read_to_string(file).map_err(at(file))?;
        let paths = text.lines().filter_map(include).map(|path| plain(&folder_of(file).join(path)));
        let paths: Vec<PathBuf> = paths.collect();
        let is_one_of_several = paths.len() > 1;
        for path in paths {
            let document = fs::read_to_string(&path).map_err(at(&path))?;
            let title = markdown::anchors(&document).into_iter().next().filter(|_| is_one_of_several);
            included.insert(path, (file.clone(), title));
        }
    }
    for file in &files {
        let target = to.join(file.strip_prefix(&book).unwrap_or(file));
        fs::create_dir_all(folder_of(&target)).map_err(at(&target))?;
        if !is_markdown(file) {
            fs::copy(file, &target).map_err(at(file))?;
            continue;
        }
        let mut text = String::new();
        for line in fs::read_to_string(file).map_err(at(file))?.lines() {
            match include(line) {
                Some(path) => {
                    let document = plain(&folder_of(file).join(path));
                    let content = fs::read_to_string(&document).map_err(at(&document))?;
                    text += &with_links(&content, &document, file, &book, &included);
                }
                None => text += &format!("{line}\n"),
            }
        }
        let text = with_links(&text, file, file, &book, &included);
        fs::write(&target, text).map_err(at(&target))?;
    }
    Ok(())
}

/// The path of a line that includes a file.
pub(crate) fn include(line: &str) -> Option<&str> {
    line.strip_prefix("{{#include ")?.strip_suffix("}}")
}

/// The text of `document` as part of the chapter `chapter`.
fn with_links(
    text: &str,
    document: &Path,
    chapter: &Path,
    book: &Path,
    included: &BTreeMap<PathBuf, (PathBuf, Option<String>)>,
) -> String {
    // From the end, so that places before a change stay valid.
    let lines: Vec<&str> = markdown::prose(text).map(|(_, line)| line).collect();
    let mut changed = text.to_owned();
    for line in lines.into_iter().rev() {
        let start = line.as_ptr() as usize - text.as_ptr() as usize;
        for (from, to) in markdown::targets(line).into_iter().rev() {
            let target = &line[from..to];
            let (from, to) = (start + from, start + to);
            let (file, anchor) = target.split_at(target.find('#').unwrap_or(target.len()));
            if !markdown::is_local(target) || file.is_empty() {
                continue;
            }
            let path = plain(&folder_of(document).join(file));
            let (path, title) = included.get(&path).map_or((&path, &None), |(path, title)| (path, title));
            if path.starts_with(book.join("src")) {
                let title = title.as_ref().filter(|_| anchor.is_empty()).map(|title| format!("#{title}"));
                let to_place = relative(path, folder_of(chapter)) + anchor + &title.unwrap_or_default();
                changed.replace_range(from..to, &to_place);
            } else if let Some(bracket) = text[..from - 2].rfind('[') {
                // `[text](target)` becomes `text`.
                changed.replace_range(bracket..=to, &text[bracket + 1..from - 2]);
            }
        }
    }
    changed
}

/// Checks that links of pages lead to files and to anchors.
fn check(html: &Path) -> Result<Pages, BookError> {
    let is_page = |path: &&PathBuf| {
        let name = path.file_name().unwrap_or_default();
        path.extension().is_some_and(|extension| extension == "html")
            && name != "404.html"
            && name != "toc.html"
    };
    let all = files(html)?;
    let mut texts = BTreeMap::new();
    for path in all.iter().filter(is_page) {
        texts.insert(path.clone(), fs::read_to_string(path).map_err(at(path))?);
    }
    let (mut links, mut dead) = (0, Vec::new());
    for (path, text) in &texts {
        let targets = [" href=\"", " src=\""].into_iter().flat_map(|name| text.split(name).skip(1));
        let targets = targets.filter_map(|rest| rest.split('"').next());
        for target in targets.filter(|target| markdown::is_local(target) && !target.starts_with("data:")) {
            links += 1;
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let to = if file.is_empty() { path.clone() } else { plain(&folder_of(path).join(file)) };
            let has = |text: &String| anchor.is_empty() || text.contains(&format!("id=\"{anchor}\""));
            if !all.contains(&to) || !texts.get(&to).is_none_or(has) {
                dead.push(format!("{}: {target}", path.strip_prefix(html).unwrap_or(path).display()));
            }
        }
    }
    let start = html.join("index.html");
    if dead.is_empty() { Ok(Pages { pages: texts.len(), links, start }) } else { Err(BookError::Links(dead)) }
}

/// Every file in a folder and those below.
fn files(folder: &Path) -> Result<Vec<PathBuf>, BookError> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(at(folder))? {
        let path = entry.map_err(at(folder))?.path();
        if path.is_dir() { found.extend(files(&path)?) } else { found.push(path) }
    }
    Ok(found)
}

fn is_markdown(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "md")
}

fn folder_of(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new("."))
}

/// A path without `..` and `.`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

/// A path as seen from a folder, both absolute.
fn relative(path: &Path, folder: &Path) -> String {
    let same = path.components().zip(folder.components()).take_while(|(a, b)| a == b).count();
    let up = folder.components().skip(same).map(|_| "..".to_owned());
    let down = path.components().skip(same).map(|part| part.as_os_str().to_string_lossy().into_owned());
    up.chain(down).collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_of_an_included_document_are_those_of_its_chapter() {
        let chapter = |name: &str| PathBuf::from("/r/book/src/notes").join(name);
        let included = BTreeMap::from([
            ("/r/docs/b.md".into(), (chapter("b.md"), None)),
            ("/r/docs/d/e.md".into(), (chapter("d.md"), Some("e".into()))),
        ]);
        let text = "see [b](b.md#c), [e](d/e.md), [code](../x.rs), [start](../book/src/start.md) and \
                    [out](https://a)\n";
        let changed = with_links(
            text,
            Path::new("/r/docs/a.md"),
            Path::new("/r/book/src/notes/a.md"),
            Path::new("/r/book"),
            &included,
        );
        let expected = "see [b](b.md#c), [e](d.md#e), code, [start](../start.md) and [out](https://a)\n";
        assert_eq!(changed, expected);
    }

    #[test]
    fn every_decision_is_in_the_index_and_in_the_book() {
        let root = crate::workspace_root();
        let index = fs::read_to_string(root.join("docs/decisions/README.md")).unwrap();
        let chapter = fs::read_to_string(root.join("book/src/project/decisions.md")).unwrap();
        for page in markdown::pages(&root.join("docs/decisions")).unwrap() {
            let name = page.path.file_name().unwrap().to_string_lossy();
            assert!(name == "README.md" || index.contains(&format!("({name})")), "{name}");
            assert!(chapter.contains(&format!("docs/decisions/{name}")), "{name}");
        }
    }

    #[test]
    fn every_chapter_is_in_the_summary() {
        let book = tasks::workspace_root().join("book/src");
        let summary = fs::read_to_string(book.join("SUMMARY.md")).unwrap();
        for page in markdown::pages(&book).unwrap() {
            let name = page.path.strip_prefix(&book).unwrap().display().to_string();
            assert!(name == "SUMMARY.md" || summary.contains(&format!("({name})")), "{name}");
        }
    }
}

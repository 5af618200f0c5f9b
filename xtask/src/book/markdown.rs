//! The parts of a Markdown file that the checks read: code blocks, links and headings.
//!
//! Only what our files contain is understood: fences of three backticks at the start of a line,
//! inline links, and headings with `#`.

use std::fs;
use std::path::{Path, PathBuf};

use super::{BookError, at};

/// A Markdown file.
#[derive(Debug)]
pub(crate) struct Page {
    /// Its path.
    pub(crate) path: PathBuf,
    /// Its text.
    pub(crate) text: String,
}

/// A fenced code block.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Block<'a> {
    /// The text after the backticks.
    pub(crate) info: &'a str,
    /// The number of the line with the opening backticks.
    pub(crate) line: usize,
    /// The code.
    pub(crate) code: String,
    /// Whether only blank lines are between this block and the one before.
    pub(crate) follows: bool,
}

/// Every Markdown file in a folder and those below, in the order of their paths.
pub(crate) fn pages(folder: &Path) -> Result<Vec<Page>, BookError> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(at(folder))? {
        let path = entry.map_err(at(folder))?.path();
        if path.is_dir() {
            found.extend(pages(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            found.push(page(&path)?);
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

/// One Markdown file.
pub(crate) fn page(path: &Path) -> Result<Page, BookError> {
    Ok(Page { path: path.to_owned(), text: fs::read_to_string(path).map_err(at(path))? })
}

/// The code blocks of a text.
pub(crate) fn blocks(text: &str) -> Vec<Block<'_>> {
    let mut found: Vec<Block<'_>> = Vec::new();
    let mut open: Option<Block<'_>> = None;
    let mut blank = false;
    for (number, line) in (1..).zip(text.lines()) {
        match (line.strip_prefix("```"), &mut open) {
            (Some(info), None) => {
                open = Some(Block { info: info.trim(), line: number, code: String::new(), follows: blank });
            }
            (Some(_), Some(_)) => {
                found.extend(open.take());
                blank = true;
            }
            (None, Some(block)) => {
                block.code += line;
                block.code.push('\n');
            }
            (None, None) => blank &= line.trim().is_empty(),
        }
    }
    found
}

/// The lines of a text that are not code, with their numbers.
pub(crate) fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut code = false;
    (1..).zip(text.lines()).filter(move |(_, line)| {
        let fence = line.trim_start().starts_with("```");
        code ^= fence;
        !code && !fence
    })
}

/// The target of every link and picture in a line of prose: from and to which byte it is.
pub(crate) fn targets(line: &str) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let bytes = line.as_bytes();
    let mut code = false;
    let mut place = 0;
    while place < bytes.len() {
        match bytes[place] {
            b'`' => code = !code,
            // A link whose text is code ends with `](: the backtick has closed the code.
            b']' if !code && bytes.get(place + 1) == Some(&b'(') => {
                if let Some(length) = line[place + 2..].find(')') {
                    found.push((place + 2, place + 2 + length));
                    place += 2 + length;
                }
            }
            _ => {}
        }
        place += 1;
    }
    found
}

/// Whether a target is a file of this repository: neither an address nor an address of mail.
pub(crate) fn is_local(target: &str) -> bool {
    !target.contains("://") && !target.starts_with("mailto:")
}

/// The anchors of a text's headings, as mdBook and GitHub make them.
pub(crate) fn anchors(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for (_, line) in prose(text) {
        let title = line.trim_start_matches('#');
        let level = line.len() - title.len();
        if !(1..=6).contains(&level) || !title.starts_with(' ') {
            continue;
        }
        let anchor = slug(title.trim());
        let twins = found
            .iter()
            .filter(|other| other.trim_end_matches(|c: char| c.is_ascii_digit() || c == '-') == anchor);
        found.push(match twins.count() {
            0 => anchor,
            count => format!("{anchor}-{count}"),
        });
    }
    found
}

fn slug(title: &str) -> String {
    let letter = |c: char| match c {
        c if c.is_alphanumeric() || c == '_' || c == '-' => Some(c.to_ascii_lowercase()),
        c if c.is_whitespace() => Some('-'),
        _ => None,
    };
    title.chars().filter_map(letter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_have_their_language_place_and_code() {
        let text = "a\n```sh\nls\n```\n\n```text\nfile\n```\nb\n\n```\nx\n```\n";
        let found = blocks(text);
        let seen: Vec<_> = found.iter().map(|b| (b.info, b.line, b.code.as_str(), b.follows)).collect();
        assert_eq!(seen, [("sh", 2, "ls\n", false), ("text", 6, "file\n", true), ("", 11, "x\n", false)]);
        assert_eq!(prose(text).map(|(number, _)| number).collect::<Vec<_>>(), [1, 5, 9, 10]);
    }

    #[test]
    fn links_are_found_in_prose_and_not_in_code() {
        let line = "see [a](b.md), [`c`](d.md#e) and `[f](g)`, ![h](i.svg)";
        let found: Vec<&str> = targets(line).into_iter().map(|(from, to)| &line[from..to]).collect();
        assert_eq!(found, ["b.md", "d.md#e", "i.svg"]);
        assert!(is_local("a.md#b") && !is_local("https://a.b"));
    }

    #[test]
    fn anchors_are_those_of_mdbook() {
        let text = "# A title\n```\n# code\n```\n## `x`: what, why?\n## Same\n## Same\n#no\n";
        assert_eq!(anchors(text), ["a-title", "x-what-why", "same", "same-1"]);
    }
}

//! Tables of measured numbers say at which revision they were taken.
//!
//! A figure without a revision cannot be called stale. So a table whose cells are mostly numbers is
//! followed, before the next table or heading, by a sentence such as
//!
//! ```text
//! Taken at 84d5f8a on the second machine.
//! ```
//!
//! It begins with `Taken` or `Computed` and names the revision by seven hexadecimal digits. Times
//! also need the machine, which readers check.

use std::path::{Path, PathBuf};

use super::BookError;
use super::markdown::{self, Page};

/// Checks the tables of README.md, of the documents and of the book. Returns how many have numbers.
pub(super) fn check(root: &Path) -> Result<usize, BookError> {
    let readme = root.join("README.md");
    let mut pages = vec![markdown::page(&readme)?];
    pages.extend(markdown::pages(&root.join("docs"))?);
    pages.extend(markdown::pages(&root.join("book/src"))?);
    let found: Vec<(PathBuf, Table<'_>)> = pages.iter().flat_map(|page| of_page(root, page)).collect();
    let without = found.iter().filter(|(_, table)| !table.has_revision);
    let without: Vec<String> =
        without.map(|(path, table)| format!("{}:{}: {}", path.display(), table.line, table.header)).collect();
    if without.is_empty() { Ok(found.len()) } else { Err(BookError::Tables(without)) }
}

fn of_page<'a>(root: &Path, page: &'a Page) -> Vec<(PathBuf, Table<'a>)> {
    let path = page.path.strip_prefix(root).unwrap_or(&page.path);
    tables(&page.text).into_iter().map(|table| (path.to_owned(), table)).collect()
}

/// A table of numbers.
#[derive(Debug, PartialEq, Eq)]
struct Table<'a> {
    /// The number of its first line.
    line: usize,
    header: &'a str,
    has_revision: bool,
}

/// The tables of a text whose cells are mostly numbers.
fn tables(text: &str) -> Vec<Table<'_>> {
    let lines: Vec<(usize, &str)> = markdown::prose(text).collect();
    let is_row = |place: usize| lines.get(place).is_some_and(|(_, line)| line.starts_with('|'));
    let starts: Vec<usize> =
        (0..lines.len()).filter(|&place| is_row(place) && (place == 0 || !is_row(place - 1))).collect();
    let mut found = Vec::new();
    for start in starts {
        let end = (start..lines.len()).find(|&place| !is_row(place)).unwrap_or(lines.len());
        let rows = &lines[(start + 2).min(end)..end];
        if is_measured(rows.iter().map(|(_, row)| *row)) {
            let after = lines[end..].iter().map(|(_, line)| *line);
            let after: Vec<&str> =
                after.take_while(|line| !line.starts_with('#') && !line.starts_with('|')).collect();
            let (line, header) = lines[start];
            found.push(Table { line, header, has_revision: names_revision(&after.join("\n")) });
        }
    }
    found
}

/// Whether at least half of the cells are numbers, in two rows or more. The first column has names.
/// A unit may follow a number, "64 bits" is a name.
fn is_measured<'a>(rows: impl Iterator<Item = &'a str>) -> bool {
    let is_number = |cell: &str| {
        let letters = cell.chars().filter(|c| c.is_alphabetic()).count();
        cell.trim_start_matches(['*', '−']).starts_with(|c: char| c.is_ascii_digit()) && letters <= 3
    };
    let (mut cells, mut numbers, mut with_numbers) = (0, 0, 0);
    for row in rows {
        let row: Vec<&str> = row.trim_matches('|').split('|').skip(1).map(str::trim).collect();
        let here = row.iter().filter(|cell| is_number(cell)).count();
        cells += row.iter().filter(|cell| !cell.is_empty()).count();
        numbers += here;
        with_numbers += usize::from(here > 0);
    }
    with_numbers >= 2 && 2 * numbers >= cells
}

/// Whether a paragraph says at which revision something was taken.
fn names_revision(text: &str) -> bool {
    let is_revision = |word: &str| {
        word.len() == 7
            && word.bytes().all(|c| c.is_ascii_hexdigit())
            && word.contains(|c: char| c.is_ascii_digit())
    };
    let says = |paragraph: &str| paragraph.starts_with("Taken ") || paragraph.starts_with("Computed ");
    let names = |paragraph: &str| paragraph.split(|c: char| !c.is_ascii_alphanumeric()).any(is_revision);
    text.split("\n\n").map(str::trim_start).any(|paragraph| says(paragraph) && names(paragraph))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEASURED: &str = "| system | s |\n|---|--:|\n| a | 1.5 |\n| b | **2.0** |\n";

    #[test]
    fn a_table_of_numbers_needs_a_revision() {
        let of = |after: &str| tables(&format!("# Title\n\n{MEASURED}{after}"))[0].has_revision;
        assert!(of("\nTaken at 84d5f8a on the second machine.\n"));
        assert!(of("\nTaken on the second machine: a at 51adad0,\nb at 59a2632.\n"));
        assert!(of("\nMore words.\n\nComputed at 907ae06 from bytes.\n"));
        assert!(!of("\nMore words.\n"));
        assert!(!of("\nTaken on the second machine.\n"), "no revision");
        assert!(!of("\nTaken at defaced.\n"), "a word, not a revision");
        assert!(!of("\n## Next\n\nTaken at 84d5f8a.\n"), "of another section");
        assert!(!of(&format!("\n{MEASURED}\nTaken at 84d5f8a.\n")), "of the next table");
        let first = &tables(MEASURED)[0];
        assert_eq!((first.line, first.header), (1, "| system | s |"));
    }

    #[test]
    fn the_tables_of_this_repository_name_theirs() {
        assert!(check(tasks::workspace_root()).unwrap() > 30);
    }

    #[test]
    fn a_table_of_words_does_not() {
        let words = "| key | meaning |\n|---|---|\n| a | 64 bits |\n| b | 32 bits |\n| c | all |\n";
        assert_eq!(tables(words), []);
        // Nor does code.
        assert_eq!(tables(&format!("```text\n{MEASURED}```\n")), []);
    }
}

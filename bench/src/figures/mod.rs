//! `cargo xtask figures`: the pictures of the book, as SVG.
//!
//! Each is computed from the code or from a formula, so that it shows what the solver does. The
//! files are in the repository (`book/src/images`); a test compares those that do not depend on
//! rounding.

mod aggregates;
mod bytes;
mod choosing;
mod drawing;
mod smoothing;
mod timeline;

use std::error::Error;
use std::fs;
use std::path::Path;

/// Draws a figure as SVG.
type Make = fn() -> Result<String, Box<dyn Error>>;

/// The figures by name.
const FIGURES: [(&str, Make); 5] = [
    ("aggregates", aggregates::svg),
    ("bytes", bytes::svg),
    ("choosing", choosing::svg),
    ("smoothing", smoothing::svg),
    ("timeline", timeline::svg),
];

/// Writes all figures.
pub(crate) fn run(root: &Path) -> Result<(), Box<dyn Error>> {
    for (name, make) in FIGURES {
        let path = root.join(format!("book/src/images/{name}.svg"));
        fs::write(&path, make()?).map_err(|error| format!("{}: {error}", path.display()))?;
        println!("{}", path.display());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figures_in_the_repository_are_those_of_the_code() {
        for (name, make) in FIGURES {
            let path = tasks::workspace_root().join(format!("book/src/images/{name}.svg"));
            let there = fs::read_to_string(&path).unwrap();
            assert!(there == make().unwrap(), "{name}: `cargo xtask figures` writes it");
        }
    }
}

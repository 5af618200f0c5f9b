//! Compares what a command prints with what the book shows, without the numbers.
//!
//! Times and memory differ between machines. A word that contains a digit is taken for a number,
//! and units are equal to each other. Every line of the book must occur in the output, in the same
//! order; the book may leave out lines. Counts of iterations, which are the same on every CPU, are
//! compared on demand only: otherwise every change of a method would have to change the book.

/// Units that change with the size of a number.
const UNITS: [&str; 9] = ["s", "ms", "µs", "B", "KiB", "MiB", "GiB", "kB", "MB"];

/// The first line of the book that the output lacks. With `exact`, counts of iterations must be
/// equal.
pub(crate) fn missing_line<'a>(book: &'a str, output: &str, exact: bool) -> Option<&'a str> {
    let words = |line| words(line, exact);
    let mut printed = output.lines().map(words);
    let shown = |line: &&str| !line.trim().is_empty() && line.trim() != "…";
    book.lines().filter(shown).find(|line| {
        let wanted = words(line);
        !printed.any(|words| words == wanted)
    })
}

fn words(line: &str, exact: bool) -> Vec<&str> {
    let mut found: Vec<&str> = line.split_whitespace().collect();
    for place in 0..found.len() {
        let counts = exact && found.get(place + 1).is_some_and(|next| next.starts_with("iteration"));
        if found[place].contains(|c: char| c.is_ascii_digit()) && !counts {
            found[place] = "#";
        } else if UNITS.contains(&found[place].trim_end_matches([',', ')', '.'])) {
            found[place] = "unit";
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_units_may_differ_and_words_may_not() {
        let output = "solved in 12 iterations\n\n  setup  0.18 s\n  solve  3 ms\n";
        assert_eq!(missing_line("solved in 9 iterations\n  …\n setup 77 ms\n", output, false), None);
        assert_eq!(
            missing_line("solved in nine iterations\n", output, false),
            Some("solved in nine iterations")
        );
        assert!(missing_line("solved in 9 iterations\n", output, true).is_some());
        assert_eq!(missing_line("solved in 12 iterations\n setup 9 s\n", output, true), None);
        // Lines are in order.
        assert_eq!(missing_line("solve 1 s\nsetup 1 s\n", output, false), Some("setup 1 s"));
    }
}

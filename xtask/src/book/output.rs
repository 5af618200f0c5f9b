//! Compares what a program prints with what the book shows, numbers included.
//!
//! Every line of the book must occur in the output, in the same order; the book may leave out
//! lines. Words are compared one by one, and a number is a word like any other: iterations, levels,
//! residuals, complexities and sizes have the same bits on every machine, so they must be equal.
//! Numbers that depend on the machine are not compared. The words around them identify them:
//!
//! | number | recognised by |
//! |---|---|
//! | time | a unit after it: `s`, `ms`, `µs`, `ns`, `min`, `h` |
//! | bandwidth | a unit after it that ends in `/s` |
//! | peak memory | the word `peak` before it |
//! | threads | the word `thread` or `threads` after it |
//! | instruction set | its name, such as `Avx512` |
//!
//! Where even the numbers may vary, `within=N%` after the language of a block says by how much
//! ([`Bound`]): matrices assembled by NumPy have last bits that depend on the processor, and a GPU
//! may take an iteration more.

/// Units of time.
const TIMES: [&str; 6] = ["s", "ms", "µs", "ns", "min", "h"];

/// Instruction sets, as reports name them.
const INSTRUCTION_SETS: [&str; 3] = ["Avx512", "Avx2", "Portable"];

/// By how much numbers of a block may differ from the output.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bound {
    /// The largest difference, relative to the number in the book; 0 if numbers must be equal.
    relative: f64,
}

impl Bound {
    /// Numbers must be equal.
    pub(super) const EQUAL: Bound = Bound { relative: 0.0 };

    /// Every number equals every other one.
    const NONE: Bound = Bound { relative: f64::INFINITY };

    /// The bound that `within=5%` states.
    pub(super) fn parse(text: &str) -> Option<Bound> {
        let percent: f64 = text.strip_prefix("within=")?.strip_suffix('%')?.parse().ok()?;
        (percent > 0.0 && percent <= 100.0).then_some(Bound { relative: percent / 100.0 })
    }
}

/// A line of the book that the output lacks.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Missing<'a> {
    /// The line.
    pub(super) line: &'a str,
    /// The first line of the output that has the same words, but other numbers.
    pub(super) printed: Option<&'a str>,
}

/// The first line of the book that the output lacks.
pub(super) fn missing_line<'a>(book: &'a str, output: &'a str, bound: Bound) -> Option<Missing<'a>> {
    let mut rest = output.lines();
    let shown = |line: &&str| !line.trim().is_empty() && line.trim() != "…";
    let line = book.lines().filter(shown).find(|line| !rest.any(|printed| equal(line, printed, bound)))?;
    let printed = output.lines().find(|printed| equal(line, printed, Bound::NONE));
    Some(Missing { line, printed })
}

/// Whether two lines have the same words, with numbers within the bound.
fn equal(book: &str, output: &str, bound: Bound) -> bool {
    let (book, output) = (words(book), words(output));
    book.len() == output.len() && book.iter().zip(&output).all(|(book, output)| book.equals(*output, bound))
}

/// A word of a line.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Word<'a> {
    /// A word that must be the same, or a number that must be within the bound.
    Fixed(&'a str),
    /// A number that depends on the machine, its unit, or the name of an instruction set.
    Varying,
}

impl Word<'_> {
    fn equals(self, other: Word<'_>, bound: Bound) -> bool {
        match (self, other) {
            (Word::Fixed(one), Word::Fixed(other)) => {
                one == other || number(one).zip(number(other)).is_some_and(|(a, b)| close(a, b, bound))
            }
            _ => self == other,
        }
    }
}

fn close(a: f64, b: f64, bound: Bound) -> bool {
    bound.relative > 0.0 && (bound == Bound::NONE || (a - b).abs() <= bound.relative * a.abs())
}

fn words(line: &str) -> Vec<Word<'_>> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let bare = |place: usize| words.get(place).map_or("", |word| without_punctuation(word));
    let is_number = |place: usize| number(bare(place)).is_some();
    let is_time = |unit: &str| TIMES.contains(&unit) || unit.ends_with("/s");
    let is_threads = |unit: &str| unit == "thread" || unit == "threads";
    let is_peak = |place: usize| place > 0 && bare(place - 1) == "peak";
    // The unit after a number that varies varies with it: 0.9 s and 900 ms, 1 thread and 2 threads.
    let varies = |place: usize| {
        let unit = bare(place + 1);
        is_number(place) && (is_time(unit) || is_threads(unit) || is_peak(place))
    };
    let of_word = |place: usize| {
        let is_unit = place > 0 && varies(place - 1);
        match is_unit || varies(place) || INSTRUCTION_SETS.contains(&bare(place)) {
            true => Word::Varying,
            false => Word::Fixed(words[place]),
        }
    };
    (0..words.len()).map(of_word).collect()
}

fn without_punctuation(word: &str) -> &str {
    word.trim_matches(|c: char| "()[],;:.".contains(c))
}

/// The value of a word that is a number, with commas between thousands.
fn number(word: &str) -> Option<f64> {
    let word = without_punctuation(word);
    let digits = word.contains(|c: char| c.is_ascii_digit());
    digits.then(|| word.replace(',', "").parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "\
A.mtx: 27,000 rows, 183,600 entries

converged in 13 iterations: relative residual 2.26e-9 (tolerance 1e-8)

  device   cpu (Avx2, 1 thread)
  setup    0.18 s
  solve    3.0 ms (12.5 GB/s)
  memory   peak 103 MiB
  level    rows    memory
      0  27,000   1.5 MiB
";

    /// The line, if the output lacks it, and the printed line with other numbers.
    fn missing(line: &str) -> Option<(&str, Option<&str>)> {
        missing_line(line, OUTPUT, Bound::EQUAL).map(|missing| (missing.line, missing.printed))
    }

    #[test]
    fn a_wrong_number_is_a_difference() {
        for line in [
            "A.mtx: 27,001 rows, 183,600 entries",
            "A.mtx: 27000 rows, 183,600 entries",
            "converged in 14 iterations: relative residual 2.26e-9 (tolerance 1e-8)",
            "converged in 13 iterations: relative residual 2.27e-9 (tolerance 1e-8)",
            "converged in 13 iterations: relative residual 2.26e-9 (tolerance 1e-9)",
            "      0  27,000   1.6 MiB",
        ] {
            let (found, printed) = missing(line).unwrap();
            assert_eq!(found, line);
            // The message shows the line that has the right number.
            assert!(OUTPUT.lines().any(|right| Some(right) == printed), "{line}: {printed:?}");
        }
        assert_eq!(missing("converged in few iterations"), Some(("converged in few iterations", None)));
        assert_eq!(missing("      0  27,000   1.5 KiB").unwrap().1, None, "a unit of a size is fixed");
    }

    #[test]
    fn what_depends_on_the_machine_may_differ() {
        for line in [
            "  device   cpu (Avx512, 2 threads)",
            "  setup    77.1 ms",
            "  solve    41.9 µs (9.5 GB/s)",
            "  memory   peak 1.2 GiB",
            OUTPUT,
        ] {
            assert_eq!(missing(line), None);
        }
        // The word is compared even where the number is not.
        assert!(missing("  solved   3.0 ms (12.5 GB/s)").is_some());
        assert!(missing("  setup    fast s").is_some(), "a time is a number");
    }

    #[test]
    fn lines_may_be_left_out_but_are_in_order() {
        assert_eq!(missing("A.mtx: 27,000 rows, 183,600 entries\n  …\n\n  setup 1 s\n"), None);
        let (line, printed) = missing("  solve 1 s (1 GB/s)\n  setup 1 s\n").unwrap();
        assert_eq!((line, printed), ("  setup 1 s", Some("  setup    0.18 s")));
    }

    #[test]
    fn a_block_states_by_how_much_its_numbers_may_differ() {
        let bound = Bound::parse("within=5%").unwrap();
        assert_eq!(missing_line("without: 43 iterations", "without: 45 iterations", bound), None);
        assert!(missing_line("without: 43 iterations", "without: 46 iterations", bound).is_some());
        assert!(missing_line("step 0: 8 iterations", "step 0: 9 iterations", bound).is_some());
        assert!(missing_line("residual 5.8e-9", "residual 6.2e-9", bound).is_some());
        for wrong in ["within=5", "within=%", "within=-1%", "within=0%", "5%", "within=nan%"] {
            assert_eq!(Bound::parse(wrong), None, "{wrong}");
        }
    }
}

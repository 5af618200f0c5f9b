//! Human-readable numbers and plain-text tables.

pub use ziggurat::sparse::words::bytes;
use ziggurat::sparse::words::plural;

/// Groups digits by thousands: 1,234,567.
///
/// ```
/// assert_eq!(ziggurat_report::figures::grouped(1_234_567), "1,234,567");
/// ```
pub fn grouped(count: usize) -> String {
    let digits = count.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Formats a count with its noun: "1 row" or "1,234 rows".
///
/// ```
/// assert_eq!(ziggurat_report::figures::counted(2000, "row"), "2,000 rows");
/// ```
pub fn counted(count: usize, what: &str) -> String {
    format!("{} {}", grouped(count), plural(&count, what))
}

/// Formats the size of a matrix, as in the first line of a report.
///
/// ```
/// assert_eq!(ziggurat_report::figures::size(8000, 8000, 53_600), "8,000 rows, 53,600 entries");
/// ```
pub fn size(rows: usize, cols: usize, nnz: usize) -> String {
    let columns = if rows == cols { String::new() } else { format!(", {}", counted(cols, "column")) };
    format!("{}{columns}, {}", counted(rows, "row"), counted(nnz, "entry"))
}

/// Formats a value with four significant digits.
///
/// Magnitudes from 10⁻³ to 10⁵ are written as decimals, others in scientific notation.
///
/// ```
/// use ziggurat_report::figures::value;
/// assert_eq!((value(1.0 / 3.0), value(1e-8)), ("0.3333".to_owned(), "1e-8".to_owned()));
/// ```
pub fn value(value: f64) -> String {
    let short = format!("{value:.3e}").parse::<f64>().unwrap_or(value);
    if value == 0.0 || (1e-3..1e5).contains(&value.abs()) { short.to_string() } else { format!("{short:e}") }
}

/// Formats a duration with about three significant digits.
///
/// ```
/// assert_eq!(ziggurat_report::figures::seconds(0.0123), "12.3 ms");
/// ```
pub fn seconds(seconds: f64) -> String {
    // An empty floating-point sum is −0; adding 0 removes the sign.
    match seconds + 0.0 {
        s if s > 0.0 && s < 0.995e-4 => format!("{:.1} µs", s * 1e6),
        s if s < 0.0995 => format!("{:.1} ms", s * 1e3),
        s if s < 9.995 => format!("{s:.2} s"),
        s => format!("{s:.1} s"),
    }
}

/// Formats a part of a whole as a percentage. Only exact matches give "all" and "none".
///
/// ```
/// assert_eq!(ziggurat_report::figures::share(999_999, 1_000_000), "more than 99.9 %");
/// ```
pub fn share(part: usize, whole: usize) -> String {
    match part {
        _ if part == whole => "all".to_owned(),
        0 => "none".to_owned(),
        _ => percent(part as f64 / whole.max(1) as f64),
    }
}

/// Formats a fraction as a percentage. Only exact values round to 0 and 100.
///
/// ```
/// assert_eq!(ziggurat_report::figures::percent(0.331), "33 %");
/// ```
pub fn percent(fraction: f64) -> String {
    match 100.0 * fraction {
        p if p > 0.0 && p < 0.1 => "less than 0.1 %".to_owned(),
        p if p > 99.9 && p < 100.0 => "more than 99.9 %".to_owned(),
        p if p < 10.0 => format!("{p:.1} %"),
        p => format!("{p:.0} %"),
    }
}

/// Wraps text at whitespace into lines of at most `width` characters. A longer word gets its own
/// line.
///
/// ```
/// assert_eq!(ziggurat_report::figures::wrapped("a bc  def", 6), ["a bc", "def"]);
/// ```
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Aligns the columns of a table: the first `numbers` columns to the right, the others to the left.
///
/// ```
/// let table = [["name", "rows"], ["A", "12"]].map(|line| line.map(str::to_owned));
/// assert_eq!(ziggurat_report::figures::aligned(&table, 0), "  name  rows\n  A     12\n");
/// ```
pub fn aligned<const N: usize>(table: &[[String; N]], numbers: usize) -> String {
    let width = |column: usize| table.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; N] = std::array::from_fn(width);
    table.iter().fold(String::new(), |text, line| {
        let cells = line.iter().enumerate().map(|(column, cell)| match column < numbers {
            true => format!("  {cell:>width$}", width = widths[column]),
            false => format!("  {cell:<width$}", width = widths[column]),
        });
        text + cells.collect::<String>().trim_end() + "\n"
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_grouped() {
        assert_eq!(
            [0, 999, 1000, 1_234_567].map(grouped),
            ["0", "999", "1,000", "1,234,567"].map(str::to_owned)
        );
        assert_eq!((counted(1, "row"), counted(2000, "row")), ("1 row".to_owned(), "2,000 rows".to_owned()));
        assert_eq!(
            (size(1, 1, 1), size(1, 2, 0)),
            ("1 row, 1 entry".into(), "1 row, 2 columns, 0 entries".into())
        );
    }

    #[test]
    fn values_are_short() {
        for (number, text) in [
            (6.0, "6"),
            (-0.01, "-0.01"),
            (1.0 / 3.0, "0.3333"),
            (12345.678, "12350"),
            (1e-8, "1e-8"),
            (6.02214e23, "6.022e23"),
            (0.0, "0"),
            (99999.9, "100000"),
        ] {
            assert_eq!(value(number), text);
        }
    }

    #[test]
    fn bytes_seconds_and_shares_have_units() {
        assert_eq!(bytes(999), "999 B");
        assert_eq!(bytes(1024), "1.0 KiB");
        assert_eq!(bytes(300 << 20), "300 MiB");
        assert_eq!(bytes(1 << 40), "1.0 TiB");
        assert_eq!(
            (seconds(0.0123), seconds(1.5), seconds(61.23)),
            ("12.3 ms".into(), "1.50 s".into(), "61.2 s".into())
        );
        assert_eq!((seconds(2.5e-5), seconds(-0.0)), ("25.0 µs".into(), "0.0 ms".into()));
        assert_eq!(share(3, 3), "all");
        assert_eq!(share(0, 3), "none");
        assert_eq!(share(1, 1_000_000), "less than 0.1 %");
        assert_eq!(share(999_999, 1_000_000), "more than 99.9 %");
        assert_eq!((share(1, 3), share(1, 30)), ("33 %".to_owned(), "3.3 %".to_owned()));
    }

    #[test]
    fn text_wraps_at_whitespace() {
        assert_eq!(wrapped("a bc  def ghij", 6), ["a bc", "def", "ghij"]);
        assert_eq!(wrapped("enormous w", 4), ["enormous", "w"]);
        assert!(wrapped("", 4).is_empty());
    }
}

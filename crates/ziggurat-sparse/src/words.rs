//! Counts and numbers in messages: "1 row" and "2 rows", and 1e-310 instead of 310 zeros.

use std::fmt::{self, Display};

/// A count with its noun, in the singular or the plural.
///
/// ```
/// use ziggurat_sparse::words::counted;
/// assert_eq!((counted(1, "entry"), counted(20_usize, "entry")), ("1 entry".into(), "20 entries".into()));
/// ```
pub fn counted<N: Copy + Display + PartialEq + From<u8>>(count: N, noun: &str) -> String {
    let noun = plural(&count, noun);
    format!("{count} {noun}")
}

/// A noun as it follows a count. It is regular: it ends in -s, -es or -ies.
///
/// ```
/// use ziggurat_sparse::words::plural;
/// assert_eq!([0_u64, 1, 2].map(|count| plural(&count, "level")), ["levels", "level", "levels"]);
/// assert_eq!((plural(&2_u8, "process"), plural(&2_u8, "entry")), ("processes".into(), "entries".into()));
/// ```
pub fn plural<N: PartialEq + From<u8>>(count: &N, noun: &str) -> String {
    if *count == N::from(1) {
        return noun.to_owned();
    }
    match noun.strip_suffix('y') {
        Some(stem) if !stem.ends_with(['a', 'e', 'o', 'u']) => format!("{stem}ies"),
        _ if noun.ends_with('s') => format!("{noun}es"),
        _ => format!("{noun}s"),
    }
}

/// The form of a verb that a count needs, of those for one and for several.
///
/// ```
/// use ziggurat_sparse::words::agreeing;
/// assert_eq!((agreeing(&1_u8, "is", "are"), agreeing(&0_u8, "is", "are")), ("is", "are"));
/// ```
pub fn agreeing<'w, N: PartialEq + From<u8>>(count: &N, one: &'w str, several: &'w str) -> &'w str {
    if *count == N::from(1) { one } else { several }
}

/// A number of bytes with a binary unit and about three digits.
///
/// ```
/// assert_eq!(ziggurat_sparse::words::bytes(300 << 20), "300 MiB");
/// ```
pub fn bytes(bytes: u64) -> String {
    let mut size = bytes as f64;
    let mut unit = "B";
    for larger in ["KiB", "MiB", "GiB", "TiB"] {
        if size < 1000.0 {
            break;
        }
        (size, unit) = (size / 1024.0, larger);
    }
    let digits = usize::from(unit != "B" && size < 99.95);
    format!("{size:.digits$} {unit}")
}

/// A number with all its digits: as a decimal if it is of an ordinary size, otherwise in scientific
/// notation.
///
/// ```
/// use ziggurat_sparse::words::number;
/// assert_eq!([0.25, -3.0, 1e-310].map(|value| number(value).to_string()), ["0.25", "-3", "1e-310"]);
/// ```
pub fn number(value: f64) -> impl Display {
    Number(value)
}

struct Number(f64);

impl Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Number(value) = self;
        match value.abs() {
            size if size == 0.0 || (1e-5..1e15).contains(&size) || !size.is_finite() => write!(f, "{value}"),
            _ => write!(f, "{value:e}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_singular_and_everything_else_plural() {
        for (noun, plural) in [
            ("row", "rows"),
            ("entry", "entries"),
            ("array", "arrays"),
            ("process", "processes"),
            ("row pointer", "row pointers"),
        ] {
            assert_eq!(counted(1_usize, noun), format!("1 {noun}"));
            for count in [0_u64, 2, 11, u64::MAX] {
                assert_eq!(counted(count, noun), format!("{count} {plural}"));
            }
        }
        assert_eq!((counted(-1_i64, "row"), counted(1_u128, "row")), ("-1 rows".into(), "1 row".into()));
    }

    #[test]
    fn extreme_numbers_are_short() {
        for (value, text) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (0.1, "0.1"),
            (1e-5, "0.00001"),
            (-9.5e-6, "-9.5e-6"),
            (5e-324, "5e-324"),
            (f64::MAX, "1.7976931348623157e308"),
            (123_456_789.0, "123456789"),
            (1e15, "1e15"),
            (f64::NAN, "NaN"),
            (f64::NEG_INFINITY, "-inf"),
        ] {
            assert_eq!(number(value).to_string(), text);
        }
    }
}

//! Text as a terminal shows it.

use std::borrow::Cow;

/// Text without control characters, which could come from the name of a file and change the
/// terminal. They are shown as escapes.
pub(crate) fn printable(text: &str) -> Cow<'_, str> {
    let harmless = |letter: char| !letter.is_control() || letter == '\n' || letter == '\t';
    if text.chars().all(harmless) {
        return Cow::Borrowed(text);
    }
    let show = |letter: char| {
        if harmless(letter) { letter.to_string() } else { letter.escape_default().to_string() }
    };
    Cow::Owned(text.chars().map(show).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_shown_as_escapes() {
        assert_eq!(printable("A.mtx: 3 × 3\n\tx"), "A.mtx: 3 × 3\n\tx");
        assert_eq!(printable("a\x1b[31m\x07\u{9b}b\rc"), "a\\u{1b}[31m\\u{7}\\u{9b}b\\rc");
    }
}

//! Parsing the numbers on a line: one pass over the bytes, without copying.
//!
//! Indices are parsed digit by digit, values by `str::parse`, which is correctly rounded and fast
//! (Lemire, "Number parsing at a gigabyte per second", 2021). Bytes are not assumed to be UTF-8: an
//! invalid word is reported like any other malformed word.

use crate::io::fault::{Fault, shown};

/// Bytes that separate words. They include the carriage return, so CRLF ends a line just as LF
/// does.
fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | 0x0b | 0x0c)
}

/// A position in the text, and the number of its line.
pub(super) struct Cursor<'a> {
    text: &'a [u8],
    at: usize,
    /// Line ends passed so far.
    ended: u64,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a [u8]) -> Self {
        Cursor { text, at: 0, ended: 0 }
    }

    /// The number of the current line within the text, from one.
    pub(super) fn line(&self) -> u64 {
        self.ended + 1
    }

    /// Lines up to here. The last one counts even without a line end.
    pub(super) fn lines(&self) -> u64 {
        self.ended + u64::from(self.at > 0 && self.text[self.at - 1] != b'\n')
    }

    /// Bytes passed so far.
    pub(super) fn position(&self) -> usize {
        self.at
    }

    /// Bytes before the current line.
    pub(super) fn line_begin(&self) -> usize {
        self.text[..self.at].iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1)
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    #[inline]
    fn skip_blanks(&mut self) {
        while self.peek().is_some_and(is_blank) {
            self.at += 1;
        }
    }

    /// Moves to the first word of the next line that is neither empty nor a comment. Returns
    /// `false` at the end of the text.
    #[inline]
    pub(super) fn next_data_line(&mut self) -> bool {
        loop {
            self.skip_blanks();
            match self.peek() {
                None => return false,
                Some(b'\n') => {
                    self.at += 1;
                    self.ended += 1;
                }
                Some(b'%') => self.skip_line(),
                Some(_) => return true,
            }
        }
    }

    /// Skips to the end of this line.
    #[inline]
    pub(super) fn skip_line(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.iter().position(|&byte| byte == b'\n').unwrap_or(rest.len());
    }

    /// The next word of this line; empty at the end of the line.
    #[inline]
    pub(super) fn word(&mut self) -> &'a [u8] {
        self.skip_blanks();
        let rest = &self.text[self.at..];
        let length = rest.iter().position(|&byte| byte == b'\n' || is_blank(byte)).unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }

    /// The next word; `what` names it in the error if it is missing.
    #[inline]
    fn expect_word(&mut self, what: &'static str) -> Result<&'a [u8], Fault> {
        match self.word() {
            [] => Err(Fault::Missing { what }),
            word => Ok(word),
        }
    }

    /// Rejects further words on this line.
    #[inline]
    pub(super) fn end_line(&mut self) -> Result<(), Fault> {
        match self.word() {
            [] => Ok(()),
            word => Err(Fault::Extra { found: shown(word) }),
        }
    }

    /// A size: a whole number. It saturates at `u64::MAX`, which every later check rejects.
    pub(super) fn count(&mut self, what: &'static str) -> Result<u64, Fault> {
        let word = self.expect_word(what)?;
        match str::from_utf8(word) {
            Ok(digits) if word.iter().all(u8::is_ascii_digit) => Ok(digits.parse().unwrap_or(u64::MAX)),
            _ => Err(Fault::NotACount { what, found: shown(word) }),
        }
    }

    /// An index from 1 to `extent`, converted to zero-based.
    #[inline]
    pub(super) fn index(&mut self, what: &'static str, extent: u64) -> Result<u64, Fault> {
        self.skip_blanks();
        let begin = self.at;
        let mut index = 0u64;
        while let Some(digit) = self.peek().map(|byte| byte.wrapping_sub(b'0')).filter(|&digit| digit < 10) {
            // Saturating: `header` guarantees that no matrix has 2^64 - 1 rows, so an index that
            // does not fit is out of range.
            index = index.saturating_mul(10).saturating_add(u64::from(digit));
            self.at += 1;
        }
        let whole = self.peek().is_none_or(|byte| byte == b'\n' || is_blank(byte));
        if self.at == begin || !whole || index == 0 || index > extent {
            self.at = begin;
            return Err(self.wrong_index(what, extent));
        }
        Ok(index - 1)
    }

    #[cold]
    fn wrong_index(&mut self, what: &'static str, extent: u64) -> Fault {
        match self.expect_word(what) {
            Err(fault) => fault,
            Ok(word) if word.iter().all(u8::is_ascii_digit) => {
                Fault::IndexOutOfRange { what, found: shown(word), extent }
            }
            Ok(word) => Fault::NotACount { what, found: shown(word) },
        }
    }

    /// A finite number. Fortran's exponent letter `D` is accepted.
    #[inline]
    pub(super) fn real(&mut self) -> Result<f64, Fault> {
        let word = self.expect_word("the value")?;
        match str::from_utf8(word).ok().and_then(|word| word.parse::<f64>().ok()) {
            Some(value) if value.is_finite() => Ok(value),
            Some(_) => Err(Fault::NotFinite { found: shown(word) }),
            None => unusual_real(word),
        }
    }

    /// A whole number with an optional sign. Beyond 2^53 it is rounded to the nearest double.
    pub(super) fn integer(&mut self) -> Result<f64, Fault> {
        self.skip_blanks();
        let begin = self.at;
        let word = self.expect_word("the value")?;
        let digits = word.strip_prefix(b"-").or_else(|| word.strip_prefix(b"+")).unwrap_or(word);
        if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
            return Err(Fault::NotAnInteger { found: shown(word) });
        }
        self.at = begin;
        self.real()
    }
}

/// Handles words that `str::parse` rejects: exponents written with `D`, or words that are not
/// numbers.
#[cold]
fn unusual_real(word: &[u8]) -> Result<f64, Fault> {
    let as_rust = word.iter().map(|byte| if matches!(byte, b'd' | b'D') { b'e' } else { *byte }).collect();
    match String::from_utf8(as_rust).ok().and_then(|word| word.parse::<f64>().ok()) {
        Some(value) if value.is_finite() => Ok(value),
        Some(_) => Err(Fault::NotFinite { found: shown(word) }),
        None => Err(Fault::NotANumber { found: shown(word) }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_of_every_dialect() {
        let mut cursor = Cursor::new(b"1 -2.5 +3e2 1.5D+03 -2d-1 .5 6. -0");
        let read: Vec<f64> = (0..8).map(|_| cursor.real().unwrap()).collect();
        assert_eq!(read, [1.0, -2.5, 300.0, 1500.0, -0.2, 0.5, 6.0, 0.0]);
        assert!(read[7].is_sign_negative());
    }

    #[test]
    fn lines_are_counted_through_comments_blanks_and_crlf() {
        let mut cursor = Cursor::new(b"\r\n% note\r\n  \t\n 7 8\r\n%\n9");
        assert!(cursor.next_data_line());
        assert_eq!((cursor.line(), cursor.index("row", 9), cursor.index("row", 9)), (4, Ok(6), Ok(7)));
        assert_eq!(cursor.end_line(), Ok(()));
        assert!(cursor.next_data_line());
        assert_eq!((cursor.line(), cursor.index("row", 9)), (6, Ok(8)));
        assert!(!cursor.next_data_line());
        assert_eq!(cursor.lines(), 6);
    }

    #[test]
    fn a_long_or_binary_word_is_shown_short_and_escaped() {
        assert_eq!(shown(b"\xff\0a"), "\\xff\\x00a");
        assert_eq!(shown(&[b'x'; 41]), format!("{}…", "x".repeat(40)));
    }

    proptest! {
        #[test]
        fn values_read_as_the_standard_library_reads_them(bits in any::<u64>()) {
            let value = f64::from_bits(bits);
            prop_assume!(value.is_finite());
            for text in [format!("{value}"), format!("{value:e}"), format!("{value:E}"), format!("{value:e}").replace('e', "D")] {
                prop_assert_eq!(Cursor::new(text.as_bytes()).real().unwrap().to_bits(), bits, "{}", text);
            }
        }

        #[test]
        fn indices_read_as_the_standard_library_reads_them(
            index in any::<u64>(),
            extent in 0..u64::MAX,
            shift in 0u32..64,
        ) {
            let extent = extent >> shift;
            for index in [index, index >> shift, index % 100] {
                let expected = (1..=extent).contains(&index).then(|| index - 1);
                prop_assert_eq!(Cursor::new(index.to_string().as_bytes()).index("row", extent).ok(), expected);
            }
            // Beyond 64 bits.
            let beyond = format!("{}0", u64::MAX);
            prop_assert!(Cursor::new(beyond.as_bytes()).index("row", extent).is_err());
        }
    }
}

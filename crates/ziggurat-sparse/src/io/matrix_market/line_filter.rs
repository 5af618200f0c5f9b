//! Selects data lines by number from a text that can only be read sequentially.
//!
//! Lines outside the range are replaced by blank lines. The parser therefore still counts lines
//! correctly, reports correct line numbers in errors, and never sees the contents of skipped lines.
//! The cost is one pass over the bytes and a copy of those that are kept.

use std::ops::Range;

use super::cursor::Cursor;

pub(super) struct LineFilter {
    wanted: Range<u64>,
    /// Data lines that the file declares.
    declared: u64,
    /// Data lines processed so far.
    passed: u64,
}

impl LineFilter {
    pub(super) fn new(wanted: Range<u64>, declared: u64) -> Self {
        debug_assert!(wanted.start <= wanted.end && wanted.end <= declared);
        LineFilter { wanted, declared, passed: 0 }
    }

    /// The number of selected lines.
    pub(super) fn wanted(&self) -> u64 {
        self.wanted.end - self.wanted.start
    }

    /// The number of lines processed, selected or not.
    pub(super) fn passed(&self) -> u64 {
        self.passed
    }

    /// The next whole lines of the text, with unselected lines blanked. Lines beyond the declared
    /// number are kept, so that the parser reports the first of them as an excess entry.
    pub(super) fn pass(&mut self, text: &[u8]) -> Vec<u8> {
        let mut cursor = Cursor::new(text);
        let (mut kept, mut copied) = (Vec::new(), 0);
        while cursor.next_data_line() {
            let stays = self.wanted.contains(&self.passed) || self.passed >= self.declared;
            self.passed += 1;
            if stays {
                cursor.skip_line();
                continue;
            }
            kept.extend_from_slice(&text[copied..cursor.position()]);
            cursor.skip_line();
            copied = cursor.position();
            if copied == text.len() {
                kept.push(b' '); // a last line without a line end still counts as a line
            }
        }
        kept.extend_from_slice(&text[copied..]);
        kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn lines_are_kept_by_number_and_stay_where_they_were(
            lines in proptest::collection::vec(prop_oneof![Just("%"), Just(" "), Just("\r"), Just(" a b\r"), Just("c")], 0..40),
            cuts in proptest::array::uniform3(0u64..30),
            block in 1usize..40,
        ) {
            let mut cuts = cuts;
            cuts.sort_unstable();
            let [start, end, declared] = cuts;
            let mut filter = LineFilter::new(start..end, declared);
            let text = lines.join("\n");
            let whole_lines: Vec<&[u8]> = text.as_bytes().split_inclusive(|&byte| byte == b'\n').collect();
            let kept: Vec<u8> =
                whole_lines.chunks(block).flat_map(|lines| filter.pass(&lines.concat())).collect();

            let mut number = 0;
            let mut expected = Vec::new();
            for &line in &lines {
                let data = line.trim().starts_with(|first| first != '%');
                let stays = !data || (start..end).contains(&number) || number >= declared;
                expected.push(if stays { line.trim() } else { "" });
                number += u64::from(data);
            }
            let found = String::from_utf8(kept).unwrap();
            let found: Vec<&str> = found.split('\n').map(str::trim).collect();
            if !lines.is_empty() {
                prop_assert_eq!(found, expected);
            }
            prop_assert_eq!(filter.passed(), number);
        }
    }
}

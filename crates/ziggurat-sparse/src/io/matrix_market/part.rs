//! One part of a Matrix Market file, for processes that share the reading.
//!
//! A plain coordinate file with `b` bytes after its size line is cut at bytes ⌊k·b/p⌋. Part k
//! starts after the first line end at or after its cut and ends where part k + 1 starts, so every
//! line belongs to exactly one part. A process reads its own part, up to 64 KiB (or the header) at
//! the start of the file, and 8 KiB at either end of the part. It holds 24 bytes per entry in
//! memory and reads b/p bytes from disk.
//!
//! Two kinds of files cannot be cut: compressed text has no random access, and a line of an `array`
//! is meaningless without its number. Every process reads such a file from start to end and keeps
//! the data lines numbered ⌊k·m/p⌋ to ⌊(k + 1)·m/p⌋, where m is the number of lines the size line
//! declares.

use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;

use super::header::{Header, Layout, StoredSymmetry};
use super::input::{Head, Input};
use super::place::Place;
use super::read::{BLOCK, array_lines, coordinate};
use crate::io::part::cut;
use crate::io::{Fault, MatrixPart, ReadError};

/// Reads part `part` of `parts` of a matrix.
pub(in crate::io) fn read_matrix_part(
    mut reader: impl Read + Seek + Send,
    name: &Path,
    part: usize,
    parts: usize,
) -> Result<MatrixPart, ReadError> {
    matrix_part(&mut reader, name, part, parts, BLOCK)
}

/// Opens a file whose rows and columns fit global indices.
pub(super) fn open_global<'r, 'n>(
    reader: impl Read + Send + 'r,
    name: &'n Path,
    block: usize,
) -> Result<Input<'r, 'n>, ReadError> {
    let input = Input::open(reader, name, block)?;
    input.head.header.check_global().map_err(|fault| input.head.at_size_line(fault))?;
    Ok(input)
}

fn matrix_part(
    reader: &mut (impl Read + Seek + Send),
    name: &Path,
    part: usize,
    parts: usize,
    block: usize,
) -> Result<MatrixPart, ReadError> {
    if part >= parts {
        return Err(ReadError::NoSuchPart { path: name.to_owned(), part, parts });
    }
    let input = open_global(&mut *reader, name, block)?;
    let header = input.head.header;
    let lines = cut(header.stored, part, parts)..cut(header.stored, part + 1, parts);
    let mut input = if header.layout == Layout::Array || input.is_gzip() {
        input.only(lines.clone())
    } else {
        let head = input.head;
        drop(input); // discards what was read beyond the header
        let bytes = byte_range(reader, &head, part, parts, block)?;
        reader.seek(SeekFrom::Start(bytes.start)).map_err(|cause| head.end.io(cause))?;
        Input::resume(head, reader.take(bytes.end.saturating_sub(bytes.start)), bytes.start, block)
    };
    let entries = match header.layout {
        Layout::Array => array_entries(&header, lines.start, array_lines(&mut input)?),
        Layout::Coordinate => input.entries(|cursor, entries: &mut Vec<_>| {
            coordinate(cursor, &header, |row, column, value| entries.push((row, column, value)))
        })?,
    };
    let Header { rows, cols, symmetry, stored: declared, .. } = header;
    Ok(MatrixPart { rows, cols, symmetry, declared, stored: input.stored(), entries })
}

/// The byte range of a part of a plain file.
fn byte_range(
    reader: &mut (impl Read + Seek),
    head: &Head<'_>,
    part: usize,
    parts: usize,
    longest: usize,
) -> Result<Range<u64>, ReadError> {
    let begin = head.end.bytes;
    let end = reader.seek(SeekFrom::End(0)).map_err(|cause| head.end.io(cause))?.max(begin);
    let mut boundary = |part| match part {
        0 => Ok(begin),
        _ if part == parts => Ok(end),
        _ => line_begin(reader, head.end.at_byte(begin + cut(end - begin, part, parts)), longest),
    };
    Ok(boundary(part)?..boundary(part + 1)?)
}

/// Start of the line after the first line end at or after `cut`; the end of the file if there is
/// none.
fn line_begin(reader: &mut (impl Read + Seek), cut: Place<'_>, longest: usize) -> Result<u64, ReadError> {
    let mut search = || -> io::Result<usize> {
        reader.seek(SeekFrom::Start(cut.bytes))?;
        BufReader::new(reader.by_ref().take(longest as u64 + 1)).skip_until(b'\n')
    };
    let skipped = search().map_err(|cause| cut.io(cause))?;
    if skipped > longest {
        return Err(cut.next_line(Fault::LineTooLong { limit: longest }));
    }
    Ok(cut.bytes + skipped as u64)
}

/// Entries of an array from the values on its lines `first`, `first + 1`, …, in column-major order.
/// With symmetry, each column starts at the diagonal (skew: below it).
fn array_entries(header: &Header, first: u64, values: Vec<f64>) -> Vec<(u64, u64, f64)> {
    let rows = header.rows;
    let mut entries = Vec::with_capacity(values.len());
    if values.is_empty() {
        return entries; // there may be no columns
    }
    let (top, sign): (fn(u64) -> u64, _) = match header.symmetry {
        StoredSymmetry::General => (|_| 0, None),
        StoredSymmetry::Symmetric => (|column| column, Some(1.0)),
        StoredSymmetry::Skew => (|column| column + 1, Some(-1.0)),
    };
    // The whole file was read, so every entry of the array has a line, and there are no more
    // columns than lines.
    let (mut column, mut above) = (0, first);
    while above >= rows - top(column) {
        above -= rows - top(column);
        column += 1;
    }
    let mut row = top(column) + above;
    for value in values {
        while row == rows {
            column += 1;
            row = top(column);
        }
        if value != 0.0 {
            entries.push((row, column, value));
            if let Some(sign) = sign.filter(|_| row != column) {
                entries.push((column, row, sign * value));
            }
        }
        row += 1;
    }
    entries
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A file that counts the bytes read from it.
    struct Counted<'a> {
        file: io::Cursor<&'a [u8]>,
        read: usize,
    }

    impl Read for Counted<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let count = self.file.read(buffer)?;
            self.read += count;
            Ok(count)
        }
    }

    impl Seek for Counted<'_> {
        fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
            self.file.seek(to)
        }
    }

    /// A part, and the number of bytes read for it.
    fn read(text: &[u8], part: usize, parts: usize, block: usize) -> (Result<MatrixPart, String>, usize) {
        let mut reader = Counted { file: io::Cursor::new(text), read: 0 };
        let found = matrix_part(&mut reader, Path::new("t"), part, parts, block);
        (found.map_err(|error| error.to_string()), reader.read)
    }

    #[test]
    fn a_part_reads_its_own_bytes_and_little_more() {
        let lines: String = (1..=200_000).map(|i| format!("{i} {i} 0.{i:06}\n")).collect();
        let text = format!("%%MatrixMarket matrix coordinate real general\n200000 200000 200000\n{lines}");
        for parts in [1, 3, 8] {
            let mut all = Vec::new();
            for part in 0..parts {
                let (found, read) = read(text.as_bytes(), part, parts, BLOCK);
                let bound = text.len() / parts + (64 << 10) + 2 * (8 << 10) + 100;
                assert!(read <= bound, "part {part} of {parts} read {read} of {} bytes", text.len());
                all.extend(found.unwrap().entries);
            }
            assert!(all.iter().zip(0..).all(|(entry, i)| (entry.0, entry.1) == (i, i)));
            assert_eq!(all.len(), 200_000);
        }
    }

    #[test]
    fn places_are_lines_in_the_first_part_and_bytes_in_the_others() {
        let text =
            b"%%MatrixMarket matrix coordinate real general\n% note\n9 9 4\n1 1 1\n2 x 2\n3 3 3\n4 4 y\n";
        let fault = |part, parts| read(text, part, parts, BLOCK).0.unwrap_err();
        assert_eq!(fault(0, 1), "t, line 5: column `x` is not a whole number");
        assert_eq!(fault(0, 2), "t, line 5: column `x` is not a whole number");
        let offset = text.windows(5).position(|line| line == b"4 4 y").unwrap();
        assert_eq!(fault(1, 2), format!("t, the line at byte {offset}: `y` is not a number"));
        assert_eq!(fault(5, 5), "t: part 5 of 5 does not exist; parts are numbered from 0");
        assert_eq!(fault(0, 0), "t: part 0 of 0 does not exist; parts are numbered from 0");
        // A fault in a late piece of a late block of a part.
        let mut long = b"%%MatrixMarket matrix coordinate real general\n9 9 502\n".to_vec();
        long.extend(b"1 1 1\n".repeat(500));
        let offset = long.len();
        long.extend(b"1 z 1\n1 1 1\n");
        let (found, _) = read(&long, 1, 2, 64);
        assert_eq!(
            found.unwrap_err(),
            format!("t, the line at byte {offset}: column `z` is not a whole number")
        );
    }

    #[test]
    fn a_line_without_end_is_refused_wherever_the_cut_falls() {
        let mut text = b"%%MatrixMarket matrix coordinate real general\n9 9 2\n1 1 1\n".to_vec();
        text.extend([b' '; 1000]);
        text.extend(b"2 2 2\n");
        for (part, parts) in [(0, 1), (0, 2), (1, 2), (1, 4)] {
            let message = read(&text, part, parts, 64).0.unwrap_err();
            assert!(message.contains("longer than 64 bytes"), "{message}");
        }
        assert_eq!(read(&text, 1, 2, 2000).0.unwrap().stored, 0);
        assert_eq!(read(&text, 0, 2, 2000).0.unwrap().stored, 2);
    }

    #[test]
    fn one_part_may_not_have_more_than_the_file_declares() {
        let text = b"%%MatrixMarket matrix coordinate real general\n9 9 1\n1 1 1\n2 2 2\n3 3 3\n4 4 4\n";
        let fault = |part, parts| read(text, part, parts, BLOCK).0.unwrap_err();
        assert_eq!(fault(0, 1), "t, line 4: too many entries: the size line declares 1");
        let offset = text.len() - b"4 4 4\n".len();
        let expected = format!("t, the line at byte {offset}: too many entries: the size line declares 1");
        assert_eq!(fault(1, 2), expected);
        assert!((0..4).all(|part| read(text, part, 4, BLOCK).0.unwrap().stored == 1));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]

        // Lines of various lengths, so that cuts fall everywhere around line ends.
        #[test]
        fn neither_cuts_nor_blocks_lose_or_repeat_a_line(
            lines in proptest::collection::vec(prop_oneof![
                8 => (1u64..=1 << 40, 1u64..=1 << 40, -1000..1000i32).prop_map(|(i, j, v)| format!("{i} {j} {v}")),
                1 => Just("% a comment".to_owned()),
                1 => Just(String::new()),
                1 => Just(" \r".to_owned()),
            ], 0..60),
            ended in any::<bool>(),
            parts in 1usize..40,
            block in 64usize..300,
        ) {
            let entries: Vec<(u64, u64, f64)> = lines.iter().filter_map(|line| {
                let words: Vec<&str> = line.split(' ').collect();
                let index = |word: &str| word.parse::<u64>().ok().map(|index| index - 1);
                Some((index(words[0])?, index(words.get(1)?)?, words.get(2)?.parse().ok()?))
            }).collect();
            let end = if ended { "\n" } else { "" };
            let n = 1u64 << 40;
            let text = format!(
                "%%MatrixMarket matrix coordinate integer general\n{n} {n} {}\n{}{end}", entries.len(), lines.join("\n")
            );
            let (mut found, mut stored) = (Vec::new(), 0);
            for part in 0..parts {
                let part = read(text.as_bytes(), part, parts, block).0.unwrap();
                prop_assert_eq!((part.rows, part.cols, part.declared), (n, n, entries.len() as u64));
                stored += part.stored;
                found.extend(part.entries);
            }
            prop_assert_eq!(stored, entries.len() as u64);
            prop_assert_eq!(found, entries);
        }
    }
}

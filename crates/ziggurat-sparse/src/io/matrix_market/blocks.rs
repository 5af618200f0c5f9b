//! Splits a stream of text into blocks that end at line ends.
//!
//! Memory is bounded by the block size regardless of the stream: a line longer than a block is
//! rejected, which also stops a compressed file that expands to one endless line.

use std::io::{self, Cursor, Read};
use std::mem;

use flate2::read::MultiGzDecoder;

/// Size of the first block in bytes. It is small so that reading only the header is fast.
const FIRST: usize = 64 << 10;

/// Why there is no next block.
pub(super) enum Broken {
    Io(io::Error),
    LineTooLong { limit: usize },
}

/// Reads `reader` block by block, decompressing it if it is gzip.
pub(super) struct Blocks<'a> {
    reader: Box<dyn Read + Send + 'a>,
    gzip: bool,
    /// Size of the next block in bytes. It doubles up to the limit.
    size: usize,
    /// The largest block size, and so the longest line.
    limit: usize,
    /// Text after the last line end of the previous block.
    carry: Vec<u8>,
    /// An error that occurred after valid lines, which are returned first.
    failed: Option<io::Error>,
    ended: bool,
    /// Bytes of text read so far.
    bytes: u64,
}

impl<'a> Blocks<'a> {
    /// Gzip is detected by its first two bytes, 1f 8b, which no Matrix Market file starts with.
    pub(super) fn new(mut reader: impl Read + Send + 'a, limit: usize) -> io::Result<Self> {
        let mut magic = Vec::with_capacity(2);
        reader.by_ref().take(2).read_to_end(&mut magic)?;
        let gzip = magic == [0x1f, 0x8b];
        let whole = Cursor::new(magic).chain(reader);
        // A file may have several members, as `cat a.gz b.gz` and our own writer produce.
        let blocks =
            if gzip { Self::plain(MultiGzDecoder::new(whole), limit) } else { Self::plain(whole, limit) };
        Ok(Blocks { gzip, ..blocks })
    }

    /// Blocks of uncompressed text.
    pub(super) fn plain(reader: impl Read + Send + 'a, limit: usize) -> Self {
        let (reader, carry) = (Box::new(reader), Vec::new());
        Blocks {
            reader,
            gzip: false,
            size: FIRST.min(limit),
            limit,
            carry,
            failed: None,
            ended: false,
            bytes: 0,
        }
    }

    pub(super) fn is_gzip(&self) -> bool {
        self.gzip
    }

    /// Bytes of text read so far.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The next block of whole lines; empty at the end. Only the last line of the stream may lack a
    /// line end.
    pub(super) fn next(&mut self) -> Result<Vec<u8>, Broken> {
        if let Some(error) = self.failed.take() {
            self.ended = true;
            return Err(Broken::Io(error));
        }
        if self.ended {
            return Ok(Vec::new());
        }
        let mut block = mem::take(&mut self.carry);
        loop {
            let before = block.len();
            let wanted = self.size.saturating_sub(before);
            block.reserve_exact(wanted); // reserves address space; pages are committed when written
            match self.reader.by_ref().take(wanted as u64).read_to_end(&mut block) {
                Ok(read) => self.ended = read < wanted,
                Err(error) => self.failed = Some(error),
            }
            self.bytes += (block.len() - before) as u64;
            if self.ended {
                return Ok(block);
            }
            let full = self.size == self.limit;
            self.size = self.size.saturating_mul(2).min(self.limit);
            match (block.iter().rposition(|&byte| byte == b'\n'), self.failed.take()) {
                (Some(end), failed) => {
                    self.carry.extend_from_slice(&block[end + 1..]);
                    block.truncate(end + 1);
                    self.failed = failed;
                    return Ok(block);
                }
                (None, Some(error)) => return Err(Broken::Io(error)),
                (None, None) if full => return Err(Broken::LineTooLong { limit: self.limit }),
                (None, None) => {} // a long line: read more of it
            }
        }
    }
}

/// Splits a block into pieces of about `size` bytes, each ending at a line end.
pub(super) fn pieces(mut block: &[u8], size: usize) -> Vec<&[u8]> {
    let mut pieces = Vec::with_capacity(block.len() / size.max(1) + 1);
    while !block.is_empty() {
        let tail = block.get(size..).unwrap_or_default();
        let line_end = tail.iter().position(|&byte| byte == b'\n');
        let (piece, rest) = block.split_at(line_end.map_or(block.len(), |at| size + at + 1));
        pieces.push(piece);
        block = rest;
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn blocks_and_pieces_together_are_the_text(
            text in proptest::collection::vec(prop_oneof![Just(b'\n'), Just(b'x')], 0..200),
            limit in 1usize..64,
            first in 1usize..64,
            size in 0usize..20,
        ) {
            let mut blocks = Blocks::new(&text[..], limit).unwrap();
            blocks.size = first.min(limit);
            let mut joined = Vec::new();
            loop {
                match blocks.next() {
                    Ok(block) if block.is_empty() => {
                        prop_assert_eq!(blocks.bytes(), text.len() as u64);
                        prop_assert_eq!(&joined, &text);
                        break;
                    }
                    Ok(block) => {
                        prop_assert!(block.len() <= limit);
                        let cut = pieces(&block, size);
                        prop_assert_eq!(cut.concat(), &block[..]);
                        joined.extend_from_slice(&block);
                        prop_assert!(joined.len() == text.len() || cut.iter().all(|piece| piece.ends_with(b"\n")));
                    }
                    Err(_) => {
                        let line = text[joined.len()..].iter().take_while(|&&byte| byte != b'\n').count();
                        prop_assert!(line >= limit, "a line of {} refused at a limit of {}", line, limit);
                        break;
                    }
                }
            }
        }
    }
}

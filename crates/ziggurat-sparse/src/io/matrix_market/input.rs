//! The data lines of a file: a block of text arrives on one thread while the block before is parsed by all of them.
//!
//! A block is cut into pieces at line ends. Every piece is parsed by itself and the results are joined in the order of
//! the file, so neither the result nor the error depends on the number of threads. Nothing is allocated by what the
//! header claims: vectors grow by the entries that are really there.

use std::io::Read;
use std::ops::Range;
use std::path::Path;

use rayon::prelude::*;

use super::blocks::{Blocks, pieces};
use super::cursor::Cursor;
use super::error::{Fault, ReadError};
use super::header::{Banner, Header};
use super::line_filter::LineFilter;
use super::place::Place;
use crate::MatrixError;

/// Pieces of a block, for the threads to share.
const PIECES: usize = 32;

/// Rows that a byte of text justifies, and rows that need no justification (8 MiB of row pointers).
const ROWS_PER_BYTE: u64 = 1024;
const ROWS_GRANTED: u64 = 1 << 20;

/// What stands before the data lines of a file.
#[derive(Clone, Copy)]
pub(super) struct Head<'n> {
    pub(super) header: Header,
    /// Where the size line ends. Its line end comes after this place, and so counts with the data lines.
    pub(super) end: Place<'n>,
}

impl Head<'_> {
    pub(super) fn at_size_line(&self, fault: Fault) -> ReadError {
        self.end.next_line(fault)
    }
}

/// Which data lines an input gives.
enum Share {
    /// All of the file's.
    Whole,
    /// Those of certain numbers. The others pass by and are counted.
    Lines(LineFilter),
    /// Those in a range of the file's bytes: nobody here knows how many the file has.
    Bytes,
}

/// A file whose header has been read and whose data lines have not. The reader may have a shorter life than the name.
pub(super) struct Input<'r, 'n> {
    pub(super) head: Head<'n>,
    share: Share,
    blocks: Blocks<'r>,
    /// The rest of the block that the header was in, and where it begins.
    block: Vec<u8>,
    place: Place<'n>,
    /// Data lines read so far.
    stored: u64,
}

impl<'r, 'n> Input<'r, 'n> {
    pub(super) fn open(
        reader: impl Read + Send + 'r,
        name: &'n Path,
        block: usize,
    ) -> Result<Self, ReadError> {
        let mut place = Place::begin(name);
        let mut blocks = Blocks::new(reader, block).map_err(|cause| place.io(cause))?;
        let mut block = blocks.next().map_err(|broken| place.broken(broken))?;
        let mut cursor = Cursor::new(&block);
        let banner = Banner::read(&mut cursor).map_err(|fault| place.next_line(fault))?;
        loop {
            // Comments may fill whole blocks.
            if cursor.next_data_line() {
                let lines = cursor.line() - 1;
                let header = banner.with_size(&mut cursor);
                let end = cursor.position();
                place.pass(lines, end);
                let header = header.map_err(|fault| place.next_line(fault))?;
                block.drain(..end);
                let head = Head { header, end: place };
                return Ok(Input { head, share: Share::Whole, blocks, block, place, stored: 0 });
            }
            place.pass(cursor.lines(), block.len());
            block = blocks.next().map_err(|broken| place.broken(broken))?;
            if block.is_empty() {
                return Err(place.last_line(Fault::Missing { what: "the size line" }));
            }
            cursor = Cursor::new(&block);
        }
    }

    /// The data lines in `text`, which follows `begin` bytes of the plain file that `head` was read from. It begins
    /// where the head ends, or where a later line begins.
    pub(super) fn resume(head: Head<'n>, text: impl Read + Send + 'r, begin: u64, block: usize) -> Self {
        let place = if begin == head.end.bytes { head.end } else { head.end.at_byte(begin) };
        let blocks = Blocks::plain(text, block);
        Input { head, share: Share::Bytes, blocks, block: Vec::new(), place, stored: 0 }
    }

    /// Only the data lines numbered `wanted`, from zero. The others are not looked into, but the file must have
    /// neither more nor fewer than it declares.
    pub(super) fn only(mut self, wanted: Range<u64>) -> Self {
        let mut filter = LineFilter::new(wanted, self.head.header.stored);
        self.block = filter.pass(&self.block);
        self.share = Share::Lines(filter);
        self
    }

    pub(super) fn is_gzip(&self) -> bool {
        self.blocks.is_gzip()
    }

    /// Data lines that have been read.
    pub(super) fn stored(&self) -> u64 {
        self.stored
    }

    pub(super) fn fault(&self, fault: MatrixError) -> ReadError {
        ReadError::Matrix { path: self.place.name.to_owned(), fault }
    }

    /// Refuses more rows than the text, all of which has been read, can mean.
    pub(super) fn justify_rows(&self, rows: u64) -> Result<(), ReadError> {
        let bytes = self.blocks.bytes();
        let limit = bytes.saturating_mul(ROWS_PER_BYTE).saturating_add(ROWS_GRANTED);
        if rows > limit {
            return Err(self.head.at_size_line(Fault::TooManyRows { rows, bytes, limit }));
        }
        Ok(())
    }

    /// Reads the data lines by `entry`, which takes one line's words.
    pub(super) fn entries<E: Entries>(
        &mut self,
        entry: impl Fn(&mut Cursor<'_>, &mut E) -> Result<(), Fault> + Sync,
    ) -> Result<E, ReadError> {
        let declared = self.head.header.stored;
        let most = match &self.share {
            Share::Lines(filter) => filter.wanted(),
            Share::Whole | Share::Bytes => declared,
        };
        let mut all = E::default();
        loop {
            let size = self.block.len() / PIECES + 1;
            let (block, blocks, share) = (&self.block, &mut self.blocks, &mut self.share);
            let left = most - self.stored;
            let (parsed, next) = rayon::join(
                || {
                    let parse = |text| (text, Piece::parse(text, left, &entry));
                    pieces(block, size).into_par_iter().map(parse).collect::<Vec<_>>()
                },
                || match share {
                    Share::Lines(filter) => blocks.next().map(|block| filter.pass(&block)),
                    Share::Whole | Share::Bytes => blocks.next(),
                },
            );
            for (text, mut piece) in parsed {
                if piece.stored > most - self.stored {
                    // Too many together with the pieces before: parse again, up to the first that is too much.
                    piece = Piece::parse(text, most - self.stored, &entry);
                }
                self.place.pass(piece.lines, piece.bytes);
                if let Some(mut fault) = piece.fault {
                    if let Fault::TooManyEntries { declared: count } = &mut fault {
                        *count = declared;
                    }
                    return Err(self.place.next_line(fault));
                }
                self.stored += piece.stored;
                all.append(piece.entries);
            }
            self.block = next.map_err(|broken| self.place.broken(broken))?;
            if self.block.is_empty() {
                break;
            }
        }
        let found = match &self.share {
            Share::Whole => self.stored,
            Share::Lines(filter) => filter.passed(),
            Share::Bytes => return Ok(all),
        };
        if found < declared {
            return Err(self.place.last_line(Fault::TooFewEntries { declared, found }));
        }
        Ok(all)
    }
}

/// What is collected from data lines.
pub(super) trait Entries: Default + Send {
    fn append(&mut self, later: Self);
}

impl<T: Copy + Send> Entries for Vec<T> {
    fn append(&mut self, later: Vec<T>) {
        self.extend_from_slice(&later);
    }
}

/// What a piece of text holds, up to its end or its first fault.
struct Piece<E> {
    entries: E,
    /// Lines of data, each one entry of the file; the one at fault included.
    stored: u64,
    /// Lines and bytes of text; if a line is at fault, those before it.
    lines: u64,
    bytes: usize,
    fault: Option<Fault>,
}

impl<E: Entries> Piece<E> {
    fn parse(
        text: &[u8],
        most: u64,
        entry: &(impl Fn(&mut Cursor<'_>, &mut E) -> Result<(), Fault> + Sync),
    ) -> Self {
        let mut cursor = Cursor::new(text);
        let (mut entries, mut stored) = (E::default(), 0);
        while cursor.next_data_line() {
            let outcome = if stored == most {
                Err(Fault::TooManyEntries { declared: most })
            } else {
                entry(&mut cursor, &mut entries).and_then(|()| cursor.end_line())
            };
            if let Err(fault) = outcome {
                let (lines, bytes) = (cursor.line() - 1, cursor.line_begin());
                return Piece { entries, stored: stored + 1, lines, bytes, fault: Some(fault) };
            }
            stored += 1;
        }
        Piece { entries, stored, lines: cursor.lines(), bytes: text.len(), fault: None }
    }
}

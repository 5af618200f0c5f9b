//! The data lines of a file: one thread reads a block of text while all threads parse the previous
//! one.
//!
//! A block is split into pieces at line ends. Pieces are parsed independently and the results are
//! joined in file order, so neither the result nor the error depends on the number of threads. No
//! allocation trusts the header: vectors grow with the entries actually read.

use std::io::Read;
use std::ops::Range;
use std::path::Path;

use super::blocks::{Blocks, pieces};
use super::cursor::Cursor;
use super::header::{Banner, Header};
use super::line_filter::LineFilter;
use super::place::Place;
use crate::MatrixError;
use crate::io::limits::most_rows;
use crate::io::{Fault, ReadError};
use crate::parallel::{join, map_tasks};

/// Pieces per block, to be distributed over threads.
const PIECES: usize = 32;

/// The part of a file before its data lines.
#[derive(Clone, Copy)]
pub(super) struct Head<'n> {
    pub(super) header: Header,
    /// End of the size line, before its line terminator, which is counted with the data lines.
    pub(super) end: Place<'n>,
}

impl Head<'_> {
    pub(super) fn at_size_line(&self, fault: Fault) -> ReadError {
        self.end.next_line(fault)
    }
}

/// Which data lines an input yields.
enum Share {
    /// All of them.
    Whole,
    /// Those with line numbers in a given range. The others are skipped and counted.
    Lines(LineFilter),
    /// Those in a byte range of the file. The total number of lines is unknown here.
    Bytes,
}

/// A file whose header has been read, positioned at its data lines. The reader's lifetime may be
/// shorter than the name's.
pub(super) struct Input<'r, 'n> {
    pub(super) head: Head<'n>,
    share: Share,
    blocks: Blocks<'r>,
    /// The rest of the block that contains the header; `place` is its start.
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
            // Comments may span several blocks.
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

    /// The data lines in `text`, which starts `begin` bytes into the plain file that `head` was
    /// read from. It starts at the end of the head or at the start of a later line.
    pub(super) fn resume(head: Head<'n>, text: impl Read + Send + 'r, begin: u64, block: usize) -> Self {
        let place = if begin == head.end.bytes { head.end } else { head.end.at_byte(begin) };
        let blocks = Blocks::plain(text, block);
        Input { head, share: Share::Bytes, blocks, block: Vec::new(), place, stored: 0 }
    }

    /// Restricts the input to the data lines numbered `wanted`, from zero. The others are not
    /// parsed, but the file must still have exactly as many lines as it declares.
    pub(super) fn only(mut self, wanted: Range<u64>) -> Self {
        let mut filter = LineFilter::new(wanted, self.head.header.stored);
        self.block = filter.pass(&self.block);
        self.share = Share::Lines(filter);
        self
    }

    pub(super) fn is_gzip(&self) -> bool {
        self.blocks.is_gzip()
    }

    /// Number of data lines read so far.
    pub(super) fn stored(&self) -> u64 {
        self.stored
    }

    pub(super) fn fault(&self, fault: MatrixError) -> ReadError {
        ReadError::Matrix { path: self.place.name.to_owned(), fault }
    }

    /// Rejects more rows than is plausible for the amount of text. Call it after all text has been
    /// read.
    pub(super) fn justify_rows(&self, rows: u64) -> Result<(), ReadError> {
        let bytes = self.blocks.bytes();
        let limit = most_rows(bytes);
        if rows > limit {
            return Err(self.head.at_size_line(Fault::TooManyRows { rows, bytes, limit }));
        }
        Ok(())
    }

    /// Parses the data lines. `entry` parses the words of one line.
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
            let texts = pieces(&self.block, self.block.len() / PIECES + 1);
            let (blocks, share) = (&mut self.blocks, &mut self.share);
            let left = most - self.stored;
            let (parsed, next) = join(
                || map_tasks(texts.len(), &|index| Piece::parse(texts[index], left, &entry)),
                || match share {
                    Share::Lines(filter) => blocks.next().map(|block| filter.pass(&block)),
                    Share::Whole | Share::Bytes => blocks.next(),
                },
            );
            for (text, mut piece) in texts.into_iter().zip(parsed) {
                if piece.stored > most - self.stored {
                    // The pieces together have too many entries: parse this one again, up to the
                    // first excess entry.
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

/// A collection of parsed entries.
pub(super) trait Entries: Default + Send {
    fn append(&mut self, later: Self);
}

impl<T: Copy + Send> Entries for Vec<T> {
    fn append(&mut self, later: Vec<T>) {
        self.extend_from_slice(&later);
    }
}

/// The contents of a piece of text, up to its end or its first fault.
struct Piece<E> {
    entries: E,
    /// Number of data lines, one entry each, including a faulty one.
    stored: u64,
    /// Lines and bytes of text, or those before the faulty line.
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

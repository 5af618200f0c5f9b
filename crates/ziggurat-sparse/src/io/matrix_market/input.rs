//! The data lines of a file: a block of text arrives on one thread while the block before is parsed by all of them.
//!
//! A block is cut into pieces at line ends. Every piece is parsed by itself and the results are joined in the order of
//! the file, so neither the result nor the error depends on the number of threads. Nothing is allocated by what the
//! header claims: vectors grow by the entries that are really there.

use std::io::Read;
use std::path::Path;

use rayon::prelude::*;

use super::blocks::{Blocks, Broken, pieces};
use super::cursor::Cursor;
use super::error::{Fault, ReadError};
use super::header::{Banner, Header};
use crate::MatrixError;

/// Pieces of a block, for the threads to share.
const PIECES: usize = 32;

/// Rows that a byte of text justifies, and rows that need no justification (8 MiB of row pointers).
const ROWS_PER_BYTE: u64 = 1024;
const ROWS_GRANTED: u64 = 1 << 20;

/// A file whose header has been read and whose data lines have not.
pub(super) struct Input<'a> {
    name: &'a Path,
    pub(super) header: Header,
    size_line: u64,
    blocks: Blocks<'a>,
    /// The rest of the block that the header was in, and the lines before it.
    block: Vec<u8>,
    lines: u64,
}

impl<'a> Input<'a> {
    pub(super) fn open(
        reader: impl Read + Send + 'a,
        name: &'a Path,
        block: usize,
    ) -> Result<Self, ReadError> {
        let at = |line, fault| ReadError::Line { path: name.to_owned(), line, fault };
        let mut blocks = Blocks::new(reader, block).map_err(|cause| Broken::Io(cause).at(name, 0))?;
        let mut block = blocks.next().map_err(|broken| broken.at(name, 0))?;
        let mut cursor = Cursor::new(&block);
        let banner = Banner::read(&mut cursor).map_err(|fault| at(1, fault))?;
        let mut lines = 0;
        loop {
            // Comments may fill whole blocks.
            if cursor.next_data_line() {
                let size_line = lines + cursor.line();
                let header = banner.with_size(&mut cursor).map_err(|fault| at(size_line, fault))?;
                // The end of the size line stays, so that its number is counted with the rest.
                lines = size_line - 1;
                let end = cursor.position();
                block.drain(..end);
                return Ok(Input { name, header, size_line, blocks, block, lines });
            }
            lines += cursor.lines();
            block = blocks.next().map_err(|broken| broken.at(name, lines))?;
            if block.is_empty() {
                return Err(at(lines, Fault::Missing { what: "the size line" }));
            }
            cursor = Cursor::new(&block);
        }
    }

    fn at(&self, line: u64, fault: Fault) -> ReadError {
        ReadError::Line { path: self.name.to_owned(), line, fault }
    }

    pub(super) fn at_size_line(&self, fault: Fault) -> ReadError {
        self.at(self.size_line, fault)
    }

    pub(super) fn fault(&self, fault: MatrixError) -> ReadError {
        ReadError::Matrix { path: self.name.to_owned(), fault }
    }

    /// Refuses more rows than the text, all of which has been read, can mean.
    pub(super) fn justify_rows(&self) -> Result<(), ReadError> {
        let (rows, bytes) = (self.header.rows, self.blocks.bytes());
        let limit = bytes.saturating_mul(ROWS_PER_BYTE).saturating_add(ROWS_GRANTED);
        if u64::from(rows) > limit {
            return Err(self.at_size_line(Fault::TooManyRows { rows, bytes, limit }));
        }
        Ok(())
    }

    /// Reads all data lines by `entry`, which takes one line's words.
    pub(super) fn entries<E: Entries>(
        &mut self,
        entry: impl Fn(&mut Cursor<'_>, &mut E) -> Result<(), Fault> + Sync,
    ) -> Result<E, ReadError> {
        let declared = self.header.stored;
        let (mut all, mut stored) = (E::default(), 0);
        loop {
            let size = self.block.len() / PIECES + 1;
            let (block, blocks, left) = (&self.block, &mut self.blocks, declared - stored);
            let (parsed, next) = rayon::join(
                || {
                    let parse = |text| (text, Piece::parse(text, left, &entry));
                    pieces(block, size).into_par_iter().map(parse).collect::<Vec<_>>()
                },
                || blocks.next(),
            );
            for (text, mut piece) in parsed {
                if piece.stored > declared - stored {
                    // Too many together with the pieces before: parse again, up to the first that is too much.
                    piece = Piece::parse(text, declared - stored, &entry);
                }
                if let Some(mut fault) = piece.fault {
                    if let Fault::TooManyEntries { declared: count } = &mut fault {
                        *count = declared;
                    }
                    return Err(self.at(self.lines + piece.lines, fault));
                }
                self.lines += piece.lines;
                stored += piece.stored;
                all.append(piece.entries);
            }
            self.block = next.map_err(|broken| broken.at(self.name, self.lines))?;
            if self.block.is_empty() {
                break;
            }
        }
        if stored < declared {
            return Err(self.at(self.lines, Fault::TooFewEntries { declared, found: stored }));
        }
        Ok(all)
    }
}

impl Broken {
    fn at(self, name: &Path, lines: u64) -> ReadError {
        let path = name.to_owned();
        match self {
            Broken::Io(cause) => ReadError::Io { path, line: lines, cause },
            Broken::LineTooLong { limit } => {
                ReadError::Line { path, line: lines + 1, fault: Fault::LineTooLong { limit } }
            }
        }
    }
}

/// What is collected from data lines.
pub(super) trait Entries: Default + Send {
    fn append(&mut self, later: Self);
}

/// What a piece of text holds, up to its end or its first fault.
struct Piece<E> {
    entries: E,
    /// Lines of data, each one entry of the file; the one at fault included.
    stored: u64,
    /// Lines of text; the last of them is the one at fault, if any is.
    lines: u64,
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
                return Piece { entries, stored: stored + 1, lines: cursor.line(), fault: Some(fault) };
            }
            stored += 1;
        }
        Piece { entries, stored, lines: cursor.lines(), fault: None }
    }
}

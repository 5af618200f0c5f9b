//! Position in a file, for error messages: a line number where lines were counted, otherwise a byte
//! offset.
//!
//! A reader that starts at the beginning of a file reports the line of a fault. A reader that
//! starts in the middle does not know how many lines precede it and reports the byte offset of the
//! line.

use std::io;
use std::path::Path;

use super::blocks::Broken;
use crate::io::{Fault, ReadError};

#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) name: &'a Path,
    /// Lines before this position, if they were counted.
    lines: Option<u64>,
    /// Bytes of text before this position. Where lines are counted, the file itself may be
    /// compressed.
    pub(super) bytes: u64,
}

impl<'a> Place<'a> {
    pub(super) fn begin(name: &'a Path) -> Self {
        Place { name, lines: Some(0), bytes: 0 }
    }

    /// A position in the same file whose line number is unknown.
    pub(super) fn at_byte(self, bytes: u64) -> Self {
        Place { name: self.name, lines: None, bytes }
    }

    /// Advances by `lines` lines and `bytes` bytes.
    pub(super) fn pass(&mut self, lines: u64, bytes: usize) {
        self.lines = self.lines.map(|before| before + lines);
        self.bytes += bytes as u64;
    }

    /// A fault in the line that starts here.
    pub(super) fn next_line(self, fault: Fault) -> ReadError {
        match self.lines {
            Some(before) => ReadError::Line { path: self.name.to_owned(), line: before + 1, fault },
            None => self.byte(fault),
        }
    }

    /// A fault in the line that ends here.
    pub(super) fn last_line(self, fault: Fault) -> ReadError {
        match self.lines {
            Some(line) => ReadError::Line { path: self.name.to_owned(), line, fault },
            None => self.byte(fault),
        }
    }

    fn byte(self, fault: Fault) -> ReadError {
        ReadError::Byte { path: self.name.to_owned(), offset: self.bytes, fault }
    }

    /// An I/O error while reading what follows.
    pub(super) fn io(self, cause: io::Error) -> ReadError {
        ReadError::Io { path: self.name.to_owned(), line: self.lines.unwrap_or(0), cause }
    }

    pub(super) fn broken(self, broken: Broken) -> ReadError {
        match broken {
            Broken::Io(cause) => self.io(cause),
            Broken::LineTooLong { limit } => self.next_line(Fault::LineTooLong { limit }),
        }
    }
}

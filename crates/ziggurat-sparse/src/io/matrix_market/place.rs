//! How far into a file a reader has come, told in lines where they were counted and else in bytes.
//!
//! Who reads a file from its begin names the line of a fault. Who begins in the middle could count the lines before only
//! by reading them, and names the byte where the line begins.

use std::io;
use std::path::Path;

use super::blocks::Broken;
use super::error::{Fault, ReadError};

#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) name: &'a Path,
    /// Lines before this place, if they were counted.
    lines: Option<u64>,
    /// Bytes before this place. Of text: where lines are counted, the file may be compressed.
    pub(super) bytes: u64,
}

impl<'a> Place<'a> {
    pub(super) fn begin(name: &'a Path) -> Self {
        Place { name, lines: Some(0), bytes: 0 }
    }

    /// A place of the same file where nobody has counted the lines.
    pub(super) fn at_byte(self, bytes: u64) -> Self {
        Place { name: self.name, lines: None, bytes }
    }

    /// Goes on by so many lines and bytes.
    pub(super) fn pass(&mut self, lines: u64, bytes: usize) {
        self.lines = self.lines.map(|before| before + lines);
        self.bytes += bytes as u64;
    }

    /// A fault of the line that begins here.
    pub(super) fn next_line(self, fault: Fault) -> ReadError {
        match self.lines {
            Some(before) => ReadError::Line { path: self.name.to_owned(), line: before + 1, fault },
            None => self.byte(fault),
        }
    }

    /// A fault of the line that ends here.
    pub(super) fn last_line(self, fault: Fault) -> ReadError {
        match self.lines {
            Some(line) => ReadError::Line { path: self.name.to_owned(), line, fault },
            None => self.byte(fault),
        }
    }

    fn byte(self, fault: Fault) -> ReadError {
        ReadError::Byte { path: self.name.to_owned(), offset: self.bytes, fault }
    }

    /// The system's word about what should follow.
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

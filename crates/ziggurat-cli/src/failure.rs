//! What went wrong, and what to do: the two lines that every error of the command consists of.

use std::io::{self, Write};
use std::path::Path;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use ziggurat_sparse::MatrixError;
use ziggurat_sparse::gallery::ProblemError;
use ziggurat_sparse::io::{Fault, ReadError, WriteError};

/// An error, fit to be read by whoever typed the command.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    cause: String,
    hint: String,
}

impl Failure {
    pub(crate) fn new(cause: impl Into<String>, hint: impl Into<String>) -> Self {
        Failure { cause: cause.into(), hint: hint.into() }
    }

    /// Prints the two lines on standard error.
    pub(crate) fn print(&self) {
        // If standard error is closed, the exit code has to do.
        let _ = writeln!(io::stderr(), "error: {}\nhint: {}", self.cause, self.hint);
    }

    /// `path` could not be opened or read.
    pub(crate) fn reading(path: &Path, cause: &io::Error) -> Self {
        let hint = match cause.kind() {
            io::ErrorKind::NotFound => "check the path and the spelling",
            io::ErrorKind::PermissionDenied => "make the file readable (chmod u+r), or name another",
            _ => "check that the file is whole: compare its size or checksum with the original",
        };
        Failure::new(format!("cannot read {}: {}", path.display(), plain(cause)), hint)
    }

    /// `path` could not be created or written.
    pub(crate) fn writing(path: &Path, cause: &io::Error) -> Self {
        let hint = match cause.kind() {
            io::ErrorKind::NotFound => "the folder does not exist; make it first (mkdir -p)",
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                "choose a folder that you may write to"
            }
            io::ErrorKind::IsADirectory => "name a file in that folder",
            io::ErrorKind::NotADirectory => "a part of the path is a file; name a folder instead",
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                "make room, or choose another disk; a name that ends in .gz takes a fraction of the space"
            }
            _ => "check the path, and that the disk has room",
        };
        Failure::new(format!("cannot write {}: {}", path.display(), plain(cause)), hint)
    }
}

/// What went wrong, without what to do: what one rank tells another.
#[cfg(feature = "mpi")]
impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.cause)
    }
}

#[cfg(feature = "mpi")]
impl From<ziggurat_mpi::DistributedError> for Failure {
    fn from(error: ziggurat_mpi::DistributedError) -> Self {
        Failure::new(error.to_string(), "`ziggurat inspect` tells what is special about this matrix")
    }
}

/// What the system says, without its number.
fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or(&text);
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

impl From<ReadError> for Failure {
    fn from(error: ReadError) -> Self {
        let hint = match &error {
            ReadError::Io { path, cause, line: 0 } => return Failure::reading(path, cause),
            ReadError::Io { .. } => "the file is damaged or cut short; fetch or write it again",
            ReadError::Line { fault, .. } => match fault {
                Fault::Banner { .. } => {
                    "Matrix Market files can be read (.mtx, .mtx.gz); convert the file to that format"
                }
                Fault::NotSupported { .. } => "real matrices can be solved; write the system as a real one",
                Fault::TooManyEntries { .. } | Fault::TooFewEntries { .. } => {
                    "the file is cut short or its size line is wrong; fetch or write it again"
                }
                Fault::NotFinite { .. } => "find out where the value comes from, and write the file again",
                Fault::NotAVector { .. } => "give a file with one column, one value per row of the matrix",
                Fault::NotDense => "write the values as an array: `%%MatrixMarket matrix array real general`",
                Fault::TooManyRows { .. } => {
                    "the size line is wrong, or most rows are empty: leave those out"
                }
                _ => "correct that line, or write the file again",
            },
            _ => "correct the values in the file",
        };
        Failure::new(error.to_string(), hint)
    }
}

impl From<WriteError> for Failure {
    fn from(error: WriteError) -> Self {
        match error {
            WriteError::Io { path, cause } => Failure::writing(&path, &cause),
            other => Failure::new(other.to_string(), "check the values that are to be written"),
        }
    }
}

impl From<ProblemError> for Failure {
    fn from(error: ProblemError) -> Self {
        let hint = match &error {
            ProblemError::UnknownName(_) => "`ziggurat generate --help` says what each problem is",
            ProblemError::Size { .. } => {
                "`ziggurat generate --help` says what the size means for each problem"
            }
            _ => "choose a smaller SIZE",
        };
        Failure::new(error.to_string(), hint)
    }
}

impl From<MatrixError> for Failure {
    fn from(error: MatrixError) -> Self {
        Failure::new(error.to_string(), "check the matrix: `ziggurat inspect` describes it")
    }
}

/// The names in a list that clap keeps with an error.
fn names(error: &clap::Error, kind: ContextKind) -> Vec<String> {
    match error.get(kind) {
        Some(ContextValue::String(name)) => vec![name.clone()],
        Some(ContextValue::Strings(names)) => names.clone(),
        _ => Vec::new(),
    }
}

impl From<&clap::Error> for Failure {
    fn from(error: &clap::Error) -> Self {
        let text = error.render().to_string();
        let cause: Vec<&str> = text
            .lines()
            .map(str::trim)
            .take_while(|line| !line.is_empty())
            .filter(|line| !line.starts_with("[possible values"))
            .collect();
        let cause = cause.join(" ");
        let cause = cause.strip_prefix("error: ").unwrap_or(&cause);

        // What our own parsers of values say is advice already.
        if let (ErrorKind::ValueValidation, Some((cause, advice))) =
            (error.kind(), cause.split_once(": give "))
        {
            return Failure::new(cause, format!("give {advice}"));
        }
        let near = [ContextKind::SuggestedValue, ContextKind::SuggestedArg, ContextKind::SuggestedSubcommand];
        let near: Vec<String> = near.into_iter().flat_map(|kind| names(error, kind)).collect();
        let known = names(error, ContextKind::ValidValue);
        let hint = match (near.is_empty(), known.is_empty()) {
            (false, false) => {
                format!("did you mean `{}`? (known: {})", near.join("` or `"), known.join(", "))
            }
            (false, true) => format!("did you mean `{}`?", near.join("` or `")),
            (true, false) => format!("give one of {}", known.join(", ")),
            (true, true) => help_of(error),
        };
        Failure::new(cause, hint)
    }
}

/// Where the command at fault explains itself.
fn help_of(error: &clap::Error) -> String {
    let usage = match error.get(ContextKind::Usage) {
        Some(ContextValue::StyledStr(usage)) => usage.to_string(),
        _ => String::new(),
    };
    // "Usage: ziggurat solve [OPTIONS] …": the words before the first placeholder are the command.
    let words = usage.split_whitespace().skip(1);
    let command: Vec<&str> = words.take_while(|word| !word.starts_with(['[', '<', '-'])).collect();
    let command = if command.is_empty() { "ziggurat".to_owned() } else { command.join(" ") };
    format!("`{command} --help` lists the options and what they take")
}

//! Errors of the command: one line with the cause, and one line with a hint.

use std::io::{self, Write};
use std::path::Path;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use ziggurat_sparse::MatrixError;
use ziggurat_sparse::gallery::ProblemError;
use ziggurat_sparse::io::{BinaryFault, Fault, ReadError, WriteError};

use crate::terminal::printable;

/// An error message for the user.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    cause: String,
    hint: String,
}

impl Failure {
    pub(crate) fn new(cause: impl Into<String>, hint: impl Into<String>) -> Self {
        Failure { cause: cause.into(), hint: hint.into() }
    }

    /// The advice to the user.
    #[cfg(feature = "mpi")]
    pub(crate) fn hint(&self) -> &str {
        &self.hint
    }

    /// Prints the two lines to standard error.
    pub(crate) fn print(&self) {
        // If standard error is closed, only the exit code remains.
        let [cause, hint] = [&self.cause, &self.hint].map(|text| printable(text));
        let lines = format!("error: {cause}\nhint: {hint}\n");
        // At once: a launcher may write there too.
        let _ = io::stderr().write_all(lines.as_bytes());
    }

    /// The error for a file that could not be opened or read.
    pub(crate) fn reading(path: &Path, cause: &io::Error) -> Self {
        let hint = match cause.kind() {
            io::ErrorKind::NotFound => "check the path and the spelling",
            io::ErrorKind::PermissionDenied => "make the file readable (chmod u+r), or use another file",
            _ => "check that the file is complete: compare its size or checksum with the original",
        };
        Failure::new(format!("cannot read {}: {}", path.display(), plain(cause)), hint)
    }

    /// The error for a file that could not be created or written.
    pub(crate) fn writing(path: &Path, cause: &io::Error) -> Self {
        let hint = match cause.kind() {
            io::ErrorKind::NotFound => "the folder does not exist; create it first (mkdir -p)",
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => "choose a writable folder",
            io::ErrorKind::IsADirectory => "name a file in that folder",
            io::ErrorKind::NotADirectory => "a part of the path is a file; name a folder instead",
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                "free some space, or choose another disk; a name that ends in .gz gives a much smaller file"
            }
            _ => "check the path and the free disk space",
        };
        Failure::new(format!("cannot write {}: {}", path.display(), plain(cause)), hint)
    }
}

/// The cause without the hint.
impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.cause)
    }
}

#[cfg(feature = "mpi")]
impl From<ziggurat_mpi::DistributedError> for Failure {
    fn from(error: ziggurat_mpi::DistributedError) -> Self {
        Failure::new(error.to_string(), "`ziggurat inspect` diagnoses the matrix")
    }
}

/// The message of an operating-system error, without its number.
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
            ReadError::Special { .. } => {
                "write the data to a file first, or pipe it into the command and read /dev/stdin"
            }
            ReadError::Io { .. } => "the file is damaged or truncated; download or write it again",
            ReadError::Line { fault, .. } => match fault {
                Fault::Banner { .. } => {
                    "Matrix Market, .npy, .npz, PETSc binary, HDF5 and Rutherford–Boeing files are \
                     supported; convert the file to one of them"
                }
                Fault::NotSupported { .. } => {
                    "only real matrices are supported; rewrite the system as a real one"
                }
                Fault::TooManyEntries { .. } | Fault::TooFewEntries { .. } => {
                    "the file is truncated or its size line is wrong; download or write it again"
                }
                Fault::NotFinite { .. } => "find the origin of this value, and write the file again",
                Fault::BoeingType { .. } | Fault::FortranFormat { .. } => {
                    "the file is not Rutherford–Boeing, or not as usual; convert it to Matrix Market"
                }
                Fault::NotAVector { .. } => "give a file with one column, one value per row of the matrix",
                Fault::NotDense => "write the values as an array: `%%MatrixMarket matrix array real general`",
                Fault::TooManyRows { .. } => "the size line is wrong, or most rows are empty: remove those",
                _ => "correct that line, or write the file again",
            },
            ReadError::Binary { fault, .. } => match fault {
                BinaryFault::Truncated { .. } | BinaryFault::Damaged { .. } => {
                    "the file is damaged or truncated; download or write it again"
                }
                BinaryFault::Unreadable { .. } => {
                    "the file is damaged, or uses a part of HDF5 that is not supported; write it again, \
                     in an older version of the format"
                }
                BinaryFault::SeveralObjects { .. } | BinaryFault::NoSuchName { .. } => {
                    "name an object of the file after a colon, such as system.h5:Problem/A"
                }
                BinaryFault::NotAVector { .. } => "give a file with one value per row of the matrix",
                BinaryFault::NotDense => "write the values as an array, by `numpy.save`",
                BinaryFault::NotFinite { .. } => "find the origin of this value, and write the file again",
                _ => "write the file again, or convert it to Matrix Market",
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
            WriteError::Unsuitable { path, format, what, hint } => {
                Failure::new(format!("{}: {format} files hold no {what}", path.display()), hint)
            }
            other => Failure::new(other.to_string(), "check the values"),
        }
    }
}

impl From<ProblemError> for Failure {
    fn from(error: ProblemError) -> Self {
        let hint = match &error {
            ProblemError::UnknownName(_) => "`ziggurat generate --help` describes the problems",
            ProblemError::Size { .. } => "`ziggurat generate --help` describes the sizes of the problems",
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

/// The names that clap attaches to an error.
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

        // The messages of our own value parsers are hints already.
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

/// A hint to the help of the command.
fn help_of(error: &clap::Error) -> String {
    let usage = match error.get(ContextKind::Usage) {
        Some(ContextValue::StyledStr(usage)) => usage.to_string(),
        _ => String::new(),
    };
    // "Usage: ziggurat solve [OPTIONS] …": the command ends before the first placeholder.
    let words = usage.split_whitespace().skip(1);
    let command: Vec<&str> = words.take_while(|word| !word.starts_with(['[', '<', '-'])).collect();
    let command = if command.is_empty() { "ziggurat".to_owned() } else { command.join(" ") };
    format!("`{command} --help` describes the options")
}

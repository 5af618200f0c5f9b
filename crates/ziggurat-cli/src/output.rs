//! Output to standard output and files.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use same_file::Handle;
use serde::Serialize;
use ziggurat_sparse::io::{OutputFile, file_of};

use crate::failure::Failure;
use crate::terminal::printable;

/// Maximum line length of a report: `COLUMNS` if the shell exports it, else 80.
pub(crate) fn columns() -> usize {
    let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.trim().parse().ok());
    columns.unwrap_or(80).clamp(40, 100)
}

/// Whether a path means standard output.
pub(crate) fn is_standard(path: &Path) -> bool {
    path == Path::new("-")
}

/// Writes to standard output. A closed pipe is not an error.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let text = printable(text);
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::writing(Path::new("standard output"), &error))
        }
        _ => Ok(()),
    }
}

/// Writes `report` as JSON to a file, or to standard output.
pub(crate) fn write_json(path: &Path, report: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(report).map_err(|error| {
        Failure::new(format!("cannot write the report as JSON: {error}"), "please report this bug")
    })? + "\n";
    if is_standard(path) {
        return print(&text);
    }
    write(path, &text)
}

/// Writes a file, which takes its place when it is complete.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), Failure> {
    OutputFile::write_all_to(path, text.as_bytes()).map_err(|error| Failure::writing(path, &error))
}

/// A file that exists only while outputs are checked. It is created again later.
struct Temporary(PathBuf);

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Rejects output files that are not writable, or that would overwrite each other or an input.
/// Called before the work starts.
pub(crate) fn check<'a>(
    inputs: impl IntoIterator<Item = &'a Path>,
    outputs: impl IntoIterator<Item = (&'static str, &'a Path)>,
) -> Result<(), Failure> {
    // Handles, because one file may have several names. Pipes are not opened twice.
    let inputs = inputs.into_iter().map(file_of).filter(|path| path.is_file());
    let mut taken: Vec<_> = inputs.filter_map(|path| Some((None, Handle::from_path(path).ok()?))).collect();
    let mut created = Vec::new();
    for (option, path) in outputs.into_iter().filter(|(_, path)| !is_standard(path)) {
        // Not of a symbolic link, but of the file it names.
        let existed = path.metadata().is_ok();
        // Opening for append does not change an existing file.
        let opened = OpenOptions::new().append(true).create(true).open(path);
        let opened = opened.map_err(|error| Failure::writing(path, &error))?;
        if !existed {
            created.push(Temporary(fs::canonicalize(path).map_err(|error| Failure::writing(path, &error))?));
        }
        let place = Handle::from_file(opened).map_err(|error| Failure::writing(path, &error))?;
        if let Some((by, _)) = taken.iter().find(|(_, other)| *other == place) {
            let cause = match by {
                None => format!("{option} would overwrite the input {}", path.display()),
                Some(other) => format!("{other} and {option} both name {}", path.display()),
            };
            return Err(Failure::new(cause, format!("give {option} another name")));
        }
        taken.push((Some(option), place));
    }
    Ok(())
}

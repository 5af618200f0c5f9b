//! Output to standard output and files.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use serde::Serialize;

use crate::failure::Failure;

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
    fs::write(path, text).map_err(|error| Failure::writing(path, &error))
}

/// Rejects output files that are not writable, or that would overwrite each other or an input.
/// Called before the work starts.
pub(crate) fn check<'a>(
    inputs: impl IntoIterator<Item = &'a Path>,
    outputs: impl IntoIterator<Item = (&'static str, &'a Path)>,
) -> Result<(), Failure> {
    let mut taken: Vec<_> =
        inputs.into_iter().filter_map(|path| Some((None, fs::canonicalize(path).ok()?))).collect();
    for (option, path) in outputs.into_iter().filter(|(_, path)| !is_standard(path)) {
        let existed = path.symlink_metadata().is_ok();
        // Opening for append does not change an existing file.
        let opened = OpenOptions::new().append(true).create(true).open(path);
        opened.map_err(|error| Failure::writing(path, &error))?;
        let place = fs::canonicalize(path).map_err(|error| Failure::writing(path, &error))?;
        if !existed {
            let _ = fs::remove_file(path); // created again later
        }
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

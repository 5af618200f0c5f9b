//! Opening the files that a command reads.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use ziggurat_sparse::io::{check_file, file_of};

use crate::failure::Failure;
use crate::progress::{Progress, Stage};

/// Opens a file for reading, with a progress bar.
pub(crate) fn open(path: &Path, progress: &Progress) -> Result<(File, Stage), Failure> {
    let bytes = check_readable(path)?;
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    let stage = progress.bytes(&format!("reading {name}"), bytes);
    Ok((File::open(file_of(path)).map_err(|error| Failure::reading(path, &error))?, stage))
}

/// Refuses a path that is a folder, an empty file, or something that is waited for without end.
/// Returns the size of the file.
pub(crate) fn check_readable(path: &Path) -> Result<u64, Failure> {
    let facts = check_file(path)?;
    if facts.is_dir() {
        let hint = match first_matrix(path) {
            Some(file) => format!("give a file in it, such as {}", file.display()),
            None => "give a file with a matrix (.mtx, .mtx.gz, .npz, .petsc, .rb)".to_owned(),
        };
        return Err(Failure::new(format!("{} is a folder, not a file", path.display()), hint));
    }
    if facts.is_file() && facts.len() == 0 {
        return Err(Failure::new(format!("{} is empty", path.display()), "write or download the file again"));
    }
    Ok(facts.len())
}

/// The first file of a folder whose name is that of a matrix.
fn first_matrix(folder: &Path) -> Option<PathBuf> {
    let names = fs::read_dir(folder).ok()?.filter_map(|entry| Some(entry.ok()?.path()));
    let is_matrix = |path: &PathBuf| {
        let name = path.to_string_lossy().to_lowercase();
        [".mtx", ".mtx.gz", ".npz", ".petsc", ".rb"].iter().any(|suffix| name.ends_with(suffix))
    };
    names.filter(is_matrix).min()
}

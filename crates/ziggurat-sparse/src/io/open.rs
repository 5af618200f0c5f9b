//! Opening files for reading.

use std::fs::{self, File, FileType, Metadata};
use std::path::Path;

use super::start::look;
use super::{FileFormat, ReadError};

/// The file and the object that a path of the form `FILE:NAME` denotes, if `FILE` is an HDF5 file
/// and no file has the whole path as its name.
pub(super) fn object_in(path: &Path) -> Option<(&Path, &str)> {
    let text = path.to_str().filter(|text| text.contains(':') && !path.exists())?;
    text.match_indices(':').find_map(|(at, _)| {
        // Not a pipe, from which looking would take bytes.
        let file = Some(Path::new(&text[..at])).filter(|file| file.is_file())?;
        let format = look(File::open(file).ok()?, file).format;
        (format == FileFormat::Hdf5).then_some((file, &text[at + 1..]))
    })
}

/// The file that a path names: `system.h5` for `system.h5:A`, an object of an HDF5 file, and
/// otherwise the path itself. All functions that read a path accept both.
///
/// ```
/// use std::path::Path;
/// use ziggurat_sparse::io::file_of;
/// let folder = std::env::temp_dir();
/// let file = folder.join(format!("ziggurat-file-of-{}.h5", std::process::id()));
/// std::fs::write(&file, b"\x89HDF\r\n\x1a\n")?;
/// let object = format!("{}:Problem/A", file.display());
/// assert_eq!(file_of(Path::new(&object)), file);
/// assert_eq!(file_of(Path::new("A.mtx")), Path::new("A.mtx"));
/// # std::fs::remove_file(file)?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn file_of(path: &Path) -> &Path {
    object_in(path).map_or(path, |(file, _)| file)
}

/// The file behind a path that is to be read, or why it is not read: a named pipe, a socket or a
/// device may never end, or wait for a writer that does not come. It is not opened. Pipes of a
/// shell (`/dev/stdin`, `/dev/fd/63`) are accepted, because they are open already, and so are
/// folders, which no reader takes for a file. A path may name an object in an HDF5 file.
///
/// ```
/// use ziggurat_sparse::io::{ReadError, check_file};
/// assert!(check_file(std::env::temp_dir())?.is_dir());
/// # if cfg!(target_os = "linux") {
/// let error = check_file("/dev/zero").unwrap_err();
/// assert_eq!(error.to_string(), "/dev/zero is a device, not a file");
/// # }
/// # Ok::<(), ReadError>(())
/// ```
///
/// # Errors
/// [`ReadError::Special`], and [`ReadError::Io`] if there is no such file.
pub fn check_file(path: impl AsRef<Path>) -> Result<Metadata, ReadError> {
    let path = path.as_ref();
    let facts = fs::metadata(file_of(path)).map_err(ReadError::io(path))?;
    match special(facts.file_type(), file_of(path)) {
        None => Ok(facts),
        Some(what) => Err(ReadError::Special { path: path.to_owned(), what }),
    }
}

/// Opens a file that has passed [`check_file`].
pub(super) fn open(path: &Path) -> Result<File, ReadError> {
    check_file(path)?;
    File::open(file_of(path)).map_err(ReadError::io(path))
}

/// The kind of a file that may keep its reader waiting; `None` for other files.
#[cfg(unix)]
fn special(kind: FileType, path: &Path) -> Option<&'static str> {
    use std::os::unix::fs::FileTypeExt;
    // A descriptor has no name of its own; where it has one, this is below `/dev/fd`.
    let is_open = || fs::canonicalize(path).ok().is_none_or(|path| path.starts_with("/dev/fd"));
    match kind {
        kind if kind.is_fifo() => (!is_open()).then_some("a named pipe"),
        kind if kind.is_socket() => Some("a socket"),
        kind if kind.is_char_device() || kind.is_block_device() => Some("a device"),
        _ => None,
    }
}

#[cfg(not(unix))]
fn special(_: FileType, _: &Path) -> Option<&'static str> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_of_an_object_names_its_file() {
        let folder = std::env::temp_dir().join(format!("ziggurat-hdf5-names-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = |name: &str| folder.join(name);
        for name in ["s.h5", "with:colon.h5", "s.h5:there"] {
            fs::write(path(name), b"\x89HDF\r\n\x1a\n").unwrap();
        }
        fs::write(path("A.mtx"), "%%MatrixMarket").unwrap();
        let found = |name: &str| {
            let path = path(name);
            let (file, object) = object_in(&path)?;
            Some((file.file_name()?.to_str()?.to_owned(), object.to_owned()))
        };
        let named = |file: &str, object: &str| Some((file.to_owned(), object.to_owned()));
        assert_eq!(found("s.h5:Problem/A"), named("s.h5", "Problem/A"));
        assert_eq!(found("s.h5:a:b"), named("s.h5", "a:b"));
        assert_eq!(found("with:colon.h5:b"), named("with:colon.h5", "b"));
        // Files that exist, and files that have no objects.
        for name in ["s.h5", "s.h5:there", "A.mtx:A", "none.h5:A", "poisson3d:20"] {
            assert_eq!(found(name), None, "{name}");
        }
        fs::remove_dir_all(&folder).unwrap();
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests_of_pipes {
    use super::*;
    use crate::io::{read_matrix, read_vector};
    use std::io::Write;
    use std::os::fd::AsRawFd;
    use std::process::Command;

    #[test]
    fn what_may_never_end_is_refused_and_pipes_of_a_shell_are_read() {
        let folder = std::env::temp_dir().join(format!("ziggurat-special-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = |name: &str| folder.join(name);
        assert!(Command::new("mkfifo").arg(path("fifo")).status().unwrap().success());
        std::os::unix::fs::symlink("fifo", path("link")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(path("socket")).unwrap();
        for (name, what) in [("fifo", "a named pipe"), ("link", "a named pipe"), ("socket", "a socket")] {
            let error = read_matrix(path(name)).unwrap_err().to_string();
            assert_eq!(error, format!("{} is {what}, not a file", path(name).display()));
        }
        assert!(read_vector("/dev/zero").unwrap_err().to_string().contains("is a device, not a file"));
        let (reader, mut writer) = std::io::pipe().unwrap();
        writer.write_all(b"1\n2.5\n").unwrap();
        drop(writer);
        assert_eq!(read_vector(format!("/dev/fd/{}", reader.as_raw_fd())).unwrap(), [1.0, 2.5]);
        fs::remove_dir_all(folder).unwrap();
    }
}

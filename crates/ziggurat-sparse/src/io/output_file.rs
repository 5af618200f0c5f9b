//! Files that appear under their name only when they are complete.
//!
//! A file is written beside its place, under a name such as `.ziggurat-4711-0.part`, and renamed at
//! the end. So a full disk, an error or a signal leaves neither half a file nor destroys the file
//! that was there. A process that is killed leaves the `.part`. Devices and pipes such as
//! `/dev/stdout` are written directly, and so is a file whose folder admits no new ones. A symbolic
//! link stays one, and the file that it names is replaced. Of several hard links, only the given
//! one gets the new contents.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process;

/// The most symbolic links that are followed, as on Linux.
const MAX_LINKS: usize = 40;

/// The most names that are tried for a new file. Another process may have left some.
const MAX_NAMES: usize = 1000;

/// A file that is being written, and replaces the one of its name when it is
/// [finished](Self::finish). If it is dropped before, there is nothing new.
///
/// ```
/// use std::io::Write;
/// use ziggurat_sparse::io::OutputFile;
/// let path = std::env::temp_dir().join(format!("ziggurat-output-{}", std::process::id()));
/// OutputFile::write_all_to(&path, b"old")?;
/// let mut file = OutputFile::create(&path)?;
/// file.write_all(b"new")?;
/// assert_eq!(std::fs::read(&path)?, b"old");
/// file.finish()?;
/// assert_eq!(std::fs::read(&path)?, b"new");
/// # std::fs::remove_file(path)?;
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct OutputFile {
    file: File,
    /// `None` for what is written directly.
    beside: Option<Beside>,
}

/// A file beside its place. It is removed when it is dropped.
#[derive(Debug)]
struct Beside {
    name: PathBuf,
    place: PathBuf,
}

impl Drop for Beside {
    fn drop(&mut self) {
        // After a successful renaming there is none.
        let _ = fs::remove_file(&self.name);
    }
}

impl OutputFile {
    /// Begins a file.
    ///
    /// # Errors
    /// If there is a file of this name that may not be written, or none can be created.
    pub fn create(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref();
        let Some(place) = place(path) else { return Self::directly(path) };
        let old = match fs::metadata(&place) {
            Ok(old) if !old.is_file() => return Self::directly(path),
            // Renaming asks for the right to change the folder only.
            Ok(old) => Some((OpenOptions::new().write(true).open(&place)?, old.permissions())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let (file, beside) = match (Beside::create(place), old) {
            (Ok(new), None) => new,
            (Ok((file, beside)), Some((_, permissions))) => {
                file.set_permissions(permissions)?;
                (file, beside)
            }
            (Err(error), Some(_)) if is_closed_folder(&error) => return Self::directly(path),
            (Err(error), _) => return Err(error),
        };
        Ok(OutputFile { file, beside: Some(beside) })
    }

    /// Truncates the file and writes to it.
    fn directly(path: &Path) -> io::Result<Self> {
        Ok(OutputFile { file: File::create(path)?, beside: None })
    }

    /// Lets the file take its place, and returns it. Its contents have then reached the disk, so
    /// that no later failure, such as a quota of a network drive, can leave half of it there.
    ///
    /// # Errors
    /// If that fails; then the file that was there before is still there.
    pub fn finish(self) -> io::Result<File> {
        let OutputFile { file, beside } = self;
        if let Some(beside) = beside {
            match file.sync_all() {
                // Not every file system can do this.
                Err(error)
                    if !matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) =>
                {
                    return Err(error);
                }
                _ => fs::rename(&beside.name, &beside.place)?,
            }
        }
        Ok(file)
    }

    /// Writes a whole file.
    ///
    /// ```
    /// use ziggurat_sparse::io::OutputFile;
    /// let error = OutputFile::write_all_to("no/such/folder/x", b"1").unwrap_err();
    /// assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
    /// ```
    ///
    /// # Errors
    /// As [`create`](Self::create) and [`finish`](Self::finish).
    pub fn write_all_to(path: impl AsRef<Path>, bytes: &[u8]) -> io::Result<()> {
        let mut file = Self::create(path)?;
        file.write_all(bytes)?;
        file.finish().map(drop)
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Beside {
    /// Creates a file in the folder of `place`.
    fn create(place: PathBuf) -> io::Result<(File, Self)> {
        let mut last = io::Error::from(io::ErrorKind::AlreadyExists);
        for number in 0..MAX_NAMES {
            let name = place.with_file_name(format!(".ziggurat-{}-{number}.part", process::id()));
            match OpenOptions::new().write(true).create_new(true).open(&name) {
                Ok(file) => return Ok((file, Beside { name, place })),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => last = error,
                Err(error) => return Err(error),
            }
        }
        Err(last)
    }
}

/// The file that a path names, with symbolic links followed. It need not exist. `None` if it is a
/// file descriptor of this process, such as `/dev/stdout`.
fn place(path: &Path) -> Option<PathBuf> {
    let mut place = path.to_owned();
    for _ in 0..MAX_LINKS {
        if ["/proc", "/dev/fd"].iter().any(|folder| place.starts_with(folder)) {
            return None;
        }
        match fs::read_link(&place) {
            // An absolute target replaces the folder.
            Ok(target) => place = place.parent().unwrap_or(Path::new("")).join(target),
            Err(_) => return Some(place),
        }
    }
    None // opening it fails
}

/// Whether a folder admits no new files.
fn is_closed_folder(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(test: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("ziggurat-output-{}-{test}", process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn what_is_not_finished_leaves_everything_as_it_was() {
        let folder = folder("unfinished");
        let path = folder.join("x");
        let mut file = OutputFile::create(&path).unwrap();
        file.write_all(b"half").unwrap();
        assert!(!path.exists());
        drop(file);
        assert!(names(&folder).is_empty());
        OutputFile::write_all_to(&path, b"old").unwrap();
        let (mut one, mut other) = (OutputFile::create(&path).unwrap(), OutputFile::create(&path).unwrap());
        one.write_all(b"one").unwrap();
        other.write_all(b"other").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old");
        one.finish().unwrap();
        drop(other);
        assert_eq!((fs::read(&path).unwrap(), names(&folder)), (b"one".to_vec(), vec!["x".to_owned()]));
        fs::remove_dir_all(folder).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn links_and_permissions_are_kept_and_what_is_read_only_is_refused() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = folder("links");
        let (path, link, dangling) = (folder.join("x"), folder.join("link"), folder.join("dangling"));
        symlink("x", &link).unwrap();
        symlink(folder.join("new"), &dangling).unwrap();
        fs::write(&path, "a longer text").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        OutputFile::write_all_to(&link, b"1").unwrap();
        OutputFile::write_all_to(&dangling, b"2").unwrap();
        assert!(link.is_symlink() && dangling.is_symlink());
        assert_eq!(
            (fs::read(&path).unwrap(), fs::read(folder.join("new")).unwrap()),
            (b"1".into(), b"2".into())
        );
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
        symlink("loop", folder.join("loop")).unwrap();
        assert!(OutputFile::create(folder.join("loop")).is_err());
        assert!(OutputFile::create(&folder).is_err());
        assert_eq!(names(&folder), ["dangling", "link", "loop", "new", "x"]);
        fs::remove_dir_all(folder).unwrap();
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn devices_and_descriptors_are_written_directly() {
        use std::os::fd::AsRawFd;
        let error = OutputFile::write_all_to("/dev/full", b"1").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        OutputFile::write_all_to("/dev/null", b"1").unwrap();
        let folder = folder("descriptors");
        let shell = File::create(folder.join("redirected")).unwrap();
        for name in ["/dev/fd", "/proc/self/fd"] {
            OutputFile::write_all_to(Path::new(name).join(shell.as_raw_fd().to_string()), b"1").unwrap();
            assert_eq!(shell.metadata().unwrap().len(), 1, "{name}: the same file, not another one");
        }
        assert_eq!(names(&folder), ["redirected"]);
        fs::remove_dir_all(folder).unwrap();
    }
}

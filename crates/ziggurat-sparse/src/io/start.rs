//! Which format a file has: by its first bytes where they identify it, otherwise by its name.

use std::io::{self, Cursor, Read};
use std::path::Path;

use flate2::read::MultiGzDecoder;

use super::format::{FileFormat, suffix};
use super::{hdf5, npy, npz, petsc, rutherford_boeing, text};

/// Bytes at the start of a file by which its format is recognised. Enough for the header of a gzip
/// file and the first lines of a text.
const START: u64 = 4096;

impl FileFormat {
    /// The format of a file with these first bytes (after decompression, at least the first four
    /// lines of a text) and this name. A file that nothing else identifies is Matrix Market, whose
    /// reader says what it expected.
    ///
    /// ```
    /// use ziggurat_sparse::io::FileFormat;
    /// let start = 1_211_216_i32.to_be_bytes();
    /// assert_eq!(FileFormat::detect(&start, "A.dat"), FileFormat::Petsc);
    /// assert_eq!(FileFormat::detect(b"# x y z\n0.5 0.25 1e-3\n", "xyz.csv"), FileFormat::Text);
    /// ```
    pub fn detect(start: &[u8], name: impl AsRef<Path>) -> Self {
        if npy::is_npy(start) {
            FileFormat::Npy
        } else if npz::is_npz(start) {
            FileFormat::Npz
        } else if petsc::is_petsc(start) {
            FileFormat::Petsc
        } else if hdf5::is_hdf5(start) {
            FileFormat::Hdf5
        } else if start.get(..2) == Some(b"%%") {
            FileFormat::MatrixMarket
        } else if rutherford_boeing::is_header(start) || is_boeing(name.as_ref()) {
            FileFormat::RutherfordBoeing
        } else if text::is_table(start) {
            FileFormat::Text
        } else {
            FileFormat::MatrixMarket
        }
    }
}

/// Whether a name has a suffix of Rutherford–Boeing files: `.rb`, `.hb`, or a matrix type such as
/// `.rua`.
fn is_boeing(path: &Path) -> bool {
    suffix(path).is_some_and(|suffix| {
        matches!(suffix.as_str(), "rb" | "hb") || rutherford_boeing::is_type(suffix.as_bytes())
    })
}

/// A reader whose first bytes have been looked at, and are read again.
pub(super) type Whole<R> = io::Chain<Cursor<Vec<u8>>, R>;

/// The start of a file.
pub(super) struct Start<R> {
    pub(super) format: FileFormat,
    pub(super) gzip: bool,
    pub(super) reader: Whole<R>,
}

/// Looks at the start of a file.
pub(super) fn look<R: Read>(mut reader: R, name: &Path) -> Start<R> {
    let mut start = Vec::new();
    // A failing reader fails again where its bytes are parsed, with the line in the message.
    let _ = reader.by_ref().take(START).read_to_end(&mut start);
    let gzip = start.starts_with(&[0x1f, 0x8b]);
    let format = if gzip {
        let mut text = Vec::new();
        // The compressed bytes are cut off, so this ends with an error.
        let _ = MultiGzDecoder::new(&start[..]).take(START).read_to_end(&mut text);
        FileFormat::detect(&text, name)
    } else {
        FileFormat::detect(&start, name)
    };
    Start { format, gzip, reader: Cursor::new(start).chain(reader) }
}

impl<R: Read> Start<R> {
    /// All bytes of the file, decompressed.
    pub(super) fn bytes(self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let mut reader = self.reader;
        if self.gzip {
            MultiGzDecoder::new(reader).read_to_end(&mut bytes)?;
        } else {
            reader.read_to_end(&mut bytes)?;
        }
        Ok(bytes)
    }
}

//! Reading a matrix from an archive.

use std::io::Read;

use flate2::bufread::DeflateDecoder;
use rawzip::{CompressionMethod, ZipArchive};

use crate::algebra::transpose;
use crate::io::binary_fault::{Located, check_finite};
use crate::io::limits::check_size;
use crate::io::npy::Array;
use crate::io::{BinaryFault, compressed};
use crate::{Coo, Csr, MatrixError};

/// Reads a matrix.
pub(in crate::io) fn read(bytes: &[u8]) -> Result<Csr<f64>, Located> {
    let archive = Archive { bytes };
    let format =
        parse(&archive.member("format")?, "format")?.text().map_err(|fault| fault.in_array("format"))?;
    let shape = archive.integers("shape")?;
    let &[rows, cols] = &shape[..] else {
        let found = format!("{} numbers", shape.len());
        return Err(BinaryFault::Shape { found, expected: "2 numbers".to_owned() }.in_array("shape"));
    };
    let (values, values_shape) = {
        let data = archive.member("data")?;
        let array = parse(&data, "data")?;
        let values = array.reals().map_err(|fault| fault.in_array("data"))?;
        check_finite(&values).map_err(|fault| fault.in_array("data"))?;
        (values, array.shape)
    };
    let size = [("rows", rows), ("columns", cols)].map(|(what, found)| {
        u64::try_from(found).map_err(|_| BinaryFault::Count { what, found }.in_array("shape"))
    });
    let [rows, cols] = size;
    // Of the arrays, `data` is about the largest.
    let read = bytes.len().saturating_add(values.len().saturating_mul(8));
    let (rows, cols) = check_size(rows?, cols?, read).map_err(|fault| fault.in_array("shape"))?;
    let input = Input { archive, rows, cols, values, shape: values_shape };
    match format.as_str() {
        "csr" => input.compressed_rows(rows, cols),
        "csc" => Ok(transpose(input.compressed_rows(cols, rows)?.view(), 0..cols)),
        "coo" => input.triplets(),
        "bsr" => input.blocks(),
        "dia" => input.diagonals(),
        other => {
            let found = format!("the sparse format `{}`", other.escape_debug());
            let supported = "csr, csc, coo, bsr and dia are (convert it by `.tocsr()`)";
            Err(BinaryFault::NotSupported { found, supported }.in_array("format"))
        }
    }
}

/// The parts that all formats have.
struct Input<'b> {
    archive: Archive<'b>,
    rows: usize,
    cols: usize,
    values: Vec<f64>,
    /// The shape of the array of values.
    shape: Vec<u64>,
}

impl Input<'_> {
    /// A matrix of this size whose rows are given by `indptr` and `indices`.
    fn compressed_rows(self, rows: usize, cols: usize) -> Result<Csr<f64>, Located> {
        let (row_ptr, columns) = (self.pointers(rows, self.values.len())?, self.indices("indices", cols)?);
        self.same_length("indices", columns.len(), self.values.len())?;
        built(Csr::from_unsorted(rows, cols, row_ptr, columns, self.values))
    }

    fn triplets(self) -> Result<Csr<f64>, Located> {
        let (rows, columns) = (self.indices("row", self.rows)?, self.indices("col", self.cols)?);
        self.same_length("row", rows.len(), self.values.len())?;
        self.same_length("col", columns.len(), self.values.len())?;
        built(Coo::try_from_triplets(self.rows, self.cols, rows, columns, self.values).map(Coo::into_csr))
    }

    fn blocks(self) -> Result<Csr<f64>, Located> {
        let shape = |fault: String| {
            let found = format!("({} axes)", self.shape.len());
            BinaryFault::Shape { found, expected: fault }.in_array("data")
        };
        let &[count, height, width] = &self.shape[..] else {
            return Err(shape("3 axes: blocks, rows and columns of a block".to_owned()));
        };
        let fits = |extent: usize, block: u64| block > 0 && (extent as u64).is_multiple_of(block);
        if !fits(self.rows, height) || !fits(self.cols, width) {
            let expected = format!("blocks that divide a {} x {} matrix", self.rows, self.cols);
            let found = format!("({count}, {height}, {width})");
            return Err(BinaryFault::Shape { found, expected }.in_array("data"));
        }
        // At most as many as rows, columns and values.
        let (count, height, width) = (count as usize, height as usize, width as usize);
        let row_ptr = self.pointers(self.rows / height, count)?;
        let columns = self.indices("indices", self.cols / width)?;
        self.same_length("indices", columns.len(), count)?;
        let size = height.saturating_mul(width);
        let expand = || {
            let mut entries = Coo::with_capacity(self.rows, self.cols, self.values.len())?;
            for (block_row, own) in row_ptr.windows(2).map(|own| own[0]..own[1]).enumerate() {
                let values = self.values[own.start * size..own.end * size].chunks(size);
                for (&block_column, block) in columns[own].iter().zip(values) {
                    for (at, &value) in block.iter().enumerate() {
                        let (row, column) = (at / width, at % width);
                        entries.push(
                            block_row * height + row,
                            block_column as usize * width + column,
                            value,
                        )?;
                    }
                }
            }
            Ok(entries.into_csr())
        };
        built(expand())
    }

    fn diagonals(self) -> Result<Csr<f64>, Located> {
        let offsets = self.archive.integers("offsets")?;
        let &[count, length] = &self.shape[..] else {
            let found = format!("({} axes)", self.shape.len());
            let expected = "2 axes: diagonals and columns".to_owned();
            return Err(BinaryFault::Shape { found, expected }.in_array("data"));
        };
        self.same_length("offsets", offsets.len(), count as usize)?;
        let length = length as usize; // at most the number of values, if there are any
        let expand = || {
            let mut entries = Coo::new(self.rows, self.cols)?;
            for (&offset, values) in offsets.iter().zip(self.values.chunks(length.max(1))) {
                for (column, &value) in values.iter().take(self.cols).enumerate() {
                    let row = (column as i64).checked_sub(offset).and_then(|row| usize::try_from(row).ok());
                    if let Some(row) = row.filter(|&row| row < self.rows && value != 0.0) {
                        entries.push(row, column, value)?;
                    }
                }
            }
            Ok(entries.into_csr())
        };
        built(expand())
    }

    /// The array `indptr` for `rows` rows and `entries` entries.
    fn pointers(&self, rows: usize, entries: usize) -> Result<Vec<usize>, Located> {
        let found = self.archive.integers("indptr")?;
        compressed::pointers(found, rows, entries).map_err(|fault| fault.in_array("indptr"))
    }

    /// An array of indices below `extent`.
    fn indices(&self, name: &str, extent: usize) -> Result<Vec<u32>, Located> {
        let found = self.archive.integers(name)?;
        compressed::indices(found, extent).map_err(|fault| fault.in_array(name))
    }

    fn same_length(&self, name: &str, found: usize, expected: usize) -> Result<(), Located> {
        compressed::same_length(found, expected).map_err(|fault| fault.in_array(name))
    }
}

/// A matrix whose indices have been checked; it may still have too many entries.
fn built(a: Result<Csr<f64>, MatrixError>) -> Result<Csr<f64>, Located> {
    a.map_err(|fault| BinaryFault::TooLarge(fault).in_array("data"))
}

/// The arrays of a file by name.
struct Archive<'b> {
    bytes: &'b [u8],
}

impl Archive<'_> {
    /// The array of this name, as integers.
    fn integers(&self, name: &str) -> Result<Vec<i64>, Located> {
        parse(&self.member(name)?, name)?.integers().map_err(|fault| fault.in_array(name))
    }

    /// The bytes of an array.
    fn member(&self, name: &str) -> Result<Vec<u8>, Located> {
        self.decompressed(name).map_err(|fault| fault.in_array(name))
    }

    /// The bytes of an array, decompressed and compared with their checksum.
    fn decompressed(&self, name: &str) -> Result<Vec<u8>, BinaryFault> {
        let damaged = |cause: rawzip::Error| BinaryFault::Damaged { cause: cause.to_string() };
        let archive = ZipArchive::from_slice(self.bytes).map_err(damaged)?;
        let (mut entries, mut found) = (archive.entries(), Vec::new());
        while let Some(entry) = entries.next_entry().map_err(damaged)? {
            let path = String::from_utf8_lossy(entry.file_path().as_ref()).into_owned();
            if path.strip_suffix(".npy") != Some(name) {
                found.push(path);
                continue;
            }
            let method = entry.compression_method();
            let member = archive.get_entry(entry.wayfinder()).map_err(damaged)?;
            let data: Box<dyn Read> = match method {
                CompressionMethod::STORE => Box::new(member.data()),
                CompressionMethod::DEFLATE => Box::new(DeflateDecoder::new(member.data())),
                _ => {
                    let found = format!("the compression method {method:?}");
                    let supported = "stored and deflated arrays are";
                    return Err(BinaryFault::NotSupported { found, supported });
                }
            };
            let mut bytes = Vec::new();
            let read = member.verifying_reader(data).read_to_end(&mut bytes);
            return read.map(|_| bytes).map_err(|cause| BinaryFault::Damaged { cause: cause.to_string() });
        }
        found.truncate(8);
        let found =
            if found.is_empty() { "none".to_owned() } else { found.join(", ").escape_debug().to_string() };
        Err(BinaryFault::NoSuchArray { found })
    }
}

/// Parses an array.
fn parse<'b>(bytes: &'b [u8], name: &str) -> Result<Array<'b>, Located> {
    Array::parse(bytes).map_err(|located| located.fault.in_array(name))
}

#[cfg(test)]
mod tests {
    use super::super::write::{member, write};
    use super::*;
    use rawzip::ZipArchiveWriter;

    /// A file with these arrays: name, element type, shape, data.
    fn file(arrays: &[(&str, &str, &[usize], &[u8])]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut archive = ZipArchiveWriter::new(&mut bytes);
        for (name, element, shape, data) in arrays {
            member(&mut archive, name, element, shape, |out| out.write_all(data)).unwrap();
        }
        archive.finish().unwrap();
        bytes
    }

    const SHAPE: (&str, &str, &[usize], &[u8]) = ("shape", "|u1", &[2], &[2, 3]);

    fn format(name: &'static str) -> (&'static str, &'static str, &'static [usize], &'static [u8]) {
        ("format", "|S3", &[], name.as_bytes())
    }

    /// The matrix (0 0 5; 6 7 0) in every format.
    #[test]
    fn every_format() {
        let expected = Csr::try_new(2, 3, vec![0, 1, 3], vec![2, 0, 1], vec![5.0, 6.0, 7.0]).unwrap();
        type Arrays<'a> = &'a [(&'a str, &'a str, &'a [usize], &'a [u8])];
        let cases: [(&str, Arrays<'_>); 5] = [
            (
                "csr",
                &[
                    ("indptr", "|u1", &[3], &[0, 1, 3]),
                    ("indices", "|i1", &[3], &[2, 1, 0]),
                    ("data", "|u1", &[3], &[5, 7, 6]),
                ],
            ),
            (
                "csc",
                &[
                    ("indptr", "|u1", &[4], &[0, 1, 2, 3]),
                    ("indices", "|u1", &[3], &[1, 1, 0]),
                    ("data", "|u1", &[3], &[6, 7, 5]),
                ],
            ),
            (
                "coo",
                &[
                    ("row", "|u1", &[4], &[1, 0, 1, 1]),
                    ("col", "|u1", &[4], &[0, 2, 1, 0]),
                    ("data", "|u1", &[4], &[2, 5, 7, 4]),
                ],
            ),
            (
                "bsr",
                &[
                    ("indptr", "|u1", &[2], &[0, 3]),
                    ("indices", "|u1", &[3], &[1, 0, 2]),
                    ("data", "|u1", &[3, 2, 1], &[0, 7, 0, 6, 5, 0]),
                ],
            ),
            (
                "dia",
                &[
                    ("offsets", "|i1", &[3], &[0xff, 0, 2]),
                    ("data", "|u1", &[3, 3], &[6, 9, 9, 0, 7, 9, 9, 9, 5]),
                ],
            ),
        ];
        for (name, arrays) in cases {
            let a = read(&file(&[&[format(name), SHAPE], arrays].concat())).unwrap();
            assert_eq!((a.rows(), a.cols(), a.nnz()), (2, 3, if name == "bsr" { 6 } else { 3 }), "{name}");
            for (row, column) in (0..6).map(|k| (k / 3, k % 3)) {
                let found = a.get(row, column).filter(|&value| value != 0.0);
                assert_eq!(found, expected.get(row, column), "{name}");
            }
        }
    }

    #[test]
    fn faults_name_the_array() {
        let fault = |arrays: &[(&str, &str, &[usize], &[u8])]| {
            let Located { position, fault } = read(&file(arrays)).unwrap_err();
            format!("{position}: {fault}")
        };
        let csr = |indptr: &[u8], indices: &[u8], shape: &[u8]| {
            fault(&[
                format("csr"),
                ("shape", "|i1", &[2], shape),
                ("indptr", "|i1", &[indptr.len()], indptr),
                ("indices", "|i1", &[indices.len()], indices),
                ("data", "|u1", &[3], &[1, 2, 3]),
            ])
        };
        assert_eq!(
            csr(&[0, 1, 3], &[2, 1, 3], &[2, 3]),
            "array `indices`: entry 2: the index 3 is outside 0..3"
        );
        assert_eq!(
            csr(&[0, 1, 3], &[2, 1, 0xff], &[2, 3]),
            "array `indices`: entry 2: the index -1 is outside 0..3"
        );
        assert_eq!(csr(&[0, 1, 3], &[2, 1], &[2, 3]), "array `indices`: the shape is (2), expected (3)");
        assert_eq!(csr(&[0, 3], &[2, 1, 0], &[2, 3]), "array `indptr`: the shape is (2), expected (3)");
        assert_eq!(csr(&[1, 1, 3], &[2, 1, 0], &[2, 3]), "array `indptr`: pointer 0 is 1, expected 0");
        assert_eq!(
            csr(&[0, 0xff, 3], &[2, 1, 0], &[2, 3]),
            "array `indptr`: pointer 1 is -1, expected at least 0"
        );
        assert_eq!(
            csr(&[0, 1, 2], &[2, 1, 0], &[2, 3]),
            "array `indptr`: pointer 2 is 2, expected 3, the number of entries"
        );
        assert_eq!(csr(&[0, 1, 3], &[2, 1, 0], &[0xff, 3]), "array `shape`: the number of rows is -1");
        assert!(
            fault(&[format("lil"), SHAPE, ("data", "|u1", &[0], &[])])
                .contains("the sparse format `lil` is not supported")
        );
        let missing = fault(&[("arr_0", "|u1", &[1], &[1])]);
        assert_eq!(
            missing,
            "array `format`: the archive has no such array (it has arr_0.npy); `scipy.sparse.save_npz` writes one"
        );
        let complex = fault(&[format("csr"), SHAPE, ("data", "<c16", &[1], &[0; 16])]);
        assert_eq!(complex, "array `data`: an array of complex numbers is not supported; real numbers are");
    }

    #[test]
    fn damage_is_found() {
        let a = Csr::<f64>::identity(3).unwrap();
        let mut whole = Vec::new();
        write(&mut whole, a.view()).unwrap();
        assert_eq!(read(&whole).unwrap(), a);
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x55;
            // Dates, versions and attributes do not matter.
            if let Ok(found) = read(&damaged) {
                assert_eq!(found, a, "{at}");
            }
            assert!(read(&whole[..at]).is_err(), "{at}");
        }
    }
}

//! NumPy arrays: `.npy` files, as `numpy.save` writes them.
//!
//! ```text
//! "\x93NUMPY"  major  minor        8 bytes
//! length of the header             2 bytes (version 1) or 4 bytes (2 and 3), little-endian
//! {'descr': '<f8', 'fortran_order': False, 'shape': (3, 2), }   a Python dictionary, padded
//! the values, row by row (column by column if fortran_order is True)
//! ```
//!
//! From NumPy Enhancement Proposal 1, and `numpy.lib.format`. Numbers of any kind but complex are
//! read: floating-point with 16, 32 and 64 bits, integers and booleans, in either byte order. The
//! header is parsed here rather than by the crate `npyz`, which depends on a parser generator.

use std::io::{self, Write};
use std::str;

use half::f16;

use super::BinaryFault;
use super::binary_fault::{Located, check_finite};
use super::limits::check_size;
use crate::Dense;

const MAGIC: &[u8] = b"\x93NUMPY";

/// Values that are converted to bytes at once.
const PIECE: usize = 4096;

/// Whether a file starts like an array.
pub(super) fn is_npy(start: &[u8]) -> bool {
    start.starts_with(MAGIC)
}

/// An array in memory. Its data has as many bytes as its shape needs.
#[derive(Debug, PartialEq)]
pub(super) struct Array<'b> {
    pub(super) shape: Vec<u64>,
    /// Whether the first index varies fastest.
    by_columns: bool,
    element: Element,
    data: &'b [u8],
}

/// The type of an element, such as `<f8`.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Element {
    big_endian: bool,
    /// `f`, `i`, `u`, `b` (boolean), `S` (bytes) or `U` (text).
    kind: u8,
    bytes: usize,
}

/// Reads a vector (as one column) or a matrix.
pub(super) fn read(bytes: &[u8]) -> Result<Dense<f64>, Located> {
    let array = Array::parse(bytes)?;
    let at = |fault: BinaryFault| fault.at(bytes.len() - array.data.len());
    let (rows, cols) = match array.shape[..] {
        [rows] => (rows, 1),
        [rows, cols] => (rows, cols),
        _ => return Err(at(array.unexpected_shape("one or two axes"))),
    };
    let (rows, cols) = check_size(rows, cols, bytes.len()).map_err(at)?;
    let mut values = array.reals().map_err(at)?;
    check_finite(&values).map_err(at)?;
    if !array.by_columns && rows > 1 && cols > 1 {
        values = (0..cols).flat_map(|j| values[j..].iter().step_by(cols).copied()).collect();
    }
    Dense::try_new(rows, cols, values).map_err(|fault| at(BinaryFault::TooLarge(fault)))
}

impl<'b> Array<'b> {
    /// Parses the header.
    pub(super) fn parse(bytes: &'b [u8]) -> Result<Self, Located> {
        let truncated =
            |needed: usize| BinaryFault::Truncated { needed: needed as u128, left: bytes.len() as u64 }.at(0);
        if !is_npy(bytes) {
            return Err(BinaryFault::Header { expected: "`\\x93NUMPY`" }.at(0));
        }
        let wide = match bytes.get(6) {
            Some(1) => false,
            Some(2 | 3) => true,
            Some(version) => {
                let found = format!("version {version} of the format");
                return Err(BinaryFault::NotSupported { found, supported: "versions 1 to 3 are" }.at(6));
            }
            None => return Err(truncated(8)),
        };
        let length = match (wide, bytes.get(8..10), bytes.get(8..12)) {
            (false, Some(&[a, b]), _) => usize::from(u16::from_le_bytes([a, b])),
            (true, _, Some(&[a, b, c, d])) => u32::from_le_bytes([a, b, c, d]) as usize,
            _ => return Err(truncated(12)),
        };
        let begin = if wide { 12 } else { 10 };
        let Some((header, data)) = bytes[begin..].split_at_checked(length) else {
            return Err(truncated(begin.saturating_add(length)));
        };
        let (element, by_columns, shape) = parse_header(header).map_err(|fault| fault.at(begin))?;
        let count = shape.iter().map(|&n| u128::from(n)).try_fold(1, u128::checked_mul);
        let needed = count.and_then(|count| count.checked_mul(element.bytes as u128)).unwrap_or(u128::MAX);
        let left = data.len() as u64;
        if needed > u128::from(left) {
            return Err(BinaryFault::Truncated { needed, left }.at(begin + length));
        }
        if needed < u128::from(left) {
            let (left, hint) = (left - needed as u64, "write one array per file");
            return Err(BinaryFault::Trailing { left, hint }.at(bytes.len() - left as usize));
        }
        Ok(Array { shape, by_columns, element, data })
    }

    /// The fault of an array whose shape is not the expected one.
    pub(super) fn unexpected_shape(&self, expected: impl Into<String>) -> BinaryFault {
        let sizes: Vec<String> = self.shape.iter().map(u64::to_string).collect();
        BinaryFault::Shape { found: format!("({})", sizes.join(", ")), expected: expected.into() }
    }

    /// The elements in the order of the file, as real numbers.
    pub(super) fn reals(&self) -> Result<Vec<f64>, BinaryFault> {
        let Element { kind, bytes, .. } = self.element;
        Ok(match (kind, bytes) {
            (b'f', 8) => self.elements(f64::from_le_bytes),
            (b'f', 4) => self.elements(|bytes| f64::from(f32::from_le_bytes(bytes))),
            (b'f', 2) => self.elements(|bytes| f64::from(f16::from_le_bytes(bytes))),
            (b'b', 1) => self.elements(|[byte]| f64::from(u8::from(byte != 0))),
            (b'u', 8) => self.elements(|bytes| u64::from_le_bytes(bytes) as f64),
            (b'i' | b'u', _) => self.integers()?.into_iter().map(|integer| integer as f64).collect(),
            _ => return Err(self.element.refused("real numbers are")),
        })
    }

    /// The elements in the order of the file, as integers. An unsigned integer that is too large
    /// becomes the largest signed one.
    pub(super) fn integers(&self) -> Result<Vec<i64>, BinaryFault> {
        let Element { kind, bytes, .. } = self.element;
        Ok(match (kind, bytes) {
            (b'i', 1) => self.elements(|bytes| i64::from(i8::from_le_bytes(bytes))),
            (b'i', 2) => self.elements(|bytes| i64::from(i16::from_le_bytes(bytes))),
            (b'i', 4) => self.elements(|bytes| i64::from(i32::from_le_bytes(bytes))),
            (b'i', 8) => self.elements(i64::from_le_bytes),
            (b'u', 1) => self.elements(|[byte]| i64::from(byte)),
            (b'u', 2) => self.elements(|bytes| i64::from(u16::from_le_bytes(bytes))),
            (b'u', 4) => self.elements(|bytes| i64::from(u32::from_le_bytes(bytes))),
            (b'u', 8) => self.elements(|bytes| i64::try_from(u64::from_le_bytes(bytes)).unwrap_or(i64::MAX)),
            _ => return Err(self.element.refused("integers are")),
        })
    }

    /// A single string, without padding.
    pub(super) fn text(&self) -> Result<String, BinaryFault> {
        let letters: Vec<u32> = match (self.element.kind, self.shape.is_empty()) {
            (b'S', true) => self.data.iter().map(|&byte| byte.into()).collect(),
            (b'U', true) => self.elements(u32::from_le_bytes),
            _ => return Err(self.element.refused("a string is")),
        };
        let letters = letters.into_iter().map(|letter| char::from_u32(letter).unwrap_or('\u{fffd}'));
        Ok(letters.take_while(|&letter| letter != '\0').collect())
    }

    /// Converts every `N` bytes, which `convert` takes in little-endian order.
    fn elements<const N: usize, T>(&self, convert: impl Fn([u8; N]) -> T) -> Vec<T> {
        let big_endian = self.element.big_endian;
        let elements = self.data.as_chunks().0.iter().map(|&bytes| {
            let mut bytes: [u8; N] = bytes;
            if big_endian {
                bytes.reverse();
            }
            convert(bytes)
        });
        elements.collect()
    }
}

impl Element {
    /// Parses a description such as `<f8`.
    fn parse(text: &str) -> Option<Self> {
        let (order, rest) = text.split_at_checked(1)?;
        let (kind, size) = rest.split_at_checked(1)?;
        let big_endian = match order {
            ">" => true,
            "<" | "|" => false,
            "=" => cfg!(target_endian = "big"),
            _ => return None,
        };
        let (kind, size): (u8, usize) = (kind.as_bytes()[0], size.parse().ok()?);
        // Letters of text have four bytes.
        let bytes = if kind == b'U' { size.checked_mul(4)? } else { size };
        Some(Element { big_endian, kind, bytes })
    }

    fn refused(self, supported: &'static str) -> BinaryFault {
        let found = match self.kind {
            b'c' => "an array of complex numbers".to_owned(),
            b'O' => "an array of Python objects".to_owned(),
            kind => format!("the element type `{}{}`", kind.escape_ascii(), self.bytes),
        };
        BinaryFault::NotSupported { found, supported }
    }
}

/// The element type, the order and the shape that a header describes.
fn parse_header(header: &[u8]) -> Result<(Element, bool, Vec<u64>), BinaryFault> {
    let mut rest = Tokens(str::from_utf8(header).unwrap_or(""));
    let (mut element, mut by_columns, mut shape) = (None, None, None);
    rest.expect("{")?;
    while !rest.skip("}") {
        let key = rest.quoted()?;
        rest.expect(":")?;
        match key {
            "descr" if rest.0.trim_start().starts_with('[') => {
                let found = "an array of records".to_owned();
                return Err(BinaryFault::NotSupported { found, supported: "real numbers are" });
            }
            "descr" => element = Element::parse(rest.quoted()?),
            "fortran_order" => by_columns = Some(rest.boolean()?),
            "shape" => shape = Some(rest.tuple()?),
            _ => return Err(BinaryFault::Header { expected: "`descr`, `fortran_order` or `shape`" }),
        }
        rest.skip(",");
    }
    let element =
        element.ok_or(BinaryFault::Header { expected: "`descr`, an element type such as `<f8`" })?;
    let by_columns = by_columns.ok_or(BinaryFault::Header { expected: "`fortran_order`" })?;
    let shape = shape.ok_or(BinaryFault::Header { expected: "`shape`" })?;
    Ok((element, by_columns, shape))
}

/// The rest of a header.
struct Tokens<'a>(&'a str);

impl<'a> Tokens<'a> {
    /// Passes a token if it is next.
    fn skip(&mut self, token: &str) -> bool {
        let rest = self.0.trim_start().strip_prefix(token);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    fn expect(&mut self, token: &'static str) -> Result<(), BinaryFault> {
        if self.skip(token) { Ok(()) } else { Err(BinaryFault::Header { expected: token }) }
    }

    fn quoted(&mut self) -> Result<&'a str, BinaryFault> {
        let text = self.0.trim_start();
        let quote = text.chars().next().filter(|letter| matches!(letter, '\'' | '"'));
        let parts = quote.and_then(|quote| text[1..].split_once(quote));
        let (word, rest) = parts.ok_or(BinaryFault::Header { expected: "a quoted word" })?;
        self.0 = rest;
        Ok(word)
    }

    fn boolean(&mut self) -> Result<bool, BinaryFault> {
        if self.skip("True") {
            return Ok(true);
        }
        if self.skip("False") { Ok(false) } else { Err(BinaryFault::Header { expected: "True or False" }) }
    }

    /// Sizes in parentheses. Python 2 wrote `L` behind long ones.
    fn tuple(&mut self) -> Result<Vec<u64>, BinaryFault> {
        let mut sizes = Vec::new();
        self.expect("(")?;
        while !self.skip(")") {
            let text = self.0.trim_start();
            let digits = text.bytes().take_while(u8::is_ascii_digit).count();
            let size = text[..digits].parse();
            sizes.push(size.map_err(|_| BinaryFault::Header { expected: "a shape such as (3, 2)" })?);
            self.0 = &text[digits..];
            self.skip("L");
            self.skip(",");
        }
        Ok(sizes)
    }
}

/// Writes the header of an array with elements such as `<f8`.
pub(super) fn write_header(
    out: &mut impl Write,
    element: &str,
    shape: &[usize],
    by_columns: bool,
) -> io::Result<()> {
    let mut sizes: Vec<String> = shape.iter().map(usize::to_string).collect();
    if sizes.len() == 1 {
        sizes.push(String::new()); // (3,)
    }
    let order = if by_columns { "True" } else { "False" };
    let shape = sizes.join(", ");
    let text =
        format!("{{'descr': '{element}', 'fortran_order': {order}, 'shape': ({}), }}", shape.trim_end());
    // Padded with blanks, so that the data starts at a multiple of 64 bytes.
    let length = (text.len() + 11).next_multiple_of(64) - 10;
    out.write_all(MAGIC)?;
    out.write_all(&[1, 0])?;
    out.write_all(&(length as u16).to_le_bytes())?; // a shape of two axes is short
    writeln!(out, "{text:<0$}", length - 1)
}

/// Writes the values of an array with elements `<f8`.
pub(super) fn write_values(out: &mut impl Write, values: &[f64]) -> io::Result<()> {
    let mut bytes = Vec::with_capacity(8 * PIECE.min(values.len()));
    for piece in values.chunks(PIECE) {
        bytes.clear();
        bytes.extend(piece.iter().flat_map(|value| value.to_le_bytes()));
        out.write_all(&bytes)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of version 1.
    fn file(header: &str, data: &[u8]) -> Vec<u8> {
        let length = (header.len() as u16).to_le_bytes();
        [MAGIC, &[1, 0], &length, header.as_bytes(), data].concat()
    }

    #[test]
    fn every_kind_of_number_in_either_order() {
        let read = |element: &str, data: &[u8]| {
            let header = format!("{{'descr': '{element}', 'fortran_order': False, 'shape': (2,), }}\n");
            read(&file(&header, data)).map(Dense::into_values).map_err(|located| located.fault.to_string())
        };
        assert_eq!(
            read("<f8", &[1.5f64.to_le_bytes(), (-2.0f64).to_le_bytes()].concat()),
            Ok(vec![1.5, -2.0])
        );
        assert_eq!(
            read(">f4", &[1.5f32.to_be_bytes(), (-2.0f32).to_be_bytes()].concat()),
            Ok(vec![1.5, -2.0])
        );
        assert_eq!(read("<f2", &[0, 0x3e, 0, 0xc0]), Ok(vec![1.5, -2.0]));
        assert_eq!(read("|i1", &[3, 0xff]), Ok(vec![3.0, -1.0]));
        assert_eq!(read(">i2", &[1, 0, 0xff, 0xff]), Ok(vec![256.0, -1.0]));
        assert_eq!(read("|b1", &[0, 1]), Ok(vec![0.0, 1.0]));
        assert_eq!(read("<u8", &[[0xff; 8], [0; 8]].concat()), Ok(vec![18_446_744_073_709_551_615.0, 0.0]));
        let error = read("<c16", &[0; 32]).unwrap_err();
        assert_eq!(error, "an array of complex numbers is not supported; real numbers are");
        let error = read("<f8", &[1.0f64.to_le_bytes(), f64::NAN.to_le_bytes()].concat()).unwrap_err();
        assert_eq!(error, "entry 1: the value is NaN; every value must be finite");
        let error = read("<f8", &[0; 15]).unwrap_err();
        assert_eq!(error, "16 bytes are declared here, but the file ends after 15");
        assert!(read("<f8", &[0; 17]).unwrap_err().starts_with("1 more byte follows"));
    }

    #[test]
    fn either_order_of_a_matrix() {
        let data: Vec<u8> = (0u8..6).collect();
        for (order, expected) in
            [("True", [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]), ("False", [0.0, 2.0, 4.0, 1.0, 3.0, 5.0])]
        {
            let header = format!("{{\"shape\": (3L, 2), 'fortran_order':{order},'descr': '|u1'}}");
            let dense = read(&file(&header, &data)).unwrap();
            assert_eq!((dense.rows(), dense.cols(), dense.values()), (3, 2, &expected[..]), "{order}");
        }
    }

    #[test]
    fn malformed_headers_are_faults() {
        for (header, expected) in [
            ("", "expected {"),
            ("{'descr': '<f8'", "a quoted word"),
            ("{'descr': '<f8'}", "expected `fortran_order`"),
            ("{'descr': 'f', 'fortran_order': False, 'shape': ()}", "such as `<f8`"),
            ("{'descr': '<f8', 'fortran_order': 1, 'shape': ()}", "True or False"),
            ("{'descr': '<f8', 'fortran_order': False, 'shape': (x)}", "such as (3, 2)"),
            ("{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999999999999)}", "such as (3, 2)"),
            ("{'descr': [('x', '<f8')], 'fortran_order': False, 'shape': (1,)}", "an array of records"),
            ("{'descr': '<f8', 'fortran_order': False, 'shape': ()}", "8 bytes are declared"),
            ("{'descr': '|i1', 'fortran_order': False, 'shape': (0, 1, 1)}", "expected one or two axes"),
            (
                "{'descr': '<f8', 'fortran_order': False, 'shape': (9223372036854775807, 9223372036854775807)}",
                "declared",
            ),
            (
                "{'descr': '<f8', 'fortran_order': False, 'shape': (4000000000, 0)}",
                "4000000000 rows are implausible",
            ),
            ("{'descr': '<f8', 'fortran_order': False, 'shape': (5000000000, 0)}", "more than one process"),
        ] {
            let error = read(&file(header, &[])).unwrap_err().fault.to_string();
            assert!(error.contains(expected), "{header}: {error}");
        }
        let whole = file("{'descr': '|u1', 'fortran_order': False, 'shape': (1,), }", &[7]);
        assert_eq!(read(&whole).unwrap().values(), [7.0]);
        for length in 0..whole.len() {
            assert!(read(&whole[..length]).is_err(), "{length}");
        }
    }
}

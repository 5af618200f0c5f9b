//! The banner and the size line.
//!
//! ```text
//! %%MatrixMarket matrix coordinate|array real|integer|pattern general|symmetric|skew-symmetric
//! % any number of comments
//! rows columns entries                      (coordinate)
//! rows columns                              (array)
//! ```
//!
//! Words are case-insensitive. From R. F. Boisvert, R. Pozo, K. A. Remington, "The Matrix Market
//! Exchange Formats: Initial Design", NISTIR 5935, 1996.

use super::cursor::Cursor;
use crate::io::fault::{Fault, shown};
use crate::{MatrixError, UnknownName};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Layout {
    Coordinate,
    Array,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Field {
    Real,
    Integer,
    Pattern,
}

/// The symmetry declared in the banner, which determines which entries the file lists.
///
/// ```
/// use ziggurat_sparse::io::StoredSymmetry;
/// assert_eq!(StoredSymmetry::Skew.name(), "skew-symmetric");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoredSymmetry {
    /// The file lists all entries.
    General,
    /// The file lists the lower triangle including the diagonal; a_ji = a_ij.
    Symmetric,
    /// The file lists the strictly lower triangle; a_ji = -a_ij, and the diagonal is zero.
    Skew,
}

impl StoredSymmetry {
    /// The keyword in the banner.
    pub fn name(self) -> &'static str {
        match self {
            StoredSymmetry::General => "general",
            StoredSymmetry::Symmetric => "symmetric",
            StoredSymmetry::Skew => "skew-symmetric",
        }
    }
}

/// The parsed first line of a file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Banner {
    pub(super) layout: Layout,
    pub(super) field: Field,
    pub(super) symmetry: StoredSymmetry,
}

/// The parsed banner and size line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Header {
    pub(super) layout: Layout,
    pub(super) field: Field,
    pub(super) symmetry: StoredSymmetry,
    pub(super) rows: u64,
    pub(super) cols: u64,
    /// Number of data lines: entries stored in the file, before expansion by symmetry. It
    /// saturates, which is harmless because it never determines an allocation and no file has 2^64
    /// lines.
    pub(super) stored: u64,
}

/// Parses the next word of the banner, which must be one of `known`.
fn word<T: Copy>(
    cursor: &mut Cursor<'_>,
    what: &'static str,
    known: &[(&'static str, T)],
) -> Result<T, Fault> {
    let found = cursor.word();
    if found.is_empty() {
        return Err(Fault::Missing { what });
    }
    let same = |name: &str| found.eq_ignore_ascii_case(name.as_bytes());
    known.iter().find(|(name, _)| same(name)).map(|&(_, value)| value).ok_or_else(|| {
        Fault::UnknownWord(UnknownName::new(what, &shown(found), known.iter().map(|&(name, _)| name)))
    })
}

impl Header {
    fn extents(&self) -> [(&'static str, u64); 2] {
        [("rows", self.rows), ("columns", self.cols)]
    }

    /// Rejects more rows or columns than local indices can address.
    pub(super) fn check_local(&self) -> Result<(), Fault> {
        let too_large = self.extents().into_iter().find(|&(_, count)| count > u64::from(u32::MAX));
        too_large.map_or(Ok(()), |(what, count)| {
            let extent = usize::try_from(count).unwrap_or(usize::MAX);
            Err(Fault::TooLarge(MatrixError::TooLarge { what, extent }))
        })
    }

    /// Rejects more rows or columns than global indices can address. Counts saturate, so `u64::MAX`
    /// means "or more".
    pub(super) fn check_global(&self) -> Result<(), Fault> {
        let too_large = self.extents().into_iter().find(|&(_, count)| count == u64::MAX);
        too_large.map_or(Ok(()), |(what, _)| Err(Fault::BeyondGlobalIds { what }))
    }
}

impl Banner {
    pub(super) fn read(cursor: &mut Cursor<'_>) -> Result<Self, Fault> {
        let banner = cursor.word();
        if !banner.eq_ignore_ascii_case(b"%%MatrixMarket") {
            return Err(Fault::Banner { found: shown(banner) });
        }
        word(cursor, "object", &[("matrix", ())])?;
        let layout = word(cursor, "format", &[("coordinate", Layout::Coordinate), ("array", Layout::Array)])?;
        let fields = [
            ("real", Ok(Field::Real)),
            ("integer", Ok(Field::Integer)),
            ("pattern", Ok(Field::Pattern)),
            ("complex", Err("complex")),
        ];
        let field = word(cursor, "field", &fields)?.map_err(|what| Fault::NotSupported { what })?;
        let symmetries = [
            ("general", Ok(StoredSymmetry::General)),
            ("symmetric", Ok(StoredSymmetry::Symmetric)),
            ("skew-symmetric", Ok(StoredSymmetry::Skew)),
            ("hermitian", Err("hermitian")),
        ];
        let symmetry = word(cursor, "symmetry", &symmetries)?.map_err(|what| Fault::NotSupported { what })?;
        cursor.end_line()?;
        match (layout, field, symmetry) {
            (Layout::Array, Field::Pattern, _) => Err(Fault::Contradiction(
                "`array` stores values and `pattern` has none; use `coordinate pattern`",
            )),
            (_, Field::Pattern, StoredSymmetry::Skew) => {
                Err(Fault::Contradiction("a `pattern` matrix has no signs, so it cannot be `skew-symmetric`"))
            }
            _ => Ok(Banner { layout, field, symmetry }),
        }
    }

    /// Reads the size line. `cursor` must be at its first word.
    pub(super) fn with_size(self, cursor: &mut Cursor<'_>) -> Result<Header, Fault> {
        let Banner { layout, field, symmetry } = self;
        let (rows, cols) = (cursor.count("the number of rows")?, cursor.count("the number of columns")?);
        let listed = match layout {
            Layout::Coordinate => Some(cursor.count("the number of entries")?),
            Layout::Array => None,
        };
        cursor.end_line()?;
        if symmetry != StoredSymmetry::General && rows != cols {
            return Err(Fault::NotSquare { symmetry: symmetry.name(), rows, columns: cols });
        }
        let (r, c) = (u128::from(rows), u128::from(cols));
        let dense = match symmetry {
            StoredSymmetry::General => r * c,
            StoredSymmetry::Symmetric => r * (r + 1) / 2,
            StoredSymmetry::Skew => r * r.saturating_sub(1) / 2,
        };
        let stored = listed.unwrap_or(u64::try_from(dense).unwrap_or(u64::MAX));
        Ok(Header { layout, field, symmetry, rows, cols, stored })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(banner: &str, size: &str) -> Result<Header, Fault> {
        Banner::read(&mut Cursor::new(banner.as_bytes()))?.with_size(&mut Cursor::new(size.as_bytes()))
    }

    #[test]
    fn every_kind_of_header() {
        for (layout_name, layout) in [("coordinate", Layout::Coordinate), ("ARRAY", Layout::Array)] {
            for (field_name, field) in
                [("real", Field::Real), ("Integer", Field::Integer), ("pattern", Field::Pattern)]
            {
                for (symmetry_name, symmetry, dense) in [
                    ("general", StoredSymmetry::General, 9),
                    ("Symmetric", StoredSymmetry::Symmetric, 6),
                    ("skew-symmetric", StoredSymmetry::Skew, 3),
                ] {
                    let banner =
                        format!("%%matrixmarket  Matrix {layout_name}\t{field_name} {symmetry_name} \r");
                    let listed = layout == Layout::Coordinate;
                    let found = header(&banner, if listed { "3 3 7" } else { " 3\t3" });
                    let sense = match field {
                        Field::Pattern => listed && symmetry != StoredSymmetry::Skew,
                        _ => true,
                    };
                    let stored = if listed { 7 } else { dense };
                    let expected = Header { layout, field, symmetry, rows: 3, cols: 3, stored };
                    assert_eq!(found.ok(), sense.then_some(expected), "{banner}");
                }
            }
        }
    }

    #[test]
    fn the_largest_array_does_not_overflow() {
        for symmetry in ["general", "symmetric", "skew-symmetric"] {
            let n = u64::MAX - 1;
            let found = header(&format!("%%MatrixMarket matrix array real {symmetry}"), &format!("{n} {n}"));
            assert_eq!(found.unwrap().stored, u64::MAX);
        }
        let n = u64::from(u32::MAX);
        for (symmetry, stored) in
            [("general", n * n), ("symmetric", n * (n + 1) / 2), ("skew-symmetric", n * (n - 1) / 2)]
        {
            let found = header(&format!("%%MatrixMarket matrix array real {symmetry}"), &format!("{n} {n}"));
            assert_eq!(found.unwrap().stored, stored);
            let empty = header(&format!("%%MatrixMarket matrix array real {symmetry}"), "0 0");
            assert_eq!(empty.unwrap().stored, 0);
        }
    }

    #[test]
    fn what_32_and_64_bits_can_name() {
        let size = |rows: &str| {
            let found =
                header("%%MatrixMarket matrix coordinate real general", &format!("{rows} 1 0")).unwrap();
            (found.check_local().is_ok(), found.check_global().is_ok())
        };
        assert_eq!(size("4294967295"), (true, true));
        assert_eq!(size("4294967296"), (false, true));
        assert_eq!(size("18446744073709551614"), (false, true));
        assert_eq!(size("18446744073709551615"), (false, false));
        assert_eq!(size("99999999999999999999999"), (false, false));
    }
}

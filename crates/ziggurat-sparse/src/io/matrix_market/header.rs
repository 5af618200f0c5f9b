//! The banner and the size line.
//!
//! ```text
//! %%MatrixMarket matrix coordinate|array real|integer|pattern general|symmetric|skew-symmetric
//! % any number of comments
//! rows columns entries                      (coordinate)
//! rows columns                              (array)
//! ```
//!
//! Words are compared without regard to case. From R. F. Boisvert, R. Pozo, K. A. Remington, "The Matrix Market
//! Exchange Formats: Initial Design", NISTIR 5935, 1996.

use super::cursor::Cursor;
use super::error::{Fault, shown};
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

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Symmetry {
    General,
    Symmetric,
    Skew,
}

impl Symmetry {
    pub(super) fn name(self) -> &'static str {
        match self {
            Symmetry::General => "general",
            Symmetry::Symmetric => "symmetric",
            Symmetry::Skew => "skew-symmetric",
        }
    }
}

/// The first line of a file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Banner {
    pub(super) layout: Layout,
    pub(super) field: Field,
    pub(super) symmetry: Symmetry,
}

/// What a file says about itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Header {
    pub(super) layout: Layout,
    pub(super) field: Field,
    pub(super) symmetry: Symmetry,
    pub(super) rows: u32,
    pub(super) cols: u32,
    /// Lines of data: entries that the file stores, before symmetry expands them. Nothing is allocated by it.
    pub(super) stored: u64,
}

/// The next word of the banner, if it is one of `known`.
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

/// A number of rows or columns that local indices can name.
fn extent(what: &'static str, count: u64) -> Result<u32, Fault> {
    u32::try_from(count).map_err(|_| {
        Fault::TooLarge(MatrixError::TooLarge { what, extent: usize::try_from(count).unwrap_or(usize::MAX) })
    })
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
            ("general", Ok(Symmetry::General)),
            ("symmetric", Ok(Symmetry::Symmetric)),
            ("skew-symmetric", Ok(Symmetry::Skew)),
            ("hermitian", Err("hermitian")),
        ];
        let symmetry = word(cursor, "symmetry", &symmetries)?.map_err(|what| Fault::NotSupported { what })?;
        cursor.end_line()?;
        match (layout, field, symmetry) {
            (Layout::Array, Field::Pattern, _) => Err(Fault::Contradiction(
                "an array lists values and a pattern has none; a pattern is written as coordinates",
            )),
            (_, Field::Pattern, Symmetry::Skew) => {
                Err(Fault::Contradiction("a pattern has no signs, so it cannot be skew-symmetric"))
            }
            _ => Ok(Banner { layout, field, symmetry }),
        }
    }

    /// Reads the size line, at whose first word `cursor` stands.
    pub(super) fn with_size(self, cursor: &mut Cursor<'_>) -> Result<Header, Fault> {
        let Banner { layout, field, symmetry } = self;
        let (rows, columns) = (cursor.count("the number of rows")?, cursor.count("the number of columns")?);
        let listed = match layout {
            Layout::Coordinate => Some(cursor.count("the number of entries")?),
            Layout::Array => None,
        };
        cursor.end_line()?;
        let (rows, cols) = (extent("rows", rows)?, extent("columns", columns)?);
        if symmetry != Symmetry::General && rows != cols {
            return Err(Fault::NotSquare { symmetry: symmetry.name(), rows, columns: cols });
        }
        let (r, c) = (u64::from(rows), u64::from(cols));
        // Both factors are below 2^32: no product overflows.
        let stored = listed.unwrap_or(match symmetry {
            Symmetry::General => r * c,
            Symmetry::Symmetric => r * (r + 1) / 2,
            Symmetry::Skew => r * r.saturating_sub(1) / 2,
        });
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
                    ("general", Symmetry::General, 9),
                    ("Symmetric", Symmetry::Symmetric, 6),
                    ("skew-symmetric", Symmetry::Skew, 3),
                ] {
                    let banner =
                        format!("%%matrixmarket  Matrix {layout_name}\t{field_name} {symmetry_name} \r");
                    let listed = layout == Layout::Coordinate;
                    let found = header(&banner, if listed { "3 3 7" } else { " 3\t3" });
                    let sense = match field {
                        Field::Pattern => listed && symmetry != Symmetry::Skew,
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
}

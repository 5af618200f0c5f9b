//! Writing a matrix.

use std::io::{self, Write};

use crate::CsrRef;
use crate::algebra::transpose;

/// Columns of a value: 17 significant digits and an exponent of three.
const VALUE_WIDTH: usize = 25;

/// Writes a finite matrix, its lower triangle if `lower`. The first line of `title` is the title.
pub(in crate::io) fn write(
    out: &mut impl Write,
    a: CsrRef<'_, f64>,
    lower: bool,
    title: &str,
) -> io::Result<()> {
    // Rows of the transpose are columns.
    let columns = transpose(a, 0..a.rows());
    let entries = |column: usize| {
        let (rows, values) = columns.row(column);
        let first = if lower { rows.partition_point(|&row| (row as usize) < column) } else { 0 };
        (&rows[first..], &values[first..])
    };
    let stored: usize = (0..a.cols()).map(|column| entries(column).0.len()).sum();
    let width = |largest: usize| largest.to_string().len() + 1;
    let (pointer_width, index_width) = (width(stored + 1), width(a.rows()));
    let per_line = |width: usize| 80 / width;
    let (pointers, indices, values) = (per_line(pointer_width), per_line(index_width), per_line(VALUE_WIDTH));
    let lines = [(a.cols() + 1).div_ceil(pointers), stored.div_ceil(indices), stored.div_ceil(values)];
    let kind = match (lower, a.rows() == a.cols()) {
        (true, _) => "rsa",
        (false, true) => "rua",
        (false, false) => "rra",
    };
    let title: String = title.lines().next().unwrap_or("").chars().filter(char::is_ascii).take(72).collect();
    writeln!(out, "{title:<72}ziggurat")?;
    let total: usize = lines.iter().sum();
    writeln!(out, "{total:14}{:14}{:14}{:14}", lines[0], lines[1], lines[2])?;
    writeln!(out, "{kind}{:11}{:14}{:14}{stored:14}{:14}", "", a.rows(), a.cols(), 0)?;
    let formats = [format!("({pointers}I{pointer_width})"), format!("({indices}I{index_width})")];
    writeln!(out, "{:<16}{:<16}{:<20}", formats[0], formats[1], format!("({values}E{VALUE_WIDTH}.16E3)"))?;

    let mut start = 1;
    let starts = (0..=a.cols()).map(|column| {
        let own = start;
        start += if column < a.cols() { entries(column).0.len() } else { 0 };
        format!("{own:pointer_width$}")
    });
    section(out, pointers, starts)?;
    let rows = (0..a.cols()).flat_map(|column| entries(column).0);
    section(out, indices, rows.map(|row| format!("{:index_width$}", u64::from(*row) + 1)))?;
    section(out, values, (0..a.cols()).flat_map(|column| entries(column).1).map(|&value| fortran(value)))
}

/// Writes lines of fields.
fn section(out: &mut impl Write, per_line: usize, fields: impl Iterator<Item = String>) -> io::Result<()> {
    let mut on_line = 0;
    for field in fields {
        if on_line == per_line {
            writeln!(out)?;
            on_line = 0;
        }
        out.write_all(field.as_bytes())?;
        on_line += 1;
    }
    if on_line > 0 { writeln!(out) } else { Ok(()) }
}

/// A value in the format `E25.16E3`, but with one digit before the point, which every reader takes.
fn fortran(value: f64) -> String {
    let text = format!("{value:.16e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, digits) = match exponent.strip_prefix('-') {
        Some(digits) => ('-', digits),
        None => ('+', exponent),
    };
    format!("{:>VALUE_WIDTH$}", format!("{mantissa}E{sign}{digits:0>3}"))
}

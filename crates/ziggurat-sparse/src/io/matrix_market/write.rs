//! Writing: all threads format (and compress) pieces of text while the previous pieces are written.
//!
//! Every value is written with the fewest digits that read back as the same double. A compressed
//! file is a sequence of gzip members, one per piece (RFC 1952, section 2.2; `gzip` and other
//! readers treat them as one file), so that compression, by far the slowest part, is multithreaded
//! too.

use std::io::{self, Write};
use std::ops::Range;

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::CsrRef;
use crate::parallel::{join, map_pieces, map_tasks};

/// Entries per piece: one to two MiB of text.
const PIECE: usize = 1 << 16;

/// Rows whose entries are counted by one task.
const ROWS: usize = 4096;

/// Pieces per batch. Two batches are in memory at once.
const BATCH: usize = 32;

/// Writes a finite matrix as `coordinate real`, its lower triangle if `lower`.
pub(in crate::io) fn matrix_text(
    out: &mut (dyn Write + Send),
    gzip: bool,
    a: CsrRef<'_, f64>,
    lower: bool,
    comment: &str,
) -> io::Result<()> {
    // The entries of a row to write: all of them, or those up to the diagonal.
    let entries = |row: usize| {
        let (columns, values) = a.row(row);
        let count = if lower { columns.partition_point(|&j| j as usize <= row) } else { columns.len() };
        (&columns[..count], &values[..count])
    };
    let stored = map_pieces(a.all_rows(), ROWS, &|rows| rows.map(|row| entries(row).0.len()).sum::<usize>());
    let stored: usize = stored.into_iter().sum();
    let symmetry = if lower { "symmetric" } else { "general" };
    let mut head = format!("%%MatrixMarket matrix coordinate real {symmetry}\n");
    for line in comment.lines() {
        head.extend(["% ", line, "\n"]);
    }
    head += &format!("{} {} {stored}\n", a.rows(), a.cols());

    let row_ptr = a.row_ptr();
    let mut pieces = Vec::new();
    let mut row = 0;
    while row < a.rows() {
        let end = row_ptr.partition_point(|&start| start <= row_ptr[row] + PIECE) - 1;
        let end = end.clamp(row + 1, a.rows());
        pieces.push(row..end);
        row = end;
    }
    write_pieces(out, gzip, &head, &pieces, &|rows, text| {
        for row in rows {
            let (columns, values) = entries(row);
            for (&column, &value) in columns.iter().zip(values) {
                push_index(text, row);
                push_index(text, column as usize);
                push_value(text, value)?;
            }
        }
        Ok(())
    })
}

/// Writes finite values, column by column, as `array real general`.
pub(in crate::io) fn array_text(
    out: &mut (dyn Write + Send),
    gzip: bool,
    rows: usize,
    cols: usize,
    values: &[f64],
) -> io::Result<()> {
    let head = format!("%%MatrixMarket matrix array real general\n{rows} {cols}\n");
    let pieces: Vec<_> =
        (0..values.len()).step_by(PIECE).map(|at| at..values.len().min(at + PIECE)).collect();
    write_pieces(out, gzip, &head, &pieces, &|range, text| {
        values[range].iter().try_for_each(|&value| push_value(text, value))
    })
}

/// Appends a one-based index and a blank. Three times as fast as `write!`.
fn push_index(text: &mut Vec<u8>, index: usize) {
    let mut digits = [b' '; 21]; // 20 digits of 2^64 and a blank
    let (mut at, mut rest) = (20, index as u64 + 1);
    while rest > 0 {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    text.extend_from_slice(&digits[at..]);
}

/// Appends a value and a line end. Both notations of the standard library read back exactly; this
/// selects the shorter one.
pub(in crate::io) fn push_value(text: &mut Vec<u8>, value: f64) -> io::Result<()> {
    if value == 0.0 || (1e-5..1e16).contains(&value.abs()) {
        writeln!(text, "{value}")
    } else {
        writeln!(text, "{value:e}")
    }
}

/// Appends the text of a piece.
type Format<'a> = dyn Fn(Range<usize>, &mut Vec<u8>) -> io::Result<()> + Sync + 'a;

/// Writes `head`, then every piece in order, as formatted by `format`.
fn write_pieces(
    out: &mut (dyn Write + Send),
    gzip: bool,
    head: &str,
    pieces: &[Range<usize>],
    format: &Format<'_>,
) -> io::Result<()> {
    let pack = |text: Vec<u8>| {
        if !gzip {
            return Ok(text);
        }
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(&text)?;
        encoder.finish()
    };
    let mut ready = vec![pack(head.as_bytes().to_vec())?];
    for batch in pieces.chunks(BATCH) {
        let make = |index: usize| {
            let mut text = Vec::new();
            format(batch[index].clone(), &mut text)?;
            pack(text)
        };
        let (written, next) =
            join(|| ready.iter().try_for_each(|text| out.write_all(text)), || map_tasks(batch.len(), &make));
        written?;
        ready = next.into_iter().collect::<io::Result<_>>()?;
    }
    ready.iter().try_for_each(|text| out.write_all(text))?;
    out.flush()
}

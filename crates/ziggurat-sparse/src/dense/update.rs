//! The step that blocked factorisations consist of: columns lose multiples of the columns of a
//! panel.
//!
//! ```text
//! c_j ← c_j − Σ_k f_jk p_k,    k in order
//! ```
//!
//! Sixteen elements of two columns stay in registers while k runs over the panel, so each element
//! of C is read and written once for all of the panel. The panel is copied in strips of sixteen
//! elements first, so that the innermost loop reads memory in order. Every element is one sum in
//! the order of k, so nothing depends on threads, instruction sets or where the strips begin.

use std::ops::Range;

use crate::parallel::over_chunks;
use crate::simd::{Isa, Kernel, Simd};

/// Columns of a panel: the strip of a panel, 4 KB, and the factors stay in the first cache level.
pub(super) const WIDTH: usize = 32;

/// Elements of a strip.
const STRIP: usize = 16;

/// Multiplications per task, some tenths of a millisecond.
const GRAIN: usize = 1 << 20;

/// The panels of `n` columns.
pub(super) fn panels(n: usize) -> impl DoubleEndedIterator<Item = Range<usize>> {
    (0..n.div_ceil(WIDTH)).map(move |panel| panel * WIDTH..((panel + 1) * WIDTH).min(n))
}

/// Some elements of a few columns, in strips.
pub(super) struct Panel {
    elements: Range<usize>,
    columns: usize,
    strips: Vec<[f64; STRIP]>,
}

impl Panel {
    /// Copies `elements` of columns with `rows` elements each.
    pub(super) fn new(columns: &[f64], rows: usize, elements: Range<usize>) -> Self {
        let count = columns.len() / rows.max(1);
        let mut strips = Vec::with_capacity(count * elements.len().div_ceil(STRIP));
        for begin in elements.clone().step_by(STRIP) {
            let end = (begin + STRIP).min(elements.end);
            strips.extend(columns.chunks_exact(rows).map(|column| {
                let mut strip = [0.0; STRIP];
                strip[..end - begin].copy_from_slice(&column[begin..end]);
                strip
            }));
        }
        Panel { elements, columns: count, strips }
    }
}

/// Which elements of a column are needed. Others may change, too.
#[derive(Clone, Copy)]
pub(super) enum Part {
    /// All that the panel has.
    All,
    /// Those from the diagonal on.
    Lower,
    /// Those up to the diagonal.
    Upper,
}

/// Columns of a square matrix that a panel is subtracted from.
pub(super) struct Columns<'a> {
    /// Their elements.
    pub(super) values: &'a mut [f64],
    /// Elements per column.
    pub(super) rows: usize,
    /// The number of the first one.
    pub(super) first: usize,
    /// Which elements are needed.
    pub(super) part: Part,
}

impl Columns<'_> {
    /// Subtracts from every column the sum of the panel's columns times `factor(column, k)`, where
    /// `k` counts the columns of the panel.
    pub(super) fn subtract(self, simd: Simd, panel: &Panel, factor: impl Fn(usize, usize) -> f64) {
        let Columns { values, rows, first, part } = self;
        let depth = panel.columns;
        if values.is_empty() || panel.strips.is_empty() {
            return;
        }
        let columns = first..first + values.len() / rows;
        let factors: Vec<f64> = columns
            .flat_map(|column| (0..depth).map(move |k| (column, k)))
            .map(|(j, k)| factor(j, k))
            .collect();
        let per_task = (GRAIN / (depth * panel.elements.len())).max(2);
        over_chunks(values, per_task * rows, &|task, values| {
            let skipped = task * per_task;
            let factors = &factors[skipped * depth..][..values.len() / rows * depth];
            let columns = Columns { values, rows, first: first + skipped, part };
            simd.run(Subtract { columns, factors, panel });
        });
    }

    /// The columns that need an element of this range, counted from the first one here.
    #[inline(always)]
    fn that_need(&self, elements: &Range<usize>) -> Range<usize> {
        let count = self.values.len() / self.rows;
        match self.part {
            Part::All => 0..count,
            Part::Lower => 0..elements.end.saturating_sub(self.first).min(count),
            Part::Upper => elements.start.saturating_sub(self.first).min(count)..count,
        }
    }
}

struct Subtract<'a> {
    columns: Columns<'a>,
    factors: &'a [f64],
    panel: &'a Panel,
}

impl Kernel for Subtract<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Isa>(self) {
        let Subtract { columns, factors, panel } = self;
        let (rows, depth) = (columns.rows, panel.columns);
        let begins = panel.elements.clone().step_by(STRIP);
        for (begin, strip) in begins.zip(panel.strips.chunks_exact(depth)) {
            let elements = begin..(begin + STRIP).min(panel.elements.end);
            let needed = columns.that_need(&elements);
            let values = columns.values[needed.start * rows..needed.end * rows].chunks_mut(2 * rows);
            for (pair, factors) in values.zip(factors[needed.start * depth..].chunks(2 * depth)) {
                if pair.len() == 2 * rows {
                    let ((one, two), factors) = (pair.split_at_mut(rows), factors.split_at(depth));
                    let both = [&mut one[elements.clone()], &mut two[elements.clone()]];
                    subtract(both, [factors.0, factors.1], strip);
                } else {
                    subtract([&mut pair[elements.clone()]], [&factors[..depth]], strip);
                }
            }
        }
    }
}

/// Subtracts the columns of a strip from the elements of a few columns.
#[inline(always)]
fn subtract<const COLUMNS: usize>(
    mut columns: [&mut [f64]; COLUMNS],
    factors: [&[f64]; COLUMNS],
    strip: &[[f64; STRIP]],
) {
    let mut sums = [[0.0; STRIP]; COLUMNS];
    for (sum, column) in sums.iter_mut().zip(&columns) {
        match column.first_chunk::<STRIP>() {
            Some(elements) => *sum = *elements,
            None => sum[..column.len()].copy_from_slice(column),
        }
    }
    let factors = factors.map(|factors| &factors[..strip.len()]);
    for (k, elements) in strip.iter().enumerate() {
        for column in 0..COLUMNS {
            let factor = factors[column][k];
            for place in 0..STRIP {
                sums[column][place] -= factor * elements[place];
            }
        }
    }
    for (sum, column) in sums.iter().zip(&mut columns) {
        match column.first_chunk_mut::<STRIP>() {
            Some(elements) => *elements = *sum,
            None => {
                let count = column.len();
                column.copy_from_slice(&sum[..count]);
            }
        }
    }
}

/// y ← y − a x
#[inline(always)]
pub(super) fn subtract_multiple(y: &mut [f64], a: f64, x: &[f64]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y -= a * x;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_needed_element_is_one_sum_in_order() {
        for (rows, first, end) in [(1, 0, 1), (40, 0, 17), (70, 33, 70), (200, 3, 190)] {
            let of = |seed: usize, place: usize| (((seed + place) * 7919) % 1009) as f64 / 1009.0 - 0.4;
            let panel: Vec<f64> = (0..WIDTH.min(rows) * rows).map(|place| of(1, place)).collect();
            let before: Vec<f64> = (0..rows * (rows - first)).map(|place| of(2, place)).collect();
            let depth = panel.len() / rows;
            let factor = |column: usize, k: usize| of(3, column * 31 + k);
            for part in [Part::All, Part::Lower, Part::Upper] {
                for simd in Simd::available() {
                    let mut values = before.clone();
                    let columns = Columns { values: &mut values, rows, first, part };
                    columns.subtract(simd, &Panel::new(&panel, rows, first..end), factor);
                    for (place, &value) in values.iter().enumerate() {
                        let (column, row) = (first + place / rows, place % rows);
                        let needed = match part {
                            Part::All => true,
                            Part::Lower => row >= column,
                            Part::Upper => row <= column,
                        };
                        let mut expected = before[place];
                        if (first..end).contains(&row) {
                            (0..depth).for_each(|k| expected -= factor(column, k) * panel[k * rows + row]);
                        }
                        assert!(!needed || value == expected, "{simd:?} ({row}, {column})");
                    }
                }
            }
        }
    }
}

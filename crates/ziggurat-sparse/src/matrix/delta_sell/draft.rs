//! The slots of one chunk: which entries share a slot, and the width of their columns.
//!
//! Two layouts are considered. *By diagonal*: entries with the same column − row share a slot, so
//! its columns are consecutive; a row without that diagonal gets a zero. *By position*: the j-th
//! entries of all rows share the j-th slot. The first is used if it needs no more padding than the
//! second, otherwise the cheaper one. The cost is one or two passes over the columns.

use super::{LANES, Width};
use crate::matrix::CsrRef;

/// Cost of gathering x elementwise for a slot, in equivalent bytes of memory traffic (measured:
/// half a nanosecond per element, in which a core reads eight bytes).
const GATHER_COST: usize = 3 * LANES;

/// Factor of an entry, as a function of its row and column.
pub(crate) trait Scale: Fn(usize, usize) -> f64 + Sync {}
impl<F: Fn(usize, usize) -> f64 + Sync> Scale for F {}

/// The rows of a chunk.
pub(super) struct Rows<'a> {
    /// The columns of each row; empty beyond the last row.
    columns: [&'a [u32]; LANES],
    values: [&'a [f64]; LANES],
    /// Row indices.
    rows: [usize; LANES],
    /// The first row, if the rows are consecutive and the matrix is square.
    start: Option<u32>,
    longest: usize,
    cols: usize,
}

impl<'a> Rows<'a> {
    /// Collects at most [`LANES`] rows.
    #[inline(always)]
    pub(super) fn new(a: CsrRef<'a, f64>, rows: impl Iterator<Item = usize>) -> Self {
        let (mut columns, mut values) = ([&[][..]; LANES], [&[][..]; LANES]);
        let (mut start, mut longest, mut in_order) = (None, 0, true);
        let mut numbers = [0; LANES];
        for (lane, row) in rows.enumerate().take(LANES) {
            numbers[lane] = row;
            (columns[lane], values[lane]) = a.row(row);
            longest = longest.max(columns[lane].len());
            in_order &= *start.get_or_insert(row) + lane == row;
        }
        // Rows of a rectangular matrix share no diagonals.
        let start = start.filter(|_| in_order && a.rows() == a.cols()).map(|row| row as u32);
        Rows { columns, values, rows: numbers, start, longest, cols: a.cols() }
    }
}

/// Sixteen consecutive rows with the same diagonals, whose entries are contiguous.
pub(super) struct Stencil<'a> {
    first: usize,
    columns: &'a [u32],
    values: &'a [f64],
    cols: usize,
}

impl<'a> Stencil<'a> {
    /// The rows starting at `first`, if they have this form.
    #[inline(always)]
    pub(super) fn new(a: CsrRef<'a, f64>, first: usize) -> Option<Self> {
        let row_ptr = a.row_ptr().get(first..=first + LANES)?;
        let (begin, end) = (row_ptr[0], row_ptr[LANES]);
        let length = row_ptr[1] - begin;
        let same = row_ptr.iter().enumerate().fold(true, |same, (k, &at)| same & (at == begin + k * length));
        if !same || length == 0 {
            return None;
        }
        let (columns, values) = (&a.columns()[begin..end], &a.values()[begin..end]);
        // Branch-free: in such matrices the comparison almost always succeeds.
        let pairs = columns.iter().zip(&columns[length..]);
        pairs.fold(true, |same, (&above, &column)| same & (above + 1 == column)).then_some(Stencil {
            first,
            columns,
            values,
            cols: a.cols(),
        })
    }

    /// Its slots, all of them consecutive or, at the end of the matrix, nearly so.
    #[inline(always)]
    pub(super) fn slots(&self) -> impl Iterator<Item = Slot> + '_ {
        let first_row = &self.columns[..self.columns.len() / LANES];
        first_row.iter().map(|&start| Slot::new(start, start + LANES as u32 - 1, Some(start), self.cols))
    }

    /// The content of slot number `slot`, multiplied by `scale(row, column)`.
    #[inline(always)]
    pub(super) fn content(&self, slot: usize, base: u32, scale: &impl Scale) -> Content {
        let length = self.columns.len() / LANES;
        let mut content = Content::default();
        for lane in 0..LANES {
            let column = self.columns[lane * length + slot];
            content.values[lane] =
                self.values[lane * length + slot] * scale(self.first + lane, column as usize);
            content.deltas[lane] = column - base;
        }
        content
    }
}

/// A slot: how its columns are stored, and their base.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    pub width: Width,
    pub base: u32,
}

impl Slot {
    /// A slot for columns from `least` to `most`; `start` is set if they are consecutive from it.
    #[inline(always)]
    fn new(least: u32, most: u32, start: Option<u32>, cols: usize) -> Self {
        // Columns before the first wrap around to huge numbers, which fail this test too.
        if let Some(start) = start
            && start as usize + LANES <= cols
        {
            return Slot { width: Width::Consecutive, base: start };
        }
        let width = match most - least {
            0..64 if cols >= 64 => Width::Within64,
            0..128 if cols >= 128 => Width::Within128,
            0..=0xff => Width::U8,
            0x100..=0xffff => Width::U16,
            _ => Width::U32,
        };
        // The whole span may be loaded, so it must not exceed the last column.
        let base = least.min((cols - width.span().min(cols)) as u32);
        Slot { width, base }
    }

    fn cost(self, value_bytes: usize) -> usize {
        let gather = if self.width.span() == 1 { GATHER_COST } else { 0 };
        LANES * value_bytes + size_of::<u32>() + self.width.bytes() + gather
    }
}

/// The slots of a chunk. Buffers are reused for the next chunk.
#[derive(Debug, Default)]
pub(super) struct Drafts {
    slots: Vec<Slot>,
    /// The diagonals of the slots, if some rows lack some of them; otherwise the j-th entry of a
    /// row is in slot j.
    diagonals: Vec<u32>,
    others: Vec<Slot>,
    ranges: Ranges,
    contents: Vec<Content>,
}

/// The content of a slot; zeros in lanes without an entry.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Content {
    pub values: [f64; LANES],
    /// Columns as differences to the base.
    pub deltas: [u32; LANES],
}

/// Minimum and maximum of the columns of each slot, and of column − lane.
#[derive(Debug, Default)]
struct Ranges {
    least: Vec<u32>,
    most: Vec<u32>,
    first_start: Vec<u32>,
    last_start: Vec<u32>,
}

impl Ranges {
    /// Resets to the given number of slots, all empty.
    #[inline(always)]
    fn reset(&mut self, slots: usize) {
        for (list, none) in [
            (&mut self.least, u32::MAX),
            (&mut self.most, 0),
            (&mut self.first_start, u32::MAX),
            (&mut self.last_start, 0),
        ] {
            list.clear();
            list.resize(slots, none);
        }
    }

    /// Adds the columns of one lane, one to each slot.
    #[inline(always)]
    fn add(&mut self, lane: u32, columns: &[u32]) {
        let each = |list: &mut [u32], new: fn(u32, u32, u32) -> u32| {
            list.iter_mut().zip(columns).for_each(|(known, &column)| *known = new(*known, column, lane));
        };
        each(&mut self.least, |known, column, _| known.min(column));
        each(&mut self.most, |known, column, _| known.max(column));
        each(&mut self.first_start, |known, column, lane| known.min(column.wrapping_sub(lane)));
        each(&mut self.last_start, |known, column, lane| known.max(column.wrapping_sub(lane)));
    }
}

impl Drafts {
    /// The slots of a chunk whose values take `value_bytes` bytes each.
    #[inline(always)]
    pub(super) fn chunk(&mut self, rows: &Rows<'_>, value_bytes: usize) -> &[Slot] {
        self.diagonals.clear();
        self.slots.clear();
        let most = rows.longest + rows.longest / 2 + 1;
        let by_diagonals = rows.start.filter(|&start| self.find_diagonals(rows, start, most));
        if let Some(start) = by_diagonals {
            for &diagonal in &self.diagonals {
                let start = diagonal.wrapping_sub(BIAS).wrapping_add(start);
                let (least, most) = lanes_range(rows, start);
                self.slots.push(Slot::new(least, most, Some(start), rows.cols));
            }
            if self.slots.len() == rows.longest {
                return &self.slots;
            }
        }
        self.by_position(rows);
        let cost = |slots: &[Slot]| slots.iter().map(|slot| slot.cost(value_bytes)).sum::<usize>();
        if by_diagonals.is_none() || cost(&self.others) < cost(&self.slots) {
            self.diagonals.clear();
            std::mem::swap(&mut self.slots, &mut self.others);
        }
        &self.slots
    }

    /// The slots computed last with their contents, multiplied by `scale(row, column)`.
    #[inline(always)]
    pub(super) fn filled(
        &mut self,
        rows: &Rows<'_>,
        scale: &impl Scale,
    ) -> impl Iterator<Item = (Slot, &Content)> {
        let Drafts { slots, diagonals, contents, .. } = self;
        contents.clear();
        contents.resize(slots.len(), Content::default());
        for (lane, (columns, values)) in rows.columns.iter().zip(&rows.values).enumerate() {
            let entries = columns.iter().zip(*values);
            if diagonals.is_empty() {
                for ((content, slot), (&column, &value)) in contents.iter_mut().zip(&*slots).zip(entries) {
                    content.values[lane] = value * scale(rows.rows[lane], column as usize);
                    content.deltas[lane] = column - slot.base;
                }
                continue;
            }
            let row = rows.start.unwrap_or(0).wrapping_add(lane as u32);
            let mut at = 0;
            for (&column, &value) in entries {
                while diagonals[at] < key(column, row) {
                    at += 1;
                }
                contents[at].values[lane] = value * scale(rows.rows[lane], column as usize);
                contents[at].deltas[lane] = column - slots[at].base;
            }
        }
        slots.iter().copied().zip(&*contents)
    }

    /// Computes the union of the rows' diagonals, in increasing order; returns `false` if there are
    /// more than `most`.
    #[inline(always)]
    fn find_diagonals(&mut self, rows: &Rows<'_>, start: u32, most: usize) -> bool {
        self.diagonals.clear();
        self.diagonals.extend(rows.columns[0].iter().map(|&column| key(column, start)));
        for (lane, columns) in rows.columns.iter().enumerate().skip(1) {
            let row = start.wrapping_add(lane as u32);
            let same = |(&column, &diagonal): (&u32, &u32)| key(column, row) == diagonal;
            // Branch-free: most rows have the same diagonals.
            let differ = columns.iter().zip(&self.diagonals).fold(false, |differ, pair| differ | !same(pair));
            if !differ && columns.len() <= self.diagonals.len() {
                continue;
            }
            let mut at = 0;
            for &column in *columns {
                let key = key(column, row);
                while self.diagonals.get(at).is_some_and(|&diagonal| diagonal < key) {
                    at += 1;
                }
                if self.diagonals.get(at) != Some(&key) {
                    if self.diagonals.len() == most {
                        return false;
                    }
                    self.diagonals.insert(at, key);
                }
                at += 1;
            }
        }
        true
    }

    /// Assigns the j-th entry of every row to slot j.
    #[inline(always)]
    fn by_position(&mut self, rows: &Rows<'_>) {
        let ranges = &mut self.ranges;
        ranges.reset(rows.longest);
        for (lane, columns) in rows.columns.iter().enumerate() {
            ranges.add(lane as u32, columns);
        }
        self.others.clear();
        self.others.extend((0..rows.longest).map(|slot| {
            let (first, last) = (ranges.first_start[slot], ranges.last_start[slot]);
            let start = (first == last).then_some(first);
            Slot::new(ranges.least[slot], ranges.most[slot], start, rows.cols)
        }));
    }
}

/// Offset that makes keys of diagonals below the main one sort first.
const BIAS: u32 = 1 << 31;

/// The diagonal of an entry, as a key that increases with it. Dimensions are at most 2³¹.
#[inline(always)]
fn key(column: u32, row: u32) -> u32 {
    column.wrapping_sub(row).wrapping_add(BIAS)
}

/// The range of columns of a diagonal that starts at `start` in the first row, restricted to the
/// matrix.
#[inline(always)]
fn lanes_range(rows: &Rows<'_>, start: u32) -> (u32, u32) {
    let first = start as i32;
    let last = (rows.cols as i64 - 1).min(i64::from(first) + LANES as i64 - 1);
    (first.max(0) as u32, last as u32)
}

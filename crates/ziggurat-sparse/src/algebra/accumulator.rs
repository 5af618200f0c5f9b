//! Accumulating one row of a product: its columns, and their sums.
//!
//! Row i of A·B is a sum of rows of B, whose columns arrive in sorted runs that overlap. There are
//! two ways to merge equal columns, chosen for each piece of rows:
//!
//! - **Window**: if the columns of the whole piece lie within a narrow range, an array over that
//!   range, indexed by the column (Gustavson, 1978). It needs no search and has no unpredictable
//!   branches. Neighbouring rows touch neighbouring columns, so the part in use stays in the
//!   first-level cache.
//! - **Hash**: otherwise, a hash table with a power of two slots, at least twice the columns of the
//!   row, and linear probing (Nagasaka, Matsuoka, Azad & Buluç, 2018). It fits the cache even if
//!   the columns are far apart.
//!
//! The columns of a row are listed as they arrive and sorted at the end. Both ways add terms in the
//! order of arrival, so both give the same bits.

use std::ops::Range;

use crate::number::Real;

/// Marks an empty slot of a hash table. No matrix has a column with this number.
pub(super) const FREE: u32 = u32::MAX;

/// Finds the columns of one row at a time: the symbolic phase.
pub(super) trait FindColumns {
    /// Begins a row to which `terms()` columns will be added, including repetitions.
    fn begin(&mut self, terms: impl FnOnce() -> usize);

    /// Adds the columns of a row of B to the `len` columns at the start of `found`, and returns
    /// their new number. `found` has room for one column more than the row can have.
    fn add(&mut self, columns: &[u32], found: &mut [u32], len: usize) -> usize;
}

/// Sums the values of one row at a time, given the columns of the row: the numeric phase.
pub(super) trait SumValues<T> {
    /// Begins the row with these columns. Their sums will be written to `sums`.
    fn begin(&mut self, columns: &[u32], sums: &mut [T]);

    /// Adds `scale` times a row of B.
    fn add(&mut self, scale: T, columns: &[u32], values: &[T], sums: &mut [T]);

    /// Ends the row: writes its values to `sums`.
    fn end(&mut self, columns: &[u32], sums: &mut [T]);
}

/// [`FindColumns`] with a window.
pub(super) struct ColumnWindow {
    first: u32,
    /// The last row with this column, so that nothing is cleared between rows.
    last_row: Vec<u32>,
    row: u32,
}

impl ColumnWindow {
    pub(super) fn new(columns: &Range<u32>) -> Self {
        ColumnWindow { first: columns.start, last_row: vec![0; columns.len()], row: 0 }
    }
}

impl FindColumns for ColumnWindow {
    #[inline]
    fn begin(&mut self, _terms: impl FnOnce() -> usize) {
        self.row += 1;
    }

    #[inline]
    fn add(&mut self, columns: &[u32], found: &mut [u32], mut len: usize) -> usize {
        for &column in columns {
            // Whether a column is new is unpredictable, so it selects an increment and not a
            // branch: a known column is written as well, and overwritten by the next.
            let last_row = &mut self.last_row[(column - self.first) as usize];
            found[len] = column;
            len += usize::from(*last_row != self.row);
            *last_row = self.row;
        }
        len
    }
}

/// [`SumValues`] with a window.
pub(super) struct ValueWindow<T> {
    first: u32,
    /// Zero between rows.
    sums: Vec<T>,
}

impl<T: Real> ValueWindow<T> {
    pub(super) fn new(columns: &Range<u32>) -> Self {
        ValueWindow { first: columns.start, sums: vec![T::zero(); columns.len()] }
    }
}

impl<T: Real> SumValues<T> for ValueWindow<T> {
    #[inline]
    fn begin(&mut self, _columns: &[u32], _sums: &mut [T]) {}

    #[inline]
    fn add(&mut self, scale: T, columns: &[u32], values: &[T], _sums: &mut [T]) {
        for (&column, &value) in columns.iter().zip(values) {
            self.sums[(column - self.first) as usize] += scale * value;
        }
    }

    #[inline]
    fn end(&mut self, columns: &[u32], sums: &mut [T]) {
        for (&column, sum) in columns.iter().zip(sums) {
            *sum = std::mem::replace(&mut self.sums[(column - self.first) as usize], T::zero());
        }
    }
}

/// A hash table of columns, resized for every row.
pub(super) struct Table {
    /// Only the first `slots` are used by the current row.
    pub(super) keys: Vec<u32>,
    slots: usize,
    shift: u32,
}

impl Table {
    /// A table for rows of at most `columns` columns.
    pub(super) fn new(columns: usize) -> Self {
        Table { keys: vec![FREE; Self::slots(columns)], slots: 0, shift: 0 }
    }

    /// Begins a row of at most `columns` columns, and grows the table if necessary.
    #[inline]
    pub(super) fn make_room(&mut self, columns: usize) {
        if self.keys.len() < Self::slots(columns) {
            self.keys.resize(Self::slots(columns), FREE);
        }
        self.clear(columns);
    }

    /// The number of slots for this many columns; the table is at most half full.
    fn slots(columns: usize) -> usize {
        (2 * columns).next_power_of_two().max(16)
    }

    #[inline]
    fn clear(&mut self, columns: usize) {
        self.slots = Self::slots(columns);
        self.shift = 64 - self.slots.trailing_zeros();
        self.keys[..self.slots].fill(FREE);
    }

    /// The slot that holds the column, or the empty slot where it belongs. The multiplier, 2^64
    /// over the golden ratio (Knuth), sends neighbouring columns to distant slots.
    #[inline]
    pub(super) fn slot(&self, column: u32) -> usize {
        let keys = &self.keys[..self.slots];
        let mut slot = (u64::from(column).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift) as usize;
        while keys[slot] != column && keys[slot] != FREE {
            slot = (slot + 1) & (keys.len() - 1);
        }
        slot
    }
}

/// [`FindColumns`] with a hash table.
pub(super) struct ColumnHash {
    table: Table,
    /// Upper bound on the columns of a row.
    most: usize,
}

impl ColumnHash {
    /// For rows of at most this many columns.
    pub(super) fn new(most: usize) -> Self {
        ColumnHash { table: Table::new(most), most }
    }
}

impl FindColumns for ColumnHash {
    #[inline]
    fn begin(&mut self, terms: impl FnOnce() -> usize) {
        self.table.clear(terms().min(self.most));
    }

    #[inline]
    fn add(&mut self, columns: &[u32], found: &mut [u32], mut len: usize) -> usize {
        for &column in columns {
            let slot = self.table.slot(column);
            if self.table.keys[slot] == FREE {
                self.table.keys[slot] = column;
                found[len] = column;
                len += 1;
            }
        }
        len
    }
}

/// A hash table with the position of every column in its row.
pub(super) struct PlaceHash {
    table: Table,
    places: Vec<u32>,
}

impl PlaceHash {
    /// For rows of at most this many columns.
    fn new(columns: usize) -> Self {
        let table = Table::new(columns);
        PlaceHash { places: vec![0; table.keys.len()], table }
    }

    /// Begins the row with these columns.
    #[inline]
    fn begin(&mut self, columns: impl ExactSizeIterator<Item = u32>) {
        self.table.clear(columns.len());
        for (place, column) in columns.enumerate() {
            let slot = self.table.slot(column);
            self.table.keys[slot] = column;
            self.places[slot] = place as u32;
        }
    }

    #[inline]
    fn place(&self, column: u32) -> u32 {
        self.places[self.table.slot(column)]
    }
}

/// [`SumValues`] with a hash table.
pub(super) struct ValueHash(PlaceHash);

impl ValueHash {
    /// For rows of at most this many columns.
    pub(super) fn new(columns: usize) -> Self {
        ValueHash(PlaceHash::new(columns))
    }
}

impl<T: Real> SumValues<T> for ValueHash {
    #[inline]
    fn begin(&mut self, columns: &[u32], sums: &mut [T]) {
        self.0.begin(columns.iter().copied());
        sums.fill(T::zero());
    }

    #[inline]
    fn add(&mut self, scale: T, columns: &[u32], values: &[T], sums: &mut [T]) {
        for (&column, &value) in columns.iter().zip(values) {
            sums[self.0.place(column) as usize] += scale * value;
        }
    }

    #[inline]
    fn end(&mut self, _columns: &[u32], _sums: &mut [T]) {}
}

/// The position of every column in its row, by a window or by a hash table. It is used for blocks,
/// whose multiplication takes long enough that one branch per block does not matter.
pub(super) enum Places {
    Window { first: u32, places: Vec<u32> },
    Hash(PlaceHash),
}

impl Places {
    /// For rows of at most `longest` columns, all within the window if there is one.
    pub(super) fn new(window: Option<&Range<u32>>, longest: usize) -> Self {
        match window {
            Some(columns) => Places::Window { first: columns.start, places: vec![0; columns.len()] },
            None => Places::Hash(PlaceHash::new(longest)),
        }
    }

    /// Begins the row with these columns.
    #[inline(always)]
    pub(super) fn begin(&mut self, columns: impl ExactSizeIterator<Item = u32>) {
        match self {
            Places::Window { first, places } => {
                for (place, column) in columns.enumerate() {
                    places[(column - *first) as usize] = place as u32;
                }
            }
            Places::Hash(hash) => hash.begin(columns),
        }
    }

    /// Writes the positions of some of the row's columns.
    #[inline(always)]
    pub(super) fn look_up(&self, columns: &[u32], found: &mut [u32]) {
        let pairs = columns.iter().zip(found);
        match self {
            Places::Window { first, places } => {
                pairs.for_each(|(&column, place)| *place = places[(column - first) as usize]);
            }
            Places::Hash(hash) => pairs.for_each(|(&column, place)| *place = hash.place(column)),
        }
    }
}

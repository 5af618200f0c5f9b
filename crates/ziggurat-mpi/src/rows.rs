//! Rows of a distributed matrix as they are communicated: whole rows, with global ids of rows and
//! columns.

use std::ops::Range;

use ziggurat_sparse::{Csr, CsrRef, MatrixError, parallel};

use crate::comm::Comm;
use crate::partition::{Partition, by_owner};

/// Some rows, with the global ids of their columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct GlobalRows {
    /// The ids of the rows, in increasing order.
    pub ids: Vec<u64>,
    pub row_ptr: Vec<usize>,
    /// Increasing within each row.
    pub columns: Vec<u64>,
    pub values: Vec<f64>,
}

impl GlobalRows {
    pub(crate) fn new() -> Self {
        GlobalRows { row_ptr: vec![0], ..Self::default() }
    }

    /// Ends a row whose entries have been appended.
    pub(crate) fn end_row(&mut self, id: u64) {
        self.ids.push(id);
        self.row_ptr.push(self.columns.len());
    }

    /// The entries of the row at this position.
    pub(crate) fn row(&self, place: usize) -> (&[u64], &[f64]) {
        let entries = self.row_ptr[place]..self.row_ptr[place + 1];
        (&self.columns[entries.clone()], &self.values[entries])
    }

    /// The same with numbered columns, most of which are in `own`.
    pub(crate) fn named(self, own: &Range<u64>) -> NamedRows {
        NamedRows::new(own, self.row_ptr, &self.columns, self.values)
    }

    /// Writes rows to one message.
    pub(crate) fn write(
        id: u64,
        columns: impl ExactSizeIterator<Item = u64>,
        values: &[f64],
        words: &mut Vec<u64>,
    ) {
        words.extend([id, columns.len() as u64]);
        words.extend(columns);
        words.extend(values.iter().map(|value| value.to_bits()));
    }

    /// Appends the rows of a message, which follow the present ones.
    pub(crate) fn read(&mut self, words: &[u64]) {
        let mut left = words;
        while let [id, length, rest @ ..] = left {
            let (columns, rest) = rest.split_at(*length as usize);
            let (values, rest) = rest.split_at(*length as usize);
            self.columns.extend_from_slice(columns);
            self.values.extend(values.iter().map(|&bits| f64::from_bits(bits)));
            self.end_row(*id);
            left = rest;
        }
    }
}

/// A row of another rank, with global columns; `None` if it is not known.
pub(crate) type Other<'a> = Option<(&'a [u64], &'a [f64])>;

/// Own rows, whose columns are indices into an increasing list of global ids.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NamedRows {
    pub ids: Vec<u64>,
    pub row_ptr: Vec<usize>,
    pub columns: Vec<u32>,
    pub values: Vec<f64>,
}

/// Local numbers of global ids: a range of own ids, with others before and after it.
pub(crate) struct Numbering {
    own: Range<u64>,
    /// The number of ids before the own ones.
    pub below: usize,
    /// All ids, in increasing order.
    pub ids: Vec<u64>,
    /// The numbers of the ids that are not own, if the ids lie close enough together for a table.
    table: Option<Table>,
}

/// A number for each id from the first one on. Own ids have no place in it.
struct Table {
    first: u64,
    own: Range<u64>,
    numbers: Vec<u32>,
}

impl Table {
    /// Empty, for ids of which `count` are not own; `None` if it would have many more places than
    /// that.
    fn new(own: &Range<u64>, (first, last): (u64, u64), count: usize) -> Option<Self> {
        let width = own.end - own.start;
        let places = (last - first + 1) - if first < own.start && last >= own.end { width } else { 0 };
        let fits = places <= 8 * count as u64 + 1024;
        fits.then(|| Table { first, own: own.clone(), numbers: vec![0; places as usize] })
    }

    /// The place of an id that is not own.
    fn place(&self, id: u64) -> usize {
        let skipped =
            if self.first < self.own.start && id >= self.own.end { self.own.end - self.own.start } else { 0 };
        (id - self.first - skipped) as usize
    }

    /// The id at a place.
    fn id(&self, place: usize) -> u64 {
        let id = self.first + place as u64;
        if self.first < self.own.start && id >= self.own.start {
            id + (self.own.end - self.own.start)
        } else {
            id
        }
    }
}

impl Numbering {
    /// The numbering of `own` and of those `others` that are not own.
    pub(crate) fn new(own: &Range<u64>, others: impl Iterator<Item = u64>) -> Self {
        let others: Vec<u64> = others.filter(|id| !own.contains(id)).collect();
        let extent = others.iter().copied().min().zip(others.iter().copied().max());
        let table = extent.and_then(|extent| Table::new(own, extent, others.len()));
        let (mut ids, mut table): (Vec<u64>, Option<Table>) = match table {
            None => (sorted(others.into_iter()), None),
            Some(mut table) => {
                others.iter().for_each(|&id| {
                    let place = table.place(id);
                    table.numbers[place] = 1;
                });
                let used = table.numbers.iter().enumerate().filter(|(_, used)| **used == 1);
                (used.map(|(place, _)| table.id(place)).collect(), Some(table))
            }
        };
        let below = ids.partition_point(|&id| id < own.start);
        ids.splice(below..below, own.clone());
        if let Some(table) = &mut table {
            let others = (0..).zip(&ids).filter(|(_, id)| !own.contains(id));
            for (number, &id) in others {
                let place = table.place(id);
                table.numbers[place] = number;
            }
        }
        Numbering { own: own.clone(), below, ids, table }
    }

    /// The number of a known id; own ids need no search.
    pub(crate) fn number(&self, id: u64) -> u32 {
        match &self.table {
            _ if self.own.contains(&id) => (self.below as u64 + id - self.own.start) as u32,
            Some(table) => table.numbers[table.place(id)],
            None => self.ids.partition_point(|&other| other < id) as u32,
        }
    }
}

/// Sorted, without duplicates.
pub(crate) fn sorted(ids: impl Iterator<Item = u64>) -> Vec<u64> {
    let mut ids: Vec<u64> = ids.collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

impl NamedRows {
    /// From columns as global ids, most of which are in `own`.
    pub(crate) fn new(own: &Range<u64>, row_ptr: Vec<usize>, columns: &[u64], values: Vec<f64>) -> Self {
        let numbering = Numbering::new(own, columns.iter().copied());
        let columns = parallel::collect(columns.len(), |k| numbering.number(columns[k]));
        NamedRows { ids: numbering.ids, row_ptr, columns, values }
    }

    /// Rows whose columns are places in a list of ids.
    pub(crate) fn of(rows: Csr<f64>, ids: Vec<u64>) -> Self {
        let (row_ptr, columns, values) = rows.into_parts();
        NamedRows { ids, row_ptr, columns, values }
    }

    /// Marks the ids that are used.
    pub(crate) fn used(&self) -> Vec<bool> {
        let mut used = vec![false; self.ids.len()];
        self.columns.iter().for_each(|&column| used[column as usize] = true);
        used
    }
}

/// The rows of other ranks with the given increasing `ids`. `write` appends an own row to a
/// message. Collective.
pub(crate) fn fetch(
    comm: &dyn Comm,
    rows: &Partition,
    ids: &[u64],
    write: impl Fn(u64, &mut Vec<u64>),
) -> GlobalRows {
    let owners = rows.owners(comm, ids);
    let questions = by_owner(ids, &owners).map(|(owner, ids)| (owner, ids.to_vec())).collect();
    let answer = |(from, ids): (usize, Vec<u64>)| {
        let mut words = Vec::new();
        ids.into_iter().for_each(|id| write(id, &mut words));
        (from, words)
    };
    let answers = comm.deliver(questions).into_iter().map(answer).collect();
    let mut fetched = GlobalRows::new();
    comm.deliver(answers).iter().for_each(|(_, words)| fetched.read(words));
    fetched
}

/// Own rows (a range of a matrix, whose columns `table` renumbers) between rows of other ranks,
/// whose columns `number` numbers. A row that was not fetched is empty.
pub(crate) fn between<'a>(
    (matrix, own, table): (CsrRef<'_, f64>, &Range<usize>, &[u32]),
    (below, above): (impl Iterator<Item = Other<'a>>, impl Iterator<Item = Other<'a>>),
    cols: usize,
    number: impl Fn(u64) -> u32,
) -> Result<Csr<f64>, MatrixError> {
    let entries = matrix.row_ptr()[own.start]..matrix.row_ptr()[own.end];
    let [below, above]: [Vec<Other<'a>>; 2] = [below.collect(), above.collect()];
    let length = |row: &Other<'a>| row.map_or(0, |(columns, _)| columns.len());
    let all = entries.len() + below.iter().chain(&above).map(length).sum::<usize>();
    let mut row_ptr = Vec::with_capacity(below.len() + own.len() + above.len() + 1);
    row_ptr.push(0);
    let (mut columns, mut values) = (Vec::with_capacity(all), Vec::with_capacity(all));
    let push = |row: Other<'a>, row_ptr: &mut Vec<usize>, columns: &mut Vec<u32>, values: &mut Vec<f64>| {
        if let Some((row_columns, row_values)) = row {
            columns.extend(row_columns.iter().map(|&id| number(id)));
            values.extend_from_slice(row_values);
        }
        row_ptr.push(columns.len());
    };
    below.into_iter().for_each(|row| push(row, &mut row_ptr, &mut columns, &mut values));
    let before = columns.len();
    row_ptr.extend(matrix.row_ptr()[own.start + 1..=own.end].iter().map(|end| end - entries.start + before));
    let own_columns = &matrix.columns()[entries.clone()];
    columns.resize(before + entries.len(), 0);
    parallel::over_pieces(&mut columns[before..], &|first, piece| {
        let own_columns = own_columns[first..].iter();
        piece.iter_mut().zip(own_columns).for_each(|(new, &column)| *new = table[column as usize]);
    });
    values.extend_from_slice(&matrix.values()[entries]);
    above.into_iter().for_each(|row| push(row, &mut row_ptr, &mut columns, &mut values));
    Csr::try_new(row_ptr.len() - 1, cols, row_ptr, columns, values)
}

/// Sends entries to the owners of their rows. Returns one row for each row that this rank owns,
/// with increasing columns. Duplicate entries are added up in the order of ranks, and on each rank
/// in the order given. Collective.
pub(crate) fn send_home(comm: &dyn Comm, rows: &Partition, mut entries: Vec<(u64, u64, f64)>) -> GlobalRows {
    // A stable sort: duplicates stay in their order.
    entries.sort_by_key(|&(row, column, _)| (row, column));
    let mut ids: Vec<u64> = entries.iter().map(|entry| entry.0).collect();
    ids.dedup();
    let owners = rows.owners(comm, &ids);
    let (mut messages, mut left): (Vec<(usize, Vec<u64>)>, _) = (Vec::new(), &entries[..]);
    for (id, owner) in ids.into_iter().zip(owners) {
        let count = left.partition_point(|entry| entry.0 <= id);
        let part;
        (part, left) = left.split_at(count);
        if messages.last().is_none_or(|(last, _)| *last != owner) {
            messages.push((owner, Vec::new()));
        }
        if let Some((_, words)) = messages.last_mut() {
            words.extend(part.iter().flat_map(|&(row, column, value)| [row, column, value.to_bits()]));
        }
    }
    drop(entries);
    let received = comm.deliver(messages);
    let mut entries: Vec<(u64, u64, f64)> = Vec::new();
    for (_, words) in received {
        entries.extend(words.chunks_exact(3).map(|entry| (entry[0], entry[1], f64::from_bits(entry[2]))));
    }
    entries.sort_by_key(|&(row, column, _)| (row, column));
    let (mut home, mut next) = (GlobalRows::new(), 0);
    for id in rows.own() {
        let begin = home.columns.len();
        while let Some(&(row, column, value)) = entries.get(next).filter(|entry| entry.0 == id) {
            debug_assert_eq!(row, id);
            if home.columns.len() > begin && home.columns.last() == Some(&column) {
                let last = home.values.len() - 1;
                home.values[last] += value;
            } else {
                home.columns.push(column);
                home.values.push(value);
            }
            next += 1;
        }
        home.end_row(id);
    }
    home
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comm::Alone;

    #[test]
    fn duplicate_entries_are_added_up() {
        let rows = Partition::try_new(&Alone, 3).unwrap();
        let home = send_home(&Alone, &rows, vec![(2, 1, 1.0), (0, 5, 2.0), (2, 1, 4.0), (2, 0, 8.0)]);
        assert_eq!((&home.ids[..], &home.row_ptr[..]), (&[0, 1, 2][..], &[0, 1, 1, 3][..]));
        assert_eq!((&home.columns[..], &home.values[..]), (&[5, 0, 1][..], &[2.0, 8.0, 5.0][..]));
    }

    #[test]
    fn numbers_are_places_in_the_list_of_ids() {
        for own in [0..5, 10..20, 10..10, 90..100] {
            // Close together, with a table; far apart, without.
            for others in [vec![3, 25, 4, 25, 21, 11], vec![5, 1 << 40, 7], vec![24], vec![2], vec![]] {
                let numbering = Numbering::new(&own, others.iter().copied());
                let expected = sorted(own.clone().chain(others.iter().copied()));
                assert_eq!(numbering.ids, expected);
                let has_others = others.iter().any(|id| !own.contains(id));
                assert_eq!(numbering.table.is_some(), has_others && others.len() != 3, "{others:?}");
                for (number, &id) in (0..).zip(&expected) {
                    assert_eq!(numbering.number(id), number, "{id} of {expected:?}");
                }
            }
        }
    }

    #[test]
    fn messages_round_trip() {
        let (mut rows, mut words) = (GlobalRows::new(), Vec::new());
        GlobalRows::write(7, [3, 9].into_iter(), &[1.5, -2.0], &mut words);
        GlobalRows::write(8, [].into_iter(), &[], &mut words);
        rows.read(&words);
        assert_eq!(rows.ids, [7, 8]);
        assert_eq!((rows.row(0), rows.row(1)), ((&[3, 9][..], &[1.5, -2.0][..]), (&[][..], &[][..])));
    }
}

//! A matrix whose rows are distributed over ranks.
//!
//! A rank holds its own rows. Their columns have local numbers of 32 bits in the order of global
//! ids: own columns and the columns of a [`Neighbourhood`]. A square matrix has a local row for
//! every local column; rows of other ranks are empty until they are fetched. So the row-local
//! kernels of setup run on a range of its rows as on a matrix in one process, and give the same
//! bits.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use ziggurat::diagnose::unknowns_per_node;
use ziggurat_amg::SetupError;
use ziggurat_amg::halo::Halo;
use ziggurat_sparse::{Csr, CsrRef, MatrixError, parallel};

use crate::comm::Comm;
use crate::error::{DistributedError, agree, check_same, together};
use crate::neighbourhood::Neighbourhood;
use crate::partition::Partition;
use crate::rows::{GlobalRows, NamedRows, Numbering, between, fetch, send_home};

/// The rows of a matrix that one rank owns.
///
/// ```
/// use std::sync::Arc;
/// use ziggurat_mpi::{Alone, Comm, DistributedCsr};
/// let comm: Arc<dyn Comm> = Arc::new(Alone);
/// // Every rank gives entries of any rows; here there is one rank.
/// let a = DistributedCsr::from_entries(&comm, 2, 1, vec![(0, 0, 2.0), (1, 1, 3.0), (0, 0, 1.0)])?;
/// assert_eq!((a.global_rows(), a.global_nnz()), (2, 2));
/// # Ok::<(), ziggurat_mpi::DistributedError>(())
/// ```
#[derive(Clone, Debug)]
pub struct DistributedCsr {
    pub(crate) rows: Arc<Partition>,
    pub(crate) cols: Arc<Partition>,
    /// The neighbourhood of the columns.
    pub(crate) around: Arc<Neighbourhood>,
    /// Shared by the copies of a matrix, which differ in little.
    pub(crate) local: Arc<Csr<f64>>,
    /// The range of own rows among the local ones.
    pub(crate) own: Range<usize>,
}

impl DistributedCsr {
    /// A square matrix with `rows_here` rows on this rank, from entries that any rank may give for
    /// any row, by global ids. Duplicate entries are added up. `block` is the number of unknowns
    /// per node. Collective.
    ///
    /// # Errors
    /// If an entry lies outside the matrix, or a node is divided between ranks.
    pub fn from_entries(
        comm: &Arc<dyn Comm>,
        rows_here: usize,
        block: usize,
        entries: Vec<(u64, u64, f64)>,
    ) -> Result<Self, DistributedError> {
        together(&**comm, || {
            check_same(&**comm, "number of unknowns per node", &block.to_string())?;
            let rows = Partition::try_new(&**comm, rows_here)?;
            let n = rows.global();
            let is_outside = |&&(row, column, _): &&(u64, u64, f64)| row >= n || column >= n;
            let checked = match entries.iter().find(is_outside) {
                Some(&(row, column, _)) => {
                    Err(DistributedError::OutOfRange { row, column, rows: n, columns: n })
                }
                None => check_nodes(&**comm, &rows, block),
            };
            agree(&**comm, checked)?;
            let home = send_home(&**comm, &rows, entries);
            let own = rows.own();
            Self::square(comm, Arc::new(rows), block, home.named(&own))
        })
    }

    /// A square matrix from this rank's own rows: `row_ptr` as for [`Csr`], columns as increasing
    /// global ids. `block` is the number of unknowns per node. Collective.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use ziggurat_mpi::{Alone, Comm, DistributedCsr};
    /// let comm: Arc<dyn Comm> = Arc::new(Alone);
    /// let a = DistributedCsr::from_rows(&comm, 1, &[0, 1, 2], &[0, 1], &[2.0, 3.0])?;
    /// assert_eq!(a.own_rows(), 0..2);
    /// # Ok::<(), ziggurat_mpi::DistributedError>(())
    /// ```
    ///
    /// # Errors
    /// If the arrays are inconsistent, a column lies outside the matrix, or a node is divided
    /// between ranks.
    pub fn from_rows(
        comm: &Arc<dyn Comm>,
        block: usize,
        row_ptr: &[usize],
        columns: &[u64],
        values: &[f64],
    ) -> Result<Self, DistributedError> {
        together(&**comm, || {
            check_same(&**comm, "number of unknowns per node", &block.to_string())?;
            let rows = Partition::try_new(&**comm, row_ptr.len().saturating_sub(1))?;
            let shape = check_rows(&rows, row_ptr, columns, values);
            agree(&**comm, shape.and_then(|()| check_nodes(&**comm, &rows, block)))?;
            let home = NamedRows::new(&rows.own(), row_ptr.to_vec(), columns, values.to_vec());
            Self::square(comm, Arc::new(rows), block, home)
        })
    }

    /// A square matrix of this rank's own rows.
    pub(crate) fn square(
        comm: &Arc<dyn Comm>,
        rows: Arc<Partition>,
        block: usize,
        own: NamedRows,
    ) -> Result<Self, DistributedError> {
        let around = surroundings(comm, &rows, block, &own);
        let (owned, local) = (around.rows().owned(), around.rows().local());
        debug_assert_eq!(own.row_ptr.len(), owned.len() + 1);
        let before = std::iter::repeat_n(0, owned.start);
        let after = std::iter::repeat_n(own.values.len(), local - owned.end);
        let row_ptr = before.chain(own.row_ptr.iter().copied()).chain(after).collect();
        let columns = renumbered(&own.columns, &own.ids, &around);
        let local = agree(&**comm, Csr::try_new(local, local, row_ptr, columns, own.values))?;
        Ok(DistributedCsr {
            cols: rows.clone(),
            rows,
            own: owned,
            around: Arc::new(around),
            local: local.into(),
        })
    }

    /// A matrix of own rows; `block` is the number of unknowns per node of the columns.
    pub(crate) fn rectangular(
        comm: &Arc<dyn Comm>,
        rows: Arc<Partition>,
        cols: Arc<Partition>,
        block: usize,
        own: NamedRows,
    ) -> Result<Self, DistributedError> {
        let around = surroundings(comm, &cols, block, &own);
        let columns = renumbered(&own.columns, &own.ids, &around);
        let count = own.row_ptr.len() - 1;
        let local =
            agree(&**comm, Csr::try_new(count, around.rows().local(), own.row_ptr, columns, own.values))?;
        Ok(DistributedCsr { rows, cols, around: Arc::new(around), local: local.into(), own: 0..count })
    }

    /// A matrix with the given own rows, whose columns are the local rows of this one. Collective.
    pub(crate) fn of_own_rows(&self, rows: &Csr<f64>) -> Result<Self, DistributedError> {
        let halo = self.around.rows();
        let mut home = GlobalRows::new();
        for (row, id) in self.own_rows().enumerate() {
            let (columns, values) = rows.row(row);
            home.columns.extend(columns.iter().map(|&column| halo.global_id(column as usize)));
            home.values.extend_from_slice(values);
            home.end_row(id);
        }
        let home = home.named(&self.rows.own());
        Self::rectangular(self.comm(), self.rows.clone(), self.rows.clone(), self.block(), home)
    }

    /// The same matrix with rows of other ranks added to its own.
    fn with_rows(&self, others: &[GlobalRows]) -> Result<Self, DistributedError> {
        let old = self.around.rows();
        let known =
            (0..old.owned().start).chain(old.owned().end..old.local()).map(|local| old.global_id(local));
        let new = others.iter().flat_map(|rows| rows.columns.iter().chain(&rows.ids)).copied();
        let own_ids = self.rows.own();
        let ids = Numbering::new(&own_ids, known.chain(new)).ids;
        let comm = self.comm();
        let around = Neighbourhood::new(comm, &self.rows, self.block(), ids.into_iter());
        // Of whole nodes, as local numbers are.
        let numbering = Numbering::new(&own_ids, around.others_rows().into_iter());
        let number = |id: u64| numbering.number(id);
        let table: Vec<u32> = (0..old.local()).map(|local| number(old.global_id(local))).collect();
        let halo = around.rows();
        let mut fetched: Vec<_> = others
            .iter()
            .flat_map(|rows| rows.ids.iter().enumerate().map(move |(place, &id)| (id, rows.row(place))))
            .collect();
        fetched.sort_unstable_by_key(|(id, _)| *id);
        let row_of = |local: usize| {
            let id = halo.global_id(local);
            fetched.binary_search_by_key(&id, |(id, _)| *id).ok().map(|at| fetched[at].1)
        };
        let (own, all) = (halo.owned(), halo.local());
        let others = ((0..own.start).map(row_of), (own.end..all).map(row_of));
        let local = agree(&**comm, between((self.view(), &self.own, &table), others, all, number))?;
        let (rows, cols) = (self.rows.clone(), self.cols.clone());
        Ok(DistributedCsr { rows, cols, own, around: Arc::new(around), local: local.into() })
    }

    /// The communicator of the ranks that hold the matrix.
    pub fn comm(&self) -> &Arc<dyn Comm> {
        self.around.comm()
    }

    /// The global ids of this rank's rows.
    pub fn own_rows(&self) -> Range<u64> {
        self.rows.own()
    }

    /// Rows on all ranks.
    pub fn global_rows(&self) -> u64 {
        self.rows.global()
    }

    /// Entries on all ranks. Collective.
    pub fn global_nnz(&self) -> u64 {
        self.comm().total(self.own_nnz() as u64)
    }

    /// The range of the entries of own rows among the local ones.
    pub(crate) fn own_entries(&self) -> Range<usize> {
        self.local.row_ptr()[self.own.start]..self.local.row_ptr()[self.own.end]
    }

    /// Entries of own rows.
    pub(crate) fn own_nnz(&self) -> usize {
        self.own_entries().len()
    }

    /// A checksum: the sum of the bits of own entries.
    pub(crate) fn fingerprint(&self) -> u64 {
        let values = self.local.values();
        let sums = parallel::map_pieces(self.own_entries(), parallel::PIECE, &|piece| {
            values[piece].iter().map(|value| value.to_bits()).fold(0, u64::wrapping_add)
        });
        sums.into_iter().fold(0, u64::wrapping_add)
    }

    /// Unknowns per node of the columns.
    pub(crate) fn block(&self) -> usize {
        self.around.block()
    }

    pub(crate) fn view(&self) -> CsrRef<'_, f64> {
        self.local.view()
    }

    /// An own row, with global columns.
    pub(crate) fn global_row(&self, id: u64) -> (impl ExactSizeIterator<Item = u64>, &[f64]) {
        let (columns, values) = self.local.row(self.own.start + (id - self.rows.own().start) as usize);
        let around = &self.around;
        (columns.iter().map(move |&column| around.rows().global_id(column as usize)), values)
    }

    /// Own rows, for conversion to another matrix.
    pub(crate) fn own_named(&self) -> NamedRows {
        let entries = self.own_entries();
        let row_ptr = self.local.row_ptr()[self.own.start..=self.own.end].iter().map(|at| at - entries.start);
        NamedRows {
            ids: self.local_ids(),
            row_ptr: row_ptr.collect(),
            columns: self.local.columns()[entries.clone()].to_vec(),
            values: self.local.values()[entries].to_vec(),
        }
    }

    /// The global ids of local columns.
    pub(crate) fn local_ids(&self) -> Vec<u64> {
        let halo = self.around.rows();
        (0..halo.local()).map(|local| halo.global_id(local)).collect()
    }

    /// The rows of other ranks with the given increasing `ids`. Collective.
    pub(crate) fn fetch(&self, ids: &[u64]) -> GlobalRows {
        fetch(&**self.comm(), &self.rows, ids, |id, words| {
            let (columns, values) = self.global_row(id);
            GlobalRows::write(id, columns, values, words);
        })
    }

    /// Rows of other ranks and the own ones with the ids of `kept`, which lie between them, in the
    /// order of their ids, with the columns of `numbering`. Collective.
    pub(crate) fn among(
        &self,
        others: &GlobalRows,
        kept: &Range<u64>,
        numbering: &Numbering,
    ) -> Result<Csr<f64>, DistributedError> {
        let number = |id: u64| numbering.number(id);
        let table: Vec<u32> = self.local_ids().into_iter().map(number).collect();
        let place = |id: u64| self.own.start + (id - self.own_rows().start) as usize;
        let below = others.ids.partition_point(|&id| id < kept.start);
        let row = |place: usize| Some(others.row(place));
        let made = between(
            (self.view(), &(place(kept.start)..place(kept.end)), &table),
            ((0..below).map(row), (below..others.ids.len()).map(row)),
            numbering.ids.len(),
            number,
        );
        agree(&**self.comm(), made)
    }

    /// A square matrix with the rows of other ranks within `depth` connections of own rows, in
    /// either direction. Collective.
    pub(crate) fn with_halo(&self, depth: usize) -> Result<Cow<'_, Self>, DistributedError> {
        if self.comm().size() == 1 {
            return Ok(Cow::Borrowed(self));
        }
        let rings = self.with_reverse_connections()?;
        let rings = rings.as_ref().unwrap_or(self);
        let (mut known, mut fetched): (Vec<u64>, Vec<GlobalRows>) = (Vec::new(), Vec::new());
        let mut frontier = rings.around.others_rows();
        for _ in 0..depth {
            let ring = rings.fetch(&frontier);
            known.extend(&frontier);
            known.sort_unstable();
            let next = self.others(ring.columns.iter().copied());
            fetched.push(if std::ptr::eq(rings, self) { ring } else { self.fetch(&frontier) });
            frontier = next.into_iter().filter(|id| known.binary_search(id).is_err()).collect();
        }
        self.with_rows(&fetched).map(Cow::Owned)
    }

    /// The increasing ids of those `columns` that other ranks own, extended to whole nodes.
    pub(crate) fn others(&self, columns: impl Iterator<Item = u64>) -> Vec<u64> {
        let (own, width) = (self.cols.own(), self.block() as u64);
        let ids = Numbering::new(&own, columns).ids;
        let mut nodes: Vec<u64> =
            ids.into_iter().filter(|id| !own.contains(id)).map(|id| id / width).collect();
        nodes.dedup();
        nodes.into_iter().flat_map(|node| node * width..(node + 1) * width).collect()
    }

    /// A matrix with an entry at (j, i) wherever this one has one at (i, j); `None` if the pattern
    /// is already symmetric.
    fn with_reverse_connections(&self) -> Result<Option<Self>, DistributedError> {
        // A connection and its reverse cancel; see `undirected` in `ziggurat-amg`.
        let scramble = |id: u64| {
            let mixed = (id + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            mixed ^ (mixed >> 32)
        };
        let halo = self.around.rows();
        let scrambled: Vec<u64> = (0..halo.local()).map(|local| scramble(halo.global_id(local))).collect();
        let mut sum = 0u64;
        for row in self.own.clone() {
            let g = scrambled[row];
            for &column in self.local.row(row).0 {
                let h = scrambled[column as usize];
                sum = sum.wrapping_add(g.wrapping_mul(h).wrapping_mul(g.wrapping_sub(h)));
            }
        }
        if self.comm().total(sum) == 0 {
            return Ok(None);
        }
        let mut entries = Vec::with_capacity(2 * self.own_nnz());
        for id in self.rows.own() {
            entries.extend(self.global_row(id).0.flat_map(|column| [(id, column, 0.0), (column, id, 0.0)]));
        }
        let both = send_home(&**self.comm(), &self.rows, entries);
        let both = both.named(&self.rows.own());
        Self::square(self.comm(), self.rows.clone(), self.block(), both).map(Some)
    }

    /// The same matrix with as many unknowns per node as its pattern shows
    /// ([`unknowns_per_node`](ziggurat::diagnose::unknowns_per_node)). Every rank owns whole nodes:
    /// where that is not known, multiples of 12 rows, except on the last. All ranks call it.
    ///
    /// # Errors
    /// If ranks cut nodes apart, or memory runs out on a rank.
    pub fn with_detected_nodes(self) -> Result<Self, DistributedError> {
        let comm = self.comm().clone();
        together(&*comm, || {
            let block = unknowns_per_node(self.view(), &self.around.rows());
            self.with_nodes(block)
        })
    }

    /// As [`with_detected_nodes`](Self::with_detected_nodes); a matrix whose nodes are cut apart
    /// between ranks counts as scalar.
    pub(crate) fn with_whole_nodes(self) -> Result<Self, DistributedError> {
        let comm = self.comm().clone();
        let block = unknowns_per_node(self.view(), &self.around.rows());
        match comm.any(check_nodes(&*comm, &self.rows, block).is_err()) {
            true => Ok(self),
            false => self.with_nodes(block),
        }
    }

    /// The same matrix with `block` unknowns per node. All ranks call it.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use ziggurat_mpi::{Alone, Comm, DistributedCsr};
    /// let comm: Arc<dyn Comm> = Arc::new(Alone);
    /// let a = DistributedCsr::from_rows(&comm, 1, &[0, 1, 2, 3], &[0, 1, 2], &[2.0, 3.0, 4.0])?;
    /// assert!(a.clone().with_nodes(3).is_ok() && a.with_nodes(2).is_err());
    /// # Ok::<(), ziggurat_mpi::DistributedError>(())
    /// ```
    ///
    /// # Errors
    /// If ranks cut nodes apart, or memory runs out on a rank.
    pub fn with_nodes(self, block: usize) -> Result<Self, DistributedError> {
        let comm = self.comm().clone();
        together(&*comm, || {
            check_same(&*comm, "number of unknowns per node", &block.to_string())?;
            if block == self.block() {
                return Ok(self);
            }
            agree(&*comm, check_nodes(&*comm, &self.rows, block))?;
            DistributedCsr::square(&comm, self.rows.clone(), block, self.own_named())
        })
    }

    /// Own entries, by global ids.
    pub(crate) fn entries(&self) -> Vec<(u64, u64, f64)> {
        let of_row = |id: u64| {
            let (columns, values) = self.global_row(id);
            columns.zip(values).map(move |(column, &value)| (id, column, value))
        };
        self.rows.own().flat_map(of_row).collect()
    }

    /// Renames local rows in an error to their global ids.
    pub(crate) fn with_global_ids(&self, error: SetupError) -> SetupError {
        error.with_rows(|row| self.around.rows().global_id(row))
    }
}

/// The neighbourhood of the columns that the rows use.
fn surroundings(
    comm: &Arc<dyn Comm>,
    cols: &Arc<Partition>,
    block: usize,
    rows: &NamedRows,
) -> Neighbourhood {
    let used = rows.used();
    let ids = rows.ids.iter().zip(used).filter(|(_, used)| *used).map(|(&id, _)| id);
    Neighbourhood::new(comm, cols, block, ids)
}

/// Columns by their local numbers.
pub(crate) fn renumbered(columns: &[u32], ids: &[u64], around: &Neighbourhood) -> Vec<u32> {
    // The number of an unused id does not matter.
    let table: Vec<u32> = ids.iter().map(|&id| around.local(id).unwrap_or(usize::MAX) as u32).collect();
    parallel::collect(columns.len(), |k| table[columns[k] as usize])
}

/// Rejects partitions that divide nodes.
fn check_nodes(comm: &dyn Comm, rows: &Partition, block: usize) -> Result<(), DistributedError> {
    let begin = rows.own().start;
    let whole = block > 0 && begin.is_multiple_of(block as u64) && rows.len().is_multiple_of(block);
    if whole { Ok(()) } else { Err(DistributedError::CutNode { rank: comm.rank(), begin, block }) }
}

/// Rejects inconsistent arrays and columns outside the matrix.
fn check_rows(
    rows: &Partition,
    row_ptr: &[usize],
    columns: &[u64],
    values: &[f64],
) -> Result<(), DistributedError> {
    let n = rows.global();
    let Some(&row_ptr_end) = row_ptr.last() else {
        return Err(MatrixError::RowPointerCount { rows: 0, found: 0 }.into());
    };
    if row_ptr[0] != 0 {
        return Err(MatrixError::RowPointerStart { found: row_ptr[0] }.into());
    }
    let mut bounds = (rows.own().start..).zip(row_ptr.windows(2));
    if let Some((row, pair)) = bounds.find(|(_, pair)| pair[0] > pair[1]) {
        let (row, begin, end) = (row as usize, pair[0], pair[1]);
        return Err(MatrixError::RowPointerDecreases { row, begin, end }.into());
    }
    let (columns_given, values_given) = (columns.len(), values.len());
    if columns_given != row_ptr_end || values_given != row_ptr_end {
        let (columns, values) = (columns_given, values_given);
        return Err(MatrixError::EntryCount { row_ptr_end, columns, values }.into());
    }
    for (row, bounds) in (rows.own().start..).zip(row_ptr.windows(2)) {
        let columns = &columns[bounds[0]..bounds[1]];
        if let Some(&column) = columns.iter().find(|&&column| column >= n) {
            return Err(DistributedError::OutOfRange { row, column, rows: n, columns: n });
        }
        if let Some(pair) = columns.windows(2).find(|pair| pair[0] >= pair[1]) {
            let (previous, column) = (pair[0], pair[1]);
            return Err(DistributedError::ColumnsNotIncreasing { row, column, previous });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comm::Alone;

    #[test]
    fn inconsistent_rows_are_refused_in_words() {
        let comm: Arc<dyn Comm> = Arc::new(Alone);
        let message = |row_ptr: &[usize], columns: &[u64], values: &[f64]| {
            DistributedCsr::from_rows(&comm, 1, row_ptr, columns, values).unwrap_err().to_string()
        };
        assert_eq!(message(&[], &[], &[]), "a matrix of 0 rows needs 1 row pointer, found 0");
        assert_eq!(message(&[1, 2], &[0], &[1.0]), "the first row pointer is 1, not 0");
        assert_eq!(message(&[0, 2, 1], &[0, 1], &[1.0, 1.0]), "row 1: its row pointers decrease from 2 to 1");
        assert_eq!(
            message(&[0, 1, 2], &[0, 1], &[1.0]),
            "the row pointers end at 2, but there are 2 columns and 1 value"
        );
        assert_eq!(
            message(&[0, 2, 2], &[1, 0], &[1.0, 1.0]),
            "row 0: column 0 follows column 1; columns must increase within each row"
        );
        assert_eq!(
            message(&[0, 1, 2], &[0, 2], &[1.0, 1.0]),
            "entry (1, 2) lies outside a matrix of 2 rows and 2 columns"
        );
    }
}

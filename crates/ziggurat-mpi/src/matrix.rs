//! A matrix whose rows are distributed over ranks.
//!
//! A rank has its own rows. Their columns are numbered locally, in 32 bits and in the order of global ids: its own, and those of a
//! [`Neighbourhood`]. A square matrix has a local row for every local column, those of others being empty unless they were
//! [fetched](DistributedCsr::extended); so the row-local kernels of setup run on it as they run on a whole matrix, over a range
//! of rows, and give the same bits.

use std::ops::Range;
use std::sync::Arc;

use ziggurat_amg::SetupError;
use ziggurat_amg::halo::Halo;
use ziggurat_sparse::{Csr, CsrRef, MatrixError};

use crate::comm::Comm;
use crate::error::{DistributedError, agree};
use crate::neighbourhood::Neighbourhood;
use crate::partition::{Partition, by_owner};
use crate::rows::{GlobalRows, send_home};

/// The rows of a matrix that one rank owns.
///
/// ```
/// use std::sync::Arc;
/// use ziggurat_mpi::{Alone, DistributedCsr};
/// // Every rank gives entries, of any row; here there is one rank.
/// let a = DistributedCsr::from_entries(Arc::new(Alone), 2, 1, vec![(0, 0, 2.0), (1, 1, 3.0), (0, 0, 1.0)])?;
/// assert_eq!((a.global_rows(), a.global_nnz()), (2, 2));
/// # Ok::<(), ziggurat_mpi::DistributedError>(())
/// ```
#[derive(Clone, Debug)]
pub struct DistributedCsr {
    pub(crate) rows: Arc<Partition>,
    pub(crate) cols: Arc<Partition>,
    /// Of the columns.
    pub(crate) around: Arc<Neighbourhood>,
    pub(crate) local: Csr<f64>,
    /// The own rows among the local ones.
    pub(crate) own: Range<usize>,
}

impl DistributedCsr {
    /// A square matrix of `rows_here` rows on this rank, from entries that ranks give for any row, in global ids. Entries of one place are
    /// added up. `block` is the number of unknowns per node. All ranks call it.
    ///
    /// # Errors
    /// If an entry lies outside the matrix, or ranks cut nodes apart.
    pub fn from_entries(
        comm: Arc<dyn Comm>,
        rows_here: usize,
        block: usize,
        entries: Vec<(u64, u64, f64)>,
    ) -> Result<Self, DistributedError> {
        let rows = Partition::try_new(&*comm, rows_here)?;
        let n = rows.global();
        let inside = |&&(row, column, _): &&(u64, u64, f64)| row >= n || column >= n;
        let outside = entries.iter().find(inside);
        let checked = match outside {
            Some(&(row, column, _)) => Err(DistributedError::OutOfRange { row, column, rows: n, columns: n }),
            None => check_nodes(&*comm, &rows, block),
        };
        agree(&*comm, checked)?;
        let home = send_home(&*comm, &rows, entries);
        Self::square(&comm, Arc::new(rows), block, &home)
    }

    /// A square matrix from this rank's own rows, one after the other: `row_ptr` as for [`Csr`], columns in global ids, increasing. `block`
    /// is the number of unknowns per node. All ranks call it.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use ziggurat_mpi::{Alone, DistributedCsr};
    /// let a = DistributedCsr::from_rows(Arc::new(Alone), 1, &[0, 1, 2], &[0, 1], &[2.0, 3.0])?;
    /// assert_eq!(a.own_rows(), 0..2);
    /// # Ok::<(), ziggurat_mpi::DistributedError>(())
    /// ```
    ///
    /// # Errors
    /// If the arrays make no rows, a column lies outside the matrix, or ranks cut nodes apart.
    pub fn from_rows(
        comm: Arc<dyn Comm>,
        block: usize,
        row_ptr: &[usize],
        columns: &[u64],
        values: &[f64],
    ) -> Result<Self, DistributedError> {
        let rows = Partition::try_new(&*comm, row_ptr.len().saturating_sub(1))?;
        let shape = check_rows(&rows, row_ptr, columns, values);
        agree(&*comm, shape.and_then(|()| check_nodes(&*comm, &rows, block)))?;
        let home = GlobalRows {
            ids: rows.own().collect(),
            row_ptr: row_ptr.to_vec(),
            columns: columns.to_vec(),
            values: values.to_vec(),
        };
        Self::square(&comm, Arc::new(rows), block, &home)
    }

    /// A square matrix of this rank's own rows.
    pub(crate) fn square(
        comm: &Arc<dyn Comm>,
        rows: Arc<Partition>,
        block: usize,
        own: &GlobalRows,
    ) -> Result<Self, DistributedError> {
        let ids = sorted(own.columns.iter().copied());
        let around = Arc::new(Neighbourhood::new(comm, &rows, block, ids.into_iter()));
        let columns = own.columns.iter().map(|&id| around.local(id).unwrap_or(usize::MAX) as u32).collect();
        let (owned, local) = (around.rows().owned(), around.rows().local());
        let last = own.columns.len();
        let before = std::iter::repeat_n(0, owned.start);
        let after = std::iter::repeat_n(last, local - owned.end);
        let row_ptr = before.chain(own.row_ptr.iter().copied()).chain(after).collect();
        let local = agree(&**comm, Csr::try_new(local, local, row_ptr, columns, own.values.clone()))?;
        Ok(DistributedCsr { cols: rows.clone(), rows, own: owned, around, local })
    }

    /// The same matrix with rows of others beside its own.
    fn with_rows(&self, others: &[GlobalRows]) -> Result<Self, DistributedError> {
        let old = self.around.rows();
        let known = (0..old.local()).map(|local| old.global_id(local));
        let new = others.iter().flat_map(|rows| rows.columns.iter().chain(&rows.ids)).copied();
        let ids = sorted(known.chain(new));
        let comm = self.comm();
        let around = Arc::new(Neighbourhood::new(comm, &self.rows, self.block(), ids.into_iter()));
        let number = |id: u64| around.local(id).unwrap_or(usize::MAX) as u32;
        let renumbered: Vec<u32> = (0..old.local()).map(|local| number(old.global_id(local))).collect();
        let halo = around.rows();
        let mut others: Vec<_> = others
            .iter()
            .flat_map(|rows| rows.ids.iter().enumerate().map(move |(k, &id)| (id, rows.row(k))))
            .collect();
        others.sort_unstable_by_key(|(id, _)| *id);
        let mut others = others.into_iter().peekable();
        let (mut row_ptr, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
        for local in 0..halo.local() {
            if halo.owned().contains(&local) {
                let (own_columns, own_values) = self.local.row(self.own.start + local - halo.owned().start);
                columns.extend(own_columns.iter().map(|&column| renumbered[column as usize]));
                values.extend_from_slice(own_values);
            } else if let Some((_, (row_columns, row_values))) =
                others.next_if(|(other, _)| *other == halo.global_id(local))
            {
                columns.extend(row_columns.iter().map(|&id| number(id)));
                values.extend_from_slice(row_values);
            }
            row_ptr.push(columns.len());
        }
        let local = agree(&**comm, Csr::try_new(halo.local(), halo.local(), row_ptr, columns, values))?;
        let own = around.rows().owned();
        Ok(DistributedCsr { rows: self.rows.clone(), cols: self.cols.clone(), own, around, local })
    }

    /// A matrix of own rows, from columns in global ids; `block` is the number of unknowns per node of the columns.
    pub(crate) fn rectangular(
        comm: &Arc<dyn Comm>,
        rows: Arc<Partition>,
        cols: Arc<Partition>,
        block: usize,
        home: &GlobalRows,
    ) -> Result<Self, DistributedError> {
        let ids = sorted(home.columns.iter().copied());
        let around = Arc::new(Neighbourhood::new(comm, &cols, block, ids.into_iter()));
        let columns = home.columns.iter().map(|&id| around.local(id).unwrap_or(usize::MAX) as u32).collect();
        let (count, local) = (home.ids.len(), around.rows().local());
        let made = Csr::try_new(count, local, home.row_ptr.clone(), columns, home.values.clone());
        let local = agree(&**comm, made)?;
        Ok(DistributedCsr { rows, cols, around, local, own: 0..count })
    }

    /// The ranks that hold the matrix.
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

    /// Entries on all ranks. All ranks call it.
    pub fn global_nnz(&self) -> u64 {
        self.comm().total(self.own_nnz() as u64)
    }

    /// Entries of own rows.
    pub(crate) fn own_nnz(&self) -> usize {
        self.local.row_ptr()[self.own.end] - self.local.row_ptr()[self.own.start]
    }

    /// Unknowns per node of the columns.
    pub(crate) fn block(&self) -> usize {
        self.around.block()
    }

    pub(crate) fn view(&self) -> CsrRef<'_, f64> {
        self.local.view()
    }

    /// An own row, with global columns.
    fn global_row(&self, id: u64) -> (impl ExactSizeIterator<Item = u64>, &[f64]) {
        let (columns, values) = self.local.row(self.own.start + (id - self.rows.own().start) as usize);
        let around = &self.around;
        (columns.iter().map(move |&column| around.rows().global_id(column as usize)), values)
    }

    /// Own rows, with global columns.
    pub(crate) fn global_rows_here(&self) -> GlobalRows {
        let mut rows = GlobalRows::new();
        for id in self.rows.own() {
            let (columns, values) = self.global_row(id);
            rows.columns.extend(columns);
            rows.values.extend_from_slice(values);
            rows.end_row(id);
        }
        rows
    }

    /// Rows of others: those of `ids`, which increase. All ranks call it.
    pub(crate) fn fetch(&self, ids: &[u64]) -> GlobalRows {
        let comm = &**self.comm();
        let owners = self.rows.owners(comm, ids);
        let questions = by_owner(ids, &owners).map(|(owner, ids)| (owner, ids.to_vec())).collect();
        let answer = |(from, ids): (usize, Vec<u64>)| {
            let mut words = Vec::new();
            for id in ids {
                let (columns, values) = self.global_row(id);
                GlobalRows::write(id, columns, values, &mut words);
            }
            (from, words)
        };
        let answers = comm.deliver(questions).into_iter().map(answer).collect();
        let mut rows = GlobalRows::new();
        comm.deliver(answers).iter().for_each(|(_, words)| rows.read(words));
        rows
    }

    /// A square matrix with the rows of others that lie within `depth` connections of own rows, in either direction. All ranks call it.
    pub(crate) fn extended(&self, depth: usize) -> Result<Self, DistributedError> {
        let rings = self.with_reverse_connections()?;
        let rings = rings.as_ref().unwrap_or(self);
        let (mut known, mut fetched): (Vec<u64>, Vec<GlobalRows>) = (Vec::new(), Vec::new());
        let mut frontier = rings.around.others_rows();
        for _ in 0..depth {
            let ring = rings.fetch(&frontier);
            known.extend(&frontier);
            known.sort_unstable();
            let next = self.others(sorted(ring.columns.iter().copied()));
            fetched.push(if std::ptr::eq(rings, self) { ring } else { self.fetch(&frontier) });
            frontier = next.into_iter().filter(|id| known.binary_search(id).is_err()).collect();
        }
        self.with_rows(&fetched)
    }

    /// Ids of whole nodes that are not this rank's.
    fn others(&self, ids: Vec<u64>) -> Vec<u64> {
        let (own, width) = (self.rows.own(), self.block() as u64);
        let mut nodes: Vec<u64> =
            ids.into_iter().filter(|id| !own.contains(id)).map(|id| id / width).collect();
        nodes.dedup();
        nodes.into_iter().flat_map(|node| node * width..(node + 1) * width).collect()
    }

    /// A matrix with an entry at (j, i) wherever this one has one at (i, j); `None` if this one has.
    fn with_reverse_connections(&self) -> Result<Option<Self>, DistributedError> {
        // A connection and its reverse cancel; see ziggurat_amg's `undirected`.
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
        Self::square(self.comm(), self.rows.clone(), self.block(), &both).map(Some)
    }

    /// The transpose, its rows distributed as `rows` says. All ranks call it.
    pub(crate) fn transposed(&self, rows: &Arc<Partition>, block: usize) -> Result<Self, DistributedError> {
        let entries = self.entries().into_iter().map(|(row, column, value)| (column, row, value)).collect();
        let home = send_home(&**self.comm(), rows, entries);
        Self::rectangular(self.comm(), rows.clone(), self.rows.clone(), block, &home)
    }

    /// Own rows of the product with another matrix, whose rows are distributed as the columns of this one. All ranks call it.
    pub(crate) fn times(&self, right: &DistributedCsr) -> Result<GlobalRows, DistributedError> {
        let fetched = right.fetch(&self.around.others_rows());
        let halo = right.around.rows();
        // Local columns of the factor, and what the fetched rows have beside.
        let known = (0..halo.local()).map(|local| halo.global_id(local));
        let ids = sorted(known.chain(fetched.columns.iter().copied()));
        let number = |id: u64| ids.binary_search(&id).unwrap_or(usize::MAX) as u32;
        let renumbered: Vec<u32> = (0..halo.local()).map(|local| number(halo.global_id(local))).collect();
        let mine = self.around.rows();
        let (mut row_ptr, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
        for local in 0..mine.local() {
            if mine.owned().contains(&local) {
                let (row_columns, row_values) = right.local.row(right.own.start + local - mine.owned().start);
                columns.extend(row_columns.iter().map(|&column| renumbered[column as usize]));
                values.extend_from_slice(row_values);
            } else {
                let place = self.around.local_to_halo(local).unwrap_or(0);
                let (row_columns, row_values) = fetched.row(place);
                columns.extend(row_columns.iter().map(|&id| number(id)));
                values.extend_from_slice(row_values);
            }
            row_ptr.push(columns.len());
        }
        let factor = Csr::try_new(mine.local(), ids.len(), row_ptr, columns, values);
        let made = factor.and_then(|factor| {
            ziggurat_sparse::algebra::product(self.view(), self.own.clone(), factor.view())
        });
        let made = agree(&**self.comm(), made)?;
        let (row_ptr, columns, values) = made.into_parts();
        let columns = columns.into_iter().map(|column| ids[column as usize]).collect();
        Ok(GlobalRows { ids: self.rows.own().collect(), row_ptr, columns, values })
    }

    /// Own entries, by global ids.
    pub(crate) fn entries(&self) -> Vec<(u64, u64, f64)> {
        let of_row = |id: u64| {
            let (columns, values) = self.global_row(id);
            columns.zip(values).map(move |(column, &value)| (id, column, value))
        };
        self.rows.own().flat_map(of_row).collect()
    }

    /// A fault of local rows, by their global ids.
    pub(crate) fn globally(&self, error: SetupError) -> SetupError {
        let id = |local: usize| self.around.rows().global_id(local) as usize;
        match error {
            SetupError::Matrix(MatrixError::ZeroDiagonal { row, value }) => {
                MatrixError::ZeroDiagonal { row: id(self.own.start + row), value }.into()
            }
            SetupError::Matrix(MatrixError::NotFinite { row, column, value }) => {
                MatrixError::NotFinite { row: id(row), column: id(column), value }.into()
            }
            error => error,
        }
    }
}

/// Increasing, each once.
pub(crate) fn sorted(ids: impl Iterator<Item = u64>) -> Vec<u64> {
    let mut ids: Vec<u64> = ids.collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

/// Refuses ranks that cut nodes apart.
fn check_nodes(comm: &dyn Comm, rows: &Partition, block: usize) -> Result<(), DistributedError> {
    let begin = rows.own().start;
    let whole = block > 0 && begin.is_multiple_of(block as u64) && rows.len().is_multiple_of(block);
    if whole { Ok(()) } else { Err(DistributedError::CutNode { rank: comm.rank(), begin, block }) }
}

/// Refuses arrays that make no rows, and columns outside the matrix.
fn check_rows(
    rows: &Partition,
    row_ptr: &[usize],
    columns: &[u64],
    values: &[f64],
) -> Result<(), DistributedError> {
    let n = rows.global();
    let mismatch = |what, expected, found| Err(MatrixError::Mismatch { what, expected, found }.into());
    if row_ptr.first() != Some(&0) || row_ptr.windows(2).any(|pair| pair[0] > pair[1]) {
        return mismatch(
            "row pointers that begin at 0 and increase",
            0,
            row_ptr.first().copied().unwrap_or(0),
        );
    }
    let expected = row_ptr[row_ptr.len() - 1];
    if columns.len() != expected || values.len() != expected {
        return mismatch(
            "columns and values, by the row pointers",
            expected,
            columns.len().min(values.len()),
        );
    }
    for (row, bounds) in (rows.own().start..).zip(row_ptr.windows(2)) {
        let columns = &columns[bounds[0]..bounds[1]];
        if let Some(&column) = columns.iter().find(|&&column| column >= n) {
            return Err(DistributedError::OutOfRange { row, column, rows: n, columns: n });
        }
        if let Some(at) = columns.windows(2).position(|pair| pair[0] >= pair[1]) {
            return mismatch(
                "columns that increase within each row; entry of the arrays",
                bounds[0] + at + 1,
                bounds[0] + at,
            );
        }
    }
    Ok(())
}

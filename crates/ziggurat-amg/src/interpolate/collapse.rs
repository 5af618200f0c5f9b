//! What classical interpolation formulas share: fine neighbours are collapsed onto an interpolatory set.
//!
//! For a fine row i with interpolatory set Ĉ, strong fine neighbours F and weak neighbours W,
//!
//! ```text
//! w_ij = −(a_ij + Σ_{k∈F} a_ik ā_kj / b_ik) / ã_ii,        b_ik = Σ_{l∈Ĉ} ā_kl  (+ ā_ki)
//! ã_ii = a_ii + Σ_{n∈W∖Ĉ} a_in  (+ Σ_{k∈F} a_ik ā_ki / b_ik)
//! ```
//!
//! where ā_kl is a_kl if its sign is not that of a_kk, and 0 otherwise. The terms in brackets are the "+i" of extended+i:
//! a neighbour's share for i itself stays with i. A strong fine neighbour with b_ik = 0 has nothing to do with Ĉ and
//! counts as weak. So does one whose row is not here (a halo that is not deep enough).
//!
//! Of a neighbour's row only the entries in coarse columns matter, once per row that depends on it. So these are taken
//! out of the matrix first: [`CoarseEntries`].
//!
//! Cost: one pass over the matrix to take them out, and, for each pair of strongly connected fine rows, the coarse
//! entries of one and a search for the other in its row. Each thread has a marker of 4 bytes per coarse row.

use std::ops::Range;

use ziggurat_sparse::matrix::Entries;
use ziggurat_sparse::{Csr, CsrRef, MatrixError};

use super::weights::Weights;
use crate::coarsen::Splitting;
use crate::strength::StrongGraph;

/// The interpolatory sets that make a method.
pub(super) trait InterpolatorySet: Sync {
    /// Whether a neighbour's share for the row itself stays with it.
    const PLUS_I: bool;

    /// Adds to the set, which has the coarse rows that the row depends on already.
    fn extend(&self, row: &mut FineRow, neighbours: &CoarseEntries);
}

/// For every fine row, its entries in coarse columns: ā.
pub(super) struct CoarseEntries {
    /// Column c < coarse is a strong entry in coarse row c. Column coarse + c is a weak one; those come last, and those
    /// that are 0 are left out.
    entries: Csr<f64>,
    coarse: u32,
}

impl CoarseEntries {
    fn new(a: CsrRef<'_, f64>, strong: &StrongGraph, splitting: &Splitting) -> Result<Self, MatrixError> {
        let coarse = splitting.coarse_rows();
        let collect = |weak: &mut Vec<(u32, f64)>, row: usize, entries: &mut Entries<f64>| {
            if splitting.coarse_index(row).is_some() {
                return;
            }
            weak.clear();
            let (columns, values) = a.row(row);
            let diagonal = columns.binary_search(&(row as u32)).map_or(0.0, |place| values[place]);
            let opposed = |value: f64| if (value < 0.0) == (diagonal < 0.0) { 0.0 } else { value };
            let mut strong = strong.row(row).iter().peekable();
            for (&column, &value) in columns.iter().zip(values) {
                let is_strong = strong.next_if_eq(&&column).is_some();
                if let Some(index) = splitting.coarse_index(column as usize) {
                    match (is_strong, opposed(value)) {
                        (true, value) => entries.push(index, value),
                        (false, 0.0) => {}
                        (false, value) => weak.push((coarse as u32 + index, value)),
                    }
                }
            }
            for &(column, value) in weak.iter() {
                entries.push(column, value);
            }
        };
        let entries = Csr::collect(a.row_ptr(), a.all_rows(), 2 * coarse, Vec::new, collect)?;
        Ok(CoarseEntries { entries, coarse: coarse as u32 })
    }

    /// The coarse rows that a fine row depends on; none if it is not here.
    #[inline]
    pub(super) fn strong(&self, row: u32) -> &[u32] {
        if row as usize >= self.entries.rows() {
            return &[];
        }
        let (columns, _) = self.entries.row(row as usize);
        let weak = columns.iter().position(|&column| column >= self.coarse);
        &columns[..weak.unwrap_or(columns.len())]
    }

    /// Coarse row and ā of every entry, strong and weak.
    #[inline]
    fn all(&self, row: u32) -> impl Iterator<Item = (u32, f64)> {
        let (columns, values) = if (row as usize) < self.entries.rows() {
            self.entries.row(row as usize)
        } else {
            (&[][..], &[][..])
        };
        let coarse = self.coarse;
        let index = move |column: u32| if column < coarse { column } else { column - coarse };
        columns.iter().zip(values).map(move |(&column, &value)| (index(column), value))
    }
}

/// One fine row under construction: its neighbours and its interpolatory set.
pub(super) struct FineRow {
    /// The set, and the numerator of each weight.
    set: Weights,
    /// Fine rows that this row depends on, with a_ik.
    fine: Vec<(u32, f64)>,
    /// Coarse rows that it is connected to, but does not depend on.
    weak: Vec<(u32, f64)>,
    /// A neighbour's entries in the set: which member, and ā.
    shares: Vec<(usize, f64)>,
}

impl FineRow {
    fn new(coarse_rows: usize) -> Self {
        FineRow { set: Weights::new(coarse_rows), fine: Vec::new(), weak: Vec::new(), shares: Vec::new() }
    }

    /// The fine rows that this row depends on, with a_ik.
    pub(super) fn fine(&self) -> &[(u32, f64)] {
        &self.fine
    }

    /// Whether a coarse row is in the set.
    #[inline]
    pub(super) fn contains(&self, coarse: u32) -> bool {
        self.set.member(coarse).is_some()
    }

    /// Adds a coarse row to the set.
    #[inline]
    pub(super) fn insert(&mut self, coarse: u32) {
        self.set.add(coarse, 0.0);
    }

    /// Reads row `row` of the matrix: the set has the coarse rows it depends on. Returns a_ii and the weak fine entries.
    fn read(&mut self, a: CsrRef<'_, f64>, row: usize, strong: &[u32], splitting: &Splitting) -> f64 {
        self.set.begin();
        self.fine.clear();
        self.weak.clear();
        let mut diagonal = 0.0;
        let mut strong = strong.iter().peekable();
        let (columns, values) = a.row(row);
        for (&column, &value) in columns.iter().zip(values) {
            let is_strong = strong.next_if_eq(&&column).is_some();
            match (splitting.coarse_index(column as usize), is_strong) {
                (Some(index), true) => self.set.add(index, value),
                (Some(index), false) => self.weak.push((index, value)),
                (None, true) => self.fine.push((column, value)),
                (None, false) => diagonal += value,
            }
        }
        diagonal
    }

    /// Shares the strong fine neighbours out to the set, and what belongs to no member to the diagonal. Returns ã_ii.
    fn collapse<S: InterpolatorySet>(
        &mut self,
        a: CsrRef<'_, f64>,
        row: usize,
        neighbours: &CoarseEntries,
        mut diagonal: f64,
    ) -> f64 {
        for &(coarse, value) in &self.weak {
            match self.set.member(coarse) {
                Some(member) => self.set.add_to(member, value),
                None => diagonal += value,
            }
        }
        for &(neighbour, value) in &self.fine {
            self.shares.clear();
            let mut sum = 0.0;
            for (coarse, share) in neighbours.all(neighbour) {
                if let Some(member) = self.set.member(coarse) {
                    self.shares.push((member, share));
                    sum += share;
                }
            }
            if sum == 0.0 {
                // With "+i" all of the neighbour's share would come back here, too.
                diagonal += value;
                continue;
            }
            let mut own = 0.0;
            if S::PLUS_I {
                let back = a.get(neighbour as usize, row).unwrap_or(0.0);
                // ā has the sign opposed to the neighbour's diagonal, and so has their sum.
                if back * sum > 0.0 {
                    own = back;
                }
            }
            let factor = value / (sum + own);
            diagonal += factor * own;
            for &(member, share) in &self.shares {
                self.set.add_to(member, factor * share);
            }
        }
        diagonal
    }
}

/// Interpolation to the rows `rows` of `a` from the sets of `method`.
pub(super) fn interpolate<S: InterpolatorySet>(
    a: CsrRef<'_, f64>,
    rows: Range<usize>,
    strong: &StrongGraph,
    splitting: &Splitting,
    method: &S,
) -> Result<Csr<f64>, MatrixError> {
    check(a, &rows, strong, splitting)?;
    let neighbours = CoarseEntries::new(a, strong, splitting)?;
    let coarse = splitting.coarse_rows();
    Csr::collect(
        a.row_ptr(),
        rows,
        coarse,
        || FineRow::new(coarse),
        |fine, row, entries| {
            if let Some(index) = splitting.coarse_index(row) {
                entries.push(index, 1.0);
                return;
            }
            let diagonal = fine.read(a, row, strong.row(row), splitting);
            method.extend(fine, &neighbours);
            if fine.set.is_empty() {
                return;
            }
            let diagonal = fine.collapse::<S>(a, row, &neighbours, diagonal);
            let factor = -1.0 / diagonal;
            if factor.is_finite() {
                fine.set.write(factor, entries);
            }
        },
    )
}

/// Refuses a graph or a splitting of another matrix, and rows that the matrix does not have.
pub(super) fn check(
    a: CsrRef<'_, f64>,
    rows: &Range<usize>,
    strong: &StrongGraph,
    splitting: &Splitting,
) -> Result<(), MatrixError> {
    for (what, expected, found) in [
        ("rows of the strong graph", a.rows(), strong.rows()),
        ("columns of the strong graph", a.cols(), strong.cols()),
        ("rows of the splitting", a.cols(), splitting.rows()),
    ] {
        if expected != found {
            return Err(MatrixError::Mismatch { what, expected, found });
        }
    }
    if rows.start > rows.end || rows.end > a.rows() {
        let what = "rows of the matrix, for the range asked for";
        return Err(MatrixError::Mismatch { what, expected: rows.end.max(rows.start), found: a.rows() });
    }
    Ok(())
}

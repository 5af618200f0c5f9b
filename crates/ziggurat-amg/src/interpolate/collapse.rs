//! The common part of classical interpolation formulas: fine neighbours are collapsed onto an
//! interpolatory set.
//!
//! For a fine row i with interpolatory set Ĉ, strong fine neighbours F and weak neighbours W,
//!
//! ```text
//! w_ij = −(a_ij + Σ_{k∈F} a_ik ā_kj / b_ik) / ã_ii,        b_ik = Σ_{l∈Ĉ} ā_kl  (+ ā_ki)
//! ã_ii = a_ii + Σ_{n∈W∖Ĉ} a_in  (+ Σ_{k∈F} a_ik ā_ki / b_ik)
//! ```
//!
//! where ā_kl is a_kl if it differs in sign from a_kk, and 0 otherwise. The terms in
//! parentheses are the "+i" of extended+i: the share of a neighbour that refers to i itself stays
//! with i. A strong fine neighbour with b_ik = 0 is not connected to Ĉ and is treated as weak. So
//! is a neighbour whose row is not available locally (because the halo is not deep enough).
//!
//! Only the entries of a neighbour's row in coarse columns matter, and they are read once for every
//! row that depends on it. They are therefore extracted from the matrix first: [`CoarseEntries`].
//!
//! Cost: one pass over the matrix for the extraction, and for each pair of strongly connected fine
//! rows the coarse entries of one of them. With "+i" and a nonsymmetric matrix, also a search for
//! row i in the row of the neighbour, which takes a third of the total time. Each thread has a
//! marker of 4 bytes per coarse row.

use std::ops::Range;

use ziggurat_sparse::algebra::RowTruncation;
use ziggurat_sparse::matrix::Entries;
use ziggurat_sparse::{Csr, CsrRef, MatrixError, parallel};

use super::weights::Weights;
use super::{InterpolationError, Symmetry, Truncation};
use crate::coarsen::{FINE, Splitting};
use crate::strength::StrongGraph;

/// Rows of up to this many entries are searched by counting, which is branch-free.
const SHORT: usize = 64;

/// The interpolatory sets that define a method.
pub(super) trait InterpolatorySet: Sync {
    /// Whether the share of a neighbour that refers to the row itself stays with that row.
    const PLUS_I: bool;

    /// Whether the set contains all coarse rows that fine neighbours depend on.
    const ALL_NEAR: bool = false;

    /// Extends the set, which already contains the coarse rows that the row depends on.
    fn extend(&self, _row: &mut FineRow, _neighbours: &CoarseEntries) {}
}

/// For every fine row, its entries in coarse columns: ā.
pub(super) struct CoarseEntries {
    /// Column c < coarse is a strong entry in coarse row c. Column coarse + c is a weak one. Weak
    /// entries come last; those that are 0 are omitted.
    entries: Csr<f64>,
    /// The sum of each row, or NaN if it has weak entries.
    sums: Vec<f64>,
    coarse: u32,
}

impl CoarseEntries {
    fn new(a: CsrRef<'_, f64>, strong: &StrongGraph, splitting: &Splitting) -> Result<Self, MatrixError> {
        let coarse = splitting.coarse_rows() as u32;
        let collect = |(): &mut (), row: usize, entries: &mut Entries<f64>| {
            if splitting.coarse_index(row).is_some() {
                return;
            }
            let (columns, values) = a.row(row);
            let diagonal = entry(columns, values, row);
            let opposed = |value: f64| if (value < 0.0) == (diagonal < 0.0) { 0.0 } else { value };
            let index = |place: usize| splitting.index(columns[place] as usize);
            let mut is_strong = in_order(strong.row(row));
            entries.extend_where(columns.len(), |place| {
                let index = index(place);
                (index, opposed(values[place]), is_strong(columns[place]) & (index != FINE))
            });
            if strong.row(row).len() + 1 < columns.len() {
                let mut is_strong = in_order(strong.row(row));
                entries.extend_where(columns.len(), |place| {
                    let (index, value) = (index(place), opposed(values[place]));
                    let keep = !is_strong(columns[place]) & (index != FINE) & (value != 0.0);
                    (coarse.wrapping_add(index), value, keep)
                });
            }
        };
        let entries = Csr::collect(a.row_ptr(), a.all_rows(), 2 * splitting.coarse_rows(), || (), collect)?;
        let sum = |row: usize| {
            let (columns, values) = entries.row(row);
            let all_strong = columns.last().is_none_or(|&last| last < coarse);
            if all_strong { values.iter().sum() } else { f64::NAN }
        };
        let sums = parallel::collect(entries.rows(), sum);
        Ok(CoarseEntries { entries, sums, coarse })
    }

    /// The columns and values of a fine row; empty if the matrix does not have the row.
    #[inline]
    fn row(&self, row: u32) -> (&[u32], &[f64]) {
        if (row as usize) < self.entries.rows() { self.entries.row(row as usize) } else { (&[], &[]) }
    }

    /// The coarse rows that a fine row depends on; empty if the matrix does not have the row.
    #[inline]
    pub(super) fn strong(&self, row: u32) -> &[u32] {
        let (columns, _) = self.row(row);
        let weak = columns.iter().position(|&column| column >= self.coarse);
        &columns[..weak.unwrap_or(columns.len())]
    }

    /// The sum of a fine row's entries, unless some are weak.
    #[inline]
    fn sum_if_all_strong(&self, row: u32) -> Option<f64> {
        let sum = self.sums.get(row as usize).copied().unwrap_or(0.0);
        (!sum.is_nan()).then_some(sum)
    }
}

/// One fine row under construction: its neighbours and its interpolatory set.
pub(super) struct FineRow {
    /// The set, and the numerator of each weight.
    set: Weights,
    /// Coarse rows that this row depends on, with a_ij.
    coarse: Picked,
    /// Fine rows that this row depends on.
    fine: Picked,
    /// Coarse rows that this row is connected to but does not depend on.
    weak: Picked,
    /// The entries of a neighbour in the set: the index of the member, and ā.
    shares: Picked,
    /// Scratch space in which methods collect candidate coarse rows.
    pub(super) wanted: Vec<u32>,
}

impl FineRow {
    fn new(coarse_rows: usize, truncation: RowTruncation) -> Self {
        FineRow {
            set: Weights::new(coarse_rows, truncation),
            coarse: Picked::default(),
            fine: Picked::default(),
            weak: Picked::default(),
            shares: Picked::default(),
            wanted: Vec::new(),
        }
    }

    /// The fine rows that this row depends on, with a_ik.
    pub(super) fn fine(&self) -> &[(u32, f64)] {
        self.fine.items()
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

    /// Reads row `row` of the matrix and initialises the set with the coarse rows that it depends
    /// on. Returns the sum of a_ii and the weak fine entries.
    fn read(&mut self, a: CsrRef<'_, f64>, row: usize, strong: &[u32], splitting: &Splitting) -> f64 {
        let (columns, values) = a.row(row);
        for list in [&mut self.coarse, &mut self.fine, &mut self.weak] {
            list.begin(columns.len());
        }
        let mut diagonal = 0.0;
        let mut is_strong = in_order(strong);
        for (&column, &value) in columns.iter().zip(values) {
            let index = splitting.index(column as usize);
            let (strong, fine) = (is_strong(column), index == FINE);
            self.coarse.push_if(strong & !fine, index, value);
            self.fine.push_if(strong & fine, column, value);
            self.weak.push_if(!strong & !fine, index, value);
            diagonal += if !strong & fine { value } else { 0.0 };
        }
        self.set.begin();
        for &(index, value) in self.coarse.items() {
            self.set.add(index, value);
        }
        diagonal
    }

    /// Adds to the set all coarse rows that fine neighbours depend on. Neighbours without weak
    /// coarse entries are distributed immediately and removed from the list. Returns their
    /// contribution to ã_ii.
    fn extend_to_all_near<S: InterpolatorySet>(
        &mut self,
        matrix: Matrix<'_>,
        row: usize,
        neighbours: &CoarseEntries,
    ) -> f64 {
        let mut diagonal = 0.0;
        let FineRow { set, fine, .. } = self;
        let mut left = 0;
        for place in 0..fine.len {
            let (neighbour, value) = fine.items[place];
            let (columns, shares) = neighbours.row(neighbour);
            match neighbours.sum_if_all_strong(neighbour) {
                None => {
                    let strong = columns.iter().take_while(|&&column| column < neighbours.coarse);
                    strong.for_each(|&coarse| set.add(coarse, 0.0));
                    fine.items[left] = (neighbour, value);
                    left += 1;
                }
                Some(0.0) => {
                    columns.iter().for_each(|&coarse| set.add(coarse, 0.0));
                    diagonal += value;
                }
                Some(sum) => {
                    let own = matrix.own_share::<S>(row, neighbour, value, sum);
                    let factor = value / (sum + own);
                    diagonal += factor * own;
                    for (&coarse, &share) in columns.iter().zip(shares) {
                        set.add(coarse, factor * share);
                    }
                }
            }
        }
        fine.len = left;
        diagonal
    }

    /// Distributes the strong fine neighbours over the set. Returns the sum of what they and
    /// the weak entries add to ã_ii.
    fn collapse<S: InterpolatorySet>(
        &mut self,
        matrix: Matrix<'_>,
        row: usize,
        neighbours: &CoarseEntries,
    ) -> f64 {
        let mut diagonal = 0.0;
        let FineRow { set, fine, weak, shares, .. } = self;
        for &(coarse, value) in weak.items() {
            match set.member(coarse) {
                Some(member) => set.add_to(member, value),
                None => diagonal += value,
            }
        }
        for &(neighbour, value) in fine.items() {
            let (columns, values) = neighbours.row(neighbour);
            let mut sum = 0.0;
            shares.begin(columns.len());
            for (&column, &share) in columns.iter().zip(values) {
                let coarse = if column < neighbours.coarse { column } else { column - neighbours.coarse };
                let (member, is_member) = set.find(coarse);
                shares.push_if(is_member, member, share);
                sum += if is_member { share } else { 0.0 };
            }
            if sum == 0.0 {
                diagonal += value;
                continue;
            }
            let own = matrix.own_share::<S>(row, neighbour, value, sum);
            let factor = value / (sum + own);
            diagonal += factor * own;
            for &(member, share) in shares.items() {
                set.add_to(member as usize, factor * share);
            }
        }
        diagonal
    }
}

/// A selection of the neighbours of a row, with their entries.
#[derive(Default)]
pub(super) struct Picked {
    /// Only the first `len` items are valid; the capacity suffices for the whole row.
    items: Vec<(u32, f64)>,
    len: usize,
}

impl Picked {
    /// Starts a row with at most this many neighbours.
    pub(super) fn begin(&mut self, most: usize) {
        self.len = 0;
        if self.items.len() <= most {
            self.items.resize(most + 1, (0, 0.0));
        }
    }

    /// Adds a neighbour if the condition holds. The condition cannot be predicted, so this is
    /// branch-free.
    #[inline]
    pub(super) fn push_if(&mut self, condition: bool, neighbour: u32, value: f64) {
        self.items[self.len] = (neighbour, value);
        self.len += usize::from(condition);
    }

    pub(super) fn items(&self) -> &[(u32, f64)] {
        &self.items[..self.len]
    }
}

/// Returns a predicate for membership in an increasing list. It must be called with increasing
/// columns, which include all columns of the list.
#[inline]
pub(super) fn in_order(list: &[u32]) -> impl FnMut(u32) -> bool {
    let mut next = 0;
    move |column| {
        let found = list.get(next) == Some(&column);
        next += usize::from(found);
        found
    }
}

/// The entry of a row in a column; 0 if there is none.
#[inline]
pub(super) fn entry(columns: &[u32], values: &[f64], column: usize) -> f64 {
    let column = column as u32;
    let place = if columns.len() <= SHORT {
        columns.iter().map(|&other| u32::from(other < column)).sum::<u32>() as usize
    } else {
        columns.partition_point(|&other| other < column)
    };
    if columns.get(place) == Some(&column) { values[place] } else { 0.0 }
}

/// A matrix, and whether its symmetry may be used.
#[derive(Clone, Copy)]
struct Matrix<'a> {
    a: CsrRef<'a, f64>,
    symmetry: Symmetry,
}

impl Matrix<'_> {
    /// ā_ki, where a_ik is `value`: the share of neighbour k, whose ā in the set sum to `sum`, that
    /// refers to row i itself. It is not called with a sum of 0: then all of a_ik would go to ã_ii
    /// with "+i", as it does without.
    #[inline]
    fn own_share<S: InterpolatorySet>(self, row: usize, neighbour: u32, value: f64, sum: f64) -> f64 {
        if !S::PLUS_I {
            return 0.0;
        }
        let back = match self.symmetry {
            Symmetry::Symmetric => value,
            Symmetry::General => {
                let (columns, values) = self.a.row(neighbour as usize);
                entry(columns, values, row)
            }
        };
        // ā has the sign opposite to the diagonal of the neighbour, and so does the sum.
        if back * sum > 0.0 { back } else { 0.0 }
    }
}

/// An interpolation method applied to a matrix. It computes interpolation row by row.
pub(super) struct Rows<'a, S> {
    matrix: Matrix<'a>,
    strong: &'a StrongGraph,
    splitting: &'a Splitting,
    neighbours: CoarseEntries,
    method: &'a S,
}

impl<'a, S: InterpolatorySet> Rows<'a, S> {
    /// Extracts the entries in coarse columns from the matrix. The arguments must match; see
    /// [`check`].
    pub(super) fn new(
        a: CsrRef<'a, f64>,
        strong: &'a StrongGraph,
        splitting: &'a Splitting,
        symmetry: Symmetry,
        method: &'a S,
    ) -> Result<Self, MatrixError> {
        let neighbours = CoarseEntries::new(a, strong, splitting)?;
        Ok(Rows { matrix: Matrix { a, symmetry }, strong, splitting, neighbours, method })
    }

    /// The scratch space that a thread needs to compute rows.
    pub(super) fn scratch(&self, truncation: &RowTruncation) -> FineRow {
        FineRow::new(self.splitting.coarse_rows(), truncation.clone())
    }

    /// The truncated interpolation of a fine row. Empty if the row cannot be interpolated.
    pub(super) fn of_fine<'f>(&self, fine: &'f mut FineRow, row: usize) -> (&'f [u32], &'f [f64]) {
        let mut diagonal = fine.read(self.matrix.a, row, self.strong.row(row), self.splitting);
        if S::ALL_NEAR {
            diagonal += fine.extend_to_all_near::<S>(self.matrix, row, &self.neighbours);
        } else {
            self.method.extend(fine, &self.neighbours);
        }
        if fine.set.is_empty() {
            return (&[], &[]);
        }
        diagonal += fine.collapse::<S>(self.matrix, row, &self.neighbours);
        let factor = -1.0 / diagonal;
        if factor.is_finite() { fine.set.truncated(factor) } else { (&[], &[]) }
    }

    /// Writes the interpolation of a row; a coarse row is a row of the identity.
    pub(super) fn write(&self, fine: &mut FineRow, row: usize, entries: &mut Entries<f64>) {
        match self.splitting.coarse_index(row) {
            Some(index) => entries.push(index, 1.0),
            None => {
                let (columns, values) = self.of_fine(fine, row);
                entries.extend(columns, values);
            }
        }
    }
}

/// Builds interpolation to the rows `rows` of `a` from the interpolatory sets of `method`.
pub(super) fn interpolate<S: InterpolatorySet>(
    a: CsrRef<'_, f64>,
    rows: Range<usize>,
    strong: &StrongGraph,
    splitting: &Splitting,
    symmetry: Symmetry,
    truncation: Truncation,
    method: &S,
) -> Result<Csr<f64>, InterpolationError> {
    let truncation = RowTruncation::new(truncation)?;
    check(a, &rows, strong, splitting)?;
    let of = Rows::new(a, strong, splitting, symmetry, method)?;
    let scratch = || of.scratch(&truncation);
    let write = |fine: &mut FineRow, row: usize, entries: &mut Entries<f64>| of.write(fine, row, entries);
    Ok(Csr::collect(a.row_ptr(), rows, splitting.coarse_rows(), scratch, write)?)
}

/// Checks that graph and splitting match the matrix, and that the matrix has the requested rows.
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
        let what = "matrix rows for the requested range";
        return Err(MatrixError::Mismatch { what, expected: rows.end.max(rows.start), found: a.rows() });
    }
    Ok(())
}

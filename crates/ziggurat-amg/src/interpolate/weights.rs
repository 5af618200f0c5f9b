//! The weights of one row of interpolation under construction: a set of coarse rows, with a sum for
//! each.
//!
//! A marker over all coarse rows stores the index of each in the set. Indices keep increasing from
//! row to row, so that members of earlier sets are recognised as such and nothing is cleared
//! between rows. Whether a coarse row is already in the set cannot be predicted, so insertion is
//! branch-free.

use ziggurat_sparse::algebra::RowTruncation;
use ziggurat_sparse::matrix::Entries;

use crate::rank::ranks;

/// A set of coarse rows and their sums, reused for successive rows.
pub(super) struct Weights {
    /// `first + k` for the k-th member of the set; below `first` for rows that are not in it.
    marker: Vec<u32>,
    first: u32,
    /// Number of members.
    len: usize,
    /// The members. One entry longer than any set, because a coarse row is written after the last
    /// member before it is known to be new.
    columns: Vec<u32>,
    /// Their sums; zero after the last member.
    sums: Vec<f64>,
    ranks: Vec<u32>,
    /// The row in the form in which it is written.
    row_columns: Vec<u32>,
    row_values: Vec<f64>,
    truncation: RowTruncation,
}

impl Weights {
    pub(super) fn new(coarse_rows: usize, truncation: RowTruncation) -> Self {
        Weights {
            marker: vec![0; coarse_rows],
            first: 1,
            len: 0,
            columns: vec![0; coarse_rows + 1],
            sums: vec![0.0; coarse_rows + 1],
            ranks: Vec::new(),
            row_columns: Vec::new(),
            row_values: Vec::new(),
            truncation,
        }
    }

    /// Starts a row with the empty set.
    pub(super) fn begin(&mut self) {
        self.first += self.len as u32;
        if self.first as usize > u32::MAX as usize - self.marker.len() {
            self.marker.fill(0);
            self.first = 1;
        }
        self.sums[..self.len].fill(0.0);
        self.len = 0;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The index of a coarse row in the set.
    #[inline]
    pub(super) fn member(&self, coarse: u32) -> Option<usize> {
        let (member, is_member) = self.find(coarse);
        is_member.then_some(member as usize)
    }

    /// The index of a coarse row in the set, and whether it is a member; if it is not, the index is
    /// meaningless.
    #[inline]
    pub(super) fn find(&self, coarse: u32) -> (u32, bool) {
        let mark = self.marker[coarse as usize];
        (mark.wrapping_sub(self.first), mark >= self.first)
    }

    /// Adds to the sum of a member.
    #[inline]
    pub(super) fn add_to(&mut self, member: usize, value: f64) {
        self.sums[member] += value;
    }

    /// Adds to the sum of a coarse row, and inserts it into the set if it is new.
    #[inline]
    pub(super) fn add(&mut self, coarse: u32, value: f64) {
        let mark = &mut self.marker[coarse as usize];
        let next = self.first + self.len as u32;
        let is_new = *mark < self.first;
        *mark = if is_new { next } else { *mark };
        self.sums[(*mark - self.first) as usize] += value;
        self.columns[self.len] = coarse;
        self.len += usize::from(is_new);
    }

    /// Writes `factor` times the sums, truncated, with increasing columns.
    pub(super) fn write(&mut self, factor: f64, entries: &mut Entries<f64>) {
        let (columns, values) = self.truncated(factor);
        entries.extend(columns, values);
    }

    /// `factor` times the sums, truncated, with increasing columns.
    pub(super) fn truncated(&mut self, factor: f64) -> (&[u32], &[f64]) {
        let (columns, sums) = (&self.columns[..self.len], &self.sums[..self.len]);
        ranks(columns, &mut self.ranks);
        self.row_columns.resize(self.len, 0);
        self.row_values.resize(self.len, 0.0);
        for ((&rank, &column), &sum) in self.ranks.iter().zip(columns).zip(sums) {
            self.row_columns[rank as usize] = column;
            self.row_values[rank as usize] = factor * sum;
        }
        let kept = self.truncation.apply(&mut self.row_columns, &mut self.row_values);
        (&self.row_columns[..kept], &self.row_values[..kept])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ziggurat_sparse::algebra::Truncation;

    #[test]
    fn earlier_rows_are_forgotten_even_when_numbers_run_out() {
        let keep_all = RowTruncation::new(Truncation::default()).unwrap();
        let mut weights = Weights::new(10, keep_all);
        weights.begin();
        weights.add(7, 1.0);
        weights.add(3, 2.0);
        weights.add(7, 4.0);
        assert_eq!((weights.member(7), weights.member(3), weights.member(1)), (Some(0), Some(1), None));
        assert_eq!(weights.sums[..3], [5.0, 2.0, 0.0]);
        weights.begin();
        assert!(weights.is_empty() && weights.member(7).is_none() && weights.sums[0] == 0.0);
        weights.first = u32::MAX - 5;
        weights.add(9, 1.0);
        weights.begin();
        assert_eq!((weights.first, weights.member(9)), (1, None));
        // The set can contain all coarse rows at once.
        (0..10).for_each(|coarse| weights.add(coarse, 1.0));
        assert_eq!(weights.len, 10);
    }
}

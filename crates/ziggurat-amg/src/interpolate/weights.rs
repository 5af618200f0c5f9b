//! The weights of one row of interpolation under construction: a set of coarse rows, and a sum for each.
//!
//! A marker over all coarse rows tells which member of the set each is. Members are numbered on and on from row to row, so
//! that those of earlier rows are recognised as such, and nothing is cleared between rows.

use ziggurat_sparse::matrix::Entries;

/// A set of coarse rows and their sums, to be used for row after row.
pub(super) struct Weights {
    /// `first + k` for the k-th member of the set; below `first` for what is not in it.
    marker: Vec<u32>,
    first: u32,
    columns: Vec<u32>,
    sums: Vec<f64>,
    /// Column and member in one number, to sort by.
    order: Vec<u64>,
}

impl Weights {
    pub(super) fn new(coarse_rows: usize) -> Self {
        Weights {
            marker: vec![0; coarse_rows],
            first: 1,
            columns: Vec::new(),
            sums: Vec::new(),
            order: Vec::new(),
        }
    }

    /// Begins a row with the empty set.
    pub(super) fn begin(&mut self) {
        self.first += self.columns.len() as u32;
        if self.first as usize > u32::MAX as usize - self.marker.len() {
            self.marker.fill(0);
            self.first = 1;
        }
        self.columns.clear();
        self.sums.clear();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    /// Which member of the set a coarse row is.
    #[inline]
    pub(super) fn member(&self, coarse: u32) -> Option<usize> {
        let mark = self.marker[coarse as usize];
        (mark >= self.first).then(|| (mark - self.first) as usize)
    }

    /// Adds to the sum of a member.
    #[inline]
    pub(super) fn add_to(&mut self, member: usize, value: f64) {
        self.sums[member] += value;
    }

    /// Adds to the sum of a coarse row, which becomes a member if it is not.
    #[inline]
    pub(super) fn add(&mut self, coarse: u32, value: f64) {
        match self.member(coarse) {
            Some(member) => self.add_to(member, value),
            None => {
                self.marker[coarse as usize] = self.first + self.columns.len() as u32;
                self.columns.push(coarse);
                self.sums.push(value);
            }
        }
    }

    /// Writes `factor` times the sums, columns increasing.
    pub(super) fn write(&mut self, factor: f64, entries: &mut Entries<f64>) {
        self.order.clear();
        let key = |(member, &column): (usize, &u32)| u64::from(column) << 32 | member as u64;
        self.order.extend(self.columns.iter().enumerate().map(key));
        self.order.sort_unstable();
        for &key in &self.order {
            entries.push((key >> 32) as u32, factor * self.sums[key as u32 as usize]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn earlier_rows_are_forgotten_even_when_numbers_run_out() {
        let mut weights = Weights::new(10);
        weights.begin();
        weights.add(7, 1.0);
        weights.add(3, 2.0);
        weights.add(7, 4.0);
        assert_eq!((weights.member(7), weights.member(3), weights.member(1)), (Some(0), Some(1), None));
        weights.begin();
        assert!(weights.is_empty() && weights.member(7).is_none());
        weights.first = u32::MAX - 5;
        weights.add(9, 1.0);
        weights.begin();
        assert_eq!((weights.first, weights.member(9)), (1, None));
    }
}

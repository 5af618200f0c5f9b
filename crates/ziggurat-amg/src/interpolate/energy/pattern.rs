//! Which aggregates every row of interpolation uses, also for rows of other processes, whose values
//! are fetched for products.

use std::ops::Range;

use ziggurat_sparse::Csr;

use super::LocalTentative;
use crate::coarsen::NO_ROOT;
use crate::halo::Processes;

/// The aggregates that rows interpolate from.
pub(super) struct Pattern {
    /// The aggregates of every local row are `aggregates[starts[row]..starts[row + 1]]`, in
    /// increasing order. Other processes' rows lack aggregates that no owned row interpolates from.
    pub(super) starts: Vec<usize>,
    aggregates: Vec<u32>,
    /// The number of that set. Rows that follow each other and have the same set share one, and
    /// numbers increase with rows.
    pub(super) set_of: Vec<u32>,
    /// Where the values of other processes' rows are in a message: for every local row, the
    /// positions of its aggregates among all of that row. Empty on one process.
    positions: Vec<u32>,
    /// The largest number of aggregates of any row of any process.
    width: usize,
}

impl Pattern {
    pub(super) fn new<H: Processes>(p: &Csr<f64>, k: usize, halo: &H, tentative: &LocalTentative) -> Self {
        let own_starts: Vec<usize> = p.row_ptr().iter().map(|start| start / k).collect();
        let own: Vec<u32> = p.columns().iter().step_by(k).map(|column| column / k as u32).collect();
        if halo.is_whole() {
            let (set_of, positions) = (Vec::new(), Vec::new());
            return Pattern { starts: own_starts, aggregates: own, set_of, positions, width: 0 }.with_sets();
        }
        let longest = own_starts.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0);
        let width = halo.largest(longest.max(1) as f64) as usize;
        let mut ids = vec![NO_ROOT; halo.local() * width];
        let of_own = ids[halo.owned().start * width..].chunks_exact_mut(width);
        for (ids, ends) in of_own.zip(own_starts.windows(2)) {
            let id = |&aggregate: &u32| tentative.coarse.ids[aggregate as usize * k];
            ids.iter_mut().zip(&own[ends[0]..ends[1]]).for_each(|(to, aggregate)| *to = id(aggregate));
        }
        halo.exchange_rows(&mut ids, width);
        let known: Vec<u64> = tentative.coarse.ids.iter().copied().step_by(k).collect();
        let (starts, aggregates, set_of, positions) = (vec![0], Vec::new(), Vec::new(), Vec::new());
        let mut pattern = Pattern { starts, aggregates, set_of, positions, width };
        for row in 0..halo.local() {
            let ids = ids[row * width..(row + 1) * width].iter().take_while(|id| **id != NO_ROOT);
            for (position, id) in ids.enumerate() {
                if let Ok(aggregate) = known.binary_search(id) {
                    pattern.aggregates.push(aggregate as u32);
                    pattern.positions.push(position as u32);
                }
            }
            pattern.starts.push(pattern.aggregates.len());
        }
        pattern.with_sets()
    }

    /// Numbers the sets of aggregates.
    fn with_sets(mut self) -> Self {
        let mut number = 0;
        for row in 0..self.starts.len() - 1 {
            number += u32::from(row > 0 && self.of(row) != self.of(row - 1));
            self.set_of.push(number);
        }
        self
    }

    /// The number of sets of some rows.
    pub(super) fn sets_of(&self, rows: Range<usize>) -> usize {
        let of = &self.set_of[rows];
        of.last().zip(of.first()).map_or(0, |(last, first)| (last - first) as usize + 1)
    }

    /// The aggregates of a local row.
    pub(super) fn of(&self, row: usize) -> &[u32] {
        &self.aggregates[self.starts[row]..self.starts[row + 1]]
    }

    /// The values of all local rows, from the owned rows; `None` if these are all. Collective.
    pub(super) fn fetched<H: Processes>(&self, own: &[f64], k: usize, halo: &H) -> Option<Vec<f64>> {
        if halo.is_whole() {
            return None;
        }
        // Rows of a message have the same length.
        let width = self.width * k;
        let mut message = vec![0.0; halo.local() * width];
        let mut rest = own;
        for row in halo.owned() {
            let of_row;
            (of_row, rest) = rest.split_at(self.of(row).len() * k);
            message[row * width..][..of_row.len()].copy_from_slice(of_row);
        }
        halo.exchange_rows(&mut message, width);
        let mut values = Vec::with_capacity(self.aggregates.len() * k);
        for row in 0..halo.local() {
            let message = &message[row * width..(row + 1) * width];
            for &position in &self.positions[self.starts[row]..self.starts[row + 1]] {
                values.extend_from_slice(&message[position as usize * k..][..k]);
            }
        }
        Some(values)
    }
}

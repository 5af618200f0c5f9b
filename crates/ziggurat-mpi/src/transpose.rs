//! The transpose of a distributed matrix: own rows are transposed by the kernel of one process, and
//! entries in rows of other ranks are sent there.
//!
//! Ranks own rows in the order of ids. So a row of the result consists of the entries from lower
//! ranks, own entries, and entries from higher ranks, in this order, and nothing is sorted. Cost: a
//! transpose of own rows, one round of messages, and a pass over the result.

use ziggurat_amg::halo::Halo;
use ziggurat_sparse::algebra::transpose;

use crate::error::DistributedError;
use crate::matrix::DistributedCsr;
use crate::rows::{GlobalRows, NamedRows, Numbering};

impl DistributedCsr {
    /// The transpose, whose rows are distributed like the columns of this matrix; `block` is the
    /// number of unknowns per node of its columns. Collective.
    pub(crate) fn transposed(&self, block: usize) -> Result<Self, DistributedError> {
        let turned = transpose(self.view(), self.own.clone());
        let halo = self.around.rows();
        let own = self.rows.own();
        // Entries in rows of other ranks are sent to their owners.
        let mut messages: Vec<(usize, Vec<u64>)> = Vec::new();
        for (peer, elements) in self.around.halo_by_owner() {
            let mut words = Vec::new();
            for local in elements {
                let (columns, values) = turned.row(local);
                let ids = columns.iter().map(|&column| own.start + u64::from(column));
                GlobalRows::write(halo.global_id(local), ids, values, &mut words);
            }
            messages.push((peer, words));
        }
        let received = self.comm().deliver(messages);
        let read = |words: &[u64]| {
            let mut rows = GlobalRows::new();
            rows.read(words);
            rows
        };
        // Columns are in the order of ranks: from lower ranks, own, from higher ranks.
        let rank = self.comm().rank();
        let (lower, higher): (Vec<_>, Vec<_>) = received.into_iter().partition(|(from, _)| *from < rank);
        let lower: Vec<GlobalRows> = lower.iter().map(|(_, words)| read(words)).collect();
        let higher: Vec<GlobalRows> = higher.iter().map(|(_, words)| read(words)).collect();
        let others = lower.iter().chain(&higher).flat_map(|rows| rows.columns.iter().copied());
        let numbering = Numbering::new(&own, others);
        let mut next = vec![0; lower.len() + higher.len()];
        let count = halo.owned().len();
        let (mut row_ptr, mut columns, mut values) = (
            Vec::with_capacity(count + 1),
            Vec::with_capacity(turned.nnz()),
            Vec::with_capacity(turned.nnz()),
        );
        row_ptr.push(0);
        for (local, id) in halo.owned().zip(self.cols.own()) {
            let add = |rows: &GlobalRows, next: &mut usize, columns: &mut Vec<u32>, values: &mut Vec<f64>| {
                if rows.ids.get(*next) == Some(&id) {
                    let (row_columns, row_values) = rows.row(*next);
                    columns.extend(row_columns.iter().map(|&id| numbering.number(id)));
                    values.extend_from_slice(row_values);
                    *next += 1;
                }
            };
            let (next_lower, next_higher) = next.split_at_mut(lower.len());
            lower.iter().zip(next_lower).for_each(|(rows, next)| add(rows, next, &mut columns, &mut values));
            let (row_columns, row_values) = turned.row(local);
            columns.extend(row_columns.iter().map(|column| column + numbering.below as u32));
            values.extend_from_slice(row_values);
            higher
                .iter()
                .zip(next_higher)
                .for_each(|(rows, next)| add(rows, next, &mut columns, &mut values));
            row_ptr.push(columns.len());
        }
        let named = NamedRows { ids: numbering.ids, row_ptr, columns, values };
        Self::rectangular(self.comm(), self.cols.clone(), self.rows.clone(), block, named)
    }
}

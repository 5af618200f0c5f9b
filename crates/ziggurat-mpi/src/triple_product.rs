//! The triple product of distributed matrices, with the same sums as in one process.
//!
//! ```text
//! C[I, :] = Σ_i R[I, i] Σ_j A[i, j] P[j, :]        in the order of the global ids of i and j
//! ```
//!
//! A rank fetches the rows of A that its rows of R refer to, then the rows of P that these rows of
//! A refer to, and puts both among its own rows in the order of their ids. The kernel of one
//! process does the rest, by blocks of nodes or without storing A·P where it can
//! (`ziggurat_sparse::algebra`). The price is that rows of A·P at the border are computed on every
//! rank that needs them; exchanging them instead would take one round of messages more.
//!
//! Cost: the product, a copy of A and P, and the fetched rows.

use ziggurat_sparse::Csr;
use ziggurat_sparse::algebra::TripleProductPlan;

use crate::error::{DistributedError, agree};
use crate::matrix::DistributedCsr;
use crate::rows::{GlobalRows, NamedRows, Numbering, between};

/// Own rows of R·A·P. Collective.
pub(crate) fn triple_product(
    r: &DistributedCsr,
    a: &DistributedCsr,
    p: &DistributedCsr,
) -> Result<NamedRows, DistributedError> {
    let (fine_block, coarse_block) = (r.block(), p.block());
    let product = |a: &Csr<f64>, p: &Csr<f64>| {
        let (r, rows) = (r.view(), r.own.clone());
        TripleProductPlan::with_blocked_product(r, rows, a.view(), p.view(), fine_block, coarse_block)
    };
    let comm = a.comm();
    let (ids, made) = if comm.size() == 1 {
        (p.local_ids(), product(&a.local, &p.local))
    } else {
        let fetched = a.fetch(&r.around.others_rows());
        let (fine, a_rows) = a.among(&fetched)?;
        let others: Vec<u64> = fine.ids.iter().copied().filter(|id| !a.own_rows().contains(id)).collect();
        let fetched = p.fetch(&others);
        let (coarse, p_rows) = p.among(&fetched)?;
        (coarse.ids, product(&a_rows, &p_rows))
    };
    let (_, made) = agree(&**comm, made)?;
    let (row_ptr, columns, values) = made.into_parts();
    Ok(NamedRows { ids, row_ptr, columns, values })
}

impl DistributedCsr {
    /// Own rows among rows of other ranks, in the order of their ids, and the numbering of their
    /// columns, which holds whole nodes. Collective.
    fn among(&self, others: &GlobalRows) -> Result<(Numbering, Csr<f64>), DistributedError> {
        let own = self.cols.own();
        let columns = self.others(Numbering::new(&own, others.columns.iter().copied()).ids);
        let numbering = Numbering::new(&own, self.around.others_rows().into_iter().chain(columns));
        let table: Vec<u32> = self.local_ids().iter().map(|&id| numbering.number(id)).collect();
        let below = others.ids.partition_point(|&id| id < self.own_rows().start);
        let row = |place: usize| Some(others.row(place));
        let made = between(
            (self.view(), &self.own, &table),
            ((0..below).map(row), (below..others.ids.len()).map(row)),
            numbering.ids.len(),
            |id| numbering.number(id),
        );
        Ok((numbering, agree(&**self.comm(), made)?))
    }
}

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
use crate::rows::{NamedRows, Numbering};

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
        let (fine, a_rows) = a.with_fetched(&r.around.others_rows())?;
        let others: Vec<u64> = fine.ids.iter().copied().filter(|id| !a.own_rows().contains(id)).collect();
        let (coarse, p_rows) = p.with_fetched(&others)?;
        (coarse.ids, product(&a_rows, &p_rows))
    };
    let (_, made) = agree(&**comm, made)?;
    let (row_ptr, columns, values) = made.into_parts();
    Ok(NamedRows { ids, row_ptr, columns, values })
}

impl DistributedCsr {
    /// Own rows among the rows of other ranks with the given increasing `ids`, and the numbering of
    /// their columns, which holds whole nodes. Collective.
    fn with_fetched(&self, ids: &[u64]) -> Result<(Numbering, Csr<f64>), DistributedError> {
        let fetched = self.fetch(ids);
        let columns = self.others(fetched.columns.iter().copied());
        let columns = self.around.others_rows().into_iter().chain(columns);
        let numbering = Numbering::new(&self.cols.own(), columns);
        let rows = self.among(&fetched, &self.own_rows(), &numbering)?;
        Ok((numbering, rows))
    }
}

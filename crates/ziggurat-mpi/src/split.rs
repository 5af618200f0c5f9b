//! Splits rows in the order of global ids, as setup uses them, into own and remote columns, as
//! products use them.

use std::sync::Arc;

use ziggurat_amg::halo::Halo;
use ziggurat_sparse::Csr;
use ziggurat_sparse::device::Remote;

use crate::device::HaloOf;
use crate::error::DistributedError;
use crate::matrix::DistributedCsr;

/// A rank's rows of a matrix, split into own and remote columns.
#[derive(Clone, Debug)]
pub(crate) struct Split {
    pub own: Arc<Csr<f64>>,
    pub remote: Remote<f64, HaloOf>,
}

impl Split {
    pub(crate) fn of(a: DistributedCsr) -> Result<Self, DistributedError> {
        if a.around.halo_rows() == 0 && a.own.len() == a.local.rows() {
            let matrix = Csr::try_new(0, 0, vec![0], Vec::new(), Vec::new())?;
            let remote = Remote { rows: Vec::new(), matrix, halo: HaloOf(a.around) };
            return Ok(Split { own: Arc::new(a.local), remote });
        }
        let columns = a.around.rows().owned();
        let (count, halo_rows) = (a.own.len(), a.around.halo_rows());
        let mut own =
            (Vec::with_capacity(count + 1), Vec::with_capacity(a.own_nnz()), Vec::with_capacity(a.own_nnz()));
        let mut rest = (vec![0], Vec::new(), Vec::new());
        let mut border = Vec::new();
        own.0.push(0);
        for (place, row) in a.own.clone().enumerate() {
            let (row_columns, row_values) = a.local.row(row);
            // Halo columns are before and after the own ones.
            let begin = row_columns.partition_point(|&column| (column as usize) < columns.start);
            let end = row_columns.partition_point(|&column| (column as usize) < columns.end);
            own.1.extend(row_columns[begin..end].iter().map(|&column| column - columns.start as u32));
            own.2.extend_from_slice(&row_values[begin..end]);
            own.0.push(own.1.len());
            if begin > 0 || end < row_columns.len() {
                rest.1.extend_from_slice(&row_columns[..begin]);
                rest.1.extend(row_columns[end..].iter().map(|&column| column - columns.len() as u32));
                rest.2.extend_from_slice(&row_values[..begin]);
                rest.2.extend_from_slice(&row_values[end..]);
                rest.0.push(rest.1.len());
                border.push(place as u32);
            }
        }
        let own = Csr::try_new(count, columns.len(), own.0, own.1, own.2)?;
        let matrix = Csr::try_new(border.len(), halo_rows, rest.0, rest.1, rest.2)?;
        let halo = HaloOf(a.around.clone());
        Ok(Split { own: Arc::new(own), remote: Remote { rows: border, matrix, halo } })
    }
}

//! The product of two distributed matrices, row by row, with the same sums as in one process.
//!
//! ```text
//! C[i, :] = Σ_j A[i, j] B[j, :]        in the order of the global ids of j
//! ```
//!
//! Rows of A with own columns only need no communication: they are multiplied by own rows of B in
//! place. The other rows of A, the border, need rows of B from other ranks. These are fetched and
//! merged with own rows in the order of their ids, so that every sum runs as in one process. Cost:
//! the product, a copy of A, and the fetched rows.

use std::borrow::Cow;
use std::ops::Range;

use rayon::prelude::*;
use ziggurat_amg::halo::Halo;
use ziggurat_sparse::algebra::product;
use ziggurat_sparse::{Csr, CsrRef, MatrixError};

use crate::error::{DistributedError, agree};
use crate::matrix::DistributedCsr;
use crate::partition::Partition;
use crate::rows::{GlobalRows, NamedRows, Numbering, fetch};

/// Own rows of the right factor of a product.
pub(crate) struct Factor<'a> {
    /// The distribution of its rows.
    rows: &'a Partition,
    /// The ids of this rank's own columns.
    own_columns: Range<u64>,
    matrix: CsrRef<'a, f64>,
    /// The global ids of its columns, in increasing order.
    ids: Cow<'a, [u64]>,
}

impl DistributedCsr {
    /// The matrix as a right factor. Not for square matrices, whose local rows include those of
    /// other ranks.
    pub(crate) fn factor(&self) -> Factor<'_> {
        debug_assert_eq!(self.own, 0..self.local.rows());
        let (rows, matrix) = (&*self.rows, self.view());
        Factor { rows, own_columns: self.cols.own(), matrix, ids: Cow::Owned(self.local_ids()) }
    }
}

impl<'a> Factor<'a> {
    /// The own rows of an earlier product as a right factor.
    pub(crate) fn of(rows: &'a Partition, cols: &Partition, matrix: &'a Csr<f64>, ids: &'a [u64]) -> Self {
        Factor { rows, own_columns: cols.own(), matrix: matrix.view(), ids: Cow::Borrowed(ids) }
    }
}

/// Own rows of `left` times `right`. The rows of `right` are distributed like the columns of
/// `left`. Collective.
pub(crate) fn times(left: &DistributedCsr, right: &Factor<'_>) -> Result<NamedRows, DistributedError> {
    let comm = left.comm();
    if comm.size() == 1 {
        let made = product(left.view(), left.own.clone(), right.matrix)?;
        let (row_ptr, columns, values) = made.into_parts();
        return Ok(NamedRows { ids: right.ids.to_vec(), row_ptr, columns, values });
    }
    let first = right.rows.own().start;
    let fetched = fetch(&**comm, right.rows, &left.around.others_rows(), |id, words| {
        let (columns, values) = right.matrix.row((id - first) as usize);
        GlobalRows::write(id, columns.iter().map(|&column| right.ids[column as usize]), values, words);
    });
    let numbering = Numbering::new(&right.own_columns, right.ids.iter().chain(&fetched.columns).copied());
    let table: Vec<u32> = right.ids.par_iter().map(|&id| numbering.number(id)).collect();
    let made = interior(left, right).and_then(|inside| {
        let border = border(left, right, &fetched, &numbering, &table)?;
        Ok(joined(left, inside, &border, &table))
    });
    let (row_ptr, columns, values) = agree(&**comm, made)?;
    Ok(NamedRows { ids: numbering.ids, row_ptr, columns, values })
}

/// Whether a row has remote columns.
fn is_border(columns: &[u32], owned: &Range<usize>) -> bool {
    let outside = |column: Option<&u32>| column.is_some_and(|&column| !owned.contains(&(column as usize)));
    outside(columns.first()) || outside(columns.last())
}

/// The rows without remote columns, times own rows; border rows are empty.
fn interior(left: &DistributedCsr, right: &Factor<'_>) -> Result<Csr<f64>, MatrixError> {
    let (owned, local) = (left.around.rows().owned(), &left.local);
    let own = Csr::build(
        left.own.clone(),
        owned.len(),
        || (),
        |(), row| if is_border(local.row(row).0, &owned) { 0 } else { local.row(row).0.len() },
        |(), row, columns, values| {
            let (from_columns, from_values) = local.row(row);
            if !columns.is_empty() {
                let shifted = from_columns.iter().map(|&column| column - owned.start as u32);
                columns.iter_mut().zip(shifted).for_each(|(to, column)| *to = column);
                values.copy_from_slice(from_values);
            }
        },
    )?;
    product(own.view(), own.all_rows(), right.matrix)
}

/// The border rows, times own and fetched rows.
fn border(
    left: &DistributedCsr,
    right: &Factor<'_>,
    fetched: &GlobalRows,
    numbering: &Numbering,
    table: &[u32],
) -> Result<Csr<f64>, MatrixError> {
    let owned = left.around.rows().owned();
    let rows = || left.own.clone().filter(|&row| is_border(left.local.row(row).0, &owned));
    let mut used: Vec<u32> = rows().flat_map(|row| left.local.row(row).0.iter().copied()).collect();
    used.sort_unstable();
    used.dedup();
    let (mut row_ptr, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for row in rows() {
        let (row_columns, row_values) = left.local.row(row);
        columns
            .extend(row_columns.iter().map(|&column| used.partition_point(|&other| other < column) as u32));
        values.extend_from_slice(row_values);
        row_ptr.push(columns.len());
    }
    let short = Csr::try_new(row_ptr.len() - 1, used.len(), row_ptr, columns, values)?;

    let (mut row_ptr, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for &local in &used {
        match left.around.local_to_halo(local as usize) {
            None => {
                let (row_columns, row_values) = right.matrix.row(local as usize - owned.start);
                columns.extend(row_columns.iter().map(|&column| table[column as usize]));
                values.extend_from_slice(row_values);
            }
            Some(place) => {
                let (row_columns, row_values) = fetched.row(place);
                columns.extend(row_columns.iter().map(|&id| numbering.number(id)));
                values.extend_from_slice(row_values);
            }
        }
        row_ptr.push(columns.len());
    }
    let factor = Csr::try_new(used.len(), numbering.ids.len(), row_ptr, columns, values)?;
    product(short.view(), short.all_rows(), factor.view())
}

/// Interior and border rows in their order, with columns numbered by `table` and by the border.
fn joined(
    left: &DistributedCsr,
    interior: Csr<f64>,
    border: &Csr<f64>,
    table: &[u32],
) -> (Vec<usize>, Vec<u32>, Vec<f64>) {
    let owned = left.around.rows().owned();
    if border.rows() == 0 {
        let (row_ptr, columns, values) = interior.into_parts();
        return (row_ptr, columns.par_iter().map(|&column| table[column as usize]).collect(), values);
    }
    let entries = interior.nnz() + border.nnz();
    let (mut row_ptr, mut columns, mut values) =
        (Vec::with_capacity(interior.rows() + 1), Vec::with_capacity(entries), Vec::with_capacity(entries));
    row_ptr.push(0);
    let mut next = 0;
    for (place, row) in left.own.clone().enumerate() {
        if is_border(left.local.row(row).0, &owned) {
            let (row_columns, row_values) = border.row(next);
            columns.extend_from_slice(row_columns);
            values.extend_from_slice(row_values);
            next += 1;
        } else {
            let (row_columns, row_values) = interior.row(place);
            columns.extend(row_columns.iter().map(|&column| table[column as usize]));
            values.extend_from_slice(row_values);
        }
        row_ptr.push(columns.len());
    }
    (row_ptr, columns, values)
}

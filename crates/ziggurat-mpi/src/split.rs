//! Splits rows in the order of global ids, as setup uses them, into own and remote columns, as
//! products use them; and joins them again when the values of the matrix change.

use std::ops::Range;
use std::sync::Arc;

use ziggurat_amg::halo::Halo;
use ziggurat_sparse::Csr;
use ziggurat_sparse::device::Remote;

use crate::error::DistributedError;
use crate::matrix::{DistributedCsr, renumbered};
use crate::neighbourhood::Neighbourhood;
use crate::partition::Partition;
use crate::rows::NamedRows;

/// A rank's rows of a matrix, split into own and remote columns.
#[derive(Clone, Debug)]
pub(crate) struct Split {
    pub own: Arc<Csr<f64>>,
    pub remote: Remote<f64>,
    /// The neighbourhood of the columns.
    pub around: Arc<Neighbourhood>,
    rows: Arc<Partition>,
    cols: Arc<Partition>,
    /// The range of own rows among the local ones, and how many of these there are.
    place: Range<usize>,
    local_rows: usize,
}

impl Split {
    pub(crate) fn of(a: DistributedCsr) -> Result<Self, DistributedError> {
        let (rows, cols) = (a.rows.clone(), a.cols.clone());
        let (place, local_rows) = (a.own.clone(), a.local.rows());
        if a.around.halo_rows() == 0 && a.own.len() == a.local.rows() {
            let matrix = Csr::try_new(0, 0, vec![0], Vec::new(), Vec::new())?;
            let remote = Remote { rows: Vec::new(), matrix, halo: a.around.clone() };
            return Ok(Split { own: a.local, remote, around: a.around, rows, cols, place, local_rows });
        }
        let own_columns = a.around.rows().owned();
        let (count, halo_rows) = (a.own.len(), a.around.halo_rows());
        // In the memory of the rows, which are not needed any more unless somebody shares them.
        let (row_ptr, mut columns, mut values) = Arc::unwrap_or_clone(a.local).into_parts();
        let (mut own_row_ptr, mut kept) = (Vec::with_capacity(count + 1), 0);
        let mut rest = (vec![0], Vec::new(), Vec::new());
        let mut border = Vec::new();
        own_row_ptr.push(0);
        for (place, row) in a.own.clone().enumerate() {
            let (first, last) = (row_ptr[row], row_ptr[row + 1]);
            let of_row = &columns[first..last];
            // Halo columns are before and after the own ones.
            let begin = first + of_row.partition_point(|&column| (column as usize) < own_columns.start);
            let end = first + of_row.partition_point(|&column| (column as usize) < own_columns.end);
            if begin > first || end < last {
                rest.1.extend_from_slice(&columns[first..begin]);
                rest.1.extend(columns[end..last].iter().map(|&column| column - own_columns.len() as u32));
                rest.2.extend_from_slice(&values[first..begin]);
                rest.2.extend_from_slice(&values[end..last]);
                rest.0.push(rest.1.len());
                border.push(place as u32);
            }
            columns.copy_within(begin..end, kept);
            values.copy_within(begin..end, kept);
            let of_own = &mut columns[kept..kept + end - begin];
            of_own.iter_mut().for_each(|column| *column -= own_columns.start as u32);
            kept += end - begin;
            own_row_ptr.push(kept);
        }
        columns.truncate(kept);
        values.truncate(kept);
        let own = Csr::try_new(count, own_columns.len(), own_row_ptr, columns, values)?;
        let matrix = Csr::try_new(border.len(), halo_rows, rest.0, rest.1, rest.2)?;
        let remote = Remote { rows: border, matrix, halo: a.around.clone() };
        Ok(Split { own: Arc::new(own), remote, around: a.around, rows, cols, place, local_rows })
    }

    /// The rows as they were before they were split.
    pub(crate) fn joined(&self) -> Result<DistributedCsr, DistributedError> {
        let around = self.around.clone();
        let columns = around.rows().owned();
        let entries = self.own.nnz() + self.remote.matrix.nnz();
        let mut row_ptr = Vec::with_capacity(self.local_rows + 1);
        let mut made = (Vec::with_capacity(entries), Vec::with_capacity(entries));
        row_ptr.resize(self.place.start + 1, 0);
        let mut border = 0;
        for row in 0..self.own.rows() {
            let is_border = self.remote.rows.get(border) == Some(&(row as u32));
            let (others, their_values) = match is_border {
                true => self.remote.matrix.row(border),
                false => (&[][..], &[][..]),
            };
            border += usize::from(is_border);
            // Halo columns are before and after the own ones.
            let below = others.partition_point(|&column| (column as usize) < columns.start);
            let (own, own_values) = self.own.row(row);
            made.0.extend_from_slice(&others[..below]);
            made.0.extend(own.iter().map(|&column| column + columns.start as u32));
            made.0.extend(others[below..].iter().map(|&column| column + columns.len() as u32));
            made.1.extend_from_slice(&their_values[..below]);
            made.1.extend_from_slice(own_values);
            made.1.extend_from_slice(&their_values[below..]);
            row_ptr.push(made.0.len());
        }
        row_ptr.resize(self.local_rows + 1, made.0.len());
        let local = Csr::try_new(self.local_rows, around.rows().local(), row_ptr, made.0, made.1)?;
        let (rows, cols, own) = (self.rows.clone(), self.cols.clone(), self.place.clone());
        Ok(DistributedCsr { rows, cols, around, local: local.into(), own })
    }

    /// The ids of own rows.
    pub(crate) fn own_rows(&self) -> Range<u64> {
        self.rows.own()
    }

    /// The number of entries of each own row.
    pub(crate) fn row_lengths(&self) -> Vec<usize> {
        let mut lengths: Vec<usize> = self.own.row_ptr().windows(2).map(|pair| pair[1] - pair[0]).collect();
        for (place, &row) in self.remote.rows.iter().enumerate() {
            lengths[row as usize] += self.remote.matrix.row(place).0.len();
        }
        lengths
    }

    /// A matrix with the pattern of this square one and other own rows.
    pub(crate) fn with_values(&self, own: NamedRows) -> Result<DistributedCsr, DistributedError> {
        let around = self.around.clone();
        let columns = renumbered(&own.columns, &own.ids, &around);
        let mut row_ptr = vec![0; self.place.start];
        row_ptr.extend(own.row_ptr);
        row_ptr.resize(self.local_rows + 1, columns.len());
        let local = Csr::try_new(self.local_rows, self.local_rows, row_ptr, columns, own.values)?;
        let (rows, cols, own) = (self.rows.clone(), self.cols.clone(), self.place.clone());
        Ok(DistributedCsr { rows, cols, around, local: local.into(), own })
    }
}

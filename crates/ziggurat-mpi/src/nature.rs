//! What kind of matrix is this? The facts that a solver decides by, over all ranks; as `ziggurat` finds them for one process.

use rayon::prelude::*;
use ziggurat::config::Facts;
use ziggurat_amg::halo::Halo;

use crate::error::DistributedError;
use crate::matrix::DistributedCsr;

/// a_ij and a_ji differ by rounding if it is less than this part of the largest entries of rows i and j.
const ROUNDING: f64 = 1e-12;

/// Blocks are full if all but one value in twenty are entries.
const FILL: f64 = 1.05;

/// Facts of a distributed matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Nature {
    pub facts: Facts,
    /// Every row sums to zero, but for rounding.
    pub annihilates_constants: bool,
}

impl Nature {
    /// Looks at own rows and at those of neighbours. All ranks call it.
    pub(crate) fn of(a: &DistributedCsr) -> Result<Self, DistributedError> {
        let wide = a.extended(1)?;
        let matrix = wide.view();
        let size = |row: usize| matrix.row(row).1.iter().fold(0.0, |size: f64, value| size.max(value.abs()));
        let sizes: Vec<f64> = matrix.all_rows().into_par_iter().map(size).collect();
        let is_mirrored = |row: usize, column: usize, value: f64| {
            let mirrored = matrix.get(column, row).unwrap_or(0.0);
            let allowed = || ROUNDING * sizes[row].sqrt() * sizes[column].sqrt();
            value == mirrored || (value - mirrored).abs() <= allowed()
        };
        let of_row = |row: usize| {
            let (columns, values) = matrix.row(row);
            let positive = matrix.get(row, row).is_some_and(|value| value > 0.0);
            let (sum, size) = values.iter().fold((0.0, 0.0), |(sum, size), x| (sum + x, size + x.abs()));
            let zero_sum = size > 0.0 && size.is_finite() && f64::abs(sum) <= ROUNDING * size;
            let mut entries = columns.iter().zip(values);
            let symmetric = entries.all(|(&column, &value)| is_mirrored(row, column as usize, value));
            [symmetric, positive, zero_sum]
        };
        let both = |one: [bool; 3], other: [bool; 3]| [0, 1, 2].map(|k| one[k] && other[k]);
        let rows = wide.own.clone().into_par_iter().with_min_len(1024);
        let [symmetric, positive, zero_sums] = rows.map(of_row).reduce(|| [true; 3], both);
        let mut against =
            [u64::from(!symmetric), u64::from(!positive), u64::from(!zero_sums), a.own_nnz() as u64];
        a.comm().sum(&mut against);
        let facts = Facts {
            symmetric: against[0] == 0,
            positive_diagonal: against[1] == 0,
            block: a.block(),
            nnz: against[3] as usize,
            f64: true, // ranks compute on CPUs
        };
        Ok(Nature { facts, annihilates_constants: against[2] == 0 && a.global_rows() > 0 })
    }
}

impl DistributedCsr {
    /// The same matrix with as many unknowns per node as its pattern shows: the largest of 6, 4, 3, 2 whose blocks are full, as
    /// [`detect_block_size`](ziggurat_sparse::matrix::detect_block_size) finds it, else 1. Ranks own multiples of 12 rows, but for the
    /// last. All ranks call it.
    ///
    /// # Errors
    /// If memory runs out on a rank.
    pub fn with_detected_nodes(self) -> Result<Self, DistributedError> {
        let halo = self.around.rows();
        let mut counts = [0u64; 5];
        let sizes = [6usize, 4, 3, 2];
        for (count, &size) in counts.iter_mut().zip(&sizes) {
            let mut met: Vec<u64> = Vec::new();
            for first in self.own.clone().step_by(size) {
                met.clear();
                for row in first..(first + size).min(self.own.end) {
                    let columns = self.local.row(row).0;
                    met.extend(columns.iter().map(|&column| halo.global_id(column as usize) / size as u64));
                }
                met.sort_unstable();
                met.dedup();
                *count += (met.len() * size * size) as u64;
            }
        }
        counts[4] = self.own_nnz() as u64;
        self.comm().sum(&mut counts);
        let entries = counts[4] as f64;
        let full = |&(&count, &size): &(&u64, &usize)| {
            self.global_rows().is_multiple_of(size as u64) && count as f64 <= FILL * entries && entries > 0.0
        };
        let block = counts.iter().zip(&sizes).find(full).map_or(1, |found| *found.1);
        if block == self.block() {
            return Ok(self);
        }
        DistributedCsr::square(self.comm(), self.rows.clone(), block, self.own_named())
    }
}

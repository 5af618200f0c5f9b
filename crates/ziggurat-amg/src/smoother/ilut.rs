//! Incomplete factorisation with fill, ILUT(p, τ), within fixed blocks of rows.
//!
//! ```text
//! B = diag(A[K₁,K₁], A[K₂,K₂], …) ≈ L U    L: unit lower, U: upper triangular    M = U⁻¹ L⁻¹
//! ```
//!
//! A row of L and U comes from Gaussian elimination without the entries below τ ‖b_i‖, and with at
//! most p entries in L and p in U, the largest (Saad, *ILUT: a dual threshold incomplete LU
//! factorization*, 1994). Entries of L are compared before they are divided by the pivot, so that
//! all are in the units of the row. A block that is symmetric gets incomplete Cholesky factors,
//! L D Lᵀ, with the same rules for L, so that M is symmetric.
//!
//! Blocks, shifts of the diagonal, and how factors are applied are as in [`ilu0`](super::ilu0).
//! Cost: the multiplications of the elimination, about p² per row; per sweep, one pass over the
//! factors.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use ziggurat_sparse::CsrRef;

use super::ilu0::{Block, BlockRow};
use crate::{OutOfRange, SetupError};

/// Entries that differ from their reverse by less than this, compared with the diagonal, count as
/// equal: entries of a Galerkin product are rounded.
const SYMMETRIC: f64 = 1e-8;

/// Which entries of the factors are kept.
///
/// ```
/// use ziggurat_amg::smoother::IlutParameters;
/// assert_eq!(IlutParameters::default().entries, 10);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct IlutParameters {
    /// The most entries of a row of L, and of U beside its diagonal.
    pub entries: usize,
    /// Entries below this fraction of the norm of the row are dropped.
    pub tolerance: f64,
}

impl Default for IlutParameters {
    fn default() -> Self {
        IlutParameters { entries: 10, tolerance: 1e-3 }
    }
}

impl IlutParameters {
    /// Checks that every parameter is in its range.
    ///
    /// ```
    /// use ziggurat_amg::smoother::IlutParameters;
    /// let error = IlutParameters { tolerance: 1.0, ..IlutParameters::default() }.check().unwrap_err();
    /// assert_eq!(error.to_string(), "`tolerance` is 1.0; it must be at least 0 and below 1");
    /// ```
    ///
    /// # Errors
    /// The first that is not.
    pub fn check(&self) -> Result<(), OutOfRange> {
        let IlutParameters { entries, tolerance } = *self;
        OutOfRange::unless_in("entries", entries, 0..=10_000)?;
        let fraction = (0.0..1.0).contains(&tolerance);
        OutOfRange::unless("tolerance", tolerance, fraction, "at least 0 and below 1")
    }

    /// Of some entries, those that are large enough, at most `entries`, by increasing column. The
    /// third number is the size by which an entry is judged.
    fn keep(&self, mut row: Vec<(u32, f64, f64)>, least: f64) -> Vec<(u32, f64)> {
        row.retain(|&(_, value, size)| size >= least && value != 0.0);
        if row.len() > self.entries {
            row.sort_unstable_by(|x, y| y.2.total_cmp(&x.2).then(x.0.cmp(&y.0)));
            row.truncate(self.entries);
        }
        row.sort_unstable_by_key(|&(column, ..)| column);
        row.into_iter().map(|(column, value, _)| (column, value)).collect()
    }
}

/// The row that is eliminated: its values, and which of its columns are in use.
#[derive(Default)]
pub(super) struct Scratch {
    values: Vec<f64>,
    used: Vec<bool>,
    columns: Vec<u32>,
    /// Columns left of the diagonal that are still to be eliminated.
    left: BinaryHeap<Reverse<u32>>,
}

impl Scratch {
    fn begin(&mut self, rows: usize) {
        self.values.resize(rows.max(self.values.len()), 0.0);
        self.used.resize(rows.max(self.used.len()), false);
    }

    /// Adds to an entry of row `own`.
    fn add(&mut self, column: u32, value: f64, own: u32) {
        let place = column as usize;
        if !self.used[place] {
            self.used[place] = true;
            self.columns.push(column);
            if column < own {
                self.left.push(Reverse(column));
            }
        }
        self.values[place] += value;
    }

    /// The next column left of the diagonal and its value, if that is at least `least`; smaller
    /// ones are skipped.
    fn next(&mut self, least: f64) -> Option<(u32, f64)> {
        while let Some(Reverse(column)) = self.left.pop() {
            let value = self.values[column as usize];
            if value.abs() < least || value == 0.0 {
                continue;
            }
            return Some((column, value));
        }
        None
    }

    /// The entries that satisfy a condition, with their values.
    fn entries(&self, wanted: impl Fn(u32) -> bool) -> Vec<(u32, f64, f64)> {
        let wanted = self.columns.iter().copied().filter(|&column| wanted(column));
        wanted.map(|column| (column, self.values[column as usize])).map(|(c, v)| (c, v, v.abs())).collect()
    }

    fn clear(&mut self) {
        for column in self.columns.drain(..) {
            self.values[column as usize] = 0.0;
            self.used[column as usize] = false;
        }
    }
}

/// Factorises one block, whose diagonal is multiplied by 1 + `shift`.
///
/// # Errors
/// If a row has no usable diagonal entry.
pub(super) fn factorise(
    a: CsrRef<'_, f64>,
    rows: Range<usize>,
    shift: f64,
    parameters: &IlutParameters,
    scratch: &mut Scratch,
) -> Result<Block, SetupError> {
    scratch.begin(rows.len());
    if is_symmetric(a, &rows) {
        return cholesky(a, rows, shift, parameters, scratch);
    }
    let mut block = Block::empty();
    for row in rows.clone() {
        let of_block = BlockRow::read(a, row, &rows)?;
        let (own, least) = (of_block.own, parameters.tolerance * of_block.norm());
        of_block.entries(shift).for_each(|(column, value)| scratch.add(column, value, own));
        let mut lower = Vec::new();
        while let Some((other, value)) = scratch.next(least) {
            let (pivot, above) = block.pivot_and_upper(other as usize);
            let factor = value / pivot;
            above.for_each(|(column, upper)| scratch.add(column, -factor * upper, own));
            lower.push((other, factor, value.abs()));
        }
        let upper = parameters.keep(scratch.entries(|column| column > own), least);
        let pivot = scratch.values[own as usize];
        block.push(own, &parameters.keep(lower, 0.0), pivot, of_block.diagonal, &upper);
        scratch.clear();
    }
    Ok(block)
}

/// L D Lᵀ of a symmetric block, row by row of L.
fn cholesky(
    a: CsrRef<'_, f64>,
    rows: Range<usize>,
    shift: f64,
    parameters: &IlutParameters,
    scratch: &mut Scratch,
) -> Result<Block, SetupError> {
    // The columns of L below the diagonal, as far as rows are known, and D.
    let mut columns: Vec<Vec<(u32, f64)>> = vec![Vec::new(); rows.len()];
    let mut lowers = Vec::with_capacity(rows.len());
    let (mut pivots, mut replaced) = (Vec::<f64>::with_capacity(rows.len()), false);
    for row in rows.clone() {
        let of_block = BlockRow::read(a, row, &rows)?;
        let (own, diagonal) = (of_block.own, of_block.diagonal);
        let least = parameters.tolerance * of_block.norm();
        let left = of_block.entries(shift).filter(|(column, _)| *column <= own);
        left.for_each(|(column, value)| scratch.add(column, value, own));
        let mut lower = Vec::new();
        while let Some((other, value)) = scratch.next(least) {
            for &(below, factor) in &columns[other as usize] {
                scratch.add(below, -value * factor, own);
            }
            lower.push((other, value / pivots[other as usize], value.abs()));
        }
        let lower = parameters.keep(lower, 0.0);
        let sum: f64 = lower.iter().map(|&(column, l)| l * l * pivots[column as usize]).sum();
        let pivot = diagonal * (1.0 + shift) - sum;
        let usable = Block::is_usable(pivot, diagonal);
        replaced |= !usable;
        pivots.push(if usable { pivot } else { diagonal });
        lower.iter().for_each(|&(column, l)| columns[column as usize].push((own, l)));
        lowers.push(lower);
        scratch.clear();
    }
    let mut block = Block::empty();
    for (row, (lower, column)) in lowers.iter().zip(&columns).enumerate() {
        let pivot = pivots[row];
        let upper: Vec<(u32, f64)> = column.iter().map(|&(below, l)| (below, pivot * l)).collect();
        block.push(row as u32, lower, pivot, pivot, &upper);
    }
    block.replaced |= replaced;
    Ok(block)
}

/// Whether the block is symmetric up to rounding.
fn is_symmetric(a: CsrRef<'_, f64>, rows: &Range<usize>) -> bool {
    let diagonal: Vec<f64> = rows.clone().map(|row| a.get(row, row).unwrap_or(0.0).abs()).collect();
    rows.clone().all(|row| {
        let (columns, values) = a.row(row);
        let inside = |(column, _): &(&u32, &f64)| rows.contains(&(**column as usize));
        columns.iter().zip(values).filter(inside).all(|(&column, &value)| {
            let other = column as usize;
            let size = (diagonal[row - rows.start] * diagonal[other - rows.start]).sqrt();
            (value - a.get(other, row).unwrap_or(0.0)).abs() <= SYMMETRIC * size
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::halo::Whole;
    use crate::smoother::{IncompleteFactors, Smoother, SmootherData};
    use crate::testing::problem;
    use ziggurat_sparse::Csr;

    fn factors(a: &Csr<f64>, block: usize, entries: usize, tolerance: f64) -> IncompleteFactors {
        let parameters = IlutParameters { entries, tolerance };
        let smoother = Smoother::Ilut { block, parameters, omega: None };
        match smoother.data(a.view(), &Whole::new(a.rows()), None).unwrap() {
            SmootherData::Factors(factors) => factors,
            other => panic!("{other:?}"),
        }
    }

    /// U⁻¹ L⁻¹ b
    fn solve(factors: &IncompleteFactors, b: &[f64]) -> Vec<f64> {
        let mut x = b.to_vec();
        let sum = |a: &Csr<f64>, row: usize, x: &[f64]| -> f64 {
            a.row(row).0.iter().zip(a.row(row).1).map(|(&column, value)| value * x[column as usize]).sum()
        };
        for row in 0..x.len() {
            x[row] -= sum(&factors.lower, row, &x);
        }
        for row in (0..x.len()).rev() {
            x[row] = (x[row] - sum(&factors.upper, row, &x)) / factors.pivots[row];
        }
        x
    }

    #[test]
    fn with_all_entries_the_factors_are_exact() {
        for name in ["poisson2d:9", "convection3d:4"] {
            let a = problem(name);
            let factors = factors(&a, a.rows(), a.rows(), 0.0);
            let x: Vec<f64> = (0..a.rows()).map(|row| 1.0 + (row % 7) as f64).collect();
            let product = |row: usize| -> f64 {
                a.row(row).0.iter().zip(a.row(row).1).map(|(&column, value)| value * x[column as usize]).sum()
            };
            let found = solve(&factors, &(0..a.rows()).map(product).collect::<Vec<_>>());
            assert!(found.iter().zip(&x).all(|(found, x)| (found - x).abs() < 1e-11), "{name}");
        }
    }

    #[test]
    fn rows_have_no_more_entries_than_allowed() {
        for name in ["poisson2d:20", "convection3d:8"] {
            let a = problem(name);
            for entries in [0, 1, 5] {
                let factors = factors(&a, 100, entries, 0.0);
                for (row, factor) in
                    (0..a.rows()).flat_map(|row| [(row, &factors.lower), (row, &factors.upper)])
                {
                    let columns = factor.row(row).0;
                    assert!(
                        columns.iter().all(|&column| column as usize / 100 == row / 100),
                        "{name}: blocks"
                    );
                    // The columns of Lᵀ may be longer than its rows.
                    let is_row = std::ptr::eq(&raw const **factor, &raw const *factors.lower);
                    assert!(!is_row || columns.len() <= entries, "{name}: row {row}");
                }
            }
            let [few, many] = [0.1, 1e-4].map(|tolerance| factors(&a, 400, 100, tolerance).lower.nnz());
            assert!(few < many, "{name}: {few}, {many}");
        }
    }

    #[test]
    fn a_symmetric_matrix_has_symmetric_factors() {
        let a = problem("jump3d:8");
        let factors = factors(&a, 512, 6, 1e-3);
        for row in 0..a.rows() {
            for (&column, &l) in factors.lower.row(row).0.iter().zip(factors.lower.row(row).1) {
                let u = factors.upper.get(column as usize, row).unwrap();
                assert_eq!(u, factors.pivots[column as usize] * l);
            }
        }
        assert!(factors.pivots.iter().all(|&pivot| pivot > 0.0));
        assert_eq!(factors.lower.nnz(), factors.upper.nnz());
    }

    #[test]
    fn a_row_without_a_diagonal_is_named() {
        let a = Csr::try_new(2, 2, vec![0, 1, 2], vec![0, 0], vec![1.0, 1.0]).unwrap();
        let smoother = Smoother::Ilut { block: 2, parameters: IlutParameters::default(), omega: None };
        let error = smoother.data(a.view(), &Whole::new(2), None).unwrap_err().to_string();
        assert!(error.starts_with("row 1: the diagonal entry is 0"), "{error}");
    }
}

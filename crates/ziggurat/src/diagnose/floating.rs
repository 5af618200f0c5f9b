//! Floating parts: connected components in which every row sums to zero.
//!
//! A symmetric matrix maps a vector to zero that is constant on such a component and zero
//! elsewhere. These vectors, divided by the root of the component's size, are orthonormal and the
//! known part of the null space.
//!
//! A row is grounded if its sum is not zero or if it is coupled with a grounded row. In most
//! matrices all rows are grounded, and one pass in each direction over pieces of rows, which reads
//! few entries of a row, shows it. Otherwise the passes are repeated over all rows, on one thread,
//! and if some rows are still not grounded, the components are found by union-find. Components of
//! different processes that share rows exchange the smallest number of their rows until nothing
//! changes.
//!
//! Cost: one or two passes over the rows; if something floats, one over the entries.

use ziggurat_amg::halo::Halo;
use ziggurat_amg::{LevelMatrix, SetupError};
use ziggurat_sparse::graph::connected_components;
use ziggurat_sparse::{CsrRef, parallel};

use super::rows::sums_to_zero;

/// The largest number of parts that are recognised: each adds a vector to the null space.
pub(super) const MOST_PARTS: usize = 8;

/// Rows of a piece: enough to contain grounded ones where a boundary is near.
const PIECE: usize = 1 << 14;

/// A row that is not in a floating part.
const GROUNDED: u64 = 0;

/// The floating parts of a matrix.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FloatingParts {
    /// The number of rows of each part over all processes, in the order of their first rows.
    pub(super) sizes: Vec<u64>,
    /// The part of each own row, `None` for grounded rows. Empty if there are no parts.
    pub(super) part: Vec<Option<usize>>,
}

impl FloatingParts {
    /// Finds the floating parts of a symmetric matrix. `None` if there are more than
    /// [`MOST_PARTS`]. Collective.
    pub(super) fn of<M: LevelMatrix>(a: &M) -> Result<Option<Self>, SetupError> {
        let (matrix, halo) = (a.view(), a.rows());
        let own = halo.owned();
        // The smallest number of a row that each row is known to be connected with, plus one.
        let mut first: Vec<u64> = parallel::collect(halo.local(), |row| halo.global_id(row) + 1);
        parallel::over_chunks(&mut first[own.clone()], PIECE, &|piece, first| {
            let start = own.start + piece * PIECE;
            let rows = start..start + first.len();
            ground(matrix, rows.clone(), |row| !has_zero_sum(matrix.row(row).1), start, first);
            ground(matrix, rows.rev(), |_| false, start, first);
        });
        let floats = |first: &[u64]| parallel::first_position(first, |&first| first != GROUNDED).is_some();
        if floats(&first[own.clone()]) {
            ground(matrix, own.clone(), |_| false, 0, &mut first);
            ground(matrix, own.clone().rev(), |_| false, 0, &mut first);
        }
        if !halo.any(floats(&first[own.clone()])) {
            return Ok(Some(FloatingParts::default()));
        }
        spread(matrix, &halo, &mut first)?;
        Ok(numbered(&halo, &first[own]))
    }
}

fn has_zero_sum(values: &[f64]) -> bool {
    let (sum, size) = values.iter().fold((0.0, 0.0), |(sum, size), x| (sum + x, size + x.abs()));
    sums_to_zero(sum, size, values.len())
}

/// Grounds rows in the given order: those coupled with a grounded row, and those that are grounded
/// themselves. `first` has the rows from `start` on; couplings with others are not followed.
fn ground(
    a: CsrRef<'_, f64>,
    rows: impl Iterator<Item = usize>,
    is_grounded: impl Fn(usize) -> bool,
    start: usize,
    first: &mut [u64],
) {
    for row in rows {
        if first[row - start] != GROUNDED {
            let (columns, values) = a.row(row);
            let mut couplings = columns.iter().zip(values).filter(|(_, value)| **value != 0.0);
            let is_coupled = couplings
                .any(|(&column, _)| first.get((column as usize).wrapping_sub(start)) == Some(&GROUNDED));
            if is_coupled || is_grounded(row) {
                first[row - start] = GROUNDED;
            }
        }
    }
}

/// Gives all rows of a component the smallest number among them, over all processes.
fn spread<H: Halo>(a: CsrRef<'_, f64>, halo: &H, first: &mut [u64]) -> Result<(), SetupError> {
    let components = connected_components(a)?;
    let mut smallest = vec![u64::MAX; components.count];
    loop {
        halo.exchange(first);
        let mut changes = false;
        for (&component, &first) in components.label.iter().zip(&*first) {
            let smallest = &mut smallest[component as usize];
            changes |= first < *smallest;
            *smallest = first.min(*smallest);
        }
        for (&component, first) in components.label.iter().zip(&mut *first) {
            *first = smallest[component as usize];
        }
        if !halo.any(changes) {
            return Ok(());
        }
    }
}

/// Numbers the parts in the order of their first rows.
fn numbered<H: Halo>(halo: &H, first: &[u64]) -> Option<FloatingParts> {
    let mut starts: Vec<u64> = Vec::new();
    loop {
        let last = starts.last().copied().unwrap_or(GROUNDED);
        let next = first.iter().copied().filter(|&first| first > last).min();
        // Row numbers below 2⁵³ are exact.
        let next = -halo.largest(next.map_or(f64::NEG_INFINITY, |next| -(next as f64)));
        if next == f64::INFINITY {
            break;
        }
        if starts.len() == MOST_PARTS {
            return None;
        }
        starts.push(next as u64);
    }
    let part: Vec<_> = first.iter().map(|first| starts.iter().position(|start| start == first)).collect();
    let mut sizes = vec![0; starts.len()];
    part.iter().flatten().for_each(|&part| sizes[part] += 1);
    halo.sum(&mut sizes);
    Some(FloatingParts { sizes, part })
}

#[cfg(test)]
mod tests {
    use ziggurat_amg::WholeMatrix;
    use ziggurat_sparse::{Coo, Csr};

    use super::*;

    /// Chains whose rows sum to zero, except that the first row of every chain gets its `extra`.
    /// The rows of the chains alternate if `mixed`.
    fn chains(lengths: &[(usize, f64)], mixed: bool) -> Csr<f64> {
        let rows: usize = lengths.iter().map(|(length, _)| length).sum();
        let longest = lengths.iter().map(|(length, _)| *length).max().unwrap();
        let mut order: Vec<(usize, usize)> = Vec::new(); // (chain, position) of each row
        for position in 0..longest {
            order.extend((0..lengths.len()).filter(|&k| position < lengths[k].0).map(|k| (k, position)));
        }
        if !mixed {
            order.sort_unstable();
        }
        let row_of = |k: usize, position: usize| order.iter().position(|&of| of == (k, position)).unwrap();
        let mut a = Coo::new(rows, rows).unwrap();
        for (k, &(length, extra)) in lengths.iter().enumerate() {
            a.push(row_of(k, 0), row_of(k, 0), extra).unwrap();
            for position in 1..length {
                let (i, j) = (row_of(k, position - 1), row_of(k, position));
                for (row, column, value) in [(i, i, 1.0), (j, j, 1.0), (i, j, -1.0), (j, i, -1.0)] {
                    a.push(row, column, value).unwrap();
                }
            }
        }
        a.into_csr()
    }

    fn parts(a: Csr<f64>) -> Option<FloatingParts> {
        FloatingParts::of(&WholeMatrix::new(a.into(), 1)).unwrap()
    }

    #[test]
    fn parts_with_zero_sums_float() {
        for mixed in [false, true] {
            let found = parts(chains(&[(3, 0.0), (4, 1.0), (2, 0.0)], mixed)).unwrap();
            assert_eq!(found.sizes, [3, 2]);
            let count = |part| found.part.iter().filter(|&&of| of == part).count();
            assert_eq!((count(Some(0)), count(Some(1)), count(None)), (3, 2, 4));
            assert_eq!(found.part[0], Some(0));
        }
    }

    #[test]
    fn everything_grounded_has_no_parts() {
        for extra in [1.0, 1e-12, -3.0] {
            let found = parts(chains(&[(5, extra), (5, extra)], true)).unwrap();
            assert_eq!(found, FloatingParts::default());
        }
        for rows in [0, 3] {
            let empty = Coo::new(rows, rows).unwrap().into_csr();
            assert_eq!(parts(empty), Some(FloatingParts::default()), "{rows} empty rows");
        }
    }

    #[test]
    fn stored_zeros_connect_nothing() {
        let mut a = Coo::new(3, 3).unwrap();
        for (row, column, value) in
            [(0, 0, 1.0), (0, 1, -1.0), (1, 0, -1.0), (1, 1, 1.0), (1, 2, 0.0), (2, 1, 0.0), (2, 2, 7.0)]
        {
            a.push(row, column, value).unwrap();
        }
        assert_eq!(parts(a.into_csr()).unwrap().part, [Some(0), Some(0), None]);
    }

    #[test]
    fn too_many_parts_are_not_counted() {
        let most = vec![(2, 0.0); MOST_PARTS];
        assert_eq!(parts(chains(&most, true)).unwrap().sizes, [2; MOST_PARTS]);
        assert_eq!(parts(chains(&[&most[..], &[(2, 0.0)]].concat(), true)), None);
    }
}

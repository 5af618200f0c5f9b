//! Aggregates: disjoint sets of rows, each of which becomes one row of the next level.
//!
//! An aggregate has a *root*, the row it was grown from. Aggregates are numbered in the order of
//! their roots, which preserves the locality of the matrix on the next level. Rows without relevant
//! connections (Dirichlet rows) are left out: the smoother solves them, and they do not appear on
//! the next level.
//!
//! In a system with several unknowns per node, aggregates consist of nodes: "row" then means a row
//! of the node matrix.

use thiserror::Error;
use ziggurat_sparse::graph::Permutation;
use ziggurat_sparse::{MatrixError, parallel};

use crate::halo::Halo;

/// The root of a row that is left out. It is not a valid global id.
pub const NO_ROOT: u64 = u64::MAX;

/// The aggregate of every local row.
///
/// ```
/// use ziggurat_amg::coarsen::Aggregates;
/// let aggregates = Aggregates::try_new(2, vec![0, 0, Aggregates::NONE, 1])?;
/// assert_eq!((aggregates.rows(), aggregates.count()), (4, 2));
/// assert_eq!((aggregates.get(1), aggregates.get(2)), (Some(0), None));
/// assert_eq!(aggregates.sizes(), [2, 1]);
/// # Ok::<(), ziggurat_amg::coarsen::AggregatesError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Aggregates {
    of: Vec<u32>,
    count: usize,
    roots: Vec<u64>,
}

/// Why numbers do not form valid aggregates.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AggregatesError {
    /// More rows than a 32-bit index can represent.
    #[error("{rows} rows are more than one process can index ({}); distribute the matrix", u32::MAX)]
    TooManyRows {
        /// Number of rows.
        rows: usize,
    },
    /// An aggregate number that is out of range.
    #[error(
        "row {row} has aggregate {aggregate}, but there are only {count}; use {} for rows left out",
        Aggregates::NONE
    )]
    OutOfRange {
        /// The row.
        row: usize,
        /// The number found there.
        aggregate: u32,
        /// Number of aggregates.
        count: usize,
    },
    /// An aggregate without rows.
    #[error("aggregate {aggregate} of {count} has no rows; number them without gaps")]
    Empty {
        /// Its number.
        aggregate: usize,
        /// Number of aggregates.
        count: usize,
    },
}

impl Aggregates {
    /// Marks a row that is left out.
    pub const NONE: u32 = u32::MAX;

    /// Builds aggregates from the aggregate number of every row, after checking that each of the
    /// `count` aggregates has a row.
    ///
    /// # Errors
    /// Returns an error if a number is out of range or an aggregate has no rows.
    pub fn try_new(count: usize, of: Vec<u32>) -> Result<Self, AggregatesError> {
        if of.len() > Self::NONE as usize {
            return Err(AggregatesError::TooManyRows { rows: of.len() });
        }
        let wrong = |&aggregate: &u32| aggregate != Self::NONE && aggregate as usize >= count;
        if let Some(row) = of.iter().position(wrong) {
            return Err(AggregatesError::OutOfRange { row, aggregate: of[row], count });
        }
        if count > of.len() {
            return Err(AggregatesError::Empty { aggregate: of.len(), count });
        }
        let aggregates = Aggregates { of, count, roots: Vec::new() };
        match aggregates.sizes().iter().position(|&size| size == 0) {
            Some(aggregate) => Err(AggregatesError::Empty { aggregate, count }),
            None => Ok(aggregates),
        }
    }

    /// The same aggregates of renumbered rows, without roots.
    pub(crate) fn in_order(&self, order: &Permutation) -> Result<Self, MatrixError> {
        let mut of = vec![0; self.of.len()];
        order.apply(&self.of, &mut of)?;
        Ok(Aggregates { of, count: self.count, roots: Vec::new() })
    }

    /// Builds aggregates from the global id of the root of every local row, [`NO_ROOT`] for rows
    /// that are left out. A root is its own root. Aggregates are numbered by increasing id of their
    /// roots.
    pub(crate) fn from_roots<H: Halo>(roots: &[u64], halo: &H) -> Self {
        // Local rows are ordered by their ids, so these ids are, too.
        let is_root = |&(row, &root): &(usize, &u64)| root == halo.global_id(row);
        let mut ids: Vec<u64> = roots.iter().enumerate().filter(is_root).map(|(_, &root)| root).collect();
        // Rows at the edge of a halo may have a root outside the halo.
        let is_known = |root: u64| ids.binary_search(&root).is_ok();
        let owned_or_none = |&&root: &&u64| root == NO_ROOT || is_known(root);
        let mut further: Vec<u64> = match halo.local() == halo.owned().len() {
            true => Vec::new(),
            false => roots.iter().filter(|root| !owned_or_none(root)).copied().collect(),
        };
        further.sort_unstable();
        further.dedup();
        ids.extend(further);
        ids.sort_unstable();
        // In one process the row of a root gives its number, without a search.
        let of = if halo.local() == halo.owned().len() {
            let mut numbers = vec![Self::NONE; roots.len()];
            let first = if roots.is_empty() { 0 } else { halo.global_id(0) };
            ids.iter().zip(0..).for_each(|(&id, number)| numbers[(id - first) as usize] = number);
            parallel::collect(roots.len(), |row| match roots[row] {
                NO_ROOT => Self::NONE,
                root => numbers[(root - first) as usize],
            })
        } else {
            let number = |root: u64| ids.binary_search(&root).map_or(Self::NONE, |at| at as u32);
            parallel::collect(roots.len(), |row| number(roots[row]))
        };
        Aggregates { of, count: ids.len(), roots: ids }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.of.len()
    }

    /// Number of aggregates with local rows; in one process, of all aggregates.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The global id of the root of each aggregate, in increasing order. It identifies an aggregate
    /// across processes. Empty if the aggregates were [built from numbers](Self::try_new).
    pub fn roots(&self) -> &[u64] {
        &self.roots
    }

    /// The aggregate of every row; [`Aggregates::NONE`] for rows that are left out.
    pub fn of(&self) -> &[u32] {
        &self.of
    }

    /// The aggregate of a row, or `None` if it is left out.
    ///
    /// # Panics
    /// If the row is out of range.
    #[inline]
    pub fn get(&self, row: usize) -> Option<u32> {
        let aggregate = self.of[row];
        (aggregate != Self::NONE).then_some(aggregate)
    }

    /// The global id of the root of each owned row, [`NO_ROOT`] for rows that are left out.
    ///
    /// # Panics
    /// If the aggregates were [built from numbers](Self::try_new), or belong to another halo.
    pub fn own_roots<H: Halo>(&self, halo: &H) -> Vec<u64> {
        let root = |&aggregate: &u32| match aggregate {
            Self::NONE => NO_ROOT,
            aggregate => self.roots[aggregate as usize],
        };
        self.of[halo.owned()].iter().map(root).collect()
    }

    /// Number of local rows of each aggregate.
    pub fn sizes(&self) -> Vec<u32> {
        let mut sizes = vec![0; self.count];
        for &aggregate in self.of.iter().filter(|&&aggregate| aggregate != Self::NONE) {
            sizes[aggregate as usize] += 1;
        }
        sizes
    }

    /// The rows of each aggregate, in increasing order: the offset of each aggregate (one more than
    /// there are aggregates), and the rows.
    ///
    /// ```
    /// use ziggurat_amg::coarsen::Aggregates;
    /// let aggregates = Aggregates::try_new(2, vec![0, 1, 0])?;
    /// assert_eq!(aggregates.members(), (vec![0, 2, 3], vec![0, 2, 1]));
    /// # Ok::<(), ziggurat_amg::coarsen::AggregatesError>(())
    /// ```
    pub fn members(&self) -> (Vec<usize>, Vec<u32>) {
        let sizes = self.sizes();
        let mut starts = Vec::with_capacity(sizes.len() + 1);
        let mut start = 0;
        starts.push(0);
        for size in sizes {
            start += size as usize;
            starts.push(start);
        }
        let mut next = starts.clone();
        let mut rows = vec![0; start];
        for (row, &aggregate) in self.of.iter().enumerate().filter(|(_, of)| **of != Self::NONE) {
            let place = &mut next[aggregate as usize];
            rows[*place] = row as u32;
            *place += 1;
        }
        (starts, rows)
    }

    /// Composes aggregates: `coarser` groups these aggregates into larger ones. A row is left out
    /// if its aggregate is.
    ///
    /// ```
    /// use ziggurat_amg::coarsen::Aggregates;
    /// let pairs = Aggregates::try_new(2, vec![0, 0, 1, 1])?;
    /// let both = Aggregates::try_new(1, vec![0, 0])?;
    /// assert_eq!(pairs.joined_by(&both).of(), [0, 0, 0, 0]);
    /// # Ok::<(), ziggurat_amg::coarsen::AggregatesError>(())
    /// ```
    ///
    /// # Panics
    /// If `coarser` does not have one row for each of these aggregates.
    pub fn joined_by(&self, coarser: &Aggregates) -> Aggregates {
        assert_eq!(coarser.rows(), self.count, "one row per aggregate");
        let of = parallel::collect(self.of.len(), |row| match self.of[row] {
            Self::NONE => Self::NONE,
            aggregate => coarser.of[aggregate as usize],
        });
        Aggregates { of, count: coarser.count, roots: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use super::*;
    use crate::halo::Whole;
    use bytemuck::Pod;
    use proptest::prelude::*;

    #[test]
    fn what_makes_no_aggregates_is_refused() {
        let error = Aggregates::try_new(2, vec![0, 2]).unwrap_err();
        assert_eq!(error, AggregatesError::OutOfRange { row: 1, aggregate: 2, count: 2 });
        let error = Aggregates::try_new(2, vec![1, Aggregates::NONE]).unwrap_err();
        assert_eq!(error, AggregatesError::Empty { aggregate: 0, count: 2 });
        let error = Aggregates::try_new(usize::MAX, vec![]).unwrap_err();
        assert!(matches!(error, AggregatesError::Empty { aggregate: 0, .. }));
        assert_eq!(Aggregates::try_new(0, vec![]).unwrap().rows(), 0);
    }

    #[test]
    fn roots_give_the_order_of_numbers() {
        // Rows 1 and 4 are roots; row 3 is left out.
        let aggregates = Aggregates::from_roots(&[4, 1, 1, NO_ROOT, 4], &Whole::new(5));
        assert_eq!(aggregates.of(), [1, 0, 0, Aggregates::NONE, 1]);
        assert_eq!((aggregates.count(), aggregates.roots()), (2, &[1, 4][..]));
    }

    /// Owns the rows 40 and 41, with the halo rows 10 and 90. Communication is not implemented.
    struct Middle;

    impl Halo for Middle {
        fn owned(&self) -> Range<usize> {
            1..3
        }
        fn local(&self) -> usize {
            4
        }
        fn global_id(&self, local: usize) -> u64 {
            [10, 40, 41, 90][local]
        }
        fn exchange<T: Pod + Send + Sync>(&self, _: &mut [T]) {}
        fn known_elsewhere(&self) -> Vec<usize> {
            Vec::new()
        }
        fn any(&self, flag: bool) -> bool {
            flag
        }
        fn sum(&self, _: &mut [u64]) {}
        fn largest(&self, x: f64) -> f64 {
            x
        }
    }

    #[test]
    fn numbers_increase_with_roots_that_may_be_elsewhere() {
        let aggregates = Aggregates::from_roots(&[7, 41, 41, 7], &Middle);
        assert_eq!((aggregates.of(), aggregates.count()), (&[0, 1, 1, 0][..], 2));
        assert_eq!((aggregates.roots(), &aggregates.sizes()[..]), (&[7, 41][..], &[2, 2][..]));
        let aggregates = Aggregates::from_roots(&[10, NO_ROOT, 90, 90], &Middle);
        assert_eq!((aggregates.of(), aggregates.roots()), (&[0, Aggregates::NONE, 1, 1][..], &[10, 90][..]));
    }

    proptest! {
        #[test]
        fn members_are_the_rows_of_an_aggregate(labels in prop::collection::vec(0..8u32, 0..40)) {
            let rows = labels.len();
            // The first row with a label is the root; label 7 means left out.
            let root = |label: &u32| match label {
                7 => NO_ROOT,
                label => labels.iter().position(|other| other == label).unwrap() as u64,
            };
            let roots: Vec<u64> = labels.iter().map(root).collect();
            let aggregates = Aggregates::from_roots(&roots, &Whole::new(rows));
            let (starts, members) = aggregates.members();
            let mut seen = vec![false; rows];
            for aggregate in 0..aggregates.count() {
                let of = &members[starts[aggregate]..starts[aggregate + 1]];
                prop_assert_eq!(of.len(), aggregates.sizes()[aggregate] as usize);
                prop_assert!(of.windows(2).all(|pair| pair[0] < pair[1]));
                for &row in of {
                    prop_assert_eq!(aggregates.get(row as usize), Some(aggregate as u32));
                    seen[row as usize] = true;
                }
            }
            for (row, seen) in seen.into_iter().enumerate() {
                prop_assert_eq!(seen, labels[row] != 7);
            }
            let again = Aggregates::try_new(aggregates.count(), aggregates.of().to_vec()).unwrap();
            prop_assert_eq!(again.of(), aggregates.of());
        }
    }
}

//! Which rows the next level joins: a row there is a set of rows here, an *aggregate*.
//!
//! An aggregate has a *root*, the row it was grown from. Aggregates are numbered along their roots: neighbours stay
//! neighbours, so that the next level's matrix is as local as this one's. Rows that no other row matters to
//! (Dirichlet rows) are left out: the smoother solves them, and the next level does not see them.
//!
//! In a system with several unknowns per node, what is joined is nodes: "row" then means a row of the node matrix.

use std::collections::HashMap;

use rayon::prelude::*;
use thiserror::Error;

use crate::halo::Halo;

/// The root of a row that is left out. No row has this global id.
pub(super) const NO_ROOT: u64 = u64::MAX;

/// Every local row's aggregate.
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
    outside: Vec<u64>,
}

/// Why numbers do not make aggregates.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AggregatesError {
    /// More rows than a 32-bit index can name.
    #[error("{rows} rows are more than one process can index ({}); distribute the matrix", u32::MAX)]
    TooManyRows {
        /// How many there are.
        rows: usize,
    },
    /// A number that no aggregate has.
    #[error(
        "row {row} is in aggregate {aggregate}, but there are {count}; a row left out has {}",
        Aggregates::NONE
    )]
    OutOfRange {
        /// The row.
        row: usize,
        /// The number found there.
        aggregate: u32,
        /// How many aggregates there should be.
        count: usize,
    },
    /// An aggregate without rows.
    #[error("aggregate {aggregate} of {count} has no rows; number them without gaps")]
    Empty {
        /// Its number.
        aggregate: usize,
        /// How many aggregates there should be.
        count: usize,
    },
}

impl Aggregates {
    /// Stands where a row is left out.
    pub const NONE: u32 = u32::MAX;

    /// Takes the number of every row's aggregate over, after checking that each of `count` has a row.
    ///
    /// # Errors
    /// If a number is too large, or one is missing.
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
        let aggregates = Aggregates { of, count, outside: Vec::new() };
        match aggregates.sizes().iter().position(|&size| size == 0) {
            Some(aggregate) => Err(AggregatesError::Empty { aggregate, count }),
            None => Ok(aggregates),
        }
    }

    /// From the global id of every owned row's root, [`NO_ROOT`] for rows that are left out. A root is its own root.
    pub(super) fn from_roots<H: Halo>(roots: &[u64], halo: &H) -> Self {
        let mut count = 0;
        let mut numbers = vec![Self::NONE; roots.len()];
        for (row, &root) in roots.iter().enumerate() {
            if root == halo.global_id(row) {
                numbers[row] = count;
                count += 1;
            }
        }
        // The owned rows usually have consecutive ids.
        let first = if roots.is_empty() { 0 } else { halo.global_id(0) };
        let owned_row = |root: u64| {
            let row = usize::try_from(root.wrapping_sub(first)).ok()?;
            (row < roots.len() && halo.global_id(row) == root).then_some(row)
        };
        let is_elsewhere = |&root: &u64| root != NO_ROOT && owned_row(root).is_none();
        let mut outside: Vec<u64> = roots.par_iter().copied().filter(is_elsewhere).collect();
        let mut further = HashMap::new();
        if !outside.is_empty() {
            further = (0..roots.len()).map(|row| (halo.global_id(row), numbers[row])).collect();
            outside.retain(|root| !further.contains_key(root));
            outside.sort_unstable();
            outside.dedup();
            further.extend(outside.iter().zip(count..).map(|(&root, number)| (root, number)));
        }
        let number = |&root: &u64| match owned_row(root) {
            Some(row) => numbers[row],
            None => further.get(&root).copied().unwrap_or(Self::NONE),
        };
        Aggregates { of: roots.par_iter().map(number).collect(), count: count as usize, outside }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.of.len()
    }

    /// Number of aggregates whose root this process owns: in one process, all.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The global ids of roots in other processes whose aggregates have rows here. These aggregates are numbered from
    /// [`count`](Self::count) on, in this order. In one process there are none.
    pub fn outside(&self) -> &[u64] {
        &self.outside
    }

    /// The aggregate of every row; [`Aggregates::NONE`] for rows that are left out.
    pub fn of(&self) -> &[u32] {
        &self.of
    }

    /// The aggregate of a row, or `None` if it is left out.
    ///
    /// # Panics
    /// If there is no such row.
    #[inline]
    pub fn get(&self, row: usize) -> Option<u32> {
        let aggregate = self.of[row];
        (aggregate != Self::NONE).then_some(aggregate)
    }

    /// How many rows each aggregate has here.
    pub fn sizes(&self) -> Vec<u32> {
        let mut sizes = vec![0; self.count + self.outside.len()];
        for &aggregate in self.of.iter().filter(|&&aggregate| aggregate != Self::NONE) {
            sizes[aggregate as usize] += 1;
        }
        sizes
    }

    /// The rows of each aggregate, in order: where each aggregate's begin and the last one's end, and the rows.
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

    /// Aggregates of aggregates: what `coarser` joins of these. A row is left out if its aggregate is.
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
    /// If `coarser` does not have a row for each of these aggregates.
    pub fn joined_by(&self, coarser: &Aggregates) -> Aggregates {
        assert_eq!(coarser.rows(), self.count + self.outside.len(), "a row for each aggregate");
        let join = |&aggregate: &u32| match aggregate {
            Self::NONE => Self::NONE,
            aggregate => coarser.of[aggregate as usize],
        };
        let of = self.of.par_iter().map(join).collect();
        Aggregates { of, count: coarser.count, outside: coarser.outside.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::halo::Whole;
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
        assert_eq!((aggregates.count(), aggregates.outside()), (2, &[][..]));
    }

    /// Owns three rows with scattered ids; nothing else is asked of it.
    struct Scattered([u64; 3]);

    impl Halo for Scattered {
        fn owned(&self) -> usize {
            3
        }
        fn local(&self) -> usize {
            3
        }
        fn global_id(&self, local: usize) -> u64 {
            self.0[local]
        }
        fn exchange<T: Copy + Send + 'static>(&self, _: &mut [T]) {}
        fn any(&self, flag: bool) -> bool {
            flag
        }
        fn sum(&self, _: &mut [u64]) {}
    }

    #[test]
    fn roots_elsewhere_come_last() {
        let aggregates = Aggregates::from_roots(&[70, 90, 70], &Scattered([10, 90, 40]));
        assert_eq!((aggregates.of(), aggregates.count()), (&[1, 0, 1][..], 1));
        assert_eq!(aggregates.outside(), [70]);
        assert_eq!(aggregates.sizes(), [1, 2]);
    }

    proptest! {
        #[test]
        fn members_are_the_rows_of_an_aggregate(labels in prop::collection::vec(0..8u32, 0..40)) {
            let rows = labels.len();
            // The first row with a label is the root; label 7 is left out.
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
            prop_assert_eq!(Aggregates::try_new(aggregates.count(), aggregates.of().to_vec()).unwrap(), aggregates);
        }
    }
}

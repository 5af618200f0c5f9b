//! A permutation of 0 .. n, stored in both directions.
//!
//! `new_to_old[i]` is the old index of new index `i`; `old_to_new` is its inverse. As a matrix, P
//! satisfies (Px)ᵢ = x[new_to_old[i]]. Both directions are stored (8 bytes per element), because
//! permuting a matrix needs one for its rows and the other for its columns. Construction and
//! validation cost one pass with random writes.

use thiserror::Error;

use crate::MatrixError;
use crate::parallel::over_pieces;

/// Why an array of numbers is not a permutation.
///
/// ```
/// use ziggurat_sparse::graph::{Permutation, PermutationError};
/// let error = Permutation::from_new_to_old(vec![0, 2, 2]).unwrap_err();
/// assert_eq!(error, PermutationError::Repeated { value: 2, first: 1, second: 2 });
/// assert_eq!(error.to_string(), "positions 1 and 2 both hold 2; a permutation contains every number once");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PermutationError {
    /// A number that is not less than the length.
    #[error("position {position} holds {value}, but a permutation of {len} elements contains 0 to {}", len - 1)]
    OutOfRange {
        /// Its position.
        position: usize,
        /// The number.
        value: u32,
        /// Length of the array.
        len: usize,
    },
    /// A number that occurs twice, so that another is missing.
    #[error("positions {first} and {second} both hold {value}; a permutation contains every number once")]
    Repeated {
        /// The number.
        value: u32,
        /// Its first position.
        first: usize,
        /// Its second position.
        second: usize,
    },
    /// More elements than a 32-bit local index can address.
    #[error("{len} elements are more than one process can index ({})", u32::MAX)]
    TooLarge {
        /// Length of the array.
        len: usize,
    },
}

/// A permutation of 0 .. n, valid by construction.
///
/// ```
/// use ziggurat_sparse::graph::Permutation;
/// // New index 0 is old index 2, new 1 is old 0, new 2 is old 1.
/// let p = Permutation::from_new_to_old(vec![2, 0, 1])?;
/// let mut new = [' '; 3];
/// p.apply(&['a', 'b', 'c'], &mut new)?;
/// assert_eq!(new, ['c', 'a', 'b']);
/// assert_eq!(p.old_to_new(), [1, 2, 0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permutation {
    new_to_old: Vec<u32>,
    old_to_new: Vec<u32>,
}

/// The inverse of an array, if it contains each of 0 .. n exactly once.
fn invert(forward: &[u32]) -> Result<Vec<u32>, PermutationError> {
    const ABSENT: u32 = u32::MAX; // not a valid index: n is at most this
    let len = forward.len();
    if u32::try_from(len).is_err() {
        return Err(PermutationError::TooLarge { len });
    }
    let mut backward = vec![ABSENT; len];
    for (position, &value) in forward.iter().enumerate() {
        match backward.get_mut(value as usize) {
            None => return Err(PermutationError::OutOfRange { position, value, len }),
            Some(slot) if *slot != ABSENT => {
                return Err(PermutationError::Repeated { value, first: *slot as usize, second: position });
            }
            Some(slot) => *slot = position as u32,
        }
    }
    Ok(backward)
}

impl Permutation {
    /// From the old index of every new index: an ordering, as algorithms produce it.
    pub fn from_new_to_old(new_to_old: Vec<u32>) -> Result<Self, PermutationError> {
        let old_to_new = invert(&new_to_old)?;
        Ok(Permutation { new_to_old, old_to_new })
    }

    /// From an ordering that is a valid permutation by construction; checked in debug builds.
    pub(super) fn from_valid_order(new_to_old: Vec<u32>) -> Self {
        debug_assert_eq!(invert(&new_to_old).err(), None);
        let mut old_to_new = vec![0; new_to_old.len()];
        for (new, &old) in new_to_old.iter().enumerate() {
            old_to_new[old as usize] = new as u32;
        }
        Permutation { new_to_old, old_to_new }
    }

    /// From the new index of every old index: a numbering.
    ///
    /// ```
    /// use ziggurat_sparse::graph::Permutation;
    /// let p = Permutation::from_old_to_new(vec![1, 2, 0])?;
    /// assert_eq!(p, Permutation::from_new_to_old(vec![2, 0, 1])?);
    /// # Ok::<(), ziggurat_sparse::graph::PermutationError>(())
    /// ```
    pub fn from_old_to_new(old_to_new: Vec<u32>) -> Result<Self, PermutationError> {
        let new_to_old = invert(&old_to_new)?;
        Ok(Permutation { new_to_old, old_to_new })
    }

    /// The identity permutation.
    ///
    /// ```
    /// use ziggurat_sparse::graph::Permutation;
    /// assert_eq!(Permutation::identity(3)?.new_to_old(), [0, 1, 2]);
    /// # Ok::<(), ziggurat_sparse::graph::PermutationError>(())
    /// ```
    pub fn identity(len: usize) -> Result<Self, PermutationError> {
        let end = u32::try_from(len).map_err(|_| PermutationError::TooLarge { len })?;
        let order: Vec<u32> = (0..end).collect();
        Ok(Permutation { new_to_old: order.clone(), old_to_new: order })
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.new_to_old.len()
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.new_to_old.is_empty()
    }

    /// The old index of every new index.
    pub fn new_to_old(&self) -> &[u32] {
        &self.new_to_old
    }

    /// The new index of every old index.
    pub fn old_to_new(&self) -> &[u32] {
        &self.old_to_new
    }

    /// The inverse permutation.
    ///
    /// ```
    /// use ziggurat_sparse::graph::Permutation;
    /// let p = Permutation::from_new_to_old(vec![2, 0, 1])?;
    /// assert_eq!(p.compose(&p.inverse())?, Permutation::identity(3)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn inverse(&self) -> Self {
        Permutation { new_to_old: self.old_to_new.clone(), old_to_new: self.new_to_old.clone() }
    }

    /// The composition that applies `first`, then this one: the product of the two matrices.
    ///
    /// ```
    /// use ziggurat_sparse::graph::Permutation;
    /// let swap = Permutation::from_new_to_old(vec![1, 0, 2])?;
    /// let turn = Permutation::from_new_to_old(vec![1, 2, 0])?;
    /// // abc is swapped to bac, which is rotated to acb.
    /// assert_eq!(turn.compose(&swap)?.new_to_old(), [0, 2, 1]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn compose(&self, first: &Permutation) -> Result<Self, MatrixError> {
        let mut both = Permutation { new_to_old: vec![0; self.len()], old_to_new: vec![0; self.len()] };
        self.apply(&first.new_to_old, &mut both.new_to_old)?;
        first.undo(&self.old_to_new, &mut both.old_to_new)?;
        Ok(both)
    }

    /// Permutes a vector: `new[i] = old[new_to_old[i]]`.
    pub fn apply<T: Copy + Send + Sync>(&self, old: &[T], new: &mut [T]) -> Result<(), MatrixError> {
        gather(&self.new_to_old, old, new)
    }

    /// Restores the original order of a permuted vector: `old[i] = new[old_to_new[i]]`.
    ///
    /// ```
    /// use ziggurat_sparse::graph::Permutation;
    /// let p = Permutation::from_new_to_old(vec![2, 0, 1])?;
    /// let mut old = [' '; 3];
    /// p.undo(&['c', 'a', 'b'], &mut old)?;
    /// assert_eq!(old, ['a', 'b', 'c']);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn undo<T: Copy + Send + Sync>(&self, new: &[T], old: &mut [T]) -> Result<(), MatrixError> {
        gather(&self.old_to_new, new, old)
    }

    /// The same permutation for `block` interleaved unknowns per element: unknown `c` of element
    /// `i` is `i * block + c`, before and after.
    ///
    /// ```
    /// use ziggurat_sparse::graph::Permutation;
    /// let nodes = Permutation::from_new_to_old(vec![1, 0])?;
    /// assert_eq!(nodes.expand(3)?.new_to_old(), [3, 4, 5, 0, 1, 2]);
    /// # Ok::<(), ziggurat_sparse::graph::PermutationError>(())
    /// ```
    pub fn expand(&self, block: usize) -> Result<Self, PermutationError> {
        let len = self.len().saturating_mul(block);
        if u32::try_from(len).is_err() {
            return Err(PermutationError::TooLarge { len });
        }
        let unknowns = |elements: &[u32]| -> Vec<u32> {
            let block = block as u32; // fits, unless there are no elements
            elements.iter().flat_map(|&element| (0..block).map(move |c| element * block + c)).collect()
        };
        Ok(Permutation { new_to_old: unknowns(&self.new_to_old), old_to_new: unknowns(&self.old_to_new) })
    }
}

fn gather<T: Copy + Send + Sync>(from: &[u32], source: &[T], target: &mut [T]) -> Result<(), MatrixError> {
    for (what, found) in [("vector to permute", source.len()), ("permuted vector", target.len())] {
        if found != from.len() {
            return Err(MatrixError::Mismatch { what, expected: from.len(), found });
        }
    }
    over_pieces(target, &|first, target| {
        for (slot, &index) in target.iter_mut().zip(&from[first..]) {
            *slot = source[index as usize];
        }
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::sample::shuffle;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_no_permutation_is_refused() {
        let out_of_range = PermutationError::OutOfRange { position: 1, value: 3, len: 3 };
        assert_eq!(Permutation::from_old_to_new(vec![0, 3, 1]), Err(out_of_range));
        let repeated = PermutationError::Repeated { value: 0, first: 0, second: 2 };
        assert_eq!(Permutation::from_new_to_old(vec![0, 1, 0]), Err(repeated));
        let len = u32::MAX as usize + 1;
        assert_eq!(Permutation::identity(len), Err(PermutationError::TooLarge { len }));
        let error = shuffle(5, 0).expand(usize::MAX / 2).unwrap_err();
        assert_eq!(error, PermutationError::TooLarge { len: usize::MAX });
    }

    #[test]
    fn lengths_must_agree() {
        let (three, four) = (shuffle(3, 0), shuffle(4, 0));
        assert!(matches!(three.compose(&four), Err(MatrixError::Mismatch { expected: 3, found: 4, .. })));
        assert!(three.apply(&[1, 2, 3, 4], &mut [0; 3]).is_err());
        assert!(three.undo(&[1, 2, 3], &mut [0; 2]).is_err());
    }

    #[test]
    fn nothing_is_a_permutation() {
        let empty = Permutation::from_new_to_old(vec![]).unwrap();
        assert!(empty.is_empty() && empty == Permutation::identity(0).unwrap());
        assert_eq!(empty.expand(3), Ok(empty.clone()));
        assert_eq!(shuffle(4, 1).expand(0), Ok(empty));
    }

    proptest! {
        #[test]
        fn group_laws(n in 0usize..300, seed in any::<u64>(), block in 1usize..5) {
            let (p, q) = (shuffle(n, seed), shuffle(n, !seed));
            let identity = Permutation::identity(n).unwrap();
            prop_assert_eq!(p.compose(&p.inverse()).unwrap(), identity.clone());
            prop_assert_eq!(p.compose(&identity).unwrap(), p.clone());
            let both = q.compose(&p).unwrap();
            prop_assert_eq!(&both, &Permutation::from_new_to_old(both.new_to_old().to_vec()).unwrap());
            prop_assert_eq!(both.inverse(), p.inverse().compose(&q.inverse()).unwrap());
            // Composition agrees with successive application to vectors.
            let x: Vec<usize> = (0..n).collect();
            let (mut px, mut qpx, mut bothx, mut back) = (x.clone(), x.clone(), x.clone(), x.clone());
            p.apply(&x, &mut px).unwrap();
            q.apply(&px, &mut qpx).unwrap();
            both.apply(&x, &mut bothx).unwrap();
            prop_assert_eq!(&qpx, &bothx);
            both.undo(&qpx, &mut back).unwrap();
            prop_assert_eq!(&back, &x);
            // Expansion preserves these laws.
            let expanded = p.expand(block).unwrap();
            prop_assert_eq!(&expanded, &Permutation::from_new_to_old(expanded.new_to_old().to_vec()).unwrap());
            prop_assert_eq!(expanded.inverse(), p.inverse().expand(block).unwrap());
        }
    }
}

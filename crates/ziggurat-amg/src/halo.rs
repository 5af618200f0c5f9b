//! Rows of other processes, as setup accesses them.
//!
//! A process numbers the rows it knows, its own and copies of others', *in the order of their
//! global ids*. So a sum over a row runs in the same order everywhere and has the same bits. Own
//! rows are the range [`Halo::owned`] of that numbering. A step that decides something per row
//! (coarse or fine, which aggregate) decides for its own rows and then [exchanges](Halo::exchange)
//! the decisions. In one process there is nothing to exchange: [`Whole`].
//!
//! Every method that communicates is collective: all processes call it, in the same order.

use std::ops::Range;

use bytemuck::Pod;
use ziggurat_sparse::ExactSum;

use crate::SetupError;

/// A message: the process it goes to or comes from, and its content.
pub type Message = (usize, Vec<u64>);

/// The rows around a process's own rows.
pub trait Halo: Sync {
    /// The local rows that this process owns.
    fn owned(&self) -> Range<usize>;

    /// The number of local rows: owned ones and copies.
    fn local(&self) -> usize;

    /// The global id of a local row; it increases with the local row. Ties are broken by the hash
    /// of this id, so that results do not depend on the distribution of rows.
    fn global_id(&self, local: usize) -> u64;

    /// Overwrites the values of rows owned by other processes with the owners' values.
    fn exchange<T: Pod + Send + Sync>(&self, values: &mut [T]);

    /// The owned rows that other processes have copies of, in increasing order.
    fn known_elsewhere(&self) -> Vec<usize>;

    /// Whether `flag` is true on any process.
    fn any(&self, flag: bool) -> bool;

    /// Overwrites every number with its sum over all processes, modulo 2^64.
    fn sum(&self, counts: &mut [u64]);

    /// The maximum over all processes.
    fn largest(&self, x: f64) -> f64;
}

/// The processes that own the rows of a [`Halo`], and their communication beyond the values of
/// rows.
pub trait Processes: Halo {
    /// As [`exchange`](Halo::exchange), for `width` values per row.
    fn exchange_rows<T: Pod + Send + Sync>(&self, values: &mut [T], width: usize);

    /// Whether one process holds all rows, so that there is no communication.
    fn is_whole(&self) -> bool {
        false
    }

    /// Numbers the items of all processes consecutively, in the order of processes; this one has
    /// `count`. Returns the number of its first item and the total.
    ///
    /// # Errors
    /// If 64 bits cannot count them.
    fn number(&self, count: usize) -> Result<(u64, u64), SetupError>;

    /// The index of this process; processes are in the order of their rows.
    fn process(&self) -> usize;

    /// The process that owns each of the global ids, which are increasing.
    fn owners(&self, ids: &[u64]) -> Vec<usize>;

    /// Sends messages whose receivers do not expect them. Returns the messages received, by sender.
    fn deliver(&self, messages: Vec<Message>) -> Vec<Message>;

    /// Succeeds if all processes have succeeded. If one has failed, the others get its message.
    ///
    /// # Errors
    /// This process's own error, or [`SetupError::Elsewhere`].
    fn agree<T>(&self, result: Result<T, SetupError>) -> Result<T, SetupError>;

    /// The answer of the owner of each global id; the ids are increasing.
    fn ask(&self, ids: &[u64], answer: impl Fn(u64) -> u64) -> Vec<u64> {
        let owners = self.owners(ids);
        let mut rest = ids;
        let mut questions: Vec<Message> = Vec::new();
        for group in owners.chunk_by(|one, other| one == other) {
            let of_owner;
            (of_owner, rest) = rest.split_at(group.len());
            questions.push((group[0], of_owner.to_vec()));
        }
        let reply = |(from, ids): Message| (from, ids.into_iter().map(&answer).collect());
        let answers = self.deliver(questions).into_iter().map(reply).collect();
        self.deliver(answers).into_iter().flat_map(|(_, answers)| answers).collect()
    }
}

/// Overwrites every sum with that over all processes, in one message.
pub(crate) fn sum_exactly<H: Processes>(sums: &mut [ExactSum], halo: &H) {
    if halo.is_whole() {
        return;
    }
    let mut digits: Vec<u64> = Vec::new();
    sums.iter_mut().for_each(|sum| digits.extend_from_slice(bytemuck::cast_slice(sum.digits_mut())));
    halo.sum(&mut digits);
    let mut rest = &digits[..];
    for sum in sums {
        let own: &mut [u64] = bytemuck::cast_slice_mut(sum.digits_mut());
        let (summed, after) = rest.split_at(own.len());
        own.copy_from_slice(summed);
        rest = after;
    }
}

/// One process that owns every row.
///
/// ```
/// use ziggurat_amg::halo::{Halo, Processes, Whole};
/// let whole = Whole::new(3);
/// assert_eq!((whole.owned(), whole.local(), whole.global_id(2)), (0..3, 3, 2));
/// assert_eq!(whole.ask(&[0, 2], |id| 10 * id), [0, 20]);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Whole {
    rows: usize,
}

impl Whole {
    /// The halo of a matrix with `rows` rows.
    pub fn new(rows: usize) -> Self {
        Whole { rows }
    }
}

impl Halo for Whole {
    fn owned(&self) -> Range<usize> {
        0..self.rows
    }

    fn local(&self) -> usize {
        self.rows
    }

    fn global_id(&self, local: usize) -> u64 {
        local as u64
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

impl Processes for Whole {
    fn exchange_rows<T: Pod + Send + Sync>(&self, _: &mut [T], _: usize) {}

    fn is_whole(&self) -> bool {
        true
    }

    fn number(&self, count: usize) -> Result<(u64, u64), SetupError> {
        Ok((0, count as u64))
    }

    fn process(&self) -> usize {
        0
    }

    fn owners(&self, ids: &[u64]) -> Vec<usize> {
        vec![0; ids.len()]
    }

    fn deliver(&self, messages: Vec<Message>) -> Vec<Message> {
        messages
    }

    fn agree<T>(&self, result: Result<T, SetupError>) -> Result<T, SetupError> {
        result
    }
}

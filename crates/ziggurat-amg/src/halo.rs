//! What a setup step needs to know of rows that other processes own.
//!
//! A process numbers the rows it knows, its own and copies of others', *in the order of their global
//! ids*. So a sum over a row runs in the same order everywhere, and has the same bits. Its own rows
//! are the range [`Halo::owned`] among them. A step that decides something per row (coarse or fine,
//! which aggregate) decides for its own rows and then [exchanges](Halo::exchange) the decisions. In
//! one process there is nothing to exchange: [`Whole`].
//!
//! Every method that communicates is collective: all processes call it, in the same order.

use std::ops::Range;

use bytemuck::Pod;

use crate::SetupError;

/// A message: the process it goes to or comes from, and its content.
pub type Message = (usize, Vec<u64>);

/// The rows around a process's own.
pub trait Halo: Sync {
    /// The local rows that this process owns.
    fn owned(&self) -> Range<usize>;

    /// The number of rows it owns or has copies of.
    fn local(&self) -> usize;

    /// The id of a local row among all processes; it increases with the local row. Ties are broken by
    /// its hash, so that results do not depend on how rows are distributed.
    fn global_id(&self, local: usize) -> u64;

    /// Overwrites the values of rows that others own by the owners' values.
    fn exchange<T: Pod + Send + Sync>(&self, values: &mut [T]);

    /// The owned rows that other processes have copies of, increasing.
    fn known_elsewhere(&self) -> Vec<usize>;

    /// Whether any process says yes.
    fn any(&self, flag: bool) -> bool;

    /// Overwrites every number by its sum over all processes, modulo 2^64.
    fn sum(&self, counts: &mut [u64]);

    /// The largest of the numbers that processes have.
    fn largest(&self, x: f64) -> f64;
}

/// The processes that own the rows of a [`Halo`], and what they tell each other beside values of rows.
pub trait Processes: Halo {
    /// As [`exchange`](Halo::exchange), for `width` values per row.
    fn exchange_rows<T: Pod + Send + Sync>(&self, values: &mut [T], width: usize);

    /// Whether one process holds everything, so that nothing is ever exchanged.
    fn is_whole(&self) -> bool {
        false
    }

    /// Numbers `count` items of every process, in the order of processes: the number of the first item
    /// of this one, and how many items there are.
    ///
    /// # Errors
    /// If 64 bits cannot count them.
    fn number(&self, count: usize) -> Result<(u64, u64), SetupError>;

    /// This process, in the order of rows.
    fn process(&self) -> usize;

    /// The process that owns each of the global ids, which increase.
    fn owners(&self, ids: &[u64]) -> Vec<usize>;

    /// Sends messages to processes that do not expect them; returns those received, by sender.
    fn deliver(&self, messages: Vec<Message>) -> Vec<Message>;

    /// Succeeds where all processes have succeeded. If one has failed, the others get its words.
    ///
    /// # Errors
    /// This process's own error, or [`SetupError::Elsewhere`].
    fn agree<T>(&self, result: Result<T, SetupError>) -> Result<T, SetupError>;

    /// What the owner of each of the global ids answers; the ids increase.
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
    /// All of `rows` rows.
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

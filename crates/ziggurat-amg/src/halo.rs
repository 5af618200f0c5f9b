//! What a setup step needs to know of rows that somebody else owns.
//!
//! A process numbers the rows it knows, its own and copies of others', *in the order of their global ids*: so a sum over a
//! row runs in the same order everywhere, and has the same bits. Its own rows are the range [`Halo::owned`] among them. A step that
//! decides something per row (coarse or fine, which aggregate) decides for its own rows and then
//! [exchanges](Halo::exchange) the decisions. In one process there is nothing to exchange: [`Whole`].

use std::ops::Range;

use bytemuck::Pod;

/// The rows around a process's own.
pub trait Halo: Sync {
    /// The local rows that this process owns.
    fn owned(&self) -> Range<usize>;

    /// Rows it owns and rows it has copies of.
    fn local(&self) -> usize;

    /// The id of a local row among all processes; it increases with the local row. Ties break by its hash, so that the result
    /// does not depend on how rows are distributed.
    fn global_id(&self, local: usize) -> u64;

    /// Overwrites the values of rows that others own by what these have. Every process calls it.
    fn exchange<T: Pod + Send + Sync>(&self, values: &mut [T]);

    /// The owned rows that other processes have copies of, increasing: only their values are of interest to others.
    fn known_elsewhere(&self) -> Vec<usize>;

    /// Whether any process says yes. Every process calls it.
    fn any(&self, flag: bool) -> bool;

    /// Overwrites every number by its sum over all processes, modulo 2^64. Every process calls it, with as many numbers.
    fn sum(&self, counts: &mut [u64]);

    /// The largest of the numbers that processes have. Every process calls it.
    fn largest(&self, x: f64) -> f64;
}

/// One process that owns every row.
///
/// ```
/// use ziggurat_amg::halo::{Halo, Whole};
/// let whole = Whole::new(3);
/// assert_eq!((whole.owned(), whole.local(), whole.global_id(2)), (0..3, 3, 2));
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

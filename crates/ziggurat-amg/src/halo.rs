//! What a setup step needs to know of rows that somebody else owns.
//!
//! A process owns the first [`Halo::owned`] rows of its local matrix; the rows after them are copies of neighbours' rows.
//! A step that decides something per row (coarse or fine, which aggregate) decides for its own rows and then
//! [exchanges](Halo::exchange) the decisions. In one process there is nothing to exchange: [`Whole`].

/// The rows around a process's own.
pub trait Halo: Sync {
    /// Rows this process owns: the local rows `0..owned`.
    fn owned(&self) -> usize;

    /// Rows it owns and rows it has copies of.
    fn local(&self) -> usize;

    /// The id of a local row among all processes: ties break by its hash, so that the result does not depend on how
    /// rows are distributed.
    fn global_id(&self, local: usize) -> u64;

    /// Overwrites the values of halo rows (`owned..local`) by what their owners have. Every process calls it.
    fn exchange<T: Copy + Send + 'static>(&self, values: &mut [T]);

    /// Whether any process says yes. Every process calls it.
    fn any(&self, flag: bool) -> bool;

    /// Overwrites every number by its sum over all processes. Every process calls it, with as many numbers.
    fn sum(&self, counts: &mut [u64]);
}

/// One process that owns every row.
///
/// ```
/// use ziggurat_amg::halo::{Halo, Whole};
/// let whole = Whole::new(3);
/// assert_eq!((whole.owned(), whole.local(), whole.global_id(2)), (3, 3, 2));
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
    fn owned(&self) -> usize {
        self.rows
    }

    fn local(&self) -> usize {
        self.rows
    }

    fn global_id(&self, local: usize) -> u64 {
        local as u64
    }

    fn exchange<T: Copy + Send + 'static>(&self, _: &mut [T]) {}

    fn any(&self, flag: bool) -> bool {
        flag
    }

    fn sum(&self, _: &mut [u64]) {}
}

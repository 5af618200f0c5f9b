//! The rows of the next level: their number, their owners and their numbering.

use crate::SetupError;
use crate::halo::Processes;

/// The rows of a coarse level. A process owns the rows whose roots it owns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoarseRows {
    /// Number of rows that this process owns.
    pub own: usize,
    /// The global id of its first row.
    pub first: u64,
    /// Number of rows over all processes.
    pub global: u64,
    /// The global ids of the coarse rows that local rows are interpolated from, in increasing
    /// order. Empty if one process holds all rows; index k is then row k.
    pub ids: Vec<u64>,
}

impl CoarseRows {
    /// Numbers the coarse rows of all processes, of which this process owns `own`. `ids` is left
    /// empty.
    ///
    /// # Errors
    /// Returns an error if the number of rows does not fit into 64 bits.
    pub fn number<H: Processes>(own: usize, halo: &H) -> Result<Self, SetupError> {
        let (first, global) = halo.number(own)?;
        Ok(CoarseRows { own, first, global, ids: Vec::new() })
    }
}

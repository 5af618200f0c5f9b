//! The rows of the next level: how many there are, who owns them, and how they are numbered.

use crate::SetupError;
use crate::halo::Processes;

/// The rows of a coarse level. A process owns those whose roots it owns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoarseRows {
    /// How many this process owns.
    pub own: usize,
    /// The global id of its first one.
    pub first: u64,
    /// How many there are.
    pub global: u64,
    /// The global ids of the coarse rows that local rows are interpolated from, increasing. Empty where
    /// one process holds all rows: number k is row k.
    pub ids: Vec<u64>,
}

impl CoarseRows {
    /// Numbers `own` rows of every process. `ids` are left empty.
    ///
    /// # Errors
    /// If 64 bits cannot count them.
    pub fn number<H: Processes>(own: usize, halo: &H) -> Result<Self, SetupError> {
        let (first, global) = halo.number(own)?;
        Ok(CoarseRows { own, first, global, ids: Vec::new() })
    }
}

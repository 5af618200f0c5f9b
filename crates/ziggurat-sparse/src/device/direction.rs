//! The order of rows in a Gauss–Seidel sweep.

/// The order in which a Gauss–Seidel sweep visits the rows.
///
/// ```
/// use ziggurat_sparse::device::Direction;
/// assert_eq!(Direction::Forward.reversed(), Direction::Backward);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the first row to the last.
    Forward,
    /// From the last row to the first: the adjoint of the forward sweep.
    Backward,
}

impl Direction {
    /// The opposite direction.
    pub fn reversed(self) -> Self {
        match self {
            Direction::Forward => Direction::Backward,
            Direction::Backward => Direction::Forward,
        }
    }
}

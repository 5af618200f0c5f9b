//! The order of rows in a Gauss–Seidel sweep.

/// The order in which a Gauss–Seidel sweep takes the rows.
///
/// ```
/// use ziggurat_sparse::device::Direction;
/// assert_eq!(Direction::Forward.reversed(), Direction::Backward);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// First row first.
    Forward,
    /// Last row first: the adjoint of the forward sweep.
    Backward,
}

impl Direction {
    /// The other one.
    pub fn reversed(self) -> Self {
        match self {
            Direction::Forward => Direction::Backward,
            Direction::Backward => Direction::Forward,
        }
    }
}

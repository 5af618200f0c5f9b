//! The size of the factors of a pattern, before they are computed.
//!
//! The factor of column k has c_k entries, as the elimination tree says, and takes ½ c_k²
//! multiplications. Cost: an order of least fill and some passes over the pattern, far less than
//! the factors.

use faer::Side;
use faer::sparse::linalg::cholesky::{SymbolicCholeskyRaw, factorize_symbolic_cholesky};

use crate::{DirectError, Rows};

/// The size of the Cholesky factor of a symmetric pattern. The LU factors of a matrix whose pattern
/// it contains have twice the entries and the work; pivoting may add some.
///
/// ```
/// use ziggurat_direct::{Rows, SymbolicSize};
/// let diagonal = Rows { row_ptr: &[0, 1, 2], columns: &[0, 1], values: &[] };
/// let SymbolicSize { entries, multiplications } = SymbolicSize::of(diagonal)?;
/// assert_eq!((entries, multiplications), (2, 1.0));
/// # Ok::<(), ziggurat_direct::DirectError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SymbolicSize {
    /// Entries of the factor. Dense blocks are stored with their upper triangles.
    pub entries: usize,
    /// Multiplications of the factorisation.
    pub multiplications: f64,
}

impl SymbolicSize {
    /// The size of the factor of a matrix with this symmetric pattern, of which values are not
    /// read.
    ///
    /// # Errors
    /// If the arrays are not those of a square matrix, or if there is not enough memory.
    pub fn of(pattern: Rows<'_>) -> Result<Self, DirectError> {
        let pattern = pattern.pattern()?;
        let symbolic = factorize_symbolic_cholesky(
            pattern.as_ref(),
            Side::Lower,
            Default::default(),
            Default::default(),
        );
        let symbolic = symbolic.map_err(|error| DirectError::Faer(format!("{error:?}")))?;
        let square = |length: usize| (length as f64).powi(2);
        let squares: f64 = match symbolic.raw() {
            SymbolicCholeskyRaw::Simplicial(columns) => {
                columns.col_ptr().windows(2).map(|ends| square(ends[1] - ends[0])).sum()
            }
            SymbolicCholeskyRaw::Supernodal(nodes) => {
                let of_node = |node: usize| -> f64 {
                    let columns = nodes.supernode_end()[node] - nodes.supernode_begin()[node];
                    let below = nodes.col_ptr_for_row_idx()[node + 1] - nodes.col_ptr_for_row_idx()[node];
                    (1..=columns).map(|column| square(column + below)).sum()
                };
                (0..nodes.n_supernodes()).map(of_node).sum()
            }
        };
        Ok(SymbolicSize { entries: symbolic.len_val(), multiplications: 0.5 * squares })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_of_factors_is_predicted() {
        let row_ptr: Vec<usize> = (0..=50).map(|row| 50 * row).collect();
        let columns: Vec<u32> = (0..50).flat_map(|_| 0..50).collect();
        let full = SymbolicSize::of(Rows { row_ptr: &row_ptr, columns: &columns, values: &[] }).unwrap();
        // Dense blocks are stored with their upper triangles.
        assert!((1275..=2500).contains(&full.entries), "{}", full.entries);
        let squares = (1..=50).map(|column| column * column).sum::<i32>();
        assert_eq!(full.multiplications, 0.5 * f64::from(squares));
        let (row_ptr, columns): (Vec<usize>, Vec<u32>) = ((0..=100).collect(), (0..100).collect());
        let diagonal = SymbolicSize::of(Rows { row_ptr: &row_ptr, columns: &columns, values: &[] }).unwrap();
        assert_eq!(diagonal, SymbolicSize { entries: 100, multiplications: 50.0 });
        let empty = Rows { row_ptr: &[0], columns: &[], values: &[] };
        assert_eq!(SymbolicSize::of(empty), Ok(SymbolicSize::default()));
    }
}

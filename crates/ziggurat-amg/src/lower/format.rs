//! The format of a level's matrix: the one of fewest bytes among those that the devices offer.
//!
//! ```text
//! CSR: (s + 4) nnz + 8 n        BSR: s nnz_filled + 4 nnz_filled / b² + 8 n / b        s: bytes of a stored value
//! ```
//!
//! A matrix that consists of blocks needs one column per block instead of one per value. Restriction and prolongation stay
//! in CSR: their blocks are not square.

use std::sync::Arc;

use ziggurat_sparse::device::HostMatrix;
use ziggurat_sparse::matrix::block_fill;
use ziggurat_sparse::{Csr, Store};

/// A matrix that consists of blocks of the given size (1: of scalars), stored as `S` in the format of fewest bytes.
///
/// ```
/// use std::sync::Arc;
/// use ziggurat_amg::host_matrix;
/// use ziggurat_sparse::gallery::Problem;
/// let a = Arc::new("elasticity3d:4".parse::<Problem>()?.matrix()?);
/// assert_eq!((host_matrix::<f64>(&a, 3).format(), host_matrix::<f64>(&a, 1).format()), ("bsr", "csr"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn host_matrix<S: Store>(a: &Arc<Csr<f64>>, block: usize) -> HostMatrix<S> {
    let csr = Csr::shared_as::<S>(a);
    let value = size_of::<S>() as f64;
    let blocks = (block * block) as f64;
    // Infinite where blocks do not tile the matrix.
    let fill = if block > 1 { block_fill(csr.view(), block) } else { f64::INFINITY };
    if fill * (value + 4.0 / blocks) < value + 4.0
        && let Ok(bsr) = csr.view().to_bsr(block)
    {
        return bsr.into();
    }
    csr.into()
}

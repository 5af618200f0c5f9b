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
use ziggurat_sparse::{Csr, CsrRef, Kind, Store};

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
    if blocks_pay(fill(a.view(), block), block, size_of::<S>())
        && let Ok(bsr) = csr.view().to_bsr(block)
    {
        return bsr.into();
    }
    csr.into()
}

/// What [`host_matrix`] would choose for values stored as `storage`, without doing it: the format's name and its bytes.
///
/// ```
/// use std::sync::Arc;
/// use ziggurat_amg::{host_matrix, matrix_format};
/// use ziggurat_sparse::{Kind, gallery::Problem};
/// let a = Arc::new("elasticity3d:4".parse::<Problem>()?.matrix()?);
/// for block in [1, 3] {
///     let made = host_matrix::<f32>(&a, block);
///     assert_eq!(matrix_format(a.view(), block, Kind::F32), (made.format(), made.bytes()));
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn matrix_format(a: CsrRef<'_, f64>, block: usize, storage: Kind) -> (&'static str, usize) {
    let (fill, value, pointer) = (fill(a, block), storage.facts().bytes, size_of::<usize>());
    if blocks_pay(fill, block, value) {
        let values = (fill * a.nnz() as f64).round() as usize;
        return ("bsr", values * value + values / (block * block) * 4 + pointer * (a.rows() / block + 1));
    }
    ("csr", a.nnz() * (value + 4) + pointer * (a.rows() + 1))
}

/// Values in blocks over entries; infinite where blocks do not tile the matrix, or are no blocks.
fn fill(a: CsrRef<'_, f64>, block: usize) -> f64 {
    if block > 1 { block_fill(a, block) } else { f64::INFINITY }
}

/// Whether blocks take fewer bytes than scalars.
fn blocks_pay(fill: f64, block: usize, value: usize) -> bool {
    let (value, blocks) = (value as f64, (block * block) as f64);
    fill * (value + 4.0 / blocks) < value + 4.0
}

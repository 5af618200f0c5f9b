//! Memory traffic of a matrix–vector product on a GPU: the minimum, and what the kernels request.
//!
//! ```text
//! least      every array once: the matrix in its device layout, x and y
//! requested  for each load of a plane, its distinct 32-byte sectors; no cache between loads
//! ```
//!
//! The actual traffic lies between the two. It is closer to the first if the caches hold the data
//! that neighbouring rows share, and closer to the second if they do not. The effective bandwidth
//! is the first divided by the time; the ratio of the two shows the overhead of the kernel's access
//! pattern. Loads are simulated on the host with the index arithmetic of the kernels, in the file
//! of each format (`formats`). Tests compare them with cases counted by hand.

use ziggurat_sparse::Store;
use ziggurat_sparse::device::HostMatrix;

use crate::formats::traffic;
use crate::requests::SECTOR;

/// Memory traffic of one product y ← A x.
///
/// ```
/// # let Ok(gpu) = ziggurat_gpu::Gpu::best() else { return Ok(()) };
/// use ziggurat_sparse::{Csr, device::HostMatrix};
/// let a: HostMatrix<f64> = Csr::identity(1024)?.into();
/// let bytes = gpu.product_bytes::<f64>(&a);
/// assert_eq!(bytes.least, 1024 * (8 + 4 + 4 + 8 + 8) + 4);
/// assert!(bytes.requested >= bytes.least);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bytes {
    /// Minimum: every array once.
    pub least: usize,
    /// Bytes requested by loads and stores.
    pub requested: usize,
    /// The same two values for a vector with one access per row, such as y.
    pub row_vector: (usize, usize),
}

impl Bytes {
    /// The traffic of an operation that accesses `more` additional vectors once per row: one (b)
    /// for a residual, three (b, d and x) for a sweep, four with momentum.
    ///
    /// ```
    /// use ziggurat_gpu::Bytes;
    /// let product = Bytes { least: 100, requested: 160, row_vector: (16, 32) };
    /// assert_eq!(product.with_vectors(3), Bytes { least: 148, requested: 256, ..product });
    /// ```
    #[must_use]
    pub fn with_vectors(self, more: usize) -> Self {
        let (least, requested) = self.row_vector;
        Bytes { least: self.least + more * least, requested: self.requested + more * requested, ..self }
    }
}

impl crate::Gpu {
    /// The memory traffic of y ← A x, computed in `C` by the kernels of this device.
    pub fn product_bytes<C: Store>(&self, a: &HostMatrix<impl Store>) -> Bytes {
        let computed = size_of::<C>();
        let vectors = computed * (a.rows() + a.cols());
        let (matrix, requests) = traffic(a, computed, self.capabilities());
        let row_vector = (computed * a.rows(), requests.results * SECTOR);
        Bytes { least: matrix + vectors, requested: requests.sectors * SECTOR, row_vector }
    }
}

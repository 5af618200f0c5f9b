//! A matrix of the hierarchy in the memory of the device that made it.
//!
//! The hierarchy does not depend on its device, so it holds such a matrix without its type.
//! Lowering on the same device gets it back as what it is ([`on`]); everything else asks for
//! compressed rows on the host, which are downloaded once.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use ziggurat_sparse::device::{DeviceError, LoweringDevice, SetupDevice, SparseSize};
use ziggurat_sparse::{Csr, Real};

/// A matrix that some device holds.
pub(crate) trait DeviceRows: fmt::Debug + Send + Sync {
    /// Its size.
    fn size(&self) -> SparseSize;

    /// A copy on the host, in double precision.
    fn download(&self) -> Result<Csr<f64>, DeviceError>;

    /// The matrix with its type, [`DeviceMatrix`].
    fn as_any(&self) -> &dyn Any;
}

/// A matrix with the device that holds it.
pub(crate) struct DeviceMatrix<B: SetupDevice, T: Real> {
    pub(crate) device: B,
    pub(crate) a: B::Sparse<T>,
}

impl<B: SetupDevice, T: Real> DeviceMatrix<B, T> {
    pub(crate) fn new(device: &B, a: B::Sparse<T>) -> Arc<Self> {
        Arc::new(DeviceMatrix { device: device.clone(), a })
    }
}

impl<B: SetupDevice, T: Real> fmt::Debug for DeviceMatrix<B, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceMatrix")
            .field("device", &self.device.name())
            .field("size", &self.size())
            .finish()
    }
}

impl<B: SetupDevice, T: Real> DeviceRows for DeviceMatrix<B, T> {
    fn size(&self) -> SparseSize {
        self.device.size(&self.a)
    }

    fn download(&self) -> Result<Csr<f64>, DeviceError> {
        Ok(self.device.download_sparse(&self.a)?.view().stored_as())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// The matrix, if this device holds it in this number type.
pub(crate) fn on<'a, B: LoweringDevice, T: Real>(
    device: &B,
    matrix: &'a dyn DeviceRows,
) -> Option<&'a B::Sparse<T>> {
    let held: &DeviceMatrix<B, T> = matrix.as_any().downcast_ref()?;
    held.device.shares_memory_with(device).then_some(&held.a)
}

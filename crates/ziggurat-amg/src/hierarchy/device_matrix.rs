//! A matrix of the hierarchy in the memory of the device that made it.
//!
//! Lowering on the same device uses it as it is ([`on`]); everything else asks for compressed rows
//! on the host, which are downloaded once.

use std::fmt;
use std::sync::Arc;

use ziggurat_sparse::Csr;
use ziggurat_sparse::device::{Device, DeviceError, SetupDevice, Sparse};

/// A matrix with the device that holds it.
pub(crate) struct DeviceMatrix {
    pub(crate) device: Arc<dyn Device>,
    pub(crate) a: Sparse,
}

impl DeviceMatrix {
    pub(crate) fn new(device: &dyn SetupDevice, a: Sparse) -> Arc<Self> {
        Arc::new(DeviceMatrix { device: device.share(), a })
    }

    /// A copy on the host, in double precision.
    pub(crate) fn download(&self) -> Result<Csr<f64>, DeviceError> {
        match self.device.setup() {
            Some(setup) => setup.download_sparse(&self.a),
            None => unimplemented!("{} does not make levels", self.device.name()),
        }
    }
}

impl fmt::Debug for DeviceMatrix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceMatrix")
            .field("device", &self.device.name())
            .field("size", &self.a.size())
            .finish()
    }
}

/// The matrix, if this device holds it.
pub(crate) fn on<'a>(setup: &dyn SetupDevice, matrix: &'a DeviceMatrix) -> Option<&'a Sparse> {
    setup.shares_memory_with(&*matrix.device).then_some(&matrix.a)
}

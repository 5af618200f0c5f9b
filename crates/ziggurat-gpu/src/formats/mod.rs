//! The matrix formats on a GPU. A file per format contains its kernels, its arrays, their launches
//! and their memory traffic; this file is the only list of formats.

mod bsr;
mod csr;
mod csr_balanced;
mod delta_sell;
mod dia;
mod grid_transfer;
mod tiles;

use ziggurat_sparse::Store;
use ziggurat_sparse::device::{DeviceError, HostMatrix};

use crate::Gpu;
use crate::capabilities::Capabilities;
use crate::device_format::DeviceFormat;
use crate::requests::Requests;
pub(crate) use bsr::BsrArrays;
pub(crate) use csr::CsrArrays;
pub(crate) use delta_sell::{CHUNK_WORDS, DeltaSellArrays, LANES};
use dia::DiaArrays;
use grid_transfer::TransferArrays;
use tiles::TileArrays;

/// Uploads a matrix in the device layout of its format.
pub(crate) fn upload<S: Store>(
    gpu: &Gpu,
    host: &HostMatrix<S>,
) -> Result<Box<dyn DeviceFormat>, DeviceError> {
    Ok(match host {
        HostMatrix::Csr(a) => Box::new(CsrArrays::upload(gpu, a)?),
        HostMatrix::Bsr(a) if !bsr::is_supported(a) => Box::new(CsrArrays::upload(gpu, &a.view().to_csr())?),
        HostMatrix::Bsr(a) => Box::new(BsrArrays::upload(gpu, a)?),
        HostMatrix::Dia(a) => Box::new(DiaArrays::upload(gpu, a)?),
        HostMatrix::DeltaSell(a) => Box::new(DeltaSellArrays::upload(gpu, a)?),
        HostMatrix::Tiles(a) => Box::new(TileArrays::upload(gpu, a)?),
        HostMatrix::GridTransfer(a) => Box::new(TransferArrays::upload(gpu, a)?),
        other => {
            let (device, format) = (gpu.found().name.clone(), other.format());
            return Err(DeviceError::UnknownFormat { device, format });
        }
    })
}

/// The size of the arrays in bytes, and the requests of a product y ← A x whose vectors have
/// elements of `computed` bytes.
pub(crate) fn traffic<S: Store>(
    host: &HostMatrix<S>,
    computed: usize,
    capabilities: &Capabilities,
) -> (usize, Requests) {
    match host {
        HostMatrix::Csr(a) => csr::traffic(a, computed, capabilities),
        HostMatrix::Bsr(a) if !bsr::is_supported(a) => {
            csr::traffic(&a.view().to_csr(), computed, capabilities)
        }
        HostMatrix::Bsr(a) => bsr::traffic(a, computed, capabilities),
        HostMatrix::Dia(a) => dia::traffic(a, computed),
        HostMatrix::DeltaSell(a) => delta_sell::traffic(a, computed),
        HostMatrix::Tiles(a) => tiles::traffic(a, computed, capabilities),
        HostMatrix::GridTransfer(a) => grid_transfer::traffic(a, computed),
        other => (other.bytes(), Requests::default()),
    }
}

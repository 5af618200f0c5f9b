//! Traffic between host and device, for JSON and for people.

use serde::Serialize;
use ziggurat::sparse::device;

use crate::figures::{bytes, counted, grouped};

/// Kernel launches and transfers between host and device.
///
/// ```
/// let counted = ziggurat::sparse::device::Traffic { uploads: 1, uploaded_bytes: 8000, ..Default::default() };
/// assert_eq!(ziggurat_report::Traffic::from(counted).uploaded_bytes, 8000);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Traffic {
    /// Number of kernels launched.
    pub kernels: u64,
    /// Number of those that ran on matrix units (tensor cores).
    pub by_matrix_units: u64,
    /// Number of transfers to the device.
    pub uploads: u64,
    /// Bytes transferred to the device.
    pub uploaded_bytes: u64,
    /// Number of transfers from the device.
    pub downloads: u64,
    /// Bytes transferred from the device.
    pub downloaded_bytes: u64,
}

impl Traffic {
    /// One line for people.
    pub(crate) fn sentence(&self) -> String {
        let times = |count: u64, what| counted(count as usize, what);
        let (up, down) = (bytes(self.uploaded_bytes), bytes(self.downloaded_bytes));
        let (uploads, downloads) = (times(self.uploads, "upload"), times(self.downloads, "download"));
        let by_units = match self.by_matrix_units {
            0 => String::new(),
            count => format!(" ({} by matrix units)", grouped(count as usize)),
        };
        let kernels = times(self.kernels, "kernel");
        format!("{kernels}{by_units}, {uploads} ({up}), {downloads} ({down})")
    }
}

impl From<device::Traffic> for Traffic {
    fn from(traffic: device::Traffic) -> Self {
        let device::Traffic {
            kernels,
            by_matrix_units,
            uploads,
            uploaded_bytes,
            downloads,
            downloaded_bytes,
        } = traffic;
        Traffic { kernels, by_matrix_units, uploads, uploaded_bytes, downloads, downloaded_bytes }
    }
}

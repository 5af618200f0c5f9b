//! Traffic to and from a device with its own memory.
//!
//! Transfers between memories are slow, and a synchronisation costs as much as a small kernel. So
//! such a device counts both: reports show the traffic of a solve, and tests check that vectors
//! stay on the device. Counting costs an addition per call.

use serde::Serialize;

/// Numbers of kernels and transfers, and bytes transferred.
///
/// ```
/// use ziggurat_sparse::device::{Cpu, Device, Traffic};
/// assert_eq!(Cpu::new().traffic(), None); // its memory is the host's
/// let before = Traffic { kernels: 10, uploads: 1, uploaded_bytes: 800, ..Traffic::default() };
/// let after = Traffic { kernels: 15, downloads: 1, downloaded_bytes: 8, ..before };
/// let solve = after.since(before);
/// assert_eq!((solve.kernels, solve.uploaded_bytes, solve.downloaded_bytes), (5, 0, 8));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Traffic {
    /// Kernels launched.
    pub kernels: u64,
    /// Launched kernels that ran on matrix units (tensor cores).
    pub by_matrix_units: u64,
    /// Transfers from the host to the device.
    pub uploads: u64,
    /// Bytes transferred by them.
    pub uploaded_bytes: u64,
    /// Transfers from the device to the host. Each waits for all previously queued work.
    pub downloads: u64,
    /// Bytes transferred by them.
    pub downloaded_bytes: u64,
}

impl Traffic {
    /// The traffic since an earlier count of the same device.
    ///
    /// ```
    /// use ziggurat_sparse::device::Traffic;
    /// let count = Traffic { kernels: 3, ..Traffic::default() };
    /// assert_eq!(count.since(count), Traffic::default());
    /// ```
    #[must_use]
    pub fn since(self, earlier: Traffic) -> Traffic {
        Traffic {
            kernels: self.kernels.saturating_sub(earlier.kernels),
            by_matrix_units: self.by_matrix_units.saturating_sub(earlier.by_matrix_units),
            uploads: self.uploads.saturating_sub(earlier.uploads),
            uploaded_bytes: self.uploaded_bytes.saturating_sub(earlier.uploaded_bytes),
            downloads: self.downloads.saturating_sub(earlier.downloads),
            downloaded_bytes: self.downloaded_bytes.saturating_sub(earlier.downloaded_bytes),
        }
    }
}

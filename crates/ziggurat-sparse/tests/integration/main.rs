//! The public interface: devices against the conformance suite, and files of every format.

#[cfg(feature = "conformance")]
mod aggregation_catches;
#[cfg(feature = "conformance")]
mod classical_catches;
#[cfg(feature = "conformance")]
mod conformance;
#[cfg(feature = "conformance")]
mod conformance_catches;
#[cfg(feature = "conformance")]
mod dispatch_catches;
mod file_formats;
#[cfg(feature = "hdf5")]
mod hdf5_files;
#[cfg(feature = "conformance")]
mod lowering_catches;
mod matrix_market;
mod matrix_market_parts;
mod shared_matrices;

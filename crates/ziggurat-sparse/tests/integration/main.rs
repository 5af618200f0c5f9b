//! The public interface: devices against the conformance suite, and Matrix Market files.

#[cfg(feature = "conformance")]
mod conformance;
#[cfg(feature = "conformance")]
mod conformance_catches;
mod matrix_market;
mod matrix_market_parts;
mod shared_matrices;

//! The CPU.

pub(crate) mod simd;

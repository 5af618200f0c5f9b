//! Every method on several devices and in several precisions: solutions, stop reasons,
//! reproducibility.

// Clippy does not recognise test helpers.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod answers;
mod compressed_basis;
mod invalid_input;
mod matrices;
mod processes;
mod reasons;
mod richardson;
mod same_bits;
mod singular;

//! Every method on several devices and in several precisions: solutions, stop reasons,
//! reproducibility.

#![allow(clippy::unwrap_used)] // clippy does not recognise test helpers

mod answers;
mod invalid_input;
mod matrices;
mod processes;
mod reasons;
mod same_bits;
mod singular;

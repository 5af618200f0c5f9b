//! Every method, on every device and in every number: right answers, honest reasons, the same bits.

#![allow(clippy::unwrap_used, clippy::expect_used)] // tests, whose helpers clippy does not recognise as such

mod answers;
mod matrices;
mod processes;
mod questions;
mod reasons;
mod same_bits;
mod singular;

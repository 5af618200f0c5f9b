//! Strength of connection: which neighbours matter for a row's error.

mod graph;

pub use graph::StrongGraph;

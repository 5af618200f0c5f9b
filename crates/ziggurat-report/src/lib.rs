//! Reports about a solve as JSON, plain text, SVG charts and HTML pages.
//!
//! - [`Outcome`]: the data of a report; [`Outcome::of`] collects it from a solver. Its field names
//!   are the keys of the JSON report and are stable.
//! - [`text()`]: the report for a terminal.
//! - [`page()`]: a self-contained HTML page; [`html`]: fragments of it for notebooks.
//! - [`chart`]: SVG charts of residuals, levels, setup stages and the sparsity pattern.
//! - [`facts()`]: a matrix diagnosis in words; [`figures`]: number formatting.

#![forbid(unsafe_code)]

pub mod chart;
mod density;
mod facts;
pub mod figures;
pub mod html;
mod level;
mod machine;
mod outcome;
mod page;
mod palette;
mod ranks;
mod rate;
mod text;
mod traffic;
mod verdict;

pub use density::Density;
pub use facts::facts;
pub use level::{Distribution, Level, levels};
pub use outcome::{NextStep, Outcome, peak_bytes};
pub use page::{Page, page};
pub use palette::palette_json;
pub use ranks::{Crowded, Ranks};
pub use text::{levels_text, text};
pub use traffic::Traffic;

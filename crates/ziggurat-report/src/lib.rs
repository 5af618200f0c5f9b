//! How a solve went: as JSON whose keys are a contract, as text, as pictures and as a page.
//!
//! - [`Outcome`]: what is known of a solve; [`Outcome::of`] collects it from a solver.
//! - [`text()`]: the same for a terminal; [`page()`]: a page that needs nothing else; [`html`]: parts of it, for notebooks.
//! - [`chart`]: pictures as SVG: residuals, levels, stages, the matrix.
//! - [`facts()`]: a diagnosis in words; [`figures`]: numbers as people read them.

#![forbid(unsafe_code)]

pub mod chart;
mod density;
mod facts;
pub mod figures;
pub mod html;
mod level;
mod outcome;
mod page;
mod text;

pub use density::Density;
pub use facts::facts;
pub use level::{Distribution, Level, levels};
pub use outcome::{Outcome, Ranks, Traffic, peak_bytes};
pub use page::{Page, page};
pub use text::{levels_text, text};

//! How a solve went, for Python: the outcome that the command reports, with its words and pictures.

use std::sync::Arc;

use pyo3::prelude::*;
use ziggurat_report::{self as report, chart, html};

use crate::solver::to_json;

/// How a solve went.
#[pyclass(frozen, module = "ziggurat._native")]
#[derive(Clone)]
pub(crate) struct Outcome {
    pub(crate) about: Arc<report::Outcome>,
    pub(crate) b_norm: f64,
}

#[pymethods]
impl Outcome {
    /// All of it, as JSON: the keys are those of `ziggurat solve --json`.
    fn json(&self, py: Python<'_>) -> PyResult<String> {
        to_json(py, &*self.about)
    }

    /// Why the iteration stopped, in words that say what to try.
    fn reason(&self) -> &str {
        &self.about.stop_text
    }

    /// What residuals are relative to: the norm of the right-hand side.
    fn b_norm(&self) -> f64 {
        self.b_norm
    }

    /// The report for people.
    fn text(&self, name: &str) -> String {
        report::text(name, &self.about)
    }

    /// What a notebook shows.
    fn html(&self, name: &str) -> String {
        html::fragment(name, &self.about)
    }

    /// The convergence, as SVG.
    fn convergence(&self) -> String {
        chart::convergence(&self.about.curves(""), Some(self.about.config.stopping.rtol))
    }
}

//! The outcome of a solve, for Python: the same data, text and charts as in the `ziggurat` command.

use std::sync::Arc;

use pyo3::prelude::*;
use ziggurat_report::{self as report, chart, html};

use crate::json::to_json;

/// The outcome of a solve.
#[pyclass(frozen, module = "ziggurat._native")]
#[derive(Clone)]
pub(crate) struct Outcome {
    pub(crate) outcome: Arc<report::Outcome>,
    pub(crate) b_norm: f64,
}

#[pymethods]
impl Outcome {
    /// All fields as JSON, with the keys of `ziggurat solve --json`.
    fn json(&self, py: Python<'_>) -> PyResult<String> {
        to_json(py, &*self.outcome)
    }

    /// Why the iteration stopped, in a sentence that says what to try.
    fn reason(&self) -> &str {
        &self.outcome.stop_text
    }

    /// The norm of the right-hand side, to which residuals are relative.
    fn b_norm(&self) -> f64 {
        self.b_norm
    }

    /// The report as text.
    fn text(&self, name: &str) -> String {
        report::text(name, &self.outcome)
    }

    /// The report as HTML, for notebooks.
    fn html(&self, name: &str) -> String {
        html::fragment(name, &self.outcome)
    }

    /// The convergence chart as SVG.
    fn convergence(&self) -> String {
        chart::convergence(&self.outcome.curves(""), Some(self.outcome.tolerance))
    }
}

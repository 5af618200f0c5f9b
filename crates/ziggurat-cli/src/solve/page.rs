//! `--report FILE`: the page about a solve, with the command that leads to it.

use std::path::Path;

use ziggurat_report::{Outcome, Page, page};
use ziggurat_sparse::{CsrRef, parallel};

use crate::failure::Failure;
use crate::output;

/// Writes the page. Under MPI no process has the whole matrix, so there is none to give.
pub(super) fn write(
    path: &Path,
    name: &str,
    outcome: &Outcome,
    matrix: Option<CsrRef<'_, f64>>,
    command: &str,
) -> Result<(), Failure> {
    let threads = parallel::threads();
    let page = page(&Page { name, outcome, matrix, command, threads });
    output::write(path, &page)
}

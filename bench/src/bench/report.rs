//! The JSON file of a benchmark: its numbers, the machine and the revision.
//!
//! It contains no date: two runs of the same code on the same machine differ only in their numbers.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde::Serialize;
use serde_json::Value;

use super::BenchError;
use super::machine::Machine;

/// The result of a benchmark and its context.
#[derive(Debug, Serialize)]
pub(crate) struct Report<'a> {
    pub(crate) bench: &'a str,
    /// Whether the sizes were small; then the times are meaningless.
    pub(crate) quick: bool,
    pub(crate) rounds: usize,
    pub(crate) threads: &'a [usize],
    /// `None` outside a git repository.
    pub(crate) revision: Option<Revision>,
    pub(crate) machine: &'a Machine,
    /// The load average of the minute before the benchmark began. Other programs took this share.
    pub(crate) load: Option<f64>,
    /// Fraction of the processor time that the host of a virtual machine took during the benchmark.
    pub(crate) stolen: Option<f64>,
    pub(crate) results: &'a Value,
}

/// The code that was measured.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Revision {
    /// The commit that is checked out.
    pub(crate) commit: String,
    /// Whether files differ from it.
    pub(crate) modified: bool,
}

impl Report<'_> {
    /// Writes the report to `path` and creates its folder if necessary.
    pub(crate) fn write(&self, path: &Path) -> Result<(), BenchError> {
        let text = serde_json::to_string_pretty(self)? + "\n";
        let failed = |source| BenchError::Write { path: path.to_owned(), source };
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(failed)?;
        }
        fs::write(path, text).map_err(failed)
    }
}

/// The revision of the working copy at `root`.
pub(crate) fn revision(root: &Path) -> Option<Revision> {
    let git = |args: &[&str]| {
        let output = Command::new("git").args(args).current_dir(root).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| text.trim().to_owned())
    };
    Some(Revision {
        commit: git(&["rev-parse", "HEAD"])?,
        modified: !git(&["status", "--porcelain"])?.is_empty(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_without_git_has_no_revision() {
        assert_eq!(revision(Path::new("/no/such/folder")), None);
    }

    #[test]
    fn a_report_that_cannot_be_written_names_the_file() {
        let machine = Machine::default();
        let report = Report {
            bench: "x",
            quick: true,
            rounds: 1,
            threads: &[1],
            revision: None,
            machine: &machine,
            load: None,
            stolen: Some(0.25),
            results: &Value::Null,
        };
        let error = report.write(Path::new("/proc/no/such.json")).unwrap_err();
        assert!(error.to_string().contains("/proc/no/such.json"), "{error}");
    }
}

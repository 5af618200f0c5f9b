//! The MPI ranks of a solve and their threads, for reports.

use serde::Serialize;

use crate::figures::counted;

/// The MPI ranks of a solve.
///
/// ```
/// let ranks = ziggurat_report::Ranks { count: 4, threads: 1, crowded: None, peak_bytes_total: None };
/// assert!(serde_json::to_string(&ranks)?.starts_with(r#"{"count":4,"#));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Ranks {
    /// Number of ranks.
    pub count: usize,
    /// Threads per rank.
    pub threads: usize,
    /// A machine on which threads share cores, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub crowded: Option<Crowded>,
    /// Sum of the peak memory of all ranks.
    pub peak_bytes_total: Option<u64>,
}

/// A machine on which the ranks have more threads than cores.
///
/// ```
/// let crowded = ziggurat_report::Crowded { threads: 8, cores: 2 };
/// assert_eq!(serde_json::to_string(&crowded)?, r#"{"threads":8,"cores":2}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Crowded {
    /// Threads of all ranks on the machine.
    pub threads: usize,
    /// Cores to which these ranks are bound.
    pub cores: usize,
}

impl Ranks {
    /// How many ranks and threads there are, and whether they share cores.
    pub(crate) fn sentence(&self) -> String {
        let each = if self.count == 1 { "" } else { " each" };
        let ranks = format!("{} with {}{each}", self.count, counted(self.threads, "thread"));
        match self.crowded {
            None => ranks,
            Some(Crowded { threads, cores }) => {
                let [threads, cores] = [counted(threads, "thread"), counted(cores, "core")];
                format!("{ranks}: {threads} share {cores} of a machine")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_cores_are_said() {
        let ranks = Ranks { count: 2, threads: 1, crowded: None, peak_bytes_total: None };
        assert_eq!(ranks.sentence(), "2 with 1 thread each");
        assert!(!serde_json::to_string(&ranks).unwrap().contains("crowded"));
        let crowded = Some(Crowded { threads: 8, cores: 2 });
        let ranks = Ranks { threads: 4, crowded, ..ranks };
        assert_eq!(ranks.sentence(), "2 with 4 threads each: 8 threads share 2 cores of a machine");
    }
}

//! The table of a hierarchy, for diagnosing setup.
//!
//! A row sum far above the diagonal, an interpolation weight far above one, or a level with
//! thousands of entries per row shows at a glance which step failed.

use std::fmt;

use ziggurat_sparse::Csr;

use super::Hierarchy;

/// Smallest and largest of some numbers; (0, 0) if there are none.
fn extremes(numbers: impl Iterator<Item = f64>) -> (f64, f64) {
    let range = numbers.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
    if range.0 > range.1 { (0.0, 0.0) } else { range }
}

fn row_sums(a: &Csr<f64>) -> impl Iterator<Item = f64> + '_ {
    a.all_rows().map(|row| a.row(row).1.iter().sum())
}

impl fmt::Display for Hierarchy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "level       rows        entries  per row min  avg   max    row sums from        to  weights from     to     ms"
        )?;
        for (index, level) in self.levels.iter().enumerate() {
            let a = level.matrix();
            let lengths = a.row_ptr().windows(2).map(|w| (w[1] - w[0]) as f64);
            let (shortest, longest) = extremes(lengths);
            let average = a.nnz() as f64 / a.rows().max(1) as f64;
            let (low, high) = extremes(row_sums(a));
            write!(
                f,
                "{index:>5} {:>10} {:>14} {shortest:>12} {average:>4.0} {longest:>5}",
                a.rows(),
                a.nnz()
            )?;
            write!(f, " {low:>16.3e} {high:>9.3e}")?;
            match level.prolongation() {
                Some(p) => {
                    let (low, high) = extremes(p.values().iter().copied());
                    write!(f, " {low:>13.3} {high:>6.3}")?;
                }
                None => write!(f, " {:>13} {:>6}", "", "")?,
            }
            writeln!(f, " {:>6.0}", level.seconds() * 1e3)?;
        }
        let stages = self.stages();
        let stages = stages.iter().map(|(stage, seconds)| format!("{stage} {:.0}", seconds * 1e3));
        writeln!(f, "ms by stage: {}", stages.collect::<Vec<_>>().join(", "))?;
        writeln!(
            f,
            "operator complexity {:.2}, grid complexity {:.2}; coarsening stopped: {}; {:.3} s",
            self.operator_complexity(),
            self.grid_complexity(),
            self.stop,
            self.seconds
        )
    }
}

impl fmt::Display for super::CoarseningStop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use super::CoarseningStop::{MaxLevels, NothingToCoarsen, SmallEnough, Stalled};
        f.write_str(match self {
            SmallEnough => "the coarsest level is small enough to be solved directly",
            MaxLevels => "the maximum number of levels was reached",
            Stalled => "the next level would hardly be smaller; a higher strength threshold may help",
            NothingToCoarsen => "no row is strongly connected to another; smoothing alone suffices",
        })
    }
}

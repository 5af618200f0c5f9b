//! Application of one multigrid cycle to vectors from Python, with reuse of workspaces.

use std::sync::Mutex;

use ziggurat::SolveError;
use ziggurat::amg::Multigrid;
use ziggurat::sparse::device::Cpu;
use ziggurat::sparse::operator::{LinearOperator, Workspace};

/// A cycle with its workspaces.
pub(crate) struct Cycle {
    pub(crate) multigrid: Multigrid<Cpu>,
    pub(crate) workspaces: Workspaces,
}

/// Idle workspaces: at most as many as there were concurrent applications.
///
/// Each is stored with the address of the cycle that it belongs to, because a solve that promotes
/// levels to a wider precision replaces the cycle.
#[derive(Default)]
pub(crate) struct Workspaces(Mutex<Vec<(usize, Workspace)>>);

impl Workspaces {
    /// Applies one cycle to each of the concatenated `columns`.
    pub(crate) fn apply(
        &self,
        multigrid: &Multigrid<Cpu>,
        columns: Vec<f64>,
        rows: usize,
    ) -> Result<Vec<f64>, SolveError> {
        let cpu = Cpu::new();
        // A child of a fork may inherit this locked. Then it goes without.
        let idle = self.0.try_lock().ok().and_then(|mut idle| idle.pop());
        let address = std::ptr::from_ref(multigrid) as usize;
        let mut work = match idle {
            Some((cycle, work)) if cycle == address => work,
            _ => LinearOperator::<Cpu, f64>::workspace(multigrid, &cpu)?,
        };
        let mut x = vec![0.0; rows];
        let solved = if columns.len() == rows {
            multigrid.apply(&cpu, &columns, &mut x, &mut work);
            x
        } else {
            let mut solved = Vec::with_capacity(columns.len());
            for b in columns.chunks_exact(rows.max(1)) {
                multigrid.apply(&cpu, &b.to_vec(), &mut x, &mut work);
                solved.extend_from_slice(&x);
            }
            solved
        };
        if let Ok(mut idle) = self.0.try_lock() {
            idle.push((address, work));
        }
        Ok(solved)
    }
}

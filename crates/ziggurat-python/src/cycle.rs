//! Application of one multigrid cycle to vectors from Python, with reuse of workspaces.

use std::sync::Mutex;

use ziggurat::SolveError;
use ziggurat::amg::Multigrid;
use ziggurat::sparse::Kind;
use ziggurat::sparse::device::{Cpu, DeviceExt, Vector};
use ziggurat::sparse::operator::{LinearOperator, Workspace};

/// A cycle with its workspaces.
pub(crate) struct Cycle {
    pub(crate) multigrid: Multigrid,
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
        multigrid: &Multigrid,
        columns: Vec<f64>,
        rows: usize,
    ) -> Result<Vec<f64>, SolveError> {
        let cpu = Cpu::new();
        // A child of a fork may inherit this locked. Then it goes without.
        let idle = self.0.try_lock().ok().and_then(|mut idle| idle.pop());
        let address = std::ptr::from_ref(multigrid) as usize;
        let mut work = match idle {
            Some((cycle, work)) if cycle == address => work,
            _ => multigrid.workspace(&cpu, Kind::F64)?,
        };
        let mut x = Vector::from(vec![0.0; rows]);
        let solved = if columns.len() == rows {
            multigrid.apply(&cpu, &columns.into(), &mut x, &mut work);
            cpu.to_host(x)?
        } else {
            let (mut r, mut solved) = (Vector::from(vec![0.0; rows]), vec![0.0; columns.len()]);
            let rows = rows.max(1);
            for (b, z) in columns.chunks_exact(rows).zip(solved.chunks_exact_mut(rows)) {
                cpu.overwrite(b, &mut r)?;
                multigrid.apply(&cpu, &r, &mut x, &mut work);
                cpu.copy_to(&x, z)?;
            }
            solved
        };
        if let Ok(mut idle) = self.0.try_lock() {
            idle.push((address, work));
        }
        Ok(solved)
    }
}

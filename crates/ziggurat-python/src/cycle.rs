//! One multigrid cycle for as many vectors as Python gives, without making its workspace anew each time.

use std::sync::{Mutex, PoisonError};

use ziggurat::SolveError;
use ziggurat::amg::Multigrid;
use ziggurat::sparse::device::Cpu;
use ziggurat::sparse::operator::{LinearOperator, Workspace};

/// A cycle and the vectors it needs, which one application takes and gives back.
pub(crate) struct Cycle {
    pub(crate) multigrid: Multigrid<Cpu>,
    pub(crate) spare: Spare,
}

/// Workspaces that nobody uses at the moment, as many as there were applications at the same time, each with the cycle that it
/// belongs to (by its address): a solve that made levels wider has put another in its place.
#[derive(Default)]
pub(crate) struct Spare(Mutex<Vec<(usize, Workspace)>>);

impl Spare {
    /// One cycle for every column of b.
    pub(crate) fn apply(
        &self,
        multigrid: &Multigrid<Cpu>,
        columns: &[f64],
        rows: usize,
    ) -> Result<Vec<f64>, SolveError> {
        let cpu = Cpu::new();
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (kept, whose) = (lock().pop(), std::ptr::from_ref(multigrid) as usize);
        let mut work = match kept {
            Some((cycle, work)) if cycle == whose => work,
            _ => LinearOperator::<Cpu, f64>::workspace(multigrid, &cpu)?,
        };
        let mut solved = Vec::with_capacity(columns.len());
        let mut x = vec![0.0; rows];
        for b in columns.chunks_exact(rows.max(1)) {
            multigrid.apply(&cpu, &b.to_vec(), &mut x, &mut work);
            solved.extend_from_slice(&x);
        }
        lock().push((whose, work));
        Ok(solved)
    }
}

//! The methods of a solver that are expensive to compile, as function pointers.
//!
//! `Solver` is generic over its device, and generic code is compiled in every crate that calls it:
//! half a minute each time a program that uses a `Solver` is edited. For the CPU, [`on_cpu`], which
//! is not generic, makes the pointers, so the code behind them is compiled once, in this crate. A
//! solver carries the pointers of its device.

use std::sync::Arc;

use ziggurat_amg::interpolate::NearKernel;
use ziggurat_amg::{Cancel, Hierarchy, Multigrid};
use ziggurat_krylov::Observer;
use ziggurat_sparse::Csr;
use ziggurat_sparse::device::{Cpu, Device};

use super::{Solution, SolveError, SolveOptions, Solver, Updated};
use crate::SolverConfig;

type SetUp<D> =
    fn(D, &Arc<Csr<f64>>, Option<NearKernel>, SolverConfig, Cancel) -> Result<Solver<D>, SolveError>;
type TakeOver<D> =
    fn(D, Hierarchy, Option<NearKernel>, SolverConfig, Cancel) -> Result<Solver<D>, SolveError>;
type Solve<D> = fn(
    &Solver<D>,
    &[f64],
    Option<&[f64]>,
    &SolveOptions,
    Option<&mut Observer<'_>>,
) -> Result<Solution, SolveError>;
type Update<D> = fn(&mut Solver<D>, Arc<Csr<f64>>) -> Result<Updated, SolveError>;
type Transposed<D> = fn(&Solver<D>) -> Result<Multigrid<D>, SolveError>;

/// The pointers for one device.
#[derive(Clone, Debug)]
pub(super) struct Compiled<D: Device> {
    pub(super) set_up: SetUp<D>,
    pub(super) take_over: TakeOver<D>,
    pub(super) solve: Solve<D>,
    pub(super) solve_transposed: Solve<D>,
    pub(super) update: Update<D>,
    pub(super) transposed: Transposed<D>,
}

impl<D: Device> Compiled<D> {
    pub(super) fn new() -> Self {
        Compiled {
            set_up: Solver::<D>::set_up,
            take_over: Solver::<D>::take_over,
            solve: Solver::<D>::solve_here,
            solve_transposed: Solver::<D>::solve_transposed_here,
            update: Solver::<D>::update_here,
            transposed: Solver::<D>::transposed_here,
        }
    }
}

/// The pointers for the CPU. Not generic and not inlined: see the module.
#[inline(never)]
pub(super) fn on_cpu() -> Compiled<Cpu> {
    Compiled::new()
}

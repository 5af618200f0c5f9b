//! Krylov methods for A x = b, on any device and any number of processes.
//!
//! A method applies the matrix and the preconditioner as [linear
//! operators](ziggurat_sparse::operator) and keeps its vectors on a
//! [device](ziggurat_sparse::device::Device). The device computes inner products over all processes
//! that share the vectors, so every method runs unchanged on a GPU and under MPI.
//!
//! | method | for | vectors stored | reductions per iteration |
//! |---|---|---|---|
//! | [`cg`](cg()) | A and M symmetric positive definite | 4 | 3 |
//! | [`flexible_cg`](flexible_cg()) | the same; M may vary or be slightly nonsymmetric | 4 | 3 |
//! | [`gmres`](gmres()) | any A, fixed M | restart + 2 | 2 to 4 |
//! | [`fgmres`](fgmres()) | any A, M may vary | 2 restart + 1 | 2 to 4 |
//! | [`bicgstab`](bicgstab()) | any A, fixed M, little memory | 7 | 5, for two products with A |
//! | [`minres`](minres()) | A symmetric, possibly indefinite; M symmetric positive definite | 7 | 3 |
//! | [`idr`](idr()) | any A, fixed M, fewer products than BiCGStab | 15 | 6 |
//! | [`cgs`](cgs()) | any A, fixed M, little memory | 7 | 3, for two products with A |
//! | [`richardson`](richardson()) | M alone, without a Krylov method | 2 | 1 |
//!
//! GMRES and FGMRES are one loop over a basis, which can be stored in fewer bits
//! ([`compressed_basis`]). IDR's shadow vectors are hashes of global row indices, so that they do
//! not depend on the distribution. Any method can precondition another one ([`InnerSolver`]):
//! methods do not know what preconditions them.
//!
//! A method takes one [`LinearProblem`]: the device, the [`System`] (matrix, preconditioner, null
//! space), the right-hand side, the stopping criteria and an optional observer. Its vectors are
//! allocated once, in a [`Work`], and used for many solves. Each method has a file with its
//! recurrence; `run.rs` applies A and M, counts iterations and decides when to stop; `method.rs`
//! names the methods, and `work.rs` selects one.
//!
//! **Convergence is verified.** A method reports [`Converged`](StopReason::Converged) only after
//! computing b − A x from x and finding its norm within the tolerances of [`Stopping`]. If its
//! recurrence has drifted from the true residual, it restarts from the true residual; if that does
//! not help, it reports [`Stagnated`](StopReason::Stagnated). Failure to converge is a
//! [`StopReason`] that says what to try; an error ([`KrylovError`]) means that the input is
//! invalid.
//!
//! ```
//! use ziggurat_krylov::{LinearProblem, Method, System, Work, solve};
//! use ziggurat_sparse::Csr;
//! use ziggurat_sparse::device::{Cpu, Vector};
//! use ziggurat_sparse::operator::MatrixOperator;
//!
//! let a = Csr::try_new(2, 2, vec![0, 2, 4], vec![0, 1, 0, 1], vec![4.0, 1.0, 1.0, 3.0])?;
//! let device = Cpu::new();
//! let a = MatrixOperator::new(&device, a)?;
//! let system = System::new(&a);
//! let mut work = Work::new(Method::Cg, &device, &system)?; // reusable for any number of solves
//! let (b, mut x) = (Vector::from(vec![1.0, 2.0]), Vector::from(vec![0.0; 2]));
//! let report = solve(LinearProblem::new(&device, &system, &b), &mut x, &mut work)?;
//! assert!(report.reason.is_converged() && report.iterations <= 2);
//! let x = x.elements::<f64>().unwrap();
//! assert!((x[0] - 1.0 / 11.0).abs() < 1e-8 && (x[1] - 7.0 / 11.0).abs() < 1e-8);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

mod arnoldi;
pub mod bicgstab;
pub mod cg;
pub mod cgs;
pub mod compressed_basis;
mod error;
pub mod fgmres;
mod flat;
pub mod flexible_cg;
mod givens;
pub mod gmres;
mod goal;
mod gram_schmidt;
pub mod idr;
mod inner_solver;
mod method;
pub mod minres;
mod observer;
mod problem;
mod report;
pub mod richardson;
mod run;
mod shadow;
mod stop;
mod system;
mod work;

pub use bicgstab::{BiCgStabWork, bicgstab};
pub use cg::{CgWork, cg};
pub use cgs::{CgsWork, cgs};
pub use compressed_basis::Basis;
pub use error::KrylovError;
pub use fgmres::{FgmresWork, fgmres};
pub use flexible_cg::flexible_cg;
pub use gmres::{ArnoldiWork, GmresWork, gmres};
pub use idr::{IdrWork, idr};
pub use inner_solver::InnerSolver;
pub use method::{DEFAULT_RESTART, Krylov, MAX_RESTART, Method};
pub use minres::{MinresWork, minres};
pub use observer::{Observer, Progress};
pub use problem::LinearProblem;
pub use report::KrylovReport;
pub use richardson::{RichardsonWork, richardson};
pub use stop::{Combine, StopReason, Stopping};
pub use system::System;
pub use work::{Work, solve};

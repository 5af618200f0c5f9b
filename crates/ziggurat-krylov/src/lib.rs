//! Krylov methods for A x = b, each written once.
//!
//! A method sees the matrix and the preconditioner as [linear operators](ziggurat_sparse::operator), its vectors on a
//! [device](ziggurat_sparse::device::Device). The device forms inner products over all processes that share the vectors, so
//! a method runs unchanged on a GPU and under MPI.
//!
//! | method | for | keeps (vectors) | inner products are summed |
//! |---|---|---|---|
//! | [`cg`](cg()) | A and M symmetric positive definite | 4 | 3 times per iteration |
//! | [`flexible_cg`](flexible_cg()) | the same, M may change or be a little unsymmetric | 4 | 3 times |
//! | [`gmres`](gmres()) | any A, fixed M | restart + 2 | 2 to 4 times |
//! | [`fgmres`](fgmres()) | any A, M may change | 2 restart + 1 | 2 to 4 times |
//! | [`bicgstab`](bicgstab()) | any A, fixed M, little memory | 7 | 5 times, for two products with A |
//!
//! **Nothing lies.** A method says [`Converged`](StopReason::Converged) only after it has computed b − A x anew and found
//! ‖b − A x‖ ≤ max(rtol ‖b‖, atol). If its own recurrence promised more than is true, it starts again from the true
//! residual; if that does not help, it says [`Stagnated`](StopReason::Stagnated). Not converging is an answer, a
//! [`StopReason`] that says what to try; an error ([`KrylovError`]) means that the question made no sense.
//!
//! ```
//! use ziggurat_krylov::{LinearProblem, Method, System, Work, solve};
//! use ziggurat_sparse::Csr;
//! use ziggurat_sparse::device::Cpu;
//! use ziggurat_sparse::operator::MatrixOperator;
//!
//! let a = Csr::try_new(2, 2, vec![0, 2, 4], vec![0, 1, 0, 1], vec![4.0, 1.0, 1.0, 3.0])?;
//! let device = Cpu::new();
//! let a = MatrixOperator::new(&device, a)?;
//! let system = System::new(&a);
//! let mut work = Work::new(Method::Cg, &device, &system)?; // once; for as many solves as you like
//! let (b, mut x) = (vec![1.0_f64, 2.0], vec![0.0; 2]);
//! let report = solve(LinearProblem::new(&device, &system, &b), &mut x, &mut work)?;
//! assert!(report.reason.is_converged() && report.iterations <= 2);
//! assert!((x[0] - 1.0 / 11.0).abs() < 1e-8 && (x[1] - 7.0 / 11.0).abs() < 1e-8);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]

pub mod bicgstab;
pub mod cg;
mod error;
pub mod fgmres;
pub mod flexible_cg;
mod givens;
pub mod gmres;
mod gram_schmidt;
mod method;
mod observer;
mod problem;
mod report;
mod run;
mod stop;
mod system;

pub use bicgstab::{BiCgStabWork, bicgstab};
pub use cg::{CgWork, cg};
pub use error::KrylovError;
pub use fgmres::{FgmresWork, fgmres};
pub use flexible_cg::flexible_cg;
pub use gmres::{ArnoldiWork, GmresWork, gmres};
pub use method::{DEFAULT_RESTART, Krylov, Method, Work, solve};
pub use observer::{Observer, Progress};
pub use problem::LinearProblem;
pub use report::KrylovReport;
pub use stop::{StopReason, Stopping};
pub use system::System;

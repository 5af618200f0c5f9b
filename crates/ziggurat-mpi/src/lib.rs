//! Algebraic multigrid on any number of MPI ranks. The hierarchy is the same, bit for bit, on any
//! number of ranks.
//!
//! - [`DistributedCsr`]: a matrix whose rows are distributed over ranks. It is built from own rows,
//!   from entries given on any rank, from a model problem or from a file.
//! - [`DistributedSolver`]: set up once, solve often. Every method is collective.
//! - [`comm`]: communicators. [`Mpi`] duplicates a communicator of C or Fortran, or the world;
//!   [`Alone`] is one process without MPI.
//! - [`Threads`]: how many threads a rank has.
//! - `include/ziggurat_mpi.h`: handles for programs in C, and setup and solve in one call.
//!
//! This crate moves rows between ranks. The computations are the kernels of `ziggurat-amg`, which
//! do not depend on ranks. No rank holds an array as long as the matrix, or a list of all ranks.
//!
//! | module | contents |
//! |---|---|
//! | `partition` | which rank owns which rows, without a list of all ranks |
//! | `neighbourhood` | the rows of other ranks that a rank knows, and the exchange of their values: `Halo` and `Processes` under MPI |
//! | `matrix`, `rows`, `triple_product`, `transpose`, `grid`, `input` | a rank's rows of a matrix; rows in transit; Galerkin products; transposes; slabs of a structured grid; files and model problems, of which each rank reads its part |
//! | `setup` | `LevelMatrix` for [`DistributedCsr`]: halo rows, Galerkin product, and agglomeration: which ranks own the next level |
//! | `device`, `border`, `split` | the device of one rank ([`Distributed`]): own columns by any `Device`, halo columns when they have arrived, reductions over ranks |
//! | `solver`, `levels`, `report` | the solver; its levels as input to lowering; what each level looks like over all ranks |
//! | `placed`, `update`, `redistribution` | the caller's matrix in the sign and distribution of the levels; new values in the same pattern; vectors between the caller's rows and the internal ones |
//! | `whole` | the hierarchy of all ranks as one process has it, and back: for files |
//! | `coordinates`, `near_kernel` | rigid-body modes and near-null spaces from what each rank has |
//! | `c` | for C and Fortran: handles, files, and setup and solve in one call |
//!
//! # Failures
//!
//! If a rank fails, all ranks stop, and no rank waits for ever:
//!
//! - An error that may occur on one rank alone, such as an invalid entry or a failed allocation, is
//!   returned on all ranks. Other ranks get [`DistributedError::Elsewhere`] with its message.
//! - If a rank fails at a place where the others wait for its messages, it waits 30 seconds
//!   ([`Mpi::with_patience`]) for them to notice. Then it writes its message to standard error
//!   ([`Mpi::with_last_words`]) and calls `MPI_Abort`.
//! - A panic on one rank, also in an observer, does the same without waiting.
//! - An error of MPI itself ends all ranks: `MPI_ERRORS_ARE_FATAL`.
//! - Arguments that must be the same on every rank are compared.
//!
//! A communicator of one rank is never aborted.
//!
//! ```no_run
//! use std::sync::Arc;
//! use ziggurat::SolverConfig;
//! use ziggurat_mpi::{Comm, DistributedCsr, DistributedSolver, Mpi, Session, Threads};
//! let session = Session::start()?; // a library uses its caller's communicator instead
//! let comm: Arc<dyn Comm> = Arc::new(Mpi::world()?);
//! let threads = Threads::of_ranks(&*comm, None).count;
//! rayon::ThreadPoolBuilder::new().num_threads(threads).use_current_thread().build_global()?;
//! let a = DistributedCsr::generate(&comm, "poisson3d:100".parse()?)?;
//! let solver = DistributedSolver::new(&a, SolverConfig::default())?;
//! let solution = solver.solve(&vec![1.0; a.own_rows().count()])?;
//! if comm.rank() == 0 {
//!     println!("{} iterations", solution.report.iterations);
//! }
//! # drop(session);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![deny(unsafe_code)]

mod border;
mod c;
pub mod comm;
mod coordinates;
mod device;
mod error;
mod grid;
mod input;
mod levels;
mod matrix;
mod near_kernel;
mod neighbourhood;
mod partition;
mod placed;
mod redistribution;
mod report;
mod rows;
mod setup;
mod solver;
mod split;
mod threads;
mod transpose;
mod triple_product;
mod update;
mod whole;

pub use c::*;
pub use comm::{Alone, Comm, Mpi, MpiError, Session};
pub use device::Distributed;
pub use error::{DistributedError, agree, agree_as, together};
pub use input::{InputError, rigid_body_modes};
pub use matrix::DistributedCsr;
pub use near_kernel::near_kernel;
pub use partition::Partition;
pub use report::LevelReport;
pub use solver::DistributedSolver;
pub use threads::Threads;

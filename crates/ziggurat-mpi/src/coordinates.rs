//! A solver from the coordinates of the nodes or unknowns of each rank: they give the rigid-body
//! modes of an elastic body.

use ziggurat::{Coordinates, SolveError, SolverConfig};
use ziggurat_sparse::MatrixError;

use crate::error::{DistributedError, agree, check_same, together};
use crate::input::rigid_body_modes;
use crate::matrix::DistributedCsr;
use crate::solver::DistributedSolver;

impl DistributedSolver {
    /// As [`new`](Self::new), with the coordinates of this rank's nodes or unknowns, as
    /// [`ziggurat::SolverBuilder::coordinates`] takes them. Every node has the same number of
    /// unknowns. Collective.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use ziggurat::{Coordinates, SolverConfig};
    /// use ziggurat_mpi::{Alone, Comm, DistributedCsr, DistributedSolver};
    /// use ziggurat_sparse::gallery::Problem;
    /// let comm: Arc<dyn Comm> = Arc::new(Alone);
    /// let problem: Problem = "elasticity3d:6".parse().unwrap();
    /// let a = DistributedCsr::generate(&comm, problem)?;
    /// let points = Coordinates::try_new(problem.coordinates().unwrap(), 3).unwrap();
    /// let solver = DistributedSolver::with_coordinates(&a, &points, SolverConfig::default())?;
    /// assert!(solver.solve(&problem.rhs().unwrap())?.report.iterations < 30);
    /// # Ok::<(), ziggurat_mpi::DistributedError>(())
    /// ```
    ///
    /// # Errors
    /// As [`new`](Self::new), and if the coordinates do not fit the matrix on any rank.
    pub fn with_coordinates(
        a: &DistributedCsr,
        coordinates: &Coordinates,
        config: SolverConfig,
    ) -> Result<Self, DistributedError> {
        let (comm, dimension) = (a.comm().clone(), coordinates.dimension());
        together(&*comm, || {
            check_same(&*comm, "dimension of the coordinates", &dimension.to_string())?;
            let rows = a.own.len();
            let found = coordinates.by_node(rows).map_err(SolveError::from);
            let (here, nodes) = agree(&*comm, found.map_err(DistributedError::from).and_then(whole_nodes))?;
            // A rank without rows does not know.
            let block = comm.most(if rows > 0 { here as f64 } else { 1.0 }) as usize;
            let fits = match here == block || rows == 0 {
                true => Ok(()),
                false => {
                    let what = "unknowns per node, by the coordinates of this rank";
                    Err(MatrixError::Mismatch { what, expected: block, found: here })
                }
            };
            agree(&*comm, fits)?;
            let a = if block > 1 { a.clone().with_nodes(block)? } else { a.clone() };
            if block > 1 && block == dimension {
                let modes = rigid_body_modes(&*comm, &nodes, dimension)?;
                return Self::with_near_kernel(&a, &modes, config);
            }
            Self::new(&a, config)
        })
    }
}

/// Refuses nodes that have lost some of their unknowns.
fn whole_nodes(found: Option<ziggurat::ByNode>) -> Result<ziggurat::ByNode, DistributedError> {
    found.ok_or(DistributedError::NotDistributed {
        what: "a matrix whose nodes have different numbers of unknowns",
        instead: "give the near-null space instead of coordinates",
    })
}

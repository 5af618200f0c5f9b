//! Model problems: matrices specified by name and size, generated in parallel directly in CSR.
//!
//! | name | unknowns | the matrix |
//! |---|---|---|
//! | `poisson2d:N` | N² | −Δ, 5 points: 4 on the diagonal, −1 beside it |
//! | `poisson3d:N` | N³ | −Δ, 7 points: 6 on the diagonal, −1 beside it |
//! | `poisson3d27:N` | N³ | −Δ, 27 points: 26 on the diagonal, −1 elsewhere |
//! | `anisotropic3d:N` | N³ | −∂xx − ∂yy − 0.01 ∂zz, 7 points: 4.02 on the diagonal, −1 in x and y, −0.01 in z |
//! | `jump3d:N` | N³ | −∇·(κ∇), 7 points, κ = 1 or 10⁴ in a checkerboard of cubes of 10³ cells |
//! | `elasticity3d:N` | 3N(N+1)² | linear elasticity, N³ trilinear hexahedra, one face clamped |
//! | `convection3d:N` | N³ | −Δ + β·∇, 7 points upwind, β = (100, 50, 25): not symmetric |
//! | `neumann3d:N` | N³ | −Δ, 7 points, natural boundary conditions: singular, the constants are its null space |
//! | `laplace27e8:N` | N³ | 10⁸ times `poisson3d27:N`, out of the range of 16 bits |
//! | `anisotropic3d19:N` | N³ | diffusion, 19 points, 100 times stronger in z |
//! | `lognormal3d:N` | N³ | −∇·(κ∇), 7 points, κ random and smooth, between 10⁻⁴ and 10⁴ |
//! | `solid3d:N` | 3N³ | linear elasticity, (N + 1)³ trilinear hexahedra, ν = 0.25, all faces fixed |
//! | `radiation3t:N` | 3N³ | diffusion of three temperatures that exchange heat, 7 points, coefficients between 10⁻⁸ and 10⁷ |
//! | `transport3d:N` | N³ | β·∇, 7 points upwind, β = (½ − y, x − ½, ¼): not symmetric, no diffusion |
//!
//! The domain is the unit square or cube. Unknowns are numbered x fastest, then y, then z. The
//! matrices are scaled by h² (elasticity is not, and transport by h). Dirichlet boundary conditions
//! keep the full diagonal: the weight of a neighbour outside the grid remains in it. Explicit zeros
//! are kept, so that the pattern depends only on the grid.
//!
//! [`Problem`] parses and prints `NAME:SIZE` and builds whole matrices. [`Generator`] generates one
//! row at a time with 64-bit global columns, so that each process of a distributed run generates
//! only its own rows. [`shuffle`] renumbers a matrix randomly within windows, to imitate an
//! unstructured mesh.
//!
//! ```
//! use ziggurat_sparse::gallery::Problem;
//! let problem: Problem = "poisson3d:10".parse()?;
//! let a = problem.matrix()?;
//! assert_eq!((a.rows(), a.nnz(), a.get(0, 0)), (1000, 6400, Some(6.0)));
//! # Ok::<(), ziggurat_sparse::gallery::ProblemError>(())
//! ```

mod box_stencil;
mod build;
mod convection3d;
mod elasticity3d;
mod generator;
mod grid;
mod jump3d;
mod lognormal3d;
mod noise;
mod problem;
mod radiation3t;
mod rigid_body_modes;
mod seven_point;
mod shuffle;
mod transport3d;

pub use generator::Generator;
pub use problem::{Model, Problem, ProblemError};
pub use rigid_body_modes::{rigid_body_modes, rigid_body_modes_about, sums_of_coordinates};
pub use shuffle::shuffle;

#[cfg(test)]
mod tests;

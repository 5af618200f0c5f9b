//! Algebraic multigrid: from a matrix to a hierarchy, and from a hierarchy to a cycle.
//!
//! Setup works level by level, in double precision, on the host: [`strength`] → [`coarsen`] → [`interpolate`] → Galerkin
//! product. Every step is row-local: it reads the rows it owns and a [`halo`] of rows and values of neighbours, so that
//! MPI adds communication and not a second algorithm.

#![forbid(unsafe_code)]

pub mod coarsen;
pub mod halo;
pub mod interpolate;
mod rank;
pub mod strength;

#[cfg(test)]
mod testing;

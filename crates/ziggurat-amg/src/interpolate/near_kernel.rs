//! The near-kernel (near-null space): vectors that the matrix nearly annihilates and that
//! interpolation must therefore reproduce.
//!
//! The error that remains after smoothing is locally close to a linear combination of these
//! vectors: constants for diffusion, the six rigid-body modes for elasticity (Vaněk, Mandel &
//! Brezina, 1996). The coarse level cannot correct what it cannot represent, so smoothed
//! aggregation needs these vectors in addition to the matrix.
//!
//! Unknowns are numbered node by node: unknown c of node I is row b I + c. The vectors are the
//! columns of a dense matrix.
//!
//! Where boundary conditions have removed some unknowns of a node, nodes have different numbers of
//! unknowns. The near-kernel then states the node of every row ([`NearKernel::with_nodes`]). Only
//! aggregation needs that: rows are aggregated by nodes, and otherwise treated as nodes with one
//! unknown.

use thiserror::Error;
use ziggurat_sparse::gallery::rigid_body_modes;
use ziggurat_sparse::words::{counted, number};
use ziggurat_sparse::{Dense, MatrixError};

use crate::coarsen::Aggregates;

/// A column whose norm after orthogonalisation, relative to the norm before, is at most this value
/// is treated as linearly dependent.
pub(super) const DEPENDENT: f64 = 1e-10;

/// The near-kernel of a matrix: k vectors, with b unknowns per node.
///
/// ```
/// use ziggurat_amg::interpolate::NearKernel;
/// use ziggurat_sparse::{Dense, gallery::{Problem, rigid_body_modes}};
/// let problem: Problem = "elasticity3d:2".parse()?;
/// let modes = rigid_body_modes(&problem.coordinates()?).concat();
/// let kernel = NearKernel::try_new(Dense::try_new(54, 6, modes)?, 3)?;
/// assert_eq!((kernel.rows(), kernel.nodes(), kernel.count()), (54, 18, 6));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct NearKernel {
    vectors: Dense<f64>,
    block: usize,
    constant: bool,
    /// The node of every row, if nodes have different numbers of unknowns. `block` is 1 then.
    nodes: Option<Aggregates>,
}

/// Why vectors do not form a valid near-kernel.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum NearKernelError {
    /// There are no vectors.
    #[error("the near-kernel has no vectors; give the constant vector if nothing better is known")]
    NoVectors,
    /// The length of the vectors is not a multiple of the number of unknowns per node.
    #[error(
        "near-kernel vectors of {} cannot be cut into nodes of {}",
        counted(*rows, "value"),
        counted(*block, "unknown")
    )]
    BlockSize {
        /// Values per vector.
        rows: usize,
        /// Unknowns per node.
        block: usize,
    },
    /// A value that is not finite.
    #[error(
        "near-kernel vector {vector}, row {row}: the value is {}; every value must be finite",
        number(*value)
    )]
    NotFinite {
        /// Index of the vector, from zero.
        vector: usize,
        /// The row.
        row: usize,
        /// The value.
        value: f64,
    },
    /// A vector of zeros.
    #[error("near-kernel vector {vector} is zero; leave it out")]
    Zero {
        /// Index of the vector, from zero.
        vector: usize,
    },
    /// A vector that depends linearly on the previous ones.
    #[error("near-kernel vector {vector} is a combination of those before it; leave it out")]
    Dependent {
        /// Index of the vector, from zero.
        vector: usize,
    },
    /// The nodes do not have as many rows as the vectors.
    #[error(
        "the near-kernel has vectors of {} and nodes of {}; give the node of every row",
        counted(*rows, "value"),
        counted(*found, "row")
    )]
    Nodes {
        /// Values per vector.
        rows: usize,
        /// Rows of the nodes.
        found: usize,
    },
    /// Nodes with different numbers of unknowns, distributed over processes.
    #[error(
        "nodes with different numbers of unknowns are supported on one process only; run on one, or keep the \
         boundary unknowns in the matrix, with 1 on the diagonal"
    )]
    Distributed,
    /// The vectors do not form a matrix.
    #[error(transparent)]
    Matrix(#[from] MatrixError),
}

impl NearKernel {
    /// The constant vector, for one unknown per node.
    ///
    /// ```
    /// use ziggurat_amg::interpolate::NearKernel;
    /// assert_eq!(NearKernel::constants(3, 1)?.vectors().column(0), [1.0; 3]);
    /// # Ok::<(), ziggurat_amg::interpolate::NearKernelError>(())
    /// ```
    ///
    /// With several unknowns per node there is one vector for each unknown, constant in that
    /// unknown and zero in the others. In elasticity these are the translations.
    ///
    /// # Errors
    /// Returns an error if `rows` is not a multiple of `block`.
    pub fn constants(rows: usize, block: usize) -> Result<Self, NearKernelError> {
        check_block(rows, block)?;
        let mut vectors = Dense::zeros(rows, block)?;
        for unknown in 0..block {
            vectors
                .column_mut(unknown)
                .iter_mut()
                .skip(unknown)
                .step_by(block)
                .for_each(|value| *value = 1.0);
        }
        Ok(NearKernel { vectors, block, constant: block == 1, nodes: None })
    }

    /// Builds a near-kernel from vectors, after validating them. `block` is the number of unknowns
    /// per node.
    ///
    /// # Errors
    /// Returns an error that names the invalid vector.
    pub fn try_new(vectors: Dense<f64>, block: usize) -> Result<Self, NearKernelError> {
        check_block(vectors.rows(), block)?;
        if vectors.cols() == 0 {
            return Err(NearKernelError::NoVectors);
        }
        for (vector, column) in vectors.columns().enumerate() {
            if let Some(row) = column.iter().position(|value| !value.is_finite()) {
                return Err(NearKernelError::NotFinite { vector, row, value: column[row] });
            }
            if column.iter().all(|&value| value == 0.0) && !column.is_empty() {
                return Err(NearKernelError::Zero { vector });
            }
        }
        if let Some(vector) = first_dependent(&vectors) {
            return Err(NearKernelError::Dependent { vector });
        }
        let first = vectors.values().first();
        let constant =
            block == 1 && vectors.cols() == 1 && vectors.values().iter().all(|value| Some(value) == first);
        Ok(NearKernel { vectors, block, constant, nodes: None })
    }

    /// The rigid-body modes of an elastic body in the plane or in space, from the coordinates of
    /// its nodes: three or six vectors. In the plane the third coordinate is ignored.
    ///
    /// ```
    /// use ziggurat_amg::interpolate::NearKernel;
    /// let corners = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
    /// let kernel = NearKernel::rigid_body_modes(&corners, 2)?;
    /// assert_eq!((kernel.rows(), kernel.block(), kernel.count()), (6, 2, 3));
    /// # Ok::<(), ziggurat_amg::interpolate::NearKernelError>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if there are too few nodes, or if they are placed such that the modes are
    /// linearly dependent. In one dimension there are no rotations, and the result is
    /// [`NearKernel::constants`].
    pub fn rigid_body_modes(coordinates: &[[f64; 3]], dimension: usize) -> Result<Self, NearKernelError> {
        match dimension {
            3 => Self::from_vectors(&rigid_body_modes(coordinates), 3),
            2 => {
                let flat: Vec<[f64; 3]> = coordinates.iter().map(|[x, y, _]| [*x, *y, 0.0]).collect();
                let modes = rigid_body_modes(&flat);
                // Two translations and the rotation about z, restricted to the plane.
                let plane = |mode: usize| modes[mode].chunks(3).flat_map(|node| [node[0], node[1]]).collect();
                Self::from_vectors(&[0, 1, 3].map(plane), 2)
            }
            _ => Self::constants(coordinates.len() * dimension, dimension),
        }
    }

    /// Same as [`NearKernel::try_new`], from one list of values per vector.
    ///
    /// ```
    /// use ziggurat_amg::interpolate::NearKernel;
    /// let kernel = NearKernel::from_vectors(&[vec![1.0; 4], vec![0.0, 1.0, 2.0, 3.0]], 1)?;
    /// assert_eq!((kernel.rows(), kernel.count()), (4, 2));
    /// # Ok::<(), ziggurat_amg::interpolate::NearKernelError>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the lists have different lengths, or if a vector is invalid.
    pub fn from_vectors(vectors: &[Vec<f64>], block: usize) -> Result<Self, NearKernelError> {
        let expected = vectors.first().map_or(0, Vec::len);
        if let Some(other) = vectors.iter().find(|vector| vector.len() != expected) {
            let what = "values of a near-kernel vector";
            return Err(MatrixError::Mismatch { what, expected, found: other.len() }.into());
        }
        Self::try_new(Dense::try_new(expected, vectors.len(), vectors.concat())?, block)
    }

    /// Same as [`NearKernel::try_new`], for nodes with different numbers of unknowns: `nodes` has
    /// the node of every row.
    ///
    /// ```
    /// use ziggurat_amg::coarsen::Aggregates;
    /// use ziggurat_amg::interpolate::NearKernel;
    /// use ziggurat_sparse::Dense;
    /// // Two unknowns at the first node, one at the second.
    /// let nodes = Aggregates::try_new(2, vec![0, 0, 1])?;
    /// let kernel = NearKernel::with_nodes(Dense::try_new(3, 1, vec![1.0; 3])?, nodes)?;
    /// assert_eq!((kernel.block(), kernel.unknowns_per_node()), (1, 2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if `nodes` does not have one row per value, or if a vector is invalid.
    pub fn with_nodes(vectors: Dense<f64>, nodes: Aggregates) -> Result<Self, NearKernelError> {
        if nodes.rows() != vectors.rows() {
            return Err(NearKernelError::Nodes { rows: vectors.rows(), found: nodes.rows() });
        }
        Ok(NearKernel { nodes: Some(nodes), ..Self::try_new(vectors, 1)? })
    }

    /// The same vectors for unknowns that are numbered field by field instead of node by node: row
    /// c m + i is unknown c of node i, for m nodes.
    ///
    /// ```
    /// use ziggurat_amg::interpolate::NearKernel;
    /// let by_fields = NearKernel::constants(6, 2)?.by_fields()?;
    /// assert_eq!(by_fields.vectors().column(1), [0.0, 0.0, 0.0, 1.0, 1.0, 1.0]);
    /// assert_eq!((by_fields.block(), by_fields.unknowns_per_node()), (1, 2));
    /// # Ok::<(), ziggurat_amg::interpolate::NearKernelError>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if a vector is invalid.
    pub fn by_fields(&self) -> Result<Self, NearKernelError> {
        let (rows, nodes) = (self.rows(), self.nodes());
        let mut vectors = Dense::zeros(rows, self.count())?;
        for (vector, column) in self.vectors.columns().enumerate() {
            let values = vectors.column_mut(vector).iter_mut().enumerate();
            values.for_each(|(row, value)| *value = column[row % nodes * self.block + row / nodes]);
        }
        let of = (0..rows).map(|row| (row % nodes) as u32).collect();
        let found = || NearKernelError::Nodes { rows, found: nodes };
        Self::with_nodes(vectors, Aggregates::try_new(nodes, of).map_err(|_| found())?)
    }

    /// The rows of the near-kernel that one process owns. The vectors are not validated, because a
    /// valid near-kernel may have parts that are not valid on their own. The caller states whether
    /// the whole near-kernel is one constant vector.
    ///
    /// ```
    /// use ziggurat_amg::interpolate::NearKernel;
    /// use ziggurat_sparse::Dense;
    /// let nothing = NearKernel::part(Dense::zeros(0, 6)?, 3, false)?;
    /// assert_eq!((nothing.nodes(), nothing.count()), (0, 6));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns an error if the number of rows is not a multiple of `block`.
    pub fn part(vectors: Dense<f64>, block: usize, constant: bool) -> Result<Self, NearKernelError> {
        check_block(vectors.rows(), block)?;
        Ok(NearKernel { vectors, block, constant, nodes: None })
    }

    /// The same nodes with other vectors.
    pub(crate) fn with_vectors(&self, vectors: Dense<f64>) -> Self {
        NearKernel { vectors, block: self.block, constant: false, nodes: self.nodes.clone() }
    }

    /// The near-kernel of a coarse level: k unknowns per node, with zeros where the vectors are
    /// linearly dependent within an aggregate.
    pub(super) fn coarse(vectors: Dense<f64>) -> Self {
        NearKernel { block: vectors.cols(), constant: false, vectors, nodes: None }
    }

    /// Number of rows of the matrix, which is the length of the vectors.
    pub fn rows(&self) -> usize {
        self.vectors.rows()
    }

    /// Number of blocks: of nodes, or of rows if nodes have different numbers of unknowns.
    pub fn nodes(&self) -> usize {
        self.rows() / self.block
    }

    /// The size of the blocks of the matrix: the number of unknowns per node, or 1 if nodes have
    /// different numbers of unknowns.
    pub fn block(&self) -> usize {
        self.block
    }

    /// The node of every row, if nodes have different numbers of unknowns.
    pub fn node_of_rows(&self) -> Option<&Aggregates> {
        self.nodes.as_ref()
    }

    /// The largest number of unknowns of a node.
    pub fn unknowns_per_node(&self) -> usize {
        let largest = |nodes: &Aggregates| nodes.sizes().into_iter().max().unwrap_or(1) as usize;
        self.nodes.as_ref().map_or(self.block, largest)
    }

    /// Number of vectors, which is the number of unknowns per node of the next level.
    pub fn count(&self) -> usize {
        self.vectors.cols()
    }

    /// The vectors, as columns.
    pub fn vectors(&self) -> &Dense<f64> {
        &self.vectors
    }

    /// Whether the near-kernel is a single constant vector.
    pub fn is_constant(&self) -> bool {
        self.constant
    }
}

fn check_block(rows: usize, block: usize) -> Result<(), NearKernelError> {
    if block == 0 || !rows.is_multiple_of(block) {
        return Err(NearKernelError::BlockSize { rows, block });
    }
    Ok(())
}

/// The first column that depends linearly on the previous ones, by Gram–Schmidt orthogonalisation.
fn first_dependent(vectors: &Dense<f64>) -> Option<usize> {
    if vectors.rows() == 0 || vectors.cols() == 1 {
        return None;
    }
    let mut basis: Vec<Vec<f64>> = Vec::new();
    for (index, column) in vectors.columns().enumerate() {
        // Scaled, so that the squares of tiny or huge values neither underflow nor overflow.
        let largest = column.iter().fold(0.0f64, |largest, value| largest.max(value.abs()));
        let mut rest: Vec<f64> = column.iter().map(|value| value / largest).collect();
        let before = norm(&rest);
        // Twice is enough (Kahan & Parlett).
        for _ in 0..2 {
            for vector in &basis {
                let along = dot(vector, &rest);
                rest.iter_mut().zip(vector).for_each(|(rest, value)| *rest -= along * value);
            }
        }
        let after = norm(&rest);
        if after <= DEPENDENT * before {
            return Some(index);
        }
        rest.iter_mut().for_each(|value| *value /= after);
        basis.push(rest);
    }
    None
}

pub(super) fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

pub(super) fn norm(x: &[f64]) -> f64 {
    dot(x, x).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel(columns: &[&[f64]], block: usize) -> Result<NearKernel, NearKernelError> {
        NearKernel::try_new(Dense::try_new(columns[0].len(), columns.len(), columns.concat()).unwrap(), block)
    }

    #[test]
    fn faults_are_named() {
        assert_eq!(kernel(&[&[1.0, 1.0, 1.0]], 2), Err(NearKernelError::BlockSize { rows: 3, block: 2 }));
        assert_eq!(NearKernel::constants(3, 0), Err(NearKernelError::BlockSize { rows: 3, block: 0 }));
        assert_eq!(NearKernel::try_new(Dense::zeros(3, 0).unwrap(), 1), Err(NearKernelError::NoVectors));
        assert_eq!(kernel(&[&[1.0, 0.0], &[0.0, 0.0]], 1), Err(NearKernelError::Zero { vector: 1 }));
        let nan = kernel(&[&[1.0, 1.0], &[0.0, f64::NAN]], 1).unwrap_err();
        assert!(matches!(nan, NearKernelError::NotFinite { vector: 1, row: 1, value } if value.is_nan()));
        let dependent = kernel(&[&[1.0, 2.0, 3.0], &[1.0, 1.0, 1.0], &[1e-9, 3e-9, 5e-9]], 1);
        assert_eq!(dependent, Err(NearKernelError::Dependent { vector: 2 }));
        // More vectors than rows.
        assert_eq!(kernel(&[&[1.0], &[2.0]], 1), Err(NearKernelError::Dependent { vector: 1 }));
    }

    #[test]
    fn scale_does_not_matter() {
        assert!(kernel(&[&[1e-200, 1e-200], &[1e200, -1e200]], 1).is_ok());
        assert!(kernel(&[&[1.0, 1.0, 1.0], &[1.0, 1.0, 1.0 + 1e-6]], 1).is_ok());
    }

    #[test]
    fn constants_of_each_unknown() {
        let kernel = NearKernel::constants(6, 3).unwrap();
        assert_eq!((kernel.count(), kernel.nodes(), kernel.is_constant()), (3, 2, false));
        assert_eq!(kernel.vectors().column(1), [0.0, 1.0, 0.0, 0.0, 1.0, 0.0]);
        assert_eq!(NearKernel::try_new(kernel.vectors().clone(), 3).unwrap(), kernel);
        assert!(NearKernel::constants(0, 1).unwrap().is_constant());
    }

    #[test]
    fn one_constant_vector_is_recognised() {
        assert!(kernel(&[&[2.0, 2.0]], 1).unwrap().is_constant());
        assert!(!kernel(&[&[2.0, 2.5]], 1).unwrap().is_constant());
        assert!(!kernel(&[&[2.0, 2.0]], 2).unwrap().is_constant());
    }
}

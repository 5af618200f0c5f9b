//! The known null space of a matrix: the constants on each floating part, and the unit vectors of
//! empty rows, of which a graph with isolated nodes may have any number. `solver/empty_rows.rs`
//! says how a solve deals with them. Cost: the search for the floating parts, and one vector for
//! all empty rows together.

use std::fmt;

use ziggurat_amg::halo::Halo;
use ziggurat_amg::{LevelMatrix, SetupError, empty_rows};
use ziggurat_sparse::device::{Device, DeviceExt, Vector};
use ziggurat_sparse::graph::Permutation;

use super::MatrixKind;
use super::floating::FloatingParts;

/// The known null space of a matrix, in vectors of a device.
#[derive(Default)]
pub struct NullSpace {
    /// An orthonormal basis of its part outside empty rows.
    pub vectors: Vec<Vector>,
    /// 1 in empty rows and 0 elsewhere, if any process has such rows.
    pub empty_rows: Option<Vector>,
}

impl fmt::Debug for NullSpace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { vectors, empty_rows } = self;
        f.debug_struct("NullSpace")
            .field("vectors", &vectors.len())
            .field("empty_rows", &empty_rows.is_some())
            .finish()
    }
}

impl NullSpace {
    /// Whether there are no vectors, so that the matrix may have factors, with entries put into its
    /// empty rows.
    pub fn is_empty(&self) -> bool {
        self.vectors.is_empty()
    }
}

impl MatrixKind {
    /// The known null space of this matrix: the constants on each floating part, that is each
    /// connected component in which every row sums to zero, and empty rows. If there are very many
    /// parts, only the constants over all rows are known. The rows of the vectors are in the given
    /// order, if there is one. Collective.
    ///
    /// # Errors
    /// If the device has no memory for the vectors.
    pub fn null_space<M: LevelMatrix>(
        &self,
        device: &dyn Device,
        a: &M,
        order: Option<&Permutation>,
    ) -> Result<NullSpace, SetupError> {
        let upload = |mut vector: Vec<f64>| {
            if let Some(order) = order {
                order.apply(&vector.clone(), &mut vector)?;
            }
            Ok::<_, SetupError>(device.upload(&vector)?)
        };
        let mut is_empty = vec![false; a.rows().owned().len()];
        if self.empty_rows > 0 {
            empty_rows(a.view(), &a.rows()).into_iter().for_each(|row| is_empty[row] = true);
        }
        let ones = || -> Vec<f64> { is_empty.iter().map(|&empty| f64::from(u8::from(empty))).collect() };
        let empty_rows = (self.empty_rows > 0).then(|| upload(ones())).transpose()?;
        if !self.symmetric {
            return Ok(NullSpace { vectors: Vec::new(), empty_rows });
        }
        let parts = match FloatingParts::of(a)? {
            Some(parts) => parts,
            None if self.annihilates_constants => FloatingParts {
                sizes: vec![self.rows - self.empty_rows],
                part: is_empty.iter().map(|&empty| (!empty).then_some(0)).collect(),
            },
            None => FloatingParts::default(),
        };
        let vector = |(part, &size): (usize, &u64)| {
            let value = (size as f64).sqrt().recip();
            upload(parts.part.iter().map(|&of| if of == Some(part) { value } else { 0.0 }).collect())
        };
        let vectors = parts.sizes.iter().enumerate().map(vector).collect::<Result<_, _>>()?;
        Ok(NullSpace { vectors, empty_rows })
    }
}

//! The data of a whole model problem: its matrix, coordinates and right-hand side.
//!
//! Everything is generated row by row in parallel ([`Generator`]), at a few nanoseconds per entry.

use super::generator::Generator;
use super::problem::{Problem, ProblemError};
use crate::parallel::collect;
use crate::{Csr, MatrixError};

impl Problem {
    /// A generator of single rows.
    pub fn generator(&self) -> Generator {
        Generator::new(*self)
    }

    /// The whole matrix, generated in parallel.
    ///
    /// ```
    /// use ziggurat_sparse::gallery::Problem;
    /// let a = "poisson2d:2".parse::<Problem>()?.matrix()?;
    /// assert_eq!(a.row(1), (&[0, 1, 3][..], &[-1.0, 4.0, -1.0][..]));
    /// # Ok::<(), ziggurat_sparse::gallery::ProblemError>(())
    /// ```
    pub fn matrix(&self) -> Result<Csr<f64>, ProblemError> {
        let row_bytes = size_of::<usize>() as u64;
        let entry_bytes = (size_of::<u32>() + size_of::<f64>()) as u64;
        let rows = self.rows_here(self.global_rows() * row_bytes + self.global_nnz() * entry_bytes)?;
        let generator = self.generator();
        Ok(Csr::assemble(
            0..rows,
            rows,
            || (),
            |(), row| generator.row_len(row as u64),
            |(), row, columns, values| {
                let mut slots = columns.iter_mut().zip(values);
                generator.row(row as u64, |column, value| {
                    if let Some((column_slot, value_slot)) = slots.next() {
                        *column_slot = column as u32;
                        *value_slot = value;
                    }
                });
                debug_assert!(slots.next().is_none(), "row {row} is shorter than `row_len` said");
            },
        ))
    }

    /// The coordinates of all nodes; see [`Generator::coordinates`].
    ///
    /// ```
    /// use ziggurat_sparse::gallery::Problem;
    /// let coordinates = "elasticity3d:2".parse::<Problem>()?.coordinates()?;
    /// assert_eq!(coordinates[1], [1.0, 0.0, 0.0]);
    /// # Ok::<(), ziggurat_sparse::gallery::ProblemError>(())
    /// ```
    pub fn coordinates(&self) -> Result<Vec<[f64; 3]>, ProblemError> {
        let bytes = self.grid().nodes() * size_of::<[f64; 3]>() as u64;
        let nodes = self.rows_here(bytes)? / self.block_size();
        let generator = self.generator();
        Ok(collect(nodes, |node| generator.coordinates(node as u64)))
    }

    /// A right-hand side: all ones, unless the matrix is singular. Then all ones would be
    /// inconsistent (and zero after subtracting the mean), so the first half of the rows is 1, the
    /// second half −1, and the middle row, if any, 0. This sums to exactly zero.
    ///
    /// ```
    /// use ziggurat_sparse::gallery::Problem;
    /// assert_eq!("poisson2d:2".parse::<Problem>()?.rhs()?, [1.0; 4]);
    /// assert_eq!("neumann3d:3".parse::<Problem>()?.rhs()?[12..15], [1.0, 0.0, -1.0]);
    /// # Ok::<(), ziggurat_sparse::gallery::ProblemError>(())
    /// ```
    pub fn rhs(&self) -> Result<Vec<f64>, ProblemError> {
        let rows = self.rows_here(self.global_rows() * size_of::<f64>() as u64)?;
        let generator = self.generator();
        Ok(collect(rows, |row| generator.rhs(row as u64)))
    }

    /// The number of rows, if one process can index them and `bytes` bytes can be allocated. This
    /// is tested in advance because a failed allocation later would abort the program.
    fn rows_here(&self, bytes: u64) -> Result<usize, ProblemError> {
        let rows = self.global_rows();
        if u32::try_from(rows).is_err() {
            let source = MatrixError::TooLarge { what: "rows", extent: rows as usize };
            return Err(ProblemError::TooLarge { problem: *self, source });
        }
        let mut probe = Vec::<u8>::new();
        let granted = usize::try_from(bytes).is_ok_and(|bytes| probe.try_reserve_exact(bytes).is_ok());
        // Without this, the compiler may remove the unused allocation and assume success.
        std::hint::black_box(&probe);
        if granted { Ok(rows as usize) } else { Err(ProblemError::Memory { problem: *self, bytes }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_process_cannot_hold_is_refused_before_it_is_made() {
        let problem: Problem = "elasticity3d:100000".parse().unwrap();
        let rows = 3 * 100_000 * 100_001u64.pow(2);
        assert_eq!(problem.global_rows(), rows);
        let source = MatrixError::TooLarge { what: "rows", extent: rows as usize };
        let expected = ProblemError::TooLarge { problem, source };
        assert_eq!(problem.matrix().unwrap_err(), expected);
        assert_eq!(problem.rhs().unwrap_err(), expected);
        assert_eq!(problem.coordinates().unwrap_err(), expected);

        // A size that no machine can allocate.
        let small: Problem = "poisson3d:2".parse().unwrap();
        let error = small.rows_here(u64::MAX).unwrap_err();
        assert_eq!(error, ProblemError::Memory { problem: small, bytes: u64::MAX });
        assert!(error.to_string().starts_with("poisson3d:2 needs 16777216 TiB"), "{error}");
    }
}

//! Sums over the rows of a grid's matrix, without columns: what pointwise smoothers and the
//! diagnosis of a matrix need.
//!
//! ```text
//! a_ii,   Σ_j a_ij,   Σ_j |a_ij|,   Σ_j a_ij²,   the number of entries that are not zero
//! ```
//!
//! Values of a direction are contiguous, so the sums of a piece of rows are vectors. Entries are
//! added in the order of the directions, which is the order of the columns.
//!
//! Cost: the stencils are read once.

use std::ops::Range;

use super::matrix::{PIECE, TASK, buffered};
use super::{GridMatrix, GridSystem};
use crate::parallel::{map_pieces, over_pieces, zeros};

/// Diagonal and sums of a row, from one pass over its entries.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RowSum {
    /// a_ii
    pub diagonal: f64,
    /// Σ_j a_ij
    pub sum: f64,
    /// Σ_j |a_ij|
    pub size: f64,
    /// The number of entries that are not zero.
    pub entries: usize,
}

impl GridSystem {
    /// f(a_ii, Σ_j |a_ij|) for every row.
    ///
    /// ```
    /// use ziggurat_sparse::gallery::Problem;
    /// use ziggurat_sparse::grid::{GridSystem, recognise};
    /// let a = "poisson2d:9".parse::<Problem>()?.matrix()?;
    /// let a = GridSystem::from_csr(a.view(), &recognise(a.view())?)?;
    /// assert_eq!(a.map_sizes(|diagonal, size| diagonal + 10.0 * size)[40], 4.0 + 80.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn map_sizes<T: Copy + Default + Send + Sync>(&self, f: impl Fn(f64, f64) -> T + Sync) -> Vec<T> {
        self.map_sums::<Sizes, T>(&|piece, mapped| {
            for ((mapped, diagonal), size) in mapped.iter_mut().zip(&piece.diagonal).zip(&piece.sums.0) {
                *mapped = f(*diagonal, *size);
            }
        })
    }

    /// f(a_ii, Σ_j |a_ij|, Σ_j a_ij²) for every row.
    ///
    /// ```
    /// use ziggurat_sparse::gallery::Problem;
    /// use ziggurat_sparse::grid::{GridSystem, recognise};
    /// let a = "poisson2d:9".parse::<Problem>()?.matrix()?;
    /// let a = GridSystem::from_csr(a.view(), &recognise(a.view())?)?;
    /// let of_rows = a.map_squares(|diagonal, size, squares| diagonal + 10.0 * size + 1000.0 * squares);
    /// assert_eq!(of_rows[40], 4.0 + 80.0 + 20_000.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn map_squares<T: Copy + Default + Send + Sync>(
        &self,
        f: impl Fn(f64, f64, f64) -> T + Sync,
    ) -> Vec<T> {
        self.map_sums::<Squares, T>(&|piece, mapped| {
            let sums = piece.sums.sizes.iter().zip(&piece.sums.squares);
            for ((mapped, diagonal), (size, squares)) in mapped.iter_mut().zip(&piece.diagonal).zip(sums) {
                *mapped = f(*diagonal, *size, *squares);
            }
        })
    }

    /// Folds the sums of all rows. `join` must not depend on the order, because rows are folded in
    /// pieces.
    ///
    /// ```
    /// use ziggurat_sparse::gallery::Problem;
    /// use ziggurat_sparse::grid::{GridSystem, recognise};
    /// let a = "neumann3d:6".parse::<Problem>()?.matrix()?;
    /// let a = GridSystem::from_csr(a.view(), &recognise(a.view())?)?;
    /// let largest = a.fold_rows(0.0, |most: f64, row| most.max(row.sum.abs()), f64::max);
    /// assert_eq!(largest, 0.0); // every row sums to zero
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn fold_rows<T: Copy + Send + Sync>(
        &self,
        none: T,
        of_row: impl Fn(T, RowSum) -> T + Sync,
        join: impl Fn(T, T) -> T + Sync,
    ) -> T {
        let of_piece = |points: Range<usize>| {
            (0..self.unknowns()).fold(none, |folded, unknown| {
                let sums = self.piece::<Signed>(unknown, points.start, points.len());
                let Signed { sizes, signed, entries } = &sums.sums;
                (0..points.len()).fold(folded, |folded, lane| {
                    let (diagonal, sum, size) = (sums.diagonal[lane], signed[lane], sizes[lane]);
                    of_row(folded, RowSum { diagonal, sum, size, entries: entries[lane] as usize })
                })
            })
        };
        let of_task = |task: Range<usize>| buffered(task).map(of_piece).fold(none, &join);
        map_pieces(0..self.grid().len(), TASK, &of_task).into_iter().fold(none, &join)
    }

    /// Fills a list with what `map` makes of the sums of pieces of rows.
    fn map_sums<S: Sums, T: Copy + Default + Send + Sync>(
        &self,
        map: &(dyn Fn(&Piece<S>, &mut [T]) + Sync),
    ) -> Vec<T> {
        let mut mapped = zeros(self.rows());
        for (unknown, mapped) in mapped.chunks_mut(self.grid().len().max(1)).enumerate() {
            over_pieces(mapped, &|first, mapped| {
                for (mapped, first) in mapped.chunks_mut(PIECE).zip((first..).step_by(PIECE)) {
                    map(&self.piece::<S>(unknown, first, mapped.len()), mapped);
                }
            });
        }
        mapped
    }

    /// The sums of the rows of an unknown at `len` points from `first` on.
    fn piece<S: Sums>(&self, unknown: usize, first: usize, len: usize) -> Piece<S> {
        let mut piece = Piece::new();
        for (other, block) in self.row_of_blocks(unknown).iter().enumerate() {
            if let Some(block) = block {
                piece.add(block, first, len, other == unknown);
            }
        }
        piece
    }
}

/// Sums over the entries of a piece of rows.
trait Sums {
    /// The sums of rows without entries.
    fn none() -> Self;
    /// Adds an entry to each row.
    fn add(&mut self, values: &[f64]);
}

/// Σ_j |a_ij|
struct Sizes([f64; PIECE]);

/// Σ_j |a_ij| and Σ_j a_ij²
struct Squares {
    sizes: [f64; PIECE],
    squares: [f64; PIECE],
}

/// Σ_j |a_ij|, Σ_j a_ij, and the number of entries that are not zero.
struct Signed {
    sizes: [f64; PIECE],
    signed: [f64; PIECE],
    entries: [u32; PIECE],
}

fn add_sizes(sums: &mut [f64; PIECE], values: &[f64]) {
    sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += value.abs());
}

impl Sums for Sizes {
    fn none() -> Self {
        Sizes([0.0; PIECE])
    }

    fn add(&mut self, values: &[f64]) {
        add_sizes(&mut self.0, values);
    }
}

impl Sums for Squares {
    fn none() -> Self {
        Squares { sizes: [0.0; PIECE], squares: [0.0; PIECE] }
    }

    fn add(&mut self, values: &[f64]) {
        add_sizes(&mut self.sizes, values);
        self.squares.iter_mut().zip(values).for_each(|(sum, value)| *sum += value * value);
    }
}

impl Sums for Signed {
    fn none() -> Self {
        Signed { sizes: [0.0; PIECE], signed: [0.0; PIECE], entries: [0; PIECE] }
    }

    fn add(&mut self, values: &[f64]) {
        add_sizes(&mut self.sizes, values);
        self.signed.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
        self.entries.iter_mut().zip(values).for_each(|(count, value)| *count += u32::from(*value != 0.0));
    }
}

/// The diagonal entries and the sums of a piece of rows.
struct Piece<S> {
    diagonal: [f64; PIECE],
    sums: S,
}

impl<S: Sums> Piece<S> {
    fn new() -> Self {
        Piece { diagonal: [0.0; PIECE], sums: S::none() }
    }

    /// Adds the entries of a block, which may have the diagonal.
    #[inline]
    fn add(&mut self, a: &GridMatrix, first: usize, len: usize, with_diagonal: bool) {
        let mut values = [0.0; PIECE];
        let values = &mut values[..len];
        for (s, direction) in a.stencil().iter().enumerate() {
            a.copy(s, first, values);
            self.sums.add(values);
            if with_diagonal && *direction == [0; 3] {
                self.diagonal[..len].copy_from_slice(values);
            }
        }
    }
}

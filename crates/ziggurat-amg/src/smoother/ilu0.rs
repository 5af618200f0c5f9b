//! Incomplete factorisation without fill, ILU(0), within fixed blocks of rows.
//!
//! ```text
//! B = diag(A[K₁,K₁], A[K₂,K₂], …) ≈ L U    L: unit lower, U: upper triangular
//! (L U)_ij = b_ij where b_ij ≠ 0           M = U⁻¹ L⁻¹
//! ```
//!
//! The factors follow Meijerink & van der Vorst (1977), with the pattern of A; for a
//! symmetric A they are IC(0), and M is symmetric. Entries between blocks are dropped, so blocks
//! are factorised and solved in parallel, and results depend neither on threads nor on ranks. A
//! triangular solve is a Gauss–Seidel sweep over a triangular matrix from a zero guess
//! ([`Device::gauss_seidel`](ziggurat_sparse::device::Device::gauss_seidel)), exact because
//! nothing is outside the blocks, so every device has it.
//!
//! Incomplete factors of a positive definite matrix need not exist, and may be useless where they
//! do: substitutions with small pivots amplify errors. A block is factorised again with a larger
//! diagonal, (1 + α) diag(B) (Manteuffel, 1980), if a pivot vanishes or changes its sign, or if
//! U⁻¹L⁻¹B maps the vector of ones to something else by more than a factor of 100 (compare the
//! estimate ‖(L U)⁻¹e‖ of Chow & Saad, 1997).
//!
//! *Block ILU(0)*: where a node has several unknowns, W = diag(A[N₁,N₁]⁻¹, A[N₂,N₂]⁻¹, …) with the
//! diagonal blocks of the nodes, W A ≈ L U on the pattern of the blocks, and M = U⁻¹ L⁻¹ W. That is
//! the factorisation with blocks in place of numbers, without a block format: the diagonal blocks
//! of W A are identities, so no pivot is lost where the equations of a node are in the wrong order
//! or in different units.
//!
//! Cost: one pass over A for each entry of a row, a multiple of it where blocks are shifted; per
//! sweep, one pass over the factors.

use std::ops::Range;
use std::sync::Arc;

use ziggurat_sparse::algebra::{product, scale_columns, scale_rows, transpose};
use ziggurat_sparse::parallel::{self, Scratch};
use ziggurat_sparse::{Csr, CsrRef, MatrixError};

use super::block_jacobi::inverse_of_nodes;
use crate::{SetupError, power_of_two};

/// The smallest pivot, as a fraction of the diagonal entry.
const SMALLEST_PIVOT: f64 = 1e-8;

/// The largest element of U⁻¹L⁻¹B 1.
const LARGEST_SOLUTION: f64 = 100.0;

/// The shifts α, tried in this order.
const SHIFTS: [f64; 5] = [0.0, 0.01, 0.1, 1.0, 10.0];

/// Incomplete factors of the diagonal blocks of own rows. Columns are own rows, too.
///
/// ```
/// use ziggurat_amg::{halo::Whole, smoother::{Smoother, SmootherData}};
/// use ziggurat_sparse::gallery::Problem;
/// let a = "poisson2d:8".parse::<Problem>()?.matrix()?;
/// let smoother = Smoother::Ilu0 { block: 16, node_rows: 1, omega: None };
/// let SmootherData::Factors(factors) = smoother.data(a.view(), &Whole::new(64), None)? else { unreachable!() };
/// assert_eq!(factors.pivots[0], 4.0);
/// assert_eq!(factors.lower.row(16).0, []); // the first row of a block
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct IncompleteFactors {
    /// The strict lower triangle of L, whose diagonal is one.
    pub lower: Arc<Csr<f64>>,
    /// The strict upper triangle of U.
    pub upper: Arc<Csr<f64>>,
    /// The diagonal of U.
    pub pivots: Vec<f64>,
    /// Rows per block.
    pub block: usize,
    /// W, by which residuals are multiplied before the substitutions.
    pub before: Option<Arc<Csr<f64>>>,
    /// Wᵀ in transposed factors, by which corrections are multiplied after the substitutions.
    pub after: Option<Arc<Csr<f64>>>,
    /// The damping factor, if it is given.
    pub omega: Option<f64>,
}

impl IncompleteFactors {
    /// The factors of Aᵀ: (L D Ũ)ᵀ = Ũᵀ D Lᵀ, where U = D Ũ.
    pub(crate) fn transposed(&self) -> Result<Self, MatrixError> {
        let turned = |a: &Csr<f64>| transpose(a.view(), a.all_rows());
        let (mut lower, mut upper) = (turned(&self.upper), turned(&self.lower));
        let inverses: Vec<f64> = self.pivots.iter().map(|pivot| pivot.recip()).collect();
        scale_columns(&mut lower, &inverses)?;
        scale_rows(&mut upper, &self.pivots)?;
        let [before, after] =
            [&self.after, &self.before].map(|matrix| matrix.as_deref().map(|a| Arc::new(turned(a))));
        Ok(IncompleteFactors {
            lower: Arc::new(lower),
            upper: Arc::new(upper),
            pivots: self.pivots.clone(),
            block: self.block,
            before,
            after,
            omega: self.omega,
        })
    }
}

/// The rows of a block that holds whole nodes.
pub(super) fn whole_nodes(block: usize, node_rows: usize) -> usize {
    block.max(1).next_multiple_of(node_rows.max(1))
}

/// Block ILU(0) of the own rows, whose nodes have `node_rows` rows each; ILU(0) if that is one.
///
/// # Errors
/// As [`factorise`].
pub(super) fn factorise_nodes(
    a: CsrRef<'_, f64>,
    rows: Range<usize>,
    [block, node_rows]: [usize; 2],
    omega: Option<f64>,
) -> Result<IncompleteFactors, SetupError> {
    let block = whole_nodes(block, node_rows);
    if node_rows <= 1 {
        return factorise(a, rows, block, omega, &Block::factorise);
    }
    let own = own_columns(a, rows.clone())?;
    let before = inverse_of_nodes(own.view(), own.all_rows(), node_rows)
        .map_err(|error| error.with_rows(|row| (row + rows.start) as u64))?;
    let mut scaled = product(before.view(), before.all_rows(), own.view())?;
    // In the units of the caller, a stable substitution may look unstable.
    let sizes = column_sizes(&scaled, block);
    let inverses: Vec<f64> = sizes.iter().map(|size| size.recip()).collect();
    scale_columns(&mut scaled, &inverses)?;
    let mut factors = factorise(scaled.view(), scaled.all_rows(), block, omega, &Block::factorise)?;
    scale_columns(Arc::make_mut(&mut factors.upper), &sizes)?;
    factors.pivots.iter_mut().zip(&sizes).for_each(|(pivot, size)| *pivot *= size);
    factors.before = Some(Arc::new(before));
    Ok(factors)
}

/// The largest entry of every column within its block of rows, as a power of two.
fn column_sizes(a: &Csr<f64>, block: usize) -> Vec<f64> {
    let mut sizes = vec![0.0_f64; a.rows()];
    for row in a.all_rows() {
        let (columns, values) = a.row(row);
        let inside = |(column, _): &(&u32, &f64)| **column as usize / block == row / block;
        for (&column, value) in columns.iter().zip(values).filter(inside) {
            let size = &mut sizes[column as usize];
            *size = size.max(value.abs());
        }
    }
    sizes.into_iter().map(power_of_two::nearest).collect()
}

/// The square part of A whose rows and columns are `rows`.
fn own_columns(a: CsrRef<'_, f64>, rows: Range<usize>) -> Result<Csr<f64>, MatrixError> {
    Csr::collect(
        a.row_ptr(),
        rows.clone(),
        rows.len(),
        || (),
        |(), row, entries| {
            let (columns, values) = a.row(row);
            for (&column, &value) in columns.iter().zip(values) {
                if rows.contains(&(column as usize)) {
                    entries.push(column - rows.start as u32, value);
                }
            }
        },
    )
}

/// Factorises the own rows in blocks of `block` rows. `factorise` makes the factors of a block with
/// a shift of its diagonal; it has scratch memory that it leaves as it was at first.
///
/// # Errors
/// If a row has no usable diagonal entry.
pub(super) fn factorise<S: Default + Send>(
    a: CsrRef<'_, f64>,
    rows: Range<usize>,
    block: usize,
    omega: Option<f64>,
    factorise: FactoriseBlock<'_, S>,
) -> Result<IncompleteFactors, SetupError> {
    let scratch = Scratch::new(S::default);
    in_blocks(a, rows, block, omega, &|rows, shift| {
        scratch.with(|scratch| factorise(a, rows, shift, scratch))
    })
}

/// Factorises the rows of a block of A, with a shift of its diagonal.
type FactoriseBlock<'a, S> =
    &'a (dyn Fn(CsrRef<'_, f64>, Range<usize>, f64, &mut S) -> Result<Block, SetupError> + Sync);

/// The factors of blocks, which `factorise` makes with a shift of the diagonal.
fn in_blocks(
    a: CsrRef<'_, f64>,
    rows: Range<usize>,
    block: usize,
    omega: Option<f64>,
    factorise: &(dyn Fn(Range<usize>, f64) -> Result<Block, SetupError> + Sync),
) -> Result<IncompleteFactors, SetupError> {
    let blocks: Vec<Range<usize>> =
        rows.clone().step_by(block).map(|begin| begin..(begin + block).min(rows.end)).collect();
    let factors = parallel::map_tasks(blocks.len(), &|index| Block::stable(a, &blocks[index], factorise));
    let factors: Vec<Block> = factors.into_iter().collect::<Result<_, _>>()?;
    let part = |in_row: fn(&Block, usize) -> Range<usize>| {
        Csr::collect(
            a.row_ptr(),
            rows.clone(),
            rows.len(),
            || (),
            |(), row, entries| {
                let index = (row - rows.start) / block;
                let of_block = &factors[index];
                for entry in in_row(of_block, row - blocks[index].start) {
                    let column = of_block.columns[entry] as usize + index * block;
                    entries.push(column as u32, of_block.values[entry]);
                }
            },
        )
    };
    let lower = part(|block, row| block.row_ptr[row]..block.diagonal[row])?;
    let upper = part(|block, row| block.diagonal[row] + 1..block.row_ptr[row + 1])?;
    let pivots = factors.iter().flat_map(|block| block.diagonal.iter().map(|&entry| block.values[entry]));
    let (lower, upper) = (Arc::new(lower), Arc::new(upper));
    Ok(IncompleteFactors { lower, upper, pivots: pivots.collect(), block, before: None, after: None, omega })
}

/// The factors of one block: L below and U on and above the diagonal, in compressed rows.
pub(super) struct Block {
    row_ptr: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<f64>,
    /// The diagonal entry of each row.
    diagonal: Vec<usize>,
    /// Whether a pivot had to be replaced by the diagonal entry.
    pub(super) replaced: bool,
}

/// A row of A within a block.
pub(super) struct BlockRow<'a> {
    /// Its number in the block.
    pub(super) own: u32,
    /// The diagonal entry.
    pub(super) diagonal: f64,
    /// Columns in the numbering of A, and values.
    columns: &'a [u32],
    values: &'a [f64],
    first: u32,
}

impl<'a> BlockRow<'a> {
    /// Row `row` of A within the block of `rows`.
    ///
    /// # Errors
    /// If it has no usable diagonal entry.
    pub(super) fn read(a: CsrRef<'a, f64>, row: usize, rows: &Range<usize>) -> Result<Self, SetupError> {
        let (columns, values) = a.row(row);
        let [from, to] =
            [rows.start, rows.end].map(|end| columns.partition_point(|&column| (column as usize) < end));
        let (columns, values) = (&columns[from..to], &values[from..to]);
        let diagonal = columns.binary_search(&(row as u32)).map_or(0.0, |place| values[place]);
        if !(diagonal.is_finite() && diagonal != 0.0) {
            return Err(MatrixError::ZeroDiagonal { row, value: diagonal }.into());
        }
        let first = rows.start as u32;
        Ok(BlockRow { own: row as u32 - first, diagonal, columns, values, first })
    }

    /// The entries in the numbering of the block, where the diagonal is multiplied by 1 + `shift`.
    pub(super) fn entries(&self, shift: f64) -> impl Iterator<Item = (u32, f64)> + use<'a> {
        let (own, first) = (self.own, self.first);
        let shifted = move |(&column, &value): (&u32, &f64)| {
            (column - first, if column - first == own { value * (1.0 + shift) } else { value })
        };
        self.columns.iter().zip(self.values).map(shifted)
    }

    /// The norm of the entries.
    pub(super) fn norm(&self) -> f64 {
        self.values.iter().map(|value| value * value).sum::<f64>().sqrt()
    }
}

impl Block {
    /// Factors of no rows yet.
    pub(super) fn empty() -> Self {
        Block { row_ptr: vec![0], columns: vec![], values: vec![], diagonal: vec![], replaced: false }
    }

    /// Whether a pivot can be divided by, where `given` is the diagonal entry of A.
    pub(super) fn is_usable(pivot: f64, given: f64) -> bool {
        pivot * given.signum() > SMALLEST_PIVOT * given.abs() && pivot.is_finite()
    }

    /// Adds a row of L, the pivot, and a row of U. A pivot that cannot be divided by is
    /// replaced by `given`.
    pub(super) fn push(
        &mut self,
        row: u32,
        lower: &[(u32, f64)],
        pivot: f64,
        given: f64,
        upper: &[(u32, f64)],
    ) {
        let usable = Block::is_usable(pivot, given);
        self.replaced |= !usable;
        self.diagonal.push(self.columns.len() + lower.len());
        let own = (row, if usable { pivot } else { given });
        for &(column, value) in lower.iter().chain([&own]).chain(upper) {
            self.columns.push(column);
            self.values.push(value);
        }
        self.row_ptr.push(self.columns.len());
    }

    /// The pivot of a row, and its entries of U.
    pub(super) fn pivot_and_upper(&self, row: usize) -> (f64, impl Iterator<Item = (u32, f64)> + '_) {
        let diagonal = self.diagonal[row];
        let upper =
            (diagonal + 1..self.row_ptr[row + 1]).map(|entry| (self.columns[entry], self.values[entry]));
        (self.values[diagonal], upper)
    }

    /// Factorises with the first shift that gives stable factors, or the last one.
    fn stable(
        a: CsrRef<'_, f64>,
        rows: &Range<usize>,
        factorise: &dyn Fn(Range<usize>, f64) -> Result<Block, SetupError>,
    ) -> Result<Block, SetupError> {
        let [shifts @ .., last] = SHIFTS;
        for shift in shifts {
            let block = factorise(rows.clone(), shift)?;
            if block.is_stable(a, rows.clone()) {
                return Ok(block);
            }
        }
        factorise(rows.clone(), last)
    }

    /// Gaussian elimination row by row (Saad, *Iterative Methods for Sparse Linear Systems*,
    /// Alg. 10.4), restricted to the entries of A, whose diagonal is multiplied by 1 + `shift`.
    fn factorise(
        a: CsrRef<'_, f64>,
        rows: Range<usize>,
        shift: f64,
        place: &mut Vec<usize>,
    ) -> Result<Block, SetupError> {
        let mut block = Block::empty();
        place.resize(rows.len().max(place.len()), 0);
        for row in rows.clone() {
            let begin = block.values.len();
            let of_block = BlockRow::read(a, row, &rows)?;
            for (column, value) in of_block.entries(shift) {
                block.columns.push(column);
                block.values.push(value);
            }
            let (own, given) = (of_block.own, of_block.diagonal);
            let diagonal = begin + block.columns[begin..].partition_point(|&column| column < own);
            block.diagonal.push(diagonal);
            block.eliminate(begin..diagonal, place);
            let pivot = &mut block.values[diagonal];
            if !Block::is_usable(*pivot, given) {
                (*pivot, block.replaced) = (given, true);
            }
            block.row_ptr.push(block.values.len());
        }
        Ok(block)
    }

    /// Whether no pivot was replaced, and substitutions do not amplify errors.
    fn is_stable(&self, a: CsrRef<'_, f64>, rows: Range<usize>) -> bool {
        let Block { row_ptr, columns, values, diagonal, replaced } = self;
        // B 1
        let sum = |row: usize| {
            let (columns, values) = a.row(row);
            let inside = |(column, _): &(&u32, &f64)| rows.contains(&(**column as usize));
            columns.iter().zip(values).filter(inside).map(|(_, value)| value).sum()
        };
        let mut x: Vec<f64> = rows.clone().map(sum).collect();
        let terms = |x: &[f64], entries: Range<usize>| -> f64 {
            entries.map(|entry| values[entry] * x[columns[entry] as usize]).sum()
        };
        for row in 0..x.len() {
            x[row] -= terms(&x, row_ptr[row]..diagonal[row]);
        }
        for row in (0..x.len()).rev() {
            x[row] = (x[row] - terms(&x, diagonal[row] + 1..row_ptr[row + 1])) / values[diagonal[row]];
        }
        !replaced && x.iter().all(|value| value.abs() <= LARGEST_SOLUTION)
    }

    /// Subtracts multiples of earlier rows from the last one. `lower` are its entries left of the
    /// diagonal.
    fn eliminate(&mut self, lower: Range<usize>, place: &mut [usize]) {
        let Block { row_ptr, columns, values, diagonal, .. } = self;
        // The place of each column in this row, plus one.
        (lower.start..columns.len()).for_each(|entry| place[columns[entry] as usize] = entry + 1);
        for entry in lower.clone() {
            let other = columns[entry] as usize;
            let factor = values[entry] / values[diagonal[other]];
            values[entry] = factor;
            for above in diagonal[other] + 1..row_ptr[other + 1] {
                if let Some(target) = place[columns[above] as usize].checked_sub(1) {
                    values[target] -= factor * values[above];
                }
            }
        }
        (lower.start..columns.len()).for_each(|entry| place[columns[entry] as usize] = 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ziggurat_sparse::algebra::add;
    use ziggurat_sparse::gallery::Problem;

    fn matrix(name: &str) -> Csr<f64> {
        name.parse::<Problem>().unwrap().matrix().unwrap()
    }

    /// L U
    fn back(factors: &IncompleteFactors) -> Csr<f64> {
        let one = Csr::identity(factors.pivots.len()).unwrap();
        let mut diagonal = one.clone();
        scale_rows(&mut diagonal, &factors.pivots).unwrap();
        let lower = add(1.0, one.view(), 1.0, factors.lower.view(), one.all_rows()).unwrap();
        let upper = add(1.0, diagonal.view(), 1.0, factors.upper.view(), one.all_rows()).unwrap();
        product(lower.view(), lower.all_rows(), upper.view()).unwrap()
    }

    fn check(a: &Csr<f64>, factors: &IncompleteFactors, what: &str) {
        let (back, block) = (back(factors), factors.block);
        for row in a.all_rows() {
            let (columns, values) = a.row(row);
            for (&column, value) in columns.iter().zip(values) {
                let inside = column as usize / block == row / block;
                let (found, expected) = (back.get(row, column as usize), if inside { *value } else { 0.0 });
                let error = (found.unwrap_or(0.0) - expected).abs();
                assert!(error < 1e-12 * a.get(row, row).unwrap(), "{what} ({row}, {column}): {error}");
            }
        }
    }

    #[test]
    fn the_product_of_the_factors_is_the_matrix_on_its_pattern() {
        for name in ["poisson3d:5", "convection3d:6", "elasticity3d:3"] {
            let a = matrix(name);
            for block in [7, 64, 4096] {
                let factors = factorise(a.view(), a.all_rows(), block, None, &Block::factorise).unwrap();
                check(&a, &factors, name);
                let turned = transpose(a.view(), a.all_rows());
                check(&turned, &factors.transposed().unwrap(), name);
            }
        }
    }

    /// W⁻¹ L U = A on the pattern of the blocks, although the first pivot of every node is zero.
    #[test]
    fn block_factors_do_not_depend_on_the_order_of_equations_in_a_node() {
        let a = matrix("elasticity3d:4");
        let order: Vec<usize> = a.all_rows().map(|row| row / 3 * 3 + (row + 1) % 3).collect();
        let mut coo = ziggurat_sparse::Coo::new(a.rows(), a.cols()).unwrap();
        for (row, &from) in order.iter().enumerate() {
            let (columns, values) = a.row(from);
            for (&column, &value) in columns.iter().zip(values) {
                coo.push(row, column as usize, value * 10f64.powi(4 * (row % 3) as i32)).unwrap();
            }
        }
        let turned = coo.to_csr();
        let of = |a: &Csr<f64>| factorise_nodes(a.view(), a.all_rows(), [96, 3], None).unwrap();
        let (natural, turned) = (of(&a), of(&turned));
        let close = |one: &[f64], other: &[f64]| one.iter().zip(other).all(|(x, y)| (x - y).abs() < 1e-9);
        assert!(close(&natural.pivots, &turned.pivots));
        assert!(close(natural.lower.values(), turned.lower.values()));
        assert!(natural.pivots.iter().any(|pivot| *pivot != 1.0), "all blocks are independent");
    }

    #[test]
    fn blocks_do_not_depend_on_the_range_of_rows() {
        let a = matrix("jump3d:6");
        let whole = factorise(a.view(), a.all_rows(), 32, None, &Block::factorise).unwrap();
        let part = factorise(a.view(), 64..160, 32, None, &Block::factorise).unwrap();
        assert_eq!(part.pivots, whole.pivots[64..160]);
        assert_eq!(part.lower.row(40).0.iter().map(|c| c + 64).collect::<Vec<_>>(), whole.lower.row(104).0);
        assert_eq!(part.upper.row(40).1, whole.upper.row(104).1);
    }

    #[test]
    fn a_lost_pivot_shifts_the_diagonal_and_a_missing_one_is_an_error() {
        let a = Csr::try_new(2, 2, vec![0, 2, 4], vec![0, 1, 0, 1], vec![1.0, 2.0, 2.0, 4.0]).unwrap();
        let pivots = factorise(a.view(), 0..2, 8, None, &Block::factorise).unwrap().pivots;
        assert_eq!(pivots, [1.01, 4.04 - 2.0 / 1.01 * 2.0]);
        let a = Csr::try_new(2, 2, vec![0, 1, 2], vec![0, 0], vec![1.0, 1.0]).unwrap();
        let error = factorise(a.view(), 0..2, 8, None, &Block::factorise).unwrap_err();
        assert!(error.to_string().starts_with("row 1: the diagonal entry is 0"), "{error}");
    }
}

//! Block Jacobi: M = diag(A[K₁,K₁]⁻¹, A[K₂,K₂]⁻¹, …) over blocks of consecutive rows.
//!
//! Blocks come from the matrix: consecutive rows with the same pattern, a *supervariable*, are the
//! unknowns of one node, and consecutive supervariables are joined as long as the block has at most
//! the given number of rows (Chow, Anzt, Scott & Dongarra, *Using Jacobi iterations and blocking
//! for solving sparse triangular systems in incomplete factorization preconditioning*, 2018, and
//! the block-Jacobi preconditioner of Ginkgo). Blocks begin anew at every 512th row, where the rows
//! of a process may begin, so they do not depend on the number of processes. On a structured grid
//! with several unknowns per point, blocks are the unknowns of a point.
//!
//! The inverses are stored as one sparse matrix, so a sweep is two products. Blocks are
//! equilibrated before they are inverted, because the unknowns of a node may have different units.
//! A singular block is replaced by its diagonal. Cost: one pass over the matrix, and 2m³ operations
//! for a block of m rows.

use std::ops::Range;

use ziggurat_sparse::dense::Lu;
use ziggurat_sparse::grid::GridSystem;
use ziggurat_sparse::parallel::{map_pieces, over_two};
use ziggurat_sparse::{Csr, CsrRef, Dense, MatrixError};

use crate::halo::Halo;
use crate::{SetupError, power_of_two};

/// The most rows of a block.
pub const MAX_BLOCK: usize = 32;

/// Global rows at which a block always begins.
const RESTART: u64 = 512;

/// Points of a grid whose inverses one task computes.
const POINTS: usize = 256;

/// Other blocks whose inverses one task computes.
const BLOCKS: usize = 32;

/// Rows of the result that one task writes.
const ROWS: usize = 1024;

/// The rows of M that this process owns. Blocks have at most `most` rows.
///
/// # Errors
/// If a row of a singular block has no usable diagonal entry.
pub(super) fn inverse<H: Halo>(a: CsrRef<'_, f64>, halo: &H, most: usize) -> Result<Csr<f64>, SetupError> {
    stored(a, halo.owned(), &blocks(a, halo, most))
}

/// The inverses of the diagonal blocks of nodes: `unknowns` consecutive rows each, beginning at the
/// first of `rows`.
///
/// # Errors
/// As [`inverse`].
pub(crate) fn inverse_of_nodes(
    a: CsrRef<'_, f64>,
    rows: Range<usize>,
    unknowns: usize,
) -> Result<Csr<f64>, SetupError> {
    let node = |begin: usize| begin..(begin + unknowns).min(rows.end);
    let nodes: Vec<Range<usize>> = rows.clone().step_by(unknowns.max(1)).map(node).collect();
    stored(a, rows, &nodes)
}

/// The inverses of the blocks of points.
///
/// # Errors
/// As [`inverse`].
pub(super) fn inverse_of_points(a: &GridSystem) -> Result<Csr<f64>, SetupError> {
    let (m, n) = (a.unknowns(), a.grid().len());
    let own = |place: usize| a.block(place / m, place % m).and_then(|block| block.of_direction([0; 3]));
    let entries: Vec<Option<Vec<f64>>> = (0..m * m).map(own).collect();
    let of_piece = |points: Range<usize>| -> Result<Vec<f64>, SetupError> {
        let mut inverses = vec![0.0; points.len() * m * m];
        for (inverse, point) in inverses.chunks_exact_mut((m * m).max(1)).zip(points) {
            let entry = |place: usize| entries[place].as_ref().map_or(0.0, |values| values[point]);
            (0..m * m).for_each(|place| inverse[place] = entry(place));
            if !invert_definite(inverse, m) {
                // Column by column.
                let values = (0..m * m).map(|place| entry(place % m * m + place / m)).collect();
                let dense = Dense::try_new(m, m, values)?;
                inverse.copy_from_slice(&inverse_or_diagonal(&dense, |unknown| unknown * n + point)?);
            }
        }
        Ok(inverses)
    };
    let pieces = map_pieces(0..n, POINTS, &of_piece).into_iter().collect::<Result<Vec<_>, _>>()?;
    let row_ptr = (0..=m * n).map(|row| row * m).collect();
    let (mut columns, mut values) = (vec![0; m * m * n], vec![0.0; m * m * n]);
    over_two(&mut columns, &mut values, [ROWS * m; 2], &|first, columns, values| {
        let rows = columns.chunks_exact_mut(m.max(1)).zip(values.chunks_exact_mut(m.max(1)));
        for (row, (columns, values)) in (first * ROWS..).zip(rows) {
            let (unknown, point) = (row / n, row % n);
            (0..m).for_each(|other| columns[other] = (other * n + point) as u32);
            let inverse = &pieces[point / POINTS][point % POINTS * m * m..];
            values.copy_from_slice(&inverse[unknown * m..][..m]);
        }
    });
    Ok(Csr::try_new(m * n, m * n, row_ptr, columns, values)?)
}

/// Inverts a positive definite matrix in place, row by row, by Gauss–Jordan elimination; false if a
/// pivot is too small.
fn invert_definite(a: &mut [f64], m: usize) -> bool {
    const SMALLEST_PIVOT: f64 = 1e-10;
    for k in 0..m {
        let diagonal = a[k * m + k];
        if diagonal.is_nan() || diagonal <= 0.0 {
            return false;
        }
        let inverse = diagonal.recip();
        a[k * m + k] = 1.0;
        a[k * m..(k + 1) * m].iter_mut().for_each(|x| *x *= inverse);
        for row in (0..m).filter(|&row| row != k) {
            let factor = std::mem::replace(&mut a[row * m + k], 0.0);
            let before = a[row * m + row];
            for column in 0..m {
                a[row * m + column] -= factor * a[k * m + column];
            }
            // Rows below k have not been pivots yet.
            if row > k && a[row * m + row] < SMALLEST_PIVOT * before {
                return false;
            }
        }
    }
    true
}

/// The inverses of the given blocks of consecutive rows as one matrix.
fn stored(a: CsrRef<'_, f64>, rows: Range<usize>, blocks: &[Range<usize>]) -> Result<Csr<f64>, SetupError> {
    let of_piece = |piece: Range<usize>| -> Result<Vec<Vec<f64>>, SetupError> {
        blocks[piece].iter().map(|block| inverse_of(a, block.clone())).collect()
    };
    let pieces = map_pieces(0..blocks.len(), BLOCKS, &of_piece).into_iter().collect::<Result<Vec<_>, _>>()?;
    let inverses: Vec<Vec<f64>> = pieces.into_iter().flatten().collect();
    let of_row: Vec<u32> =
        (0..).zip(blocks).flat_map(|(index, block)| block.clone().map(move |_| index)).collect();
    Ok(Csr::collect(
        a.row_ptr(),
        rows.clone(),
        a.cols(),
        || (),
        |(), row, entries| {
            let index = of_row[row - rows.start] as usize;
            let (block, size) = (&blocks[index], blocks[index].len());
            let values = &inverses[index][(row - block.start) * size..][..size];
            for (column, &value) in block.clone().zip(values) {
                if value != 0.0 {
                    entries.push(column as u32, value);
                }
            }
        },
    )?)
}

/// Blocks of consecutive own rows.
fn blocks<H: Halo>(a: CsrRef<'_, f64>, halo: &H, most: usize) -> Vec<Range<usize>> {
    let rows = halo.owned();
    let mut blocks: Vec<Range<usize>> = Vec::new();
    let mut row = rows.start;
    while row < rows.end {
        let mut end = row + 1;
        let begins = |row: usize| halo.global_id(row).is_multiple_of(RESTART);
        while end < rows.end && end - row < most && !begins(end) && a.row(end).0 == a.row(row).0 {
            end += 1;
        }
        match blocks.last_mut() {
            Some(last) if !begins(row) && end - last.start <= most => last.end = end,
            _ => blocks.push(row..end),
        }
        row = end;
    }
    blocks
}

/// A[K,K]⁻¹, row by row.
fn inverse_of(a: CsrRef<'_, f64>, block: Range<usize>) -> Result<Vec<f64>, SetupError> {
    let size = block.len();
    let mut dense = Dense::zeros(size, size)?;
    for row in block.clone() {
        let (columns, values) = a.row(row);
        let begin = columns.partition_point(|&column| (column as usize) < block.start);
        for (&column, &value) in columns[begin..].iter().zip(&values[begin..]) {
            if column as usize >= block.end {
                break;
            }
            dense[(row - block.start, column as usize - block.start)] = value;
        }
    }
    inverse_or_diagonal(&dense, |row| block.start + row)
}

/// The inverse of a block, row by row, or the inverse of its diagonal if it is singular.
/// `row_of_a` names its rows in an error.
fn inverse_or_diagonal(
    block: &Dense<f64>,
    row_of_a: impl Fn(usize) -> usize,
) -> Result<Vec<f64>, SetupError> {
    if let Some(values) = equilibrated_inverse(block) {
        return Ok(values);
    }
    let size = block.rows();
    let mut values = vec![0.0; size * size];
    for row in 0..size {
        let value = block[(row, row)];
        if !(value.is_finite() && value != 0.0) {
            return Err(MatrixError::ZeroDiagonal { row: row_of_a(row), value }.into());
        }
        values[row * (size + 1)] = value.recip();
    }
    Ok(values)
}

/// The largest element of an equilibrated matrix's inverse; beyond, the matrix counts as singular.
const LARGEST_INVERSE: f64 = 1e13;

/// C (R A C)⁻¹ R, row by row, where R and C scale the largest entry of every column, then of every
/// row, to about one; `None` if A is singular.
fn equilibrated_inverse(a: &Dense<f64>) -> Option<Vec<f64>> {
    let size = a.rows();
    let factor = |entries: &mut dyn Iterator<Item = f64>| {
        power_of_two::nearest(entries.fold(0.0, |most: f64, x| most.max(x.abs()))).recip()
    };
    let columns: Vec<f64> =
        (0..size).map(|column| factor(&mut (0..size).map(|row| a[(row, column)]))).collect();
    let rows: Vec<f64> = (0..size)
        .map(|row| factor(&mut (0..size).map(|column| a[(row, column)] * columns[column])))
        .collect();
    let mut scaled = a.clone();
    for (column, by) in columns.iter().enumerate() {
        scaled.column_mut(column).iter_mut().zip(&rows).for_each(|(value, row)| *value = row * *value * by);
    }
    let inverse = Lu::new(scaled).and_then(|factors| factors.inverse()).ok()?;
    // Of a singular matrix, rounding may leave an inverse of 10¹⁶.
    let usable = inverse.values().iter().all(|value| value.abs() <= LARGEST_INVERSE);
    let entries = (0..size).flat_map(|row| (0..size).map(move |column| (row, column)));
    usable.then(|| entries.map(|at| columns[at.0] * inverse[at] * rows[at.1]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::halo::Whole;
    use ziggurat_sparse::algebra::product;
    use ziggurat_sparse::gallery::Problem;
    use ziggurat_sparse::graph::permute_symmetric;
    use ziggurat_sparse::grid::recognise;

    #[test]
    fn blocks_are_nodes_joined_up_to_the_limit() {
        let a = "elasticity3d:4".parse::<Problem>().unwrap().matrix().unwrap();
        let halo = Whole::new(a.rows());
        assert!(blocks(a.view(), &halo, 3).iter().all(|block| block.len() == 3 && block.start % 3 == 0));
        // Nodes are not cut: 30 rows, not 32.
        assert_eq!(blocks(a.view(), &halo, 32)[..2], [0..30, 30..60]);
        let a = "poisson2d:40".parse::<Problem>().unwrap().matrix().unwrap();
        let of_rows = blocks(a.view(), &Whole::new(a.rows()), 5);
        assert!(of_rows.contains(&(510..512)) && of_rows.contains(&(512..517)));
        assert_eq!(of_rows.iter().map(ExactSizeIterator::len).sum::<usize>(), a.rows());
    }

    #[test]
    fn the_inverse_of_a_block_diagonal_matrix_is_exact() {
        let columns = vec![0, 1, 0, 1, 2, 3];
        let values = vec![4.0, 1.0, 2.0, 3.0, 0.5, -2.0];
        let a = Csr::try_new(4, 4, vec![0, 2, 4, 5, 6], columns, values).unwrap();
        let m = inverse(a.view(), &Whole::new(4), 2).unwrap();
        let one = product(m.view(), m.all_rows(), a.view()).unwrap();
        for row in 0..4 {
            for column in 0..4 {
                let expected = f64::from(u8::from(row == column));
                assert!((one.get(row, column).unwrap_or(0.0) - expected).abs() < 1e-15);
            }
        }
    }

    /// A cell of a reservoir: saturations and pressure, in units that differ by many orders.
    #[test]
    fn units_do_not_make_a_block_singular() {
        let values = vec![-2.4e-3, 1.5e-15, 1.3e-14, 7.8e-3, 1.2e-7, 0.0, -0.27, 1.6e-13, 1.4e-12];
        let a = Csr::try_new(3, 3, vec![0, 3, 6, 9], [0, 1, 2].repeat(3), values).unwrap();
        let m = inverse_of_nodes(a.view(), 0..3, 3).unwrap();
        let one = product(a.view(), a.all_rows(), m.view()).unwrap();
        for row in 0..3 {
            assert!((one.get(row, row).unwrap() - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn on_a_grid_the_unknowns_of_a_point_are_a_block() {
        let a = "radiation3t:6".parse::<Problem>().unwrap().matrix().unwrap();
        let grid = recognise(a.view()).unwrap();
        let on_grid = GridSystem::from_csr(a.view(), &grid).unwrap();
        let expected = inverse_of_nodes(a.view(), a.all_rows(), 3).unwrap();
        let expected = permute_symmetric(expected.view(), &grid.by_unknown().unwrap()).unwrap();
        let found = inverse_of_points(&on_grid).unwrap();
        for row in expected.all_rows() {
            for (&column, &value) in expected.row(row).0.iter().zip(expected.row(row).1) {
                let found = found.get(row, column as usize).unwrap();
                assert!((found - value).abs() <= 1e-9 * value.abs(), "({row}, {column}) {found} {value}");
            }
        }
    }

    #[test]
    fn nearly_singular_blocks_are_left_to_pivoting() {
        let mut a = [4.0, 2.0, 2.0, 3.0];
        assert!(invert_definite(&mut a, 2));
        assert!(a.iter().zip([0.375, -0.25, -0.25, 0.5]).all(|(x, y)| (x - y).abs() < 1e-15));
        assert!(!invert_definite(&mut [1.0, 1.0, 1.0, 1.0 + 1e-13], 2));
        assert!(!invert_definite(&mut [0.0, 1.0, 1.0, 0.0], 2));
    }

    #[test]
    fn a_singular_block_is_replaced_by_its_diagonal() {
        let a = Csr::try_new(2, 2, vec![0, 2, 4], vec![0, 1, 0, 1], vec![1.0, 1.0, 1.0, 1.0]).unwrap();
        let m = inverse(a.view(), &Whole::new(2), 8).unwrap();
        assert_eq!((m.row(0), m.row(1)), ((&[0][..], &[1.0][..]), (&[1][..], &[1.0][..])));
        let zero = Csr::try_new(1, 1, vec![0, 1], vec![0], vec![0.0]).unwrap();
        assert!(inverse(zero.view(), &Whole::new(1), 8).is_err());
    }
}

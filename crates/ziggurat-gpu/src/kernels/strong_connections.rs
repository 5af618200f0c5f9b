//! Strong connections of a symmetric matrix, one unit per row.
//!
//! ```text
//! s_ij = |a_ij| / √(a_ii a_jj)        strong: s_ij ≥ θ, or s_ji ≥ θ
//! ```
//!
//! Both directions count because a matrix may be symmetric up to rounding only. The reverse entry
//! is searched for where the entry itself is weak. Memory traffic: the matrix, 4 bytes of flag and
//! a value per entry, and the scales of the columns.

use cubecl::prelude::*;
use ziggurat_sparse::device::{SAMPLE_FACTOR, SAMPLE_SHIFT};

use super::product_values::first_from;
use super::scan::cube_scan;
use super::vector::{VECTOR_UNITS, position};

/// 1/√a_ii, and Σ_j |a_ij| / a_ii, for every row.
#[cube(launch_unchecked)]
pub(crate) fn diagonal_scales<C: Float + CubeElement>(
    row_ptr: &Array<u32>,
    columns: &Array<u32>,
    values: &Array<C>,
    scales: &mut Array<C>,
    bounds: &mut Array<C>,
    rows: u32,
) {
    let row = position();
    if row < rows as usize {
        let mut diagonal = C::new(0.0);
        let mut sum = C::new(0.0);
        for k in row_ptr[row]..row_ptr[row + 1] {
            let size = values[k as usize].abs();
            sum += size;
            diagonal = select(columns[k as usize] as usize == row, size, diagonal);
        }
        scales[row] = C::new(1.0) / diagonal.sqrt();
        bounds[row] = sum / diagonal;
    }
}

/// The strength of entry k, which is in this row; 0 on the diagonal.
#[cube]
fn strength_of<C: Float>(
    columns: &Array<u32>,
    values: &Array<C>,
    scales: &Array<C>,
    row: usize,
    k: u32,
) -> C {
    let column = columns[k as usize] as usize;
    let strength = values[k as usize].abs() * (scales[row] * scales[column]);
    select(column == row, C::new(0.0), strength)
}

/// Adds to out_0 the number of connections that are at least as strong as `threshold`, in all rows
/// or in the rows that a hash selects.
#[cube(launch_unchecked)]
pub(crate) fn count_strong<C: Float + CubeElement>(
    row_ptr: &Array<u32>,
    columns: &Array<u32>,
    values: &Array<C>,
    scales: &Array<C>,
    out: &Array<Atomic<u32>>,
    threshold: C,
    rows: u32,
    all: u32,
) {
    let row = position();
    let mut count = 0u32;
    let hash = (u32::cast_from(row) * SAMPLE_FACTOR) >> SAMPLE_SHIFT;
    if row < rows as usize && (all == 1 || hash == 0) {
        for k in row_ptr[row]..row_ptr[row + 1] {
            let strength = strength_of::<C>(columns, values, scales, row, k);
            count += select(strength >= threshold, 1u32, 0u32);
        }
    }
    let (_before, total) = cube_scan(count, VECTOR_UNITS);
    if UNIT_POS == 0 && total > 0 {
        out[0].fetch_add(total);
    }
}

/// For every entry whether it is a strong connection, and its magnitude.
#[cube(launch_unchecked)]
pub(crate) fn mark_strong<C: Float + CubeElement>(
    row_ptr: &Array<u32>,
    columns: &Array<u32>,
    values: &Array<C>,
    scales: &Array<C>,
    kept: &mut Array<u32>,
    sizes: &mut Array<C>,
    threshold: C,
    rows: u32,
) {
    let row = position();
    if row < rows as usize {
        for k in row_ptr[row]..row_ptr[row + 1] {
            let column = columns[k as usize] as usize;
            let mut strength = strength_of::<C>(columns, values, scales, row, k);
            if strength < threshold && column != row {
                let end = row_ptr[column + 1];
                let place = first_from(columns, row_ptr[column], end, u32::cast_from(row));
                if place < end && columns[place as usize] as usize == row {
                    strength = strength_of::<C>(columns, values, scales, column, place);
                }
            }
            let strong = strength >= threshold && strength > C::new(0.0);
            kept[k as usize] = select(strong, 1u32, 0u32);
            sizes[k as usize] = values[k as usize].abs();
        }
    }
}

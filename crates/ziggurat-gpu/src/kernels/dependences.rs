//! Strong connections by the classical measure (Ruge & Stüben, 1987), one unit per row.
//!
//! ```text
//! strong: a_ij / m_i ≥ θ        m_i = min_k a_ik (the maximum, if a_ii < 0)
//! ```
//!
//! The diagonal is kept as well, because interpolation needs it. Compared are a_ij and θ m_i: a
//! quotient may be inexact on a GPU. Memory traffic: the matrix twice, and a flag per entry.

use cubecl::prelude::*;

use super::vector::position;

/// For every entry whether it is a strong connection, or on the diagonal. If `limited`, rows whose
/// sum is more than `most` times their diagonal have no connections.
#[cube(launch_unchecked)]
pub(crate) fn mark_dependences<C: Float + CubeElement>(
    row_ptr: &Array<u32>,
    columns: &Array<u32>,
    values: &Array<C>,
    kept: &mut Array<u32>,
    threshold: C,
    most: C,
    rows: u32,
    #[comptime] limited: bool,
) {
    let row = position();
    if row < rows as usize {
        let zero = C::new(0.0);
        let mut diagonal = C::new(0.0);
        let mut sum = C::new(0.0);
        let mut smallest = C::new(0.0);
        let mut largest = C::new(0.0);
        for k in row_ptr[row]..row_ptr[row + 1] {
            let value = values[k as usize];
            sum += value;
            smallest = select(value < smallest, value, smallest);
            largest = select(value > largest, value, largest);
            diagonal = select(columns[k as usize] as usize == row, value, diagonal);
        }
        // With the sign of the scale, connections are positive.
        let positive = diagonal < zero;
        let scale = select(positive, largest, -smallest);
        let mut connected = scale > zero;
        if comptime!(limited) {
            connected = connected && sum.abs() <= most * diagonal.abs();
        }
        for k in row_ptr[row]..row_ptr[row + 1] {
            let value = values[k as usize];
            let size = select(positive, value, -value);
            let strong = connected && size > zero && size >= threshold * scale;
            let own = columns[k as usize] as usize == row;
            kept[k as usize] = select(own || strong, 1u32, 0u32);
        }
    }
}

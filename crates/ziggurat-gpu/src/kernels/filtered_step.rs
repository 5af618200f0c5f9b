//! One step of Jacobi's method with the filtered matrix, as a matrix; one unit per row.
//!
//! ```text
//! 1 − ω D⁻¹ A_F        A_F: connections below `filter` times the largest of the node are added to
//!                      the entry of the same unknown in the row's own node
//! ```
//!
//! D is the diagonal of A_F; where filtering has changed its sign, the larger of |a^F_ii| and
//! ½ Σ_j |a^F_ij|, with ρ(D⁻¹A_F) ≤ 2. Of a row's own node all entries are stored, whether the
//! matrix has them or not. Memory traffic: columns three times, values once, a flag per entry
//! twice, and the result twice.

use cubecl::prelude::*;

use super::vector::position;

/// For every entry whether it is a strong connection to another node, and the number of entries
/// that rows will have. `norms` are the entries of the matrix of nodes, which has all connections.
#[cube(launch_unchecked)]
pub(crate) fn mark_filtered<C: Float + CubeElement>(
    row_ptr: &Array<u32>,
    columns: &Array<u32>,
    node_row_ptr: &Array<u32>,
    node_columns: &Array<u32>,
    norms: &Array<C>,
    kept: &mut Array<u32>,
    counts: &mut Array<u32>,
    filter: C,
    block: u32,
    rows: u32,
) {
    let row = position();
    if row < rows as usize {
        let node = u32::cast_from(row) / block;
        let begin = node_row_ptr[node as usize];
        let mut largest = C::new(0.0);
        for k in begin..node_row_ptr[node as usize + 1] {
            let own = node_columns[k as usize] == node;
            let size = select(own, C::new(0.0), norms[k as usize].abs());
            largest = select(size > largest, size, largest);
        }
        let least = filter * largest;
        let mut place = begin;
        let mut count = block;
        for k in row_ptr[row]..row_ptr[row + 1] {
            let other = columns[k as usize] / block;
            // Both lists are sorted, and the matrix of nodes has this one.
            while node_columns[place as usize] < other {
                place += 1;
            }
            let norm = norms[place as usize].abs();
            let strong = other != node && norm >= least && norm > C::new(0.0);
            kept[k as usize] = select(strong, 1u32, 0u32);
            count += select(strong, 1u32, 0u32);
        }
        counts[row] = count;
    }
}

/// The matrix. `step` is ω ρ divided by ρ, and `half` is ω ρ / 2.
#[cube(launch_unchecked)]
pub(crate) fn filtered_step<C: Float + CubeElement>(
    row_ptr: &Array<u32>,
    columns: &Array<u32>,
    values: &Array<C>,
    kept: &Array<u32>,
    new_row_ptr: &Array<u32>,
    new_columns: &mut Array<u32>,
    new_values: &mut Array<C>,
    step: C,
    half: C,
    block: u32,
    rows: u32,
) {
    let row = position();
    if row < rows as usize {
        let begin = row_ptr[row];
        let end = row_ptr[row + 1];
        let zero = C::new(0.0);
        let unknown = u32::cast_from(row) % block;
        let first = u32::cast_from(row) - unknown;
        // Where the row's own node begins.
        let mut own = new_row_ptr[row];
        for k in begin..end {
            own += select(columns[k as usize] < first, kept[k as usize], 0u32);
        }
        for other in 0..block {
            new_columns[(own + other) as usize] = first + other;
            new_values[(own + other) as usize] = zero;
        }
        let mut place = new_row_ptr[row];
        let mut diagonal = C::new(0.0);
        let mut sum = C::new(0.0);
        for k in begin..end {
            let column = columns[k as usize];
            let value = values[k as usize];
            if kept[k as usize] == 1 {
                let to = (place + select(column < first, 0u32, block)) as usize;
                new_columns[to] = column;
                new_values[to] = value;
                place += 1;
                sum += value.abs();
            } else {
                let to = (own + column % block) as usize;
                let filtered = new_values[to] + value;
                new_values[to] = filtered;
                diagonal = select(column as usize == row, value, diagonal);
            }
        }
        for other in 0..block {
            sum += new_values[(own + other) as usize].abs();
        }
        let filtered = new_values[(own + unknown) as usize];
        let mut factor = C::new(0.0);
        if filtered * diagonal > zero {
            factor = step / filtered;
        } else {
            let mean = C::new(0.5) * sum;
            let scale = select(filtered.abs() > mean, filtered.abs(), mean);
            if scale > zero {
                factor = half / scale;
            }
        }
        for k in new_row_ptr[row]..new_row_ptr[row + 1] {
            let is_diagonal = new_columns[k as usize] as usize == row;
            let value = select(is_diagonal, C::new(1.0), zero) - factor * new_values[k as usize];
            new_values[k as usize] = value;
        }
    }
}

//! One step of Jacobi's method with the filtered matrix, as a matrix; one unit per row.
//!
//! ```text
//! 1 − ω D⁻¹ A_F        A_F: connections below `filter` times the largest of the row are added to
//!                      the diagonal
//! ```
//!
//! D is the diagonal of A_F; where filtering has changed its sign, the larger of |a^F_ii| and
//! ½ Σ_j |a^F_ij|, with ρ(D⁻¹A_F) ≤ 2. Memory traffic: the matrix three times, and a flag and a
//! value per entry.

use cubecl::prelude::*;

use super::vector::position;

/// For every entry whether it is kept, and its value. `step` is ω ρ divided by ρ, and `half` is
/// ω ρ / 2.
#[cube(launch_unchecked)]
pub(crate) fn filtered_step<C: Float + CubeElement>(
    row_ptr: &Array<u32>,
    columns: &Array<u32>,
    values: &Array<C>,
    kept: &mut Array<u32>,
    new_values: &mut Array<C>,
    filter: C,
    step: C,
    half: C,
    rows: u32,
) {
    let row = position();
    if row < rows as usize {
        let begin = row_ptr[row];
        let end = row_ptr[row + 1];
        let zero = C::new(0.0);
        let mut largest = C::new(0.0);
        let mut diagonal = C::new(0.0);
        for k in begin..end {
            let value = values[k as usize];
            let own = columns[k as usize] as usize == row;
            diagonal = select(own, value, diagonal);
            let size = select(own, zero, value.abs());
            largest = select(size > largest, size, largest);
        }
        let least = filter * largest;
        let mut filtered = diagonal;
        let mut sum = C::new(0.0);
        for k in begin..end {
            let value = values[k as usize];
            let size = value.abs();
            let own = columns[k as usize] as usize == row;
            let strong = size >= least && size > zero;
            filtered += select(own || strong, zero, value);
            sum += select(strong && !own, size, zero);
        }
        let mut factor = C::new(0.0);
        if filtered * diagonal > zero {
            factor = step / filtered;
        } else {
            let mean = C::new(0.5) * (sum + filtered.abs());
            let scale = select(filtered.abs() > mean, filtered.abs(), mean);
            if scale > zero {
                factor = half / scale;
            }
        }
        for k in begin..end {
            let value = values[k as usize];
            let size = value.abs();
            let own = columns[k as usize] as usize == row;
            let strong = size >= least && size > zero;
            kept[k as usize] = select(own || strong, 1u32, 0u32);
            new_values[k as usize] = select(own, C::new(1.0) - factor * filtered, zero - factor * value);
        }
    }
}

//! Whether a matrix transports: most of its couplings act in one direction.
//!
//! ```text
//! one-way:  |a_ji| ≤ ½ |a_ij|   and   |a_ji| / |a_jj| ≤ ½ |a_ij| / |a_ii|
//! ```
//!
//! In a row of a transport problem, or of convection with little diffusion, one-way couplings make
//! up most of Σ_{j≠i} |a_ij|. There the transpose of an interpolation is not a good restriction,
//! and approximate ideal restriction takes fewer iterations (`cargo xtask bench transport`).
//! Equations of a symmetric problem in different units meet the first condition, and large
//! differences between diagonal entries, as in circuits, the second; transport meets both.
//!
//! Cost: a sample of the rows. It is chosen by global ids, so the result does not depend on the
//! number of processes.

use ziggurat_amg::halo::Processes;
use ziggurat_sparse::CsrRef;

use super::weights::sample;

/// The size of the opposite coupling, relative to a one-way coupling, up to which it is one.
const OPPOSITE: f64 = 0.5;

/// The part of a row's couplings that must be one-way, and of the rows where they must be.
const MOST: f64 = 0.5;

/// Whether most couplings of most rows are one-way. `a` contains the owned rows of `halo` and the
/// rows of its neighbours; `rows` is the number over all processes. Collective.
pub(super) fn is_one_way<H: Processes>(a: CsrRef<'_, f64>, halo: &H, rows: u64) -> bool {
    let diagonal = |row: usize| a.get(row, row).unwrap_or(0.0).abs();
    // Rows with couplings, and those where most are one-way.
    let mut counts = [0u64; 2];
    for row in sample(halo, rows) {
        let (columns, values) = a.row(row);
        let (mut all, mut one_way) = (0.0, 0.0);
        for (&column, &value) in columns.iter().zip(values) {
            let column = column as usize;
            if column != row && value != 0.0 {
                let (size, opposite) = (value.abs(), a.get(column, row).unwrap_or(0.0).abs());
                let is_less = opposite <= OPPOSITE * size;
                let is_relatively_less = opposite * diagonal(row) <= OPPOSITE * size * diagonal(column);
                all += size;
                one_way += if is_less && is_relatively_less { size } else { 0.0 };
            }
        }
        counts[0] += u64::from(all > 0.0);
        counts[1] += u64::from(all > 0.0 && one_way > MOST * all);
    }
    halo.sum(&mut counts);
    counts[1] as f64 > MOST * counts[0] as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use ziggurat_amg::halo::Whole;
    use ziggurat_sparse::Csr;
    use ziggurat_sparse::gallery::Problem;

    fn flows(a: &Csr<f64>) -> bool {
        is_one_way(a.view(), &Whole::new(a.rows()), a.rows() as u64)
    }

    #[test]
    fn transport_flows_and_diffusion_does_not_in_any_units() {
        let matrix = |name: &str| name.parse::<Problem>().unwrap().matrix().unwrap();
        assert!(flows(&matrix("convection3d:4")));
        for (name, expected) in [("transport3d:12", true), ("convection3d:60", false), ("jump3d:12", false)] {
            let mut a = matrix(name);
            assert_eq!(flows(&a), expected, "{name}");
            // Each equation in a unit of its own.
            let pointers = a.row_ptr().to_vec();
            for row in 0..a.rows() {
                let unit = f64::from(1u32 << (row % 20));
                a.values_mut()[pointers[row]..pointers[row + 1]].iter_mut().for_each(|value| *value *= unit);
            }
            assert_eq!(flows(&a), expected, "{name} in other units");
        }
        assert!(!flows(&Csr::identity(5).unwrap()) && !flows(&Csr::identity(0).unwrap()));
    }
}

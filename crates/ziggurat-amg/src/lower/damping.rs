//! The damping of approximate inverses and incomplete factors: ω = 4 / (3ρ), where ρ = ρ(M A).
//!
//! A sweep multiplies the error component of eigenvalue λ of M A by 1 − ωλ, so it converges for
//! ω < 2/ρ, and 4 / (3ρ) damps the upper half of the spectrum to a third. ρ is estimated by power
//! iteration with the matrices as the cycle uses them, on their device and in their precision. The
//! estimate is from below, and errors of up to a third of ρ do no harm. Scaled variables change M A
//! to a similar matrix, with the same ρ. Cost: eight products with A and M.

use ziggurat_sparse::Kind;
use ziggurat_sparse::device::{Device, DeviceExt, Matrix, Vector};
use ziggurat_sparse::hash::uniform_signed;

use crate::SetupError;

/// Steps of power iteration.
const STEPS: usize = 8;

/// An operation on three vectors.
type OnThree<'a> = &'a dyn Fn([&mut Vector; 3]);

/// ω for a smoother of `a` that is not yet damped. `apply` multiplies its first vector by M into
/// the third, and may overwrite the first and the second. `a` has some number of rows here, the
/// first of which is the second number of all. Collective.
pub(super) fn damping(
    device: &dyn Device,
    a: &Matrix,
    working: Kind,
    apply: OnThree<'_>,
    (rows, first_row): (usize, u64),
) -> Result<f64, SetupError> {
    let start: Vec<f64> = (first_row..).take(rows).map(uniform_signed).collect();
    let mut x = device.upload_as(working, &start)?;
    let [mut y, mut between] = [device.zeros(working, rows)?, device.zeros(working, rows)?];
    let mut radius = 0.0;
    for _ in 0..STEPS {
        let norm = device.norm(&x);
        if !(norm > 0.0 && norm.is_finite()) {
            break;
        }
        device.spmv(norm.recip(), a, &x, 0.0, &mut y);
        apply([&mut y, &mut between, &mut x]);
        radius = device.norm(&x);
    }
    Ok(if radius > 0.0 && radius.is_finite() { 4.0 / (3.0 * radius) } else { 1.0 })
}

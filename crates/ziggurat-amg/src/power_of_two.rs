//! Powers of two as scale factors: multiplying by one changes no bit of a mantissa.
//!
//! Cost: a few integer operations per number.

use ziggurat_sparse::device::{Device, DeviceExt};
use ziggurat_sparse::parallel;

/// The exponent of a normal number.
fn exponent(x: f64) -> i64 {
    ((x.to_bits() >> 52) & 0x7ff) as i64 - 1023
}

/// The power of two nearest to a positive number on a logarithmic scale; 1 where there is none.
pub(crate) fn nearest(x: f64) -> f64 {
    if !(x > 0.0 && x.is_finite()) {
        return 1.0;
    }
    // Subnormal numbers are below 2⁻⁵⁰⁰ in any case.
    let fraction = f64::from_bits(x.to_bits() & 0x000f_ffff_ffff_ffff | 0x3ff0_0000_0000_0000);
    let up = i64::from(fraction > std::f64::consts::SQRT_2);
    // 2ᵏ from its bits; `powi` takes ten times as long.
    f64::from_bits(((exponent(x) + up).clamp(-500, 500) + 1023).cast_unsigned() << 52)
}

/// The largest power of two that does not exceed a positive number; 1 where there is none.
pub(crate) fn at_most(x: f64) -> f64 {
    if x > 0.0 && x.is_finite() { x.log2().floor().clamp(-500.0, 500.0).exp2() } else { 1.0 }
}

/// The power of two nearest to the geometric mean of powers of two, over all processes that share
/// a device.
pub(crate) fn mean(device: &dyn Device, powers: &[f64]) -> f64 {
    let mut sums = [sum_of_exponents(powers), powers.len() as i64];
    device.sum_of_all(&mut sums);
    2f64.powi((sums[0] / sums[1].max(1)) as i32)
}

fn sum_of_exponents(powers: &[f64]) -> i64 {
    let parts = parallel::map_pieces(0..powers.len(), parallel::PIECE, &|piece| {
        powers[piece].iter().map(|&power| exponent(power)).sum::<i64>()
    });
    parts.into_iter().sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ziggurat_sparse::device::Cpu;

    #[test]
    fn nearest_rounds_on_a_logarithmic_scale() {
        for (x, power) in [
            (1.0, 1.0),
            (1.4, 1.0),
            (1.5, 2.0),
            (3.0, 4.0),
            (0.7, 0.5),
            (0.75, 1.0),
            (1e-320, 2f64.powi(-500)),
        ] {
            assert_eq!(nearest(x), power, "{x}");
        }
        for none in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(nearest(none), 1.0);
        }
        assert_eq!((mean(&Cpu::new(), &[1.0, 4.0, 16.0]), mean(&Cpu::new(), &[])), (4.0, 1.0));
    }
}

//! A smooth random field on a grid, the same for every size and machine.
//!
//! Every eighth point along each axis has a random value from a normal distribution, limited to
//! three standard deviations. Between these points the field is trilinear. The value depends only
//! on the position, so any row of a matrix can be generated alone.

/// Cells between two random values.
const SPACING: u64 = 8;

/// The largest absolute value of the field.
pub(super) const LIMIT: f64 = 3.0;

/// The field at a cell.
#[inline]
pub(super) fn at(position: [u64; 3]) -> f64 {
    let corner = position.map(|at| at / SPACING);
    let [x, y, z] = position.map(|at| (at % SPACING) as f64 / SPACING as f64);
    let mix = |low: f64, high: f64, share: f64| low + (high - low) * share;
    let value = |dx: u64, dy: u64, dz: u64| normal([corner[0] + dx, corner[1] + dy, corner[2] + dz]);
    let line = |dy: u64, dz: u64| mix(value(0, dy, dz), value(1, dy, dz), x);
    let plane = |dz: u64| mix(line(0, dz), line(1, dz), y);
    mix(plane(0), plane(1), z)
}

/// The random value of a corner: the sum of four uniform numbers, scaled to variance one.
#[inline]
fn normal(corner: [u64; 3]) -> f64 {
    let key = corner.iter().fold(0, |key, &at| scramble(key ^ at));
    let sum: u64 = (0..4).map(|k| (key >> (16 * k)) & 0xffff).sum();
    // The mean of the sum is 2 (2¹⁶ − 1), its variance 4 · 2³² / 12 but for rounding.
    let normal = (sum as f64 - 131_070.0) / (65_536.0 / 3f64.sqrt());
    normal.clamp(-LIMIT, LIMIT)
}

/// The mixing function of SplitMix64 (Steele, Lea & Flood, 2014).
#[inline]
fn scramble(key: u64) -> u64 {
    let key = key.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let key = (key ^ (key >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let key = (key ^ (key >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    key ^ (key >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn corners_are_normal_and_cells_between_them_smooth() {
        let corners: Vec<f64> = (0..20u64.pow(3)).map(|k| normal([k % 20, k / 20 % 20, k / 400])).collect();
        let n = corners.len() as f64;
        let mean = corners.iter().sum::<f64>() / n;
        let variance = corners.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
        assert!(mean.abs() < 0.05 && (variance - 1.0).abs() < 0.1, "{mean} {variance}");
        assert!(corners.iter().all(|x| x.abs() <= LIMIT));
        for x in 0..200 {
            let (here, next) = (at([x, 5, 77]), at([x + 1, 5, 77]));
            assert!((here - next).abs() <= 2.0 * LIMIT / SPACING as f64, "{here} {next}");
        }
        assert_eq!(at([16, 24, 8]), normal([2, 3, 1]));
    }
}

//! A deterministic hash of a global index: the only source of pseudorandomness in Ziggurat.
//!
//! Tie breaking in coarsening, start vectors of eigenvalue estimates and shuffles must look random
//! but be reproducible for any run, machine, number of threads and number of ranks. So they depend
//! only on the global index of a row. The hash is the first output of SplitMix64 seeded with the
//! index (Steele, Lea & Flood, *Fast Splittable Pseudorandom Number Generators*, 2014): the
//! golden-ratio increment, then two multiply-xor-shift rounds,
//!
//! ```text
//! z = id + 0x9e3779b97f4a7c15        z = (z ^ z >> 30) · 0xbf58476d1ce4e5b9
//!                                    z = (z ^ z >> 27) · 0x94d049bb133111eb        hash = z ^ z >> 31
//! ```
//!
//! modulo 2^64. Every step is invertible, so different indices have different hashes, and breaking
//! ties by hash leaves no ties. It takes about five cycles and no memory. It is not cryptographic.

/// The hash of a global index: the same on every machine, and different for every index.
///
/// An independent sequence is obtained with a seed: `hash_id(id ^ hash_id(seed))`.
///
/// ```
/// use ziggurat_sparse::hash::hash_id;
/// assert_eq!(hash_id(0), 0xe220_a839_7b1d_cdaf);
/// assert_ne!(hash_id(7), hash_id(8));
/// ```
#[inline]
pub const fn hash_id(id: u64) -> u64 {
    let z = id.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A pseudorandom number in the open interval (0, 1) from a global index. The arithmetic is exact,
/// so the bits are the same on every machine.
///
/// ```
/// use ziggurat_sparse::hash::uniform;
/// let mean = (0..10_000).map(uniform).sum::<f64>() / 1e4;
/// assert!((mean - 0.5).abs() < 0.01);
/// ```
#[inline]
pub const fn uniform(id: u64) -> f64 {
    // 52 bits plus a half: with 53 bits, the half would be rounded and the largest value would
    // become 1.
    let bits = (hash_id(id) >> 12) as f64;
    (bits + 0.5) / (1u64 << 52) as f64
}

/// A pseudorandom number in (-1, 1) from a global index, never zero. The bits are the same on every
/// machine.
///
/// ```
/// use ziggurat_sparse::hash::uniform_signed;
/// let start: Vec<f64> = (0..3).map(uniform_signed).collect();
/// assert!(start.iter().all(|x| x.abs() < 1.0 && *x != 0.0));
/// ```
#[inline]
pub const fn uniform_signed(id: u64) -> f64 {
    2.0 * uniform(id) - 1.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Inverts `x ^= x >> shift`.
    fn undo_shift(hash: u64, shift: u32) -> u64 {
        (0..64 / shift + 1).fold(hash, |x, _| hash ^ (x >> shift))
    }

    /// Inverse of an odd number modulo 2^64, by Newton's iteration.
    fn inverse(odd: u64) -> u64 {
        (0..6).fold(odd, |x, _| x.wrapping_mul(2u64.wrapping_sub(odd.wrapping_mul(x))))
    }

    #[test]
    fn agrees_with_published_splitmix64_values() {
        // First outputs of the reference implementation (Vigna's splitmix64.c) for these seeds.
        assert_eq!(hash_id(0), 16294208416658607535);
        assert_eq!(hash_id(1234567), 6457827717110365317);
    }

    #[test]
    fn bins_fill_evenly() {
        let mut bins = [0u32; 64];
        for id in 0..64_000 {
            bins[(uniform(id) * 64.0) as usize] += 1;
        }
        // The standard deviation of a bin is 31; a deviation of five has a probability of about one
        // in a million.
        assert!(bins.iter().all(|&count| count.abs_diff(1000) < 160), "{bins:?}");
    }

    proptest! {
        #[test]
        fn every_step_can_be_undone(id in any::<u64>()) {
            let z = undo_shift(hash_id(id), 31).wrapping_mul(inverse(0x94d0_49bb_1331_11eb));
            let z = undo_shift(z, 27).wrapping_mul(inverse(0xbf58_476d_1ce4_e5b9));
            let z = undo_shift(z, 30).wrapping_sub(0x9e37_79b9_7f4a_7c15);
            prop_assert_eq!(z, id);
        }

        #[test]
        fn uniform_values_stay_inside(id in any::<u64>()) {
            prop_assert!(uniform(id) > 0.0 && uniform(id) < 1.0);
            prop_assert!(uniform_signed(id) > -1.0 && uniform_signed(id) < 1.0 && uniform_signed(id) != 0.0);
        }
    }
}

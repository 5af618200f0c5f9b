//! Conversion of vectors at the finest level, where it is scaled or in reduced precision.
//!
//! ```text
//! b' = σ S⁻¹ b,    x = S⁻¹ x' / σ    in double precision, rounded once to the level's precision
//! ```
//!
//! S is the scaling of the level, a diagonal of powers of two. σ is a power of two that keeps the
//! vector within the range of a narrow working precision, whatever the caller's units: residuals
//! become small in Krylov methods. It is the inverse of the mean of S unless that leaves the
//! largest element too far from one. Then the largest element is scaled to one in a second pass,
//! which is rare because single precision has a wide range. Cycles are homogeneous, so a power of
//! two changes nothing else. Cost: one pass over the vectors in each direction.

use ziggurat_sparse::device::{Device, DeviceError, DeviceExt, Vector};

use crate::power_of_two;

/// The largest element may differ from one by this factor; single precision has a further 2⁶⁶ on
/// either side.
const COMFORT: f64 = (1u64 << 60) as f64;

/// The scaling of the finest level, on the device.
pub(crate) struct Entry {
    /// S⁻¹ over its mean; `None` if all elements are equal.
    inverses: Option<Vector>,
    /// The geometric mean of S⁻¹: a power of two.
    mean: f64,
}

impl Entry {
    /// For a scaling whose inverse is the same for all rows. With 1, vectors only change their
    /// precision.
    pub(crate) fn constant(inverse: f64) -> Self {
        Entry { inverses: None, mean: inverse }
    }

    /// `inverses` is the diagonal of S⁻¹. Collective.
    pub(crate) fn new(device: &dyn Device, inverses: &[f64]) -> Result<Self, DeviceError> {
        let mean = power_of_two::mean(device, inverses);
        let mut others = [inverses.iter().filter(|&&inverse| inverse != mean).count() as i64];
        device.sum_of_all(&mut others);
        if others == [0] {
            return Ok(Entry { inverses: None, mean });
        }
        // Scaling keeps these powers of two within the range of single precision around their mean.
        let relative: Vec<f32> = inverses.iter().map(|inverse| (inverse / mean) as f32).collect();
        Ok(Entry { inverses: Some(device.upload(&relative)?), mean })
    }

    /// For a scaling that is on the device already: S⁻¹ over a power of two close to its mean, and
    /// that power.
    pub(crate) fn of_device(relative: Vector, mean: f64) -> Self {
        Entry { inverses: Some(relative), mean }
    }

    /// Writes b'; returns σ.
    pub(crate) fn enter(&self, device: &dyn Device, b: &Vector, into: &mut Vector) -> f64 {
        let sigma = self.mean.recip();
        let largest = self.scale(device, 1.0, b, into);
        if (COMFORT.recip()..=COMFORT).contains(&largest) {
            return sigma;
        }
        // Measured before the cast, which may overflow or underflow. For zeros the power is one.
        let largest = device.norm_max(b);
        let again = power_of_two::nearest(largest.recip());
        self.scale(device, again, b, into);
        sigma * again
    }

    /// Reads x' and writes x.
    pub(crate) fn leave(&self, device: &dyn Device, sigma: f64, from: &Vector, x: &mut Vector) {
        let (alpha, d) = (self.mean / sigma, self.inverses.as_ref());
        // The largest element is not needed here, and returning it synchronises with the device.
        device.cast_scaled(alpha, d, from, x, None);
    }

    /// into ← α S⁻¹ from, over the mean of S⁻¹; returns the largest element.
    fn scale(&self, device: &dyn Device, alpha: f64, from: &Vector, into: &mut Vector) -> f64 {
        let mut largest = 0.0;
        device.cast_scaled(alpha, self.inverses.as_ref(), from, into, Some(&mut largest));
        largest
    }
}

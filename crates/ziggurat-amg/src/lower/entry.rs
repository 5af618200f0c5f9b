//! How vectors enter a finest level that is scaled, and how they leave it.
//!
//! ```text
//! b' = σ S⁻¹ b        x = S⁻¹ x' / σ        in double precision; σ = 2^k ≈ 1 / max |S⁻¹ b|
//! ```
//!
//! S is the level's scaling (`scaling.rs`). σ makes the vector's elements about one, so that it cannot leave the range of a
//! narrow working precision, whatever the units of the caller: in Krylov methods residuals become small. Cycles are
//! homogeneous, so a power of two changes nothing else. Cost: a maximum, and two passes over vectors each way.

use ziggurat_sparse::Kind;
use ziggurat_sparse::device::{Device, DeviceError};

use super::scaling::{Scaling, power_of_two};
use super::vectors::{WorkMut, WorkRef, convert};

/// The scaling of the finest level, on the device.
pub(crate) struct Entry<D: Device> {
    /// S⁻¹
    inverses: D::Vector<f64>,
    /// The geometric mean of its elements.
    mean: f64,
}

impl<D: Device> Entry<D> {
    pub(crate) fn new(device: &D, scaling: &Scaling) -> Result<Self, DeviceError> {
        let exponents: f64 = scaling.inverses.iter().map(|inverse| inverse.log2()).sum();
        let mean = (exponents / scaling.inverses.len().max(1) as f64).exp2();
        Ok(Entry { inverses: device.upload(&scaling.inverses)?, mean })
    }

    /// Writes b'; returns σ.
    pub(crate) fn enter(
        &self,
        device: &D,
        b: WorkRef<'_, D>,
        wide: &mut Wide<D>,
        into: WorkMut<'_, D>,
    ) -> f64 {
        let b = match b {
            WorkRef::F64(b) => b,
            WorkRef::F32(b) => {
                device.cast(b, &mut wide.caller);
                &wide.caller
            }
        };
        // The largest element, because squares leave the range of doubles sooner.
        let sigma = power_of_two((device.norm_max(b) * self.mean).recip());
        device.diagonal(sigma, &self.inverses, b, 0.0, &mut wide.level);
        convert(device, WorkRef::F64(&wide.level), into);
        sigma
    }

    /// Reads x' and writes x.
    pub(crate) fn leave(
        &self,
        device: &D,
        sigma: f64,
        from: WorkRef<'_, D>,
        wide: &mut Wide<D>,
        x: WorkMut<'_, D>,
    ) {
        convert(device, from, WorkMut::F64(&mut wide.level));
        match x {
            WorkMut::F64(x) => device.diagonal(sigma.recip(), &self.inverses, &wide.level, 0.0, x),
            WorkMut::F32(x) => {
                device.diagonal(sigma.recip(), &self.inverses, &wide.level, 0.0, &mut wide.caller);
                device.cast(&wide.caller, x);
            }
        }
    }
}

/// Vectors of the finest level in double precision: the caller's, where it is not of that precision, and the scaled one.
pub(crate) struct Wide<D: Device> {
    caller: D::Vector<f64>,
    level: D::Vector<f64>,
}

impl<D: Device> Wide<D> {
    /// For a caller of this precision.
    pub(crate) fn new(device: &D, caller: Kind, rows: usize) -> Result<Self, DeviceError> {
        let unused = if caller == Kind::F64 { 0 } else { rows };
        Ok(Wide { caller: device.zeros(unused)?, level: device.zeros(rows)? })
    }
}

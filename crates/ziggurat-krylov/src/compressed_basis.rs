//! Compressed-basis GMRES: the Krylov basis in fewer bits than the iteration, the solution with the
//! same accuracy.
//!
//! ```text
//! v̂_k = round(2¹⁵ v_k) / 2¹⁵,   A M V̂_k = V̂_{k+1} H_k + E_k,   ‖E_k e_j‖ ≤ u |h_{j+1,j}|
//! ```
//!
//! Most of the memory that GMRES reads and writes is its basis. Here the basis is stored in `f32`
//! or `f16` and widened in registers: all arithmetic, x, b and the residual are in the precision of
//! the iteration. Rounding v_{k+1} adds E to the Arnoldi relation, so the true residual departs
//! from the one that the least-squares problem promises, by about u times the residual at the last
//! restart, where u is the unit roundoff of the stored numbers. So when the promised residual has
//! fallen by that factor, the method restarts from the true residual, b − A x from x in full
//! precision. Each restart gains the digits that the basis has, until the tolerance is reached.
//! Where the least-squares solution y is so large that E y exceeds the residual, restarts gain
//! nothing, and the method stagnates: use more bits. J. Aliaga, H. Anzt, T. Grützmacher,
//! E. Quintana-Ortí, A. Tomás, Compressed basis GMRES on high-performance graphics processing
//! units, Int. J. High Perform. Comput. Appl. 37, 2023.
//!
//! Unlike there, the product with A M takes the rounded v̂_k, so that rounding enters once per
//! step. Basis vectors have norm one, so no number overflows, and with the scale 2¹⁵ numbers above
//! 2⁻²⁹ are normal ones in `f16`. FGMRES also stores Z = M V compressed: each z_k with a power of
//! two near 1/‖z_k‖ as its scale. A is applied to the rounded z_k, which therefore adds no error.
//!
//! **Cost.** V takes `restart` vectors of 4 or 2 bytes per number instead of 8, and so does Z of
//! FGMRES; besides, two wide vectors. Per step one pass over two wide vectors more than
//! [`gmres`](crate::gmres()), and for FGMRES one reduction more. The number of iterations grows if
//! restarts interrupt convergence that accelerates: `f16` restarts at every three digits.

use ziggurat_sparse::device::{Device, DeviceExt, Vector};
use ziggurat_sparse::{Kind, choice};

use crate::arnoldi::{ArnoldiBasis, zeros};
use crate::error::KrylovError;
use crate::gram_schmidt::GramSchmidt;
use crate::run::Run;

/// The scale of a vector of norm one: half of the smallest power of two that overflows in `f16`, so
/// that rounding errors of the norm do no harm.
const SCALE: f64 = 32768.0;

choice! {
    /// How GMRES and FGMRES store their Krylov basis.
    ///
    /// ```
    /// use ziggurat_krylov::Basis;
    /// assert_eq!("f16".parse(), Ok(Basis::F16));
    /// assert_eq!(Basis::default().kind(), ziggurat_sparse::Kind::F64);
    /// ```
    Basis, "basis":
    /// As the iteration.
    F64 = "f64",
    /// Half the memory.
    F32 = "f32",
    /// A quarter of the memory; restarts more often.
    F16 = "f16",
}

impl Basis {
    /// The number type of stored basis vectors.
    pub const fn kind(self) -> Kind {
        match self {
            Basis::F64 => Kind::F64,
            Basis::F32 => Kind::F32,
            Basis::F16 => Kind::F16,
        }
    }

    /// Whether it has fewer bits than an iteration in this number type.
    pub(crate) fn is_compressed(self, number: Kind) -> bool {
        self.kind().facts().bytes < number.facts().bytes
    }
}

/// A basis in fewer bits than the iteration.
#[derive(Debug)]
pub(crate) struct CompressedBasis {
    /// Whether all M v are stored.
    flexible: bool,
    /// 2¹⁵ v_k.
    basis: Vec<Vector>,
    /// z_k, each times its scale, if flexible.
    preconditioned: Vec<Vector>,
    /// 1 / scale of each vector of which x is a combination: of z_k if flexible, else of v_k.
    unscale: Vec<f64>,
    /// The residual, v_k, A M v_k and V y, one after another.
    w: Vector,
    /// M v_k.
    z: Vector,
    gram_schmidt: GramSchmidt,
    coefficients: Vec<f64>,
}

impl CompressedBasis {
    pub(crate) fn new(
        flexible: bool,
        basis: Kind,
        device: &dyn Device,
        number: Kind,
        rows: usize,
        restart: usize,
    ) -> Result<Self, KrylovError> {
        if !device.compresses_vectors() {
            return Err(KrylovError::CannotCompress { device: device.name(), basis });
        }
        Ok(CompressedBasis {
            flexible,
            basis: zeros(device, basis, rows, restart)?,
            preconditioned: zeros(device, basis, rows, if flexible { restart } else { 0 })?,
            unscale: vec![SCALE.recip(); restart],
            w: device.zeros(number, rows)?,
            z: device.zeros(number, rows)?,
            gram_schmidt: GramSchmidt::new(restart + 1),
            coefficients: vec![0.0; restart],
        })
    }
}

impl ArnoldiBasis for CompressedBasis {
    fn capacity(&self) -> usize {
        self.basis.len()
    }

    fn unit_roundoff(&self) -> f64 {
        self.basis[0].kind().facts().unit_roundoff
    }

    fn bytes(&self) -> usize {
        self.basis.iter().chain(&self.preconditioned).map(Vector::bytes).sum()
    }

    fn residual(&mut self) -> &mut Vector {
        &mut self.w
    }

    fn start(&mut self, run: &Run<'_, '_>, beta: f64) {
        run.device().cast_scaled(SCALE / beta, None, &self.w, &mut self.basis[0], None);
    }

    fn step(&mut self, run: &mut Run<'_, '_>, k: usize) -> &[f64] {
        let (device, w, z) = (run.device(), &mut self.w, &mut self.z);
        device.cast_scaled(SCALE.recip(), None, &self.basis[k], w, None);
        run.precondition(w, z);
        if self.flexible {
            let scale = SCALE * power_of_two_below(device.norm(z).recip());
            self.unscale[k] = scale.recip();
            device.cast_scaled(scale, None, z, &mut self.preconditioned[k], None);
            device.cast_scaled(self.unscale[k], None, &self.preconditioned[k], z, None);
        }
        run.apply(z, w);
        let column = self.gram_schmidt.orthogonalise_compressed(device, &self.basis[..=k], SCALE, w);
        let norm = column[k + 1];
        if norm > 0.0 && k + 1 < self.basis.len() {
            device.cast_scaled(SCALE / norm, None, w, &mut self.basis[k + 1], None);
        }
        column
    }

    fn update(&mut self, run: &mut Run<'_, '_>, y: &[f64], x: &mut Vector) {
        let (device, k) = (run.device(), y.len());
        let coefficients = &mut self.coefficients[..k];
        for ((coefficient, y), unscale) in coefficients.iter_mut().zip(y).zip(&self.unscale) {
            *coefficient = y * unscale;
        }
        if self.flexible {
            device.combine(coefficients, (&self.preconditioned[..k]).into(), 1.0, x);
        } else if k > 0 {
            device.combine(coefficients, (&self.basis[..k]).into(), 0.0, &mut self.w);
            run.precondition(&self.w, &mut self.z);
            device.axpby(1.0, &self.z, 1.0, x);
        }
    }
}

/// The largest power of two that does not exceed x; 1 if x is zero or not finite. It and its
/// inverse, times the scale of basis vectors, are normal numbers in the precision of iterations.
fn power_of_two_below(x: f64) -> f64 {
    if x > 0.0 && x.is_finite() { x.log2().floor().clamp(-100.0, 100.0).exp2() } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_power_of_two_scales_any_norm_into_range() {
        for (norm, expected) in [(1.0, 1.0), (3.0, 0.25), (0.3, 2.0), (0.0, 1.0), (f64::NAN, 1.0)] {
            assert_eq!(power_of_two_below(f64::recip(norm)), expected, "{norm}");
        }
        assert!(SCALE * (1.0 + 1e-12) < Kind::F16.facts().max);
    }
}

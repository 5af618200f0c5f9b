//! The basis of the Arnoldi process: A Z_k = V_{k+1} H_k with orthonormal V and Z = M V.
//!
//! [`ArnoldiBasis`] is what the loop of GMRES and FGMRES needs of it. [`WideBasis`] stores the
//! vectors in the precision of the iteration, [`CompressedBasis`](crate::compressed_basis) in fewer
//! bits.
//!
//! Cost of a wide basis: restart + 1 vectors for V, whose first one also holds the residual, and
//! one for M v, or `restart` of them if the preconditioner varies.

use std::fmt::Debug;

use ziggurat_sparse::Kind;
use ziggurat_sparse::device::{Device, DeviceError, Vector, Vectors};

use crate::gram_schmidt::GramSchmidt;
use crate::run::Run;

/// The vectors of the Arnoldi process.
pub(crate) trait ArnoldiBasis: Debug + Send + Sync {
    /// The number of steps before a restart.
    fn capacity(&self) -> usize;

    /// The relative error of a stored basis vector. A restart cannot reduce the residual by more.
    fn unit_roundoff(&self) -> f64;

    /// Bytes of V and Z, as far as they are stored.
    fn bytes(&self) -> usize;

    /// The vector that holds the residual before [`start`](Self::start) and after
    /// [`update`](Self::update).
    fn residual(&mut self) -> &mut Vector;

    /// v_0 ← r / β
    fn start(&mut self, run: &Run<'_, '_>, beta: f64);

    /// Computes z_k ← M v_k and the new v_{k+1} from A z_k. Returns column k of H; its last entry
    /// is zero if only rounding errors remain.
    fn step(&mut self, run: &mut Run<'_, '_>, k: usize) -> &[f64];

    /// x ← x + Z y; overwrites the residual.
    fn update(&mut self, run: &mut Run<'_, '_>, y: &[f64], x: &mut Vector);
}

/// Vectors of zeros.
pub(crate) fn zeros(
    device: &dyn Device,
    number: Kind,
    rows: usize,
    count: usize,
) -> Result<Vec<Vector>, DeviceError> {
    (0..count).map(|_| device.zeros(number, rows)).collect()
}

/// A basis in the precision of the iteration.
#[derive(Debug)]
pub(crate) struct WideBasis {
    /// Whether all M v are stored.
    flexible: bool,
    /// restart + 1 vectors; the first one also holds the residual.
    basis: Vec<Vector>,
    /// M v of every step, or of the current step.
    preconditioned: Vec<Vector>,
    gram_schmidt: GramSchmidt,
}

impl WideBasis {
    pub(crate) fn new(
        flexible: bool,
        device: &dyn Device,
        number: Kind,
        rows: usize,
        restart: usize,
    ) -> Result<Self, DeviceError> {
        Ok(WideBasis {
            flexible,
            basis: zeros(device, number, rows, restart + 1)?,
            preconditioned: zeros(device, number, rows, if flexible { restart } else { 1 })?,
            gram_schmidt: GramSchmidt::new(restart + 1),
        })
    }
}

impl ArnoldiBasis for WideBasis {
    fn capacity(&self) -> usize {
        self.basis.len() - 1
    }

    fn unit_roundoff(&self) -> f64 {
        self.basis[0].kind().facts().unit_roundoff
    }

    fn bytes(&self) -> usize {
        let stored = if self.flexible { &self.preconditioned[..] } else { &[] };
        self.basis.iter().chain(stored).map(Vector::bytes).sum()
    }

    fn residual(&mut self) -> &mut Vector {
        &mut self.basis[0]
    }

    fn start(&mut self, run: &Run<'_, '_>, beta: f64) {
        run.device().combine(&[], Vectors::NONE, 1.0 / beta, &mut self.basis[0]);
    }

    fn step(&mut self, run: &mut Run<'_, '_>, k: usize) -> &[f64] {
        let (v, w) = self.basis.split_at_mut(k + 1);
        let z = &mut self.preconditioned[if self.flexible { k } else { 0 }];
        run.precondition(&v[k], z);
        run.apply(z, &mut w[0]);
        self.gram_schmidt.orthonormalise(run.device(), &mut self.basis[..=k + 1])
    }

    fn update(&mut self, run: &mut Run<'_, '_>, y: &[f64], x: &mut Vector) {
        let (device, k) = (run.device(), y.len());
        if self.flexible {
            device.combine(y, (&self.preconditioned[..k]).into(), 1.0, x);
        } else if k > 0 {
            let (v, u) = self.basis.split_at_mut(k); // vector k is no longer needed
            device.combine(y, (&*v).into(), 0.0, &mut u[0]);
            run.precondition(&u[0], &mut self.preconditioned[0]);
            device.axpby(1.0, &self.preconditioned[0], 1.0, x);
        }
    }
}

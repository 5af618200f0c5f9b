//! The basis of the Arnoldi process: A Z_k = V_{k+1} H_k with orthonormal V and Z = M V.
//!
//! [`ArnoldiBasis`] is what the loop of GMRES and FGMRES needs of it. [`WideBasis`] stores the
//! vectors in the precision of the iteration, [`CompressedBasis`](crate::compressed_basis) in fewer
//! bits.
//!
//! Cost of a wide basis: restart + 1 vectors for V, whose first one also holds the residual, and
//! one for M v, or `restart` of them if the preconditioner varies.

use std::fmt::Debug;

use ziggurat_sparse::Real;
use ziggurat_sparse::device::{Device, DeviceError};

use crate::gram_schmidt::GramSchmidt;
use crate::run::Run;

/// The vectors of the Arnoldi process.
pub(crate) trait ArnoldiBasis<D: Device, C: Real>: Debug + Send + Sync {
    /// The number of steps before a restart.
    fn capacity(&self) -> usize;

    /// The relative error of a stored basis vector. A restart cannot reduce the residual by more.
    fn unit_roundoff(&self) -> f64;

    /// Bytes of V and Z, as far as they are stored.
    fn bytes(&self, device: &D) -> usize;

    /// The vector that holds the residual before [`start`](Self::start) and after
    /// [`update`](Self::update).
    fn residual(&mut self) -> &mut D::Vector<C>;

    /// v_0 ← r / β
    fn start(&mut self, run: &Run<'_, '_, D, C>, beta: f64);

    /// Computes z_k ← M v_k and the new v_{k+1} from A z_k. Returns column k of H; its last entry
    /// is zero if only rounding errors remain.
    fn step(&mut self, run: &mut Run<'_, '_, D, C>, k: usize) -> &[f64];

    /// x ← x + Z y; overwrites the residual.
    fn update(&mut self, run: &mut Run<'_, '_, D, C>, y: &[f64], x: &mut D::Vector<C>);
}

/// A basis in the precision of the iteration. `FLEXIBLE` says whether all M v are stored.
#[derive(Debug)]
pub(crate) struct WideBasis<D: Device, C: Real, const FLEXIBLE: bool> {
    /// restart + 1 vectors; the first one also holds the residual.
    basis: Vec<D::Vector<C>>,
    /// M v of every step, or of the current step.
    preconditioned: Vec<D::Vector<C>>,
    gram_schmidt: GramSchmidt<C>,
    coefficients: Vec<C>,
}

impl<D: Device, C: Real, const FLEXIBLE: bool> WideBasis<D, C, FLEXIBLE> {
    pub(crate) fn new(device: &D, rows: usize, restart: usize) -> Result<Self, DeviceError> {
        let vectors = |count: usize| (0..count).map(|_| device.zeros(rows)).collect::<Result<Vec<_>, _>>();
        Ok(WideBasis {
            basis: vectors(restart + 1)?,
            preconditioned: vectors(if FLEXIBLE { restart } else { 1 })?,
            gram_schmidt: GramSchmidt::new(restart + 1),
            coefficients: vec![C::zero(); restart],
        })
    }
}

impl<D: Device, C: Real, const FLEXIBLE: bool> ArnoldiBasis<D, C> for WideBasis<D, C, FLEXIBLE> {
    fn capacity(&self) -> usize {
        self.coefficients.len()
    }

    fn unit_roundoff(&self) -> f64 {
        C::KIND.facts().unit_roundoff
    }

    fn bytes(&self, device: &D) -> usize {
        let stored = if FLEXIBLE { &self.preconditioned[..] } else { &[] };
        self.basis.iter().chain(stored).map(|v| device.len(v) * size_of::<C>()).sum()
    }

    fn residual(&mut self) -> &mut D::Vector<C> {
        &mut self.basis[0]
    }

    fn start(&mut self, run: &Run<'_, '_, D, C>, beta: f64) {
        let none: &[D::Vector<C>] = &[];
        run.device().combine(&[], none, C::narrow(1.0 / beta), &mut self.basis[0]);
    }

    fn step(&mut self, run: &mut Run<'_, '_, D, C>, k: usize) -> &[f64] {
        let (v, w) = self.basis.split_at_mut(k + 1);
        let z = &mut self.preconditioned[if FLEXIBLE { k } else { 0 }];
        run.precondition(&v[k], z);
        run.apply(z, &mut w[0]);
        self.gram_schmidt.orthonormalise(run.device(), &mut self.basis[..=k + 1])
    }

    fn update(&mut self, run: &mut Run<'_, '_, D, C>, y: &[f64], x: &mut D::Vector<C>) {
        let (device, k) = (run.device(), y.len());
        let coefficients = &mut self.coefficients[..k];
        for (coefficient, y) in coefficients.iter_mut().zip(y) {
            *coefficient = C::narrow(*y);
        }
        if FLEXIBLE {
            device.combine(coefficients, &self.preconditioned[..k], C::one(), x);
        } else if k > 0 {
            let (v, u) = self.basis.split_at_mut(k); // vector k is no longer needed
            device.combine(coefficients, v, C::zero(), &mut u[0]);
            run.precondition(&u[0], &mut self.preconditioned[0]);
            device.axpby(C::one(), &self.preconditioned[0], C::one(), x);
        }
    }
}

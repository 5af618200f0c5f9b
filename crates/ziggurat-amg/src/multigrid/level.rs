//! One level as the solve phase runs it: matrices in the level's storage precision, vectors in its
//! working precision.
//!
//! Inside, everything is typed (`C` computes, `S` stores). Outside it is a `Box<dyn LevelOps>`,
//! with one dynamic call per operation, so that levels of different precision fit in one list. The
//! optimisations of Tsai's thesis, section 5.2, are here: smoothing from a zero guess starts
//! without the matrix, only the results that a cycle uses are computed, and all vectors are
//! allocated before the first cycle.

use ziggurat_sparse::device::{Device, DeviceError, Direction};
use ziggurat_sparse::{Kind, Reads, Store};

use super::operation::{Operation, Sweeps};
use super::stored::StoredLevel;
use super::vectors::{Work, WorkMut, WorkRef, Working, convert};
use crate::smoother::Relaxation;

/// The operations of a level in a cycle.
pub(crate) trait LevelOps<D: Device>: Send + Sync {
    /// The precision of this level's vectors.
    fn working(&self) -> Kind;

    /// Number of unknowns.
    fn rows(&self) -> usize;

    /// Whether there is a next level.
    fn has_next(&self) -> bool;

    /// The scratch vectors of the operations below.
    fn scratch(&self, device: &D) -> Result<Scratch<D>, DeviceError>;

    /// x ← smoothed solution of A x = b.
    fn smooth(
        &self,
        device: &D,
        b: WorkRef<'_, D>,
        x: WorkMut<'_, D>,
        scratch: &mut Scratch<D>,
        sweeps: Sweeps,
    );

    /// b_coarse ← R (b − A x)
    fn restrict(
        &self,
        device: &D,
        b: WorkRef<'_, D>,
        x: WorkRef<'_, D>,
        scratch: &mut Scratch<D>,
        coarse: WorkMut<'_, D>,
    );

    /// x ← x + P e
    fn prolong(&self, device: &D, coarse: WorkRef<'_, D>, scratch: &mut Scratch<D>, x: WorkMut<'_, D>);

    /// y ← A x
    fn apply(&self, device: &D, x: WorkRef<'_, D>, y: WorkMut<'_, D>);

    /// How the matrices are stored.
    fn stored(&self) -> &StoredLevel;

    /// The bytes of the matrices that an operation reads, once per pass.
    fn bytes(&self, operation: Operation) -> usize;
}

/// The scratch vectors of a level.
#[derive(Debug)]
pub(crate) struct Scratch<D: Device> {
    /// The other iterate of a sweep.
    other: Work<D>,
    residual: Work<D>,
    /// Restricted residuals and corrections in this level's precision, if the coarse level has
    /// another one.
    border: Option<Work<D>>,
}

/// Restriction and prolongation to the next level, each with the factor it is multiplied by.
pub(crate) struct Transfer<D: Device, S: Store> {
    pub r: (f64, D::Matrix<S>),
    pub p: (f64, D::Matrix<S>),
    pub r_bytes: usize,
    pub p_bytes: usize,
    pub coarse_rows: usize,
    pub coarse_working: Kind,
}

/// A smoother on a device.
pub(crate) enum LevelSmoother<D: Device, C: Working<D>, S: Store> {
    /// A diagonal, and what is done with it.
    Diagonal { diagonal: D::Vector<C>, relaxation: Relaxation },
    /// Steps with the diagonals of fine and of coarse rows; each is zero in the other rows.
    FineCoarse { fine: D::Vector<C>, coarse: D::Vector<C> },
    /// x ← x + ω F₂ F₁ (b − A x).
    Inverse(StoredInverse<D, S>),
    /// x ← x + ω V U⁻¹ L⁻¹ W (b − A x).
    Factors(StoredFactors<D, C, S>),
}

/// Incomplete factors on a device.
pub(crate) struct StoredFactors<D: Device, C: Working<D>, S: Store> {
    /// Without its diagonal, which is one.
    pub lower: D::Matrix<S>,
    pub ones: D::Vector<C>,
    /// Without its diagonal.
    pub upper: D::Matrix<S>,
    pub inverse_pivots: D::Vector<C>,
    pub block: usize,
    /// W and V, each with the number that it is multiplied by.
    pub before: Option<(f64, D::Matrix<S>)>,
    pub after: Option<(f64, D::Matrix<S>)>,
    pub omega: f64,
}

impl<D: Device, C: Working<D> + Reads<S>, S: Store> StoredFactors<D, C, S> {
    // From a zero guess, a sweep over a triangular matrix is a substitution.

    /// y ← L⁻¹ r
    fn forward(&self, device: &D, r: &D::Vector<C>, y: &mut D::Vector<C>) {
        device.gauss_seidel(&self.lower, &self.ones, r, None, self.block, Direction::Forward, y);
    }

    /// x ← U⁻¹ y
    fn backward(&self, device: &D, y: &D::Vector<C>, x: &mut D::Vector<C>) {
        device.gauss_seidel(&self.upper, &self.inverse_pivots, y, None, self.block, Direction::Backward, x);
    }

    /// The first step of an application, after which r is not needed: y ← W r, or y ← L⁻¹ r if
    /// there is no W.
    pub(crate) fn begin(&self, device: &D, r: &D::Vector<C>, y: &mut D::Vector<C>) {
        match &self.before {
            None => self.forward(device, r, y),
            Some((factor, before)) => device.spmv(C::narrow(*factor), before, r, C::zero(), y),
        }
    }

    /// The other steps: x ← ω V U⁻¹ L⁻¹ W r + β x.
    pub(crate) fn finish(
        &self,
        device: &D,
        y: &mut D::Vector<C>,
        other: &mut D::Vector<C>,
        beta: C,
        x: &mut D::Vector<C>,
    ) {
        let correction = if self.before.is_some() {
            self.forward(device, y, other);
            self.backward(device, other, y);
            y
        } else {
            self.backward(device, y, other);
            other
        };
        match &self.after {
            None => device.axpby(C::narrow(self.omega), correction, beta, x),
            Some((factor, after)) => {
                device.spmv(C::narrow(self.omega * factor), after, correction, beta, x);
            }
        }
    }
}

/// An approximate inverse on a device. Each factor has a number that it is multiplied by.
pub(crate) struct StoredInverse<D: Device, S: Store> {
    pub first: (f64, D::Matrix<S>),
    pub second: Option<(f64, D::Matrix<S>)>,
    pub omega: f64,
}

impl<D: Device, S: Store> StoredInverse<D, S> {
    /// x ← ω M r + β x
    pub(crate) fn apply<C: Working<D> + Reads<S>>(
        &self,
        device: &D,
        r: &D::Vector<C>,
        between: &mut D::Vector<C>,
        beta: C,
        x: &mut D::Vector<C>,
    ) {
        let (undo, first) = &self.first;
        match &self.second {
            None => device.spmv(C::narrow(self.omega * undo), first, r, beta, x),
            Some((second_undo, second)) => {
                device.spmv(C::narrow(*undo), first, r, C::zero(), between);
                device.spmv(C::narrow(self.omega * second_undo), second, between, beta, x);
            }
        }
    }
}

/// A level that computes in `C` on matrices stored in `S`.
pub(crate) struct CycleLevel<D: Device, C: Working<D>, S: Store> {
    pub rows: usize,
    pub a: D::Matrix<S>,
    pub transfer: Option<Transfer<D, S>>,
    pub smoother: LevelSmoother<D, C, S>,
    pub stored: StoredLevel,
}

impl<D: Device, C: Working<D> + Reads<S>, S: Store> CycleLevel<D, C, S> {
    /// The bytes of the matrices that these sweeps read. The first step from a zero guess does not
    /// read the matrix, except with Gauss–Seidel.
    fn smoothing_bytes(&self, sweeps: Sweeps) -> usize {
        let (matrix, from_zero) = (self.stored.format.bytes(), usize::from(sweeps.from_zero));
        match &self.smoother {
            LevelSmoother::Diagonal { relaxation: Relaxation::Recurrence(steps), .. } => {
                matrix * (sweeps.count * steps.len()).saturating_sub(from_zero)
            }
            LevelSmoother::Diagonal { relaxation: Relaxation::GaussSeidel { .. }, .. } => {
                matrix * sweeps.count
            }
            LevelSmoother::FineCoarse { .. } => matrix * (3 * sweeps.count).saturating_sub(from_zero),
            LevelSmoother::Inverse(_) | LevelSmoother::Factors(_) => {
                matrix * sweeps.count.saturating_sub(from_zero) + self.stored.smoother_bytes * sweeps.count
            }
        }
    }

    /// One application of the smoother; the result is in `x`.
    fn sweep(
        &self,
        device: &D,
        b: &D::Vector<C>,
        x: &mut D::Vector<C>,
        [other, residual]: [&mut D::Vector<C>; 2],
        from_zero: bool,
        post: bool,
    ) {
        let (diagonal, relaxation) = match &self.smoother {
            LevelSmoother::Diagonal { diagonal, relaxation } => (diagonal, relaxation),
            LevelSmoother::FineCoarse { fine, coarse } => {
                let order = if post { [fine, fine, coarse] } else { [coarse, fine, fine] };
                for (step, diagonal) in order.into_iter().enumerate() {
                    if from_zero && step == 0 {
                        device.diagonal(C::one(), diagonal, b, C::zero(), x);
                    } else {
                        device.sweep(&self.a, C::one(), diagonal, b, x, C::zero(), other);
                        std::mem::swap(x, other);
                    }
                }
                return;
            }
            LevelSmoother::Inverse(inverse) if from_zero => {
                return inverse.apply(device, b, other, C::zero(), x);
            }
            LevelSmoother::Inverse(inverse) => {
                device.residual(&self.a, x, b, residual);
                return inverse.apply(device, residual, other, C::one(), x);
            }
            LevelSmoother::Factors(factors) => {
                let beta = if from_zero {
                    factors.begin(device, b, other);
                    C::zero()
                } else {
                    device.residual(&self.a, x, b, residual);
                    factors.begin(device, residual, other);
                    C::one()
                };
                return factors.finish(device, other, residual, beta, x);
            }
        };
        match relaxation {
            Relaxation::Recurrence(steps) => {
                let mut steps = steps.iter();
                if from_zero && let Some(&(omega, _)) = steps.next() {
                    // The residual of a zero guess is b, so this needs no pass over the matrix. The
                    // iterate before x is zero, too.
                    device.diagonal(C::narrow(omega), diagonal, b, C::zero(), x);
                    if steps.len() > 0 {
                        device.fill(C::zero(), other);
                    }
                }
                for &(omega, beta) in steps {
                    // `other` holds the iterate before x and receives the one after it.
                    device.sweep(&self.a, C::narrow(omega), diagonal, b, x, C::narrow(beta), other);
                    std::mem::swap(x, other);
                }
            }
            Relaxation::GaussSeidel { block } => {
                let direction = if post { Direction::Backward } else { Direction::Forward };
                let guess = if from_zero { None } else { Some(&*x) };
                device.gauss_seidel(&self.a, diagonal, b, guess, *block, direction, other);
                std::mem::swap(x, other);
            }
        }
    }
}

impl<D: Device, C: Working<D> + Reads<S>, S: Store> LevelOps<D> for CycleLevel<D, C, S> {
    fn working(&self) -> Kind {
        C::KIND
    }

    fn rows(&self) -> usize {
        self.rows
    }

    fn has_next(&self) -> bool {
        self.transfer.is_some()
    }

    fn scratch(&self, device: &D) -> Result<Scratch<D>, DeviceError> {
        let crossing = self.transfer.as_ref().filter(|transfer| transfer.coarse_working != C::KIND);
        let border = match crossing {
            Some(transfer) => Some(C::wrap(device.zeros(transfer.coarse_rows)?)),
            None => None,
        };
        Ok(Scratch {
            other: C::wrap(device.zeros(self.rows)?),
            residual: C::wrap(device.zeros(self.rows)?),
            border,
        })
    }

    fn smooth(
        &self,
        device: &D,
        b: WorkRef<'_, D>,
        x: WorkMut<'_, D>,
        scratch: &mut Scratch<D>,
        sweeps: Sweeps,
    ) {
        let Scratch { other, residual, .. } = scratch;
        let (b, x) = (C::get(b), C::get_mut(x));
        let [other, residual] = [other, residual].map(|vector| C::get_mut(vector.view_mut()));
        if sweeps.from_zero && sweeps.count == 0 {
            device.fill(C::zero(), x);
        }
        for sweep in 0..sweeps.count {
            let from_zero = sweeps.from_zero && sweep == 0;
            self.sweep(device, b, x, [&mut *other, &mut *residual], from_zero, sweeps.post);
        }
    }

    fn restrict(
        &self,
        device: &D,
        b: WorkRef<'_, D>,
        x: WorkRef<'_, D>,
        scratch: &mut Scratch<D>,
        coarse: WorkMut<'_, D>,
    ) {
        let Some(transfer) = &self.transfer else { return };
        let residual = C::get_mut(scratch.residual.view_mut());
        device.residual(&self.a, C::get(x), C::get(b), residual);
        let (factor, r) = (C::narrow(transfer.r.0), &transfer.r.1);
        match &mut scratch.border {
            None => device.spmv(factor, r, residual, C::zero(), C::get_mut(coarse)),
            Some(border) => {
                device.spmv(factor, r, residual, C::zero(), C::get_mut(border.view_mut()));
                convert(device, border.view(), coarse);
            }
        }
    }

    fn prolong(&self, device: &D, coarse: WorkRef<'_, D>, scratch: &mut Scratch<D>, x: WorkMut<'_, D>) {
        let Some(transfer) = &self.transfer else { return };
        let correction = match &mut scratch.border {
            None => coarse,
            Some(border) => {
                convert(device, coarse, border.view_mut());
                border.view()
            }
        };
        let (factor, p) = (C::narrow(transfer.p.0), &transfer.p.1);
        device.spmv(factor, p, C::get(correction), C::one(), C::get_mut(x));
    }

    fn apply(&self, device: &D, x: WorkRef<'_, D>, y: WorkMut<'_, D>) {
        device.spmv(C::one(), &self.a, C::get(x), C::zero(), C::get_mut(y));
    }

    fn stored(&self) -> &StoredLevel {
        &self.stored
    }

    fn bytes(&self, operation: Operation) -> usize {
        let transfer = self.transfer.as_ref();
        match operation {
            Operation::Smooth(sweeps) => self.smoothing_bytes(sweeps),
            Operation::Restrict => {
                self.stored.format.bytes() + transfer.map_or(0, |transfer| transfer.r_bytes)
            }
            Operation::Prolong => transfer.map_or(0, |transfer| transfer.p_bytes),
            Operation::Multiply => self.stored.format.bytes(),
        }
    }
}

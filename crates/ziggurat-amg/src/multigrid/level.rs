//! One level as the solve phase runs it: matrices in the level's storage precision, vectors in its
//! working precision.
//!
//! Vectors and matrices know their number types, and the device selects the kernel. The
//! optimisations of Tsai's thesis, section 5.2, are here: smoothing from a zero guess starts
//! without the matrix, only the results that a cycle uses are computed, and all vectors are
//! allocated before the first cycle.

use ziggurat_sparse::Kind;
use ziggurat_sparse::device::{Device, DeviceError, Direction, Matrix, Vector};

use super::operation::{Operation, Sweeps};
use super::stored::StoredLevel;
use crate::smoother::Relaxation;

/// The scratch vectors of a level.
#[derive(Debug)]
pub(crate) struct Scratch {
    /// The other iterate of a sweep.
    other: Vector,
    residual: Vector,
    /// Restricted residuals and corrections in this level's precision, if the coarse level has
    /// another one.
    border: Option<Vector>,
}

/// Restriction and prolongation to the next level, each with the factor it is multiplied by.
pub(crate) struct Transfer {
    pub r: (f64, Matrix),
    pub p: (f64, Matrix),
    pub r_bytes: usize,
    pub p_bytes: usize,
    pub coarse_rows: usize,
    pub coarse_working: Kind,
}

/// A smoother on a device.
pub(crate) enum LevelSmoother {
    /// A diagonal, and what is done with it.
    Diagonal { diagonal: Vector, relaxation: Relaxation },
    /// Steps with the diagonals of fine and of coarse rows; each is zero in the other rows.
    FineCoarse { fine: Vector, coarse: Vector },
    /// x ← x + ω F₂ F₁ (b − A x).
    Inverse(StoredInverse),
    /// x ← x + ω V U⁻¹ L⁻¹ W (b − A x).
    Factors(StoredFactors),
}

/// Incomplete factors on a device.
pub(crate) struct StoredFactors {
    /// Without its diagonal, which is one.
    pub lower: Matrix,
    pub ones: Vector,
    /// Without its diagonal.
    pub upper: Matrix,
    pub inverse_pivots: Vector,
    pub block: usize,
    /// W and V, each with the number that it is multiplied by.
    pub before: Option<(f64, Matrix)>,
    pub after: Option<(f64, Matrix)>,
    pub omega: f64,
}

impl StoredFactors {
    // From a zero guess, a sweep over a triangular matrix is a substitution.

    /// y ← L⁻¹ r
    fn forward(&self, device: &dyn Device, r: &Vector, y: &mut Vector) {
        device.gauss_seidel(&self.lower, &self.ones, r, None, self.block, Direction::Forward, y);
    }

    /// x ← U⁻¹ y
    fn backward(&self, device: &dyn Device, y: &Vector, x: &mut Vector) {
        device.gauss_seidel(&self.upper, &self.inverse_pivots, y, None, self.block, Direction::Backward, x);
    }

    /// The first step of an application, after which r is not needed: y ← W r, or y ← L⁻¹ r if
    /// there is no W.
    pub(crate) fn begin(&self, device: &dyn Device, r: &Vector, y: &mut Vector) {
        match &self.before {
            None => self.forward(device, r, y),
            Some((factor, before)) => device.spmv(*factor, before, r, 0.0, y),
        }
    }

    /// The other steps: x ← ω V U⁻¹ L⁻¹ W r + β x.
    pub(crate) fn finish(
        &self,
        device: &dyn Device,
        y: &mut Vector,
        other: &mut Vector,
        beta: f64,
        x: &mut Vector,
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
            None => device.axpby(self.omega, correction, beta, x),
            Some((factor, after)) => {
                device.spmv(self.omega * factor, after, correction, beta, x);
            }
        }
    }
}

/// An approximate inverse on a device. Each factor has a number that it is multiplied by.
pub(crate) struct StoredInverse {
    pub first: (f64, Matrix),
    pub second: Option<(f64, Matrix)>,
    pub omega: f64,
}

impl StoredInverse {
    /// x ← ω M r + β x
    pub(crate) fn apply(
        &self,
        device: &dyn Device,
        r: &Vector,
        between: &mut Vector,
        beta: f64,
        x: &mut Vector,
    ) {
        let (undo, first) = &self.first;
        match &self.second {
            None => device.spmv(self.omega * undo, first, r, beta, x),
            Some((second_undo, second)) => {
                device.spmv(*undo, first, r, 0.0, between);
                device.spmv(self.omega * second_undo, second, between, beta, x);
            }
        }
    }
}

/// A level of a cycle.
pub(crate) struct CycleLevel {
    pub rows: usize,
    pub a: Matrix,
    pub transfer: Option<Transfer>,
    pub smoother: LevelSmoother,
    pub stored: StoredLevel,
}

impl CycleLevel {
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
        device: &dyn Device,
        b: &Vector,
        x: &mut Vector,
        [other, residual]: [&mut Vector; 2],
        from_zero: bool,
        post: bool,
    ) {
        let (diagonal, relaxation) = match &self.smoother {
            LevelSmoother::Diagonal { diagonal, relaxation } => (diagonal, relaxation),
            LevelSmoother::FineCoarse { fine, coarse } => {
                let order = if post { [fine, fine, coarse] } else { [coarse, fine, fine] };
                for (step, diagonal) in order.into_iter().enumerate() {
                    if from_zero && step == 0 {
                        device.diagonal(1.0, diagonal, b, 0.0, x);
                    } else {
                        device.sweep(&self.a, 1.0, diagonal, b, x, 0.0, other);
                        std::mem::swap(x, other);
                    }
                }
                return;
            }
            LevelSmoother::Inverse(inverse) if from_zero => {
                return inverse.apply(device, b, other, 0.0, x);
            }
            LevelSmoother::Inverse(inverse) => {
                device.residual(&self.a, x, b, residual);
                return inverse.apply(device, residual, other, 1.0, x);
            }
            LevelSmoother::Factors(factors) => {
                let beta = if from_zero {
                    factors.begin(device, b, other);
                    0.0
                } else {
                    device.residual(&self.a, x, b, residual);
                    factors.begin(device, residual, other);
                    1.0
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
                    device.diagonal(omega, diagonal, b, 0.0, x);
                    if steps.len() > 0 {
                        device.fill(0.0, other);
                    }
                }
                for &(omega, beta) in steps {
                    // `other` holds the iterate before x and receives the one after it.
                    device.sweep(&self.a, omega, diagonal, b, x, beta, other);
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

    /// Whether there is a next level.
    pub(crate) fn has_next(&self) -> bool {
        self.transfer.is_some()
    }

    /// The scratch vectors of the operations below.
    pub(crate) fn scratch(&self, device: &dyn Device) -> Result<Scratch, DeviceError> {
        let working = self.stored.working;
        let crossing = self.transfer.as_ref().filter(|transfer| transfer.coarse_working != working);
        let border = crossing.map(|transfer| device.zeros(working, transfer.coarse_rows));
        let [other, residual] = [(); 2].map(|()| device.zeros(working, self.rows));
        Ok(Scratch { other: other?, residual: residual?, border: border.transpose()? })
    }

    /// x ← smoothed solution of A x = b.
    pub(crate) fn smooth(
        &self,
        device: &dyn Device,
        b: &Vector,
        x: &mut Vector,
        scratch: &mut Scratch,
        sweeps: Sweeps,
    ) {
        let Scratch { other, residual, .. } = scratch;
        if sweeps.from_zero && sweeps.count == 0 {
            device.fill(0.0, x);
        }
        for sweep in 0..sweeps.count {
            let from_zero = sweeps.from_zero && sweep == 0;
            self.sweep(device, b, x, [&mut *other, &mut *residual], from_zero, sweeps.post);
        }
    }

    /// b_coarse ← R (b − A x)
    pub(crate) fn restrict(
        &self,
        device: &dyn Device,
        b: &Vector,
        x: &Vector,
        scratch: &mut Scratch,
        coarse: &mut Vector,
    ) {
        let Some(Transfer { r: (factor, r), .. }) = &self.transfer else { return };
        let Scratch { residual, border, .. } = scratch;
        device.residual(&self.a, x, b, residual);
        match border {
            None => device.spmv(*factor, r, residual, 0.0, coarse),
            Some(border) => {
                device.spmv(*factor, r, residual, 0.0, border);
                device.copy(border, coarse);
            }
        }
    }

    /// x ← x + P e
    pub(crate) fn prolong(
        &self,
        device: &dyn Device,
        coarse: &Vector,
        scratch: &mut Scratch,
        x: &mut Vector,
    ) {
        let Some(Transfer { p: (factor, p), .. }) = &self.transfer else { return };
        match &mut scratch.border {
            None => device.spmv(*factor, p, coarse, 1.0, x),
            Some(border) => {
                device.copy(coarse, border);
                device.spmv(*factor, p, border, 1.0, x);
            }
        }
    }

    /// y ← A x
    pub(crate) fn apply(&self, device: &dyn Device, x: &Vector, y: &mut Vector) {
        device.spmv(1.0, &self.a, x, 0.0, y);
    }

    /// The bytes of the matrices that an operation reads, once per pass.
    pub(crate) fn bytes(&self, operation: Operation) -> usize {
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

//! One level as the solve phase runs it: matrices in the level's storage number, vectors in its working number.
//!
//! Inside, everything is typed (`C` computes, `S` stores); outside it is a `Box<dyn LevelOps>`, one dynamic call per
//! operation, so that levels of unlike precision stand in one list. The optimisations of Tsai's thesis, section 5.2, are
//! here: smoothing from a zero guess starts without the matrix, nothing is computed that is not needed, and all
//! vectors exist before the first cycle.

use ziggurat_sparse::device::{Device, DeviceError, Direction};
use ziggurat_sparse::{Kind, Reads, Store};

use super::format::{Considered, ExactMatrix, Factors, Formats, Purpose, scaled_host_matrix};
use super::part::Part;
use super::vectors::{Work, WorkMut, WorkRef, Working, convert};
use crate::SetupError;
use crate::smoother::{SmootherData, SmootherKind};

/// What a cycle asks of a level.
pub(crate) trait LevelOps<D: Device>: Send + Sync {
    /// The precision of this level's vectors.
    fn working(&self) -> Kind;

    /// Number of unknowns.
    fn rows(&self) -> usize;

    /// The vectors that the operations below scribble on.
    fn scratch(&self, device: &D) -> Result<Scratch<D>, DeviceError>;

    /// x ← smoothed solution of A x = b; the guess is x, or zero. `post` reverses what pre-smoothing does.
    fn smooth(
        &self,
        device: &D,
        b: WorkRef<'_, D>,
        x: WorkMut<'_, D>,
        scratch: &mut Scratch<D>,
        how: Smoothing,
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

    /// How its matrices are stored.
    fn stored(&self) -> &StoredLevel;
}

/// How a level is stored, and why so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredLevel {
    /// What its matrices are stored in.
    pub storage: Kind,
    /// What its vectors are stored and computed in.
    pub working: Kind,
    /// The format of its matrix.
    pub format: Considered,
    /// Bytes of restriction and prolongation to the next level.
    pub transfer_bytes: usize,
}

/// How a smoother is called.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Smoothing {
    /// Times the smoother is applied.
    pub sweeps: usize,
    /// Ignore x and start from zero.
    pub from_zero: bool,
    /// After the coarse level: the adjoint of what is done before it.
    pub post: bool,
}

/// A level's scratch vectors.
#[derive(Debug)]
pub(crate) struct Scratch<D: Device> {
    /// The other iterate of a sweep.
    other: Work<D>,
    /// The residual.
    residual: Work<D>,
    /// Restricted residuals and corrections in this level's precision, where the coarse level has another.
    border: Option<Work<D>>,
}

/// Restriction and prolongation to the next level, each with the factor that it is to be multiplied by.
struct Transfer<D: Device, S: Store> {
    r: (f64, D::Matrix<S>),
    p: (f64, D::Matrix<S>),
    coarse_rows: usize,
    coarse_working: Kind,
}

/// A level that computes in `C` on matrices stored in `S`.
struct Level<D: Device, C: Working<D>, S: Store> {
    rows: usize,
    a: D::Matrix<S>,
    transfer: Option<Transfer<D, S>>,
    diagonal: D::Vector<C>,
    kind: SmootherKind,
    stored: StoredLevel,
}

/// What lowering gives to a level.
pub(crate) struct LevelParts<'a, D: Device> {
    pub a: Part<'a, D>,
    /// What `a` is to be multiplied by.
    pub factors: Factors<'a>,
    /// The size of the blocks that `a` consists of.
    pub block: usize,
    /// `a` as the outer iteration has it, where it does.
    pub host: Option<&'a ExactMatrix>,
    pub formats: Formats,
    pub transfer: Option<TransferParts<'a, D>>,
    pub smoother: &'a SmootherData,
}

/// Restriction and prolongation, each with what it is to be multiplied by for storage. A product divides the common factor out
/// again.
pub(crate) struct TransferParts<'a, D: Device> {
    pub r: (Factors<'a>, Part<'a, D>),
    pub p: (Factors<'a>, Part<'a, D>),
    /// The device of the next level: columns of `p` belong to its vectors.
    pub coarse: &'a D,
    /// The working precision of the next level.
    pub coarse_working: Kind,
}

/// Moves a level to the device in the given numbers.
pub(crate) fn level<D: Device>(
    device: &D,
    parts: &LevelParts<'_, D>,
    working: Kind,
    storage: Kind,
) -> Result<Box<dyn LevelOps<D>>, SetupError> {
    use ziggurat_sparse::{bf16, f16};
    match (working, storage) {
        (Kind::F64, Kind::F64) => make::<D, f64, f64>(device, parts),
        (Kind::F64, Kind::F32) => make::<D, f64, f32>(device, parts),
        (Kind::F64, Kind::F16) => make::<D, f64, f16>(device, parts),
        (Kind::F64, Kind::Bf16) => make::<D, f64, bf16>(device, parts),
        (_, Kind::F64 | Kind::F32) => make::<D, f32, f32>(device, parts),
        (_, Kind::F16) => make::<D, f32, f16>(device, parts),
        (_, Kind::Bf16) => make::<D, f32, bf16>(device, parts),
    }
}

fn make<D: Device, C: Working<D> + Reads<S>, S: Store>(
    device: &D,
    parts: &LevelParts<'_, D>,
) -> Result<Box<dyn LevelOps<D>>, SetupError> {
    let mut transfer_bytes = 0;
    let mut upload = |(factors, part): (Factors<'_>, Part<'_, D>), columns: &D| {
        let purpose = Purpose { formats: parts.formats, block: 1, row_by_row: false };
        let (own, considered) = scaled_host_matrix::<S>(part.own, factors, purpose)?;
        let (matrix, remote_bytes) = part.upload(device, columns, factors, own)?;
        transfer_bytes += considered.bytes() + remote_bytes;
        Ok::<_, SetupError>((factors.factor.recip(), matrix))
    };
    let transfer = match &parts.transfer {
        None => None,
        Some(TransferParts { r, p, coarse, coarse_working }) => Some(Transfer {
            r: upload(*r, device)?,
            p: upload(*p, coarse)?,
            coarse_rows: r.1.rows(),
            coarse_working: *coarse_working,
        }),
    };
    let diagonal: Vec<C> = parts.smoother.diagonal.iter().map(|&d| C::narrow(d)).collect();
    let row_by_row = matches!(parts.smoother.kind, SmootherKind::GaussSeidel { .. });
    // The same number, the same matrix.
    let shared = parts.host.filter(|_| !row_by_row).and_then(|host| host.stored_as::<S>(parts.factors));
    let purpose = Purpose { formats: parts.formats, block: parts.block, row_by_row };
    let (own, format) = match shared {
        Some(shared) => shared,
        None => scaled_host_matrix(parts.a.own, parts.factors, purpose)?,
    };
    let (a, remote_bytes) = parts.a.upload(device, device, parts.factors, own)?;
    let format = format.and(remote_bytes);
    Ok(Box::new(Level::<D, C, S> {
        rows: parts.a.rows(),
        a,
        transfer,
        diagonal: device.upload(&diagonal)?,
        kind: parts.smoother.kind.clone(),
        stored: StoredLevel { storage: S::KIND, working: C::KIND, format, transfer_bytes },
    }))
}

impl<D: Device, C: Working<D> + Reads<S>, S: Store> Level<D, C, S> {
    /// One application of the smoother; the result is in `x`.
    fn sweep(
        &self,
        device: &D,
        b: &D::Vector<C>,
        x: &mut D::Vector<C>,
        other: &mut D::Vector<C>,
        from_zero: bool,
        post: bool,
    ) {
        match &self.kind {
            SmootherKind::Recurrence(steps) => {
                let mut steps = steps.iter();
                if from_zero && let Some(&(omega, _)) = steps.next() {
                    // The residual of zero is b: no pass over the matrix. The iterate before x is zero too.
                    device.diagonal(C::narrow(omega), &self.diagonal, b, C::zero(), x);
                    if steps.len() > 0 {
                        device.fill(C::zero(), other);
                    }
                }
                for &(omega, beta) in steps {
                    // `other` holds the iterate before x and receives the one after it.
                    device.sweep(&self.a, C::narrow(omega), &self.diagonal, b, x, C::narrow(beta), other);
                    std::mem::swap(x, other);
                }
            }
            SmootherKind::GaussSeidel { block } => {
                let direction = if post { Direction::Backward } else { Direction::Forward };
                let guess = if from_zero { None } else { Some(&*x) };
                device.gauss_seidel(&self.a, &self.diagonal, b, guess, *block, direction, other);
                std::mem::swap(x, other);
            }
        }
    }
}

impl<D: Device, C: Working<D> + Reads<S>, S: Store> LevelOps<D> for Level<D, C, S> {
    fn working(&self) -> Kind {
        C::KIND
    }

    fn rows(&self) -> usize {
        self.rows
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
        how: Smoothing,
    ) {
        let (b, x, other) = (C::get(b), C::get_mut(x), C::get_mut(scratch.other.view_mut()));
        if how.from_zero && how.sweeps == 0 {
            device.fill(C::zero(), x);
        }
        for sweep in 0..how.sweeps {
            self.sweep(device, b, x, other, how.from_zero && sweep == 0, how.post);
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
}

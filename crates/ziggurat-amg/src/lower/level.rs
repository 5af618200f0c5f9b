//! Moves one level to a device: chooses formats, applies factors, rounds the smoother's data.

use std::sync::Arc;

use ziggurat_sparse::device::Device;
use ziggurat_sparse::grid::GridSystem;
use ziggurat_sparse::matrix::ScaleFactors;
use ziggurat_sparse::{Csr, Kind, MatrixError, Reads, Store, parallel};

use super::damping::damping;
use super::exact::ExactMatrix;
use super::format::{FormatConstraints, Formats, host_matrix};
use super::part::{OwnMatrix, Part};
use crate::SetupError;
use crate::multigrid::StoredLevel;
use crate::multigrid::level::{CycleLevel, LevelOps, LevelSmoother, StoredFactors, StoredInverse, Transfer};
use crate::multigrid::vectors::Working;
use crate::smoother::{Relaxation, Smoother};

/// The parts of a level on a device.
pub(super) struct LevelParts<'a, D: Device> {
    pub a: Part<'a, D>,
    /// The factors that `a` is multiplied by.
    pub factors: ScaleFactors<'a>,
    /// The size of the blocks of `a`.
    pub block: usize,
    /// `a` as the outer iteration stores it, if there is one.
    pub host: Option<&'a ExactMatrix>,
    pub formats: Formats,
    pub transfer: Option<TransferParts<'a, D>>,
    pub smoother: SmootherParts<'a, D>,
    /// The own rows that the next level keeps, if it keeps rows.
    pub points: Option<&'a [u32]>,
    /// The global number of the first own row.
    pub first_row: u64,
}

/// A matrix with the factors it is stored with and the number that its products are multiplied by.
pub(super) type FactorParts<'a, D> = (ScaleFactors<'a>, Part<'a, D>, f64);

/// The smoother of a level.
pub(super) enum SmootherParts<'a, D: Device> {
    Diagonal {
        diagonal: &'a [f64],
        relaxation: &'a Relaxation,
    },
    /// The steps of the matrix of a grid times a factor, which are computed in the number of the
    /// level.
    OnGrid {
        a: &'a GridSystem,
        smoother: Smoother,
        factor: f64,
    },
    FineCoarse(&'a [f64]),
    Inverse {
        first: FactorParts<'a, D>,
        second: Option<FactorParts<'a, D>>,
        omega: Option<f64>,
    },
    Factors(TriangularParts<'a, D>),
}

/// Incomplete factors in the variables of the level, each with the factors it is stored with. They
/// have no remote columns.
pub(super) struct TriangularParts<'a, D: Device> {
    pub lower: (ScaleFactors<'a>, &'a Arc<Csr<f64>>),
    pub upper: (ScaleFactors<'a>, &'a Arc<Csr<f64>>),
    pub inverse_pivots: Vec<f64>,
    pub block: usize,
    /// The matrices before and after the substitutions.
    pub before: Option<FactorParts<'a, D>>,
    pub after: Option<FactorParts<'a, D>>,
    pub omega: Option<f64>,
}

/// Restriction and prolongation, each with the factors it is stored with and the number that its
/// products are multiplied by.
pub(super) struct TransferParts<'a, D: Device> {
    pub r: FactorParts<'a, D>,
    pub p: FactorParts<'a, D>,
    /// The device of the next level: columns of `p` belong to its vectors.
    pub coarse: &'a D,
    /// The working precision of the next level.
    pub coarse_working: Kind,
}

/// Moves a level to the device in the given precisions.
pub(super) fn level<D: Device>(
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
    let upload = |(factors, part, undo): FactorParts<'_, D>, columns: &D, bytes: &mut usize| {
        let constraints = FormatConstraints { formats: parts.formats, block: 1, row_by_row: false };
        let (own, considered) = host_matrix::<S>(part.own, factors, constraints);
        let (matrix, remote_bytes) = part.upload(device, columns, factors, own)?;
        *bytes += considered.bytes() + remote_bytes;
        Ok::<_, SetupError>((undo, matrix))
    };
    let (mut r_bytes, mut p_bytes, mut smoother_bytes) = (0, 0, 0);
    // A process that fails here takes part in the messages of the matrix, too.
    let transfer = parts
        .transfer
        .as_ref()
        .map(|parts| (upload(parts.r, device, &mut r_bytes), upload(parts.p, parts.coarse, &mut p_bytes)));
    let smoother = match &parts.smoother {
        SmootherParts::FineCoarse(diagonal) => {
            let mut fine = narrowed::<C>(diagonal);
            let mut coarse = vec![C::zero(); fine.len()];
            for &point in parts.points.unwrap_or_default() {
                std::mem::swap(&mut fine[point as usize], &mut coarse[point as usize]);
            }
            let uploaded = device.upload(&fine).and_then(|fine| Ok((fine, device.upload(&coarse)?)));
            uploaded
                .map(|(fine, coarse)| LevelSmoother::FineCoarse { fine, coarse })
                .map_err(SetupError::from)
        }
        &SmootherParts::OnGrid { a, smoother, factor } => {
            smoother.steps_on_grid::<C>(a, factor).and_then(|made| match made {
                Some((steps, relaxation)) => {
                    Ok(LevelSmoother::Diagonal { diagonal: device.adopt(steps)?, relaxation })
                }
                None => {
                    let what = "steps of a smoother on a grid";
                    Err(MatrixError::Mismatch { what, expected: a.rows(), found: 0 }.into())
                }
            })
        }
        SmootherParts::Diagonal { diagonal, relaxation } => {
            let relaxation = Relaxation::clone(relaxation);
            device
                .adopt(narrowed(diagonal))
                .map(|diagonal| LevelSmoother::Diagonal { diagonal, relaxation })
                .map_err(SetupError::from)
        }
        &SmootherParts::Inverse { first, second, omega } => {
            let first = upload(first, device, &mut smoother_bytes);
            let second = second.map(|second| upload(second, device, &mut smoother_bytes)).transpose();
            first.and_then(|first| {
                let omega = omega.unwrap_or(1.0);
                Ok(LevelSmoother::Inverse(StoredInverse { first, second: second?, omega }))
            })
        }
        SmootherParts::Factors(factors) => {
            let [before, after] = [factors.before, factors.after]
                .map(|matrix| matrix.map(|part| upload(part, device, &mut smoother_bytes)).transpose());
            triangular(device, factors, parts.formats, &mut smoother_bytes).and_then(|triangular| {
                let (before, after) = (before?, after?);
                Ok(LevelSmoother::Factors(StoredFactors { before, after, ..triangular }))
            })
        }
    };
    let row_by_row =
        matches!(parts.smoother, SmootherParts::Diagonal { relaxation: Relaxation::GaussSeidel { .. }, .. });
    // In the same number it is the same matrix, and shared.
    let shared = parts.host.filter(|_| !row_by_row).and_then(|host| host.stored_as::<S>(parts.factors));
    let constraints = FormatConstraints { formats: parts.formats, block: parts.block, row_by_row };
    let (own, format) = match shared {
        Some(shared) => shared,
        None => host_matrix(parts.a.own, parts.factors, constraints),
    };
    let (a, remote_bytes) = parts.a.upload(device, device, parts.factors, own)?;
    let format = format.and(remote_bytes);
    let transfer = match (&parts.transfer, transfer) {
        (Some(parts), Some((r, p))) => Some(Transfer {
            r: r?,
            p: p?,
            r_bytes,
            p_bytes,
            coarse_rows: parts.r.1.rows(),
            coarse_working: parts.coarse_working,
        }),
        _ => None,
    };
    let mut smoother: LevelSmoother<D, C, S> = smoother?;
    let undamped = matches!(
        parts.smoother,
        SmootherParts::Inverse { omega: None, .. }
            | SmootherParts::Factors(TriangularParts { omega: None, .. })
    );
    if undamped {
        let spans = (parts.a.rows(), parts.first_row);
        match &mut smoother {
            LevelSmoother::Diagonal { .. } | LevelSmoother::FineCoarse { .. } => {}
            LevelSmoother::Inverse(inverse) => {
                let apply = |[r, other, x]: [&mut D::Vector<C>; 3]| {
                    inverse.apply(device, r, other, C::zero(), x);
                };
                inverse.omega = damping::<D, C, S>(device, &a, &apply, spans)?;
            }
            LevelSmoother::Factors(factors) => {
                let apply = |[r, other, x]: [&mut D::Vector<C>; 3]| {
                    factors.begin(device, r, other);
                    factors.finish(device, other, r, C::zero(), x);
                };
                factors.omega = damping::<D, C, S>(device, &a, &apply, spans)?;
            }
        }
    }
    Ok(Box::new(CycleLevel::<D, C, S> {
        rows: parts.a.rows(),
        a,
        transfer,
        smoother,
        stored: StoredLevel {
            storage: S::KIND,
            working: C::KIND,
            format,
            transfer_bytes: r_bytes + p_bytes,
            smoother_bytes,
        },
    }))
}

/// Numbers of setup, each rounded to the number of a level.
fn narrowed<C: Store>(wide: &[f64]) -> Vec<C> {
    parallel::collect(wide.len(), |row| C::narrow(wide[row]))
}

/// Moves incomplete factors to the device, in a format whose rows can be read one by one.
fn triangular<D: Device, C: Working<D> + Reads<S>, S: Store>(
    device: &D,
    parts: &TriangularParts<'_, D>,
    formats: Formats,
    bytes: &mut usize,
) -> Result<StoredFactors<D, C, S>, SetupError> {
    let mut upload = |(factors, matrix): (ScaleFactors<'_>, &Arc<Csr<f64>>)| {
        let constraints = FormatConstraints { formats, block: 1, row_by_row: true };
        let (own, considered) = host_matrix::<S>(OwnMatrix::Rows(matrix), factors, constraints);
        *bytes += considered.bytes();
        device.upload_matrix(own)
    };
    let (lower, upper) = (upload(parts.lower)?, upload(parts.upper)?);
    let inverse_pivots = narrowed::<C>(&parts.inverse_pivots);
    Ok(StoredFactors {
        lower,
        ones: device.upload(&vec![C::one(); inverse_pivots.len()])?,
        upper,
        inverse_pivots: device.upload(&inverse_pivots)?,
        block: parts.block,
        before: None,
        after: None,
        omega: parts.omega.unwrap_or(1.0),
    })
}

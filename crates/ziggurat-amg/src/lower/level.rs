//! Moves one level to a device: chooses formats, applies factors, rounds the smoother's data.

use std::sync::Arc;

use ziggurat_sparse::device::{Device, DeviceExt, Matrix, Vector};
use ziggurat_sparse::grid::GridSystem;
use ziggurat_sparse::matrix::ScaleFactors;
use ziggurat_sparse::{Csr, Kind, MatrixError, with_arithmetic, with_storage};

use super::damping::damping;
use super::exact::ExactMatrix;
use super::format::{FormatConstraints, Formats, host_matrix};
use super::part::{OwnMatrix, Part};
use crate::SetupError;
use crate::multigrid::level::{CycleLevel, LevelSmoother, StoredFactors, StoredInverse, Transfer};
use crate::multigrid::{FormatCandidates, StoredLevel};
use crate::smoother::{Relaxation, Smoother};

/// The parts of a level on a device.
pub(super) struct LevelParts<'a> {
    pub a: Part<'a>,
    /// The factors that `a` is multiplied by.
    pub factors: ScaleFactors<'a>,
    /// The size of the blocks of `a`.
    pub block: usize,
    /// `a` as the outer iteration stores it, if there is one.
    pub host: Option<&'a ExactMatrix>,
    pub formats: Formats,
    pub transfer: Option<TransferParts<'a>>,
    pub smoother: SmootherParts<'a>,
    /// The own rows that the next level keeps, if it keeps rows.
    pub points: Option<&'a [u32]>,
    /// The global number of the first own row.
    pub first_row: u64,
}

/// A matrix with the factors it is stored with and the number that its products are multiplied by.
pub(super) type FactorParts<'a> = (ScaleFactors<'a>, Part<'a>, f64);

/// The smoother of a level.
pub(super) enum SmootherParts<'a> {
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
        first: FactorParts<'a>,
        second: Option<FactorParts<'a>>,
        omega: Option<f64>,
    },
    Factors(TriangularParts<'a>),
}

/// Incomplete factors in the variables of the level, each with the factors it is stored with. They
/// have no remote columns.
pub(super) struct TriangularParts<'a> {
    pub lower: (ScaleFactors<'a>, &'a Arc<Csr<f64>>),
    pub upper: (ScaleFactors<'a>, &'a Arc<Csr<f64>>),
    pub inverse_pivots: Vec<f64>,
    pub block: usize,
    /// The matrices before and after the substitutions.
    pub before: Option<FactorParts<'a>>,
    pub after: Option<FactorParts<'a>>,
    pub omega: Option<f64>,
}

/// Restriction and prolongation, each with the factors it is stored with and the number that its
/// products are multiplied by.
pub(super) struct TransferParts<'a> {
    pub r: FactorParts<'a>,
    pub p: FactorParts<'a>,
    /// The device of the next level: columns of `p` belong to its vectors.
    pub coarse: &'a dyn Device,
    /// The working precision of the next level.
    pub coarse_working: Kind,
}

/// Moves a level to the device in the given precisions, of which `working` reads `storage`.
pub(super) fn level(
    device: &dyn Device,
    parts: &LevelParts<'_>,
    working: Kind,
    storage: Kind,
) -> Result<CycleLevel, SetupError> {
    let upload = |(factors, part, undo): FactorParts<'_>, columns: &dyn Device, bytes: &mut usize| {
        let constraints = FormatConstraints { formats: parts.formats, block: 1, row_by_row: false };
        let (own, considered) = stored(part.own, storage, factors, constraints);
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
            let (mut fine, mut coarse) = (diagonal.to_vec(), vec![0.0; diagonal.len()]);
            for &point in parts.points.unwrap_or_default() {
                std::mem::swap(&mut fine[point as usize], &mut coarse[point as usize]);
            }
            let [fine, coarse] = [fine, coarse].map(|steps| device.upload_as(working, &steps));
            fine.and_then(|fine| Ok(LevelSmoother::FineCoarse { fine, coarse: coarse? }))
                .map_err(SetupError::from)
        }
        &SmootherParts::OnGrid { a, smoother, factor } => {
            with_arithmetic!(working, |C| smoother.steps_on_grid::<C>(a, factor).and_then(
                |made| match made {
                    Some((steps, relaxation)) => {
                        Ok(LevelSmoother::Diagonal { diagonal: device.adopt(steps)?, relaxation })
                    }
                    None => {
                        let what = "steps of a smoother on a grid";
                        Err(MatrixError::Mismatch { what, expected: a.rows(), found: 0 }.into())
                    }
                }
            ))
        }
        SmootherParts::Diagonal { diagonal, relaxation } => {
            let relaxation = Relaxation::clone(relaxation);
            device
                .upload_as(working, diagonal)
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
            let constraints = FormatConstraints { formats: parts.formats, block: 1, row_by_row: true };
            triangular(device, factors, working, storage, constraints, &mut smoother_bytes).and_then(
                |triangular| {
                    let (before, after) = (before?, after?);
                    Ok(LevelSmoother::Factors(StoredFactors { before, after, ..triangular }))
                },
            )
        }
    };
    let row_by_row =
        matches!(parts.smoother, SmootherParts::Diagonal { relaxation: Relaxation::GaussSeidel { .. }, .. });
    // In the same number it is the same matrix, and shared.
    let shared = parts.host.filter(|_| !row_by_row).and_then(|host| {
        with_storage!(storage, |S| {
            let (same, considered) = host.stored_as::<S>(parts.factors)?;
            Some((same.into(), considered))
        })
    });
    let constraints = FormatConstraints { formats: parts.formats, block: parts.block, row_by_row };
    let (own, format) = match shared {
        Some(shared) => shared,
        None => stored(parts.a.own, storage, parts.factors, constraints),
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
    let mut smoother = smoother?;
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
                let apply = |[r, other, x]: [&mut Vector; 3]| {
                    inverse.apply(device, r, other, 0.0, x);
                };
                inverse.omega = damping(device, &a, working, &apply, spans)?;
            }
            LevelSmoother::Factors(factors) => {
                let apply = |[r, other, x]: [&mut Vector; 3]| {
                    factors.begin(device, r, other);
                    factors.finish(device, other, r, 0.0, x);
                };
                factors.omega = damping(device, &a, working, &apply, spans)?;
            }
        }
    }
    Ok(CycleLevel {
        rows: parts.a.rows(),
        a,
        transfer,
        smoother,
        stored: StoredLevel { storage, working, format, transfer_bytes: r_bytes + p_bytes, smoother_bytes },
    })
}

/// A matrix times its factors in host memory, and the formats that were considered for it.
fn stored(
    a: OwnMatrix<'_>,
    storage: Kind,
    factors: ScaleFactors<'_>,
    constraints: FormatConstraints,
) -> (Matrix, FormatCandidates) {
    with_storage!(storage, |S| {
        let (matrix, considered) = host_matrix::<S>(a, factors, constraints);
        (matrix.into(), considered)
    })
}

/// Moves incomplete factors to the device, in a format whose rows can be read one by one.
fn triangular(
    device: &dyn Device,
    parts: &TriangularParts<'_>,
    working: Kind,
    storage: Kind,
    row_by_row: FormatConstraints,
    bytes: &mut usize,
) -> Result<StoredFactors, SetupError> {
    let mut upload = |(factors, matrix): (ScaleFactors<'_>, &Arc<Csr<f64>>)| {
        let (own, considered) = stored(OwnMatrix::Rows(matrix), storage, factors, row_by_row);
        *bytes += considered.bytes();
        device.take_matrix(own)
    };
    let (lower, upper) = (upload(parts.lower)?, upload(parts.upper)?);
    let mut ones = device.zeros(working, parts.inverse_pivots.len())?;
    device.fill(1.0, &mut ones);
    Ok(StoredFactors {
        lower,
        ones,
        upper,
        inverse_pivots: device.upload_as(working, &parts.inverse_pivots)?,
        block: parts.block,
        before: None,
        after: None,
        omega: parts.omega.unwrap_or(1.0),
    })
}

//! Moves one level to a device: chooses formats, applies factors, rounds the smoother's data.

use ziggurat_sparse::device::Device;
use ziggurat_sparse::matrix::ScaleFactors;
use ziggurat_sparse::{Kind, Reads, Store};

use super::exact::ExactMatrix;
use super::format::{Formats, Purpose, host_matrix};
use super::part::Part;
use crate::SetupError;
use crate::multigrid::StoredLevel;
use crate::multigrid::level::{CycleLevel, LevelOps, Transfer};
use crate::multigrid::vectors::Working;
use crate::smoother::{Relaxation, SmootherData};

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
    pub smoother: &'a SmootherData,
}

/// Restriction and prolongation, each with the factors it is stored with and the number that its
/// products are multiplied by.
pub(super) struct TransferParts<'a, D: Device> {
    pub r: (ScaleFactors<'a>, Part<'a, D>, f64),
    pub p: (ScaleFactors<'a>, Part<'a, D>, f64),
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
    let mut transfer_bytes = 0;
    let mut upload = |(factors, part, undo): (ScaleFactors<'_>, Part<'_, D>, f64), columns: &D| {
        let purpose = Purpose { formats: parts.formats, block: 1, row_by_row: false };
        let (own, considered) = host_matrix::<S>(part.own, factors, purpose);
        let (matrix, remote_bytes) = part.upload(device, columns, factors, own)?;
        transfer_bytes += considered.bytes() + remote_bytes;
        Ok::<_, SetupError>((undo, matrix))
    };
    // A process that fails here takes part in the messages of the matrix, too.
    let transfer =
        parts.transfer.as_ref().map(|parts| (upload(parts.r, device), upload(parts.p, parts.coarse)));
    let diagonal: Vec<C> = parts.smoother.diagonal.iter().map(|&d| C::narrow(d)).collect();
    let row_by_row = matches!(parts.smoother.relaxation, Relaxation::GaussSeidel { .. });
    // In the same number it is the same matrix, and shared.
    let shared = parts.host.filter(|_| !row_by_row).and_then(|host| host.stored_as::<S>(parts.factors));
    let purpose = Purpose { formats: parts.formats, block: parts.block, row_by_row };
    let (own, format) = match shared {
        Some(shared) => shared,
        None => host_matrix(parts.a.own, parts.factors, purpose),
    };
    let (a, remote_bytes) = parts.a.upload(device, device, parts.factors, own)?;
    let format = format.and(remote_bytes);
    let transfer = match (&parts.transfer, transfer) {
        (Some(parts), Some((r, p))) => Some(Transfer {
            r: r?,
            p: p?,
            coarse_rows: parts.r.1.rows(),
            coarse_working: parts.coarse_working,
        }),
        _ => None,
    };
    Ok(Box::new(CycleLevel::<D, C, S> {
        rows: parts.a.rows(),
        a,
        transfer,
        diagonal: device.upload(&diagonal)?,
        smoother: parts.smoother.relaxation.clone(),
        stored: StoredLevel { storage: S::KIND, working: C::KIND, format, transfer_bytes },
    }))
}

//! The finest matrix as an outer iteration in double precision applies it.
//!
//! It is stored in the format with the fewest bytes, and in single precision if that represents
//! every value exactly. A lowered level of the same precision shares it.

use std::sync::Arc;

use ziggurat_sparse::device::{Device, DeviceError, HostMatrix, MatrixFormat, Remote, SparseFactors};
use ziggurat_sparse::matrix::ScaleFactors;
use ziggurat_sparse::operator::{LinearOperator, MatrixOperator};
use ziggurat_sparse::{Csr, Kind, Store, parallel};

use super::format::{FormatConstraints, Formats, host_matrix};
use super::part::{OwnMatrix, PIECE, Part};
use crate::hierarchy::device_matrix::{DeviceMatrix, on};
use crate::multigrid::FormatCandidates;

/// A matrix on the host for an iteration in double precision: in the format with the fewest bytes,
/// and in single precision if that represents every value exactly.
///
/// ```
/// use ziggurat_amg::{Formats, Hierarchy, HierarchyConfig};
/// use ziggurat_sparse::{Kind, device::{Cpu, MatrixFormat}, gallery::Problem};
/// let a = "poisson3d:8".parse::<Problem>()?.matrix()?;
/// let finest = Hierarchy::build(a, &HierarchyConfig::default())?.finest(Formats::FewestBytes);
/// assert_eq!((finest.storage(), finest.considered().format()), (Kind::F32, MatrixFormat::Dia.into())); // 6 and -1
/// assert_eq!(finest.operator(&Cpu::new())?.shape(), (512, 512));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct ExactMatrix {
    stored: Stored,
    considered: FormatCandidates,
}

#[derive(Clone, Debug)]
enum Stored {
    F64(HostMatrix<f64>),
    F32(HostMatrix<f32>),
    OnDevice(OnDevice),
}

/// A matrix that the device of setup holds and stores itself.
#[derive(Clone, Debug)]
struct OnDevice {
    held: Arc<DeviceMatrix>,
    /// The same for every other device.
    host: Arc<Csr<f64>>,
    block: usize,
    storage: Kind,
}

impl OnDevice {
    /// The matrix as an operator; `None` if another device holds it, or only rounded.
    fn operator(&self, device: &dyn Device) -> Result<Option<Box<dyn LinearOperator>>, DeviceError> {
        let Some(setup) = device.setup() else { return Ok(None) };
        let Some(a) = on(setup, &self.held).filter(|a| a.kind() == Kind::F64) else { return Ok(None) };
        let stored = setup.stored(a, SparseFactors::ONE, self.block, self.storage)?;
        Ok(Some(Box::new(MatrixOperator::on_device(stored.matrix))))
    }

    /// The same matrix, stored on the host.
    fn on_host(&self) -> ExactMatrix {
        ExactMatrix::of_part(Part::from(&self.host), self.block, Formats::FewestBytes)
    }
}

/// Whether single precision represents all values exactly.
fn is_exact_in_single(values: &[f64]) -> bool {
    parallel::all_pieces(0..values.len(), PIECE, &|piece| {
        // A fold without an early exit is vectorised.
        values[piece].iter().fold(true, |all, &x| all & (f64::from(x as f32) == x))
    })
}

impl ExactMatrix {
    /// Stores a matrix with blocks of size `block`, or the part of it that a process owns. The
    /// remote columns are passed to [`operator_of_part`](ExactMatrix::operator_of_part).
    ///
    /// ```
    /// use ziggurat_amg::{ExactMatrix, Formats, Part};
    /// use ziggurat_sparse::{Kind, gallery::Problem};
    /// let a = "poisson3d:8".parse::<Problem>()?.matrix()?.into();
    /// assert_eq!(ExactMatrix::of_part(Part::from(&a), 1, Formats::FewestBytes).storage(), Kind::F32);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn of_part(part: Part<'_>, block: usize, formats: Formats) -> Self {
        let a = part.own;
        let constraints = FormatConstraints { formats, block, row_by_row: false };
        if let (OwnMatrix::Grid(grid), Formats::FewestBytes) = (a, formats)
            && let Some(values) = grid.single()
        {
            let stored = HostMatrix::from(values.clone());
            let considered =
                FormatCandidates::only(stored.format().into(), stored.bytes(), "a structured grid");
            return ExactMatrix { stored: Stored::F32(stored), considered };
        }
        let remote = part.remote.map_or(&[][..], |remote| remote.matrix.values());
        let own = match a {
            OwnMatrix::Rows(a) => a.values(),
            OwnMatrix::Grid(_) | OwnMatrix::Transfer(_) => &[][..],
        };
        let is_exact = match a {
            OwnMatrix::Grid(grid) => grid.is_exact_in_single(),
            OwnMatrix::Rows(_) | OwnMatrix::Transfer(_) => [own, remote].into_iter().all(is_exact_in_single),
        };
        if formats != Formats::Csr && is_exact {
            let (matrix, considered) = host_matrix(a, ScaleFactors::ONE, constraints);
            return ExactMatrix { stored: Stored::F32(matrix), considered };
        }
        let (matrix, considered) = host_matrix(a, ScaleFactors::ONE, constraints);
        ExactMatrix { stored: Stored::F64(matrix), considered }
    }

    /// A matrix that the device of setup holds; `host` is a copy of it.
    pub(super) fn on_device(
        held: Arc<DeviceMatrix>,
        host: Arc<Csr<f64>>,
        block: usize,
        formats: Formats,
    ) -> Self {
        if formats != Formats::FewestBytes {
            return ExactMatrix::of_part(Part::from(&host), block, formats);
        }
        let is_exact = is_exact_in_single(host.values());
        let storage = if is_exact { Kind::F32 } else { Kind::F64 };
        let considered =
            FormatCandidates::only(MatrixFormat::Csr.into(), host.bytes(), "on the device of setup");
        ExactMatrix { stored: Stored::OnDevice(OnDevice { held, host, block, storage }), considered }
    }

    /// The precision in which it is stored.
    pub fn storage(&self) -> Kind {
        match &self.stored {
            Stored::F64(_) => Kind::F64,
            Stored::F32(_) => Kind::F32,
            Stored::OnDevice(matrix) => matrix.storage,
        }
    }

    /// The format of own columns, and the formats that were considered.
    pub fn considered(&self) -> &FormatCandidates {
        &self.considered
    }

    /// The matrix as an operator on a device.
    pub fn operator(&self, device: &dyn Device) -> Result<Box<dyn LinearOperator>, DeviceError> {
        Ok(match &self.stored {
            Stored::F64(matrix) => Box::new(MatrixOperator::new(device, matrix.clone())?),
            Stored::F32(matrix) => Box::new(MatrixOperator::new(device, matrix.clone())?),
            Stored::OnDevice(matrix) => match matrix.operator(device)? {
                Some(operator) => operator,
                None => matrix.on_host().operator(device)?,
            },
        })
    }

    /// The matrix as an operator on a device that this process shares with others. `remote` must be
    /// the one passed to [`of_part`](ExactMatrix::of_part); it is stored in the same precision.
    ///
    /// ```
    /// use ziggurat_amg::{ExactMatrix, Formats, Part};
    /// use ziggurat_sparse::device::{Device, DeviceError};
    /// use ziggurat_sparse::operator::LinearOperator;
    ///
    /// /// On every process alike.
    /// fn operator(device: &dyn Device, a: Part<'_>) -> Result<Box<dyn LinearOperator>, DeviceError> {
    ///     let exact = ExactMatrix::of_part(a, 1, Formats::FewestBytes);
    ///     match a.remote {
    ///         Some(remote) => exact.operator_of_part(device, remote),
    ///         None => exact.operator(device),
    ///     }
    /// }
    /// let (cpu, a) = (ziggurat_sparse::device::Cpu::new(), ziggurat_sparse::Csr::identity(3)?.into());
    /// assert_eq!(operator(&cpu, Part::from(&a))?.shape(), (3, 3));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn operator_of_part(
        &self,
        device: &dyn Device,
        remote: &Remote<f64>,
    ) -> Result<Box<dyn LinearOperator>, DeviceError> {
        Ok(match &self.stored {
            Stored::OnDevice(own) => own.on_host().operator_of_part(device, remote)?,
            Stored::F64(own) => Box::new(MatrixOperator::part(device, own.clone(), remote.clone())?),
            Stored::F32(own) => {
                let (rows, halo) = (remote.rows.clone(), remote.halo.clone());
                let remote = Remote { rows, matrix: remote.matrix.view().stored_as::<f32>(), halo };
                Box::new(MatrixOperator::part(device, own.clone(), remote)?)
            }
        })
    }

    /// The matrix times its factors, stored as `S`, if that is cheaper than converting it from
    /// scratch: the matrix itself, or the same format in another precision.
    pub(crate) fn stored_as<S: Store>(
        &self,
        factors: ScaleFactors<'_>,
    ) -> Option<(HostMatrix<S>, FormatCandidates)> {
        let stored: &dyn std::any::Any = match &self.stored {
            Stored::F64(matrix) => matrix,
            Stored::F32(matrix) => matrix,
            Stored::OnDevice(_) => return None,
        };
        if let Some(same) = stored.downcast_ref::<HostMatrix<S>>().filter(|_| factors.is_one()) {
            return Some((same.clone(), self.considered.clone()));
        }
        let scaled = match &self.stored {
            Stored::F64(matrix) => matrix.scaled_as(factors),
            Stored::F32(matrix) => matrix.scaled_as(factors),
            Stored::OnDevice(_) => None,
        }?;
        let why = "as the outer iteration has it";
        let considered = FormatCandidates::only(scaled.format().into(), scaled.bytes(), why);
        Some((scaled, considered))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ziggurat_sparse::gallery::Problem;

    #[test]
    fn single_precision_is_used_where_it_is_exact() {
        let a = "poisson3d:8".parse::<Problem>().unwrap().matrix().unwrap();
        let mut a = Arc::new(a);
        assert_eq!(ExactMatrix::of_part(Part::from(&a), 1, Formats::FewestBytes).storage(), Kind::F32);
        assert_eq!(ExactMatrix::of_part(Part::from(&a), 1, Formats::Csr).storage(), Kind::F64);
        Arc::make_mut(&mut a).values_mut()[5] = 0.1;
        assert_eq!(ExactMatrix::of_part(Part::from(&a), 1, Formats::FewestBytes).storage(), Kind::F64);
    }

    #[test]
    fn the_matrix_of_a_grid_is_shared_with_setup() {
        use ziggurat_sparse::grid::{GridSystem, recognise};
        let a = "poisson3d:8".parse::<Problem>().unwrap().matrix().unwrap();
        let a = GridSystem::from_csr(a.view(), &recognise(a.view()).unwrap()).unwrap();
        let exact = ExactMatrix::of_part(Part::whole(OwnMatrix::Grid(&a)), 1, Formats::FewestBytes);
        match (a.single(), &exact.stored) {
            (Some(ours), Stored::F32(HostMatrix::Dia(stored))) => {
                assert!(Arc::ptr_eq(ours, stored));
            }
            other => panic!("{other:?}"),
        }
    }
}

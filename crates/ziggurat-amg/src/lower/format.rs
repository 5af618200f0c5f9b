//! The format of a matrix: the one of fewest bytes among those that the devices offer, because bytes are time.
//!
//! ```text
//! CSR: (s + 4) nnz + 8 n        BSR: s nnz_filled + 4 nnz_filled / b² + 8 n / b        s: bytes of a stored value
//! delta-SELL: s nnz_padded + (¼ + 0, 1, 2 or 4) nnz_padded + ¾ n, as planned
//! ```
//!
//! A matrix that consists of blocks needs one column per block; where the columns of neighbouring rows lie together,
//! delta-SELL needs one byte per entry or none. Gauss–Seidel takes rows one after the other, which delta-SELL does not have,
//! so its levels are BSR or CSR. Cost: a pass over the pattern for every format considered, and one to write the chosen one.

use std::fmt;
use std::sync::Arc;

use rayon::prelude::*;
use ziggurat_sparse::algebra::{scale_columns, scale_rows};
use ziggurat_sparse::device::{Device, DeviceError, HostMatrix, Remote};
use ziggurat_sparse::matrix::{DeltaSellPlan, block_fill};
use ziggurat_sparse::operator::{LinearOperator, MatrixOperator};
use ziggurat_sparse::{Csr, CsrRef, Kind, MatrixError, Store};

use super::part::Part;

/// Which formats lowering may choose from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Formats {
    /// All that the devices offer.
    #[default]
    FewestBytes,
    /// Compressed sparse rows, for comparisons.
    Csr,
}

/// How lowering stores what it is given; by default as it should be.
///
/// ```
/// use ziggurat_amg::{Formats, Lowering};
/// assert_eq!(Lowering::default(), Lowering { formats: Formats::FewestBytes, scaled: true });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lowering {
    /// The formats that it may choose from.
    pub formats: Formats,
    /// Whether levels are scaled into the range of a narrow number. Without it, 16 bits overflow in most units: for comparisons.
    pub scaled: bool,
}

impl Default for Lowering {
    fn default() -> Self {
        Lowering { formats: Formats::default(), scaled: true }
    }
}

/// What is known about a matrix and what it is for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Purpose {
    pub formats: Formats,
    /// The size of the blocks that it consists of; 1: of scalars.
    pub block: usize,
    /// Whether its rows are taken one after the other.
    pub row_by_row: bool,
}

/// The formats that were considered, with their bytes; the first was chosen.
///
/// ```
/// use ziggurat_amg::{Formats, Hierarchy, HierarchyConfig};
/// use ziggurat_sparse::gallery::Problem;
/// let a = "poisson2d:100".parse::<Problem>()?.matrix()?;
/// let finest = Hierarchy::build(a, &HierarchyConfig::default())?.finest(Formats::FewestBytes);
/// assert!(finest.considered().to_string().starts_with("delta-sell"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Considered {
    candidates: Vec<(&'static str, usize)>,
    why: Option<&'static str>,
}

impl Considered {
    /// The chosen format's name.
    pub fn format(&self) -> &'static str {
        self.candidates.first().map_or("none", |first| first.0)
    }

    /// The chosen format's bytes.
    pub fn bytes(&self) -> usize {
        self.candidates.first().map_or(0, |first| first.1)
    }

    /// With the bytes of a part that is stored the same way whatever the format.
    pub(crate) fn and(mut self, bytes: usize) -> Self {
        self.candidates.iter_mut().for_each(|candidate| candidate.1 += bytes);
        self
    }

    /// A format that there was no choice about.
    pub(crate) fn only(format: &'static str, bytes: usize, why: &'static str) -> Self {
        Considered { candidates: vec![(format, bytes)], why: Some(why) }
    }
}

impl fmt::Display for Considered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (k, &(format, bytes)) in self.candidates.iter().enumerate() {
            let before = ["", " < ", " < "].get(k).copied().unwrap_or(", ");
            write!(f, "{before}{format} {:.3} MB", bytes as f64 * 1e-6)?;
        }
        match self.why {
            Some(why) => write!(f, " ({why})"),
            None => Ok(()),
        }
    }
}

/// What a matrix is multiplied by on its way into storage: factor · diag(left) A diag(right).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Factors<'a> {
    pub left: Option<&'a [f64]>,
    pub right: Option<&'a [f64]>,
    pub factor: f64,
}

impl Factors<'_> {
    /// Nothing changes.
    pub(crate) const ONE: Factors<'static> = Factors { left: None, right: None, factor: 1.0 };

    fn is_one(&self) -> bool {
        self.left.is_none() && self.right.is_none() && self.factor == 1.0
    }

    /// The factor of one entry.
    #[inline]
    pub(crate) fn of(&self, row: usize, column: usize) -> f64 {
        self.left.map_or(1.0, |left| left[row]) * self.right.map_or(1.0, |right| right[column]) * self.factor
    }

    /// The matrix with its factors.
    pub(super) fn apply(&self, a: &Csr<f64>) -> Result<Csr<f64>, MatrixError> {
        let mut scaled = a.clone();
        if let Some(left) = self.left {
            scale_rows(&mut scaled, left)?;
        }
        if let Some(right) = self.right {
            scale_columns(&mut scaled, right)?;
        }
        if self.factor != 1.0 {
            scaled.values_mut().par_iter_mut().for_each(|value| *value *= self.factor);
        }
        Ok(scaled)
    }
}

/// A matrix stored as `S` in the format of fewest bytes that suits its purpose.
pub(crate) fn host_matrix<S: Store>(a: &Arc<Csr<f64>>, purpose: Purpose) -> (HostMatrix<S>, Considered) {
    let (plan, considered) = consider(a.view(), purpose, size_of::<S>());
    let made = match plan {
        Some(plan) => plan.fill::<S>(a.view()).into(),
        None => in_rows(Csr::shared_as::<S>(a), &considered, purpose),
    };
    (made, considered)
}

/// [`host_matrix`] of the matrix times its factors.
pub(crate) fn scaled_host_matrix<S: Store>(
    a: &Arc<Csr<f64>>,
    factors: Factors<'_>,
    purpose: Purpose,
) -> Result<(HostMatrix<S>, Considered), MatrixError> {
    if factors.is_one() {
        return Ok(host_matrix(a, purpose));
    }
    let (plan, considered) = consider(a.view(), purpose, size_of::<S>());
    let made = match plan {
        Some(plan) => plan.fill_scaled::<S>(a.view(), |i, j| factors.of(i, j)).into(),
        None if considered.format() == "bsr" => {
            a.view().to_bsr(purpose.block)?.view().rescaled::<S>(|i, j| factors.of(i, j)).into()
        }
        None => Csr::shared_as::<S>(&Arc::new(factors.apply(a)?)).into(),
    };
    Ok((made, considered))
}

/// In blocks, if those were chosen.
fn in_rows<S: Store>(a: Arc<Csr<S>>, considered: &Considered, purpose: Purpose) -> HostMatrix<S> {
    if considered.format() == "bsr"
        && let Ok(blocks) = a.view().to_bsr(purpose.block)
    {
        return blocks.into();
    }
    a.into()
}

/// The formats that suit a purpose, by their bytes; the plan of delta-SELL, where that has the fewest.
fn consider(a: CsrRef<'_, f64>, purpose: Purpose, value: usize) -> (Option<DeltaSellPlan>, Considered) {
    let mut candidates = vec![("csr", csr_bytes(a, value))];
    let mut why = None;
    if purpose.formats == Formats::Csr {
        why = Some("no other asked for");
    } else {
        candidates.extend(bsr_bytes(a, purpose.block, value).map(|bytes| ("bsr", bytes)));
    }
    let mut plan = None;
    // Delta-SELL does not come below a byte per entry where blocks do.
    let blocks_are_enough = candidates.iter().any(|candidate| candidate.1 <= a.nnz() * (value + 1));
    if purpose.row_by_row {
        why = Some("Gauss–Seidel takes rows one after the other");
    } else if purpose.formats == Formats::FewestBytes && !blocks_are_enough {
        plan = DeltaSellPlan::new(a, value);
        candidates.extend(plan.as_ref().map(|plan| ("delta-sell", plan.bytes())));
    }
    candidates.sort_by_key(|candidate| candidate.1);
    let plan = plan.filter(|_| candidates[0].0 == "delta-sell");
    (plan, Considered { candidates, why })
}

fn csr_bytes(a: CsrRef<'_, f64>, value: usize) -> usize {
    a.nnz() * (value + size_of::<u32>()) + size_of::<usize>() * (a.rows() + 1)
}

/// In blocks, where there are any.
fn bsr_bytes(a: CsrRef<'_, f64>, block: usize, value: usize) -> Option<usize> {
    let fill = if block > 1 { block_fill(a, block) } else { f64::INFINITY };
    let values = fill.is_finite().then(|| (fill * a.nnz() as f64).round() as usize)?;
    Some(values * value + values / (block * block) * 4 + size_of::<usize>() * (a.rows() / block + 1))
}

/// A matrix on the host as an iteration in double precision wants it: in the format of fewest bytes, and in single precision
/// where that holds every value exactly.
///
/// ```
/// use ziggurat_amg::{Formats, Hierarchy, HierarchyConfig};
/// use ziggurat_sparse::{Kind, device::Cpu, gallery::Problem};
/// let a = "poisson3d:8".parse::<Problem>()?.matrix()?;
/// let finest = Hierarchy::build(a, &HierarchyConfig::default())?.finest(Formats::FewestBytes);
/// assert_eq!((finest.storage(), finest.considered().format()), (Kind::F32, "delta-sell")); // 6 and -1
/// assert_eq!(finest.operator(&Cpu::new())?.shape(), (512, 512));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct ExactMatrix {
    stored: Stored,
    considered: Considered,
}

#[derive(Clone, Debug)]
enum Stored {
    F64(HostMatrix<f64>),
    F32(HostMatrix<f32>),
}

impl ExactMatrix {
    /// A matrix that consists of blocks of this size, or what a process owns of it; the remote columns go to
    /// [`operator_of_part`](ExactMatrix::operator_of_part).
    ///
    /// ```
    /// use ziggurat_amg::{ExactMatrix, Formats, Part};
    /// use ziggurat_sparse::{Kind, device::Cpu, gallery::Problem};
    /// let a = "poisson3d:8".parse::<Problem>()?.matrix()?.into();
    /// assert_eq!(ExactMatrix::of_part(Part::<Cpu>::from(&a), 1, Formats::FewestBytes).storage(), Kind::F32);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn of_part<D: Device>(part: Part<'_, D>, block: usize, formats: Formats) -> Self {
        let a = part.own;
        let purpose = Purpose { formats, block, row_by_row: false };
        let exact = |value: &f64| f64::from(*value as f32) == *value;
        let remote = part.remote.map_or(&[][..], |remote| remote.matrix.values());
        let values = a.values().par_iter().chain(remote);
        if formats == Formats::FewestBytes && values.into_par_iter().all(exact) {
            let (matrix, considered) = host_matrix(a, purpose);
            return ExactMatrix { stored: Stored::F32(matrix), considered };
        }
        let (matrix, considered) = host_matrix(a, purpose);
        ExactMatrix { stored: Stored::F64(matrix), considered }
    }

    /// The number it is stored in.
    pub fn storage(&self) -> Kind {
        match self.stored {
            Stored::F64(_) => Kind::F64,
            Stored::F32(_) => Kind::F32,
        }
    }

    /// The format of own columns, and which others were considered.
    pub fn considered(&self) -> &Considered {
        &self.considered
    }

    /// The matrix as an operator on a device.
    pub fn operator<D: Device>(&self, device: &D) -> Result<Box<dyn LinearOperator<D, f64>>, DeviceError> {
        Ok(match &self.stored {
            Stored::F64(matrix) => Box::new(MatrixOperator::new(device, matrix.clone())?),
            Stored::F32(matrix) => Box::new(MatrixOperator::new(device, matrix.clone())?),
        })
    }

    /// The matrix as an operator on a device that this process shares with others; `remote` is what it was made with, and is
    /// stored in the same number.
    ///
    /// ```
    /// use ziggurat_amg::{ExactMatrix, Formats, Part};
    /// use ziggurat_sparse::device::{Device, DeviceError};
    /// use ziggurat_sparse::operator::LinearOperator;
    ///
    /// /// On every process alike.
    /// fn operator<D: Device>(device: &D, a: Part<'_, D>) -> Result<Box<dyn LinearOperator<D, f64>>, DeviceError> {
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
    pub fn operator_of_part<D: Device>(
        &self,
        device: &D,
        remote: &Remote<f64, D::Halo>,
    ) -> Result<Box<dyn LinearOperator<D, f64>>, DeviceError> {
        Ok(match &self.stored {
            Stored::F64(own) => Box::new(MatrixOperator::part(device, own.clone(), remote.clone())?),
            Stored::F32(own) => {
                let (rows, halo) = (remote.rows.clone(), remote.halo.clone());
                let remote = Remote { rows, matrix: remote.matrix.view().stored_as::<f32>(), halo };
                Box::new(MatrixOperator::part(device, own.clone(), remote)?)
            }
        })
    }

    /// The matrix times its factors, stored as `S`, if that is less work than to make it from scratch: itself, or its format
    /// in another number.
    pub(crate) fn stored_as<S: Store>(&self, factors: Factors<'_>) -> Option<(HostMatrix<S>, Considered)> {
        let stored: &dyn std::any::Any = match &self.stored {
            Stored::F64(matrix) => matrix,
            Stored::F32(matrix) => matrix,
        };
        if let Some(same) = stored.downcast_ref::<HostMatrix<S>>().filter(|_| factors.is_one()) {
            return Some((same.clone(), self.considered.clone()));
        }
        let rescaled: HostMatrix<S> = match &self.stored {
            Stored::F64(HostMatrix::DeltaSell(a)) => a.rescaled(|i, j| factors.of(i, j)).into(),
            Stored::F32(HostMatrix::DeltaSell(a)) => a.rescaled(|i, j| factors.of(i, j)).into(),
            Stored::F64(HostMatrix::Bsr(a)) => a.view().rescaled(|i, j| factors.of(i, j)).into(),
            Stored::F32(HostMatrix::Bsr(a)) => a.view().rescaled(|i, j| factors.of(i, j)).into(),
            _ => return None,
        };
        let why = "as the outer iteration has it";
        let considered = Considered::only(rescaled.format(), rescaled.bytes(), why);
        Some((rescaled, considered))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ziggurat_sparse::device::Cpu;
    use ziggurat_sparse::f16;
    use ziggurat_sparse::gallery::Problem;

    fn matrix(name: &str) -> Arc<Csr<f64>> {
        Arc::new(name.parse::<Problem>().unwrap().matrix().unwrap())
    }

    fn chosen<S: Store>(a: &Arc<Csr<f64>>, formats: Formats, block: usize, row_by_row: bool) -> Considered {
        let (made, considered) = host_matrix::<S>(a, Purpose { formats, block, row_by_row });
        assert_eq!((made.format(), made.bytes()), (considered.format(), considered.bytes()));
        considered
    }

    #[test]
    fn the_fewest_bytes_win_and_the_bytes_are_true() {
        let (poisson, elasticity) = (matrix("poisson3d:20"), matrix("elasticity3d:6"));
        assert_eq!(chosen::<f16>(&poisson, Formats::FewestBytes, 1, false).format(), "delta-sell");
        assert_eq!(chosen::<f64>(&poisson, Formats::FewestBytes, 1, true).format(), "csr");
        assert_eq!(chosen::<f64>(&poisson, Formats::Csr, 1, false).format(), "csr");
        assert_eq!(chosen::<f16>(&elasticity, Formats::FewestBytes, 3, false).format(), "bsr");
        assert_eq!(chosen::<f16>(&elasticity, Formats::FewestBytes, 3, true).format(), "bsr");
        let reasons = chosen::<f16>(&elasticity, Formats::FewestBytes, 3, false).to_string();
        assert!(reasons.starts_with("bsr 0.") && reasons.contains(" < csr "), "{reasons}");
    }

    #[test]
    fn single_precision_is_used_where_it_is_exact() {
        let mut a = matrix("poisson3d:8");
        assert_eq!(ExactMatrix::of_part(Part::<Cpu>::from(&a), 1, Formats::FewestBytes).storage(), Kind::F32);
        assert_eq!(ExactMatrix::of_part(Part::<Cpu>::from(&a), 1, Formats::Csr).storage(), Kind::F64);
        Arc::make_mut(&mut a).values_mut()[5] = 0.1;
        assert_eq!(ExactMatrix::of_part(Part::<Cpu>::from(&a), 1, Formats::FewestBytes).storage(), Kind::F64);
    }
}

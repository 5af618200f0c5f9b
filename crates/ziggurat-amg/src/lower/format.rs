//! The choice of a matrix format: the one with the fewest bytes, because products are memory-bound.
//!
//! ```text
//! CSR: (s + 4) nnz + 8 n                                                s: bytes of a stored value
//! BSR: s nnz_filled + 4 nnz_filled / b² + 8 n / b
//! delta-SELL: s nnz_padded + (¼ + 0, 1, 2 or 4) nnz_padded + ¾ n, as planned
//! ```
//!
//! A matrix of blocks needs one column index per block. Where the columns of neighbouring rows are
//! close together, delta-SELL needs at most one byte of index per entry. Gauss–Seidel accesses rows
//! one after the other, which delta-SELL does not support, so its levels are BSR or CSR. Cost: one
//! pass over the pattern for every format considered, and one to write the chosen format.

use std::sync::Arc;

use ziggurat_sparse::device::{HostMatrix, MatrixFormat};
use ziggurat_sparse::matrix::{DeltaSellPlan, block_fill};
use ziggurat_sparse::{Csr, CsrRef, MatrixError, Store};

use super::factors::Factors;
use crate::multigrid::Considered;

/// The formats that lowering may choose from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Formats {
    /// All formats that the devices support.
    #[default]
    FewestBytes,
    /// Compressed sparse rows, for comparisons.
    Csr,
}

/// How lowering stores matrices. The defaults suit all but comparisons.
///
/// ```
/// use ziggurat_amg::{Formats, Lowering};
/// assert_eq!(Lowering::default(), Lowering { formats: Formats::FewestBytes, scaled: true });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lowering {
    /// The formats to choose from.
    pub formats: Formats,
    /// Whether levels are scaled into the range of a reduced precision. Without scaling, 16-bit
    /// numbers overflow in most units; turn it off for comparisons only.
    pub scaled: bool,
}

impl Default for Lowering {
    fn default() -> Self {
        Lowering { formats: Formats::default(), scaled: true }
    }
}

/// The intended use of a matrix.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Purpose {
    pub formats: Formats,
    /// The block size; 1 for a scalar matrix.
    pub block: usize,
    /// Whether rows are accessed one after the other.
    pub row_by_row: bool,
}

/// A matrix stored as `S` in the format with the fewest bytes that suits its purpose.
pub(crate) fn host_matrix<S: Store>(a: &Arc<Csr<f64>>, purpose: Purpose) -> (HostMatrix<S>, Considered) {
    let (plan, considered) = consider(a.view(), purpose, size_of::<S>());
    // The plan was made for this matrix, so it can be filled.
    let made = match plan.and_then(|plan| plan.fill::<S>(a.view()).ok()) {
        Some(made) => made.into(),
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
        Some(plan) => plan.fill_scaled::<S>(a.view(), |i, j| factors.of(i, j))?.into(),
        None if considered.format() == MatrixFormat::Bsr.into() => {
            a.view().to_bsr(purpose.block)?.view().rescaled::<S>(|i, j| factors.of(i, j)).into()
        }
        None => Csr::shared_as::<S>(&Arc::new(factors.apply(a)?)).into(),
    };
    Ok((made, considered))
}

/// The matrix as BSR if that was chosen, otherwise as CSR.
fn in_rows<S: Store>(a: Arc<Csr<S>>, considered: &Considered, purpose: Purpose) -> HostMatrix<S> {
    if considered.format() == MatrixFormat::Bsr.into()
        && let Ok(blocks) = a.view().to_bsr(purpose.block)
    {
        return blocks.into();
    }
    a.into()
}

/// The formats that suit a purpose, in order of their bytes, and the plan of delta-SELL if it has
/// the fewest.
fn consider(a: CsrRef<'_, f64>, purpose: Purpose, value: usize) -> (Option<DeltaSellPlan>, Considered) {
    let mut candidates = vec![(MatrixFormat::Csr.into(), csr_bytes(a, value))];
    let mut why = None;
    if purpose.formats == Formats::Csr {
        why = Some("no other format was requested");
    } else {
        candidates.extend(bsr_bytes(a, purpose.block, value).map(|bytes| (MatrixFormat::Bsr.into(), bytes)));
    }
    let mut plan = None;
    // Where blocks need at most one byte per entry beside the value, delta-SELL is not smaller.
    let blocks_are_enough = candidates.iter().any(|candidate| candidate.1 <= a.nnz() * (value + 1));
    if purpose.row_by_row {
        why = Some("Gauss–Seidel accesses rows one after the other");
    } else if purpose.formats == Formats::FewestBytes && !blocks_are_enough {
        plan = DeltaSellPlan::new(a, value);
        candidates.extend(plan.as_ref().map(|plan| (MatrixFormat::DeltaSell.into(), plan.bytes())));
    }
    candidates.sort_by_key(|candidate| candidate.1);
    let plan = plan.filter(|_| candidates[0].0 == MatrixFormat::DeltaSell.into());
    (plan, Considered { candidates, why })
}

fn csr_bytes(a: CsrRef<'_, f64>, value: usize) -> usize {
    a.nnz() * (value + size_of::<u32>()) + size_of::<usize>() * (a.rows() + 1)
}

/// The bytes of the matrix as BSR, if it has blocks.
fn bsr_bytes(a: CsrRef<'_, f64>, block: usize, value: usize) -> Option<usize> {
    let fill = if block > 1 { block_fill(a, block) } else { f64::INFINITY };
    let values = fill.is_finite().then(|| (fill * a.nnz() as f64).round() as usize)?;
    Some(values * value + values / (block * block) * 4 + size_of::<usize>() * (a.rows() / block + 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ziggurat_sparse::f16;
    use ziggurat_sparse::gallery::Problem;

    fn matrix(name: &str) -> Arc<Csr<f64>> {
        Arc::new(name.parse::<Problem>().unwrap().matrix().unwrap())
    }

    fn chosen<S: Store>(a: &Arc<Csr<f64>>, formats: Formats, block: usize, row_by_row: bool) -> Considered {
        let (made, considered) = host_matrix::<S>(a, Purpose { formats, block, row_by_row });
        assert_eq!((made.format().into(), made.bytes()), (considered.format(), considered.bytes()));
        considered
    }

    #[test]
    fn the_format_with_the_fewest_bytes_is_chosen_and_its_bytes_are_exact() {
        let (poisson, elasticity) = (matrix("poisson3d:20"), matrix("elasticity3d:6"));
        assert_eq!(chosen::<f16>(&poisson, Formats::FewestBytes, 1, false).format().name(), "delta-sell");
        assert_eq!(chosen::<f64>(&poisson, Formats::FewestBytes, 1, true).format().name(), "csr");
        assert_eq!(chosen::<f64>(&poisson, Formats::Csr, 1, false).format().name(), "csr");
        assert_eq!(chosen::<f16>(&elasticity, Formats::FewestBytes, 3, false).format().name(), "bsr");
        assert_eq!(chosen::<f16>(&elasticity, Formats::FewestBytes, 3, true).format().name(), "bsr");
        let reasons = chosen::<f16>(&elasticity, Formats::FewestBytes, 3, false).to_string();
        assert!(reasons.starts_with("bsr 0.") && reasons.contains(" < csr "), "{reasons}");
    }
}

//! The traits of a matrix format on the host, besides its arrays and its size.
//!
//! [`Format`] is how a format is made from CSR: planned first, so that formats can be compared by
//! their bytes before one of them is written. [`RowEntries`] is how single rows are read. The
//! reference device, Gauss–Seidel and the conformance suite use it for every format; products have
//! a kernel per format and device.

use std::fmt;
use std::sync::Arc;

use super::{Csr, CsrRef, ScaleFactors};
use crate::number::Store;

/// A matrix format on the host.
pub(crate) trait Format<S: Store>: Sized {
    /// The same format with values of another type.
    type As<T: Store>;

    /// The borrowed arrays, as kernels read them.
    type View<'a>: RowEntries<Value = S>
    where
        Self: 'a;

    /// The arrays of the matrix.
    fn view(&self) -> Self::View<'_>;

    /// How the matrix would be stored; `None` if the format does not suit it. `block` is the number
    /// of unknowns per node.
    fn plan(a: &Arc<Csr<f64>>, block: usize) -> Option<FormatPlan<'_, Arc<Self>>>;

    /// The matrix times its factors, rounded to `T`, if that is cheaper than a new plan.
    fn scaled_as<T: Store>(&self, factors: ScaleFactors<'_>) -> Option<Self::As<T>>;
}

/// Access to single rows.
pub(crate) trait RowEntries: Copy + Sync {
    /// The type of stored values.
    type Value: Store;

    /// Rows that are stored together and relaxed by the same thread.
    fn rows_per_block(self) -> usize {
        1
    }

    /// Calls `each` with the column and the value of every stored entry of a row, including zeros
    /// that fill blocks or slots, in storage order.
    fn for_each_entry(self, row: usize, each: impl FnMut(usize, Self::Value));
}

/// A conversion to a format that has been planned but not yet done, and the memory that the result
/// will use. `M` is the result, such as
/// [`HostMatrix`](crate::device::HostMatrix::plan).
///
/// ```
/// use std::sync::Arc;
/// use ziggurat_sparse::device::{HostMatrix, MatrixFormat};
/// use ziggurat_sparse::{f16, gallery::Problem, matrix::ScaleFactors};
/// let a = Arc::new("poisson3d:8".parse::<Problem>()?.matrix()?);
/// let plan = HostMatrix::<f16>::plan(MatrixFormat::DeltaSell, &a, 1).ok_or("too long a row")?;
/// let bytes = plan.bytes();
/// assert_eq!(plan.fill(ScaleFactors::ONE).bytes(), bytes);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct FormatPlan<'a, M> {
    bytes: usize,
    fill: Box<dyn FnOnce(ScaleFactors<'_>) -> M + 'a>,
}

impl<'a, M> FormatPlan<'a, M> {
    pub(crate) fn new(bytes: usize, fill: impl FnOnce(ScaleFactors<'_>) -> M + 'a) -> Self {
        FormatPlan { bytes, fill: Box::new(fill) }
    }

    /// The memory that the arrays will use, in bytes.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Makes the matrix times its factors, with values rounded to the type of the plan.
    ///
    /// # Panics
    /// If there are fewer factors than rows or columns.
    pub fn fill(self, factors: ScaleFactors<'_>) -> M {
        (self.fill)(factors)
    }

    /// The plan of a result made from this one.
    pub(crate) fn map<N>(self, f: impl FnOnce(M) -> N + 'a) -> FormatPlan<'a, N>
    where
        M: 'a,
    {
        FormatPlan::new(self.bytes, move |factors| f((self.fill)(factors)))
    }
}

impl<M> fmt::Debug for FormatPlan<'_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FormatPlan").field("bytes", &self.bytes).finish_non_exhaustive()
    }
}

impl<S: Store> Format<S> for Csr<S> {
    type As<T: Store> = Csr<T>;
    type View<'a> = CsrRef<'a, S>;

    fn view(&self) -> CsrRef<'_, S> {
        self.view()
    }

    fn plan(a: &Arc<Csr<f64>>, _: usize) -> Option<FormatPlan<'_, Arc<Self>>> {
        let bytes = a.nnz() * (size_of::<S>() + size_of::<u32>()) + size_of::<usize>() * (a.rows() + 1);
        Some(FormatPlan::new(bytes, move |factors| {
            if factors.is_one() { Csr::shared_as(a) } else { Arc::new(factors.apply(a.view())) }
        }))
    }

    fn scaled_as<T: Store>(&self, _: ScaleFactors<'_>) -> Option<Csr<T>> {
        None // a plan costs nothing
    }
}

impl<S: Store> RowEntries for CsrRef<'_, S> {
    type Value = S;

    #[inline(always)]
    fn for_each_entry(self, row: usize, mut each: impl FnMut(usize, S)) {
        let (columns, values) = self.row(row);
        for (&column, &value) in columns.iter().zip(values) {
            each(column as usize, value);
        }
    }
}

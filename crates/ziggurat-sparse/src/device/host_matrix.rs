//! A matrix in host memory, in any format: the input of a device upload.
//!
//! This is the only list of formats on the host. What depends on the format is either a method of
//! the format itself, reached through [`with_format!`], or follows from [`MatrixFormat::ALL`].

use std::sync::Arc;

use crate::grid::GridTransfer;
use crate::matrix::format::{Format, RowEntries};
use crate::matrix::{Bsr, Csr, DeltaSell, Dia, FormatPlan, ScaleFactors, Tiles};
use crate::number::Store;

crate::choice! {
    /// The format of a [`HostMatrix`]. Formats that are cheaper to plan come first.
    ///
    /// ```
    /// assert_eq!(ziggurat_sparse::device::MatrixFormat::DeltaSell.to_string(), "delta-sell");
    /// ```
    MatrixFormat, "matrix format":
    /// Compressed sparse rows.
    Csr = "csr",
    /// Small dense blocks in compressed rows.
    Bsr = "bsr",
    /// Diagonals without indices.
    Dia = "dia",
    /// Sliced rows with compressed column indices.
    DeltaSell = "delta-sell",
    /// Tiles of 4 by 4 with bitmaps, for matrix units.
    Tiles = "tiles",
    /// Interpolation weights between two grids.
    GridTransfer = "grid-transfer",
}

impl MatrixFormat {
    /// Whether it stores dense blocks whose size is chosen when a matrix is converted.
    pub const fn has_blocks(self) -> bool {
        matches!(self, MatrixFormat::Bsr)
    }

    /// Whether single rows can be read efficiently, as
    /// [Gauss–Seidel](crate::device::Device::gauss_seidel) requires.
    pub const fn is_row_by_row(self) -> bool {
        matches!(self, MatrixFormat::Csr | MatrixFormat::Bsr)
    }
}

/// A matrix in one of the formats that every device supports. It is reference-counted: a device
/// that uses host memory copies nothing.
///
/// ```
/// use ziggurat_sparse::{Csr, device::{HostMatrix, MatrixFormat}};
/// let a: HostMatrix<f64> = Csr::identity(3)?.into();
/// assert_eq!((a.format(), a.rows(), a.nnz()), (MatrixFormat::Csr, 3, 3));
/// # Ok::<(), ziggurat_sparse::MatrixError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum HostMatrix<S: 'static> {
    /// Compressed sparse rows.
    Csr(Arc<Csr<S>>),
    /// Small dense blocks in compressed rows.
    Bsr(Arc<Bsr<S>>),
    /// Diagonals without indices.
    Dia(Arc<Dia<S>>),
    /// Sliced rows with compressed column indices.
    DeltaSell(Arc<DeltaSell<S>>),
    /// Tiles of 4 by 4 with bitmaps, for matrix units.
    Tiles(Arc<Tiles<S>>),
    /// Interpolation weights between two grids.
    GridTransfer(Arc<GridTransfer<S>>),
}

/// Evaluates the body with `$a` as the matrix in its format: compiled once for each format.
macro_rules! with_format {
    ($matrix:expr, |$a:ident| $body:expr) => {
        match $matrix {
            $crate::device::HostMatrix::Csr($a) => $body,
            $crate::device::HostMatrix::Bsr($a) => $body,
            $crate::device::HostMatrix::Dia($a) => $body,
            $crate::device::HostMatrix::DeltaSell($a) => $body,
            $crate::device::HostMatrix::Tiles($a) => $body,
            $crate::device::HostMatrix::GridTransfer($a) => $body,
        }
    };
}
pub(crate) use with_format;

/// As [`with_format!`], for formats that are [row by row](MatrixFormat::is_row_by_row); `None` for
/// all others.
macro_rules! with_rows {
    ($matrix:expr, |$a:ident| $body:expr) => {
        match $matrix {
            $crate::device::HostMatrix::Csr($a) => Some($body),
            $crate::device::HostMatrix::Bsr($a) => Some($body),
            $crate::device::HostMatrix::Dia(_)
            | $crate::device::HostMatrix::DeltaSell(_)
            | $crate::device::HostMatrix::Tiles(_)
            | $crate::device::HostMatrix::GridTransfer(_) => None,
        }
    };
}
pub(crate) use with_rows;

macro_rules! from_format {
    ($($format:ident),+) => {$(
        impl<S> From<$format<S>> for HostMatrix<S> {
            fn from(a: $format<S>) -> Self {
                HostMatrix::$format(Arc::new(a))
            }
        }

        impl<S> From<Arc<$format<S>>> for HostMatrix<S> {
            fn from(a: Arc<$format<S>>) -> Self {
                HostMatrix::$format(a)
            }
        }
    )+};
}
from_format!(Csr, Bsr, Dia, DeltaSell, Tiles, GridTransfer);

impl<S: Store> HostMatrix<S> {
    /// How a matrix would be stored in a format, and its size before it is made; `None` if the
    /// format does not suit it. `block` is the number of unknowns per node, which formats with
    /// blocks use as their size.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use ziggurat_sparse::device::{HostMatrix, MatrixFormat};
    /// use ziggurat_sparse::gallery::Problem;
    /// let a = Arc::new("elasticity3d:4".parse::<Problem>()?.matrix()?);
    /// let bytes = |format| HostMatrix::<f32>::plan(format, &a, 3).map(|plan| plan.bytes());
    /// assert!(bytes(MatrixFormat::Bsr) < bytes(MatrixFormat::Csr));
    /// assert!(HostMatrix::<f32>::plan(MatrixFormat::Bsr, &a, 7).is_none()); // 7 does not divide 300
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn plan(format: MatrixFormat, a: &Arc<Csr<f64>>, block: usize) -> Option<FormatPlan<'_, Self>> {
        Some(match format {
            MatrixFormat::Csr => Csr::plan(a, block)?.map(HostMatrix::Csr),
            MatrixFormat::Bsr => Bsr::plan(a, block)?.map(HostMatrix::Bsr),
            MatrixFormat::Dia => Dia::plan(a, block)?.map(HostMatrix::Dia),
            MatrixFormat::DeltaSell => DeltaSell::plan(a, block)?.map(HostMatrix::DeltaSell),
            MatrixFormat::Tiles => Tiles::plan(a, block)?.map(HostMatrix::Tiles),
            MatrixFormat::GridTransfer => GridTransfer::plan(a, block)?.map(HostMatrix::GridTransfer),
        })
    }

    /// The matrix times its factors, rounded to `T`, if that is cheaper than a new plan: the format
    /// and the pattern stay.
    ///
    /// ```
    /// use ziggurat_sparse::{Bsr, device::HostMatrix, f16, matrix::ScaleFactors};
    /// let a = HostMatrix::from(Bsr::try_new(2, 2, 2, vec![0, 1], vec![0], vec![1.0, 2.0, 3.0, 4.0])?);
    /// let doubled = a.scaled_as::<f16>(ScaleFactors { factor: 2.0, ..ScaleFactors::ONE });
    /// assert_eq!(doubled.map(|doubled| doubled.bytes()), Some(a.bytes() - 4 * 6));
    /// # Ok::<(), ziggurat_sparse::MatrixError>(())
    /// ```
    ///
    /// # Panics
    /// If there are fewer factors than rows or columns.
    pub fn scaled_as<T: Store>(&self, factors: ScaleFactors<'_>) -> Option<HostMatrix<T>> {
        with_format!(self, |a| a.scaled_as(factors).map(HostMatrix::from))
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        with_format!(self, |a| a.rows())
    }

    /// Number of columns.
    pub fn cols(&self) -> usize {
        with_format!(self, |a| a.cols())
    }

    /// Number of stored values, including the zeros that fill blocks.
    pub fn nnz(&self) -> usize {
        with_format!(self, |a| a.nnz())
    }

    /// Memory used by the arrays, in bytes.
    pub fn bytes(&self) -> usize {
        with_format!(self, |a| a.bytes())
    }

    /// Its format.
    pub fn format(&self) -> MatrixFormat {
        match self {
            HostMatrix::Csr(_) => MatrixFormat::Csr,
            HostMatrix::Bsr(_) => MatrixFormat::Bsr,
            HostMatrix::Dia(_) => MatrixFormat::Dia,
            HostMatrix::DeltaSell(_) => MatrixFormat::DeltaSell,
            HostMatrix::Tiles(_) => MatrixFormat::Tiles,
            HostMatrix::GridTransfer(_) => MatrixFormat::GridTransfer,
        }
    }

    /// The matrix in compressed rows, without zeros that fill blocks or diagonals.
    ///
    /// ```
    /// use ziggurat_sparse::{Bsr, device::HostMatrix};
    /// let a = HostMatrix::from(Bsr::try_new(2, 2, 2, vec![0, 1], vec![0], vec![1.0, 2.0, 0.0, 4.0])?);
    /// assert_eq!(a.to_csr().values(), [1.0, 2.0, 4.0]);
    /// # Ok::<(), ziggurat_sparse::MatrixError>(())
    /// ```
    pub fn to_csr(&self) -> Csr<S> {
        let (mut row_ptr, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
        match self {
            HostMatrix::Csr(a) => return Csr::clone(a),
            HostMatrix::Dia(a) => return a.to_csr(),
            HostMatrix::Tiles(a) => return a.to_csr(),
            HostMatrix::GridTransfer(a) => return a.to_csr(),
            HostMatrix::Bsr(_) | HostMatrix::DeltaSell(_) => {}
        }
        for row in 0..self.rows() {
            let first = columns.len();
            let mut entries: Vec<(usize, S)> = Vec::new();
            self.for_each_entry(row, |column, value| entries.push((column, value)));
            entries.retain(|entry| entry.1 != S::default());
            entries.sort_unstable_by_key(|entry| entry.0);
            columns.extend(entries.iter().map(|entry| entry.0 as u32));
            values.extend(entries.iter().map(|entry| entry.1));
            row_ptr.push(first + entries.len());
        }
        Csr::from_valid_parts(self.rows(), self.cols(), row_ptr, columns, values)
    }

    /// Rows that are stored together and relaxed by the same thread.
    pub(crate) fn rows_per_block(&self) -> usize {
        with_format!(self, |a| a.view().rows_per_block())
    }

    /// Calls `each` with the column and the value of every stored entry of a row.
    pub(crate) fn for_each_entry(&self, row: usize, each: impl FnMut(usize, S)) {
        with_format!(self, |a| a.view().for_each_entry(row, each));
    }
}

//! What kind of matrix is this? Facts that decide how to solve with it, and plain sentences about them.
//!
//! [`diagnose`] takes any matrix, square or not, and finds: its size and row lengths, its symmetry, the signs on and off
//! its diagonal, rows that sum to zero, boundary rows, the range of its values, its blocks, bandwidth and connected
//! components. [`Diagnosis::advice`] says what follows. Nothing here is a proof of definiteness: that would cost a
//! factorisation.
//!
//! Costs a pass over the matrix for the facts of rows, one with a bisection per entry above the diagonal for the
//! symmetry, one for the components, and one over the columns for each size of blocks that the lengths of the rows
//! allow: together about a dozen products with a vector. Takes 16 bytes per row. Every number is the same for any number
//! of threads.

mod advice;
mod matrix_kind;
mod rows;
mod symmetry;
#[cfg(test)]
mod tests;

use serde::Serialize;
use ziggurat_sparse::graph::{bandwidth, connected_components};
use ziggurat_sparse::matrix::detect_block_size;
use ziggurat_sparse::{CsrRef, Kind};

pub use advice::{Advice, AdviceLevel};
pub use matrix_kind::{MatrixKind, unknowns_per_node};
use rows::RowFacts;
pub use symmetry::Symmetry;

/// Two values count as equal, and a sum as zero, within this part of their size: a thousand roundings of double
/// precision, which is what assembling a matrix may leave.
pub(crate) const ROUNDING: f64 = 1e-12;

/// Everything [`diagnose`] finds. Rows and columns count from zero.
///
/// ```
/// use ziggurat::diagnose;
/// use ziggurat_sparse::gallery::Problem;
/// let a = "elasticity3d:4".parse::<Problem>()?.matrix()?;
/// let diagnosis = diagnose(a.view());
/// assert!(diagnosis.symmetric);
/// assert_eq!(diagnosis.graph.block_size, 3);
/// # Ok::<(), ziggurat_sparse::gallery::ProblemError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Diagnosis {
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub cols: usize,
    /// Number of stored entries, explicit zeros included.
    pub nnz: usize,
    /// Whether the matrix equals its transpose, but for rounding; see [`Symmetry`].
    pub symmetric: bool,
    /// Whether the matrix is surely singular, or as good as: an empty row, or a part in which every row sums to zero.
    pub looks_singular: bool,
    /// Whether it looks like a saddle-point system: symmetric structure, and zeros in more than a hundredth of the
    /// diagonal.
    pub looks_like_saddle_point: bool,
    /// How many entries there are, and where.
    pub entries: Entries,
    /// How far the matrix is from its transpose; `None` if it is not square.
    pub symmetry: Option<Symmetry>,
    /// The diagonal.
    pub diagonal: Diagonal,
    /// The signs off the diagonal.
    pub off_diagonal: OffDiagonal,
    /// Rows with a property that matters.
    pub special_rows: SpecialRows,
    /// The range of the values.
    pub values: Values,
    /// The matrix as a graph.
    pub graph: Graph,
}

/// How many entries there are, and where.
///
/// ```
/// use ziggurat_sparse::Csr;
/// let a = Csr::try_new(2, 2, vec![0, 2, 2], vec![0, 1], vec![1.0, 0.0])?;
/// let entries = ziggurat::diagnose(a.view()).entries;
/// assert_eq!((entries.per_row_max, entries.empty_rows, entries.explicit_zeros), (2, 1, 1));
/// # Ok::<(), ziggurat_sparse::MatrixError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Entries {
    /// Entries of the shortest row.
    pub per_row_min: usize,
    /// Entries per row, on average.
    pub per_row_average: f64,
    /// Entries of the longest row.
    pub per_row_max: usize,
    /// The first row that has so many.
    pub longest_row: Option<usize>,
    /// Rows without any nonzero entry.
    pub empty_rows: usize,
    /// The first of them.
    pub first_empty_row: Option<usize>,
    /// Entries that are stored but zero.
    pub explicit_zeros: usize,
    /// Entries that are infinite or NaN. They count nowhere else.
    pub not_finite: usize,
    /// The first row that has such an entry.
    pub first_not_finite_row: Option<usize>,
}

/// Which signs the diagonal has.
///
/// ```
/// use ziggurat::diagnose::DiagonalSign;
/// use ziggurat_sparse::Csr;
/// let a = Csr::try_new(2, 2, vec![0, 1, 2], vec![0, 1], vec![-1.0, -4.0])?;
/// assert_eq!(ziggurat::diagnose(a.view()).diagonal.sign, DiagonalSign::Negative);
/// # Ok::<(), ziggurat_sparse::MatrixError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DiagonalSign {
    /// Every entry is positive: if the matrix is symmetric, it may be positive definite.
    Positive,
    /// Every entry is negative: −A may be positive definite.
    Negative,
    /// Positive and negative ones: a symmetric matrix is then indefinite.
    Mixed,
    /// Some entries are zero or absent, whatever the others are.
    SomeZero,
}

/// The diagonal. A matrix that is not square has as many diagonal places as its shorter side.
///
/// ```
/// use ziggurat_sparse::Csr;
/// let a = Csr::try_new(2, 2, vec![0, 1, 2], vec![0, 0], vec![4.0, 1.0])?;
/// let diagonal = ziggurat::diagnose(a.view()).diagonal;
/// assert_eq!((diagonal.stored, diagonal.positive, diagonal.zero), (1, 1, 1));
/// assert_eq!(diagonal.first_zero_row, Some(1));
/// # Ok::<(), ziggurat_sparse::MatrixError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Diagonal {
    /// Diagonal entries that are stored.
    pub stored: usize,
    /// Positive ones.
    pub positive: usize,
    /// Negative ones.
    pub negative: usize,
    /// Places that hold zero, or nothing, or a value that is not finite.
    pub zero: usize,
    /// The first such row.
    pub first_zero_row: Option<usize>,
    /// The signs in one word.
    pub sign: DiagonalSign,
    /// The smallest nonzero |a_ii|.
    pub smallest: Option<f64>,
    /// The largest nonzero |a_ii|.
    pub largest: Option<f64>,
}

/// The signs off the diagonal. Multigrid was first made for M-matrices, where all of them oppose the diagonal's.
///
/// ```
/// use ziggurat_sparse::gallery::Problem;
/// let a = "poisson2d:5".parse::<Problem>()?.matrix()?;
/// let signs = ziggurat::diagnose(a.view()).off_diagonal;
/// assert_eq!((signs.negative, signs.positive, signs.opposing_fraction), (80, 0, 1.0));
/// # Ok::<(), ziggurat_sparse::gallery::ProblemError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct OffDiagonal {
    /// Negative entries off the diagonal.
    pub negative: usize,
    /// Positive entries off the diagonal.
    pub positive: usize,
    /// The part of the nonzero entries off the diagonal whose sign opposes that of their row's diagonal; 1 if there are
    /// no entries off the diagonal.
    pub opposing_fraction: f64,
}

/// Rows with a property that matters.
///
/// ```
/// use ziggurat_sparse::gallery::Problem;
/// let a = "neumann3d:4".parse::<Problem>()?.matrix()?;
/// let rows = ziggurat::diagnose(a.view()).special_rows;
/// assert_eq!((rows.zero_sum, rows.dominant, rows.dirichlet), (64, 64, 0));
/// # Ok::<(), ziggurat_sparse::gallery::ProblemError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SpecialRows {
    /// Rows that have nonzero entries and whose sum is zero, but for rounding. If all do, the constant vectors are in
    /// the kernel.
    pub zero_sum: usize,
    /// Rows whose diagonal is at least as large as the sum of the others in absolute value, but for rounding.
    pub dominant: usize,
    /// The same as a part of all rows; 1 if there are no rows.
    pub dominant_fraction: f64,
    /// Rows whose only nonzero entry is on the diagonal, as boundary conditions leave them.
    pub dirichlet: usize,
}

/// Whether the values can be stored in a number as they are, without scaling.
///
/// ```
/// use ziggurat::diagnose::Fit;
/// use ziggurat_sparse::Csr;
/// let a = Csr::try_new(1, 1, vec![0, 1], vec![0], vec![1e5])?;
/// let values = ziggurat::diagnose(a.view()).values;
/// assert_eq!((values.f16, values.bf16), (Fit::Overflows, Fit::Fits));
/// # Ok::<(), ziggurat_sparse::MatrixError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fit {
    /// Every value keeps all the digits that this number has.
    Fits,
    /// The largest value fits, the smallest loses digits or becomes zero.
    Underflows,
    /// The largest value becomes infinite.
    Overflows,
}

/// The range of the values: nonzero, finite, in absolute value.
///
/// ```
/// use ziggurat_sparse::gallery::Problem;
/// let a = "jump3d:12".parse::<Problem>()?.matrix()?;
/// let values = ziggurat::diagnose(a.view()).values;
/// assert_eq!(values.smallest, Some(1.0));
/// # Ok::<(), ziggurat_sparse::gallery::ProblemError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Values {
    /// The smallest; `None` if there is no nonzero entry.
    pub smallest: Option<f64>,
    /// The largest.
    pub largest: Option<f64>,
    /// Whether they can be stored in `f32`.
    pub f32: Fit,
    /// Whether they can be stored in `f16`.
    pub f16: Fit,
    /// Whether they can be stored in `bf16`.
    pub bf16: Fit,
}

/// The matrix as a graph: rows are vertices, nonzero entries are edges.
///
/// ```
/// use ziggurat_sparse::Csr;
/// let graph = ziggurat::diagnose(Csr::identity(3)?.view()).graph;
/// assert_eq!((graph.components, graph.isolated_rows, graph.bandwidth), (Some(3), Some(3), 0));
/// # Ok::<(), ziggurat_sparse::MatrixError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Graph {
    /// Unknowns per node, as the pattern shows it; 1 for a scalar problem.
    pub block_size: usize,
    /// The largest distance of a stored entry from the diagonal.
    pub bandwidth: usize,
    /// Parts that have nothing to do with each other; `None` if the matrix is not square, as for the next three.
    pub components: Option<usize>,
    /// Rows of the largest part.
    pub largest_component: Option<usize>,
    /// Parts of a single row: boundary rows, mostly.
    pub isolated_rows: Option<usize>,
    /// Parts in which every row sums to zero, so that nothing holds the constant: each is singular by itself.
    pub floating_components: Option<usize>,
}

/// Finds out what kind of matrix `a` is; see the [module](self).
///
/// ```
/// use ziggurat::diagnose;
/// use ziggurat_sparse::gallery::Problem;
/// let a = "neumann3d:5".parse::<Problem>()?.matrix()?;
/// let diagnosis = diagnose(a.view());
/// assert!(diagnosis.looks_singular);
/// for advice in diagnosis.advice() {
///     println!("{advice}");
/// }
/// # Ok::<(), ziggurat_sparse::gallery::ProblemError>(())
/// ```
pub fn diagnose(a: CsrRef<'_, f64>) -> Diagnosis {
    let (tally, facts) = rows::tally(a);
    let symmetry = symmetry::symmetry(a, &facts, tally.largest);
    let graph = graph(a, &facts);
    let places = a.rows().min(a.cols());
    let part = |count: usize, of: usize| if of == 0 { 1.0 } else { count as f64 / of as f64 };
    let nonzero = |value: f64, is: bool| is.then_some(value);
    let zero = places - tally.diagonal_positive - tally.diagonal_negative;
    let any_diagonal = zero < places;
    let any_value = tally.largest > 0.0;
    let structured = symmetry.as_ref().is_some_and(|symmetry| symmetry.structure);
    Diagnosis {
        rows: a.rows(),
        cols: a.cols(),
        nnz: a.nnz(),
        symmetric: symmetry.as_ref().is_some_and(|symmetry| symmetry.to_rounding),
        looks_singular: tally.empty_rows > 0 || graph.floating_components.is_some_and(|count| count > 0),
        // An empty row is a fault of its own, not a constraint, and so is one in a hundred.
        looks_like_saddle_point: structured && 100 * (zero - tally.empty_rows.min(zero)) > a.rows(),
        entries: Entries {
            per_row_min: if a.rows() == 0 { 0 } else { tally.shortest },
            per_row_average: if a.rows() == 0 { 0.0 } else { a.nnz() as f64 / a.rows() as f64 },
            per_row_max: tally.longest,
            longest_row: tally.longest_row,
            empty_rows: tally.empty_rows,
            first_empty_row: tally.first_empty_row,
            explicit_zeros: tally.explicit_zeros,
            not_finite: tally.not_finite,
            first_not_finite_row: tally.first_not_finite_row,
        },
        diagonal: Diagonal {
            stored: tally.diagonal_stored,
            positive: tally.diagonal_positive,
            negative: tally.diagonal_negative,
            zero,
            first_zero_row: tally.first_zero_diagonal,
            sign: match (tally.diagonal_positive, tally.diagonal_negative) {
                _ if zero > 0 => DiagonalSign::SomeZero,
                (_, 0) => DiagonalSign::Positive,
                (0, _) => DiagonalSign::Negative,
                _ => DiagonalSign::Mixed,
            },
            smallest: nonzero(tally.diagonal_smallest, any_diagonal),
            largest: nonzero(tally.diagonal_largest, any_diagonal),
        },
        off_diagonal: OffDiagonal {
            negative: tally.off_negative,
            positive: tally.off_positive,
            opposing_fraction: part(tally.off_opposing, tally.off_negative + tally.off_positive),
        },
        special_rows: SpecialRows {
            zero_sum: tally.zero_sum,
            dominant: tally.dominant,
            dominant_fraction: part(tally.dominant, a.rows()),
            dirichlet: tally.dirichlet,
        },
        values: Values {
            smallest: nonzero(tally.smallest, any_value),
            largest: nonzero(tally.largest, any_value),
            f32: fit(Kind::F32, tally.smallest, tally.largest),
            f16: fit(Kind::F16, tally.smallest, tally.largest),
            bf16: fit(Kind::Bf16, tally.smallest, tally.largest),
        },
        symmetry,
        graph,
    }
}

/// Whether values between `smallest` and `largest` can be stored as `kind`.
fn fit(kind: Kind, smallest: f64, largest: f64) -> Fit {
    let facts = kind.facts();
    if largest > facts.max {
        Fit::Overflows
    } else if smallest < facts.min_normal {
        Fit::Underflows
    } else {
        Fit::Fits
    }
}

fn graph(a: CsrRef<'_, f64>, facts: &[RowFacts]) -> Graph {
    let mut graph = Graph {
        block_size: detect_block_size(a).unwrap_or(1),
        bandwidth: bandwidth(a),
        components: None,
        largest_component: None,
        isolated_rows: None,
        floating_components: None,
    };
    if let Ok(components) = connected_components(a) {
        let sizes = components.sizes();
        let mut floating = vec![true; components.count];
        for (&label, facts) in components.label.iter().zip(facts) {
            floating[label as usize] &= facts.zero_sum;
        }
        graph.components = Some(components.count);
        graph.largest_component = Some(sizes.iter().copied().max().unwrap_or(0));
        graph.isolated_rows = Some(sizes.iter().filter(|&&size| size == 1).count());
        graph.floating_components = Some(floating.iter().filter(|&&floats| floats).count());
    }
    graph
}

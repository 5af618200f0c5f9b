//! Diagnosis of a matrix: the properties that matter for solving with it, and advice.
//!
//! [`diagnose`] accepts any matrix, square or not. It determines size and row lengths, symmetry,
//! the signs on and off the diagonal, rows that sum to zero, boundary rows, the range of the
//! values, block size, bandwidth and connected components. [`Diagnosis::advice`] derives advice
//! from these. Definiteness is not proved, since that would take a factorisation.
//!
//! Cost: one pass over the matrix for the properties of rows, one with a bisection per entry above
//! the diagonal for the symmetry, one for the components, and one over the columns for each block
//! size that the row lengths allow. This is comparable to about a dozen matrix-vector products. It
//! takes 16 bytes of memory per row. The result is the same for any number of threads.

mod advice;
mod fields;
mod floating;
mod flow;
mod matrix_kind;
mod nodes;
mod null_space;
mod rows;
mod saddle;
mod scatter;
mod symmetry;
#[cfg(test)]
mod tests;
mod weights;

use serde::Serialize;
use ziggurat_amg::halo::Whole;
use ziggurat_sparse::graph::{bandwidth, connected_components};
use ziggurat_sparse::grid::{GridPattern, recognise};
use ziggurat_sparse::words::counted;
use ziggurat_sparse::{CsrRef, Kind};

pub use advice::{Advice, AdviceLevel};
pub use fields::numbered_by_fields;
pub use matrix_kind::MatrixKind;
pub use nodes::unknowns_per_node;
pub use null_space::NullSpace;
use rows::RowFacts;
use saddle::are_constraints;
pub use symmetry::Asymmetry;

/// Relative tolerance for equal values: a few thousand times the machine epsilon,
/// which covers the rounding errors of assembly.
pub(crate) const ROUNDING: f64 = 1e-12;

/// The result of [`diagnose`]. Rows and columns are counted from zero.
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
    /// Whether the matrix equals its transpose up to rounding; see [`Asymmetry`].
    pub symmetric: bool,
    /// Whether the matrix is singular up to rounding: it has an empty row, or a connected component
    /// in which every row sums to zero.
    pub looks_singular: bool,
    /// Whether it looks like a saddle-point system: the pattern is symmetric, and more than 1 % of
    /// the diagonal is zero.
    pub looks_like_saddle_point: bool,
    /// Number and distribution of the entries.
    pub entries: Entries,
    /// The difference between the matrix and its transpose; `None` if it is not square.
    pub symmetry: Option<Asymmetry>,
    /// Properties of the diagonal.
    pub diagonal: Diagonal,
    /// The signs of the off-diagonal entries.
    pub off_diagonal: OffDiagonal,
    /// Numbers of rows with special properties.
    pub special_rows: SpecialRows,
    /// The range of the values.
    pub values: Values,
    /// The matrix as a graph.
    pub graph: Graph,
}

/// Number and distribution of the entries.
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
    /// Number of entries of the shortest row.
    pub per_row_min: usize,
    /// Average number of entries per row.
    pub per_row_average: f64,
    /// Number of entries of the longest row.
    pub per_row_max: usize,
    /// The first row of this length.
    pub longest_row: Option<usize>,
    /// Number of rows without a nonzero entry.
    pub empty_rows: usize,
    /// The first such row.
    pub first_empty_row: Option<usize>,
    /// Number of stored entries that are zero.
    pub explicit_zeros: usize,
    /// Number of entries that are infinite or NaN. They are excluded from all other counts.
    pub not_finite: usize,
    /// The first row with such an entry.
    pub first_not_finite_row: Option<usize>,
}

/// The signs of the diagonal entries.
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
    /// There are positive and negative entries: a symmetric matrix is then indefinite.
    Mixed,
    /// Some entries are zero or absent; the others have any sign.
    SomeZero,
}

/// Properties of the diagonal. Its length is the smaller of the two dimensions.
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
    /// Number of stored diagonal entries.
    pub stored: usize,
    /// Number of positive diagonal entries.
    pub positive: usize,
    /// Number of negative diagonal entries.
    pub negative: usize,
    /// Number of diagonal entries that are zero, absent or not finite.
    pub zero: usize,
    /// The first row with such an entry.
    pub first_zero_row: Option<usize>,
    /// Summary of the signs.
    pub sign: DiagonalSign,
    /// The smallest nonzero |a_ii|.
    pub smallest: Option<f64>,
    /// The largest nonzero |a_ii|.
    pub largest: Option<f64>,
}

/// The signs of the off-diagonal entries. Classical multigrid theory covers M-matrices, where all
/// of them are opposite to the sign of the diagonal.
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
    /// Number of negative off-diagonal entries.
    pub negative: usize,
    /// Number of positive off-diagonal entries.
    pub positive: usize,
    /// The fraction of the nonzero off-diagonal entries whose sign is opposite to the sign of the
    /// diagonal entry of their row; 1 if there are no off-diagonal entries.
    pub opposing_fraction: f64,
}

/// Numbers of rows with special properties.
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
    /// Rows that have nonzero entries and sum to zero, up to rounding. If all rows do, the null
    /// space contains the constants.
    pub zero_sum: usize,
    /// Diagonally dominant rows: |a_ii| ≥ Σ |a_ij| over j ≠ i, up to rounding.
    pub dominant: usize,
    /// The fraction of diagonally dominant rows; 1 if there are no rows.
    pub dominant_fraction: f64,
    /// Rows whose only nonzero entry is on the diagonal, as for Dirichlet boundary conditions.
    pub dirichlet: usize,
}

/// Whether the values fit a number type without scaling.
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
    /// Every value is stored with the full precision of the type.
    Fits,
    /// The largest value fits; the smallest loses digits or becomes zero.
    Underflows,
    /// The largest value becomes infinite.
    Overflows,
}

/// The range of the absolute values of the nonzero, finite entries.
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
    /// The smallest absolute value; `None` if there is no nonzero entry.
    pub smallest: Option<f64>,
    /// The largest absolute value.
    pub largest: Option<f64>,
    /// Whether the values fit `f32`.
    pub f32: Fit,
    /// Whether the values fit `f16`.
    pub f16: Fit,
    /// Whether the values fit `bf16`.
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
    /// Number of unknowns per node, detected from the pattern; 1 for a scalar problem.
    pub block_size: usize,
    /// Number of fields, if the unknowns are numbered field by field; 1 if they are not.
    pub fields: usize,
    /// The structured grid that the matrix belongs to, such as `100×100×100, 7 points`; `None` if
    /// its rows are not the points of a grid in natural order.
    pub grid: Option<String>,
    /// The largest |i − j| of a stored entry.
    pub bandwidth: usize,
    /// Number of connected components. This and the next three fields are `None` if the matrix is
    /// not square.
    pub components: Option<usize>,
    /// Number of rows of the largest component.
    pub largest_component: Option<usize>,
    /// Number of components with a single row, which are mostly boundary rows.
    pub isolated_rows: Option<usize>,
    /// Number of components in which every row sums to zero. Each of them is singular, with the
    /// constants in its null space.
    pub floating_components: Option<usize>,
}

/// Diagnoses the matrix `a`; see the [module](self).
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
        // Empty rows are reported separately, and up to 1 % zeros are not taken for constraints.
        looks_like_saddle_point: structured
            && are_constraints((zero - tally.empty_rows.min(zero)) as u64, a.rows() as u64),
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

/// A structured grid in a few words.
fn described(found: &GridPattern) -> String {
    let unknowns = match found.unknowns {
        1 => String::new(),
        several => format!(", {several} unknowns each"),
    };
    format!("{}, {}{unknowns}", found.grid, counted(found.stencil.len(), "point"))
}

fn graph(a: CsrRef<'_, f64>, facts: &[RowFacts]) -> Graph {
    let mut graph = Graph {
        block_size: unknowns_per_node(a, &Whole::new(a.rows())),
        fields: numbered_by_fields(a),
        grid: recognise(a).ok().map(|found| described(&found)),
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

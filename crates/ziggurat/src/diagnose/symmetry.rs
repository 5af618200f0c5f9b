//! The difference between a matrix and its transpose, without forming the transpose.
//!
//! A first pass looks up the mirror image of every entry above the diagonal. If all are equal, and
//! the numbers of entries above and below the diagonal agree, the matrix is symmetric. Differences
//! |a_ij − a_ji| are relative to √(r_i r_j), where r_i is the largest |a_ij| of row i. This makes
//! them independent of a common factor and of different units of the rows. Assembled matrices are
//! mostly symmetric up to rounding only, and the first pass sees this, too. A second pass computes
//! the largest difference and the skew part of the whole matrix,
//!
//! ```text
//! skew = ‖A − Aᵀ‖_F / (2 ‖A‖_F)        0: symmetric, 1: skew-symmetric, 0.7 (√½): triangular
//! ```
//!
//! Cost: nnz / 2 searches, which solvers need, and twice as many in the second pass. Sums run over
//! fixed pieces in a fixed order.

use std::ops::Range;

use serde::Serialize;
use ziggurat_amg::halo::Processes;
use ziggurat_sparse::{CsrRef, parallel};

use super::ROUNDING;
use super::rows::RowFacts;

/// Number of rows per task. The rounding of the sums depends only on it, not on the number of
/// threads.
const PIECE: usize = 1024;

/// The difference between a square matrix and its transpose.
///
/// ```
/// use ziggurat_sparse::Csr;
/// let a = Csr::try_new(2, 2, vec![0, 2, 4], vec![0, 1, 0, 1], vec![2.0, -1.0, -3.0, 2.0])?;
/// let symmetry = ziggurat::diagnose(a.view()).symmetry.unwrap();
/// assert!(symmetry.structure && !symmetry.to_rounding);
/// # Ok::<(), ziggurat_sparse::MatrixError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Asymmetry {
    /// Whether the pattern is symmetric: (j, i) is stored whenever (i, j) is.
    pub structure: bool,
    /// Whether a_ij = a_ji exactly. An absent entry counts as zero.
    pub exact: bool,
    /// Whether |a_ij − a_ji| ≤ 10⁻¹² √(r_i r_j), where r_i is the largest absolute value in row i.
    pub to_rounding: bool,
    /// Whether `to_rounding` would hold without the rows that have no off-diagonal entries, as when
    /// boundary conditions are imposed on rows but not on columns. False if `to_rounding` is true.
    pub but_for_dirichlet: bool,
    /// The largest |a_ij − a_ji| / √(r_i r_j); infinite if an entry is not finite.
    pub largest_difference: f64,
    /// ‖A − Aᵀ‖ / (2 ‖A‖) in the Frobenius norm: the relative size of the skew part.
    pub skew: f64,
}

pub(super) fn symmetry(a: CsrRef<'_, f64>, facts: &[RowFacts], largest: f64) -> Option<Asymmetry> {
    if a.rows() != a.cols() {
        return None;
    }
    let quick = compare_quickly(a, a.all_rows());
    if !quick.exact() {
        return Some(measure(a, facts, largest, quick.structure()));
    }
    Some(Asymmetry {
        structure: true,
        exact: true,
        to_rounding: true,
        but_for_dirichlet: false,
        largest_difference: 0.0,
        skew: 0.0,
    })
}

/// Whether a matrix is square and symmetric up to rounding. Only a matrix whose pattern is not
/// symmetric needs more than the first pass. `a` contains the owned rows of `halo` and the rows of
/// its neighbours. Collective.
pub(super) fn is_symmetric<H: Processes>(a: CsrRef<'_, f64>, halo: &H) -> bool {
    if halo.is_whole() && a.rows() != a.cols() {
        return false;
    }
    let Quick { above, below, alone, apart, .. } = compare_quickly(a, halo.owned());
    let mut totals = [above as u64, below as u64, alone as u64, apart.into()];
    halo.sum(&mut totals);
    match totals {
        [above, below, 0, apart] if above == below => apart == 0,
        // An entry without a mirror image may be as small as rounding errors.
        _ => !halo.any(!own_rows_are_mirrored(a, halo.owned())),
    }
}

/// Whether the pattern of a square matrix is symmetric. `a` contains the owned rows of `halo` and
/// the rows of its neighbours. Collective.
pub(super) fn has_symmetric_pattern<H: Processes>(a: CsrRef<'_, f64>, halo: &H) -> bool {
    if halo.is_whole() && a.rows() != a.cols() {
        return false;
    }
    let Quick { above, below, alone, .. } = compare_quickly(a, halo.owned());
    let mut totals = [above as u64, below as u64, alone as u64];
    halo.sum(&mut totals);
    totals[0] == totals[1] && totals[2] == 0
}

/// The largest absolute value of a row.
fn size(a: CsrRef<'_, f64>, row: usize) -> f64 {
    a.row(row).1.iter().fold(0.0, |size: f64, value| size.max(value.abs()))
}

/// Whether an entry equals its mirror image up to rounding, by the sizes of their rows.
fn is_near(value: f64, mirrored: f64, sizes: impl FnOnce() -> (f64, f64)) -> bool {
    let difference = (value - mirrored).abs();
    // An entry is not larger than the largest of its row, so most need no sizes.
    value == mirrored || difference <= ROUNDING * value.abs().min(mirrored.abs()) || {
        let (one, other) = sizes();
        difference.is_finite() && difference <= ROUNDING * one.sqrt() * other.sqrt()
    }
}

/// Whether every entry of the rows `own` has an equal mirror image, up to rounding. `a` must
/// contain the mirrored rows.
fn own_rows_are_mirrored(a: CsrRef<'_, f64>, own: Range<usize>) -> bool {
    parallel::all_pieces(own, PIECE, &|mut rows| rows.all(|row| is_mirrored(a, row)))
}

/// Whether every entry of a row has an equal mirror image, up to rounding.
pub(super) fn is_mirrored(a: CsrRef<'_, f64>, row: usize) -> bool {
    let (columns, values) = a.row(row);
    columns.iter().zip(values).all(|(&column, &value)| {
        let column = column as usize;
        is_near(value, a.get(column, row).unwrap_or(0.0), || (size(a, row), size(a, column)))
    })
}

/// The second pass.
fn measure(a: CsrRef<'_, f64>, facts: &[RowFacts], largest: f64, structure: bool) -> Asymmetry {
    let unit = if largest > 0.0 { largest } else { 1.0 };
    let found = parallel::map_pieces(a.all_rows(), PIECE, &|rows| compare(a, facts, unit, rows));
    // In the order of the rows, for reproducible sums.
    let found = found.into_iter().fold(Differences::default(), Differences::join);
    let to_rounding = found.largest <= ROUNDING;
    Asymmetry {
        structure,
        exact: !found.any,
        to_rounding,
        but_for_dirichlet: !to_rounding && found.largest_inside <= ROUNDING,
        largest_difference: found.largest,
        skew: if found.norm > 0.0 { (found.squares / 2.0 / found.norm).sqrt() } else { 0.0 },
    }
}

/// Result of the first pass: whether the entries above the diagonal have equal mirror images.
#[derive(Clone, Copy, Default)]
struct Quick {
    /// Number of entries above and below the diagonal.
    above: usize,
    below: usize,
    /// Number of entries above the diagonal without a mirror image.
    alone: usize,
    /// Whether some entry differs from its mirror image.
    differs: bool,
    /// Whether one differs by more than rounding.
    apart: bool,
}

impl Quick {
    fn structure(&self) -> bool {
        self.alone == 0 && self.above == self.below
    }

    fn exact(&self) -> bool {
        self.structure() && !self.differs
    }

    fn join(self, other: Quick) -> Quick {
        Quick {
            above: self.above + other.above,
            below: self.below + other.below,
            alone: self.alone + other.alone,
            differs: self.differs || other.differs,
            apart: self.apart || other.apart,
        }
    }
}

/// The first pass, over the rows `own`. `a` must contain the mirrored rows.
fn compare_quickly(a: CsrRef<'_, f64>, own: Range<usize>) -> Quick {
    let compare = |rows: Range<usize>| {
        let mut found = Quick::default();
        // Where the mirror images of the last row were.
        let mut places: Vec<usize> = Vec::new();
        for row in rows {
            let (columns, values) = a.row(row);
            let above = columns.partition_point(|&column| column as usize <= row);
            let diagonal = usize::from(above > 0 && columns[above - 1] as usize == row);
            found.below += above - diagonal;
            found.above += columns.len() - above;
            places.resize(places.len().max(columns.len() - above), 0);
            let entries = columns[above..].iter().zip(&values[above..]);
            for ((&column, &value), place) in entries.zip(&mut places) {
                match a.get_near(column as usize, row, place) {
                    Some(mirrored) if mirrored == value => {}
                    Some(mirrored) => {
                        found.differs = true;
                        let sizes = || (size(a, row), size(a, column as usize));
                        found.apart = found.apart || !is_near(value, mirrored, sizes);
                    }
                    None => found.alone += 1,
                }
            }
        }
        found
    };
    parallel::map_pieces(own, PIECE, &compare).into_iter().fold(Quick::default(), Quick::join)
}

/// Differences between entries and their mirror images.
#[derive(Clone, Copy, Default)]
struct Differences {
    any: bool,
    largest: f64,
    /// As `largest`, restricted to pairs of rows that both have off-diagonal entries.
    largest_inside: f64,
    /// Sum of squared differences, with each pair counted once, and of squared entries, in units of
    /// the largest entry.
    squares: f64,
    norm: f64,
}

fn compare(a: CsrRef<'_, f64>, facts: &[RowFacts], unit: f64, rows: Range<usize>) -> Differences {
    let mut found = Differences::default();
    for row in rows {
        let (columns, values) = a.row(row);
        for (&column, &value) in columns.iter().zip(values) {
            if value.is_finite() {
                found.norm += (value / unit) * (value / unit);
            }
            let column = column as usize;
            match a.get(column, row) {
                // Counted with the entry above the diagonal.
                Some(_) if column <= row => {}
                mirrored => found.add(value, mirrored.unwrap_or(0.0), unit, facts[row], facts[column]),
            }
        }
    }
    found
}

impl Differences {
    fn add(&mut self, value: f64, mirrored: f64, unit: f64, one: RowFacts, other: RowFacts) {
        if value == mirrored {
            return;
        }
        self.any = true;
        let relative = if value.is_finite() && mirrored.is_finite() {
            // Scale first: the difference of two huge values of opposite sign would overflow.
            let difference = (value / unit - mirrored / unit).abs();
            self.squares += difference * difference;
            let size = (one.scale / unit).sqrt() * (other.scale / unit).sqrt();
            // One of the two is nonzero, so a zero size means that the row of the other is zero.
            if size > 0.0 { difference / size } else { 1.0 }
        } else {
            f64::INFINITY
        };
        self.largest = self.largest.max(relative);
        if !one.dirichlet && !other.dirichlet {
            self.largest_inside = self.largest_inside.max(relative);
        }
    }

    fn join(self, later: Differences) -> Differences {
        Differences {
            any: self.any || later.any,
            largest: self.largest.max(later.largest),
            largest_inside: self.largest_inside.max(later.largest_inside),
            squares: self.squares + later.squares,
            norm: self.norm + later.norm,
        }
    }
}

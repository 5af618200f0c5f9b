//! Multipass interpolation, for aggressive coarsening (Stüben, *Algebraic multigrid: an
//! introduction with applications*, 1999; Yang, *On long-range interpolation operators for
//! aggressive coarsening*, 2010).
//!
//! Most fine rows have no coarse row nearby. Passes proceed outward from the coarse rows: rows of
//! pass 1 depend on a coarse row, rows of pass p on a row of pass p − 1. A row of pass p is
//! interpolated directly from the rows J of pass p − 1 that it depends on, and the interpolation of
//! these rows is substituted:
//!
//! ```text
//! w_ik = −α_i Σ_{j∈J} a_ij w_jk / ã_ii
//! α_i = Σ_{n≠i} a_in⁻ / Σ_{j∈J} a_ij⁻,        ã_ii = a_ii + Σ_{n≠i} a_in⁺
//! ```
//!
//! a⁻ denotes entries whose sign is opposite to the diagonal's, a⁺ the others; J contains
//! only rows with entries of the first kind. In pass 1, w_jk is the identity. A row that no pass
//! reaches is empty.
//!
//! Cost: for each row, the interpolation of a few neighbours. A pass must finish before the next
//! one starts. Four passes are typical. Rows are shorter than with distance-two formulas, and
//! constants are interpolated equally exactly.

use std::ops::Range;

use ziggurat_sparse::algebra::RowTruncation;
use ziggurat_sparse::matrix::Entries;
use ziggurat_sparse::{Csr, CsrRef, MatrixError, parallel};

use super::collapse::{Picked, check, entry, in_order};
use super::weights::Weights;
use super::{InterpolationError, Truncation};
use crate::coarsen::Splitting;
use crate::strength::StrongGraph;

/// Marks a row that no pass has reached.
const UNREACHED: u32 = u32::MAX;

/// Number of rows whose unreached rows share one list.
const CHUNK: usize = 16 * 1024;

/// Where the interpolation of a row is stored.
#[derive(Clone, Copy, Default)]
struct Place {
    /// The pass; 0 for coarse rows.
    pass: u32,
    /// The row within that pass; the index of the coarse row for pass 0.
    slot: u32,
}

/// Builds interpolation to the rows `rows` of `a`, from coarse rows at any distance.
///
/// `strong` and `splitting` cover all of `a`, halo included: `strong` has the dimensions of `a`,
/// and `splitting` has one row per column of `a`. All rows between a row and its coarse rows are
/// read, so the halo must be as deep as the number of passes.
///
/// ```
/// use ziggurat_amg::{coarsen::{Point, Splitting}, interpolate::{Truncation, multipass}, strength::StrongGraph};
/// use ziggurat_sparse::Csr;
/// // Four rows on a line, the first one coarse: its value is interpolated to all rows.
/// let a = Csr::try_new(4, 4, vec![0, 2, 5, 8, 10], vec![0, 1, 0, 1, 2, 1, 2, 3, 2, 3],
///     vec![1., -1., -1., 2., -1., -1., 2., -1., -1., 1.])?;
/// let strong = StrongGraph::try_new(4, vec![0, 1, 3, 5, 6], vec![1, 0, 2, 1, 3, 2])?;
/// let splitting = Splitting::new(4, |row| if row == 0 { Point::Coarse } else { Point::Fine });
/// let p = multipass(a.view(), a.all_rows(), &strong, &splitting, Truncation::default())?;
/// assert_eq!((p.row_ptr(), p.values()), (&[0, 1, 2, 3, 4][..], &[1.0; 4][..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Returns an error if `truncation` is invalid, if `strong` or `splitting` does not match `a`, or
/// if `a` does not have the requested rows.
pub fn multipass(
    a: CsrRef<'_, f64>,
    rows: Range<usize>,
    strong: &StrongGraph,
    splitting: &Splitting,
    truncation: Truncation,
) -> Result<Csr<f64>, InterpolationError> {
    let truncation = RowTruncation::new(truncation)?;
    check(a, &rows, strong, splitting)?;
    let place = |row: usize| match splitting.coarse_index(row) {
        Some(slot) => Place { pass: 0, slot },
        None => Place { pass: UNREACHED, slot: 0 },
    };
    let mut places = parallel::collect(a.cols(), place);
    let mut passes: Vec<Csr<f64>> = Vec::new();
    let mut unreached: Vec<Vec<u32>> = parallel::map_pieces(0..a.rows(), CHUNK, &|rows| {
        rows.filter(|&row| places[row].pass == UNREACHED).map(|row| row as u32).collect()
    });
    loop {
        let last = passes.len() as u32;
        let reaches = |row: &mut u32| {
            let mut neighbours = strong.row(*row as usize).iter();
            neighbours.any(|&column| places[column as usize].pass == last)
        };
        let mut reached = vec![Vec::new(); unreached.len()];
        parallel::over_two(&mut unreached, &mut reached, [1, 1], &|_, rows, reached| {
            reached[0] = rows[0].extract_if(.., reaches).collect();
        });
        let reached = reached.concat();
        if reached.is_empty() {
            break;
        }
        let pass = interpolate_pass(a, strong, splitting.coarse_rows(), &places, &passes, &reached)?;
        for (slot, &row) in reached.iter().enumerate() {
            places[row as usize] = Place { pass: last + 1, slot: slot as u32 };
        }
        passes.push(pass);
    }
    Ok(join(rows, splitting.coarse_rows(), &places, &passes, &truncation)?)
}

/// Builds interpolation to the rows reached by this pass, from the interpolation of their
/// neighbours.
fn interpolate_pass(
    a: CsrRef<'_, f64>,
    strong: &StrongGraph,
    coarse: usize,
    places: &[Place],
    passes: &[Csr<f64>],
    reached: &[u32],
) -> Result<Csr<f64>, InterpolationError> {
    let last = passes.len() as u32;
    let mut work = Vec::with_capacity(reached.len() + 1);
    work.push(0);
    for (slot, &row) in reached.iter().enumerate() {
        work.push(work[slot] + 2 * strong.row(row as usize).len());
    }
    let one = [1.0];
    let collect = |(weights, from): &mut (Weights, Picked), slot: usize, entries: &mut Entries<f64>| {
        let row = reached[slot] as usize;
        let (columns, values) = a.row(row);
        let diagonal = entry(columns, values, row);
        let (mut opposed, mut other, mut taken) = (0.0, 0.0, 0.0);
        from.begin(columns.len());
        let mut is_strong = in_order(strong.row(row));
        for (&column, &value) in columns.iter().zip(values) {
            let is_opposed = (value < 0.0) != (diagonal < 0.0);
            let Place { pass, slot } = places[column as usize];
            let take = is_strong(column) & is_opposed & (pass == last);
            from.push_if(take, slot, value);
            opposed += if is_opposed { value } else { 0.0 };
            other += if is_opposed { 0.0 } else { value }; // includes the diagonal
            taken += if take { value } else { 0.0 };
        }
        weights.begin();
        for &(slot, value) in from.items() {
            let (columns, values) = match passes.last() {
                Some(pass) => pass.row(slot as usize),
                None => (std::slice::from_ref(&slot), &one[..]),
            };
            for (&column, &weight) in columns.iter().zip(values) {
                weights.add(column, value * weight);
            }
        }
        let factor = -opposed / taken / other;
        if factor.is_finite() {
            weights.write(factor, entries);
        }
    };
    let keep_all = RowTruncation::new(Truncation::default())?;
    let pass = Csr::collect(
        &work,
        0..reached.len(),
        coarse,
        || (Weights::new(coarse, keep_all.clone()), Picked::default()),
        collect,
    )?;
    Ok(pass)
}

/// Assembles the truncated rows of all passes in the order of the matrix, with identity rows for
/// coarse rows.
fn join(
    rows: Range<usize>,
    coarse: usize,
    places: &[Place],
    passes: &[Csr<f64>],
    truncation: &RowTruncation,
) -> Result<Csr<f64>, MatrixError> {
    // All rows have about the same cost.
    let work: Vec<usize> = (0..=rows.end).map(|row| 2 * row).collect();
    let scratch = || truncation.clone();
    Csr::collect(&work, rows, coarse, scratch, |truncation: &mut RowTruncation, row, entries| {
        let Place { pass, slot } = places[row];
        if pass == 0 {
            entries.push(slot, 1.0);
            return;
        }
        let Some(pass) = passes.get(pass as usize - 1) else { return };
        let (columns, values) = pass.row(slot as usize);
        entries.extend_and_cut(columns, values, |columns, values| truncation.apply(columns, values));
    })
}

//! The number of unknowns per node, detected from the matrix.
//!
//! Two properties show that the unknowns are numbered node by node, b per node:
//!
//! - *Full blocks.* The entries form full b × b blocks. That is so where assembly stores zeros.
//! - *Balanced couplings.* Constant fields of each unknown are in the kernel of an elastic body, so
//!   the entries of a row that belong to another unknown than the row's own sum to zero:
//!
//!   ```text
//!   Σ_{j mod b = c} a_ij = 0    for all c ≠ i mod b
//!   ```
//!
//!   This holds where zeros are not stored and blocks are ragged, and wherever mass terms are
//!   added. In a scalar elliptic problem these sums are as large as the entries. Rows next to
//!   removed boundary unknowns are not balanced, so a part of the rows is enough.
//!
//! Nodes that have lost some of their unknowns to boundary conditions do not follow the numbering
//! and are not detected here; coordinates show them ([`Coordinates`](crate::Coordinates)).
//!
//! Cost: at most one pass over the columns for each block size that the row lengths allow, and a
//! sample of the rows.

use std::ops::Range;

use ziggurat_amg::halo::Processes;
use ziggurat_sparse::CsrRef;
use ziggurat_sparse::matrix::detect_block_size;

/// Blocks count as full if storing them takes at most 5 % more values than there are entries.
const FILL: f64 = 1.05;

/// Sums of couplings that should cancel, relative to the sum of their magnitudes, up to which they
/// count as zero.
const BALANCED: f64 = 1e-10;

/// Couplings between unknowns, relative to the sum of all magnitudes of a row, from which on they
/// count as such.
const COUPLED: f64 = 1e-4;

/// Fraction of rows that must be coupled and balanced.
const ROWS: f64 = 0.25;

/// Number of nodes in the sample whose rows are checked for balance.
const SAMPLE: u64 = 2048;

/// Number of nodes in a first sample. A scalar problem has no balanced row in it.
const FIRST_SAMPLE: u64 = 64;

/// Number of unknowns per node, detected from the matrix: the largest of 6, 4, 3 and 2 whose blocks
/// are full, else 3 or 2 if the couplings between unknowns are balanced, else 1. All processes
/// except the last must own a multiple of 12 rows. Collective.
///
/// ```
/// use ziggurat::amg::halo::Whole;
/// use ziggurat::diagnose::unknowns_per_node;
/// use ziggurat_sparse::gallery::Problem;
/// let a = "elasticity3d:4".parse::<Problem>()?.matrix()?;
/// assert_eq!(unknowns_per_node(a.view(), &Whole::new(a.rows())), 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn unknowns_per_node<H: Processes>(a: CsrRef<'_, f64>, halo: &H) -> usize {
    let full = if halo.is_whole() { detect_block_size(a) } else { full_blocks(a, halo) };
    let mut rows = [halo.owned().len() as u64];
    halo.sum(&mut rows);
    let is_balanced = |&size: &usize| {
        rows[0].is_multiple_of(size as u64)
            && balanced_fraction(a, halo, size, rows[0], FIRST_SAMPLE) > 0.0
            && balanced_fraction(a, halo, size, rows[0], SAMPLE) >= ROWS
    };
    full.or_else(|| [3, 2].into_iter().find(is_balanced)).unwrap_or(1)
}

/// As [`detect_block_size`], over all processes. Stops reading as soon as blocks cannot be full.
fn full_blocks<H: Processes>(a: CsrRef<'_, f64>, halo: &H) -> Option<usize> {
    const SIZES: [usize; 4] = [6, 4, 3, 2];
    let own = halo.owned();
    let entries_of = |rows: Range<usize>| (a.row_ptr()[rows.end] - a.row_ptr()[rows.start]) as u64;
    let mut totals = [entries_of(own.clone()), own.len() as u64];
    halo.sum(&mut totals);
    let entries = totals[0] as f64;
    let is_full = |padding: u64| (totals[0] + padding) as f64 <= FILL * entries && entries > 0.0;
    let mut paddings = SIZES.map(|size| {
        let (mut met, mut padding): (Vec<u64>, u64) = (Vec::new(), 0);
        for first in own.clone().step_by(size) {
            let rows = first..(first + size).min(own.end);
            met.clear();
            for row in rows.clone() {
                let columns = a.row(row).0;
                met.extend(columns.iter().map(|&column| halo.global_id(column as usize) / size as u64));
            }
            met.sort_unstable();
            met.dedup();
            padding += ((met.len() * size * size) as u64).saturating_sub(entries_of(rows));
            if !is_full(padding) {
                break;
            }
        }
        padding
    });
    halo.sum(&mut paddings);
    let full = |&(&padding, size): &(&u64, usize)| totals[1].is_multiple_of(size as u64) && is_full(padding);
    paddings.iter().zip(SIZES).find(full).map(|found| found.1)
}

/// The fraction of rows whose couplings between the `size` unknowns of the nodes are present and
/// balanced, in a sample of the nodes. `rows` is the number of rows over all processes.
fn balanced_fraction<H: Processes>(a: CsrRef<'_, f64>, halo: &H, size: usize, rows: u64, sample: u64) -> f64 {
    let width = size as u64;
    let stride = (rows / width / sample).max(1);
    // Rows that are coupled and balanced, and all rows of the sample.
    let mut counts = [0u64; 2];
    let own = halo.owned();
    // Own rows have consecutive ids.
    let first = if own.is_empty() { 0 } else { halo.global_id(own.start) };
    let nodes = first.div_ceil(width * stride)..;
    for node in nodes.map(|node| node * stride).take_while(|node| node * width < first + own.len() as u64) {
        for id in node * width..((node + 1) * width).min(first + own.len() as u64) {
            let (columns, values) = a.row(own.start + (id - first) as usize);
            let ids = columns.iter().map(|&column| halo.global_id(column as usize));
            counts[0] += u64::from(is_balanced_row(ids, values, size, (id % width) as usize));
            counts[1] += 1;
        }
    }
    halo.sum(&mut counts);
    counts[0] as f64 / counts[1].max(1) as f64
}

/// Whether the entries of each unknown but `own` are present and cancel each other.
pub(super) fn is_balanced_row(
    ids: impl Iterator<Item = u64>,
    values: &[f64],
    size: usize,
    own: usize,
) -> bool {
    let (mut sums, mut sizes) = ([0.0; 3], [0.0; 3]);
    for (id, value) in ids.zip(values) {
        let unknown = (id % size as u64) as usize;
        sums[unknown] += value;
        sizes[unknown] += value.abs();
    }
    let all: f64 = sizes.iter().sum();
    (0..size)
        .filter(|&unknown| unknown != own)
        .all(|unknown| sizes[unknown] > COUPLED * all && sums[unknown].abs() <= BALANCED * all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ziggurat_amg::halo::Whole;
    use ziggurat_sparse::gallery::Problem;
    use ziggurat_sparse::{Coo, Csr};

    fn problem(name: &str) -> Csr<f64> {
        name.parse::<Problem>().unwrap().matrix().unwrap()
    }

    fn found(a: &Csr<f64>) -> usize {
        unknowns_per_node(a.view(), &Whole::new(a.rows()))
    }

    /// The matrix without the entries for which `keep` is false.
    fn filtered(a: &Csr<f64>, keep: impl Fn(usize, usize, f64) -> bool) -> Csr<f64> {
        let mut coo = Coo::new(a.rows(), a.cols()).unwrap();
        for row in 0..a.rows() {
            let (columns, values) = a.row(row);
            for (&column, &value) in columns.iter().zip(values) {
                if keep(row, column as usize, value) {
                    coo.push(row, column as usize, value).unwrap();
                }
            }
        }
        coo.to_csr()
    }

    #[test]
    fn nodes_are_found_where_zeros_are_not_stored() {
        let a = problem("elasticity3d:6");
        let largest = a.values().iter().fold(0.0f64, |largest, value| largest.max(value.abs()));
        let less = filtered(&a, |_, _, value| value.abs() > 1e-13 * largest);
        assert!(detect_block_size(less.view()).is_none(), "the test needs ragged blocks");
        assert_eq!(found(&less), 3);
    }

    #[test]
    fn scalar_problems_have_one_unknown_per_node() {
        for name in ["poisson3d:12", "poisson3d27:12", "poisson2d:36", "anisotropic3d:12", "jump3d:12"] {
            assert_eq!(found(&problem(name)), 1, "{name}");
        }
        for name in ["convection3d:12", "neumann3d:12"] {
            assert_eq!(found(&problem(name)), 1, "{name}");
        }
    }

    /// Fields that are not coupled are scalar problems side by side.
    #[test]
    fn decoupled_fields_are_not_nodes() {
        let a = problem("poisson3d:6");
        let mut coo = Coo::new(3 * a.rows(), 3 * a.rows()).unwrap();
        for row in 0..a.rows() {
            let (columns, values) = a.row(row);
            for (&column, &value) in columns.iter().zip(values) {
                for unknown in 0..3 {
                    coo.push(3 * row + unknown, 3 * column as usize + unknown, value).unwrap();
                }
            }
        }
        assert_eq!(found(&coo.to_csr()), 1);
    }
}

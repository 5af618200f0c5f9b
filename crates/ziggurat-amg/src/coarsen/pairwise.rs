//! Pairwise aggregation by graph matching: the parallel graph match of Ginkgo (Y.-H. Tsai,
//! *Portable mixed precision algebraic multigrid on high performance GPUs*, 2024, algorithm 17;
//! after Naumov et al., *AmgX*, 2015).
//!
//! The weight of a connection is
//!
//! ```text
//! w_ij = ½ (|a_ij| + |a_ji|) / max(|a_ii|, |a_jj|)
//! ```
//!
//! In each round, every unmatched row chooses the unmatched neighbour of largest weight, and two
//! rows that choose each other become a pair. After the last round, an unmatched row joins the pair
//! of its neighbour of largest weight, or remains a single row if none of its neighbours belongs to
//! a pair. Rows without connections are left out. The two rows of a pair must both have an entry
//! for the other; to join a pair, an entry in the joining row is enough. Pairs of pairs are found
//! by matching the aggregated matrix Pᵀ A P, where P is 1 where a row belongs to an aggregate.
//!
//! **Differences from algorithm 17.** It weighs by the entries of (A + Aᵀ)/2, where a_ij and a_ji
//! of opposite signs cancel and positive couplings count more than negative ones; magnitudes do
//! neither, and give the same pairs for matrices that differ by the sign of all entries. It makes a
//! row without neighbours an aggregate, which every coarser level then carries along; here such a
//! row is left to the smoother.
//!
//! **Ties** are not specified in the thesis. Among neighbours of equal weight, the one with the
//! smallest `i xor j` is chosen, where i and j are global ids. Both rows see the same number, and
//! no two neighbours of a row have the same number, so the choice is deterministic and independent
//! of the order of columns. With a regular numbering it pairs 2k with 2k + 1 everywhere in one
//! round, and further passes build rectangular blocks. A hash of the pair, which is the usual
//! tie-breaker, leaves one row in twelve unmatched there.
//!
//! Cost: two passes over the entries for the first round, and less for each further round; one
//! triple product for each pass after the first.

use std::ops::Range;

use ziggurat_sparse::algebra::{transpose, triple_product};
use ziggurat_sparse::{Csr, CsrRef, MatrixError, parallel};

use super::aggregates::{Aggregates, NO_ROOT};
use crate::halo::{Halo, Whole};

/// Number of matching rounds, as in Ginkgo. Rows that are still unmatched then join a neighbour.
pub const MATCHING_ROUNDS: usize = 15;

/// Number of rows whose unmatched rows share one list.
const CHUNK: usize = 16 * 1024;

/// Groups the owned rows of `a` into pairs, and occasionally into larger aggregates.
/// [`MATCHING_ROUNDS`] is the usual number of rounds.
///
/// The columns of `a` are the local rows. Its rows are the owned rows and their neighbours.
///
/// ```
/// use ziggurat_amg::{coarsen::{MATCHING_ROUNDS, pairwise}, halo::Whole};
/// use ziggurat_sparse::Csr;
/// // A path of four rows whose middle connection is the strongest.
/// let values = vec![2.0, -1.0, -1.0, 4.0, -3.0, -3.0, 4.0, -1.0, -1.0, 2.0];
/// let a = Csr::try_new(4, 4, vec![0, 2, 5, 8, 10], vec![0, 1, 0, 1, 2, 1, 2, 3, 2, 3], values)?;
/// let pairs = pairwise(a.view(), MATCHING_ROUNDS, &Whole::new(4))?;
/// assert_eq!(pairs.of(), [0, 0, 0, 0]); // 1 and 2 are a pair, which the ends join
/// # Ok::<(), ziggurat_sparse::MatrixError>(())
/// ```
///
/// # Errors
/// Returns an error if matrix and halo do not match.
pub fn pairwise<H: Halo>(a: CsrRef<'_, f64>, rounds: usize, halo: &H) -> Result<Aggregates, MatrixError> {
    let (owned, local) = (halo.owned(), halo.local());
    if a.rows() < owned.end || a.cols() != local {
        let what = "matrix columns (one per local row)";
        return Err(MatrixError::Mismatch { what, expected: local, found: a.cols() });
    }
    let mut diagonal = vec![0.0; local];
    diagonal[owned.clone()].copy_from_slice(&a.diagonal(owned.clone()));
    parallel::over_pieces(&mut diagonal, &|_, values: &mut [f64]| {
        values.iter_mut().for_each(|value| *value = value.abs());
    });
    halo.exchange(&mut diagonal);
    let weights = Weights { a, diagonal, halo };

    let partners = matched(&weights, rounds);
    let root = |row: usize| match partners[row] {
        NO_ROOT => NO_ROOT,
        partner => partner.min(halo.global_id(row)),
    };
    let mut taken = vec![NO_ROOT; local];
    parallel::over_pieces(&mut taken[owned.clone()], &|first, taken| {
        taken.iter_mut().zip(owned.start + first..).for_each(|(taken, row)| *taken = root(row));
    });
    halo.exchange(&mut taken);
    let join = |row: usize| match taken[row] {
        NO_ROOT => match weights.strongest(row, false, |column| taken[column] != NO_ROOT) {
            Some(neighbour) => taken[neighbour as usize],
            None if weights.strongest(row, false, |_| true).is_some() => halo.global_id(row),
            None => NO_ROOT,
        },
        root => root,
    };
    let mut roots = vec![NO_ROOT; local];
    parallel::over_pieces(&mut roots[owned.clone()], &|first, roots| {
        roots.iter_mut().zip(owned.start + first..).for_each(|(root, row)| *root = join(row));
    });
    halo.exchange(&mut roots);
    Ok(Aggregates::from_roots(&roots, halo))
}

/// Aggregates of about 2^`passes` rows of a matrix held by one process: [`pairwise`], then pairs of
/// pairs.
///
/// ```
/// use ziggurat_amg::coarsen::{MATCHING_ROUNDS, pairwise_passes};
/// use ziggurat_sparse::gallery::Problem;
/// let a = "poisson2d:8".parse::<Problem>()?.matrix()?;
/// let bricks = pairwise_passes(a.view(), 2, MATCHING_ROUNDS)?;
/// assert!(bricks.sizes().iter().all(|&size| size == 4));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Returns an error if the matrix is not square.
pub fn pairwise_passes(a: CsrRef<'_, f64>, passes: usize, rounds: usize) -> Result<Aggregates, MatrixError> {
    let mut aggregates = pairwise(a, rounds, &Whole::new(a.rows()))?;
    let mut coarse: Option<Csr<f64>> = None;
    let mut last = aggregates.clone();
    for _ in 1..passes {
        let matrix = sum_by_aggregate(coarse.as_ref().map_or(a, Csr::view), &last)?;
        last = pairwise(matrix.view(), rounds, &Whole::new(matrix.rows()))?;
        aggregates = aggregates.joined_by(&last);
        coarse = Some(matrix);
    }
    Ok(aggregates)
}

/// Pᵀ A P, where P is 1 where a row belongs to an aggregate.
pub(crate) fn sum_by_aggregate(a: CsrRef<'_, f64>, aggregates: &Aggregates) -> Result<Csr<f64>, MatrixError> {
    let p = Csr::build(
        a.all_rows(),
        aggregates.count(),
        || (),
        |(), row| usize::from(aggregates.get(row).is_some()),
        |(), row, columns, values| {
            columns.fill(aggregates.of()[row]);
            values.fill(1.0);
        },
    )?;
    let r = transpose(p.view(), p.all_rows());
    triple_product(r.view(), r.all_rows(), a, p.view())
}

/// The weights of connections.
struct Weights<'a, H> {
    a: CsrRef<'a, f64>,
    /// |a_ii| of every local row.
    diagonal: Vec<f64>,
    halo: &'a H,
}

impl<H: Halo> Weights<'_, H> {
    /// The neighbour of largest weight among the allowed ones. With `both_sides`, the neighbour
    /// must also have an entry for this row. An entry of weight zero is not a connection.
    #[inline]
    fn strongest(&self, row: usize, both_sides: bool, allowed: impl Fn(usize) -> bool) -> Option<u32> {
        let (columns, values) = self.a.row(row);
        let id = self.halo.global_id(row);
        let mut best = (0.0, u64::MAX, None);
        for (&column, &value) in columns.iter().zip(values) {
            let other = column as usize;
            if other == row || !allowed(other) {
                continue;
            }
            let back = match self.a.get(other, row) {
                None if both_sides => continue,
                back => back.unwrap_or(0.0),
            };
            let weight = 0.5 * (value.abs() + back.abs()) / self.diagonal[row].max(self.diagonal[other]);
            let tie = id ^ self.halo.global_id(other);
            if weight > best.0 || (weight == best.0 && tie < best.1 && best.2.is_some()) {
                best = (weight, tie, Some(column));
            }
        }
        best.2
    }
}

/// The global id of the partner of every local row; [`NO_ROOT`] for rows without one.
fn matched<H: Halo>(weights: &Weights<'_, H>, rounds: usize) -> Vec<u64> {
    let (halo, owned, local) = (weights.halo, weights.halo.owned(), weights.halo.local());
    let mut partners = vec![NO_ROOT; local];
    let mut choices = vec![NO_ROOT; local];
    // Unmatched rows, each with the neighbour it chooses.
    let all = |rows: Range<usize>| rows.map(|row| (row as u32, u32::MAX)).collect::<Vec<_>>();
    let mut open = parallel::map_pieces(owned.clone(), CHUNK, &all);
    let place = |row: u32| (row as usize - owned.start) % CHUNK;
    for _ in 0..rounds {
        parallel::over_two(&mut choices[owned.clone()], &mut open, [CHUNK, 1], &|_, choices, open| {
            open[0].retain_mut(|(row, choice)| {
                let found = weights.strongest(*row as usize, true, |column| partners[column] == NO_ROOT);
                *choice = found.unwrap_or(u32::MAX);
                choices[place(*row)] = found.map_or(NO_ROOT, |row| halo.global_id(row as usize));
                found.is_some()
            });
        });
        halo.exchange(&mut choices);
        let left = |open: &[Vec<_>]| open.iter().map(Vec::len).sum::<usize>();
        let before = left(&open);
        parallel::over_two(&mut partners[owned.clone()], &mut open, [CHUNK, 1], &|_, partners, open| {
            open[0].retain(|&(row, choice)| {
                let mutual = choices[choice as usize] == halo.global_id(row as usize);
                if mutual {
                    partners[place(row)] = choices[row as usize];
                }
                !mutual
            });
        });
        halo.exchange(&mut partners);
        if !halo.any(left(&open) < before) {
            break;
        }
    }
    partners
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::strength::StrongGraph;
    use crate::testing::{on_ranks, on_threads, problem};
    use proptest::prelude::*;

    /// A nonsymmetric matrix with few distinct values, so that ties are frequent.
    fn arbitrary() -> impl Strategy<Value = Csr<f64>> {
        (1..20usize).prop_flat_map(|rows| {
            let entry = (0..rows, 0..rows, 1..4u32);
            prop::collection::vec(entry, 0..60).prop_map(move |entries| {
                let mut dense = vec![vec![0.0; rows]; rows];
                for (row, column, value) in entries {
                    dense[row][column] = -f64::from(value);
                }
                (0..rows).for_each(|row| dense[row][row] = 8.0);
                let (mut row_ptr, mut columns, mut values) = (vec![0], vec![], vec![]);
                for row in &dense {
                    for (column, &value) in row.iter().enumerate().filter(|(_, value)| **value != 0.0) {
                        columns.push(column as u32);
                        values.push(value);
                    }
                    row_ptr.push(columns.len());
                }
                Csr::try_new(rows, rows, row_ptr, columns, values).unwrap()
            })
        })
    }

    fn weights<'a>(a: &'a Csr<f64>, halo: &'a Whole) -> Weights<'a, Whole> {
        Weights { a: a.view(), diagonal: a.view().diagonal(a.all_rows()), halo }
    }

    proptest! {
        #[test]
        fn partners_are_neighbours_and_mutual_and_no_two_are_left(a in arbitrary()) {
            let halo = Whole::new(a.rows());
            let weights = weights(&a, &halo);
            let partners = matched(&weights, usize::MAX);
            for (row, &partner) in partners.iter().enumerate() {
                if partner == NO_ROOT {
                    // No possible partner: every neighbour that this row could be paired with has
                    // one.
                    prop_assert_eq!(weights.strongest(row, true, |other| partners[other] == NO_ROOT), None);
                } else {
                    let partner = partner as usize;
                    prop_assert_eq!(partners[partner], row as u64);
                    prop_assert!(a.get(row, partner).is_some() && a.get(partner, row).is_some());
                }
            }
        }

        #[test]
        fn every_row_with_a_connection_is_in_an_aggregate(a in arbitrary(), rounds in 0..4usize) {
            let aggregates = pairwise(a.view(), rounds, &Whole::new(a.rows())).unwrap();
            for row in 0..a.rows() {
                prop_assert_eq!(aggregates.get(row).is_some(), a.row(row).0.len() > 1, "row {}", row);
            }
        }
    }

    #[test]
    fn the_strongest_neighbour_is_relative_to_both_diagonals() {
        // Row 0 has -2 for row 1, whose diagonal is large, and -1 for row 2, whose diagonal is
        // small.
        let a = Csr::try_new(
            3,
            3,
            vec![0, 3, 5, 7],
            vec![0, 1, 2, 0, 1, 0, 2],
            vec![4.0, -2.0, -1.0, -2.0, 20.0, -1.0, 4.0],
        )
        .unwrap();
        let halo = Whole::new(3);
        let mut weights = weights(&a, &halo);
        assert_eq!(weights.strongest(0, true, |_| true), Some(2));
        weights.diagonal[1] = 4.0;
        assert_eq!(weights.strongest(0, true, |_| true), Some(1));
        assert_eq!(weights.strongest(0, true, |column| column != 1), Some(2));
        assert_eq!(weights.strongest(0, true, |_| false), None);
    }

    #[test]
    fn regular_numberings_give_bricks() {
        let a = problem("poisson3d:16");
        let pairs = pairwise(a.view(), 1, &Whole::new(a.rows())).unwrap();
        assert!(pairs.of().iter().enumerate().all(|(row, &pair)| pair as usize == row / 2));
        for (passes, size) in [(2, 4), (3, 8)] {
            let bricks = pairwise_passes(a.view(), passes, MATCHING_ROUNDS).unwrap();
            assert!(bricks.sizes().iter().all(|&rows| rows == size), "{passes} passes");
        }
        // If the grid size is not a power of two, this holds approximately.
        let a = problem("poisson3d:15");
        let bricks = pairwise_passes(a.view(), 3, MATCHING_ROUNDS).unwrap();
        let average = a.rows() as f64 / bricks.count() as f64;
        assert!((7.0..11.0).contains(&average), "{average}");
    }

    #[test]
    fn pairs_follow_the_strong_direction() {
        // z is a hundred times weaker: after two passes no aggregate spans two planes.
        let n = 10;
        let a = problem("anisotropic3d:10");
        let quads = pairwise_passes(a.view(), 2, MATCHING_ROUNDS).unwrap();
        let (starts, members) = quads.members();
        for rows in starts.windows(2).map(|pair| &members[pair[0]..pair[1]]) {
            assert!(rows.iter().all(|row| row / (n * n) == rows[0] / (n * n)));
        }
    }

    #[test]
    fn edges() {
        let empty = Csr::<f64>::identity(0).unwrap();
        assert_eq!(pairwise_passes(empty.view(), 3, 15).unwrap().count(), 0);
        // A diagonal matrix: every row is left out, in every pass.
        let diagonal = Csr::<f64>::identity(3).unwrap();
        assert_eq!(pairwise_passes(diagonal.view(), 2, 15).unwrap().of(), [Aggregates::NONE; 3]);
        // No rounds: every row is its own aggregate.
        let a = problem("poisson2d:3");
        assert_eq!(pairwise(a.view(), 0, &Whole::new(9)).unwrap().count(), 9);
        assert!(pairwise(a.view(), 1, &Whole::new(8)).is_err());
    }

    #[test]
    fn same_aggregates_on_any_number_of_threads() {
        let a = problem("jump3d:30");
        let run = || pairwise_passes(a.view(), 2, MATCHING_ROUNDS).unwrap();
        assert_eq!(on_threads(1, run), on_threads(2, run));
    }

    #[test]
    fn same_aggregates_on_any_number_of_processes() {
        for name in ["jump3d:7", "convection3d:6"] {
            let a = problem(name);
            let n = a.rows();
            let whole = pairwise(a.view(), MATCHING_ROUNDS, &Whole::new(n)).unwrap();
            let expected: Vec<u64> =
                whole.of().iter().map(|&aggregate| whole.roots()[aggregate as usize]).collect();
            let graph = StrongGraph::try_new(n, a.row_ptr().to_vec(), a.columns().to_vec()).unwrap();
            let found = on_ranks(3, &graph, |local, halo| {
                // The same entries, in the local order of rows and columns.
                let value = |row: usize, column: u32| {
                    let (row, column) = (halo.global_id(row), halo.global_id(column as usize));
                    a.get(row as usize, column as usize).unwrap()
                };
                let values =
                    (0..n).flat_map(|row| local.row(row).iter().map(move |&column| value(row, column)));
                let (row_ptr, columns) = (local.row_ptr().to_vec(), local.columns().to_vec());
                let local = Csr::try_new(n, n, row_ptr, columns, values.collect()).unwrap();
                let aggregates = pairwise(local.view(), MATCHING_ROUNDS, halo).unwrap();
                let of = &aggregates.of()[halo.owned()];
                of.iter().map(|&aggregate| aggregates.roots()[aggregate as usize]).collect()
            });
            assert_eq!(found, expected, "{name}");
        }
    }
}

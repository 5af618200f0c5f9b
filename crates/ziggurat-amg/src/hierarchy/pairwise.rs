//! Plain aggregation of pairs (Notay, 2010): a coarse node is a pair of pairs of fine ones, and
//! interpolation is the near-kernel restricted to each aggregate. It costs little per level and
//! needs a K-cycle.

use serde::{Deserialize, Serialize};

use super::matrix::{Coarser, LevelMatrix};
use super::smoothed_aggregation::nodes;
use super::stages::Stages;
use crate::coarsen::{MATCHING_ROUNDS, NO_ROOT, pairwise, pairwise_passes};
use crate::halo::{Halo, Processes};
use crate::interpolate::{LocalTentative, NearKernel};
use crate::{OutOfRange, SetupError};

/// Plain aggregation: pairs of pairs by graph matching, with interpolation constant on each
/// aggregate. It needs K-cycles.
///
/// ```
/// use ziggurat_amg::Pairwise;
/// assert_eq!(Pairwise::default().passes, 2);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Pairwise {
    /// Pairing passes per level: a coarse row stands for at most 2^passes rows.
    pub passes: usize,
}

impl Default for Pairwise {
    fn default() -> Self {
        Pairwise { passes: 2 }
    }
}

/// The most passes: a coarse row then stands for 2³² rows, as many as a process can have.
const MAX_PASSES: usize = 32;

impl Pairwise {
    /// Checks that every parameter is in its range.
    ///
    /// # Errors
    /// The first that is not.
    pub fn check(&self) -> Result<(), OutOfRange> {
        OutOfRange::unless_in("passes", self.passes, 1..=MAX_PASSES)
    }

    /// One step from a level to the next. Reads the rows of neighbours.
    pub(super) fn coarser<M: LevelMatrix>(
        &self,
        a: &M,
        kernel: &NearKernel,
        stages: &mut Stages,
    ) -> Result<Coarser, SetupError> {
        let halo = a.nodes();
        let nodes = stages.run("coarsening", &a.rows(), || nodes(a, kernel))?;
        let tentative = if halo.is_whole() {
            let nodes = nodes.as_ref().map_or(a.view(), |nodes| nodes.view());
            let aggregates = stages
                .run("coarsening", &a.rows(), || pairwise_passes(nodes, self.passes, MATCHING_ROUNDS))?;
            let aggregates = match kernel.node_of_rows() {
                Some(ragged) => ragged.joined_by(&aggregates),
                None => aggregates,
            };
            stages.run("interpolation", &a.rows(), || LocalTentative::new(aggregates, kernel, &halo))?
        } else {
            let nodes = match nodes {
                Some(nodes) => a.of_nodes(&nodes)?,
                None => a.clone(),
            };
            let roots = self.roots(nodes, stages)?;
            stages.run("interpolation", &a.rows(), || LocalTentative::from_roots(&roots, kernel, &halo))?
        };
        let own = a.rows().owned();
        let p = stages.run("interpolation", &a.rows(), || {
            tentative.tentative.rows_of_matrix(&tentative.aggregates, own)
        })?;
        Ok(Coarser::by_aggregation(p, tentative, kernel.count(), None))
    }

    /// The root of each own node's aggregate, where pairs may span processes. Every pass but the
    /// last forms an intermediate matrix, whose rows stay with the owners of the pairs' roots.
    fn roots<M: LevelMatrix>(&self, nodes: M, stages: &mut Stages) -> Result<Vec<u64>, SetupError> {
        let count = nodes.rows().owned().len();
        let first = nodes.rows().number(count)?.0;
        // The row of the current matrix that each own node belongs to, and the node that each own
        // row represents.
        let mut rows: Vec<u64> = (first..first + count as u64).collect();
        let mut origins = rows.clone();
        let mut present = nodes;
        for _ in 1..self.passes {
            let found = pair(&present, &mut rows, &mut origins, stages)?;
            let next = present.rows().number(found.own_roots.len())?.0;
            let number = |id: u64| next + found.place(id) as u64;
            follow(&mut rows, |ids| present.rows().ask(ids, number));
            present = present.aggregated(&found.roots)?;
        }
        let found = pair(&present, &mut rows, &mut origins, stages)?;
        follow(&mut rows, |ids| present.rows().ask(ids, |id| origins[found.place(id)]));
        Ok(rows)
    }
}

/// The pairs of one pass.
struct Pairs {
    /// The root of each own row.
    roots: Vec<u64>,
    /// The own rows that are roots, in increasing order.
    own_roots: Vec<u64>,
}

impl Pairs {
    /// The position of an own root in `own_roots`.
    fn place(&self, root: u64) -> usize {
        self.own_roots.partition_point(|&other| other < root)
    }
}

/// Pairs the rows of `present`. Afterwards, `rows` holds the root of each own node's row, and
/// `origins` the node that each own root represents.
fn pair<M: LevelMatrix>(
    present: &M,
    rows: &mut [u64],
    origins: &mut Vec<u64>,
    stages: &mut Stages,
) -> Result<Pairs, SetupError> {
    let wide = &*present.extended(1)?;
    let pairs =
        stages.run("coarsening", &wide.rows(), || pairwise(wide.view(), MATCHING_ROUNDS, &wide.rows()))?;
    let (roots, halo) = (pairs.own_roots(&wide.rows()), present.rows());
    let begin = halo.number(roots.len())?.0;
    follow(rows, |ids| halo.ask(ids, |id| roots[(id - begin) as usize]));
    let is_root = |(row, root): &(u64, &u64)| row == *root;
    let own_roots: Vec<u64> = (begin..).zip(&roots).filter(is_root).map(|both| both.0).collect();
    *origins = own_roots.iter().map(|root| origins[(root - begin) as usize]).collect();
    Ok(Pairs { roots, own_roots })
}

/// Replaces every id by the answer of `ask`; `NO_ROOT` is kept.
fn follow(ids: &mut [u64], ask: impl FnOnce(&[u64]) -> Vec<u64>) {
    let mut asked: Vec<u64> = ids.iter().copied().filter(|&id| id != NO_ROOT).collect();
    asked.sort_unstable();
    asked.dedup();
    let answers = ask(&asked);
    for id in ids {
        *id = asked.binary_search(id).map_or(NO_ROOT, |at| answers[at]);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::coarsen::Aggregates;
    use crate::halo::Whole;
    use crate::hierarchy::WholeMatrix;
    use crate::testing::problem;

    #[test]
    fn distributed_and_local_passes_find_the_same_aggregates() {
        for (name, passes) in [("poisson2d:14", 1), ("poisson3d:9", 2), ("jump3d:10", 3)] {
            let a = problem(name);
            let expected = pairwise_passes(a.view(), passes, MATCHING_ROUNDS).unwrap();
            let rows = a.rows();
            let matrix = WholeMatrix::new(Arc::new(a), 1);
            let mut stages = Stages::new(0, matrix.global_rows(), &crate::Cancel::NEVER);
            let roots = Pairwise { passes }.roots(matrix, &mut stages).unwrap();
            assert_eq!(Aggregates::from_roots(&roots, &Whole::new(rows)).of(), expected.of(), "{name}");
        }
    }
}

//! Tentative interpolation of the local nodes of a process, where aggregates may span processes.
//!
//! The owner of the root of an aggregate collects the near-kernel rows of its members, decomposes
//! them as a single process would ([`tentative`]), and returns the resulting rows, and the rows of
//! the coarse near-kernel, to the owners of the members. Members are ordered by their ids, so the
//! result is bitwise identical. A single process needs no communication.
//!
//! Cost: two rounds of messages with the owners of nearby roots. Their size is proportional to the
//! number of members with a remote root. While they are sent, every node has a copy of the k × k
//! values of the coarse near-kernel of its aggregate.

use ziggurat_sparse::{Dense, parallel};

use super::near_kernel::NearKernel;
use super::tentative::{Tentative, tentative};
use crate::SetupError;
use crate::coarsen::{Aggregates, CoarseRows, NO_ROOT};
use crate::halo::{Message, Processes};

/// Members whose near-kernel one task gathers.
const MEMBERS: usize = 1024;

/// Tentative interpolation of local nodes.
#[derive(Clone, Debug)]
pub struct LocalTentative {
    /// The aggregates of the local nodes, in the order of `coarse.ids`.
    pub aggregates: Aggregates,
    /// Their tentative interpolation.
    pub tentative: Tentative,
    /// The unknowns of the next level.
    pub coarse: CoarseRows,
    /// The near-kernel and the dead unknowns of the owned coarse rows, if `tentative` does not
    /// contain them.
    own: Option<(NearKernel, Vec<u32>)>,
}

impl LocalTentative {
    /// Builds the tentative interpolation of aggregates that were grown over `halo`. `kernel` has
    /// the rows of the owned nodes. Collective.
    ///
    /// # Errors
    /// Returns an error if aggregates and near-kernel do not have the same nodes, or if the next
    /// level is too large.
    pub fn new<H: Processes>(
        aggregates: Aggregates,
        kernel: &NearKernel,
        halo: &H,
    ) -> Result<Self, SetupError> {
        if !halo.is_whole() {
            return Self::from_roots(&aggregates.own_roots(halo), kernel, halo);
        }
        let tentative = tentative(&aggregates, kernel)?;
        let coarse = CoarseRows::number(aggregates.count() * kernel.count(), halo)?;
        Ok(LocalTentative { aggregates, tentative, coarse, own: None })
    }

    /// Same as [`new`](Self::new), from the global id of the root of each owned node, [`NO_ROOT`]
    /// for nodes that are left out. Collective.
    ///
    /// # Errors
    /// See [`new`](Self::new).
    pub fn from_roots<H: Processes>(
        roots: &[u64],
        kernel: &NearKernel,
        halo: &H,
    ) -> Result<Self, SetupError> {
        let own = OwnTentative::decompose(roots, kernel, halo)?;
        own.with_halo(kernel, halo)
    }

    /// The near-kernel of the owned rows of the next level, and which of these rows are dead: their
    /// columns of P are zero.
    pub fn into_coarse_kernel(self) -> (NearKernel, Vec<u32>) {
        self.own.unwrap_or_else(|| {
            let dead = self.tentative.dead().to_vec();
            (self.tentative.into_coarse_kernel(), dead)
        })
    }
}

/// Tentative interpolation of the owned nodes.
struct OwnTentative {
    /// For each owned node, the first coarse row of its aggregate; [`NO_ROOT`] if it has none.
    first: Vec<u64>,
    /// For each owned node, block × k values.
    values: Vec<f64>,
    /// For each owned node, the k × k values of the coarse near-kernel of its aggregate.
    of_aggregate: Vec<f64>,
    coarse: CoarseRows,
    /// The near-kernel of the owned coarse rows, and which of them are dead.
    kernel: NearKernel,
    dead: Vec<u32>,
}

/// A node of an aggregate whose root this process owns.
#[derive(Clone, Copy)]
struct Member<'a> {
    node: u64,
    root: u64,
    /// Its near-kernel values, if another process sent them.
    sent: Option<&'a [u64]>,
}

impl OwnTentative {
    /// Decomposes the near-kernel by aggregates. `roots` has the root of each owned node.
    fn decompose<H: Processes>(roots: &[u64], kernel: &NearKernel, halo: &H) -> Result<Self, SetupError> {
        let (block, k) = (kernel.block(), kernel.count());
        let width = block * k;
        // Nodes are numbered in the order of processes.
        let first_node = halo.number(roots.len())?.0;
        let own_nodes = first_node..first_node + roots.len() as u64;
        let value = |node: usize, place: usize| kernel.vectors().column(place % k)[node * block + place / k];

        // Send members of remote aggregates to the owners of their roots.
        let remote_members = remote_members(roots, &own_nodes, halo);
        let mut messages: Vec<Message> = Vec::new();
        for group in remote_members.chunk_by(|x, y| x.0 == y.0) {
            let words = group.iter().flat_map(|&(_, node)| {
                let values = (0..width).map(move |place| value(node, place).to_bits());
                [roots[node], first_node + node as u64].into_iter().chain(values)
            });
            messages.push((group[0].0, words.collect()));
        }
        let received = halo.deliver(messages);

        // All members of owned aggregates, ordered by id: nodes of lower processes have lower ids,
        // nodes of higher processes have higher ids.
        let received_members = |lower: bool| {
            let from = received.iter().filter(move |(from, _)| (*from < halo.process()) == lower);
            let members = from.flat_map(|(_, words)| words.chunks_exact(2 + width));
            members.map(|words| Member { node: words[1], root: words[0], sent: Some(&words[2..]) })
        };
        let own_members = own_nodes.clone().zip(roots).filter(|(_, root)| own_nodes.contains(root));
        let own_members = own_members.map(|(node, &root)| Member { node, root, sent: None });
        let members: Vec<Member<'_>> =
            received_members(true).chain(own_members).chain(received_members(false)).collect();
        let is_root = |&(node, root): &(u64, &u64)| node == *root;
        let own_roots: Vec<u64> = own_nodes.clone().zip(roots).filter(is_root).map(|found| found.0).collect();
        // The number of owned roots up to each owned node, so that no root has to be searched for.
        let counts = own_nodes.clone().zip(roots).scan(0u32, |count, found| {
            *count += u32::from(is_root(&found));
            Some(*count)
        });
        let counts: Vec<u32> = counts.collect();
        let number = |root: u64| counts[(root - first_node) as usize] as usize - 1;
        let of = parallel::collect(members.len(), |place| number(members[place].root) as u32);
        let made = Dense::zeros(members.len() * block, k).map_err(SetupError::from).and_then(|vectors| {
            let vectors = gathered(vectors, &members, kernel, first_node);
            let kernel = NearKernel::part(vectors, block, kernel.is_constant())?;
            Ok(tentative(&numbered(own_roots.len(), of)?, &kernel)?)
        });
        let made = halo.agree(made)?;
        let coarse = CoarseRows::number(own_roots.len() * k, halo)?;

        // Return the results to the owners of the members.
        let coarse_row = |root: u64| coarse.first + (number(root) * k) as u64;
        let q = |place: usize| &made.values()[place * width..(place + 1) * width];
        // Row by row, as many as there are vectors.
        let r = |root: u64| {
            let first = number(root) * k;
            let rows = (0..k * k).map(move |at| (at % k, first + at / k));
            rows.map(|(column, row)| made.coarse_kernel().vectors().column(column)[row])
        };
        let answer = |(from, words): &Message| {
            let answers = words.chunks_exact(2 + width).flat_map(|member| {
                let place = members.partition_point(|other| other.node < member[1]);
                let values = q(place).iter().copied().chain(r(member[0]));
                [coarse_row(member[0])].into_iter().chain(values.map(f64::to_bits))
            });
            (*from, answers.collect())
        };
        let answers = halo.deliver(received.iter().map(answer).collect());
        let mut first = vec![NO_ROOT; roots.len()];
        let mut values = vec![0.0; roots.len() * width];
        let mut of_aggregate = vec![0.0; roots.len() * k * k];
        for (place, member) in members.iter().enumerate().filter(|(_, member)| member.sent.is_none()) {
            let node = (member.node - first_node) as usize;
            first[node] = coarse_row(member.root);
            values[node * width..(node + 1) * width].copy_from_slice(q(place));
            of_aggregate[node * k * k..].iter_mut().zip(r(member.root)).for_each(|(to, value)| *to = value);
        }
        let answers = answers.iter().flat_map(|(_, words)| words.chunks_exact(1 + width + k * k));
        for (&(_, node), answer) in remote_members.iter().zip(answers) {
            first[node] = answer[0];
            let values = values[node * width..(node + 1) * width].iter_mut();
            let values = values.chain(&mut of_aggregate[node * k * k..(node + 1) * k * k]);
            values.zip(&answer[1..]).for_each(|(value, &bits)| *value = f64::from_bits(bits));
        }
        let dead = made.dead().to_vec();
        let kernel = made.into_coarse_kernel();
        Ok(OwnTentative { first, values, of_aggregate, coarse, kernel, dead })
    }

    /// Extends the interpolation to all local nodes: the values come from the owners, and
    /// aggregates are numbered in the order of their coarse rows.
    fn with_halo<H: Processes>(self, kernel: &NearKernel, halo: &H) -> Result<LocalTentative, SetupError> {
        let (k, own) = (kernel.count(), halo.owned());
        let mut first = vec![NO_ROOT; halo.local()];
        first[own.clone()].copy_from_slice(&self.first);
        halo.exchange(&mut first);
        let of_all = |of_own: &[f64], width: usize| {
            let mut values = vec![0.0; halo.local() * width];
            values[own.start * width..own.end * width].copy_from_slice(of_own);
            halo.exchange_rows(&mut values, width);
            values
        };
        let values = of_all(&self.values, kernel.block() * k);
        let of_aggregate = of_all(&self.of_aggregate, k * k);
        // Owned aggregates have consecutive coarse rows; only the others have to be searched for.
        let own_rows = self.coarse.first..self.coarse.first + self.coarse.own as u64;
        let others = sorted(first.iter().copied().filter(|id| *id != NO_ROOT && !own_rows.contains(id)));
        let (below, above) = others.split_at(others.partition_point(|&id| id < own_rows.start));
        let owned = self.coarse.own / k;
        let number = |&id: &u64| {
            if own_rows.contains(&id) {
                return (below.len() + (id - own_rows.start) as usize / k) as u32;
            }
            let place = others.binary_search(&id).map(|at| at + if at < below.len() { 0 } else { owned });
            place.map_or(Aggregates::NONE, |at| at as u32)
        };
        let own_firsts = own_rows.clone().step_by(k);
        let firsts: Vec<u64> = below.iter().copied().chain(own_firsts).chain(above.iter().copied()).collect();
        let made = numbered(firsts.len(), first.iter().map(number).collect()).and_then(|aggregates| {
            let mut coarse = Dense::zeros(aggregates.count() * k, k)?;
            for column in 0..k {
                let to = coarse.column_mut(column);
                for (&aggregate, of_node) in aggregates.of().iter().zip(of_aggregate.chunks_exact(k * k)) {
                    if aggregate != Aggregates::NONE {
                        let to = to[aggregate as usize * k..].iter_mut();
                        to.zip(of_node.iter().skip(column).step_by(k)).for_each(|(to, value)| *to = *value);
                    }
                }
            }
            let coarse = NearKernel::coarse(coarse);
            Ok((Tentative::from_rows(&aggregates, kernel.block(), values, coarse)?, aggregates))
        });
        let (tentative, aggregates) = halo.agree(made)?;
        let ids = firsts.into_iter().flat_map(|first| first..first + k as u64).collect();
        let coarse = CoarseRows { ids, ..self.coarse };
        Ok(LocalTentative { aggregates, tentative, coarse, own: Some((self.kernel, self.dead)) })
    }
}

/// Owned nodes whose root another process owns: the process and the node, sorted by process.
fn remote_members<H: Processes>(roots: &[u64], own: &std::ops::Range<u64>, halo: &H) -> Vec<(usize, usize)> {
    let elsewhere = sorted(roots.iter().copied().filter(|root| *root != NO_ROOT && !own.contains(root)));
    let owners = halo.owners(&elsewhere);
    let owner = |root: &u64| elsewhere.binary_search(root).ok().map(|at| owners[at]);
    let sent = roots.iter().enumerate().filter_map(|(node, root)| Some((owner(root)?, node)));
    let mut sent: Vec<(usize, usize)> = sent.collect();
    sent.sort_unstable();
    sent
}

/// The near-kernel of the members, in their order.
fn gathered(
    mut vectors: Dense<f64>,
    members: &[Member<'_>],
    kernel: &NearKernel,
    first_node: u64,
) -> Dense<f64> {
    let (block, k) = (kernel.block(), kernel.count());
    for c in 0..k {
        let given = kernel.vectors().column(c);
        parallel::over_chunks(vectors.column_mut(c), MEMBERS * block, &|index, to| {
            for (to, member) in to.chunks_exact_mut(block).zip(&members[index * MEMBERS..]) {
                match member.sent {
                    None => {
                        let node = (member.node - first_node) as usize;
                        to.copy_from_slice(&given[node * block..][..block]);
                    }
                    Some(words) => {
                        let sent = words.iter().skip(c).step_by(k);
                        to.iter_mut().zip(sent).for_each(|(to, &bits)| *to = f64::from_bits(bits));
                    }
                }
            }
        });
    }
    vectors
}

/// Builds aggregates from numbers computed in this file; an error would be a bug in this file.
fn numbered(count: usize, of: Vec<u32>) -> Result<Aggregates, SetupError> {
    Aggregates::try_new(count, of).map_err(|error| SetupError::Distribution { reason: error.to_string() })
}

/// The ids in increasing order, without duplicates.
fn sorted(ids: impl Iterator<Item = u64>) -> Vec<u64> {
    let mut ids: Vec<u64> = ids.collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coarsen::mis2;
    use crate::halo::{Halo, Whole};
    use crate::testing::{on_ranks, problem, symmetric_graph};

    /// The tentative values of owned rows have the same bits on any number of processes.
    #[test]
    fn the_same_bits_on_any_number_of_processes() {
        let a = problem("poisson2d:24");
        let graph = symmetric_graph(&a);
        let values = |ranks: usize| {
            on_ranks(ranks, &graph, |graph, halo| {
                let owned = halo.owned();
                let kernel = (0..owned.len()).map(|row| 1.0 + ((owned.start + row) % 7) as f64).collect();
                let kernel = Dense::try_new(owned.len(), 1, kernel).unwrap();
                let kernel = NearKernel::part(kernel, 1, false).unwrap();
                let aggregates = mis2(graph, Some(a.view()), halo).unwrap();
                let made = LocalTentative::new(aggregates, &kernel, halo).unwrap();
                assert!(made.coarse.ids.windows(2).all(|pair| pair[0] < pair[1]));
                made.tentative.values()[owned].iter().map(|value| value.to_bits()).collect()
            })
        };
        let whole = {
            let kernel = (0..576).map(|row| 1.0 + (row % 7) as f64).collect();
            let kernel = NearKernel::part(Dense::try_new(576, 1, kernel).unwrap(), 1, false).unwrap();
            let halo = Whole::new(576);
            let aggregates = mis2(&graph, Some(a.view()), &halo).unwrap();
            let made = LocalTentative::new(aggregates, &kernel, &halo).unwrap();
            made.tentative.values().iter().map(|value| value.to_bits()).collect::<Vec<u64>>()
        };
        for ranks in [1, 2, 5] {
            assert_eq!(values(ranks), whole, "{ranks} processes");
        }
    }
}

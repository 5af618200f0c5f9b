//! Helpers shared by the tests of this crate.

use std::any::Any;
use std::ops::Range;
use std::sync::{Barrier, Mutex};

use bytemuck::Pod;
use proptest::prelude::*;
use ziggurat_sparse::gallery::{Problem, rigid_body_modes};
use ziggurat_sparse::{Csr, Dense};

use crate::SetupError;
use crate::coarsen::{Aggregates, mis2, node_matrix};
use crate::halo::{Halo, Message, Processes, Whole};
use crate::interpolate::{NearKernel, ProlongationSmoothing, Tentative, smoothed, tentative};
use crate::strength::{Filter, Strength, StrongGraph, strong_connections};

/// Runs `work` on a pool of `threads` threads.
pub(crate) fn on_threads<R: Send>(threads: usize, work: impl FnOnce() -> R + Send) -> R {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(work)
}

/// A model problem by name and size.
pub(crate) fn problem(name: &str) -> Csr<f64> {
    name.parse::<Problem>().unwrap().matrix().unwrap()
}

/// The strong connections of a matrix by the classical measure.
pub(crate) fn strong(a: &Csr<f64>) -> StrongGraph {
    strong_connections(a.view(), a.all_rows(), &Strength::classical(), &[], &Whole::new(a.rows())).unwrap()
}

/// The strong connections of a matrix by the symmetric measure.
pub(crate) fn symmetric_graph(a: &Csr<f64>) -> StrongGraph {
    let strength = Strength { filter: Filter::Threshold(0.02), ..Strength::symmetric() };
    strong_connections(a.view(), a.all_rows(), &strength, &[], &Whole::new(a.rows())).unwrap()
}

/// Elasticity and its rigid-body modes.
pub(crate) fn rigid_bodies(size: u32) -> (Csr<f64>, NearKernel) {
    let problem: Problem = format!("elasticity3d:{size}").parse().unwrap();
    let a = problem.matrix().unwrap();
    let modes = rigid_body_modes(&problem.coordinates().unwrap()).concat();
    let kernel = NearKernel::try_new(Dense::try_new(a.rows(), 6, modes).unwrap(), 3).unwrap();
    (a, kernel)
}

/// A level with its aggregates and tentative interpolation.
pub(crate) struct Level {
    pub(crate) a: Csr<f64>,
    pub(crate) nodes: Csr<f64>,
    pub(crate) kernel: NearKernel,
    pub(crate) aggregates: Aggregates,
    pub(crate) tentative: Tentative,
}

impl Level {
    fn new(a: Csr<f64>, kernel: NearKernel) -> Self {
        let nodes = node_matrix(a.view(), kernel.block(), 0..kernel.nodes()).unwrap();
        let graph = symmetric_graph(&nodes);
        let aggregates = mis2(&graph, Some(nodes.view()), &Whole::new(nodes.rows())).unwrap();
        let tentative = tentative(&aggregates, &kernel).unwrap();
        Level { a, nodes, kernel, aggregates, tentative }
    }

    /// A model problem with one unknown per node, and its constants.
    pub(crate) fn scalar(name: &str) -> Self {
        let a = problem(name);
        let kernel = NearKernel::constants(a.rows(), 1).unwrap();
        Level::new(a, kernel)
    }

    /// Elasticity and its rigid-body modes.
    pub(crate) fn elasticity(size: u32) -> Self {
        let (a, kernel) = rigid_bodies(size);
        Level::new(a, kernel)
    }

    /// Its smoothed interpolation.
    pub(crate) fn smoothed(&self, smoothing: ProlongationSmoothing) -> Csr<f64> {
        let (a, rows) = (self.a.view(), self.a.all_rows());
        smoothed(a, rows, self.nodes.view(), &self.aggregates, &self.tentative, &smoothing).unwrap()
    }
}

/// A x.
pub(crate) fn multiply(a: &Csr<f64>, x: &[f64]) -> Vec<f64> {
    let product = |row: usize| {
        let (columns, values) = a.row(row);
        columns.iter().zip(values).map(|(&column, value)| value * x[column as usize]).sum()
    };
    (0..a.rows()).map(product).collect()
}

/// A graph of a few rows, some of them without connections.
pub(crate) fn arbitrary_graph(symmetric: bool) -> impl Strategy<Value = StrongGraph> {
    (1..25u32).prop_flat_map(move |rows| {
        prop::collection::vec((0..rows, 0..rows), 0..60).prop_map(move |pairs| {
            let mut sets = vec![std::collections::BTreeSet::new(); rows as usize];
            for (i, j) in pairs.into_iter().filter(|(i, j)| i != j) {
                sets[i as usize].insert(j);
                if symmetric {
                    sets[j as usize].insert(i);
                }
            }
            let (mut row_ptr, mut columns) = (vec![0], vec![]);
            for set in sets {
                columns.extend(set);
                row_ptr.push(columns.len());
            }
            StrongGraph::try_new(rows as usize, row_ptr, columns).unwrap()
        })
    })
}

/// Threads in the role of processes: each owns a block of rows and has copies of all others.
pub(crate) struct Rank<'a> {
    board: &'a Board,
    rank: usize,
    /// First row of each rank, and the end.
    starts: &'a [usize],
}

/// Where ranks exchange messages.
pub(crate) struct Board {
    barrier: Barrier,
    messages: Vec<Mutex<Option<Box<dyn Any + Send>>>>,
}

impl Rank<'_> {
    /// Posts a message and reads the messages of all ranks.
    fn all_gather<M: Clone + Send + 'static>(&self, message: M) -> Vec<M> {
        *self.board.messages[self.rank].lock().unwrap() = Some(Box::new(message));
        self.board.barrier.wait();
        let read = |message: &Mutex<Option<Box<dyn Any + Send>>>| {
            message.lock().unwrap().as_ref().unwrap().downcast_ref::<M>().unwrap().clone()
        };
        let all = self.board.messages.iter().map(read).collect();
        self.board.barrier.wait();
        all
    }
}

impl Halo for Rank<'_> {
    fn owned(&self) -> Range<usize> {
        self.starts[self.rank]..self.starts[self.rank + 1]
    }

    fn local(&self) -> usize {
        self.starts[self.starts.len() - 1]
    }

    fn global_id(&self, local: usize) -> u64 {
        local as u64
    }

    fn exchange<T: Pod + Send + Sync>(&self, values: &mut [T]) {
        assert_eq!(values.len(), self.local());
        values.copy_from_slice(&self.all_gather(values[self.owned()].to_vec()).concat());
    }

    fn known_elsewhere(&self) -> Vec<usize> {
        self.owned().collect()
    }

    fn any(&self, flag: bool) -> bool {
        self.all_gather(flag).contains(&true)
    }

    fn sum(&self, counts: &mut [u64]) {
        let all = self.all_gather(counts.to_vec());
        for (place, count) in counts.iter_mut().enumerate() {
            *count = all.iter().fold(0, |sum, counts| counts[place].wrapping_add(sum));
        }
    }

    fn largest(&self, x: f64) -> f64 {
        self.all_gather(x).into_iter().fold(f64::NEG_INFINITY, f64::max)
    }
}

impl Processes for Rank<'_> {
    fn exchange_rows<T: Pod + Send + Sync>(&self, values: &mut [T], width: usize) {
        let owned = self.owned();
        let own = values[owned.start * width..owned.end * width].to_vec();
        values.copy_from_slice(&self.all_gather(own).concat());
    }

    fn number(&self, count: usize) -> Result<(u64, u64), SetupError> {
        let counts = self.all_gather(count as u64);
        Ok((counts[..self.rank].iter().sum(), counts.iter().sum()))
    }

    fn process(&self) -> usize {
        self.rank
    }

    fn owners(&self, ids: &[u64]) -> Vec<usize> {
        ids.iter().map(|&id| self.starts.partition_point(|&start| start as u64 <= id) - 1).collect()
    }

    fn deliver(&self, messages: Vec<Message>) -> Vec<Message> {
        let all = self.all_gather(messages);
        let from = |(from, messages): (usize, Vec<Message>)| {
            let own = messages.into_iter().find(|(to, _)| *to == self.rank);
            own.map(|(_, words)| (from, words))
        };
        all.into_iter().enumerate().filter_map(from).collect()
    }

    fn agree<T>(&self, result: Result<T, SetupError>) -> Result<T, SetupError> {
        let errors = self.all_gather(result.as_ref().err().map(ToString::to_string));
        match errors.into_iter().enumerate().find_map(|(rank, error)| Some((rank, error?))) {
            Some((rank, message)) => result.and(Err(SetupError::Elsewhere { rank, message })),
            None => result,
        }
    }
}

/// A range of rows, for steps that do not communicate.
pub(crate) struct Part {
    pub owned: Range<usize>,
    pub local: usize,
}

impl Halo for Part {
    fn owned(&self) -> Range<usize> {
        self.owned.clone()
    }

    fn local(&self) -> usize {
        self.local
    }

    fn global_id(&self, local: usize) -> u64 {
        local as u64
    }

    fn exchange<T: Pod + Send + Sync>(&self, _: &mut [T]) {}

    fn known_elsewhere(&self) -> Vec<usize> {
        Vec::new()
    }

    fn any(&self, flag: bool) -> bool {
        flag
    }

    fn sum(&self, _: &mut [u64]) {}

    fn largest(&self, x: f64) -> f64 {
        x
    }
}

impl Processes for Part {
    fn exchange_rows<T: Pod + Send + Sync>(&self, _: &mut [T], _: usize) {}

    fn number(&self, count: usize) -> Result<(u64, u64), SetupError> {
        Ok((0, count as u64))
    }

    fn process(&self) -> usize {
        0
    }

    fn owners(&self, ids: &[u64]) -> Vec<usize> {
        vec![0; ids.len()]
    }

    fn deliver(&self, messages: Vec<Message>) -> Vec<Message> {
        messages
    }

    fn agree<T>(&self, result: Result<T, SetupError>) -> Result<T, SetupError> {
        result
    }
}

/// Runs `work` on each rank; returns the concatenated results, in the order of rows.
pub(crate) fn on_ranks<T: Send>(
    ranks: usize,
    graph: &StrongGraph,
    work: impl Fn(&StrongGraph, &Rank<'_>) -> Vec<T> + Sync,
) -> Vec<T> {
    let starts: Vec<usize> = (0..=ranks).map(|rank| rank * graph.rows() / ranks).collect();
    let board =
        Board { barrier: Barrier::new(ranks), messages: (0..ranks).map(|_| Mutex::new(None)).collect() };
    let run = |rank: usize| work(graph, &Rank { board: &board, rank, starts: &starts });
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..ranks).map(|rank| scope.spawn(move || run(rank))).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    })
}

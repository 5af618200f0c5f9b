//! The steps of aggregation on a device: the same connections and aggregates, and values
//! within rounding.
//!
//! Off-diagonal entries are powers of two and diagonal entries powers of four, so that strengths
//! and votes are exact and every comparison has the same result on every device.

#![allow(clippy::expect_used)] // the suite runs in tests only

use proptest::prelude::*;

use super::bounds::{assert_close, content, wide};
use super::matrix_kernels::run;
use crate::device::{AggregationKernels, FilteredStep, Kernels, Reference, SetupKernels, SymmetricStrength};
use crate::hash::{hash_id, uniform};
use crate::matrix::{Coo, Csr};
use crate::number::Real;

/// A symmetric matrix.
#[derive(Clone, Debug)]
pub(super) struct Symmetric {
    pub(super) rows: usize,
    pub(super) per_row: usize,
    /// How far columns are from the diagonal.
    pub(super) reach: usize,
    pub(super) seed: u64,
}

/// Matrices of up to 700 rows, with isolated rows, local or scattered connections.
pub(super) fn matrices() -> impl Strategy<Value = Symmetric> {
    let rows = prop_oneof![Just(1usize), 2..40usize, 40..700usize];
    let reach = prop_oneof![Just(1usize), 2..30usize, Just(usize::MAX)];
    (rows, 0..7usize, reach, any::<u64>()).prop_map(|(rows, per_row, reach, seed)| Symmetric {
        rows,
        per_row,
        reach,
        seed,
    })
}

impl Symmetric {
    /// With a whole number of nodes.
    fn of_nodes(&self, block: usize) -> Self {
        Symmetric { rows: self.rows.next_multiple_of(block), ..self.clone() }
    }

    pub(super) fn matrix<C: Real>(&self) -> Csr<C> {
        let mut all = Coo::new(self.rows, self.rows).expect("a small matrix");
        let mut there = std::collections::HashSet::new();
        let mut push = |row: usize, column: usize, value: f64| {
            // Sums of entries would not be powers of two.
            if there.insert((row, column)) {
                all.push(row, column, C::narrow(value)).expect("an entry");
            }
        };
        for row in 0..self.rows {
            let random = |k: usize| hash_id(self.seed ^ (row * 16 + k) as u64) as usize;
            push(row, row, [1.0, 4.0, 16.0][random(15) % 3]);
            // Every eighth row has no entries of its own.
            for k in (0..self.per_row).filter(|_| random(14) % 8 > 0) {
                let window = self.reach.min(self.rows);
                let column = (row + 1 + random(k) % window) % self.rows;
                let size = 0.5_f64.powi((random(k) / 1024 % 12) as i32);
                if column != row {
                    let value = if random(k) / 64 % 4 == 0 { size } else { -size };
                    push(row, column, value);
                    push(column, row, value);
                }
            }
        }
        all.into_csr()
    }
}

pub(super) fn on_device<K: SetupKernels, C: Real>(device: &K, a: &Csr<C>) -> K::Sparse<C> {
    device.upload_sparse(a).expect("an upload")
}

pub(super) fn on_host<K: SetupKernels, C: Real>(device: &K, a: &K::Sparse<C>) -> Csr<C> {
    device.download_sparse(a).expect("a download")
}

/// The strong connections of a matrix on the reference device. A small threshold connects most
/// rows, a large one leaves rows alone that have many weak connections.
fn strong<C: Real>(a: &Csr<C>, threshold: f64) -> Csr<C> {
    let strength = SymmetricStrength { threshold, most: None, sampled: false };
    Reference.strong_connections(a, &strength).expect("strong connections")
}

/// 1/√a_ii and the Gershgorin bound.
///
/// # Panics
/// If the device disagrees with [`Reference`].
pub fn diagonal_scales<K: AggregationKernels, C: Real>(device: &K) {
    run(device, matrices(), |input| {
        let a = input.matrix::<C>();
        let (scales, bound) = device.diagonal_scales(&on_device(device, &a)).expect("scales");
        let (expected, expected_bound) = Reference.diagonal_scales(&a).expect("scales");
        let expected = wide(&content(&Reference, &expected), |x| x);
        assert_close("diagonal_scales", &content(device, &scales), &expected, &expected, |_| 8);
        let terms = 4 * a.rows() + 16;
        let bounds = ([C::narrow(bound)], [expected_bound]);
        assert_close("the bound", &bounds.0, &bounds.1, &bounds.1, |_| terms);
    });
}

/// Strong connections by a threshold and by their number.
///
/// # Panics
/// If the device disagrees with [`Reference`].
pub fn strong_connections<K: AggregationKernels, C: Real>(device: &K) {
    let mosts =
        prop_oneof![Just(None), Just(Some(0.001)), (0..40u32).prop_map(|k| Some(f64::from(k) / 8.0 + 0.1))];
    let thresholds = prop_oneof![Just(0.0), Just(1.0), (1..14i32).prop_map(|k| 0.5_f64.powi(k))];
    run(device, (matrices(), thresholds, mosts), |(input, threshold, most)| {
        let strength = SymmetricStrength { threshold, most, sampled: false };
        check_strong::<K, C>(device, &input.matrix(), &strength);
    });
    // Only of a large matrix, some rows count. Their connections all differ, so that others would
    // give another threshold.
    let large = Symmetric { rows: 70_000, per_row: 3, reach: 300, seed: 7 };
    let mut a = large.matrix::<C>();
    let (row_ptr, columns) = (a.row_ptr().to_vec(), a.columns().to_vec());
    let values = a.values_mut();
    for row in 0..large.rows {
        for k in row_ptr[row]..row_ptr[row + 1] {
            let (low, high) = (row.min(columns[k] as usize), row.max(columns[k] as usize));
            if low < high {
                values[k] = C::narrow(-uniform((low * large.rows + high) as u64));
            }
        }
    }
    for sampled in [true, false] {
        let strength = SymmetricStrength { threshold: 0.0, most: Some(2.0), sampled };
        check_strong::<K, C>(device, &a, &strength);
    }
}

fn check_strong<K: AggregationKernels, C: Real>(device: &K, a: &Csr<C>, strength: &SymmetricStrength) {
    let found = device.strong_connections(&on_device(device, a), strength).expect("connections");
    let expected = Reference.strong_connections(a, strength).expect("connections");
    assert_eq!(on_host(device, &found), expected, "strong_connections");
}

/// MIS-2 aggregates.
///
/// # Panics
/// If the device disagrees with [`Reference`].
pub fn aggregates<K: AggregationKernels, C: Real>(device: &K) {
    run(device, (matrices(), prop_oneof![Just(0.02), Just(0.6)]), |(input, threshold)| {
        let a = input.matrix::<C>();
        let strong = strong(&a, threshold);
        let found = device.aggregates(&on_device(device, &strong), &on_device(device, &a));
        let expected = Reference.aggregates(&strong, &a).expect("aggregates");
        assert_eq!(on_host(device, &found.expect("aggregates")), expected, "aggregates");
    });
}

/// Pairs, also of a matrix that is not symmetric: without some of its entries.
///
/// # Panics
/// If the device disagrees with [`Reference`].
pub fn pairs<K: AggregationKernels, C: Real>(device: &K) {
    run(device, (matrices(), any::<bool>(), 0..5usize), |(input, symmetric, rounds)| {
        let mut a = input.matrix::<C>();
        if !symmetric {
            let mut some = Coo::new(a.rows(), a.cols()).expect("a small matrix");
            for row in 0..a.rows() {
                for (&column, &value) in a.row(row).0.iter().zip(a.row(row).1) {
                    if row == column as usize || uniform((row * 700 + column as usize) as u64) > 0.25 {
                        some.push(row, column as usize, value).expect("an entry");
                    }
                }
            }
            a = some.into_csr();
        }
        let found = device.pairs(&on_device(device, &a), rounds).expect("pairs");
        assert_eq!(on_host(device, &found), Reference.pairs(&a, rounds).expect("pairs"), "pairs");
    });
}

/// Norms of blocks.
///
/// # Panics
/// If the device disagrees with [`Reference`].
pub fn node_matrix<K: AggregationKernels, C: Real>(device: &K) {
    run(device, (matrices(), 1..5usize), |(input, block)| {
        let a = input.of_nodes(block).matrix::<C>();
        let found = device.node_matrix(&on_device(device, &a), block).expect("a matrix of nodes");
        let (found, expected) =
            (on_host(device, &found), Reference.node_matrix(&a, block).expect("a matrix of nodes"));
        let patterns = [&found, &expected].map(|nodes| (nodes.rows(), nodes.row_ptr(), nodes.columns()));
        assert_eq!(patterns[0], patterns[1], "node_matrix");
        let expected = wide(expected.values(), |x| x);
        assert_close("node_matrix", found.values(), &expected, &expected, |_| 2 * block * block + 8);
    });
}

/// Tentative interpolation and the coarse near-kernel: P Bc = B and Pᵀ P = 1 up to dead unknowns,
/// and upper triangular blocks of Bc with a positive diagonal. There is one such decomposition.
///
/// # Panics
/// If the device has another one, or another pattern or other dead unknowns than [`Reference`].
pub fn tentative<K: AggregationKernels, C: Real>(device: &K) {
    run(device, (matrices(), 1..4usize, 1..5usize), |(input, block, count)| {
        let a = input.matrix::<C>();
        let aggregates = Reference.aggregates(&strong(&a, 0.02), &a).expect("aggregates");
        // Whole numbers, so that vectors depend on others exactly or by far not.
        let element = |place: usize| C::narrow((hash_id(input.seed ^ place as u64) % 17) as f64 - 6.0);
        let kernel: Vec<C> = (0..a.rows() * block * count).map(element).collect();
        let upload = device.upload(&kernel).expect("an upload");
        let made = device.tentative(&on_device(device, &aggregates), &upload, count);
        let (p, coarse) = made.expect("tentative");
        let (p, coarse) = (on_host(device, &p), content(device, &coarse));
        let there = Reference.tentative(&aggregates, &Reference.upload(&kernel).expect("an upload"), count);
        let (expected, expected_coarse) = there.expect("tentative");
        assert_eq!((p.row_ptr(), p.columns()), (expected.row_ptr(), expected.columns()), "tentative");
        let expected_coarse = content(&Reference, &expected_coarse);
        let entry = |row: usize, c: usize| p.row(row).1[c].wide();
        for (of, r) in coarse.chunks(count * count).enumerate() {
            let nodes = (0..a.rows()).filter(|&node| aggregates.row(node).0 == [of as u32]);
            let rows: Vec<usize> = nodes.flat_map(|node| node * block..(node + 1) * block).collect();
            let terms = |_| 8 * rows.len() + 64;
            for c in 0..count {
                let size = |&row: &usize| kernel[row * count + c].wide().powi(2);
                let length = rows.iter().map(size).sum::<f64>().sqrt();
                let dead = r[c * count + c] == C::zero();
                assert_eq!(dead, expected_coarse[(of * count + c) * count + c] == C::zero(), "dead unknowns");
                assert!(r[c * count + c] >= C::zero(), "the diagonal of R");
                assert!(
                    (c + 1..count).all(|below| r[below * count + c] == C::zero()),
                    "R below the diagonal"
                );
                let product = |&row: &usize| {
                    C::narrow((0..=c).map(|k| entry(row, k) * r[k * count + c].wide()).sum::<f64>())
                };
                let of_kernel: Vec<f64> = rows.iter().map(|&row| kernel[row * count + c].wide()).collect();
                let (found, sizes) = (rows.iter().map(product).collect::<Vec<_>>(), vec![length; rows.len()]);
                assert_close("P Bc", &found, &of_kernel, &sizes, terms);
                let dot = |k: usize| C::narrow(rows.iter().map(|&row| entry(row, k) * entry(row, c)).sum());
                let identity = |k: usize| f64::from(u8::from(k == c && !dead));
                let (found, expected): (Vec<C>, Vec<f64>) = (0..=c).map(|k| (dot(k), identity(k))).unzip();
                assert_close("Pᵀ P", &found, &expected, &vec![1.0; c + 1], terms);
            }
        }
    });
}

/// The diagonal of dead unknowns.
///
/// # Panics
/// If the device disagrees with [`Reference`].
pub fn set_dead_diagonal<K: AggregationKernels, C: Real>(device: &K) {
    run(device, (matrices(), 1..5usize, 0..3u64), |(input, count, dead)| {
        let a = input.of_nodes(count).matrix::<C>();
        // Of every four elements, `dead` are zero.
        let element =
            |place: usize| C::narrow((hash_id(input.seed ^ place as u64) % 4).saturating_sub(dead) as f64);
        let kernel: Vec<C> = (0..a.rows() * count).map(element).collect();
        let upload = device.upload(&kernel).expect("an upload");
        let (mut found, mut expected) = (on_device(device, &a), a);
        let list = device.set_dead_diagonal(&mut found, &upload, count).expect("a diagonal");
        let kernel = Reference.upload(&kernel).expect("an upload");
        let there = Reference.set_dead_diagonal(&mut expected, &kernel, count).expect("a diagonal");
        assert_eq!(list, there, "dead unknowns");
        assert_eq!(on_host(device, &found), expected, "set_dead_diagonal");
    });
}

/// 1 − ω D⁻¹ A_F
///
/// # Panics
/// If the device disagrees with [`Reference`].
pub fn smoothing_matrix<K: AggregationKernels, C: Real>(device: &K) {
    let filters = prop_oneof![Just(0.0), Just(1.0), (1..10i32).prop_map(|k| 0.5_f64.powi(k))];
    run(device, (matrices(), 1..4usize, filters), |(input, block, filter)| {
        let a = input.of_nodes(block).matrix::<C>();
        let nodes = match block {
            1 => a.clone(),
            block => Reference.node_matrix(&a, block).expect("a matrix of nodes"),
        };
        let step = FilteredStep { filter, damping: 1.25, radius: 2.0 };
        let (there, nodes_there) = (on_device(device, &a), on_device(device, &nodes));
        let found = device.smoothing_matrix(&there, &nodes_there, &step).expect("a step");
        let (found, expected) =
            (on_host(device, &found), Reference.smoothing_matrix(&a, &nodes, &step).expect("a step"));
        let patterns = [&found, &expected].map(|matrix| (matrix.row_ptr(), matrix.columns()));
        assert_eq!(patterns[0], patterns[1], "smoothing_matrix");
        // Of the diagonal, one minus a fraction is left.
        let sizes = wide(expected.values(), |x| x.abs() + 2.0);
        let terms = |_| 2 * a.rows() + 16;
        assert_close("smoothing_matrix", found.values(), &wide(expected.values(), |x| x), &sizes, terms);
    });
}

//! The steps of classical coarsening on a device: the same connections, coarse rows and patterns,
//! and values within rounding.
//!
//! Off-diagonal entries are powers of two, so that strengths and row sums are exact and every
//! comparison has the same result on every device. Rows whose result depends on the order of a sum
//! that cancels are left out, and truncation is compared with a truncation of the device's own
//! weights.

#![allow(clippy::expect_used)] // the suite runs in tests only

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::aggregation_kernels::{self, Symmetric, on_device, on_host};
use super::bounds::{assert_close, wide};
use super::matrix_kernels::run;
use crate::algebra::{RowTruncation, Truncation};
use crate::device::setup::Collapsed;
use crate::device::{ClassicalKernels, ClassicalStrength, Reference, SetupKernels};
use crate::hash::hash_id;
use crate::matrix::{Coo, Csr};
use crate::number::Real;

/// If a sum is smaller than this fraction of its terms, its value is not compared.
const CANCELS: f64 = 1.0 / 1024.0;

/// A matrix whose diagonal has a few negative entries and a few zeros.
#[derive(Clone, Debug)]
struct Input {
    of: Symmetric,
    /// Otherwise, some entries are missing or larger than the opposite one.
    symmetric: bool,
    /// Whether row 0 is connected to all others.
    hub: bool,
}

fn matrices() -> impl Strategy<Value = Input> {
    let hub = prop_oneof![3 => Just(false), 1 => Just(true)];
    (aggregation_kernels::matrices(), any::<bool>(), hub).prop_map(|(of, symmetric, hub)| Input {
        of,
        symmetric,
        hub,
    })
}

/// A matrix from its entries.
fn from_entries<C: Real>(
    rows: usize,
    cols: usize,
    entries: impl Iterator<Item = (usize, usize, f64)>,
) -> Csr<C> {
    let mut all = Coo::new(rows, cols).expect("a small matrix");
    for (row, column, value) in entries {
        all.push(row, column, C::narrow(value)).expect("an entry");
    }
    all.into_csr()
}

impl Input {
    fn random(&self, index: usize) -> u64 {
        hash_id(hash_id(self.of.seed) ^ index as u64)
    }

    fn matrix<C: Real>(&self) -> Csr<C> {
        let a = self.of.matrix::<f64>();
        let n = a.rows();
        let entries = (0..n).flat_map(|row| {
            let (columns, values) = a.row(row);
            columns.iter().zip(values).map(move |(&column, &value)| (row, column as usize, value))
        });
        let of_hub = |row: usize, column: usize| self.hub && row.min(column) == 0 && row != column;
        let entries = entries.filter(|&(row, column, _)| !of_hub(row, column));
        let hub = (1..n).filter(|_| self.hub).flat_map(|row| [(0, row, -1.0), (row, 0, -1.0)]);
        let changed = entries.chain(hub).filter_map(|(row, column, value)| {
            let factor = match (row == column, self.random(row * n + column) % 16) {
                (true, 0) => Some(0.0),
                (true, 1) => Some(-1.0),
                (false, 0..4) if !self.symmetric => None,
                (false, 4..8) if !self.symmetric => Some(4.0),
                _ => Some(1.0),
            };
            Some((row, column, factor? * value))
        });
        from_entries(n, n, changed)
    }

    /// A number for every row, in the order of the rows, as of the coarse rows of a first pass.
    fn numbers<C: Real>(&self) -> Csr<C> {
        let number = |row: usize| 3 * row + self.random(row) as usize % 3;
        let rows = self.of.rows;
        from_entries(rows, 3 * rows, (0..rows).map(|row| (row, number(row), 1.0)))
    }

    /// Every fourth row or so, but not row 0.
    fn some_rows<C: Real>(&self) -> Csr<C> {
        let rows = (1..self.of.rows).filter(|row| self.random(!row).is_multiple_of(4)).enumerate();
        let rows: Vec<_> = rows.map(|(number, row)| (row, number, 1.0)).collect();
        from_entries(self.of.rows, rows.len(), rows.into_iter())
    }
}

/// The strong connections of a matrix on the reference device.
fn strong<C: Real>(a: &Csr<C>, threshold: f64) -> Csr<C> {
    let strength = ClassicalStrength { threshold, max_row_sum: None };
    Reference.dependences(a, &strength).expect("strong connections")
}

fn some_thresholds() -> impl Strategy<Value = f64> {
    prop_oneof![Just(0.5), Just(0.25), Just(0.0625)]
}

/// Strong connections by a threshold, with and without a bound on row sums.
///
/// # Panics
/// If the device disagrees with [`Reference`].
pub fn dependences<K: ClassicalKernels, C: Real>(device: &K) {
    let thresholds = prop_oneof![Just(0.0), Just(1.0), (1..14i32).prop_map(|k| 0.5_f64.powi(k))];
    let sums = prop_oneof![Just(None), Just(Some(0.125)), Just(Some(0.75)), Just(Some(1.0))];
    run(device, (matrices(), thresholds, sums), |(input, threshold, max_row_sum)| {
        let a = input.matrix::<C>();
        let strength = ClassicalStrength { threshold, max_row_sum };
        let found = device.dependences(&on_device(device, &a), &strength).expect("connections");
        let expected = Reference.dependences(&a, &strength).expect("connections");
        assert_eq!(on_host(device, &found), expected, "dependences");
    });
}

/// Coarse rows by PMIS, of small graphs and of one of many rows.
///
/// # Panics
/// If the device disagrees with [`Reference`].
pub fn coarse_rows<K: ClassicalKernels, C: Real>(device: &K) {
    run(device, (matrices(), some_thresholds(), any::<bool>()), |(input, threshold, again)| {
        let strong = strong(&input.matrix(), threshold);
        let numbers = again.then(|| input.numbers());
        check_coarse_rows::<K, C>(device, &strong, numbers.as_ref());
    });
    for (symmetric, reach) in [(true, 2), (false, 50), (false, usize::MAX)] {
        let of = Symmetric { rows: 6000, per_row: 3, reach, seed: 11 };
        let large = Input { of, symmetric, hub: false };
        check_coarse_rows::<K, C>(device, &strong(&large.matrix(), 0.0625), Some(&large.numbers()));
    }
}

fn check_coarse_rows<K: ClassicalKernels, C: Real>(device: &K, strong: &Csr<C>, again: Option<&Csr<C>>) {
    let numbers = again.map(|again| on_device(device, again));
    let found = device.coarse_rows(&on_device(device, strong), numbers.as_ref()).expect("coarse rows");
    let expected = Reference.coarse_rows(strong, again).expect("coarse rows");
    assert_eq!(on_host(device, &found), expected, "coarse_rows");
}

/// Strong paths between the coarse rows of PMIS, and between others.
///
/// # Panics
/// If the device disagrees with [`Reference`].
pub fn paths<K: ClassicalKernels, C: Real>(device: &K) {
    run(
        device,
        (matrices(), some_thresholds(), any::<bool>(), 1..4u32),
        |(input, threshold, pmis, least)| {
            let strong = strong(&input.matrix::<C>(), threshold);
            let coarse = match pmis {
                true => Reference.coarse_rows(&strong, None).expect("coarse rows"),
                false => input.some_rows(),
            };
            let (on, of) = (on_device(device, &strong), on_device(device, &coarse));
            let found = device.paths(&on, &of, least).expect("paths");
            let expected = Reference.paths(&strong, &coarse, least).expect("paths");
            assert_eq!(on_host(device, &found), expected, "paths");
        },
    );
}

/// From which rows to which extended+i interpolation is computed.
#[derive(Clone, Copy, Debug)]
enum Stage {
    /// From the coarse rows of PMIS to all rows.
    First,
    /// From the rows that a second pass keeps to the coarse rows of the first.
    Second,
    /// From some rows to all.
    Some,
}

/// The coarse rows, and the rows to interpolate to.
fn stage<C: Real>(stage: Stage, input: &Input, strong: &Csr<C>) -> (Csr<C>, Option<Csr<C>>) {
    let first = Reference.coarse_rows(strong, None).expect("coarse rows");
    match stage {
        Stage::First => (first, None),
        Stage::Second => {
            let paths = Reference.paths(strong, &first, 1).expect("paths");
            let numbers = Reference.transpose(&first).expect("numbers");
            let second = Reference.coarse_rows(&paths, Some(&numbers)).expect("coarse rows");
            (Reference.product_once(&first, &second).expect("a product"), Some(first))
        }
        Stage::Some => (input.some_rows(), None),
    }
}

fn truncations() -> impl Strategy<Value = Truncation> {
    let relative = prop_oneof![Just(0.0), Just(0.25), Just(0.5)];
    let most = prop_oneof![Just(None), (1..6usize).prop_map(Some), Just(Some(11))];
    let keep_row_sums = prop_oneof![3 => Just(true), 1 => Just(false)];
    (relative, most, keep_row_sums).prop_map(|(relative, max_entries, keep_row_sums)| Truncation {
        relative,
        max_entries,
        keep_row_sums,
    })
}

/// Extended+i interpolation, to all rows or to some.
///
/// # Panics
/// If the device disagrees with [`Reference`].
pub fn extended_i<K: ClassicalKernels, C: Real>(device: &K) {
    let stages = prop_oneof![Just(Stage::First), Just(Stage::Second), Just(Stage::Some)];
    let strategy = (matrices(), some_thresholds(), stages, truncations());
    run(device, strategy, |(input, threshold, of, truncation)| {
        let a = input.matrix::<C>();
        let strong = strong(&a, threshold);
        let (coarse, to) = stage(of, &input, &strong);
        let [da, ds, dc] = [&a, &strong, &coarse].map(|m| on_device(device, m));
        let dt = to.as_ref().map(|to| on_device(device, to));
        let weights = |truncation| {
            let found = device.extended_i(&da, &ds, &dc, dt.as_ref(), input.symmetric, truncation);
            on_host(device, &found.expect("weights"))
        };
        let whole = weights(Truncation::default());
        check_weights(&whole, [&a, &strong, &coarse], to.as_ref(), input.symmetric);
        check_truncated("extended_i", &weights(truncation), &whole, truncation, |_| false);
    });
}

/// Asserts that weights agree with the reference device in double precision.
fn check_weights<C: Real>(found: &Csr<C>, of: [&Csr<C>; 3], to: Option<&Csr<C>>, symmetric: bool) {
    let [a, strong, coarse] = of.map(|m| m.view().stored_as::<f64>());
    let to = to.map(|to| to.view().stored_as::<f64>());
    let all = Truncation::default();
    let expected = Reference.extended_i(&a, &strong, &coarse, to.as_ref(), symmetric, all).expect("weights");
    assert_eq!((found.rows(), found.cols()), (expected.rows(), expected.cols()), "extended_i: sizes");
    let length = |row: u32| a.row(row as usize).0.len();
    for row in 0..a.rows() {
        let (columns, weights) = expected.row(row);
        let mut condition = 1.0;
        if coarse.row(row).0.is_empty() {
            let of = Collapsed::new(&a, &strong, &coarse, symmetric, row);
            // Rounding decides whether it is zero. Without terms, it is.
            if of.diagonal.abs() < of.size * CANCELS {
                continue;
            }
            // Numerators and denominator are sums of entries and of fractions of entries.
            condition = a.row(row).1.iter().map(|value| value.abs()).sum::<f64>() / of.diagonal.abs();
        }
        assert_eq!(found.row(row).0, columns, "extended_i: columns of row {row}");
        let sizes = wide(weights, |weight| condition * (1.0 + weight.abs()));
        let longest = a.row(row).0.iter().map(|&column| length(column)).max().unwrap_or(0);
        let terms = 4 * (longest + length(row as u32)) + 64;
        assert_close("extended_i", found.row(row).1, weights, &sizes, |_| terms);
    }
}

/// Asserts that the rows of `found` are the rows of `whole`, truncated unless `is_whole`.
fn check_truncated<C: Real>(
    what: &str,
    found: &Csr<C>,
    whole: &Csr<C>,
    truncation: Truncation,
    is_whole: impl Fn(usize) -> bool,
) {
    let mut truncation_of_row = RowTruncation::new(truncation).expect("a valid truncation");
    assert_eq!((found.rows(), found.cols()), (whole.rows(), whole.cols()), "{what}: sizes");
    for row in 0..whole.rows() {
        let (mut columns, mut values) = (whole.row(row).0.to_vec(), whole.row(row).1.to_vec());
        if !is_whole(row) {
            let kept = truncation_of_row.apply(&mut columns, &mut values);
            columns.truncate(kept);
            values.truncate(kept);
        }
        assert_eq!(found.row(row).0, columns, "{what}: columns of row {row}, truncated");
        let kept = columns.iter().filter_map(|&column| whole.get(row, column as usize));
        let kept = wide(&kept.collect::<Vec<_>>(), |value| value);
        let sums = |values: &[f64]| (values.iter().sum::<f64>(), values.iter().map(|v| v.abs()).sum::<f64>());
        let (kept_sum, kept_size) = sums(&kept);
        let (sum, size) = sums(&wide(whole.row(row).1, |value| value));
        let is_scaled = truncation.keep_row_sums && kept.len() < whole.row(row).0.len();
        // The sum of zeros and of two opposite entries is zero in any order: they are not scaled.
        let is_zero = kept_sum == 0.0 && (kept.len() <= 2 || kept_size == 0.0);
        let condition = match is_scaled && !is_zero {
            true if kept_sum.abs() < kept_size * CANCELS => continue,
            true => (size + sum.abs() * kept_size / kept_sum.abs()) / kept_sum.abs(),
            false => 1.0,
        };
        let sizes = wide(&kept, |value| condition * value.abs());
        let terms = 4 * whole.row(row).0.len() + 16;
        assert_close(what, found.row(row).1, &wide(&values, |value| value), &sizes, |_| terms);
    }
}

/// Up to six entries in every row that is not left out. Their sums and the sums of their products
/// are exact.
fn weights(
    rows: usize,
    cols: usize,
    seed: u64,
    leave_out: impl Fn(usize) -> bool,
) -> impl Iterator<Item = (usize, usize, f64)> {
    let random = move |row: usize, k: usize| hash_id(hash_id(seed) ^ (row * 16 + k) as u64);
    (0..rows).filter(move |&row| !leave_out(row)).flat_map(move |row| {
        let columns = (0..random(row, 7) % 7).map(|k| random(row, k as usize) as usize % cols);
        let columns: BTreeSet<usize> = columns.collect();
        let value = move |k: usize| (random(row, 8 + k) % 13) as f64 / 8.0 - 0.5;
        columns.into_iter().enumerate().map(move |(k, column)| (row, column, value(k)))
    })
}

/// P₁ P₂, where some rows of P₂ are empty.
///
/// # Panics
/// If the device disagrees with [`Reference`].
pub fn two_stage<K: ClassicalKernels, C: Real>(device: &K) {
    let rows = prop_oneof![Just(1usize), 2..40usize, 40..700usize];
    run(device, (rows, any::<u64>(), truncations()), |(rows, seed, truncation)| {
        let random = |k: usize| hash_id(hash_id(seed) ^ !k as u64);
        let kept: Vec<usize> = (0..rows).filter(|&row| row == 0 || random(row).is_multiple_of(4)).collect();
        let is_first = |row: usize| kept.binary_search(&row).is_ok();
        let (middle, cols) = (kept.len(), kept.len() / 3 + 1);
        let identity = || kept.iter().enumerate().map(|(number, &row)| (row, number, 1.0));
        let first = from_entries::<C>(rows, middle, identity());
        let p1 = from_entries::<C>(rows, middle, weights(rows, middle, seed, is_first).chain(identity()));
        let p2 = weights(middle, cols, seed ^ 1, |row| random(row) >> 8 & 3 == 0);
        let p2 = from_entries::<C>(middle, cols, p2);
        let [d1, d2, df] = [&p1, &p2, &first].map(|m| on_device(device, m));
        let product = |how| on_host(device, &device.two_stage(&d1, &d2, &df, how).expect("a product"));
        let whole = product(Truncation::default());
        let wide = |m: &Csr<C>, f: fn(f64) -> f64| {
            let mut wide = m.view().stored_as::<f64>();
            wide.values_mut().iter_mut().for_each(|value| *value = f(*value));
            wide
        };
        let [p1, p2, first] = [&p1, &p2, &first].map(|m| wide(m, |value| value));
        let expected = Reference.two_stage(&p1, &p2, &first, Truncation::default()).expect("a product");
        let patterns = (whole.cols(), whole.row_ptr(), whole.columns());
        assert_eq!(patterns, (expected.cols(), expected.row_ptr(), expected.columns()), "two_stage");
        let [mut p1, mut p2] = [p1, p2];
        for values in [p1.values_mut(), p2.values_mut()] {
            values.iter_mut().for_each(|value| *value = value.abs());
        }
        // A row of at most six entries is multiplied by the quotient of multiples of 1/8.
        let sizes = Reference.product_once(&p1, &p2).expect("a product");
        let sizes: Vec<f64> = sizes.values().iter().map(|size| 72.0 * size).collect();
        assert_close("two_stage", whole.values(), expected.values(), &sizes, |_| 32);
        check_truncated("two_stage", &product(truncation), &whole, truncation, is_first);
    });
}

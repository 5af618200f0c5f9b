//! Lowering on a device: steps and sizes of rows, powers of two, and matrices that are scaled and
//! rounded.
//!
//! Factors are powers of two, so that scaled entries, and what they are rounded to, are exact.

#![allow(clippy::expect_used)] // the suite runs in tests only

use proptest::prelude::*;

use super::aggregation_kernels::{Symmetric, matrices};
use super::bounds::{assert_close, content, row_terms, wide};
use super::inputs::vector;
use super::matrix_kernels::run;
use super::setup_kernels::{matrix, shapes};
use crate::device::{
    HostMatrix, Kernels, LoweringKernels, MatrixFormat, Reads, Reference, RowStep, SparseFactors,
};
use crate::hash::hash_id;
use crate::matrix::Csr;
use crate::number::{Real, Store};

/// Powers of two from 2^−4 to 2^3.
fn powers<C: Real>(len: usize, seed: u64) -> Vec<C> {
    let exponent = |i: usize| (hash_id(seed ^ i as u64) % 8) as i32 - 4;
    (0..len).map(|i| C::narrow(2f64.powi(exponent(i)))).collect()
}

/// A positive number of any size, as in a matrix in unusual units; zero at times.
fn size<C: Real>(seed: u64, i: usize) -> C {
    let random = hash_id(seed ^ i as u64);
    let range = if size_of::<C>() == 8 { 1000 } else { 120 };
    let exponent = (random % (2 * range + 1)) as i32 - range as i32;
    let fraction = [1.0, 1.0 + (random >> 40) as f64 / (1u64 << 24) as f64][(random >> 20) as usize % 2];
    C::narrow(if random >> 12 & 15 == 0 { 0.0 } else { fraction * 2f64.powi(exponent) })
}

/// The steps of all smoothers, in rows with a diagonal entry and in others.
///
/// # Panics
/// If the device disagrees with [`Reference`].
pub fn steps<K: LoweringKernels, C: Real>(device: &K) {
    run(device, (matrices(), any::<bool>()), |(input, lacks): (Symmetric, bool)| {
        let mut a = input.matrix::<C>();
        if lacks {
            // The diagonal entry of one row, which may be its only one, is a zero.
            let row = a.rows() / 2;
            let at = a.row_ptr()[row] + a.row(row).0.binary_search(&(row as u32)).expect("a diagonal entry");
            a.values_mut()[at] = C::zero();
        }
        let on_device = device.upload_sparse(&a).expect("an upload");
        let proved = [0.5, 1.5, 1e9].map(RowStep::ProvedSpai0);
        for step in [RowStep::Jacobi, RowStep::L1, RowStep::Spai0].into_iter().chain(proved) {
            let found = device.steps(&on_device, step).expect("steps");
            let expected = Reference.steps(&a, step).expect("steps");
            assert_eq!(found.is_some(), expected.is_some(), "{step:?}");
            if let (Some(found), Some(expected)) = (found, expected) {
                let (exact, size) = (wide(&expected, |x| x), wide(&expected, f64::abs));
                assert_close("steps", &content(device, &found), &exact, &size, |_| 4 * a.rows() + 16);
            }
        }
    });
}

/// Sizes of rows, with and without diagonal entries.
///
/// # Panics
/// If the device disagrees with [`Reference`].
pub fn row_sizes<K: LoweringKernels, C: Real>(device: &K) {
    run(device, shapes(), |input| {
        let a = matrix::<C>(&input, input.seed);
        let found = device.row_sizes(&device.upload_sparse(&a).expect("an upload")).expect("sizes");
        assert_eq!(content(device, &found), Reference.row_sizes(&a).expect("sizes"));
    });
}

/// Exponents of roots, and powers of two.
///
/// # Panics
/// If the device disagrees with [`Reference`].
pub fn powers_of_two<K: LoweringKernels, C: Real>(device: &K) {
    let input = (0..700usize, -90..90i32, 0..63i32, any::<bool>(), -20..20i32, any::<u64>());
    run(device, input, |(len, low, more, inverse, shift, seed)| {
        let sizes: Vec<C> = (0..len).map(|i| size(seed, i)).collect();
        let exponents = device.root_exponents(&device.upload(&sizes).expect("an upload"));
        let exponents = exponents.expect("exponents");
        let expected = Reference.root_exponents(&sizes).expect("exponents");
        assert_eq!(content(device, &exponents), expected, "exponents of {sizes:?}");
        let within = (low, low + more);
        let found = device.powers_of_two(&exponents, within, inverse, shift).expect("powers");
        let expected = Reference.powers_of_two(&expected, within, inverse, shift).expect("powers");
        assert_eq!(content(device, &found), expected, "powers");
    });
}

/// L A M and its largest entry, as it multiplies vectors.
///
/// # Panics
/// If the device disagrees with [`Reference`].
pub fn scaled<K: LoweringKernels, C: Reads<S>, S: Store>(device: &K)
where
    f64: Reads<S>,
{
    run(device, (shapes(), any::<[bool; 2]>(), 1..5usize), |(input, sides, block)| {
        let a = matrix::<C>(&input, input.seed);
        let on_device = device.upload_sparse(&a).expect("an upload");
        let (left, right) = (powers::<C>(a.rows(), input.seed), powers::<C>(a.cols(), !input.seed));
        let upload = |x: &Vec<C>| device.upload(x).expect("an upload");
        let (l, r) = (upload(&left), upload(&right));
        let factor = 0.25;
        let there = SparseFactors { left: sides[0].then_some(&l), right: sides[1].then_some(&r), factor };
        let here =
            SparseFactors { left: sides[0].then_some(&left), right: sides[1].then_some(&right), factor };
        let largest = device.largest_scaled(&on_device, there).expect("the largest entry");
        assert_eq!(largest, Reference.largest_scaled(&a, here).expect("the largest entry"));
        let made = device.stored::<C, S>(&on_device, there, block).expect("a matrix");
        let expected = Reference.stored::<C, S>(&a, here, block).expect("a matrix").matrix;
        assert!(made.considered.iter().all(|&(_, bytes)| bytes >= made.considered[0].1));
        assert!(made.considered[0].1 >= size_of::<S>() * a.nnz(), "bytes");
        check_product::<K, C, S>(device, &made.matrix, &expected, input.seed);
    });
}

/// Compares A x of a device with the reference.
fn check_product<K: Kernels, C: Reads<S>, S: Store>(
    device: &K,
    found: &K::Matrix<S>,
    expected: &HostMatrix<S>,
    seed: u64,
) where
    f64: Reads<S>,
{
    let (rows, cols) = (expected.rows(), expected.cols());
    assert_eq!(device.shape(found), (rows, cols));
    let x = vector::<C>(cols, seed);
    let mut y = device.zeros(rows).expect("a vector");
    device.spmv(C::one(), found, &device.upload(&x).expect("an upload"), C::zero(), &mut y);
    let mut exact = vec![0.0; rows];
    let mut sizes = vec![0.0; rows];
    for row in 0..rows {
        expected.for_each_entry(row, |column, value| {
            let term = f64::read(value) * x[column].wide();
            exact[row] += term;
            sizes[row] += term.abs();
        });
    }
    assert_close("the product", &content(device, &y), &exact, &sizes, row_terms(expected));
}

/// Rounding to `S`, of numbers in its range and beyond: one entry per row, times one.
///
/// # Panics
/// If a device rounds another way than [`Store::narrow`].
pub fn rounding<K: LoweringKernels, C: Reads<S>, S: Store>(device: &K) {
    let facts = S::KIND.facts();
    let number = |i: usize| {
        let random = hash_id(i as u64);
        // Half way between two numbers, or next to that; of all sizes that are exact in `C`.
        let digits = 1.0 + (2 * (random % 1024) + 1) as f64 / 2048.0;
        let near = [0.0, f64::EPSILON, -f64::EPSILON, 1e-3][(random >> 16) as usize % 4];
        let exponent = (random >> 24) as i32 % 34 - 26;
        let sign = if random >> 60 & 1 == 0 { 1.0 } else { -1.0 };
        sign * (digits + near) * 2f64.powi(exponent)
    };
    let mut numbers: Vec<C> = (0..6000).map(|i| C::narrow(number(i))).collect();
    numbers.extend([0.0, -0.0, facts.max, -facts.max].map(C::narrow));
    let rows = numbers.len();
    let a = Csr::try_new(rows, 1, (0..=rows).collect(), vec![0; rows], numbers.clone()).expect("a column");
    let made = device
        .stored::<C, S>(&device.upload_sparse(&a).expect("an upload"), SparseFactors::ONE, 1)
        .expect("a matrix");
    let mut y = device.zeros(rows).expect("a vector");
    device.spmv(C::one(), &made.matrix, &device.upload(&[C::one()]).expect("an upload"), C::zero(), &mut y);
    for (given, found) in numbers.iter().zip(content(device, &y)) {
        assert_eq!(found, C::read(S::narrow(given.wide())), "{given} in {:?}", S::KIND);
    }
}

/// Formats of larger matrices: a stencil in natural order, and blocks of nodes, take fewer bytes
/// than compressed rows where the device has other formats, and the product is the same.
///
/// # Panics
/// If the device disagrees with [`Reference`].
pub fn stencils<K: LoweringKernels, C: Reads<S>, S: Store>(device: &K)
where
    f64: Reads<S>,
{
    for (name, block) in
        [("poisson3d:20", 1), ("poisson2d:70", 1), ("poisson3d27:9", 1), ("elasticity3d:6", 3)]
    {
        let problem: crate::gallery::Problem = name.parse().expect("a problem");
        let a = problem.matrix().expect("a matrix").view().stored_as::<C>();
        let on_device = device.upload_sparse(&a).expect("an upload");
        let made = device.stored::<C, S>(&on_device, SparseFactors::ONE, block).expect("a matrix");
        if let Some(&(format, bytes)) = made.considered.first()
            && format != MatrixFormat::Csr
        {
            assert!(bytes < (size_of::<S>() + 4) * a.nnz(), "{name}: {bytes} bytes");
        }
        let expected = Reference.stored::<C, S>(&a, SparseFactors::ONE, block).expect("a matrix").matrix;
        check_product::<K, C, S>(device, &made.matrix, &expected, 3);
    }
}

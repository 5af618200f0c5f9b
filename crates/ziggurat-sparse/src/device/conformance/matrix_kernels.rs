//! SpMV, residual and sweeps, for every format and pair of number types.

#![allow(clippy::expect_used, clippy::panic)] // the suite runs in tests only

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::bounds::{assert_close, content, row_terms, wide};
use super::inputs::{GRID_TRANSFERS, Input, grid_transfer, large, small, small_by_rows, vector};
use crate::device::{Direction, Kernels, MatrixFormat, Reads, Reference};
use crate::number::Store;

/// Matrices per kernel and pair of number types.
const CASES: u32 = 48;

/// The same for a device with its own memory, where every case waits for transfers and kernel
/// compilation.
const REMOTE_CASES: u32 = 20;

/// Coefficients: zero, one and others, exact in every storage type.
fn coefficient() -> impl Strategy<Value = f64> {
    prop_oneof![Just(0.0), Just(1.0), Just(-1.0), Just(0.75), Just(-2.5)]
}

/// Runs a test for generated inputs, the same in every run.
pub(super) fn run<T: std::fmt::Debug>(
    device: &impl Kernels,
    strategy: impl Strategy<Value = T>,
    test: impl Fn(T),
) {
    let cases = if device.traffic().is_some() { REMOTE_CASES } else { CASES };
    // Failures are printed with the shrunk input, which is small; no regression file is kept.
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(
        config,
        proptest::test_runner::TestRng::deterministic_rng(proptest::test_runner::RngAlgorithm::ChaCha),
    );
    let outcome = runner.run(&strategy, |input| {
        test(input);
        Ok(())
    });
    if let Err(failure) = outcome {
        panic!("{failure}");
    }
}

/// y ← α A x + β y; with β = 0 the old y is NaN and must not be read.
///
/// # Panics
/// If the device disagrees with [`Reference`].
pub fn spmv<K: Kernels, C: Reads<S>, S: Store>(device: &K)
where
    f64: Reads<S>,
{
    run(device, (small(false), coefficient(), coefficient()), |(input, alpha, beta)| {
        check_spmv::<K, C, S>(device, &input, alpha, beta);
    });
}

fn check_spmv<K: Kernels, C: Reads<S>, S: Store>(device: &K, input: &Input, alpha: f64, beta: f64)
where
    f64: Reads<S>,
{
    let (a, a_abs) = (input.matrix::<S>(|v| v), input.matrix::<S>(f64::abs));
    let x = vector::<C>(a.cols(), input.seed ^ 1);
    let y = if beta == 0.0 { vec![C::nan(); a.rows()] } else { vector::<C>(a.rows(), input.seed ^ 2) };
    let terms = row_terms(&a);

    let mut expected = wide(&y, |y| y);
    Reference.spmv(alpha, &a, &wide(&x, |x| x), beta, &mut expected);
    let mut magnitude = wide(&y, f64::abs);
    Reference.spmv(alpha.abs(), &a_abs, &wide(&x, f64::abs), beta.abs(), &mut magnitude);

    let a = device.upload_matrix(a).expect("an upload");
    let x = device.upload(&x).expect("an upload");
    let mut found = device.upload(&y).expect("an upload");
    device.spmv(C::narrow(alpha), &a, &x, C::narrow(beta), &mut found);
    assert_close("spmv", &content(device, &found), &expected, &magnitude, terms);
}

/// r ← b − A x
///
/// # Panics
/// If the device disagrees with [`Reference`].
pub fn residual<K: Kernels, C: Reads<S>, S: Store>(device: &K)
where
    f64: Reads<S>,
{
    run(device, small(false), |input| check_residual::<K, C, S>(device, &input));
}

fn check_residual<K: Kernels, C: Reads<S>, S: Store>(device: &K, input: &Input)
where
    f64: Reads<S>,
{
    let (a, a_abs) = (input.matrix::<S>(|v| v), input.matrix::<S>(f64::abs));
    let (x, b) = (vector::<C>(a.cols(), input.seed ^ 1), vector::<C>(a.rows(), input.seed ^ 2));
    let terms = row_terms(&a);

    let mut expected = vec![f64::NAN; a.rows()];
    Reference.residual(&a, &wide(&x, |x| x), &wide(&b, |b| b), &mut expected);
    let mut magnitude = wide(&b, f64::abs);
    Reference.spmv(1.0, &a_abs, &wide(&x, f64::abs), 1.0, &mut magnitude);

    let mut found = device.upload(&vec![C::nan(); a.rows()]).expect("an upload");
    let a = device.upload_matrix(a).expect("an upload");
    let (x, b) = (device.upload(&x).expect("an upload"), device.upload(&b).expect("an upload"));
    device.residual(&a, &x, &b, &mut found);
    assert_close("residual", &content(device, &found), &expected, &magnitude, terms);
}

/// y ← x + ω d∘(b − A x) + β (x − y), square matrices; with β = 0 the old y is NaN and must not be
/// read.
///
/// # Panics
/// If the device disagrees with [`Reference`].
pub fn sweep<K: Kernels, C: Reads<S>, S: Store>(device: &K)
where
    f64: Reads<S>,
{
    run(device, (small(true), coefficient(), coefficient()), |(input, omega, beta)| {
        check_sweep::<K, C, S>(device, &input, omega, beta);
    });
}

fn check_sweep<K: Kernels, C: Reads<S>, S: Store>(device: &K, input: &Input, omega: f64, beta: f64)
where
    f64: Reads<S>,
{
    let (a, a_abs) = (input.matrix::<S>(|v| v), input.matrix::<S>(f64::abs));
    let n = a.rows();
    let [x, b, d] = [1, 2, 3].map(|k| vector::<C>(n, input.seed ^ k));
    let y = if beta == 0.0 { vec![C::nan(); n] } else { vector::<C>(n, input.seed ^ 4) };
    let terms = row_terms(&a);

    let mut expected = wide(&y, |y| y);
    let [x_wide, b_wide, d_wide] = [&x, &b, &d].map(|v| wide(v, |v| v));
    Reference.sweep(&a, omega, &d_wide, &b_wide, &x_wide, beta, &mut expected);
    // With signs such that all terms add up: |x| + |ω||d|(|b| + |A||x|) + |β|(|x| + |y|).
    let [x_abs, b_abs, d_abs] = [&x, &b, &d].map(|v| wide(v, f64::abs));
    let mut magnitude = b_abs;
    Reference.spmv(1.0, &a_abs, &x_abs, 1.0, &mut magnitude);
    for i in 0..n {
        let momentum = if beta == 0.0 { 0.0 } else { beta.abs() * (x_abs[i] + y[i].wide().abs()) };
        magnitude[i] = x_abs[i] + omega.abs() * d_abs[i] * magnitude[i] + momentum;
    }

    let a = device.upload_matrix(a).expect("an upload");
    let [x, b, d] = [x, b, d].map(|v| device.upload(&v).expect("an upload"));
    let mut found = device.upload(&y).expect("an upload");
    device.sweep(&a, C::narrow(omega), &d, &b, &x, C::narrow(beta), &mut found);
    assert_close("sweep", &content(device, &found), &expected, &magnitude, terms);
}

/// Gauss–Seidel within blocks, forward and backward, from zero and from an initial guess, for
/// blocks of one row, some rows and all rows, in formats that are row by row.
///
/// # Panics
/// If the device disagrees with [`Reference`].
pub fn gauss_seidel<K: Kernels, C: Reads<S>, S: Store>(device: &K)
where
    f64: Reads<S>,
{
    let block = prop_oneof![Just(1usize), 2..40usize, Just(1000usize), Just(usize::MAX)];
    let inputs = (small_by_rows(), block, any::<bool>(), any::<bool>());
    run(device, inputs, |(input, block, backward, guess)| {
        let direction = if backward { Direction::Backward } else { Direction::Forward };
        check_gauss_seidel::<K, C, S>(device, &input, block, direction, guess);
    });
}

fn check_gauss_seidel<K: Kernels, C: Reads<S>, S: Store>(
    device: &K,
    input: &Input,
    block: usize,
    direction: Direction,
    guess: bool,
) where
    f64: Reads<S>,
{
    let a = input.matrix::<S>(|v| v);
    let n = a.rows();
    let [x, b] = [1, 2].map(|k| vector::<C>(n, input.seed ^ k));
    // As small as 1/Σ|a_ij|, so that errors of earlier rows are damped when they enter later ones.
    let mut row_sums = vec![1.0; n];
    Reference.spmv(1.0, &input.matrix::<S>(f64::abs), &vec![1.0; n], 1.0, &mut row_sums);
    let d: Vec<C> = row_sums.iter().map(|sum| C::narrow(sum.recip())).collect();

    let [x_wide, b_wide, d_wide] = [&x, &b, &d].map(|v| wide(v, |v| v));
    let mut expected = vec![f64::NAN; n];
    Reference.gauss_seidel(&a, &d_wide, &b_wide, guess.then_some(&x_wide), block, direction, &mut expected);
    // With this d no value exceeds the largest of x and b, and an error in one row is damped when
    // it enters another: the total error is below the sum of the rounding errors of all entries.
    let largest = Reference.norm_max(&x_wide).max(Reference.norm_max(&b_wide));
    let terms = 4 * a.nnz() + 16 * n;

    let a = device.upload_matrix(a).expect("an upload");
    let [x, b, d] = [x, b, d].map(|v| device.upload(&v).expect("an upload"));
    let mut found = device.upload(&vec![C::nan(); n]).expect("an upload");
    device.gauss_seidel(&a, &d, &b, guess.then_some(&x), block, direction, &mut found);
    assert_close("gauss_seidel", &content(device, &found), &expected, &vec![largest; n], |_| terms);
}

/// SpMV for transfers between grids along all choices of axes, in both directions, with and without
/// scale factors.
///
/// # Panics
/// If the device disagrees with [`Reference`].
pub fn grid_transfers<K: Kernels, C: Reads<S>, S: Store>(device: &K)
where
    f64: Reads<S>,
{
    for seed in 0..GRID_TRANSFERS {
        check_spmv::<K, C, S>(device, &grid_transfer(seed), -2.5, (seed % 2) as f64);
    }
}

/// SpMV, residual and sweep on 10⁵ rows with empty and dense rows, where the work is split among
/// threads; every format.
///
/// # Panics
/// If the device disagrees with [`Reference`].
pub fn large_matrix<K: Kernels, C: Reads<S>, S: Store>(device: &K)
where
    f64: Reads<S>,
{
    for input in MatrixFormat::ALL.iter().copied().map(large) {
        check_spmv::<K, C, S>(device, &input, -2.5, 0.75);
        check_residual::<K, C, S>(device, &input);
        if input.format != MatrixFormat::GridTransfer {
            check_sweep::<K, C, S>(device, &input, 0.75, -1.0); // square matrices only
        }
    }
}

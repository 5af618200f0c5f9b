//! Sparse products and transposes on a device: the pattern exactly, the values within rounding.

#![allow(clippy::expect_used)] // the suite runs in tests only

use proptest::prelude::*;

use super::bounds::assert_close;
use super::inputs::{Input, value};
use super::matrix_kernels::run;
use crate::device::{MatrixFormat, Reference, SetupKernels, SparseSize};
use crate::matrix::Csr;
use crate::number::Real;

/// Matrices of up to 260 rows and columns: no rows, no columns, empty and dense rows, rectangular.
pub(super) fn shapes() -> impl Strategy<Value = Input> {
    let extent = prop_oneof![Just(0usize), Just(1), 2..20usize, 20..260usize];
    let reach = prop_oneof![3 => Just(usize::MAX), 1 => Just(0usize), 2 => 1..50usize];
    (extent.clone(), extent, 0..40usize, 0..5usize, 0..9usize, reach, any::<u64>()).prop_map(
        |(rows, cols, per_row, empty_every, dense_every, reach, seed)| {
            let (format, block) = (MatrixFormat::Csr, 1);
            Input { rows, cols, per_row, empty_every, dense_every, reach, format, block, seed }
        },
    )
}

/// A matrix of 10⁵ rows without dense rows.
fn large() -> Input {
    let (rows, per_row, empty_every, dense_every, reach, seed) = (100_000, 9, 7, 0, 300, 5);
    let (format, block) = (MatrixFormat::Csr, 1);
    Input { rows, cols: rows, per_row, empty_every, dense_every, reach, format, block, seed }
}

/// The matrix of an input, with values that use all digits of their type.
pub(super) fn matrix<C: Real>(input: &Input, seed: u64) -> Csr<C> {
    let pattern = input.matrix::<f64>(|value| value).to_csr();
    let values = (0..pattern.nnz() as u64).map(|index| C::narrow(value(seed, index) / 3.0));
    let (row_ptr, columns, _) = pattern.clone().into_parts();
    Csr::try_new(input.rows, input.cols, row_ptr, columns, values.collect()).expect("a valid matrix")
}

/// The matrix in double precision, with its values mapped by `f`.
fn wide<C: Real>(a: &Csr<C>, f: impl Fn(f64) -> f64) -> Csr<f64> {
    let mut wide = a.view().stored_as::<f64>();
    wide.values_mut().iter_mut().for_each(|value| *value = f(*value));
    wide
}

/// Asserts that the pattern is the expected one, and the values are within rounding, where a value
/// is the sum of at most `terms` products.
fn assert_same<C: Real>(what: &str, found: &Csr<C>, expected: &Csr<f64>, size: &Csr<f64>, terms: usize) {
    assert_eq!((found.rows(), found.cols()), (expected.rows(), expected.cols()), "{what}: sizes");
    for row in 0..expected.rows() {
        assert_eq!(found.row(row).0, expected.row(row).0, "{what}: columns of row {row}");
    }
    assert_close(what, found.values(), expected.values(), size.values(), |_| terms);
}

/// Uploads, sizes and downloads.
///
/// # Panics
/// If the device returns another matrix than it was given.
pub fn sparse_memory<K: SetupKernels, C: Real>(device: &K) {
    run(device, shapes(), |input| {
        let a = matrix::<C>(&input, input.seed);
        let on_device = device.upload_sparse(&a).expect("an upload");
        let size = SparseSize { rows: a.rows(), cols: a.cols(), entries: a.nnz() };
        assert_eq!(device.size(&on_device), size);
        assert_eq!(device.download_sparse(&on_device).expect("a download"), a);
    });
}

/// C = A B in two phases, then the numeric phase again for new values.
///
/// # Panics
/// If the device disagrees with [`Reference`].
pub fn products<K: SetupKernels, C: Real>(device: &K) {
    run(device, (shapes(), shapes()), |(a, b)| {
        check_product::<K, C>(device, &a, &Input { rows: a.cols, ..b });
    });
}

fn check_product<K: SetupKernels, C: Real>(device: &K, left: &Input, right: &Input) {
    let host = |seed| (matrix::<C>(left, seed), matrix::<C>(right, seed ^ 1));
    let (a, b) = host(left.seed);
    let on_device = |a: &Csr<C>| device.upload_sparse(a).expect("an upload");
    let check = |what: &str, a: &Csr<C>, b: &Csr<C>, found: &K::Sparse<C>| {
        let found = device.download_sparse(found).expect("a download");
        let product =
            |f: fn(f64) -> f64| Reference.product_once(&wide(a, f), &wide(b, f)).expect("a product");
        let longest = (0..a.rows()).map(|row| a.row(row).0.len()).max().unwrap_or(0);
        assert_same(what, &found, &product(|v| v), &product(f64::abs), 2 * longest + 16);
        found
    };
    let (da, db) = (on_device(&a), on_device(&b));
    let plan = device.plan_product(&da, &db).expect("a plan");
    let mut c = device.product(&plan, &da, &db).expect("a product");
    let first = check("product", &a, &b, &c);
    let size = SparseSize { rows: a.rows(), cols: b.cols(), entries: first.nnz() };
    assert_eq!(device.size(&c), size);
    let (new_a, new_b) = host(left.seed ^ 2);
    device.update_product(&plan, &on_device(&new_a), &on_device(&new_b), &mut c).expect("a product");
    check("update_product", &new_a, &new_b, &c);
    device.update_product(&plan, &da, &db, &mut c).expect("a product");
    assert_eq!(device.download_sparse(&c).expect("a download"), first, "the same bits in every call");
}

/// Products that have rows longer than any table, and rows of A of many entries.
///
/// # Panics
/// If the device disagrees with [`Reference`].
pub fn long_rows<K: SetupKernels, C: Real>(device: &K) {
    let (format, block, reach, seed) = (MatrixFormat::Csr, 1, usize::MAX, 3);
    let wide = |rows, cols, per_row, dense_every| Input {
        rows,
        cols,
        per_row,
        empty_every: 5,
        dense_every,
        reach,
        format,
        block,
        seed,
    };
    check_product::<K, C>(device, &wide(40, 6000, 9, 20), &wide(6000, 5000, 9, 2000));
    check_product::<K, C>(device, &wide(30, 1200, 60, 0), &wide(1200, 1800, 60, 0));
    // Rows of many terms and few columns.
    check_product::<K, C>(device, &wide(30, 1200, 60, 10), &wide(1200, 90, 60, 3));
    check_product::<K, C>(device, &wide(700, 1, 9, 1), &wide(1, 900, 9, 1));
    check_product::<K, C>(device, &wide(1, 9000, 9, 1), &wide(9000, 1, 9, 1));
}

/// A product and a transpose of 10⁵ rows, which are split among threads.
///
/// # Panics
/// If the device disagrees with [`Reference`].
pub fn large_product<K: SetupKernels, C: Real>(device: &K) {
    check_product::<K, C>(device, &large(), &large());
    check_transpose::<K, C>(device, &large());
}

/// T = Aᵀ
///
/// # Panics
/// If the device disagrees with [`Reference`].
pub fn transposes<K: SetupKernels, C: Real>(device: &K) {
    run(device, shapes(), |input| check_transpose::<K, C>(device, &input));
}

fn check_transpose<K: SetupKernels, C: Real>(device: &K, input: &Input) {
    let a = matrix::<C>(input, input.seed);
    let expected = Reference.transpose(&a).expect("a transpose");
    let on_device = device.upload_sparse(&a).expect("an upload");
    let found = device.transpose(&on_device).expect("a transpose");
    assert_eq!(device.size(&found), Reference.size(&expected));
    assert_eq!(device.download_sparse(&found).expect("a download"), expected, "transpose");
}

/// C = R A P, where R and P have other sizes than A.
///
/// # Panics
/// If the device disagrees with [`Reference`].
pub fn triple_products<K: SetupKernels, C: Real>(device: &K) {
    run(device, (shapes(), shapes()), |(a, p)| {
        let (a, p) = (Input { cols: a.rows, ..a.clone() }, Input { rows: a.rows, ..p });
        let (a, p) = (matrix::<C>(&a, a.seed), matrix::<C>(&p, p.seed));
        let r = Reference.transpose(&p).expect("a transpose");
        let [da, dp, dr] = [&a, &p, &r].map(|m| device.upload_sparse(m).expect("an upload"));
        let found = device.triple_product(&dr, &da, &dp).expect("a product");
        let found = device.download_sparse(&found).expect("a download");
        let product = |f: fn(f64) -> f64| {
            Reference.triple_product(&wide(&r, f), &wide(&a, f), &wide(&p, f)).expect("a product")
        };
        assert_same("triple_product", &found, &product(|v| v), &product(f64::abs), 4 * a.rows() + 16);
    });
}

//! Error bounds for the results of kernels.

use crate::device::{HostMatrix, Kernels};
use crate::number::{Real, Store};

/// Asserts |found − expected| ≤ terms · u · magnitude for every entry, where u is the unit roundoff
/// of `C`. `magnitude` is the sum of the absolute values of all terms of that entry.
pub(super) fn assert_close<C: Real>(
    what: &str,
    found: &[C],
    expected: &[f64],
    magnitude: &[f64],
    terms: impl Fn(usize) -> usize,
) {
    assert_eq!(found.len(), expected.len(), "{what}: length");
    for (i, found) in found.iter().enumerate() {
        let allowed = terms(i) as f64 * C::KIND.facts().unit_roundoff * magnitude[i];
        let error = (found.wide() - expected[i]).abs();
        assert!(
            error <= allowed, // false for NaN
            "{what}, entry {i}: {found}, expected {}, which may differ by {allowed:.1e}",
            expected[i]
        );
    }
}

/// Bound on the number of rounding errors in a row: one per entry for the product, one for the sum,
/// and some for the remaining operations (in both the kernel under test and the oracle).
pub(super) fn row_terms<S: Store>(a: &HostMatrix<S>) -> impl Fn(usize) -> usize + use<S> {
    let count = |row: usize| {
        let mut entries = 0;
        a.for_each_entry(row, |_, _| entries += 1);
        entries
    };
    let entries: Vec<usize> = (0..a.rows()).map(count).collect();
    move |row| 2 * entries[row] + 16
}

/// The content of a vector, on the host.
#[allow(clippy::expect_used)] // the suite runs in tests only
pub(super) fn content<K: Kernels, C: Real>(device: &K, x: &K::Vector<C>) -> Vec<C> {
    let mut host = vec![C::zero(); device.len(x)];
    device.download(x, &mut host).expect("a download");
    host
}

/// The numbers in double precision, mapped by `f`.
pub(super) fn wide<C: Real>(x: &[C], f: impl Fn(f64) -> f64) -> Vec<f64> {
    x.iter().map(|x| f(x.wide())).collect()
}

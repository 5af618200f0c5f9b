//! A device, whose number types are known at run time, against the typed kernels of its backend:
//! the same bits from every method.
//!
//! All operands differ, and coefficients are not exact in `f32`: exchanged operands, and
//! coefficients rounded to another type, change the bits.

#![allow(clippy::expect_used)] // the suite runs in tests only

use std::panic::{AssertUnwindSafe, catch_unwind};

use bytemuck::bytes_of;

use super::inputs::Input;
use crate::device::{
    Device, DeviceExt, Direction, HostSlice, Kernels, Matrix, MatrixFormat, Reads, Vector, Vectors,
};
use crate::hash::{hash_id, uniform_signed};
use crate::matrix::Csr;
use crate::number::{Kind, Real, Store, f16};

const ALPHA: f64 = 0.1;
const BETA: f64 = -1.0 / 3.0;
const GAMMA: f64 = 0.7;

/// Rows of the matrix, elements of vectors.
const LEN: usize = 500;

/// Numbers of vectors, the last one more than a group of those that are listed at a time.
const COUNTS: [usize; 4] = [0, 1, 3, 35];

/// Elements that use all digits of their type.
pub(super) fn elements<T: Store>(seed: u64) -> Vec<T> {
    (0..LEN as u64).map(|index| T::narrow(uniform_signed(index ^ hash_id(seed)))).collect()
}

/// The same vector for a device and for its kernels.
struct Twin<K: Kernels, T: Store> {
    given: Vector,
    typed: K::Vector<T>,
}

impl<K: Kernels, T: Store> Twin<K, T> {
    fn new(device: &dyn Device, kernels: &K, seed: u64) -> Self {
        let host = elements::<T>(seed);
        let given = device.upload(&host).expect("an upload");
        Twin { given, typed: kernels.upload(&host).expect("an upload") }
    }

    /// Asserts that both have the same bits.
    fn check(&self, device: &dyn Device, kernels: &K, what: &str) {
        let (given, typed) = (content::<T>(device, &self.given), self.typed_content(kernels));
        assert_same(what, &given, &typed);
    }

    fn typed_content(&self, kernels: &K) -> Vec<T> {
        let mut host = vec![T::default(); kernels.len(&self.typed)];
        kernels.download(&self.typed, &mut host).expect("a download");
        host
    }
}

fn content<T: Store>(device: &dyn Device, x: &Vector) -> Vec<T> {
    let mut host = vec![T::default(); x.len()];
    device.copy_to(x, &mut host).expect("a download");
    host
}

/// Asserts that two arrays have the same bits, also where they are NaN.
pub(super) fn assert_same<T: Store>(what: &str, given: &[T], typed: &[T]) {
    assert_eq!(given.len(), typed.len(), "{what}: length");
    for (i, (given, typed)) in given.iter().zip(typed).enumerate() {
        let are_same = bytes_of(given) == bytes_of(typed);
        assert!(are_same, "{what}, element {i}: {given}, by the typed kernel {typed}, in {}", T::KIND);
    }
}

/// The name and the abilities of a device.
///
/// # Panics
/// If its kernels say something else.
pub fn properties<K: Kernels>(device: &dyn Device, kernels: &K) {
    assert_eq!(device.name(), kernels.name());
    assert_eq!(device.share().name(), kernels.name());
    for kind in Kind::ALL {
        assert_eq!(device.computes_in(kind), kernels.computes_in(kind), "{kind}");
    }
    assert_eq!(device.compresses_vectors(), kernels.compresses_vectors());
    assert_eq!(device.traffic().is_some(), kernels.traffic().is_some());
    assert_eq!(device.finish(), kernels.finish());
}

/// Vectors of a number type: allocated, moved to the device, overwritten and copied to the host.
///
/// # Panics
/// If the device disagrees with its kernels.
pub fn memory<K: Kernels, T: Store>(device: &dyn Device, kernels: &K) {
    let zeros = device.zeros(T::KIND, LEN).expect("zeros");
    assert_eq!((zeros.kind(), zeros.len()), (T::KIND, LEN));
    assert_eq!((zeros.bytes(), zeros.is_empty()), (LEN * size_of::<T>(), false));
    let mut x = Twin { given: zeros, typed: kernels.zeros::<T>(LEN).expect("zeros") };
    x.check(device, kernels, "zeros");
    let host = elements::<T>(1);
    device.overwrite(&host, &mut x.given).expect("a write");
    kernels.write(&host, &mut x.typed).expect("a write");
    x.check(device, kernels, "write");
    Twin::<K, T>::new(device, kernels, 2).check(device, kernels, "upload");
    let given = device.adopt(host.clone()).expect("an upload");
    let x = Twin { given, typed: kernels.adopt(host).expect("an upload") };
    x.check(device, kernels, "adopt");
    let given = device.to_host::<T>(x.given).expect("a download");
    assert_same("to_host", &given, &kernels.to_host(x.typed).expect("a download"));
}

/// Products, residuals and sweeps.
///
/// # Panics
/// If the device disagrees with its kernels.
pub fn matrix<K: Kernels, C: Reads<S>, S: Store>(device: &dyn Device, kernels: &K) {
    let (per_row, empty_every, dense_every, reach, seed) = (9, 7, 0, usize::MAX, 3);
    let (format, block) = (MatrixFormat::Csr, 1);
    let input = Input { rows: LEN, cols: LEN, per_row, empty_every, dense_every, reach, format, block, seed };
    let host = input.matrix::<S>(|value| value);
    let given = device.upload_matrix(host.clone()).expect("an upload");
    let typed = kernels.upload_matrix(host).expect("an upload");
    assert_eq!((given.kind(), given.shape()), (S::KIND, kernels.shape(&typed)));
    let twin = |seed| Twin::<K, C>::new(device, kernels, seed);
    let ([x, b, d], [alpha, beta]) = ([1, 2, 3].map(twin), [ALPHA, BETA].map(C::narrow));

    let mut y = twin(4);
    device.spmv(ALPHA, &given, &x.given, BETA, &mut y.given);
    kernels.spmv(alpha, &typed, &x.typed, beta, &mut y.typed);
    y.check(device, kernels, "spmv");
    device.residual(&given, &x.given, &b.given, &mut y.given);
    kernels.residual(&typed, &x.typed, &b.typed, &mut y.typed);
    y.check(device, kernels, "residual");
    device.sweep(&given, ALPHA, &d.given, &b.given, &x.given, BETA, &mut y.given);
    kernels.sweep(&typed, alpha, &d.typed, &b.typed, &x.typed, beta, &mut y.typed);
    y.check(device, kernels, "sweep");
    for (guess, block, direction) in [(true, 10, Direction::Backward), (false, LEN, Direction::Forward)] {
        let guesses = (guess.then_some(&x.given), guess.then_some(&x.typed));
        device.gauss_seidel(&given, &d.given, &b.given, guesses.0, block, direction, &mut y.given);
        kernels.gauss_seidel(&typed, &d.typed, &b.typed, guesses.1, block, direction, &mut y.typed);
        y.check(device, kernels, "gauss_seidel");
    }
}

/// Updates of vectors, and reductions.
///
/// # Panics
/// If the device disagrees with its kernels.
pub fn vectors<K: Kernels, C: Real>(device: &dyn Device, kernels: &K) {
    let twin = |seed| Twin::<K, C>::new(device, kernels, seed);
    let ([x, y, d], [alpha, beta, gamma]) = ([1, 2, 3].map(twin), [ALPHA, BETA, GAMMA].map(C::narrow));

    let mut z = twin(4);
    device.fill(ALPHA, &mut z.given);
    kernels.fill(alpha, &mut z.typed);
    z.check(device, kernels, "fill");
    device.copy(&y.given, &mut z.given);
    kernels.copy(&y.typed, &mut z.typed);
    z.check(device, kernels, "copy");
    device.axpby(ALPHA, &x.given, BETA, &mut z.given);
    kernels.axpby(alpha, &x.typed, beta, &mut z.typed);
    z.check(device, kernels, "axpby");
    device.axpbypcz(ALPHA, &x.given, BETA, &y.given, GAMMA, &mut z.given);
    kernels.axpbypcz(alpha, &x.typed, beta, &y.typed, gamma, &mut z.typed);
    z.check(device, kernels, "axpbypcz");
    device.diagonal(ALPHA, &d.given, &x.given, BETA, &mut z.given);
    kernels.diagonal(alpha, &d.typed, &x.typed, beta, &mut z.typed);
    z.check(device, kernels, "diagonal");

    let mut p = twin(5);
    device.step_and_turn(ALPHA, &mut z.given, BETA, &y.given, &mut p.given);
    kernels.step_and_turn(alpha, &mut z.typed, beta, &y.typed, &mut p.typed);
    z.check(device, kernels, "step_and_turn, x");
    p.check(device, kernels, "step_and_turn, p");

    assert_same("norm_max", &[device.norm_max(&x.given)], &[kernels.norm_max(&x.typed)]);
    assert_same("dot", &[device.dot(&x.given, &y.given)], &[kernels.dot(&x.typed, &y.typed)]);
    assert_same("norm", &[device.norm(&x.given)], &[kernels.norm(&x.typed)]);
    for count in COUNTS {
        let (xs, typed) = many::<K, C>(device, kernels, count);
        let typed: Vec<_> = typed.iter().collect();
        let mut expected = vec![0.0; count];
        kernels.dots(&typed, &y.typed, &mut expected);
        check_dots(device, &xs, &y.given, &expected);
        let coefficients = elements::<f64>(6)[..count].to_vec();
        let rounded: Vec<C> = coefficients.iter().map(|&c| C::narrow(c)).collect();
        check_combine(device, kernels, &coefficients, &xs, |y| kernels.combine(&rounded, &typed, beta, y));
    }
}

/// The same list of vectors for a device and for its kernels.
fn many<K: Kernels, T: Store>(
    device: &dyn Device,
    kernels: &K,
    count: usize,
) -> (Vec<Vector>, Vec<K::Vector<T>>) {
    let twin = |k: usize| Twin::<K, T>::new(device, kernels, 100 + k as u64);
    (0..count).map(twin).map(|twin| (twin.given, twin.typed)).unzip()
}

/// Dot products with a list of vectors, and with a list of references to them.
fn check_dots(device: &dyn Device, xs: &[Vector], y: &Vector, expected: &[f64]) {
    let references: Vec<&Vector> = xs.iter().collect();
    for xs in [Vectors::from(xs), Vectors::from(&references[..])] {
        let mut found = vec![f64::NAN; expected.len()];
        device.dots(xs, y, &mut found);
        assert_same("dots", &found, expected);
    }
}

/// A combination of a list of vectors, and of a list of references to them. `expected` computes it
/// with typed vectors.
fn check_combine<K: Kernels, C: Real>(
    device: &dyn Device,
    kernels: &K,
    coefficients: &[f64],
    xs: &[Vector],
    expected: impl Fn(&mut K::Vector<C>) -> f64,
) {
    let references: Vec<&Vector> = xs.iter().collect();
    for xs in [Vectors::from(xs), Vectors::from(&references[..])] {
        let mut y = Twin::<K, C>::new(device, kernels, 4);
        let found = device.combine(coefficients, xs, BETA, &mut y.given);
        assert_same("combine, y·y", &[found], &[expected(&mut y.typed)]);
        y.check(device, kernels, "combine");
    }
}

/// Conversions between number types, plain and scaled.
///
/// # Panics
/// If the device disagrees with its kernels.
pub fn casts<K: Kernels, X: Real, Y: Real>(device: &dyn Device, kernels: &K) {
    let x = Twin::<K, X>::new(device, kernels, 1);
    let d = Twin::<K, f32>::new(device, kernels, 2);
    let mut y = Twin::<K, Y>::new(device, kernels, 3);
    device.copy(&x.given, &mut y.given);
    kernels.cast(&x.typed, &mut y.typed);
    y.check(device, kernels, "copy to another number type");
    for scaled in [true, false] {
        let (given, typed) = (scaled.then_some(&d.given), scaled.then_some(&d.typed));
        device.cast_scaled(ALPHA, given, &x.given, &mut y.given, None);
        kernels.cast_scaled(ALPHA, typed, &x.typed, &mut y.typed);
        y.check(device, kernels, "cast_scaled");
        let mut largest = f64::NAN;
        device.cast_scaled(BETA, given, &x.given, &mut y.given, Some(&mut largest));
        let expected = kernels.cast_scaled_max(BETA, typed, &x.typed, &mut y.typed);
        y.check(device, kernels, "cast_scaled with the largest element");
        assert_same("the largest element", &[largest], &[expected]);
    }
}

/// Vectors that are stored narrower than arithmetic, on a device that has them.
///
/// # Panics
/// If the device disagrees with its kernels.
pub fn compressed<K: Kernels, C: Reads<S>, S: Store>(device: &dyn Device, kernels: &K) {
    if !device.compresses_vectors() || C::KIND == S::KIND {
        return;
    }
    let mut wide = Twin::<K, C>::new(device, kernels, 1);
    let mut narrow = Twin::<K, S>::new(device, kernels, 2);
    let (alpha, beta) = (C::narrow(ALPHA), C::narrow(BETA));
    if size_of::<S>() == 2 {
        device.cast_scaled(ALPHA, None, &wide.given, &mut narrow.given, None);
        kernels.compress(alpha, &wide.typed, &mut narrow.typed);
        narrow.check(device, kernels, "cast_scaled to 16 bits");
        device.cast_scaled(BETA, None, &narrow.given, &mut wide.given, None);
        kernels.decompress(beta, &narrow.typed, &mut wide.typed);
        wide.check(device, kernels, "cast_scaled from 16 bits");
    }
    for count in COUNTS.into_iter().skip(1) {
        let (xs, typed) = many::<K, S>(device, kernels, count);
        let typed: Vec<_> = typed.iter().collect();
        let mut expected = vec![0.0; count];
        kernels.dots_compressed(&typed, &wide.typed, &mut expected);
        check_dots(device, &xs, &wide.given, &expected);
        let coefficients = elements::<f64>(6)[..count].to_vec();
        let rounded: Vec<C> = coefficients.iter().map(|&c| C::narrow(c)).collect();
        check_combine(device, kernels, &coefficients, &xs, |y| {
            kernels.combine_compressed(&rounded, &typed, beta, y)
        });
    }
}

/// Operands of another number type or device: each ends with a message that says so.
///
/// # Panics
/// If the device accepts them, or says something else.
pub fn mistakes(device: &dyn Device) {
    let zeros = |kind| device.zeros(kind, LEN).expect("zeros");
    let (wide, narrow, half) = (zeros(Kind::F64), zeros(Kind::F32), zeros(Kind::F16));
    let a = device.upload_matrix(Csr::<f64>::identity(LEN).expect("a matrix")).expect("an upload");
    let of_nobody = || Vector::new::<f64>(LEN, ());
    let matrix_of_nobody = Matrix::new::<f64>((LEN, LEN), ());
    let foreign = "numbers of another device or type";

    let refuses = |mistake: &dyn Fn(&mut Vector), kind, expected: &str| {
        let mut y = zeros(kind);
        let panic = catch_unwind(AssertUnwindSafe(|| mistake(&mut y))).expect_err("a mistake");
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let message = text.or_else(|| panic.downcast_ref::<String>().cloned()).expect("a message");
        assert!(message.contains(expected), "{message}, where {expected} is expected");
    };
    // Number types that no kernel computes with.
    let no_kernel = "no kernel computes in f32 with f64 numbers";
    refuses(&|y| device.spmv(1.0, &a, &narrow, 0.0, y), Kind::F32, no_kernel);
    refuses(&|y| device.residual(&a, &narrow, &narrow, y), Kind::F32, no_kernel);
    refuses(&|y| device.dots((&[&wide]).into(), y, &mut [0.0]), Kind::F32, no_kernel);
    let no_kernel = "no kernel computes in f16 with f64 numbers";
    refuses(&|y| device.spmv(1.0, &a, &half, 0.0, y), Kind::F16, no_kernel);
    let no_kernel = "no kernel computes in f16 with f16 numbers";
    refuses(&|y| device.fill(1.0, y), Kind::F16, no_kernel);
    refuses(&|y| device.copy(&wide, y), Kind::F16, no_kernel);
    refuses(&|y| device.copy(&half, y), Kind::F64, no_kernel);
    refuses(&|y| _ = device.norm_max(y), Kind::F16, no_kernel);
    // Operands whose number types differ.
    refuses(&|y| device.spmv(1.0, &a, &narrow, 0.0, y), Kind::F64, foreign);
    refuses(&|y| device.axpby(1.0, &narrow, 1.0, y), Kind::F64, foreign);
    refuses(&|y| device.axpby(1.0, &wide, 1.0, y), Kind::F32, foreign);
    refuses(&|y| device.dots((&[&wide, &narrow]).into(), y, &mut [0.0; 2]), Kind::F64, foreign);
    refuses(&|y| device.cast_scaled(1.0, Some(&wide), &wide, y, None), Kind::F32, foreign);
    let sixteen_bits = "16 bits, and nothing else than a factor";
    refuses(&|y| device.cast_scaled(1.0, Some(&narrow), &wide, y, None), Kind::F16, sixteen_bits);
    refuses(&|y| device.cast_scaled(1.0, None, &half, y, Some(&mut 0.0)), Kind::F64, sixteen_bits);
    let array = HostSlice::of(&[f16::ZERO; LEN]);
    refuses(&|y| _ = device.write(array, y), Kind::F64, "the numbers of an array");
    refuses(&|y| _ = device.copy_to(y, &mut [0.0_f32; LEN]), Kind::F64, "the numbers of an array");
    // Operands of another device.
    refuses(&|y| device.spmv(1.0, &matrix_of_nobody, &wide, 0.0, y), Kind::F64, foreign);
    refuses(&|y| device.copy(&of_nobody(), y), Kind::F64, foreign);
    refuses(&|y| _ = device.combine(&[1.0], (&[of_nobody()]).into(), 1.0, y), Kind::F64, foreign);
    refuses(&|_| _ = device.take(of_nobody()), Kind::F64, foreign);
    if !device.compresses_vectors() {
        let lacks = "does not compress vectors";
        refuses(&|y| device.cast_scaled(1.0, None, &wide, y, None), Kind::F16, lacks);
        refuses(&|y| device.dots((&[&half]).into(), y, &mut [0.0]), Kind::F64, lacks);
    }
}

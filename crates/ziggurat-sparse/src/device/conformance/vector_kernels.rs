//! Memory, updates, casts and reductions.

#![allow(clippy::expect_used)] // the suite runs in tests only

use super::bounds::{assert_close, content, wide};
use super::inputs::{value, vector};
use crate::device::{Kernels, MatrixFormat, Reads, Reference};
use crate::number::{Real, Store};

/// Lengths around likely boundaries of a kernel: vector lanes, pieces, threads.
const LENGTHS: [usize; 11] = [0, 1, 7, 31, 32, 33, 1000, 8191, 8192, 8193, 100_000];

/// A length that no device reduces in a single stage.
const VERY_LONG: usize = 4_300_000;

/// Zeros are zeros, uploads and downloads are inverse, and a matrix keeps its shape.
///
/// # Panics
/// If the device behaves differently.
pub fn memory<K: Kernels, C: Real>(device: &K) {
    assert!(!device.name().is_empty());
    for len in LENGTHS {
        let zeros = device.zeros::<C>(len).expect("zeros");
        assert_eq!(device.len(&zeros), len);
        assert!(content(device, &zeros).iter().all(C::is_zero));
        let host = vector::<C>(len, 1);
        let mut x = device.upload(&host).expect("an upload");
        assert_eq!(content(device, &x), host);
        device.fill(C::narrow(1.5), &mut x);
        assert!(content(device, &x).iter().all(|&x| x == C::narrow(1.5)));
        device.write(&host, &mut x).expect("a write");
        assert_eq!(content(device, &x), host);
        let source = device.upload(&vector::<C>(len, 2)).expect("an upload");
        device.copy(&source, &mut x);
        assert_eq!(content(device, &x), vector::<C>(len, 2));
        assert_eq!(device.to_host(x).expect("a download"), vector::<C>(len, 2));
    }
    let a = super::inputs::large(MatrixFormat::Bsr).matrix::<f32>(|v| v);
    let shape = (a.rows(), a.cols());
    let a = device.upload_matrix(a).expect("an upload");
    assert_eq!(device.shape(&a), shape);
    device.finish().expect("queued work");
}

/// axpby, axpbypcz and diagonal, with and without the old content.
///
/// # Panics
/// If the device disagrees with [`Reference`].
pub fn updates<K: Kernels, C: Real>(device: &K) {
    for len in LENGTHS {
        for (alpha, beta, gamma) in [(1.0, 0.0, 0.0), (-2.5, 0.75, -1.0), (0.0, 1.0, 0.75)] {
            let [x, y] = [1, 2].map(|seed| vector::<C>(len, seed));
            let old =
                |coefficient: f64| if coefficient == 0.0 { vec![C::nan(); len] } else { vector(len, 3) };
            let [x_wide, y_wide] = [&x, &y].map(|v| wide(v, |v| v));
            let [x_abs, y_abs] = [&x, &y].map(|v| wide(v, f64::abs));
            let [x, y] = [x, y].map(|v| device.upload(&v).expect("an upload"));
            let [c_alpha, c_beta, c_gamma] = [alpha, beta, gamma].map(C::narrow);
            let few = |_: usize| 16;

            let z = old(beta);
            let (mut expected, mut magnitude) = (wide(&z, |z| z), wide(&z, f64::abs));
            Reference.axpby(alpha, &x_wide, beta, &mut expected);
            Reference.axpby(f64::abs(alpha), &x_abs, f64::abs(beta), &mut magnitude);
            let mut found = device.upload(&z).expect("an upload");
            device.axpby(c_alpha, &x, c_beta, &mut found);
            assert_close("axpby", &content(device, &found), &expected, &magnitude, few);

            let z = old(gamma);
            let (mut expected, mut magnitude) = (wide(&z, |z| z), wide(&z, f64::abs));
            Reference.axpbypcz(alpha, &x_wide, beta, &y_wide, gamma, &mut expected);
            let [a, b, c] = [alpha, beta, gamma].map(f64::abs);
            Reference.axpbypcz(a, &x_abs, b, &y_abs, c, &mut magnitude);
            let mut found = device.upload(&z).expect("an upload");
            device.axpbypcz(c_alpha, &x, c_beta, &y, c_gamma, &mut found);
            assert_close("axpbypcz", &content(device, &found), &expected, &magnitude, few);

            let z = old(beta);
            let (mut expected, mut magnitude) = (wide(&z, |z| z), wide(&z, f64::abs));
            Reference.diagonal(alpha, &x_wide, &y_wide, beta, &mut expected);
            Reference.diagonal(f64::abs(alpha), &x_abs, &y_abs, f64::abs(beta), &mut magnitude);
            let mut found = device.upload(&z).expect("an upload");
            device.diagonal(c_alpha, &x, &y, c_beta, &mut found);
            assert_close("diagonal", &content(device, &found), &expected, &magnitude, few);
        }
    }
}

/// step_and_turn, combine and dots: the fused operations of Krylov methods.
///
/// # Panics
/// If the device disagrees with [`Reference`].
pub fn fused<K: Kernels, C: Real>(device: &K) {
    let (alpha, beta) = (-2.5, 0.75);
    for len in LENGTHS {
        let [x, z, p] = [1, 2, 3].map(|seed| vector::<C>(len, seed));
        let turned = |f: fn(f64) -> f64| {
            let [mut x, z, mut p] = [&x, &z, &p].map(|v| wide(v, f));
            Reference.step_and_turn(f(alpha), &mut x, f(beta), &z, &mut p);
            [x, p]
        };
        let ([x_expected, p_expected], [x_magnitude, p_magnitude]) = (turned(|v| v), turned(f64::abs));
        let [mut dx, dz, mut dp] = [&x, &z, &p].map(|v| device.upload(v).expect("an upload"));
        device.step_and_turn(C::narrow(alpha), &mut dx, C::narrow(beta), &dz, &mut dp);
        assert_close("step_and_turn, x", &content(device, &dx), &x_expected, &x_magnitude, |_| 16);
        assert_close("step_and_turn, p", &content(device, &dp), &p_expected, &p_magnitude, |_| 16);

        // No vector, one vector, and more vectors than a device is likely to process at once.
        for count in [0, 1, 2, 19] {
            let many: Vec<Vec<C>> = (0..count).map(|k| vector::<C>(len, 100 + k)).collect();
            let coefficients: Vec<f64> = (0..count).map(|k| value(7, k)).collect();
            let narrow: Vec<C> = coefficients.iter().map(|&c| C::narrow(c)).collect();
            let uploaded: Vec<K::Vector<C>> =
                many.iter().map(|v| device.upload(v).expect("an upload")).collect();
            let uploaded: Vec<&K::Vector<C>> = uploaded.iter().collect();
            for beta in [0.0, 1.0, beta] {
                let y = if beta == 0.0 { vec![C::nan(); len] } else { vector(len, 4) };
                let combined = |f: fn(f64) -> f64| {
                    let xs: Vec<Vec<f64>> = many.iter().map(|x| wide(x, f)).collect();
                    let coefficients: Vec<f64> = coefficients.iter().map(|&c| f(c)).collect();
                    let mut y = wide(&y, f);
                    Reference.combine(&coefficients, &xs.iter().collect::<Vec<_>>(), beta, &mut y);
                    y
                };
                let mut dy = device.upload(&y).expect("an upload");
                let square = device.combine(&narrow, &uploaded, C::narrow(beta), &mut dy);
                let terms = |_: usize| 2 * count as usize + 16;
                assert_close("combine", &content(device, &dy), &combined(|v| v), &combined(f64::abs), terms);
                let expected = device.dot(&dy, &dy);
                assert_close("combine, y·y", &[square], &[expected], &[expected], |_| 2 * len + 16);
            }
            let mut dots = vec![f64::NAN; count as usize];
            device.dots(&uploaded, &dz, &mut dots);
            for (x, found) in many.iter().zip(dots) {
                let expected = Reference.dot(x, &z);
                let magnitude = Reference.dot(&wide(x, f64::abs), &wide(&z, f64::abs));
                assert_close("dots", &[found], &[expected], &[magnitude], |_| 2 * len + 16);
            }
        }
    }
}

/// compress, decompress, dots_compressed and combine_compressed, on a device that has them.
///
/// # Panics
/// If the device disagrees with [`Reference`].
pub fn compressed<K: Kernels, C: Reads<S>, S: Store>(device: &K) {
    if !device.compresses_vectors() {
        return;
    }
    // Vectors are thirds, so that the scaled ones are rounded in every number type.
    let (scale, rounding) = (0.625, 2.0 * S::KIND.facts().unit_roundoff);
    for len in LENGTHS {
        let y = vector::<C>(len, 4);
        let dy = device.upload(&y).expect("an upload");
        for count in [0, 1, 2, 19] {
            let many: Vec<Vec<C>> = (0..count).map(|k| vector::<C>(len, 100 + k)).collect();
            let coefficients: Vec<C> = (0..count).map(|k| C::narrow(value(7, k))).collect();
            let (mut stored, mut host) = (Vec::new(), Vec::new());
            for x in &many {
                let mut there = device.upload(&vec![S::narrow(f64::NAN); len]).expect("an upload");
                device.compress(C::narrow(scale), &device.upload(x).expect("an upload"), &mut there);
                let mut here = vec![S::default(); len];
                Reference.compress(C::narrow(scale), x, &mut here);
                let mut found = vec![S::default(); len];
                device.download(&there, &mut found).expect("a download");
                assert_eq!(found, here, "compress");
                let near =
                    |(s, x): (&S, &C)| (s.wide() - scale * x.wide()).abs() <= rounding * x.wide().abs();
                assert!(here.iter().zip(x).all(near), "the oracle rounds");
                let mut back = device.upload(&vec![C::nan(); len]).expect("an upload");
                device.decompress(C::narrow(-2.0), &there, &mut back);
                let doubled = |(x, s): (&C, &S)| x.wide() == -2.0 * s.wide();
                assert!(content(device, &back).iter().zip(&here).all(doubled), "decompress");
                stored.push(there);
                host.push(here);
            }
            let stored: Vec<&K::Vector<S>> = stored.iter().collect();
            let mut dots = vec![f64::NAN; count as usize];
            device.dots_compressed(&stored, &dy, &mut dots);
            for (x, found) in host.iter().zip(dots) {
                let x: Vec<f64> = x.iter().map(|x| x.wide()).collect();
                let expected = Reference.dot(&x, &wide(&y, |y| y));
                let magnitude = Reference.dot(&wide(&x, f64::abs), &wide(&y, f64::abs));
                assert_close("dots_compressed", &[found], &[expected], &[magnitude], |_| 2 * len + 16);
            }
            for beta in [0.0, 1.0, -0.75] {
                let old = if beta == 0.0 { vec![C::nan(); len] } else { y.clone() };
                let combined = |f: fn(f64) -> f64| {
                    let xs: Vec<Vec<f64>> =
                        host.iter().map(|x| x.iter().map(|x| f(x.wide())).collect()).collect();
                    let mut y = wide(&old, f);
                    let xs: Vec<&Vec<f64>> = xs.iter().collect();
                    Reference.combine(&wide(&coefficients, f), &xs, f(beta), &mut y);
                    y
                };
                let mut found = device.upload(&old).expect("an upload");
                let square = device.combine_compressed(&coefficients, &stored, C::narrow(beta), &mut found);
                let (expected, magnitude) = (combined(|v| v), combined(f64::abs));
                let terms = |_: usize| 2 * count as usize + 16;
                let content = content(device, &found);
                assert_close("combine_compressed", &content, &expected, &magnitude, terms);
                let expected = device.dot(&found, &found);
                assert_close("combine_compressed, y·y", &[square], &[expected], &[expected], |_| {
                    2 * len + 16
                });
            }
        }
    }
}

/// Casts to both arithmetic types: exact when widening, rounded to nearest when narrowing.
///
/// # Panics
/// If the device behaves differently.
pub fn casts<K: Kernels, C: Real>(device: &K) {
    for len in LENGTHS {
        let host = vector::<C>(len, 1);
        let x = device.upload(&host).expect("an upload");
        let mut narrow = device.zeros::<f32>(len).expect("zeros");
        device.cast(&x, &mut narrow);
        assert!(content(device, &narrow).iter().zip(&host).all(|(&y, x)| y == x.wide() as f32));
        let mut same = device.zeros::<f64>(len).expect("zeros");
        device.cast(&x, &mut same);
        assert!(content(device, &same).iter().zip(&host).all(|(&y, x)| y == x.wide()));

        let d = device.upload(&vector::<f32>(len, 2)).expect("an upload");
        for d in [None, Some(&d)] {
            let host_d = d.map(|d| content(device, d));
            let mut expected = vec![f32::NAN; len];
            let most = Reference.cast_scaled_max(-0.75, host_d.as_ref(), &host, &mut expected);
            let mut found = device.upload(&vec![f32::NAN; len]).expect("an upload");
            // Some drivers take the largest number before it is rounded: they remove a narrowing
            // conversion that a widening one follows.
            let measured = device.cast_scaled_max(-0.75, d, &x, &mut found);
            assert!((measured - most).abs() <= most * f64::from(f32::EPSILON), "{measured:e}, {most:e}");
            assert_eq!(content(device, &found), expected);
            let mut without_result = device.upload(&vec![f32::NAN; len]).expect("an upload");
            device.cast_scaled(-0.75, d, &x, &mut without_result);
            assert_eq!(content(device, &without_result), expected, "with and without a result");
            let mut back = device.upload(&vec![C::nan(); len]).expect("an upload");
            device.cast_scaled(-1.0, None, &found, &mut back);
            assert!(content(device, &back).iter().zip(&expected).all(|(y, &x)| y.wide() == -f64::from(x)));
        }
    }
}

/// dot, norm and norm_max: in double precision for any vector type, with the same bits in every
/// call, and NaN propagated.
///
/// # Panics
/// If the device disagrees with [`Reference`].
pub fn reductions<K: Kernels, C: Real>(device: &K) {
    for len in LENGTHS.into_iter().chain([VERY_LONG]) {
        let [x, y] = [1, 2].map(|seed| vector::<C>(len, seed));
        let expected = Reference.dot(&x, &y);
        let magnitude = Reference.dot(&wide(&x, f64::abs), &wide(&y, f64::abs));
        let largest = Reference.norm_max(&x);
        let [dx, dy] = [&x, &y].map(|v| device.upload(v).expect("an upload"));
        let dot = device.dot(&dx, &dy);
        assert_close("dot", &[dot], &[expected], &[magnitude], |_| 2 * len + 16);
        assert_eq!(device.dot(&dx, &dy).to_bits(), dot.to_bits(), "the same bits in every call");
        assert_close("norm", &[device.norm(&dx)], &[Reference.norm(&x)], &[Reference.norm(&x)], |_| len + 16);
        assert_eq!(device.norm_max(&dx), largest);
        if len > 0 {
            for place in [0, len / 2, len - 1] {
                let mut broken = x.clone();
                broken[place] = C::nan();
                let broken = device.upload(&broken).expect("an upload");
                assert!(
                    device.norm_max(&broken).is_nan() && device.dot(&broken, &dy).is_nan(),
                    "NaN at {place}"
                );
            }
            let mut peak = x;
            peak[len - 1] = C::narrow(-64.0 * (1.0 + value(9, 0).abs()));
            let expected = peak[len - 1].wide().abs();
            let peak = device.upload(&peak).expect("an upload");
            assert_eq!(device.norm_max(&peak), expected, "the last entry, negative");
        }
    }
}

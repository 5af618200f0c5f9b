//! The kernels on stored matrices and vectors, compiled once for each of the seven pairs of number
//! types.
//!
//! `Kernels` is generic over number types, so its methods are compiled in every crate that calls
//! them. For these kernels (every format of [`HostMatrix`], three instruction sets) that took
//! minutes. Methods of a trait that is implemented for concrete types are compiled in this crate
//! only.

use half::{bf16, f16};

use super::compressed;
use super::gauss_seidel::{Sweep, gauss_seidel};
use super::grid_transfer;
use super::operations::{self, Operation};
use super::row_products::map_rows;
use crate::device::direction::Direction;
use crate::device::host_matrix::{HostMatrix, with_format, with_rows};
use crate::matrix::format::Format;
use crate::number::Store;
use crate::simd::{InLanes, Simd};

/// The kernels for arithmetic in `Self` on memory of type `S`; [`Kernels`](crate::device::Kernels)
/// defines what they compute.
pub trait Compiled<S: Store>: Sized {
    /// y ← α A x + β y
    fn spmv(simd: Simd, alpha: Self, a: &HostMatrix<S>, x: &[Self], beta: Self, y: &mut [Self]);

    /// r ← b − A x
    fn residual(simd: Simd, a: &HostMatrix<S>, x: &[Self], b: &[Self], r: &mut [Self]);

    /// y ← x + ω d∘(b − A x) + β (x − y)
    fn sweep(simd: Simd, a: &HostMatrix<S>, step: (Self, Self), vectors: [&[Self]; 3], y: &mut [Self]);

    /// y ← x, after one Gauss–Seidel sweep
    fn gauss_seidel(
        simd: Simd,
        a: &HostMatrix<S>,
        vectors: [&[Self]; 2],
        x: Option<&[Self]>,
        blocks: (usize, Direction),
        y: &mut [Self],
    );

    /// y ← α x, rounded
    fn compress(simd: Simd, alpha: Self, x: &[Self], y: &mut [S]);

    /// y ← α x
    fn decompress(simd: Simd, alpha: Self, x: &[S], y: &mut [Self]);

    /// out_k ← x_k·y
    fn dots_compressed(simd: Simd, xs: &[&Vec<S>], y: &[Self], out: &mut [f64]);

    /// y ← Σ_k c_k x_k + β y; returns y·y
    fn combine_compressed(simd: Simd, c: &[Self], xs: &[&Vec<S>], beta: Self, y: &mut [Self]) -> f64;
}

/// [`map_rows`] for any format of A.
fn map_product<C: InLanes<S>, S: Store>(
    simd: Simd,
    a: &HostMatrix<S>,
    x: &[C],
    y: &mut [C],
    operation: &dyn Operation<C>,
) {
    with_format!(a, |a| map_rows(simd, a.view(), x, y, operation));
}

macro_rules! compiled {
    ($($c:ty: $($s:ty),+;)+) => {$($(
        impl Compiled<$s> for $c {
            fn spmv(simd: Simd, alpha: $c, a: &HostMatrix<$s>, x: &[$c], beta: $c, y: &mut [$c]) {
                if let HostMatrix::GridTransfer(t) = a {
                    return grid_transfer::apply(simd, alpha, t, x, beta, y);
                }
                if beta == <$c>::default() {
                    map_product(simd, a, x, y, &operations::multiply(simd, alpha));
                } else {
                    map_product(simd, a, x, y, &operations::multiply_and_add(simd, alpha, beta));
                }
            }

            fn residual(simd: Simd, a: &HostMatrix<$s>, x: &[$c], b: &[$c], r: &mut [$c]) {
                assert_eq!(a.rows(), b.len(), "rows of A, length of b");
                map_product(simd, a, x, r, &operations::subtract_from(simd, b));
            }

            fn sweep(
                simd: Simd,
                a: &HostMatrix<$s>,
                (omega, beta): ($c, $c),
                vectors: [&[$c]; 3],
                y: &mut [$c],
            ) {
                assert_eq!(vectors.map(<[$c]>::len), [a.rows(); 3], "rows of A, lengths of d, b and x");
                let x = vectors[2];
                if beta == <$c>::default() {
                    map_product(simd, a, x, y, &operations::step(simd, omega, vectors));
                } else {
                    map_product(simd, a, x, y, &operations::step_with_momentum(simd, omega, beta, vectors));
                }
            }

            fn gauss_seidel(
                simd: Simd,
                a: &HostMatrix<$s>,
                [d, b]: [&[$c]; 2],
                x: Option<&[$c]>,
                (block, direction): (usize, Direction),
                y: &mut [$c],
            ) {
                let n = a.rows();
                assert_eq!(
                    [d.len(), b.len(), a.cols(), y.len()],
                    [n; 4],
                    "a square A, lengths of d, b and y"
                );
                assert_eq!(x.map_or(n, <[$c]>::len), n, "length of x");
                let swept = with_rows!(a, |a| {
                    gauss_seidel(simd, Sweep { a: a.view(), d, b, x, block, direction }, y)
                });
                assert!(swept.is_some(), "a matrix whose format is row by row, unlike {}", a.format());
            }

            fn compress(simd: Simd, alpha: $c, x: &[$c], y: &mut [$s]) {
                compressed::compress(simd, alpha, x, y);
            }

            fn decompress(simd: Simd, alpha: $c, x: &[$s], y: &mut [$c]) {
                compressed::decompress(simd, alpha, x, y);
            }

            fn dots_compressed(simd: Simd, xs: &[&Vec<$s>], y: &[$c], out: &mut [f64]) {
                compressed::dots(simd, xs, y, out);
            }

            fn combine_compressed(simd: Simd, c: &[$c], xs: &[&Vec<$s>], beta: $c, y: &mut [$c]) -> f64 {
                compressed::combine(simd, c, xs, beta, y)
            }
        }
    )+)+};
}
compiled! {
    f64: f64, f32, f16, bf16;
    f32: f32, f16, bf16;
}

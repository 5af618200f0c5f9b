//! Formats: every format, storage and instruction set computes what `Reference` computes.
//!
//! All numbers are small integers, so that every sum is exact in the arithmetic of every device and
//! results are compared for equality. The stored matrices are also read by the kernels at the ends
//! of their arrays, where AddressSanitizer sees a load outside.

use ziggurat_sparse::device::{Cpu, Direction, HostMatrix, Kernels, Reads, Reference, Simd};
use ziggurat_sparse::matrix::DeltaSellPlan;
use ziggurat_sparse::{Csr, DeltaSell, Dia, Store, Tiles, bf16, f16};

use crate::bytes::Bytes;

/// Rows up to which Gauss–Seidel is compared: the reference is cubic.
const FEW_ROWS: usize = 48;

/// Values up to which a sum over a row is exact in single precision.
const EXACT: f64 = 4096.0;

/// Reads two matrices and vectors from the input, and compares all kernels in all formats.
pub fn formats(data: &[u8]) {
    let mut input = Bytes::new(data);
    let (storage, same, value_bytes) = (input.below(4), input.byte().is_multiple_of(4), 1 << input.below(4));
    // Mostly small, so that there are many executions a second; sometimes several windows.
    let extent = [20, 50, 200, 700][input.below(4)];
    let (rows, cols) = (input.below(extent), input.below(extent));
    let a = input.matrix(rows, cols);
    let mut other = input.matrix(rows, cols);
    let x = input.smalls(cols);
    let b = input.smalls(rows);
    match storage {
        0 => check::<f64>(&a, &x, &b),
        1 => check::<f32>(&a, &x, &b),
        2 => check::<f16>(&a, &x, &b),
        _ => check::<bf16>(&a, &x, &b),
    }
    // A plan is filled from its own pattern, or refuses.
    if same {
        other = a.clone();
    }
    if let Some(plan) = DeltaSellPlan::new(a.view(), value_bytes)
        && let Ok(filled) = plan.fill::<f64>(other.view())
    {
        let csr: HostMatrix<f64> = other.into();
        compare::<f64, f64>(&csr, &filled.into(), &x, &b);
    }
}

/// Compares all formats of a matrix stored as `S`.
fn check<S: Store>(a: &Csr<f64>, x: &[f64], b: &[f64])
where
    f64: Reads<S>,
{
    let narrow: HostMatrix<S> = a.view().stored_as::<S>().into();
    let mut all = vec![narrow.clone()];
    all.extend(DeltaSell::<S>::from_csr(a.view()).map(HostMatrix::from));
    all.extend(Dia::<S>::from_csr(a.view()).map(HostMatrix::from));
    all.push(Tiles::from_csr(a.view().stored_as::<S>().view()).into());
    for block in [2, 3, 4, 5, 6, 16] {
        all.extend(a.view().to_bsr(block).ok().map(|a| a.view().stored_as::<S>().into()));
    }
    for other in &all {
        compare::<f64, S>(&narrow, other, x, b);
        if S::KIND != ziggurat_sparse::Kind::F64 {
            in_single_precision(a, other, x, b);
        }
    }
}

/// [`compare`] in single precision, for the storage types that it reads.
fn in_single_precision<S: Store>(a: &Csr<f64>, other: &HostMatrix<S>, x: &[f64], b: &[f64]) {
    use std::any::Any;
    let other: &dyn Any = other;
    if let Some(other) = other.downcast_ref() {
        compare::<f32, f32>(&a.view().stored_as().into(), other, x, b);
    } else if let Some(other) = other.downcast_ref() {
        compare::<f32, f16>(&a.view().stored_as().into(), other, x, b);
    } else if let Some(other) = other.downcast_ref() {
        compare::<f32, bf16>(&a.view().stored_as().into(), other, x, b);
    }
}

/// Compares the kernels of `Cpu` on one matrix with the kernels of `Reference` on another that is
/// equal.
fn compare<C: Reads<S>, S: Store>(known: &HostMatrix<S>, a: &HostMatrix<S>, x: &[f64], b: &[f64]) {
    let narrow = |x: &[f64]| x.iter().map(|&x| C::narrow(x)).collect::<Vec<C>>();
    let (x, b) = (narrow(x), narrow(b));
    let (alpha, beta) = (C::narrow(2.0), C::narrow(-1.0));
    let square = a.rows() == a.cols();
    // Blocks of a BSR matrix are not split, so its Gauss–Seidel blocks are a multiple of them.
    let unit = if let HostMatrix::Bsr(a) = a { a.block_size() } else { 1 };
    let block = 7usize.next_multiple_of(unit);
    let mut expected = [b.clone(), b.clone(), b.clone(), b.clone()];
    Reference.spmv(alpha, known, &x, beta, &mut expected[0]);
    Reference.residual(known, &x, &b, &mut expected[1]);
    if square {
        Reference.sweep(known, alpha, &b, &b, &x, beta, &mut expected[2]);
        if a.rows() <= FEW_ROWS {
            Reference.gauss_seidel(known, &b, &b, Some(&x), block, Direction::Backward, &mut expected[3]);
        }
    }
    for simd in Simd::available() {
        let cpu = Cpu::with_simd(simd).expect("it is available");
        let mut found = [b.clone(), b.clone(), b.clone(), b.clone()];
        cpu.spmv(alpha, a, &x, beta, &mut found[0]);
        cpu.residual(a, &x, &b, &mut found[1]);
        if square {
            cpu.sweep(a, alpha, &b, &b, &x, beta, &mut found[2]);
            let sweeps = a.format().is_row_by_row();
            if sweeps {
                cpu.gauss_seidel(a, &b, &b, Some(&x), block, Direction::Backward, &mut found[3]);
            }
            let exact = expected[3].iter().all(|y| y.wide().abs() <= EXACT);
            if !sweeps || a.rows() > FEW_ROWS || !exact {
                found[3].clone_from(&expected[3]); // not computed, not known, or not exact
            }
        }
        assert!(found == expected, "{simd:?}, {}, {:?}", a.format(), S::KIND);
    }
}

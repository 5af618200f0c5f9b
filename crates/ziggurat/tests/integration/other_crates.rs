//! Matrices of other crates, converted by the features of this crate.

#![cfg(all(feature = "faer", feature = "nalgebra-sparse", feature = "sprs"))]

use faer::sparse::{SparseColMat, SparseRowMat};
use nalgebra_sparse::{CscMatrix, CsrMatrix};
use sprs::CsMat;
use ziggurat::sparse::Csr;
use ziggurat::sparse::gallery::Problem;

#[test]
fn borrowed_matrices_of_other_crates_are_solved() {
    let a = "convection3d:6".parse::<Problem>().unwrap().matrix().unwrap();
    let b = vec![1.0; a.rows()];
    let expected = ziggurat::solve(&a, &b).unwrap();
    let solved = |a: &Csr<f64>| ziggurat::solve(a, &b).unwrap();
    let (rows, columns) = (CsrMatrix::from(&a), CscMatrix::from(&a));
    assert_eq!(solved(&(&rows).try_into().unwrap()), expected);
    assert_eq!(solved(&(&columns).try_into().unwrap()), expected);
    let theirs = CsMat::<f64>::from(&a);
    assert_eq!(solved(&(&theirs).try_into().unwrap()), expected);
    assert_eq!(solved(&(&theirs.view()).try_into().unwrap()), expected);
    let (rows, columns) = (SparseRowMat::<usize, f64>::from(&a), SparseColMat::<usize, f64>::from(&a));
    assert_eq!(solved(&(&rows).try_into().unwrap()), expected);
    assert_eq!(solved(&columns.as_ref().try_into().unwrap()), expected);
}

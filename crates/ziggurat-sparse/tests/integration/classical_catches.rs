//! A device whose steps of classical coarsening are wrong in one way each; the conformance suite
//! must notice (`conformance_catches.rs`).

#![allow(clippy::unwrap_used)] // tests

use crate::conformance_catches::{Broken, Fault};
use ziggurat_sparse::algebra::Truncation;
use ziggurat_sparse::device::{
    ClassicalKernels, ClassicalStrength, DeviceError, Reference, SetupKernels, coarse_measure,
};
use ziggurat_sparse::{Csr, Real};

/// The matrix with only those entries that are to be kept.
fn where_kept<T: Real>(a: &Csr<T>, keep: impl Fn(usize, usize, T) -> bool) -> Csr<T> {
    let (mut row_ptr, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for row in 0..a.rows() {
        for (&column, &value) in a.row(row).0.iter().zip(a.row(row).1) {
            if keep(row, column as usize, value) {
                columns.push(column);
                values.push(value);
            }
        }
        row_ptr.push(columns.len());
    }
    Csr::try_new(a.rows(), a.cols(), row_ptr, columns, values).unwrap()
}

/// The first matrix with one row of the second.
fn with_row<T: Real>(a: &Csr<T>, b: &Csr<T>, of_b: usize) -> Csr<T> {
    let (mut row_ptr, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for row in 0..a.rows() {
        let (of_row, values_of_row) = if row == of_b { b.row(row) } else { a.row(row) };
        columns.extend(of_row);
        values.extend(values_of_row);
        row_ptr.push(columns.len());
    }
    Csr::try_new(a.rows(), a.cols(), row_ptr, columns, values).unwrap()
}

/// The matrix with tiny entries in place of zeros.
fn without_zeros<T: Real>(a: &Csr<T>) -> Csr<T> {
    let mut a = a.clone();
    a.values_mut().iter_mut().filter(|value| **value == T::zero()).for_each(|zero| *zero = T::narrow(1e-30));
    a
}

/// PMIS where rows with a larger hash come first, whatever depends on them.
fn coarse_by_hash<T: Real>(strong: &Csr<T>, again: Option<&Csr<T>>) -> Csr<T> {
    let n = strong.rows();
    let mut order: Vec<usize> = (0..n).collect();
    let id = |row: usize| again.map_or(row as u64, |again| u64::from(again.row(row).0[0]));
    order.sort_by_key(|&row| std::cmp::Reverse(coarse_measure(0, id(row))));
    let others =
        |row: usize| strong.row(row).0.iter().map(|&column| column as usize).filter(move |&c| c != row);
    let mut influences = vec![false; n];
    (0..n).flat_map(others).for_each(|column| influences[column] = true);
    let mut is_coarse = vec![false; n];
    for row in order {
        is_coarse[row] = match influences[row] {
            true => !others(row).any(|column| is_coarse[column]),
            false => again.is_some() && others(row).next().is_none(),
        };
    }
    let rows: Vec<usize> = (0..n).filter(|&row| is_coarse[row]).collect();
    let row_ptr = (0..=n).map(|row| rows.partition_point(|&coarse| coarse < row)).collect();
    Csr::try_new(n, rows.len(), row_ptr, (0..rows.len() as u32).collect(), vec![T::one(); rows.len()])
        .unwrap()
}

impl ClassicalKernels for Broken {
    fn dependences<T: Real>(&self, a: &Csr<T>, strength: &ClassicalStrength) -> Result<Csr<T>, DeviceError> {
        let strength = match self.0 {
            Fault::DependencesIgnoreThreshold => ClassicalStrength { threshold: 0.0, ..*strength },
            Fault::DependencesIgnoreSums => ClassicalStrength { max_row_sum: None, ..*strength },
            _ => *strength,
        };
        let strong = Reference.dependences(a, &strength)?;
        Ok(match self.0 {
            Fault::DependencesForgetDiagonal => where_kept(&strong, |row, column, _| row != column),
            Fault::DependencesAreNegative => {
                where_kept(&strong, |row, column, value| row == column || value < T::zero())
            }
            _ => strong,
        })
    }

    fn coarse_rows<T: Real>(&self, strong: &Csr<T>, again: Option<&Csr<T>>) -> Result<Csr<T>, DeviceError> {
        let own_numbers = Reference.upload_sparse(&Csr::identity(strong.rows()).unwrap())?;
        match self.0 {
            Fault::CoarseRowsIgnoreDependents => Ok(coarse_by_hash(strong, again)),
            Fault::CoarseRowsIgnoreDirection => Reference.coarse_rows(&Reference.transpose(strong)?, again),
            Fault::CoarseRowsIgnoreNumbers => Reference.coarse_rows(strong, again.map(|_| &own_numbers)),
            Fault::CoarseRowsKeepIsolated => Reference.coarse_rows(strong, again.or(Some(&own_numbers))),
            _ => Reference.coarse_rows(strong, again),
        }
    }

    fn paths<T: Real>(&self, strong: &Csr<T>, coarse: &Csr<T>, least: u32) -> Result<Csr<T>, DeviceError> {
        let is_coarse = |row: usize| !coarse.row(row).0.is_empty();
        match self.0 {
            Fault::PathsCountOnce => Reference.paths(strong, coarse, 1),
            Fault::PathsForgetDirect => {
                let fewer = where_kept(strong, |row, column, _| !is_coarse(row) || !is_coarse(column));
                Reference.paths(&fewer, coarse, least)
            }
            _ => Reference.paths(strong, coarse, least),
        }
    }

    fn extended_i<T: Real>(
        &self,
        a: &Csr<T>,
        strong: &Csr<T>,
        coarse: &Csr<T>,
        to: Option<&Csr<T>>,
        symmetric: bool,
        truncation: Truncation,
    ) -> Result<Csr<T>, DeviceError> {
        let by_rows = |a: &Csr<T>| Reference.extended_i(a, strong, coarse, to, symmetric, truncation);
        match self.0 {
            Fault::ExtendedForgetsItself => {
                // Without the entries of its neighbours in the column of a row.
                let forgetful = |of| by_rows(&where_kept(a, |row, column, _| row == column || column != of));
                (0..a.rows().min(9)).try_fold(by_rows(a)?, |p, row| Ok(with_row(&p, &forgetful(row)?, row)))
            }
            Fault::ExtendedDividesByZero => by_rows(&without_zeros(a)),
            Fault::ExtendedForgetsWeak => by_rows(strong),
            Fault::ExtendedBelievesSymmetry => Reference.extended_i(a, strong, coarse, to, true, truncation),
            Fault::ExtendedIgnoresTo => Reference.extended_i(a, strong, coarse, None, symmetric, truncation),
            Fault::ExtendedIgnoresTruncation => {
                Reference.extended_i(a, strong, coarse, to, symmetric, Truncation::default())
            }
            _ => by_rows(a),
        }
    }

    fn two_stage<T: Real>(
        &self,
        p1: &Csr<T>,
        p2: &Csr<T>,
        first: &Csr<T>,
        truncation: Truncation,
    ) -> Result<Csr<T>, DeviceError> {
        match self.0 {
            Fault::TwoStageLosesSums if truncation == Truncation::default() => Reference.product_once(p1, p2),
            Fault::TwoStageIgnoresTruncation => Reference.two_stage(p1, p2, first, Truncation::default()),
            Fault::TwoStageTruncatesFirst => {
                Reference.two_stage(p1, p2, &where_kept(first, |_, _, _| false), truncation)
            }
            _ => Reference.two_stage(p1, p2, first, truncation),
        }
    }
}

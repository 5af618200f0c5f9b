//! A device whose steps of smoothed aggregation are wrong in one way each; the conformance suite
//! must notice (`conformance_catches.rs`).

#![allow(clippy::unwrap_used)] // tests

use crate::conformance_catches::{Broken, Fault};
use ziggurat_sparse::device::{AggregationKernels, DeviceError, FilteredStep, Reference, SymmetricStrength};
use ziggurat_sparse::{Csr, Real};

/// The matrix without the entries of some rows.
fn without_rows<T: Real>(a: &Csr<T>, drop: impl Fn(usize) -> bool) -> Csr<T> {
    let (mut row_ptr, mut columns, mut values) = (vec![0], Vec::new(), Vec::new());
    for row in 0..a.rows() {
        if !drop(row) {
            columns.extend(a.row(row).0);
            values.extend(a.row(row).1);
        }
        row_ptr.push(columns.len());
    }
    Csr::try_new(a.rows(), a.cols(), row_ptr, columns, values).unwrap()
}

impl AggregationKernels for Broken {
    fn diagonal_scales<T: Real>(&self, a: &Csr<T>) -> Result<(Vec<T>, f64), DeviceError> {
        let (mut scales, mut bound) = Reference.diagonal_scales(a)?;
        match self.0 {
            Fault::ScalesAreSquared => scales.iter_mut().for_each(|scale| *scale *= *scale),
            Fault::BoundIsTheSmallest => bound = 1.0,
            _ => {}
        }
        Ok((scales, bound))
    }

    fn strong_connections<T: Real>(
        &self,
        a: &Csr<T>,
        strength: &SymmetricStrength,
    ) -> Result<Csr<T>, DeviceError> {
        let strength = match self.0 {
            Fault::StrongIgnoresThreshold => SymmetricStrength { threshold: 0.0, ..*strength },
            Fault::StrongIgnoresNumber => SymmetricStrength { most: None, ..*strength },
            _ => *strength,
        };
        let mut strong = Reference.strong_connections(a, &strength)?;
        if self.0 == Fault::StrongForgetsMagnitude {
            strong.values_mut().fill(T::one());
        }
        Ok(strong)
    }

    fn aggregates<T: Real>(&self, strong: &Csr<T>, a: &Csr<T>) -> Result<Csr<T>, DeviceError> {
        let found = Reference.aggregates(strong, a)?;
        // A row that is next to no root has voted.
        let first = |aggregate: u32| (0..a.rows()).find(|&row| found.row(row).0 == [aggregate]);
        Ok(match self.0 {
            Fault::AggregatesLeaveVotersOut => without_rows(&found, |row| {
                let aggregate = found.row(row).0.first();
                aggregate
                    .and_then(|&aggregate| first(aggregate))
                    .is_some_and(|root| root != row && !strong.row(row).0.contains(&(root as u32)))
            }),
            Fault::AggregatesKeepLoneRowsOut => {
                without_rows(&found, |row| strong.row(row).0.is_empty() && !found.row(row).0.is_empty())
            }
            _ => found,
        })
    }

    fn pairs<T: Real>(&self, a: &Csr<T>, rounds: usize) -> Result<Csr<T>, DeviceError> {
        let rounds = if self.0 == Fault::PairsMatchOnce { 1 } else { rounds };
        let mut a = a.clone();
        if self.0 == Fault::PairsIgnoreWeights {
            a.values_mut().fill(T::one());
        }
        Reference.pairs(&a, rounds)
    }

    fn node_matrix<T: Real>(&self, a: &Csr<T>, block: usize) -> Result<Csr<T>, DeviceError> {
        let mut nodes = Reference.node_matrix(a, block)?;
        if self.0 == Fault::NormsAreSquared {
            nodes.values_mut().iter_mut().for_each(|norm| *norm *= *norm);
        }
        Ok(nodes)
    }

    fn tentative<T: Real>(
        &self,
        aggregates: &Csr<T>,
        kernel: &Vec<T>,
        count: usize,
    ) -> Result<(Csr<T>, Vec<T>), DeviceError> {
        let (mut p, coarse) = Reference.tentative(aggregates, kernel, count)?;
        match self.0 {
            Fault::TentativeIsNotNormalised => {
                p.values_mut().iter_mut().for_each(|value| *value += *value);
                Ok((p, coarse))
            }
            Fault::TentativeForgetsKernel => {
                Reference.tentative(aggregates, &vec![T::one(); kernel.len()], count)
            }
            _ => Ok((p, coarse)),
        }
    }

    fn set_dead_diagonal<T: Real>(
        &self,
        a: &mut Csr<T>,
        kernel: &Vec<T>,
        count: usize,
    ) -> Result<Vec<u32>, DeviceError> {
        match self.0 {
            Fault::DeadStayZero => Reference.set_dead_diagonal(&mut a.clone(), kernel, count),
            _ => Reference.set_dead_diagonal(a, kernel, count),
        }
    }

    fn smoothing_matrix<T: Real>(
        &self,
        a: &Csr<T>,
        nodes: &Csr<T>,
        step: &FilteredStep,
    ) -> Result<Csr<T>, DeviceError> {
        let filter = if self.0 == Fault::StepIgnoresFilter { 0.0 } else { step.filter };
        let mut found = Reference.smoothing_matrix(a, nodes, &FilteredStep { filter, ..*step })?;
        if self.0 == Fault::StepForgetsDiagonal {
            let (row_ptr, columns, mut values) = found.clone().into_parts();
            for row in 0..a.rows() {
                for k in row_ptr[row]..row_ptr[row + 1] {
                    if columns[k] as usize == row {
                        values[k] = T::one();
                    }
                }
            }
            found = Csr::try_new(a.rows(), a.cols(), row_ptr, columns, values).unwrap();
        }
        Ok(found)
    }
}

//! Linear combinations and products of operators.
//!
//! ```text
//! Combination    y ← Σ_k α_k A_k x
//! Composition    y ← A_1 A_2 … A_m x
//! ```
//!
//! Terms are operators or references to them, so an operator may be part of several. The transpose
//! of a matrix is a matrix ([`transpose`](crate::algebra::transpose)).
//!
//! Cost: the sum over the terms. A combination also updates y and keeps one vector if it has
//! several terms; a composition of m factors keeps m − 1 vectors.

use std::fmt;

use super::{LinearOperator, Workspace};
use crate::MatrixError;
use crate::device::{Device, DeviceError, Vector, Vectors};
use crate::number::Kind;

/// A linear combination of operators of the same shape.
///
/// ```
/// use ziggurat_sparse::device::{Cpu, Vector};
/// use ziggurat_sparse::operator::{Combination, Identity, LinearOperator, MatrixOperator};
/// use ziggurat_sparse::{Csr, Kind};
/// let cpu = Cpu::new();
/// let a = Csr::try_new(2, 2, vec![0, 1, 2], vec![1, 0], vec![1.0, 1.0])?;
/// let a = MatrixOperator::new(&cpu, a)?;
/// // 2 A + 3 I
/// let shifted = Combination::new(2.0, &a).plus(3.0, Identity::new(2))?;
/// let [x, mut y] = [[10.0, 1.0], [0.0, 0.0]].map(|v| Vector::from(v.to_vec()));
/// shifted.apply(&cpu, &x, &mut y, &mut shifted.workspace(&cpu, Kind::F64)?);
/// assert_eq!(y.elements(), Some(&[32.0, 23.0][..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Combination<'a> {
    first: (f64, Box<dyn LinearOperator + 'a>),
    others: Vec<(f64, Box<dyn LinearOperator + 'a>)>,
}

impl<'a> Combination<'a> {
    /// α A.
    pub fn new(factor: f64, operator: impl LinearOperator + 'a) -> Self {
        Combination { first: (factor, Box::new(operator)), others: Vec::new() }
    }

    /// Adds α A.
    ///
    /// # Errors
    /// If the operator has another shape.
    pub fn plus(mut self, factor: f64, operator: impl LinearOperator + 'a) -> Result<Self, MatrixError> {
        let (expected, found) = (self.first.1.shape(), operator.shape());
        same("rows of an operator in a sum", expected.0, found.0)?;
        same("columns of an operator in a sum", expected.1, found.1)?;
        self.others.push((factor, Box::new(operator)));
        Ok(self)
    }
}

/// The vector of a combination and the scratch memory of its terms.
struct CombinationWork {
    term: Option<Vector>,
    terms: Vec<Workspace>,
}

impl LinearOperator for Combination<'_> {
    fn shape(&self) -> (usize, usize) {
        self.first.1.shape()
    }

    fn workspace(&self, device: &dyn Device, number: Kind) -> Result<Workspace, DeviceError> {
        let terms = std::iter::once(&self.first).chain(&self.others);
        let terms =
            terms.map(|(_, operator)| operator.workspace(device, number)).collect::<Result<_, _>>()?;
        let term = if self.others.is_empty() { None } else { Some(device.zeros(number, self.shape().0)?) };
        Ok(Workspace::new(CombinationWork { term, terms }))
    }

    fn apply(&self, device: &dyn Device, x: &Vector, y: &mut Vector, work: &mut Workspace) {
        let CombinationWork { term, terms } = work.get::<CombinationWork>();
        let mut works = terms.iter_mut();
        let (factor, operator) = &self.first;
        if let Some(work) = works.next() {
            operator.apply(device, x, y, work);
        }
        if *factor != 1.0 {
            device.combine(&[], Vectors::NONE, *factor, y);
        }
        let Some(term) = term else { return };
        for ((factor, operator), work) in self.others.iter().zip(works) {
            operator.apply(device, x, term, work);
            device.axpby(*factor, term, 1.0, y);
        }
    }
}

impl fmt::Debug for Combination<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Combination of {} operators, {:?}", 1 + self.others.len(), self.shape())
    }
}

/// A product of operators.
///
/// ```
/// use ziggurat_sparse::device::{Cpu, Vector};
/// use ziggurat_sparse::operator::{Composition, Diagonal, LinearOperator, MatrixOperator};
/// use ziggurat_sparse::{Csr, Kind, algebra::transpose};
/// let cpu = Cpu::new();
/// let a = Csr::try_new(1, 2, vec![0, 2], vec![0, 1], vec![1.0, 2.0])?;
/// let transposed = MatrixOperator::new(&cpu, transpose(a.view(), a.all_rows()))?;
/// let a = MatrixOperator::new(&cpu, a)?;
/// // Aᵀ D A
/// let normal = Composition::new(&transposed).times(Diagonal::new(vec![10.0]))?.times(&a)?;
/// let [x, mut y] = [[1.0, 1.0], [0.0, 0.0]].map(|v| Vector::from(v.to_vec()));
/// normal.apply(&cpu, &x, &mut y, &mut normal.workspace(&cpu, Kind::F64)?);
/// assert_eq!(y.elements(), Some(&[30.0, 60.0][..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Composition<'a> {
    /// All factors but the last, from the left.
    before: Vec<Box<dyn LinearOperator + 'a>>,
    last: Box<dyn LinearOperator + 'a>,
}

impl<'a> Composition<'a> {
    /// A.
    pub fn new(operator: impl LinearOperator + 'a) -> Self {
        Composition { before: Vec::new(), last: Box::new(operator) }
    }

    /// Multiplies by an operator from the right.
    ///
    /// # Errors
    /// If it does not have as many rows as the last factor has columns.
    pub fn times(mut self, operator: impl LinearOperator + 'a) -> Result<Self, MatrixError> {
        same("rows of the right operator in a product", self.last.shape().1, operator.shape().0)?;
        self.before.push(std::mem::replace(&mut self.last, Box::new(operator)));
        Ok(self)
    }
}

/// The vectors that all factors but the last read, and the scratch memory of all factors.
struct CompositionWork {
    between: Vec<Vector>,
    before: Vec<Workspace>,
    last: Workspace,
}

impl LinearOperator for Composition<'_> {
    fn shape(&self) -> (usize, usize) {
        let first = self.before.first().unwrap_or(&self.last);
        (first.shape().0, self.last.shape().1)
    }

    fn workspace(&self, device: &dyn Device, number: Kind) -> Result<Workspace, DeviceError> {
        let factors = self.before.iter();
        let between = factors.clone().map(|factor| device.zeros(number, factor.shape().1));
        Ok(Workspace::new(CompositionWork {
            between: between.collect::<Result<_, _>>()?,
            before: factors.map(|factor| factor.workspace(device, number)).collect::<Result<_, _>>()?,
            last: self.last.workspace(device, number)?,
        }))
    }

    fn apply(&self, device: &dyn Device, x: &Vector, y: &mut Vector, work: &mut Workspace) {
        let CompositionWork { between, before, last } = work.get::<CompositionWork>();
        let mut factors = self.before.iter().zip(before).rev();
        let mut inputs = between.iter_mut().rev();
        let Some(mut input) = inputs.next() else { return self.last.apply(device, x, y, last) };
        self.last.apply(device, x, input, last);
        for next in inputs {
            if let Some((factor, work)) = factors.next() {
                factor.apply(device, input, next, work);
            }
            input = next;
        }
        if let Some((factor, work)) = factors.next() {
            factor.apply(device, input, y, work);
        }
    }
}

impl fmt::Debug for Composition<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Composition of {} operators, {:?}", 1 + self.before.len(), self.shape())
    }
}

/// An error unless two sizes are the same.
fn same(what: &'static str, expected: usize, found: usize) -> Result<(), MatrixError> {
    if expected == found { Ok(()) } else { Err(MatrixError::Mismatch { what, expected, found }) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Csr;
    use crate::algebra::{product, transpose};
    use crate::device::{Cpu, DeviceExt, Reference};
    use crate::operator::{Identity, MatrixOperator};

    fn matrix(rows: usize, cols: usize, seed: u64) -> Csr<f64> {
        let value = |k: usize| crate::hash::uniform_signed(seed + k as u64);
        let (starts, columns) = ((0..=rows).map(|row| row * cols), (0..rows).flat_map(|_| 0..cols as u32));
        let values = (0..rows * cols).map(value).collect();
        Csr::try_new(rows, cols, starts.collect(), columns.collect(), values).unwrap()
    }

    fn applied(device: &dyn Device, operator: &dyn LinearOperator, x: &[f64]) -> Vec<f64> {
        let mut work = operator.workspace(device, Kind::F64).unwrap();
        let mut y = device.upload(&vec![f64::NAN; operator.shape().0]).unwrap();
        // Twice: the scratch memory may hold anything.
        for _ in 0..2 {
            operator.apply(device, &device.upload(x).unwrap(), &mut y, &mut work);
        }
        device.to_host(y).unwrap()
    }

    fn close(one: &[f64], other: &[f64]) {
        assert_eq!(one.len(), other.len());
        assert!(one.iter().zip(other).all(|(one, other)| (one - other).abs() < 1e-13), "{one:?} {other:?}");
    }

    fn combinations_and_products(device: &dyn Device) {
        let [a, b, c] = [matrix(3, 5, 1), matrix(5, 4, 100), matrix(4, 2, 200)];
        let on_device = |a: &Csr<f64>| MatrixOperator::new(device, a.clone()).unwrap();
        let x = [0.5, -2.0];
        let whole =
            product(product(a.view(), a.all_rows(), b.view()).unwrap().view(), 0..3, c.view()).unwrap();
        let expected = applied(device, &on_device(&whole), &x);
        let (a, b, c) = (on_device(&a), on_device(&b), on_device(&c));
        let all = Composition::new(&a).times(&b).unwrap().times(&c).unwrap();
        assert_eq!(all.shape(), (3, 2));
        close(&applied(device, &all, &x), &expected);
        // A product of a product, and one factor alone.
        let nested = Composition::new(&a).times(Composition::new(&b).times(&c).unwrap()).unwrap();
        close(&applied(device, &nested, &x), &expected);
        close(&applied(device, &Composition::new(&all), &x), &expected);
        // 2 ABC − ½ ABC + 0 ABC
        let sum = Combination::new(2.0, &all).plus(-0.5, &nested).unwrap().plus(0.0, &all).unwrap();
        let scaled: Vec<f64> = expected.iter().map(|value| 1.5 * value).collect();
        close(&applied(device, &sum, &x), &scaled);
        assert!(Composition::new(&a).times(&c).is_err());
        let error = Combination::new(1.0, &a).plus(1.0, &b).unwrap_err();
        assert_eq!(error.to_string(), "rows of an operator in a sum: expected 3, found 5");
    }

    #[test]
    fn combinations_and_products_are_those_of_matrices() {
        combinations_and_products(&Cpu::new());
        combinations_and_products(&Reference);
    }

    #[test]
    fn residuals_of_composed_operators() {
        let cpu = Cpu::new();
        let a = matrix(4, 4, 7);
        let transposed = MatrixOperator::new(&cpu, transpose(a.view(), a.all_rows())).unwrap();
        let a = MatrixOperator::new(&cpu, a).unwrap();
        let normal = Composition::new(&transposed).times(&a).unwrap();
        let shifted = Combination::new(1.0, &normal).plus(1.0, Identity::new(4)).unwrap();
        let x = [1.0, 2.0, 3.0, 4.0];
        let b = applied(&cpu, &shifted, &x).into();
        let (x, mut r) = (x.to_vec().into(), vec![0.0; 4].into());
        shifted.residual(&cpu, &x, &b, &mut r, &mut shifted.workspace(&cpu, Kind::F64).unwrap());
        assert_eq!(r.elements(), Some(&[0.0; 4][..]));
    }
}

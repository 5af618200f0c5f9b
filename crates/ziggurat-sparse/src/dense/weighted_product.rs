//! X diag(w) Yᵀ = Σ_k w_k x_k y_kᵀ: a matrix from its eigenvectors or singular vectors.
//!
//! Column j of the result is Σ_k (w_k y_jk) x_k, the step of `update.rs`. Columns with the weight
//! zero are left out. Cost: 2 operations per element and remaining column.

use super::DenseError;
use super::update::{Columns, Panel, Part, WIDTH};
use crate::matrix::{Dense, MatrixError};
use crate::simd::Simd;

/// X diag(w) Yᵀ, where X and Y are square and have the same size.
///
/// ```
/// use ziggurat_sparse::{Dense, dense::weighted_product};
/// let x = Dense::try_new(2, 2, vec![1.0, 2.0, 0.0, 1.0])?;
/// let y = Dense::try_new(2, 2, vec![1.0, 0.0, 1.0, 3.0])?;
/// assert_eq!(weighted_product(&x, &[10.0, 1.0], &y)?.values(), [10.0, 21.0, 0.0, 3.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If the sizes do not match, or if the result does not fit in memory.
pub fn weighted_product(x: &Dense<f64>, weights: &[f64], y: &Dense<f64>) -> Result<Dense<f64>, DenseError> {
    let n = super::order(x)?;
    for found in [weights.len(), y.rows(), y.cols()] {
        if found != n {
            return Err(MatrixError::Mismatch { what: "factors of a product", expected: n, found }.into());
        }
    }
    let mut product = Dense::zeros(n, n)?;
    let kept: Vec<usize> = (0..n).filter(|&k| weights[k] != 0.0).collect();
    for kept in kept.chunks(WIDTH) {
        let columns: Vec<f64> = kept.iter().flat_map(|&k| x.column(k)).copied().collect();
        let panel = Panel::new(&columns, n, 0..n);
        let result = Columns { values: product.values_mut(), rows: n, first: 0, part: Part::All };
        result.subtract(Simd::best(), &panel, |j, k| -(weights[kept[k]] * y.column(kept[k])[j]));
    }
    Ok(product)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dense::testing::{from_formula, largest_difference, product, random, transposed};

    #[test]
    fn it_is_the_product_of_three_matrices() {
        for n in [0, 1, 16, 33, 70] {
            let (x, y) = (random(n, n), transposed(&random(n, n)));
            let weights: Vec<f64> = (0..n).map(|k| (k % 5) as f64 - 1.0).collect();
            let diagonal = from_formula(n, n, |i, j| if i == j { (i % 5) as f64 - 1.0 } else { 0.0 });
            let expected = product(&product(&x, &diagonal), &transposed(&y));
            assert!(largest_difference(&weighted_product(&x, &weights, &y).unwrap(), &expected) < 1e-12);
        }
        let x = random(2, 2);
        assert!(weighted_product(&x, &[1.0], &x).is_err());
        assert!(weighted_product(&x, &[1.0; 2], &random(3, 3)).is_err());
    }
}

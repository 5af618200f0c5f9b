//! Unknowns that are numbered field by field: all displacements along x, then all along y, and so
//! on, as in MFEM's `byNODES` and in many programs of their authors' own.
//!
//! ```text
//! row c m + i is unknown c of node i,   m = n / b nodes,   b fields
//! ```
//!
//! Such a numbering shows by the properties of `nodes.rs`: either the rows of a node are connected
//! to the same nodes in every field, or the couplings to other fields are balanced. In a scalar
//! problem, most rows are connected to nearby rows only, and so to no other field.
//!
//! Cost: a sample of the rows.

use ziggurat_sparse::CsrRef;
use ziggurat_sparse::hash::hash_id;

use super::nodes::is_balanced_row;

/// Number of nodes that are examined.
const SAMPLE: usize = 256;

/// Fraction of nodes that must be connected to the same nodes in every field. Those at the boundary
/// may not be, if entries were removed there.
const ALIKE: f64 = 0.9;

/// Fraction of rows with balanced couplings, as in `nodes.rs`.
const BALANCED: f64 = 0.25;

/// Number of fields of a square matrix whose unknowns are numbered field by field; 1 if they are
/// not.
///
/// ```
/// use ziggurat::diagnose::numbered_by_fields;
/// use ziggurat_sparse::gallery::Problem;
/// use ziggurat_sparse::graph::{Permutation, permute_symmetric};
/// let a = "elasticity3d:4".parse::<Problem>()?.matrix()?; // node by node
/// let nodes = a.rows() as u32 / 3;
/// let order = (0..3).flat_map(|field| (0..nodes).map(move |node| 3 * node + field)).collect();
/// let by_fields = permute_symmetric(a.view(), &Permutation::from_new_to_old(order)?)?;
/// assert_eq!((numbered_by_fields(by_fields.view()), numbered_by_fields(a.view())), (3, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn numbered_by_fields(a: CsrRef<'_, f64>) -> usize {
    let fits = |&fields: &usize| a.rows().is_multiple_of(fields) && a.rows() / fields > 1;
    if a.rows() != a.cols() {
        return 1;
    }
    let alike = [6, 4, 3, 2].into_iter().filter(fits).find(|&fields| alike(a, fields) >= ALIKE);
    let balanced = || [3, 2].into_iter().filter(fits).find(|&fields| balanced(a, fields) >= BALANCED);
    alike.or_else(balanced).unwrap_or(1)
}

/// Nodes that are spread over the matrix, one of every so many by a hash.
fn sample(nodes: usize) -> impl Iterator<Item = usize> {
    let stride = nodes.div_ceil(SAMPLE);
    let chosen = move |part: usize| part * stride + (hash_id(part as u64) % stride as u64) as usize;
    (0..nodes.div_ceil(stride)).map(chosen).filter(move |&node| node < nodes)
}

/// The fraction of nodes whose rows are connected to the same nodes in every field, and to others
/// than themselves.
fn alike(a: CsrRef<'_, f64>, fields: usize) -> f64 {
    let nodes = a.rows() / fields;
    let is_alike = |node: usize| {
        let row = |field: usize| a.row(field * nodes + node).0;
        let first = row(0).partition_point(|&column| (column as usize) < nodes);
        let near = &row(0)[..first];
        near.len() > 1
            && (0..fields).all(|field| {
                let columns = row(field);
                columns.len() == fields * near.len()
                    && columns.chunks_exact(near.len()).zip(0..).all(|(part, other)| {
                        part.iter()
                            .zip(near)
                            .all(|(&one, &node)| one as usize == other * nodes + node as usize)
                    })
            })
    };
    let (mut alike, mut all) = (0, 0);
    for node in sample(nodes) {
        alike += usize::from(is_alike(node));
        all += 1;
    }
    alike as f64 / all.max(1) as f64
}

/// The fraction of rows whose couplings to other fields are present and balanced.
fn balanced(a: CsrRef<'_, f64>, fields: usize) -> f64 {
    let nodes = a.rows() / fields;
    let (mut balanced, mut all) = (0, 0);
    for row in sample(nodes).flat_map(|node| (0..fields).map(move |field| field * nodes + node)) {
        let (columns, values) = a.row(row);
        let of_fields = columns.iter().map(|&column| (column as usize / nodes) as u64);
        balanced += usize::from(is_balanced_row(of_fields, values, fields, row / nodes));
        all += 1;
    }
    balanced as f64 / all.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use ziggurat_sparse::gallery::Problem;
    use ziggurat_sparse::graph::{Permutation, permute_symmetric};
    use ziggurat_sparse::{Coo, Csr};

    fn problem(name: &str) -> Csr<f64> {
        name.parse::<Problem>().unwrap().matrix().unwrap()
    }

    fn by_fields(a: &Csr<f64>, fields: u32) -> Csr<f64> {
        let nodes = a.rows() as u32 / fields;
        let order = (0..fields).flat_map(|field| (0..nodes).map(move |node| fields * node + field));
        permute_symmetric(a.view(), &Permutation::from_new_to_old(order.collect()).unwrap()).unwrap()
    }

    #[test]
    fn fields_are_found_with_and_without_stored_zeros() {
        for size in [4, 6, 9] {
            let a = by_fields(&problem(&format!("elasticity3d:{size}")), 3);
            assert_eq!(numbered_by_fields(a.view()), 3);
            let mut less = Coo::new(a.rows(), a.cols()).unwrap();
            for row in a.all_rows() {
                let entries = a.row(row).0.iter().zip(a.row(row).1).filter(|(_, value)| value.abs() > 1e-10);
                entries.for_each(|(&column, &value)| less.push(row, column as usize, value).unwrap());
            }
            let less = less.to_csr();
            assert!(less.nnz() < a.nnz(), "the test needs ragged blocks");
            assert_eq!(numbered_by_fields(less.view()), 3);
        }
    }

    #[test]
    fn other_numberings_have_no_fields() {
        for name in ["poisson3d:12", "poisson3d27:12", "poisson2d:36", "anisotropic3d:12", "neumann3d:12"] {
            assert_eq!(numbered_by_fields(problem(name).view()), 1, "{name}");
        }
        for name in ["elasticity3d:6", "convection3d:12", "transport3d:12", "poisson2d:2"] {
            assert_eq!(numbered_by_fields(problem(name).view()), 1, "{name}");
        }
        // Scalar problems one after the other.
        let a = problem("poisson3d:6");
        let mut both = Coo::new(2 * a.rows(), 2 * a.rows()).unwrap();
        for row in a.all_rows() {
            for (&column, &value) in a.row(row).0.iter().zip(a.row(row).1) {
                both.push(row, column as usize, value).unwrap();
                both.push(a.rows() + row, a.rows() + column as usize, value).unwrap();
            }
        }
        assert_eq!(numbered_by_fields(both.to_csr().view()), 1);
        assert_eq!(numbered_by_fields(Csr::identity(0).unwrap().view()), 1);
        assert_eq!(numbered_by_fields(Csr::identity(12).unwrap().view()), 1);
    }
}

//! A hierarchy of the matrix in another order of its unknowns, or with the other sign.
//!
//! ```text
//! A x = b   ⇔   (Π A Πᵀ)(Π x) = Π b   ⇔   (−A)(−x) = b
//! ```
//!
//! If neighbours have numbers far apart, every pass over the matrix waits for memory: products,
//! and all of setup. So the nodes are renumbered breadth-first before setup. Callers keep their
//! order: they give and get matrices in it, and so do the cycles that a hierarchy is lowered to
//! ([`Multigrid`](crate::Multigrid)). The matrices of the levels are in the new one. Cost: a pass
//! over the pattern, a copy of the matrix, and 8 bytes per row.
//!
//! Setup expects positive diagonals, and −A is set up where A is negative definite, as a discrete
//! Laplacian is that was not negated. Callers keep their sign, too. Cost: a copy of the matrix.

use std::sync::Arc;
use std::time::Instant;

use ziggurat_sparse::algebra::transpose;
use ziggurat_sparse::graph::{Permutation, breadth_first, permute_rows, permute_symmetric};
use ziggurat_sparse::{Csr, Dense, MatrixError, parallel, trace};

use super::matrix::Setup;
use super::storage::SetupMatrix;
use super::whole::WholeMatrix;
use super::{Hierarchy, SetupError};
use crate::interpolate::NearKernel;

impl Hierarchy {
    /// The order of the finest level's unknowns, if it is not the given one: unknown `i` of the
    /// level has the given number `new_to_old()[i]`.
    ///
    /// ```
    /// use ziggurat_amg::{Hierarchy, HierarchyConfig};
    /// use ziggurat_sparse::gallery::Problem;
    /// let a = "poisson2d:40".parse::<Problem>()?.matrix()?;
    /// let hierarchy = Hierarchy::build(&a, &HierarchyConfig { reorder: true, ..HierarchyConfig::default() })?;
    /// assert_eq!(hierarchy.order().map(|order| order.new_to_old()[..3].to_vec()), Some(vec![0, 1, 40]));
    /// assert!(*hierarchy.matrix()? == a && **hierarchy.levels()[0].matrix() != a);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn order(&self) -> Option<&Arc<Permutation>> {
        self.order.as_ref()
    }

    /// The matrix in its given order. A copy, if the hierarchy has another one.
    ///
    /// # Errors
    /// If the copy does not fit into memory.
    pub fn matrix(&self) -> Result<Arc<Csr<f64>>, MatrixError> {
        self.in_given_order(&self.levels[0].a)
    }

    /// The finest matrix for a diagnosis, and the permutation that brings its results into the
    /// level's order. Without a copy, unlike [`matrix`](Self::matrix).
    ///
    /// ```
    /// use ziggurat_amg::{Coarsening, Hierarchy, HierarchyConfig, SmoothedAggregation};
    /// use ziggurat_sparse::gallery::Problem;
    /// let a = "radiation3t:6".parse::<Problem>()?.matrix()?;
    /// let coarsening = Coarsening::Structured(SmoothedAggregation::default());
    /// let hierarchy = Hierarchy::build(&a, &HierarchyConfig { coarsening, ..HierarchyConfig::default() })?;
    /// let (finest, order) = hierarchy.finest_matrix();
    /// assert_eq!((finest.a(), order), (&a.into(), hierarchy.order())); // one unknown after the other
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn finest_matrix(&self) -> (WholeMatrix, Option<&Arc<Permutation>>) {
        match self.levels[0].a.a.in_other_order() {
            Some(a) => (WholeMatrix::new(a.clone(), 1), self.order()),
            None => (self.levels[0].a.clone(), None),
        }
    }

    /// Whether the levels belong to −A.
    ///
    /// ```
    /// use ziggurat_amg::{Hierarchy, HierarchyConfig, negative};
    /// use ziggurat_sparse::gallery::Problem;
    /// let laplacian = negative(&"poisson2d:40".parse::<Problem>()?.matrix()?.into());
    /// let hierarchy = Hierarchy::build(negative(&laplacian), &HierarchyConfig::default())?.of_negative();
    /// assert!(hierarchy.is_negated() && hierarchy.matrix()? == laplacian);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn is_negated(&self) -> bool {
        self.negated
    }

    /// States that the matrix of this hierarchy is the caller's times −1.
    #[must_use]
    pub fn of_negative(self) -> Self {
        Hierarchy { negated: true, ..self }
    }

    /// A matrix of the finest level, such as that before an update, as it was given.
    ///
    /// ```
    /// use ziggurat_amg::{Hierarchy, HierarchyConfig};
    /// use ziggurat_sparse::gallery::Problem;
    /// let a = "poisson2d:40".parse::<Problem>()?.matrix()?;
    /// let mut hierarchy = Hierarchy::build(&a, &HierarchyConfig { reorder: true, ..HierarchyConfig::default() })?;
    /// let (old, mut new) = (hierarchy.levels()[0].distributed_matrix().clone(), a.clone());
    /// new.values_mut().iter_mut().for_each(|value| *value *= 2.0);
    /// hierarchy.update_values(new)?;
    /// assert_eq!(*hierarchy.in_given_order(&old)?, a);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If it has another number of rows, or the copy does not fit into memory.
    pub fn in_given_order(&self, a: &WholeMatrix) -> Result<Arc<Csr<f64>>, MatrixError> {
        let (a, order) = match a.a.in_other_order() {
            Some(a) => (a, None),
            None => (a.a(), self.order()),
        };
        let a = if self.negated { negative(a) } else { a.clone() };
        match order {
            Some(order) => Ok(Arc::new(permute_symmetric(a.view(), &order.inverse())?)),
            None => Ok(a),
        }
    }

    /// P and R between the finest level, in its given order, and the next one. Copies, if the
    /// hierarchy has another order.
    ///
    /// ```
    /// use ziggurat_amg::{Hierarchy, HierarchyConfig};
    /// use ziggurat_sparse::gallery::Problem;
    /// let a = "poisson2d:40".parse::<Problem>()?.matrix()?;
    /// let hierarchy = Hierarchy::build(a, &HierarchyConfig { reorder: true, ..HierarchyConfig::default() })?;
    /// let [p, r] = hierarchy.finest_transfer()?.ok_or("one level")?;
    /// assert_eq!((p.rows(), r.cols()), (1600, 1600));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the copies do not fit into memory.
    pub fn finest_transfer(&self) -> Result<Option<[Arc<Csr<f64>>; 2]>, MatrixError> {
        let finest = &self.levels[0];
        let Some((p, r)) = finest.prolongation().zip(finest.restriction()) else { return Ok(None) };
        let Some(order) = self.order() else { return Ok(Some([p.clone(), r.clone()])) };
        let given = |a: &Csr<f64>| permute_rows(a.view(), &order.inverse());
        let columns = given(&transpose(r.view(), r.all_rows()))?;
        Ok(Some([Arc::new(given(p)?), Arc::new(transpose(columns.view(), columns.all_rows()))]))
    }

    /// States that the matrix of this hierarchy is the finest of another one, and so in its order
    /// and sign.
    ///
    /// ```
    /// use ziggurat_amg::{Hierarchy, HierarchyConfig};
    /// use ziggurat_sparse::gallery::Problem;
    /// let (a, config) = ("poisson2d:40".parse::<Problem>()?.matrix()?, HierarchyConfig::default());
    /// let one = Hierarchy::build(&a, &HierarchyConfig { reorder: true, ..config })?;
    /// let other = Hierarchy::build(one.levels()[0].matrix().clone(), &config)?.in_order_of(&one);
    /// assert_eq!(*other.matrix()?, a);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn in_order_of(self, other: &Hierarchy) -> Self {
        let order = other.order.clone().filter(|order| order.len() == self.levels[0].rows());
        Hierarchy { order, negated: other.negated, ..self }
    }

    /// Coarsens a matrix in a new order.
    pub(super) fn in_new_order(
        a: &Csr<f64>,
        near_kernel: &NearKernel,
        setup: &Setup<'_>,
    ) -> Result<Self, SetupError> {
        let start = Instant::now();
        let stage = trace::stage("ordering", Some(0), a.rows() as u64);
        let block = near_kernel.block();
        let order = breadth_first(a.view(), block)?;
        let near_kernel = near_kernel.in_order(&order)?;
        let ordered = WholeMatrix::new(Arc::new(permute_symmetric(a.view(), &order)?), block);
        drop(stage);
        let seconds = start.elapsed().as_secs_f64();
        let order = Some(Arc::new(order));
        let made = Self::of_matrix(ordered, near_kernel, setup);
        let mut made = made.map_err(|error| in_given_order(error, order.as_ref()))?;
        made.levels[0].stages.insert(0, ("ordering", seconds));
        made.seconds += seconds;
        Ok(Hierarchy { order, ..made })
    }

    /// A matrix of the caller as the finest one: in the order and sign of the levels.
    pub(super) fn as_finest(&self, a: Arc<Csr<f64>>) -> Result<SetupMatrix, MatrixError> {
        let a = if self.negated { negative(&a) } else { a };
        Ok(match self.order() {
            Some(order) if self.levels[0].a.a.in_other_order().is_some() => {
                SetupMatrix::unordered(a, order.clone())
            }
            Some(order) => permute_symmetric(a.view(), order)?.into(),
            None => a.into(),
        })
    }
}

/// −A.
///
/// ```
/// let a = ziggurat_sparse::Csr::identity(3)?;
/// assert_eq!(ziggurat_amg::negative(&a.into()).values(), [-1.0; 3]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn negative(a: &Arc<Csr<f64>>) -> Arc<Csr<f64>> {
    let mut a = Csr::clone(a);
    parallel::over_pieces(a.values_mut(), &|_, values: &mut [f64]| {
        values.iter_mut().for_each(|value| *value = -*value);
    });
    Arc::new(a)
}

impl NearKernel {
    /// The same vectors for renumbered rows.
    fn in_order(&self, order: &Permutation) -> Result<Self, SetupError> {
        let mut vectors = Dense::zeros(self.rows(), self.count())?;
        for (vector, column) in self.vectors().columns().enumerate() {
            order.apply(column, vectors.column_mut(vector))?;
        }
        if let Some(nodes) = self.node_of_rows() {
            return Ok(NearKernel::with_nodes(vectors, nodes.in_order(order)?)?);
        }
        Ok(NearKernel::part(vectors, self.block(), self.is_constant())?)
    }
}

/// An error that names the rows of the finest level by their given numbers.
pub(crate) fn in_given_order(error: SetupError, order: Option<&Arc<Permutation>>) -> SetupError {
    match (order, error) {
        (Some(order), SetupError::Level { level: 0, stage, source }) => {
            let source = in_given_order(*source, Some(order));
            SetupError::Level { level: 0, stage, source: Box::new(source) }
        }
        (Some(order), error) => error.with_rows(|row| order.new_to_old()[row].into()),
        (None, error) => error,
    }
}

#[cfg(test)]
mod tests {
    use ziggurat_sparse::Kind;
    use ziggurat_sparse::device::{Cpu, DeviceExt};
    use ziggurat_sparse::gallery::{Problem, shuffle};
    use ziggurat_sparse::operator::LinearOperator;

    use super::*;
    use crate::interpolate::Symmetry;
    use crate::{Cycling, HierarchyConfig, LevelPrecision, Lowering, MatrixProperties, Multigrid};

    const REORDERED: fn() -> HierarchyConfig =
        || HierarchyConfig { reorder: true, coarse_rows: 50, ..HierarchyConfig::default() };

    fn shuffled(name: &str) -> Csr<f64> {
        let problem: Problem = name.parse().unwrap();
        let a = problem.matrix().unwrap();
        shuffle(a.view(), problem.block_size(), a.rows().try_into().unwrap()).unwrap().0
    }

    fn lowered(hierarchy: &Hierarchy) -> Multigrid {
        let f64 = |_| LevelPrecision::default();
        hierarchy.lower(&Cpu::new(), &Cycling::default(), f64, Lowering::default()).unwrap()
    }

    fn applied(cycle: &dyn LinearOperator, b: &[f64]) -> Vec<f64> {
        let (cpu, mut x) = (Cpu::new(), vec![f64::NAN; b.len()].into());
        cycle.apply(&cpu, &b.to_vec().into(), &mut x, &mut cycle.workspace(&cpu, Kind::F64).unwrap());
        cpu.to_host(x).unwrap()
    }

    #[test]
    fn a_saved_hierarchy_keeps_its_order() {
        let a = shuffled("poisson2d:30");
        let hierarchy = Hierarchy::build(&a, &REORDERED()).unwrap();
        assert_eq!(hierarchy.stages()[0].0, "ordering");
        let mut file = Vec::new();
        hierarchy.save(&mut file).unwrap();
        let loaded = Hierarchy::load(&file[..]).unwrap();
        assert_eq!(loaded.order(), hierarchy.order());
        assert_eq!(*loaded.matrix().unwrap(), a);
        let b: Vec<f64> = (0..900).map(|row| f64::from(row % 7)).collect();
        assert_eq!(applied(&lowered(&loaded), &b), applied(&lowered(&hierarchy), &b));
        // An order that has a row twice.
        let at = file.len() - 8;
        let first = file[at - 8 * 899..at - 8 * 898].to_vec();
        file[at..].copy_from_slice(&first);
        let error = Hierarchy::load(&file[..]).unwrap_err().to_string();
        assert!(error.ends_with("its order does not have every row once"), "{error}");
    }

    #[test]
    fn new_values_are_in_the_given_order_and_so_are_errors() {
        let mut a = shuffled("poisson2d:30");
        let mut hierarchy = Hierarchy::build(&a, &REORDERED()).unwrap();
        let before: Vec<f64> = applied(&lowered(&hierarchy), &[1.0; 900]);
        a.values_mut().iter_mut().for_each(|value| *value *= 4.0);
        hierarchy.update_values(&a).unwrap();
        assert_eq!(*hierarchy.matrix().unwrap(), a);
        let halved = before.iter().map(|x| x / 4.0).collect::<Vec<_>>();
        assert_eq!(applied(&lowered(&hierarchy), &[1.0; 900]), halved);
        // A matrix with another entry in row 77.
        let (given, old) = (hierarchy.matrix().unwrap(), a.row(77).0.to_vec());
        let other = (0..900).find(|column| !old.contains(column)).unwrap();
        let mut entries = ziggurat_sparse::Coo::new(900, 900).unwrap();
        for row in 0..900 {
            for (&column, &value) in a.row(row).0.iter().zip(a.row(row).1) {
                let moved = row == 77 && column == old[0];
                entries.push(row, if moved { other as usize } else { column as usize }, value).unwrap();
            }
        }
        let wrong = entries.to_csr();
        let unordered = Hierarchy::build(given, &HierarchyConfig::default()).unwrap();
        let expected = unordered.check_pattern(&wrong).unwrap_err();
        assert_eq!(hierarchy.check_pattern(&wrong).unwrap_err(), expected);
        // A row without a diagonal entry that is not zero.
        let place = a.row_ptr()[123] + a.row(123).0.iter().position(|&column| column == 123).unwrap();
        a.values_mut()[place] = 0.0;
        let error = Hierarchy::build(&a, &REORDERED()).unwrap_err();
        let zero = MatrixError::ZeroDiagonal { row: 123, value: 0.0 };
        assert_eq!(error.cause(), &SetupError::from(zero));
    }

    #[test]
    fn nodes_and_rigid_body_modes_move_together() {
        let problem: Problem = "elasticity3d:6".parse().unwrap();
        let a = problem.matrix().unwrap();
        let modes = NearKernel::rigid_body_modes(&problem.coordinates().unwrap(), 3).unwrap();
        let known = |near_kernel| MatrixProperties { near_kernel, symmetry: Symmetry::Symmetric, grid: None };
        let blocks = Hierarchy::with_properties(&a, known(modes.clone()), &REORDERED()).unwrap();
        assert_eq!(blocks.levels()[0].block(), 3);
        assert_eq!(*blocks.matrix().unwrap(), a);
        // Transfers can be had in the given order.
        let [p, r] = blocks.finest_transfer().unwrap().unwrap();
        assert_eq!(*r, transpose(p.view(), p.all_rows()));
        let inside = blocks.levels()[0].prolongation().unwrap();
        let order = blocks.order().unwrap();
        for row in 0..a.rows() {
            assert_eq!(p.row(row), inside.row(order.old_to_new()[row] as usize));
        }
        // The same nodes, given row by row.
        let rows = (0..a.rows() as u32).map(|row| row / 3).collect();
        let nodes = crate::coarsen::Aggregates::try_new(a.rows() / 3, rows).unwrap();
        let ragged = NearKernel::with_nodes(modes.vectors().clone(), nodes).unwrap();
        let ragged = Hierarchy::with_properties(&a, known(ragged), &REORDERED()).unwrap();
        assert_eq!(ragged.levels()[1].block(), 6);
        assert_eq!(*ragged.matrix().unwrap(), a);
    }
}

//! A cycle as a linear operator, in the given order of the unknowns and in the order of the levels.
//!
//! ```text
//! y = Πᵀ cycle(Π x), or −Πᵀ cycle(Π x) if the levels belong to −A
//! ```
//!
//! Π renumbers the unknowns as the hierarchy does. An iteration whose matrix and vectors are in the
//! order and sign of the levels needs no Π: it uses [`Multigrid::in_level_order`]. Elsewhere Π is a
//! matrix with a one in each row, so any device can apply it. Cost of Π and Πᵀ: 32 bytes per row,
//! two vectors in the workspace, and two passes over the vectors; of the sign: one pass.

use ziggurat_sparse::device::{Device, DeviceError};
use ziggurat_sparse::graph::Permutation;
use ziggurat_sparse::operator::{LinearOperator, MatrixOperator, Workspace};
use ziggurat_sparse::{Csr, Kind, Real};

use super::Multigrid;
use super::vectors::{WorkMut, WorkRef};
use super::workspace::CycleWork;
use crate::Hierarchy;

impl<D: Device> Multigrid<D> {
    /// States the order of the unknowns of the levels and their sign.
    pub(crate) fn for_caller_of(self, hierarchy: &Hierarchy) -> Self {
        Multigrid { order: hierarchy.order().cloned(), negated: hierarchy.is_negated(), ..self }
    }

    /// The cycle for vectors in the order of the levels, which is the given one unless the
    /// hierarchy [has another](crate::Hierarchy::order), and for the matrix of the finest level,
    /// which may [be −A](crate::Hierarchy::is_negated).
    ///
    /// ```
    /// use ziggurat_amg::{Cycling, Hierarchy, HierarchyConfig, LevelPrecision, Lowering};
    /// use ziggurat_sparse::{device::Cpu, gallery::Problem, operator::LinearOperator};
    /// let (a, cpu) = ("poisson2d:40".parse::<Problem>()?.matrix()?, Cpu::new());
    /// let hierarchy = Hierarchy::build(a, &HierarchyConfig { reorder: true, ..HierarchyConfig::default() })?;
    /// let cycle = hierarchy.lower(&cpu, &Cycling::default(), |_| LevelPrecision::default(), Lowering::default())?;
    /// let given: Vec<f64> = (0..1600).map(f64::from).collect();
    /// let (mut x, mut inside, mut y) = (given.clone(), given.clone(), given.clone());
    /// let mut work = LinearOperator::<Cpu, f64>::workspace(&cycle, &cpu)?;
    /// cycle.apply(&cpu, &given, &mut x, &mut work);
    ///
    /// let (order, cycle) = (hierarchy.order().unwrap(), cycle.in_level_order());
    /// order.apply(&given, &mut inside)?;
    /// let mut work = LinearOperator::<Cpu, f64>::workspace(&cycle, &cpu)?;
    /// cycle.apply(&cpu, &inside, &mut y, &mut work);
    /// order.undo(&y, &mut inside)?;
    /// assert_eq!(inside, x);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn in_level_order(&self) -> InLevelOrder<'_, D> {
        InLevelOrder(self)
    }
}

/// A cycle for vectors in the order of its levels: see [`Multigrid::in_level_order`].
#[derive(Debug)]
pub struct InLevelOrder<'a, D: Device>(&'a Multigrid<D>);

/// The memory of a cycle in another order, and Π and Πᵀ.
struct Renumbered<D: Device, C: Real> {
    work: CycleWork<D>,
    enter: MatrixOperator<D, f32>,
    leave: MatrixOperator<D, f32>,
    b: D::Vector<C>,
    x: D::Vector<C>,
}

impl<D: Device, C: Real> Renumbered<D, C> {
    fn new(device: &D, order: &Permutation, work: CycleWork<D>) -> Result<Self, DeviceError> {
        let matrix = |from: &[u32]| {
            let (rows, ones) = (from.len(), vec![1.0; from.len()]);
            let made = Csr::try_new(rows, rows, (0..=rows).collect(), from.to_vec(), ones);
            let lost = |error| DeviceError::Lost { device: device.name(), reason: format!("{error}") };
            MatrixOperator::new(device, made.map_err(lost)?)
        };
        let [b, x] = [device.zeros(order.len())?, device.zeros(order.len())?];
        Ok(Renumbered { work, enter: matrix(order.new_to_old())?, leave: matrix(order.old_to_new())?, b, x })
    }
}

macro_rules! operator {
    ($t:ty, $variant:ident) => {
        impl<D: Device> LinearOperator<D, $t> for InLevelOrder<'_, D> {
            fn shape(&self) -> (usize, usize) {
                (self.0.rows, self.0.rows)
            }

            fn workspace(&self, _: &D) -> Result<Workspace, DeviceError> {
                Ok(Workspace::new(self.0.make_work(Kind::$variant)?))
            }

            // `device` is the finest level's.
            fn apply(&self, device: &D, x: &D::Vector<$t>, y: &mut D::Vector<$t>, work: &mut Workspace) {
                let (b, x) = (WorkRef::$variant(x), WorkMut::$variant(y));
                self.0.cycle(device, b, x, work.get::<CycleWork<D>>());
            }
        }

        /// In the given order of the unknowns, and for the given sign of the matrix.
        impl<D: Device> LinearOperator<D, $t> for Multigrid<D> {
            fn shape(&self) -> (usize, usize) {
                (self.rows, self.rows)
            }

            fn workspace(&self, device: &D) -> Result<Workspace, DeviceError> {
                let work = self.make_work(Kind::$variant)?;
                Ok(match &self.order {
                    Some(order) => Workspace::new(Renumbered::<D, $t>::new(device, order, work)?),
                    None => Workspace::new(work),
                })
            }

            fn apply(&self, device: &D, x: &D::Vector<$t>, y: &mut D::Vector<$t>, work: &mut Workspace) {
                if self.order.is_none() {
                    self.in_level_order().apply(device, x, y, work);
                } else {
                    let Renumbered { work, enter, leave, b, x: inside } = work.get::<Renumbered<D, $t>>();
                    enter.apply(device, x, b, &mut Workspace::none());
                    self.cycle(device, WorkRef::$variant(b), WorkMut::$variant(inside), work);
                    leave.apply(device, inside, y, &mut Workspace::none());
                }
                if self.negated {
                    let none: &[D::Vector<$t>] = &[];
                    device.combine(&[], none, -1.0, y);
                }
            }
        }
    };
}
operator!(f64, F64);
operator!(f32, F32);

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

use ziggurat_sparse::device::{Device, DeviceError, Vector, Vectors};
use ziggurat_sparse::graph::Permutation;
use ziggurat_sparse::operator::{LinearOperator, MatrixOperator, Workspace};
use ziggurat_sparse::{Csr, Kind};

use super::Multigrid;
use super::workspace::CycleWork;
use crate::Hierarchy;

impl Multigrid {
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
    /// use ziggurat_sparse::device::{Cpu, DeviceExt};
    /// use ziggurat_sparse::{Kind, gallery::Problem, operator::LinearOperator};
    /// let (a, cpu) = ("poisson2d:40".parse::<Problem>()?.matrix()?, Cpu::new());
    /// let hierarchy = Hierarchy::build(a, &HierarchyConfig { reorder: true, ..HierarchyConfig::default() })?;
    /// let cycle = hierarchy.lower(&cpu, &Cycling::default(), |_| LevelPrecision::default(), Lowering::default())?;
    /// let given: Vec<f64> = (0..1600).map(f64::from).collect();
    /// let applied = |cycle: &dyn LinearOperator, b: &[f64]| {
    ///     let (b, mut x) = (cpu.upload(b)?, cpu.upload(b)?);
    ///     cycle.apply(&cpu, &b, &mut x, &mut cycle.workspace(&cpu, Kind::F64)?);
    ///     cpu.to_host::<f64>(x)
    /// };
    /// let x = applied(&cycle, &given)?;
    ///
    /// let order = hierarchy.order().unwrap();
    /// let (mut inside, mut again) = (given.clone(), given.clone());
    /// order.apply(&given, &mut inside)?;
    /// order.undo(&applied(&cycle.in_level_order(), &inside)?, &mut again)?;
    /// assert_eq!(again, x);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn in_level_order(&self) -> InLevelOrder<'_> {
        InLevelOrder(self)
    }
}

/// A cycle for vectors in the order of its levels: see [`Multigrid::in_level_order`].
#[derive(Debug)]
pub struct InLevelOrder<'a>(&'a Multigrid);

/// The memory of a cycle in another order, and Π and Πᵀ.
struct Renumbered {
    work: CycleWork,
    enter: MatrixOperator,
    leave: MatrixOperator,
    b: Vector,
    x: Vector,
}

impl Renumbered {
    fn new(
        device: &dyn Device,
        order: &Permutation,
        number: Kind,
        work: CycleWork,
    ) -> Result<Self, DeviceError> {
        let matrix = |from: &[u32]| {
            let (rows, ones) = (from.len(), vec![1.0_f32; from.len()]);
            let made = Csr::try_new(rows, rows, (0..=rows).collect(), from.to_vec(), ones);
            let lost = |error| DeviceError::Lost { device: device.name(), reason: format!("{error}") };
            MatrixOperator::new(device, made.map_err(lost)?)
        };
        let [b, x] = [device.zeros(number, order.len())?, device.zeros(number, order.len())?];
        Ok(Renumbered { work, enter: matrix(order.new_to_old())?, leave: matrix(order.old_to_new())?, b, x })
    }
}

impl LinearOperator for InLevelOrder<'_> {
    fn shape(&self) -> (usize, usize) {
        (self.0.rows, self.0.rows)
    }

    fn workspace(&self, _: &dyn Device, number: Kind) -> Result<Workspace, DeviceError> {
        Ok(Workspace::new(self.0.make_work(number)?))
    }

    // `device` is the finest level's.
    fn apply(&self, device: &dyn Device, x: &Vector, y: &mut Vector, work: &mut Workspace) {
        self.0.cycle(device, x, y, work.get::<CycleWork>());
    }
}

/// In the given order of the unknowns, and for the given sign of the matrix.
impl LinearOperator for Multigrid {
    fn shape(&self) -> (usize, usize) {
        (self.rows, self.rows)
    }

    fn workspace(&self, device: &dyn Device, number: Kind) -> Result<Workspace, DeviceError> {
        let work = self.make_work(number)?;
        Ok(match &self.order {
            Some(order) => Workspace::new(Renumbered::new(device, order, number, work)?),
            None => Workspace::new(work),
        })
    }

    fn apply(&self, device: &dyn Device, x: &Vector, y: &mut Vector, work: &mut Workspace) {
        if self.order.is_none() {
            self.in_level_order().apply(device, x, y, work);
        } else {
            let Renumbered { work, enter, leave, b, x: inside } = work.get::<Renumbered>();
            enter.apply(device, x, b, &mut Workspace::none());
            self.cycle(device, b, inside, work);
            leave.apply(device, inside, y, &mut Workspace::none());
        }
        if self.negated {
            device.combine(&[], Vectors::NONE, -1.0, y);
        }
    }
}

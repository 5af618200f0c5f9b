//! Lowering of a [`Hierarchy`] that is held by one process.

use ziggurat_sparse::device::Device;

use super::exact::ExactMatrix;
use super::format::{Formats, Lowering};
use super::on_device;
use super::part::{OwnMatrix, Part};
use super::precision::LevelPrecision;
use super::source::LevelSource;
use crate::SetupError;
use crate::hierarchy::storage::SetupMatrix;
use crate::hierarchy::{Hierarchy, in_given_order};
use crate::multigrid::{Cycling, Multigrid};

/// A matrix as lowering reads it.
fn part(a: &SetupMatrix) -> Part<'_> {
    match a {
        SetupMatrix::Rows(_) | SetupMatrix::Unordered(..) | SetupMatrix::OnDevice(..) => Part::from(a.csr()),
        SetupMatrix::Grid(a, ..) => Part::whole(OwnMatrix::Grid(a)),
        SetupMatrix::Transfer(a, _) => Part::whole(OwnMatrix::Transfer(a)),
    }
}

impl Hierarchy {
    /// The finest matrix in the format and precision with the fewest bytes that represent it
    /// exactly, for use in an outer iteration. Every call converts it again.
    ///
    /// ```
    /// use ziggurat_amg::{Formats, Hierarchy, HierarchyConfig};
    /// use ziggurat_sparse::{Kind, gallery::Problem};
    /// let a = "poisson2d:40".parse::<Problem>()?.matrix()?;
    /// let hierarchy = Hierarchy::build(a, &HierarchyConfig::default())?;
    /// assert_eq!(hierarchy.finest(Formats::FewestBytes).storage(), Kind::F32); // 4 and -1
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn finest(&self, formats: Formats) -> ExactMatrix {
        let finest = &self.levels()[0];
        if let SetupMatrix::OnDevice(a, _) = &finest.a.a {
            return ExactMatrix::on_device(a.clone(), finest.matrix().clone(), finest.block(), formats);
        }
        ExactMatrix::of_part(part(&finest.a.a), finest.block(), formats)
    }

    /// Moves the hierarchy to a device. `precision` chooses the precision of each level, `lowering`
    /// how matrices are stored.
    pub fn lower(
        &self,
        device: &dyn Device,
        cycling: &Cycling,
        precision: impl Fn(usize) -> LevelPrecision,
        lowering: Lowering<'_>,
    ) -> Result<Multigrid, SetupError> {
        self.lower_with(&self.finest(lowering.formats), device, cycling, precision, lowering)
    }

    /// As [`Hierarchy::lower`], with the matrix of the outer iteration, which a finest level of the
    /// same precision shares.
    ///
    /// ```
    /// use ziggurat_amg::{Cycling, Hierarchy, HierarchyConfig, LevelPrecision, Lowering};
    /// use ziggurat_sparse::{device::Cpu, gallery::Problem};
    /// let (a, cpu) = ("poisson2d:40".parse::<Problem>()?.matrix()?, Cpu::new());
    /// let hierarchy = Hierarchy::build(a, &HierarchyConfig::default())?;
    /// let lowering = Lowering::default();
    /// let finest = hierarchy.finest(lowering.formats);
    /// let outer = finest.operator(&cpu)?;
    /// let f64 = |_| LevelPrecision::default();
    /// let cycle = hierarchy.lower_with(&finest, &cpu, &Cycling::default(), f64, lowering)?;
    /// assert_eq!(cycle.stored().len(), hierarchy.levels().len());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If a level has no usable diagonal, or the device runs out of memory.
    pub fn lower_with(
        &self,
        finest: &ExactMatrix,
        device: &dyn Device,
        cycling: &Cycling,
        precision: impl Fn(usize) -> LevelPrecision,
        lowering: Lowering<'_>,
    ) -> Result<Multigrid, SetupError> {
        let precision: &dyn Fn(usize) -> LevelPrecision = &precision; // so that the rest is compiled once
        if let Some(multigrid) = on_device::lowered(self, device, cycling, precision, lowering)? {
            return Ok(multigrid.for_caller_of(self));
        }
        self.fetch()?;
        let levels = self.levels().iter().enumerate();
        let sources: Vec<_> = levels
            .map(|(index, level)| LevelSource {
                device,
                a: part(&level.a.a),
                block: level.block(),
                host: (index == 0).then_some(finest),
                radius: level.radius(),
                points: level.points(),
                smoother: None,
                inverse: None,
                first_row: 0,
                transfer: level.transfer().map(|transfer| (part(&transfer.r), part(&transfer.p))),
            })
            .collect();
        let lowered = Multigrid::new(&sources, cycling, precision, lowering);
        Ok(lowered.map_err(|error| in_given_order(error, self.order()))?.for_caller_of(self))
    }
}

//! Smoothed aggregation (Vaněk, Mandel & Brezina, 1996): a coarse node is a set of fine ones, and
//! interpolation is the near-kernel restricted to each aggregate and smoothed once. On request, a
//! few more steps minimise its energy ([`minimise_energy`]).
//!
//! The finest levels may be plain, that is, not smoothed ([`SmoothedAggregation::plain_levels`]).
//! Smoothing makes the coarse matrix denser and its product expensive: on the finest level it takes
//! most of setup. With one plain level iterations grow by up to a factor of two, whatever the size
//! of the matrix, because all other levels are smoothed.
//!
//! Aggregates consist of a root, its neighbours and theirs. With quadratic elements these are so
//! many nodes that without smoothing one value for all of them is too few: `cargo xtask bench
//! fenicsx` took 50 iterations instead of 31. So the aggregates of a scalar plain level grow along
//! the strongest connections only, eight per row on average. So do the aggregates of a smoothed
//! finest level if they would have more than fifty rows on average.
//!
//! In graphs with hubs, such as social networks, smoothing connects everything: a hub is
//! interpolated from the aggregates of all its neighbours. Before the product is formed, its
//! multiplications are counted, and the finest level stays plain if they are too many.

use serde::{Deserialize, Serialize};
use ziggurat_sparse::{Csr, CsrRef, parallel};

use super::bamg::{MOST_STEPS, MOST_VECTORS};
use super::matrix::{Coarser, LevelMatrix};
use super::stages::Stages;
use crate::coarsen::{Aggregates, mis2, node_matrix, node_matrix_of};
use crate::halo::{Halo, Processes, Whole};
use crate::interpolate::{
    LocalTentative, NearKernel, NearKernelError, ProlongationSmoothing, SmoothingScale, TestVectors,
    minimise_energy, smoothed, srqcg,
};
use crate::spectral_radius::spectral_radius;
use crate::strength::{Filter, Strength, strong_connections};
use crate::{OutOfRange, SetupError};

/// The connections per row along which the aggregates of a plain level grow, on average.
const PLAIN_CONNECTIONS: f64 = 8.0;

/// The largest average number of rows per aggregate on the finest level, if it is scalar.
const LARGEST_AGGREGATES: u64 = 50;

/// The multiplications per entry of the finest matrix that its Galerkin product may take. Meshes
/// take 7 to 37 (quadratic tetrahedra), random graphs and those with hubs 49 to 277. Of these,
/// smoothing saves at most two iterations of twelve, for levels with 2 to 8 times the entries.
const MOST_WORK: u64 = 45;

/// Number of rows per task.
const ROWS: usize = 4096;

/// Smoothed aggregation: MIS-2 aggregates, tentative interpolation of the near-kernel, smoothed
/// once.
///
/// ```
/// use ziggurat_amg::SmoothedAggregation;
/// assert_eq!(SmoothedAggregation::default().damping, 4.0 / 3.0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SmoothedAggregation {
    /// Which connections aggregates grow along. On scalar plain levels, of those above a threshold
    /// at most eight per row on average, the strongest.
    pub strength: Strength,
    /// Interpolation is smoothed along connections of at least this fraction of the largest in each
    /// row.
    pub filter: f64,
    /// The damping of interpolation smoothing: ω ρ(D⁻¹A), between 0 and 2. The standard value is
    /// 4/3.
    pub damping: f64,
    /// The number of finest levels whose interpolation is not smoothed. One plain level makes setup
    /// cheaper and takes up to twice the iterations; more cost more iterations than they save. By
    /// default none, except where smoothing would make the next level too dense; a solver's
    /// configuration chooses by its `effort`.
    pub plain_levels: Option<usize>,
    /// The steps that minimise the energy of interpolation once it is smoothed, for symmetric
    /// matrices. By default none; a solver's configuration chooses by the matrix.
    pub energy_steps: Option<usize>,
    /// The number of near-kernel vectors on the finest level, if it is larger than that of the
    /// given ones: all are then improved by `test_steps` steps of SRQCG. By default only those
    /// given; a solver's configuration chooses by the matrix.
    pub test_vectors: Option<usize>,
    /// The steps of SRQCG.
    pub test_steps: usize,
}

impl Default for SmoothedAggregation {
    fn default() -> Self {
        let strength = Strength { filter: Filter::Threshold(0.015), ..Strength::symmetric() };
        SmoothedAggregation {
            strength,
            filter: 0.1,
            damping: 4.0 / 3.0,
            plain_levels: None,
            energy_steps: None,
            test_vectors: None,
            test_steps: 10,
        }
    }
}

impl SmoothedAggregation {
    /// Checks that every parameter is in its range.
    ///
    /// ```
    /// use ziggurat_amg::SmoothedAggregation;
    /// let error = SmoothedAggregation { damping: 3.0, ..Default::default() }.check().unwrap_err();
    /// assert_eq!(error.to_string(), "`damping` is 3.0; it must be from 0.0 to 2.0");
    /// ```
    ///
    /// # Errors
    /// The first that is not.
    pub fn check(&self) -> Result<(), OutOfRange> {
        let SmoothedAggregation { strength, filter, damping, energy_steps, test_vectors, test_steps, .. } =
            *self;
        strength.check().map_err(|error| error.within("strength"))?;
        OutOfRange::unless_in("filter", filter, 0.0..=1.0)?;
        OutOfRange::unless_in("damping", damping, 0.0..=2.0)?;
        OutOfRange::unless_in("energy_steps", energy_steps.unwrap_or(0), 0..=MOST_STEPS)?;
        OutOfRange::unless_in("test_vectors", test_vectors.unwrap_or(0), 0..=MOST_VECTORS)?;
        OutOfRange::unless_in("test_steps", test_steps, 0..=MOST_STEPS)
    }

    /// How interpolation is smoothed if ρ(D⁻¹A) is `radius`.
    ///
    /// ```
    /// use ziggurat_amg::SmoothedAggregation;
    /// assert_eq!(SmoothedAggregation::default().smoothing(2.0).filter, 0.1);
    /// ```
    pub fn smoothing(&self, radius: f64) -> ProlongationSmoothing {
        ProlongationSmoothing {
            damping: self.damping,
            scaling: SmoothingScale::SpectralRadius(radius),
            filter: self.filter,
        }
    }

    /// One step from level `level` to the next. Reads the rows of neighbours.
    pub(super) fn coarser<M: LevelMatrix>(
        &self,
        a: &M,
        kernel: &NearKernel,
        level: usize,
        stages: &mut Stages,
    ) -> Result<Coarser, SetupError> {
        let wide = &*a.extended(1)?;
        let count = self.test_vectors.filter(|&count| level == 0 && count > kernel.count());
        let found = match count {
            None => None,
            Some(count) => {
                Some(stages.run("test vectors", &a.rows(), || self.near_kernel(a, kernel, count))?)
            }
        };
        let kernel = found.as_ref().unwrap_or(kernel);
        let (halo, own) = (wide.rows(), wide.rows().owned());
        let ragged = kernel.node_of_rows();
        let nodes = stages.run("strength", &halo, || nodes(wide, kernel))?;
        let nodes = nodes.as_ref().map_or(wide.view(), Csr::view);
        let is_plain = level < self.plain_levels.unwrap_or(0);
        let is_scalar = a.block() == 1 && ragged.is_none();
        let is_finest = level == 0 && is_scalar && kernel.count() == 1;
        let mut tentative = self.tentative(wide, nodes, kernel, is_plain && is_scalar, stages)?;
        if is_finest && !is_plain && are_too_large(&tentative, &halo) {
            tentative = self.tentative(wide, nodes, kernel, true, stages)?;
        }
        let plain = |tentative: LocalTentative, stages: &mut Stages| -> Result<Coarser, SetupError> {
            let p = stages.run("interpolation", &halo, || {
                tentative.tentative.rows_of_matrix(&tentative.aggregates, halo.owned())
            })?;
            Ok(Coarser::by_aggregation(p, tentative, kernel.count(), None))
        };
        if is_plain {
            return plain(tentative, stages);
        }
        let radius = stages.run("spectral radius", &a.rows(), || spectral_radius(a.view(), &a.rows()))?;
        let p = stages.run("interpolation", &halo, || {
            let LocalTentative { aggregates, tentative, .. } = &tentative;
            let smoothing = self.smoothing(radius);
            match ragged {
                // Weak connections are those between nodes, which single entries do not show.
                Some(_) => {
                    let smoothing = ProlongationSmoothing { filter: 0.0, ..smoothing };
                    smoothed(wide.view(), own, wide.view(), aggregates, tentative, &smoothing)
                }
                None => smoothed(wide.view(), own, nodes, aggregates, tentative, &smoothing),
            }
        })?;
        if is_finest && is_too_dense(wide.view(), &p, &halo) {
            return plain(tentative, stages);
        }
        let p = match self.energy_steps.unwrap_or(0) {
            0 => p,
            steps => stages
                .run("energy", &halo, || minimise_energy(wide.view(), &halo, p, &tentative, kernel, steps))?,
        };
        Ok(Coarser::by_aggregation(p, tentative, kernel.count(), Some(radius)))
    }

    /// Aggregates and their tentative interpolation. Aggregates grow along fewer connections if
    /// that is asked for.
    fn tentative<M: LevelMatrix>(
        &self,
        wide: &M,
        nodes: CsrRef<'_, f64>,
        kernel: &NearKernel,
        fewer: bool,
        stages: &mut Stages,
    ) -> Result<LocalTentative, SetupError> {
        let (halo, strength) = (wide.rows(), self.strength_of(fewer));
        let aggregates = match kernel.node_of_rows() {
            Some(ragged) => {
                let whole = Whole::new(ragged.count());
                ragged.joined_by(&aggregates(nodes, &strength, &whole, &halo, stages)?)
            }
            None => aggregates(nodes, &strength, &wide.nodes(), &halo, stages)?,
        };
        let tentative = stages.run("tentative interpolation", &halo, || {
            LocalTentative::new(aggregates, kernel, &wide.nodes())
        })?;
        Ok(tentative)
    }

    /// The near-kernel with more vectors, found by SRQCG.
    fn near_kernel<M: LevelMatrix>(
        &self,
        a: &M,
        known: &NearKernel,
        count: usize,
    ) -> Result<NearKernel, SetupError> {
        let halo = a.rows();
        let start = TestVectors::start(a.view(), known, count, &halo);
        let vectors = srqcg(a.view(), &halo, start, self.test_steps)?;
        let own: Vec<u32> = halo.owned().map(|row| row as u32).collect();
        Ok(known.with_vectors(vectors.at(&own)?))
    }

    /// Which connections aggregates grow along; `fewer` on scalar plain levels, and where
    /// aggregates would be too large.
    pub(super) fn strength_of(&self, fewer: bool) -> Strength {
        let filter = match self.strength.filter {
            Filter::Threshold(threshold) if fewer => Filter::Strongest { threshold, most: PLAIN_CONNECTIONS },
            filter => filter,
        };
        Strength { filter, ..self.strength }
    }
}

/// Whether aggregates of scalar rows are so large that smoothing does not make up for them.
/// Collective.
fn are_too_large(tentative: &LocalTentative, halo: &impl Halo) -> bool {
    let joined = tentative.aggregates.of()[halo.owned()].iter().filter(|&&of| of != Aggregates::NONE);
    let mut rows = [joined.count() as u64];
    halo.sum(&mut rows);
    let aggregates = tentative.coarse.global;
    aggregates > 0 && rows[0] > LARGEST_AGGREGATES * aggregates
}

/// Whether the Galerkin product with the own rows `p` of an interpolation takes too many
/// multiplications per entry of the matrix. Collective.
fn is_too_dense<H: Processes>(a: CsrRef<'_, f64>, p: &Csr<f64>, halo: &H) -> bool {
    let own = halo.owned();
    let mut lengths = vec![0_u64; halo.local()];
    for (length, row) in lengths[own.clone()].iter_mut().zip(p.all_rows()) {
        *length = p.row(row).0.len() as u64;
    }
    halo.exchange(&mut lengths);
    let of_row = |row: usize| {
        let neighbours = a.row(row).0.iter().map(|&column| lengths[column as usize]).sum::<u64>();
        [lengths[row] * neighbours, a.row(row).0.len() as u64]
    };
    let add = |one: [u64; 2], other: [u64; 2]| [one[0] + other[0], one[1] + other[1]];
    let parts = parallel::map_pieces(own, ROWS, &|rows| rows.map(of_row).fold([0; 2], add));
    let mut totals = parts.into_iter().fold([0; 2], add);
    halo.sum(&mut totals);
    totals[0] > MOST_WORK * totals[1]
}

/// Aggregates of the nodes whose matrix is `nodes`.
fn aggregates<H: Processes>(
    nodes: CsrRef<'_, f64>,
    strength: &Strength,
    halo: &H,
    rows: &impl Processes,
    stages: &mut Stages,
) -> Result<Aggregates, SetupError> {
    let strong =
        stages.run("strength", rows, || strong_connections(nodes, nodes.all_rows(), strength, &[], halo))?;
    stages.run("coarsening", rows, || mis2(&strong, Some(nodes), halo))
}

/// The matrix of nodes; `None` if the matrix is scalar, so that its rows are the nodes.
pub(super) fn nodes<M: LevelMatrix>(a: &M, kernel: &NearKernel) -> Result<Option<Csr<f64>>, SetupError> {
    match (kernel.node_of_rows(), a.block()) {
        (Some(_), _) if !a.rows().is_whole() => Err(NearKernelError::Distributed.into()),
        (Some(nodes), _) => Ok(Some(node_matrix_of(a.view(), nodes)?)),
        (None, 1) => Ok(None),
        (None, block) => Ok(Some(node_matrix(a.view(), block, 0..a.nodes().local())?)),
    }
}

//! The meaning of `auto` for a given matrix.
//!
//! | choice | condition | result | reason |
//! |---|---|---|---|
//! | method | `setup = "device"` | `sa` | devices make its levels, with few iterations |
//! | | a saddle point whose factors may fit into memory; no smoother or Krylov method given | `direct` | multigrid suits its blocks, not the whole matrix |
//! | | a symmetric saddle point | `classical` | its smoother needs no diagonal, and MINRES solves indefinite systems |
//! | | a structured grid; symmetric, positive diagonal, many entries | `structured` | the cheapest setup, and levels without indices |
//! | | symmetric M-matrix, connections differ by orders of magnitude | `classical` | it follows strong connections where aggregates cannot: a third to a sixth of the iterations |
//! | | symmetric | `sa` | few entries on coarse levels; preserves the near-null space |
//! | | cells with one pressure each, not symmetric | `cpr` | the pressure couples all cells, the other unknowns do not |
//! | | not symmetric, one unknown per node, positive diagonal, most couplings one-way | `air` | where information flows in one direction, the transpose of interpolation is not a good restriction |
//! | | else | `classical` | its interpolation depends only on the entries of the row |
//! | reorder | large, rows refer to scattered columns; not `structured`, `cpr` or `direct`, setup on the host | `on` | setup and products wait for memory otherwise |
//! | | else | `off` | the given order is as good, or needed |
//! | smoother, sweeps | `cpr` | `ilu0` by cells after the correction of the pressures, `gauss-seidel` for these | the second stage of CPR |
//! | | `air` | `fc-jacobi` after the correction, nothing before it | an ideal restriction leaves the error in the fine rows |
//! | nodes of `ilu0` | not symmetric | the unknowns of a node or cell | the equations of a node may be in any order and in any units |
//! | smoother | a symmetric saddle point | `l1-chebyshev`, with `none` `l1-jacobi` | its steps need no diagonal, and it is positive, as MINRES needs |
//! | | method `none`: symmetric, positive diagonal | `fsai` | without coarse levels it has to be strong |
//! | | method `none`, else | `ilu0` | it needs no symmetry |
//! | krylov, precision | method `direct` | `fgmres`, `f64` | a few iterations correct the rounding errors of the factors |
//! | plain levels | `sa`, symmetric, many entries, `effort = "few-solves"` | 1 | a cheaper setup, up to twice the iterations |
//! | | else | 0 | the fewest iterations |
//! | energy steps | `sa`, symmetric, positive diagonal, several unknowns per node, setup on the host | 2 | one smoothing step is too few on irregular meshes |
//! | test vectors | `sa`, most couplings positive, one unknown per node | 2 | constants are not all that smoothing leaves |
//! | rows of the coarsest level | `sa`, several unknowns per node, many entries | 1000 | a few nodes represent a slender body badly |
//! | | else | 300 | the inverse costs next to nothing |
//! | smoother | classical; symmetric, positive diagonal | `l1-chebyshev` | fewer iterations than Gauss–Seidel, in 16 bits |
//! | | not symmetric, or classical | `gauss-seidel` | effective for convection; a safe damping of Jacobi is known only for a symmetric spectrum |
//! | | `sa`, most couplings positive, as in a mass matrix | `fsai` | Jacobi leaves error components that coarse levels cannot represent |
//! | | several unknowns per node | `chebyshev` | D⁻¹A of a coupled system has a wide spectrum, of which one damped Jacobi sweep removes little |
//! | | the same, with plain levels | `l1-chebyshev` | plain aggregation has not estimated the spectrum |
//! | | structured, no damping given | `l1-chebyshev` | on a grid the ℓ1 bound of the spectrum is sharp, and setup estimates none |
//! | | else | `jacobi` | the cheapest, and sufficient |
//! | its degree and ratio, unless set | `l1-chebyshev` with plain levels | 3, 12 | plain interpolation leaves more of the spectrum to the smoother; a fifth fewer iterations for the same time |
//! | cycle | pairwise | `k` | with plain aggregation, V-cycle convergence degrades with every level |
//! | | `k`, but not symmetric or without a positive diagonal | `k-gcr` | conjugate gradients require a positive definite matrix |
//! | | else | `v` | the cheapest |
//! | krylov | `basis` is not `f64` | `fgmres` | it has a basis to compress |
//! | | a symmetric saddle point; l1 smoothing | `minres`, the coarsest level smoothed | the matrix is indefinite, the cycle positive |
//! | | `spai` | `fgmres` | a sparse approximate inverse is not symmetric |
//! | | symmetric, positive diagonal; symmetric cycle | `cg` | the cheapest |
//! | | symmetric, positive diagonal; another cycle | `fcg` | the preconditioner may differ between iterations |
//! | | else | `fgmres` | makes no assumptions about matrix or cycle |
//! | precision | `air`, many entries | `f16` | Jacobi of fine rows tolerates rounding; the solve monitors it |
//! | | Gauss–Seidel | `f64` | its levels are stored in CSR, where f16 saves little time |
//! | | not symmetric, or without a positive diagonal | `f64` | how much rounding the cycle tolerates cannot be predicted |
//! | | few entries | `f64` | the hierarchy fits in the caches, so nothing is gained |
//! | | else | `f16` | a quarter of the bytes; the solve monitors convergence and raises the precision if rounding slows it |
//! | | `f64` on a device without it | `f32` | the outer iteration is in `f64` regardless, on the host |

use ziggurat_amg::smoother::MAX_BLOCK;
use ziggurat_amg::{Cells, HierarchyConfig, SetupError};

use super::decide::{self, LARGE};
use super::{
    Basis, Coarsest, ConfigError, CycleKind, Effort, Krylov, LevelSettings, Method, Precision, Reorder,
    SetupPlace, SmootherKind, SmootherParameters, SolverConfig, Visits,
};

/// The properties that determine `auto`.
///
/// ```
/// use ziggurat::config::MatrixFacts;
/// let facts = MatrixFacts { symmetric: true, positive_diagonal: true, negated: false, heterogeneous: false, positive_couplings: false, one_way: false, saddle_point: false, factors: true, block: 3, grid: false, cells: None, scattered: false, nnz: 1000, f64: true, gpu: false };
/// assert_eq!(ziggurat::SolverConfig::default().resolve(facts).smoother.kind.name(), "chebyshev");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MatrixFacts {
    /// a_ij = a_ji, up to rounding.
    pub symmetric: bool,
    /// Every diagonal entry is positive.
    pub positive_diagonal: bool,
    /// Whether these are the properties of −A, which is solved in place of a negative definite A.
    pub negated: bool,
    /// An M-matrix whose connections differ by orders of magnitude.
    pub heterogeneous: bool,
    /// Symmetric, and most couplings have the sign of the diagonal, as in a mass matrix.
    pub positive_couplings: bool,
    /// Most couplings of most rows act in one direction, as in transport.
    pub one_way: bool,
    /// Whether it looks like a saddle point: a symmetric pattern, and zeros on the diagonal.
    pub saddle_point: bool,
    /// Whether its factors may fit into memory; false for ranks, and for more than 1000 rows
    /// without the feature `direct`.
    pub factors: bool,
    /// Number of unknowns per node.
    pub block: usize,
    /// Whether it is the matrix of a structured grid.
    pub grid: bool,
    /// The cells of a reservoir system, held by one process.
    pub cells: Option<Cells>,
    /// Whether it is large and its rows refer to scattered columns; held by one process.
    pub scattered: bool,
    /// Number of entries.
    pub nnz: usize,
    /// Whether the device supports double precision.
    pub f64: bool,
    /// Whether the device has memory of its own, as GPUs have, and processes all rows at once.
    pub gpu: bool,
}

/// Degree and ratio of Chebyshev smoothing with plain levels and several unknowns per node.
const PLAIN_CHEBYSHEV: (usize, f64) = (3, 12.0);

/// The rows of a level that is inverted, if its nodes have several unknowns. 300 rows would be 50
/// nodes with rigid-body modes, which represent a slender body badly: crank_elas3d takes 50
/// iterations with them, and 36 with these. The inverse costs a few hundredths of a second, which
/// large matrices are worth.
const COARSE_ROWS_OF_NODES: usize = 1000;

impl SolverConfig {
    /// Replaces every `auto`. A symmetric matrix with a negative diagonal is solved as −A, and the
    /// choices are those for −A:
    ///
    /// - method: `sa` if levels are made on a device; else `direct` for a saddle point whose
    ///   factors may fit into memory, and `classical` for a symmetric one; else `structured` if the
    ///   matrix is large, symmetric with a positive diagonal, and from a structured grid; else
    ///   `classical` if it is a symmetric M-matrix whose connections differ by orders of magnitude;
    ///   else `sa` if symmetric; else `cpr` if it has cells with one pressure each, else `air` if
    ///   most couplings act in one direction, else `classical`;
    /// - reorder: `on` if the matrix is large and its rows refer to scattered columns, except with
    ///   `structured`, `cpr` and `direct` and on devices, else `off`;
    /// - plain levels of smoothed aggregation: one if the matrix is large and symmetric and few
    ///   systems are solved with it ([`Effort`]), else none;
    /// - smoother: for a symmetric saddle point `l1-jacobi` with `none` and `l1-chebyshev` with
    ///   multigrid; else `fsai` with `none` if the matrix is symmetric with a positive diagonal,
    ///   else `ilu0`; `fsai` with `bamg`; `l1-chebyshev` with `classical` if it is symmetric with a
    ///   positive diagonal, else `gauss-seidel`; `fc-jacobi` with `air`, after the correction only;
    ///   `gauss-seidel` with the other methods if it is nonsymmetric (on a GPU `l1-jacobi`
    ///   instead); else `fsai` with `sa` if most couplings are positive; else `chebyshev` with
    ///   several unknowns per node (`l1-chebyshev` with plain levels, of degree 3 and ratio 12
    ///   unless these are set), else `l1-chebyshev` with `structured`, unless a damping is given,
    ///   else `jacobi`;
    /// - test vectors of smoothed aggregation: two if most couplings are positive, else none;
    /// - cycle: `k` with `pairwise`, else `v`; `k` becomes `k-gcr` if the matrix is not symmetric
    ///   with a positive diagonal;
    /// - krylov: `fgmres` with `direct`, `air` or `spai` and if a compressed basis is given; else
    ///   `minres` for a symmetric saddle point with these smoothers, whose coarsest level is then
    ///   smoothed; else `cg` if the
    ///   matrix is symmetric with a positive diagonal and the cycle is symmetric, `fcg` if only the
    ///   cycle is nonsymmetric, else `fgmres`;
    /// - precision: `f16` if the matrix is large, has a positive diagonal, and is symmetric (with
    ///   `air` it need not be), and the smoother is not Gauss–Seidel, else `f64`. On a device
    ///   without `f64`, `f32` replaces `f64`, also if it was requested.
    ///
    /// ```
    /// use ziggurat::{SolverConfig, config::{MatrixFacts, Method}};
    /// let convection = MatrixFacts { symmetric: false, positive_diagonal: true, negated: false, heterogeneous: false, positive_couplings: false, one_way: false, saddle_point: false, factors: true, block: 1, grid: true, cells: None, scattered: false, nnz: 1000, f64: true, gpu: false };
    /// let config = SolverConfig::default().resolve(convection);
    /// assert_eq!((config.method, config.krylov.name()), (Method::Classical, "fgmres"));
    /// ```
    #[must_use]
    pub fn resolve(&self, facts: MatrixFacts) -> SolverConfig {
        let mut config = self.clone();
        if config.method == Method::Auto {
            config.method = decide::method(&config, facts).0;
        }
        if config.reorder == Reorder::Auto {
            config.reorder = decide::reorder(&config, facts).0;
        }
        if config.method == Method::Cpr {
            config.decouple_cells(facts);
        }
        let usual = Visits::default();
        let open = config.smoother.kind == SmootherKind::Auto && config.levels.is_empty();
        if config.method == Method::Air && open && config.cycle.pre_sweeps == usual.pre_sweeps {
            config.cycle.pre_sweeps = 0;
        }
        if config.sa.plain_levels.is_none() {
            let plain = config.method == Method::Sa
                && config.effort == Effort::FewSolves
                && facts.symmetric
                && facts.nnz >= LARGE;
            config.sa.plain_levels = Some(usize::from(plain));
        }
        if config.smoother.kind == SmootherKind::Auto {
            config.smoother.kind = decide::smoother(&config, facts).0;
            let usual = SmootherParameters::default();
            let is_set = (config.smoother.degree, config.smoother.ratio) != (usual.degree, usual.ratio);
            if config.method == Method::Sa && config.smoother.kind == SmootherKind::L1Chebyshev && !is_set {
                (config.smoother.degree, config.smoother.ratio) = PLAIN_CHEBYSHEV;
            }
        }
        let of_nodes = config.method == Method::Sa && facts.block > 1 && facts.nnz >= LARGE;
        let usual = HierarchyConfig::default().coarse_rows;
        config.hierarchy.coarse_rows.get_or_insert(if of_nodes { COARSE_ROWS_OF_NODES } else { usual });
        if config.sa.energy_steps.is_none() {
            config.sa.energy_steps = Some(decide::energy_steps(&config, facts).0);
        }
        if config.sa.test_vectors.is_none() {
            config.sa.test_vectors = Some(decide::test_vectors(&config, facts).0);
        }
        // The unknowns of a node decide about pivots where the matrix is not symmetric.
        let unknowns = config.cpr.unknowns.filter(|_| config.method == Method::Cpr).unwrap_or(facts.block);
        let node_rows = if facts.symmetric { 1 } else { unknowns.min(MAX_BLOCK) };
        let of_levels = config.levels.iter_mut().filter_map(|level| level.smoother.as_mut());
        for smoother in of_levels.filter(|smoother| smoother.kind == SmootherKind::Auto) {
            smoother.kind = config.smoother.kind;
        }
        config.smoother.node_rows.get_or_insert(node_rows);
        if config.cycle.kind == CycleKind::Auto {
            config.cycle.kind = decide::cycle(&config).0;
        }
        if config.cycle.kind == CycleKind::K && !facts.is_positive() {
            config.cycle.kind = CycleKind::KGcr;
        }
        if config.precision == Precision::Auto {
            config.precision = decide::precision(&config, facts).0;
        }
        if !facts.f64 {
            config.precision = config.precision.without_f64();
        }
        if config.krylov == Krylov::Auto {
            config.krylov = decide::krylov(&config, facts).0;
        }
        if config.hierarchy.coarsest == Coarsest::Auto {
            config.hierarchy.coarsest = decide::coarsest(&config, facts);
        }
        config
    }

    /// The facts that still hold if the order of the unknowns is to change.
    pub(super) fn reordered(&self, facts: MatrixFacts) -> MatrixFacts {
        match self.reorder {
            Reorder::On => MatrixFacts { grid: false, cells: None, ..facts },
            _ => facts,
        }
    }

    /// The choices of `cpr`: the cells, and block ILU(0) after the pressure's correction, which
    /// Gauss–Seidel smooths.
    fn decouple_cells(&mut self, facts: MatrixFacts) {
        let known = facts.cells.filter(|cells| self.cpr.unknowns.is_none_or(|given| given == cells.unknowns));
        if let Some(Cells { unknowns, pressure }) = known {
            self.cpr.unknowns = Some(unknowns);
            self.cpr.pressure.get_or_insert(pressure);
        }
        if self.smoother.kind == SmootherKind::Auto {
            if self.levels.is_empty() {
                let (kind, usual) = (SmootherKind::GaussSeidel, Visits::default());
                let smoother = Some(SmootherParameters { kind, ..self.smoother });
                let [pre_sweeps, post_sweeps] = [self.cycle.pre_sweeps, self.cycle.post_sweeps].map(Some);
                self.levels = vec![LevelSettings { from: 1, smoother, pre_sweeps, post_sweeps }];
                if self.cycle.pre_sweeps == usual.pre_sweeps {
                    self.cycle.pre_sweeps = 0;
                }
            }
            self.smoother.kind = SmootherKind::Ilu0;
            self.smoother.omega.get_or_insert(1.0);
        }
    }

    /// Checks that the choices apply to the matrix.
    ///
    /// ```
    /// use ziggurat::{SolverConfig, config::{MatrixFacts, SmootherKind}};
    /// let convection = MatrixFacts { symmetric: false, positive_diagonal: true, negated: false, heterogeneous: false, positive_couplings: false, one_way: false, saddle_point: false, factors: true, block: 1, grid: true, cells: None, scattered: false, nnz: 1000, f64: true, gpu: false };
    /// let mut config = SolverConfig::default();
    /// config.smoother.kind = SmootherKind::Fsai;
    /// let error = config.check_for(convection).unwrap_err();
    /// assert!(error.to_string().ends_with("`fsai` needs a symmetric matrix with a positive diagonal; choose ilu0"));
    /// ```
    ///
    /// # Errors
    /// If a smoother, `bamg`, `sa.energy_steps` or setup on the device needs a symmetric matrix
    /// with a positive diagonal and this one is not, the method needs cells and none are known, the
    /// smoother does not fit the method, or a basis is to be compressed on a GPU.
    pub fn check_for(&self, facts: MatrixFacts) -> Result<(), ConfigError> {
        if self.method == Method::Cpr && self.cpr.unknowns.is_none() {
            let reason = SetupError::NoCells.to_string();
            return Err(ConfigError::Value { path: "method".into(), reason });
        }
        let keeps_rows = matches!(self.method, Method::Air | Method::Classical);
        if !keeps_rows && self.smoother_kinds().any(|kind| kind == SmootherKind::FcJacobi) {
            let reason = "`fc-jacobi` needs coarse rows among the fine ones; choose method air or classical";
            return Err(ConfigError::Value { path: "smoother.kind".into(), reason: reason.into() });
        }
        if !facts.is_positive() && self.smoother_kinds().any(|kind| kind == SmootherKind::Fsai) {
            let reason = "`fsai` needs a symmetric matrix with a positive diagonal; choose ilu0";
            return Err(ConfigError::Value { path: "smoother.kind".into(), reason: reason.into() });
        }
        if self.method == Method::Bamg && !facts.is_positive() {
            let reason = "`bamg` needs a symmetric matrix with a positive diagonal; choose classical";
            return Err(ConfigError::Value { path: "method".into(), reason: reason.into() });
        }
        let aggregates = matches!(self.method, Method::Sa | Method::Structured);
        if aggregates && self.sa.energy_steps.unwrap_or(0) > 0 && !facts.is_positive() {
            let reason = "energy is minimised for symmetric matrices with a positive diagonal; leave it out";
            return Err(ConfigError::Value { path: "sa.energy_steps".into(), reason: reason.into() });
        }
        if self.setup == SetupPlace::Device && self.method == Method::Sa && !facts.is_positive() {
            let reason = "the method `sa` on a device needs a symmetric matrix with a positive diagonal; \
                          choose `classical` or `pairwise`, or leave it at host";
            return Err(ConfigError::Value { path: "setup".into(), reason: reason.into() });
        }
        if facts.gpu && self.basis != Basis::F64 {
            let reason = "GPUs do not compress vectors yet; leave it at f64, or solve on a CPU";
            return Err(ConfigError::Value { path: "basis".into(), reason: reason.into() });
        }
        Ok(())
    }
}

//! The decisions behind `auto`, each with its reason.
//!
//! Every function is one row of choices: it returns what is chosen for a matrix, and why. The
//! reason is for reports; [`SolverConfig::resolve`] uses the choice alone.

use serde::Serialize;

use super::{
    Basis, Coarsest, CycleKind, Krylov, MatrixFacts, Method, Precision, Reorder, SetupPlace, SmootherKind,
    SolverConfig,
};

/// Minimum number of entries of a large matrix, a few megabytes: a smaller one stays in the caches,
/// so that neither reduced precision nor a cheaper setup saves much.
pub(super) const LARGE: usize = 200_000;

/// A choice that the configuration left open, and the reason for what was chosen.
///
/// ```
/// let a = ziggurat_sparse::Csr::identity(3)?;
/// let solver = ziggurat::Solver::builder().build(&a)?;
/// let decision = &solver.decisions()[0];
/// assert_eq!((decision.key, &*decision.value), ("method", "sa"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Decision {
    /// The key of the configuration.
    pub key: &'static str,
    /// Its value.
    pub value: String,
    /// Why.
    pub reason: &'static str,
}

impl MatrixFacts {
    /// Symmetric with a positive diagonal, and so probably positive definite.
    pub(super) fn is_positive(&self) -> bool {
        self.symmetric && self.positive_diagonal
    }

    /// Symmetric, and a saddle point.
    fn is_symmetric_saddle(&self) -> bool {
        self.symmetric && self.saddle_point
    }
}

pub(super) fn method(config: &SolverConfig, facts: MatrixFacts) -> (Method, &'static str) {
    let facts = config.reordered(facts);
    // Factors have neither a smoother nor a Krylov method that someone may have chosen.
    let is_open = config.krylov == Krylov::Auto && config.smoother.kind == SmootherKind::Auto;
    let is_open = is_open && config.hierarchy.coarsest == Coarsest::Auto && config.reorder != Reorder::On;
    let may_factorise = facts.factors && is_open && config.setup == SetupPlace::Host;
    match facts.symmetric {
        _ if facts.saddle_point && may_factorise => (
            Method::Direct,
            "a saddle point: multigrid suits its blocks, not the whole matrix, so factors come first",
        ),
        true if facts.saddle_point => (
            Method::Classical,
            "a saddle point that is not factorised: l1 smoothing of its levels needs no diagonal",
        ),
        _ if config.setup == SetupPlace::Device => match facts.is_positive() {
            true => (Method::Sa, "devices make its levels, with few iterations"),
            false => (Method::Classical, "devices make its levels for any matrix"),
        },
        true if facts.grid && facts.is_positive() && facts.nnz >= LARGE => {
            (Method::Structured, "the matrix is that of a structured grid: the cheapest setup, no indices")
        }
        true if facts.heterogeneous && facts.block == 1 => (
            Method::Classical,
            "connections differ by orders of magnitude, and coarse points follow the strong ones",
        ),
        true => (Method::Sa, "the matrix is symmetric: few entries on coarse levels"),
        false if facts.cells.is_some() => {
            (Method::Cpr, "cells with one pressure each: the pressure couples all cells, the others do not")
        }
        false if facts.one_way && facts.block == 1 && facts.positive_diagonal => {
            (Method::Air, "most couplings act in one direction, so restriction must follow the flow")
        }
        false => (Method::Classical, "the matrix is not symmetric: interpolation follows each row alone"),
    }
}

pub(super) fn reorder(config: &SolverConfig, facts: MatrixFacts) -> (Reorder, &'static str) {
    match facts.scattered && !config.method.keeps_order() && config.setup == SetupPlace::Host {
        true => (Reorder::On, "rows refer to scattered columns, and every pass would wait for memory"),
        false => (Reorder::Off, "the given order"),
    }
}

pub(super) fn smoother(config: &SolverConfig, facts: MatrixFacts) -> (SmootherKind, &'static str) {
    let without_damping = config.smoother.omega.is_none();
    match config.method {
        Method::None if facts.is_symmetric_saddle() => {
            (SmootherKind::L1Jacobi, "its steps need no diagonal, and it is positive, as MINRES needs")
        }
        Method::Classical | Method::Sa | Method::Pairwise if facts.is_symmetric_saddle() => {
            (SmootherKind::L1Chebyshev, "its steps need no diagonal, and it is positive, as MINRES needs")
        }
        Method::None if facts.is_positive() => {
            (SmootherKind::Fsai, "without coarse levels, the smoother has to be strong")
        }
        Method::None => (SmootherKind::Ilu0, "without coarse levels, the smoother has to be strong"),
        Method::Cpr => (SmootherKind::Ilu0, "the second stage of CPR, after the pressures"),
        Method::Air => (SmootherKind::FcJacobi, "after an ideal restriction, the error is in the fine rows"),
        Method::Bamg if facts.is_positive() => {
            (SmootherKind::Fsai, "test vectors are what a strong smoother leaves")
        }
        Method::Classical if facts.is_positive() => {
            (SmootherKind::L1Chebyshev, "fewer iterations than Gauss-Seidel, also in 16 bits")
        }
        _ if !facts.symmetric && facts.gpu => {
            (SmootherKind::L1Jacobi, "a GPU smooths all rows at once; Gauss-Seidel takes one after the other")
        }
        Method::Classical => (SmootherKind::GaussSeidel, "effective without symmetry"),
        _ if !facts.symmetric => (SmootherKind::GaussSeidel, "effective without symmetry"),
        Method::Sa if facts.positive_couplings && facts.positive_diagonal && without_damping => (
            SmootherKind::Fsai,
            "most couplings are positive, as in a mass matrix: Jacobi leaves what coarse levels cannot represent",
        ),
        // A given damping is meant for Jacobi.
        Method::Structured if without_damping => {
            (SmootherKind::L1Chebyshev, "on a grid, the l1 bound of the spectrum is sharp")
        }
        Method::Sa if facts.block > 1 => match config.sa.plain_levels {
            None | Some(0) => {
                (SmootherKind::Chebyshev, "several unknowns per node: the spectrum is too wide for Jacobi")
            }
            Some(_) => (
                SmootherKind::L1Chebyshev,
                "several unknowns per node: the spectrum is too wide for Jacobi, and not estimated on plain levels",
            ),
        },
        _ => (SmootherKind::Jacobi, "the cheapest, and sufficient"),
    }
}

/// Whether every level is smoothed in ways that are positive for any symmetric matrix without
/// negative diagonal entries.
fn has_l1_smoothers(config: &SolverConfig) -> bool {
    config.smoother_kinds().all(|kind| matches!(kind, SmootherKind::L1Jacobi | SmootherKind::L1Chebyshev))
}

/// The inverse of an indefinite coarsest matrix is indefinite, and MINRES needs a positive cycle.
pub(super) fn coarsest(config: &SolverConfig, facts: MatrixFacts) -> Coarsest {
    let has_levels = ![Method::Direct, Method::None].contains(&config.method);
    match has_levels && config.krylov == Krylov::Minres && facts.is_symmetric_saddle() {
        true => Coarsest::Smoothed,
        false => Coarsest::Auto,
    }
}

pub(super) fn test_vectors(config: &SolverConfig, facts: MatrixFacts) -> (usize, &'static str) {
    let found = config.method == Method::Sa && facts.positive_couplings && facts.is_positive();
    match found && facts.block == 1 && config.setup == SetupPlace::Host {
        true => (2, "most couplings are positive, so constants are not all that smoothing leaves"),
        false => (0, "the near-kernel is that of the kind of matrix"),
    }
}

/// Two steps reach nearly all that more would: crank_elas3d takes 54, 37, 36 and 37 iterations
/// after 0, 1, 2 and 4 (`cargo xtask bench papers`).
pub(super) fn energy_steps(config: &SolverConfig, facts: MatrixFacts) -> (usize, &'static str) {
    match config.method == Method::Sa && facts.block > 1 && facts.is_positive() {
        true if config.setup == SetupPlace::Device => (0, "devices do not minimise energy"),
        true => (2, "several unknowns per node: one smoothing step is too few on irregular meshes"),
        false => (0, "one smoothing step is enough"),
    }
}

pub(super) fn cycle(config: &SolverConfig) -> (CycleKind, &'static str) {
    match config.method {
        Method::Pairwise => (CycleKind::K, "with plain aggregation, V-cycles degrade with every level"),
        _ => (CycleKind::V, "the cheapest"),
    }
}

pub(super) fn precision(config: &SolverConfig, facts: MatrixFacts) -> (Precision, &'static str) {
    let gauss_seidel = config.smoother_kinds().any(|kind| kind == SmootherKind::GaussSeidel);
    match config.method {
        Method::Direct => (Precision::F64, "factors are in double precision"),
        _ if !(facts.is_positive() || config.method == Method::Air && facts.positive_diagonal) => {
            (Precision::F64, "how much rounding the cycle tolerates cannot be predicted for this matrix")
        }
        _ if gauss_seidel => {
            (Precision::F64, "Gauss-Seidel reads compressed rows, where 16 bits save little")
        }
        _ if facts.nnz < LARGE => (Precision::F64, "the hierarchy fits in the caches"),
        _ => (Precision::F16, "a quarter of the bytes; the solve watches whether rounding slows it"),
    }
}

pub(super) fn krylov(config: &SolverConfig, facts: MatrixFacts) -> (Krylov, &'static str) {
    let cycling = config.cycling();
    let balanced = cycling.cycle.is_symmetric() && cycling.is_balanced();
    match (facts.is_positive(), balanced) {
        _ if config.method == Method::Direct => {
            (Krylov::Fgmres, "a few iterations correct the rounding errors of the factors")
        }
        _ if config.method == Method::Air => (
            Krylov::Fgmres,
            "restriction is not the transpose of interpolation, so the cycle is not symmetric",
        ),
        _ if config.basis != Basis::F64 => (Krylov::Fgmres, "it has a basis to compress"),
        _ if config.smoother_kinds().any(|kind| kind == SmootherKind::Spai) => {
            (Krylov::Fgmres, "rows of a sparse approximate inverse are independent, so it is not symmetric")
        }
        _ if facts.is_symmetric_saddle() && balanced && has_l1_smoothers(config) => {
            (Krylov::Minres, "a symmetric saddle point, whose cycle is positive")
        }
        (true, true) if facts.negated => {
            (Krylov::Cg, "every diagonal entry is negative, so −A is solved, which is symmetric and positive")
        }
        (true, true) => (Krylov::Cg, "matrix and cycle are symmetric and positive"),
        (true, false) => (Krylov::Fcg, "the matrix is symmetric and positive, the cycle may vary"),
        (false, _) => (Krylov::Fgmres, "no assumption about matrix or cycle"),
    }
}

impl SolverConfig {
    /// The decision of setup not to smooth the finest level, if a resolved configuration lets it
    /// smooth all: its hierarchy then has not estimated the radius of D⁻¹A there.
    ///
    /// ```
    /// use ziggurat::SolverConfig;
    /// use ziggurat::config::Method;
    /// let mut config = SolverConfig { method: Method::Sa, ..SolverConfig::default() };
    /// config.sa.plain_levels = Some(0);
    /// assert_eq!(config.plain_finest(5, None).map(|decision| decision.key), Some("sa.plain_levels"));
    /// assert_eq!(config.plain_finest(5, Some(2.0)), None);
    /// ```
    pub fn plain_finest(&self, levels: usize, radius: Option<f64>) -> Option<Decision> {
        let smooths = self.method == Method::Sa && self.sa.plain_levels == Some(0);
        (smooths && levels > 1 && radius.is_none()).then(|| Decision {
            key: "sa.plain_levels",
            value: "1".to_owned(),
            reason: "rows with very many connections: smoothing would make the next level too dense",
        })
    }

    /// The choices that this configuration leaves open, as [`resolve`](Self::resolve) makes them,
    /// with their reasons.
    ///
    /// ```
    /// use ziggurat::{SolverConfig, config::MatrixFacts};
    /// let facts = MatrixFacts { symmetric: true, positive_diagonal: true, negated: false, heterogeneous: true, positive_couplings: false, one_way: false, saddle_point: false, factors: true, block: 1, grid: false, cells: None, scattered: false, nnz: 1000, f64: true, gpu: false };
    /// let decisions = SolverConfig::default().decisions(facts);
    /// assert_eq!((decisions[0].key, &*decisions[0].value), ("method", "classical"));
    /// assert!(decisions[0].reason.starts_with("connections differ by orders of magnitude"));
    /// ```
    pub fn decisions(&self, facts: MatrixFacts) -> Vec<Decision> {
        let config = self.resolve(facts);
        let mut decisions = Vec::new();
        let mut decide = |key, is_open: bool, value: String, reason| {
            if is_open {
                decisions.push(Decision { key, value, reason });
            }
        };
        let reason = method(self, facts).1;
        decide("method", self.method == Method::Auto, config.method.to_string(), reason);
        // The given order is not worth a line.
        let open = self.reorder == Reorder::Auto && config.reorder == Reorder::On;
        decide("reorder", open, config.reorder.to_string(), reorder(&config, facts).1);
        let smooths = config.method != Method::Direct;
        let open = smooths && self.smoother.kind == SmootherKind::Auto;
        decide("smoother.kind", open, config.smoother.kind.to_string(), smoother(&config, facts).1);
        let (steps, reason) = energy_steps(&config, facts);
        let open = self.sa.energy_steps.is_none() && steps > 0;
        decide("sa.energy_steps", open, steps.to_string(), reason);
        // Only the given vectors are not worth a line.
        let (count, reason) = test_vectors(&config, facts);
        let open = self.sa.test_vectors.is_none() && count > 0;
        decide("sa.test_vectors", open, count.to_string(), reason);
        let open = smooths && self.cycle.kind == CycleKind::Auto;
        decide("cycle.kind", open, config.cycle.kind.to_string(), cycle(&config).1);
        decide("krylov", self.krylov == Krylov::Auto, config.krylov.to_string(), krylov(&config, facts).1);
        let reason = match facts.f64 {
            true => precision(&config, facts).1,
            false => "the highest precision of the device that the cycle needs",
        };
        decide("precision", self.precision == Precision::Auto, config.precision.to_string(), reason);
        decisions
    }
}

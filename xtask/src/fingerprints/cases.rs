//! What is solved: systems, and the settings that they are solved with.

/// Model problems and matrices of the collection: each is solved in each of [`PRECISIONS`].
const SYSTEMS: &[&str] = &[
    "poisson3d:40",
    "poisson3d27:32",
    "poisson2d:200",
    "anisotropic3d:40",
    "jump3d:40",
    "elasticity3d:12",
    "convection3d:24",
    "neumann3d:24",
    "wathen100",
    "bodyy5",
    "spe10_layer",
    "ibmpg1",
    "CSky3d30",
    "4elt_lap",
    "hypre_beam_tet",
    "add32",
    "G2_circuit",
    "orsreg_1",
    "nos3",
    "opm_spe1",
];

/// Settings for every system.
const PRECISIONS: &[&str] = &["precision = 'f64'", "precision = 'f16'"];

/// Systems with other settings.
const VARIANTS: &[(&str, &str)] = &[
    ("poisson3d:24", "method = 'classical'"),
    ("convection3d:16", "method = 'classical'"),
    ("poisson3d:24", "method = 'pairwise'"),
    ("CSky3d30", "method = 'pairwise'"),
    ("jump3d:24", "--preset robust"),
    ("jump3d:24", "--preset low-memory"),
    ("jump3d:24", "precision = 'auto'"),
    ("jump3d:24", "precision = 'bf16'"),
    ("jump3d:24", "krylov = 'cg'"),
    ("jump3d:24", "krylov = 'fcg'"),
    ("convection3d:16", "krylov = 'gmres'"),
    ("convection3d:16", "krylov = 'fgmres'"),
    ("convection3d:16", "krylov = 'bicgstab'"),
    ("poisson3d:24", "smoother.kind = 'jacobi'"),
    ("poisson3d:24", "smoother.kind = 'l1-jacobi'"),
    ("poisson3d:24", "smoother.kind = 'spai0'"),
    ("poisson3d:24", "smoother.kind = 'chebyshev'"),
    ("poisson3d:24", "smoother.kind = 'gauss-seidel'"),
    ("poisson3d:24", "cycle.kind = 'w'"),
    ("poisson3d:24", "cycle.kind = 'f'"),
    ("poisson3d:24", "cycle.kind = 'k'"),
];

/// A system, and how it is solved.
#[derive(Clone, Copy, Debug)]
pub(super) struct Case {
    pub(super) system: &'static str,
    /// Options where it starts with `--`, else keys of the configuration, as TOML.
    pub(super) settings: &'static str,
}

impl Case {
    pub(super) fn all() -> impl Iterator<Item = Case> {
        let in_each = |&system| PRECISIONS.iter().map(move |&settings| Case { system, settings });
        let variants = VARIANTS.iter().map(|&(system, settings)| Case { system, settings });
        SYSTEMS.iter().flat_map(in_each).chain(variants)
    }

    pub(super) fn name(self) -> String {
        format!("{}, {}", self.system, self.settings)
    }

    pub(super) fn is_from_collection(self) -> bool {
        !self.system.contains(':')
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn cases_have_different_names() {
        let names: BTreeSet<_> = Case::all().map(Case::name).collect();
        assert_eq!(names.len(), Case::all().count());
    }
}

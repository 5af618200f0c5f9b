//! Which systems are solved, and with which settings.
//!
//! [`BOTH_PRECISIONS`] are systems of some ten thousand rows, for changes of kernels and formats.
//! [`SELECTABLE`] are small: with them, every choice of the configuration is made at least once,
//! which a test checks, so CI runs them.

/// Model problems and matrices of the collection: each is solved in each of [`PRECISIONS`].
const BOTH_PRECISIONS: &[&str] = &[
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

/// Settings for each of these systems.
const PRECISIONS: &[&str] = &["precision = 'f64'", "precision = 'f16'"];

/// Small systems, each with the settings that it is solved with: options of the command where they
/// start with `--`, else keys of the configuration.
const SELECTABLE: &[(&str, &str)] = &[
    // Methods, and their own choices.
    ("jump3d:12", ""),
    ("jump3d:12", "method = 'sa'"),
    ("jump3d:12", "method = 'sa'\nsa.strength.measure = 'classical'\nsa.plain_levels = 1"),
    ("jump3d:12", "method = 'sa'\nsa.energy_steps = 3\nsa.test_vectors = 3"),
    ("elasticity3d:5", "method = 'sa'"),
    ("elasticity3d:5", "method = 'structured'"),
    ("jump3d:12", "method = 'structured'"),
    ("jump3d:12", "method = 'classical'"),
    ("jump3d:12", "method = 'classical'\nclassical.aggressive_levels = 0"),
    ("jump3d:12", "method = 'classical'\nclassical.paths = 'one'\nclassical.long_range = 'multipass'"),
    ("jump3d:12", "method = 'classical'\nclassical.interpolation = 'classical-modified'"),
    ("jump3d:12", "method = 'classical'\nclassical.interpolation = 'hybrid'"),
    ("jump3d:12", "method = 'classical'\nclassical.interpolation = 'one-point'"),
    ("convection3d:10", "method = 'classical'"),
    ("jump3d:12", "method = 'pairwise'"),
    ("convection3d:10", "method = 'pairwise'"),
    ("opm_spe1", "method = 'cpr'"),
    ("transport3d:10", "method = 'air'"),
    ("transport3d:10", "method = 'air'\nair.distance = 1\nsmoother.kind = 'fc-jacobi'"),
    ("elasticity3d:5", "method = 'bamg'"),
    ("elasticity3d:5", "method = 'bamg'\nbamg.affinity = true"),
    ("jump3d:12", "method = 'direct'"),
    ("jump3d:12", "method = 'none'"),
    // Presets, and what setup is worth.
    ("jump3d:12", "--preset robust"),
    ("jump3d:12", "--preset fast"),
    ("jump3d:12", "--preset low-memory"),
    ("jump3d:12", "effort = 'many-solves'"),
    // Smoothers.
    ("jump3d:12", "method = 'sa'\nsmoother.kind = 'jacobi'"),
    ("jump3d:12", "method = 'sa'\nsmoother.kind = 'l1-jacobi'"),
    ("jump3d:12", "method = 'sa'\nsmoother.kind = 'spai0'"),
    ("jump3d:12", "method = 'sa'\nsmoother.kind = 'chebyshev'"),
    ("jump3d:12", "method = 'sa'\nsmoother.kind = 'l1-chebyshev'"),
    ("jump3d:12", "method = 'sa'\nsmoother.kind = 'gauss-seidel'"),
    ("jump3d:12", "method = 'sa'\nsmoother.kind = 'fsai'"),
    ("jump3d:12", "method = 'sa'\nsmoother.kind = 'ilu0'"),
    ("jump3d:12", "method = 'sa'\nsmoother.kind = 'ilut'"),
    ("jump3d:12", "method = 'sa'\nsmoother.kind = 'block-jacobi'"),
    ("jump3d:12", "method = 'structured'\nsmoother.kind = 'chebyshev'"),
    ("convection3d:10", "smoother.kind = 'spai'"),
    ("convection3d:10", "smoother.kind = 'ilu0'"),
    ("elasticity3d:5", "smoother.kind = 'gauss-seidel'"),
    ("elasticity3d:5", "smoother.kind = 'ilu0'"),
    // Krylov methods and the storage of their basis.
    ("jump3d:12", "krylov = 'cg'"),
    ("jump3d:12", "krylov = 'fcg'"),
    ("jump3d:12", "krylov = 'minres'"),
    ("jump3d:12", "krylov = 'none'"),
    ("convection3d:10", "krylov = 'gmres'"),
    ("convection3d:10", "krylov = 'gmres'\nbasis = 'f32'\nrestart = 5"),
    ("convection3d:10", "krylov = 'fgmres'"),
    ("convection3d:10", "krylov = 'fgmres'\nbasis = 'f16'\nrestart = 5"),
    ("convection3d:10", "krylov = 'bicgstab'"),
    ("convection3d:10", "krylov = 'idr'"),
    ("convection3d:10", "krylov = 'cgs'"),
    // Cycles and the coarsest level.
    ("jump3d:12", "method = 'sa'\ncycle.kind = 'v'\nhierarchy.coarse_rows = 20"),
    ("jump3d:12", "method = 'sa'\ncycle.kind = 'w'\nhierarchy.coarse_rows = 20"),
    ("jump3d:12", "method = 'sa'\ncycle.kind = 'f'\nhierarchy.coarse_rows = 20"),
    ("jump3d:12", "method = 'sa'\ncycle.kind = 'k'\nhierarchy.coarse_rows = 20"),
    ("jump3d:12", "method = 'sa'\ncycle.kind = 'k-gcr'\nhierarchy.coarse_rows = 20"),
    ("jump3d:12", "method = 'sa'\ncycle.pre_sweeps = 2\ncycle.post_sweeps = 0\nkrylov = 'fcg'"),
    ("jump3d:12", "method = 'sa'\nhierarchy.coarsest = 'direct'"),
    ("jump3d:12", "method = 'sa'\nhierarchy.coarsest = 'dense'"),
    ("jump3d:12", "method = 'sa'\nhierarchy.coarsest = 'sparse'"),
    ("jump3d:12", "method = 'sa'\nhierarchy.coarsest = 'smoothed'"),
    // Precisions, formats, scaling and order.
    ("jump3d:12", "precision = 'f32'"),
    ("jump3d:12", "precision = 'f16'"),
    ("jump3d:12", "precision = 'bf16'"),
    ("jump3d:12", "precision = 'K64P64D64'"),
    ("jump3d:12", "precision = 'K64P32D32'"),
    ("jump3d:12", "precision = 'K64P32D16'"),
    ("jump3d:12", "precision = 'K64P32DB16'"),
    ("jump3d:12", "precision = 'f64-f32,f16'"),
    ("jump3d:12", "method = 'sa'\nprecision = 'f16'\nformat = 'csr'"),
    ("jump3d:12", "method = 'sa'\nprecision = 'f16'\nformat = 'tiles'"),
    ("laplace27e8:8", "method = 'sa'\nprecision = 'f16'"),
    ("jump3d:12", "method = 'sa'\nprecision = 'f32'\nscaling = 'off'"),
    ("jump3d:12", "method = 'sa'\nreorder = 'on'"),
    ("jump3d:12", "method = 'sa'\nreorder = 'off'"),
    ("jump3d:12", "method = 'sa'\nlevels = [{ from = 1, smoother = { kind = 'fsai' }, pre_sweeps = 2 }]"),
    // When a solve ends.
    ("jump3d:12", "stopping.rtol = 1e-5\nstopping.atol = 1e-9\nstopping.combine = 'all'"),
    ("jump3d:12", "stopping.reduction = 1e-3\nstopping.combine = 'any'\nstopping.verify_every = 2"),
    ("jump3d:12", "stopping.max_iterations = 3"),
    ("jump3d:12", "refinement_steps = 2\nstopping.rtol = 1e-14"),
    ("neumann3d:10", ""),
    ("neumann3d:10", "method = 'sa'\nstopping.project_rhs = true"),
    // Other model problems, as `auto` solves them.
    ("poisson2d:40", ""),
    ("poisson3d27:10", ""),
    ("anisotropic3d19:10", ""),
    ("lognormal3d:12", ""),
    ("solid3d:6", "method = 'sa'"),
    ("elasticity3d:5", ""),
    ("convection3d:10", ""),
    ("transport3d:10", ""),
    ("nos3", ""),
    ("watt_1", ""),
    ("sherman4", ""),
    ("pyamg_airfoil", ""),
];

/// Small systems that continue with something stronger, which ranks do not have.
const ESCALATING: &[(&str, &str)] =
    &[("nos3", "stopping.max_iterations = 60"), ("bcsstk14", ""), ("lnsp3937", ""), ("orsirr_1", "")];

/// Small systems that are also solved on a software Vulkan, of which only the size of the levels,
/// the iterations and the outcome are recorded: its compiler decides how sums are rounded.
const ON_VULKAN: &[(&str, &str)] = &[
    ("jump3d:12", "method = 'sa'"),
    ("jump3d:12", "method = 'sa'\nsetup = 'device'"),
    ("jump3d:12", "method = 'classical'\nsetup = 'device'"),
    ("jump3d:12", "method = 'pairwise'\nsetup = 'device'"),
    ("jump3d:12", "method = 'structured'"),
    ("jump3d:12", "method = 'sa'\nprecision = 'f16'\nformat = 'tiles'"),
    ("convection3d:10", ""),
    ("elasticity3d:5", ""),
];

/// Where a case runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// On 1 and 2 threads and on 1 and 3 ranks.
    ThreadsAndRanks,
    /// On 1 and 2 threads, with the fallback of one process.
    Threads,
    /// On the first Vulkan device.
    Vulkan,
}

/// A system, and how and where it is solved.
#[derive(Clone, Copy, Debug)]
pub(super) struct Case {
    pub(super) system: &'static str,
    /// Options where it starts with `--`, else keys of the configuration, as TOML.
    pub(super) settings: &'static str,
    pub(super) place: Place,
    /// Whether it takes a fraction of a second.
    pub(super) is_small: bool,
}

impl Case {
    pub(super) fn all() -> impl Iterator<Item = Case> {
        let large = |&system| {
            let case =
                move |&settings| Case { system, settings, place: Place::ThreadsAndRanks, is_small: false };
            PRECISIONS.iter().map(case)
        };
        let small = |place| {
            move |&(system, settings): &(&'static str, &'static str)| Case {
                system,
                settings,
                place,
                is_small: true,
            }
        };
        let selectable = SELECTABLE.iter().map(small(Place::ThreadsAndRanks));
        let escalating = ESCALATING.iter().map(small(Place::Threads));
        let on_vulkan = ON_VULKAN.iter().map(small(Place::Vulkan));
        BOTH_PRECISIONS.iter().flat_map(large).chain(selectable).chain(escalating).chain(on_vulkan)
    }

    /// On one line, such as `jump3d:12, method = 'sa', setup = 'device', on Vulkan`.
    pub(super) fn name(self) -> String {
        let settings = if self.settings.is_empty() { "as it is" } else { self.settings };
        let place = match self.place {
            Place::ThreadsAndRanks => "",
            Place::Threads => ", with fallback",
            Place::Vulkan => ", on Vulkan",
        };
        format!("{}, {}{place}", self.system, settings.replace('\n', ", "))
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

    #[test]
    fn small_cases_make_every_choice_of_the_configuration() {
        let small: Vec<Case> = Case::all().filter(|case| case.is_small).collect();
        let configured: Vec<&str> = small
            .iter()
            .flat_map(|case| case.settings.lines())
            .filter(|line| !line.starts_with("--"))
            .collect();
        let default = serde_json::to_value(ziggurat::SolverConfig::default()).unwrap();
        // `updates.rs` covers `update.rebuild`.
        for key in ziggurat::config::choices().into_iter().filter(|key| key.path != "update.rebuild") {
            let usual = key.path.split('.').fold(&default, |value, key| &value[key]);
            for (name, _) in key.values {
                let line = format!("{} = '{name}'", key.path);
                assert!(usual == name || configured.contains(&line.as_str()), "no small case has {line}");
            }
        }
    }
}

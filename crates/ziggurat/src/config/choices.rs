//! The choices of the configuration that are independent of the methods. The others are defined
//! with the methods: [`Method`], [`Coarsest`], [`CycleKind`] and [`SmootherKind`] in
//! `ziggurat-amg`, [`Krylov`], [`Basis`] and [`Combine`] in `ziggurat-krylov`.

use ziggurat_amg::smoother::SmootherKind;
use ziggurat_amg::{Coarsest, CycleKind, Method};
use ziggurat_krylov::{Basis, Combine, Krylov};
use ziggurat_sparse::{Choice, choice};

choice! {
    /// The storage formats of matrices.
    ///
    /// ```
    /// assert_eq!("csr".parse(), Ok(ziggurat::config::Format::Csr));
    /// ```
    Format, "format":
    /// The smallest format for each matrix.
    Auto = "auto",
    /// Compressed sparse rows for all matrices, for comparison.
    Csr = "csr",
    /// Tiles of 4 by 4 for all matrices, for the matrix units (tensor cores) of GPUs.
    Tiles = "tiles",
}

choice! {
    /// Whether levels are scaled into the range of their storage type.
    ///
    /// ```
    /// assert_eq!("off".parse(), Ok(ziggurat::config::Scaling::Off));
    /// ```
    Scaling, "scaling":
    /// Scaled after setup, if the storage type needs it.
    Auto = "auto",
    /// Never scaled, for comparison: f16 overflows in most units.
    Off = "off",
}

choice! {
    /// Whether the unknowns are renumbered before setup, so that neighbours are near each other.
    /// The solution is in the given order.
    ///
    /// ```
    /// assert_eq!("off".parse(), Ok(ziggurat::config::Reorder::Off));
    /// ```
    Reorder, "reordering":
    /// If the matrix is large and its rows refer to scattered columns.
    Auto = "auto",
    /// Always, breadth-first.
    On = "on",
    /// Never: the given order.
    Off = "off",
}

choice! {
    /// Where the levels of the hierarchy are made.
    ///
    /// ```
    /// assert_eq!("device".parse(), Ok(ziggurat::config::SetupPlace::Device));
    /// ```
    SetupPlace, "place of setup":
    /// On the host, by the CPU's threads.
    Host = "host",
    /// On the GPU of the iteration; methods `sa`, `pairwise` and `classical` only.
    Device = "device",
}

choice! {
    /// The budget of setup: how many systems are solved with one matrix.
    ///
    /// ```
    /// assert_eq!("many-solves".parse(), Ok(ziggurat::config::Effort::ManySolves));
    /// ```
    Effort, "effort":
    /// The least time for setup and a few solves.
    FewSolves = "few-solves",
    /// Fewer iterations for a longer setup, for dozens of right-hand sides or updates of values.
    ManySolves = "many-solves",
}

choice! {
    /// When [`Solver::update_values`](crate::Solver::update_values) rebuilds the hierarchy.
    ///
    /// ```
    /// assert_eq!("never".parse(), Ok(ziggurat::config::Rebuild::Never));
    /// ```
    Rebuild, "rebuild":
    /// When solves take clearly more iterations than after the last full setup.
    WhenSlower = "when-slower",
    /// Never: coarsening and interpolation are kept.
    Never = "never",
    /// At every update.
    Always = "always",
}

/// A key of the configuration whose value is a [`Choice`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChoiceKey {
    /// The full path of the key, such as `smoother.kind`.
    pub path: &'static str,
    /// The names and descriptions of its values.
    pub values: Vec<(&'static str, &'static str)>,
}

/// All keys of the configuration whose value is a [`Choice`].
///
/// ```
/// let keys = ziggurat::config::choices();
/// let smoother = keys.iter().find(|key| key.path == "smoother.kind").unwrap();
/// assert!(smoother.values.iter().any(|(name, _)| *name == "l1-chebyshev"));
/// ```
pub fn choices() -> Vec<ChoiceKey> {
    fn key<C: Choice>(path: &'static str) -> ChoiceKey {
        ChoiceKey { path, values: C::ALL.iter().map(|choice| (choice.name(), choice.about())).collect() }
    }
    vec![
        key::<Method>("method"),
        key::<Effort>("effort"),
        key::<Krylov>("krylov"),
        key::<Basis>("basis"),
        key::<Combine>("stopping.combine"),
        key::<Format>("format"),
        key::<Scaling>("scaling"),
        key::<Reorder>("reorder"),
        key::<SetupPlace>("setup"),
        key::<Coarsest>("hierarchy.coarsest"),
        key::<CycleKind>("cycle.kind"),
        key::<SmootherKind>("smoother.kind"),
        key::<Rebuild>("update.rebuild"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SolverConfig;

    #[test]
    fn exactly_the_listed_names_are_accepted() {
        for ChoiceKey { path, values } in choices() {
            for (name, about) in values {
                // The description is one line; of a longer one, only the first would be shown.
                assert!(about.ends_with('.'), "{path}: {about}");
                let config = SolverConfig::from_toml(&format!("{path} = '{name}'")).unwrap();
                let json = serde_json::to_value(&config).unwrap();
                let found = path.split('.').fold(&json, |value, key| &value[key]);
                assert_eq!(found, name, "{path}");
            }
            let error = SolverConfig::from_toml(&format!("{path} = 'no-such'")).unwrap_err().to_string();
            let first = ["auto", "few-solves", "when-slower", "f64", "any", "host"];
            assert!(first.iter().any(|name| error.contains(&format!("(known: {name}"))), "{error}");
        }
    }
}

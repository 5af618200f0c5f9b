//! Choices of the configuration that belong to no method. The choices of methods are listed where the
//! methods are: [`Method`], [`CycleKind`] and [`SmootherKind`] in `ziggurat-amg`, [`Krylov`] in
//! `ziggurat-krylov`.

use ziggurat_amg::smoother::SmootherKind;
use ziggurat_amg::{CycleKind, Method};
use ziggurat_krylov::Krylov;
use ziggurat_sparse::{Choice, choice};

choice! {
    /// The formats that matrices are stored in.
    ///
    /// ```
    /// assert_eq!("csr".parse(), Ok(ziggurat::config::Format::Csr));
    /// ```
    Format, "format":
    /// The one of fewest bytes, for each matrix.
    Auto = "auto",
    /// Compressed sparse rows everywhere, for comparisons.
    Csr = "csr",
}

choice! {
    /// Whether levels are scaled into the range of a narrow number.
    ///
    /// ```
    /// assert_eq!("off".parse(), Ok(ziggurat::config::Scaling::Off));
    /// ```
    Scaling, "scaling":
    /// Where the number needs it, after setup.
    Auto = "auto",
    /// Never, for comparisons: 16 bits overflow in most units.
    Off = "off",
}

choice! {
    /// Whether [`Solver::update_values`](crate::Solver::update_values) builds the hierarchy anew.
    ///
    /// ```
    /// assert_eq!("never".parse(), Ok(ziggurat::config::Rebuild::Never));
    /// ```
    Rebuild, "rebuild":
    /// When solves need clearly more iterations than right after the last full setup.
    WhenSlower = "when-slower",
    /// Never: coarsening and interpolation stay as they are.
    Never = "never",
    /// At every update.
    Always = "always",
}

/// A key of the configuration whose value is a [`Choice`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChoiceKey {
    /// The whole path of the key, as in `smoother.kind`.
    pub path: &'static str,
    /// The names of its values, and what each is.
    pub values: Vec<(&'static str, &'static str)>,
}

/// Every choice that a configuration makes by name.
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
        key::<Krylov>("krylov"),
        key::<Format>("format"),
        key::<Scaling>("scaling"),
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
    fn every_listed_name_is_understood_and_no_other() {
        for ChoiceKey { path, values } in choices() {
            for (name, about) in values {
                assert!(!about.is_empty());
                let config = SolverConfig::from_toml(&format!("{path} = '{name}'")).unwrap();
                let json = serde_json::to_value(&config).unwrap();
                let found = path.split('.').fold(&json, |value, key| &value[key]);
                assert_eq!(found, name, "{path}");
            }
            let error = SolverConfig::from_toml(&format!("{path} = 'no-such'")).unwrap_err().to_string();
            assert!(error.contains("(known: auto") || error.contains("(known: when-slower"), "{error}");
        }
    }
}

//! The error for an unknown name, with the closest known name as a suggestion.

use thiserror::Error;

/// A name that is not one of the accepted names. The message suggests the closest one and lists all
/// of them.
///
/// ```
/// use ziggurat_sparse::UnknownName;
/// let error = UnknownName::new("method", "classcal", ["sa", "classical"]);
/// assert_eq!(
///     error.to_string(),
///     "unknown method `classcal`; did you mean `classical`? (known: sa, classical)"
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("unknown {what} `{found}`{} (known: {})", self.suggestion(), self.known.join(", "))]
pub struct UnknownName {
    /// The kind of thing named: "number", "problem", "method" …
    pub what: &'static str,
    /// The name that was given.
    pub found: String,
    /// The accepted names.
    pub known: Vec<String>,
}

impl UnknownName {
    /// Reports that `found` is not among `known`.
    pub fn new<K: Into<String>>(what: &'static str, found: &str, known: impl IntoIterator<Item = K>) -> Self {
        UnknownName { what, found: found.to_owned(), known: known.into_iter().map(Into::into).collect() }
    }

    /// The known name closest to the given one, or `None` if no name is similar.
    pub fn nearest(&self) -> Option<&str> {
        let (name, similarity) = self
            .known
            .iter()
            .map(|name| (name, strsim::normalized_damerau_levenshtein(name, &self.found.to_lowercase())))
            .max_by(|a, b| a.1.total_cmp(&b.1))?;
        (similarity >= 0.4).then_some(name)
    }

    fn suggestion(&self) -> String {
        self.nearest().map_or_else(String::new, |name| format!("; did you mean `{name}`?"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suggests_only_what_resembles() {
        let near = UnknownName::new("problem", "poison3d", ["poisson2d", "poisson3d", "jump3d"]);
        assert_eq!(near.nearest(), Some("poisson3d"));
        let far = UnknownName::new("problem", "zzz", ["poisson2d"]);
        assert_eq!(far.nearest(), None);
        assert_eq!(far.to_string(), "unknown problem `zzz` (known: poisson2d)");
    }
}

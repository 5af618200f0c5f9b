//! Configurations as TOML with comments: what each key does, and its allowed values.
//!
//! Only the descriptions of the keys are listed here. Values and their descriptions come from the
//! [choices](super::choices), and ranges from validation: each number is set to values outside of
//! any range, and the error states what is allowed.

use serde_json::Value;

use super::text::{ALTERNATIVES, NONE, laid_over_default, to_value};
use super::{ConfigError, SolverConfig, choices};

/// Columns of a comment.
const COLUMNS: usize = 100;

/// All keys in the order of a file, with what they do. A table follows the keys that are beside it.
const KEYS: [(&str, &str); 80] = [
    ("method", "The coarsening method."),
    ("effort", "The budget of setup: how many systems are solved with one matrix."),
    ("krylov", "The Krylov method of the outer iteration."),
    ("restart", "Iterations between restarts of GMRES and FGMRES."),
    (
        "basis",
        "How GMRES and FGMRES store their Krylov basis; arithmetic and the solution are always in f64.",
    ),
    (
        "precision",
        "The precision of the hierarchy; the solution is always in f64. Also one precision per level, finest \
         first, for vectors and, after the comma, for matrices: f64-f32,f16-f16-f32.",
    ),
    ("format", "The storage formats of matrices."),
    ("scaling", "Whether levels are scaled into the range of their storage type."),
    (
        "reorder",
        "Whether the unknowns are renumbered before setup, so that neighbours are near each other; the \
         solution is in the given order. Not under MPI.",
    ),
    ("setup", "Where the levels are made. Not under MPI."),
    (
        "fallback",
        "Whether a slow or failed solve continues with a stronger smoother, and then with sparse factors of the \
         matrix, if these fit into memory.",
    ),
    (
        "refinement_steps",
        "Maximum number of corrections of a solution that rounding errors keep from the tolerance, from \
         residuals in twice the precision; not under MPI.",
    ),
    (
        "levels",
        "Other settings from some level on, where 0 is the finest: { from = 1, smoother = { kind = \"fsai\" }, \
         pre_sweeps = 2, post_sweeps = 2 }. What is left out is as for the whole hierarchy.",
    ),
    ("stopping.rtol", "Tolerance of the true residual ‖b − A x‖, relative to ‖b‖."),
    ("stopping.atol", "Absolute tolerance of ‖b − A x‖; 0: none."),
    ("stopping.reduction", "Tolerance relative to the residual of the initial guess, ‖b − A x₀‖; 0: none."),
    ("stopping.combine", "How the tolerances combine that are not 0."),
    ("stopping.max_iterations", "Maximum number of iterations."),
    (
        "stopping.max_seconds",
        "Time limit in seconds, of setup and of every solve, checked in every stage and iteration.",
    ),
    (
        "stopping.verify_every",
        "Also compute the true residual every so many iterations, for reports; 0: only where a decision \
         depends on it.",
    ),
    (
        "stopping.project_rhs",
        "If the matrix is singular, accept a right-hand side outside its range and report what is left out.",
    ),
    (
        "hierarchy.coarse_rows",
        "A level with at most this many rows is the coarsest; none: chosen by the matrix.",
    ),
    ("hierarchy.max_levels", "Maximum number of levels, including the coarsest."),
    ("hierarchy.coarsest", "How the coarsest level is solved."),
    ("cycle.kind", "The order in which levels are visited."),
    ("cycle.pre_sweeps", "Sweeps of the smoother before the coarse-grid correction."),
    ("cycle.post_sweeps", "Sweeps of the smoother after the coarse-grid correction."),
    ("smoother.kind", "The smoother. Each reads the parameters below that it has."),
    ("smoother.omega", "Damping of Jacobi and of approximate inverses; none: chosen for each level."),
    ("smoother.degree", "Degree of the Chebyshev polynomial: products with the matrix per sweep."),
    ("smoother.ratio", "λmax / λmin of the part of the spectrum that Chebyshev damps."),
    ("smoother.block", "Rows per block of Gauss-Seidel, ILU(0) and ILUT."),
    ("smoother.block_rows", "Maximum number of rows of a block of block Jacobi."),
    (
        "smoother.node_rows",
        "Rows of a node, whose diagonal block ILU(0) treats as one pivot; none: chosen by the matrix.",
    ),
    (
        "smoother.fsai.steps",
        "FSAI: maximum number of steps that add entries to a row of the factor; 0: the pattern of the lower \
         triangle of the matrix.",
    ),
    ("smoother.fsai.columns_per_step", "Entries that each step adds."),
    (
        "smoother.fsai.tolerance",
        "A row is finished once its Kaporin functional has fallen to this fraction of the diagonal entry.",
    ),
    ("smoother.spai.entries", "SPAI: maximum number of entries of a row of the approximate inverse."),
    ("smoother.ilut.entries", "ILUT: maximum number of entries of a row of L, and of U."),
    ("smoother.ilut.tolerance", "Entries below this fraction of the norm of the row are dropped."),
    ("sa.damping", "Smoothed aggregation: damping of interpolation smoothing, ω ρ(D⁻¹A)."),
    (
        "sa.filter",
        "Interpolation is smoothed along connections of at least this fraction of the largest in each row.",
    ),
    (
        "sa.plain_levels",
        "Number of finest levels whose interpolation is not smoothed; none: chosen by the effort.",
    ),
    (
        "sa.energy_steps",
        "Steps that minimise the energy of interpolation after smoothing; none: chosen by the matrix.",
    ),
    (
        "sa.test_vectors",
        "Near-kernel vectors that SRQCG finds on the finest level, those given among them; none: by the matrix.",
    ),
    ("sa.test_steps", "Steps of SRQCG that find them."),
    ("sa.strength.measure", "How the strength of a connection is measured."),
    ("sa.strength.filter", "Which strengths count as strong."),
    (
        "sa.strength.max_row_sum",
        "A row whose sum exceeds this fraction of its diagonal has no strong connections; none: no exception.",
    ),
    (
        "classical.aggressive_levels",
        "Classical coarsening: number of finest levels to coarsen aggressively, each only where it pays.",
    ),
    (
        "classical.paths",
        "Number of paths that must join two coarse points at distance two, on aggressive levels.",
    ),
    ("classical.long_range", "The interpolation on aggressive levels."),
    ("classical.interpolation", "The interpolation on the other levels."),
    ("classical.strength.measure", "How the strength of a connection is measured."),
    ("classical.strength.filter", "Which strengths count as strong."),
    (
        "classical.strength.max_row_sum",
        "A row whose sum exceeds this fraction of its diagonal has no strong connections; none: no exception.",
    ),
    (
        "classical.truncation.relative",
        "Interpolation drops entries below this fraction of the largest in a row.",
    ),
    ("classical.truncation.max_entries", "Interpolation keeps at most this many entries per row; none: all."),
    (
        "classical.truncation.keep_row_sums",
        "Whether the kept entries are scaled to the sum of the whole row.",
    ),
    ("pairwise.passes", "Pairwise aggregation: a coarse row stands for at most 2^passes rows."),
    ("cpr.unknowns", "Unknowns per cell of a reservoir system; none: found in the matrix."),
    (
        "cpr.pressure",
        "Which unknown of a cell is the pressure, counted from zero; none: found in the matrix.",
    ),
    (
        "air.threshold",
        "Connections of at least this fraction of the largest one in a row count for restriction.",
    ),
    ("air.distance", "How many connections away the fine rows of a coarse row may be: 1 or 2."),
    ("air.interpolation", "Interpolation with approximate ideal restriction."),
    (
        "bamg.test_vectors",
        "Least-squares interpolation: test vectors that it reproduces, those of a near-kernel among them.",
    ),
    ("bamg.steps", "Steps of SRQCG that find the test vectors of the finest level."),
    ("bamg.coarse_steps", "Steps of SRQCG that improve the test vectors of each coarser level."),
    ("bamg.damping", "The damping of interpolation smoothing, from 0 (none) to 2."),
    ("bamg.keep", "The fraction of each smoothed row that filtering keeps; 1: all."),
    ("bamg.affinity", "Whether connections are measured by the affinity of the test vectors instead."),
    ("bamg.strength.measure", "How the strength of a connection is measured."),
    ("bamg.strength.filter", "Which strengths count as strong."),
    (
        "bamg.strength.max_row_sum",
        "A row whose sum exceeds this fraction of its diagonal has no strong connections; none: no exception.",
    ),
    ("bamg.fit.min_distance", "Coarse rows are looked for at least this many connections away."),
    ("bamg.fit.max_distance", "Coarse rows are looked for at most this many connections away."),
    ("bamg.fit.tolerance", "A fit is good if its error is at most this fraction of the values in the row."),
    ("bamg.fit.max_weight", "A fit is good if the norm of its weights is at most this."),
    ("update.rebuild", "When an update of the matrix values rebuilds the hierarchy."),
    ("update.factor", "For when-slower: the growth of the iteration count that causes a rebuild."),
];

impl SolverConfig {
    /// As [`to_toml`](Self::to_toml), with comments: what each key does, and its allowed values.
    ///
    /// ```
    /// use ziggurat::SolverConfig;
    /// let text = SolverConfig::default().to_commented_toml()?;
    /// assert!(text.contains("# Iterations between restarts of GMRES and FGMRES. From 1 to 5000.\nrestart = 30\n"));
    /// assert_eq!(SolverConfig::from_toml(&text)?, SolverConfig::default());
    /// # Ok::<(), ziggurat::config::ConfigError>(())
    /// ```
    ///
    /// # Errors
    /// As [`to_toml`](Self::to_toml).
    pub fn to_commented_toml(&self) -> Result<String, ConfigError> {
        let (config, choices) = (to_value(self)?, choices());
        let mut text = "# The configuration of a solver. Every key may be left out.\n".to_owned();
        let mut section = "";
        for (path, about) in KEYS {
            let (table, key) = path.rsplit_once('.').unwrap_or(("", path));
            text.push('\n');
            if table != section {
                text += &format!("[{table}]\n");
                section = table;
            }
            let value = config.pointer(&pointer(path)).unwrap_or(&Value::Null);
            match choices.iter().find(|choice| choice.path == path) {
                Some(choice) => {
                    text += &comment(about);
                    let widest = choice.values.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
                    for (name, about) in &choice.values {
                        let rest = format!("#   {:widest$} ", "");
                        text += &wrapped(&format!("#   {name:<widest$} "), &rest, about);
                    }
                }
                None => text += &comment(&format!("{about} {}", allowed(path, value))),
            }
            text += &format!("{key} = {}\n", toml_value(value)?);
        }
        Ok(text)
    }
}

fn pointer(path: &str) -> String {
    format!("/{}", path.replace('.', "/"))
}

/// A comment, wrapped.
fn comment(text: &str) -> String {
    wrapped("#", "#", text)
}

/// A text after `first`, wrapped; further lines begin with `rest`.
fn wrapped(first: &str, rest: &str, text: &str) -> String {
    let mut lines = vec![first.to_owned()];
    for word in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= COLUMNS => {
                *line = format!("{line} {word}");
            }
            _ => lines.push(format!("{rest} {word}")),
        }
    }
    lines.join("\n") + "\n"
}

/// The allowed values of a key that is not a choice, as a sentence. They are found by setting the
/// key to values that are not allowed.
fn allowed(path: &str, value: &Value) -> String {
    let name = path.rsplit('.').next().unwrap_or(path);
    let alternatives = ALTERNATIVES.iter().find(|(key, _)| *key == name).map(|(_, names)| *names);
    let mut sentence = match value {
        Value::Bool(_) => "either true or false".to_owned(),
        Value::Object(_) if let Some(names) = alternatives => {
            let forms = names.iter().map(|name| {
                let range = range(&format!("{path}.{name}"), &Value::from(1.0));
                format!("{{ {name} = … }}, {range}")
            });
            forms.collect::<Vec<_>>().join("; or ")
        }
        Value::String(_) => format!("one of {}", names(path).join(", ")),
        Value::Array(_) => "a list of tables".to_owned(),
        value => range(path, value),
    };
    if set(path, &Value::Null).is_ok() {
        sentence += ", or none";
    }
    let mut letters = sentence.chars();
    letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect::<String>() + "."
}

/// The default configuration with one key set.
fn set(path: &str, value: &Value) -> Result<SolverConfig, ConfigError> {
    let nested = path.rsplit('.').fold(value.clone(), |value, key| serde_json::json!({ key: value }));
    laid_over_default(nested)
}

/// The range of a number. Numbers without one have the range of their type.
fn range(path: &str, value: &Value) -> String {
    let is_float = value.is_f64() || set(path, &Value::from(0.5)).is_ok();
    let outside =
        if is_float { [-1.0, 0.0, 1e300].map(Value::from) } else { [0, u64::MAX, 1].map(Value::from) };
    let errors = outside.iter().filter_map(|outside| set(path, outside).err());
    let requirement = errors.into_iter().find_map(|error| match error {
        ConfigError::Setting { must, .. } => Some(must),
        ConfigError::Stopping(ziggurat_krylov::KrylovError::Setting { must, .. }) => Some(must.to_owned()),
        _ => None,
    });
    requirement.unwrap_or_else(|| if is_float { "a number" } else { "an integer, at least 0" }.to_owned())
}

/// The names that a key accepts, from the error for another one: in backticks after `expected`, or
/// in a list of known names.
fn names(path: &str) -> Vec<String> {
    let Err(ConfigError::Value { reason, .. }) = set(path, &Value::from("?")) else { return Vec::new() };
    if let Some((_, known)) = reason.split_once("(known: ") {
        return known.trim_end_matches(')').split(", ").map(str::to_owned).collect();
    }
    let listed = reason.split_once("expected ").map_or("", |(_, listed)| listed);
    listed.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// A value as TOML writes it. Floats are as short as possible.
fn toml_value(value: &Value) -> Result<String, ConfigError> {
    Ok(match value {
        Value::Null => toml_value(&Value::from(NONE))?,
        Value::Object(map) => {
            let pairs = map.iter().map(|(key, value)| Ok(format!("{key} = {}", toml_value(value)?)));
            format!("{{ {} }}", pairs.collect::<Result<Vec<_>, ConfigError>>()?.join(", "))
        }
        Value::Array(list) => {
            let items = list.iter().map(toml_value).collect::<Result<Vec<_>, _>>()?;
            format!("[{}]", items.join(", "))
        }
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(integer), _) => integer.to_string(),
            (None, Some(float)) if number.is_f64() => format!("{float:?}"),
            _ => {
                let reason = format!("{number} exceeds the range of TOML");
                return Err(ConfigError::Syntax { format: "TOML", reason });
            }
        },
        Value::String(text) => toml::Value::from(text.as_str()).to_string(),
        value => value.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::super::{LevelSettings, SmootherParameters};
    use super::*;

    /// The paths of all values of a configuration.
    fn leaves(value: &Value, path: &str, found: &mut Vec<String>) {
        let last = path.rsplit('.').next().unwrap_or(path);
        match value {
            Value::Object(map) if !ALTERNATIVES.iter().any(|(key, _)| *key == last) => {
                for (key, value) in map {
                    let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                    leaves(value, &path, found);
                }
            }
            _ => found.push(path.to_owned()),
        }
    }

    #[test]
    fn every_key_is_described_once() {
        let mut found = Vec::new();
        leaves(&to_value(&SolverConfig::default()).unwrap(), "", &mut found);
        let mut described: Vec<&str> = KEYS.iter().map(|(path, _)| *path).collect();
        described.sort_unstable();
        found.sort_unstable();
        assert_eq!(described, found);
    }

    #[test]
    fn every_preset_is_read_back_from_its_comments() {
        for (name, _) in SolverConfig::PRESETS {
            let mut config = SolverConfig::preset(name).unwrap();
            config.stopping.max_seconds = Some(2.5e-7);
            config.smoother.omega = Some(1.0);
            config.classical.strength.max_row_sum = None;
            let smoother = Some(SmootherParameters { omega: None, ..config.smoother });
            config.levels = vec![
                LevelSettings { from: 1, smoother, ..LevelSettings::default() },
                LevelSettings { from: 3, pre_sweeps: Some(2), ..LevelSettings::default() },
            ];
            let text = config.to_commented_toml().unwrap();
            assert_eq!(SolverConfig::from_toml(&text).unwrap(), config, "{text}");
            let comments = text.lines().filter(|line| line.starts_with('#'));
            assert!(comments.into_iter().all(|line| line.chars().count() <= COLUMNS), "{text}");
        }
        let mut config = SolverConfig::default();
        config.hierarchy.coarse_rows = Some(usize::MAX);
        assert!(config.to_commented_toml().unwrap_err().to_string().contains("range of TOML"));
    }

    #[test]
    fn comments_state_what_validation_and_parsing_accept() {
        let text = SolverConfig::default().to_commented_toml().unwrap();
        for part in [
            "#   sa         ",
            "# Iterations between restarts of GMRES and FGMRES. From 1 to 5000.\nrestart = 30\n",
            "One of auto, f64, f32, f16, bf16",
            "Finite and not negative.\nrtol = 1e-8\n",
            "Finite and not negative, or none.\nmax_seconds = \"none\"\n",
            "Either true or false.\nproject_rhs = false\n",
            "One of classical, symmetric.\nmeasure = \"symmetric\"\n",
            "{ threshold = … }, from 0.0 to 1.0; or { average_connections = … }, finite and positive.",
            "From 1 to 32.\npasses = 2\n",
            "An integer, at least 0, or none.\nplain_levels = \"none\"\n",
        ] {
            let flat = text.replace("\n# ", " ");
            assert!(text.contains(part) || flat.contains(part), "{part} is not in\n{text}");
        }
    }
}

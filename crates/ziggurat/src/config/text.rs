//! Configurations as TOML and JSON. What a text does not give keeps its default, down to single parameters; a key that
//! does not exist is refused with the nearest one that does.
//!
//! The text is laid over the default configuration, key by key, rather than left to serde's defaults: those know the type
//! of a value only, but what `strength.measure` is by default depends on the method it belongs to.

use serde_json::{Map, Value};
use ziggurat_sparse::UnknownName;

use super::{ConfigError, SolverConfig, choices};

/// What TOML, which has no null, says where JSON says null.
const NONE: &str = "none";

/// Keys that are one of several, not all of them: a given one replaces the default.
const ALTERNATIVES: [(&str, &[&str]); 1] = [("filter", &["threshold", "average_connections"])];

impl SolverConfig {
    /// Reads TOML; any part may be given.
    ///
    /// ```
    /// use ziggurat::SolverConfig;
    /// let config = SolverConfig::from_toml("method = 'sa'\nstopping.rtol = 1e-6\nstopping.max_seconds = 'none'")?;
    /// assert_eq!(config.stopping.rtol, 1e-6);
    /// assert!(SolverConfig::from_toml("rtol = 1e-6").unwrap_err().to_string().contains("did you mean `stopping.rtol`?"));
    /// # Ok::<(), ziggurat::config::ConfigError>(())
    /// ```
    ///
    /// # Errors
    /// Names the line, or the key and the nearest one that exists.
    pub fn from_toml(text: &str) -> Result<Self, ConfigError> {
        let mut given: Value = toml::from_str(text).map_err(|error| {
            let line = error.span().map_or(String::new(), |span| {
                format!("line {}: ", 1 + text.bytes().take(span.start).filter(|&byte| byte == b'\n').count())
            });
            ConfigError::Syntax { format: "TOML", reason: line + &error.message().replace('\n', ", ") }
        })?;
        replace(&mut given, &Value::from(NONE), &Value::Null);
        laid_over_default(given)
    }

    /// Reads JSON; any part may be given.
    ///
    /// ```
    /// use ziggurat::SolverConfig;
    /// let config = SolverConfig::from_json(r#"{ "smoother": { "kind": "chebyshev", "degree": 3 } }"#)?;
    /// assert_eq!(config.smoother.degree, 3);
    /// # Ok::<(), ziggurat::config::ConfigError>(())
    /// ```
    ///
    /// # Errors
    /// Names the line, or the key and the nearest one that exists.
    pub fn from_json(text: &str) -> Result<Self, ConfigError> {
        let syntax =
            |error: serde_json::Error| ConfigError::Syntax { format: "JSON", reason: error.to_string() };
        laid_over_default(serde_json::from_str(text).map_err(syntax)?)
    }

    /// Writes TOML, every key of it; [`SolverConfig::from_toml`] reads it back.
    ///
    /// ```
    /// use ziggurat::SolverConfig;
    /// let text = SolverConfig::default().to_toml()?;
    /// assert!(text.contains("method = \"auto\""));
    /// assert_eq!(SolverConfig::from_toml(&text)?, SolverConfig::default());
    /// # Ok::<(), ziggurat::config::ConfigError>(())
    /// ```
    ///
    /// # Errors
    /// If a number is beyond what TOML can hold (2⁶³).
    pub fn to_toml(&self) -> Result<String, ConfigError> {
        let mut value = to_value(self)?;
        replace(&mut value, &Value::Null, &Value::from(NONE));
        let syntax =
            |error: toml::ser::Error| ConfigError::Syntax { format: "TOML", reason: error.to_string() };
        toml::to_string(&value).map_err(syntax)
    }

    /// As [`to_toml`](Self::to_toml), with the names of every choice in comments.
    ///
    /// ```
    /// let text = ziggurat::SolverConfig::default().to_commented_toml()?;
    /// assert!(text.contains("method = \"auto\" # auto, sa, classical, pairwise\n"));
    /// # Ok::<(), ziggurat::config::ConfigError>(())
    /// ```
    ///
    /// # Errors
    /// As [`to_toml`](Self::to_toml).
    pub fn to_commented_toml(&self) -> Result<String, ConfigError> {
        let (text, keys) = (self.to_toml()?, choices());
        let mut section = String::new();
        let mut commented = String::new();
        for line in text.lines() {
            if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
                section = format!("{name}.");
            }
            let path = line.split_once(" = ").map(|(key, _)| format!("{section}{key}"));
            commented += line;
            if let Some(key) = keys.iter().find(|key| path.as_deref() == Some(key.path)) {
                let names: Vec<&str> = key.values.iter().map(|(name, _)| *name).collect();
                commented += &format!(" # {}", names.join(", "));
            }
            commented.push('\n');
        }
        Ok(commented)
    }
}

fn to_value(config: &SolverConfig) -> Result<Value, ConfigError> {
    let syntax = |error: serde_json::Error| ConfigError::Syntax { format: "JSON", reason: error.to_string() };
    serde_json::to_value(config).map_err(syntax)
}

/// Replaces a value wherever it stands.
fn replace(value: &mut Value, old: &Value, new: &Value) {
    match value {
        Value::Object(map) => map.values_mut().for_each(|value| replace(value, old, new)),
        value if value == old => *value = new.clone(),
        _ => {}
    }
}

fn laid_over_default(given: Value) -> Result<SolverConfig, ConfigError> {
    let default = to_value(&SolverConfig::default())?;
    let mut leaves = Vec::new();
    collect(&default, &default, given, "", &mut leaves)?;
    let (mut value, mut config) = (default, SolverConfig::default());
    // One by one: what fails to be read is the last one.
    for (path, leaf) in leaves {
        if let Some(place) = value.pointer_mut(&format!("/{}", path.replace('.', "/"))) {
            *place = leaf;
        }
        config = serde_json::from_value(value.clone())
            .map_err(|error| ConfigError::Value { path, reason: error.to_string() })?;
    }
    config.validate()?;
    Ok(config)
}

/// The values of `given` with their paths, if every key of it exists in `known`.
fn collect(
    whole: &Value,
    known: &Value,
    given: Value,
    path: &str,
    leaves: &mut Vec<(String, Value)>,
) -> Result<(), ConfigError> {
    let last = path.rsplit('.').next().unwrap_or(path);
    let alternatives = ALTERNATIVES.iter().find(|(key, _)| *key == last).map(|(_, names)| *names);
    match (known, given) {
        (Value::Object(_), Value::Object(given)) if let Some(names) = alternatives => {
            if let Some(key) = given.keys().find(|key| !names.contains(&key.as_str())) {
                return Err(unknown(whole, names.iter().copied(), path, key));
            }
            leaves.push((path.to_owned(), Value::Object(given)));
        }
        (Value::Object(known), Value::Object(given)) => {
            for (key, value) in given {
                let Some(below) = known.get(&key) else {
                    return Err(unknown(whole, known.keys().map(String::as_str), path, &key));
                };
                collect(whole, below, value, &join(path, &key), leaves)?;
            }
        }
        (Value::Object(known), given) => {
            let first = known.keys().next().map_or("", String::as_str);
            let reason = format!("this is a table of keys, such as `{}`, and not {given}", join(path, first));
            let path = if path.is_empty() { "(everything)".to_owned() } else { path.to_owned() };
            return Err(ConfigError::Value { path, reason });
        }
        (_, given) => leaves.push((path.to_owned(), given)),
    }
    Ok(())
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

/// The key does not exist: the nearest of those beside it, or the same key elsewhere.
fn unknown<'a>(whole: &Value, known: impl Iterator<Item = &'a str>, path: &str, key: &str) -> ConfigError {
    let names = UnknownName::new("key", key, known);
    let beside = names.nearest().map(|nearest| join(path, nearest));
    let nearest = match whole {
        Value::Object(whole) => elsewhere(whole, "", key).or(beside),
        _ => beside,
    };
    ConfigError::UnknownKey { path: join(path, key), nearest, known: names.known }
}

/// Where a key of exactly this name stands, nearest to the top.
fn elsewhere(map: &Map<String, Value>, path: &str, key: &str) -> Option<String> {
    if map.contains_key(key) {
        return Some(join(path, key));
    }
    map.iter().find_map(|(name, value)| elsewhere(value.as_object()?, &join(path, name), key))
}

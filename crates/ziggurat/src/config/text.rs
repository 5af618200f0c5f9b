//! Configurations as TOML and JSON. Missing keys keep their defaults, down to single parameters.
//! For an unknown key, the error suggests the closest known one.
//!
//! The given keys override the default configuration one by one. Serde's defaults would not
//! suffice: they depend only on the type of a value, but the default of `strength.measure` depends
//! on the coarsening method.

use serde_json::{Map, Value};
use ziggurat_sparse::UnknownName;

use super::{ConfigError, SolverConfig};

/// Stands for JSON's null in TOML, which has none.
pub(super) const NONE: &str = "none";

/// Tables that hold exactly one of several keys: a given key replaces the default one.
pub(super) const ALTERNATIVES: [(&str, &[&str]); 1] = [("filter", &["threshold", "average_connections"])];

impl SolverConfig {
    /// Parses TOML, which may contain any subset of the keys.
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
    /// If the text is invalid. The error names the line, or the key and the closest known one.
    pub fn from_toml(text: &str) -> Result<Self, ConfigError> {
        let given: toml::Table = toml::from_str(text).map_err(|error| {
            let line = error.span().map_or(String::new(), |span| {
                format!("line {}: ", 1 + text.bytes().take(span.start).filter(|&byte| byte == b'\n').count())
            });
            ConfigError::Syntax { format: "TOML", reason: line + &error.message().replace('\n', ", ") }
        })?;
        laid_over_default(json(toml::Value::Table(given), "")?)
    }

    /// Parses JSON, which may contain any subset of the keys.
    ///
    /// ```
    /// use ziggurat::SolverConfig;
    /// let config = SolverConfig::from_json(r#"{ "smoother": { "kind": "chebyshev", "degree": 3 } }"#)?;
    /// assert_eq!(config.smoother.degree, 3);
    /// # Ok::<(), ziggurat::config::ConfigError>(())
    /// ```
    ///
    /// # Errors
    /// If the text is invalid. The error names the line, or the key and the closest known one.
    pub fn from_json(text: &str) -> Result<Self, ConfigError> {
        let syntax =
            |error: serde_json::Error| ConfigError::Syntax { format: "JSON", reason: error.to_string() };
        laid_over_default(serde_json::from_str(text).map_err(syntax)?)
    }

    /// Sets one key to a value that is given as text, for programs with options in another form.
    ///
    /// ```
    /// use ziggurat::SolverConfig;
    /// let mut config = SolverConfig::default();
    /// config.set("stopping.rtol", "1e-6")?;
    /// config.set("smoother.kind", "chebyshev")?;
    /// assert_eq!((config.stopping.rtol, config.smoother.degree), (1e-6, 2));
    /// assert!(config.set("krilov", "cg").unwrap_err().to_string().contains("did you mean `krylov`?"));
    /// # Ok::<(), ziggurat::config::ConfigError>(())
    /// ```
    ///
    /// # Errors
    /// If there is no such key, or if the value is invalid. The configuration then stays as it is.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), ConfigError> {
        // A number, a truth value or a list; anything else is a name.
        let value = serde_json::from_str(value).unwrap_or_else(|_| Value::from(value));
        let nested = |value: Value, key: &str| Value::from(Map::from_iter([(key.to_owned(), value)]));
        *self = laid_over(self, key.rsplit('.').fold(value, nested))?;
        Ok(())
    }

    /// Writes all keys as TOML, which [`SolverConfig::from_toml`] reads back.
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
    /// If a number exceeds the range of TOML (2⁶³).
    pub fn to_toml(&self) -> Result<String, ConfigError> {
        let mut value = to_value(self)?;
        replace(&mut value, &Value::Null, &Value::from(NONE));
        let syntax =
            |error: toml::ser::Error| ConfigError::Syntax { format: "TOML", reason: error.to_string() };
        toml::to_string(&value).map_err(syntax)
    }
}

/// A value of TOML in JSON. JSON has neither NaN nor infinity, and serde would make them null,
/// which stands for the absence of a number.
fn json(value: toml::Value, path: &str) -> Result<Value, ConfigError> {
    Ok(match value {
        toml::Value::String(text) => text.into(),
        toml::Value::Integer(number) => number.into(),
        toml::Value::Float(number) if number.is_finite() => number.into(),
        toml::Value::Float(number) => {
            let (path, value) = (path.to_owned(), number.to_string());
            return Err(ConfigError::Setting { path, value, must: "finite".to_owned() });
        }
        toml::Value::Boolean(truth) => truth.into(),
        toml::Value::Datetime(time) => time.to_string().into(),
        toml::Value::Array(list) => {
            list.into_iter().map(|value| json(value, path)).collect::<Result<Vec<_>, _>>()?.into()
        }
        toml::Value::Table(table) => {
            let below = |(key, value): (String, toml::Value)| {
                let value = json(value, &join(path, &key))?;
                Ok((key, value))
            };
            table.into_iter().map(below).collect::<Result<Map<_, _>, ConfigError>>()?.into()
        }
    })
}

pub(super) fn to_value(config: &SolverConfig) -> Result<Value, ConfigError> {
    let syntax = |error: serde_json::Error| ConfigError::Syntax { format: "JSON", reason: error.to_string() };
    serde_json::to_value(config).map_err(syntax)
}

/// Replaces every occurrence of a value.
fn replace(value: &mut Value, old: &Value, new: &Value) {
    match value {
        Value::Object(map) => map.values_mut().for_each(|value| replace(value, old, new)),
        Value::Array(list) => list.iter_mut().for_each(|value| replace(value, old, new)),
        value if value == old => *value = new.clone(),
        _ => {}
    }
}

pub(super) fn laid_over_default(given: Value) -> Result<SolverConfig, ConfigError> {
    laid_over(&SolverConfig::default(), given)
}

fn laid_over(base: &SolverConfig, given: Value) -> Result<SolverConfig, ConfigError> {
    let mut value = to_value(base)?;
    let mut leaves = Vec::new();
    collect(&value, &value, given, "", &mut leaves)?;
    let mut config = base.clone();
    // One at a time, so that an error belongs to the last key.
    for (path, leaf) in leaves {
        let (pointer, none) = (format!("/{}", path.replace('.', "/")), leaf == NONE);
        let mut count = None; // a number where an integer belongs, or where it may be absent
        if let Some(place) = value.pointer_mut(&pointer) {
            let integer = place.is_u64() || place.is_null();
            count = (integer && leaf.is_number()).then(|| leaf.to_string());
            *place = leaf;
        }
        let mut parsed = serde_json::from_value(value.clone());
        // The word is first taken as the name of a choice.
        if none
            && parsed.is_err()
            && let Some(place) = value.pointer_mut(&pointer)
        {
            *place = Value::Null;
            parsed = serde_json::from_value(value.clone()).or(parsed);
        }
        config = parsed.map_err(|error| match count {
            Some(value) => {
                ConfigError::Setting { path, value, must: format!("an integer from 0 to {}", u64::MAX) }
            }
            None => ConfigError::Value { path, reason: error.to_string() },
        })?;
    }
    config.validate()?;
    Ok(config)
}

/// Collects the values of `given` with their paths. Fails if a key is not in `known`.
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
            let reason = format!("expected a table with keys such as `{}`, found {given}", join(path, first));
            let path = if path.is_empty() { "(top level)".to_owned() } else { path.to_owned() };
            return Err(ConfigError::Value { path, reason });
        }
        // Within a list, what is none is left out.
        (Value::Array(_), Value::Array(mut list)) => {
            list.iter_mut().for_each(without_none);
            leaves.push((path.to_owned(), list.into()));
        }
        (_, given) => leaves.push((path.to_owned(), given)),
    }
    Ok(())
}

/// Removes the keys whose value is none.
fn without_none(value: &mut Value) {
    if let Value::Object(map) = value {
        map.retain(|_, value| *value != NONE && !value.is_null());
        map.values_mut().for_each(without_none);
    }
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

/// The error for an unknown key. Suggests the same key in other tables, or the closest key in this
/// one.
fn unknown<'a>(whole: &Value, known: impl Iterator<Item = &'a str>, path: &str, key: &str) -> ConfigError {
    let names = UnknownName::new("key", key, known);
    let mut nearest = Vec::new();
    elsewhere(whole, "", key, &mut nearest);
    if nearest.is_empty() {
        nearest.extend(names.nearest().map(|nearest| join(path, nearest)));
    }
    ConfigError::UnknownKey { path: join(path, key), nearest, known: names.known }
}

/// Collects the paths of keys with exactly this name.
fn elsewhere(value: &Value, path: &str, key: &str, found: &mut Vec<String>) {
    let Value::Object(map) = value else { return };
    if map.contains_key(key) {
        found.push(join(path, key));
    }
    for (name, below) in map {
        elsewhere(below, &join(path, name), key, found);
    }
}

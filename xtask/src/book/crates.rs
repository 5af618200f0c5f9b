//! The crates of the workspace in ARCHITECTURE.md: one line each, and which depends on which.
//!
//! Both are generated from the manifests, as `cargo metadata` reads them, and stand between two
//! marks. The picture has a layer for crates that depend only on layers below it, and leaves out
//! dependencies that follow from the others: `ziggurat` depends on `ziggurat-sparse` because
//! `ziggurat-amg` does. Dependencies of tests and examples are not shown.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::{BookError, at};

const BEGIN: &str = "<!-- Crates: generated from the manifests by `cargo xtask book --write`. -->\n";
const END: &str = "<!-- End of crates. -->\n";

/// A crate of the workspace.
#[derive(Debug, Default)]
struct Package {
    description: String,
    /// The crates of the workspace that it depends on, and whether each is optional.
    dependencies: BTreeMap<String, bool>,
}

/// The crates of the workspace by name.
type Packages = BTreeMap<String, Package>;

fn path(root: &Path) -> PathBuf {
    root.join("ARCHITECTURE.md")
}

/// Writes the generated part of the page.
pub(crate) fn write(root: &Path) -> Result<(), BookError> {
    let path = path(root);
    let page = fs::read_to_string(&path).map_err(at(&path))?;
    let page = with_crates(&page, &packages(root)?).ok_or_else(|| BookError::Generated(path.clone()))?;
    fs::write(&path, page).map_err(at(&path))
}

/// Compares the generated part of the page with the manifests.
pub(crate) fn check(root: &Path) -> Result<(), BookError> {
    let path = path(root);
    let page = fs::read_to_string(&path).map_err(at(&path))?;
    match with_crates(&page, &packages(root)?) {
        Some(generated) if generated == page => Ok(()),
        _ => Err(BookError::Generated(path)),
    }
}

/// The crates of the workspace in `root`.
fn packages(root: &Path) -> Result<Packages, BookError> {
    let mut cargo = Command::new("cargo");
    cargo.args(["metadata", "--no-deps", "--offline", "--format-version=1"]).current_dir(root);
    let done = cargo.output().map_err(|source| BookError::Start { program: "cargo", source })?;
    if !done.status.success() {
        return Err(BookError::Metadata(String::from_utf8_lossy(&done.stderr).into_owned()));
    }
    let metadata: Value =
        serde_json::from_slice(&done.stdout).map_err(|error| BookError::Metadata(error.to_string()))?;
    Ok(parse(&metadata))
}

fn parse(metadata: &Value) -> Packages {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let found = list(&metadata["packages"]);
    let names: BTreeSet<String> = found.iter().map(|package| text(&package["name"])).collect();
    let package = |package: &Value| {
        // Dependencies of tests and of build scripts have a kind.
        let dependencies = list(&package["dependencies"]).into_iter().filter(|other| other["kind"].is_null());
        let dependencies =
            dependencies.map(|other| (text(&other["name"]), other["optional"] == Value::Bool(true)));
        Package {
            description: text(&package["description"]),
            dependencies: dependencies.filter(|(name, _)| names.contains(name)).collect(),
        }
    };
    found.iter().map(|found| (text(&found["name"]), package(found))).collect()
}

/// The page with the generated part in its place; `None` without the marks.
fn with_crates(page: &str, packages: &Packages) -> Option<String> {
    let (before, rest) = page.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}\n{}\n{}\n{END}{after}", table(packages), picture(packages)))
}

/// A line for each crate, the lowest layer first.
fn table(packages: &Packages) -> String {
    let mut table = "| crate | contents |\n|---|---|\n".to_owned();
    for name in layers(packages).into_iter().flatten() {
        let _ = writeln!(table, "| `{name}` | {} |", packages[name].description); // does not fail
    }
    table
}

/// The layers with their dependencies, the highest one first.
fn picture(packages: &Packages) -> String {
    let width = packages.keys().map(String::len).max().unwrap_or(0);
    let layer = |names: Vec<&str>| {
        let line = |name: &str| {
            let dependencies = direct(packages, name).into_iter();
            let optional = |other: &str| packages[name].dependencies[other];
            let dependencies =
                dependencies.map(|other| if optional(other) { format!("({other})") } else { other.into() });
            let dependencies: Vec<String> = dependencies.collect();
            let arrow = if dependencies.is_empty() { "" } else { " ──▶ " };
            format!("{name:width$}{arrow}{}", dependencies.join(", ")).trim_end().to_owned() + "\n"
        };
        names.into_iter().map(line).collect::<String>()
    };
    let layers: Vec<String> = layers(packages).into_iter().rev().map(layer).collect();
    format!("```text\n{}```\n", layers.join("\n"))
}

/// The crates by layer: crates of a layer depend only on layers before it.
fn layers(packages: &Packages) -> Vec<Vec<&str>> {
    let mut layers: Vec<Vec<&str>> = Vec::new();
    let mut placed = BTreeSet::new();
    while placed.len() < packages.len() {
        let is_next = |name: &str, package: &Package| {
            !placed.contains(name) && package.dependencies.keys().all(|other| placed.contains(other.as_str()))
        };
        let next: Vec<&str> = packages
            .iter()
            .filter_map(|(name, package)| is_next(name, package).then_some(name.as_str()))
            .collect();
        if next.is_empty() {
            break; // cargo refuses circles
        }
        placed.extend(next.iter().copied());
        layers.push(next);
    }
    layers
}

/// The dependencies of a crate that do not follow from the others. One that is needed in any case
/// does not follow from an optional one.
fn direct<'a>(packages: &'a Packages, name: &str) -> Vec<&'a str> {
    let own = &packages[name].dependencies;
    let follows = |other: &str, optional: bool| {
        let mut others = own.iter().filter(|&(name, &maybe)| name != other && (optional || !maybe));
        others.any(|(name, _)| reaches(packages, name, other, optional))
    };
    own.iter().filter(|&(other, &optional)| !follows(other, optional)).map(|(other, _)| &**other).collect()
}

/// Whether a crate depends on another one, directly or not.
fn reaches(packages: &Packages, from: &str, to: &str, optional: bool) -> bool {
    let mut next = packages[from].dependencies.iter().filter(|&(_, &maybe)| optional || !maybe);
    next.any(|(name, _)| name == to || reaches(packages, name, to, optional))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn example() -> Packages {
        let needs = |name: &str, optional: bool| json!({"name": name, "kind": null, "optional": optional});
        let package = |name: &str, dependencies: Value| json!({"name": name, "description": format!("is {name}"), "dependencies": dependencies});
        let for_tests = json!({"name": "top", "kind": "dev", "optional": false});
        parse(&json!({"packages": [
            package("top", json!([needs("base", false), needs("left", false), needs("extra", true)])),
            package("left", json!([needs("base", false), needs("serde", false), for_tests])),
            package("extra", json!([needs("left", false)])),
            package("base", json!([])),
        ]}))
    }

    #[test]
    fn the_page_in_the_repository_is_that_of_the_manifests() {
        check(tasks::workspace_root()).unwrap();
    }

    #[test]
    fn a_crate_stands_above_its_dependencies() {
        let picture = picture(&example());
        // `base` follows from `left`, which is needed in any case; `left` only from an option.
        let lines = "top   ──▶ (extra), left\n\nextra ──▶ left\n\nleft  ──▶ base\n\nbase\n";
        assert_eq!(picture, format!("```text\n{lines}```\n"));
    }

    #[test]
    fn what_stands_between_the_marks_is_replaced() {
        let page = with_crates(&format!("a\n{BEGIN}old\n{END}b\n"), &example()).unwrap();
        assert!(page.starts_with(&format!("a\n{BEGIN}\n| crate |")) && page.ends_with(&format!("{END}b\n")));
        assert!(page.contains("| `base` | is base |\n| `left` | is left |\n") && !page.contains("old"));
        assert_eq!(with_crates(&page, &example()).unwrap(), page);
        assert_eq!(with_crates("a\n", &example()), None);
    }
}

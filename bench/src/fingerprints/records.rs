//! Records of runs: made from the command's report, merged for each case, and compared.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

/// The records of all cases, by name.
pub(super) type Records = BTreeMap<String, Value>;

/// Adds the results in the command's JSON report to a record.
pub(super) fn describe(report: &Value, record: &mut Value) {
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    for key in ["iterations", "stop_reason"] {
        record[key] = report[key].clone();
    }
    record["solver"] = ["method", "krylov", "precision"].map(|key| word(&report[key])).join(", ").into();
    // `serde_json` may be off by the last bit of a residual, but reads equal text as equal values.
    let residuals =
        report["residuals"].as_array().into_iter().flatten().chain([&report["relative_residual"]]);
    record["residuals"] = hash(residuals.map(|residual| residual.as_f64().unwrap_or(f64::NAN)));
    let size = |level: &Value| format!("{} rows, {} entries", level["rows"], level["nnz"]);
    let stored = |level: &Value| {
        let [format, number] = ["format", "storage"].map(|key| word(&level[key]));
        let text = format!("{format} {number}, {} + {} bytes", level["bytes"], level["transfer_bytes"]);
        match &level["distribution"] {
            Value::Null => text,
            on => format!(
                "{text}, {} ranks, {} halo rows, {} messages",
                on["ranks"], on["halo_rows"], on["messages_most"]
            ),
        }
    };
    let levels = report["levels"].as_array().map(Vec::as_slice).unwrap_or_default();
    record["levels"] = levels.iter().map(size).collect();
    record["stored"] = levels.iter().map(stored).collect();
}

/// FNV-1a over the bits of all values.
pub(super) fn hash(values: impl Iterator<Item = f64>) -> Value {
    let bytes = values.flat_map(|value| value.to_bits().to_le_bytes());
    let hash = bytes.fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("{hash:016x}").into()
}

/// The record of a case. Runs on 1 and 2 threads that agree in everything, as they must, are one
/// entry. Levels are listed once, and again for ranks only where their levels are different.
pub(super) fn merge(one: Value, two: Value, ranks: Vec<(&str, Value)>) -> Value {
    let levels = one["levels"].clone();
    let threads =
        if one == two { vec![("threads", one)] } else { vec![("1 thread", one), ("2 threads", two)] };
    let mut record = Map::new();
    for (name, mut run) in threads.into_iter().chain(ranks) {
        if run["levels"] == levels {
            run.as_object_mut().and_then(|run| run.remove("levels"));
        }
        record.insert(name.to_owned(), run);
    }
    record.insert("levels".to_owned(), levels);
    record.into()
}

/// The record of a run on a GPU, whose compiler decides how sums are rounded: without the hashes.
pub(super) fn without_bits(mut run: Value) -> Value {
    for key in ["residuals", "solution"] {
        run.as_object_mut().and_then(|run| run.remove(key));
    }
    run
}

/// Whether 1 and 2 threads agree in everything, and all runs in their levels.
pub(super) fn is_consistent(record: &Value) -> bool {
    let has_own_levels = |run: &Value| run.get("levels").is_some();
    let mut runs = record.as_object().into_iter().flat_map(Map::values);
    record.get("threads").is_some() && !runs.any(has_own_levels)
}

/// Every place in which records differ: where, what was expected, what was found.
pub(super) fn differences(expected: &Records, found: &Records) -> Vec<[String; 3]> {
    let [expected, found] = [expected, found].map(|records| {
        let mut places = BTreeMap::new();
        records.iter().for_each(|(name, record)| flatten(name, record, &mut places));
        places
    });
    let all: BTreeSet<_> = expected.keys().chain(found.keys()).collect();
    let text = |value: Option<&String>| value.map_or("nothing", String::as_str).to_owned();
    let differing = all.into_iter().filter(|&place| expected.get(place) != found.get(place));
    differing.map(|place| [place.clone(), text(expected.get(place)), text(found.get(place))]).collect()
}

/// The values within `value`, by their places.
fn flatten(place: &str, value: &Value, places: &mut BTreeMap<String, String>) {
    match value {
        Value::Object(fields) => {
            fields.iter().for_each(|(key, value)| flatten(&format!("{place}, {key}"), value, places));
        }
        Value::Array(values) => {
            let numbered = values.iter().enumerate();
            numbered.for_each(|(k, value)| flatten(&format!("{place} {k}"), value, places));
        }
        Value::String(text) => drop(places.insert(place.to_owned(), text.clone())),
        other => drop(places.insert(place.to_owned(), other.to_string())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn records(solution: &str) -> Records {
        let run = json!({ "iterations": 9, "solution": solution, "stored": ["csr f64", "csr f16"] });
        Records::from([("poisson3d:4, precision = 'f64'".to_owned(), json!({ "threads": run }))])
    }

    #[test]
    fn equal_records_do_not_differ() {
        assert!(differences(&records("ab"), &records("ab")).is_empty());
    }

    #[test]
    fn every_difference_names_its_place() {
        let (expected, mut found) = (records("ab"), records("cd"));
        for record in found.values_mut() {
            record["threads"]["iterations"] = 10.into();
            record["threads"]["stored"] = json!(["csr f64"]);
        }
        let place = |name: &str| format!("poisson3d:4, precision = 'f64', threads, {name}");
        let expected_differences = [
            [place("iterations"), "9".to_owned(), "10".to_owned()],
            [place("solution"), "ab".to_owned(), "cd".to_owned()],
            [place("stored 1"), "csr f16".to_owned(), "nothing".to_owned()],
        ];
        assert_eq!(differences(&expected, &found), expected_differences);
    }

    #[test]
    fn a_case_that_only_one_side_has_differs() {
        assert_eq!(differences(&records("ab"), &Records::new()).len(), 4);
        assert_eq!(differences(&Records::new(), &records("ab")).len(), 4);
    }

    #[test]
    fn agreeing_runs_are_merged_and_others_are_kept() {
        let run = |levels: usize, solution: &str| json!({ "levels": vec!["a level"; levels], "solution": solution });
        let ranks = |levels| vec![("1 rank", run(2, "a")), ("3 ranks", run(levels, "b"))];
        let same = merge(run(2, "a"), run(2, "a"), ranks(2));
        assert_eq!(same["levels"], json!(["a level", "a level"]));
        assert_eq!(same["threads"], json!({ "solution": "a" }));
        assert_eq!(same["3 ranks"], json!({ "solution": "b" }));
        assert!(is_consistent(&same));
        let other = merge(run(2, "a"), run(2, "c"), ranks(3));
        assert!(other.get("threads").is_none());
        assert_eq!(other["2 threads"]["solution"], "c");
        assert_eq!(other["3 ranks"]["levels"].as_array().map(Vec::len), Some(3));
        assert!(!is_consistent(&merge(run(2, "a"), run(2, "c"), ranks(2))));
        assert!(!is_consistent(&merge(run(2, "a"), run(2, "a"), ranks(3))));
    }

    #[test]
    fn every_bit_counts_in_a_hash() {
        let of = |values: &[f64]| hash(values.iter().copied());
        assert_eq!(of(&[]), "cbf29ce484222325");
        assert_ne!(of(&[0.0, 0.0]), of(&[-0.0, -0.0]));
        assert_ne!(of(&[1.0, 2.0]), of(&[2.0, 1.0]));
        assert_ne!(of(&[1.0]), of(&[1.0 + f64::EPSILON]));
    }

    #[test]
    fn the_reports_results_are_recorded_and_its_times_are_not() {
        let level = json!({ "rows": 8, "nnz": 20, "format": "csr", "storage": "f64", "bytes": 300,
            "transfer_bytes": 40, "setup_seconds": 0.5 });
        let report = json!({ "iterations": 3, "stop_reason": "converged", "method": "sa", "krylov": "cg",
            "precision": "f64", "residuals": [0.5], "relative_residual": 0.25, "solve_seconds": 1.5,
            "levels": [level] });
        let mut record = json!({ "exit": 0 });
        describe(&report, &mut record);
        let expected = json!({ "exit": 0, "iterations": 3, "stop_reason": "converged", "solver": "sa, cg, f64",
            "residuals": hash([0.5, 0.25].into_iter()), "levels": ["8 rows, 20 entries"],
            "stored": ["csr f64, 300 + 40 bytes"] });
        assert_eq!(record, expected);
    }
}

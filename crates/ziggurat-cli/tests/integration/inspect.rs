//! `ziggurat inspect`: the keys of its JSON, its text, and real matrices.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::command::Place;
use serde_json::Value;

/// All keys, nested ones after a dot.
fn keys(value: &Value, above: &str, found: &mut Vec<String>) {
    for (key, value) in value.as_object().into_iter().flatten() {
        let key = if above.is_empty() { key.clone() } else { format!("{above}.{key}") };
        keys(value, &key, found);
        found.push(key);
    }
}

fn json(place: &Place, arguments: &[&str]) -> Value {
    let mut all = vec!["inspect"];
    all.extend(arguments);
    all.extend(["--json", "-"]);
    serde_json::from_str(&place.succeed(&all)).unwrap()
}

#[test]
fn the_json_has_these_keys_and_no_others() {
    let place = Place::new("the_json_has_these_keys_and_no_others");
    let report = json(&place, &["--problem", "neumann3d:4"]);
    let mut found = Vec::new();
    keys(&report, "", &mut found);
    found.sort();
    // Programs read these: add, but neither rename nor remove.
    let promised = "advice cols decisions diagonal diagonal.first_zero_row diagonal.largest diagonal.negative diagonal.positive \
         diagonal.sign diagonal.smallest diagonal.stored diagonal.zero entries entries.empty_rows entries.explicit_zeros \
         entries.first_empty_row entries.first_not_finite_row entries.longest_row entries.not_finite \
         entries.per_row_average entries.per_row_max entries.per_row_min graph graph.bandwidth graph.block_size \
         graph.components graph.fields graph.floating_components graph.grid graph.isolated_rows graph.largest_component \
         looks_like_saddle_point looks_singular nnz off_diagonal off_diagonal.negative off_diagonal.opposing_fraction \
         off_diagonal.positive rows source special_rows special_rows.dirichlet special_rows.dominant \
         special_rows.dominant_fraction special_rows.zero_sum symmetric symmetry symmetry.but_for_dirichlet \
         symmetry.exact symmetry.largest_difference symmetry.skew symmetry.structure symmetry.to_rounding values \
         values.bf16 values.f16 values.f32 values.largest values.smallest version";
    assert_eq!(found, promised.split_whitespace().collect::<Vec<_>>());
    let mut of_advice: Vec<&String> = report["advice"][0].as_object().unwrap().keys().collect();
    of_advice.sort();
    assert_eq!(of_advice, ["code", "level", "text"]);
    assert_eq!((report["rows"].as_u64(), report["symmetric"].as_bool()), (Some(64), Some(true)));
    assert_eq!(
        (report["looks_singular"].as_bool(), report["version"].as_str()),
        (Some(true), Some(env!("CARGO_PKG_VERSION")))
    );
}

#[test]
fn the_text_is_short_aligned_and_the_same_for_any_number_of_threads() {
    let place = Place::new("the_text_is_short_aligned_and_the_same_for_any_number_of_threads");
    let one = place.succeed(&["inspect", "--problem", "elasticity3d:6", "--threads", "1"]);
    assert_eq!(one, place.succeed(&["inspect", "--problem", "elasticity3d:6", "--threads", "3"]));
    let lines: Vec<&str> = one.lines().collect();
    assert_eq!(lines[0], "elasticity3d:6");
    assert!(lines.iter().all(|line| line.chars().count() <= 80), "{one}");
    assert!(lines.len() <= 56, "{one}");
    for fact in [
        "  size             882 x 882, 51,984 entries, 616 KiB",
        "  symmetry         exactly symmetric",
        "  blocks           3 x 3",
        "  components       1",
    ] {
        assert!(lines.contains(&fact), "`{fact}` is not in\n{one}");
    }
    assert!(one.contains("  smoother.kind    chebyshev: several unknowns per node"), "{one}");
    assert!(one.contains("  note     blocks of 3 x 3, most likely 3 unknowns per node"), "{one}");
}

#[test]
fn the_width_follows_the_terminal() {
    let place = Place::new("the_width_follows_the_terminal");
    let output =
        place.command(&["inspect", "--problem", "elasticity3d:6"]).env("COLUMNS", "50").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.lines().all(|line| line.chars().count() <= 50), "{text}");
}

#[test]
fn json_in_a_file_leaves_the_text_where_it_was() {
    let place = Place::new("json_in_a_file_leaves_the_text_where_it_was");
    let text = place.succeed(&["inspect", "--problem", "poisson2d:5", "--json", "r.json"]);
    assert!(text.starts_with("poisson2d:5\n"));
    let written: Value =
        serde_json::from_str(&std::fs::read_to_string(place.path("r.json")).unwrap()).unwrap();
    assert_eq!(written, json(&place, &["--problem", "poisson2d:5"]));
}

#[test]
fn any_matrix_is_described() {
    let place = Place::new("any_matrix_is_described");
    for (name, size) in
        [("none", "0 0 0"), ("wide", "2 3 1\n1 3 1"), ("tall", "3 2 0"), ("one", "1 1 1\n1 1 -4")]
    {
        let file = format!("{name}.mtx");
        place.write(&file, &format!("%%MatrixMarket matrix coordinate real general\n{size}\n"));
        let text = place.succeed(&["inspect", &file]);
        assert!(text.starts_with(&file) && text.contains("  size  "), "{text}");
        assert!(json(&place, &[&file])["rows"].is_u64());
    }
}

#[test]
fn whoever_stops_reading_hears_no_complaint() {
    let place = Place::new("whoever_stops_reading_hears_no_complaint");
    for arguments in [&["inspect", "--problem", "poisson2d:5"][..], &["generate", "poisson3d:40", "-o", "-"]]
    {
        let mut child =
            place.command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]), "{arguments:?}");
    }
}

/// The shared collection, or `None` and a word about it where there is none.
pub(crate) fn collection() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/matrices");
    let named = std::env::var_os("ZIGGURAT_MATRICES").map(PathBuf::from);
    let folder = named.clone().unwrap_or(beside);
    if folder.join("INDEX.md").exists() {
        return Some(folder);
    }
    assert!(named.is_none(), "ZIGGURAT_MATRICES is set, but there is no INDEX.md in {}", folder.display());
    // Not `eprintln!`: the test harness would hide it, and a test that is skipped must be seen to
    // be.
    let _ =
        writeln!(std::io::stderr(), "skipped: no matrices at {} (set ZIGGURAT_MATRICES)", folder.display());
    None
}

#[test]
fn real_matrices_are_recognised() {
    let Some(folder) = collection() else { return };
    let place = Place::new("real_matrices_are_recognised");
    // Name, rows, entries, symmetric, and the gravest sentence.
    for (name, rows, nnz, symmetric, code) in [
        ("nos3", 960, 15844, true, "cg"),
        ("saylr4", 3564, 22316, true, "negative-diagonal"),
        ("4elt_lap", 15606, 107_362, true, "constant-kernel"),
        ("jpwh_991", 991, 6027, false, "dirichlet-columns"),
        ("lnsp3937", 3937, 25407, false, "zero-diagonal"),
        ("orsirr_1", 1030, 6858, false, "nonsymmetric"),
    ] {
        let path = folder.join(format!("{name}.mtx.gz"));
        let report = json(&place, &[path.to_str().unwrap()]);
        assert_eq!(report["rows"].as_u64(), Some(rows), "{name}");
        assert_eq!(report["nnz"].as_u64(), Some(nnz), "{name}");
        assert_eq!(report["symmetric"].as_bool(), Some(symmetric), "{name}");
        assert_eq!(report["advice"][0]["code"].as_str(), Some(code), "{name}");
    }
}

//! `ziggurat solve --report FILE`: the page about a solve.

use std::fs;

use crate::command::Place;
use serde_json::Value;

/// The page of that name; it needs nothing from elsewhere.
fn page(place: &Place, name: &str) -> String {
    let page = fs::read_to_string(place.path(name)).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.trim_end().ends_with("</html>"));
    let namespaces = page.matches("xmlns=\"http://www.w3.org/2000/svg\"").count();
    assert_eq!(page.matches("http").count(), namespaces, "nothing but the name of SVG");
    for outside in ["src=", "href=", "url(", "@import", "<script", "<link"] {
        assert!(!page.contains(outside), "{outside}");
    }
    page
}

#[test]
fn a_page_has_every_part() {
    let place = Place::new("a_page_has_every_part");
    let arguments = ["solve", "--problem", "poisson3d:12", "--report", "r.html", "--json", "r.json"];
    let text = place.succeed(&[&arguments[..], &["--output", "x.mtx"]].concat());
    assert!(text.contains("converged in"), "{text}");
    assert!(place.path("x.mtx").exists());
    let page = page(&place, "r.html");
    for part in
        ["Convergence", "Time by stage", "Time by level", "Hierarchy", "Levels", "Matrix", "Reproduce"]
    {
        assert!(page.contains(&format!("<h2>{part}</h2>")), "{part}");
    }
    assert_eq!(page.matches("<svg").count(), 6);
    assert!(page.contains("ziggurat compare --problem poisson3d:12"), "the next step");
    assert!(page.contains("exactly symmetric"), "the diagnosis");
    assert!(page.contains("[stopping]"), "the configuration");
    assert!(page.contains("solve --problem poisson3d:12 --report r.html --json r.json"), "the command");
    assert!(page.contains("per cycle"), "the time of levels");
    assert!(page.contains("conversion to f64"), "a stage of setup");

    let json: Value = serde_json::from_str(&fs::read_to_string(place.path("r.json")).unwrap()).unwrap();
    let iterations = json["iterations"].as_u64().unwrap() as usize;
    assert_eq!(json["residuals"].as_array().unwrap().len(), iterations);
    let truth = json["true_residuals"].as_array().unwrap();
    assert_eq!(truth.len(), iterations + 1, "every iteration was looked at");
    assert_eq!(truth[0], serde_json::json!([0, 1.0]));
    assert_eq!(truth[iterations][1], json["relative_residual"]);
    assert!(json["levels"][0]["setup_seconds"].as_f64().unwrap() > 0.0);
    assert!(json["levels"][0]["cycle_seconds"].as_f64().unwrap() > 0.0);
    let stages = json["stages"].as_array().unwrap();
    assert_eq!((&stages[0][0], &stages[stages.len() - 1][0]), (&"diagnosis".into(), &"conversion".into()));
}

#[test]
fn without_a_page_nothing_is_measured_for_it() {
    let place = Place::new("without_a_page_nothing_is_measured_for_it");
    let json: Value =
        serde_json::from_str(&place.succeed(&["solve", "--problem", "poisson3d:12", "--json", "-"])).unwrap();
    assert_eq!(json["config"]["stopping"]["verify_every"], 0);
    assert!(json["levels"][0].get("cycle_seconds").is_none());
    let iterations = json["iterations"].as_u64().unwrap() as usize;
    assert!(json["true_residuals"].as_array().unwrap().len() < iterations);
}

#[test]
fn how_often_the_true_residual_is_computed_can_be_said() {
    let place = Place::new("how_often_the_true_residual_is_computed_can_be_said");
    place.write("c.toml", "stopping.verify_every = 4\n");
    let arguments = ["solve", "--problem", "poisson3d:12", "--config", "c.toml", "--report", "r.html"];
    let json: Value =
        serde_json::from_str(&place.succeed(&[&arguments[..], &["--json", "-"]].concat())).unwrap();
    assert_eq!(json["config"]["stopping"]["verify_every"], 4);
    assert_eq!(json["true_residuals"][1][0], 4);
    page(&place, "r.html");
}

#[test]
fn what_did_not_converge_has_a_page_that_says_why() {
    let place = Place::new("what_did_not_converge_has_a_page");
    place.write("c.toml", "stopping.max_iterations = 2\n");
    let said = place.run(&["solve", "--problem", "poisson3d:10", "--config", "c.toml", "--report", "r.html"]);
    assert_eq!(said.code, Some(2), "{}", said.err);
    let page = page(&place, "r.html");
    assert!(page.contains("not converged after 2 iterations"));
    assert!(page.contains("The iteration limit was reached; raise it"));
}

#[cfg(unix)]
#[test]
fn a_hostile_name_is_only_a_name() {
    let place = Place::new("a_hostile_name_is_only_a_name");
    let name = "<script>alert('x')&amp;\".mtx";
    place.succeed(&["generate", "poisson2d:6", "-o", name]);
    place.succeed(&["solve", name, "--report", "r.html"]);
    let page = page(&place, "r.html");
    assert!(page.contains("<h1>&lt;script&gt;alert(&#39;x&#39;)&amp;amp;&quot;</h1>"), "{page}");
}

#[test]
fn a_page_that_cannot_be_written_is_refused_before_the_work() {
    let place = Place::new("a_page_that_cannot_be_written");
    for (arguments, cause) in [
        (["--report", "-", "--json", "r.json"], "error: --report - does not name a file"),
        (["--report", "none/r.html", "--json", "r.json"], "error: cannot write none/r.html"),
        (["--report", "r.json", "--json", "r.json"], "error: --json and --report both name r.json"),
    ] {
        let said = place.run(&[&["solve", "--problem", "poisson3d:100"][..], &arguments].concat());
        assert_eq!((said.code, said.out.as_str()), (Some(1), ""), "{arguments:?}");
        assert!(said.err.starts_with(cause), "{}", said.err);
    }
}

//! Where can be computed: what `ziggurat devices` lists, and what `solve --device` does with it.

use crate::command::{Place, Said};
use serde_json::Value;

/// Runs the command where no folder is named in which drivers may keep their things, as in a job.
fn run(place: &Place, arguments: &[&str]) -> Said {
    let output = place.command(arguments).env_remove("XDG_RUNTIME_DIR").output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Said { out: text(output.stdout), err: text(output.stderr), code: output.status.code() }
}

fn json(place: &Place, arguments: &[&str]) -> Value {
    let said = run(place, arguments);
    assert_eq!(said.code, Some(0), "{arguments:?}: {}", said.err);
    serde_json::from_str(&said.out).unwrap()
}

#[test]
fn the_processor_is_listed_first_and_named_in_reports() {
    let place = Place::new("the_processor_is_listed_first");
    let list = json(&place, &["devices", "--json", "-", "--threads", "1"]);
    assert_eq!(list["devices"][0]["name"], "cpu");
    let description = list["devices"][0]["description"].as_str().unwrap();
    assert!(description.ends_with(", 1 thread"), "{description}");
    let said = run(&place, &["devices", "--json", "list.json"]);
    assert_eq!((said.code, said.err.as_str()), (Some(0), ""), "drivers are quiet");
    assert!(said.out.contains("  cpu "), "{}", said.out);
    assert!(place.path("list.json").exists());

    let report = json(&place, &["solve", "--problem", "poisson3d:8", "--device", "cpu", "--json", "-"]);
    assert!(report["device"].as_str().unwrap().starts_with("cpu ("));
    assert!(report.get("traffic").is_none(), "its memory is the host's");
    let said = run(&place, &["solve", "--problem", "poisson3d:8"]);
    assert!(said.out.contains("\n  device   cpu ("), "{}", said.out);
}

#[test]
fn an_unknown_name_is_answered_with_the_nearest() {
    let place = Place::new("an_unknown_name");
    for (name, near) in [("vulcan:0", "vulkan:0"), ("cuda:first", "cuda:0"), ("gup", "gpu")] {
        let said = run(&place, &["solve", "--problem", "poisson3d:8", "--device", name]);
        assert_eq!(said.code, Some(1));
        assert!(
            said.err.contains(name) && said.err.contains(&format!("did you mean `{near}`?")),
            "{}",
            said.err
        );
    }
}

#[cfg(not(feature = "gpu"))]
#[test]
fn without_graphics_processors_every_other_name_says_how_to_get_them() {
    let place = Place::new("without_graphics_processors");
    let build = "cargo build --release -p ziggurat-cli --features gpu";
    for name in ["gpu", "vulkan:0", "cuda:0", "hip:0", "metal:0", "vulkan"] {
        let said = run(&place, &["solve", "--problem", "poisson3d:8", "--device", name]);
        assert_eq!((said.code, said.out.as_str()), (Some(1), ""));
        assert_eq!(said.err.lines().count(), 2, "{}", said.err);
        assert!(said.err.contains(&format!("--device {name}: ")) && said.err.contains(build), "{}", said.err);
    }
    let said = run(&place, &["devices"]);
    assert!(said.out.contains("unavailable:") && said.out.contains(build), "{}", said.out);
    let list = json(&place, &["devices", "--json", "-"]);
    assert_eq!(
        (list["devices"].as_array().unwrap().len(), &list["missing"][0]["runtime"]),
        (1, &"gpu".into())
    );
}

#[cfg(feature = "gpu")]
mod with_a_driver {
    use super::*;

    /// The bytes of vectors if every kernel sent its result back.
    fn all_results(report: &Value) -> f64 {
        8.0 * report["rows"].as_f64().unwrap() * report["traffic"]["kernels"].as_f64().unwrap()
    }

    #[test]
    fn vulkan_solves_and_tells_what_went_to_and_fro() {
        let place = Place::new("vulkan_solves");
        let arguments = ["solve", "--problem", "poisson3d:12", "--rtol", "1e-10", "--json", "-"];
        let on_the_processor = json(&place, &arguments);
        for name in ["vulkan:0", "gpu"] {
            let said = run(&place, &[&arguments[..], &["--device", name]].concat());
            assert_eq!((said.code, said.err.as_str()), (Some(0), ""), "drivers are quiet");
            let report: Value = serde_json::from_str(&said.out).unwrap();
            assert_eq!(report["converged"], true);
            assert!(report["relative_residual"].as_f64().unwrap() <= 1e-10);
            let iterations = |report: &Value| report["iterations"].as_i64().unwrap();
            assert!((iterations(&report) - iterations(&on_the_processor)).abs() <= 1);
            assert!(report["device"].as_str().unwrap().contains("vulkan"), "{}", report["device"]);
            let traffic = &report["traffic"];
            for key in ["kernels", "uploads", "uploaded_bytes", "downloads", "downloaded_bytes"] {
                assert!(traffic[key].as_u64().unwrap() > 0, "{key}");
            }
            // The solution, and numbers that the iteration waits for.
            let solution = 8.0 * report["rows"].as_f64().unwrap();
            let rest = traffic["downloaded_bytes"].as_f64().unwrap() - solution;
            assert!((0.0..0.01 * all_results(&report)).contains(&rest), "{traffic}");
        }
        let said = run(&place, &["solve", "--problem", "poisson3d:12", "--device", "vulkan:0"]);
        assert!(said.out.contains("\n  traffic  ") && said.out.contains(" kernels, "), "{}", said.out);
    }

    #[test]
    fn levels_are_made_where_setup_says() {
        let place = Place::new("levels_are_made");
        let arguments =
            ["solve", "--problem", "poisson3d:12", "--device", "gpu", "--method", "sa", "--json", "-"];
        let [host, device] =
            ["host", "device"].map(|setup| json(&place, &[&arguments[..], &["--setup", setup]].concat()));
        assert_eq!((&host["setup_on"], &device["setup_on"]), (&"host".into(), &"device".into()));
        assert_eq!(device["config"]["setup"], "device");
        for key in ["converged", "iterations", "operator_complexity", "grid_complexity"] {
            assert_eq!(device[key], host[key], "{key}");
        }
    }

    #[test]
    fn what_is_listed_can_be_named() {
        let place = Place::new("what_is_listed");
        let list = json(&place, &["devices", "--json", "-"]);
        let names: Vec<&str> = list["devices"]
            .as_array()
            .unwrap()
            .iter()
            .map(|device| device["name"].as_str().unwrap())
            .collect();
        assert!(names.contains(&"vulkan:0"), "{list}");
        for name in names {
            let report =
                json(&place, &["solve", "--problem", "poisson2d:8", "--device", name, "--json", "-"]);
            assert_eq!(report["converged"], true, "{name}");
        }
    }

    #[test]
    fn what_is_not_there_is_an_error_in_two_lines() {
        let place = Place::new("what_is_not_there");
        for (name, hint) in [("vulkan:99", "`ziggurat devices` lists"), ("metal:0", "--device cpu")] {
            let said = run(&place, &["solve", "--problem", "poisson3d:8", "--device", name]);
            assert_eq!((said.code, said.out.as_str()), (Some(1), ""));
            assert_eq!(said.err.lines().count(), 2, "{}", said.err);
            assert!(said.err.contains(&format!("error: --device {name}: ")), "{}", said.err);
            assert!(said.err.contains(hint), "{}", said.err);
        }
    }
}

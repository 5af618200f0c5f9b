//! `ziggurat solve`: methods, configurations, coordinates, and the report of what was done.

use crate::command::Place;
use serde_json::Value;
use ziggurat::SolverConfig;
use ziggurat_sparse::io::{read_matrix, read_vector};

/// The report of a solve that must converge.
fn report(place: &Place, arguments: &[&str]) -> Value {
    let mut all = vec!["solve"];
    all.extend(arguments);
    all.extend(["--json", "-"]);
    serde_json::from_str(&place.succeed(&all)).unwrap()
}

#[test]
fn every_method_converges_and_is_reported() {
    let place = Place::new("every_method_converges_and_is_reported");
    for (method, krylov, smoother) in [
        ("sa", "cg", "jacobi"),
        ("classical", "cg", "l1-chebyshev"),
        ("pairwise", "fcg", "jacobi"),
        ("auto", "cg", "jacobi"),
    ] {
        let report = report(&place, &["--problem", "poisson3d:14", "--method", method]);
        let method = if method == "auto" { "sa" } else { method };
        assert_eq!((&report["method"], &report["krylov"]), (&method.into(), &krylov.into()));
        let config = &report["config"];
        assert_eq!((&config["method"], &config["smoother"]["kind"]), (&method.into(), &smoother.into()));
        assert_eq!((&config["precision"], &report["precision"]), (&"f64".into(), &"f64".into()));
        assert!(report["levels"].as_array().unwrap().len() >= 2);
        assert_eq!(report["levels"][0]["format"], "dia");
        assert!(report["levels"][0]["reason"].as_str().unwrap().starts_with("dia"));
    }
}

#[test]
fn the_reported_configuration_gives_the_same_solve() {
    let place = Place::new("the_reported_configuration_gives_the_same_solve");
    let problem = ["--problem", "convection3d:12"];
    let first = report(&place, &[&problem[..], &["--rtol", "1e-6", "--output", "x.mtx"]].concat());
    assert_eq!(first["method"], "air");
    place.write("used.json", &first["config"].to_string());
    let again = report(&place, &[&problem[..], &["--config", "used.json", "--output", "y.mtx"]].concat());
    assert_eq!((&again["config"], &again["iterations"]), (&first["config"], &first["iterations"]));
    assert_eq!(read_vector(place.path("x.mtx")).unwrap(), read_vector(place.path("y.mtx")).unwrap());
}

#[test]
fn options_win_over_the_file_and_the_dump_shows_it() {
    let place = Place::new("options_win_over_the_file_and_the_dump_shows_it");
    place.write("c.toml", "method = 'classical'\nstopping.rtol = 1e-3\nsmoother.degree = 5\n");
    let dump = place.succeed(&["solve", "--config", "c.toml", "--method", "sa", "--dump-config"]);
    let config = SolverConfig::from_toml(&dump).unwrap();
    assert_eq!((config.method.name(), config.stopping.rtol, config.smoother.degree), ("sa", 1e-3, 5));
    let default = SolverConfig::from_toml(&place.succeed(&["solve", "--dump-config"])).unwrap();
    assert_eq!(default, SolverConfig::default());
    let robust = SolverConfig::from_toml(&place.succeed(&["solve", "--preset", "robust", "--dump-config"]));
    assert_eq!(robust, SolverConfig::preset("robust"));
    let text = place.succeed(&["solve", "--problem", "poisson2d:30", "--config", "c.toml"]);
    assert!(text.contains("(tolerance 0.001)") || text.contains("(tolerance 1e-3)"), "{text}");
}

#[test]
fn coordinates_become_rigid_body_modes() {
    let place = Place::new("coordinates_become_rigid_body_modes");
    place.succeed(&["generate", "elasticity3d:7", "-o", "a.mtx", "--rhs", "b.mtx", "--coords", "c.mtx"]);
    let without = report(&place, &["a.mtx", "--rhs", "b.mtx"]);
    let with = report(&place, &["a.mtx", "--rhs", "b.mtx", "--coords", "c.mtx"]);
    let problem = report(&place, &["--problem", "elasticity3d:7"]);
    assert_eq!(with["iterations"], problem["iterations"]);
    for (problem, asks) in [(&["a.mtx"][..], true), (&["a.mtx", "--coords", "c.mtx"], false)] {
        report(&place, &[problem, &["--report", "r.html"]].concat());
        let page = std::fs::read_to_string(place.path("r.html")).unwrap();
        assert_eq!(page.contains("provide the coordinates"), asks, "{problem:?}");
    }
    let iterations = |report: &Value| report["iterations"].as_u64().unwrap();
    assert!(iterations(&with) < iterations(&without), "{} {}", with["iterations"], without["iterations"]);
    // Blocks of three, with an index for each block instead of each entry.
    let (level, a) = (&with["levels"][0], read_matrix(place.path("a.mtx")).unwrap());
    assert_eq!(level["format"], "bsr");
    assert!(level["bytes"].as_u64().unwrap() < (a.bytes() * 4 / 5) as u64);
    // The coarsest level is solved by its inverse.
    let levels = with["levels"].as_array().unwrap();
    assert_eq!(levels.last().unwrap()["format"], "inverse");
}

#[test]
fn coordinates_in_the_plane_become_three_modes() {
    let place = Place::new("coordinates_in_the_plane_become_three_modes");
    // Two unknowns per node, coupled: not elasticity, but of its shape.
    let (nodes, mut entries) = (400, Vec::new());
    for node in 0..nodes {
        for unknown in 1..=2 {
            let row = 2 * node + unknown;
            entries.push(format!("{row} {row} 4.5"));
            entries.push(format!("{row} {} 0.5", 2 * node + 3 - unknown));
            for (other, there) in [(node + 1, node % 20 != 19), (node + 20, node + 20 < nodes)] {
                if there {
                    let column = 2 * other + unknown;
                    entries.push(format!("{row} {column} -1\n{column} {row} -1"));
                }
            }
        }
    }
    let nnz = entries.iter().map(|entry| entry.lines().count()).sum::<usize>();
    let header = "%%MatrixMarket matrix";
    let a = format!("{header} coordinate real general\n800 800 {nnz}\n{}\n", entries.join("\n"));
    place.write("a.mtx", &a);
    let points = |axis: fn(usize) -> usize| (0..nodes).map(move |node| axis(node).to_string());
    let points: Vec<String> = points(|node| node % 20).chain(points(|node| node / 20)).collect();
    place.write("c.mtx", &format!("{header} array real general\n400 2\n{}\n", points.join("\n")));
    let report = report(&place, &["a.mtx", "--coords", "c.mtx", "--method", "sa"]);
    assert_eq!(report["levels"][1]["rows"].as_u64().unwrap() % 3, 0, "three unknowns per aggregate");
}

#[test]
fn what_does_not_converge_exits_with_two() {
    let place = Place::new("what_does_not_converge_exits_with_two");
    place.write("c.toml", "stopping.max_iterations = 1\n");
    let said = place.run(&["solve", "--problem", "poisson3d:12", "--config", "c.toml"]);
    assert_eq!((said.code, said.err.as_str()), (Some(2), ""));
    assert!(said.out.contains("NOT converged in 1 iteration"), "{}", said.out);
}

#[test]
fn the_iteration_limit_is_an_option() {
    let place = Place::new("the_iteration_limit_is_an_option");
    place.write("c.toml", "stopping.max_iterations = 1\n");
    let arguments = ["solve", "--problem", "poisson3d:12", "--config", "c.toml", "--max-iterations"];
    let said = place.run(&[&arguments[..], &["3", "--json", "-"]].concat());
    let report: Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!((said.code, &report["stop_reason"]), (Some(2), &"max_iterations".into()));
    assert_eq!(
        (&report["iterations"], &report["config"]["stopping"]["max_iterations"]),
        (&3.into(), &3.into())
    );
}

#[test]
fn a_solution_as_the_guess_needs_no_iteration() {
    let place = Place::new("a_solution_as_the_guess");
    let problem = ["--problem", "neumann3d:6", "--shuffle", "5"];
    report(&place, &[&problem[..], &["--output", "x.mtx"]].concat());
    let again = report(&place, &[&problem[..], &["--guess", "x.mtx", "--max-iterations", "0"]].concat());
    assert_eq!((&again["iterations"], &again["converged"]), (&0.into(), &true.into()));
}

#[test]
fn verbose_logs_to_standard_error_and_quiet_prints_nothing() {
    let place = Place::new("verbose_and_quiet");
    let problem = ["solve", "--problem", "poisson3d:12"];
    let said = place.run(&[&problem[..], &["-v"]].concat());
    assert_eq!(said.code, Some(0));
    assert!(said.out.contains("converged in"), "{}", said.out);
    for part in
        ["s] setup: level 0: 1728 rows", "s] setup: 1728 rows", "s] solve: iteration 2, relative residual"]
    {
        assert!(said.err.contains(part), "{part} is not in\n{}", said.err);
    }
    assert_eq!(place.succeed(&[&problem[..], &["--quiet"]].concat()), "");
    let json = place.succeed(&[&problem[..], &["-q", "--json", "-"]].concat());
    assert_eq!(serde_json::from_str::<Value>(&json).unwrap()["converged"], true);
    let said = place.run(&["solve", "-q", "none.mtx"]);
    assert!(said.code == Some(1) && said.err.contains("cannot read none.mtx"), "{}", said.err);
    let said = place.run(&[&problem[..], &["-q", "--max-iterations", "1"]].concat());
    assert_eq!((said.code, said.out.as_str(), said.err.as_str()), (Some(2), "", ""));
}

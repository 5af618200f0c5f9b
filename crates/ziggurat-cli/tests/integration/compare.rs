//! `ziggurat compare`, `tune` and `estimate`: what they say is what a solve does.

use crate::command::Place;
use crate::inspect::collection;
use serde_json::Value;
use ziggurat_sparse::gallery::Problem;

fn json(place: &Place, arguments: &[&str]) -> Value {
    serde_json::from_str(&place.succeed(&[arguments, &["--json", "-"]].concat())).unwrap()
}

#[test]
fn every_command_of_a_comparison_repeats_its_run() {
    let place = Place::new("every_command_of_a_comparison");
    // Shuffled: a grid has no second effort.
    place.succeed(&["generate", "poisson3d:40", "--shuffle", "64", "-o", "the matrix.mtx", "--rhs", "b.mtx"]);
    let system = ["the matrix.mtx", "--rhs", "b.mtx", "--rtol", "1e-6", "--threads", "1"];
    let found = json(&place, &[&["compare"][..], &system].concat());
    assert_eq!(
        (&found["rows"], &found["rtol"], &found["threads"]),
        (&64_000.into(), &1e-6.into(), &1.into())
    );
    let runs = found["runs"].as_array().unwrap();
    assert!((5..=7).contains(&runs.len()), "{found}");
    let total = |run: &Value| run["setup_seconds"].as_f64().unwrap() + run["solve_seconds"].as_f64().unwrap();
    assert!(runs.iter().all(|run| run["converged"] == true), "{found}");
    assert!(runs.iter().map(total).is_sorted(), "the fastest first");
    for run in runs {
        let options: Vec<&str> =
            run["options"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
        let command = format!(
            "ziggurat solve 'the matrix.mtx' --rhs b.mtx --rtol 1e-6 --threads 1 {}",
            options.join(" ")
        );
        assert_eq!(run["command"], command.trim_end());
        let solve = json(&place, &[&["solve"][..], &system, &options].concat());
        for key in ["iterations", "operator_complexity", "relative_residual", "stop_reason"] {
            assert_eq!(run[key], solve[key], "{command}: {key}");
        }
    }
    let options: Vec<String> = runs.iter().map(|run| run["options"].to_string()).collect();
    for part in ["[]", "many-solves", "classical", "pairwise", "robust", "f64"] {
        assert!(options.iter().any(|options| options.contains(part)), "{part} in {options:?}");
    }
}

#[test]
fn a_comparison_is_one_table_with_commands() {
    let place = Place::new("a_comparison_is_one_table");
    let text = place.succeed(&["compare", "--problem", "convection3d:8"]);
    assert!(text.starts_with("convection3d:8: 512 rows, "), "{text}");
    let head = text.lines().find(|line| line.contains("iterations")).unwrap();
    for column in ["total", "setup", "solve", "complexity", "memory", "result"] {
        assert!(head.contains(column), "{text}");
    }
    assert!(text.contains("1  ziggurat solve --problem convection3d:8"), "{text}");
    assert!(!text.contains("--method air"), "the default is air already: {text}");
    assert!(text.contains("--method classical"), "{text}");

    // No method solves an inconsistent system.
    place.write(
        "a.mtx",
        "%%MatrixMarket matrix coordinate real general\n2 2 4\n1 1 1\n1 2 -1\n2 1 -1\n2 2 1\n",
    );
    place.write("b.mtx", "%%MatrixMarket matrix array real general\n2 1\n1\n1\n");
    let said = place.run(&["compare", "a.mtx", "--rhs", "b.mtx"]);
    assert_eq!((said.code, said.err.as_str()), (Some(2), ""), "{}", said.out);
    assert!(said.out.contains("inconsistent"), "{}", said.out);
}

#[test]
fn the_estimated_memory_is_within_a_factor_of_two() {
    let place = Place::new("the_estimated_memory");
    for (name, _) in Problem::NAMES {
        let size = match name {
            "poisson2d" => 150,
            "elasticity3d" | "solid3d" | "radiation3t" => 10,
            _ => 24,
        };
        let problem = ["--problem", &format!("{name}:{size}")];
        let estimate = json(&place, &[&["estimate"][..], &problem].concat());
        let solve = json(&place, &[&["solve"][..], &problem].concat());
        let ratio = estimate["peak_bytes"].as_f64().unwrap() / solve["peak_bytes"].as_f64().unwrap();
        assert!((0.5..=2.0).contains(&ratio), "{problem:?}: {ratio}");
        assert_eq!(estimate["symmetric"], !["convection3d", "transport3d"].contains(&name));
        let [fast, slow] = [0, 1].map(|k| estimate["total_seconds"][k].as_f64().unwrap());
        assert!(0.0 < fast && fast < slow);
    }
    let text = place.succeed(&["estimate", "--problem", "poisson2d:20"]);
    for part in ["memory  about", "rescue  up to", "total   ", "unless --no-fallback is given"] {
        assert!(text.contains(part), "{text}");
    }
}

/// Systems that multigrid solves, and systems for which it is replaced by sparse factors.
#[test]
fn real_matrices_take_no_more_memory_than_the_range_says() {
    let Some(folder) = collection() else { return };
    let place = Place::new("real_matrices_take_no_more_memory");
    for name in ["norne_pressure", "gyro_m", "bcsstk18", "memplus", "hypre_ams", "teko_szd"] {
        let path = folder.join(format!("{name}.mtx.gz"));
        let path = path.to_str().unwrap();
        let estimate = json(&place, &["estimate", path]);
        let limit = ["--max-iterations", "300", "--json", "-"];
        let said = place.run(&[&["solve", path][..], &limit].concat());
        let solve: Value = serde_json::from_str(&said.out).unwrap();
        let [least, most] = [0, 1].map(|k| estimate["peak_bytes_range"][k].as_u64().unwrap());
        let by_factors = solve["method"] == "direct";
        assert_eq!(by_factors, ["hypre_ams", "teko_szd"].contains(&name), "{name}");
        let most = if by_factors { estimate["peak_bytes_with_factors"].as_u64().unwrap() } else { most };
        let peak = solve["peak_bytes"].as_u64().unwrap();
        assert!((least..=most).contains(&peak), "{name}: {peak}, estimated {least} to {most}");
    }
}

/// A chain of unknowns, of which every fourth is tied to its neighbour by a multiplier.
fn saddle(n: usize) -> String {
    let mut entries = String::new();
    for row in 1..=n {
        entries += &format!("{row} {row} 2\n");
        if row < n {
            entries += &format!("{} {row} -1\n", row + 1);
        }
    }
    for tie in 1..=n / 4 {
        entries += &format!("{0} {1} 1\n{0} {2} -1\n", n + tie, 4 * tie - 3, 4 * tie - 2);
    }
    let (rows, count) = (n + n / 4, entries.lines().count());
    format!("%%MatrixMarket matrix coordinate real symmetric\n{rows} {rows} {count}\n{entries}")
}

#[test]
fn the_estimate_for_a_saddle_point_is_that_of_its_factors() {
    let place = Place::new("the_estimate_for_a_saddle_point");
    place.write("A.mtx", &saddle(20_000));
    let (estimate, solve) = (json(&place, &["estimate", "A.mtx"]), json(&place, &["solve", "A.mtx"]));
    assert_eq!((&estimate["saddle_point"], &estimate["starts_with_factors"]), (&true.into(), &true.into()));
    assert_eq!((&solve["method"], &solve["promotion"]), (&"direct".into(), &Value::Null));
    let [least, most] = [0, 1].map(|k| estimate["peak_bytes_range"][k].as_u64().unwrap());
    assert_eq!(estimate["peak_bytes_with_factors"], most);
    let peak = solve["peak_bytes"].as_u64().unwrap();
    assert!((least..=most).contains(&peak), "{peak}, estimated {least} to {most}");
    let text = place.succeed(&["estimate", "A.mtx"]);
    assert!(text.contains("a saddle point: sparse factors (method direct) come first"), "{text}");
    assert!(!text.contains("rescue") && !text.contains("smoothed aggregation"), "{text}");
}

/// Rounding acts in the levels or in the factors of the stronger smoother, and nowhere in the last
/// three, which take the same iterations in f64.
#[test]
fn the_report_says_where_rounding_costs_iterations() {
    let Some(folder) = collection() else { return };
    let place = Place::new("the_report_says_where_rounding");
    let slowed = ["muelu_beam", "bcsstk15", "bcsstk28", "bcsstk14"];
    for name in slowed.into_iter().chain(["bcsstk27", "pyamg_ldg_diffusion", "ani4"]) {
        let path = folder.join(format!("{name}.mtx.gz"));
        let solve = ["solve", path.to_str().unwrap(), "--precision", "f16", "--json", "-"];
        // Comparisons are made in the first iterations.
        let said = place.run(&[&solve[..], &["--max-iterations", "200"]].concat());
        let report: Value = serde_json::from_str(&said.out).unwrap();
        let rounding = report["rounding"].as_str().unwrap_or_default();
        assert_eq!(rounding.contains("choose precision f64"), slowed.contains(&name), "{name}: {rounding}");
    }
}

#[test]
fn tuning_writes_a_configuration_that_solves() {
    let place = Place::new("tuning_writes_a_configuration");
    place.succeed(&["generate", "anisotropic3d:14", "--shuffle", "64", "-o", "a.mtx"]);
    let search = ["tune", "a.mtx", "--seconds", "20", "--rtol", "1e-6", "--threads", "1"];
    let found = json(&place, &[&search[..], &["--output", "fast.toml"]].concat());
    let trials = found["trials"].as_array().unwrap();
    assert!(trials.len() > 10 && trials[0]["changes"].as_array().unwrap().is_empty(), "{found}");
    for key in ["method", "smoother.kind", "cycle.kind", "precision"] {
        assert!(trials.iter().any(|trial| trial["changes"].to_string().contains(key)), "{key}: {found}");
    }
    let total =
        |trial: &Value| trial["setup_seconds"].as_f64().unwrap() + trial["solve_seconds"].as_f64().unwrap();
    let best = &trials[found["best"].as_u64().unwrap() as usize];
    assert!(best["converged"] == true && total(best) <= total(&trials[0]), "{found}");
    let solved = json(&place, &["solve", "a.mtx", "--config", "fast.toml", "--threads", "1"]);
    assert_eq!((&solved["iterations"], &solved["converged"]), (&best["iterations"], &true.into()));
    assert!(solved["relative_residual"].as_f64().unwrap() <= 1e-6);
}

#[test]
fn tuning_prints_the_trials_and_refuses_what_is_no_time() {
    let place = Place::new("tuning_prints_the_trials");
    let text = place.succeed(&["tune", "--problem", "poisson2d:20", "--seconds", "2", "--solves", "10"]);
    assert!(text.starts_with("poisson2d:20: 400 rows, "), "{text}");
    for part in ["setup + 10 solves", "as given", "method = direct"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let said = place.run(&["tune", "--problem", "poisson2d:20", "--seconds", "0"]);
    assert_eq!(said.code, Some(1));
    assert!(said.err.contains("give a positive number of seconds"), "{}", said.err);
}

//! Ctrl-C during `ziggurat solve`: a real process gets a real signal.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStderr, Command, Stdio};

use crate::command::Place;
use serde_json::Value;
use ziggurat_sparse::io::read_vector;

/// A matrix of this problem is too large for a direct solver, and one level of Jacobi takes
/// hundreds of iterations: long enough to be interrupted.
const SLOW: [&str; 6] = ["solve", "--problem", "poisson2d:300", "--config", "slow.toml", "--verbose"];

fn place(test: &str) -> Place {
    let place = Place::new(test);
    place.write("slow.toml", "hierarchy.max_levels = 1\nstopping.max_iterations = 100000\n");
    place
}

/// Sends a signal by its name.
fn send(signal: &str, process: &str) {
    assert!(Command::new("kill").args([signal, process]).status().unwrap().success());
}

/// Reads the log up to the first iteration, and returns the rest of it.
fn until_it_iterates(child: &mut Child) -> BufReader<ChildStderr> {
    let mut log = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("solve: iteration 1,") {
        line.clear();
        assert!(log.read_line(&mut line).unwrap() > 0, "no iteration in the log");
    }
    log
}

#[test]
fn ctrl_c_stops_at_the_next_iteration_and_everything_is_written() {
    let place = place("ctrl_c_stops_at_the_next_iteration");
    for signal in ["-INT", "-TERM"] {
        let outputs = ["--output", "x.mtx", "--json", "r.json", "--report", "r.html", "--trace", "t.json"];
        let mut command = place.command(&[&SLOW[..], &outputs].concat());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut log = until_it_iterates(&mut child);
        send(signal, &child.id().to_string());
        let mut rest = String::new();
        log.read_to_string(&mut rest).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{signal}: {rest}");
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(text.contains("NOT converged") && text.contains("interrupted"), "{text}");

        let report: Value = serde_json::from_str(&fs::read_to_string(place.path("r.json")).unwrap()).unwrap();
        assert_eq!((&report["stop_reason"], &report["converged"]), (&"interrupted".into(), &false.into()));
        assert!((1..1000).contains(&report["iterations"].as_u64().unwrap()), "{}", report["iterations"]);
        assert!(fs::read_to_string(place.path("r.html")).unwrap().contains("nterrupted"));
        let trace = fs::read_to_string(place.path("t.json")).unwrap();
        assert!(serde_json::from_str::<Value>(&trace).unwrap()["traceEvents"][1].is_object());
        assert_eq!(read_vector(place.path("x.mtx")).unwrap().len(), 90_000);
        // A second solve begins with the written solution.
        let again = place.run(&["solve", "--problem", "poisson2d:300", "--guess", "x.mtx", "--json", "-"]);
        let again: Value = serde_json::from_str(&again.out).unwrap();
        let [first, last] = [&again["true_residuals"][0][1], &report["relative_residual"]];
        let [first, last] = [first, last].map(|residual| residual.as_f64().unwrap());
        assert!((first - last).abs() <= 1e-9 * last, "{first} {last}");
        for name in ["x.mtx", "r.json", "r.html", "t.json"] {
            fs::remove_file(place.path(name)).unwrap();
        }
    }
}

/// The matrix is so large that the iteration and the report take far longer than the time between
/// the signals.
#[test]
fn a_second_signal_ends_the_process_at_once() {
    let place = place("a_second_signal_ends_the_process");
    let mut large = SLOW;
    large[2] = "poisson2d:1000";
    let outputs = ["--json", "r.json", "--trace", "t.json"];
    let mut command = place.command(&[&large[..], &outputs].concat());
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let log = until_it_iterates(&mut child);
    let signals = format!("kill -INT {0} && sleep 0.02 && kill -INT {0}", child.id());
    assert!(Command::new("sh").args(["-c", &signals]).status().unwrap().success());
    let code = child.wait().unwrap().code();
    drop(log);
    assert_eq!(code, Some(130));
    assert!(!place.path("r.json").exists());
    let trace = fs::read_to_string(place.path("t.json")).unwrap();
    assert!(serde_json::from_str::<Value>(&trace).is_ok(), "complete nevertheless");
}

/// All ranks stop if one of them is asked to. The matrix is so large that the solve still runs when
/// the signal arrives, also on a busy machine.
#[cfg(feature = "mpi")]
#[test]
fn a_signal_to_one_rank_stops_all() {
    let place = place("a_signal_to_one_rank_stops_all");
    let mut large = SLOW;
    large[2] = "poisson2d:800";
    let mut command = Command::new("mpirun");
    command.args(["--allow-run-as-root", "--oversubscribe", "-n", "2"]);
    command.args(["sh", "-c", "echo $$ > pid.$$ && exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_ziggurat")]);
    command.args(large).args(["--json", "r.json", "--output", "x.mtx"]);
    command.current_dir(place.path("")).stdin(Stdio::null());
    command.env("OMPI_MCA_btl_vader_single_copy_mechanism", "none");
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut log = until_it_iterates(&mut child);
    let names = fs::read_dir(place.path("")).unwrap().map(|entry| entry.unwrap().file_name());
    let ranks: Vec<String> =
        names.filter_map(|name| name.to_str()?.strip_prefix("pid.").map(str::to_owned)).collect();
    assert_eq!(ranks.len(), 2);
    send("-INT", &ranks[1]);
    let mut rest = String::new();
    log.read_to_string(&mut rest).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(2), "{rest}");
    let report: Value = serde_json::from_str(&fs::read_to_string(place.path("r.json")).unwrap()).unwrap();
    assert_eq!(report["stop_reason"], "interrupted");
    assert_eq!(read_vector(place.path("x.mtx")).unwrap().len(), 640_000);
}

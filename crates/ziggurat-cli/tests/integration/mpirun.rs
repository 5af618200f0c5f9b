//! `mpirun -n 3 ziggurat solve …`: the same command on several ranks.

use std::process::{Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use crate::command::{Place, Said};
use serde_json::Value;
use ziggurat_sparse::io::read_vector;

/// A command that takes longer than this, on any machine, hangs.
const PATIENCE: Duration = Duration::from_secs(180);

/// A launcher of ranks, one thread each; its options and the command follow.
pub(crate) fn launcher(place: &Place) -> Command {
    let mut command = Command::new("mpirun");
    command.args(["--allow-run-as-root", "--oversubscribe"]);
    command.current_dir(place.path("")).stdin(Stdio::null());
    command.env("OMPI_MCA_btl_vader_single_copy_mechanism", "none").env("RAYON_NUM_THREADS", "1");
    // There may be more ranks than cores, so a waiting rank yields.
    command.env("OMPI_MCA_mpi_yield_when_idle", "1");
    command
}

/// Runs a launcher, and ends it if it hangs.
pub(crate) fn run(mut command: Command) -> Said {
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let (process, (done, waiting)) = (child.id().to_string(), mpsc::channel::<()>());
    let guard = thread::spawn(move || {
        let hangs = waiting.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout);
        // A request to end: the launcher then ends the ranks.
        hangs && Command::new("kill").arg(process).status().is_ok()
    });
    let output = child.wait_with_output().unwrap();
    drop(done);
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let said = Said { out: text(output.stdout), err: text(output.stderr), code: output.status.code() };
    assert!(!guard.join().unwrap(), "hangs: {said:?}");
    said
}

/// Runs the command on the given number of ranks.
pub(crate) fn mpirun(place: &Place, ranks: usize, arguments: &[&str]) -> Said {
    let mut command = launcher(place);
    command.args(["-n", &ranks.to_string(), env!("CARGO_BIN_EXE_ziggurat")]).args(arguments);
    run(command)
}

#[test]
fn rank_0_reports_and_says_how_levels_lie_on_ranks() {
    let place = Place::new("rank_0_reports");
    // Ranks have no fallback, so one process is told to have none.
    let arguments = ["solve", "--problem", "poisson3d:20", "--no-fallback", "--json", "-"];
    let said = mpirun(&place, 3, &arguments);
    assert_eq!(said.code, Some(0), "{}", said.err);
    let report: Value = serde_json::from_str(&said.out).unwrap();
    let alone: Value = serde_json::from_str(&place.succeed(&arguments)).unwrap();
    assert_eq!((&report["ranks"]["count"], &report["ranks"]["threads"]), (&3.into(), &1.into()));
    for key in ["iterations", "rows", "nnz", "config", "method", "operator_complexity"] {
        assert_eq!(report[key], alone[key], "{key}");
    }
    assert!(alone.get("ranks").is_none());
    let levels = report["levels"].as_array().unwrap();
    assert_eq!(levels.len(), alone["levels"].as_array().unwrap().len());
    assert_eq!(levels[0]["distribution"]["ranks"], 3);
    assert_eq!(levels[0]["distribution"]["halo_rows_most"], 800); // a plane on either side
    assert_eq!(levels.last().unwrap()["distribution"]["ranks"], 1);
    let stages = |report: &Value| {
        let stages = report["stages"].as_array().unwrap().clone();
        stages.into_iter().map(|stage| stage[0].clone()).collect::<Vec<Value>>()
    };
    assert_eq!(stages(&report), stages(&alone));

    let said = mpirun(&place, 2, &["solve", "--problem", "poisson3d:20", "--threads", "2"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert!(said.out.contains("2 with 2 threads each") && said.out.contains("halo/rank"), "{}", said.out);
    assert_eq!(said.out.matches("converged in").count(), 1, "{}", said.out);
}

#[test]
fn files_are_read_by_all_ranks_and_written_by_one() {
    let place = Place::new("files_are_read_by_all_ranks");
    place.succeed(&["generate", "elasticity3d:6", "-o", "A.mtx"]);
    let rows = 6 * 7 * 7 * 3;
    let values: String = (0..rows).map(|k| format!("{}\n", k % 7)).collect();
    place.write("b.mtx", &format!("%%MatrixMarket matrix array real general\n{rows} 1\n{values}"));
    let arguments =
        |output: &'static str| ["solve", "A.mtx", "--rhs", "b.mtx", "--rtol", "1e-10", "--output", output];
    place.succeed(&arguments("one.mtx"));
    let said = mpirun(&place, 3, &arguments("three.mtx"));
    assert_eq!(said.code, Some(0), "{}", said.err);
    let (one, three) =
        (read_vector(place.path("one.mtx")).unwrap(), read_vector(place.path("three.mtx")).unwrap());
    let largest = one.iter().fold(0.0, |largest: f64, x| largest.max(x.abs()));
    assert_eq!(one.len(), three.len());
    assert!(one.iter().zip(&three).all(|(one, three)| (one - three).abs() <= 1e-6 * largest));
}

#[test]
fn files_of_every_format_give_the_same_on_ranks() {
    let place = Place::new("files_of_every_format_give_the_same_on_ranks");
    let mut first = None;
    for (a, b, x) in [
        ("A.mtx", "b.mtx", "x.mtx"),
        ("A.npz", "b.npy", "x.npy"),
        ("A.petsc", "b.petsc", "x.petsc"),
        ("A.rb", "b.npy.gz", "x.mtx.gz"),
    ] {
        place.succeed(&["generate", "convection3d:16", "-o", a, "--rhs", b]);
        let said =
            mpirun(&place, 3, &["solve", a, "--rhs", b, "--no-fallback", "--json", "-", "--output", x]);
        assert_eq!(said.code, Some(0), "{}", said.err);
        let report: Value = serde_json::from_str(&said.out).unwrap();
        let found = (report["iterations"].clone(), read_vector(place.path(x)).unwrap());
        assert_eq!(first.get_or_insert_with(|| found.clone()), &found, "{a}");
    }
}

#[test]
fn coordinates_give_the_levels_of_one_process() {
    let place = Place::new("coordinates_give_the_levels_of_one_process");
    // 882 rows, on one rank, and 6084 rows, on several.
    for problem in ["elasticity3d:6", "elasticity3d:12"] {
        place.succeed(&["generate", problem, "-o", "A.mtx", "--coords", "X.mtx"]);
        let arguments = ["solve", "A.mtx", "--coords", "X.mtx", "--no-fallback", "--json", "-"];
        let alone: Value = serde_json::from_str(&place.succeed(&arguments)).unwrap();
        for ranks in [1, 3] {
            let said = mpirun(&place, ranks, &arguments);
            assert_eq!(said.code, Some(0), "{}", said.err);
            let report: Value = serde_json::from_str(&said.out).unwrap();
            for key in ["iterations", "rows", "nnz", "config", "operator_complexity"] {
                assert_eq!(report[key], alone[key], "{problem}, {ranks} ranks: {key}");
            }
        }
    }
    place.write("line.mtx", "%%MatrixMarket matrix array real general\n2 3\n0\n1\n0\n0\n0\n0\n");
    place.write(
        "six.mtx",
        "%%MatrixMarket matrix coordinate real general\n6 6 6\n1 1 2\n2 2 2\n3 3 2\n4 4 2\n5 5 2\n6 6 2\n",
    );
    let arguments = ["solve", "six.mtx", "--coords", "line.mtx"];
    let (said, alone) = (mpirun(&place, 2, &arguments), place.run(&arguments));
    assert!(said.code == Some(1) && said.err.contains("no rigid-body modes"), "{}", said.err);
    assert!(said.err.contains(alone.err.trim()), "{} {}", said.err, alone.err);
    place.write("four.mtx", "%%MatrixMarket matrix array real general\n4 1\n0\n1\n2\n3\n");
    let said = mpirun(&place, 2, &["solve", "six.mtx", "--coords", "four.mtx"]);
    assert!(said.err.contains("has coordinates of 4 nodes, but six.mtx has 6 rows"), "{}", said.err);
}

#[test]
fn errors_are_told_once_and_exit_codes_are_those_of_one_process() {
    let place = Place::new("errors_are_told_once");
    let said = mpirun(&place, 2, &["solve", "nothing.mtx"]);
    assert_eq!(said.code, Some(1));
    assert_eq!(said.err.matches("error: ").count(), 1, "{}", said.err);
    assert!(said.err.contains("cannot read nothing.mtx"), "{}", said.err);

    let said = mpirun(&place, 2, &["solve", "poisson3d:8"]);
    assert!(said.code == Some(1) && said.err.contains("use --problem poisson3d:8"), "{}", said.err);
    let said = mpirun(&place, 2, &["solve", "."]);
    assert!(said.code == Some(1) && said.err.contains(". is a folder, not a file"), "{}", said.err);

    // The last entry is missing: only all ranks together can tell.
    place.write("short.mtx", "%%MatrixMarket matrix coordinate real general\n3 3 4\n1 1 1\n2 2 1\n3 3 1\n");
    let said = mpirun(&place, 2, &["solve", "short.mtx"]);
    assert_eq!(said.code, Some(1));
    assert!(said.err.contains("declares 4 entries, but the file has 3"), "{}", said.err);

    let said = mpirun(&place, 2, &["solve", "--problem", "poisson3d:8", "--shuffle", "4"]);
    assert!(
        said.code == Some(1) && said.err.contains("--shuffle cannot be used on several ranks yet"),
        "{}",
        said.err
    );

    let said = mpirun(&place, 2, &["solve", "--problem", "poisson3d:8", "--device", "vulkan:99"]);
    assert!(said.code == Some(1) && said.err.contains("--device vulkan:99"), "{}", said.err);
    assert_eq!(said.err.matches("error: ").count(), 1, "{}", said.err);

    place.write("three.mtx", "%%MatrixMarket matrix coordinate real general\n3 3 3\n1 1 1\n2 2 1\n3 3 1\n");
    for (name, values) in [("long.mtx", 4), ("brief.mtx", 2)] {
        place.write(
            name,
            &format!("%%MatrixMarket matrix array real general\n{values} 1\n{}", "1\n".repeat(values)),
        );
        let said = mpirun(&place, 2, &["solve", "three.mtx", "--rhs", name]);
        let words = format!("{name} has {values} values, but three.mtx has 3 rows");
        assert!(said.code == Some(1) && said.err.contains(&words), "{}", said.err);
    }

    place.write("few.toml", "[stopping]\nmax_iterations = 2\n");
    let said = mpirun(
        &place,
        2,
        &["solve", "--problem", "poisson3d:16", "--config", "few.toml", "--json", "r.json"],
    );
    assert_eq!(said.code, Some(2), "{}", said.err);
    let report: Value = serde_json::from_slice(&std::fs::read(place.path("r.json")).unwrap()).unwrap();
    assert_eq!(report["converged"], false);
}

#[test]
fn rank_0_prints_the_configuration() {
    let place = Place::new("rank_0_prints_the_configuration");
    let arguments = ["solve", "--preset", "robust", "--dump-config"];
    let said = mpirun(&place, 2, &arguments);
    assert_eq!((said.code, said.out), (Some(0), place.succeed(&arguments)), "{}", said.err);
}

#[test]
fn rank_0_writes_the_page_and_says_what_is_not_on_it() {
    let place = Place::new("rank_0_writes_the_page");
    let said = mpirun(&place, 2, &["solve", "--problem", "poisson3d:16", "--report", "r.html"]);
    assert_eq!(said.code, Some(0), "{}", said.err);
    let page = std::fs::read_to_string(place.path("r.html")).unwrap();
    assert!(page.contains("<h2>Convergence</h2>") && page.contains("<h3>Distribution over ranks</h3>"));
    assert!(page.contains("distributed over several ranks") && page.contains("mpirun -n 2 "), "{page}");
}

#[test]
fn a_guess_the_limit_and_the_log_work_on_ranks() {
    let place = Place::new("a_guess_the_limit_and_the_log");
    let problem = ["solve", "--problem", "poisson3d:16"];
    place.succeed(&[&problem[..], &["--output", "x.mtx"]].concat());
    let said = mpirun(&place, 2, &[&problem[..], &["--guess", "x.mtx", "--json", "-"]].concat());
    assert_eq!(said.code, Some(0), "{}", said.err);
    assert_eq!(serde_json::from_str::<Value>(&said.out).unwrap()["iterations"], 0);
    let said = mpirun(&place, 2, &[&problem[..], &["--max-iterations", "2", "-v", "--json", "-"]].concat());
    assert_eq!(said.code, Some(2), "{}", said.err);
    assert_eq!(serde_json::from_str::<Value>(&said.out).unwrap()["iterations"], 2);
    assert_eq!(said.err.matches("solve: iteration 2,").count(), 1, "{}", said.err);
    let said = mpirun(&place, 2, &[&problem[..], &["-q"]].concat());
    assert_eq!((said.code, said.out.as_str()), (Some(0), ""), "{}", said.err);

    place.write("short.mtx", "%%MatrixMarket matrix array real general\n2 1\n1\n1\n");
    let said = mpirun(&place, 2, &[&problem[..], &["--guess", "short.mtx"]].concat());
    let words = ["short.mtx has 2 values, but poisson3d:16 has 4,096 rows", "array of size 4096 1"];
    assert!(said.code == Some(1) && words.iter().all(|part| said.err.contains(part)), "{}", said.err);
}

#[cfg(feature = "gpu")]
#[test]
fn every_rank_has_a_gpu() {
    let place = Place::new("every_rank_has_a_gpu");
    let arguments = |device: &'static str| {
        ["solve", "--problem", "poisson3d:16", "--method", "sa", "--device", device, "--json", "-"]
    };
    let on_cpus = mpirun(&place, 2, &arguments("cpu"));
    let on_cpus: Value = serde_json::from_str(&on_cpus.out).unwrap();
    for device in ["vulkan", "vulkan:0", "gpu"] {
        let said = mpirun(&place, 2, &arguments(device));
        assert_eq!(said.code, Some(0), "{}", said.err);
        let report: Value = serde_json::from_str(&said.out).unwrap();
        let name = report["device"].as_str().unwrap();
        assert!(name.starts_with("2 ranks, each ") && name.contains("vulkan"), "{name}");
        let rows = |report: &Value| {
            let levels = report["levels"].as_array().unwrap().iter();
            levels.map(|level| (level["rows"].clone(), level["nnz"].clone())).collect::<Vec<_>>()
        };
        assert_eq!(rows(&report), rows(&on_cpus), "{device}");
        assert_eq!(report["ranks"]["count"], 2);
    }
}

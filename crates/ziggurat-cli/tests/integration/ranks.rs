//! Cooperation of ranks: they compare their commands, say things once, divide the cores, and one
//! rank is one process.

use std::fs;
use std::process::Command;

use serde_json::Value;

use crate::command::{Place, Said};
use crate::mpirun::{launcher, mpirun, run};

const ZIGGURAT: &str = env!("CARGO_BIN_EXE_ziggurat");

/// Runs one command on rank 0 and another one on rank 1.
fn two_commands(place: &Place, first: &[&str], second: &[&str]) -> Said {
    let mut command = launcher(place);
    command.args(["-n", "1", ZIGGURAT]).args(first).args([":", "-n", "1", ZIGGURAT]).args(second);
    run(command)
}

/// Runs a command on two ranks, each in a folder of its own, `0` and `1`, as on machines with file
/// systems of their own.
fn in_folders(place: &Place, arguments: &[&str]) -> Said {
    let mut command = launcher(place);
    let script = r#"cd "$OMPI_COMM_WORLD_RANK" && exec "$0" "$@""#;
    command.args(["-n", "2", "sh", "-c", script, ZIGGURAT]).args(arguments);
    run(command)
}

/// Checks that a job has ended with one error with these words, and has printed nothing else.
fn fails_once(said: &Said, words: &[&str]) {
    assert_eq!((said.code, said.out.as_str()), (Some(1), ""), "{}", said.err);
    assert_eq!(said.err.matches("error: ").count(), 1, "{}", said.err);
    assert!(words.iter().all(|words| said.err.contains(words)), "{words:?}: {}", said.err);
}

#[test]
fn different_commands_end_with_one_sentence() {
    let place = Place::new("different_commands");
    place.succeed(&["generate", "poisson3d:8", "-o", "A.mtx", "--rhs", "b.mtx"]);
    let problem = ["solve", "--problem", "poisson3d:8"];
    let with = |more: &[&'static str]| [&problem[..], more].concat();
    for other in [
        vec!["solve", "A.mtx"],
        with(&["--rhs", "b.mtx"]),
        with(&["--output", "x.npy"]),
        with(&["--bogus"]),
        vec!["--help"],
        vec![],
    ] {
        let said = two_commands(&place, &problem, &other);
        let words = format!("rank 1 `{}`", [&["ziggurat"], &other[..]].concat().join(" "));
        fails_once(&said, &["rank 0 `ziggurat solve --problem poisson3d:8`", &words, "the same command"]);
    }
    fails_once(&two_commands(&place, &["--help"], &problem), &["rank 0 `ziggurat --help`"]);
    assert!(!place.path("x.npy").exists());
}

#[test]
fn files_that_differ_between_machines_are_refused() {
    let place = Place::new("files_that_differ");
    for (folder, rtol) in [("0", 1e-6), ("1", 1e-7)] {
        fs::create_dir(place.path(folder)).unwrap();
        place.write(&format!("{folder}/c.toml"), &format!("[stopping]\nrtol = {rtol:e}\n"));
    }
    place.write("0/A.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 2\n2 2 3\n");
    let said = in_folders(&place, &["solve", "--problem", "poisson3d:8", "--config", "c.toml"]);
    fails_once(&said, &["the configuration of rank 1 differs from that of rank 0", "the same files"]);
    // The hint comes from the rank that failed.
    fails_once(
        &in_folders(&place, &["solve", "A.mtx"]),
        &["rank 1: cannot read A.mtx", "check the path and the spelling"],
    );
}

#[test]
fn ranks_say_once_what_one_process_says() {
    let place = Place::new("ranks_say_once");
    let said = mpirun(&place, 3, &["solve", "--help"]);
    assert_eq!((said.code, said.out), (Some(0), place.succeed(&["solve", "--help"])), "{}", said.err);
    let said = mpirun(&place, 3, &["--version"]);
    assert_eq!((said.code, said.out), (Some(0), place.succeed(&["--version"])), "{}", said.err);
    fails_once(&mpirun(&place, 3, &["solve", "--rtoll", "1"]), &["--rtoll", "did you mean"]);
    let said = mpirun(&place, 3, &[]);
    assert_eq!((said.code, said.err.matches("Usage: ").count()), (Some(1), 1), "{}", said.err);
    for command in [&["generate", "poisson3d:4", "-o", "A.mtx"][..], &["inspect", "--problem", "poisson3d:4"]]
    {
        let words = format!("`ziggurat {}` runs in one process", command[0]);
        fails_once(&mpirun(&place, 3, command), &[&words, "without mpirun"]);
    }
    assert!(!place.path("A.mtx").exists());
}

#[test]
fn one_rank_is_one_process() {
    let place = Place::new("one_rank_is_one_process");
    let thermal = ["solve", "--problem", "jump3d:12", "--shuffle", "64"];
    let with = |more: &[&'static str]| [&thermal[..], more].concat();
    for arguments in [
        // The smoother is replaced by a stronger one, which ranks cannot do.
        vec!["solve", "--problem", "convection3d:12", "--smoother", "jacobi", "--krylov", "cg"],
        with(&["--method", "direct"]),
        with(&["--krylov", "none", "--precision", "f32"]),
        with(&["--config", "order.toml"]),
    ] {
        place.write("order.toml", "reorder = \"on\"\n");
        let run = |output: &'static str| [&arguments[..], &["--json", "-", "--output", output]].concat();
        let alone = place.run(&run("one.npy"));
        let said = mpirun(&place, 1, &run("rank.npy"));
        assert_eq!(said.code, alone.code, "{arguments:?}: {}", said.err);
        let [alone, ranks]: [Value; 2] =
            [&alone.out, &said.out].map(|out| serde_json::from_str(out).unwrap());
        for key in ["iterations", "relative_residual", "residuals", "promotion", "method", "config", "ranks"]
        {
            assert_eq!(alone[key], ranks[key], "{arguments:?}: {key}");
        }
        let [one, rank] = ["one.npy", "rank.npy"].map(|name| fs::read(place.path(name)).unwrap());
        assert!(one == rank, "{arguments:?}: the solutions differ");
    }
    // Commands of one process, too.
    let inspect = ["inspect", "--problem", "poisson3d:4"];
    assert_eq!(mpirun(&place, 1, &inspect).out, place.succeed(&inspect));
}

#[test]
fn threads_follow_one_rule() {
    let place = Place::new("threads_follow_one_rule");
    let problem = ["solve", "--problem", "poisson3d:8", "--json", "-"];
    let given = [&problem[..], &["--threads", "2"]].concat();
    let variables = [("OMP_NUM_THREADS", "3,2"), ("SLURM_CPUS_PER_TASK", "4")];
    let report = |said: &str| serde_json::from_str::<Value>(said).unwrap();
    for (variables, arguments, threads) in
        [(&variables[..], &problem[..], 3), (&variables[1..], &problem, 4), (&variables, &given, 2)]
    {
        let output = place.command(arguments).envs(variables.iter().copied()).output().unwrap();
        let device = report(&String::from_utf8(output.stdout).unwrap())["device"].clone();
        let words = format!("{threads} threads");
        assert!(device.as_str().unwrap().contains(&words), "{device}: {words}");

        let mut command = launcher(&place);
        command.env_remove("RAYON_NUM_THREADS").envs(variables.iter().copied());
        command.args(["-n", "2", ZIGGURAT]).args(arguments);
        let said = run(command);
        assert_eq!(said.code, Some(0), "{}", said.err);
        assert_eq!(report(&said.out)["ranks"]["threads"], threads, "{variables:?}");
    }
    let mut command = launcher(&place);
    command.args(["-n", "2", ZIGGURAT, "solve", "--problem", "poisson3d:8", "--threads", "64"]);
    let said = run(command);
    assert!(said.out.contains("2 with 64 threads each: 128 threads share "), "{}", said.out);
}

/// The limit on the size of files kills rank 0 while it writes.
#[cfg(target_os = "linux")]
#[test]
fn a_rank_that_is_killed_while_it_writes_leaves_the_old_file() {
    let place = Place::new("a_rank_that_is_killed");
    place.write("x.mtx", "old");
    let script = r#"[ "$OMPI_COMM_WORLD_RANK" = 0 ] && ulimit -c 0 && ulimit -f 8; exec "$0" "$@""#;
    let mut command = launcher(&place);
    // Shared memory of Open MPI would be a file that is too long.
    command.env("OMPI_MCA_btl", "self,tcp").args(["-n", "2", "sh", "-c", script, ZIGGURAT]);
    command.args(["solve", "--problem", "poisson3d:12", "--output", "x.mtx"]);
    let said = run(command);
    assert!(said.code != Some(0) && said.out.contains("converged in"), "{}", said.err);
    assert_eq!(fs::read_to_string(place.path("x.mtx")).unwrap(), "old");
}

#[cfg(unix)]
#[test]
fn a_pipe_on_one_rank_keeps_no_other_waiting() {
    let place = Place::new("a_pipe_on_one_rank");
    for folder in ["0", "1"] {
        fs::create_dir(place.path(folder)).unwrap();
    }
    place.succeed(&["generate", "poisson3d:4", "-o", "0/A.mtx", "--rhs", "0/b.mtx"]);
    fs::copy(place.path("0/A.mtx"), place.path("1/A.mtx")).unwrap();
    let pipe = place.path("1/b.mtx");
    assert!(Command::new("mkfifo").arg(pipe).status().unwrap().success());
    let said = in_folders(&place, &["solve", "A.mtx", "--rhs", "b.mtx"]);
    fails_once(&said, &["rank 1: b.mtx is a named pipe, not a file"]);
    fs::rename(place.path("1/b.mtx"), place.path("1/A.mtx")).unwrap();
    fails_once(&in_folders(&place, &["solve", "A.mtx"]), &["rank 1: A.mtx is a named pipe, not a file"]);
}

//! Too little memory, and too many threads: errors, not signals or waiting.

use std::process::{Command, Stdio};

use crate::command::{Place, Said};

/// Runs the command with this many KiB of addresses.
fn within(kibibytes: u64, place: &Place, arguments: &[&str]) -> Said {
    let limited = format!("ulimit -c 0; ulimit -v {kibibytes}; exec \"$0\" \"$@\"");
    let mut command = Command::new("sh");
    command.args(["-c", &limited, env!("CARGO_BIN_EXE_ziggurat")]).args(arguments);
    command.current_dir(place.path("")).stdin(Stdio::null()).env_remove("RUST_BACKTRACE");
    let output = command.output().unwrap();
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    Said { out: text(&output.stdout), err: text(&output.stderr), code: output.status.code() }
}

#[test]
fn a_shortage_of_memory_is_an_error_with_the_stage_and_the_bytes() {
    const STEP: u64 = 4 << 10;
    let place = Place::new("a_shortage_of_memory");
    // The program itself needs some, which depends on how it was built.
    let starts = |limit: &u64| within(*limit, &place, &["--version"]).code == Some(0);
    let least = (1..256).map(|k| k * STEP).find(starts).unwrap();
    let solve = ["solve", "--problem", "poisson3d:50", "-q", "--threads", "2"];
    let (mut stages, mut solved) = (Vec::new(), false);
    for step in 2..60 {
        let said = within(least + step * STEP, &place, &solve);
        match said.code {
            Some(0) => {
                solved = true;
                break;
            }
            Some(1) => {}
            _ => panic!("{step}: {said:?}"),
        }
        let lines: Vec<&str> = said.err.lines().collect();
        let [.., cause, hint] = lines[..] else { panic!("{step}: two lines: {}", said.err) };
        assert!(cause.starts_with("error: ") && hint.starts_with("hint: "), "{step}: {}", said.err);
        assert!(!said.err.contains("report this bug"), "{step}: {}", said.err);
        if let Some(refused) = cause.strip_prefix("error: out of memory: ") {
            assert!(refused.contains(" bytes could not be allocated"), "{cause}");
            stages.extend(refused.split_once(" in the stage ").map(|(_, stage)| stage.to_owned()));
        }
    }
    assert!(solved, "even with much more");
    assert!(stages.iter().any(|stage| stage.contains(" of level ")), "{stages:?}");
}

#[test]
fn a_mistaken_number_of_threads_ends_soon() {
    let place = Place::new("a_mistaken_number_of_threads");
    let said = place.run(&["solve", "--problem", "poisson2d:4", "--threads", "100000"]);
    assert_eq!(said.code, Some(1));
    assert!(said.err.contains("a whole number from 1 to 1024"), "{}", said.err);
    // Variables are meant for many programs, so the number is limited instead.
    let mut command = place.command(&["solve", "--problem", "poisson2d:4", "-q"]);
    assert!(command.env("RAYON_NUM_THREADS", "100000").status().unwrap().success());
}

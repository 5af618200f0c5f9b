//! Outputs appear when they are complete: after a failure, what was there is still there.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};

use crate::command::{Place, Said};

/// Runs the command where a file may have 4 KiB, as on a full disk. The limit counts in 512 bytes.
fn on_a_full_disk(place: &Place, arguments: &[&str]) -> Said {
    let limited = "trap '' XFSZ; ulimit -f 8; exec \"$0\" \"$@\"";
    let mut command = Command::new("sh");
    command.args(["-c", limited, env!("CARGO_BIN_EXE_ziggurat")]).args(arguments);
    let output = command.current_dir(place.path("")).stdin(Stdio::null()).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Said { out: text(output.stdout), err: text(output.stderr), code: output.status.code() }
}

/// The names in the folder, also hidden ones.
fn names(place: &Place) -> Vec<String> {
    let entries = fs::read_dir(place.path("")).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_full_disk_leaves_what_was_there() {
    let place = Place::new("a_full_disk_leaves_what_was_there");
    let solve = ["solve", "--problem", "poisson2d:60"];
    for (arguments, output) in [
        (&["generate", "poisson2d:60", "-o"][..], "x.mtx"),
        (&["generate", "poisson2d:60", "-o"], "x.mtx.gz"),
        (&["generate", "poisson2d:60", "-o"], "x.npz"),
        (&["generate", "poisson2d:60", "-o"], "x.petsc"),
        (&["generate", "poisson2d:60", "-o"], "x.rb"),
        (&["generate", "elasticity3d:8", "-o", "/dev/null", "--coords"], "x.npy"),
        (&[&solve[..], &["--output"]].concat(), "x.npy"),
        (&[&solve[..], &["--output"]].concat(), "x.mtx.gz"),
        (&[&solve[..], &["--output"]].concat(), "x.petsc"),
        (&[&solve[..], &["--json"]].concat(), "x.json"),
        (&[&solve[..], &["--report"]].concat(), "x.html"),
    ] {
        let arguments = [arguments, &[output]].concat();
        for before in [None, Some("precious")] {
            let left: Vec<String> = before.iter().map(|_| output.to_owned()).collect();
            if let Some(before) = before {
                place.write(output, before);
            }
            let said = on_a_full_disk(&place, &arguments);
            assert_eq!(said.code, Some(1), "{arguments:?}: {}", said.err);
            assert!(said.err.starts_with(&format!("error: cannot write {output}: ")), "{}", said.err);
            assert_eq!(names(&place), left, "{arguments:?}");
            assert!(before.is_none_or(|before| fs::read_to_string(place.path(output)).unwrap() == before));
        }
        fs::remove_file(place.path(output)).unwrap();
    }
}

#[test]
fn a_timeline_on_a_full_disk_is_complete_up_to_there() {
    let place = Place::new("a_timeline_on_a_full_disk");
    let said = on_a_full_disk(&place, &["solve", "--problem", "poisson3d:12", "-q", "--trace", "t.json"]);
    assert!(said.code == Some(1) && said.err.starts_with("error: cannot write t.json: "), "{}", said.err);
    let text = fs::read_to_string(place.path("t.json")).unwrap();
    assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok(), "{text}");
    assert_eq!(names(&place), ["t.json"]);
}

/// A signal while the file is written: the limit of the file's size sends one.
#[test]
fn a_killed_process_leaves_what_was_there() {
    let place = Place::new("a_killed_process_leaves_what_was_there");
    place.write("x.mtx", "precious");
    let killed = "ulimit -c 0; ulimit -f 8; exec \"$0\" generate poisson2d:60 -o x.mtx";
    let mut command = Command::new("sh");
    command.args(["-c", killed, env!("CARGO_BIN_EXE_ziggurat")]).current_dir(place.path(""));
    assert_eq!(command.status().unwrap().code(), None, "killed by a signal");
    assert_eq!(fs::read_to_string(place.path("x.mtx")).unwrap(), "precious");
    let names = names(&place);
    assert!(names.len() == 2 && names[0].starts_with(".ziggurat-"), "{names:?}");
}

#[test]
fn links_stay_links_and_standard_output_works() {
    let place = Place::new("links_stay_links");
    fs::create_dir(place.path("folder")).unwrap();
    place.write("folder/x.npy", "old");
    symlink("folder/x.npy", place.path("x.npy")).unwrap();
    place.succeed(&["solve", "--problem", "poisson2d:4", "--output", "x.npy", "-q"]);
    assert!(place.path("x.npy").is_symlink());
    assert_eq!(ziggurat_sparse::io::read_vector(place.path("folder/x.npy")).unwrap().len(), 16);
    assert_eq!(names(&place), ["folder", "x.npy"]);

    let solve = ["solve", "--problem", "poisson2d:4", "-q"];
    let json = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap()["rows"].clone();
    for name in ["-", "/dev/stdout", "/dev/fd/1"] {
        assert_eq!(json(&place.succeed(&[&solve[..], &["--json", name]].concat())), 16, "{name}");
    }
    // A file that a shell has opened is written, and not replaced by another one.
    let file = fs::File::create(place.path("out.json")).unwrap();
    let mut command = place.command(&[&solve[..], &["--json", "/dev/stdout"]].concat());
    assert!(command.stdout(file.try_clone().unwrap()).status().unwrap().success());
    assert_eq!(file.metadata().unwrap().len(), fs::metadata(place.path("out.json")).unwrap().len());
    assert_eq!(json(&fs::read_to_string(place.path("out.json")).unwrap()), 16);
}

//! Paths whose reading might never end: named pipes, sockets and devices are refused at once, on
//! ranks as well; pipes of a shell are read.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::command::Place;

/// Runs a command, which must end soon. Returns its exit code and what it said.
fn soon(command: &mut Command, what: &[&str]) -> (Option<i32>, String) {
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if start.elapsed() > Duration::from_secs(30) {
            child.kill().unwrap();
            let _ = child.wait();
            panic!("{what:?} does not end");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let output = child.wait_with_output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

fn place(test: &str) -> Place {
    let place = Place::new(test);
    place.succeed(&["generate", "poisson2d:4", "-o", "A.mtx"]);
    assert!(
        Command::new("mkfifo").arg(place.path("fifo")).arg(place.path("c.toml")).status().unwrap().success()
    );
    place
}

#[test]
fn a_named_pipe_is_refused_by_every_command_and_option() {
    let place = place("a_named_pipe_is_refused");
    for arguments in [
        &["solve", "fifo"][..],
        &["inspect", "fifo"],
        &["estimate", "fifo"],
        &["compare", "fifo"],
        &["tune", "fifo"],
        &["solve", "A.mtx", "--rhs", "fifo"],
        &["solve", "A.mtx", "--rhs", "fifo", "--rhs-column", "2"],
        &["solve", "A.mtx", "--guess", "fifo"],
        &["solve", "A.mtx", "--coords", "fifo"],
        &["solve", "A.mtx", "--config", "c.toml"],
    ] {
        let (code, said) = soon(&mut place.command(arguments), arguments);
        assert_eq!(code, Some(1), "{arguments:?}");
        assert!(
            said.contains(" is a named pipe, not a file\nhint: write the data to a file first"),
            "{said}"
        );
    }
}

#[test]
fn a_device_is_refused_and_a_pipe_of_a_shell_is_read() {
    let place = place("a_device_is_refused");
    let (code, said) = soon(&mut place.command(&["inspect", "/dev/zero"]), &["/dev/zero"]);
    assert!(code == Some(1) && said.contains("/dev/zero is a device, not a file"), "{said}");
    let ones = "1\n".repeat(16);
    place.write("b.txt", &ones);
    for piped in
        ["cat A.mtx | \"$0\" solve /dev/stdin -q", "cat b.txt | \"$0\" solve A.mtx --rhs /dev/stdin -q"]
    {
        let mut shell = Command::new("sh");
        shell.args(["-c", piped, env!("CARGO_BIN_EXE_ziggurat")]).current_dir(place.path(""));
        assert_eq!(soon(&mut shell, &[piped]), (Some(0), String::new()));
    }
}

#[cfg(feature = "mpi")]
#[test]
fn ranks_refuse_a_named_pipe_once() {
    let place = place("ranks_refuse_a_named_pipe");
    for arguments in [&["solve", "fifo"][..], &["solve", "A.mtx", "--rhs", "fifo"]] {
        let mut mpirun = Command::new("mpirun");
        mpirun.args(["--allow-run-as-root", "--oversubscribe", "-n", "2", env!("CARGO_BIN_EXE_ziggurat")]);
        mpirun.args(arguments).current_dir(place.path("")).stdin(Stdio::null());
        mpirun.env("OMPI_MCA_btl_vader_single_copy_mechanism", "none");
        let (code, said) = soon(&mut mpirun, arguments);
        assert_eq!((code, said.matches("fifo is a named pipe").count()), (Some(1), 1), "{said}");
    }
}

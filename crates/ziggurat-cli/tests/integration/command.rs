//! Runs the command as a user does, and holds what every test needs of it.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// The output of the command and how it ended.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) out: String,
    pub(crate) err: String,
    pub(crate) code: Option<i32>,
}

/// A folder of its own for a test, in which the command runs; empty at first.
pub(crate) struct Place(PathBuf);

impl Place {
    pub(crate) fn new(test: &str) -> Place {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("command").join(test);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        Place(folder)
    }

    /// The command, about to run here.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ziggurat"));
        command.args(arguments).current_dir(&self.0).stdin(Stdio::null());
        // The compared output must not depend on who runs the tests.
        for name in ["COLUMNS", "RAYON_NUM_THREADS", "OMP_NUM_THREADS", "SLURM_CPUS_PER_TASK"] {
            command.env_remove(name);
        }
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Said {
        let output = self.command(arguments).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Said { out: text(output.stdout), err: text(output.stderr), code: output.status.code() }
    }

    /// Runs what must go well, without a word on standard error.
    pub(crate) fn succeed(&self, arguments: &[&str]) -> String {
        let said = self.run(arguments);
        assert_eq!((said.code, said.err.as_str()), (Some(0), ""), "{arguments:?}");
        said.out
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.0.join(name), text).unwrap();
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

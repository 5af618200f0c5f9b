//! Runs tests again under mpirun: the parent starts itself on several ranks and reads their output.

use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ziggurat_mpi::{Comm, Mpi, Session};

/// The environment variable that marks the ranks of a test.
const UNDER_MPIRUN: &str = "ZIGGURAT_TEST_UNDER_MPIRUN";

/// The environment variable with a parameter of a test.
const ASKED: &str = "ZIGGURAT_TEST_ASKED";

/// A test that takes longer than this, on any machine, hangs.
const PATIENCE: Duration = Duration::from_secs(300);

/// The outcome of mpirun.
pub(crate) struct Ran {
    pub(crate) success: bool,
    /// The lines that rank 0 reported.
    pub(crate) lines: Vec<String>,
    pub(crate) everything: String,
}

/// Whether this process is a rank.
pub(crate) fn is_rank() -> bool {
    std::env::var_os(UNDER_MPIRUN).is_some()
}

/// The body of a rank; rank 0 reports the returned lines to the parent.
pub(crate) fn rank(body: impl FnOnce(&Arc<dyn Comm>) -> Vec<String>) {
    let session = Session::start().unwrap();
    let comm: Arc<dyn Comm> = Arc::new(Mpi::world().unwrap());
    let lines = body(&comm);
    if comm.rank() == 0 {
        lines.iter().for_each(|line| println!("SAID {line}"));
    }
    drop(comm);
    drop(session);
}

/// Runs the test of this name on `ranks` ranks.
pub(crate) fn mpirun(test: &str, ranks: usize) -> Ran {
    mpirun_with(test, ranks, "")
}

/// As [`mpirun`]; ranks find `what` by [`asked`].
pub(crate) fn mpirun_with(test: &str, ranks: usize, what: &str) -> Ran {
    run_test(launcher(ranks), test, what)
}

/// Runs a test on the ranks that a command starts, which ends with the options of the launcher.
pub(crate) fn run_test(mut command: Command, test: &str, what: &str) -> Ran {
    let program = std::env::current_exe().unwrap();
    command.arg(program).args(["--exact", test, "--nocapture", "--test-threads", "1"]);
    command.env(UNDER_MPIRUN, "1").env(ASKED, what);
    run(command)
}

/// The parent's request to the ranks.
pub(crate) fn asked() -> String {
    std::env::var(ASKED).unwrap()
}

/// mpirun for `ranks` ranks; allows root, and more ranks than cores.
pub(crate) fn launcher(ranks: usize) -> Command {
    let mut command = Command::new("mpirun");
    command.args(["--allow-run-as-root", "--oversubscribe", "-n", &ranks.to_string()]);
    command.env("RAYON_NUM_THREADS", "1").env("OMPI_MCA_btl_vader_single_copy_mechanism", "none");
    // There may be more ranks than cores, so a waiting rank yields.
    command.env("OMPI_MCA_mpi_yield_when_idle", "1");
    command
}

/// Waits for a command, and kills it if it hangs.
pub(crate) fn run(mut command: Command) -> Ran {
    let file = std::env::temp_dir().join(format!(
        "ziggurat-mpirun-{}-{:?}",
        std::process::id(),
        std::thread::current().id()
    ));
    let out = std::fs::File::create(&file).unwrap();
    let errors = out.try_clone().unwrap();
    let mut child =
        command.stdin(Stdio::null()).stdout(out).stderr(errors).spawn().expect("mpirun is installed");
    let start = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break Some(status);
        }
        if start.elapsed() > PATIENCE {
            child.kill().unwrap();
            child.wait().unwrap();
            break None;
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let everything = String::from_utf8_lossy(&std::fs::read(&file).unwrap()).into_owned();
    let _ = std::fs::remove_file(&file);
    let status = status.unwrap_or_else(|| panic!("hangs:\n{everything}"));
    let said = |line: &str| line.split_once("SAID ").map(|(_, said)| said.to_owned());
    Ran { success: status.success(), lines: everything.lines().filter_map(said).collect(), everything }
}

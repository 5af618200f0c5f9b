//! Compute devices: `ziggurat devices` lists them, `solve --device` opens one.
//!
//! The CPU is always available, GPUs in builds with the feature `gpu`. All code that depends on
//! this feature is in this file. Unavailable runtimes are listed with the reason.

use std::fmt::Write as _;
use std::process::ExitCode;
use std::sync::Arc;

use serde::Serialize;
#[cfg(feature = "gpu")]
use ziggurat_gpu::{Gpu, GpuError};
use ziggurat_report::figures::{aligned, counted};
use ziggurat_sparse::device::{Cpu, Device};
use ziggurat_sparse::parallel;

use crate::arguments::{DeviceName, DevicesOptions};
use crate::failure::Failure;
use crate::output;

/// The command that builds with a feature. Features have the names of the runtimes.
fn build(feature: &str) -> String {
    format!("cargo build --release -p ziggurat-cli --features {feature}")
}

/// Opens the device with this name.
pub(crate) fn open(name: &DeviceName) -> Result<Arc<dyn Device>, Failure> {
    match name {
        DeviceName::Cpu => Ok(Arc::new(Cpu::new())),
        #[cfg(feature = "gpu")]
        DeviceName::Gpu(name) => match Gpu::named(name) {
            Ok(gpu) => Ok(Arc::new(gpu)),
            Err(error) => Err(refused(name, &error)),
        },
        #[cfg(not(feature = "gpu"))]
        DeviceName::Gpu(name) => Err(not_in_this_build(name, "gpu")),
    }
}

/// Keeps the drivers quiet: Mesa's Vulkan layer looks for a Wayland display, and each time prints
/// an error if `XDG_RUNTIME_DIR` is not set, as in jobs and containers. A program in Rust cannot
/// set a variable for C libraries without unsafe code, so it starts itself again with one that
/// names no display. Call it before threads and MPI are started.
#[cfg(all(feature = "gpu", target_os = "linux"))]
pub(crate) fn restart_quietly() {
    use std::os::unix::process::CommandExt;
    const VARIABLE: &str = "XDG_RUNTIME_DIR";
    let mut words = std::env::args_os();
    if let (None, Ok(program), Some(name)) =
        (std::env::var_os(VARIABLE), std::env::current_exe(), words.next())
    {
        // This returns only if it fails, and then the drivers are heard.
        let _ = std::process::Command::new(program).arg0(name).args(words).env(VARIABLE, "/dev/null").exec();
    }
}

#[cfg(not(all(feature = "gpu", target_os = "linux")))]
pub(crate) fn restart_quietly() {}

/// Opens the device of one of the processes on a machine. A name without a number means a GPU for
/// each of them, as far as there are enough.
#[cfg(feature = "mpi")]
pub(crate) fn open_for(name: &DeviceName, process: usize) -> Result<Arc<dyn Device>, Failure> {
    match name {
        #[cfg(feature = "gpu")]
        DeviceName::Gpu(name) => {
            let found = ziggurat_gpu::devices();
            let found: Vec<(&str, bool)> =
                found.iter().map(|found| (found.name.as_str(), found.software)).collect();
            open(&DeviceName::Gpu(one_of(&found, name, process).unwrap_or(name).to_owned()))
        }
        name => {
            let _ = process; // all of them have the CPU
            open(name)
        }
    }
}

/// The device of a process, of those that were found, best first, with whether they are software:
/// those like the first that `name` means serve the processes in turn. `None` if the name has a
/// number or means no device.
#[cfg(all(feature = "mpi", feature = "gpu"))]
fn one_of<'a>(found: &[(&'a str, bool)], name: &str, process: usize) -> Option<&'a str> {
    let runtime = |name: &'a str| name.split(':').next();
    let meant = |device: &&(&'a str, bool)| name == "gpu" || runtime(device.0) == Some(name);
    let first = found.iter().find(meant)?;
    let alike = |device: &&(&'a str, bool)| (runtime(device.0), device.1) == (runtime(first.0), first.1);
    let alike: Vec<_> = found.iter().filter(alike).collect();
    alike.get(process % alike.len()).map(|device| device.0)
}

fn not_in_this_build(name: &str, feature: &str) -> Failure {
    Failure::new(
        format!("--device {name}: not included in this build of ziggurat"),
        format!("build with `{}`, or use --device cpu", build(feature)),
    )
}

/// The error for a device that could not be opened, in one line.
#[cfg(feature = "gpu")]
fn refused(name: &str, error: &GpuError) -> Failure {
    if let GpuError::NotCompiled { runtime } = error {
        return not_in_this_build(name, runtime);
    }
    let lines: Vec<String> = error.to_string().lines().map(|line| line.trim().to_owned()).collect();
    Failure::new(
        format!("--device {name}: {}", lines.join(" ")),
        "`ziggurat devices` lists the available devices; --device cpu always works",
    )
}

/// The list as JSON. The keys are a stable interface.
#[derive(Debug, Serialize)]
struct Report {
    devices: Vec<Entry>,
    missing: Vec<Absent>,
    version: &'static str,
}

/// An available device.
#[derive(Debug, Serialize)]
struct Entry {
    /// The name for `--device`.
    name: String,
    description: String,
    /// Whether it is a software implementation.
    software: bool,
}

/// A runtime without an available device.
#[derive(Debug, Serialize)]
struct Absent {
    runtime: String,
    reason: String,
}

pub(crate) fn run(options: &DevicesOptions) -> Result<ExitCode, Failure> {
    let json = options.json.as_deref();
    output::check(None, json.map(|path| ("--json", path)))?;
    let report = Report { devices: found(), missing: absent(), version: env!("CARGO_PKG_VERSION") };
    if let Some(path) = json {
        output::write_json(path, &report)?;
    }
    if !json.is_some_and(output::is_standard) {
        output::print(&text(&report))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The available devices, the CPU first.
fn found() -> Vec<Entry> {
    let threads = counted(parallel::threads(), "thread");
    let description = format!("{:?}, {threads}", Cpu::new().simd());
    let cpu = Entry { name: "cpu".to_owned(), description, software: false };
    #[cfg(feature = "gpu")]
    let others = ziggurat_gpu::devices().into_iter().map(|found| Entry {
        name: found.name,
        description: found.description,
        software: found.software,
    });
    #[cfg(not(feature = "gpu"))]
    let others = std::iter::empty();
    std::iter::once(cpu).chain(others).collect()
}

fn absent() -> Vec<Absent> {
    let not_in_this_build =
        |runtime: &str| format!("not included in this build; build with `{}`", build(runtime));
    #[cfg(feature = "gpu")]
    let missing = ziggurat_gpu::missing().into_iter().map(|missing| match Gpu::named(missing.runtime) {
        Err(GpuError::NotCompiled { runtime }) => (runtime, not_in_this_build(runtime)),
        _ => (missing.runtime, missing.reason),
    });
    #[cfg(not(feature = "gpu"))]
    let missing = std::iter::once(("gpu", not_in_this_build("gpu")));
    missing.map(|(runtime, reason)| Absent { runtime: runtime.to_owned(), reason }).collect()
}

/// The list as text.
fn text(report: &Report) -> String {
    let mut table = vec![["device", "description"].map(str::to_owned)];
    table.extend(report.devices.iter().map(|device| {
        let software = if device.software { ", software" } else { "" };
        [device.name.clone(), format!("{}{software}", device.description)]
    }));
    let mut text = aligned(&table, 0);
    if !report.missing.is_empty() {
        let missing = report.missing.iter();
        let table: Vec<_> =
            missing.map(|missing| [missing.runtime.clone(), missing.reason.clone()]).collect();
        let _ = write!(text, "\nunavailable:\n{}", aligned(&table, 0)); // cannot fail for a String
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_aligned_and_gives_reasons() {
        let entry = |name: &str, description: &str, software| Entry {
            name: name.to_owned(),
            description: description.to_owned(),
            software,
        };
        let devices = vec![entry("cpu", "Avx2, 2 threads", false), entry("vulkan:0", "llvmpipe", true)];
        let missing = vec![Absent { runtime: "cuda".to_owned(), reason: "no driver".to_owned() }];
        let report = Report { devices, missing, version: "1" };
        assert_eq!(
            text(&report),
            "  device    description\n  cpu       Avx2, 2 threads\n  vulkan:0  llvmpipe, software\n\n\
             unavailable:\n  cuda  no driver\n"
        );
        let keys = |value: serde_json::Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        let json = serde_json::to_value(&report).unwrap();
        assert_eq!(keys(json["devices"][0].clone()), ["description", "name", "software"]);
        assert_eq!(keys(json["missing"][0].clone()), ["reason", "runtime"]);
        assert_eq!(keys(json), ["devices", "missing", "version"]);
    }

    #[cfg(all(feature = "mpi", feature = "gpu"))]
    #[test]
    fn processes_of_a_machine_share_its_gpus() {
        let found = [("cuda:0", false), ("cuda:1", false), ("vulkan:1", false), ("vulkan:0", true)];
        let devices = |name| [0, 1, 2].map(|process| one_of(&found, name, process));
        assert_eq!(devices("gpu"), [Some("cuda:0"), Some("cuda:1"), Some("cuda:0")]);
        assert_eq!(devices("vulkan"), [Some("vulkan:1"); 3]);
        assert_eq!(devices("cuda:1"), [None; 3]); // as it was given
        assert_eq!(devices("hip"), [None; 3]);
        assert_eq!(one_of(&[], "gpu", 0), None);
    }

    #[test]
    fn the_cpu_is_always_first() {
        let found = found();
        assert!(found[0].name == "cpu" && !found[0].software && found[0].description.contains("thread"));
        assert!(open(&DeviceName::Cpu).unwrap().name().starts_with("cpu"));
    }
}

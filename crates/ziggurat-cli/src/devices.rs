//! Where can be computed: `ziggurat devices` lists it, and `solve --device` opens one of them.
//!
//! The processor is always there. Graphics processors are there in builds with the feature `gpu`; everything that depends on that is in
//! this file. What is missing is listed with the reason, because that is what a user wants to know who has bought one.

use std::fmt::Write as _;
use std::process::ExitCode;

use serde::Serialize;
#[cfg(feature = "gpu")]
use ziggurat_gpu::{Gpu, GpuError};
use ziggurat_report::figures::{aligned, counted};
use ziggurat_sparse::device::Cpu;

use crate::arguments::{DeviceName, DevicesOptions};
use crate::failure::Failure;
use crate::output;

/// How to get what a build does not have; our features are called as the runtimes are.
fn build(feature: &str) -> String {
    format!("cargo build --release -p ziggurat-cli --features {feature}")
}

/// A device that is open.
pub(crate) enum Place {
    Cpu(Cpu),
    #[cfg(feature = "gpu")]
    Gpu(Gpu),
}

impl Place {
    /// Opens the device of this name.
    pub(crate) fn open(name: &DeviceName) -> Result<Self, Failure> {
        match name {
            DeviceName::Cpu => Ok(Place::Cpu(Cpu::new())),
            #[cfg(feature = "gpu")]
            DeviceName::Gpu(name) => Gpu::named(name).map(Place::Gpu).map_err(|error| refused(name, &error)),
            #[cfg(not(feature = "gpu"))]
            DeviceName::Gpu(name) => Err(not_in_this_build(name, "gpu")),
        }
    }
}

fn not_in_this_build(name: &str, feature: &str) -> Failure {
    Failure::new(
        format!("--device {name}: this build of ziggurat does not have it"),
        format!("`{}` makes one that does; or use --device cpu", build(feature)),
    )
}

/// A device that could not be opened, in one line like all errors.
#[cfg(feature = "gpu")]
fn refused(name: &str, error: &GpuError) -> Failure {
    if let GpuError::NotCompiled { runtime } = error {
        return not_in_this_build(name, runtime);
    }
    let lines: Vec<String> = error.to_string().lines().map(|line| line.trim().to_owned()).collect();
    Failure::new(
        format!("--device {name}: {}", lines.join(" ")),
        "`ziggurat devices` lists what is here and why the rest is not; --device cpu always works",
    )
}

/// The list as JSON; every key is part of what we promise.
#[derive(Debug, Serialize)]
struct Report {
    devices: Vec<Entry>,
    missing: Vec<Absent>,
    version: &'static str,
}

/// A device that is here.
#[derive(Debug, Serialize)]
struct Entry {
    /// What `--device` takes.
    name: String,
    description: String,
    /// Whether it is a program that stands for a graphics processor.
    software: bool,
}

/// A runtime without a device.
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

/// The processor, and whatever else there is.
fn found() -> Vec<Entry> {
    let threads = counted(rayon::current_num_threads(), "thread");
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
        |runtime: &str| format!("not in this build; `{}` makes one that has it", build(runtime));
    #[cfg(feature = "gpu")]
    let missing = ziggurat_gpu::missing().into_iter().map(|missing| match Gpu::named(missing.runtime) {
        Err(GpuError::NotCompiled { runtime }) => (runtime, not_in_this_build(runtime)),
        _ => (missing.runtime, missing.reason),
    });
    #[cfg(not(feature = "gpu"))]
    let missing = std::iter::once(("gpu", not_in_this_build("gpu")));
    missing.map(|(runtime, reason)| Absent { runtime: runtime.to_owned(), reason }).collect()
}

/// The list for people.
fn text(report: &Report) -> String {
    let mut table = vec![["device", "what it is"].map(str::to_owned)];
    table.extend(report.devices.iter().map(|device| {
        let software = if device.software { ", software" } else { "" };
        [device.name.clone(), format!("{}{software}", device.description)]
    }));
    let mut text = aligned(&table, 0);
    if !report.missing.is_empty() {
        let missing = report.missing.iter();
        let table: Vec<_> =
            missing.map(|missing| [missing.runtime.clone(), missing.reason.clone()]).collect();
        let _ = write!(text, "\nnot here:\n{}", aligned(&table, 0)); // a string takes it all
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_lines_up_and_says_why_something_is_missing() {
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
            "  device    what it is\n  cpu       Avx2, 2 threads\n  vulkan:0  llvmpipe, software\n\n\
             not here:\n  cuda  no driver\n"
        );
        let keys = |value: serde_json::Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
        let json = serde_json::to_value(&report).unwrap();
        assert_eq!(keys(json["devices"][0].clone()), ["description", "name", "software"]);
        assert_eq!(keys(json["missing"][0].clone()), ["reason", "runtime"]);
        assert_eq!(keys(json), ["devices", "missing", "version"]);
    }

    #[test]
    fn the_processor_is_always_first() {
        let found = found();
        assert!(found[0].name == "cpu" && !found[0].software && found[0].description.contains("thread"));
        assert!(matches!(Place::open(&DeviceName::Cpu), Ok(Place::Cpu(_))));
    }
}

//! `cargo xtask gpu-sources`: compiles the CUDA and HIP sources of every kernel that a solve
//! launches, without a GPU.
//!
//! The sources are recorded in solves on any available device (`launched_sources`, an example of
//! ziggurat-gpu). NVRTC and ptxas compile the CUDA sources for three GPU generations, hipcc
//! compiles the HIP sources for one. Only the compilers are needed; `.ci/run` installs them. The
//! task prints registers and spills, and fails if a source does not compile. That kernels compile
//! does not show that they run: no such GPU was available.

mod hip;
mod nvidia;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde::{Deserialize, Serialize};
use tasks::programs::{AS_TESTS, build};
use tasks::table::Table;
use thiserror::Error;

/// NVIDIA's GPU generations Volta, Ampere and Hopper.
const NVIDIA: [&str; 3] = ["70", "80", "90"];

/// AMD's GPU generation MI200.
const AMD: &str = "gfx90a";

/// Why sources could not be compiled.
#[derive(Debug, Error)]
pub(crate) enum SourcesError {
    #[error("{0}")]
    Missing(String),
    #[error("the sources could not be written: {0}")]
    NotWritten(String),
    #[error(transparent)]
    Io(#[from] std::io::Error),
    #[error("the index of sources: {0}")]
    Index(#[from] serde_json::Error),
    #[error("{count} of {all} compilations failed; the first, {first}")]
    Failed { count: usize, all: usize, first: String },
}

/// A source, as described in the index.
#[derive(Debug, Deserialize)]
struct Source {
    file: String,
    kernel: String,
    numbers: String,
    shape: String,
}

impl Source {
    /// Whether a GPU generation of NVIDIA has what the kernel needs: Volta's tensor cores multiply
    /// `f16` only.
    fn is_for(&self, generation: &str) -> bool {
        let by_tensor_cores = ["tile_fragments", "tile_products"].contains(&self.kernel.as_str());
        generation != "70" || !by_tensor_cores || self.numbers.contains("::f16")
    }
}

/// The resources of a kernel, according to a compiler.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Use {
    registers: u32,
    /// Bytes that did not fit into registers.
    spilled: u32,
}

/// A kernel, and its resources on each target.
#[derive(Debug, Serialize)]
struct Line {
    kernel: String,
    numbers: String,
    shape: String,
    targets: Vec<(String, Use)>,
}

/// Records and compiles the sources, prints a table, and writes the numbers to
/// `bench-results/gpu-sources.json`.
pub(crate) fn run(root: &Path) -> Result<(), SourcesError> {
    let nvidia = nvidia::Compiler::find()?;
    hip::find()?;
    let folder = root.join("bench-results/gpu-sources");
    if folder.exists() {
        std::fs::remove_dir_all(&folder)?; // from an earlier run
    }
    write_sources(root, &folder)?;
    let index = std::fs::read_to_string(folder.join("index.jsonl"))?;
    let sources: Vec<Source> = index.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;

    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(source) = sources.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let path = folder.join(&source.file);
                    let results: Vec<(String, Result<Use, String>)> = if source.file.ends_with(".cu") {
                        let generation = |generation: &&str| {
                            (format!("sm_{generation}"), nvidia.compile(&path, generation))
                        };
                        NVIDIA.iter().filter(|name| source.is_for(name)).map(generation).collect()
                    } else {
                        vec![(AMD.to_owned(), hip::compile(&path, AMD))]
                    };
                    if let Ok(mut done) = done.lock() {
                        done.push((source, results));
                    }
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_default();
    done.sort_by_key(|(source, _)| source.file.clone());

    let all = done.iter().map(|(_, results)| results.len()).sum();
    let failures = done.iter().flat_map(|(source, results)| {
        results.iter().filter_map(move |(target, result)| {
            result.as_ref().err().map(|why| format!("{} for {target}: {why}", source.file))
        })
    });
    let failures: Vec<String> = failures.collect();
    let lines: Vec<Line> = done
        .into_iter()
        .map(|(source, results)| Line {
            kernel: source.kernel.clone(),
            numbers: source.numbers.clone(),
            shape: source.shape.clone(),
            targets: results
                .into_iter()
                .filter_map(|(target, result)| Some((target, result.ok()?)))
                .collect(),
        })
        .collect();
    print(&lines);
    std::fs::write(root.join("bench-results/gpu-sources.json"), serde_json::to_string_pretty(&lines)?)?;
    println!("{} kernels, {} compilations, {} failed", lines.len(), all, failures.len());
    match failures.first() {
        None if all == 0 => Err(SourcesError::Missing("no source was written".to_owned())),
        None => Ok(()),
        Some(first) => Err(SourcesError::Failed { count: failures.len(), all, first: first.clone() }),
    }
}

fn write_sources(root: &Path, folder: &Path) -> Result<(), SourcesError> {
    let programs = build(AS_TESTS, &["--example", "launched_sources"]).map_err(SourcesError::NotWritten)?;
    let mut example = Command::new(programs.join("examples/launched_sources"));
    let written = example.arg(folder).args(real_matrices(root)).status()?;
    if written.success() { Ok(()) } else { Err(SourcesError::NotWritten(written.to_string())) }
}

/// The real matrices of the tests that exist beside the repository, or in `ZIGGURAT_MATRICES`.
fn real_matrices(root: &Path) -> Vec<PathBuf> {
    let named = std::env::var_os("ZIGGURAT_MATRICES").map(PathBuf::from);
    let folder = named.unwrap_or_else(|| root.join("../shared/matrices"));
    let names = ["wathen100", "bodyy5", "ibmpg1"].map(|name| folder.join(format!("{name}.mtx.gz")));
    names.into_iter().filter(|path| path.exists()).collect()
}

/// Prints a line per kernel: the number of instances and, for each target, the registers and the
/// spilled bytes.
fn print(lines: &[Line]) {
    let targets: Vec<String> =
        NVIDIA.iter().map(|generation| format!("sm_{generation}")).chain([AMD.to_owned()]).collect();
    let headings = ["kernel", "CUDA", "HIP"].map(str::to_owned).into_iter().chain(targets.iter().cloned());
    let mut table = Table::new(headings);
    let mut kernels: Vec<&str> = lines.iter().map(|line| line.kernel.as_str()).collect();
    kernels.sort_unstable();
    kernels.dedup();
    for kernel in kernels {
        let uses = |target: &str| -> Vec<&Use> {
            let of_kernel = lines.iter().filter(|line| line.kernel == kernel).flat_map(|line| &line.targets);
            of_kernel.filter(|(name, _)| name == target).map(|(_, used)| used).collect()
        };
        let instances =
            [&targets[0], &targets[targets.len() - 1]].map(|target| uses(target).len().to_string());
        let cells = targets.iter().map(|target| {
            let uses = uses(target);
            let registers = uses.iter().map(|used| used.registers);
            let (least, most) = (registers.clone().min().unwrap_or(0), registers.max().unwrap_or(0));
            let range = if least == most { most.to_string() } else { format!("{least}-{most}") };
            match uses.iter().map(|used| used.spilled).max() {
                Some(spilled) if spilled > 0 => {
                    let spilling = uses.iter().filter(|used| used.spilled > 0).count();
                    format!("{range}, {spilling} spill up to {spilled} B")
                }
                _ => range,
            }
        });
        table.row([kernel.to_owned()].into_iter().chain(instances).chain(cells));
    }
    println!("registers per unit, over all instances of a kernel\n\n{table}");
}

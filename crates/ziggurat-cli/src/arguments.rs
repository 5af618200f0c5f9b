//! The command line: every option, its words and its defaults.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueHint};
use clap_complete::Shell;
use ziggurat::config::{Krylov, Method, Precision, SmootherKind};
use ziggurat_sparse::gallery::Problem;
use ziggurat_sparse::{Choice, UnknownName};

/// Solves large sparse linear systems by algebraic multigrid.
#[derive(Debug, Parser)]
#[command(name = "ziggurat", version, arg_required_else_help = true, after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Threads to use [default: every core]
    #[arg(long, global = true, value_name = "N", value_parser = threads, display_order = 900)]
    pub(crate) threads: Option<NonZeroUsize>,

    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXAMPLES: &str = "\
Examples:
  ziggurat solve A.mtx --rhs b.mtx --output x.mtx   solve a system from files
  ziggurat solve --problem poisson3d:100            solve a model problem
  ziggurat solve A.mtx --report solve.html          … and make a page with pictures of how it went
  ziggurat inspect A.mtx.gz                         what kind of matrix is this?
  ziggurat generate elasticity3d:20 -o A.mtx        write a model problem to a file
  ziggurat devices                                  where can be computed

Exit codes: 0 converged (or done), 2 not converged, 1 error.";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Solve A x = b, and report how it went
    Solve(SolveOptions),
    /// Say what kind of matrix this is, and what follows for solving with it
    Inspect(InspectOptions),
    /// Write a model problem to a Matrix Market file
    Generate(GenerateOptions),
    /// List what `solve --device` can name here, and why the rest is not there
    Devices(DevicesOptions),
    /// Print a script that completes our options in a shell
    #[command(hide = true)]
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print the manual page, or write the pages of all commands into a folder
    #[command(hide = true)]
    Man {
        /// Where to write the pages of all commands
        #[arg(value_hint = ValueHint::DirPath)]
        folder: Option<PathBuf>,
    },
}

/// Where the matrix comes from.
#[derive(Args, Debug)]
pub(crate) struct Source {
    /// Matrix Market file, plain or gzip
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: Option<PathBuf>,
    /// A model problem instead of a file, as in poisson3d:100 (`ziggurat generate --help` lists them)
    #[arg(long, value_name = "NAME:SIZE")]
    pub(crate) problem: Option<String>,
    /// Renumber the unknowns at random within windows of B nodes, to stand for an unstructured mesh
    #[arg(long, value_name = "B", value_parser = window)]
    pub(crate) shuffle: Option<NonZeroUsize>,
}

#[derive(Args, Debug)]
pub(crate) struct SolveOptions {
    #[command(flatten)]
    pub(crate) source: Source,
    /// Right-hand side, a Matrix Market file with one column [default: all ones]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) rhs: Option<PathBuf>,
    /// Read the configuration from this file, TOML or JSON; options given here win
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) config: Option<PathBuf>,
    /// Begin with a configuration of this name instead: default, robust, fast or low-memory
    #[arg(long, value_name = "NAME", conflicts_with = "config")]
    pub(crate) preset: Option<String>,
    /// Print the configuration as TOML, every key of it, and solve nothing
    #[arg(long)]
    pub(crate) dump_config: bool,
    /// Stop when the true residual is this much smaller than the right-hand side [default: 1e-8]
    #[arg(long, value_parser = tolerance)]
    pub(crate) rtol: Option<f64>,
    /// How the hierarchy is built [default: auto]
    #[arg(long, value_parser = choice::<Method>())]
    pub(crate) method: Option<Method>,
    /// The smoother [default: auto]
    #[arg(long, value_parser = choice::<SmootherKind>())]
    pub(crate) smoother: Option<SmootherKind>,
    /// The outer iteration [default: auto]
    #[arg(long, value_parser = choice::<Krylov>())]
    pub(crate) krylov: Option<Krylov>,
    /// What the hierarchy is stored in; the solution is always f64 [default: auto]
    ///
    /// auto (chosen by the matrix and watched), f64, f32, f16 or bf16 (vectors in f32); the papers' K64P32D16; or a ladder by
    /// levels, working numbers before the comma and storage numbers behind it: f64-f32,f16-f16-f32
    #[arg(long, value_name = "auto|f64|f32|f16|bf16|…", value_parser = precision)]
    pub(crate) precision: Option<Precision>,
    /// Where to iterate; the hierarchy is built on the processor
    ///
    /// cpu, gpu (the best there is), or one of those that `ziggurat devices` lists, as in vulkan:0
    #[arg(long, value_name = "cpu|gpu|vulkan:0|cuda:0|hip:0|metal:0", value_parser = device, default_value = "cpu", hide_default_value = true)]
    pub(crate) device: DeviceName,
    /// Coordinates of the nodes, a Matrix Market array of one row per node; for elasticity
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) coords: Option<PathBuf>,
    /// Write the solution to this Matrix Market file
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,
    /// Write the report as JSON to this file, or with `-` to standard output (and nothing else there)
    #[arg(long, value_name = "FILE|-", value_hint = ValueHint::FilePath)]
    pub(crate) json: Option<PathBuf>,
    /// Write a page about the solve to this HTML file: convergence, hierarchy, time, matrix, and how to do it again
    ///
    /// The true residual is then computed in every iteration, unless `stopping.verify_every` in the configuration says otherwise, and
    /// a few cycles are timed afterwards
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) report: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct InspectOptions {
    #[command(flatten)]
    pub(crate) source: Source,
    /// Write the diagnosis as JSON to this file, or with `-` to standard output (and nothing else there)
    #[arg(long, value_name = "FILE|-", value_hint = ValueHint::FilePath)]
    pub(crate) json: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct DevicesOptions {
    /// Write the list as JSON to this file, or with `-` to standard output (and nothing else there)
    #[arg(long, value_name = "FILE|-", value_hint = ValueHint::FilePath)]
    pub(crate) json: Option<PathBuf>,
}

#[derive(Args, Debug)]
#[command(after_help = problems())]
pub(crate) struct GenerateOptions {
    /// The problem, as in poisson3d:100
    #[arg(value_name = "NAME:SIZE")]
    pub(crate) problem: String,
    /// The file to write; compressed if it ends in .gz
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: PathBuf,
    /// Renumber the unknowns at random within windows of B nodes, to stand for an unstructured mesh
    #[arg(long, value_name = "B", value_parser = window)]
    pub(crate) shuffle: Option<NonZeroUsize>,
    /// Write the right-hand side as well
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) rhs: Option<PathBuf>,
    /// Write the coordinates of the nodes as well
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) coords: Option<PathBuf>,
}

/// Where to iterate, by name. Whether it is there is another question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DeviceName {
    /// The processor, with threads.
    Cpu,
    /// A graphics processor: `gpu`, `vulkan`, `vulkan:0` …
    Gpu(String),
}

/// The model problems, one line each.
fn problems() -> String {
    let widest = Problem::NAMES.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    Problem::NAMES.iter().fold("Problems:".to_owned(), |list, (name, what)| {
        let name = format!("{name}:N");
        format!("{list}\n  {name:<width$}  {what}", width = widest + 2)
    })
}

/// A choice by name. The names and their descriptions, in help and completions, are the solver's own.
fn choice<C: Choice>() -> impl TypedValueParser<Value = C> {
    let value = |choice: &C| {
        let about = choice.about().trim_end_matches('.');
        PossibleValue::new(choice.name()).aliases(choice.aliases()).help(about)
    };
    PossibleValuesParser::new(C::ALL.iter().map(value)).try_map(|name| C::named(&name))
}

fn counted(text: &str, most: usize) -> Result<NonZeroUsize, String> {
    let count = text.parse::<NonZeroUsize>().ok().filter(|count| count.get() <= most);
    count.ok_or_else(|| format!("give a whole number from 1 to {most}"))
}

fn threads(text: &str) -> Result<NonZeroUsize, String> {
    counted(text, 1024)
}

fn window(text: &str) -> Result<NonZeroUsize, String> {
    counted(text, u32::MAX as usize)
}

fn precision(text: &str) -> Result<Precision, String> {
    text.parse().map_err(|error: UnknownName| {
        let near = error.nearest().map_or(String::new(), |near| format!(" (did you mean `{near}`?)"));
        format!("give one of {}{near}", error.known.join(", "))
    })
}

fn device(text: &str) -> Result<DeviceName, String> {
    const KNOWN: [&str; 6] = ["cpu", "gpu", "vulkan:0", "cuda:0", "hip:0", "metal:0"];
    let (runtime, index) = text.split_once(':').unwrap_or((text, "0"));
    match runtime {
        "cpu" | "gpu" if text != runtime => {} // there is but one
        "cpu" => return Ok(DeviceName::Cpu),
        "gpu" => return Ok(DeviceName::Gpu(text.to_owned())),
        "vulkan" | "cuda" | "hip" | "metal" if index.parse::<u32>().is_ok() => {
            return Ok(DeviceName::Gpu(text.to_owned()));
        }
        _ => {}
    }
    let error = UnknownName::new("device", text, KNOWN);
    let near = error.nearest().map_or(String::new(), |near| format!(" (did you mean `{near}`?)"));
    Err(format!("give one of {}{near}", KNOWN.join(", ")))
}

fn tolerance(text: &str) -> Result<f64, String> {
    let rtol = text.parse::<f64>().ok().filter(|&rtol| rtol > 0.0 && rtol < 1.0);
    rtol.ok_or_else(|| "give a number between 0 and 1, as in 1e-8".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn devices_are_named_by_runtime_and_number() {
        assert_eq!(device("cpu"), Ok(DeviceName::Cpu));
        for name in ["gpu", "vulkan", "vulkan:0", "cuda:12", "hip:0", "metal:0"] {
            assert_eq!(device(name), Ok(DeviceName::Gpu(name.to_owned())));
        }
        for (name, near) in [("vulcan:0", "vulkan:0"), ("cpu:1", "cpu"), ("cuda:x", "cuda:0"), ("GPU", "gpu")]
        {
            let error = device(name).unwrap_err();
            assert!(error.starts_with("give one of cpu, gpu, "), "{error}");
            assert!(error.ends_with(&format!("(did you mean `{near}`?)")), "{name}: {error}");
        }
    }
}

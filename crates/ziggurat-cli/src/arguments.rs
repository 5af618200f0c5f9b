//! The command line: options, help texts and defaults.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueHint};
use clap_complete::Shell;
use ziggurat::config::{Basis, Effort, Krylov, Method, Precision, SetupPlace, SmootherKind};
use ziggurat_sparse::gallery::Problem;
use ziggurat_sparse::{Choice, UnknownName};

/// Solve large sparse linear systems by algebraic multigrid
#[derive(Debug, Parser)]
#[command(name = "ziggurat", version, arg_required_else_help = true, after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Number of threads [default: RAYON_NUM_THREADS, OMP_NUM_THREADS or SLURM_CPUS_PER_TASK, else
    /// all cores, which ranks divide]
    #[arg(long, global = true, value_name = "N", value_parser = threads, display_order = 900)]
    pub(crate) threads: Option<NonZeroUsize>,

    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXAMPLES: &str = "\
Examples:
  ziggurat solve A.mtx --rhs b.mtx --output x.mtx   solve a system from files
  ziggurat solve --problem poisson3d:100            solve a model problem
  ziggurat solve A.mtx --report solve.html          … and write an HTML report with charts
  ziggurat inspect A.mtx.gz                         diagnose a matrix
  ziggurat compare A.mtx                            try several methods, with the command for each
  ziggurat tune A.mtx --output fast.toml            search for the fastest configuration
  ziggurat estimate A.mtx                           memory and time of a solve, before it
  ziggurat generate elasticity3d:20 -o A.mtx        write a model problem to a file
  ziggurat devices                                  list compute devices

Exit codes: 0 converged (or done), 2 not converged, 1 error.";

#[derive(Debug, Subcommand)]
#[allow(clippy::large_enum_variant)] // there is one value in a process
pub(crate) enum Command {
    /// Solve A x = b and report convergence, time and hierarchy
    Solve(SolveOptions),
    /// Diagnose a matrix and give advice on solving with it
    Inspect(InspectOptions),
    /// Solve with several methods and print one table, with the command for each
    Compare(CompareOptions),
    /// Search for the fastest configuration within a time limit, and write it as TOML
    Tune(TuneOptions),
    /// Estimate memory and time of a solve, without solving
    Estimate(EstimateOptions),
    /// Write a model problem to a file
    Generate(GenerateOptions),
    /// List the available devices, and why others are unavailable
    Devices(DevicesOptions),
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print the manual page, or write the pages of all commands to a folder
    Man {
        /// Folder for the pages of all commands
        #[arg(value_hint = ValueHint::DirPath)]
        folder: Option<PathBuf>,
    },
}

impl Command {
    /// The word after `ziggurat`.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Command::Solve(_) => "solve",
            Command::Inspect(_) => "inspect",
            Command::Compare(_) => "compare",
            Command::Tune(_) => "tune",
            Command::Estimate(_) => "estimate",
            Command::Generate(_) => "generate",
            Command::Devices(_) => "devices",
            Command::Completions { .. } => "completions",
            Command::Man { .. } => "man",
        }
    }

    /// Whether the command looks for GPUs.
    pub(crate) fn looks_for_gpus(&self) -> bool {
        match self {
            Command::Devices(_) => true,
            Command::Solve(options) => options.device != DeviceName::Cpu,
            _ => false,
        }
    }

    /// Whether stages that take long show their progress. Log lines would overwrite it.
    pub(crate) fn shows_progress(&self) -> bool {
        match self {
            Command::Solve(SolveOptions { verbosity, .. }) => !verbosity.quiet && !verbosity.verbose,
            _ => true,
        }
    }
}

/// The source of the matrix.
#[derive(Args, Debug)]
pub(crate) struct Source {
    /// Matrix: a Matrix Market, scipy .npz, PETSc binary, HDF5 or Rutherford–Boeing file, or
    /// gzipped
    ///
    /// The format is recognised by the content. Rutherford–Boeing files, which include the older
    /// Harwell–Boeing files, are also recognised by names such as A.rb and A.rua. HDF5 files, among
    /// them those of MATLAB 7.3, are read by commands built with the feature `hdf5`; an object in
    /// one is named after a colon, such as system.h5:Problem/A
    #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: Option<PathBuf>,
    /// Model problem instead of a file, such as poisson3d:100 (see `ziggurat generate --help`)
    #[arg(long, value_name = "NAME:SIZE")]
    pub(crate) problem: Option<String>,
    /// Renumber the nodes randomly within windows of B nodes, to emulate an unstructured mesh
    #[arg(long, value_name = "B", value_parser = window)]
    pub(crate) shuffle: Option<NonZeroUsize>,
}

#[derive(Args, Debug)]
pub(crate) struct SolveOptions {
    #[command(flatten)]
    pub(crate) source: Source,
    /// Right-hand side: a vector in Matrix Market, .npy, PETSc, HDF5 or plain text [default: all
    /// ones]
    ///
    /// Without a file it is that of the model problem or all ones. If the rows of the matrix sum to
    /// zero, its range does not contain all ones; then it is 1 in the first half of the rows and −1
    /// in the second half
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) rhs: Option<PathBuf>,
    /// Which column of the right-hand side's file, from 1, if it has several
    #[arg(long, value_name = "K", requires = "rhs", value_parser = column)]
    pub(crate) rhs_column: Option<NonZeroUsize>,
    /// Configuration file, TOML or JSON; options on the command line override it
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) config: Option<PathBuf>,
    /// Start from a named configuration: default, robust, fast or low-memory
    #[arg(long, value_name = "NAME", conflicts_with = "config")]
    pub(crate) preset: Option<String>,
    /// Print all keys of the configuration as TOML and exit
    #[arg(long)]
    pub(crate) dump_config: bool,
    /// Tolerance of the true residual, relative to the right-hand side [default: 1e-8]
    #[arg(long, value_parser = tolerance)]
    pub(crate) rtol: Option<f64>,
    /// Maximum number of iterations [default: 1000]
    #[arg(long, value_name = "N", value_parser = iterations)]
    pub(crate) max_iterations: Option<usize>,
    /// Time limit in seconds [default: none]
    ///
    /// A solve that reaches it is reported as not converged, with exit code 2, and the solution so
    /// far is written
    #[arg(long, value_name = "S", value_parser = seconds)]
    pub(crate) max_seconds: Option<f64>,
    /// Initial guess, in a file as for --rhs [default: zero]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) guess: Option<PathBuf>,
    /// Which column of the guess's file, from 1, if it has several
    #[arg(long, value_name = "K", requires = "guess", value_parser = column)]
    pub(crate) guess_column: Option<NonZeroUsize>,
    /// If the matrix is singular, accept a right-hand side outside its range
    ///
    /// The right-hand side is projected onto the range, and the report states what is left out.
    /// Otherwise such a system is reported as inconsistent, with exit code 2
    #[arg(long)]
    pub(crate) project_rhs: bool,
    /// Report a failure instead of continuing with another smoother or sparse factors
    #[arg(long)]
    pub(crate) no_fallback: bool,
    /// Coarsening method [default: auto]
    #[arg(long, value_parser = choice::<Method>())]
    pub(crate) method: Option<Method>,
    /// Smoother [default: auto]
    #[arg(long, value_parser = choice::<SmootherKind>())]
    pub(crate) smoother: Option<SmootherKind>,
    /// The budget of setup [default: few-solves]
    #[arg(long, value_parser = choice::<Effort>())]
    pub(crate) effort: Option<Effort>,
    /// Krylov method of the outer iteration [default: auto]
    #[arg(long, value_parser = choice::<Krylov>())]
    pub(crate) krylov: Option<Krylov>,
    /// How gmres and fgmres store their Krylov basis [default: f64]
    #[arg(long, value_parser = choice::<Basis>())]
    pub(crate) basis: Option<Basis>,
    /// Precision of the hierarchy; the solution is always f64 [default: auto]
    ///
    /// auto (chosen for the matrix and monitored), f64, f32, f16 or bf16 (with vectors in f32);
    /// names from the literature such as K64P32D16; or one precision per level, finest first, the
    /// working precisions before the comma and the storage precisions after it: f64-f32,f16-f16-f32
    #[arg(long, value_name = "auto|f64|f32|f16|bf16|…", value_parser = precision)]
    pub(crate) precision: Option<Precision>,
    /// Device of the iteration; the hierarchy is built on the CPU unless --setup says otherwise
    ///
    /// cpu, gpu (the best available), or a name listed by `ziggurat devices`, such as vulkan:0
    #[arg(long, value_name = "cpu|gpu|vulkan:0|cuda:0|hip:0|metal:0", value_parser = device, default_value = "cpu", hide_default_value = true)]
    pub(crate) device: DeviceName,
    /// Where the levels of the hierarchy are made [default: host]
    #[arg(long, value_parser = choice::<SetupPlace>())]
    pub(crate) setup: Option<SetupPlace>,
    /// Coordinates of the nodes for elasticity: Matrix Market, .npy or plain text, one row per node
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) coords: Option<PathBuf>,
    /// Write the solution to this file
    ///
    /// The name selects the format: .npy (NumPy), .petsc (PETSc binary), otherwise Matrix Market;
    /// compressed if it ends in .gz
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,
    /// Write the report as JSON to this file; `-` writes only JSON to standard output
    #[arg(long, value_name = "FILE|-", value_hint = ValueHint::FilePath)]
    pub(crate) json: Option<PathBuf>,
    /// Write an HTML report on convergence, time, hierarchy and matrix to this file
    ///
    /// The true residual is then computed in every iteration, unless `stopping.verify_every` is set
    /// in the configuration, and a few cycles are timed after the solve
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) report: Option<PathBuf>,
    /// Write a timeline of setup and solve to this file (Chrome trace event format, JSON)
    ///
    /// It opens in Perfetto (https://ui.perfetto.dev) or chrome://tracing. It shows the stages of
    /// setup, every iteration, and the operations of every level with rows, bytes of matrices and
    /// GB/s. Under mpirun it is that of rank 0
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) trace: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) verbosity: Verbosity,
}

/// How much is written to the terminal.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct Verbosity {
    /// Log setup, every iteration and changes of precision to standard error
    #[arg(long, short, display_order = 901)]
    pub(crate) verbose: bool,
    /// Print neither progress nor a summary; errors are still printed
    #[arg(long, short, conflicts_with = "verbose", display_order = 902)]
    pub(crate) quiet: bool,
}

#[derive(Args, Debug)]
pub(crate) struct InspectOptions {
    #[command(flatten)]
    pub(crate) source: Source,
    /// Write the diagnosis as JSON to this file; `-` writes only JSON to standard output
    #[arg(long, value_name = "FILE|-", value_hint = ValueHint::FilePath)]
    pub(crate) json: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct CompareOptions {
    #[command(flatten)]
    pub(crate) source: Source,
    /// Right-hand side, in a file as for `ziggurat solve` [default: as `ziggurat solve`]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) rhs: Option<PathBuf>,
    /// Which column of the right-hand side's file, from 1, if it has several
    #[arg(long, value_name = "K", requires = "rhs", value_parser = column)]
    pub(crate) rhs_column: Option<NonZeroUsize>,
    /// Tolerance of the true residual, relative to the right-hand side [default: 1e-8]
    #[arg(long, value_parser = tolerance)]
    pub(crate) rtol: Option<f64>,
    /// Coordinates of the nodes for elasticity: Matrix Market, .npy or plain text, one row per node
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) coords: Option<PathBuf>,
    /// Write the comparison as JSON to this file; `-` writes only JSON to standard output
    #[arg(long, value_name = "FILE|-", value_hint = ValueHint::FilePath)]
    pub(crate) json: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct EstimateOptions {
    #[command(flatten)]
    pub(crate) source: Source,
    /// Write the estimate as JSON to this file; `-` writes only JSON to standard output
    #[arg(long, value_name = "FILE|-", value_hint = ValueHint::FilePath)]
    pub(crate) json: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct DevicesOptions {
    /// Write the list as JSON to this file; `-` writes only JSON to standard output
    #[arg(long, value_name = "FILE|-", value_hint = ValueHint::FilePath)]
    pub(crate) json: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(crate) struct TuneOptions {
    #[command(flatten)]
    pub(crate) source: Source,
    /// Right-hand side, in a file as for `ziggurat solve` [default: as `ziggurat solve`]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) rhs: Option<PathBuf>,
    /// Which column of the right-hand side's file, from 1, if it has several
    #[arg(long, value_name = "K", requires = "rhs", value_parser = column)]
    pub(crate) rhs_column: Option<NonZeroUsize>,
    /// Coordinates of the nodes for elasticity: Matrix Market, .npy or plain text, one row per node
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) coords: Option<PathBuf>,
    /// Configuration to start from, TOML or JSON
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) config: Option<PathBuf>,
    /// Tolerance of the true residual, relative to the right-hand side [default: 1e-8]
    #[arg(long, value_parser = tolerance)]
    pub(crate) rtol: Option<f64>,
    /// Time limit of the search in seconds
    #[arg(long, value_name = "S", default_value_t = 60.0, value_parser = seconds)]
    pub(crate) seconds: f64,
    /// Number of solves per setup that the configuration is for
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = iterations)]
    pub(crate) solves: usize,
    /// File for the fastest configuration, TOML
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,
    /// Write all trials as JSON to this file; `-` writes only JSON to standard output
    #[arg(long, value_name = "FILE|-", value_hint = ValueHint::FilePath)]
    pub(crate) json: Option<PathBuf>,
}

#[derive(Args, Debug)]
#[command(after_help = problems())]
pub(crate) struct GenerateOptions {
    /// Model problem, such as poisson3d:100
    #[arg(value_name = "NAME:SIZE")]
    pub(crate) problem: String,
    /// File to write; the name selects the format
    ///
    /// .npz (scipy), .petsc (PETSc binary), .rb (Rutherford–Boeing), otherwise Matrix Market;
    /// compressed if it ends in .gz
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: PathBuf,
    /// Renumber the nodes randomly within windows of B nodes, to emulate an unstructured mesh
    #[arg(long, value_name = "B", value_parser = window)]
    pub(crate) shuffle: Option<NonZeroUsize>,
    /// Also write the right-hand side: .npy, .petsc, otherwise Matrix Market
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) rhs: Option<PathBuf>,
    /// Also write the coordinates of the nodes: .npy, .petsc, otherwise Matrix Market
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) coords: Option<PathBuf>,
}

/// The name of a device, which may or may not be available.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DeviceName {
    /// The CPU, multithreaded.
    Cpu,
    /// A GPU: `gpu`, `vulkan`, `vulkan:0` …
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

/// A parser for a choice. Help and completions use the names and descriptions of the library.
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
    counted(text, ziggurat::threads::MOST)
}

fn column(text: &str) -> Result<NonZeroUsize, String> {
    text.parse().map_err(|_| "give a whole number, at least 1".to_owned())
}

fn window(text: &str) -> Result<NonZeroUsize, String> {
    counted(text, u32::MAX as usize)
}

fn iterations(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| "give a whole number, such as 200".to_owned())
}

fn seconds(text: &str) -> Result<f64, String> {
    let seconds = text.parse::<f64>().ok().filter(|&seconds| seconds > 0.0 && seconds.is_finite());
    seconds.ok_or_else(|| "give a positive number of seconds, such as 30".to_owned())
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
        "cpu" | "gpu" if text != runtime => {} // takes no index
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
    rtol.ok_or_else(|| "give a number between 0 and 1, such as 1e-8".to_owned())
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
    fn devices_are_named_by_runtime_and_index() {
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

//! `ziggurat estimate`: memory and time of a solve, before it.
//!
//! The peak memory is a function of rows and entries, and the time a multiple of the time of one
//! product A x, which is measured. The coefficients were fitted to solves of the eight model
//! problems with 10⁵ to 10⁷ entries (smoothed aggregation for symmetric matrices, classical
//! coarsening for the others), and the part that small problems take already to real matrices. The
//! range of memory covers the whole collection as long as multigrid solves the system. If it does
//! not, sparse factors replace it, and their entries are predicted by an analysis of the pattern. A
//! saddle point starts with them if they are not too large; their coefficients come from Stokes
//! flow on 32² to 256² cells and from `teko_szd`. Time depends on the number of iterations, which
//! cannot be known before, so it is given as a range. Cost: a diagnosis of the matrix, some
//! products, and the analysis, which may take as long as setup.

use std::process::ExitCode;
use std::time::Instant;

use serde::Serialize;
use ziggurat::amg::factor_entries;
use ziggurat::diagnose::{DiagonalSign, diagnose};
use ziggurat::sparse::device::{Cpu, Device, DeviceError, DeviceExt};
use ziggurat_report::figures::{bytes, seconds, size};
use ziggurat_report::peak_bytes;
use ziggurat_sparse::{Csr, Kind};

use crate::arguments::EstimateOptions;
use crate::failure::Failure;
use crate::output;
use crate::progress::Progress;
use crate::solve;
use crate::system::System;

/// The cost of a kind of solve.
#[derive(Debug)]
struct Model {
    /// Bytes at the peak per entry and per row of the matrix, beside the bytes of the process.
    per_entry: f64,
    per_row: f64,
    /// Times in products with the matrix.
    setup: f64,
    iteration: f64,
}

/// Memory that grows up to a limit.
struct Scratch {
    per_row: f64,
    per_entry: f64,
    most: f64,
}

/// Symmetric matrices: smoothed aggregation, conjugate gradients, 16-bit levels if it is large.
const SYMMETRIC: Model = Model { per_entry: 33.0, per_row: 210.0, setup: 110.0, iteration: 3.5 };
/// Others: classical coarsening, FGMRES, 64-bit levels.
const GENERAL: Model = Model { per_entry: 100.0, per_row: 650.0, setup: 250.0, iteration: 14.0 };

/// Sparse factors of a saddle point; times are for each of their entries per entry of the matrix.
/// Work per entry grows with their number, so setup is given for a middle size.
const FACTORS: Model = Model { per_entry: 40.0, per_row: 0.0, setup: 100.0, iteration: 2.0 };
/// Bytes per entry of the factors of a saddle point, where pivoting adds to those that are
/// predicted.
const PER_PIVOTED_ENTRY: f64 = 30.0;

/// Bytes of a process that solves next to nothing.
const PROCESS: f64 = 3.6e7;
/// Bytes of threads' scratch memory and of huge pages that are not full: they grow with rows and
/// entries up to a limit.
const SCRATCH: Scratch = Scratch { per_row: 3000.0, per_entry: 100.0, most: 4.5e7 };
/// Peaks of solves by multigrid, in units of the estimate: the least and the most.
const PEAK_RANGE: [f64; 2] = [0.6, 1.7];
/// Bytes per entry of sparse factors, with their indices and what making them takes.
const PER_FACTOR_ENTRY: f64 = 24.0;

/// Numbers of iterations of a fast, a usual and a slow solve.
const ITERATIONS: [f64; 3] = [10.0, 30.0, 100.0];
/// The same with sparse factors, which only have their rounding errors to correct.
const REFINEMENTS: [f64; 3] = [1.0, 2.0, 10.0];
/// Setup may take less or more time than estimated by this factor.
const SETUP_FACTOR: f64 = 2.0;
/// The same for sparse factors.
const FACTORISATION_FACTOR: f64 = 4.0;
/// Products are repeated for at least this time, and the fastest counts.
const TIMED_SECONDS: f64 = 0.05;

/// The estimate as JSON. The keys are a stable interface.
#[derive(Debug, Serialize)]
struct Estimate<'a> {
    source: &'a str,
    rows: usize,
    nnz: usize,
    /// Whether the matrix is symmetric with a positive diagonal.
    symmetric: bool,
    /// Whether it is a saddle point.
    saddle_point: bool,
    /// Whether the solve starts with sparse factors, as for a saddle point if they can be made.
    starts_with_factors: bool,
    /// Bytes of the matrix itself.
    matrix_bytes: u64,
    /// Peak memory of the process, with what the solve starts with.
    peak_bytes: u64,
    /// The least and the most that it was for real matrices of this size.
    peak_bytes_range: [u64; 2],
    /// The most if sparse factors replace multigrid; absent if they are too large to be made.
    #[serde(skip_serializing_if = "Option::is_none")]
    peak_bytes_with_factors: Option<u64>,
    /// The measured time of one product with the matrix.
    product_seconds: f64,
    setup_seconds: f64,
    /// The time of a usual number of iterations.
    solve_seconds: f64,
    /// The total time of a fast and of a slow solve.
    total_seconds: [f64; 2],
    version: &'static str,
}

pub(crate) fn run(options: &EstimateOptions, progress: &Progress) -> Result<ExitCode, Failure> {
    let json = options.json.as_deref();
    output::check(options.source.file.as_deref(), json.map(|path| ("--json", path)))?;
    let system = System::load(&options.source, progress)?;
    system.check_square()?;
    if system.a.rows() == 0 {
        return Err(solve::no_rows(&system.name));
    }
    let estimate = {
        let _stage = progress.stage("estimating");
        estimate(&system.name, &system.a)?
    };
    if let Some(path) = json {
        output::write_json(path, &estimate)?;
    }
    if !json.is_some_and(output::is_standard) {
        output::print(&text(&estimate))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn estimate<'a>(name: &'a str, a: &Csr<f64>) -> Result<Estimate<'a>, Failure> {
    // Reading a file may have taken more memory than the solve will.
    let loaded = peak_bytes().unwrap_or(0);
    let diagnosis = diagnose(a.view());
    let symmetric =
        diagnosis.symmetry.as_ref().is_some_and(|symmetry| symmetry.to_rounding || symmetry.exact)
            && diagnosis.diagonal.sign == DiagonalSign::Positive;
    let saddle_point = diagnosis.looks_like_saddle_point;
    let factors = factor_entries(a.view()).map(|entries| entries as f64);
    let first = factors.filter(|_| saddle_point);
    let (model, counts, uncertain) = match first {
        Some(_) => (FACTORS, REFINEMENTS, FACTORISATION_FACTOR),
        None if symmetric => (SYMMETRIC, ITERATIONS, SETUP_FACTOR),
        None => (GENERAL, ITERATIONS, SETUP_FACTOR),
    };
    let product_seconds = product_seconds(a)?;
    let (rows, entries) = (a.rows() as f64, a.nnz() as f64);
    let scratch = (SCRATCH.per_row * rows + SCRATCH.per_entry * entries).min(SCRATCH.most);
    let peak = PROCESS + scratch + model.per_entry * entries + model.per_row * rows;
    let peak = peak + first.map_or(0.0, |entries| PER_PIVOTED_ENTRY * entries);
    let at_least_loaded = |peak: f64| loaded.max(peak as u64);
    let [least, most] = PEAK_RANGE.map(|factor| factor * peak);
    let most_with_factors = match first {
        Some(_) => Some(most),
        None => factors.map(|entries| most + PER_FACTOR_ENTRY * entries),
    };
    let times = first.map_or(1.0, |factors| factors / entries) * product_seconds;
    let setup_seconds = model.setup * times;
    let [fast, usual, slow] = counts.map(|count| count * model.iteration * times);
    Ok(Estimate {
        source: name,
        rows: a.rows(),
        nnz: a.nnz(),
        symmetric,
        saddle_point,
        starts_with_factors: first.is_some(),
        matrix_bytes: a.bytes() as u64,
        peak_bytes: at_least_loaded(peak),
        peak_bytes_range: [least, most].map(at_least_loaded),
        peak_bytes_with_factors: most_with_factors.map(at_least_loaded),
        product_seconds,
        setup_seconds,
        solve_seconds: usual,
        total_seconds: [setup_seconds / uncertain + fast, setup_seconds * uncertain + slow],
        version: env!("CARGO_PKG_VERSION"),
    })
}

/// The time of one product with the matrix: the fastest of several.
fn product_seconds(a: &Csr<f64>) -> Result<f64, Failure> {
    let failed = |error: DeviceError| {
        Failure::new(
            error.to_string(),
            "the matrix alone takes too much memory; use more ranks or another machine",
        )
    };
    let cpu = Cpu::new();
    let matrix = cpu.upload_matrix(a.clone()).map_err(failed)?;
    let (x, mut y) = (vec![1.0; a.cols()].into(), cpu.zeros(Kind::F64, a.rows()).map_err(failed)?);
    let (start, mut fastest) = (Instant::now(), f64::INFINITY);
    while start.elapsed().as_secs_f64() < TIMED_SECONDS || fastest.is_infinite() {
        let product = Instant::now();
        cpu.spmv(1.0, &matrix, &x, 0.0, &mut y);
        fastest = fastest.min(product.elapsed().as_secs_f64());
    }
    Ok(fastest)
}

fn text(found: &Estimate<'_>) -> String {
    let kind = match (found.starts_with_factors, found.saddle_point, found.symmetric) {
        (true, ..) => "a saddle point: sparse factors (method direct) come first",
        (_, true, _) => "a saddle point, whose sparse factors would be too large: classical coarsening",
        (.., true) => "symmetric, positive diagonal: smoothed aggregation with conjugate gradients",
        _ => "not symmetric with a positive diagonal: classical coarsening with FGMRES",
    };
    let [fast, slow] = found.total_seconds.map(seconds);
    let [least, most] = found.peak_bytes_range.map(bytes);
    let rescue = match found.peak_bytes_with_factors {
        _ if found.starts_with_factors => String::new(),
        Some(most) => format!("  rescue  up to {} if sparse factors replace multigrid\n", bytes(most)),
        None => "  rescue  not possible: sparse factors would be too large\n".to_owned(),
    };
    let product = seconds(found.product_seconds);
    let (count, notes) = match found.starts_with_factors {
        true => (
            REFINEMENTS[1],
            format!(
                "Memory and time follow from the entries that the factors have at least, and time from one product\n\
                 with the matrix ({product}), too. Another --method, --krylov or --smoother solves by multigrid.\n"
            ),
        ),
        false => (
            ITERATIONS[1],
            format!(
                "The range of memory is that of real matrices which multigrid solves. Where it does not converge, \
                 sparse\nfactors are tried last, unless --no-fallback is given. Time follows from one product with \
                 the matrix\n({product}) and from 10 to 100 iterations; a matrix on which multigrid converges slowly \
                 takes longer.\n"
            ),
        ),
    };
    format!(
        "{}: {}\n\n  matrix  {kind}\n  memory  about {} at the peak ({least} to {most}), of which the matrix is {}\n\
         {rescue}  setup   about {}\n  solve   about {} for {count:.0} iterations\n  total   {fast} to {slow}\n\n\
         {notes}`ziggurat inspect` says what is special about a matrix.\n",
        found.source,
        size(found.rows, found.rows, found.nnz),
        bytes(found.peak_bytes),
        bytes(found.matrix_bytes),
        seconds(found.setup_seconds),
        seconds(found.solve_seconds),
    )
}

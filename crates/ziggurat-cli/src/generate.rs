//! `ziggurat generate`: writes a model problem to files, optionally with right-hand side and
//! coordinates.

use std::io;
use std::path::Path;
use std::process::ExitCode;

use ziggurat_report::figures::{counted, size};
use ziggurat_sparse::Dense;
use ziggurat_sparse::io::{
    FileFormat, WriteError, WriteOptions, write_dense, write_matrix, write_matrix_to, write_vector,
};

use crate::arguments::GenerateOptions;
use crate::failure::Failure;
use crate::output;
use crate::progress::Progress;
use crate::system::{Coordinates, System, parse_problem};

pub(crate) fn run(options: &GenerateOptions, progress: &Progress) -> Result<ExitCode, Failure> {
    let problem = parse_problem(&options.problem)?;
    let others = [("--rhs", &options.rhs), ("--coords", &options.coords)];
    let others = others.iter().filter_map(|(option, path)| Some((*option, path.as_deref()?)));
    FileFormat::of_matrix(&options.output)?;
    for path in options.rhs.iter().chain(&options.coords) {
        FileFormat::of_vector(path)?;
    }
    output::check([], std::iter::once(("--output", options.output.as_path())).chain(others))?;

    let mut system = System::generate(problem, progress)?;
    let mut made_by = format!("ziggurat generate {problem}");
    if let Some(window) = options.shuffle {
        system = system.shuffle(window, progress)?;
        made_by += &format!(" --shuffle {window}");
    }
    let options_of_matrix = WriteOptions { comment: made_by, ..Default::default() };
    write(&options.output, &system, &options_of_matrix, progress)?;
    let mut wrote = vec![(options.output.display().to_string(), "the matrix".to_owned())];
    if let Some(path) = &options.rhs {
        write_vector(path, &system.in_solver_order(problem.rhs()?)?)?;
        wrote.push((path.display().to_string(), "the right-hand side".to_owned()));
    }
    if let (Some(path), Some(coordinates)) = (&options.coords, system.coordinates(None, progress)?) {
        let Coordinates { dimension, points } = coordinates;
        // Column by column, the layout of a dense matrix.
        let values = (0..dimension).flat_map(|axis| points.iter().map(move |point| point[axis])).collect();
        write_dense(path, &Dense::try_new(points.len(), dimension, values)?)?;
        let what = format!("the coordinates of {}", counted(points.len(), "node"));
        wrote.push((path.display().to_string(), what));
    }
    let a = &system.a;
    let width = wrote.iter().map(|(path, _)| path.chars().count()).max().unwrap_or(0);
    let report = wrote
        .iter()
        .fold(format!("{problem}: {}\n", size(a.rows(), a.cols(), a.nnz())), |text, (path, what)| {
            format!("{text}  {path:<width$}  {what}\n")
        });
    if !output::is_standard(&options.output) {
        output::print(&report)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes the matrix to a file, or to standard output.
fn write(path: &Path, system: &System, options: &WriteOptions, progress: &Progress) -> Result<(), Failure> {
    let _stage = progress.stage(&format!("writing {}", path.display()));
    if !output::is_standard(path) {
        return Ok(write_matrix(path, system.a.view(), options)?);
    }
    match write_matrix_to(io::stdout(), system.a.view(), options) {
        Err(WriteError::Io { cause, .. }) if cause.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(WriteError::Io { cause, .. }) => Err(Failure::writing(Path::new("standard output"), &cause)),
        written => Ok(written?),
    }
}

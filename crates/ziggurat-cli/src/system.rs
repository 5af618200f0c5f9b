//! The linear system of a command: a matrix from a file or a model problem, with right-hand side
//! and coordinates.

use std::ffi::OsString;
use std::fmt;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;

use ziggurat::CoordinatesError;
use ziggurat::amg::empty_rows;
use ziggurat::amg::halo::Whole;
use ziggurat::amg::interpolate::{NearKernel, NearKernelError};
use ziggurat::diagnose::unknowns_per_node;
use ziggurat_report::figures::{counted, grouped};
use ziggurat_sparse::Csr;
use ziggurat_sparse::gallery::{self, Model, Problem};
use ziggurat_sparse::graph::Permutation;
use ziggurat_sparse::io::{read_dense_from, read_matrix_from};

use crate::arguments::Source;
use crate::failure::Failure;
use crate::input::open;
use crate::progress::Progress;
use crate::vectors::{RHS_HINT, VectorFile, default_rhs, guess_hint};

/// A matrix and its source.
#[derive(Debug)]
pub(crate) struct System {
    /// Name of the file or problem, for reports.
    pub(crate) name: String,
    /// Shared with the solver, without a copy.
    pub(crate) a: Arc<Csr<f64>>,
    problem: Option<Problem>,
    /// The renumbering, if any.
    shuffled: Option<Shuffled>,
}

#[derive(Debug)]
struct Shuffled {
    nodes: Permutation,
    unknowns: Permutation,
}

/// The coordinates of the nodes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Coordinates {
    /// Dimension of the space: 1, 2 or 3. The other coordinates are zero.
    pub(crate) dimension: usize,
    pub(crate) points: Vec<[f64; 3]>,
}

/// Parses `NAME:SIZE`.
pub(crate) fn parse_problem(text: &str) -> Result<Problem, Failure> {
    Ok(text.parse::<Problem>()?)
}

/// The source of the matrix that the arguments name.
pub(crate) enum Origin<'a> {
    File(&'a Path),
    Problem(Problem),
}

impl<'a> Origin<'a> {
    /// Refuses arguments that name no matrix, or two.
    pub(crate) fn of(source: &'a Source) -> Result<Self, Failure> {
        match (&source.file, &source.problem) {
            (Some(file), None) => Ok(Origin::File(file)),
            (None, Some(problem)) => Ok(Origin::Problem(parse_problem(problem)?)),
            (Some(file), Some(problem)) => Err(Failure::new(
                format!("a file ({}) and --problem {problem} are both given", file.display()),
                "give only one of them",
            )),
            (None, None) => Err(Failure::new(
                "no matrix given",
                "give a file with a matrix, such as A.mtx, or a model problem, such as --problem poisson3d:50",
            )),
        }
    }
}

/// The failure to open `path`, unless it is the name of a model problem: then the advice is to
/// write `--problem`, as for `ziggurat inspect poisson3d:20`.
pub(crate) fn unopened(path: &Path, failure: Failure) -> Failure {
    let problem = path.to_str().and_then(|text| text.parse::<Problem>().ok()).filter(|_| !path.exists());
    match problem {
        Some(problem) => Failure::new(
            format!("there is no file {problem}"),
            format!("{problem} is a model problem: use --problem {problem}"),
        ),
        None => failure,
    }
}

impl System {
    /// Reads or generates the matrix, and renumbers it if requested.
    pub(crate) fn load(source: &Source, progress: &Progress) -> Result<System, Failure> {
        let system = match Origin::of(source)? {
            Origin::File(file) => System::read(file, progress)?,
            Origin::Problem(problem) => System::generate(problem, progress)?,
        };
        match source.shuffle {
            Some(window) => system.shuffle(window, progress),
            None => Ok(system),
        }
    }

    fn read(path: &Path, progress: &Progress) -> Result<System, Failure> {
        let (file, stage) = open(path, progress).map_err(|failure| unopened(path, failure))?;
        let a = read_matrix_from(stage.counting(file), path)?;
        Ok(System { name: path.display().to_string(), a: Arc::new(a), problem: None, shuffled: None })
    }

    /// Generates a model problem.
    pub(crate) fn generate(problem: Problem, progress: &Progress) -> Result<System, Failure> {
        let _stage = progress.stage(&format!("generating {problem}"));
        let a = Arc::new(problem.matrix()?);
        Ok(System { name: problem.to_string(), a, problem: Some(problem), shuffled: None })
    }

    /// Renumbers the nodes randomly within windows.
    pub(crate) fn shuffle(self, window: NonZeroUsize, progress: &Progress) -> Result<System, Failure> {
        self.check_square()?;
        let _stage = progress.stage("shuffling");
        let block = match self.problem {
            Some(problem) => problem.block_size(),
            None => unknowns_per_node(self.a.view(), &Whole::new(self.a.rows())),
        };
        let (a, nodes) = gallery::shuffle(self.a.view(), block, window)?;
        let unknowns = nodes.expand(block).map_err(|error| {
            Failure::new(format!("cannot renumber {}: {error}", self.name), "omit --shuffle")
        })?;
        Ok(System { a: Arc::new(a), shuffled: Some(Shuffled { nodes, unknowns }), ..self })
    }

    /// Fails if the matrix is not square.
    pub(crate) fn check_square(&self) -> Result<(), Failure> {
        let (rows, cols) = (self.a.rows(), self.a.cols());
        if rows == cols {
            return Ok(());
        }
        Err(Failure::new(
            format!("{} must be square; it is {} × {}", self.name, grouped(rows), grouped(cols)),
            "give a square matrix; for least squares, solve AᵀA x = Aᵀb",
        ))
    }

    /// The right-hand side from a file or of the model problem.
    pub(crate) fn rhs(
        &self,
        file: Option<VectorFile<'_>>,
        progress: &Progress,
    ) -> Result<Option<Vec<f64>>, Failure> {
        let given = match (file, self.problem) {
            (Some(file), _) => self.read_vector(file, RHS_HINT, progress)?,
            (None, Some(problem)) => problem.rhs()?,
            (None, None) => return Ok(None),
        };
        self.in_solver_order(given).map(Some)
    }

    /// The initial guess from a file.
    pub(crate) fn guess(
        &self,
        file: Option<VectorFile<'_>>,
        progress: &Progress,
    ) -> Result<Option<Vec<f64>>, Failure> {
        let Some(file) = file else { return Ok(None) };
        let guess = self.read_vector(file, &guess_hint(self.a.rows() as u64), progress)?;
        self.in_solver_order(guess).map(Some)
    }

    /// Reads a vector with one value per row of the matrix; `hint` is for a file of another length.
    fn read_vector(
        &self,
        file: VectorFile<'_>,
        hint: &str,
        progress: &Progress,
    ) -> Result<Vec<f64>, Failure> {
        let vector = file.read(progress)?;
        let (found, rows) = (vector.len(), self.a.rows());
        if found == rows { Ok(vector) } else { Err(file.misfit(found, &self.name, rows, hint)) }
    }

    /// A vector in the order of the solver, given in the order of the file or the problem.
    pub(crate) fn in_solver_order(&self, given: Vec<f64>) -> Result<Vec<f64>, Failure> {
        let Some(shuffled) = &self.shuffled else { return Ok(given) };
        let mut vector = vec![0.0; given.len()];
        shuffled.unknowns.apply(&given, &mut vector)?;
        Ok(vector)
    }

    /// The right-hand side if none is given, in the order of the solver.
    pub(crate) fn default_rhs(&self, singular: bool) -> Result<Vec<f64>, Failure> {
        let rows = self.a.rows();
        let empty = empty_rows(self.a.view(), &Whole::new(rows));
        let mut is_empty = vec![false; rows];
        empty.iter().for_each(|&row| match &self.shuffled {
            Some(shuffled) => is_empty[shuffled.unknowns.new_to_old()[row] as usize] = true,
            None => is_empty[row] = true,
        });
        let all = (rows - empty.len()) as u64;
        self.in_solver_order(default_rhs(&is_empty, 0, all, singular))
    }

    /// The coordinates of the nodes: from a file, or of the model problem.
    pub(crate) fn coordinates(
        &self,
        file: Option<&Path>,
        progress: &Progress,
    ) -> Result<Option<Coordinates>, Failure> {
        let mut coordinates = match (file, self.problem) {
            (Some(path), _) => Coordinates::read(path, &self.name, self.a.rows() as u64, progress)?,
            (None, Some(problem)) => {
                let dimension = if problem.model() == Model::Poisson2d { 2 } else { 3 };
                Coordinates { dimension, points: problem.coordinates()? }
            }
            (None, None) => return Ok(None),
        };
        if let Some(shuffled) = &self.shuffled {
            let rows = self.a.rows();
            let given = coordinates.clone().checked()?.by_node(rows).map_err(unfit)?;
            let Some((_, given)) = given.filter(|(_, nodes)| nodes.len() == shuffled.nodes.len()) else {
                return Err(Failure::new(
                    format!(
                        "the coordinates do not describe the {} to renumber",
                        counted(shuffled.nodes.len(), "node")
                    ),
                    "omit --shuffle, or give one row of coordinates per node",
                ));
            };
            coordinates.points = vec![[0.0; 3]; given.len()];
            shuffled.nodes.apply(&given, &mut coordinates.points)?;
        }
        Ok(Some(coordinates))
    }

    /// The rigid-body modes, if the coordinates are known and the unknowns of a node are its
    /// displacements.
    pub(crate) fn near_kernel(
        &self,
        file: Option<&Path>,
        progress: &Progress,
    ) -> Result<Option<NearKernel>, Failure> {
        if file.is_none() && !self.problem.is_some_and(|problem| problem.has_displacements()) {
            return Ok(None);
        }
        match self.coordinates(file, progress)? {
            Some(coordinates) => coordinates.checked()?.near_kernel(self.a.view()).map_err(unfit),
            None => Ok(None),
        }
    }

    /// Permutes a vector of unknowns back to the numbering of the file or problem.
    pub(crate) fn in_given_order(&self, x: Vec<f64>) -> Result<Vec<f64>, Failure> {
        let Some(shuffled) = &self.shuffled else { return Ok(x) };
        let mut given = vec![0.0; x.len()];
        shuffled.unknowns.undo(&x, &mut given)?;
        Ok(given)
    }
}

impl Coordinates {
    /// Reads the coordinates of a matrix called `name` with the given number of rows. Refuses a
    /// file that does not fit it.
    pub(crate) fn read(path: &Path, name: &str, rows: u64, progress: &Progress) -> Result<Self, Failure> {
        let (file, stage) = open(path, progress)?;
        let dense = read_dense_from(stage.counting(file), path)?;
        let (nodes, dimension) = (dense.rows(), dense.cols());
        if !(1..=3).contains(&dimension) {
            return Err(Failure::new(
                format!(
                    "{} has {}; coordinates have 1, 2 or 3",
                    path.display(),
                    counted(dimension, "column")
                ),
                "give one row per node, with x, y and z in columns",
            ));
        }
        if nodes == 0 || !rows.is_multiple_of(nodes as u64) {
            return Err(Failure::new(
                format!(
                    "{} has coordinates of {}, but {} has {}",
                    path.display(),
                    counted(nodes, "node"),
                    name,
                    counted(rows as usize, "row")
                ),
                "give one row per node, or one row per unknown",
            ));
        }
        let points = (0..nodes).map(|node| {
            let mut point = [0.0; 3];
            for (axis, column) in dense.columns().enumerate() {
                point[axis] = column[node];
            }
            point
        });
        Ok(Coordinates { dimension, points: points.collect() })
    }

    /// The same for the solver.
    pub(crate) fn checked(self) -> Result<ziggurat::Coordinates, Failure> {
        ziggurat::Coordinates::try_new(self.points, self.dimension).map_err(unfit)
    }
}

/// The failure for coordinates that do not fit the matrix.
pub(crate) fn unfit(error: CoordinatesError) -> Failure {
    match error {
        CoordinatesError::Modes(NearKernelError::Distributed) => {
            Failure::new(error.to_string(), "omit --coords, or run one process")
        }
        CoordinatesError::Modes(error) => no_modes(error),
        _ => Failure::new(
            error.to_string(),
            "give one row per node or per unknown, with x, y and z in columns; or omit --coords",
        ),
    }
}

/// The words of a command that name a system and its tolerance.
pub(crate) fn source_words(
    source: &Source,
    rhs: Option<&Path>,
    coords: Option<&Path>,
    rtol: Option<f64>,
) -> Vec<OsString> {
    let mut words: Vec<OsString> = source.file.iter().map(|file| file.as_os_str().to_owned()).collect();
    let options = [
        ("--problem", source.problem.as_ref().map(OsString::from)),
        ("--shuffle", source.shuffle.map(|window| window.to_string().into())),
        ("--rhs", rhs.map(|path| path.as_os_str().to_owned())),
        ("--coords", coords.map(|path| path.as_os_str().to_owned())),
        ("--rtol", rtol.map(|rtol| format!("{rtol:e}").into())),
    ];
    let given = options.into_iter().filter_map(|(option, value)| Some([option.into(), value?]));
    words.extend(given.flatten());
    words
}

/// The failure for coordinates that give no rigid-body modes.
pub(crate) fn no_modes(error: impl fmt::Display) -> Failure {
    Failure::new(
        format!("the coordinates define no rigid-body modes: {error}"),
        "check that not all nodes are on one line, or omit --coords",
    )
}

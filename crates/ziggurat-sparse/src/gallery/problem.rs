//! The name and size of a model problem.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use super::grid::Grid;
use crate::{MatrixError, UnknownName, words};

/// A model problem; see the table in the [module](super).
///
/// ```
/// use ziggurat_sparse::gallery::{Model, Problem};
/// let problem: Problem = "neumann3d:8".parse()?;
/// assert_eq!((problem.model(), problem.size()), (Model::Neumann3d, 8));
/// # Ok::<(), ziggurat_sparse::gallery::ProblemError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Model {
    /// 5-point Laplacian on a square.
    Poisson2d,
    /// 7-point Laplacian on a cube.
    Poisson3d,
    /// 27-point Laplacian on a cube.
    Poisson3d27,
    /// 7-point Laplacian, 100 times weaker in z.
    Anisotropic3d,
    /// 7-point diffusion whose coefficient jumps between 1 and 10⁴.
    Jump3d,
    /// Linear elasticity on a cube clamped at one face.
    Elasticity3d,
    /// 7-point convection-diffusion, upwind; nonsymmetric.
    Convection3d,
    /// 7-point Laplacian with natural boundary conditions; singular.
    Neumann3d,
    /// 27-point Laplacian times 10⁸.
    Laplace27e8,
    /// 19-point diffusion, 100 times stronger in z.
    Anisotropic3d19,
    /// 7-point diffusion with a random coefficient over eight orders of magnitude.
    Lognormal3d,
    /// Linear elasticity on a cube whose faces are all fixed.
    Solid3d,
    /// Three temperatures with coefficients over fifteen orders of magnitude.
    Radiation3t,
    /// 7-point transport without diffusion, upwind; nonsymmetric.
    Transport3d,
}

impl Model {
    /// All models, in the order of [`Problem::NAMES`].
    pub const ALL: [Model; 14] = [
        Model::Poisson2d,
        Model::Poisson3d,
        Model::Poisson3d27,
        Model::Anisotropic3d,
        Model::Jump3d,
        Model::Elasticity3d,
        Model::Convection3d,
        Model::Neumann3d,
        Model::Laplace27e8,
        Model::Anisotropic3d19,
        Model::Lognormal3d,
        Model::Solid3d,
        Model::Radiation3t,
        Model::Transport3d,
    ];

    /// The name used in `NAME:SIZE`.
    ///
    /// ```
    /// use ziggurat_sparse::gallery::Model;
    /// assert_eq!(Model::Jump3d.name(), "jump3d");
    /// ```
    pub const fn name(self) -> &'static str {
        Problem::NAMES[self as usize].0
    }

    /// The largest size. It ensures that the numbers of rows and entries fit 64 bits and that the
    /// number of rows, at most 3·10¹⁵, is exact in `f64`.
    ///
    /// ```
    /// use ziggurat_sparse::gallery::Model;
    /// assert_eq!(Model::Poisson3d.largest_size(), 100_000);
    /// ```
    pub const fn largest_size(self) -> u32 {
        match self {
            Model::Poisson2d => 10_000_000,
            _ => 100_000,
        }
    }
}

/// A model problem of a given size, written `NAME:SIZE`.
///
/// ```
/// use ziggurat_sparse::gallery::Problem;
/// let problem: Problem = "elasticity3d:20".parse()?;
/// assert_eq!(problem.to_string(), "elasticity3d:20");
/// assert_eq!((problem.global_rows(), problem.block_size()), (26460, 3));
/// assert!(problem.is_symmetric() && !problem.is_singular());
/// # Ok::<(), ziggurat_sparse::gallery::ProblemError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Problem {
    model: Model,
    size: u32,
}

impl Problem {
    /// All names with a one-line description each.
    ///
    /// ```
    /// use ziggurat_sparse::gallery::Problem;
    /// for (name, description) in Problem::NAMES {
    ///     println!("{name:>16}:N  {description}");
    /// }
    /// ```
    pub const NAMES: [(&'static str, &'static str); 14] = [
        ("poisson2d", "Laplacian on a square, 5 points, N^2 unknowns"),
        ("poisson3d", "Laplacian on a cube, 7 points, N^3 unknowns"),
        ("poisson3d27", "Laplacian on a cube, 27 points, N^3 unknowns"),
        ("anisotropic3d", "Laplacian on a cube, 7 points, 0.01 in z, N^3 unknowns"),
        ("jump3d", "diffusion on a cube, 7 points, coefficient 1 or 10^4 in cubes of 10 cells, N^3 unknowns"),
        ("elasticity3d", "elasticity on a clamped cube, Q1 hexahedra, nu = 0.3, 3 N (N+1)^2 unknowns"),
        ("convection3d", "convection-diffusion on a cube, 7 points, upwind, nonsymmetric, N^3 unknowns"),
        ("neumann3d", "Laplacian on a cube, 7 points, natural boundary, singular, N^3 unknowns"),
        ("laplace27e8", "poisson3d27 times 10^8, N^3 unknowns"),
        ("anisotropic3d19", "diffusion on a cube, 19 points, 100 in z, N^3 unknowns"),
        ("lognormal3d", "diffusion on a cube, 7 points, random coefficient 10^-4 to 10^4, N^3 unknowns"),
        ("solid3d", "elasticity on a cube with all faces fixed, Q1 hexahedra, nu = 0.25, 3 N^3 unknowns"),
        ("radiation3t", "three temperatures on a cube, 7 points, coefficients 10^-8 to 10^7, 3 N^3 unknowns"),
        (
            "transport3d",
            "transport on a cube in a turning flow, 7 points, upwind, nonsymmetric, N^3 unknowns",
        ),
    ];

    /// Creates a problem from a model and a size.
    ///
    /// ```
    /// use ziggurat_sparse::gallery::{Model, Problem};
    /// assert_eq!(Problem::new(Model::Jump3d, 30), "jump3d:30".parse());
    /// ```
    pub fn new(model: Model, size: u32) -> Result<Problem, ProblemError> {
        if (1..=model.largest_size()).contains(&size) {
            Ok(Problem { model, size })
        } else {
            Err(Problem::wrong_size(model, format!("{}:{size}", model.name())))
        }
    }

    fn wrong_size(model: Model, found: String) -> ProblemError {
        ProblemError::Size { name: model.name(), found, largest: model.largest_size() }
    }

    /// The model.
    pub fn model(&self) -> Model {
        self.model
    }

    /// The size: N in the table of the [module](super).
    pub fn size(&self) -> u32 {
        self.size
    }

    pub(super) fn grid(&self) -> Grid {
        let n = u64::from(self.size);
        match self.model {
            Model::Poisson2d => Grid { extents: [n, n, 1] },
            Model::Elasticity3d => Grid { extents: [n, n + 1, n + 1] },
            _ => Grid::cube(n),
        }
    }

    /// Number of rows of the whole matrix, which may exceed what one process can hold.
    ///
    /// ```
    /// use ziggurat_sparse::gallery::Problem;
    /// assert_eq!("poisson3d:2000".parse::<Problem>()?.global_rows(), 8_000_000_000);
    /// # Ok::<(), ziggurat_sparse::gallery::ProblemError>(())
    /// ```
    pub fn global_rows(&self) -> u64 {
        self.grid().nodes() * self.block_size() as u64
    }

    /// Number of entries of the whole matrix.
    ///
    /// ```
    /// use ziggurat_sparse::gallery::Problem;
    /// let problem: Problem = "poisson3d:160".parse()?;
    /// assert_eq!(problem.global_nnz(), 28_518_400);
    /// # Ok::<(), ziggurat_sparse::gallery::ProblemError>(())
    /// ```
    pub fn global_nnz(&self) -> u64 {
        match self.model {
            Model::Elasticity3d | Model::Solid3d => 9 * self.grid().box_total(),
            Model::Poisson3d27 | Model::Laplace27e8 => self.grid().box_total(),
            Model::Anisotropic3d19 => self.grid().star_and_edges_total(),
            Model::Radiation3t => 3 * self.grid().star_total() + 4 * self.grid().nodes(),
            _ => self.grid().star_total(),
        }
    }

    /// Number of unknowns per node. They are numbered consecutively.
    pub fn block_size(&self) -> usize {
        match self.model {
            Model::Elasticity3d | Model::Solid3d | Model::Radiation3t => 3,
            _ => 1,
        }
    }

    /// Whether the unknowns of a node are displacements, so that rigid bodies move without force.
    ///
    /// ```
    /// use ziggurat_sparse::gallery::Problem;
    /// assert!("solid3d:4".parse::<Problem>()?.has_displacements());
    /// assert!(!"radiation3t:4".parse::<Problem>()?.has_displacements()); // temperatures
    /// # Ok::<(), ziggurat_sparse::gallery::ProblemError>(())
    /// ```
    pub fn has_displacements(&self) -> bool {
        matches!(self.model, Model::Elasticity3d | Model::Solid3d)
    }

    /// Whether the matrix is (bitwise) symmetric.
    pub fn is_symmetric(&self) -> bool {
        !matches!(self.model, Model::Convection3d | Model::Transport3d)
    }

    /// Whether the matrix is singular. Its null space is then the constant vectors.
    pub fn is_singular(&self) -> bool {
        self.model == Model::Neumann3d
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("{}:{}", self.model.name(), self.size))
    }
}

impl FromStr for Problem {
    type Err = ProblemError;

    fn from_str(text: &str) -> Result<Problem, ProblemError> {
        let (name, size) = text.split_once(':').unwrap_or((text, ""));
        let model = Model::ALL
            .into_iter()
            .find(|model| model.name() == name)
            .ok_or_else(|| UnknownName::new("problem", name, Problem::NAMES.iter().map(|&(name, _)| name)))?;
        let size = size.parse().map_err(|_| Problem::wrong_size(model, text.to_owned()))?;
        Problem::new(model, size).map_err(|_| Problem::wrong_size(model, text.to_owned()))
    }
}

/// Why a problem name is invalid, or the problem cannot be generated.
///
/// ```
/// use ziggurat_sparse::gallery::Problem;
/// assert_eq!(
///     "poisson3d:0".parse::<Problem>().unwrap_err().to_string(),
///     "`poisson3d:0`: expected NAME:SIZE, such as `poisson3d:50`; for poisson3d, SIZE is a whole number \
///      from 1 to 100000"
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum ProblemError {
    /// No problem has this name.
    #[error(transparent)]
    UnknownName(#[from] UnknownName),
    /// The size is missing, not a number, zero or too large.
    #[error(
        "`{found}`: expected NAME:SIZE, such as `{name}:50`; for {name}, SIZE is a whole number from 1 to \
         {largest}"
    )]
    Size {
        /// The problem's name.
        name: &'static str,
        /// The text that was given.
        found: String,
        /// The largest size.
        largest: u32,
    },
    /// More rows than one process can index.
    #[error("{problem}: {source}")]
    TooLarge {
        /// The problem.
        problem: Problem,
        /// The number of rows, as an error.
        source: MatrixError,
    },
    /// The memory for the problem cannot be allocated.
    #[error(
        "{problem} needs {}, which cannot be allocated; use a smaller SIZE or distribute the matrix",
        words::bytes(*bytes)
    )]
    Memory {
        /// The problem.
        problem: Problem,
        /// Bytes needed.
        bytes: u64,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_models_stand_in_the_same_order() {
        for (index, model) in Model::ALL.into_iter().enumerate() {
            assert_eq!(model as usize, index);
            let spelled = format!("{model:?}").to_lowercase();
            assert_eq!(model.name(), spelled);
            let text = format!("{spelled}:7");
            assert_eq!(text.parse::<Problem>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_nearest() {
        for text in ["poison3d:20", "poison3d"] {
            let ProblemError::UnknownName(error) = text.parse::<Problem>().unwrap_err() else {
                panic!("{text}")
            };
            assert_eq!((error.found.as_str(), error.nearest()), ("poison3d", Some("poisson3d")));
        }
        assert!(matches!("".parse::<Problem>(), Err(ProblemError::UnknownName(_))));
        assert!(matches!(":5".parse::<Problem>(), Err(ProblemError::UnknownName(_))));
    }

    #[test]
    fn a_wrong_size_is_answered_with_the_form_and_the_limits() {
        for size in
            ["", ":", ":0", ":abc", ":-3", ":1.5", ":5:5", ": 5", ":100001", ":99999999999999999999999"]
        {
            let text = format!("jump3d{size}");
            let error = text.parse::<Problem>().unwrap_err();
            let expected = ProblemError::Size { name: "jump3d", found: text.clone(), largest: 100_000 };
            assert_eq!(error, expected);
            let message = error.to_string();
            assert!(message.contains(&text) && message.contains("NAME:SIZE"), "{message}");
            assert!(message.contains("1 to 100000"), "{message}");
        }
        assert!("jump3d:100000".parse::<Problem>().is_ok());
        assert!("poisson2d:10000000".parse::<Problem>().is_ok());
        assert!(Problem::new(Model::Poisson2d, 10_000_001).is_err());
    }
}

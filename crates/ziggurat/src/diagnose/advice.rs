//! Advice derived from a diagnosis: what prevents a solve, what the user should specify, and what
//! the solver handles automatically.

use std::fmt;

use serde::Serialize;
use ziggurat_sparse::words::{agreeing, counted};

use super::{Diagnosis, DiagonalSign};

/// The severity of a piece of advice.
///
/// ```
/// use ziggurat::diagnose::AdviceLevel;
/// assert!(AdviceLevel::Problem > AdviceLevel::Warning);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum AdviceLevel {
    /// Information; the solver handles it automatically.
    Note,
    /// The solver may need additional input, or may be slow.
    Warning,
    /// The system cannot be solved as it is.
    Problem,
}

/// A piece of advice about a matrix. Its code is stable, its text may change.
///
/// ```
/// use ziggurat_sparse::Csr;
/// let a = Csr::try_new(2, 2, vec![0, 1, 1], vec![0], vec![1.0])?;
/// let advice = ziggurat::diagnose(a.view()).advice();
/// assert_eq!(advice[0].code, "empty-rows");
/// assert!(advice[0].text.starts_with("1 row has no nonzero entry (row 1, counted from 0)"));
/// # Ok::<(), ziggurat_sparse::MatrixError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Advice {
    /// A stable identifier for programs.
    pub code: &'static str,
    /// The severity.
    pub level: AdviceLevel,
    /// The text.
    pub text: String,
}

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

/// Collects advice.
struct Sentences(Vec<Advice>);

impl Sentences {
    fn say(&mut self, level: AdviceLevel, code: &'static str, text: impl Into<String>) {
        self.0.push(Advice { code, level, text: text.into() });
    }

    fn note(&mut self, code: &'static str, text: impl Into<String>) {
        self.say(AdviceLevel::Note, code, text);
    }

    fn warning(&mut self, code: &'static str, text: impl Into<String>) {
        self.say(AdviceLevel::Warning, code, text);
    }

    fn problem(&mut self, code: &'static str, text: impl Into<String>) {
        self.say(AdviceLevel::Problem, code, text);
    }
}

/// Formats "1 row has …" or "7 rows have …", with the position of the first one.
fn rows_have(count: usize, first: Option<usize>) -> impl Fn(&str) -> String {
    move |what| {
        let rows = format!("{} {}", counted(count, "row"), agreeing(&count, "has", "have"));
        let place = match first {
            Some(row) if count == 1 => format!(" (row {row}, counted from 0)"),
            Some(row) => format!(" (the first is row {row}, counted from 0)"),
            None => String::new(),
        };
        format!("{rows} {what}{place}")
    }
}

/// Formats a fraction in percent. Values close to 0 and 100 % are reported as bounds.
fn percent(fraction: f64) -> String {
    match fraction * 100.0 {
        p if p > 0.0 && p < 0.1 => "less than 0.1 %".to_owned(),
        p if p < 100.0 && p > 99.9 => "more than 99.9 %".to_owned(),
        p if p < 10.0 => format!("{p:.1} %"),
        p => format!("{p:.0} %"),
    }
}

impl Diagnosis {
    /// Advice on solving with this matrix, most severe first.
    ///
    /// ```
    /// use ziggurat_sparse::gallery::Problem;
    /// let a = "neumann3d:5".parse::<Problem>()?.matrix()?;
    /// let advice = ziggurat::diagnose(a.view()).advice();
    /// assert!(advice.iter().any(|advice| advice.code == "constant-kernel"));
    /// # Ok::<(), ziggurat_sparse::gallery::ProblemError>(())
    /// ```
    pub fn advice(&self) -> Vec<Advice> {
        let mut say = Sentences(Vec::new());
        self.advise_on_entries(&mut say);
        if self.symmetry.is_some() && self.rows > 0 {
            self.advise_on_symmetry(&mut say);
            self.advise_on_diagonal(&mut say);
            self.advise_on_kernel(&mut say);
            self.advise_on_couplings(&mut say);
        }
        self.advise_on_storage(&mut say);
        let mut advice = say.0;
        // A stable sort, which keeps the order above within each level.
        advice.sort_by_key(|advice| std::cmp::Reverse(advice.level));
        advice
    }

    fn advise_on_entries(&self, say: &mut Sentences) {
        let entries = &self.entries;
        if self.rows != self.cols {
            let (rows, cols) = (self.rows, self.cols);
            say.problem(
                "not-square",
                format!("the matrix is {rows} x {cols}; a linear system needs a square matrix"),
            );
        } else if self.rows == 0 {
            say.problem("no-rows", "the matrix has no rows");
        }
        if entries.not_finite > 0 {
            let count = entries.not_finite;
            let entries_are = format!("{} {}", counted(count, "entry"), agreeing(&count, "is", "are"));
            let row = entries.first_not_finite_row.unwrap_or(0);
            say.problem(
                "not-finite",
                format!("{entries_are} infinite or NaN, the first in row {row} (counted from 0): check the assembly"),
            );
        }
        if entries.empty_rows > 0 {
            let have = rows_have(entries.empty_rows, entries.first_empty_row);
            say.warning(
                "empty-rows",
                have("no nonzero entry")
                    + ": such an equation reads 0 = b, so the right-hand side must be zero there, or be projected \
                       (project_rhs); the solution keeps the initial guess there",
            );
        }
    }

    fn advise_on_symmetry(&self, say: &mut Sentences) {
        let Some(symmetry) = &self.symmetry else { return };
        if self.symmetric {
            if self.diagonal.sign == DiagonalSign::Positive {
                say.note(
                    "cg",
                    "symmetric with a positive diagonal: conjugate gradients (cg) is the best choice",
                );
            }
        } else if symmetry.but_for_dirichlet {
            // Eliminating the columns into the right-hand side would make the matrix symmetric, but
            // it does not save iterations on the matrices tried.
            say.note(
                "dirichlet-columns",
                format!(
                    "symmetric except for the columns of {} boundary rows: a method for nonsymmetric matrices \
                     (gmres, bicgstab) is used",
                    self.special_rows.dirichlet
                ),
            );
        } else if symmetry.largest_difference < 1e-4 {
            say.warning(
                "nearly-symmetric",
                format!(
                    "nearly symmetric: relative differences of up to {:.0e} exceed rounding; if the matrix should be \
                     symmetric, use (A + Aᵀ)/2, otherwise a method for nonsymmetric matrices (gmres, bicgstab)",
                    symmetry.largest_difference
                ),
            );
        } else {
            say.note(
                "nonsymmetric",
                format!(
                    "not symmetric (the norm of the skew part is {} of the total): use a method for nonsymmetric \
                     matrices (gmres, bicgstab)",
                    percent(symmetry.skew)
                ),
            );
        }
    }

    fn advise_on_diagonal(&self, say: &mut Sentences) {
        let diagonal = &self.diagonal;
        let zeros = diagonal.zero.saturating_sub(self.entries.empty_rows);
        let have = rows_have(diagonal.zero, diagonal.first_zero_row);
        match diagonal.sign {
            DiagonalSign::Positive => {}
            DiagonalSign::Negative if self.symmetric => say.note(
                "negative-diagonal",
                "every diagonal entry is negative and −A looks positive definite: −A is solved, with the result \
                 for A",
            ),
            // A method for nonsymmetric matrices takes the same iterations for −A.
            DiagonalSign::Negative => say.note("negative-diagonal", "every diagonal entry is negative"),
            DiagonalSign::Mixed if self.symmetric => say.warning(
                "indefinite",
                format!(
                    "symmetric with {} positive and {} negative diagonal entries: the matrix is indefinite, so \
                     conjugate gradients (cg) may break down and multigrid may fail; sparse factors (method \
                     direct) do not mind",
                    diagonal.positive, diagonal.negative
                ),
            ),
            DiagonalSign::Mixed => say.warning(
                "mixed-diagonal",
                format!(
                    "the diagonal has {} positive and {} negative entries: multigrid expects a uniform sign and may \
                     fail; sparse factors (method direct) do not need one",
                    diagonal.positive, diagonal.negative
                ),
            ),
            DiagonalSign::SomeZero if self.looks_like_saddle_point => say.warning(
                "saddle-point",
                have("a zero diagonal")
                    + " and the pattern is symmetric: this looks like a saddle-point system (incompressible flow, \
                       constraints). Multigrid suits its blocks, not the whole matrix; solve it by sparse factors \
                       (method direct)"
                    + if self.symmetric { " or, if these do not fit into memory, by minres" } else { "" },
            ),
            DiagonalSign::SomeZero if zeros > 0 => say.warning(
                "zero-diagonal",
                have("a zero diagonal")
                    + ": smoothers divide by the diagonal, so multigrid cannot start; use sparse factors (method direct)",
            ),
            DiagonalSign::SomeZero => {} // empty rows, which are reported separately
        }
    }

    fn advise_on_kernel(&self, say: &mut Sentences) {
        let (Some(components), Some(floating)) = (self.graph.components, self.graph.floating_components)
        else {
            return;
        };
        if floating > 0 && floating == components {
            let parts =
                if floating > 1 { format!(" on each of its {floating} components") } else { String::new() };
            say.warning(
                "constant-kernel",
                format!(
                    "all row sums are zero: the matrix is singular, and its null space contains the constants{parts}; the \
                     right-hand side must sum to zero there, or be projected (project_rhs)"
                ),
            );
            if self.graph.block_size > 1 {
                say.warning(
                    "rigid-kernel",
                    "with several unknowns per node, the null space may contain more than the constants (rotations of a \
                     free body): provide the coordinates of the nodes",
                );
            }
        } else if floating > 0 {
            say.warning(
                "floating-parts",
                format!(
                    "{floating} of {components} connected components have zero row sums and are singular: the right-hand side \
                     must sum to zero in each, or fix a value there"
                ),
            );
        }
        let joined = components - self.graph.isolated_rows.unwrap_or(0);
        if joined > 1 {
            say.note(
                "parts",
                format!(
                    "the matrix has {joined} connected components of more than one row, the largest with {} rows",
                    self.graph.largest_component.unwrap_or(0)
                ),
            );
        }
    }

    fn advise_on_couplings(&self, say: &mut Sentences) {
        if self.graph.block_size > 1 {
            let blocks =
                format!("blocks of {0} x {0}, most likely {0} unknowns per node", self.graph.block_size);
            let elastic =
                "for elasticity, provide the coordinates of the nodes, which define the rigid-body modes";
            say.note("blocks", if self.symmetric { format!("{blocks}: {elastic}") } else { blocks });
        } else if self.graph.fields > 1 && self.symmetric {
            let fields = self.graph.fields;
            say.note(
                "fields",
                format!(
                    "unknowns are numbered field by field, {fields} per node, and are coarsened by nodes; node by node, \
                     levels would be smaller in memory. For elasticity, provide the coordinates of the nodes"
                ),
            );
        } else if self.off_diagonal.opposing_fraction < 0.75 {
            say.note(
                "positive-couplings",
                format!(
                    "{} of the off-diagonal entries have the sign of the diagonal: far from an M-matrix, so convergence \
                     may be slow",
                    percent(1.0 - self.off_diagonal.opposing_fraction)
                ),
            );
        }
        let (longest, average) = (self.entries.per_row_max, self.entries.per_row_average);
        if longest > 1000 && longest as f64 > 50.0 * average {
            say.warning(
                "dense-row",
                format!(
                    "row {} has {longest} entries, {:.0} times the average: dense rows cause fill-in on coarse levels",
                    self.entries.longest_row.unwrap_or(0),
                    longest as f64 / average
                ),
            );
        }
    }

    fn advise_on_storage(&self, say: &mut Sentences) {
        let zeros = self.entries.explicit_zeros as f64 / self.nnz.max(1) as f64;
        if zeros > 0.05 {
            say.note(
                "explicit-zeros",
                format!(
                    "{} of the stored entries are zero: removing them saves memory and time",
                    percent(zeros)
                ),
            );
        }
    }
}

//! What follows from a diagnosis, in plain sentences: what stands in the way of solving, what to tell the solver, and
//! what it will do by itself.

use std::fmt;

use serde::Serialize;

use super::{Diagnosis, DiagonalSign};

/// How much a sentence matters.
///
/// ```
/// use ziggurat::diagnose::AdviceLevel;
/// assert!(AdviceLevel::Problem > AdviceLevel::Warning);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum AdviceLevel {
    /// Good to know: the solver sees to it.
    Note,
    /// The solver may need help, or be slow.
    Warning,
    /// The system cannot be solved as it is.
    Problem,
}

/// A plain sentence about a matrix, with a code that stays the same when the words change.
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
    /// Names the sentence for programs.
    pub code: &'static str,
    /// How much it matters.
    pub level: AdviceLevel,
    /// The sentence.
    pub text: String,
}

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

/// Collects sentences.
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

/// "1 row has" or "7 rows have", and where the first of them is.
fn rows_have(count: usize, first: Option<usize>) -> impl Fn(&str) -> String {
    move |what| {
        let rows = if count == 1 { "1 row has".to_owned() } else { format!("{count} rows have") };
        let place = match first {
            Some(row) if count == 1 => format!(" (row {row}, counted from 0)"),
            Some(row) => format!(" (the first is row {row}, counted from 0)"),
            None => String::new(),
        };
        format!("{rows} {what}{place}")
    }
}

/// A part of a whole, in percent, such that neither "none" nor "all" is said of what is merely near it.
fn percent(fraction: f64) -> String {
    match fraction * 100.0 {
        p if p > 0.0 && p < 0.1 => "less than 0.1 %".to_owned(),
        p if p < 100.0 && p > 99.9 => "more than 99.9 %".to_owned(),
        p if p < 10.0 => format!("{p:.1} %"),
        p => format!("{p:.0} %"),
    }
}

impl Diagnosis {
    /// What follows for solving with this matrix: the gravest sentences first.
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
        advice.sort_by_key(|advice| std::cmp::Reverse(advice.level)); // stable: the order above holds within a level
        advice
    }

    fn advise_on_entries(&self, say: &mut Sentences) {
        let entries = &self.entries;
        if self.rows != self.cols {
            let (rows, cols) = (self.rows, self.cols);
            say.problem(
                "not-square",
                format!("the matrix is {rows} x {cols}: a linear system has as many equations as unknowns"),
            );
        } else if self.rows == 0 {
            say.problem("no-rows", "the matrix has no rows: there is nothing to solve");
        }
        if entries.not_finite > 0 {
            let count = entries.not_finite;
            let entries_are = if count == 1 { "1 entry is" } else { &format!("{count} entries are") };
            let row = entries.first_not_finite_row.unwrap_or(0);
            say.problem(
                "not-finite",
                format!("{entries_are} infinite or NaN, the first in row {row}, counted from 0: correct the assembly"),
            );
        }
        if entries.empty_rows > 0 {
            let have = rows_have(entries.empty_rows, entries.first_empty_row);
            say.problem(
                "empty-rows",
                have("no nonzero entry")
                    + ": the matrix is singular; leave these unknowns out, or put 1 on their diagonal",
            );
        }
    }

    fn advise_on_symmetry(&self, say: &mut Sentences) {
        let Some(symmetry) = &self.symmetry else { return };
        if self.symmetric {
            if self.diagonal.sign == DiagonalSign::Positive {
                say.note(
                    "cg",
                    "symmetric with a positive diagonal: conjugate gradients (cg) is the method of choice",
                );
            }
        } else if symmetry.but_for_dirichlet {
            say.warning(
                "dirichlet-columns",
                format!(
                    "symmetric but for the columns of {} boundary rows: moving those columns to the right-hand side would \
                     make the matrix symmetric, and conjugate gradients (cg) possible",
                    self.special_rows.dirichlet
                ),
            );
        } else if symmetry.largest_difference < 1e-4 {
            say.warning(
                "nearly-symmetric",
                format!(
                    "symmetric to {:.0e} only, which is more than rounding: if it should be symmetric, use (A + Aᵀ)/2; as \
                     it is, it takes a method for nonsymmetric matrices (gmres, bicgstab)",
                    symmetry.largest_difference
                ),
            );
        } else {
            say.note(
                "nonsymmetric",
                format!(
                    "not symmetric (the skew part is {} of the whole): it takes a method for nonsymmetric matrices \
                     (gmres, bicgstab)",
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
            DiagonalSign::Negative => {
                let why = if self.symmetric { "−A looks positive definite" } else { "multigrid expects a positive one" };
                let text = format!("every diagonal entry is negative: {why}, so solve −A x = −b instead");
                say.warning("negative-diagonal", text);
            }
            DiagonalSign::Mixed if self.symmetric => say.warning(
                "indefinite",
                format!(
                    "symmetric with {} positive and {} negative diagonal entries: the matrix is indefinite, conjugate \
                     gradients (cg) may break down; use gmres",
                    diagonal.positive, diagonal.negative
                ),
            ),
            DiagonalSign::Mixed => say.warning(
                "mixed-diagonal",
                format!(
                    "the diagonal has {} positive and {} negative entries: multigrid expects one sign; negating the \
                     equations of the minority may help",
                    diagonal.positive, diagonal.negative
                ),
            ),
            DiagonalSign::SomeZero if self.looks_like_saddle_point => say.warning(
                "saddle-point",
                have("a zero diagonal")
                    + " and the structure is symmetric: this looks like a saddle-point system (incompressible flow, \
                       constraints); multigrid fits its blocks, not the whole",
            ),
            DiagonalSign::SomeZero if zeros > 0 => say.warning(
                "zero-diagonal",
                have("a zero diagonal")
                    + ": smoothers divide by the diagonal; reorder the equations so that it has none",
            ),
            DiagonalSign::SomeZero => {} // empty rows, which have their own sentence
        }
    }

    fn advise_on_kernel(&self, say: &mut Sentences) {
        let (Some(components), Some(floating)) = (self.graph.components, self.graph.floating_components)
        else {
            return;
        };
        if floating > 0 && floating == components {
            let parts = if floating > 1 { format!(" on each of {floating} parts") } else { String::new() };
            say.warning(
                "constant-kernel",
                format!(
                    "all row sums are zero: the matrix is singular with the constants{parts} as kernel; the right-hand side \
                     will be projected"
                ),
            );
            if self.graph.block_size > 1 {
                say.warning(
                    "rigid-kernel",
                    "with several unknowns per node the kernel may hold more than constants (rotations of a free body): \
                     give the coordinates of the nodes",
                );
            }
        } else if floating > 0 {
            say.warning(
                "floating-parts",
                format!(
                    "{floating} of {components} independent parts have row sums of zero and are singular by themselves: fix \
                     a value in each, or leave them out"
                ),
            );
        }
        let joined = components - self.graph.isolated_rows.unwrap_or(0);
        if joined > 1 {
            say.note(
                "parts",
                format!(
                    "the matrix falls into {joined} independent parts, the largest of {} rows",
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
                "for elasticity give the coordinates of the nodes, from which the rigid-body modes are made";
            say.note("blocks", if self.symmetric { format!("{blocks}: {elastic}") } else { blocks });
        } else if self.off_diagonal.opposing_fraction < 0.75 {
            say.note(
                "positive-couplings",
                format!(
                    "{} of the entries off the diagonal have the sign of the diagonal: far from an M-matrix, so that \
                     convergence may be slow",
                    percent(1.0 - self.off_diagonal.opposing_fraction)
                ),
            );
        }
        let (longest, average) = (self.entries.per_row_max, self.entries.per_row_average);
        if longest > 1000 && longest as f64 > 50.0 * average {
            say.warning(
                "dense-row",
                format!(
                    "row {} has {longest} entries, {:.0} times the average: dense rows fill up the coarse levels",
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
                    "{} of the stored entries are zero: leaving them out saves memory and time",
                    percent(zeros)
                ),
            );
        }
    }
}

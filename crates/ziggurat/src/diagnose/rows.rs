//! Properties of single rows and counts over all rows: one pass over the matrix.
//!
//! Only counts, extrema and first positions are collected. They do not depend on the order of the
//! reduction, so the result is the same for any number of threads.

use ziggurat_sparse::{CsrRef, parallel};

use super::ROUNDING;

/// Number of rows per task.
const PIECE: usize = 1024;

/// The properties of a row that later passes need.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct RowFacts {
    /// The largest finite |a_ij|, to which differences in this row are relative.
    pub(super) scale: f64,
    /// The row has nonzero entries, and they sum to zero, up to rounding.
    pub(super) zero_sum: bool,
    /// The only nonzero entry is on the diagonal.
    pub(super) dirichlet: bool,
}

/// Counts over all rows; the fields are documented in [`Diagnosis`](super::Diagnosis).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Tally {
    pub(super) shortest: usize,
    pub(super) longest: usize,
    pub(super) longest_row: Option<usize>,
    pub(super) empty_rows: usize,
    pub(super) first_empty_row: Option<usize>,
    pub(super) explicit_zeros: usize,
    pub(super) not_finite: usize,
    pub(super) first_not_finite_row: Option<usize>,
    pub(super) diagonal_stored: usize,
    pub(super) diagonal_positive: usize,
    pub(super) diagonal_negative: usize,
    pub(super) first_zero_diagonal: Option<usize>,
    pub(super) diagonal_smallest: f64,
    pub(super) diagonal_largest: f64,
    pub(super) off_negative: usize,
    pub(super) off_positive: usize,
    pub(super) off_opposing: usize,
    pub(super) zero_sum: usize,
    pub(super) dominant: usize,
    pub(super) dirichlet: usize,
    pub(super) smallest: f64,
    pub(super) largest: f64,
}

/// The smaller of two optional positions.
fn earlier(one: Option<usize>, other: Option<usize>) -> Option<usize> {
    one.into_iter().chain(other).min()
}

impl Tally {
    /// The tally of an empty set of rows.
    const NONE: Tally = Tally {
        shortest: usize::MAX,
        longest: 0,
        longest_row: None,
        empty_rows: 0,
        first_empty_row: None,
        explicit_zeros: 0,
        not_finite: 0,
        first_not_finite_row: None,
        diagonal_stored: 0,
        diagonal_positive: 0,
        diagonal_negative: 0,
        first_zero_diagonal: None,
        diagonal_smallest: f64::INFINITY,
        diagonal_largest: 0.0,
        off_negative: 0,
        off_positive: 0,
        off_opposing: 0,
        zero_sum: 0,
        dominant: 0,
        dirichlet: 0,
        smallest: f64::INFINITY,
        largest: 0.0,
    };

    fn join(self, other: Tally) -> Tally {
        Tally {
            shortest: self.shortest.min(other.shortest),
            longest: self.longest.max(other.longest),
            longest_row: match self.longest.cmp(&other.longest) {
                std::cmp::Ordering::Greater => self.longest_row,
                std::cmp::Ordering::Equal => earlier(self.longest_row, other.longest_row),
                std::cmp::Ordering::Less => other.longest_row,
            },
            empty_rows: self.empty_rows + other.empty_rows,
            first_empty_row: earlier(self.first_empty_row, other.first_empty_row),
            explicit_zeros: self.explicit_zeros + other.explicit_zeros,
            not_finite: self.not_finite + other.not_finite,
            first_not_finite_row: earlier(self.first_not_finite_row, other.first_not_finite_row),
            diagonal_stored: self.diagonal_stored + other.diagonal_stored,
            diagonal_positive: self.diagonal_positive + other.diagonal_positive,
            diagonal_negative: self.diagonal_negative + other.diagonal_negative,
            first_zero_diagonal: earlier(self.first_zero_diagonal, other.first_zero_diagonal),
            diagonal_smallest: self.diagonal_smallest.min(other.diagonal_smallest),
            diagonal_largest: self.diagonal_largest.max(other.diagonal_largest),
            off_negative: self.off_negative + other.off_negative,
            off_positive: self.off_positive + other.off_positive,
            off_opposing: self.off_opposing + other.off_opposing,
            zero_sum: self.zero_sum + other.zero_sum,
            dominant: self.dominant + other.dominant,
            dirichlet: self.dirichlet + other.dirichlet,
            smallest: self.smallest.min(other.smallest),
            largest: self.largest.max(other.largest),
        }
    }

    /// Adds one row to the counts and returns its properties.
    fn count(&mut self, a: CsrRef<'_, f64>, row: usize) -> RowFacts {
        let (columns, values) = a.row(row);
        let line = match Line::read(values) {
            line if line.not_finite == 0 => line,
            line => {
                self.not_finite += line.not_finite;
                self.first_not_finite_row = earlier(self.first_not_finite_row, Some(row));
                let finite: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
                Line::read(&finite)
            }
        };
        let stored = columns.binary_search(&(row as u32)).ok().map(|at| values[at]);
        let diagonal = stored.filter(|value| value.is_finite()).unwrap_or(0.0);
        let off_negative = line.negative - usize::from(diagonal < 0.0);
        let off_positive = line.positive - usize::from(diagonal > 0.0);
        let off_size = line.size - diagonal.abs();
        let nonzero = line.negative + line.positive > 0;

        self.explicit_zeros += line.zeros;
        self.smallest = self.smallest.min(line.smallest);
        self.largest = self.largest.max(line.largest);
        self.off_negative += off_negative;
        self.off_positive += off_positive;
        if diagonal > 0.0 {
            self.off_opposing += off_negative;
        } else if diagonal < 0.0 {
            self.off_opposing += off_positive;
        }
        self.diagonal_stored += usize::from(stored.is_some());
        self.count_diagonal(a, row, diagonal);
        if !nonzero {
            self.empty_rows += 1;
            self.first_empty_row = earlier(self.first_empty_row, Some(row));
        }
        if columns.len() > self.longest || self.longest_row.is_none() {
            (self.longest, self.longest_row) = (columns.len(), Some(row));
        }
        self.shortest = self.shortest.min(columns.len());
        let facts = RowFacts {
            scale: line.largest,
            zero_sum: sums_to_zero(line.sum, line.size, values.len()),
            dirichlet: diagonal != 0.0 && off_negative + off_positive == 0,
        };
        self.zero_sum += usize::from(facts.zero_sum);
        self.dirichlet += usize::from(facts.dirichlet);
        self.dominant += usize::from(diagonal != 0.0 && diagonal.abs() >= (1.0 - ROUNDING) * off_size);
        facts
    }

    fn count_diagonal(&mut self, a: CsrRef<'_, f64>, row: usize, value: f64) {
        if value == 0.0 {
            if row < a.cols() {
                self.first_zero_diagonal = earlier(self.first_zero_diagonal, Some(row));
            }
            return;
        }
        self.diagonal_positive += usize::from(value > 0.0);
        self.diagonal_negative += usize::from(value < 0.0);
        self.diagonal_smallest = self.diagonal_smallest.min(value.abs());
        self.diagonal_largest = self.diagonal_largest.max(value.abs());
    }
}

/// Whether the Σ a_ij of `entries` entries is zero up to rounding, given Σ |a_ij|. False if the sum
/// overflows or all entries are zero.
///
/// Allowed are the rounding of the diagonal, to which all other entries are added when a matrix is
/// assembled, and the rounding of this sum: a few units in the last place. A larger sum makes the
/// matrix regular, however small it is compared with the entries.
pub(super) fn sums_to_zero(sum: f64, size: f64, entries: usize) -> bool {
    let units = 4.0 + (entries as f64).sqrt();
    size > 0.0 && size.is_finite() && sum.abs() <= units * (0.5 * f64::EPSILON) * size
}

/// Statistics of the values of a row, independent of their columns. Computed without branches,
/// which would be mispredicted in short rows.
struct Line {
    not_finite: usize,
    zeros: usize,
    negative: usize,
    positive: usize,
    /// Σ a_ij and Σ |a_ij|.
    sum: f64,
    size: f64,
    smallest: f64,
    largest: f64,
}

impl Line {
    #[inline]
    fn read(values: &[f64]) -> Line {
        let mut line = Line {
            not_finite: 0,
            zeros: 0,
            negative: 0,
            positive: 0,
            sum: 0.0,
            size: 0.0,
            smallest: f64::INFINITY,
            largest: 0.0,
        };
        for &value in values {
            let size = value.abs();
            line.not_finite += usize::from(!value.is_finite());
            line.zeros += usize::from(value == 0.0);
            line.negative += usize::from(value < 0.0);
            line.positive += usize::from(value > 0.0);
            line.sum += value;
            line.size += size;
            // Not `f64::min` and `max`: their handling of NaN doubles the cost, and a row with NaN
            // is read again without it.
            line.smallest = if size > 0.0 && size < line.smallest { size } else { line.smallest };
            line.largest = if size > line.largest { size } else { line.largest };
        }
        line
    }
}

/// Counts all rows in parallel, and returns the properties of each row.
pub(super) fn tally(a: CsrRef<'_, f64>) -> (Tally, Vec<RowFacts>) {
    let mut facts = vec![RowFacts::default(); a.rows()];
    let mut tallies = vec![Tally::NONE; a.rows().div_ceil(PIECE)];
    parallel::over_two(&mut facts, &mut tallies, [PIECE, 1], &|piece, facts, tally| {
        for (row, facts) in (piece * PIECE..).zip(facts) {
            *facts = tally[0].count(a, row);
        }
    });
    (tallies.into_iter().fold(Tally::NONE, Tally::join), facts)
}

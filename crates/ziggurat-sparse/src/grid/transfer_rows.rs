//! Rows of an interpolation or restriction between grids, with columns.
//!
//! Other formats, saved hierarchies and processes that share a grid need them. Rows of the
//! interpolation are made line by line: all points of a line interpolate from the same coarse
//! lines, at most four.

use std::ops::Range;

use super::Grid;
use super::rows::{RowsOfTask, csr_of_rows};
use super::transfer::{AxisWeights, GridTransfer, TransferDirection};
use crate::Csr;
use crate::matrix::format::RowEntries;
use crate::number::Store;

impl<S: Store> GridTransfer<S> {
    /// Calls `each` with the column and the value of every entry of a row of P, without scaling.
    fn prolongation_row(&self, point: usize, each: &mut impl FnMut(usize, f64)) {
        fn follow<S: Store>(
            steps: &[AxisWeights<S>],
            at: [usize; 3],
            coarse: &Grid,
            value: f64,
            each: &mut impl FnMut(usize, f64),
        ) {
            let Some((step, rest)) = steps.split_first() else {
                let [nx, ny, _] = coarse.points();
                return each(at[0] + nx * (at[1] + ny * at[2]), value);
            };
            let along = at[step.axis];
            let moved = |to: usize| {
                let mut at = at;
                at[step.axis] = to;
                at
            };
            if along % 2 == 1 {
                return follow(rest, moved(along / 2), coarse, value, each);
            }
            let e = moved(along / 2);
            let [nx, ny, _] = step.fine.left_out(step.axis).points();
            let number = e[0] + nx * (e[1] + ny * e[2]);
            let nc = step.fine.points()[step.axis] / 2;
            if along > 0 {
                follow(rest, moved(along / 2 - 1), coarse, value * step.lower[number].wide(), each);
            }
            if along / 2 < nc {
                follow(rest, moved(along / 2), coarse, value * step.upper[number].wide(), each);
            }
        }
        let (fine, coarse) = self.grids();
        follow(self.steps(), fine.position(point), &coarse, 1.0, each);
    }

    /// Calls `each` with the columns and values of a row in increasing order of columns, scaled.
    fn row(&self, row: usize, each: &mut impl FnMut(usize, S)) {
        let (left, right, factor) = self.scales();
        let left = left.map_or(1.0, |left| f64::from(left[row]));
        let (rows, cols) = self.points();
        let (row, before) = (row % rows, row / rows * cols);
        let mut each = |column: usize, value: f64| {
            let right = right.map_or(1.0, |right| f64::from(right[before + column]));
            each(before + column, S::narrow(value * (left * right * factor)));
        };
        if let TransferDirection::Prolongation = self.direction() {
            return self.prolongation_row(row, &mut each); // lower planes, lines and points first
        }
        // The fine points around a coarse one.
        let (fine, coarse) = self.grids();
        let at = coarse.position(row);
        let along = |axis: usize| match self.step(axis) {
            Some(step) => 2 * at[axis]..(2 * at[axis] + 3).min(step.fine.points()[axis]),
            None => at[axis]..at[axis] + 1,
        };
        let [nx, ny, _] = fine.points();
        for (z, y) in along(2).flat_map(|z| along(1).map(move |y| (z, y))) {
            for point in along(0).map(|x| x + nx * (y + ny * z)) {
                self.prolongation_row(point, &mut |column, value| {
                    if column == row {
                        each(point, value);
                    }
                });
            }
        }
    }

    /// The matrix in compressed rows, without zeros.
    pub fn to_csr(&self) -> Csr<S> {
        self.rows_to_csr(0..self.rows())
    }

    /// Some rows of the matrix, without zeros.
    ///
    /// ```
    /// use ziggurat_sparse::gallery::Problem;
    /// use ziggurat_sparse::grid::{GridMatrix, recognise};
    /// let a = "poisson2d:9".parse::<Problem>()?.matrix()?;
    /// let a = GridMatrix::from_csr(a.view(), &recognise(a.view())?)?;
    /// let (p, _) = a.coarsen(&[0, 2]).ok_or("too few points")?;
    /// let (some, all) = (p.rows_to_csr(30..50), p.to_csr());
    /// assert_eq!((some.rows(), some.row(3)), (20, all.row(33)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    /// If there are no such rows.
    pub fn rows_to_csr(&self, rows: Range<usize>) -> Csr<S> {
        let first = rows.start;
        csr_of_rows(rows.len(), self.cols(), &|some, made| match self.direction() {
            TransferDirection::Prolongation => {
                let nx = self.grids().0.points()[0]; // lines follow one another in all unknowns
                let (mut row, end) = (first + some.start, first + some.end);
                while row < end {
                    let len = (nx - row % nx).min(end - row);
                    self.line_to_csr(row, len, made);
                    row += len;
                }
            }
            TransferDirection::Restriction => {
                for row in some {
                    self.row(first + row, &mut |column, value| {
                        if value != S::default() {
                            made.push(column, value);
                        }
                    });
                    made.end_row();
                }
            }
        })
    }

    /// Appends the rows of `len` points of a line from `row` on.
    fn line_to_csr(&self, row: usize, len: usize, made: &mut RowsOfTask<S>) {
        let (fine, coarse) = self.grids();
        let [first, y, z] = fine.position(row % fine.len());
        let before = row / fine.len() * coarse.len();
        let points = first..first + len;
        let mut lines = vec![Line { y, z, weights: vec![1.0; len] }];
        for step in [2, 1].into_iter().filter_map(|axis| self.step(axis)) {
            lines = lines.into_iter().flat_map(|line| line.follow(step, &points)).collect();
        }
        let (left, right, factor) = self.scales();
        let [nx, ny, _] = coarse.points();
        let along = self.step(0).map(|step| (step, step.fine.left_out(0).points()));
        for (k, x) in points.enumerate() {
            let left = left.map_or(1.0, |left| f64::from(left[row + k]));
            let mut push = |column: usize, value: f64| {
                let column = before + column;
                let right = right.map_or(1.0, |right| f64::from(right[column]));
                let value = S::narrow(value * (left * right * factor));
                if value != S::default() {
                    made.push(column, value);
                }
            };
            for line in &lines {
                let (base, weight) = (nx * (line.y + ny * line.z), line.weights[k]);
                match along {
                    None => push(base + x, weight),
                    Some(_) if x % 2 == 1 => push(base + x / 2, weight),
                    Some((step, [nl, nyl, _])) => {
                        let number = x / 2 + nl * (line.y + nyl * line.z);
                        if x > 0 {
                            push(base + x / 2 - 1, weight * step.lower[number].wide());
                        }
                        if x / 2 < nx {
                            push(base + x / 2, weight * step.upper[number].wide());
                        }
                    }
                }
            }
            made.end_row();
        }
    }
}

/// A line that the points of a line interpolate from, with the weight of each point.
struct Line {
    y: usize,
    z: usize,
    weights: Vec<f64>,
}

impl Line {
    /// The lines that this one interpolates from along y or z, in the order of their numbers.
    fn follow<S: Store>(self, step: &AxisWeights<S>, points: &Range<usize>) -> Vec<Line> {
        let at = if step.axis == 2 { self.z } else { self.y };
        let moved = |to: usize| if step.axis == 2 { (self.y, to) } else { (to, self.z) };
        if at % 2 == 1 {
            let (y, z) = moved(at / 2);
            return vec![Line { y, z, weights: self.weights }];
        }
        let [nx, ny, _] = step.fine.left_out(step.axis).points();
        let (y, z) = moved(at / 2);
        let first = nx * (y + ny * z);
        let to = |to: usize, side: &[S]| {
            let side = &side[first + points.start..first + points.end];
            let weights = self.weights.iter().zip(side).map(|(weight, side)| weight * side.wide()).collect();
            let (y, z) = moved(to);
            Line { y, z, weights }
        };
        let below = (at > 0).then(|| to(at / 2 - 1, &step.lower));
        let above = (at / 2 < step.fine.points()[step.axis] / 2).then(|| to(at / 2, &step.upper));
        below.into_iter().chain(above).collect()
    }
}

impl<S: Store> RowEntries for &GridTransfer<S> {
    type Value = S;

    /// Multiplies the weights of all paths, so it is slow.
    fn for_each_entry(self, row: usize, mut each: impl FnMut(usize, S)) {
        self.row(row, &mut each);
    }
}

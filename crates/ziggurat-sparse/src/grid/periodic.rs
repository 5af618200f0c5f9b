//! Grids with periodic axes: the points at both ends of an axis are neighbours.
//!
//! ```text
//! difference of two neighbours along an axis of n points:   0, ±1, or ±(n − 1) if it is periodic
//! ```
//!
//! They are recognised to say what the matrix is; coarsening and storage by diagonals need a box
//! with ends. The sizes of a candidate are distances of some rows from the diagonal, and then every
//! entry has to connect neighbours.
//!
//! Cost: a look at some rows; for a grid, one pass over the columns with two divisions per entry.

use std::sync::atomic::{AtomicBool, Ordering};

use super::Grid;
use super::pattern::{NotAGrid, TASK};
use crate::CsrRef;
use crate::parallel::all_pieces;

/// Distances that a stencil with neighbours in all directions has, if all axes are periodic.
const MOST_DISTANCES: usize = 125;

/// Rows whose distances are the candidates' sizes.
const SAMPLED: usize = 64;

/// An axis has at least this many points: of three, all are neighbours.
const FEWEST: usize = 4;

/// Says that the matrix is one of a grid apart from periodic axes.
pub(super) fn periodic(a: CsrRef<'_, f64>) -> Option<NotAGrid> {
    let n = a.rows();
    let mut distances = Vec::new();
    for row in (0..SAMPLED.min(n)).map(|k| (2 * k + 1) * n / (2 * SAMPLED.min(n))) {
        distances.extend(a.row(row).0.iter().map(|&column| (column as usize).abs_diff(row)));
        distances.sort_unstable();
        distances.dedup();
        if distances.len() > MOST_DISTANCES {
            return None;
        }
    }
    let lines = || distances.iter().copied().filter(|&nx| nx >= FEWEST && n.is_multiple_of(nx));
    let planes = |nx: usize| {
        let fits =
            move |plane: usize| plane.is_multiple_of(nx) && plane / nx >= FEWEST && n / plane >= FEWEST;
        lines().filter(move |&plane| fits(plane)).map(move |plane| [nx, plane / nx, n / plane])
    };
    let flat = lines().filter(|nx| n / nx >= FEWEST).map(|nx| [nx, 1, n / nx]);
    let ring = (n >= FEWEST).then_some([n, 1, 1]);
    let mut grids = ring.into_iter().chain(flat).chain(lines().flat_map(planes)).map(Grid::new);
    grids.find_map(|grid| {
        let axes = wrapped_axes(a, grid).filter(|axes| axes.contains(&true))?;
        Some(NotAGrid::Periodic { grid, axes })
    })
}

/// Which axes neighbours are wrapped along; `None` if some entry does not connect neighbours.
fn wrapped_axes(a: CsrRef<'_, f64>, grid: Grid) -> Option<[bool; 3]> {
    let wrapped = [(); 3].map(|()| AtomicBool::new(false));
    let are_neighbours = all_pieces(0..a.rows(), TASK, &|rows| {
        let mut of_task = [false; 3];
        for row in rows {
            let from = grid.position(row);
            for &column in a.row(row).0 {
                let to = grid.position(column as usize);
                for (axis, wrapped) in of_task.iter_mut().enumerate() {
                    match from[axis].abs_diff(to[axis]) {
                        0 | 1 => {}
                        steps if steps + 1 == grid.points()[axis] => *wrapped = true,
                        _ => return false,
                    }
                }
            }
        }
        for (wrapped, of_task) in wrapped.iter().zip(of_task) {
            wrapped.fetch_or(of_task, Ordering::Relaxed);
        }
        true
    });
    are_neighbours.then(|| wrapped.map(AtomicBool::into_inner))
}

#[cfg(test)]
mod tests {
    use super::super::recognise;
    use super::*;
    use crate::{Coo, Csr};

    /// Neighbours that differ by at most `reach` steps in all, along the axes that are periodic
    /// also around the ends.
    fn of_box(points: [usize; 3], periodic: [bool; 3], reach: usize) -> Csr<f64> {
        let grid = Grid::new(points);
        let mut a = Coo::new(grid.len(), grid.len()).unwrap();
        let steps = || [-1i8, 0, 1].into_iter();
        for point in 0..grid.len() {
            let from = grid.position(point);
            for d in steps().flat_map(|z| steps().flat_map(move |y| steps().map(move |x| [x, y, z]))) {
                let along = |axis: usize| {
                    let (n, at) = (points[axis] as i64, from[axis] as i64 + i64::from(d[axis]));
                    let at = if periodic[axis] { at.rem_euclid(n) } else { at };
                    (0..n).contains(&at).then_some(at as usize)
                };
                let near = d.iter().map(|step| usize::from(*step != 0)).sum::<usize>() <= reach;
                if let ([Some(x), Some(y), Some(z)], true) = ([0, 1, 2].map(along), near) {
                    a.push(point, x + points[0] * (y + points[1] * z), 1.0).unwrap();
                }
            }
        }
        a.to_csr()
    }

    #[test]
    fn periodic_axes_are_named() {
        for points in [[9, 7, 5], [6, 6, 6], [12, 1, 8], [31, 1, 1]] {
            for chosen in 1..8 {
                let axes = [0, 1, 2].map(|axis| chosen >> axis & 1 != 0 && points[axis] > 1);
                for reach in [1, 3].into_iter().filter(|_| axes.contains(&true)) {
                    let found = recognise(of_box(points, axes, reach).view());
                    let expected = NotAGrid::Periodic { grid: Grid::new(points), axes };
                    assert_eq!(found, Err(expected), "{points:?}, {axes:?}, {reach}");
                }
            }
        }
        let reason = NotAGrid::Periodic { grid: Grid::new([9, 1, 5]), axes: [true, false, true] };
        assert!(reason.to_string().contains("a grid 9×5, periodic along x and y"), "{reason}");
    }

    #[test]
    fn other_matrices_are_not_called_periodic() {
        // A cycle whose points are numbered in steps of seven, and a cycle with a chord.
        let mut cycle = Coo::new(40, 40).unwrap();
        let mut chord = Coo::new(40, 40).unwrap();
        for row in 0..40 {
            for (column, value) in [(row, 2.0), ((row + 7) % 40, -1.0), ((row + 33) % 40, -1.0)] {
                cycle.push(row, column, value).unwrap();
            }
            for (column, value) in [(row, 2.0), ((row + 1) % 40, -1.0), ((row + 39) % 40, -1.0)] {
                chord.push(row, column, value).unwrap();
            }
        }
        chord.push(3, 20, 1.0).unwrap();
        for a in [cycle, chord] {
            let found = recognise(a.to_csr().view());
            assert!(!matches!(found, Ok(_) | Err(NotAGrid::Periodic { .. })), "{found:?}");
        }
    }
}

//! The grids recognised in matrices of the collection, and in some that are nearly grids.

use tasks::table::Table;
use ziggurat_sparse::gallery::Problem;
use ziggurat_sparse::grid::recognise;
use ziggurat_sparse::io::read_matrix;
use ziggurat_sparse::{Coo, Csr, MatrixError};

use crate::bench::systems::{ModelSystem, collection};
use crate::bench::{BenchError, Setting};

pub(super) fn matrices(setting: &Setting) -> Result<Vec<(String, String)>, BenchError> {
    let mut found = Vec::new();
    let mut table = Table::new(["matrix", "recognised as"]);
    let mut matrices = near_grids()?;
    for path in collection(|_| !setting.quick).unwrap_or_default() {
        let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let Ok(a) = read_matrix(&path) else { continue };
        matrices.push((name, a));
    }
    for (name, a) in matrices {
        let what = match recognise(a.view()) {
            Ok(pattern) => {
                let (grid, directions, unknowns) = (pattern.grid, pattern.stencil.len(), pattern.unknowns);
                match unknowns {
                    1 => format!("grid {grid}, {directions} points"),
                    _ => format!("grid {grid}, {directions} points, {unknowns} unknowns each"),
                }
            }
            Err(reason) => reason.to_string(),
        };
        table.row([name.clone(), what.clone()]);
        found.push((name, what));
    }
    println!("{table}");
    Ok(found)
}

/// Grids of 12×12 points that something is wrong with, and grids with points that are left out.
fn near_grids() -> Result<Vec<(String, Csr<f64>)>, BenchError> {
    let refused = |error: String| BenchError::Solve("poisson2d:12".to_owned(), error);
    let shuffled = ModelSystem::new("poisson3d:12/64")?.a.as_ref().clone();
    let problem: Problem = "poisson2d:12".parse().map_err(|error| refused(format!("{error}")))?;
    let a = problem.matrix().map_err(|error| refused(error.to_string()))?;
    // The matrix with some entries renumbered, the others left out, and pairs of new ones.
    type Renumber<'a> = &'a dyn Fn(usize, usize) -> Option<(usize, usize)>;
    let changed = |rows: usize, number: Renumber<'_>, more: &[(usize, usize)]| {
        let mut changed = Coo::new(rows, rows)?;
        for row in a.all_rows() {
            for (&column, &value) in a.row(row).0.iter().zip(a.row(row).1) {
                if let Some((row, column)) = number(row, column as usize) {
                    changed.push(row, column, value)?;
                }
            }
        }
        for &(row, column) in more {
            changed.push(row, column, -1.0)?;
            changed.push(column, row, -1.0)?;
        }
        Ok::<_, MatrixError>(changed.to_csr())
    };
    let all = |row: usize, column: usize| Some((row, column));
    let without_70 = |row: usize, column: usize| {
        let number = |point: usize| if point > 70 { point - 1 } else { point };
        (row != 70 && column != 70).then_some((number(row), number(column)))
    };
    let is_active = |point: usize| point % 12 < 8 || point / 12 < 6;
    let masked = |row: usize, column: usize| {
        (row == column || is_active(row) && is_active(column)).then_some((row, column))
    };
    // The second grid: 10 lines of 10 points.
    let line = (0..100).filter(|point| point % 10 < 9).map(|point| (144 + point, 145 + point));
    let second: Vec<_> = line.chain((0..90).map(|point| (144 + point, 154 + point))).collect();
    let ends: Vec<_> = (0..12).map(|line| (12 * line, 12 * line + 11)).collect();
    let band: Vec<_> = (0..144).flat_map(|row| [1, 2].map(|step| (row, row + step))).collect();
    let band: Vec<_> = band.into_iter().filter(|(_, column)| *column < 144).collect();
    let made = [
        ("one point missing", changed(143, &without_70, &[])),
        ("periodic along x", changed(144, &all, &ends)),
        ("two grids", changed(244, &all, &second)),
        ("five diagonals in one dimension", changed(144, &|_, _| None, &band)),
        ("a corner left out, with a diagonal only", changed(144, &masked, &[])),
    ];
    let mut named = vec![("poisson3d:12, shuffled by 64".to_owned(), shuffled)];
    for (name, a) in made {
        named.push((format!("poisson2d:12, {name}"), a.map_err(|error| refused(error.to_string()))?));
    }
    Ok(named)
}

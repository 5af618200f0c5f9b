//! The systems of the race, and the file in which every contestant reads them.
//!
//! The format is described in `competitors/system.h`. Model problems are generated; with a slash
//! and a number, as in `poisson3d:100/1024`, their nodes are shuffled within windows of that size.
//! Other names are matrices of the collection in `../shared/matrices` or in the folder given by
//! `ZIGGURAT_MATRICES`. A right-hand side that the collection lacks is all ones, or for a singular
//! matrix random with a mean of zero.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use ziggurat_sparse::Csr;
use ziggurat_sparse::gallery::{Problem, rigid_body_modes, shuffle};
use ziggurat_sparse::hash::uniform;
use ziggurat_sparse::io::{read_dense, read_matrix, read_vector};

use super::super::BenchError;
use super::super::systems::relative_residual;

/// A linear system and what contestants are told about it.
pub(super) struct RaceSystem {
    pub(super) a: Csr<f64>,
    pub(super) b: Vec<f64>,
    /// Unknowns per node.
    pub(super) block: usize,
    /// Whether the matrix is singular, with the constants as its null space.
    pub(super) singular: bool,
    /// The rigid-body modes of an elastic body; otherwise empty.
    pub(super) modes: Vec<Vec<f64>>,
}

/// The folder of the collection, if it exists.
pub(super) fn collection() -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/matrices");
    let folder = std::env::var_os("ZIGGURAT_MATRICES").map_or_else(beside, PathBuf::from);
    folder.join("INDEX.md").exists().then_some(folder)
}

impl RaceSystem {
    /// A model problem, shuffled if its name has a window.
    pub(super) fn generate(name: &str) -> Result<Self, BenchError> {
        let refused = |error: String| BenchError::Solve(name.to_owned(), error);
        let (problem, window) = name.split_once('/').map_or((name, None), |(one, two)| (one, Some(two)));
        let problem: Problem = problem.parse()?;
        let (mut a, mut b, block) = (problem.matrix()?, problem.rhs()?, problem.block_size());
        let mut coordinates = if block == 3 { problem.coordinates()? } else { Vec::new() };
        if let Some(window) = window {
            let window = window.parse().map_err(|_| refused("a window is a positive number".to_owned()))?;
            let (shuffled, nodes) = shuffle(a.view(), block, window)?;
            let unknowns = nodes.expand(block).map_err(|error| refused(error.to_string()))?;
            a = shuffled;
            unknowns.apply(&b.clone(), &mut b)?;
            if !coordinates.is_empty() {
                nodes.apply(&coordinates.clone(), &mut coordinates)?;
            }
        }
        let modes = if block == 3 { rigid_body_modes(&coordinates) } else { Vec::new() };
        Ok(RaceSystem { a, b, block, singular: false, modes })
    }

    /// A matrix of the collection, with its right-hand side and coordinates if it has them.
    pub(super) fn read_collection(folder: &Path, name: &str) -> Result<Self, BenchError> {
        let refused = |error: String| BenchError::Solve(name.to_owned(), error);
        let file = |suffix: &str| folder.join(format!("{name}{suffix}.mtx.gz"));
        let a = read_matrix(file("")).map_err(|error| refused(error.to_string()))?;
        // A graph Laplacian by its name in the collection.
        let singular = name.ends_with("_lap");
        let b = if file("_b").exists() {
            read_vector(file("_b")).map_err(|error| refused(error.to_string()))?
        } else if singular {
            mean_free(a.rows())
        } else {
            vec![1.0; a.rows()]
        };
        let mut modes = Vec::new();
        if file("_coords").exists() {
            let points = read_dense(file("_coords")).map_err(|error| refused(error.to_string()))?;
            let columns: Vec<&[f64]> = points.values().chunks_exact(points.rows().max(1)).collect();
            let &[x, y, z] = &columns[..] else {
                return Err(refused("coordinates have three columns".to_owned()));
            };
            let points: Vec<[f64; 3]> = x.iter().zip(y).zip(z).map(|((&x, &y), &z)| [x, y, z]).collect();
            modes = rigid_body_modes(&points);
        }
        let block = if modes.is_empty() { 1 } else { 3 };
        Ok(RaceSystem { a, b, block, singular, modes })
    }

    /// Writes the file that contestants read.
    pub(super) fn write(&self, path: &Path) -> io::Result<()> {
        let mut file = BufWriter::with_capacity(1 << 20, File::create(path)?);
        let a = &self.a;
        let extents = [a.rows(), a.nnz()];
        for &number in extents.iter().chain(a.row_ptr()) {
            file.write_all(&(number as u64).to_ne_bytes())?;
        }
        for column in a.columns() {
            file.write_all(&column.to_ne_bytes())?;
        }
        for value in a.values().iter().chain(&self.b) {
            file.write_all(&value.to_ne_bytes())?;
        }
        for number in [self.block, usize::from(self.singular), self.modes.len()] {
            file.write_all(&(number as u64).to_ne_bytes())?;
        }
        for value in self.modes.iter().flatten() {
            file.write_all(&value.to_ne_bytes())?;
        }
        file.flush()
    }

    /// Reads a file written by [`RaceSystem::write`].
    pub(super) fn read(path: &Path) -> io::Result<Self> {
        let mut file = BufReader::with_capacity(1 << 20, File::open(path)?);
        let mut extents =
            numbers(&mut file, 2, u64::from_ne_bytes)?.into_iter().map(|number| number as usize);
        let (rows, entries) = (extents.next().unwrap_or(0), extents.next().unwrap_or(0));
        let row_ptr = numbers(&mut file, rows + 1, usize::from_ne_bytes)?;
        let columns = numbers(&mut file, entries, u32::from_ne_bytes)?;
        let values = numbers(&mut file, entries, f64::from_ne_bytes)?;
        let b = numbers(&mut file, rows, f64::from_ne_bytes)?;
        let trailer = numbers(&mut file, 3, u64::from_ne_bytes)?;
        let modes = (0..trailer[2]).map(|_| numbers(&mut file, rows, f64::from_ne_bytes));
        let modes = modes.collect::<io::Result<_>>()?;
        let a = Csr::try_new(rows, rows, row_ptr, columns, values).map_err(io::Error::other)?;
        Ok(RaceSystem { a, b, block: trailer[0] as usize, singular: trailer[1] != 0, modes })
    }

    /// ‖b − Ax‖ / ‖b‖.
    pub(super) fn relative_residual(&self, x: &[f64]) -> f64 {
        relative_residual(&self.a, x, &self.b)
    }
}

/// Reads `count` numbers of `N` bytes each.
fn numbers<T, const N: usize>(
    file: &mut impl Read,
    count: usize,
    decode: impl Fn([u8; N]) -> T,
) -> io::Result<Vec<T>> {
    let mut bytes = [0; N];
    let mut read = Vec::with_capacity(count);
    for _ in 0..count {
        file.read_exact(&mut bytes)?;
        read.push(decode(bytes));
    }
    Ok(read)
}

/// The solution that a contestant has written.
pub(super) fn read_solution(path: &Path, rows: usize) -> io::Result<Vec<f64>> {
    numbers(&mut BufReader::with_capacity(1 << 20, File::open(path)?), rows, f64::from_ne_bytes)
}

/// Random numbers between −1/2 and 1/2, whose mean is then subtracted.
fn mean_free(rows: usize) -> Vec<f64> {
    let mut b: Vec<f64> = (0..rows).map(|row| uniform(row as u64) - 0.5).collect();
    let mean = b.iter().sum::<f64>() / rows.max(1) as f64;
    b.iter_mut().for_each(|value| *value -= mean);
    b
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_system_is_read_as_it_was_written() {
        let path = std::env::temp_dir().join(format!("ziggurat-race-system-{}", std::process::id()));
        let system = RaceSystem::generate("elasticity3d:3/8").unwrap();
        system.write(&path).unwrap();
        let read = RaceSystem::read(&path).unwrap();
        std::fs::remove_file(path).unwrap();
        assert_eq!((&read.a, &read.b, &read.modes), (&system.a, &system.b, &system.modes));
        assert_eq!((read.block, read.singular, read.modes.len()), (3, false, 6));
    }

    #[test]
    fn rigid_motions_of_a_shuffled_body_cost_no_energy_away_from_its_supports() {
        let plain = RaceSystem::generate("elasticity3d:4").unwrap();
        let shuffled = RaceSystem::generate("elasticity3d:4/16").unwrap();
        let energy = |system: &RaceSystem, mode: &[f64]| {
            let none =
                RaceSystem { b: vec![1.0; mode.len()], ..RaceSystem::generate("elasticity3d:4").unwrap() };
            RaceSystem { a: system.a.clone(), ..none }.relative_residual(mode)
        };
        for (one, other) in plain.modes.iter().zip(&shuffled.modes) {
            let (one, other) = (energy(&plain, one), energy(&shuffled, other));
            assert!((one - other).abs() <= 1e-12 * one, "{one} {other}");
        }
    }

    #[test]
    fn residuals_are_relative() {
        let system = RaceSystem::generate("poisson3d:3").unwrap();
        assert_eq!(system.relative_residual(&vec![0.0; 27]), 1.0);
        assert!(mean_free(1000).iter().sum::<f64>().abs() < 1e-10);
    }
}

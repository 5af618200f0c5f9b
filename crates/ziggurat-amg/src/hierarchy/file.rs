//! A hierarchy as a file, so that setup and solve may run at different times or on different
//! machines.
//!
//! ```text
//! "ziggurat hierarchy\n", version, stop, number of levels, 1 if they belong to −A, else 0
//! per level: block, ρ(D⁻¹A) or 0 if unknown, dead unknowns, rows that the next level keeps (none
//!            if it does not keep rows), A, and except for the last level P and R
//! the given number of each unknown (none if the order is the given one)
//! matrix: rows, columns, entries, row pointers, column of each entry, value of each entry
//! ```
//!
//! All numbers are little-endian: 64-bit integers, 32-bit columns, 64-bit values. The plans of the
//! Galerkin products are not in the file; [`Hierarchy::update_values`] makes them again. A file is
//! checked like a caller's arrays, and reading never allocates more than the file holds. Levels
//! become smaller, and there are at most [`MAX_LEVELS`], because cycles recurse over them. Formats
//! 2, which lacks the rows that the next level keeps, 3, which lacks the order, and 4, which lacks
//! the sign, are read, too.

use std::io::{self, Read, Write};
use std::sync::Arc;

use thiserror::Error;
use ziggurat_sparse::graph::Permutation;
use ziggurat_sparse::words::counted;
use ziggurat_sparse::{Csr, MatrixError};

use super::matrix::Level;
use super::whole::{WholeMatrix, WholeTransfer};
use super::{CoarseningStop, Hierarchy, MAX_LEVELS};

const MAGIC: &[u8; 19] = b"ziggurat hierarchy\n";

/// Incremented whenever the format changes.
const VERSION: u64 = 5;

/// The oldest format that is read.
const OLDEST: u64 = 2;

/// The first format with the order of the unknowns.
const ORDERED: u64 = 4;

/// The first format with the sign of the matrix.
const SIGNED: u64 = 5;

/// Bytes per read, so that a wrong length fails at the end of the file instead of in an allocation.
const CHUNK: usize = 1 << 20;

/// Why a hierarchy could not be saved or loaded.
///
/// ```
/// use ziggurat_amg::Hierarchy;
/// let error = Hierarchy::load(&b"something else"[..]).unwrap_err();
/// assert_eq!(error.to_string(), "this is not a saved hierarchy");
/// ```
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum HierarchyFileError {
    /// The file cannot be read or written.
    #[error("the hierarchy cannot be read or written: {0}")]
    Io(#[from] io::Error),
    /// The file does not begin with the signature of a saved hierarchy.
    #[error("this is not a saved hierarchy")]
    Other,
    /// The file was saved in another version of the format.
    #[error(
        "the hierarchy was saved in format {found}, but this version reads format {VERSION}; save it again"
    )]
    Version {
        /// The version found.
        found: u64,
    },
    /// The file has no level, or more than a cycle can visit.
    #[error("the saved hierarchy has {}; it must have from 1 to {MAX_LEVELS}", counted(*found, "level"))]
    Levels {
        /// The number of levels.
        found: u64,
    },
    /// A matrix in the file is invalid.
    #[error("level {level} of the saved hierarchy is invalid: {source}")]
    Matrix {
        /// The level.
        level: usize,
        /// The error of the matrix.
        source: MatrixError,
    },
    /// The parts of a level do not fit together.
    #[error("level {level} of the saved hierarchy is invalid: {what}")]
    Broken {
        /// The level.
        level: usize,
        /// The mismatch.
        what: &'static str,
    },
}

impl Hierarchy {
    /// Writes the hierarchy; [`load`](Self::load) restores it bit for bit.
    ///
    /// ```
    /// use ziggurat_amg::{Hierarchy, HierarchyConfig};
    /// use ziggurat_sparse::gallery::Problem;
    /// let a = "poisson2d:40".parse::<Problem>()?.matrix()?;
    /// let hierarchy = Hierarchy::build(a, &HierarchyConfig::default())?;
    /// let mut file = Vec::new(); // or File::create(path)?
    /// hierarchy.save(&mut file)?;
    /// let loaded = Hierarchy::load(&file[..])?;
    /// assert_eq!(loaded.levels()[1].matrix(), hierarchy.levels()[1].matrix());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If writing fails.
    pub fn save(&self, out: impl Write) -> Result<(), HierarchyFileError> {
        self.fetch().map_err(io::Error::other)?;
        let mut out = io::BufWriter::with_capacity(CHUNK, out);
        out.write_all(MAGIC)?;
        let stop = CoarseningStop::ALL.iter().position(|stop| *stop == self.stop).unwrap_or(0);
        let header = [VERSION, stop as u64, self.levels.len() as u64, self.is_negated().into()];
        integers(&mut out, &header)?;
        for level in &self.levels {
            let dead = level.transfer.as_ref().map_or(&[][..], |transfer| &transfer.dead);
            let radius = level.radius.unwrap_or(0.0).to_bits();
            integers(&mut out, &[level.a.block as u64, radius])?;
            list(&mut out, dead)?;
            list(&mut out, level.points().unwrap_or_default())?;
            matrix(&mut out, level.matrix())?;
            if let Some(transfer) = &level.transfer {
                matrix(&mut out, transfer.p.csr())?;
                matrix(&mut out, transfer.r.csr())?;
            }
        }
        list(&mut out, self.order().map_or(&[], |order| order.new_to_old()))?;
        Ok(out.flush()?)
    }

    /// Reads a hierarchy that [`save`](Self::save) wrote.
    ///
    /// # Errors
    /// If reading fails, or the input is not a valid hierarchy.
    pub fn load(input: impl Read) -> Result<Self, HierarchyFileError> {
        let mut input = io::BufReader::with_capacity(CHUNK, input);
        let mut magic = [0; MAGIC.len()];
        match input.read_exact(&mut magic) {
            Ok(()) if magic == *MAGIC => {}
            Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => return Err(error.into()),
            _ => return Err(HierarchyFileError::Other),
        }
        let found = integer(&mut input)?;
        if !(OLDEST..=VERSION).contains(&found) {
            return Err(HierarchyFileError::Version { found });
        }
        let (stop, count) = (integer(&mut input)?, integer(&mut input)?);
        let broken = |level: usize, what| HierarchyFileError::Broken { level, what };
        let stop = CoarseningStop::ALL
            .get(stop as usize)
            .copied()
            .ok_or(broken(0, "the reason for the end of coarsening is unknown"))?;
        let count = match usize::try_from(count) {
            Ok(count) if (1..=MAX_LEVELS).contains(&count) => count,
            _ => return Err(HierarchyFileError::Levels { found: count }),
        };
        let negated = found >= SIGNED && integer(&mut input)? != 0;
        let mut levels: Vec<Level<WholeMatrix>> = Vec::new();
        for index in 0..count {
            let (block, radius) = (integer(&mut input)?, f64::from_bits(integer(&mut input)?));
            if !(radius >= 0.0 && radius.is_finite()) {
                return Err(broken(index, "its spectral radius is not a positive number"));
            }
            let radius = (radius > 0.0).then_some(radius);
            let dead = read_list(&mut input)?;
            let points = if found == OLDEST { Vec::new() } else { read_list(&mut input)? };
            let mut read = || read_matrix(&mut input, index).map(Arc::new);
            let a = read()?;
            if a.rows() != a.cols() {
                return Err(broken(index, "its matrix is not square"));
            }
            // An empty matrix is a multiple of every size.
            let block = match usize::try_from(block) {
                Ok(block) if (1..=a.rows().max(1)).contains(&block) && a.rows().is_multiple_of(block) => {
                    block
                }
                _ => return Err(broken(index, "its number of rows is not a multiple of its block size")),
            };
            if let Some(WholeTransfer { p, .. }) = levels.last().and_then(|level| level.transfer.as_ref())
                && p.csr().cols() != a.rows()
            {
                return Err(broken(index, "its number of rows does not fit the level above"));
            }
            let transfer = if index + 1 < count {
                let (p, r) = (read()?, read()?);
                if [p.rows(), r.cols()] != [a.rows(); 2] || r.rows() != p.cols() {
                    return Err(broken(index, "interpolation or restriction does not fit its matrix"));
                }
                if p.cols() >= a.rows() {
                    return Err(broken(index, "the next level is not smaller"));
                }
                if dead.iter().any(|&unknown| unknown as usize >= p.cols()) {
                    return Err(broken(index, "an unknown marked as dead does not exist"));
                }
                let increasing = points.windows(2).all(|pair| pair[0] < pair[1]);
                let inside = points.last().is_none_or(|&last| (last as usize) < a.rows());
                if !(increasing && inside && [0, p.cols()].contains(&points.len())) {
                    return Err(broken(index, "the rows that the next level keeps do not fit it"));
                }
                Some(WholeTransfer::new(p, r, dead))
            } else {
                None
            };
            let points = Some(points).filter(|points| !points.is_empty() && transfer.is_some());
            let level = Level::last(WholeMatrix { a: a.into(), block }).with_radius(radius);
            levels.push(Level { transfer, ..level.with_points(points) });
        }
        let order = if found < ORDERED { Vec::new() } else { read_list(&mut input)? };
        let order = if order.is_empty() {
            None
        } else {
            let order = Permutation::from_new_to_old(order).ok();
            let order = order.filter(|order| order.len() == levels[0].rows());
            Some(order.ok_or(broken(0, "its order does not have every row once"))?.into())
        };
        Ok(Hierarchy { levels, stop, seconds: 0.0, order, negated })
    }
}

fn integers(out: &mut impl Write, numbers: &[u64]) -> io::Result<()> {
    numbers.iter().try_for_each(|number| out.write_all(&number.to_le_bytes()))
}

/// A list of numbers, preceded by its length.
fn list(out: &mut impl Write, numbers: &[u32]) -> io::Result<()> {
    integers(out, &[numbers.len() as u64])?;
    numbers.iter().try_for_each(|&number| integers(out, &[u64::from(number)]))
}

fn read_list(input: &mut impl Read) -> io::Result<Vec<u32>> {
    numbers(input, &mut Vec::new(), |bytes| u64::from_le_bytes(bytes) as u32)
}

fn matrix(out: &mut impl Write, a: &Csr<f64>) -> io::Result<()> {
    integers(out, &[a.rows() as u64, a.cols() as u64])?;
    integers(out, &[a.row_ptr().len() as u64])?;
    a.row_ptr().iter().try_for_each(|start| out.write_all(&(*start as u64).to_le_bytes()))?;
    integers(out, &[a.nnz() as u64])?;
    a.columns().iter().try_for_each(|column| out.write_all(&column.to_le_bytes()))?;
    integers(out, &[a.nnz() as u64])?;
    a.values().iter().try_for_each(|value| out.write_all(&value.to_le_bytes()))
}

fn integer(input: &mut impl Read) -> io::Result<u64> {
    let mut bytes = [0; 8];
    input.read_exact(&mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}

/// A list of numbers of `N` bytes each, preceded by its length. `buffer` is scratch space.
fn numbers<T, const N: usize>(
    input: &mut impl Read,
    buffer: &mut Vec<u8>,
    read: impl Fn([u8; N]) -> T,
) -> io::Result<Vec<T>> {
    let mut left = integer(input)?;
    let mut numbers = Vec::new();
    while left > 0 {
        let now = left.min((CHUNK / N) as u64);
        buffer.resize(now as usize * N, 0);
        input.read_exact(buffer)?;
        let (chunks, _) = buffer.as_chunks::<N>();
        numbers.extend(chunks.iter().map(|&bytes| read(bytes)));
        left -= now;
    }
    Ok(numbers)
}

fn read_matrix(input: &mut impl Read, level: usize) -> Result<Csr<f64>, HierarchyFileError> {
    let (rows, cols) = (integer(input)? as usize, integer(input)? as usize);
    let buffer = &mut Vec::new();
    let row_ptr = numbers(input, buffer, |bytes| u64::from_le_bytes(bytes) as usize)?;
    let columns = numbers(input, buffer, u32::from_le_bytes)?;
    let values = numbers(input, buffer, f64::from_le_bytes)?;
    Csr::try_new(rows, cols, row_ptr, columns, values)
        .and_then(|a| a.view().check_finite().map(|()| a))
        .map_err(|source| HierarchyFileError::Matrix { level, source })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{HierarchyConfig, MatrixProperties, interpolate::Symmetry, testing::rigid_bodies};
    use ziggurat_sparse::gallery::Problem;

    fn saved(hierarchy: &Hierarchy) -> Vec<u8> {
        let mut file = Vec::new();
        hierarchy.save(&mut file).unwrap();
        file
    }

    #[test]
    fn a_loaded_hierarchy_equals_the_saved_one() {
        let (a, near_kernel) = rigid_bodies(6);
        let known = MatrixProperties { near_kernel, symmetry: Symmetry::Symmetric, grid: None };
        let mut hierarchy = Hierarchy::with_properties(&a, known, &HierarchyConfig::default()).unwrap();
        let mut loaded = Hierarchy::load(&saved(&hierarchy)[..]).unwrap();
        let same = |one: &Hierarchy, other: &Hierarchy| {
            assert_eq!((one.stop(), one.levels().len()), (other.stop(), other.levels().len()));
            for (one, other) in one.levels().iter().zip(other.levels()) {
                assert_eq!((one.matrix(), one.block()), (other.matrix(), other.block()));
                assert_eq!((one.radius(), one.points()), (other.radius(), other.points()));
                assert_eq!(one.prolongation(), other.prolongation());
                assert_eq!(one.restriction(), other.restriction());
            }
        };
        same(&loaded, &hierarchy);
        // A value update recomputes the product plans, which the file does not contain.
        let mut b = a;
        b.values_mut().iter_mut().for_each(|value| *value *= 3.0);
        hierarchy.update_values(&b).unwrap();
        loaded.update_values(&b).unwrap();
        same(&loaded, &hierarchy);
    }

    #[test]
    fn malformed_files_are_rejected() {
        let a = "poisson2d:25".parse::<Problem>().unwrap().matrix().unwrap();
        let good = saved(&Hierarchy::build(a, &HierarchyConfig::default()).unwrap());
        for length in [0, 5, 19, 30, 60, good.len() / 2, good.len() - 1] {
            assert!(Hierarchy::load(&good[..length]).is_err(), "cut off at {length}");
        }
        let with = |place: usize, number: u64| {
            let mut file = good.clone();
            file[place..place + 8].copy_from_slice(&number.to_le_bytes());
            Hierarchy::load(&file[..]).unwrap_err().to_string()
        };
        assert!(with(19, 1).contains("format 1"), "{}", with(19, 1));
        // A wrong length fails at the end of the file, without an allocation of that size.
        for place in [35, 67, 75, 83, 91, 99] {
            with(place, u64::MAX);
            with(place, 1 << 60);
        }
        for radius in [-1.0, f64::NAN, f64::INFINITY] {
            assert!(with(59, radius.to_bits()).contains("spectral radius"), "{radius}");
        }
        // A column beyond the matrix.
        let columns = 19 + 8 * (4 + 4 + 3 + 626 + 1);
        assert!(with(columns, u64::MAX).contains("level 0"), "{}", with(columns, u64::MAX));
    }

    /// A file of levels with these rows and block sizes, with identity matrices, and transfers that
    /// have as many columns as the next level has rows.
    fn file_of(levels: &[(usize, u64)]) -> Vec<u8> {
        let mut file = MAGIC.to_vec();
        integers(&mut file, &[VERSION, 0, levels.len() as u64, 0]).unwrap();
        for (index, &(rows, block)) in levels.iter().enumerate() {
            integers(&mut file, &[block, 0, 0, 0]).unwrap();
            matrix(&mut file, &Csr::identity(rows).unwrap()).unwrap();
            if let Some(&(coarse, _)) = levels.get(index + 1) {
                for (rows, cols) in [(rows, coarse), (coarse, rows)] {
                    let empty = Csr::try_new(rows, cols, vec![0; rows + 1], vec![], vec![]).unwrap();
                    matrix(&mut file, &empty).unwrap();
                }
            }
        }
        list(&mut file, &[]).unwrap();
        file
    }

    #[test]
    fn levels_are_few_and_become_smaller() {
        let load = |levels: &[(usize, u64)]| Hierarchy::load(&file_of(levels)[..]);
        let error = |levels: &[(usize, u64)]| load(levels).unwrap_err().to_string();
        assert!(load(&[(0, 1)]).is_ok() && load(&[(6, 3), (4, 2), (3, 1)]).is_ok());
        // Thousands of levels would overflow the stack of a recursive cycle.
        assert!(error(&vec![(0, 1); 5000]).contains("has 5000 levels; it must have from 1 to 100"));
        let falling = |count: usize| (0..count).map(|level| (count - level, 1)).collect::<Vec<_>>();
        assert!(load(&falling(MAX_LEVELS)).is_ok() && load(&falling(MAX_LEVELS + 1)).is_err());
        assert!(error(&[]).contains("has 0 levels"));
        for same in [&[(0, 1), (0, 1)][..], &[(4, 1), (4, 1)], &[(4, 1), (3, 1), (5, 1)]] {
            assert!(error(same).contains("the next level is not smaller"), "{}", error(same));
        }
    }

    #[test]
    fn the_block_size_divides_the_rows() {
        for (rows, block) in [(0, 0), (0, 2), (0, u64::MAX), (4, 0), (4, 3), (4, 8), (4, u64::MAX)] {
            let error = Hierarchy::load(&file_of(&[(rows, block)])[..]).unwrap_err().to_string();
            assert!(error.contains("not a multiple of its block size"), "{rows}, {block}: {error}");
        }
    }
}

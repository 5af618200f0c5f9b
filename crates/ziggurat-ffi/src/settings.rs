//! The options of a handle, and what its caller knows about the unknowns.

use std::ffi::{c_char, c_int, c_void};
use std::ops::ControlFlow;

use ziggurat::krylov::Progress;
use ziggurat::sparse::words::counted;
use ziggurat::{Coordinates, SolverConfig};

use crate::arrays::{array, count, text};
use crate::log::Log;
use crate::status::Failure;

/// More vectors than any near-null space has.
const MOST_VECTORS: usize = 1000;

/// A function that is called after every iteration: its number, the relative residual, and the
/// caller's context. The solve stops if it returns another number than zero.
pub type MonitorFunction = unsafe extern "C" fn(i64, f64, *mut c_void) -> c_int;

/// The caller's function and what it is called with.
#[derive(Clone, Copy, Debug)]
pub struct Monitor {
    /// The function.
    pub function: MonitorFunction,
    /// Its last argument.
    pub context: *mut c_void,
}

// SAFETY: the headers ask for a function and a context that other threads may use. Only one thread
// uses them at a time: the one that runs the solve.
unsafe impl Send for Monitor {}
// SAFETY: as above.
unsafe impl Sync for Monitor {}

impl Monitor {
    /// Calls the caller's function after an iteration.
    pub fn watch(self, progress: &Progress) -> ControlFlow<()> {
        let Monitor { function, context } = self;
        // SAFETY: a function of the caller, with the context that belongs to it.
        match unsafe { function(progress.iteration as i64, progress.relative_residual, context) } {
            0 => ControlFlow::Continue(()),
            _ => ControlFlow::Break(()),
        }
    }
}

/// The settings of a handle.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// The options.
    pub config: SolverConfig,
    /// Unknowns per node; `None` to detect them.
    pub block: Option<usize>,
    /// Where the nodes or unknowns are.
    pub coordinates: Option<Coordinates>,
    /// Vectors of the near-null space.
    pub near_kernel: Option<Vec<Vec<f64>>>,
    /// The function that is called after every iteration.
    pub monitor: Option<Monitor>,
    /// The function that receives log events.
    pub log: Option<Log>,
}

impl Settings {
    /// Sets an option by its key.
    ///
    /// # Safety
    /// Texts end with a zero, or are null.
    pub unsafe fn set_option(&mut self, key: *const c_char, value: *const c_char) -> Result<(), Failure> {
        // SAFETY: the caller's word.
        let (key, value) = unsafe { (text("key", key)?, text("value", value)?) };
        Ok(self.config.set(key, value)?)
    }

    /// Replaces all options by a configuration in TOML.
    ///
    /// # Safety
    /// The text ends with a zero, or is null.
    pub unsafe fn set_config(&mut self, toml: *const c_char) -> Result<(), Failure> {
        // SAFETY: the caller's word.
        self.config = SolverConfig::from_toml(unsafe { text("toml", toml) }?)?;
        Ok(())
    }

    /// Unknowns per node; 0 to detect them.
    pub fn set_block_size(&mut self, block_size: i64) -> Result<(), Failure> {
        let block = count("block_size", block_size)?;
        self.block = (block > 0).then_some(block);
        Ok(())
    }

    /// Coordinates of nodes or unknowns, one point after the other; null to forget them.
    ///
    /// # Safety
    /// `coordinates` points to `dimension` numbers for each point, or is null.
    pub unsafe fn set_coordinates(
        &mut self,
        dimension: i64,
        points: i64,
        coordinates: *const f64,
    ) -> Result<(), Failure> {
        if coordinates.is_null() {
            self.coordinates = None;
            return Ok(());
        }
        let (dimension, points) = (count("dimension", dimension)?, count("points", points)?);
        if !(1..=3).contains(&dimension) {
            return Err(Failure::argument(format!("dimension is {dimension}; it must be 1, 2 or 3")));
        }
        // SAFETY: the caller's word.
        let flat = unsafe { array("coordinates", coordinates, points.saturating_mul(dimension)) }?;
        let point = |at: &[f64]| {
            let mut point = [0.0; 3];
            point[..dimension].copy_from_slice(at);
            point
        };
        let given = Coordinates::try_new(flat.chunks_exact(dimension).map(point).collect(), dimension);
        self.coordinates = Some(given.map_err(|error| Failure::argument(error.to_string()))?);
        Ok(())
    }

    /// Vectors of the near-null space, one after the other; null to forget them. A rank without
    /// rows gives vectors without elements and any pointer.
    ///
    /// # Safety
    /// `values` points to `rows` numbers for each vector, or is null.
    pub unsafe fn set_near_null_space(
        &mut self,
        vectors: i64,
        rows: i64,
        values: *const f64,
    ) -> Result<(), Failure> {
        if values.is_null() {
            self.near_kernel = None;
            return Ok(());
        }
        let (vectors, rows) = (count("vectors", vectors)?, count("rows", rows)?);
        if !(1..=MOST_VECTORS).contains(&vectors) {
            let (vectors, rows) = (counted(vectors, "vector"), counted(rows, "row"));
            let text = format!("{vectors} of {rows}; give 1 to {MOST_VECTORS} vectors");
            return Err(Failure::argument(text));
        }
        // SAFETY: the caller's word.
        let flat = unsafe { array("values", values, vectors.saturating_mul(rows)) }?;
        let vector = |k: usize| flat[k * rows..(k + 1) * rows].to_vec();
        self.near_kernel = Some((0..vectors).map(vector).collect());
        Ok(())
    }
}

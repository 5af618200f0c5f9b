//! ρ(D⁻¹A), which determines the step size of smoothers and of prolongation smoothing.
//!
//! The result is the smaller of two bounds: Gershgorin's, which is rigorous and exact for the
//! Laplacian of a grid, and one by Lanczos in the inner product of D, which is sharper for most
//! other matrices. Four steps of Lanczos are accurate to a few percent, because the bound adds the
//! residual, which covers what they have not found yet. Lanczos does not apply if the diagonal has
//! both signs; power iteration is used instead. Cost: about six passes over the matrix, with a halo
//! exchange for each pass.

use ziggurat_sparse::CsrRef;
use ziggurat_sparse::device::{Device, DeviceExt, Matrix, SetupDevice, Sparse, Vector};
use ziggurat_sparse::hash::uniform_signed;
use ziggurat_sparse::spectrum::{
    JacobiScaled, LanczosOperator, SpectrumError, gershgorin, lanczos, lanczos_jacobi, lanczos_with, power,
    power_jacobi,
};

use crate::SetupError;
use crate::empty_rows::Filled;
use crate::halo::{Processes, sum_exactly};

/// Lanczos steps. The top of the spectrum is dense on grid problems: twice as many steps move the
/// bound by 3 percent.
const LANCZOS_STEPS: usize = 4;

/// Steps of power iteration, which has no residual to add.
const POWER_STEPS: usize = 8;

/// The Gershgorin bound counts as nearly attained if power iteration finds at least this fraction
/// of it.
const REACHED: f64 = 0.88;

/// An upper estimate of ρ(D⁻¹A). `a` has the owned rows of `halo`, and its columns are the local
/// rows. The bits do not depend on the number of processes if the rows of each begin at a multiple
/// of 512. Empty rows count as rows with a diagonal entry.
///
/// ```
/// use ziggurat_amg::{halo::Whole, spectral_radius};
/// use ziggurat_sparse::gallery::Problem;
/// let a = "poisson2d:20".parse::<Problem>()?.matrix()?;
/// let radius = spectral_radius(a.view(), &Whole::new(a.rows()))?;
/// assert!((1.9..2.1).contains(&radius));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If a row of any process has entries, but not on the diagonal.
pub fn spectral_radius<H: Processes>(a: CsrRef<'_, f64>, halo: &H) -> Result<f64, SetupError> {
    let a = Filled::of(a, halo)?;
    if halo.is_whole() { of_whole(a.view()) } else { of_parts(a.view(), halo) }
}

/// In one process, the passes of Lanczos are fused.
fn of_whole(a: CsrRef<'_, f64>) -> Result<f64, SetupError> {
    let proved = gershgorin(a, a.all_rows())?;
    match lanczos_jacobi(a, LANCZOS_STEPS) {
        Ok(bounds) => Ok(bounds.upper.min(proved)),
        Err(SpectrumError::Matrix(error)) => Err(error.into()),
        Err(_) => Ok(not_beyond(proved, power_jacobi(a, POWER_STEPS)?.radius)),
    }
}

fn of_parts<H: Processes>(a: CsrRef<'_, f64>, halo: &H) -> Result<f64, SetupError> {
    let owned = halo.owned();
    let found = gershgorin(a, owned.clone())
        .and_then(|proved| Ok((proved, JacobiScaled::try_new(a, owned.clone())?)));
    let found = found.map_err(SetupError::from);
    // Other processes get the row by its global id; here the caller translates it.
    let told = found.as_ref().map(|_| ()).map_err(|error| error.clone().with_rows(|row| halo.global_id(row)));
    let agreed = halo.agree(told);
    let (proved, operator) = found?;
    agreed?;
    let proved = halo.largest(proved);
    let first = if owned.is_empty() { 0 } else { halo.global_id(owned.start) };
    let mut local = vec![0.0; halo.local()];
    let apply = |x: &[f64], y: &mut [f64]| {
        local[owned.clone()].copy_from_slice(x);
        halo.exchange(&mut local);
        operator.apply(&local, y);
    };
    // The factors are in the same order as in the one-process version.
    let dot = |x: &[f64], y: &[f64]| {
        let mut part = operator.exact_dot(y, x);
        sum_exactly(std::slice::from_mut(&mut part), halo);
        part.rounded()
    };
    if halo.any(operator.check_positive().is_err()) {
        let found = power(operator.start_vector(first), POWER_STEPS, apply, dot)?;
        return Ok(not_beyond(proved, found.radius));
    }
    match lanczos(operator.start_vector(first), LANCZOS_STEPS, apply, dot) {
        Ok(bounds) => Ok(bounds.upper.min(proved)),
        Err(error) => Err(error.into()),
    }
}

/// The result of power iteration, or the bound if it is nearly attained.
fn not_beyond(proved: f64, found: f64) -> f64 {
    if found >= REACHED * proved { proved } else { found.min(proved) }
}

/// D^-½ A D^-½, which is similar to D⁻¹A, on a device.
struct Scaled<'a> {
    device: &'a dyn Device,
    a: Matrix,
    scales: Vector,
    scratch: [Vector; 2],
}

impl LanczosOperator for Scaled<'_> {
    type Vector = Vector;

    fn square(&mut self, x: &Vector) -> f64 {
        self.device.dot(x, x)
    }

    fn apply(&mut self, x: &Vector, y: &mut Vector) -> f64 {
        let [scaled, product] = &mut self.scratch;
        self.device.diagonal(1.0, &self.scales, x, 0.0, scaled);
        self.device.spmv(1.0, &self.a, scaled, 0.0, product);
        self.device.diagonal(1.0, &self.scales, product, 0.0, y);
        self.device.dot(y, x)
    }

    fn combine(&mut self, a: f64, y: &mut Vector, b: f64, v: &Vector, c: f64, u: &Vector) -> f64 {
        self.device.axpbypcz(b, v, c, u, a, y);
        self.device.dot(y, y)
    }
}

/// An upper estimate of ρ(D⁻¹A), as that of the host: the smaller of two bounds. Its start vector
/// is that of the host in the scaled variables.
pub(crate) fn spectral_radius_on_device(device: &dyn SetupDevice, a: &Sparse) -> Result<f64, SetupError> {
    let (number, rows) = (a.kind(), a.rows());
    let (scales, proved) = device.diagonal_scales(a)?;
    let start: Vec<f64> = (0..rows as u64).map(uniform_signed).collect();
    let zeros = || device.zeros(number, rows);
    let vectors = [device.upload_as(number, &start)?, zeros()?, zeros()?];
    let scratch = [zeros()?, zeros()?];
    let operator = Scaled { device, a: device.matrix(a)?, scales, scratch };
    Ok(lanczos_with(vectors, LANCZOS_STEPS, operator)?.upper.min(proved))
}

//! The memory of a method that is chosen by its value, and the solve that uses it.

use std::fmt::Debug;

use ziggurat_sparse::device::Device;
use ziggurat_sparse::{Reads, Real, f16};

use crate::bicgstab::{BiCgStabWork, bicgstab};
use crate::cg::{CgWork, cg};
use crate::cgs::{CgsWork, cgs};
use crate::compressed_basis::Basis;
use crate::error::KrylovError;
use crate::fgmres::{FgmresWork, fgmres};
use crate::flexible_cg::flexible_cg;
use crate::gmres::{ArnoldiWork, GmresWork, gmres};
use crate::idr::{IdrWork, idr};
use crate::method::Method;
use crate::minres::{MinresWork, minres};
use crate::problem::LinearProblem;
use crate::report::KrylovReport;
use crate::richardson::{RichardsonWork, richardson};
use crate::system::System;

/// The workspace of a method, allocated once for any number of solves.
///
/// ```
/// use ziggurat_krylov::{Method, System, Work};
/// use ziggurat_sparse::{Csr, device::Cpu, operator::MatrixOperator};
/// let device = Cpu::new();
/// let a = MatrixOperator::<Cpu, f64>::new(&device, Csr::identity(3).unwrap())?;
/// let method = Method::Fgmres { restart: 10 };
/// let work: Work<Cpu, f64> = Work::new(method, &device, &System::new(&a))?;
/// assert_eq!(work.method(), method);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Work<D: Device, C: Real> {
    method: Method,
    solver: Box<dyn Solver<D, C>>,
}

/// A method with its memory.
trait Solver<D: Device, C: Real>: Debug + Send {
    fn solve(
        &mut self,
        problem: LinearProblem<'_, D, C>,
        x: &mut D::Vector<C>,
    ) -> Result<KrylovReport, KrylovError>;

    fn basis_bytes(&self, device: &D) -> usize;
}

/// The function of a method.
type Solve<D, C, W> =
    fn(LinearProblem<'_, D, C>, &mut <D as Device>::Vector<C>, &mut W) -> Result<KrylovReport, KrylovError>;

/// The function of a method, with its workspace.
#[derive(Debug)]
struct Bound<D: Device, C: Real, W> {
    work: W,
    solve: Solve<D, C, W>,
    basis_bytes: fn(&W, &D) -> usize,
}

impl<D: Device, C: Real, W: Debug + Send> Solver<D, C> for Bound<D, C, W> {
    fn solve(
        &mut self,
        problem: LinearProblem<'_, D, C>,
        x: &mut D::Vector<C>,
    ) -> Result<KrylovReport, KrylovError> {
        (self.solve)(problem, x, &mut self.work)
    }

    fn basis_bytes(&self, device: &D) -> usize {
        (self.basis_bytes)(&self.work, device)
    }
}

/// A method that stores no basis.
fn short<D, C, W>(work: W, solve: Solve<D, C, W>) -> Box<dyn Solver<D, C>>
where
    D: Device,
    C: Real,
    W: Debug + Send + 'static,
{
    Box::new(Bound { work, solve, basis_bytes: |_, _| 0 })
}

/// A method that stores a basis.
fn long<D: Device, C: Real, const FLEXIBLE: bool>(
    work: ArnoldiWork<D, C, FLEXIBLE>,
    solve: Solve<D, C, ArnoldiWork<D, C, FLEXIBLE>>,
) -> Box<dyn Solver<D, C>> {
    Box::new(Bound { work, solve, basis_bytes: ArnoldiWork::basis_bytes })
}

impl<D: Device, C: Real> Work<D, C> {
    /// A workspace for this method, for systems of this size with these operators. It also serves
    /// other systems whose operators have the same workspaces, as after an update of values.
    pub fn new(method: Method, device: &D, system: &System<'_, D, C>) -> Result<Self, KrylovError> {
        let solver = match method {
            Method::Cg => short(CgWork::new(device, system)?, cg),
            Method::FlexibleCg => short(CgWork::new(device, system)?, flexible_cg),
            Method::Gmres { restart } => long(GmresWork::new(device, system, restart)?, gmres),
            Method::Fgmres { restart } => long(FgmresWork::new(device, system, restart)?, fgmres),
            Method::BiCgStab => short(BiCgStabWork::new(device, system)?, bicgstab),
            Method::Minres => short(MinresWork::new(device, system)?, minres),
            Method::Idr => short(IdrWork::new(device, system)?, idr),
            Method::Cgs => short(CgsWork::new(device, system)?, cgs),
            Method::Richardson => short(RichardsonWork::new(device, system)?, richardson),
        };
        Ok(Work { method, solver })
    }

    /// As [`new`](Self::new), with the Krylov basis stored in this number type.
    ///
    /// ```
    /// use ziggurat_krylov::{Basis, Method, System, Work};
    /// use ziggurat_sparse::{Csr, device::Cpu, operator::MatrixOperator};
    /// let device = Cpu::new();
    /// let a = MatrixOperator::<Cpu, f64>::new(&device, Csr::identity(1000)?)?;
    /// let (system, method) = (System::new(&a), Method::Gmres { restart: 30 });
    /// let work: Work<Cpu, f64> = Work::with_basis(method, Basis::F16, &device, &system)?;
    /// assert_eq!(work.basis_bytes(&device), 30 * 1000 * 2);
    /// let refused = Work::with_basis(Method::Cg, Basis::F16, &device, &system).unwrap_err();
    /// assert!(refused.to_string().contains("cg stores no basis; choose gmres or fgmres"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Also if the method stores no basis, or the device does not compress vectors.
    pub fn with_basis(
        method: Method,
        basis: Basis,
        device: &D,
        system: &System<'_, D, C>,
    ) -> Result<Self, KrylovError>
    where
        C: Reads<f32> + Reads<f16>,
    {
        if !basis.is_compressed::<C>() {
            return Work::new(method, device, system);
        }
        let solver = match (method, basis) {
            (Method::Gmres { restart }, Basis::F16) => {
                long(GmresWork::compressed::<f16>(device, system, restart)?, gmres)
            }
            (Method::Gmres { restart }, _) => {
                long(GmresWork::compressed::<f32>(device, system, restart)?, gmres)
            }
            (Method::Fgmres { restart }, Basis::F16) => {
                long(FgmresWork::compressed::<f16>(device, system, restart)?, fgmres)
            }
            (Method::Fgmres { restart }, _) => {
                long(FgmresWork::compressed::<f32>(device, system, restart)?, fgmres)
            }
            _ => return Err(KrylovError::NoBasis { method: method.krylov(), basis: basis.kind() }),
        };
        Ok(Work { method, solver })
    }

    /// Bytes of the stored Krylov basis, of this process: V of GMRES, V and Z = M V of FGMRES; 0
    /// for other methods.
    pub fn basis_bytes(&self, device: &D) -> usize {
        self.solver.basis_bytes(device)
    }

    /// The method of this workspace.
    pub fn method(&self) -> Method {
        self.method
    }
}

/// Solves A x = b from the initial guess in `x`, by the method of `work`.
///
/// ```
/// use ziggurat_krylov::{LinearProblem, Method, System, Work, solve};
/// use ziggurat_sparse::{Csr, device::Cpu, operator::MatrixOperator};
/// let a = Csr::try_new(2, 2, vec![0, 2, 4], vec![0, 1, 0, 1], vec![3.0, 1.0, -1.0, 3.0])?;
/// let device = Cpu::new();
/// let a = MatrixOperator::new(&device, a)?;
/// let system = System::new(&a);
/// let mut work = Work::new(Method::BiCgStab, &device, &system)?;
/// // Steps in time: the memory is used again, and the last solution is the next guess.
/// let mut x = vec![0.0; 2];
/// for step in 1..=3 {
///     let b = vec![1.0, f64::from(step)];
///     let problem = LinearProblem::new(&device, &system, &b);
///     assert!(solve(problem, &mut x, &mut work)?.reason.is_converged());
/// }
/// assert!(x[0].abs() < 1e-8 && (x[1] - 1.0_f64).abs() < 1e-8);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn solve<D: Device, C: Real>(
    problem: LinearProblem<'_, D, C>,
    x: &mut D::Vector<C>,
    work: &mut Work<D, C>,
) -> Result<KrylovReport, KrylovError> {
    work.solver.solve(problem, x)
}

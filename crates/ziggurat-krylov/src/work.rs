//! The memory of a method that is chosen by its value, and the solve that uses it.

use ziggurat_sparse::device::{Device, Vector};

use crate::bicgstab::{BiCgStabWork, bicgstab};
use crate::cg::{CgWork, cg};
use crate::cgs::{CgsWork, cgs};
use crate::compressed_basis::Basis;
use crate::error::KrylovError;
use crate::fgmres::{FgmresWork, fgmres};
use crate::flexible_cg::flexible_cg;
use crate::gmres::{GmresWork, gmres};
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
/// let a = MatrixOperator::new(&device, Csr::<f64>::identity(3).unwrap())?;
/// let method = Method::Fgmres { restart: 10 };
/// let work = Work::new(method, &device, &System::new(&a))?;
/// assert_eq!(work.method(), method);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Work {
    method: Method,
    memory: Memory,
}

/// The workspace of each method.
#[derive(Debug)]
enum Memory {
    Cg(CgWork),
    FlexibleCg(CgWork),
    Gmres(GmresWork),
    Fgmres(FgmresWork),
    BiCgStab(BiCgStabWork),
    Minres(MinresWork),
    Idr(IdrWork),
    Cgs(CgsWork),
    Richardson(RichardsonWork),
}

impl Work {
    /// A workspace for this method, for systems of this size with these operators. It also serves
    /// other systems whose operators have the same workspaces, as after an update of values.
    pub fn new(method: Method, device: &dyn Device, system: &System<'_>) -> Result<Self, KrylovError> {
        Work::with_basis(method, Basis::F64, device, system)
    }

    /// As [`new`](Self::new), with the Krylov basis stored in this number type, unless that has as
    /// many bits as the [number type](System::number) of the iteration, or more.
    ///
    /// ```
    /// use ziggurat_krylov::{Basis, Method, System, Work};
    /// use ziggurat_sparse::{Csr, device::Cpu, operator::MatrixOperator};
    /// let device = Cpu::new();
    /// let a = MatrixOperator::new(&device, Csr::<f64>::identity(1000)?)?;
    /// let (system, method) = (System::new(&a), Method::Gmres { restart: 30 });
    /// let work = Work::with_basis(method, Basis::F16, &device, &system)?;
    /// assert_eq!(work.basis_bytes(), 30 * 1000 * 2);
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
        device: &dyn Device,
        system: &System<'_>,
    ) -> Result<Self, KrylovError> {
        if basis.is_compressed(system.number) && !method.stores_basis() {
            return Err(KrylovError::NoBasis { method: method.krylov(), basis: basis.kind() });
        }
        let memory = match method {
            Method::Cg => Memory::Cg(CgWork::new(device, system)?),
            Method::FlexibleCg => Memory::FlexibleCg(CgWork::new(device, system)?),
            Method::Gmres { restart } => {
                Memory::Gmres(GmresWork::with_basis(basis, device, system, restart)?)
            }
            Method::Fgmres { restart } => {
                Memory::Fgmres(FgmresWork::with_basis(basis, device, system, restart)?)
            }
            Method::BiCgStab => Memory::BiCgStab(BiCgStabWork::new(device, system)?),
            Method::Minres => Memory::Minres(MinresWork::new(device, system)?),
            Method::Idr => Memory::Idr(IdrWork::new(device, system)?),
            Method::Cgs => Memory::Cgs(CgsWork::new(device, system)?),
            Method::Richardson => Memory::Richardson(RichardsonWork::new(device, system)?),
        };
        Ok(Work { method, memory })
    }

    /// Bytes of the stored Krylov basis, of this process: V of GMRES, V and Z = M V of FGMRES; 0
    /// for other methods.
    pub fn basis_bytes(&self) -> usize {
        match &self.memory {
            Memory::Gmres(work) => work.basis_bytes(),
            Memory::Fgmres(work) => work.basis_bytes(),
            _ => 0,
        }
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
/// use ziggurat_sparse::{Csr, device::{Cpu, Vector}, operator::MatrixOperator};
/// let a = Csr::try_new(2, 2, vec![0, 2, 4], vec![0, 1, 0, 1], vec![3.0, 1.0, -1.0, 3.0])?;
/// let device = Cpu::new();
/// let a = MatrixOperator::new(&device, a)?;
/// let system = System::new(&a);
/// let mut work = Work::new(Method::BiCgStab, &device, &system)?;
/// // Steps in time: the memory is used again, and the last solution is the next guess.
/// let mut x = Vector::from(vec![0.0; 2]);
/// for step in 1..=3 {
///     let b = Vector::from(vec![1.0, f64::from(step)]);
///     let problem = LinearProblem::new(&device, &system, &b);
///     assert!(solve(problem, &mut x, &mut work)?.reason.is_converged());
/// }
/// let x = x.elements::<f64>().unwrap();
/// assert!(x[0].abs() < 1e-8 && (x[1] - 1.0).abs() < 1e-8);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn solve(
    problem: LinearProblem<'_>,
    x: &mut Vector,
    work: &mut Work,
) -> Result<KrylovReport, KrylovError> {
    match &mut work.memory {
        Memory::Cg(work) => cg(problem, x, work),
        Memory::FlexibleCg(work) => flexible_cg(problem, x, work),
        Memory::Gmres(work) => gmres(problem, x, work),
        Memory::Fgmres(work) => fgmres(problem, x, work),
        Memory::BiCgStab(work) => bicgstab(problem, x, work),
        Memory::Minres(work) => minres(problem, x, work),
        Memory::Idr(work) => idr(problem, x, work),
        Memory::Cgs(work) => cgs(problem, x, work),
        Memory::Richardson(work) => richardson(problem, x, work),
    }
}

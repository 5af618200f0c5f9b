//! The choice of a method as a value, which options, files and other languages can name.

use std::fmt;

use ziggurat_sparse::device::Device;
use ziggurat_sparse::{Reads, Real, choice, f16};

use crate::bicgstab::{BiCgStabWork, bicgstab};
use crate::cg::{CgWork, cg};
use crate::cgs::{CgsWork, cgs};
use crate::compressed_basis::Basis;
use crate::error::KrylovError;
use crate::fgmres::{FgmresWork, fgmres};
use crate::flexible_cg::flexible_cg;
use crate::gmres::{GmresWork, gmres};
use crate::idr::{IdrWork, idr};
use crate::minres::{MinresWork, minres};
use crate::problem::LinearProblem;
use crate::report::KrylovReport;
use crate::richardson::{RichardsonWork, richardson};
use crate::system::System;

/// Default number of steps before GMRES and FGMRES restart.
pub const DEFAULT_RESTART: usize = 30;

/// Maximum number of steps before GMRES and FGMRES restart. Memory for all of them is allocated
/// before the first.
pub const MAX_RESTART: usize = 5000;

choice! {
    /// Krylov methods by name.
    ///
    /// ```
    /// use ziggurat_krylov::{Krylov, Method};
    /// assert_eq!("fcg".parse(), Ok(Krylov::Fcg));
    /// assert_eq!(Krylov::Gmres.method(7), Some(Method::Gmres { restart: 7 }));
    /// assert_eq!("richardson".parse::<Krylov>().map(Krylov::name), Ok("none"));
    /// let error = "bicgst".parse::<Krylov>().unwrap_err();
    /// assert!(error.to_string().contains("did you mean `bicgstab`?"));
    /// ```
    Krylov, "krylov":
    /// Chosen by the matrix and the cycle.
    Auto = "auto",
    /// Conjugate gradients, for symmetric positive definite matrices.
    Cg = "cg",
    /// Flexible conjugate gradients.
    Fcg = "fcg",
    /// Restarted GMRES.
    Gmres = "gmres",
    /// Flexible GMRES.
    Fgmres = "fgmres",
    /// BiCGStab.
    Bicgstab = "bicgstab",
    /// MINRES, for symmetric matrices.
    Minres = "minres",
    /// IDR(4).
    Idr = "idr",
    /// Conjugate gradients squared.
    Cgs = "cgs",
    /// No Krylov method: the preconditioner alone.
    Richardson = "none" | "richardson",
}

impl Krylov {
    /// The method of this name; `None` for `auto`. GMRES and FGMRES restart after `restart` steps.
    pub const fn method(self, restart: usize) -> Option<Method> {
        match self {
            Krylov::Auto => None,
            Krylov::Cg => Some(Method::Cg),
            Krylov::Fcg => Some(Method::FlexibleCg),
            Krylov::Gmres => Some(Method::Gmres { restart }),
            Krylov::Fgmres => Some(Method::Fgmres { restart }),
            Krylov::Bicgstab => Some(Method::BiCgStab),
            Krylov::Minres => Some(Method::Minres),
            Krylov::Idr => Some(Method::Idr),
            Krylov::Cgs => Some(Method::Cgs),
            Krylov::Richardson => Some(Method::Richardson),
        }
    }

    /// Whether the method stores a Krylov basis, which can be
    /// [compressed](crate::compressed_basis). `auto` may become one that does.
    ///
    /// ```
    /// use ziggurat_krylov::Krylov;
    /// assert!(Krylov::Gmres.stores_basis() && Krylov::Auto.stores_basis() && !Krylov::Cg.stores_basis());
    /// ```
    pub const fn stores_basis(self) -> bool {
        matches!(self, Krylov::Auto | Krylov::Gmres | Krylov::Fgmres)
    }
}

/// A Krylov method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Method {
    /// [Conjugate gradients](cg()).
    Cg,
    /// [Flexible conjugate gradients](flexible_cg()).
    FlexibleCg,
    /// [Restarted GMRES](gmres()).
    Gmres {
        /// Steps before it restarts.
        restart: usize,
    },
    /// [Restarted flexible GMRES](fgmres()).
    Fgmres {
        /// Steps before it restarts.
        restart: usize,
    },
    /// [BiCGStab](bicgstab()).
    BiCgStab,
    /// [MINRES](minres()).
    Minres,
    /// [IDR(4)](idr()).
    Idr,
    /// [Conjugate gradients squared](cgs()).
    Cgs,
    /// [Richardson's iteration](richardson()): no Krylov method.
    Richardson,
}

impl Method {
    /// All of them, with the default restart.
    pub const ALL: [Method; 9] = [
        Method::Cg,
        Method::FlexibleCg,
        Method::Gmres { restart: DEFAULT_RESTART },
        Method::Fgmres { restart: DEFAULT_RESTART },
        Method::BiCgStab,
        Method::Minres,
        Method::Idr,
        Method::Cgs,
        Method::Richardson,
    ];

    /// Its name in options and reports.
    pub const fn krylov(self) -> Krylov {
        match self {
            Method::Cg => Krylov::Cg,
            Method::FlexibleCg => Krylov::Fcg,
            Method::Gmres { .. } => Krylov::Gmres,
            Method::Fgmres { .. } => Krylov::Fgmres,
            Method::BiCgStab => Krylov::Bicgstab,
            Method::Minres => Krylov::Minres,
            Method::Idr => Krylov::Idr,
            Method::Cgs => Krylov::Cgs,
            Method::Richardson => Krylov::Richardson,
        }
    }

    /// Whether the method stores a Krylov basis, which can be
    /// [compressed](crate::compressed_basis).
    ///
    /// ```
    /// use ziggurat_krylov::Method;
    /// assert!(Method::Fgmres { restart: 30 }.stores_basis() && !Method::BiCgStab.stores_basis());
    /// ```
    pub const fn stores_basis(self) -> bool {
        self.krylov().stores_basis()
    }

    /// Whether the residual never grows, because each iteration minimises it.
    ///
    /// ```
    /// use ziggurat_krylov::Method;
    /// assert!(Method::Gmres { restart: 30 }.minimises_residual() && !Method::Cg.minimises_residual());
    /// ```
    pub const fn minimises_residual(self) -> bool {
        matches!(self, Method::Gmres { .. } | Method::Fgmres { .. })
    }

    /// Whether the method requires a symmetric positive definite matrix and preconditioner.
    ///
    /// ```
    /// use ziggurat_krylov::Method;
    /// assert!(Method::FlexibleCg.needs_positive() && !Method::Minres.needs_positive());
    /// ```
    pub const fn needs_positive(self) -> bool {
        matches!(self, Method::Cg | Method::FlexibleCg)
    }

    /// Whether the method requires a symmetric matrix and a symmetric positive definite
    /// preconditioner.
    ///
    /// ```
    /// use ziggurat_krylov::Method;
    /// assert!(Method::Cg.needs_symmetric() && Method::Minres.needs_symmetric());
    /// assert!(!Method::BiCgStab.needs_symmetric());
    /// ```
    pub const fn needs_symmetric(self) -> bool {
        self.needs_positive() || matches!(self, Method::Minres)
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.krylov().fmt(f)
    }
}

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
    memory: Memory<D, C>,
}

#[derive(Debug)]
enum Memory<D: Device, C: Real> {
    Cg(CgWork<D, C>),
    FlexibleCg(CgWork<D, C>),
    Gmres(GmresWork<D, C>),
    Fgmres(FgmresWork<D, C>),
    BiCgStab(BiCgStabWork<D, C>),
    Minres(MinresWork<D, C>),
    Idr(IdrWork<D, C>),
    Cgs(CgsWork<D, C>),
    Richardson(RichardsonWork<D, C>),
}

impl<D: Device, C: Real> Work<D, C> {
    /// A workspace for this method, for systems of this size with these operators. It also serves
    /// other systems whose operators have the same workspaces, as after an update of values.
    pub fn new(method: Method, device: &D, system: &System<'_, D, C>) -> Result<Self, KrylovError> {
        let memory = match method {
            Method::Cg => Memory::Cg(CgWork::new(device, system)?),
            Method::FlexibleCg => Memory::FlexibleCg(CgWork::new(device, system)?),
            Method::Gmres { restart } => Memory::Gmres(GmresWork::new(device, system, restart)?),
            Method::Fgmres { restart } => Memory::Fgmres(FgmresWork::new(device, system, restart)?),
            Method::BiCgStab => Memory::BiCgStab(BiCgStabWork::new(device, system)?),
            Method::Minres => Memory::Minres(MinresWork::new(device, system)?),
            Method::Idr => Memory::Idr(IdrWork::new(device, system)?),
            Method::Cgs => Memory::Cgs(CgsWork::new(device, system)?),
            Method::Richardson => Memory::Richardson(RichardsonWork::new(device, system)?),
        };
        Ok(Work { method, memory })
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
        let memory = match (method, basis) {
            (Method::Gmres { restart }, Basis::F16) => {
                Memory::Gmres(GmresWork::compressed::<f16>(device, system, restart)?)
            }
            (Method::Gmres { restart }, _) => {
                Memory::Gmres(GmresWork::compressed::<f32>(device, system, restart)?)
            }
            (Method::Fgmres { restart }, Basis::F16) => {
                Memory::Fgmres(FgmresWork::compressed::<f16>(device, system, restart)?)
            }
            (Method::Fgmres { restart }, _) => {
                Memory::Fgmres(FgmresWork::compressed::<f32>(device, system, restart)?)
            }
            _ => return Err(KrylovError::NoBasis { method: method.krylov(), basis: basis.kind() }),
        };
        Ok(Work { method, memory })
    }

    /// Bytes of the stored Krylov basis, of this process: V of GMRES, V and Z = M V of FGMRES; 0
    /// for other methods.
    pub fn basis_bytes(&self, device: &D) -> usize {
        match &self.memory {
            Memory::Gmres(work) => work.basis_bytes(device),
            Memory::Fgmres(work) => work.basis_bytes(device),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_method_has_a_name_and_every_name_a_method() {
        let named = Krylov::ALL.iter().filter_map(|name| name.method(DEFAULT_RESTART));
        assert!(named.eq(Method::ALL));
        assert!(Method::ALL.iter().all(|method| method.krylov().method(30) == Some(*method)));
    }
}

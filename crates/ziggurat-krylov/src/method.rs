//! The choice of a method as a value, which options, files and other languages can name.

use std::fmt;
use std::str::FromStr;

use ziggurat_sparse::device::Device;
use ziggurat_sparse::{Real, UnknownName};

use crate::bicgstab::{BiCgStabWork, bicgstab};
use crate::cg::{CgWork, cg};
use crate::error::KrylovError;
use crate::fgmres::{FgmresWork, fgmres};
use crate::flexible_cg::flexible_cg;
use crate::gmres::{GmresWork, gmres};
use crate::problem::LinearProblem;
use crate::report::KrylovReport;
use crate::system::System;

/// The default number of steps between restarts of GMRES and FGMRES.
pub const DEFAULT_RESTART: usize = 30;

/// A Krylov method.
///
/// ```
/// use ziggurat_krylov::Method;
/// assert_eq!("gmres".parse(), Ok(Method::Gmres { restart: 30 }));
/// assert_eq!(Method::BiCgStab.to_string(), "bicgstab");
/// let error = "bicg".parse::<Method>().unwrap_err();
/// assert!(error.to_string().contains("did you mean `bicgstab`?"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Method {
    /// [Conjugate gradients](cg()).
    Cg,
    /// [Flexible conjugate gradients](flexible_cg()).
    FlexibleCg,
    /// [Restarted GMRES](gmres()).
    Gmres {
        /// Steps between restarts.
        restart: usize,
    },
    /// [Restarted flexible GMRES](fgmres()).
    Fgmres {
        /// Steps between restarts.
        restart: usize,
    },
    /// [BiCGStab](bicgstab()).
    BiCgStab,
}

impl Method {
    /// All methods, with default parameters.
    pub const ALL: [Method; 5] = [
        Method::Cg,
        Method::FlexibleCg,
        Method::Gmres { restart: DEFAULT_RESTART },
        Method::Fgmres { restart: DEFAULT_RESTART },
        Method::BiCgStab,
    ];

    /// The name in options and reports: `cg`, `fcg`, `gmres`, `fgmres`, `bicgstab`.
    pub const fn name(self) -> &'static str {
        match self {
            Method::Cg => "cg",
            Method::FlexibleCg => "fcg",
            Method::Gmres { .. } => "gmres",
            Method::Fgmres { .. } => "fgmres",
            Method::BiCgStab => "bicgstab",
        }
    }

    /// Whether the method requires a symmetric positive definite matrix and preconditioner.
    ///
    /// ```
    /// use ziggurat_krylov::Method;
    /// assert!(Method::FlexibleCg.needs_positive() && !Method::BiCgStab.needs_positive());
    /// ```
    pub const fn needs_positive(self) -> bool {
        matches!(self, Method::Cg | Method::FlexibleCg)
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Method {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Method, UnknownName> {
        Method::ALL
            .into_iter()
            .find(|method| method.name() == name)
            .ok_or_else(|| UnknownName::new("method", name, Method::ALL.map(Method::name)))
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
        };
        Ok(Work { method, memory })
    }

    /// The method of this workspace.
    pub fn method(&self) -> Method {
        self.method
    }
}

/// Solves A x = b from the initial guess in `x`, by the method of `work`.
///
/// ```
/// use ziggurat_krylov::{LinearProblem, System, Work, solve};
/// use ziggurat_sparse::{Csr, device::Cpu, operator::MatrixOperator};
/// let a = Csr::try_new(2, 2, vec![0, 2, 4], vec![0, 1, 0, 1], vec![3.0, 1.0, -1.0, 3.0])?;
/// let device = Cpu::new();
/// let a = MatrixOperator::new(&device, a)?;
/// let system = System::new(&a);
/// let mut work = Work::new("bicgstab".parse()?, &device, &system)?;
/// // Time stepping: the workspace is reused, and each solution is the next initial guess.
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
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_reads_back() {
        for method in Method::ALL {
            assert_eq!(method.name().parse(), Ok(method));
        }
        assert!("CG".parse::<Method>().unwrap_err().to_string().contains("`cg`"));
    }
}

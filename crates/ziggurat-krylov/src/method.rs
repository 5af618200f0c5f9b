//! The choice of a method as a value, which options, files and other languages can name.

use std::fmt;

use ziggurat_sparse::choice;

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
    /// [Conjugate gradients](crate::cg()).
    Cg,
    /// [Flexible conjugate gradients](crate::flexible_cg()).
    FlexibleCg,
    /// [Restarted GMRES](crate::gmres()).
    Gmres {
        /// Steps before it restarts.
        restart: usize,
    },
    /// [Restarted flexible GMRES](crate::fgmres()).
    Fgmres {
        /// Steps before it restarts.
        restart: usize,
    },
    /// [BiCGStab](crate::bicgstab()).
    BiCgStab,
    /// [MINRES](crate::minres()).
    Minres,
    /// [IDR(4)](crate::idr()).
    Idr,
    /// [Conjugate gradients squared](crate::cgs()).
    Cgs,
    /// [Richardson's iteration](crate::richardson()): no Krylov method.
    Richardson,
}

impl Method {
    /// All of them, with the default restart.
    pub const ALL: [Method; Krylov::ALL.len() - 1] = {
        let mut all = [Method::Cg; Krylov::ALL.len() - 1];
        let (mut name, mut found) = (0, 0);
        while name < Krylov::ALL.len() {
            if let Some(method) = Krylov::ALL[name].method(DEFAULT_RESTART) {
                all[found] = method;
                found += 1;
            }
            name += 1;
        }
        all
    };

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

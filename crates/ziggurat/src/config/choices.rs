//! The choices that have a name, in options, files and reports alike. `auto` leaves a choice to the matrix.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use ziggurat_sparse::UnknownName;

/// An enum of named values: the first is the default, an unknown name is answered with the nearest known one.
macro_rules! choice {
    ($(#[$about:meta])* $choice:ident, $what:literal: $($(#[$of:meta])* $variant:ident = $name:literal,)+) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "&'static str")]
        #[non_exhaustive]
        pub enum $choice {
            $($(#[$of])* $variant,)+
        }

        impl $choice {
            /// All of them; the first is the default.
            pub const ALL: &[$choice] = &[$($choice::$variant),+];

            /// The name in options, files and reports.
            pub const fn name(self) -> &'static str {
                match self {
                    $($choice::$variant => $name,)+
                }
            }
        }

        impl Default for $choice {
            fn default() -> Self {
                $choice::ALL[0]
            }
        }

        impl fmt::Display for $choice {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.name())
            }
        }

        impl FromStr for $choice {
            type Err = UnknownName;

            fn from_str(name: &str) -> Result<Self, UnknownName> {
                let found = $choice::ALL.iter().find(|choice| choice.name() == name);
                found.copied().ok_or_else(|| {
                    UnknownName::new($what, name, $choice::ALL.iter().map(|choice| choice.name()))
                })
            }
        }

        impl TryFrom<String> for $choice {
            type Error = UnknownName;

            fn try_from(name: String) -> Result<Self, UnknownName> {
                name.parse()
            }
        }

        impl From<$choice> for &'static str {
            fn from(choice: $choice) -> &'static str {
                choice.name()
            }
        }
    };
}

choice! {
    /// How the hierarchy is built.
    ///
    /// ```
    /// use ziggurat::config::Method;
    /// assert_eq!("sa".parse(), Ok(Method::Sa));
    /// assert!("clasical".parse::<Method>().unwrap_err().to_string().contains("did you mean `classical`?"));
    /// ```
    Method, "method":
    /// Chosen by the matrix.
    Auto = "auto",
    /// Smoothed aggregation.
    Sa = "sa",
    /// Classical (Ruge–Stüben): PMIS coarsening, extended+i interpolation.
    Classical = "classical",
    /// Plain aggregation of pairs.
    Pairwise = "pairwise",
}

choice! {
    /// The outer iteration.
    ///
    /// ```
    /// assert_eq!(ziggurat::config::Krylov::default().name(), "auto");
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
}

choice! {
    /// The formats that matrices are stored in.
    ///
    /// ```
    /// assert_eq!("csr".parse(), Ok(ziggurat::config::Format::Csr));
    /// ```
    Format, "format":
    /// The one of fewest bytes, for each matrix.
    Auto = "auto",
    /// Compressed sparse rows everywhere, for comparisons.
    Csr = "csr",
}

choice! {
    /// Whether levels are scaled into the range of a narrow number.
    ///
    /// ```
    /// assert_eq!("off".parse(), Ok(ziggurat::config::Scaling::Off));
    /// ```
    Scaling, "scaling":
    /// Where the number needs it, after setup.
    Auto = "auto",
    /// Never, for comparisons: 16 bits overflow in most units.
    Off = "off",
}

choice! {
    /// The order in which levels are visited.
    ///
    /// ```
    /// assert_eq!("w".parse(), Ok(ziggurat::config::CycleKind::W));
    /// ```
    CycleKind, "cycle":
    /// Chosen by the method.
    Auto = "auto",
    /// Each level once.
    V = "v",
    /// Each level twice per visit of the level above.
    W = "w",
    /// Once as F, once as V.
    F = "f",
    /// Two iterations of flexible conjugate gradients per level.
    K = "k",
}

choice! {
    /// The smoother.
    ///
    /// ```
    /// assert_eq!("gauss-seidel".parse(), Ok(ziggurat::config::SmootherKind::GaussSeidel));
    /// ```
    SmootherKind, "smoother":
    /// Chosen by the method and the matrix.
    Auto = "auto",
    /// Damped Jacobi.
    Jacobi = "jacobi",
    /// ℓ1-Jacobi: converges for every symmetric positive definite matrix.
    L1Jacobi = "l1-jacobi",
    /// The best diagonal approximation of the inverse.
    Spai0 = "spai0",
    /// A Chebyshev polynomial on the matrix's diagonal.
    Chebyshev = "chebyshev",
    /// Gauss–Seidel within blocks of rows, Jacobi between them.
    GaussSeidel = "gauss-seidel",
}

choice! {
    /// Whether [`Solver::update_values`](crate::Solver::update_values) builds the hierarchy anew.
    ///
    /// ```
    /// assert_eq!("never".parse(), Ok(ziggurat::config::Rebuild::Never));
    /// ```
    Rebuild, "rebuild":
    /// When solves need clearly more iterations than right after the last full setup.
    WhenSlower = "when-slower",
    /// Never: coarsening and interpolation stay as they are.
    Never = "never",
    /// At every update.
    Always = "always",
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_reads_back() {
        macro_rules! check {
            ($($choice:ident),+) => {$(
                for choice in $choice::ALL {
                    assert_eq!(choice.name().parse(), Ok(*choice));
                    let json = serde_json::to_string(choice).unwrap();
                    assert_eq!(json, format!("\"{choice}\""));
                    assert_eq!(serde_json::from_str::<$choice>(&json).unwrap(), *choice);
                }
            )+};
        }
        check!(Method, Krylov, Format, Scaling, CycleKind, SmootherKind, Rebuild);
    }
}

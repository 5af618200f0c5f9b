//! Multigrid cycles: the order in which levels are visited.
//!
//! ```text
//! cycle(l, b):  coarsest? x = A⁺ b
//!               x = smooth(b) from zero;  repeat: e = cycle(l+1, R(b − A x)), x += P e;  x = smooth*(b, x)
//! ```
//!
//! V visits each level once; W calls the next level's cycle twice, F once as F and once as V, K accelerates two calls by
//! flexible conjugate gradients (Notay & Vassilevski, 2008), which keeps its speed where plain aggregation slows V down.
//! With as many post- as pre-smoothings, and adjoint ones, V and W are symmetric, as conjugate gradients needs; F is not,
//! because its second visit is another than its first; K is not even linear. These two need a flexible method.

use std::str::FromStr;

use ziggurat_sparse::UnknownName;

/// Which cycle.
///
/// ```
/// use ziggurat_amg::Cycle;
/// assert_eq!("w".parse(), Ok(Cycle::W));
/// assert!("x".parse::<Cycle>().is_err());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Cycle {
    /// Each level once.
    #[default]
    V,
    /// Each level twice per visit of the level above.
    W,
    /// Once as F, once as V.
    F,
    /// Two iterations of flexible conjugate gradients per level.
    K,
}

impl Cycle {
    /// All of them.
    pub const ALL: [Cycle; 4] = [Cycle::V, Cycle::W, Cycle::F, Cycle::K];

    /// Whether its transpose is a cycle, too: F is lopsided, and K is not linear.
    ///
    /// ```
    /// use ziggurat_amg::Cycle;
    /// assert!(Cycle::W.has_transpose() && !Cycle::K.has_transpose());
    /// ```
    pub const fn has_transpose(self) -> bool {
        matches!(self, Cycle::V | Cycle::W)
    }

    /// The name used in options and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Cycle::V => "v",
            Cycle::W => "w",
            Cycle::F => "f",
            Cycle::K => "k",
        }
    }

    /// Whether the cycle is a symmetric operator for a symmetric matrix, so that plain conjugate gradients may use it.
    pub const fn is_symmetric(self) -> bool {
        matches!(self, Cycle::V | Cycle::W)
    }
}

impl FromStr for Cycle {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        let found = Cycle::ALL.into_iter().find(|cycle| cycle.name().eq_ignore_ascii_case(name));
        found.ok_or_else(|| UnknownName::new("cycle", name, Cycle::ALL.map(Cycle::name)))
    }
}
